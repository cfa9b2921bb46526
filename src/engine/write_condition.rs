//! From conditions to the JSON that reads back as the same.

use super::argument::{ArgumentTest, Scalar};
use super::document::{
    AmountTest, Condition, CounterpartyTest, CountryTest, EvidenceTest, LabelTest, ResourceTest,
};
use super::hours::{DaysOfWeek, Hours};
use super::protected::Literal;
use super::reach::{HostDomain, HostDomains};
use serde_json::{Map, Value, json};

/// Several tests of one fact share one object, whatever their order.
pub(super) fn conditions(conditions: &[Condition]) -> Value {
    let mut object = Map::new();
    for condition in conditions {
        let (path, value) = test(condition);
        put(&mut object, &path, value);
    }
    Value::Object(object)
}

/// Puts a value where a path of names leads.
fn put(object: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [] => {}
        [name] => {
            object.insert((*name).to_owned(), value);
        }
        [first, rest @ ..] => {
            if let Value::Object(inner) = object.entry(*first).or_insert_with(|| json!({})) {
                put(inner, rest, value);
            }
        }
    }
}

/// Where a condition stands below `when`, and what stands there.
fn test(condition: &Condition) -> (Vec<&str>, Value) {
    match condition {
        Condition::Amount(test) => {
            let (name, amount) = match test {
                AmountTest::AtMost(most) => ("at_most", most),
                AmountTest::AtLeast(least) => ("at_least", least),
            };
            (vec!["amount", name], amount.to_json())
        }
        Condition::Counterparty(test) => {
            let (name, value) = match test {
                CounterpartyTest::In(set) => ("in", json!(set)),
                CounterpartyTest::NotIn(set) => ("not_in", json!(set)),
                CounterpartyTest::Known(known) => ("known", json!(known)),
                CounterpartyTest::Domain(set) => ("domain", domains(set)),
            };
            (vec!["counterparty", name], value)
        }
        Condition::Country(CountryTest::In(set)) => (vec!["country", "in"], json!(set)),
        Condition::Country(CountryTest::NotIn(set)) => (vec!["country", "not_in"], json!(set)),
        Condition::Resource(test) => {
            let (name, value) = match test {
                ResourceTest::In(set) => ("in", json!(set)),
                ResourceTest::NotIn(set) => ("not_in", json!(set)),
                ResourceTest::Prefix(prefix) => ("prefix", json!(prefix)),
                ResourceTest::OwnedBy(owner) => ("owner", json!(owner.as_str())),
            };
            (vec!["resource", name], value)
        }
        Condition::Untrusted(untrusted) => (vec!["untrusted"], json!(untrusted)),
        Condition::Arguments(at, test) => (vec!["arguments", at.as_str(), test.name()], value_test(test)),
        Condition::Facts(at, test) => (vec!["facts", at.as_str(), test.name()], value_test(test)),
        Condition::Evidence(test) => match test {
            EvidenceTest::Confidence(least) => {
                (vec!["evidence", "confidence", "at_least"], json!(least.to_string()))
            }
            EvidenceTest::CitesExactly(count) => (vec!["evidence", "cites", "exactly"], json!(count)),
            EvidenceTest::CitesAtLeast(count) => (vec!["evidence", "cites", "at_least"], json!(count)),
            EvidenceTest::CitesOwnedBy(owner) => (vec!["evidence", "cites", "owner"], json!(owner.as_str())),
        },
        Condition::Labels(label, LabelTest::AtMost(level)) => {
            (vec!["labels", label, "at_most"], json!(level))
        }
        Condition::Labels(label, LabelTest::AtLeast(level)) => {
            (vec!["labels", label, "at_least"], json!(level))
        }
        Condition::Hours(written) => (vec!["hours"], hours(written)),
        Condition::Links(set) => (vec!["links", "domain"], domains(set)),
        Condition::Contains(protected) => {
            let classes = protected.classes.iter().map(|class| json!(class.as_str()));
            (vec!["contains", "not_in"], classes.chain(protected.literals.iter().map(literal)).collect())
        }
    }
}

fn domains(domains: &HostDomains) -> Value {
    domains.0.iter().map(HostDomain::as_str).collect()
}

fn value_test(test: &ArgumentTest) -> Value {
    match test {
        ArgumentTest::Equals(value) => value.to_json(),
        ArgumentTest::In(set) | ArgumentTest::NotIn(set) => set.iter().map(Scalar::to_json).collect(),
        ArgumentTest::AtMost(number) | ArgumentTest::AtLeast(number) => json!(number.to_string()),
        ArgumentTest::Domain(set) => domains(set),
        ArgumentTest::Prefix(prefix) => json!(prefix),
        ArgumentTest::Matches(pattern) => json!(pattern.as_str()),
        ArgumentTest::Exists(exists) => json!(exists),
        ArgumentTest::Each(tests) => {
            tests.iter().map(|test| (test.name().to_owned(), value_test(test))).collect()
        }
    }
}

fn hours(hours: &Hours) -> Value {
    let mut object = Map::new();
    if hours.days != DaysOfWeek::ALL || hours.span.is_none() {
        put(&mut object, &["days"], json!(hours.days.names()));
    }
    if let Some((from, until)) = hours.span {
        put(&mut object, &["from"], json!(from.to_string()));
        put(&mut object, &["until"], json!(until.to_string()));
    }
    put(&mut object, &["zone"], json!(hours.zone.name()));
    Value::Object(object)
}

fn literal(literal: &Literal) -> Value {
    if literal.is_spelt_like_a_class() {
        json!({"literal": literal.as_str()})
    } else {
        json!(literal.as_str())
    }
}
