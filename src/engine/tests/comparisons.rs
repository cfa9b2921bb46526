//! Is it narrower? Pairs of documents and what changes between them, by hand.

use super::*;
use crate::engine::{Change, clauses_within, compare, compare_policies};
use Change::{Mixed, Narrowed, Unchanged, Widened};

fn base() -> Value {
    json!({
        "scopes": ["action:request", "call:read"],
        "valid": {"from": "2026-11-01T00:00:00Z", "until": "2027-02-01T00:00:00Z"},
        "counterparties": [{"id": "acct:1", "at_most": {"value": "50", "currency": "EUR"}}],
        "clauses": [
            {"id": "A", "intent": "pay", "effect": "allow", "title": "Small payments",
             "when": {"amount": {"at_most": {"value": "100", "currency": "EUR"}},
                      "counterparty": {"known": true}, "country": {"in": ["DE", "NL"]}}},
            {"id": "B", "intent": "mail.*", "effect": "allow"},
            {"id": "R", "intent": "account.*", "effect": "refuse"},
            {"id": "E", "intent": "mail.send", "effect": "escalate", "when": {"resource": {"prefix": "list:"}}}
        ]
    })
}

/// The base with the value at a pointer replaced.
fn changed(pointer: &str, by: Value) -> MandateDocument {
    let mut value = base();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(members) => {
            members.insert(member.to_owned(), by);
        }
        Value::Array(items) if member == "-" => items.push(by),
        Value::Array(items) => items[member.parse::<usize>().unwrap()] = by,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{pointer}"),
    }
    mandate(value)
}

fn without(pointer: &str) -> MandateDocument {
    let mut value = base();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(member).unwrap()),
        Value::Array(items) => drop(items.remove(member.parse().unwrap())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{pointer}"),
    }
    mandate(value)
}

#[test]
fn changes_are_named_by_what_they_let_through() {
    let refuse = |id: &str, intent: &str| json!({"id": id, "intent": intent, "effect": "refuse"});
    let eur = |value: &str| json!({"value": value, "currency": "EUR"});
    for (new, change, what) in [
        (mandate(base()), Unchanged, "nothing"),
        (changed("/clauses/0/title", json!("Other words")), Unchanged, "a title"),
        (changed("/clauses/0/id", json!("Z")), Unchanged, "an id"),
        (changed("/scopes", json!(["action:request"])), Narrowed, "a scope less"),
        (changed("/scopes", json!(["action:request", "call:read", "mandate:read"])), Widened, "a scope more"),
        (changed("/scopes", json!([])), Narrowed, "everything stopped"),
        (changed("/valid/until", json!("2027-01-31T23:59:59Z")), Narrowed, "an earlier end"),
        (changed("/valid/from", json!("2026-10-01T00:00:00Z")), Widened, "an earlier start"),
        (without("/valid"), Widened, "no end"),
        (without("/counterparties/0"), Narrowed, "nobody known"),
        (changed("/counterparties/0/at_most", eur("40")), Narrowed, "known for less"),
        (
            changed("/counterparties/0/aliases", json!(["Shop"])),
            Mixed,
            "another name for someone known: their limits may begin anew",
        ),
        (without("/clauses/0/when/amount"), Widened, "no ceiling"),
        (changed("/clauses/0/when/amount/at_most", eur("99.99")), Narrowed, "a lower ceiling"),
        (changed("/clauses/0/when/amount/at_most", eur("100.01")), Widened, "a higher ceiling"),
        (
            changed("/clauses/0/when/amount/at_most", json!({"value": "1", "currency": "USD"})),
            Mixed,
            "a ceiling in another currency",
        ),
        (changed("/clauses/0/when/country/in", json!(["DE"])), Narrowed, "a shorter list"),
        (changed("/clauses/0/when/country/in", json!(["DE", "FR"])), Mixed, "another list"),
        (changed("/clauses/0/when/untrusted", json!(false)), Narrowed, "one more condition"),
        (changed("/clauses/0/otherwise", json!("refuse")), Narrowed, "a harder otherwise"),
        (changed("/unlisted", json!("refuse")), Narrowed, "what nobody named refused"),
        (without("/clauses/1"), Narrowed, "an allowance less"),
        (
            changed("/clauses/-", json!({"id": "N", "intent": "call", "effect": "allow"})),
            Widened,
            "an allowance more",
        ),
        (changed("/clauses/1/intent", json!("mail.read")), Narrowed, "an allowance of less"),
        (without("/clauses/2"), Widened, "a refusal less"),
        (changed("/clauses/-", refuse("N", "vote")), Narrowed, "a refusal more"),
        (changed("/clauses/2/intent", json!("*")), Narrowed, "a refusal of everything"),
        (without("/clauses/3/when"), Narrowed, "an escalation of more"),
        (changed("/clauses/3/when/resource/prefix", json!("list:a")), Widened, "an escalation of less"),
        (changed("/clauses/3/effect", json!("refuse")), Narrowed, "an escalation made a refusal"),
        (
            changed("/clauses/0/when", json!({"amount": {"at_most": eur("1")}})),
            Mixed,
            "a lower ceiling for everyone",
        ),
    ] {
        let old = mandate(base());
        assert_eq!(compare(&old, &new), change, "{what}");
        let back = match change {
            Narrowed => Widened,
            Widened => Narrowed,
            Unchanged | Mixed => change,
        };
        assert_eq!(compare(&new, &old), back, "{what}, taken back");
    }
}

