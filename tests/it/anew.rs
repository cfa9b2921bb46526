//! A yes is good against the reasons that whoever said it was shown, and against no other.

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, with};
use crate::four_eyes::{SENTENCE, asking_for, club, two};
use crate::server::Server;
use serde_json::{Value, json};

both!(
    a_limit_reached_while_it_waits_is_shown_before_a_yes_counts,
    a_limit_reached_after_the_yes_is_not_what_it_was_for,
    asking_again_shows_what_stands_in_the_way_by_then,
    an_obligation_added_while_it_waits_is_shown_before_a_yes_counts,
    every_condition_and_limit_in_the_way_is_shown,
    fewer_reasons_than_were_shown_need_no_new_yes,
    what_is_allowed_meanwhile_is_no_longer_asked,
    somebody_else_s_role_is_not_the_principal_s,
    an_agent_does_not_say_whose_yes_it_takes,
);

/// Refunds up to 100 EUR and twice a day, to customers of the list.
fn mandate() -> Value {
    json!({
        "scopes": ACTING_SCOPES,
        "counterparties": [{"id": "acct:known"}],
        "clauses": [{"id": "M-001", "intent": "payments.refund", "effect": "allow",
            "when": {"amount": {"at_most": {"value": "100.00", "currency": "EUR"}}, "counterparty": {"known": true}},
            "limits": [{"count": 2, "per": "30 days"}]}],
    })
}

fn refund(euros: &str, to: &str) -> Value {
    json!({"intent": "payments.refund", "amount": {"value": euros, "currency": "EUR"}, "counterparty": to})
}

const CEILING: &str = "above the ceiling: 150.00 EUR asked, 100.00 EUR allowed";
const USED_UP: &str = "used 2 times, 2 per 30 days allowed";

struct Waiting {
    server: Server,
    member: Client,
    agent: Agent,
    action: Value,
    decision: String,
}

/// A refund above the ceiling that waits.
#[track_caller]
fn waiting(db: Db) -> Waiting {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &mandate());
    let agent = Agent::new(&member, "runner");
    let action = refund("150.00", "acct:known");
    let decision = ask(&agent, &action);
    Waiting { server, member, agent, action, decision }
}

#[track_caller]
fn ask(agent: &Agent, action: &Value) -> String {
    let answer = agent.evaluate(action).expect_outcome("escalate");
    answer["decision"]["id"].as_str().unwrap().to_owned()
}

impl Waiting {
    /// Uses both places of the limit.
    #[track_caller]
    fn use_up(&self) {
        for _ in 0..2 {
            self.agent.evaluate(&refund("5.00", "acct:known")).expect_outcome("allow");
        }
    }

    #[track_caller]
    fn shown(&self) -> Value {
        self.member.get(&format!("/v1/decisions/{}", self.decision)).expect(200)
    }

    #[track_caller]
    fn yes(&self, to: &Value) -> Reply {
        let path = format!("/v1/decisions/{}/approve", self.decision);
        self.member.post(&path, &json!({"input_hash": to["input_hash"]}))
    }

    #[track_caller]
    fn use_it(&self) -> Reply {
        self.agent.evaluate(&with(&self.action, "decision", &*self.decision))
    }
}

fn a_limit_reached_while_it_waits_is_shown_before_a_yes_counts(db: Db) {
    let waiting = waiting(db);
    let before = waiting.shown();
    assert_eq!(before["escalated_reason"], CEILING);
    waiting.use_up();
    let told = waiting.yes(&before).expect_problem(409)["detail"].to_string();
    assert!(told.contains("look at it again") && told.contains("M-001 count-reached"), "{told}");
    let after = waiting.shown();
    assert_eq!((&after["status"], &after["asked"]), (&json!("open"), &before["asked"]), "{after}");
    assert_eq!(after["escalated_reason"], format!("{CEILING}; {USED_UP}"));
    assert_ne!(after["input_hash"], before["input_hash"]);
    waiting.yes(&before).expect_problem(409);
    waiting.yes(&after).expect(200);
    waiting.use_it().expect_outcome("allow");
}

fn a_limit_reached_after_the_yes_is_not_what_it_was_for(db: Db) {
    let waiting = waiting(db);
    waiting.member.approve(&waiting.decision).expect(200);
    waiting.use_up();
    let refused = waiting.use_it();
    refused.expect_outcome("refuse");
    assert!(refused.names("approval.outgrown"), "{}", refused.text);
    // Asked without it, it is another question.
    let other = ask(&waiting.agent, &waiting.action);
    assert_ne!(other, waiting.decision);
    waiting.member.approve(&other).expect(200);
    waiting.agent.evaluate(&with(&waiting.action, "decision", &*other)).expect_outcome("allow");
}

