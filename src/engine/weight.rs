//! How much work one document may make of one decision.
//!
//! A decision is taken in the one place where a tenant's calls are put in order, so that what one document asks for
//! is time that all others wait.

use super::argument::ArgumentTest;
use super::document::{Clause, Condition, Domain};
use super::node::Faults;

/// The most limits that all clauses of one document may have together.
pub const MOST_LIMITS_TOGETHER: usize = 200;
/// The most conditions of one document that read through texts: `links`, `contains`, `matches`.
pub const MOST_TEXT_CONDITIONS: usize = 100;
/// The most protected values that one document may name.
pub const MOST_LITERALS: usize = 1000;

/// Notes where a document asks for too much.
pub(super) fn check<'a>(
    clauses: impl Iterator<Item = &'a Clause> + Clone,
    domains: &'a [Domain],
    pointer: &str,
    faults: &mut Faults,
) {
    let limits: usize = clauses.clone().map(|clause| clause.limits.len()).sum();
    let conditions =
        clauses.flat_map(|clause| &clause.when).chain(domains.iter().flat_map(|domain| &domain.when));
    let (mut texts, mut literals) = (0_usize, 0_usize);
    for condition in conditions {
        match condition {
            Condition::Links(_) => texts += 1,
            Condition::Contains(values) => {
                texts += 1;
                literals += values.len();
            }
            Condition::Arguments(_, test) | Condition::Facts(_, test) => texts += patterns(test),
            Condition::Amount(_)
            | Condition::Counterparty(_)
            | Condition::Country(_)
            | Condition::Resource(_)
            | Condition::Untrusted(_)
            | Condition::Evidence(_)
            | Condition::Labels(..)
            | Condition::Hours(_) => {}
        }
    }
    for (found, most, what) in [
        (limits, MOST_LIMITS_TOGETHER, "limits"),
        (texts, MOST_TEXT_CONDITIONS, "conditions `links`, `contains` and `matches`"),
        (literals, MOST_LITERALS, "protected values"),
    ] {
        if found > most {
            faults.add(pointer, format!("{found} {what} in one document, {most} are allowed"));
        }
    }
}

fn patterns(test: &ArgumentTest) -> usize {
    match test {
        ArgumentTest::Matches(_) => 1,
        ArgumentTest::Each(tests) => tests.iter().map(patterns).sum(),
        ArgumentTest::Equals(_)
        | ArgumentTest::In(_)
        | ArgumentTest::NotIn(_)
        | ArgumentTest::AtMost(_)
        | ArgumentTest::AtLeast(_)
        | ArgumentTest::Domain(_)
        | ArgumentTest::Prefix(_)
        | ArgumentTest::Exists(_) => 0,
    }
}
