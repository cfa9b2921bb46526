//! What takes of a person's attention beside new asks: effects that nobody knows the end of, and questions put anew.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, with};
use crate::enforcement::Point;
use crate::log::{check_verifies, check_whole, export};
use crate::server::{Server, eventually};
use crate::visitor::Visitor;
use serde_json::{Value, json};

both!(
    effects_reported_unknown_take_of_the_budget_and_the_rest_is_asked_later,
    what_nobody_reports_on_floods_nobody_either,
    a_question_put_anew_takes_of_the_budget_and_then_stays_as_it_is,
);

/// How many effects may be claimed.
const PLACES: usize = 24;

/// A server on which acts are effects, a member whose mandate allows as many as there are places, and their agent.
fn acting(db: Db) -> (Server, Client, Agent) {
    let server = Server::start(db);
    let entry = json!({"title": "act", "effect": true, "arguments": {"type": "object"}});
    server.operator().put("/v1/catalogue/owned.act", &[], &entry).expect(200);
    let terms = json!({"scopes": ACTING_SCOPES, "clauses": [{"id": "M-1", "intent": "owned.act", "effect": "allow",
        "otherwise": "refuse", "limits": [{"count": PLACES, "per": "30 days"}]}]});
    let member = server.member_with("m@example.test", &terms);
    let agent = Agent::new(&member, "runner");
    (server, member, agent)
}

