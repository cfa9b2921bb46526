//! Any recorded call can be decided again and says why it was answered so, whatever has changed since.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{no_refunds, refund, refunds_up_to, small_refunds, with};
use crate::server::{Server, TENANT};
use serde_json::{Value, json};

both!(
    an_allow_and_a_refusal_say_which_clause_and_what_was_tested,
    an_escalation_gives_both_values,
    a_limit_gives_what_was_used_then_though_more_was_used_since,
    a_call_under_an_approval_says_that_a_persons_yes_is_used,
    facts_are_derived_as_they_were,
    an_answer_is_explained_under_the_versions_it_was_given_under,
    what_the_record_does_not_bear_out_is_said,
    what_is_no_call_or_was_erased_says_so,
    an_agent_reads_of_terms_no_more_than_it_may,
);

#[track_caller]
fn explained(caller: &Client, answer: &Value) -> Value {
    let receipt = answer["receipt"]["id"].as_str().unwrap();
    let explained = caller.get(&format!("/v1/receipts/{receipt}/explain")).expect(200);
    for member in ["outcome", "reason", "clauses"] {
        assert_eq!(explained[member], answer[member], "{explained}");
    }
    explained
}

/// The same, where the answer comes out again as it was.
#[track_caller]
fn agreeing(caller: &Client, answer: &Value) -> Value {
    let explained = explained(caller, answer);
    assert_eq!(explained["agrees"], true, "{explained}");
    explained
}

/// The step of a name.
#[track_caller]
fn step<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let steps = explained["steps"].as_array().unwrap();
    steps.iter().find(|step| step["step"] == name).unwrap_or_else(|| panic!("no {name}: {explained}"))
}

fn an_allow_and_a_refusal_say_which_clause_and_what_was_tested(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let allowed = agreeing(&member, &agent.evaluate(&refund("24.00")).expect_outcome("allow"));
    let names: Vec<&str> =
        allowed["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["domains", "scopes", "validity", "agent kind", "catalogue", "policy", "mandate", "answer"]
    );
    let mandate = step(&allowed, "mandate");
    assert_eq!(mandate["comes_to"], "allow");
    assert_eq!(mandate["elsewhere"], 1, "the clause on accounts is counted, not listed");
    let clause = &mandate["clauses"][0];
    assert_eq!((&clause["clause"], &clause["comes_to"]), (&json!("M-001"), &json!("allow")));
    assert_eq!(clause["conditions"][0]["says"], "amount at most 100.00 EUR");
    assert_eq!(clause["conditions"][0]["holds"], true);
    let closing = agent.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");
    let refused = agreeing(&member, &closing);
    assert_eq!(step(&refused, "mandate")["clauses"][0]["clause"], "M-002");
    assert_eq!(step(&refused, "answer")["comes_to"], "refuse");
}

fn an_escalation_gives_both_values(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let explained = agreeing(&member, &agent.evaluate(&refund("120.00")).expect_outcome("escalate"));
    let condition = &step(&explained, "mandate")["clauses"][0]["conditions"][0];
    assert_eq!(condition["holds"], false);
    assert_eq!(condition["reason"], "above the ceiling: 120.00 EUR asked, 100.00 EUR allowed");
    assert_eq!(step(&explained, "answer")["because"], "a person decides: it joins the queue");
    let again = agreeing(&member, &agent.evaluate(&refund("120.00")).expect_outcome("escalate"));
    assert_eq!(step(&again, "answer")["because"], "the same ask waits for a person already");
}

/// Refunds of 100 EUR a day in all.
fn daily() -> Value {
    let mut document = small_refunds();
    document["clauses"][0]["limits"] =
        json!([{"total": {"value": "100.00", "currency": "EUR"}, "per": "30 days"}]);
    document
}