#[test]
fn one_bound_on_what_is_described_follows_from_another_or_does_not() {
    let eur = |value: u8| json!({"amount": {"at_most": {"value": value, "currency": "EUR"}}});
    let counterparty = |test: &str, names: Value| json!({"counterparty": {test: names}});
    let country = |test: &str, names: Value| json!({"country": {test: names}});
    let resource = |test: &str, names: Value| json!({"resource": {test: names}});
    let least = |value: u8| json!({"amount": {"at_least": {"value": value, "currency": "EUR"}}});
    check_follows(&[
        (eur(1), eur(2), true),
        (eur(2), eur(1), false),
        (counterparty("in", json!(["a"])), counterparty("in", json!(["a", "b"])), true),
        (counterparty("in", json!(["a", "b"])), counterparty("in", json!(["a"])), false),
        (counterparty("not_in", json!(["a", "b"])), counterparty("not_in", json!(["a"])), true),
        (counterparty("not_in", json!(["a"])), counterparty("not_in", json!(["a", "b"])), false),
        (counterparty("in", json!(["a"])), counterparty("not_in", json!(["b"])), true),
        (counterparty("in", json!(["a", "b"])), counterparty("not_in", json!(["b"])), false),
        (counterparty("not_in", json!(["a"])), counterparty("in", json!(["b"])), false),
        (counterparty("known", json!(true)), counterparty("known", json!(true)), true),
        (counterparty("known", json!(true)), counterparty("in", json!(["a"])), false),
        (country("in", json!(["DE"])), country("in", json!(["DE", "FR"])), true),
        (country("in", json!(["DE", "FR"])), country("in", json!(["DE"])), false),
        (country("not_in", json!(["DE", "FR"])), country("not_in", json!(["DE"])), true),
        (country("not_in", json!(["DE"])), country("not_in", json!(["DE", "FR"])), false),
        (country("in", json!(["DE"])), country("not_in", json!(["FR"])), true),
        (country("in", json!(["DE"])), country("not_in", json!(["DE"])), false),
        (country("not_in", json!(["DE"])), country("in", json!(["FR"])), false),
        (resource("in", json!(["o:1"])), resource("in", json!(["o:1", "o:2"])), true),
        (resource("in", json!(["o:1", "x"])), resource("in", json!(["o:1"])), false),
        (resource("not_in", json!(["o:1", "x"])), resource("not_in", json!(["x"])), true),
        (resource("not_in", json!(["x"])), resource("not_in", json!(["o:1", "x"])), false),
        (resource("in", json!(["o:1"])), resource("prefix", json!("o:")), true),
        (resource("in", json!(["o:1", "x"])), resource("prefix", json!("o:")), false),
        (resource("prefix", json!("o:1")), resource("prefix", json!("o:")), true),
        (resource("prefix", json!("o")), resource("prefix", json!("o:")), false),
        (resource("prefix", json!("o:")), resource("not_in", json!(["x"])), true),
        (resource("prefix", json!("o:")), resource("not_in", json!(["o:1"])), false),
        (resource("prefix", json!("o:")), resource("in", json!(["o:1"])), false),
        (resource("not_in", json!(["x"])), resource("prefix", json!("o:")), false),
        (json!({"untrusted": false}), json!({"untrusted": false}), true),
        (json!({"untrusted": true}), json!({"untrusted": false}), false),
        (eur(1), counterparty("known", json!(true)), false),
        (least(2), least(1), true),
        (least(1), least(2), false),
        (eur(1), least(1), false),
        (
            counterparty("domain", json!(["a.example.com"])),
            counterparty("domain", json!(["example.com"])),
            true,
        ),
        (
            counterparty("domain", json!(["example.com"])),
            counterparty("domain", json!(["a.example.com"])),
            false,
        ),
        (
            counterparty("in", json!(["ann@example.com"])),
            counterparty("domain", json!(["example.com"])),
            true,
        ),
        (
            counterparty("in", json!(["ann@example.org"])),
            counterparty("domain", json!(["example.com"])),
            false,
        ),
        (
            counterparty("domain", json!(["example.com"])),
            counterparty("not_in", json!(["ann@example.org"])),
            true,
        ),
        (
            counterparty("domain", json!(["example.com"])),
            counterparty("not_in", json!(["ann@example.com"])),
            false,
        ),
        (resource("owner", json!("principal")), resource("owner", json!("principal")), true),
        (resource("owner", json!("principal")), resource("owner", json!("counterparty")), false),
    ]);
}

