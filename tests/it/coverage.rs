//! A provider's own list held against the ledger: what it lists without a receipt never passed the gate.

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::documents::ACTING_SCOPES;
use crate::server::{Server, TENANT, said};
use serde_json::{Value, json};

both!(
    each_line_and_each_effect_is_told_for_what_it_is,
    a_list_that_agrees_ends_with_zero_and_one_that_cannot_be_read_with_two,
    coverage_is_for_those_who_see_the_tenants_log,
);

pub(crate) fn set_up(db: Db) -> (Server, Agent) {
    let server = Server::start(db);
    let entry = json!({
        "title": "charge", "effect": true, "amount": "/amount", "currency": "/currency",
        "arguments": {"type": "object", "properties": {"amount": {"type": "string"}, "currency": {"type": "string"}}},
    });
    let operator = server.operator();
    operator.put("/v1/catalogue/payments.charge", &[], &entry).expect(200);
    operator.put("/v1/catalogue/mail.charge", &[], &entry).expect(200);
    let member = server.member_with(
        "m@example.test",
        &json!({"scopes": ACTING_SCOPES, "clauses": [{"id": "M-001", "intent": "*", "effect": "allow"}]}),
    );
    let agent = Agent::new(&member, "runner");
    (server, agent)
}

/// Lets an effect happen, and reports it with a reference unless there is none; its id and receipt.
pub(crate) fn charge(
    agent: &Agent,
    amount: &str,
    currency: &str,
    ended: Option<(&str, &str)>,
    key: &str,
) -> (String, String) {
    let action = json!({"intent": "payments.charge", "arguments": {"amount": amount, "currency": currency}});
    let answer = agent.evaluate_once(key, &action).expect_outcome("allow");
    let effect = answer["effect"]["id"].as_str().unwrap().to_owned();
    if let Some((status, reference)) = ended {
        let report = json!({"status": status, "reference": reference});
        agent.post(&format!("/v1/effects/{effect}/outcome"), &report).expect(200);
    }
    (effect, answer["receipt"]["id"].as_str().unwrap().to_owned())
}

pub(crate) const LIST: &str = "\
id,total,cur,when,idem
ch_1,24.00,EUR,2026-11-30T10:00:00+01:00,
ch_2,5.01,EUR,2026-11-30T10:00:00Z,
ch_ghost,900.00,EUR,2026-11-30T10:00:00Z,
ch_1,24.00,EUR,2026-11-30T10:00:00Z,
ch_yen,1500,JPY,2026-11-30T10:00:00Z,
ch_half,15.5,JPY,2026-11-30T10:00:00Z,
ch_failed,7.00,EUR,2026-11-30T10:00:00Z,
ch_by_key,8.00,EUR,2026-11-30T10:00:00Z,key-7
ch_old,1.00,EUR,2020-01-01T00:00:00Z,
";

fn query(more: &str) -> String {
    format!("/v1/coverage?intent=payments.*&reference=id&amount=total&currency=cur&time=when&key=idem{more}")
}

fn post(client: &Client, path: &str, list: &str) -> Reply {
    client.send("POST", path, &[("content-type", "text/csv")], Some(list.as_bytes()))
}

