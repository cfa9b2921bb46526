//! One yes to one thing: given by the person, for what they saw, used once, over when it is over.

use crate::agent::Agent;
use crate::client::{Client, Reply, in_parallel};
use crate::database::{Db, both};
use crate::documents::{no_refunds, refund, small_refunds, with};
use crate::server::{Server, eventually};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

both!(
    an_approval_is_used_once_under_fifty_parallel_tries,
    an_approval_serves_the_described_request_and_no_other,
    an_approval_given_twice_at_once_is_given_once,
    an_approval_ends_when_its_time_is_over,
    a_declined_decision_stays_declined,
    declining_can_narrow_the_mandate_in_the_same_act,
    narrowing_withdraws_an_approval_already_given,
    revoking_a_credential_withdraws_what_it_asked_for,
    an_open_decision_is_withdrawn_when_the_answer_is_now_refuse,
    only_the_hash_that_was_shown_can_be_approved,
    only_the_principal_approves,
    a_waiting_agent_is_told_at_once_when_the_person_decides,
    whoever_waits_for_an_expired_decision_is_told_at_once,
    a_list_shows_each_decision_as_it_is_shown_alone,
    an_agent_that_floods_the_queue_is_refused,
    an_agent_that_asks_again_and_again_is_refused,
    what_the_catalogue_no_longer_takes_is_not_approved,
    a_catalogue_that_reads_the_facts_elsewhere_takes_approvals_back,
);

/// A member with an agent and a refund that went to the queue.
struct Asked {
    server: Server,
    member: Client,
    agent: Agent,
    action: Value,
    decision: String,
}

#[track_caller]
fn asked(db: Db) -> Asked {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let action = refund("5000.00");
    let decision = escalate(&agent, &action);
    Asked { server, member, agent, action, decision }
}

#[track_caller]
fn escalate(agent: &Agent, action: &Value) -> String {
    let answer = agent.evaluate(action).expect_outcome("escalate");
    answer["decision"]["id"].as_str().unwrap().to_owned()
}

impl Asked {
    #[track_caller]
    fn use_it(&self) -> Reply {
        self.agent.evaluate(&with(&self.action, "decision", &*self.decision))
    }

    #[track_caller]
    fn assert_refused_with(&self, clause: &str) {
        let refused = self.use_it();
        refused.expect_outcome("refuse");
        assert!(refused.names(clause), "{}", refused.text);
    }

    #[track_caller]
    fn status(&self) -> String {
        let shown = self.member.get(&format!("/v1/decisions/{}", self.decision)).expect(200);
        shown["status"].as_str().unwrap().to_owned()
    }
}

fn an_approval_is_used_once_under_fifty_parallel_tries(db: Db) {
    let asked = asked(db);
    asked.member.approve(&asked.decision).expect(200);
    let answers = in_parallel(50, |_| asked.use_it());
    let allowed = answers.iter().filter(|answer| answer.json["outcome"] == "allow").count();
    let used = answers.iter().filter(|answer| answer.names("approval.used")).count();
    assert_eq!(
        (allowed, used),
        (1, 49),
        "{:?}",
        answers.iter().map(|answer| &answer.text).collect::<Vec<_>>()
    );
    assert_eq!(asked.status(), "used");
    asked.assert_refused_with("approval.used");
}

fn an_approval_serves_the_described_request_and_no_other(db: Db) {
    let asked = asked(db);
    asked.member.approve(&asked.decision).expect(200);
    for (member, value) in [
        ("amount", json!({"value": "5000.01", "currency": "EUR"})),
        ("amount", json!({"value": "5000.00", "currency": "USD"})),
        ("resource", json!("order:2")),
        ("counterparty", json!("acct:thief")),
        ("country", json!("DE")),
        ("untrusted", json!(false)),
        ("arguments", json!({"note": "one more"})),
    ] {
        let changed = with(&with(&asked.action, member, value), "decision", &*asked.decision);
        let refused = asked.agent.evaluate(&changed);
        refused.expect_outcome("refuse");
        assert!(refused.names("approval.mismatch"), "{member}: {}", refused.text);
    }
    let other = Agent::new(&asked.member, "other");
    let stolen = other.evaluate(&with(&asked.action, "decision", &*asked.decision));
    assert_eq!(stolen.status, 422, "another credential's decision: {}", stolen.text);
    let written_differently = with(&asked.action, "amount", json!({"value": 5000, "currency": "EUR"}));
    asked.agent.evaluate(&with(&written_differently, "decision", &*asked.decision)).expect_outcome("allow");
}

