//! Limits as callers meet them: reserved before, settled after, and never past the last place.

use crate::agent::Agent;
use crate::client::{Client, in_parallel};
use crate::database::{Db, both};
use crate::server::Server;
use serde_json::{Value, json};

both!(
    forty_calls_at_once_never_pass_the_last_of_ten_places,
    two_nodes_never_pass_the_last_place_together,
    a_total_says_what_was_used_and_what_was_asked,
    done_settles_failed_gives_back_and_unknown_holds,
    an_overdue_effect_holds_its_place_until_a_person_says_it_failed,
    an_irreversible_effect_is_not_released_by_the_agent_s_word,
    once_per_resource_is_once_until_it_failed,
    a_child_counts_against_its_parent,
    a_pool_is_one_pool_over_several_clauses,
    each_counterparty_has_a_book_of_its_own,
    what_a_person_approves_counts_too,
    a_day_ends_and_a_rolling_day_rolls,
    what_was_used_outlives_kill_nine_and_a_new_version,
    a_policy_s_limit_counts_everyone,
    taking_and_giving_back_in_turn_leaves_nothing_behind,
);

/// A mandate of one allowance on refunds with these limits.
fn limited(limits: &Value) -> Value {
    json!({
        "scopes": ["action:request", "decision:read"],
        "clauses": [{"id": "M-1", "intent": "payments.refund", "effect": "allow", "limits": limits}],
    })
}

fn refund(value: &str, order: &str) -> Value {
    json!({
        "intent": "payments.refund", "amount": {"value": value, "currency": "EUR"},
        "counterparty": "acct:cus_91", "resource": order, "untrusted": false,
    })
}

/// Refunds as a catalogued effect, its facts standing in the arguments.
fn effect(server: &Server, irreversible: bool) {
    let entry = json!({
        "title": "Refund",
        "arguments": {"type": "object", "additionalProperties": false, "properties": {
            "amount": {"type": "string"}, "currency": {"type": "string"},
            "customer": {"type": "string"}, "order": {"type": "string"},
        }},
        "effect": true, "irreversible": irreversible,
        "amount": "/amount", "currency": "/currency", "counterparties": ["/customer"], "resource": "/order",
    });
    server.operator().put("/v1/catalogue/payments.refund", &[], &entry).expect(200);
}

fn executed(value: &str, order: &str) -> Value {
    json!({
        "intent": "payments.refund", "untrusted": false,
        "arguments": {"amount": value, "currency": "EUR", "customer": "acct:cus_91", "order": order},
    })
}

/// Claims an effect and gives its id.
fn claim(agent: &Agent, key: &str, value: &str, order: &str) -> String {
    let answer = agent.evaluate_once(key, &executed(value, order)).expect_outcome("allow");
    answer["effect"]["id"].as_str().unwrap().to_owned()
}

fn report(agent: &Agent, effect: &str, status: &str) -> Value {
    agent.post(&format!("/v1/effects/{effect}/outcome"), &json!({"status": status})).expect(200)
}

/// The open decision about how an effect ended.
fn uncertain(member: &Client) -> String {
    let open = member.all("/v1/decisions?status=open");
    let found = open.iter().find(|decision| decision["kind"] == "effect");
    found.unwrap_or_else(|| panic!("{open:?}"))["id"].as_str().unwrap().to_owned()
}

fn allowed(replies: &[crate::client::Reply]) -> usize {
    replies.iter().filter(|reply| reply.expect(200)["outcome"] == "allow").count()
}

fn forty_calls_at_once_never_pass_the_last_of_ten_places(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &limited(&json!([{"count": 10, "per": "30 days"}])));
    let agents: Vec<Agent> = (0..4).map(|number| Agent::new(&member, &format!("runner {number}"))).collect();
    let replies =
        in_parallel(40, |number| agents[number % 4].evaluate(&refund("1.00", &format!("order:{number}"))));
    assert_eq!(allowed(&replies), 10);
    let reached = agents[0].evaluate(&refund("1.00", "order:99"));
    assert_eq!(reached.expect_outcome("escalate")["reason"], "used 10 times, 10 per 30 days allowed");
}

fn two_nodes_never_pass_the_last_place_together(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &limited(&json!([{"count": 10, "per": "30 days"}])));
    let agent = Agent::new(&member, "runner");
    let replies = match db {
        Db::Sqlite => in_parallel(40, |number| agent.evaluate(&refund("1.00", &format!("order:{number}")))),
        Db::Postgres => {
            let other = server.another_node();
            let there = agent.at(&other.base());
            in_parallel(40, |number| {
                let at = if number % 2 == 0 { &agent } else { &there };
                at.evaluate(&refund("1.00", &format!("order:{number}")))
            })
        }
    };
    assert_eq!(allowed(&replies), 10);
}

