//! One key under one credential has one answer, and a replay repeats the record, never the permission.

use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{refund, refunds_up_to, small_refunds, with};
use crate::server::{Agent, Server};
use serde_json::json;
use std::collections::BTreeSet;

both!(
    the_same_key_and_body_get_the_same_answer,
    the_same_key_with_another_body_is_refused,
    the_same_key_under_another_credential_is_another_key,
    thirty_deliveries_at_once_are_one_call,
    an_answer_is_the_same_after_kill_nine,
    a_replay_after_narrowing_is_stale,
    a_replay_of_an_unsettled_effect_names_the_effect,
    an_escalated_key_is_asked_again_with_its_decision,
    the_same_ending_may_be_told_twice_and_no_other,
);

fn the_same_key_and_body_get_the_same_answer(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let first = agent.evaluate_once("k-1", &refund("24.00"));
    first.expect_outcome("allow");
    assert_eq!(first.header("idempotency-replayed"), None);
    let spelt_differently = with(&refund("24.00"), "amount", json!({"currency": "EUR", "value": 24}));
    for body in [refund("24.00"), spelt_differently] {
        let again = agent.evaluate_once("k-1", &body);
        let answer = again.expect_outcome("allow");
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(answer["receipt"]["id"], first.json["receipt"]["id"]);
        assert_eq!(answer["receipt"]["hash"], first.json["receipt"]["hash"]);
        assert_eq!(answer["clauses"], first.json["clauses"]);
    }
    let quoted = agent.evaluate_once("\"k-1\"", &refund("24.00"));
    assert_eq!(
        quoted.header("idempotency-replayed"),
        Some("true"),
        "the key as a structured string: {}",
        quoted.text
    );
}

fn the_same_key_with_another_body_is_refused(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate_once("k-1", &refund("24.00")).expect_outcome("allow");
    agent.evaluate_once("k-1", &refund("25.00")).expect_problem(422);
    agent.evaluate_once("k-1", &with(&refund("24.00"), "resource", "order:2")).expect_problem(422);
    agent.evaluate_once("k-2", &refund("25.00")).expect_outcome("allow");
}

fn the_same_key_under_another_credential_is_another_key(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let (one, two) = (Agent::new(&member, "one"), Agent::new(&member, "two"));
    let first = one.evaluate_once("k-1", &refund("24.00")).expect_outcome("allow");
    let second = two.evaluate_once("k-1", &refund("25.00"));
    let answer = second.expect_outcome("allow");
    assert_eq!(second.header("idempotency-replayed"), None);
    assert_ne!(answer["receipt"]["id"], first["receipt"]["id"]);
}

fn thirty_deliveries_at_once_are_one_call(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let answers = in_parallel(30, |_| agent.evaluate_once("k-1", &refund("24.00")));
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 409)), "{answers:?}");
    let answered: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    let receipts: BTreeSet<_> =
        answered.iter().map(|answer| answer.json["receipt"]["id"].to_string()).collect();
    assert_eq!(receipts.len(), 1, "{receipts:?}");
    let originals = answered.iter().filter(|answer| answer.header("idempotency-replayed").is_none()).count();
    assert_eq!(originals, 1, "one call was the first");
}

fn an_answer_is_the_same_after_kill_nine(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let first = agent.evaluate_once("k-1", &refund("24.00")).expect_outcome("allow");
    server.kill();
    server.serve();
    let again = agent.evaluate_once("k-1", &refund("24.00"));
    let answer = again.expect_outcome("allow");
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(answer["receipt"]["hash"], first["receipt"]["hash"]);
}

fn a_replay_after_narrowing_is_stale(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let first = agent.evaluate_once("k-1", &refund("24.00")).expect_outcome("allow");
    member.put_mandate(&refunds_up_to("50.00"));
    let stale = agent.evaluate_once("k-1", &refund("24.00"));
    let answer = stale.expect_outcome("refuse");
    assert!(stale.names("replay.stale"), "{answer}");
    assert_ne!(answer["receipt"]["id"], first["receipt"]["id"], "the repetition is a call of its own");
    agent.evaluate_once("k-2", &refund("24.00")).expect_outcome("allow");
}

fn a_replay_of_an_unsettled_effect_names_the_effect(db: Db) {
    let server = Server::start(db);
    let entry = json!({"title": "refund", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/payments.refund", &[], &entry).expect(200);
    let mut mandate = small_refunds();
    mandate["clauses"][0]["when"] = json!({});
    let member = server.member_with("m@example.test", &mandate);
    let agent = Agent::new(&member, "runner");
    let action = json!({"intent": "payments.refund", "arguments": {}});
    let first = agent.evaluate_once("k-1", &action).expect_outcome("allow");
    let effect = first["effect"]["id"].as_str().unwrap().to_owned();
    assert_eq!(first["effect"]["idempotency_key"], "k-1");

    mandate["clauses"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "M-003", "intent": "a.b", "effect": "refuse"}));
    member.put_mandate(&mandate);
    let unsettled = agent.evaluate_once("k-1", &action);
    let answer = unsettled.expect_outcome("refuse");
    assert!(unsettled.names("effect.unsettled"), "{answer}");
    assert_eq!(answer["effect"]["id"], *effect, "the effect to report on is named: {answer}");

    agent.post(&format!("/v1/effects/{effect}/outcome"), &json!({"status": "done"})).expect(200);
    let ended = agent.evaluate_once("k-1", &action);
    let answer = ended.expect_outcome("allow");
    assert_eq!(
        ended.header("idempotency-replayed"),
        Some("true"),
        "once it has ended the record is repeated"
    );
    assert_eq!(answer["receipt"]["id"], first["receipt"]["id"]);
}

fn an_escalated_key_is_asked_again_with_its_decision(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let action = refund("5000.00");
    let first = agent.evaluate_once("k-1", &action).expect_outcome("escalate");
    let decision = first["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let with_decision = with(&action, "decision", decision);
    let used = agent.evaluate_once("k-1", &with_decision).expect_outcome("allow");
    assert_ne!(used["receipt"]["id"], first["receipt"]["id"]);
    let again = agent.evaluate_once("k-1", &with_decision);
    let answer = again.expect_outcome("allow");
    assert_eq!(answer["receipt"]["id"], used["receipt"]["id"], "the allow is now the key's answer");
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}

fn the_same_ending_may_be_told_twice_and_no_other(db: Db) {
    let server = Server::start(db);
    let entry = json!({"title": "refund", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/payments.refund", &[], &entry).expect(200);
    let mut mandate = small_refunds();
    mandate["clauses"][0]["when"] = json!({});
    let member = server.member_with("m@example.test", &mandate);
    let agent = Agent::new(&member, "runner");
    let allowed =
        agent.evaluate(&json!({"intent": "payments.refund", "arguments": {}})).expect_outcome("allow");
    let path = format!("/v1/effects/{}/outcome", allowed["effect"]["id"].as_str().unwrap());
    let done = json!({"status": "done", "reference": "re_123"});
    agent.post(&path, &done).expect(200);
    agent.post(&path, &done).expect(200);
    agent.post(&path, &json!({"status": "failed"})).expect_problem(409);
    agent.post(&path, &json!({"status": "perhaps"})).expect_problem(422);
    let other = Agent::new(&member, "other");
    assert_eq!(other.post(&path, &done).status, 404, "another agent's effect");
}