#[test]
fn one_bound_on_what_a_call_carries_follows_from_another_or_does_not() {
    let argument = |tests: Value| json!({"arguments": {"/x": tests}});
    let evidence = |tests: Value| json!({"evidence": tests});
    let hours =
        |from: &str, until: &str| json!({"hours": {"from": from, "until": until, "zone": "Europe/Berlin"}});
    check_follows(&[
        (argument(json!({"equals": 2})), argument(json!({"in": [1, 2.0]})), true),
        (argument(json!({"equals": "2"})), argument(json!({"in": [1, 2]})), false),
        (argument(json!({"in": [1, 2]})), argument(json!({"at_most": "2.0"})), true),
        (argument(json!({"in": [1, "x"]})), argument(json!({"at_most": 2})), false),
        (argument(json!({"at_most": 1})), argument(json!({"not_in": [2, "2"]})), true),
        // A refusal by the bound acts on a text that is no number, one by the list not on "x".
        (argument(json!({"at_most": 1})), argument(json!({"not_in": [2, "x"]})), false),
        (argument(json!({"at_most": 2})), argument(json!({"not_in": [2]})), false),
        (argument(json!({"prefix": "ab"})), argument(json!({"prefix": "a"})), true),
        (argument(json!({"prefix": "a"})), argument(json!({"prefix": "ab"})), false),
        (argument(json!({"matches": "a+"})), argument(json!({"matches": "a+"})), true),
        (argument(json!({"matches": "a+"})), argument(json!({"matches": "a*"})), false),
        (argument(json!({"equals": "aa"})), argument(json!({"matches": "a+"})), true),
        (argument(json!({"matches": "a+"})), argument(json!({"exists": true})), true),
        (argument(json!({"exists": true})), argument(json!({"matches": "a+"})), false),
        (argument(json!({"each": {"at_most": 1}})), argument(json!({"each": {"at_most": 2}})), true),
        (argument(json!({"each": {"at_most": 1}})), argument(json!({"at_most": 2})), true),
        (argument(json!({"at_most": 1})), argument(json!({"each": {"at_most": 2}})), false),
        (argument(json!({"at_most": 1})), json!({"facts": {"/x": {"at_most": 2}}}), false),
        (argument(json!({"at_most": 1})), json!({"arguments": {"/y": {"at_most": 2}}}), false),
        (
            evidence(json!({"confidence": {"at_least": "0.9"}})),
            evidence(json!({"confidence": {"at_least": "0.80"}})),
            true,
        ),
        (
            evidence(json!({"confidence": {"at_least": "0.8"}})),
            evidence(json!({"confidence": {"at_least": "0.9"}})),
            false,
        ),
        (evidence(json!({"cites": {"exactly": 2}})), evidence(json!({"cites": {"at_least": 1}})), true),
        (evidence(json!({"cites": {"at_least": 2}})), evidence(json!({"cites": {"exactly": 2}})), false),
        (
            evidence(json!({"cites": {"owner": "principal"}})),
            evidence(json!({"cites": {"at_least": 1}})),
            true,
        ),
        (
            evidence(json!({"cites": {"owner": "principal"}})),
            evidence(json!({"cites": {"at_least": 2}})),
            false,
        ),
        (json!({"labels": {"a": {"at_most": "x"}}}), json!({"labels": {"a": {"at_most": "x"}}}), true),
        (json!({"labels": {"a": {"at_most": "x"}}}), json!({"labels": {"a": {"at_most": "y"}}}), false),
        (hours("09:00", "17:00"), hours("08:00", "18:00"), true),
        (hours("08:00", "18:00"), hours("09:00", "17:00"), false),
        (hours("23:00", "01:00"), hours("22:00", "02:00"), true),
        (
            json!({"links": {"domain": ["a.example.com"]}}),
            json!({"links": {"domain": ["example.com"]}}),
            true,
        ),
        (
            json!({"links": {"domain": ["example.com"]}}),
            json!({"links": {"domain": ["a.example.com"]}}),
            false,
        ),
        (
            json!({"contains": {"not_in": ["fact", "word"]}}),
            json!({"contains": {"not_in": ["A Fact!"]}}),
            true,
        ),
        (json!({"contains": {"not_in": ["a fact"]}}), json!({"contains": {"not_in": ["fact"]}}), false),
        (
            json!({"contains": {"not_in": ["card", "iban", "fact"]}}),
            json!({"contains": {"not_in": ["card"]}}),
            true,
        ),
        (json!({"contains": {"not_in": ["card"]}}), json!({"contains": {"not_in": ["card", "iban"]}}), false),
        (
            json!({"contains": {"not_in": ["card"]}}),
            json!({"contains": {"not_in": [{"literal": "card"}]}}),
            false,
        ),
        (
            json!({"contains": {"not_in": [{"literal": "card"}]}}),
            json!({"contains": {"not_in": ["card"]}}),
            false,
        ),
    ]);
}

