//! The gate does not believe descriptions: for a catalogued intent the arguments say what would happen.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::with;
use crate::server::Server;
use serde_json::{Value, json};

both!(
    a_description_that_contradicts_its_arguments_is_refused,
    facts_are_derived_and_decided_on,
    an_irreversible_intent_needs_an_idempotency_key,
    only_an_operator_writes_the_catalogue_and_faults_are_named,
    an_agents_own_word_does_not_release_what_must_be_attested,
    a_schema_that_leads_back_into_itself_is_refused,
    a_misspelt_keyword_of_a_schema_is_refused_and_one_put_before_keeps_working,
);

fn transfer() -> Value {
    json!({
        "title": "Send money",
        "effect": true,
        "arguments": {
            "type": "object",
            "required": ["to", "sum", "unit"],
            "properties": {
                "to": {"type": "string"},
                "bcc": {"type": "array", "items": {"type": "string"}},
                "sum": {"type": "string"},
                "unit": {"type": "string"},
                "order": {"type": "string"},
                "land": {"type": "string"},
            },
        },
        "amount": "/sum",
        "currency": "/unit",
        "resource": "/order",
        "country": "/land",
        "counterparties": ["/to", "/bcc"],
    })
}

fn mandate() -> Value {
    json!({
        "scopes": ["action:request", "mandate:read", "decision:read", "call:read"],
        "clauses": [{"id": "M-001", "intent": "money.transfer", "effect": "allow", "when": {
            "amount": {"at_most": {"value": "100.00", "currency": "EUR"}},
            "counterparty": {"in": ["acct:grocer", "acct:baker"]},
        }}],
    })
}

fn arguments() -> Value {
    json!({"to": "acct:grocer", "sum": "40.00", "unit": "EUR", "order": "order:7", "land": "DE"})
}

#[track_caller]
fn ready(server: &Server) -> (Client, Agent) {
    server.operator().put("/v1/catalogue/money.transfer", &[], &transfer()).expect(200);
    let member = server.member_with("m@example.test", &mandate());
    let agent = Agent::new(&member, "runner");
    (member, agent)
}

fn a_description_that_contradicts_its_arguments_is_refused(db: Db) {
    let server = Server::start(db);
    let (_, agent) = ready(&server);
    let honest = json!({
        "intent": "money.transfer", "arguments": arguments(), "amount": {"value": 40, "currency": "EUR"},
        "counterparty": "acct:grocer", "resource": "order:7", "country": "DE",
    });
    agent.evaluate(&honest).expect_outcome("allow");
    let with_argument =
        |name: &str, value: Value| with(&honest, "arguments", with(&arguments(), name, value));
    let lies = [
        ("/amount", with(&honest, "amount", json!({"value": "4.00", "currency": "EUR"}))),
        ("/amount", with(&honest, "amount", json!({"value": "40.00", "currency": "USD"}))),
        ("/counterparty", with(&honest, "counterparty", "acct:baker")),
        ("/counterparty", with(&honest, "counterparty", json!([]))),
        ("/counterparty", with(&honest, "counterparty", json!(["acct:grocer", "acct:baker"]))),
        ("/resource", with(&honest, "resource", "order:8")),
        ("/country", with(&honest, "country", "NL")),
        ("/counterparty", with_argument("bcc", json!(["acct:thief"]))),
        ("/arguments", with_argument("memo", json!("and this"))),
        ("/arguments", with_argument("sum", json!(40))),
        ("/arguments", json!({"intent": "money.transfer"})),
    ];
    let before = agent.all(&format!("/v1/credentials/{}/calls", agent.credential)).len();
    for (pointer, lie) in &lies {
        let problem = agent.evaluate(lie).expect_problem(422);
        let named = problem["errors"]
            .as_array()
            .unwrap()
            .iter()
            .any(|fault| fault["pointer"].as_str().is_some_and(|named| named.starts_with(pointer)));
        assert!(named, "{pointer} is not named: {problem}");
    }
    crate::server::eventually("each contradiction is listed among the calls", || {
        let calls = agent.all(&format!("/v1/credentials/{}/calls", agent.credential));
        calls.iter().filter(|call| call["status"] == 422).count() == lies.len()
            && calls.len() >= before + lies.len()
    });
}

