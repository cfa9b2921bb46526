//! What time alone brings about. The tests do not wait for it: they move the written times back.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, refunds_up_to, small_refunds, with};
use crate::server::{Server, TENANT, eventually};
use serde_json::{Value, json};

both!(
    widening_needs_a_fresh_sign_in_and_narrowing_does_not,
    a_session_ends_when_it_is_idle_or_old,
    a_credential_that_is_over_is_refused_though_its_token_is_not,
    a_decision_nobody_took_expires_and_the_log_says_so,
    an_approval_nobody_used_expires_and_the_log_says_so,
    an_effect_nobody_reported_on_is_resolved_by_the_person,
    an_answer_is_repeated_for_a_minute_and_no_longer,
    what_is_over_is_no_longer_approved_and_an_approval_of_it_not_used,
);

const SECOND: i64 = 1000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;

/// Moves times of the rows that the condition names back by so many milliseconds.
pub(crate) fn move_back(server: &Server, table: &str, columns: &[&str], by: i64, condition: &str) {
    let set: Vec<_> = columns.iter().map(|column| format!("{column} = {column} - {by}")).collect();
    let statement = format!("UPDATE {table} SET {} WHERE {condition}", set.join(", "));
    server.database().connect().execute(&statement);
}

/// How many receipts of a kind the log has.
pub(crate) fn recorded(server: &Server, kind: &str) -> i64 {
    let sql = format!("SELECT COUNT(*) FROM receipts WHERE tenant = '{TENANT}' AND kind = '{kind}'");
    server.database().connect().number(&sql)
}

#[track_caller]
fn check_step_up(reply: &crate::client::Reply) {
    let problem = reply.expect_problem(403);
    assert!(problem["type"].as_str().unwrap().ends_with("/step-up-required"), "{problem}");
}

fn widening_needs_a_fresh_sign_in_and_narrowing_does_not(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let operator = server.operator();
    let put = |caller: &Client, path: &str, document: &Value| {
        let tag = caller.get(path).header("etag").unwrap().to_owned();
        caller.put(path, &[("if-match", &tag)], document)
    };
    let free = json!({"clauses": []});
    let refusing = json!({"clauses": [{"id": "P-001", "intent": "payments.*", "effect": "refuse"}]});
    move_back(&server, "sessions", &["signed_in_at"], 5 * MINUTE, "1 = 1");
    check_step_up(&put(&member, "/v1/mandate", &refunds_up_to("200.00")));
    assert_eq!(put(&member, "/v1/mandate", &refunds_up_to("50.00")).expect(200)["change"], "narrowed");
    assert_eq!(put(&operator, "/v1/policy", &refusing).expect(200)["change"], "narrowed");
    check_step_up(&put(&operator, "/v1/policy", &free));

    let member = server.sign_in(TENANT, "m@example.test");
    assert_eq!(put(&member, "/v1/mandate", &refunds_up_to("200.00")).expect(200)["change"], "widened");
    assert_eq!(put(&server.operator(), "/v1/policy", &free).expect(200)["change"], "widened");
}

fn a_session_ends_when_it_is_idle_or_old(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let sessions = |sql: &str| server.database().connect().number(&format!("SELECT {sql} FROM sessions"));
    move_back(&server, "sessions", &["last_used_at"], 29 * MINUTE, "1 = 1");
    member.get("/v1/mandate").expect(200);
    eventually("the use is noted", || sessions("MAX(last_used_at - signed_in_at)") >= 0);
    move_back(&server, "sessions", &["last_used_at"], 31 * MINUTE, "1 = 1");
    let problem = member.get("/v1/mandate").expect_problem(401);
    assert!(problem["detail"].as_str().unwrap().contains("sign in again"), "{problem}");

    let again = server.sign_in(TENANT, "m@example.test");
    move_back(&server, "sessions", &["signed_in_at"], 12 * HOUR - MINUTE, "1 = 1");
    again.get("/v1/mandate").expect(200);
    move_back(&server, "sessions", &["signed_in_at"], MINUTE, "1 = 1");
    again.get("/v1/mandate").expect_problem(401);
}

