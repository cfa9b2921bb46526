//! Drafts put to past calls: what they would have answered, and that nothing comes of asking.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{refund, refunds_up_to, small_refunds, with};
use crate::server::{Server, TENANT};
use serde_json::{Value, json};

both!(
    a_draft_is_put_to_the_calls_that_were_made,
    asking_writes_nothing,
    limits_count_as_if_the_draft_had_been_live,
    what_a_person_approved_counts_as_approved,
    a_call_that_goes_on_with_an_allowed_question_takes_nothing_twice,
    whom_the_person_knew_then_counts,
    what_lies_outside_a_drafts_domain_would_be_malformed,
    a_policys_draft_is_put_to_everybodys_calls_and_a_mandates_to_ones_own,
    what_cannot_be_decided_again_is_counted,
    what_is_asked_wrongly_is_named,
    what_keeps_a_draft_out_is_said_beside_what_it_would_do,
);

/// What a draft of the caller's mandate would have done.
#[track_caller]
fn preview(person: &Client, draft: &Value) -> Value {
    person.post("/v1/mandate/preview", &json!({"mandate": draft})).expect(200)
}

fn with_clause(mut document: Value, clause: Value) -> Value {
    document["clauses"].as_array_mut().unwrap().push(clause);
    document
}

fn limited(ceiling: &str, limit: &Value) -> Value {
    let mut document = refunds_up_to(ceiling);
    document["clauses"][0]["limits"] = json!([limit]);
    document
}

fn a_draft_is_put_to_the_calls_that_were_made(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("50.00")).expect_outcome("allow");
    let changing = agent.evaluate(&refund("80.00")).expect_outcome("allow");
    agent.evaluate(&refund("150.00")).expect_outcome("escalate");
    agent.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");

    let said = preview(&member, &refunds_up_to("60.00"));
    assert_eq!(said["change"], "narrowed", "{said}");
    assert_eq!((&said["calls"], &said["considered"]), (&json!(4), &json!(4)), "{said}");
    assert_eq!(said["summary"], json!({"allow_to_escalate": 1}), "{said}");
    assert_eq!(said["changes"], 1);
    let changed = &said["changed"][0];
    assert_eq!(changed["receipt"], changing["receipt"]["id"], "{said}");
    assert_eq!(changed["at"], changing["receipt"]["at"]);
    assert_eq!(changed["intent"], "payments.refund");
    assert_eq!((&changed["was"], &changed["would_be"]), (&json!("allow"), &json!("escalate")));
    assert_eq!(changed["clauses"], json!(["M-001"]));
    assert_eq!(said["errors"], json!([]));

    let said = preview(&member, &refunds_up_to("200.00"));
    assert_eq!((&said["change"], &said["summary"]), (&json!("widened"), &json!({"escalate_to_allow": 1})));
    let said = preview(&member, &small_refunds());
    assert_eq!((&said["change"], &said["changed"]), (&json!("unchanged"), &json!([])), "{said}");

    let since = changing["receipt"]["at"].as_str().unwrap();
    let asked = json!({"mandate": refunds_up_to("60.00"), "since": since});
    let said = member.post("/v1/mandate/preview", &asked).expect(200);
    assert!(said["calls"].as_u64().unwrap() <= 4, "{said}");
    assert_eq!(said["window"]["from"], since);
    assert_eq!(said["summary"], json!({"allow_to_escalate": 1}), "{said}");
}

fn asking_writes_nothing(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("150.00")).expect_outcome("escalate");
    let mut store = server.database().connect();
    let mut written = || {
        let acts = store.number("SELECT COUNT(*) FROM receipts WHERE kind <> 'access.minute'");
        let rows = ["books", "decisions", "effects", "mandates"];
        (acts, rows.map(|table| store.number(&format!("SELECT COUNT(*) FROM {table}"))))
    };
    let before = written();
    for ceiling in ["10.00", "500.00"] {
        preview(&member, &limited(ceiling, &json!({"count": 1, "per": "day"})));
    }
    assert_eq!(written(), before);
    assert_eq!(member.get("/v1/mandate").expect(200)["version"], 2);
    let listed = member.all("/v1/calls");
    let asked = listed.iter().filter(|call| call.to_string().contains("/v1/mandate/preview")).count();
    assert!(asked > 0, "a preview is a read, and reads are listed: {listed:?}");
}