fn an_approval_given_twice_at_once_is_given_once(db: Db) {
    let asked = asked(db);
    let path = format!("/v1/decisions/{}", asked.decision);
    let hash = json!({"input_hash": asked.member.get(&path).expect(200)["input_hash"]});
    let answers = in_parallel(20, |index| {
        let verb = if index % 2 == 0 { "approve" } else { "decline" };
        let body = if index % 2 == 0 { hash.clone() } else { json!({}) };
        (verb, asked.member.post(&format!("{path}/{verb}"), &body).status)
    });
    let won: Vec<_> = answers.iter().filter(|(_, status)| *status == 200).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|(_, status)| *status == 200 || *status == 409), "{answers:?}");
    let ended = if won[0].0 == "approve" { "approved" } else { "declined" };
    assert_eq!(asked.status(), ended);
}

fn an_approval_ends_when_its_time_is_over(db: Db) {
    let asked = asked(db);
    let path = format!("/v1/decisions/{}", asked.decision);
    let hash = asked.member.get(&path).expect(200)["input_hash"].clone();
    asked.member.post(&format!("{path}/approve"), &json!({"input_hash": hash, "valid_for": 1})).expect(200);
    eventually("the yes is over", || asked.member.get(&path).expect(200)["status"] == "expired");
    asked.assert_refused_with("approval.expired");
}

fn a_declined_decision_stays_declined(db: Db) {
    let asked = asked(db);
    let path = format!("/v1/decisions/{}/decline", asked.decision);
    asked.member.post(&path, &json!({"reason": "not this month"})).expect(200);
    assert_eq!(asked.status(), "declined");
    asked.member.approve(&asked.decision).expect_problem(409);
    asked.assert_refused_with("approval.declined");
}

fn declining_can_narrow_the_mandate_in_the_same_act(db: Db) {
    let asked = asked(db);
    let clause = json!({"id": "Q-001", "intent": "payments.refund", "effect": "refuse"});
    asked
        .member
        .post(&format!("/v1/decisions/{}/decline", asked.decision), &json!({"narrow": clause}))
        .expect(200);
    let refused = asked.agent.evaluate(&refund("1.00"));
    refused.expect_outcome("refuse");
    assert!(refused.names("Q-001"), "{}", refused.text);
    let widening = json!({"narrow": {"id": "Q-002", "intent": "a.b", "effect": "allow"}});
    let second = escalate(&asked.agent, &json!({"intent": "a.b"}));
    let answer = asked.member.post(&format!("/v1/decisions/{second}/decline"), &widening);
    let problem = answer.expect_problem(422);
    assert_eq!(problem["errors"][0]["pointer"], "/narrow/effect", "narrowing cannot allow: {problem}");
}

fn narrowing_withdraws_an_approval_already_given(db: Db) {
    let asked = asked(db);
    asked.member.approve(&asked.decision).expect(200);
    asked.member.put_mandate(&no_refunds());
    assert_eq!(asked.status(), "withdrawn");
    asked.assert_refused_with("approval.withdrawn");
}

fn revoking_a_credential_withdraws_what_it_asked_for(db: Db) {
    let asked = asked(db);
    asked.member.approve(&asked.decision).expect(200);
    let open = escalate(&asked.agent, &json!({"intent": "unheard.of"}));
    let other = Agent::new(&asked.member, "other");
    let untouched = escalate(&other, &json!({"intent": "unheard.of"}));
    asked.member.delete(&format!("/v1/credentials/{}", asked.agent.credential)).expect(200);
    for (decision, status) in [(&asked.decision, "withdrawn"), (&open, "withdrawn"), (&untouched, "open")] {
        let shown = asked.member.get(&format!("/v1/decisions/{decision}")).expect(200);
        assert_eq!(shown["status"], status, "{shown}");
    }
    asked.member.approve(&open).expect_problem(409);
    asked.member.delete(&format!("/v1/agents/{}", other.id)).expect(200);
    let shown = asked.member.get(&format!("/v1/decisions/{untouched}")).expect(200);
    assert_eq!(shown["status"], "withdrawn", "retiring its agent does the same: {shown}");
}

