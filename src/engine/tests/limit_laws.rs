//! Laws of limits over a small world of books, and the same answers taken a second way, straight from the JSON.

use super::*;
use crate::domain::Duration;
use crate::engine::{Change, compare, looks};
use proptest::{collection, prelude::*, sample::select};

/// When the world's books were written in, as ages, and how much: a few uses, of which what counts depends on the
/// window. Each book has its own by its line, so that two books are rarely the same.
fn entries(line: &str) -> Vec<(Duration, u64)> {
    const AGES: [i64; 7] = [1, 30, 90, 60 * 20, 60 * 50, 60 * 24 * 10, 60 * 24 * 40];
    let seed = line.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let ages = AGES.into_iter().zip(0_u32..);
    ages.map(|(minutes, place)| (Duration::minutes(minutes), (seed >> (3 * place)) % 3)).collect()
}

/// What a book held since an instant: uses, or as many euros.
fn held(line: &str, since: Option<Timestamp>) -> u64 {
    let unit = if line.contains("/uses") { 1 } else { 100 };
    let counts = |age: &Duration| since.is_none_or(|since| now().minus(*age) >= since);
    entries(line).iter().filter(|(age, _)| counts(age)).map(|(_, count)| count * unit).sum()
}

fn limit() -> impl Strategy<Value = Value> {
    let per = || select(vec!["hour", "day", "week", "month", "2 hours", "1 days", "30 days"]);
    let with = |mut limit: Value, each: Option<&str>, pool: bool| {
        if let Some(each) = each {
            limit["each"] = json!(each);
        }
        if pool {
            limit["pool"] = json!("shared");
        }
        limit
    };
    let each = || select(vec![None, None, Some("counterparty"), Some("resource")]);
    prop_oneof![
        3 => (1..12_u64, per(), each(), any::<bool>())
            .prop_map(move |(count, per, each, pool)| with(json!({"count": count, "per": per}), each, pool)),
        3 => (1..14_u64, select(vec!["EUR", "EUR", "USD"]), per(), each(), any::<bool>()).prop_map(
            move |(value, currency, per, each, pool)| {
                let most = json!({"value": value.to_string(), "currency": currency});
                with(json!({"total": most, "per": per}), each, pool)
            }
        ),
        1 => select(vec!["resource", "counterparty"]).prop_map(|each| json!({"once_per": each})),
    ]
}

fn clause() -> impl Strategy<Value = Value> {
    (
        select(vec!["A", "B", "C"]),
        select(vec!["a.x", "a.*", "*"]),
        select(vec!["escalate", "refuse"]),
        collection::vec(limit(), 0..3),
    )
        .prop_map(|(id, intent, otherwise, mut limits)| {
            limits.dedup();
            let mut clause = json!({"id": id, "intent": intent, "effect": "allow", "otherwise": otherwise});
            if !limits.is_empty() {
                clause["limits"] = json!(limits);
            }
            clause
        })
}

fn clauses_of_a_mandate() -> impl Strategy<Value = Vec<Value>> {
    collection::vec(clause(), 1..4).prop_map(|mut clauses| {
        clauses.sort_by_key(|clause| clause["id"].to_string());
        clauses.dedup_by_key(|clause| clause["id"].clone());
        clauses
    })
}

/// Two versions that differ in one place, mostly.
fn versions() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    (clauses_of_a_mandate(), any::<prop::sample::Index>(), clause(), 0..4_u8).prop_map(
        |(old, which, other, how)| {
            let mut new = old.clone();
            let place = which.index(new.len());
            match how {
                0 => {
                    new[place]["limits"] =
                        other.get("limits").cloned().unwrap_or(json!([{"count": 1, "per": "day"}]));
                }
                1 => lower(&mut new[place]),
                2 => drop(new.remove(place)),
                _ => {
                    let id = new[place]["id"].clone();
                    new[place] = other;
                    new[place]["id"] = id;
                }
            }
            (old, new)
        },
    )
}

/// Lowers every limit of a clause by one.
fn lower(clause: &mut Value) {
    let Some(limits) = clause.get_mut("limits").and_then(Value::as_array_mut) else { return };
    for limit in limits.iter_mut() {
        if let Some(count) = limit["count"].as_u64() {
            limit["count"] = json!((count - 1).max(1));
        } else if let Some(total) = limit["total"]["value"].as_str() {
            let less = (total.parse::<u64>().unwrap() - 1).max(1);
            limit["total"]["value"] = json!(less.to_string());
        }
    }
    // Two that were one apart may now be the same.
    limits.dedup();
}

fn asked() -> impl Strategy<Value = Value> {
    (
        select(vec!["a.x", "a.y", "b.x"]),
        select(vec![None, Some("1"), Some("3")]),
        select(vec!["EUR", "EUR", "USD"]),
        select(vec![json!(null), json!(["p"]), json!(["p", "q"])]),
        select(vec![json!(null), json!("o:1")]),
    )
        .prop_map(|(intent, value, currency, counterparties, resource)| {
            let mut request = json!({"intent": intent});
            if let Some(value) = value {
                request["amount"] = json!({"value": value, "currency": currency});
            }
            for (name, value) in [("counterparty", counterparties), ("resource", resource)] {
                if !value.is_null() {
                    request[name] = value;
                }
            }
            request
        })
}

