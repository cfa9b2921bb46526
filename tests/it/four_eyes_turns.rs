//! What time, changes and other people do to a decision that has some of the yeses it takes.

use crate::agent::Agent;
use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, refunds_up_to, with};
use crate::four_eyes::{asking_for, club, more, two};
use crate::hours::{HOUR, MINUTE, move_back, recorded};
use serde_json::{Value, json};

both!(
    a_request_that_expires_half_approved_is_over,
    an_approval_counts_from_the_yes_that_completes_it,
    nothing_is_approved_or_used_once_the_credential_is_over,
    narrowing_forgets_half_a_yes_and_withdraws_a_whole_one,
    a_policy_that_asks_for_more_people_puts_what_waits_before_them,
    a_yes_that_what_decides_now_finds_too_little_is_not_used,
    one_of_two_who_decide_at_once_wins_and_the_other_is_told,
    two_who_say_yes_at_once_are_two,
);

/// A refund that the policy has nothing to say to.
fn booking(number: u8, euros: &str) -> Value {
    with(&refund(euros), "resource", format!("booking:{number}"))
}

fn a_request_that_expires_half_approved_is_over(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    club.cleo.approve(&decision).expect(200);
    let row = format!("id = '{decision}'");
    move_back(&club.server, "decisions", &["expires_at"], 25 * HOUR, &row);
    let late = club.carl.approve(&decision).expect_problem(409);
    assert!(late["detail"].as_str().unwrap().contains("expired"), "{late}");
    club.assert_refused_with(&decision, "approval.expired");
}

fn an_approval_counts_from_the_yes_that_completes_it(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    let path = format!("/v1/decisions/{decision}/approve");
    let hash = club.shown(&decision)["input_hash"].clone();
    let half = club.cleo.post(&path, &json!({"input_hash": hash, "valid_for": 1})).expect(200);
    assert!(half["approved_until"].is_null(), "it does not run yet: {half}");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let whole = club.carl.post(&path, &json!({"input_hash": hash, "valid_for": 600})).expect(200);
    let at = |member: &str| {
        chrono::DateTime::parse_from_rfc3339(whole[member].as_str().unwrap()).unwrap().timestamp_millis()
    };
    assert_eq!(at("approved_until") - at("decided_at"), 10 * MINUTE, "{whole}");
    move_back(&club.server, "decisions", &["approved_until"], 10 * MINUTE, &format!("id = '{decision}'"));
    club.assert_refused_with(&decision, "approval.expired");
}

fn nothing_is_approved_or_used_once_the_credential_is_over(db: Db) {
    let mut club = club(db, &two());
    let half = club.ask();
    let other = with(&club.action, "resource", "order:2");
    let whole = club.agent.evaluate(&other).expect_outcome("escalate");
    let whole = whole["decision"]["id"].as_str().unwrap();
    club.cleo.approve(&half).expect(200);
    for person in [&club.cleo, &club.carl] {
        person.approve(whole).expect(200);
    }
    move_back(
        &club.server,
        "credentials",
        &["expires_at"],
        91 * 24 * HOUR,
        &format!("id = '{}'", club.agent.credential),
    );
    // What a credential's end is never changes, and is kept in memory.
    club.server.kill();
    club.server.serve();
    let problem = club.carl.approve(&half).expect_problem(409);
    assert!(problem["detail"].as_str().unwrap().contains("credential"), "{problem}");
    assert_eq!(club.shown(&half)["status"], "withdrawn");
    club.agent.evaluate(&with(&other, "decision", whole)).expect_problem(401);
    // The same in another's hands is not the same.
    let next =
        Agent::with_credential(&club.member, &club.agent.id, &json!({"label": "2", "scopes": ACTING_SCOPES}));
    assert_eq!(next.evaluate(&with(&other, "decision", whole)).status, 422);
}