fn an_open_decision_is_withdrawn_when_the_answer_is_now_refuse(db: Db) {
    let asked = asked(db);
    let other = escalate(&asked.agent, &json!({"intent": "unheard.of"}));
    let mut mandate = small_refunds();
    mandate["clauses"][0] = json!({"id": "M-001", "intent": "payments.*", "effect": "refuse"});
    asked.member.put_mandate(&mandate);
    assert_eq!(asked.status(), "withdrawn");
    asked.member.approve(&asked.decision).expect_problem(409);
    let untouched = asked.member.get(&format!("/v1/decisions/{other}")).expect(200);
    assert_eq!(untouched["status"], "open", "what may still be approved stays open");
}

fn only_the_hash_that_was_shown_can_be_approved(db: Db) {
    let asked = asked(db);
    let path = format!("/v1/decisions/{}/approve", asked.decision);
    let zero = format!("sha256:{}", "0".repeat(64));
    asked.member.post(&path, &json!({"input_hash": zero})).expect_problem(409);
    let missing = asked.member.post(&path, &json!({}));
    assert!(matches!(missing.status, 400 | 422), "{}", missing.text);
    assert_eq!(asked.status(), "open");
    asked.member.approve(&asked.decision).expect(200);
}

fn only_the_principal_approves(db: Db) {
    let asked = asked(db);
    let path = format!("/v1/decisions/{}", asked.decision);
    let body = json!({"input_hash": asked.member.get(&path).expect(200)["input_hash"]});
    let neighbour = asked.server.member_with("n@example.test", &small_refunds());
    let neighbours = Agent::new(&neighbour, "runner");
    let mine = asked.agent.post(&format!("{path}/approve"), &body);
    assert!(matches!(mine.status, 401 | 403), "an agent approved: {}", mine.text);
    for (who, caller) in [("neighbour", &neighbour), ("the neighbour's agent", &*neighbours)] {
        assert_eq!(caller.get(&path).status, 404, "{who}");
    }
    let theirs = neighbour.post(&format!("{path}/approve"), &body);
    assert_eq!(theirs.status, 404, "{}", theirs.text);
    let nobody = asked.server.client().post(&format!("{path}/approve"), &body);
    assert_eq!(nobody.status, 401, "{}", nobody.text);
    for prefetch in [path.clone(), format!("{path}/approve")] {
        let _ = asked.member.get(&prefetch);
    }
    assert_eq!(asked.status(), "open");
}

fn a_waiting_agent_is_told_at_once_when_the_person_decides(db: Db) {
    let asked = asked(db);
    let path = format!("/v1/decisions/{}", asked.decision);
    let since = Instant::now();
    let unchanged = asked.agent.get(&format!("{path}?wait=1")).expect(200);
    assert_eq!(unchanged["status"], "open");
    assert!(since.elapsed() >= Duration::from_millis(900), "it waits for a change");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let since = Instant::now();
            (asked.agent.get(&format!("{path}?wait=25")).expect(200), since.elapsed())
        });
        std::thread::sleep(Duration::from_millis(600));
        asked.member.approve(&asked.decision).expect(200);
        let (told, after) = waiting.join().unwrap();
        assert_eq!(told["status"], "approved");
        assert!(
            after > Duration::from_millis(500) && after < Duration::from_secs(10),
            "told after {after:?}"
        );
    });
}

fn whoever_waits_for_an_expired_decision_is_told_at_once(db: Db) {
    let asked = asked(db);
    // Its time is over, and what records that has not come by yet.
    asked
        .server
        .database()
        .connect()
        .execute(&format!("UPDATE decisions SET expires_at = opened_at WHERE id = '{}'", asked.decision));
    let since = Instant::now();
    let told = asked.agent.get(&format!("/v1/decisions/{}?wait=20", asked.decision)).expect(200);
    assert_eq!(told["status"], "expired");
    assert!(since.elapsed() < Duration::from_secs(5), "told after {:?}", since.elapsed());
}

