//! Small worlds to try every rule in: few intents, names, countries and amounts, so that things meet.

use super::carried::{self, Dice};
use super::*;
use proptest::{collection, option, prelude::*, sample};

const PATTERNS: [&str; 6] = ["a.x", "a.y", "a.*", "b", "c", "*"];

fn subset(of: &'static [&'static str]) -> impl Strategy<Value = Value> {
    sample::subsequence(of, 1..=of.len()).prop_map(|names| json!(names))
}

fn amount() -> impl Strategy<Value = Value> {
    (1..=3u32, prop_oneof![5 => Just("EUR"), 1 => Just("USD")])
        .prop_map(|(value, currency)| json!({"value": value.to_string(), "currency": currency}))
}

/// A test of a fact as JSON, weighted so that most clauses bound one or two.
fn condition() -> impl Strategy<Value = (&'static str, &'static str, Value)> {
    let names: &[&str] = &["p", "q", "r"];
    let resources: &[&str] = &["o:1", "o:2", "x"];
    let countries: &[&str] = &["DE", "FR"];
    prop_oneof![
        3 => amount().prop_map(|amount| ("amount", "at_most", amount)),
        2 => subset(names).prop_map(|set| ("counterparty", "in", set)),
        1 => subset(names).prop_map(|set| ("counterparty", "not_in", set)),
        2 => any::<bool>().prop_map(|known| ("counterparty", "known", json!(known))),
        1 => subset(countries).prop_map(|set| ("country", "in", set)),
        1 => subset(countries).prop_map(|set| ("country", "not_in", set)),
        1 => subset(resources).prop_map(|set| ("resource", "in", set)),
        1 => subset(resources).prop_map(|set| ("resource", "not_in", set)),
        1 => sample::select(vec!["o", "o:", "x"]).prop_map(|prefix| ("resource", "prefix", json!(prefix))),
        1 => any::<bool>().prop_map(|untrusted| ("untrusted", "", json!(untrusted))),
        10 => any::<u64>().prop_map(|seed| carried::condition(&mut Dice(seed))),
    ]
}

fn when() -> impl Strategy<Value = Value> {
    collection::vec(condition(), 0..=2).prop_map(|conditions| {
        let mut when = json!({});
        for (fact, test, value) in conditions {
            if test.is_empty() {
                when[fact] = value;
            } else {
                when[fact][test] = value;
            }
        }
        when
    })
}

/// A clause without its id.
pub(super) fn clause() -> impl Strategy<Value = Value> {
    let effect = prop_oneof![4 => Just("allow"), 1 => Just("escalate"), 1 => Just("refuse")];
    (sample::select(PATTERNS.to_vec()), effect, any::<bool>(), when()).prop_map(
        |(intent, effect, hard, when)| {
            let mut clause = json!({"intent": intent, "effect": effect, "when": when});
            if effect == "allow" {
                if hard {
                    clause["otherwise"] = json!("refuse");
                }
                if clause["when"]["counterparty"]["known"] == json!(false) {
                    clause["when"]["counterparty"]["known"] = json!(true);
                }
            }
            // Looking a member up above leaves nulls where there was none.
            if clause["when"]["counterparty"]["known"].is_null()
                && let Some(when) = clause["when"].as_object_mut()
                && let Some(tests) = when.get_mut("counterparty").and_then(Value::as_object_mut)
            {
                tests.remove("known");
                if tests.is_empty() {
                    when.remove("counterparty");
                }
            }
            clause
        },
    )
}

fn numbered(clauses: impl IntoIterator<Item = Value>) -> Value {
    clauses
        .into_iter()
        .enumerate()
        .map(|(index, mut clause)| {
            clause["id"] = json!(format!("M-{index}"));
            clause
        })
        .collect()
}

/// Two lists of clauses that have most in common: some stand in one only, some with other conditions.
pub(super) fn clause_lists() -> impl Strategy<Value = (Value, Value)> {
    let fate = prop_oneof![6 => Just(0), 1 => Just(1), 1 => Just(2), 2 => Just(3), 1 => Just(4)];
    collection::vec((clause(), clause(), fate), 0..5).prop_map(|pairs| {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (clause, other, fate) in pairs {
            if fate != 1 {
                old.push(clause.clone());
            }
            match fate {
                2 => {}
                3 => {
                    let mut changed = clause.clone();
                    // Another clause's conditions, where both kinds of clause may have them.
                    if changed["effect"] == other["effect"] {
                        changed["when"] = other["when"].clone();
                    }
                    new.push(changed);
                }
                4 => {
                    let mut changed = clause.clone();
                    changed["when"]["untrusted"] = json!(false);
                    new.push(changed);
                }
                _ => new.push(clause),
            }
        }
        (numbered(old), numbered(new))
    })
}

fn known() -> impl Strategy<Value = Value> {
    collection::btree_map(sample::select(vec!["p", "q"]), option::of(1..=3u32), 0..=2).prop_map(|entries| {
        let entry = |(id, most): (&str, Option<u32>)| match most {
            Some(most) => json!({"id": id, "at_most": {"value": most.to_string(), "currency": "EUR"}}),
            None => json!({"id": id, "aliases": [format!("{id}{id}")]}),
        };
        entries.into_iter().map(entry).collect()
    })
}

