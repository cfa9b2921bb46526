//! What a document is told before it goes live.

use super::*;
use crate::engine::check::{check_mandate, check_policy};
use crate::engine::{Beside, admit_mandate};

#[test]
fn a_mandate_check_says_what_does_nothing() {
    let warnings = |value: Value| -> Vec<String> {
        let found = check_mandate(&mandate(value), None, now());
        found.into_iter().map(|warning| format!("{}: {}", warning.pointer, warning.message)).collect()
    };
    assert_eq!(
        warnings(json!({"scopes": ["action:request"], "clauses": [
            {"id": "A", "intent": "*", "effect": "allow"},
            {"id": "B", "intent": "pay.card", "effect": "allow", "when": {"untrusted": false}},
            {"id": "R", "intent": "pay.*", "effect": "refuse"},
            {"id": "S", "intent": "mail", "effect": "escalate", "when": {"amount": {"at_most": {"value": 1, "currency": "EUR"}}}},
            {"id": "T", "intent": "mail", "effect": "allow",
             "when": {"resource": {"in": ["x"], "prefix": "order:"}}}
        ]})),
        [
            "/clauses/0/intent: it allows every intent, also those that do not exist yet",
            "/clauses/1: it can never allow anything: clause `R` refuses all it names",
            "/clauses/1/when: its conditions bound nothing: clause `A` allows the same without any",
            "/clauses/3/when/amount: it does not act on an action without amount",
            "/clauses/4/when: its conditions bound nothing: clause `A` allows the same without any",
        ]
    );
    assert_eq!(
        warnings(json!({"scopes": [], "valid": {"until": "2026-11-30T12:00:00Z"}})),
        [
            "/scopes: without `action:request` every action is refused",
            "/valid/until: `2026-11-30T12:00:00.000Z` has passed: every action is refused",
            "/clauses: no clause can ever allow anything",
        ]
    );
    assert_eq!(
        warnings(
            json!({"scopes": ["action:request"], "clauses": [{"id": "A", "intent": "pay", "effect": "allow"}]})
        ),
        [""; 0]
    );
}

#[test]
fn a_check_says_which_conditions_cannot_meet_or_may_not_mean_what_they_say() {
    let clause =
        |effect: &str, when: Value| json!({"id": "A", "intent": "pay", "effect": effect, "when": when});
    let declared = policy(json!({"labels": {"audience": ["internal", "customer"]}}));
    let beside = Beside { catalogue: None, policy: Some(&declared) };
    for (effect, when, warnings) in [
        (
            "allow",
            json!({"arguments": {"/a": {"at_most": 1, "at_least": 2}}}),
            vec!["/when/arguments: no arguments can meet these conditions together"],
        ),
        (
            "allow",
            json!({"arguments": {"/a": {"exists": false, "prefix": "x"}}}),
            vec!["/when/arguments: no arguments can meet these conditions together"],
        ),
        (
            "allow",
            json!({"facts": {"/a": {"in": [1, 2], "prefix": "x"}}}),
            vec!["/when/facts: no facts can meet these conditions together"],
        ),
        (
            "allow",
            json!({"evidence": {"cites": {"exactly": 1, "at_least": 2}}}),
            vec!["/when/evidence: no evidence can meet these conditions together"],
        ),
        (
            "allow",
            json!({"amount": {"at_least": {"value": 2, "currency": "EUR"}, "at_most": {"value": 1, "currency": "EUR"}}}),
            vec!["/when/amount: no amount can meet these conditions together"],
        ),
        (
            "allow",
            json!({"counterparty": {"in": ["acct:1"], "domain": ["example.com"]}}),
            vec!["/when/counterparty: no counterparty can meet these conditions together"],
        ),
        ("allow", json!({"arguments": {"/a": {"in": [1, 2], "at_least": 2}}}), vec![]),
        ("allow", json!({"labels": {"audience": {"at_most": "customer"}}}), vec![]),
        (
            "allow",
            json!({"labels": {"audience": {"at_most": "public"}}}),
            vec!["/when/labels/audience: it never holds: the policy does not declare `public` of `audience`"],
        ),
        (
            "refuse",
            json!({"labels": {"audience": {"at_most": "public"}}}),
            vec![
                "/when/labels/audience: it acts on any level: the policy does not declare `public` of `audience`",
                "/when/labels: it does not act on an action without the label",
            ],
        ),
        (
            "allow",
            json!({"contains": {"not_in": ["passport_number", "Project Falcon"]}}),
            vec![
                "/when/contains/not_in: `passport_number` is looked for as a text: it names no class of personal data",
            ],
        ),
        (
            "refuse",
            json!({"facts": {"/a": {"equals": 1}}}),
            vec!["/when/facts: it does not act on an action without these facts from an enforcement point"],
        ),
        (
            "refuse",
            json!({"links": {"domain": ["evil.test"]}}),
            vec!["/when/links: it does not act on an action without links into these domains"],
        ),
        ("refuse", json!({"hours": {"days": ["sun"], "zone": "Europe/Berlin"}}), vec![]),
    ] {
        let mut clauses = vec![clause(effect, when.clone())];
        if effect == "refuse" || warnings.iter().any(|warning| warning.contains("together")) {
            clauses.push(json!({"id": "B", "intent": "mail", "effect": "allow"}));
        }
        let said = admit_mandate(&terms(json!(clauses)), None, beside, now());
        let errors = said.errors.iter().map(|fault| format!("{}: {}", fault.pointer, fault.detail));
        let warnings_said =
            said.warnings.iter().map(|warning| format!("{}: {}", warning.pointer, warning.message));
        let found: Vec<String> = errors.chain(warnings_said).collect();
        let expected: Vec<_> = warnings.iter().map(|warning| format!("/clauses/0{warning}")).collect();
        assert_eq!(found, expected, "{when}");
    }
}

#[test]
fn a_policy_check_says_what_does_nothing() {
    let found = check_policy(&policy(json!({"clauses": [
        {"id": "P", "intent": "pay", "effect": "allow"},
        {"id": "Q", "intent": "mail", "effect": "refuse", "when": {"country": {"in": ["FR"]}}}
    ]})));
    let found: Vec<_> =
        found.into_iter().map(|warning| format!("{}: {}", warning.pointer, warning.message)).collect();
    assert_eq!(
        found,
        [
            "/rule_sets/0/clauses/0: a policy never allows by itself: without conditions this ceiling bounds nothing",
            "/rule_sets/0/clauses/1/when/country: it does not act on an action without country",
        ]
    );
}