fn limits_count_as_if_the_draft_had_been_live(db: Db) {
    let server = Server::start(db);
    let entry = json!({"title": "act", "effect": true, "arguments": {"type": "object"}});
    server.operator().put("/v1/catalogue/owned.act", &[], &entry).expect(200);
    let acting = json!({"id": "M-9", "intent": "owned.act", "effect": "allow"});
    let member = server.member_with("m@example.test", &with_clause(small_refunds(), acting.clone()));
    let agent = Agent::new(&member, "runner");
    for euros in ["30.00", "40.00", "50.00"] {
        agent.evaluate(&refund(euros)).expect_outcome("allow");
    }
    let total = |euros: &str| {
        limited("100.00", &json!({"total": {"value": euros, "currency": "EUR"}, "per": "30 days"}))
    };
    let said = |document: Value| preview(&member, &with_clause(document, acting.clone()))["summary"].clone();
    assert_eq!(said(total("120.00")), json!({}));
    assert_eq!(said(total("119.99")), json!({"allow_to_escalate": 1}));
    // The second does not fit and takes nothing: the third does.
    assert_eq!(said(total("80.00")), json!({"allow_to_escalate": 1}));
    assert_eq!(said(total("69.99")), json!({"allow_to_escalate": 2}));

    // What failed gives back its place.
    let act = json!({"intent": "owned.act", "arguments": {}});
    let first = agent.evaluate(&act).expect_outcome("allow");
    let effect = first["effect"]["id"].as_str().unwrap();
    agent.post(&format!("/v1/effects/{effect}/outcome"), &json!({"status": "failed"})).expect(200);
    for _ in 0..3 {
        agent.evaluate(&act).expect_outcome("allow");
    }
    let counted = |count: u32| {
        let mut clause = acting.clone();
        clause["limits"] = json!([{"count": count, "per": "30 days"}]);
        preview(&member, &with_clause(small_refunds(), clause))["summary"].clone()
    };
    assert_eq!(counted(3), json!({}), "four calls, of which one failed");
    assert_eq!(counted(2), json!({"allow_to_escalate": 1}));
}

fn what_a_person_approved_counts_as_approved(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let asked = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let used = with(&refund("5000.00"), "decision", decision);
    agent.evaluate(&used).expect_outcome("allow");
    agent.evaluate(&used).expect_outcome("refuse");

    let said = preview(&member, &refunds_up_to("50.00"));
    assert_eq!(said["summary"], json!({}), "{said}");
    assert_eq!((&said["calls"], &said["considered"]), (&json!(3), &json!(2)), "{said}");
    assert_eq!(said["left_out"]["refused_by_service"], 1, "{said}");
    let refusing = json!({"id": "R", "intent": "payments.*", "effect": "refuse"});
    let said = preview(&member, &with_clause(small_refunds(), refusing));
    assert_eq!(said["summary"], json!({"allow_to_refuse": 1, "escalate_to_refuse": 1}), "{said}");
    // A draft that asks for somebody else's yes has not got it.
    let asking = json!({"id": "E", "intent": "payments.*", "effect": "escalate",
        "approvals": {"count": 1, "roles": ["compliance"]}});
    let said = preview(&member, &with_clause(small_refunds(), asking));
    assert_eq!(said["summary"], json!({"allow_to_escalate": 1}), "{said}");
}

fn a_call_that_goes_on_with_an_allowed_question_takes_nothing_twice(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let asked = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    agent.evaluate(&with(&refund("5000.00"), "decision", decision)).expect_outcome("allow");
    let draft =
        limited("6000.00", &json!({"total": {"value": "6000.00", "currency": "EUR"}, "per": "30 days"}));
    assert_eq!(preview(&member, &draft)["summary"], json!({"escalate_to_allow": 1}));
}

fn whom_the_person_knew_then_counts(db: Db) {
    let server = Server::start(db);
    let known = json!({
        "scopes": ["action:request"],
        "clauses": [{"id": "M-1", "intent": "mail.send", "effect": "allow", "when": {"counterparty": {"known": true}}}],
    });
    let member = server.member_with("m@example.test", &known);
    let agent = Agent::of_kind(&member, "writer", "acting", &["action:request"]);
    let mail = json!({"intent": "mail.send", "counterparty": "a@example.test"});
    let asked = agent.evaluate(&mail).expect_outcome("escalate");
    member.approve(asked["decision"]["id"].as_str().unwrap()).expect(200);
    agent.evaluate(&with(&mail, "country", "DE")).expect_outcome("allow");
    assert_eq!(
        preview(&member, &known)["summary"],
        json!({}),
        "nobody was known at first, somebody was then"
    );
}

fn what_lies_outside_a_drafts_domain_would_be_malformed(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("80.00")).expect_outcome("allow");
    let mut draft = small_refunds();
    draft["domains"] = json!({"payments.*": {"amount": {"at_most": {"value": "50.00", "currency": "EUR"}}}});
    let said = preview(&member, &draft);
    assert_eq!(said["summary"], json!({"allow_to_malformed": 1}), "{said}");
    assert_eq!(said["changed"][0]["would_be"], "malformed");
}

