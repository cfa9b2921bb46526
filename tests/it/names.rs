//! Names that look alike, and names that would like to be more than names: a header, a log line, another row.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, small_refunds, with};
use crate::server::{PASSWORD, Server, TENANT};
use serde_json::{Value, json};

both!(
    names_are_compared_byte_by_byte_on_both_databases,
    control_characters_are_refused_in_every_name,
    what_callers_write_never_begins_a_line_of_the_servers_log,
);

/// `café` in the two spellings of Unicode: NFC, and NFD, which is refused.
const COMPOSED: &str = "acct:caf\u{e9}";
const DECOMPOSED: &str = "acct:cafe\u{301}";

fn names_are_compared_byte_by_byte_on_both_databases(db: Db) {
    let server = Server::start(db);
    let mandate = json!({"scopes": ACTING_SCOPES, "clauses": [
        {"id": "M-1", "intent": "payments.refund", "effect": "allow",
            "when": {"counterparty": {"in": [COMPOSED, "acct:Admin"]}}},
        {"id": "M-2", "intent": "a.b", "effect": "allow", "when": {"counterparty": {"known": true}}},
    ]});
    let member = server.member_with("m@example.test", &mandate);
    let agent = Agent::new(&member, "runner");
    let to = |intent: &str, name: &str| with(&with(&refund("1.00"), "counterparty", name), "intent", intent);
    for (name, outcome) in [
        (COMPOSED, "allow"),
        ("acct:Admin", "allow"),
        ("acct:admin", "escalate"),
        ("acct:ADMIN", "escalate"),
        ("acct:\u{410}dmin", "escalate"),
    ] {
        agent.evaluate(&to("payments.refund", name)).expect_outcome(outcome);
    }
    for name in [DECOMPOSED, "acct:Admin ", " acct:Admin", "acct:\u{200b}Admin", "acct:Admin\u{0}", ""] {
        let problem = agent.evaluate(&to("payments.refund", name)).expect_problem(422);
        assert!(problem["errors"][0]["pointer"].as_str().unwrap().starts_with("/counterparty"), "{problem}");
    }

    // Whom a person approved is known by these bytes, in the database too.
    let asked = agent.evaluate(&to("a.b", "acct:Zo\u{eb}")).expect_outcome("escalate");
    member.approve(asked["decision"]["id"].as_str().unwrap()).expect(200);
    agent.evaluate(&to("a.b", "acct:Zo\u{eb}")).expect_outcome("allow");
    for stranger in ["acct:zo\u{eb}", "acct:Zoe", "acct:ZO\u{cb}"] {
        agent.evaluate(&to("a.b", stranger)).expect_outcome("escalate");
    }

    // Keys differ by their bytes as well; addresses are the same in any case.
    let first = agent.evaluate_once("key", &to("payments.refund", "acct:Admin")).expect_outcome("allow");
    let other = agent.evaluate_once("Key", &to("payments.refund", "acct:Admin")).expect_outcome("allow");
    assert_ne!(first["receipt"]["id"], other["receipt"]["id"]);
    let twin = json!({"email": "M@Example.Test", "name": "twin", "roles": ["member"], "password": PASSWORD});
    server.operator().post("/v1/principals", &twin).expect_problem(409);
}

fn control_characters_are_refused_in_every_name(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let asked = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let decline = format!("/v1/decisions/{}/decline", asked["decision"]["id"].as_str().unwrap());
    let credentials = format!("/v1/agents/{}/credentials", agent.id);
    let credential = json!({"label": "x", "scopes": ["mandate:read"]});
    for bait in [
        "x\r\nBcc: thief@example.test",
        "x\nBcc: thief@example.test",
        "x\ry",
        "x\u{0}y",
        "x\u{1b}[2Jy",
        "x\u{85}y",
    ] {
        let person =
            json!({"email": "p@example.test", "name": "p", "roles": ["member"], "password": PASSWORD});
        let address = format!("p{bait}@example.test");
        let tries: [(&crate::client::Client, &str, Value); 9] = [
            (&operator, "/v1/principals", with(&person, "name", bait)),
            (&operator, "/v1/principals", with(&person, "email", &*address)),
            (&operator, "/v1/principals", with(&person, "email", format!("p@example.test{bait}"))),
            (&member, "/v1/agents", json!({"name": bait, "kind": "acting"})),
            (&member, &credentials, with(&credential, "label", bait)),
            (&member, &credentials, with(&credential, "purpose", bait)),
            (&agent, "/v1/credentials/derive", with(&credential, "label", bait)),
            (&member, &decline, json!({"reason": bait})),
            (&agent, "/v1/gate/evaluate", with(&refund("1.00"), "resource", bait)),
        ];
        for (caller, path, body) in tries {
            let problem = caller.post(path, &body).expect_problem(422);
            assert!(!problem.to_string().chars().any(char::is_control), "{path}: {problem}");
        }
    }
    let mandate = small_refunds();
    for pointer in ["/clauses/0/title", "/clauses/0/id", "/clauses/0/intent"] {
        let mut changed = mandate.clone();
        *changed.pointer_mut(pointer).unwrap() = json!("x\r\ny");
        member.put("/v1/mandate", &[("if-match", "\"2\"")], &changed).expect_problem(422);
    }
    assert_eq!(member.get("/v1/mandate").expect(200)["version"], 2);
}

fn what_callers_write_never_begins_a_line_of_the_servers_log(db: Db) {
    let mut server = Server::set_up(db, &[TENANT]).option("--log-level", "trace");
    server.serve();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let bait = "x\r\nFORGED {\"level\":\"INFO\"}\n\u{1b}[31mFORGED\u{2028}FORGED";
    let session = json!({"tenant": TENANT, "email": bait, "password": bait});
    server.client().post("/v1/session", &session).expect_problem(401);
    member.post("/v1/agents", &json!({"name": bait, "kind": bait})).expect_problem(422);
    agent.evaluate(&json!({"intent": bait, "resource": bait})).expect_problem(422);
    agent.evaluate(&with(
        &refund("5000.00"),
        "attachment",
        json!({"kind": "message", "from": bait, "text": bait}),
    ));
    let escaped = "x%0d%0aFORGED%1b%5b31m";
    for path in [format!("/{escaped}"), format!("/v1/receipts/{escaped}"), format!("/v1/calls?{escaped}=1")] {
        member.get(&path);
    }
    let header = base64::Engine::encode(
        &base64::prelude::BASE64_URL_SAFE_NO_PAD,
        json!({"alg": "EdDSA", "typ": "at+jwt", "kid": bait}).to_string(),
    );
    member.with_token(&format!("{header}.e30.AA")).get("/v1/mandate").expect_problem(401);
    assert!(server.terminate().success());
    let log = std::fs::read_to_string(server.log_file()).unwrap();
    assert!(log.lines().count() > 3, "{log}");
    for line in log.lines() {
        assert!(!line.trim_start().starts_with("FORGED"), "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
}