fn a_total_says_what_was_used_and_what_was_asked(db: Db) {
    let server = Server::start(db);
    let limit = json!([{"total": {"value": "100.00", "currency": "EUR"}, "per": "30 days"}]);
    let member = server.member_with("m@example.test", &limited(&limit));
    let agent = Agent::new(&member, "runner");
    for order in ["order:1", "order:2", "order:3"] {
        agent.evaluate(&refund("30.00", order)).expect_outcome("allow");
    }
    let over = agent.evaluate(&refund("10.01", "order:4")).expect_outcome("escalate");
    assert_eq!(
        over["reason"],
        "above the total per 30 days: 10.01 EUR asked, 90.00 EUR used, 100.00 EUR allowed"
    );
    assert_eq!(over["clauses"], json!(["M-1"]));
    agent.evaluate(&refund("10.00", "order:5")).expect_outcome("allow");
}

fn done_settles_failed_gives_back_and_unknown_holds(db: Db) {
    let server = Server::start(db);
    effect(&server, false);
    let limit = json!([{"total": {"value": "100.00", "currency": "EUR"}, "per": "30 days"}]);
    let member = server.member_with("m@example.test", &limited(&limit));
    let agent = Agent::new(&member, "runner");
    let first = claim(&agent, "k-1", "60.00", "order:1");
    agent.evaluate(&executed("60.00", "order:2")).expect_outcome("escalate");
    report(&agent, &first, "failed");
    let second = claim(&agent, "k-2", "60.00", "order:2");
    report(&agent, &second, "done");
    agent.evaluate(&executed("60.00", "order:3")).expect_outcome("escalate");
    let third = claim(&agent, "k-3", "40.00", "order:4");
    report(&agent, &third, "unknown");
    agent.evaluate(&executed("0.01", "order:5")).expect_outcome("escalate");
    let decision = uncertain(&member);
    member.post(&format!("/v1/decisions/{decision}/resolve"), &json!({"status": "failed"})).expect(200);
    claim(&agent, "k-4", "40.00", "order:6");
    agent.evaluate(&executed("0.01", "order:7")).expect_outcome("escalate");
}

fn an_overdue_effect_holds_its_place_until_a_person_says_it_failed(db: Db) {
    let mut server = Server::start(db);
    effect(&server, false);
    let member = server.member_with("m@example.test", &limited(&json!([{"count": 1, "per": "30 days"}])));
    let agent = Agent::new(&member, "runner");
    let claimed = claim(&agent, "k-1", "60.00", "order:1");
    server.kill();
    server.database().connect().execute("UPDATE effects SET report_by = 1, due_at = 1");
    server.serve();
    let (member, agent) = (member.at(&server.base()), agent.at(&server.base()));
    crate::server::eventually("the effect is unknown", || {
        !member.all("/v1/decisions?status=open").is_empty()
    });
    agent.evaluate(&executed("1.00", "order:2")).expect_outcome("escalate");
    let late = agent.post(&format!("/v1/effects/{claimed}/outcome"), &json!({"status": "done"}));
    assert!(late.expect_problem(409)["detail"].as_str().unwrap().contains("nobody reported on it by"));
    let decision = uncertain(&member);
    member.post(&format!("/v1/decisions/{decision}/resolve"), &json!({"status": "failed"})).expect(200);
    claim(&agent, "k-2", "60.00", "order:2");
}

fn an_irreversible_effect_is_not_released_by_the_agent_s_word(db: Db) {
    let server = Server::start(db);
    effect(&server, true);
    let member = server.member_with("m@example.test", &limited(&json!([{"count": 1, "per": "30 days"}])));
    let agent = Agent::new(&member, "runner");
    let claimed = claim(&agent, "k-1", "60.00", "order:1");
    assert_eq!(report(&agent, &claimed, "failed")["status"], "unknown");
    agent.evaluate_once("k-2", &executed("1.00", "order:2")).expect_outcome("escalate");
}