fn narrowing_forgets_half_a_yes_and_withdraws_a_whole_one(db: Db) {
    let club = club(db, &two());
    let half = club.ask();
    let other = with(&club.action, "resource", "order:2");
    let whole = club.agent.evaluate(&other).expect_outcome("escalate");
    let whole = whole["decision"]["id"].as_str().unwrap();
    club.cleo.approve(&half).expect(200);
    for person in [&club.cleo, &club.carl] {
        person.approve(whole).expect(200);
    }
    club.member.put_mandate(&refunds_up_to("90000.00"));
    let shown = club.shown(&half);
    assert_eq!((&shown["status"], more(&shown)), (&json!("open"), 2), "{shown}");
    assert_eq!(club.shown(whole)["status"], "withdrawn");
    let in_the_log = ["decision.withdraw", "decision.renew"].map(|kind| recorded(&club.server, kind));
    assert_eq!(in_the_log, [1, 1], "both are in the log");
    let second = club.carl.approve(&half).expect(200);
    assert_eq!((&second["status"], more(&second)), (&json!("open"), 1), "it begins again: {second}");
    assert_eq!(club.cleo.approve(&half).expect(200)["status"], "approved", "and she is asked again");
    let refused = club.agent.evaluate(&with(&other, "decision", whole));
    refused.expect_outcome("refuse");
    assert!(refused.names("approval.withdrawn"), "{}", refused.text);
    // Widening takes nothing back.
    club.member.put_mandate(&refunds_up_to("95000.00"));
    club.use_it(&half).expect_outcome("allow");
}

fn a_policy_that_asks_for_more_people_puts_what_waits_before_them(db: Db) {
    let club = club(db, &two());
    let small = booking(1, "500.00");
    club.member.put_mandate(&refunds_up_to("100.00"));
    let ask = |action: &Value| {
        let answer = club.agent.evaluate(action).expect_outcome("escalate");
        answer["decision"]["id"].as_str().unwrap().to_owned()
    };
    let (given, open) = (ask(&small), ask(&booking(2, "500.00")));
    club.member.approve(&given).expect(200);
    club.cleo.get(&format!("/v1/decisions/{open}")).expect_problem(404);
    let mut policy = asking_for(&json!({"roles": ["compliance"]}));
    policy["clauses"][0].as_object_mut().unwrap().remove("when");
    club.server.operator().put_over("/v1/policy", &policy);
    let used = club.agent.evaluate(&with(&small, "decision", &*given));
    used.expect_outcome("refuse");
    assert!(used.names("approval.withdrawn"), "{}", used.text);
    let shown = club.cleo.get(&format!("/v1/decisions/{open}")).expect(200);
    assert_eq!((&shown["status"], more(&shown)), (&json!("open"), 2), "{shown}");
    assert_eq!(
        club.member.approve(&open).expect(200)["status"],
        "open",
        "the principal's alone is not enough"
    );
    assert_eq!(club.cleo.approve(&open).expect(200)["status"], "approved");
}

