//! A condition of a clause as half a sentence.

use crate::engine::{
    AmountTest, ArgumentTest, Condition, CounterpartyTest, CountryTest, EvidenceTest, HostDomain,
    HostDomains, LabelTest, Owner, ResourceTest, Scalar,
};
use std::fmt::Display;

/// The condition in words, to stand behind “when” in a clause that allows, or in another: an allowance needs every link to
/// lead there, a refusal acts on one.
pub(super) fn half_sentence(condition: &Condition, allows: bool) -> String {
    match condition {
        Condition::Amount(AmountTest::AtMost(amount)) => format!("the amount is at most {amount}"),
        Condition::Amount(AmountTest::AtLeast(amount)) => format!("the amount is at least {amount}"),
        Condition::Counterparty(test) => match test {
            CounterpartyTest::Known(true) => "I know the counterparty".to_owned(),
            CounterpartyTest::Known(false) => "I do not know the counterparty".to_owned(),
            CounterpartyTest::In(names) => format!("the counterparty is {}", quoted(names)),
            CounterpartyTest::NotIn(names) => format!("the counterparty is not {}", quoted(names)),
            CounterpartyTest::Domain(set) => format!("the counterparty is reached at {}", domains(set)),
        },
        Condition::Country(CountryTest::In(set)) => {
            format!("the country is {}", either(set.iter().map(ToString::to_string)))
        }
        Condition::Country(CountryTest::NotIn(set)) => {
            format!("the country is not {}", either(set.iter().map(ToString::to_string)))
        }
        Condition::Resource(test) => match test {
            ResourceTest::In(names) => format!("the resource is {}", quoted(names)),
            ResourceTest::NotIn(names) => format!("the resource is not {}", quoted(names)),
            ResourceTest::Prefix(prefix) => format!("the resource begins with “{prefix}”"),
            ResourceTest::OwnedBy(owner) => format!("the resource is attested to be {}", whose(*owner)),
        },
        Condition::Untrusted(false) => "no text that others wrote shaped the call".to_owned(),
        Condition::Untrusted(true) => "text that others wrote may have shaped the call".to_owned(),
        Condition::Arguments(at, test) => format!("the argument “{at}” {}", value(test)),
        Condition::Facts(at, test) => format!("the attested fact “{at}” {}", value(test)),
        Condition::Evidence(test) => match test {
            EvidenceTest::Confidence(least) => format!("the agent says it is at least {least} sure"),
            EvidenceTest::CitesExactly(count) => format!("the agent cites exactly {count}"),
            EvidenceTest::CitesAtLeast(count) => format!("the agent cites at least {count}"),
            EvidenceTest::CitesOwnedBy(owner) => {
                format!("what the agent cites is attested to be {}", whose(*owner))
            }
        },
        Condition::Labels(label, LabelTest::AtMost(level)) => {
            format!("the label “{label}” is at most “{level}”")
        }
        Condition::Labels(label, LabelTest::AtLeast(level)) => {
            format!("the label “{label}” is at least “{level}”")
        }
        Condition::Hours(hours) => format!("it is {hours}"),
        Condition::Links(set) if allows => format!("every link leads to {}", domains(set)),
        Condition::Links(set) => format!("a link may lead to {}", domains(set)),
        Condition::Contains(protected) => {
            let classes = protected.classes.iter().map(|class| format!("personal data of the class {class}"));
            let literals = protected.literals.iter().map(|literal| format!("“{}”", literal.as_str()));
            format!("the arguments do not contain {}", either(classes.chain(literals)))
        }
    }
}

