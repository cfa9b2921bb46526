//! Credentials: shown once, never wider than their parent, gone with it.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, small_refunds};
use crate::server::{Server, eventually};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

both!(
    a_derived_credential_is_never_wider_than_its_parent,
    a_child_obeys_its_own_clauses_and_its_parents,
    revoking_a_parent_revokes_its_children,
    retiring_an_agent_ends_all_of_its_credentials,
    delegation_ends_at_depth_four,
    a_seventeenth_child_is_refused,
    answering_agents_and_agents_without_action_request_derive_nothing,
    an_expired_credential_is_refused,
    a_secret_renews_the_token_until_the_credential_ends,
    a_wrong_secret_stands_in_the_credentials_log,
    a_dead_credential_is_told_so_whatever_it_sends,
    a_neighbour_cannot_give_credentials_to_my_agent,
    a_renewed_token_carries_only_the_scopes_asked_for,
    a_child_cannot_choose_another_country,
    a_stopped_mandate_stops_derivation_too,
    scopes_that_the_mandate_does_not_have_are_warned_of,
);

fn a_derived_credential_is_never_wider_than_its_parent(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let root = Agent::new(&member, "runner");
    let parent = json!({"label": "p", "scopes": ["action:request", "mandate:read"], "expires_in": 600,
        "clauses": [{"id": "C-1", "intent": "payments.refund", "effect": "allow",
            "when": {"amount": {"at_most": {"value": "20.00", "currency": "EUR"}}}}]});
    let parent = Agent::with_credential(&member, &root.id, &parent);
    for wider in [
        json!({"label": "c", "scopes": ["action:request", "decision:read"]}),
        json!({"label": "c", "scopes": ["action:request"], "expires_in": 700}),
        json!({"label": "c", "scopes": ["action:request"], "expires_in": 90 * 24 * 3600}),
    ] {
        let refused = parent.post("/v1/credentials/derive", &wider);
        refused.expect_problem(422);
    }
    let child = parent.derive(&json!({"label": "c", "scopes": ["action:request"]}));
    let listed = member.all("/v1/credentials");
    let of = |id: &str| {
        listed.iter().find(|item| item["id"] == id).unwrap_or_else(|| panic!("{id} is not listed"))
    };
    let (mine, theirs) = (of(&child.credential), of(&parent.credential));
    assert!(mine["expires_at"].as_str() <= theirs["expires_at"].as_str(), "{mine} outlives {theirs}");
    child.evaluate(&refund("20.00")).expect_outcome("allow");
    let above = child.evaluate(&refund("20.01"));
    above.expect_outcome("escalate");
    assert!(above.names("C-1"), "the parent's clauses hold for the child: {}", above.text);
}

fn a_child_obeys_its_own_clauses_and_its_parents(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let parent = Agent::new(&member, "runner");
    let child = parent.derive(&json!({"label": "c", "scopes": ["action:request"], "clauses": [
        {"id": "C-9", "intent": "payments.*", "effect": "refuse"}]}));
    let refused = child.evaluate(&refund("1.00"));
    let answer = refused.expect_outcome("refuse");
    assert!(refused.names("C-9"), "{answer}");
    assert_eq!(answer["receipt"]["chain"], *child.credential, "a child has a chain of its own");
    parent.evaluate(&refund("1.00")).expect_outcome("allow");
}

