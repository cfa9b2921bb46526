//! Enforcement points: they ask for agents, state what agents may not, and say how effects ended.

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, small_refunds, with};
use crate::log::{check_verifies, check_whole, export};
use crate::server::{Server, TENANT, eventually};
use serde_json::{Value, json};

both!(
    a_point_asks_for_an_agent_and_the_receipt_names_both,
    an_attested_country_counts_for_more_than_an_agents_word,
    an_allowance_that_rests_on_stated_facts_needs_a_point,
    facts_are_part_of_what_a_key_and_an_approval_are_for,
    an_agent_states_neither_facts_nor_whom_it_asks_for,
    facts_have_a_shape_and_a_bound,
    neither_token_opens_what_the_other_does,
    a_revoked_point_opens_nothing_and_its_calls_are_listed,
    a_subject_token_counts_where_the_agents_own_call_would,
    only_an_operator_who_signed_in_just_now_registers_a_point,
    a_point_renews_its_token_with_its_own_secret_alone,
);

/// An enforcement point; calls go out with its token.
pub(crate) struct Point {
    pub(crate) client: Client,
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Point {
    #[track_caller]
    pub(crate) fn new(operator: &Client, name: &str) -> Self {
        let made = operator.post("/v1/enforcement-points", &json!({"name": name})).expect(201);
        let text = |member: &str| made[member].as_str().unwrap().to_owned();
        assert!(text("id").starts_with("enf_"), "{made}");
        assert_eq!(made["receipt"]["kind"], "enforcement_point.create", "{made}");
        Self { client: operator.with_token(&text("token")), id: text("id"), secret: text("client_secret") }
    }

    /// Asks for an agent.
    #[track_caller]
    pub(crate) fn evaluate(&self, agent: &Agent, action: &Value) -> Reply {
        self.client.evaluate(&with(action, "subject_token", agent.token()))
    }

    #[track_caller]
    pub(crate) fn evaluate_once(&self, key: &str, agent: &Agent, action: &Value) -> Reply {
        self.client.evaluate_once(key, &with(action, "subject_token", agent.token()))
    }

    #[track_caller]
    pub(crate) fn report(&self, effect: &str, report: &Value) -> Reply {
        self.client.post(&format!("/v1/effects/{effect}/outcome"), report)
    }
}

/// A member with the usual mandate, an agent of theirs and a point of their tenant.
pub(crate) fn ready(server: &Server) -> (Client, Agent, Point) {
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    (member, agent, Point::new(&server.operator(), "till"))
}

/// An effect of an agent that may do `pay.out`, which the catalogue wants attested.
pub(crate) fn paying(server: &Server) -> (Client, Agent, Point) {
    let entry = json!({"title": "pay", "effect": true, "outcome": "attested",
        "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let (member, agent, point) = ready(server);
    let clauses = json!([{"id": "M-1", "intent": "pay.out", "effect": "allow"}]);
    member.put_mandate(&json!({"scopes": ACTING_SCOPES, "clauses": clauses}));
    (member, agent, point)
}

pub(crate) fn pay() -> Value {
    json!({"intent": "pay.out", "arguments": {}})
}

#[track_caller]
pub(crate) fn effect(allowed: &Reply) -> String {
    allowed.expect_outcome("allow")["effect"]["id"].as_str().unwrap().to_owned()
}

#[track_caller]
pub(crate) fn check_names(reply: &Reply, status: u16, pointer: &str) {
    let problem = reply.expect_problem(status);
    let pointers: Vec<_> =
        problem["errors"].as_array().into_iter().flatten().map(|one| &one["pointer"]).collect();
    assert!(pointers.iter().any(|named| **named == pointer), "{pointer} is not named: {problem}");
}

/// The calls of the tenant with this status that stand against no credential, as compliance sees them.
pub(crate) fn in_the_tenants_name(compliance: &Client, status: u16) -> Vec<Value> {
    let mut calls = compliance.all("/v1/calls");
    calls.retain(|call| {
        call["status"] == status && call["credential"].is_null() && call["principal"].is_null()
    });
    calls
}

fn a_point_asks_for_an_agent_and_the_receipt_names_both(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = ready(&server);
    let facts = json!({"writable": true, "owners": {"order:1": "acct:cus_91"}});
    let answer =
        point.evaluate(&agent, &with(&refund("24.00"), "facts", facts.clone())).expect_outcome("allow");
    let receipt = &answer["receipt"];
    assert_eq!((&receipt["credential"], &receipt["agent"]), (&json!(agent.credential), &json!(agent.id)));
    assert_eq!((&receipt["chain"], &receipt["facts_from"]), (&json!(agent.credential), &json!("attested")));
    let told = member.get(&format!("/v1/receipts/{}", receipt["id"].as_str().unwrap())).expect(200);
    assert_eq!(told["input"]["enforcement_point"], point.id, "{told}");
    assert!(told["input"]["request"]["facts"]["commitment"].is_string(), "{told}");
    assert!(!told["input"].to_string().contains("cus_91"), "facts can name a person: {told}");
    assert_eq!(told["content"]["/input/request/facts"]["value"], facts, "{told}");
    assert!(!told.to_string().contains(agent.token()), "a token is never written down");

    let own = agent.evaluate(&refund("24.00")).expect_outcome("allow");
    assert_eq!(own["receipt"]["facts_from"], "described");
    let told = member.get(&format!("/v1/receipts/{}", own["receipt"]["id"].as_str().unwrap())).expect(200);
    assert_eq!(told["input"]["enforcement_point"], Value::Null, "{told}");

    let entry = json!({"title": "refund", "effect": false, "arguments": {"type": "object", "required": ["sum"],
        "properties": {"sum": {"type": "string"}}}, "amount": "/sum", "currency": {"const": "EUR"}});
    server.operator().put("/v1/catalogue/payments.refund", &[], &entry).expect(200);
    let known = json!({"intent": "payments.refund", "arguments": {"sum": "24.00"}, "facts": facts});
    let answer = point.evaluate(&agent, &known).expect_outcome("allow");
    assert_eq!(answer["receipt"]["facts_from"], "derived", "the arguments come before anyone's word");
    check_verifies(&export(&member, &agent.credential));
    check_whole(server.database());
}

fn an_attested_country_counts_for_more_than_an_agents_word(db: Db) {
    let server = Server::start(db);
    let (_, agent, point) = ready(&server);
    let sets = json!({"rule_sets": [
        {"clauses": []},
        {"applies": {"country": "DE"}, "clauses": [{"id": "P-1", "intent": "payments.*", "effect": "refuse"}]},
    ]});
    server.operator().put_over("/v1/policy", &sets);
    let abroad = with(&refund("24.00"), "country", "NL");
    agent.evaluate(&abroad).expect_outcome("refuse");
    point.evaluate(&agent, &abroad).expect_outcome("allow");
    point.evaluate(&agent, &with(&refund("24.00"), "country", "DE")).expect_outcome("refuse");

    // The same holds when a decision is looked at again.
    let asked = point.evaluate(&agent, &with(&abroad, "intent", "stock.order")).expect_outcome("escalate");
    let refusing = json!({"rule_sets": [
        {"clauses": []},
        {"applies": {"country": "DE"}, "clauses": [{"id": "P-1", "intent": "stock.*", "effect": "refuse"}]},
    ]});
    server.operator().put_over("/v1/policy", &refusing);
    let member = server.sign_in(TENANT, "m@example.test");
    member.approve(asked["decision"]["id"].as_str().unwrap()).expect(200);
}

fn an_allowance_that_rests_on_stated_facts_needs_a_point(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = ready(&server);
    let mut mandate = small_refunds();
    mandate["clauses"][0]["when"] =
        json!({"facts": {"/writable": {"equals": true}}, "resource": {"owner": "principal"}});
    member.put_mandate(&mandate);
    let people = server.operator().all("/v1/principals");
    let own = people.iter().find(|person| person["email"] == "m@example.test").unwrap()["id"].clone();
    agent.evaluate(&refund("24.00")).expect_outcome("escalate");
    point.evaluate(&agent, &refund("24.00")).expect_outcome("escalate");
    for (writable, owners, outcome) in [
        (json!(true), json!({"order:1": "principal"}), "allow"),
        (json!(true), json!({"order:1": own, "order:2": "acct:cus_91"}), "allow"),
        (json!(true), json!({"order:1": "acct:cus_91"}), "escalate"),
        (json!(true), json!({"order:2": "principal"}), "escalate"),
        (json!(false), json!({"order:1": "principal"}), "escalate"),
        (json!("true"), json!({"order:1": "principal"}), "escalate"),
        (json!(null), json!({"order:1": "principal"}), "escalate"),
    ] {
        let facts = json!({"writable": writable, "owners": owners});
        point.evaluate(&agent, &with(&refund("24.00"), "facts", facts)).expect_outcome(outcome);
    }
    // The person's yes is good for what was stated, and is looked at again under the same facts.
    let locked = with(&refund("24.00"), "facts", json!({"writable": false}));
    let asked = point.evaluate(&agent, &locked).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    let shown = member.get(&format!("/v1/decisions/{decision}")).expect(200);
    assert_eq!(
        shown["asked"]["request"]["facts"],
        json!({"writable": false}),
        "the person sees them: {shown}"
    );
    member.approve(decision).expect(200);
    point.evaluate(&agent, &with(&locked, "decision", decision)).expect_outcome("allow");
}

fn facts_are_part_of_what_a_key_and_an_approval_are_for(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = ready(&server);
    let stating = |facts: Value| with(&refund("24.00"), "facts", facts);
    let first = point.evaluate_once("k-1", &agent, &stating(json!({"writable": true})));
    first.expect_outcome("allow");
    let again = point.evaluate_once("k-1", &agent, &stating(json!({"writable": true})));
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "{}", again.text);
    for other in [stating(json!({"writable": false})), stating(json!({})), refund("24.00")] {
        let reused = point.evaluate_once("k-1", &agent, &other).expect_problem(422);
        assert!(reused["type"].as_str().unwrap().ends_with("/idempotency-key-reused"), "{reused}");
    }
    agent.evaluate_once("k-1", &refund("24.00")).expect_problem(422);

    let large = with(&refund("5000.00"), "facts", json!({"writable": true}));
    let asked = point.evaluate(&agent, &large).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let with_decision = |action: &Value| with(action, "decision", decision);
    let other = point.evaluate(&agent, &with_decision(&with(&large, "facts", json!({"writable": false}))));
    other.expect_outcome("refuse");
    assert!(other.names("approval.mismatch"), "{}", other.text);
    let silent = agent.evaluate(&with_decision(&refund("5000.00")));
    silent.expect_outcome("refuse");
    assert!(silent.names("approval.mismatch"), "{}", silent.text);
    point.evaluate(&agent, &with_decision(&large)).expect_outcome("allow");
}

fn an_agent_states_neither_facts_nor_whom_it_asks_for(db: Db) {
    let server = Server::start(db);
    let (_, agent, point) = ready(&server);
    check_names(&agent.evaluate(&with(&refund("1.00"), "facts", json!({"writable": true}))), 422, "/facts");
    for token in [agent.token(), point.client.token()] {
        let told = agent.evaluate(&with(&refund("1.00"), "subject_token", token));
        check_names(&told, 422, "/subject_token");
        assert!(!told.text.contains(token), "a token is not sent back");
    }
    assert_eq!(
        server.database().connect().number("SELECT COUNT(*) FROM receipts WHERE kind = 'gate.evaluate'"),
        0
    );
}

fn facts_have_a_shape_and_a_bound(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = ready(&server);
    let many = |count: usize| (0..count).map(|fact| (format!("f{fact}"), json!(1))).collect::<Value>();
    let long = |bytes: usize| json!({"f": "x".repeat(bytes - json!({"f": ""}).to_string().len())});
    for good in [json!({}), many(64), long(16 * 1024), json!({"owners": {}, "f": null})] {
        point.evaluate(&agent, &with(&refund("1.00"), "facts", good)).expect_outcome("allow");
    }
    let wrong = [
        (json!(null), "/facts"),
        (json!([]), "/facts"),
        (json!("writable"), "/facts"),
        (many(65), "/facts"),
        (long(16 * 1024 + 1), "/facts"),
        (json!({"owners": ["order:1"]}), "/facts/owners"),
        (json!({"owners": null}), "/facts/owners"),
        (json!({"owners": {"order:1": 7}}), "/facts/owners/order:1"),
        (json!({"owners": {"a/b": null}}), "/facts/owners/a~1b"),
    ];
    for (facts, pointer) in &wrong {
        check_names(&point.evaluate(&agent, &with(&refund("1.00"), "facts", facts.clone())), 422, pointer);
    }
    eventually("each is listed against the credential, with the point's id", || {
        let calls = member.all(&format!("/v1/credentials/{}/calls", agent.credential));
        let named = |call: &&Value| call["detail"].as_str().is_some_and(|detail| detail.contains(&point.id));
        calls.iter().filter(|call| call["status"] == 422).filter(named).count() == wrong.len()
    });
}

fn neither_token_opens_what_the_other_does(db: Db) {
    let server = Server::start(db);
    let (_, agent, point) = ready(&server);
    let document = server.client().get("/openapi.json").expect(200);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let opens = |who: &str| {
                let security = operation["security"].as_array().unwrap();
                security.is_empty() || security.iter().any(|one| one[who].is_array())
            };
            let called = |client: &Client| {
                let body = matches!(&**method, "post" | "put").then_some(b"{}".as_slice());
                client.send(&method.to_uppercase(), &path.replace(['{', '}'], "x"), &[], body).status
            };
            if !opens("enforcement_point") {
                assert_eq!(called(&point.client), 403, "a point at {method} {path}");
            }
            if path.starts_with("/v1/enforcement-points") {
                assert_eq!(called(&agent), 403, "an agent at {method} {path}");
            }
        }
    }
    check_names(&point.client.evaluate(&refund("1.00")), 422, "/subject_token");
    let own = point.client.evaluate(&with(&refund("1.00"), "subject_token", point.client.token()));
    check_names(&own, 422, "/subject_token");
    let other = Point::new(&server.operator(), "door");
    let others = point.client.evaluate(&with(&refund("1.00"), "subject_token", other.client.token()));
    check_names(&others, 422, "/subject_token");
    point.evaluate(&agent, &refund("1.00")).expect_outcome("allow");
}