/// Whether the first bound of each case is within the second: an allowance on it no wider, a refusal no narrower.
fn check_follows(cases: &[(Value, Value, bool)]) {
    for (inner, outer, follows) in cases {
        let allowing =
            |when: &Value| clauses(json!([{"id": "A", "intent": "pay", "effect": "allow", "when": when}]));
        let refusing =
            |when: &Value| clauses(json!([{"id": "A", "intent": "pay", "effect": "refuse", "when": when}]));
        assert_eq!(clauses_within(&allowing(inner), &allowing(outer)), *follows, "allowing {inner} {outer}");
        assert_eq!(clauses_within(&refusing(outer), &refusing(inner)), *follows, "refusing {inner} {outer}");
    }
}

#[test]
fn an_escalation_added_where_everything_else_is_refused_widens() {
    let strict = |clauses: Value| {
        mandate(json!({"scopes": ["action:request"], "unlisted": "refuse", "clauses": clauses}))
    };
    let escalation = json!([{"id": "E", "intent": "wire", "effect": "escalate"}]);
    assert_eq!(compare(&strict(json!([])), &strict(escalation.clone())), Widened);
    assert_eq!(compare(&terms(json!([])), &terms(escalation)), Unchanged, "unlisted escalates as well");
}

#[test]
fn removing_an_allowance_that_refuses_otherwise_is_not_narrower() {
    let hard = json!([{"id": "A", "intent": "pay", "effect": "allow", "otherwise": "refuse", "when": {"untrusted": false}}]);
    assert_eq!(compare(&terms(hard), &terms(json!([]))), Mixed, "what it refused would now escalate");
}

