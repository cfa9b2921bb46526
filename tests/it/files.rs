//! Mandates as files: what the built binary says of them without a server.

use crate::server::{Folder, ended, procura, said};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

const MANDATE: &str = r#"
scopes: [action:request, call:read]
unlisted: escalate
counterparties:
  - {id: mrs-jones, at_most: {value: "200.00", currency: EUR}}
clauses:
  - id: M-001
    title: Small refunds to people we know
    intent: payments.refund
    effect: allow
    when:
      amount: {at_most: {value: "100.00", currency: EUR}}
      counterparty: {known: true}
    limits:
      - {total: {value: "500.00", currency: EUR}, per: day}
  - id: M-002
    title: Accounts stay as they are
    intent: account.*
    effect: refuse
"#;

#[track_caller]
fn ran(arguments: &[&str], files: &[&Path], status: i32) -> Output {
    let mut command = procura(arguments);
    command.args(files);
    let output = ended(command);
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    output
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect()
}

fn one(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn request(folder: &Folder, euros: &str, to: &str) -> std::path::PathBuf {
    let request = json!({
        "intent": "payments.refund",
        "amount": {"value": euros, "currency": "EUR"},
        "counterparty": to,
        "resource": "order:7",
    });
    folder.write("request.json", &request.to_string())
}

#[test]
fn an_explanation_shows_every_step_and_ends_with_the_answers_status() {
    let folder = Folder::new();
    let mandate = folder.write("mandate.yaml", MANDATE);
    let explain = ["mandate", "explain", "--at", "2026-11-30T12:00:00Z"];
    let output = ran(&explain, &[&mandate, &request(&folder, "120.00", "mrs-jones")], 3);
    assert_eq!(
        lines(&output),
        [
            "assumed     nothing is used yet, nobody was approved before, the agent holds `action:request`",
            "asked       payments.refund, 120.00 EUR, 1 counterparty, 1 resource, may be shaped by others' text, \
             facts described",
            "at          2026-11-30T12:00:00.000Z",
            "domains     passes",
            "scopes      passes",
            "validity    passes",
            "agent kind  passes",
            "catalogue   passes",
            "policy      no rule set is for this agent and country: nothing to say",
            "mandate     escalate",
            "  M-001 allow (Small refunds to people we know): does not hold, so escalate",
            "    fails  amount at most 100.00 EUR: above the ceiling: 120.00 EUR asked, 100.00 EUR allowed",
            "    holds  counterparty known yes",
            "    holds  at most 500.00 EUR per day: 0.00 EUR used since 2026-11-30T00:00:00.000Z, \
             120.00 EUR asked, 500.00 EUR allowed",
            "  1 other clause names other intents",
            "answer      escalate: above the ceiling: 120.00 EUR asked, 100.00 EUR allowed",
        ]
    );
    let output = ran(&explain, &[&mandate, &request(&folder, "24.00", "mrs-jones")], 0);
    assert!(
        said(&output).contains("holds  at most 500.00 EUR per day: 0.00 EUR used since"),
        "{}",
        said(&output)
    );
    ran(&explain, &[&mandate, &request(&folder, "24.00", "mr-smith")], 3);
    let closing = folder.write("closing.json", r#"{"intent": "account.close"}"#);
    ran(&explain, &[&mandate, &closing], 4);
    let answering = ran(&["mandate", "explain", "--kind", "answering"], &[&mandate, &closing], 4);
    assert!(
        said(&answering).contains("agent kind  refuse: the agent answers questions"),
        "{}",
        said(&answering)
    );
}

#[test]
fn an_explanation_takes_a_policy_and_a_catalogue() {
    let folder = Folder::new();
    let mandate = folder.write("mandate.yaml", MANDATE);
    let policy = folder.write(
        "policy.yaml",
        "clauses:\n  - {id: P-001, intent: payments.*, effect: escalate, when: {amount: {at_least: {value: \"20.00\", currency: EUR}}}}\n",
    );
    let catalogue = folder.write(
        "catalogue.json",
        &json!({"payments.refund": {
            "title": "Refund",
            "effect": true,
            "arguments": {"type": "object", "properties": {"sum": {"type": "string"}, "to": {"type": "string"}}},
            "amount": "/sum",
            "currency": {"const": "EUR"},
            "counterparties": ["/to"],
        }})
        .to_string(),
    );
    let honest = folder.write(
        "honest.json",
        r#"{"intent": "payments.refund", "arguments": {"sum": "24.00", "to": "mrs-jones"}}"#,
    );
    let lie = folder.write(
        "lie.json",
        r#"{"intent": "payments.refund", "amount": {"value": "2.00", "currency": "EUR"}, "arguments": {"sum": "24.00", "to": "mrs-jones"}}"#,
    );
    let (policy, catalogue) = (policy.display().to_string(), catalogue.display().to_string());
    let explain = ["mandate", "explain", "--json", "--policy", &policy, "--catalogue", &catalogue];
    let explained = one(&ran(&explain, &[&mandate, &honest], 3));
    assert_eq!((&explained["outcome"], &explained["clauses"]), (&json!("escalate"), &json!(["P-001"])));
    assert_eq!(explained["asked"]["facts_from"], "derived");
    assert!(explained["assumed"].is_string());
    let refused = ran(&explain, &[&mandate, &lie], 2);
    assert!(
        said(&refused).contains("`2.00 EUR` is described, the arguments say `24.00 EUR`"),
        "{}",
        said(&refused)
    );
}

#[test]
fn what_cannot_be_explained_or_compared_is_named_with_its_file() {
    let folder = Folder::new();
    let mandate = folder.write("mandate.yaml", MANDATE);
    let faulty = folder.write("faulty.json", r#"{"intent": "payments.refund", "untrsuted": false}"#);
    let output = ran(&["mandate", "explain"], &[&mandate, &faulty], 2);
    assert!(
        said(&output).contains("faulty.json") && said(&output).contains("untrsuted"),
        "{}",
        said(&output)
    );
    let output = ran(&["mandate", "diff"], &[&mandate, &faulty], 2);
    assert!(said(&output).contains("faulty.json"), "{}", said(&output));
    ran(&["mandate", "diff"], &[&mandate, Path::new("/nowhere/at/all")], 2);
    let closing = folder.write("closing.json", r#"{"intent": "account.close"}"#);
    let output = ran(&["mandate", "explain", "--kind", "sleeping"], &[&mandate, &closing], 2);
    assert!(said(&output).contains("`sleeping` is not a kind of agent"), "{}", said(&output));
}

#[test]
fn a_difference_is_said_clause_by_clause_with_both_values() {
    let folder = Folder::new();
    let old = folder.write("old.yaml", MANDATE);
    let changed = MANDATE
        .replace("value: \"100.00\"", "value: \"50.00\"")
        .replace("[action:request, call:read]", "[action:request]");
    let new = folder.write("new.yaml", &changed);
    assert_eq!(
        lines(&ran(&["mandate", "diff"], &[&old, &new], 0)),
        [
            "narrowed: no action is answered less strictly than before",
            "the mandate itself changed",
            "  scopes: action:request, call:read, now action:request",
            "M-001 changed",
            "  when amount at_most: 100.00 EUR, now 50.00 EUR",
        ]
    );
    let widened = one(&ran(&["mandate", "diff", "--json"], &[&new, &old], 0));
    assert_eq!(widened["change"], "widened");
    assert_eq!(
        widened["parts"][1],
        json!({"clause": "M-001", "change": "changed", "members": [{
            "member": "when amount at_most",
            "old": {"value": "50.00", "currency": "EUR"},
            "new": {"value": "100.00", "currency": "EUR"},
        }]})
    );
    let same = lines(&ran(&["mandate", "diff"], &[&old, &old], 0));
    assert_eq!(same, ["unchanged: every action is answered as before"]);
    let fewer = folder.write("fewer.yaml", MANDATE.split("  - id: M-002").next().unwrap());
    assert_eq!(
        lines(&ran(&["mandate", "diff"], &[&old, &fewer], 0)),
        [
            "widened: some actions may be answered less strictly than before, none more strictly",
            "M-002 removed",
            "  title: no longer Accounts stay as they are",
            "  intent: no longer account.*",
            "  effect: no longer refuse",
        ]
    );
    let added = lines(&ran(&["mandate", "diff"], &[&fewer, &old], 0));
    assert_eq!(
        added[1..],
        [
            "M-002 added",
            "  title: now Accounts stay as they are",
            "  intent: now account.*",
            "  effect: now refuse"
        ]
    );
}

#[test]
fn an_explanation_counts_periods_in_the_tenants_zone() {
    let folder = Folder::new();
    let mandate = folder.write("mandate.yaml", MANDATE);
    let asked = request(&folder, "24.00", "mrs-jones");
    let at = "2026-11-30T23:30:00Z";
    let since = |zone: &[&str]| {
        let arguments: Vec<&str> = ["mandate", "explain", "--at", at].iter().chain(zone).copied().collect();
        let output = said(&ran(&arguments, &[&mandate, &asked], 0));
        let line = output.lines().find(|line| line.contains("0.00 EUR used since")).unwrap();
        line.split("used since ").nth(1).unwrap()[..24].to_owned()
    };
    // Midnight in Berlin is 23:00 in UTC the day before.
    assert_eq!(since(&[]), "2026-11-30T00:00:00.000Z");
    assert_eq!(since(&["--zone", "Europe/Berlin"]), "2026-11-30T23:00:00.000Z");
    let wrong = ran(&["mandate", "explain", "--zone", "Berlin"], &[&mandate, &asked], 2);
    assert!(said(&wrong).contains("`Berlin` is not a time zone"), "{}", said(&wrong));
}

#[test]
fn two_policies_are_compared_rule_set_by_rule_set() {
    let folder = Folder::new();
    let old = folder.write(
        "old.yaml",
        "labels: {audience: [internal, public]}
rule_sets:
  - clauses:
      - {id: P-001, intent: payments.*, effect: escalate}
  - applies: {country: DE}
    clauses:
      - {id: P-002, intent: mail.*, effect: refuse}
",
    );
    let new = folder.write(
        "new.yaml",
        "labels: {audience: [internal, public]}
rule_sets:
  - clauses:
      - {id: P-001, intent: payments.*, effect: refuse}
  - applies: {country: DE}
    clauses:
      - {id: P-002, intent: mail.*, effect: refuse}
      - {id: P-003, intent: vote.*, effect: refuse}
",
    );
    assert_eq!(
        lines(&ran(&["mandate", "diff"], &[&old, &new], 0)),
        [
            "narrowed: no action is answered less strictly than before",
            "P-001 changed",
            "  effect: escalate, now refuse",
            "P-003 (for country DE) added",
            "  intent: now vote.*",
            "  effect: now refuse",
        ]
    );
    let json = one(&ran(&["mandate", "diff", "--json"], &[&old, &new], 0));
    assert_eq!((&json["change"], &json["parts"][1]["rule_set"]), (&json!("narrowed"), &json!("country DE")));
    // Clauses alone may be a policy's: then it has to be said.
    let short = folder.write("short.yaml", "clauses: [{id: P-001, intent: payments.*, effect: escalate}]\n");
    let shorter = folder.write("shorter.yaml", "clauses: []\n");
    ran(&["mandate", "diff"], &[&short, &shorter], 2);
    assert_eq!(
        lines(&ran(&["mandate", "diff", "--policy"], &[&short, &shorter], 0))[..2],
        [
            "widened: some actions may be answered less strictly than before, none more strictly",
            "P-001 removed",
        ]
    );
    // One of each is neither.
    let mandate = folder.write("mandate.yaml", MANDATE);
    let output = ran(&["mandate", "diff"], &[&old, &mandate], 2);
    assert!(said(&output).contains("mandate.yaml"), "{}", said(&output));
}

#[test]
fn a_policy_that_is_checked_as_a_mandate_is_told_for_what_it_looks_like() {
    let folder = Folder::new();
    let hint = "this looks like a policy: --policy checks it as one";
    for policy in [
        "clauses: [{id: P-001, intent: payments.*, effect: escalate}]\n",
        "unregistered: refuse\nclauses: [{id: P-001, intent: \"?\", effect: escalate}]\n",
        "applies: {country: DE}\n",
    ] {
        let file = folder.write("policy.yaml", policy);
        let output = ran(&["mandate", "check"], &[&file], 1);
        assert!(said(&output).contains(hint), "{}", said(&output));
        assert_eq!(one(&ran(&["mandate", "check", "--json"], &[&file], 1))["hint"], hint);
        let output = ended({
            let mut command = procura(&["mandate", "check", "--policy"]);
            command.arg(&file);
            command
        });
        assert!(!said(&output).contains(hint), "{}", said(&output));
    }
    let faulty = folder.write("mandate.yaml", "scopes: []\nclauses: [{id: M-001, effekt: allow}]\n");
    let output = ran(&["mandate", "check"], &[&faulty], 1);
    assert!(!said(&output).contains(hint), "{}", said(&output));
}

#[test]
fn a_difference_names_the_place_of_everything() {
    let folder = Folder::new();
    let nothing = folder.write("nothing.yaml", "{}\n");
    let policy = folder.write("policy.yaml", "unregistered: refuse\n");
    let lines = lines(&ran(&["mandate", "diff", "--policy"], &[&nothing, &policy], 0));
    assert!(lines.iter().all(|line| !line.contains("{}") && !line.starts_with("  :")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("  unregistered: ")), "{lines:?}");
}

#[test]
fn an_explanation_says_that_nothing_looked_at_the_arguments() {
    let folder = Folder::new();
    let mandate = folder.write("mandate.yaml", MANDATE);
    let with = folder.write("with.json", r#"{"intent": "payments.refund", "arguments": {"sum": 5}}"#);
    let without = folder.write("without.json", r#"{"intent": "payments.refund"}"#);
    let says = |file: &Path| said(&ran(&["mandate", "explain"], &[&mandate, file], 3));
    assert!(says(&with).contains("not checked the arguments"), "{}", says(&with));
    assert!(!says(&without).contains("not checked"), "{}", says(&without));
    let json = |file: &Path| one(&ran(&["mandate", "explain", "--json"], &[&mandate, file], 3));
    assert!(json(&with)["not_checked"].as_str().unwrap().starts_with("the arguments"));
    assert!(json(&without)["not_checked"].is_null());
}