fn a_revoked_point_opens_nothing_and_its_calls_are_listed(db: Db) {
    let server = Server::start(db);
    let (_, agent, point) = paying(&server);
    let (operator, other) = (server.operator(), Point::new(&server.operator(), "door"));
    let claimed = effect(&point.evaluate(&agent, &pay()));
    server.database().connect().execute("UPDATE sessions SET signed_in_at = signed_in_at - 600000");
    let path = format!("/v1/enforcement-points/{}", point.id);
    let gone = operator.delete(&path).expect(200);
    assert_eq!(gone["receipt"]["kind"], "enforcement_point.revoke", "no is easy: {gone}");
    operator.delete(&path).expect_problem(409);
    let listed = operator.all("/v1/enforcement-points");
    let states: Vec<_> = listed.iter().map(|one| (&one["name"], one["revoked_at"].is_null())).collect();
    assert_eq!(states, [(&json!("till"), false), (&json!("door"), true)], "{listed:?}");
    assert!(!json!(listed).to_string().contains("secret"), "{listed:?}");

    let refused = point.evaluate(&agent, &pay());
    let problem = refused.expect_problem(401);
    assert!(problem["detail"].as_str().unwrap().contains(&point.id), "{problem}");
    assert!(refused.header("www-authenticate").unwrap().contains("invalid_token"));
    point.evaluate(&agent, &with(&pay(), "facts", 7)).expect_problem(401);
    point.client.evaluate(&pay()).expect_problem(401);
    point.report(&claimed, &json!({"status": "done"})).expect_problem(401);
    point.client.get("/v1/mandate").expect_problem(401);
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    eventually("its calls are listed in the tenant's name", || {
        let calls = in_the_tenants_name(&compliance, 401);
        let named = |call: &&Value| call["detail"].as_str().is_some_and(|detail| detail.contains(&point.id));
        calls.iter().filter(named).count() == 5
    });
    let stands = format!("SELECT status AS text FROM effects WHERE id = '{claimed}'");
    assert_eq!(server.database().connect().texts(&stands), ["claimed"]);
    other.report(&claimed, &json!({"status": "done"})).expect(200);
    agent.evaluate(&pay()).expect_outcome("allow");
    check_whole(server.database());
}