fn asking_again_shows_what_stands_in_the_way_by_then(db: Db) {
    let club = club(db, &two());
    club.member.put_mandate(&mandate());
    let ask = || {
        let answer = club.agent.evaluate(&with(&refund("150.00", "acct:known"), "resource", "order:1"));
        answer.expect_outcome("escalate")["decision"]["id"].as_str().unwrap().to_owned()
    };
    let decision = ask();
    let first = club.shown(&decision);
    assert_eq!(club.cleo.approve(&decision).expect(200)["approvals"]["more"], 2);
    assert_eq!(ask(), decision, "the same reasons are the same question");
    assert_eq!(club.shown(&decision)["approvals"]["more"], 2, "and whoever said yes is not asked again");
    for _ in 0..2 {
        club.agent.evaluate(&refund("5.00", "acct:known")).expect_outcome("allow");
    }
    assert_eq!(ask(), decision, "it is one item still");
    let shown = club.shown(&decision);
    assert!(shown["escalated_reason"].as_str().unwrap().contains(USED_UP), "{shown}");
    assert_ne!(shown["input_hash"], first["input_hash"]);
    assert_eq!((&shown["asks"], &shown["approvals"]["more"]), (&json!(3), &json!(3)), "{shown}");
}

fn an_obligation_added_while_it_waits_is_shown_before_a_yes_counts(db: Db) {
    let waiting = waiting(db);
    let before = waiting.shown();
    assert_eq!(before.get("obligations"), None);
    let mut policy = asking_for(&json!({}));
    policy["clauses"][0].as_object_mut().unwrap().retain(|name, _| name != "when" && name != "approvals");
    waiting.server.operator().put_over("/v1/policy", &policy);
    let after = waiting.shown();
    assert_eq!(after["obligations"], json!([SENTENCE]), "{after}");
    waiting.yes(&before).expect_problem(409);
    let given = waiting.yes(&after).expect(200);
    let receipt = given["decision_receipt"]["id"].as_str().unwrap();
    let recorded = waiting.member.get(&format!("/v1/receipts/{receipt}")).expect(200);
    assert_eq!(recorded["input"]["why"]["obligations"], json!([SENTENCE]), "what was shown is on record");
    waiting.use_it().expect_outcome("allow");
    // Other words are another obligation.
    let decision = ask(&waiting.agent, &waiting.action);
    policy["clauses"][0]["obligation"] = json!("Ask the member's sister.");
    waiting.server.operator().put_over("/v1/policy", &policy);
    let shown = waiting.member.get(&format!("/v1/decisions/{decision}")).expect(200);
    assert_eq!(shown["obligations"], json!(["Ask the member's sister."]));
}

fn every_condition_and_limit_in_the_way_is_shown(db: Db) {
    let waiting = waiting(db);
    waiting.use_up();
    let answer = waiting.agent.evaluate(&refund("150.00", "acct:new")).expect_outcome("escalate");
    let reason = answer["reason"].as_str().unwrap();
    for part in [CEILING, USED_UP, "the counterparty is not known to the principal"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(answer["clauses"], json!(["M-001"]));
}

fn fewer_reasons_than_were_shown_need_no_new_yes(db: Db) {
    let waiting = waiting(db);
    let new = refund("150.00", "acct:new");
    let decision = ask(&waiting.agent, &new);
    waiting.member.approve(&decision).expect(200);
    let mut wider = mandate();
    wider["counterparties"].as_array_mut().unwrap().push(json!({"id": "acct:new"}));
    waiting.member.put_mandate(&wider);
    waiting.agent.evaluate(&with(&new, "decision", &*decision)).expect_outcome("allow");
}

fn what_is_allowed_meanwhile_is_no_longer_asked(db: Db) {
    let waiting = waiting(db);
    let other = refund("160.00", "acct:known");
    let named = ask(&waiting.agent, &other);
    let mut wider = mandate();
    wider["clauses"][0]["when"]["amount"]["at_most"]["value"] = json!("200.00");
    waiting.member.put_mandate(&wider);
    assert_eq!(waiting.shown()["status"], "open");
    waiting.agent.evaluate(&waiting.action).expect_outcome("allow");
    let over = waiting.shown();
    assert_eq!(over["status"], "withdrawn", "{over}");
    assert_eq!(over["reason"], "the same was allowed meanwhile, without it");
    waiting.agent.evaluate(&with(&other, "decision", &*named)).expect_outcome("allow");
    let over = waiting.member.get(&format!("/v1/decisions/{named}")).expect(200);
    assert_eq!(over["status"], "withdrawn", "{over}");
}

fn somebody_else_s_role_is_not_the_principal_s(db: Db) {
    let club = club(db, &json!({"roles": ["compliance"], "others": true}));
    club.cleo.put_mandate(&with(&mandate(), "unlisted", "refuse"));
    let agent = Agent::new(&club.cleo, "hers");
    let decision = ask(&agent, &with(&refund("5.00", "acct:known"), "resource", "order:1"));
    club.cleo.approve(&decision).expect_problem(403);
    assert_eq!(club.carl.approve(&decision).expect(200)["status"], "approved");
}

fn an_agent_does_not_say_whose_yes_it_takes(db: Db) {
    let waiting = waiting(db);
    let clause = json!({"id": "C-1", "intent": "payments.refund", "effect": "escalate",
        "approvals": {"roles": ["member"]}});
    let child = json!({"label": "child", "scopes": ["action:request"], "clauses": [clause]});
    let problem = waiting.agent.post("/v1/credentials/derive", &child).expect_problem(422);
    assert_eq!(problem["errors"][0]["pointer"], "/clauses/0/approvals", "{problem}");
}
