//! A person's attention: the same ask is one item, too many asks are one item that says so.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, small_refunds, with};
use crate::mail::{body, mails};
use crate::server::{Folder, Server, TENANT, eventually};
use crate::visitor::Visitor;
use serde_json::{Value, json};

both!(
    the_same_ask_is_one_item_that_counts,
    another_body_or_another_credential_is_another_item,
    whoever_asks_after_the_yes_is_answered_with_it,
    asking_again_costs_nothing_of_the_budget,
    a_flood_is_one_item_and_refused,
    the_item_of_a_flood_is_closed_and_nothing_else,
    a_flood_is_mailed_once_an_item,
);

#[track_caller]
fn ask(agent: &Client, action: &Value) -> String {
    let answer = agent.evaluate(action).expect_outcome("escalate");
    answer["decision"]["id"].as_str().unwrap().to_owned()
}

fn numbered(number: usize) -> Value {
    json!({"intent": "unheard.of", "resource": format!("order:{number}")})
}

/// A member and an agent of theirs.
fn pair(server: &Server) -> (Client, Agent) {
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    (member, agent)
}

/// Fills the agent's places in the queue.
#[track_caller]
fn fill(agent: &Agent) -> Vec<String> {
    (0..20).map(|number| ask(agent, &numbered(number))).collect()
}

/// The items that say that an agent asks too much.
#[track_caller]
fn floods(member: &Client) -> Vec<Value> {
    let mut all = member.all("/v1/decisions?status=open");
    all.retain(|item| item["kind"] == "attention");
    all
}

fn the_same_ask_is_one_item_that_counts(db: Db) {
    let server = Server::start(db);
    let (member, agent) = pair(&server);
    let decision = ask(&agent, &refund("5000.00"));
    let path = format!("/v1/decisions/{decision}");
    assert!(member.get(&path).expect(200)["asks"].is_null(), "once goes without saying");
    for _ in 0..2 {
        assert_eq!(ask(&agent, &refund("5000.00")), decision);
    }
    assert_eq!(member.get(&path).expect(200)["asks"], 3);
    agent.evaluate(&with(&refund("5000.00"), "decision", &*decision)).expect_outcome("escalate");
    assert_eq!(member.get(&path).expect(200)["asks"], 3, "asking after it is no new ask");
    assert_eq!(member.all("/v1/decisions").len(), 1);
    let queue = Visitor::signed_in(&server, "m@example.test").page("/queue");
    assert!(queue.contains("asked 3 times"), "{queue}");
    member.approve(&decision).expect(200);
    agent.evaluate(&with(&refund("5000.00"), "decision", &*decision)).expect_outcome("allow");
    assert_ne!(ask(&agent, &refund("5000.00")), decision, "what is used waits for nothing");
}

fn another_body_or_another_credential_is_another_item(db: Db) {
    let server = Server::start(db);
    let (member, agent) = pair(&server);
    let first = ask(&agent, &refund("5000.00"));
    let other_sum = ask(&agent, &refund("5000.01"));
    let second = Agent::with_credential(&member, &agent.id, &json!({"label": "2", "scopes": ACTING_SCOPES}));
    let other_credential = ask(&second, &refund("5000.00"));
    assert!(first != other_sum && first != other_credential && other_sum != other_credential);
    assert_eq!(member.all("/v1/decisions").len(), 3);
    assert!(member.all("/v1/decisions").iter().all(|item| item["asks"].is_null()));
    // A yes to one is none to the other.
    member.approve(&first).expect(200);
    assert_eq!(second.evaluate(&with(&refund("5000.00"), "decision", &*first)).status, 422);
    // What was declined does not wait: the same ask is a new item.
    member.post(&format!("/v1/decisions/{other_sum}/decline"), &json!({})).expect(200);
    assert_ne!(ask(&agent, &refund("5000.01")), other_sum);
}

