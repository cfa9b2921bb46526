//! What the gate answers: three outcomes, three kinds of agent, and what is asked under which version.

use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, no_refunds, refund, refunds_up_to, small_refunds, with};
use crate::server::{Agent, Server};
use serde_json::json;

both!(
    each_outcome_comes_with_its_clause_and_receipt,
    a_narrowed_mandate_stops_a_token_issued_before_it,
    a_mandate_without_scopes_stops_everything_at_once,
    each_kind_of_agent_gets_what_its_kind_may,
    the_stricter_of_mandate_and_credential_wins,
    an_older_mandate_than_asked_for_is_a_conflict,
    a_call_that_says_it_is_somebody_else_is_refused,
    an_agent_asks_for_a_person_whose_mandate_is_new,
);

fn each_outcome_comes_with_its_clause_and_receipt(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");

    let allowed = agent.evaluate(&refund("100.00"));
    let answer = allowed.expect_outcome("allow");
    assert!(allowed.names("M-001"), "{answer}");
    let receipt = &answer["receipt"];
    assert_eq!(receipt["credential"], *agent.credential);
    assert_eq!(receipt["chain"], *agent.credential);
    assert_eq!(receipt["outcome"], "allow");
    assert_eq!(receipt["kind"], "gate.evaluate");
    assert_eq!(receipt["mandate_version"], answer["mandate_version"]);
    assert!(receipt["merkle"]["path"].is_array(), "{receipt}");

    let escalated = agent.evaluate(&refund("100.01"));
    let answer = escalated.expect_outcome("escalate");
    assert!(escalated.names("M-001"), "{answer}");
    assert_eq!(answer["decision"]["status"], "open");
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("100.01") && reason.contains("100.00"), "both values are named: {reason}");

    let refused = agent.evaluate(&json!({"intent": "account.close"}));
    let answer = refused.expect_outcome("refuse");
    assert!(refused.names("M-002"), "{answer}");
    assert!(answer["decision"].is_null(), "a refusal opens no decision: {answer}");

    let unheard = agent.evaluate(&json!({"intent": "unheard.of"})).expect_outcome("escalate");
    assert_eq!(unheard["decision"]["status"], "open", "what no clause names goes to the person: {unheard}");
    assert_eq!(unheard["receipt"]["seq"], 3, "the fourth call of the chain");
}

fn a_narrowed_mandate_stops_a_token_issued_before_it(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("60.00")).expect_outcome("allow");

    let narrowed = member.put_mandate(&refunds_up_to("50.00"));
    assert_eq!(narrowed["change"], "narrowed");
    let answer = agent.evaluate(&refund("60.00")).expect_outcome("escalate");
    assert_eq!(answer["mandate_version"], narrowed["version"]);
    agent.evaluate(&refund("50.00")).expect_outcome("allow");

    member.put_mandate(&no_refunds());
    agent.evaluate(&refund("50.00")).expect_outcome("escalate");
}

fn a_mandate_without_scopes_stops_everything_at_once(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    member.put_mandate(&json!({"scopes": [], "clauses": small_refunds()["clauses"]}));
    let stopped = agent.evaluate(&refund("1.00"));
    let answer = stopped.expect_outcome("refuse");
    assert!(stopped.names("mandate.scopes"), "{answer}");
}

fn each_kind_of_agent_gets_what_its_kind_may(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let of_kind = |kind: &str| Agent::of_kind(&member, &format!("the {kind} one"), kind, &ACTING_SCOPES);
    let (acting, reading, answering) = (of_kind("acting"), of_kind("reading"), of_kind("answering"));
    let action = refund("24.00");

    acting.evaluate(&action).expect_outcome("allow");
    let escalated = reading.evaluate(&action);
    let answer = escalated.expect_outcome("escalate");
    assert!(escalated.names("agent.kind"), "{answer}");
    let refused = answering.evaluate(&action);
    refused.expect_outcome("refuse");
    assert!(refused.names("agent.kind"), "{}", refused.text);

    let decision = answer["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    reading.evaluate(&with(&action, "decision", decision)).expect_outcome("allow");
}

fn the_stricter_of_mandate_and_credential_wins(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let wide = Agent::new(&member, "runner");
    let credential = |clauses| json!({"label": "narrow", "scopes": ACTING_SCOPES, "clauses": clauses});
    let restricted = Agent::with_credential(
        &member,
        &wide.id,
        &credential(json!([{"id": "C-1", "intent": "payments.*", "effect": "refuse"}])),
    );
    let answer = restricted.evaluate(&refund("10.00"));
    answer.expect_outcome("refuse");
    assert!(answer.names("C-1"), "{}", answer.text);

    let allowing = Agent::with_credential(
        &member,
        &wide.id,
        &credential(json!([{"id": "C-2", "intent": "payments.refund", "effect": "allow",
            "when": {"amount": {"at_most": {"value": "20.00", "currency": "EUR"}}}}])),
    );
    allowing.evaluate(&refund("20.00")).expect_outcome("allow");
    let above = allowing.evaluate(&refund("20.01"));
    above.expect_outcome("escalate");
    assert!(above.names("C-2"), "{}", above.text);
    wide.evaluate(&refund("20.01")).expect_outcome("allow");
}

fn an_older_mandate_than_asked_for_is_a_conflict(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let live = member.get("/v1/mandate").expect(200)["version"].as_u64().unwrap();
    agent.evaluate(&with(&refund("1.00"), "min_mandate_version", live)).expect_outcome("allow");
    agent.evaluate(&with(&refund("1.00"), "min_mandate_version", live + 1)).expect_problem(409);
}

fn a_call_that_says_it_is_somebody_else_is_refused(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let other = Agent::new(&member, "other");
    for (member, value) in [("tenant", "harbour"), ("agent", "runner"), ("agent", &*agent.id)] {
        agent.evaluate(&with(&refund("1.00"), member, value)).expect_outcome("allow");
    }
    for (member, value) in [("tenant", "quay"), ("agent", "other"), ("agent", &*other.id)] {
        let problem = agent.evaluate(&with(&refund("1.00"), member, value)).expect_problem(422);
        assert_eq!(problem["errors"][0]["pointer"], format!("/{member}"), "{problem}");
    }
}

fn an_agent_asks_for_a_person_whose_mandate_is_new(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let mandate = member.get("/v1/mandate").expect(200);
    assert_eq!(mandate["version"], 1);
    assert_eq!(mandate["mandate"]["scopes"], json!([]), "{mandate}");
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("refuse");
}