fn once_per_resource_is_once_until_it_failed(db: Db) {
    let server = Server::start(db);
    effect(&server, false);
    let member = server.member_with("m@example.test", &limited(&json!([{"once_per": "resource"}])));
    let agent = Agent::new(&member, "runner");
    let first = claim(&agent, "k-1", "60.00", "order:1");
    let again = agent.evaluate_once("k-2", &executed("1.00", "order:1")).expect_outcome("escalate");
    assert_eq!(again["reason"], "used for this resource before, once is allowed");
    claim(&agent, "k-3", "60.00", "order:2");
    report(&agent, &first, "failed");
    let second = claim(&agent, "k-4", "60.00", "order:1");
    report(&agent, &second, "done");
    agent.evaluate_once("k-5", &executed("1.00", "order:1")).expect_outcome("escalate");
}

fn a_child_counts_against_its_parent(db: Db) {
    let server = Server::start(db);
    let everything = json!({
        "scopes": ["action:request"], "clauses": [{"id": "M", "intent": "*", "effect": "allow"}],
    });
    let member = server.member_with("m@example.test", &everything);
    let id = Agent::new(&member, "runner").id;
    let own = json!([{"id": "C-1", "intent": "payments.refund", "effect": "allow",
        "limits": [{"count": 3, "per": "30 days"}]}]);
    let credential = json!({"label": "limited", "scopes": ["action:request"], "clauses": own});
    let parent = Agent::with_credential(&member, &id, &credential);
    let child = parent.derive(&json!({"label": "child", "scopes": ["action:request"]}));
    let grandchild = child.derive(&json!({"label": "grandchild", "scopes": ["action:request"]}));
    for (place, caller) in [&parent, &child, &grandchild].into_iter().enumerate() {
        caller.evaluate(&refund("1.00", &format!("order:{place}"))).expect_outcome("allow");
    }
    for caller in [&parent, &child, &grandchild] {
        let over = caller.evaluate(&refund("1.00", "order:9")).expect_outcome("escalate");
        assert_eq!(over["clauses"], json!(["C-1"]));
    }
}

fn a_pool_is_one_pool_over_several_clauses(db: Db) {
    let server = Server::start(db);
    let pooled =
        json!([{"total": {"value": "100.00", "currency": "EUR"}, "per": "30 days", "pool": "payments"}]);
    let member = server.member_with(
        "m@example.test",
        &json!({
            "scopes": ["action:request"],
            "clauses": [
                {"id": "M-1", "intent": "payments.refund", "effect": "allow", "limits": pooled},
                {"id": "M-2", "intent": "payments.send", "effect": "allow", "limits": pooled},
            ],
        }),
    );
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("60.00", "order:1")).expect_outcome("allow");
    let send = |value: &str| json!({"intent": "payments.send", "amount": {"value": value, "currency": "EUR"}, "untrusted": false});
    agent.evaluate(&send("40.01")).expect_outcome("escalate");
    agent.evaluate(&send("40.00")).expect_outcome("allow");
    agent.evaluate(&refund("0.01", "order:2")).expect_outcome("escalate");
}

fn each_counterparty_has_a_book_of_its_own(db: Db) {
    let server = Server::start(db);
    let each =
        json!([{"total": {"value": "120.00", "currency": "EUR"}, "per": "30 days", "each": "counterparty"}]);
    let member = server.member_with("m@example.test", &limited(&each));
    let agent = Agent::new(&member, "runner");
    let to = |names: Value, value: &str| {
        json!({"intent": "payments.refund", "counterparty": names,
            "amount": {"value": value, "currency": "EUR"}, "untrusted": false})
    };
    agent.evaluate(&to(json!("acct:1"), "100.00")).expect_outcome("allow");
    agent.evaluate(&to(json!("acct:2"), "100.00")).expect_outcome("allow");
    // One of the two has no room left.
    agent.evaluate(&to(json!(["acct:3", "acct:1"]), "30.00")).expect_outcome("escalate");
    agent.evaluate(&to(json!(["acct:3", "acct:4"]), "30.00")).expect_outcome("allow");
    agent.evaluate(&to(json!("acct:4"), "90.01")).expect_outcome("escalate");
    // The books tell nothing of whom they are for.
    let keys = server.database().connect().texts("SELECT book AS text FROM books");
    assert!(keys.len() >= 4 && keys.iter().all(|key| !key.contains("acct")), "{keys:?}");
}