#[track_caller]
fn claim(agent: &Agent) -> String {
    let allowed = agent.evaluate(&json!({"intent": "owned.act", "arguments": {}})).expect_outcome("allow");
    allowed["effect"]["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn open(member: &Client, kind: &str) -> Vec<Value> {
    let mut all = member.all("/v1/decisions?status=open");
    all.retain(|item| item["kind"] == kind);
    all
}

#[track_caller]
fn resolve(member: &Client, item: &Value, status: &str) {
    let path = format!("/v1/decisions/{}/resolve", item["id"].as_str().unwrap());
    member.post(&path, &json!({"status": status})).expect(200);
}

/// Lets what was put off be looked at, and waits until it was.
fn look_at_what_was_put_off(server: &Server) {
    let mut connection = server.database().connect();
    connection.execute("UPDATE effects SET due_at = 1 WHERE status = 'unknown' AND due_at IS NOT NULL");
    eventually("it was looked at", || {
        connection.number("SELECT COUNT(*) FROM effects WHERE due_at = 1") == 0
    });
}

fn effects_reported_unknown_take_of_the_budget_and_the_rest_is_asked_later(db: Db) {
    let (server, member, agent) = acting(db);
    let point = Point::new(&server.operator(), "till");
    let effects: Vec<String> = (0..PLACES).map(|_| claim(&agent)).collect();
    let unknown = json!({"status": "unknown"});
    let report = |effect: &str| agent.post(&format!("/v1/effects/{effect}/outcome"), &unknown).expect(200);
    for effect in &effects[..23] {
        assert_eq!(report(effect)["status"], "unknown");
    }
    let asked = || open(&member, "effect");
    assert_eq!(asked().len(), 20, "as many as one agent may have open");
    let floods = open(&member, "attention");
    assert_eq!((floods.len(), &floods[0]["asks"]), (1, &json!(3)), "{floods:?}");
    // It is on record all the same, once, and what it took stays taken.
    let last = report(&effects[22]);
    assert_eq!((&last["status"], &last["receipt"]), (&json!("unknown"), &Value::Null), "{last}");
    let full = agent.evaluate(&json!({"intent": "owned.act", "arguments": {}})).expect_outcome("refuse");
    assert_eq!(full["reason"], format!("used {PLACES} times, {PLACES} per 30 days allowed"));
    let other = agent.evaluate(&refund("5.00"));
    other.expect_outcome("refuse");
    assert!(other.names("attention-budget"), "it is one budget: {}", other.text);
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    let page = visitor.page("/queue");
    assert!(page.contains("asks too much") && page.contains("4 refused or put off"), "{page}");
    let page = visitor.page(&format!("/queue/{}", floods[0]["id"].as_str().unwrap()));
    assert!(page.contains("It asks too much"), "{page}");

    look_at_what_was_put_off(&server);
    assert_eq!(asked().len(), 20, "there is no room yet");
    // A point settles what nobody was asked about yet.
    assert_eq!(point.report(&effects[21], &json!({"status": "done"})).expect(200)["status"], "done");
    for item in asked().iter().take(3) {
        resolve(&member, item, "done");
    }
    look_at_what_was_put_off(&server);
    eventually("the other two are asked about", || asked().len() == 19);
    let about: Vec<Value> = asked().into_iter().map(|item| item["effect"].clone()).collect();
    assert!(about.contains(&json!(effects[20])) && about.contains(&json!(effects[22])), "{about:?}");
    assert!(!about.contains(&json!(effects[21])), "{about:?}");
    let late = asked().into_iter().find(|item| item["effect"] == *effects[22]).unwrap();
    resolve(&member, &late, "failed");
    claim(&agent);
    look_at_what_was_put_off(&server);
    assert_eq!(asked().len(), 18, "nothing is asked twice");
    // Where a point makes a question of it, it does not wait: it is not the agent that asks.
    for item in open(&member, "attention") {
        member
            .post(&format!("/v1/decisions/{}/decline", item["id"].as_str().unwrap()), &json!({}))
            .expect(200);
    }
    check_verifies(&export(&member, &agent.credential));
    check_whole(server.database());
}

fn what_nobody_reports_on_floods_nobody_either(db: Db) {
    let (server, member, agent) = acting(db);
    let point = Point::new(&server.operator(), "till");
    let effects: Vec<String> = (0..PLACES).map(|_| claim(&agent)).collect();
    let told = &effects[0];
    agent.post(&format!("/v1/effects/{told}/outcome"), &json!({"status": "done"})).expect(200);
    let mut connection = server.database().connect();
    connection.execute("UPDATE effects SET report_by = 1, due_at = 1 WHERE status = 'claimed'");
    let unknown = "SELECT COUNT(*) FROM effects WHERE status = 'unknown'";
    eventually("nobody knows", || connection.number(unknown) == 23);
    assert_eq!(open(&member, "effect").len(), 20);
    assert_eq!(open(&member, "attention").len(), 1);
    // A point's word against the agent's is no ask of the agent.
    assert_eq!(point.report(told, &json!({"status": "failed"})).expect(200)["status"], "unknown");
    assert_eq!(open(&member, "effect").len(), 21);
}

/// Refunds up to 100 EUR while there are places in two pools, which other acts take.
fn pools() -> Value {
    let place = |pool: &str| json!({"count": 1, "per": "30 days", "pool": pool});
    let take = |pool: &str| json!({"id": format!("T-{pool}"), "intent": format!("take.{pool}"), "effect": "allow", "limits": [place(pool)]});
    json!({"scopes": ACTING_SCOPES, "clauses": [
        {"id": "M-001", "intent": "payments.refund", "effect": "allow",
            "when": {"amount": {"at_most": {"value": "100.00", "currency": "EUR"}}}, "limits": [place("a"), place("b")]},
        take("a"), take("b"),
    ]})
}

fn a_question_put_anew_takes_of_the_budget_and_then_stays_as_it_is(db: Db) {
    let server = Server::start(db);
    let entry = json!({"title": "take", "effect": true, "arguments": {"type": "object"}});
    for pool in ["a", "b"] {
        server.operator().put(&format!("/v1/catalogue/take.{pool}"), &[], &entry).expect(200);
    }
    let member = server.member_with("m@example.test", &pools());
    let agent = Agent::new(&member, "runner");
    let action = refund("150.00");
    // Takes the place of one pool for as long as it is asked, so that another reason stands in the way each time.
    let ask_while_full = |pool: &str, action: &Value| {
        let taken = agent.evaluate(&json!({"intent": format!("take.{pool}"), "arguments": {}}));
        let effect = taken.expect_outcome("allow")["effect"]["id"].as_str().unwrap().to_owned();
        let answer = agent.evaluate(action).expect_outcome("escalate");
        agent.post(&format!("/v1/effects/{effect}/outcome"), &json!({"status": "failed"})).expect(200);
        answer
    };
    let first = ask_while_full("a", &action);
    let decision = first["decision"]["id"].as_str().unwrap();
    let shown = || member.get(&format!("/v1/decisions/{decision}")).expect(200);
    let asked_first = shown();
    let anew = ask_while_full("b", &action);
    assert_eq!(anew["clauses"], json!(["M-001"]), "{anew}");
    let asked_anew = shown();
    assert_ne!(asked_anew["input_hash"], asked_first["input_hash"]);

    // As if it had been put anew sixty times.
    let mut connection = server.database().connect();
    let place = anew["receipt"]["merkle"]["index"].as_u64().unwrap();
    connection.execute(&format!("UPDATE books SET amount = 60, total = 60 WHERE log_index = {place}"));
    for action in [action.clone(), with(&action, "decision", decision)] {
        let kept = ask_while_full("a", &action);
        assert_eq!(kept["clauses"], json!(["attention-budget"]), "{kept}");
        assert_eq!(kept["reason"], "61 decisions opened by this agent within an hour, 60 may be");
        assert_eq!(
            (&kept["decision"]["id"], &kept["decision"]["status"]),
            (&json!(decision), &json!("open"))
        );
        let explained = format!("/v1/receipts/{}/explain", kept["receipt"]["id"].as_str().unwrap());
        let explained = member.get(&explained).expect(200);
        assert_eq!(explained["agrees"], true, "{explained}");
        assert_eq!(shown()["input_hash"], asked_anew["input_hash"], "the question stands as it was shown");
    }
    assert_eq!(shown()["asks"], 3, "and says how often it was asked");
    let other = agent.evaluate(&refund("151.00"));
    assert!(other.names("attention-budget"), "it is the same budget: {}", other.text);
    // What was shown may be asked after as often as anyone likes.
    assert_eq!(ask_while_full("b", &action)["clauses"], json!(["M-001"]));
    // An hour later there is room again.
    connection.execute(&format!("UPDATE books SET at = at - 3600001 WHERE log_index = {place}"));
    assert_eq!(ask_while_full("a", &action)["clauses"], json!(["M-001"]));
    assert_ne!(shown()["input_hash"], asked_anew["input_hash"]);
    member.approve(decision).expect(200);
    agent.evaluate(&with(&action, "decision", decision)).expect_outcome("allow");
}
