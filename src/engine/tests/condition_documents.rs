//! How conditions are read, what is refused of them, and that they read back as they were written.

use super::*;

#[test]
fn every_fault_of_a_condition_is_named_where_it_stands() {
    for (when, fault) in [
        (json!({"amount": {"at_least": 5}}), "/amount/at_least: `5` found, an object expected"),
        (
            json!({"counterparty": {"domain": ["*.example.com"]}}),
            "/counterparty/domain/0: `*.example.com` is not a domain: a host name such as example.com, which stands for itself and every host below it",
        ),
        (
            json!({"links": {"domain": ["example.com", "EXAMPLE.com"]}}),
            "/links/domain/1: `EXAMPLE.com` stands twice",
        ),
        (
            json!({"resource": {"owner": "agent"}}),
            "/resource/owner: `agent` found, allowed: principal, counterparty",
        ),
        (json!({"arguments": {}}), "/arguments: it tests nothing: a place is named as `/amount`"),
        (
            json!({"arguments": {"amount": {"exists": true}}}),
            "/arguments/amount: `amount` is not a JSON Pointer: it begins with `/`, such as `/amount`",
        ),
        (
            json!({"arguments": {"/a~2": {"exists": true}}}),
            "/arguments/~1a~02: `/a~2` is not a JSON Pointer: `~` stands only in `~0` and `~1`",
        ),
        (
            json!({"arguments": {"/a": {}}}),
            "/arguments/~1a: it tests nothing, allowed: equals, in, not_in, at_most, at_least, domain, prefix, matches, exists, each",
        ),
        (
            json!({"arguments": {"/a": {"equals": null}}}),
            "/arguments/~1a/equals: `null` found, a text, a number, true or false expected",
        ),
        (json!({"arguments": {"/a": {"in": [1, 1.0]}}}), "/arguments/~1a/in/1: `1.0` stands twice"),
        (
            json!({"arguments": {"/a": {"at_most": "12 EUR"}}}),
            "/arguments/~1a/at_most: `12 EUR` found, a number expected, such as 12.5",
        ),
        (
            json!({"arguments": {"/a": {"prefix": ""}}}),
            "/arguments/~1a/prefix: every text begins with an empty one",
        ),
        (
            json!({"arguments": {"/a": {"matches": "(a"}}}),
            "/arguments/~1a/matches: `(a` is not a pattern that can be matched: unclosed group",
        ),
        (
            json!({"arguments": {"/a": {"each": {"some": 1}}}}),
            "/arguments/~1a/each/some: unknown condition `some`, allowed: equals, in, not_in, at_most, at_least, domain, prefix, matches, exists, each",
        ),
        (
            json!({"evidence": {"confidence": {"at_least": "80%"}}}),
            "/evidence/confidence/at_least: `80%` is not a decimal from 0 to 1, such as 0.93",
        ),
        (
            json!({"evidence": {"cites": {"at_least": 0}}}),
            "/evidence/cites/at_least: `0` found, a whole number from 1 to 64 expected",
        ),
        (
            json!({"labels": {"a": {"at_most": ""}}}),
            "/labels/a/at_most: `` cannot stand as a name: it is empty",
        ),
        (json!({"hours": {"from": "08:00", "zone": "Etc/UTC"}}), "/hours: `from` stands without `until`"),
        (
            json!({"hours": {"from": "08:00", "until": "08:00", "zone": "Etc/UTC"}}),
            "/hours: `from` and `until` are both 08:00: leave both out for the whole day",
        ),
        (
            json!({"hours": {"from": "8:00", "until": "18:00", "zone": "Etc/UTC"}}),
            "/hours/from: `8:00` is not a time of day: two digits, a colon, two digits, 00:00 to 23:59",
        ),
        (json!({"hours": {"days": ["mon", "mon"], "zone": "Etc/UTC"}}), "/hours/days/1: `mon` stands twice"),
        (
            json!({"hours": {"days": ["mon"], "zone": "Berlin"}}),
            "/hours/zone: `Berlin` is not a time zone of the IANA database, such as Europe/Berlin",
        ),
        (
            json!({"contains": {"not_in": ["iban", {"literal": "iban"}, "iban"]}}),
            "/contains/not_in/2: this value stands twice",
        ),
        (
            json!({"contains": {"not_in": ["a b c"]}}),
            "/contains/not_in/0: `a b c` has fewer than 4 letters and digits",
        ),
        (
            json!({"contains": {"not_in": [5]}}),
            "/contains/not_in/0: `5` found, a text or {\"literal\": …} expected",
        ),
    ] {
        let written = json!([{"id": "A", "intent": "pay", "effect": "allow", "when": when}]);
        assert_eq!(faults(CredentialClauses::read(&written)), [format!("/0/when{fault}")], "{when}");
    }
}

#[test]
fn conditions_read_back_as_they_were_written() {
    let when = json!({
        "amount": {"at_most": {"value": "5.00", "currency": "EUR"}, "at_least": {"value": "1.00", "currency": "EUR"}},
        "counterparty": {"domain": ["example.com", "xn--fa-hia.de"]},
        "resource": {"owner": "counterparty"},
        "arguments": {"/a~1b": {
            "equals": 1.5, "in": [true, -2, "x"], "not_in": ["y"], "at_most": "1e30", "at_least": "-0.5",
            "domain": ["example.com"], "prefix": "p", "matches": "a|b", "exists": true, "each": {"each": {"in": [1]}}
        }},
        "facts": {"/b": {"exists": false}, "/a": {"equals": false}},
        "evidence": {"confidence": {"at_least": "0.8"}, "cites": {"exactly": 1, "at_least": 1, "owner": "principal"}},
        "labels": {"audience": {"at_most": "customer", "at_least": "internal"}},
        "hours": {"days": ["mon", "sun"], "from": "22:00", "until": "06:00", "zone": "Europe/Berlin"},
        "links": {"domain": ["example.com"]},
        "contains": {"not_in": [{"literal": "iban"}, "Project Falcon", "card", "iban"]}
    });
    let written = json!([{"id": "A", "intent": "pay", "effect": "allow", "when": when}]);
    assert_eq!(sorted(&clauses(written.clone()).to_json()), sorted(&written));
    let all_week = json!([{"id": "A", "intent": "pay", "effect": "allow", "when": {"hours": {
        "days": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"], "zone": "Etc/UTC"
    }}}]);
    assert_eq!(clauses(clauses(all_week.clone()).to_json()), clauses(all_week));
}

/// With every list in one order: sets are written in theirs.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), sorted(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