fn whoever_asks_after_the_yes_is_answered_with_it(db: Db) {
    let server = Server::start(db);
    let (member, agent) = pair(&server);
    let decision = ask(&agent, &refund("5000.00"));
    member.approve(&decision).expect(200);
    let answer = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    assert_eq!(
        (&answer["decision"]["id"], &answer["decision"]["status"]),
        (&json!(decision), &json!("approved"))
    );
    agent.evaluate(&with(&refund("5000.00"), "decision", &*decision)).expect_outcome("allow");
}

fn asking_again_costs_nothing_of_the_budget(db: Db) {
    let server = Server::start(db);
    let (member, agent) = pair(&server);
    let decision = ask(&agent, &refund("5000.00"));
    for _ in 0..65 {
        assert_eq!(ask(&agent, &refund("5000.00")), decision);
    }
    assert_ne!(ask(&agent, &refund("6000.00")), decision, "there is room for another");
    assert!(floods(&member).is_empty());
}

fn a_flood_is_one_item_and_refused(db: Db) {
    let server = Server::start(db);
    let (member, agent) = pair(&server);
    let waiting = fill(&agent);
    for number in 20..23 {
        let refused = agent.evaluate(&numbered(number));
        refused.expect_outcome("refuse");
        assert!(refused.names("attention-budget"), "{}", refused.text);
    }
    let items = floods(&member);
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!((&items[0]["asks"], &items[0]["agent"]), (&json!(3), &json!(agent.id)), "{}", items[0]);
    assert_eq!(member.all("/v1/decisions?status=open").len(), 21);
    assert_eq!(ask(&agent, &numbered(7)), waiting[7], "what waits already may still be asked for");
    agent.evaluate(&refund("5.00")).expect_outcome("allow");
    let page = Visitor::signed_in(&server, "m@example.test").page("/queue");
    assert!(page.contains("asks too much") && page.contains("3 refused"), "{page}");
}

fn the_item_of_a_flood_is_closed_and_nothing_else(db: Db) {
    let server = Server::start(db);
    let (member, agent) = pair(&server);
    let waiting = fill(&agent);
    agent.evaluate(&numbered(20)).expect_outcome("refuse");
    let item = floods(&member)[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/decisions/{item}");
    member.approve(&item).expect_problem(409);
    member.post(&format!("{path}/resolve"), &json!({"status": "done"})).expect_problem(409);
    let named = agent.evaluate(&with(&numbered(20), "decision", &*item));
    assert_ne!(named.json["outcome"], "allow", "it is no yes to anything: {}", named.text);
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    let page = visitor.page(&format!("/queue/{item}"));
    assert!(page.contains("It asks too much") && !page.contains("/approve\""), "{page}");
    let closed = visitor.submit(&format!("/queue/{item}"), &format!("/queue/{item}/decline"), &[]);
    assert_eq!(closed.status, 303, "{}", closed.text);
    assert_eq!(member.get(&path).expect(200)["status"], "declined");
    assert!(floods(&member).is_empty());
    // Closing it makes no room; deciding on what waits does.
    agent.evaluate(&numbered(20)).expect_outcome("refuse");
    assert_eq!(floods(&member).len(), 1, "and it is said again");
    member.post(&format!("/v1/decisions/{}/decline", waiting[0]), &json!({})).expect(200);
    ask(&agent, &numbered(20));
}

fn a_flood_is_mailed_once_an_item(db: Db) {
    let outbox = Folder::new();
    let folder = outbox.display().to_string();
    let mut server = Server::set_up(db, &[TENANT]).option("--mail-folder", &folder);
    server.serve();
    let (member, agent) = pair(&server);
    fill(&agent);
    for number in 20..25 {
        agent.evaluate(&numbered(number)).expect_outcome("refuse");
    }
    let item = floods(&member)[0]["id"].as_str().unwrap().to_owned();
    let told = || mails(&outbox).into_iter().filter(|mail| body(mail).contains(&item)).collect::<Vec<_>>();
    eventually("the flood is mailed", || !told().is_empty());
    eventually("all is mailed", || mails(&outbox).len() >= 21);
    assert_eq!((told().len(), mails(&outbox).len()), (1, 21));
    assert!(told()[0].contains("An agent asks too much"), "{}", told()[0]);
}