fn a_list_shows_each_decision_as_it_is_shown_alone(db: Db) {
    let asked = asked(db);
    for number in 1..4 {
        escalate(&asked.agent, &json!({"intent": "unheard.of", "resource": format!("order:{number}")}));
    }
    let listed = asked.member.all("/v1/decisions");
    assert_eq!(listed.len(), 4);
    for shown in &listed {
        let path = format!("/v1/decisions/{}", shown["id"].as_str().unwrap());
        assert_eq!(*shown, asked.member.get(&path).expect(200));
        assert!(shown["receipt"].is_string() && shown["asked"]["request"]["intent"].is_string(), "{shown}");
    }
}

fn an_agent_that_floods_the_queue_is_refused(db: Db) {
    let asked = asked(db);
    for number in 1..20 {
        escalate(&asked.agent, &json!({"intent": "unheard.of", "resource": format!("order:{number}")}));
    }
    let open = asked.member.all("/v1/decisions?status=open");
    assert_eq!(open.len(), 20);
    let flooding = asked.agent.evaluate(&json!({"intent": "unheard.of", "resource": "order:20"}));
    flooding.expect_outcome("refuse");
    assert!(flooding.names("attention-budget"), "{}", flooding.text);
    let other = Agent::new(&asked.member, "other");
    escalate(&other, &json!({"intent": "unheard.of"}));
    asked.member.post(&format!("/v1/decisions/{}/decline", asked.decision), &json!({})).expect(200);
    eventually("there is room again", || {
        asked.agent.evaluate(&json!({"intent": "unheard.of", "resource": "order:21"})).json["outcome"]
            == "escalate"
    });
}

fn an_agent_that_asks_again_and_again_is_refused(db: Db) {
    let asked = asked(db);
    let decline = |decision: &str| {
        asked.member.post(&format!("/v1/decisions/{decision}/decline"), &json!({})).expect(200);
    };
    decline(&asked.decision);
    for _ in 1..60 {
        decline(&escalate(&asked.agent, &asked.action));
    }
    let again = asked.agent.evaluate(&asked.action);
    again.expect_outcome("refuse");
    assert!(again.names("attention-budget"), "nothing is open, and yet: {}", again.text);
}

fn what_the_catalogue_no_longer_takes_is_not_approved(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let entry = |required: &[&str]| {
        let text = json!({"type": "string"});
        json!({"title": "a", "effect": true, "arguments":
            {"type": "object", "required": required, "properties": {"to": text, "account": text}}})
    };
    operator.put("/v1/catalogue/money.send", &[], &entry(&["to"])).expect(200);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let action = json!({"intent": "money.send", "arguments": {"to": "acct:grocer"}});
    let decision = escalate(&agent, &action);
    operator.put("/v1/catalogue/money.send", &[], &entry(&["to", "account"])).expect(200);
    let problem = member.approve(&decision).expect_problem(409);
    assert!(problem["detail"].as_str().unwrap().contains("catalogue"), "{problem}");
    let shown = member.get(&format!("/v1/decisions/{decision}")).expect(200);
    assert_eq!(shown["status"], "withdrawn", "{shown}");
}

fn a_catalogue_that_reads_the_facts_elsewhere_takes_approvals_back(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let entry = |amount: &str| {
        json!({"title": "send", "effect": false, "amount": amount, "currency": {"const": "EUR"},
            "arguments": {"type": "object", "properties": {"sum": {"type": "string"}, "total": {"type": "string"}}}})
    };
    operator.put("/v1/catalogue/money.send", &[], &entry("/sum")).expect(200);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let action = json!({"intent": "money.send", "arguments": {"sum": "5.00", "total": "5000.00"}});
    let decision = escalate(&agent, &action);
    member.approve(&decision).expect(200);
    operator.put("/v1/catalogue/money.send", &[], &entry("/total")).expect(200);
    let used = agent.evaluate(&with(&action, "decision", &*decision));
    used.expect_outcome("refuse");
    assert!(used.names("approval.withdrawn"), "{}", used.text);
    // A question that is still open shows facts that are no longer the ones that would be executed.
    let open = escalate(&agent, &action);
    operator.put("/v1/catalogue/money.send", &[], &entry("/sum")).expect(200);
    member.approve(&open).expect_problem(409);
}