fn a_subject_token_counts_where_the_agents_own_call_would(db: Db) {
    let mut server = Server::set_up(db, &[TENANT, "quay"]);
    server.serve();
    let (member, agent, point) = ready(&server);
    let stranger = server.person("quay", "s@example.test", &["member"]);
    stranger.put_mandate(&small_refunds());
    let theirs = Agent::new(&stranger, "runner");
    let with_token = |token: Value| point.client.evaluate(&with(&refund("1.00"), "subject_token", token));
    let mut forged = agent.token().to_owned();
    let last = if forged.ends_with('A') { 'Q' } else { 'A' };
    forged.pop();
    forged.push(last);
    for wrong in [
        json!(null),
        json!(7),
        json!(""),
        json!("x.y.z"),
        json!(forged),
        json!(member.token()),
        json!(agent.secret),
        json!(theirs.token()),
    ] {
        let told = with_token(wrong.clone());
        check_names(&told, 422, "/subject_token");
        assert!(
            wrong.as_str().is_none_or(|text| text.len() < 9 || !told.text.contains(text)),
            "{}",
            told.text
        );
    }
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    eventually("each is listed in the tenant's name", || in_the_tenants_name(&compliance, 422).len() == 8);
    assert!(theirs.all("/v1/calls").iter().all(|call| call["status"] != 422), "nothing in the other tenant");

    let short = json!({"label": "short", "scopes": ACTING_SCOPES, "expires_in": 1});
    let expired = Agent::with_credential(&member, &agent.id, &short);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    let revoked = Agent::new(&member, "gone");
    member.delete(&format!("/v1/credentials/{}", revoked.credential)).expect(200);
    for dead in [&expired, &revoked] {
        point.evaluate(dead, &refund("1.00")).expect_problem(401);
        eventually("it is listed against the credential", || {
            let calls = member.all(&format!("/v1/credentials/{}/calls", dead.credential));
            calls.iter().any(|call| {
                call["status"] == 401 && call["detail"].as_str().is_some_and(|said| said.contains(&point.id))
            })
        });
    }
    let reader = Agent::of_kind(&member, "narrow", "acting", &["mandate:read"]);
    let problem = point.evaluate(&reader, &refund("1.00")).expect_problem(403);
    assert!(problem["type"].as_str().unwrap().ends_with("/insufficient-scope"), "{problem}");
    let answering = Agent::of_kind(&member, "answering", "answering", &ACTING_SCOPES);
    point.evaluate(&answering, &refund("1.00")).expect_outcome("refuse");
    let reading = Agent::of_kind(&member, "reading", "reading", &ACTING_SCOPES);
    point.evaluate(&reading, &refund("1.00")).expect_outcome("escalate");
    point.evaluate(&agent, &with(&refund("1.00"), "agent", &*reading.id)).expect_problem(422);
    point.evaluate(&agent, &with(&refund("1.00"), "agent", &*agent.id)).expect_outcome("allow");
}