fn answer(clauses: &[Value], request: &Value) -> Outcome {
    let mut case = Case::new(terms(json!(clauses)));
    let action = action(request.clone());
    let asked = case.standing(|standing| looks(standing, &action, case.now));
    for look in asked {
        let used = held(&look.book.to_string(), look.since);
        case.used.note(&look, used);
    }
    case.decide(&action).outcome
}

/// Whether one limit has room, said as the document says it. It is Monday, 30 November 2026, noon.
fn has_room(clause: &Value, limit: &Value, request: &Value) -> bool {
    let once = limit["once_per"].as_str();
    let since = match limit["per"].as_str() {
        None => None,
        Some("hour") => Some("2026-11-30T12:00:00Z"),
        Some("day" | "week") => Some("2026-11-30T00:00:00Z"),
        Some("month") => Some("2026-11-01T00:00:00Z"),
        Some("2 hours") => Some("2026-11-30T10:00:00.001Z"),
        Some("1 days") => Some("2026-11-29T12:00:00.001Z"),
        Some("30 days") => Some("2026-10-31T12:00:00.001Z"),
        Some(other) => panic!("{other}"),
    };
    let name = match limit["pool"].as_str() {
        Some(pool) => format!("mandate/pool/{pool}"),
        None => format!("mandate/clause/{}", clause["id"].as_str().unwrap()),
    };
    let each: Vec<String> = match once.or(limit["each"].as_str()) {
        None => vec![String::new()],
        Some("resource") => {
            request["resource"].as_str().map(|name| format!("/resource/{name}")).into_iter().collect()
        }
        Some(_) => request["counterparty"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|name| format!("/counterparty/{}", name.as_str().unwrap()))
            .collect(),
    };
    !each.is_empty()
        && each.iter().all(|each| {
            let used = |counts: &str| held(&format!("{name}/{counts}{each}"), since.map(at));
            if once.is_some() {
                return used("uses") == 0;
            }
            if let Some(count) = limit["count"].as_u64() {
                return used("uses") < count;
            }
            let (total, amount) = (&limit["total"], &request["amount"]);
            let cents = |amount: &Value| amount["value"].as_str().unwrap().parse::<u64>().unwrap() * 100;
            !amount.is_null()
                && total["currency"] == amount["currency"]
                && used(total["currency"].as_str().unwrap()) + cents(amount) <= cents(total)
        })
}

fn by_reading(clauses: &[Value], request: &Value) -> Outcome {
    let intent = request["intent"].as_str().unwrap();
    let named = clauses.iter().filter(|clause| match clause["intent"].as_str().unwrap() {
        "*" => true,
        "a.*" => intent.starts_with("a."),
        exact => exact == intent,
    });
    let (mut allowed, mut found) = (false, Vec::new());
    for clause in named {
        let limits = clause["limits"].as_array().cloned().unwrap_or_default();
        allowed |= limits.iter().all(|limit| has_room(clause, limit, request));
        found.push(clause["otherwise"] == "refuse");
    }
    match (allowed, found.contains(&true)) {
        (true, _) => Outcome::Allow,
        (false, true) => Outcome::Refuse,
        (false, false) => Outcome::Escalate,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn limits_are_decided_as_they_read(clauses in clauses_of_a_mandate(), tries in collection::vec(asked(), 20)) {
        for request in tries {
            prop_assert_eq!(answer(&clauses, &request), by_reading(&clauses, &request), "{} {:?}", request, clauses);
        }
    }

    #[test]
    fn with_the_same_books_what_compares_as_narrower_is((old, new) in versions(), tries in collection::vec(asked(), 20)) {
        let change = compare(&terms(json!(old)), &terms(json!(new)));
        for request in tries {
            let (before, after) = (answer(&old, &request), answer(&new, &request));
            let fits = match change {
                Change::Unchanged => after == before,
                Change::Narrowed => after >= before,
                Change::Widened => after <= before,
                Change::Mixed => true,
            };
            prop_assert!(fits, "{:?}, yet {} became {}: {} {:?} {:?}", change, before, after, request, old, new);
        }
    }

    #[test]
    fn with_the_same_books_lower_limits_and_fewer_allowances_let_nothing_through(
        old in clauses_of_a_mandate(),
        which: prop::sample::Index,
        remove: bool,
        tries in collection::vec(asked(), 20),
    ) {
        let mut new = old.clone();
        let place = which.index(new.len());
        if remove { new.remove(place); } else { lower(&mut new[place]); }
        for request in tries {
            let (before, after) = (answer(&old, &request), answer(&new, &request));
            prop_assert!(after != Outcome::Allow || before == Outcome::Allow, "{} {:?} {:?}", request, old, new);
        }
    }
}

/// The laws say nothing if the books never stand in the way, or always.
#[test]
fn the_small_books_allow_some_and_stop_some() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut counts, mut changes) = ([0_usize; 3], std::collections::HashMap::new());
    for _ in 0..2000 {
        let (old, new) = versions().new_tree(&mut runner).unwrap().current();
        let request = asked().new_tree(&mut runner).unwrap().current();
        counts[match answer(&old, &request) {
            Outcome::Allow => 0,
            Outcome::Escalate => 1,
            Outcome::Refuse => 2,
        }] += 1;
        *changes.entry(compare(&terms(json!(old)), &terms(json!(new)))).or_insert(0_usize) += 1;
    }
    assert!(counts.iter().all(|count| *count >= 200), "{counts:?}");
    for change in [Change::Unchanged, Change::Narrowed, Change::Widened, Change::Mixed] {
        assert!(changes.get(&change).is_some_and(|count| *count >= 40), "{change:?} in {changes:?}");
    }
}