/// What a test says of a value, to stand behind its name.
fn value(test: &ArgumentTest) -> String {
    match test {
        ArgumentTest::Equals(expected) => format!("is {}", scalar(expected)),
        ArgumentTest::In(set) => format!("is {}", either(set.iter().map(scalar))),
        ArgumentTest::NotIn(set) => format!("is not {}", either(set.iter().map(scalar))),
        ArgumentTest::AtMost(most) => format!("is at most {most}"),
        ArgumentTest::AtLeast(least) => format!("is at least {least}"),
        ArgumentTest::Domain(set) => format!("is reached at {}", domains(set)),
        ArgumentTest::Prefix(prefix) => format!("begins with “{prefix}”"),
        ArgumentTest::Matches(pattern) => format!("matches “{}”", pattern.as_str()),
        ArgumentTest::Exists(true) => "is given".to_owned(),
        ArgumentTest::Exists(false) => "is not given".to_owned(),
        ArgumentTest::Each(tests) => {
            let tests: Vec<String> = tests.iter().map(value).collect();
            format!("is a list of which each entry {}", tests.join(" and "))
        }
    }
}

fn scalar(value: &Scalar) -> String {
    match value {
        Scalar::Truth(truth) => truth.to_string(),
        Scalar::Number(number) => number.to_string(),
        Scalar::Text(text) => format!("“{text}”"),
    }
}

const fn whose(owner: Owner) -> &'static str {
    match owner {
        Owner::Principal => "mine",
        Owner::Counterparty => "the counterparty's",
    }
}

fn domains(domains: &HostDomains) -> String {
    either(domains.0.iter().map(HostDomain::to_string))
}

fn quoted<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    either(names.into_iter().map(|name| format!("“{name}”")))
}

/// `a`, `a or b`, `a, b or c`.
fn either(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} or {last}", names.join(", ")),
        None => "nobody".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::CredentialClauses;
    use serde_json::json;

    #[test]
    fn every_condition_has_words() {
        for (when, said) in [
            (
                json!({"amount": {"at_least": {"value": 5, "currency": "EUR"}}}),
                "the amount is at least 5.00 EUR",
            ),
            (
                json!({"counterparty": {"domain": ["example.com", "test.org"]}}),
                "the counterparty is reached at example.com or test.org",
            ),
            (json!({"resource": {"owner": "principal"}}), "the resource is attested to be mine"),
            (
                json!({"arguments": {"/channel": {"in": ["email", 1, true]}}}),
                "the argument “/channel” is true, 1 or “email”",
            ),
            (
                json!({"arguments": {"/to": {"each": {"prefix": "a", "exists": true}}}}),
                "the argument “/to” is a list of which each entry begins with “a” and is given",
            ),
            (json!({"facts": {"/ratio": {"at_most": "1.2"}}}), "the attested fact “/ratio” is at most 1.2"),
            (
                json!({"evidence": {"confidence": {"at_least": "0.8"}}}),
                "the agent says it is at least 0.8 sure",
            ),
            (
                json!({"evidence": {"cites": {"owner": "counterparty"}}}),
                "what the agent cites is attested to be the counterparty's",
            ),
            (
                json!({"labels": {"audience": {"at_most": "customer"}}}),
                "the label “audience” is at most “customer”",
            ),
            (
                json!({"hours": {"days": ["mon"], "from": "08:00", "until": "18:00", "zone": "Europe/Berlin"}}),
                "it is mon 08:00 to 18:00 in Europe/Berlin",
            ),
            (json!({"links": {"domain": ["example.com"]}}), "every link leads to example.com"),
            (
                json!({"contains": {"not_in": ["Project Falcon"]}}),
                "the arguments do not contain “Project Falcon”",
            ),
        ] {
            let clauses = json!([{"id": "A", "intent": "pay", "effect": "allow", "when": when}]);
            let clauses = CredentialClauses::read(&clauses).unwrap();
            assert_eq!(half_sentence(&clauses.0[0].when[0], true), said);
        }
    }

    #[test]
    fn one_link_is_enough_for_a_refusal() {
        let clauses = json!([{"id": "A", "intent": "mail.send", "effect": "refuse",
            "when": {"links": {"domain": ["example.com"]}}}]);
        let clauses = CredentialClauses::read(&clauses).unwrap();
        assert_eq!(half_sentence(&clauses.0[0].when[0], false), "a link may lead to example.com");
    }
}