fn only_an_operator_who_signed_in_just_now_registers_a_point(db: Db) {
    let server = Server::start(db);
    let (member, agent, _) = ready(&server);
    let operator = server.operator();
    let name = json!({"name": "door"});
    member.post("/v1/enforcement-points", &name).expect_problem(403);
    agent.post("/v1/enforcement-points", &name).expect_problem(403);
    server.client().post("/v1/enforcement-points", &name).expect_problem(401);
    member.get("/v1/enforcement-points").expect_problem(403);
    for (wrong, pointer) in [
        (json!({}), None),
        (json!({"name": "a\u{202e}b"}), Some("/name")),
        (json!({"name": "door", "scopes": []}), Some("/scopes")),
    ] {
        let refused = operator.post("/v1/enforcement-points", &wrong);
        refused.expect_problem(422);
        if let Some(pointer) = pointer {
            check_names(&refused, 422, pointer);
        }
    }
    server.database().connect().execute("UPDATE sessions SET signed_in_at = signed_in_at - 300000");
    let late = operator.post("/v1/enforcement-points", &name).expect_problem(403);
    assert!(late["type"].as_str().unwrap().ends_with("/step-up-required"), "{late}");
    assert_eq!(operator.all("/v1/enforcement-points").len(), 1);
}

fn a_point_renews_its_token_with_its_own_secret_alone(db: Db) {
    let server = Server::start(db);
    let (_, agent, point) = ready(&server);
    let renew = |id: &str, secret: &str, more: &str| {
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}{more}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        server.client().send("POST", "/oauth/token", &headers, Some(form.as_bytes()))
    };
    let renewed = renew(&point.id, &point.secret, "").expect(200);
    assert_eq!((&renewed["expires_in"], &renewed["scope"]), (&json!(600), &Value::Null), "{renewed}");
    let later = Point {
        client: server.client().with_token(renewed["access_token"].as_str().unwrap()),
        id: point.id.clone(),
        secret: point.secret.clone(),
    };
    later.evaluate(&agent, &refund("1.00")).expect_outcome("allow");
    assert_eq!(renew(&point.id, &point.secret, "&scope=").status, 200);
    assert_eq!(
        renew(&point.id, &point.secret, "&scope=action:request").expect(400)["error"],
        "invalid_scope"
    );
    let never = "enf_01j00000000000000000000000";
    for (id, secret) in [
        (&*point.id, &*agent.secret),
        (&*agent.credential, &*point.secret),
        (never, &*point.secret),
        (&*point.id, ""),
    ] {
        assert_eq!(renew(id, secret, "").expect(401)["error"], "invalid_client", "{id}");
    }
    server.operator().delete(&format!("/v1/enforcement-points/{}", point.id)).expect(200);
    assert_eq!(renew(&point.id, &point.secret, "").expect(401)["error"], "invalid_client");
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    eventually("wrong secrets are listed in the tenant's name", || {
        in_the_tenants_name(&compliance, 401).len() == 3
    });
}