fn a_policys_draft_is_put_to_everybodys_calls_and_a_mandates_to_ones_own(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let people =
        ["a@example.test", "b@example.test"].map(|email| server.member_with(email, &small_refunds()));
    for person in &people {
        Agent::new(person, "runner").evaluate(&refund("20.00")).expect_outcome("allow");
    }
    assert_eq!(preview(&people[0], &refunds_up_to("10.00"))["summary"], json!({"allow_to_escalate": 1}));
    let both = server.person(TENANT, "both@example.test", &["operator", "compliance"]);
    let policy_of = |caller: &Client, limits: Value| {
        let ceiling = json!({"id": "P-1", "intent": "payments.refund", "effect": "allow", "otherwise": "refuse",
            "limits": limits});
        let asked = json!({"policy": {"clauses": [ceiling]}});
        caller.post("/v1/policy/preview", &asked).expect(200)
    };
    let policy = |limits: Value| policy_of(&both, limits);
    let counts = policy_of(&operator, json!([{"count": 1, "per": "30 days"}]));
    assert_eq!((&counts["change"], &counts["calls"]), (&json!("narrowed"), &json!(2)));
    for told in ["changed", "changes", "summary"] {
        // Draft by draft, the number alone would spell out what stood in a call.
        assert_eq!(counts.get(told), None, "what changes is for those who may read the calls: {counts}");
    }
    let said = policy(json!([{"count": 1, "per": "30 days"}]));
    assert_eq!(said["change"], "narrowed", "{said}");
    assert_eq!((&said["calls"], &said["summary"]), (&json!(2), &json!({"allow_to_refuse": 1})), "{said}");
    assert_eq!(said["changed"][0]["clauses"], json!(["P-1"]));
    assert_eq!(policy(json!([{"count": 2, "per": "30 days"}]))["summary"], json!({}));
    people[0].post("/v1/policy/preview", &json!({"policy": {"clauses": []}})).expect_problem(403);
    assert_eq!(operator.get("/v1/policy").expect(200)["version"], 1);
}

fn what_cannot_be_decided_again_is_counted(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let erased = agent.evaluate(&refund("80.00")).expect_outcome("allow");
    agent.evaluate(&refund("70.00")).expect_outcome("allow");
    let id = erased["receipt"]["id"].as_str().unwrap();
    server.database().connect().execute(&format!("UPDATE receipts SET content = NULL WHERE id = '{id}'"));
    let said = preview(&member, &refunds_up_to("60.00"));
    assert_eq!((&said["left_out"]["erased"], &said["considered"]), (&json!(1), &json!(1)), "{said}");
    assert_eq!(said["summary"], json!({"allow_to_escalate": 1}), "{said}");
    // The catalogue learns the intent and takes no such arguments.
    let entry =
        json!({"title": "refund", "effect": true, "arguments": {"type": "object", "required": ["order"]}});
    server.operator().put("/v1/catalogue/payments.refund", &[], &entry).expect(200);
    let said = preview(&member, &refunds_up_to("60.00"));
    assert_eq!((&said["left_out"]["undecidable"], &said["considered"]), (&json!(1), &json!(0)), "{said}");
    // What lies before the window is counted too.
    server
        .database()
        .connect()
        .execute("UPDATE receipts SET at = at - 9000000000 WHERE kind = 'gate.evaluate'");
    let asked = json!({"mandate": refunds_up_to("60.00"), "since": "2020-01-01T00:00:00Z"});
    let said = member.post("/v1/mandate/preview", &asked).expect(200);
    assert_eq!(said["considered"], 0, "{said}");
}

fn what_is_asked_wrongly_is_named(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.post("/v1/mandate/preview", &json!({"mandate": small_refunds()})).expect_problem(403);
    for (body, pointer, detail) in [
        (json!({}), "", "`mandate` is missing"),
        (json!({"mandate": small_refunds(), "sinse": "x"}), "/sinse", "unknown member"),
        (json!({"mandate": small_refunds(), "since": "yesterday"}), "/since", "not a time"),
        (json!({"mandate": small_refunds(), "since": "2999-01-01T00:00:00Z"}), "/since", "not past"),
        (
            json!({"mandate": {"scopes": [], "clauses": [{"id": "A", "intent": "a", "effect": "permit"}]}}),
            "/mandate/clauses/0/effect",
            "permit",
        ),
    ] {
        let problem = member.post("/v1/mandate/preview", &body).expect_problem(422);
        let fault = &problem["errors"][0];
        assert_eq!(fault["pointer"], pointer, "{problem}");
        assert!(fault["detail"].as_str().unwrap().contains(detail), "{problem}");
    }
    assert_eq!(server.sign_in(TENANT, "m@example.test").get("/v1/mandate").expect(200)["version"], 2);
}

fn what_keeps_a_draft_out_is_said_beside_what_it_would_do(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    Agent::new(&member, "runner").evaluate(&refund("80.00")).expect_outcome("allow");
    let hopeless = limited("60.00", &json!({"total": {"value": "5.00", "currency": "USD"}, "per": "day"}));
    let said = preview(&member, &hopeless);
    assert_eq!(said["errors"][0]["pointer"], "/clauses/0/limits/0", "{said}");
    assert_eq!(said["summary"], json!({"allow_to_escalate": 1}), "{said}");
    let warned = said["warnings"].as_array().unwrap();
    assert!(warned.iter().any(|warning| warning["pointer"] == "/clauses/0/intent"), "{said}");
    let problem = member.put("/v1/mandate", &[("if-match", "\"2\"")], &hopeless).expect_problem(422);
    assert_eq!(problem["errors"], said["errors"]);
}