fn facts_are_derived_and_decided_on(db: Db) {
    let server = Server::start(db);
    let (_, agent) = ready(&server);
    let silent = |arguments: Value| json!({"intent": "money.transfer", "arguments": arguments});
    let allowed = agent.evaluate(&silent(arguments())).expect_outcome("allow");
    assert_eq!(allowed["receipt"]["facts_from"], "derived");
    let hidden = agent.evaluate(&silent(with(&arguments(), "bcc", json!(["acct:thief"]))));
    let answer = hidden.expect_outcome("escalate");
    assert!(hidden.names("M-001"), "a hidden recipient counts like any other: {answer}");
    let above = agent.evaluate(&silent(with(&arguments(), "sum", "100.01"))).expect_outcome("escalate");
    assert!(above["reason"].as_str().unwrap().contains("100.01"), "{above}");
    let described = agent.evaluate(&json!({"intent": "un.catalogued"})).expect(200);
    assert_eq!(described["receipt"]["facts_from"], "described");
}

fn an_irreversible_intent_needs_an_idempotency_key(db: Db) {
    let server = Server::start(db);
    let entry = json!({"title": "Delete", "effect": true, "irreversible": true,
        "arguments": {"type": "object", "properties": {"id": {"type": "string"}}}, "resource": "/id"});
    server.operator().put("/v1/catalogue/archive.delete", &[], &entry).expect(200);
    let member = server.member_with(
        "m@example.test",
        &json!({"scopes": ["action:request"], "clauses": [{"id": "M-1", "intent": "archive.delete", "effect": "allow"}]}),
    );
    let agent = Agent::of_kind(&member, "runner", "acting", &["action:request"]);
    let action = json!({"intent": "archive.delete", "arguments": {"id": "order:1"}});
    let refused = agent.evaluate(&action);
    assert!(matches!(refused.status, 400 | 422), "{}", refused.text);
    assert!(refused.text.to_ascii_lowercase().contains("idempotency-key"), "{}", refused.text);
    let allowed = agent.evaluate_once("k-1", &action).expect_outcome("allow");
    assert_eq!(allowed["effect"]["idempotency_key"], "k-1");
}

fn only_an_operator_writes_the_catalogue_and_faults_are_named(db: Db) {
    let server = Server::start(db);
    let (member, agent) = ready(&server);
    for caller in [&member, &*agent] {
        let tried = caller.put("/v1/catalogue/money.transfer", &[], &transfer());
        assert!(matches!(tried.status, 401 | 403), "{}", tried.text);
    }
    let operator = server.operator();
    for (member, value) in [
        ("efect", json!(true)),
        ("amount", json!("sum")),
        ("arguments", json!({"type": "objekt"})),
        ("counterparties", json!("/to")),
    ] {
        let problem = operator
            .put("/v1/catalogue/money.transfer", &[], &with(&transfer(), member, value))
            .expect_problem(422);
        let pointer = problem["errors"][0]["pointer"].as_str().unwrap();
        assert!(pointer.starts_with(&format!("/{member}")), "{problem}");
    }
    let bare = with(&json!({"title": "bare", "effect": false}), "arguments", json!({"type": "object"}));
    operator.put("/v1/catalogue/bare.act", &[], &bare).expect(200);
    let unknown = json!({"intent": "bare.act", "arguments": {"memo": "and this"}});
    let problem = agent.evaluate(&unknown).expect_problem(422);
    assert!(problem.to_string().contains("memo"), "no argument is declared, so none is taken: {problem}");
    operator.put("/v1/catalogue/Money.Transfer", &[], &transfer()).expect_problem(422);
    let entry = operator.get("/v1/catalogue/money.transfer").expect(200);
    assert_eq!(entry["entry"]["title"], "Send money", "{entry}");
    assert_eq!(operator.get("/v1/catalogue/money.burn").status, 404);
}