fn revoking_a_parent_revokes_its_children(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let parent = Agent::new(&member, "runner");
    let wish = json!({"label": "c", "scopes": ["action:request"]});
    let child = parent.derive(&wish);
    let grandchild = child.derive(&wish);
    let bystander = Agent::new(&member, "other");
    member.delete(&format!("/v1/credentials/{}", child.credential)).expect(200);
    for dead in [&child, &grandchild] {
        let refused = dead.evaluate(&refund("1.00"));
        refused.expect_problem(401);
        assert!(refused.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Bearer")));
    }
    let listed = member.all("/v1/credentials");
    let revoked = listed.iter().filter(|one| one["revoked_at"].is_string()).map(|one| one["id"].as_str());
    let revoked: BTreeSet<_> = revoked.map(Option::unwrap).collect();
    assert_eq!(revoked, BTreeSet::from([&*child.credential, &*grandchild.credential]), "each by itself");
    for live in [&parent, &bystander] {
        live.evaluate(&refund("1.00")).expect_outcome("allow");
    }
}

fn retiring_an_agent_ends_all_of_its_credentials(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let first = Agent::new(&member, "runner");
    let second = Agent::with_credential(&member, &first.id, &json!({"label": "2", "scopes": ACTING_SCOPES}));
    second.evaluate(&refund("1.00")).expect_outcome("allow");
    member.delete(&format!("/v1/agents/{}", first.id)).expect(200);
    for dead in [&first, &second] {
        assert_eq!(dead.evaluate(&refund("1.00")).status, 401);
    }
    let more = member.post(
        &format!("/v1/agents/{}/credentials", first.id),
        &json!({"label": "3", "scopes": ["mandate:read"]}),
    );
    assert!(matches!(more.status, 404 | 409 | 422), "a retired agent got a credential: {}", more.text);
}

fn delegation_ends_at_depth_four(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let wish = json!({"label": "c", "scopes": ["action:request"]});
    let mut agent = Agent::new(&member, "runner");
    for _ in 0..4 {
        agent = agent.derive(&wish);
        agent.evaluate(&refund("1.00")).expect_outcome("allow");
    }
    let deeper = agent.post("/v1/credentials/derive", &wish);
    assert!(matches!(deeper.status, 403 | 409 | 422), "{}", deeper.text);
}

fn a_seventeenth_child_is_refused(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let wish = json!({"label": "c", "scopes": ["action:request"]});
    let children: Vec<_> = (0..16).map(|_| agent.derive(&wish)).collect();
    let refused = agent.post("/v1/credentials/derive", &wish);
    assert!(matches!(refused.status, 403 | 409 | 422), "{}", refused.text);
    member.delete(&format!("/v1/credentials/{}", children[0].credential)).expect(200);
    agent.derive(&wish);
}

fn answering_agents_and_agents_without_action_request_derive_nothing(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let wish = json!({"label": "c", "scopes": ["mandate:read"]});
    let answering = Agent::of_kind(&member, "answers", "answering", &ACTING_SCOPES);
    let refused = answering.post("/v1/credentials/derive", &wish);
    assert!(matches!(refused.status, 403 | 422), "{}", refused.text);
    let without = Agent::of_kind(&member, "reads", "acting", &["mandate:read"]);
    let refused = without.post("/v1/credentials/derive", &wish);
    refused.expect_problem(403);
    assert!(
        refused.header("www-authenticate").is_some_and(|challenge| challenge.contains("insufficient_scope"))
    );
}

fn an_expired_credential_is_refused(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let id = Agent::new(&member, "runner").id;
    let short = json!({"label": "short", "scopes": ACTING_SCOPES, "expires_in": 2});
    let short = Agent::with_credential(&member, &id, &short);
    short.evaluate(&refund("1.00")).expect_outcome("allow");
    std::thread::sleep(Duration::from_millis(2200));
    short.evaluate(&refund("1.00")).expect_problem(401);
    let long = json!({"label": "long", "scopes": ACTING_SCOPES, "expires_in": 91 * 24 * 3600});
    member.post(&format!("/v1/agents/{id}/credentials"), &long).expect_problem(422);
}

fn a_secret_renews_the_token_until_the_credential_ends(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let renewed = renew(&server.client(), &agent.credential, &agent.secret).expect(200);
    assert_eq!(
        renewed["token_type"].as_str().map(str::to_ascii_lowercase).as_deref(),
        Some("bearer"),
        "{renewed}"
    );
    assert_eq!(renewed["expires_in"], 600, "{renewed}");
    let token = renewed["access_token"].as_str().unwrap();
    agent.with_token(token).evaluate(&refund("1.00")).expect_outcome("allow");
    let wrong = renew(&server.client(), &agent.credential, "pca_0000000000000000000000000000000000000000");
    assert_eq!(wrong.status, 401, "{}", wrong.text);
    assert_eq!(wrong.json["error"], "invalid_client", "as RFC 6749 §5.2 says: {}", wrong.text);
    member.delete(&format!("/v1/credentials/{}", agent.credential)).expect(200);
    assert_eq!(renew(&server.client(), &agent.credential, &agent.secret).status, 401);
    assert_eq!(agent.with_token(token).evaluate(&refund("1.00")).status, 401);
}

fn a_wrong_secret_stands_in_the_credentials_log(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    for wrong in ["pca_0000000000000000000000000000000000000000", "guess", &agent.secret.to_uppercase()] {
        let refused = renew(&server.client(), &agent.credential, wrong);
        refused.expect(401);
        assert_eq!(refused.json["error"], "invalid_client", "{}", refused.text);
    }
    eventually("each guess is listed", || {
        let calls = member.all(&format!("/v1/credentials/{}/calls", agent.credential));
        let guesses = calls.iter().filter(|call| {
            call["route"] == "/oauth/token" && call["status"] == 401 && call["detail"] == "invalid_client"
        });
        guesses.count() == 3
    });
}

fn a_dead_credential_is_told_so_whatever_it_sends(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let bodies: [(&str, &[u8]); 3] =
        [("application/json", b"{\"intent\":"), ("application/json", b"{}"), ("text/plain", b"x")];
    let send = |(kind, body): (&str, &[u8])| {
        agent.send("POST", "/v1/gate/evaluate", &[("content-type", kind)], Some(body)).status
    };
    assert_eq!(bodies.map(send), [400, 422, 415], "while it lives");
    member.delete(&format!("/v1/credentials/{}", agent.credential)).expect(200);
    assert_eq!(bodies.map(send), [401, 401, 401]);
    let keyed = [("idempotency-key", "\"open")];
    let keyed = agent.send("POST", "/v1/gate/evaluate", &keyed, Some(refund("1.00").to_string().as_bytes()));
    keyed.expect_problem(401);
}

/// Asks for a new token with credential id and secret.
pub(crate) fn renew(client: &Client, id: &str, secret: &str) -> crate::client::Reply {
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    client.send("POST", "/oauth/token", &headers, Some(form.as_bytes()))
}

fn a_neighbour_cannot_give_credentials_to_my_agent(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let neighbour = server.member_with("n@example.test", &small_refunds());
    let wish = json!({"label": "x", "scopes": ["mandate:read"]});
    let given = neighbour.post(&format!("/v1/agents/{}/credentials", agent.id), &wish);
    assert_eq!(given.status, 404, "{}", given.text);
    assert_eq!(neighbour.delete(&format!("/v1/credentials/{}", agent.credential)).status, 404);
    assert_eq!(neighbour.delete(&format!("/v1/agents/{}", agent.id)).status, 404);
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
}

fn a_renewed_token_carries_only_the_scopes_asked_for(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let with_scope = |scope: &str| {
        let form = format!(
            "grant_type=client_credentials&client_id={}&client_secret={}&scope={scope}",
            agent.credential, agent.secret
        );
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let renewed =
            server.client().send("POST", "/oauth/token", &headers, Some(form.as_bytes())).expect(200);
        agent.with_token(renewed["access_token"].as_str().unwrap())
    };
    let (reading, acting) = (with_scope("mandate:read"), with_scope("action:request"));
    reading.get("/v1/mandate").expect(200);
    acting.evaluate(&refund("1.00")).expect_outcome("allow");
    for refused in [reading.evaluate(&refund("1.00")), acting.get("/v1/mandate")] {
        refused.expect_problem(403);
        let challenge = refused.header("www-authenticate").unwrap_or_default().to_owned();
        assert!(challenge.contains("insufficient_scope"), "{challenge}");
    }
    let wish = json!({"label": "c", "scopes": ["mandate:read"]});
    reading.post("/v1/credentials/derive", &wish).expect_problem(403);
    acting.post("/v1/credentials/derive", &wish).expect_problem(422);
}

fn a_child_cannot_choose_another_country(db: Db) {
    let server = Server::start(db);
    let mut mandate = small_refunds();
    mandate["clauses"][0]["when"]["country"] = json!({"in": ["NL"]});
    let member = server.member_with("m@example.test", &mandate);
    let root = Agent::new(&member, "runner");
    let fixed = json!({"label": "p", "scopes": ["action:request"], "country": "DE"});
    let german = Agent::with_credential(&member, &root.id, &fixed);
    german.evaluate(&refund("1.00")).expect_outcome("escalate");
    let dutch = json!({"label": "c", "scopes": ["action:request"], "country": "NL"});
    assert!(
        german.post("/v1/credentials/derive", &dutch).expect_problem(422).to_string().contains("/country")
    );
    let child = german.derive(&json!({"label": "c", "scopes": ["action:request"]}));
    child.evaluate(&refund("1.00")).expect_outcome("escalate");
}

fn a_stopped_mandate_stops_derivation_too(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let mut stopped = small_refunds();
    stopped["scopes"] = json!([]);
    member.put_mandate(&stopped);
    let child = json!({"label": "c", "scopes": ["action:request"]});
    agent.post("/v1/credentials/derive", &child).expect_problem(403);
}

fn scopes_that_the_mandate_does_not_have_are_warned_of(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let give = |scopes: &[&str]| {
        let body = json!({"label": "one", "scopes": scopes, "expires_in": 600});
        let answer = member.post(&format!("/v1/agents/{}/credentials", agent.id), &body).expect(201);
        let warnings = answer["warnings"].as_array().unwrap().clone();
        warnings.iter().map(|one| format!("{}: {}", one["pointer"], one["detail"])).collect::<Vec<_>>()
    };
    assert!(give(&["action:request", "call:read"]).is_empty());
    let said = give(&["action:request", "question:ask", "question:answer"]);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("/scopes") && said[0].contains("`question:ask`"), "{said:?}");
    assert!(said[1].contains("`question:answer`"), "{said:?}");
}