fn a_yes_that_what_decides_now_finds_too_little_is_not_used(db: Db) {
    let club = club(db, &two());
    club.member.put_mandate(&refunds_up_to("100.00"));
    // Once a day the credential may refund at all; more often, somebody of compliance is asked.
    let clause = json!({"id": "C-1", "intent": "payments.refund", "effect": "allow",
        "limits": [{"count": 1, "per": "24 hours"}], "approvals": {"roles": ["compliance"]}});
    let credential = json!({"label": "2", "scopes": ACTING_SCOPES, "clauses": [clause]});
    let agent = Agent::with_credential(&club.member, &club.agent.id, &credential);
    let action = booking(1, "500.00");
    let answer = agent.evaluate(&action).expect_outcome("escalate");
    let decision = answer["decision"]["id"].as_str().unwrap();
    assert_eq!(club.member.approve(decision).expect(200)["status"], "approved", "hers is enough so far");
    agent.evaluate(&booking(3, "5.00")).expect_outcome("allow");
    let used = agent.evaluate(&with(&action, "decision", decision));
    used.expect_outcome("refuse");
    assert!(used.names("approval.outgrown"), "{}", used.text);
    // The same of what is still open: the next ask puts it before compliance.
    let other = booking(2, "500.00");
    let fresh = json!({"label": "3", "scopes": ACTING_SCOPES, "clauses": [credential["clauses"][0]]});
    let agent = Agent::with_credential(&club.member, &club.agent.id, &fresh);
    let answer = agent.evaluate(&other).expect_outcome("escalate");
    let path = format!("/v1/decisions/{}", answer["decision"]["id"].as_str().unwrap());
    agent.evaluate(&booking(3, "5.00")).expect_outcome("allow");
    club.cleo.get(&path).expect_problem(404);
    agent.evaluate(&other).expect_outcome("escalate");
    assert_eq!(
        more(&club.cleo.get(&path).expect(200)),
        2,
        "the principal's yes is missing, and compliance's"
    );
}

fn one_of_two_who_decide_at_once_wins_and_the_other_is_told(db: Db) {
    let club = club(db, &json!({"roles": ["compliance"]}));
    let node = (db == Db::Postgres).then(|| club.server.another_node());
    let carl = node.as_ref().map_or_else(|| club.carl.clone(), |node| club.carl.at(&node.base()));
    for number in 0..8 {
        let action = with(&club.action, "resource", format!("order:{number}"));
        let answer = club.agent.evaluate(&action).expect_outcome("escalate");
        let path = format!("/v1/decisions/{}", answer["decision"]["id"].as_str().unwrap());
        let yes = json!({"input_hash": club.cleo.get(&path).expect(200)["input_hash"]});
        let answers = in_parallel(2, |index| match index {
            0 => club.cleo.post(&format!("{path}/approve"), &yes),
            _ => carl.post(&format!("{path}/decline"), &json!({})),
        });
        let statuses = [answers[0].status, answers[1].status];
        let (won, other) = match statuses {
            [200, 409] => ("approved", &answers[1]),
            [409, 200] => ("declined", &answers[0]),
            _ => panic!("{statuses:?}: {} {}", answers[0].text, answers[1].text),
        };
        assert_eq!(club.member.get(&path).expect(200)["status"], won);
        let detail = other.expect_problem(409)["detail"].to_string();
        assert!(detail.contains(&format!("is {won}")) || detail.contains("at this moment"), "{detail}");
    }
}

fn two_who_say_yes_at_once_are_two(db: Db) {
    let club = club(db, &two());
    let node = (db == Db::Postgres).then(|| club.server.another_node());
    let carl = node.as_ref().map_or_else(|| club.carl.clone(), |node| club.carl.at(&node.base()));
    for number in 0..5 {
        let action = with(&club.action, "resource", format!("order:{number}"));
        let answer = club.agent.evaluate(&action).expect_outcome("escalate");
        let decision = answer["decision"]["id"].as_str().unwrap();
        let path = format!("/v1/decisions/{decision}/approve");
        let yes = json!({"input_hash": club.shown(decision)["input_hash"]});
        let answers = in_parallel(6, |index| {
            let who = if index % 2 == 0 { &club.cleo } else { &carl };
            (index % 2, who.post(&path, &yes))
        });
        for person in 0..2 {
            let taken = answers.iter().filter(|(who, reply)| *who == person && reply.status == 200).count();
            assert_eq!(taken, 1, "person {person}: {answers:?}");
        }
        let completing = answers.iter().filter(|(_, reply)| reply.json["status"] == "approved").count();
        assert_eq!(completing, 1, "{answers:?}");
        assert_eq!(club.shown(decision)["approvals"]["given"].as_array().unwrap().len(), 2);
        club.agent.evaluate(&with(&action, "decision", decision)).expect_outcome("allow");
    }
}