fn a_credential_that_is_over_is_refused_though_its_token_is_not(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let parent = Agent::new(&member, "runner");
    let other = Agent::with_credential(&member, &parent.id, &json!({"label": "2", "scopes": ACTING_SCOPES}));
    let child = parent.derive(&json!({"label": "c", "scopes": ["action:request", "mandate:read"]}));
    let condition = format!("id = '{}'", parent.credential);
    move_back(&server, "credentials", &["expires_at"], 91 * 24 * HOUR, &condition);
    for over in [&parent, &child] {
        over.evaluate(&refund("1.00")).expect_problem(401);
        over.get("/v1/mandate").expect_problem(401);
        over.post("/v1/credentials/derive", &json!({"label": "c", "scopes": ["action:request"]}))
            .expect_problem(401);
    }
    other.evaluate(&refund("1.00")).expect_outcome("allow");
}

/// A member, an agent of theirs, and a decision it waits for.
fn escalated(server: &Server, mandate: &Value) -> (Client, Agent, String) {
    let member = server.member_with("m@example.test", mandate);
    let agent = Agent::new(&member, "runner");
    let asked = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap().to_owned();
    (member, agent, decision)
}

fn a_decision_nobody_took_expires_and_the_log_says_so(db: Db) {
    let server = Server::start(db);
    let (member, agent, decision) = escalated(&server, &small_refunds());
    let path = format!("/v1/decisions/{decision}");
    let hash = member.get(&path).expect(200)["input_hash"].clone();
    move_back(&server, "decisions", &["expires_at", "due_at"], 25 * HOUR, &format!("id = '{decision}'"));
    member.post(&format!("{path}/approve"), &json!({"input_hash": hash})).expect_problem(409);
    assert_eq!(member.get(&path).expect(200)["status"], "expired");
    let late = agent.evaluate(&with(&refund("5000.00"), "decision", &*decision));
    late.expect_outcome("refuse");
    assert!(late.names("approval.expired"), "{}", late.text);
    eventually("its end is recorded", || recorded(&server, "decision.expire") == 1);
    let rows = format!("SELECT COUNT(*) FROM decisions WHERE id = '{decision}' AND status = 'expired'");
    assert_eq!(server.database().connect().number(&rows), 1);
    assert_eq!(member.all("/v1/decisions?status=open").len(), 0);
}

fn an_approval_nobody_used_expires_and_the_log_says_so(db: Db) {
    let server = Server::start(db);
    let (member, agent, decision) = escalated(&server, &small_refunds());
    member.approve(&decision).expect(200);
    move_back(&server, "decisions", &["approved_until", "due_at"], HOUR, &format!("id = '{decision}'"));
    let late = agent.evaluate(&with(&refund("5000.00"), "decision", &*decision));
    late.expect_outcome("refuse");
    assert!(late.names("approval.expired"), "{}", late.text);
    eventually("its end is recorded", || recorded(&server, "decision.expire") == 1);
}