#[test]
fn a_policy_is_compared_through_the_rule_sets_it_selects() {
    let general = |clauses: Value| json!({"clauses": clauses});
    let refuse = json!([{"id": "P", "intent": "vote", "effect": "refuse"}]);
    let german = json!({"applies": {"country": "DE"}, "clauses": []});
    for (old, new, change) in [
        (json!({}), general(json!([])), Unchanged),
        (json!({}), general(refuse.clone()), Narrowed),
        (general(refuse.clone()), json!({"rule_sets": [general(refuse.clone()), german.clone()]}), Widened),
        (json!({}), json!({"rule_sets": [german]}), Unchanged),
        (json!({}), json!({"unregistered": "escalate"}), Narrowed),
        (
            json!({}),
            general(json!([{"id": "P", "intent": "pay", "effect": "allow", "when": {"untrusted": false}}])),
            Narrowed,
        ),
        (
            json!({"rule_sets": [{"applies": {"country": "DE"}, "clauses": refuse}]}),
            json!({"rule_sets": [{"applies": {"country": "FR"}, "clauses": refuse}]}),
            Mixed,
        ),
    ] {
        assert_eq!(compare_policies(&policy(old.clone()), &policy(new.clone())), change, "{old} {new}");
    }
}

#[test]
fn other_labels_of_a_policy_prove_nothing() {
    let policy = |labels: Value| policy(json!({"labels": labels}));
    let levels = policy(json!({"audience": ["internal", "customer"]}));
    assert_eq!(compare_policies(&levels, &levels), Unchanged);
    for other in [
        PolicyDocument::empty(),
        policy(json!({"audience": ["customer", "internal"]})),
        policy(json!({"audience": ["internal", "customer", "public"]})),
    ] {
        assert_eq!(compare_policies(&levels, &other), Mixed);
    }
}

#[test]
fn a_derived_credential_may_only_add_bounds() {
    let bounded = |most: &str| {
        clauses(json!([{"id": "C", "intent": "pay", "effect": "allow",
            "when": {"amount": {"at_most": {"value": most, "currency": "EUR"}}}}]))
    };
    let free = clauses(json!([]));
    assert!(clauses_within(&bounded("5"), &bounded("10")));
    assert!(!clauses_within(&bounded("11"), &bounded("10")));
    assert!(clauses_within(&bounded("5"), &free));
    assert!(!clauses_within(&free, &bounded("5")));
    assert!(clauses_within(&free, &free));
}

#[test]
fn what_must_hold_is_not_reworded_or_dropped_as_a_narrowing() {
    let asking = |obligation: Option<&str>| {
        let mut clause = json!({"id": "P", "intent": "pay", "effect": "escalate"});
        if let Some(obligation) = obligation {
            clause["obligation"] = json!(obligation);
        }
        policy(json!({"clauses": [clause]}))
    };
    let none = policy(json!({"clauses": []}));
    let (plain, one, other) = (asking(None), asking(Some("Call back.")), asking(Some("Write back.")));
    for (old, new, change) in [
        (&none, &one, Narrowed),
        (&plain, &one, Narrowed),
        (&one, &one, Unchanged),
        (&one, &other, Mixed),
        (&one, &plain, Widened),
        (&one, &none, Widened),
    ] {
        assert_eq!(compare_policies(old, new), change, "{:?} {:?}", old.to_json(), new.to_json());
    }
}