/// All of a mandate but its clauses.
fn frame() -> impl Strategy<Value = Value> {
    let scopes = prop_oneof![
        8 => Just(json!(["action:request", "call:read"])), 2 => Just(json!(["action:request"])), 1 => Just(json!([])),
    ];
    let valid = prop_oneof![
        6 => Just(Value::Null),
        1 => Just(json!({"from": "2026-06-01T00:00:00Z", "until": "2027-01-01T00:00:00Z"})),
        1 => Just(json!({"until": "2028-01-01T00:00:00Z"})),
    ];
    (scopes, valid, sample::select(vec!["escalate", "refuse"]), known()).prop_map(
        |(scopes, valid, unlisted, known)| {
            let mut frame = json!({"scopes": scopes, "unlisted": unlisted, "counterparties": known});
            if !valid.is_null() {
                frame["valid"] = valid;
            }
            frame
        },
    )
}

fn with_clauses(mut frame: Value, clauses: Value) -> MandateDocument {
    frame["clauses"] = clauses;
    mandate(frame)
}

pub(super) fn mandates() -> impl Strategy<Value = MandateDocument> {
    (frame(), clause_lists()).prop_map(|(frame, (clauses, _))| with_clauses(frame, clauses))
}

/// Two mandates that have most in common.
pub(super) fn mandate_pairs() -> impl Strategy<Value = (MandateDocument, MandateDocument)> {
    (frame(), frame(), 0..6u8, clause_lists()).prop_map(|(old, other, differs, (before, after))| {
        let mut new = old.clone();
        let member = ["scopes", "unlisted", "counterparties", "valid"].get(usize::from(differs));
        if let Some(member) = member.filter(|member| other.get(**member).is_some()) {
            new[*member] = other[*member].clone();
        }
        (with_clauses(old, before), with_clauses(new, after))
    })
}

/// Two policies that have most in common.
pub(super) fn policy_pairs() -> impl Strategy<Value = (PolicyDocument, PolicyDocument)> {
    let set = |applies: Value| (Just(applies), 0..6u8, clause_lists());
    let me = agent().to_string();
    let sets = (
        set(json!({})),
        set(json!({"country": "DE"})),
        set(json!({"country": "FR"})),
        set(json!({"agent": me})),
        set(json!({"agent": me, "country": "DE"})),
    );
    let unregistered = || sample::select(vec!["described", "described", "described", "escalate", "refuse"]);
    (sets, unregistered(), unregistered(), any::<bool>()).prop_map(|(sets, before, after, keep)| {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (index, (applies, fate, (first, second))) in
            [sets.0, sets.1, sets.2, sets.3, sets.4].into_iter().enumerate()
        {
            let named = |mut clauses: Value| {
                for clause in clauses.as_array_mut().unwrap() {
                    clause["id"] = json!(format!("S{index}{}", clause["id"].as_str().unwrap()));
                }
                json!({"applies": applies, "clauses": clauses})
            };
            let (first, second) = (named(first), named(second));
            match fate {
                0 | 1 => {}
                2 => new.push(second),
                3 => {
                    old.push(first.clone());
                    new.push(first);
                }
                _ => {
                    old.push(first);
                    new.push(second);
                }
            }
        }
        let after = if keep { before } else { after };
        (
            policy(json!({"unregistered": before, "labels": carried::labels(), "rule_sets": old})),
            policy(json!({"unregistered": after, "labels": carried::labels(), "rule_sets": new})),
        )
    })
}

pub(super) fn actions() -> impl Strategy<Value = Action> {
    any::<u64>().prop_map(|seed| carried::action(&mut Dice(seed)))
}

/// Standings around a mandate that differ in what the mandate does not say.
pub(super) fn surroundings() -> impl Strategy<Value = (BTreeSet<ExternalName>, Timestamp)> {
    let approved = sample::subsequence(vec!["p", "r", "ann@x.a.example"], 0..=3)
        .prop_map(|names| names.into_iter().map(name).collect::<BTreeSet<_>>());
    (approved, any::<u64>().prop_map(|seed| carried::instant(&mut Dice(seed))))
}

/// Any JSON at all, with the words of the language strewn in.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let word = sample::select(vec![
        "scopes",
        "clauses",
        "id",
        "intent",
        "effect",
        "allow",
        "when",
        "amount",
        "at_most",
        "value",
        "currency",
        "EUR",
        "counterparty",
        "known",
        "in",
        "valid",
        "from",
        "rule_sets",
        "applies",
        "const",
        "arguments",
        "properties",
        "$ref",
        "#",
        "/a",
        "title",
        "action:request",
        "a.*",
        "2026-11-01T00:00:00Z",
        "type",
        "object",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|double| json!(double)),
        word.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        let key = prop_oneof![3 => word.clone().prop_map(str::to_owned), 1 => ".{0,6}".prop_map(|text| text)];
        prop_oneof![
            collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            collection::btree_map(key, inner, 0..6)
                .prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
}

/// A value with one of its parts replaced.
pub(super) fn replace(value: &mut Value, path: &[usize], by: Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = by;
        return;
    };
    let part = match value {
        Value::Array(items) if !items.is_empty() => {
            let index = first % items.len();
            items.get_mut(index)
        }
        Value::Object(members) if !members.is_empty() => {
            let index = first % members.len();
            members.values_mut().nth(index)
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => None,
    };
    match part {
        Some(part) => replace(part, rest, by),
        None => *value = by,
    }
}