fn an_effect_nobody_reported_on_is_resolved_by_the_person(db: Db) {
    let server = Server::start(db);
    let entry = json!({"title": "pay", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let mandate =
        json!({"scopes": ACTING_SCOPES, "clauses": [{"id": "M-1", "intent": "pay.out", "effect": "allow"}]});
    let member = server.member_with("m@example.test", &mandate);
    let neighbour = server.member("n@example.test");
    let agent = Agent::new(&member, "runner");
    let action = json!({"intent": "pay.out", "arguments": {}});
    let allowed = agent.evaluate_once("k-1", &action).expect_outcome("allow");
    let effect = allowed["effect"]["id"].as_str().unwrap();
    move_back(&server, "effects", &["report_by", "due_at"], 25 * HOUR, &format!("id = '{effect}'"));
    eventually("the person is asked", || !member.all("/v1/decisions?status=open").is_empty());
    let open = member.all("/v1/decisions?status=open");
    assert_eq!((open.len(), &open[0]["kind"], &open[0]["effect"]), (1, &json!("effect"), &json!(effect)));
    let path = format!("/v1/decisions/{}", open[0]["id"].as_str().unwrap());

    // Nobody knows how it ended: not the agent that kept silent, and no yes or no settles it.
    let report = format!("/v1/effects/{effect}/outcome");
    agent.post(&report, &json!({"status": "failed"})).expect_problem(409);
    let repeated = agent.evaluate_once("k-1", &with(&action, "untrusted", true));
    assert_eq!(repeated.json["receipt"]["id"], allowed["receipt"]["id"], "{}", repeated.text);
    move_back(&server, "idempotency_keys", &["answered_at"], MINUTE, "1 = 1");
    let repeated = agent.evaluate_once("k-1", &action);
    repeated.expect_outcome("refuse");
    assert!(repeated.names("effect.unsettled"), "{}", repeated.text);
    member.approve(open[0]["id"].as_str().unwrap()).expect_problem(409);
    member.post(&format!("{path}/decline"), &json!({})).expect_problem(409);
    let done = json!({"status": "done", "reference": "re_1"});
    neighbour.post(&format!("{path}/resolve"), &done).expect_problem(404);
    agent.post(&format!("{path}/resolve"), &done).expect_problem(403);
    for wrong in ["unknown", "claimed"] {
        member.post(&format!("{path}/resolve"), &json!({"status": wrong})).expect_problem(422);
    }
    assert_eq!(member.post(&format!("{path}/resolve"), &done).expect(200)["status"], "resolved");
    member.post(&format!("{path}/resolve"), &done).expect_problem(409);
    let repeated = agent.evaluate_once("k-1", &action);
    assert_eq!(repeated.json["receipt"]["id"], allowed["receipt"]["id"], "it has ended: {}", repeated.text);
    assert_eq!((recorded(&server, "effect.outcome"), recorded(&server, "decision.resolve")), (1, 1));
}

fn an_answer_is_repeated_for_a_minute_and_no_longer(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let first = agent.evaluate_once("k-1", &refund("1.00")).expect_outcome("allow");
    move_back(&server, "idempotency_keys", &["answered_at"], 30 * SECOND, "1 = 1");
    let again = agent.evaluate_once("k-1", &refund("1.00")).expect_outcome("allow");
    assert_eq!(again["receipt"]["id"], first["receipt"]["id"]);
    move_back(&server, "idempotency_keys", &["answered_at"], 30 * SECOND, "1 = 1");
    let stale = agent.evaluate_once("k-1", &refund("1.00"));
    stale.expect_outcome("refuse");
    assert!(stale.names("replay.stale"), "{}", stale.text);
}

fn what_is_over_is_no_longer_approved_and_an_approval_of_it_not_used(db: Db) {
    let server = Server::start(db);
    let now = server.client().get("/healthz");
    let now = chrono::DateTime::parse_from_rfc2822(now.header("date").unwrap()).unwrap();
    let until = now + chrono::Duration::seconds(5);
    let mandate = with(&small_refunds(), "valid", json!({"until": until.to_rfc3339()}));
    let (member, agent, given) = escalated(&server, &mandate);
    member.approve(&given).expect(200);
    let asked = agent.evaluate(&refund("6000.00")).expect_outcome("escalate");
    let open = asked["decision"]["id"].as_str().unwrap();
    eventually("the mandate is over", || agent.evaluate(&refund("1.00")).json["outcome"] == "refuse");
    let problem = member.approve(open).expect_problem(409);
    assert!(problem["detail"].as_str().unwrap().contains("mandate.expired"), "{problem}");
    assert_eq!(member.get(&format!("/v1/decisions/{open}")).expect(200)["status"], "withdrawn");
    let used = agent.evaluate(&with(&refund("5000.00"), "decision", &*given));
    used.expect_outcome("refuse");
    assert!(used.names("mandate.expired"), "an approval overrides no refusal: {}", used.text);
}