fn each_line_and_each_effect_is_told_for_what_it_is(db: Db) {
    let (server, agent) = set_up(db);
    charge(&agent, "24.00", "EUR", Some(("done", "ch_1")), "key-1");
    let (differs, receipt) = charge(&agent, "5.00", "EUR", Some(("done", "ch_2")), "key-2");
    charge(&agent, "1500", "JPY", Some(("done", "ch_yen")), "key-3");
    let (failed, _) = charge(&agent, "7.00", "EUR", Some(("failed", "ch_failed")), "key-4");
    let (never, _) = charge(&agent, "6.00", "EUR", None, "key-5");
    charge(&agent, "8.00", "EUR", Some(("done", "reported-otherwise")), "key-7");
    let other = json!({"intent": "mail.charge", "arguments": {"amount": "1.00", "currency": "EUR"}});
    agent.evaluate(&other).expect_outcome("allow");

    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    let found = post(&compliance, &query("&from=2026-01-01T00:00:00Z"), LIST).expect(200);
    let counts = |name: &str| found[name]["count"].as_u64().unwrap();
    assert_eq!(found["agrees"], false);
    assert_eq!(
        (&found["lines"], &found["matched"], &found["outside"]),
        (&json!(9), &json!(3), &json!(1)),
        "{found}"
    );
    assert_eq!(found["effects"], 6, "those of other intents are not counted");
    assert_eq!(found["missing_receipt"]["items"][0]["reference"], "ch_ghost");
    assert_eq!((counts("missing_receipt"), &found["missing_receipt"]["items"][0]["line"]), (1, &json!(4)));
    assert_eq!(counts("amounts_differ"), 1);
    let item = &found["amounts_differ"]["items"][0];
    assert_eq!((&item["effect"], &item["receipt"]), (&json!(differs), &json!(receipt)));
    assert_eq!(item["detail"], "5.01 EUR is listed, 5.00 EUR was allowed");
    assert_eq!((counts("duplicates"), &found["duplicates"]["items"][0]["first"]), (1, &json!(2)));
    assert_eq!((counts("malformed"), &found["malformed"]["items"][0]["line"]), (1, &json!(7)), "{found}");
    assert_eq!((counts("not_settled"), &found["not_settled"]["items"][0]["effect"]), (1, &json!(failed)));
    assert_eq!((counts("never_done"), &found["never_done"]["items"][0]["effect"]), (1, &json!(never)));

    // Without the key's column, what was reported under another reference is two differences.
    let without =
        post(&compliance, &query("&from=2026-01-01T00:00:00Z").replace("&key=idem", ""), LIST).expect(200);
    assert_eq!(
        (&without["missing_receipt"]["count"], &without["never_done"]["count"]),
        (&json!(2), &json!(2))
    );
}

fn a_list_that_agrees_ends_with_zero_and_one_that_cannot_be_read_with_two(db: Db) {
    let (server, agent) = set_up(db);
    charge(&agent, "24.00", "EUR", Some(("done", "ch_1")), "key-1");
    let run = |name: &str, list: &str, more: &[&str]| {
        let file = server.folder().write(name, list).display().to_string();
        let output = server.run(&[&["coverage", &file][..], more].concat());
        (output.status.code(), said(&output))
    };
    let agreed = run("a.jsonl", "{\"reference\": \"ch_1\", \"amount\": 24, \"currency\": \"EUR\"}\n", &[]);
    assert_eq!(agreed.0, Some(0), "{}", agreed.1);
    assert!(agreed.1.contains("list and ledger agree"), "{}", agreed.1);
    let (status, words) = run("b.csv", "reference\nch_1\nch_\u{1b}[2J\n", &["--intent", "payments.charge"]);
    assert_eq!(status, Some(1), "{words}");
    assert!(words.contains("1  without a receipt: these calls never passed the gate"), "{words}");
    assert!(words.contains("line 3  ch_\\u{1b}[2J"), "{words}");
    let (status, json) = run("b.csv", "reference\nch_1\nch_2\n", &["--json"]);
    let json: Value = serde_json::from_str(json.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    assert_eq!((status, &json["missing_receipt"]["count"]), (Some(1), &json!(1)));
    for (list, more) in [
        ("ref\nch_1\n", &[][..]),
        ("reference\nch_1\n", &["--amount", "total"]),
        ("reference\nch_1\n", &["--tenant", "quay"]),
        ("reference\nch_1\n", &["--intent", "Pay!"]),
        ("reference\nch_1\n", &["--from", "2026-02-01T00:00:00Z", "--until", "2026-01-01T00:00:00Z"]),
    ] {
        let (status, words) = run("c.csv", list, more);
        assert_eq!(status, Some(2), "{list} {more:?}: {words}");
    }
}

fn coverage_is_for_those_who_see_the_tenants_log(db: Db) {
    let (server, agent) = set_up(db);
    charge(&agent, "24.00", "EUR", Some(("done", "ch_1")), "key-1");
    for caller in [server.operator(), server.person(TENANT, "n@example.test", &["member"]), agent.client()] {
        post(&caller, "/v1/coverage", "reference\nch_1\n").expect_problem(403);
    }
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    assert_eq!(post(&compliance, "/v1/coverage", "reference\nch_1\n").expect(200)["agrees"], true);
    post(&compliance, "/v1/coverage", "id\nch_1\n").expect_problem(422);
    post(&compliance, "/v1/coverage?until=2026-01-01", "reference\n").expect_problem(422);
    let long = format!("reference\n{}", "x\n".repeat(2 << 20));
    post(&compliance, "/v1/coverage", &long).expect_problem(413);
}