fn a_limit_gives_what_was_used_then_though_more_was_used_since(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &daily());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("60.00")).expect_outcome("allow");
    let over = agent.evaluate(&refund("50.00")).expect_outcome("escalate");
    agent.evaluate(&refund("30.00")).expect_outcome("allow");
    let limit = &step(&agreeing(&member, &over), "mandate")["clauses"][0]["limits"][0].clone();
    assert_eq!(limit["holds"], false, "{limit}");
    assert_eq!(limit["says"], "at most 100.00 EUR per 30 days");
    let book = &limit["books"][0];
    assert_eq!(
        (&book["used"], &book["asked"], &book["allowed"]),
        (&json!("60.00 EUR"), &json!("50.00 EUR"), &json!("100.00 EUR"))
    );
    assert!(book["since"].is_string(), "{book}");
}

fn a_call_under_an_approval_says_that_a_persons_yes_is_used(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let asked = agent.evaluate(&refund("500.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    let early = agent.evaluate(&with(&refund("500.00"), "decision", decision)).expect_outcome("escalate");
    member.approve(decision).expect(200);
    let used = agent.evaluate(&with(&refund("500.00"), "decision", decision)).expect_outcome("allow");
    let again = agent.evaluate(&with(&refund("500.00"), "decision", decision)).expect_outcome("refuse");
    assert_eq!(
        step(&agreeing(&member, &early), "answer")["because"],
        "the same ask waits for a person already"
    );
    let answer = step(&agreeing(&member, &used), "answer").clone();
    assert_eq!((&answer["verdict"], &answer["comes_to"]), (&json!("escalate"), &json!("allow")));
    assert_eq!(answer["because"], "a person's yes is used");
    let answer = step(&agreeing(&member, &again), "answer").clone();
    assert_eq!((&answer["verdict"], &answer["comes_to"]), (&json!("escalate"), &json!("refuse")));
    assert_eq!(
        answer["because"],
        "the decision it names is worth nothing: the approval was used; it was good for one call"
    );
}

fn facts_are_derived_as_they_were(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let mut entry = json!({
        "title": "Send money",
        "effect": false,
        "arguments": {"type": "object", "properties": {"sum": {"type": "string"}, "fee": {"type": "string"}}},
        "amount": "/sum",
        "currency": {"const": "EUR"},
    });
    operator.put("/v1/catalogue/payments.refund", &[], &entry).expect(200);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let arguments = json!({"sum": "120.00", "fee": "1.00"});
    let request = json!({"intent": "payments.refund", "arguments": arguments});
    let asked = agent.evaluate(&request).expect_outcome("escalate");
    entry["amount"] = json!("/fee");
    operator.put("/v1/catalogue/payments.refund", &[("if-match", "\"1\"")], &entry).expect(200);
    let later = agent.evaluate(&request).expect_outcome("allow");
    let explained = agreeing(&member, &asked);
    assert_eq!(explained["asked"]["amount"], json!({"value": "120.00", "currency": "EUR"}));
    assert_eq!(explained["asked"]["facts_from"], "derived");
    assert_eq!(explained["catalogue_version"], 1);
    assert_eq!(agreeing(&member, &later)["asked"]["amount"]["value"], "1.00");
}

fn an_answer_is_explained_under_the_versions_it_was_given_under(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let first = agent.evaluate(&refund("24.00")).expect_outcome("allow");
    member.put_mandate(&refunds_up_to("20.00"));
    let second = agent.evaluate(&refund("24.00")).expect_outcome("escalate");
    member.put_mandate(&no_refunds());
    agent.evaluate(&refund("24.00")).expect_outcome("escalate");
    let policy = json!({"clauses": [{"id": "P-001", "intent": "payments.*", "effect": "refuse"}]});
    server.operator().put("/v1/policy", &[("if-match", "\"1\"")], &policy).expect(200);
    let last = agent.evaluate(&refund("24.00")).expect_outcome("refuse");
    let condition = |answer: &Value| {
        step(&agreeing(&member, answer), "mandate")["clauses"][0]["conditions"][0]["says"].clone()
    };
    assert_eq!(condition(&first), "amount at most 100.00 EUR");
    assert_eq!(condition(&second), "amount at most 20.00 EUR");
    let last = agreeing(&member, &last);
    assert_eq!(step(&last, "policy")["because"], "for everyone");
    assert_eq!(step(&last, "policy")["clauses"][0]["comes_to"], "refuse");
    assert_eq!(step(&last, "mandate")["findings"][0]["reason"], "no clause names the intent");
}

fn what_the_record_does_not_bear_out_is_said(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let allowed = agent.evaluate(&refund("24.00")).expect_outcome("allow");
    // Somebody changes the mandate under which it was allowed.
    let statement = "UPDATE mandates SET document = replace(document, '100.00', '10.00')";
    server.database().connect().execute(statement);
    let explained = explained(&member, &allowed);
    assert_eq!(explained["agrees"], false);
    assert_eq!(explained["decided_again"]["outcome"], "escalate");
    assert_eq!(explained["decided_again"]["reason"], "above the ceiling: 24.00 EUR asked, 10.00 EUR allowed");
}

fn what_is_no_call_or_was_erased_says_so(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let calls = member.all("/v1/calls?kind=mandate.put");
    let detail = |receipt: &Value| {
        let path = format!("/v1/receipts/{}/explain", receipt.as_str().unwrap());
        let problem = member.get(&path).expect_problem(422);
        assert_eq!(problem["type"], "/problems/undecidable");
        problem["detail"].as_str().unwrap().to_owned()
    };
    assert!(detail(&calls[0]["id"]).contains("`mandate.put`"), "{calls:?}");
    let allowed = agent.evaluate(&refund("24.00")).expect_outcome("allow");
    let statement =
        format!("UPDATE receipts SET content = NULL WHERE tenant = '{TENANT}' AND content IS NOT NULL");
    server.database().connect().execute(&statement);
    assert!(detail(&allowed["receipt"]["id"]).contains("erased"));
}

fn an_agent_reads_of_terms_no_more_than_it_may(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let policy = json!({"clauses": [
        {"id": "P-001", "intent": "payments.*", "effect": "escalate",
         "when": {"amount": {"at_least": {"value": "400.00", "currency": "EUR"}}}},
    ]});
    server.operator().put("/v1/policy", &[("if-match", "\"1\"")], &policy).expect(200);
    let reads = Agent::new(&member, "reads");
    let answer = reads.evaluate(&refund("120.00")).expect_outcome("escalate");
    let explained = agreeing(&reads, &answer);
    assert_eq!(
        step(&explained, "mandate")["clauses"][0]["conditions"][0]["says"],
        "amount at most 100.00 EUR"
    );
    let policy = step(&explained, "policy");
    assert_eq!((&policy["withheld"], &policy["clauses"]), (&json!(true), &json!([])));
    assert!(!explained.to_string().contains("400.00"), "{explained}");
    let other = Agent::of_kind(&member, "other", "acting", &["action:request", "call:read"]);
    let answer = other.evaluate(&refund("120.00")).expect_outcome("escalate");
    let explained = agreeing(&other, &answer);
    let clause = &step(&explained, "mandate")["clauses"][0];
    assert_eq!(clause["conditions"], Value::Null, "{clause}");
    assert_eq!(clause["reason"], answer["reason"]);
    let path = format!("/v1/receipts/{}/explain", answer["receipt"]["id"].as_str().unwrap());
    assert_eq!(reads.get(&path).status, 404, "another agent's receipt");
    let mute = Agent::of_kind(&member, "mute", "acting", &["action:request"]);
    assert_eq!(mute.get(&path).status, 403);
    let stranger = server.member_with("n@example.test", &small_refunds());
    assert_eq!(stranger.get(&path).status, 404);
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    agreeing(&compliance, &answer);
}