fn what_a_person_approves_counts_too(db: Db) {
    let server = Server::start(db);
    let limit = json!([{"total": {"value": "100.00", "currency": "EUR"}, "per": "30 days"}]);
    let member = server.member_with("m@example.test", &limited(&limit));
    let agent = Agent::new(&member, "runner");
    let over = agent.evaluate(&refund("150.00", "order:1")).expect_outcome("escalate");
    let decision = over["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let mut with_decision = refund("150.00", "order:1");
    with_decision["decision"] = json!(decision);
    agent.evaluate(&with_decision).expect_outcome("allow");
    let next = agent.evaluate(&refund("0.01", "order:2")).expect_outcome("escalate");
    assert!(next["reason"].as_str().unwrap().contains("150.00 EUR used"), "{next}");
}

fn a_day_ends_and_a_rolling_day_rolls(db: Db) {
    let server = Server::start(db);
    let limits = json!([{"count": 2, "per": "2 days"}]);
    let member = server.member_with("m@example.test", &limited(&limits));
    let agent = Agent::new(&member, "runner");
    let move_back = |hours: i64| {
        let sql = format!("UPDATE books SET at = at - {}", hours * 3_600_000);
        server.database().connect().execute(&sql);
    };
    agent.evaluate(&refund("1.00", "order:1")).expect_outcome("allow");
    move_back(24);
    agent.evaluate(&refund("1.00", "order:2")).expect_outcome("allow");
    agent.evaluate(&refund("1.00", "order:3")).expect_outcome("escalate");
    move_back(23);
    agent.evaluate(&refund("1.00", "order:4")).expect_outcome("escalate");
    move_back(1);
    // The first is 48 hours old and has rolled out; the second has not.
    agent.evaluate(&refund("1.00", "order:5")).expect_outcome("allow");
    agent.evaluate(&refund("1.00", "order:6")).expect_outcome("escalate");
}

fn what_was_used_outlives_kill_nine_and_a_new_version(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &limited(&json!([{"count": 3, "per": "30 days"}])));
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00", "order:1")).expect_outcome("allow");
    server.kill();
    server.serve();
    let (member, agent) = (member.at(&server.base()), agent.at(&server.base()));
    member.put_mandate(&limited(&json!([{"count": 2, "per": "30 days"}])));
    agent.evaluate(&refund("1.00", "order:2")).expect_outcome("allow");
    agent.evaluate(&refund("1.00", "order:3")).expect_outcome("escalate");
}

fn taking_and_giving_back_in_turn_leaves_nothing_behind(db: Db) {
    let server = Server::start(db);
    effect(&server, false);
    let limit = json!([{"total": {"value": "100.00", "currency": "EUR"}, "per": "30 days"}]);
    let member = server.member_with("m@example.test", &limited(&limit));
    let agent = Agent::new(&member, "runner");
    let rows = || server.database().connect().number("SELECT COUNT(*) AS number FROM books");
    let first = claim(&agent, "k-1", "10.00", "order:1");
    for turn in 0..5 {
        let claimed = claim(&agent, &format!("t-{turn}"), "90.00", "order:2");
        report(&agent, &claimed, "failed");
    }
    assert_eq!(rows(), 1, "what was taken last and given back is gone");
    let (second, third) =
        (claim(&agent, "k-2", "20.00", "order:3"), claim(&agent, "k-3", "30.00", "order:4"));
    report(&agent, &second, "failed");
    assert_eq!(rows(), 3, "what others rest on stays");
    let over = agent.evaluate(&executed("60.01", "order:5")).expect_outcome("escalate");
    assert!(over["reason"].as_str().unwrap().contains("40.00 EUR used"), "{over}");
    report(&agent, &third, "failed");
    assert_eq!(rows(), 1, "and goes once nothing does");
    report(&agent, &first, "done");
    claim(&agent, "k-4", "90.00", "order:6");
}

fn a_policy_s_limit_counts_everyone(db: Db) {
    let server = Server::start(db);
    let everything = json!({
        "scopes": ["action:request"], "clauses": [{"id": "M", "intent": "*", "effect": "allow"}],
    });
    let one = Agent::new(&server.member_with("one@example.test", &everything), "one");
    let two = Agent::new(&server.member_with("two@example.test", &everything), "two");
    let ceiling = json!({"clauses": [{"id": "P-1", "intent": "payments.*", "effect": "allow", "otherwise": "refuse",
        "limits": [{"count": 2, "per": "30 days"}]}]});
    server.operator().put_over("/v1/policy", &ceiling);
    one.evaluate(&refund("1.00", "order:1")).expect_outcome("allow");
    two.evaluate(&refund("1.00", "order:2")).expect_outcome("allow");
    let over = one.evaluate(&refund("1.00", "order:3")).expect_outcome("refuse");
    assert_eq!(over["clauses"], json!(["P-1"]));
}