fn an_agents_own_word_does_not_release_what_must_be_attested(db: Db) {
    let server = Server::start(db);
    let (member, agent) = ready(&server);
    let operator = server.operator();
    let silent = json!({"intent": "money.transfer", "arguments": arguments()});
    let failed = json!({"status": "failed"});
    let report = |outcome: Option<&str>| {
        let mut entry = transfer();
        if let Some(outcome) = outcome {
            entry["outcome"] = json!(outcome);
        }
        operator.put("/v1/catalogue/money.transfer", &[], &entry).expect(200);
        let allowed = agent.evaluate(&silent).expect_outcome("allow");
        let path = format!("/v1/effects/{}/outcome", allowed["effect"]["id"].as_str().unwrap());
        agent.post(&path, &failed).expect(200)["status"].clone()
    };
    assert_eq!(report(None), "failed");
    assert_eq!(report(Some("agent")), "failed");
    assert!(member.all("/v1/decisions?status=open").is_empty());
    assert_eq!(report(Some("attested")), "unknown");
    let open = member.all("/v1/decisions?status=open");
    assert_eq!((open.len(), &open[0]["kind"]), (1, &json!("effect")), "the person says how it ended");
    let path = format!("/v1/decisions/{}/resolve", open[0]["id"].as_str().unwrap());
    assert_eq!(member.post(&path, &failed).expect(200)["status"], "resolved");
}

fn a_schema_that_leads_back_into_itself_is_refused(db: Db) {
    let server = Server::start(db);
    let node = json!({"type": "array", "maxItems": 1, "items": {"$ref": "#/$defs/node"}});
    let entry = json!({"title": "deep", "effect": false, "arguments": {"type": "object",
        "properties": {"x": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"anyOf": [node, node, node]}}}});
    let refused = server.operator().put("/v1/catalogue/deep.action", &[], &entry).expect_problem(422);
    assert!(refused.to_string().contains("leads back into itself"), "{refused}");
}

fn a_misspelt_keyword_of_a_schema_is_refused_and_one_put_before_keeps_working(db: Db) {
    let mut server = Server::start(db);
    let booking = |bound: &str| {
        json!({"title": "Book", "effect": false, "arguments": {"type": "object", "properties": {
            "nights": {"type": "integer", bound: 5, "x-source": "hotel"}}}})
    };
    let path = "/v1/catalogue/stay.book";
    let refused = server.operator().put(path, &[], &booking("maxmum")).expect_problem(422);
    assert_eq!(
        refused["errors"],
        json!([{"pointer": "/arguments/properties/nights/maxmum",
            "detail": "unknown keyword `maxmum`, the nearest one is `maximum`"}]),
        "{refused}"
    );
    server.operator().put(path, &[], &booking("maximum")).expect(200);
    let terms = json!({"scopes": ["action:request"], "clauses": [{"id": "M-1", "intent": "stay.book", "effect": "allow"}]});
    let member = server.member_with("m@example.test", &terms);
    let agent = Agent::of_kind(&member, "runner", "acting", &["action:request"]);
    let six = json!({"intent": "stay.book", "arguments": {"nights": 6}});
    agent.evaluate(&six).expect_problem(422);
    // As it was put before that was looked at.
    server.kill();
    let sql = "UPDATE catalogue SET document = REPLACE(document, '\"maximum\"', '\"maxmum\"')";
    server.database().connect().execute(sql);
    server.serve();
    agent.at(&server.base()).evaluate(&six).expect_outcome("allow");
    let shown = server.operator().get(path).expect(200);
    assert_eq!(shown["entry"]["arguments"]["properties"]["nights"]["maxmum"], 5, "{shown}");
}
