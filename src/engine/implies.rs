//! Whether one condition follows from another.

use super::condition::fits;
use super::document::{AmountTest, Condition, CounterpartyTest, CountryTest, EvidenceTest, ResourceTest};

/// Of two documents `a` and `b`, where everyone known under `a` is known under `b`.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// Whether the reverse holds too.
    pub(super) same: bool,
}

/// In which of the two documents a premise stands; what it is to imply stands in the other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PremiseIn {
    /// In `a`.
    A,
    /// In `b`.
    B,
}

/// Whether whatever passes `premise` passes `test`.
///
/// It is shown value by value, so it holds both where every counterparty must pass and where one suffices.
pub(super) fn implies(premise: &Condition, test: &Condition, known: Known, premise_in: PremiseIn) -> bool {
    match (premise, test) {
        (Condition::Amount(premise), Condition::Amount(test)) => implies_amount(premise, test),
        (Condition::Counterparty(premise), Condition::Counterparty(test)) => {
            implies_counterparty(premise, test, known, premise_in)
        }
        (Condition::Country(premise), Condition::Country(test)) => match (premise, test) {
            (CountryTest::In(inner), CountryTest::In(outer)) => inner.is_subset(outer),
            (CountryTest::In(inner), CountryTest::NotIn(excluded)) => inner.is_disjoint(excluded),
            (CountryTest::NotIn(inner), CountryTest::NotIn(outer)) => outer.is_subset(inner),
            (CountryTest::NotIn(_), CountryTest::In(_)) => false,
        },
        (Condition::Resource(premise), Condition::Resource(test)) => implies_resource(premise, test),
        (Condition::Untrusted(one), Condition::Untrusted(other)) => one == other,
        (Condition::Arguments(at, premise), Condition::Arguments(place, test))
        | (Condition::Facts(at, premise), Condition::Facts(place, test)) => {
            at == place && premise.implies(test)
        }
        (Condition::Evidence(premise), Condition::Evidence(test)) => implies_evidence(premise, test),
        // What lies between two levels only the policy says, and it may change.
        (Condition::Labels(label, premise), Condition::Labels(other, test)) => {
            label == other && premise == test
        }
        (Condition::Hours(inner), Condition::Hours(outer)) => inner.within(outer),
        (Condition::Links(inner), Condition::Links(outer)) => inner.within(outer),
        (Condition::Contains(inner), Condition::Contains(outer)) => inner.covers(outer),
        (
            Condition::Amount(_)
            | Condition::Counterparty(_)
            | Condition::Country(_)
            | Condition::Resource(_)
            | Condition::Untrusted(_)
            | Condition::Arguments(..)
            | Condition::Facts(..)
            | Condition::Evidence(_)
            | Condition::Labels(..)
            | Condition::Hours(_)
            | Condition::Links(_)
            | Condition::Contains(_),
            _,
        ) => false,
    }
}

fn implies_amount(premise: &AmountTest, test: &AmountTest) -> bool {
    use AmountTest::{AtLeast, AtMost};
    match (premise, test) {
        (AtMost(inner), AtMost(outer)) => fits(*inner, *outer) == Some(true),
        (AtLeast(inner), AtLeast(outer)) => fits(*outer, *inner) == Some(true),
        (AtMost(_), AtLeast(_)) | (AtLeast(_), AtMost(_)) => false,
    }
}

fn implies_evidence(premise: &EvidenceTest, test: &EvidenceTest) -> bool {
    use EvidenceTest::{CitesAtLeast, CitesExactly, CitesOwnedBy, Confidence};
    match (premise, test) {
        (Confidence(inner), Confidence(outer)) => inner >= outer,
        (CitesExactly(inner), CitesExactly(outer)) => inner == outer,
        (CitesExactly(inner) | CitesAtLeast(inner), CitesAtLeast(outer)) => inner >= outer,
        // Of no things, none belongs to anybody.
        (CitesOwnedBy(_), CitesAtLeast(least)) => *least <= 1,
        (CitesOwnedBy(inner), CitesOwnedBy(outer)) => inner == outer,
        (Confidence(_) | CitesExactly(_) | CitesAtLeast(_) | CitesOwnedBy(_), _) => false,
    }
}

fn implies_counterparty(
    premise: &CounterpartyTest,
    test: &CounterpartyTest,
    known: Known,
    premise_in: PremiseIn,
) -> bool {
    use CounterpartyTest::{Domain, In, Known as IsKnown, NotIn};
    match (premise, test) {
        (In(inner), In(outer)) => inner.is_subset(outer),
        (In(inner), NotIn(excluded)) => inner.is_disjoint(excluded),
        (NotIn(inner), NotIn(outer)) => outer.is_subset(inner),
        // Who is known in `a` is known in `b`: that carries "known" from `a` to `b`, and "not known" back.
        (IsKnown(true), IsKnown(true)) => premise_in == PremiseIn::A || known.same,
        (IsKnown(false), IsKnown(false)) => premise_in == PremiseIn::B || known.same,
        (In(inner), Domain(domains)) => inner.iter().all(|name| domains.reach(name.as_str())),
        (Domain(inner), Domain(outer)) => inner.within(outer),
        (Domain(domains), NotIn(excluded)) => !excluded.iter().any(|name| domains.reach(name.as_str())),
        (IsKnown(_) | In(_) | NotIn(_) | Domain(_), _) => false,
    }
}

fn implies_resource(premise: &ResourceTest, test: &ResourceTest) -> bool {
    use ResourceTest::{In, NotIn, OwnedBy, Prefix};
    match (premise, test) {
        (In(inner), In(outer)) => inner.is_subset(outer),
        (In(inner), NotIn(excluded)) => inner.is_disjoint(excluded),
        (In(inner), Prefix(prefix)) => inner.iter().all(|name| name.as_str().starts_with(prefix.as_str())),
        (NotIn(inner), NotIn(outer)) => outer.is_subset(inner),
        (Prefix(inner), Prefix(outer)) => inner.as_str().starts_with(outer.as_str()),
        (Prefix(prefix), NotIn(excluded)) => {
            excluded.iter().all(|name| !name.as_str().starts_with(prefix.as_str()))
        }
        (OwnedBy(inner), OwnedBy(outer)) => inner == outer,
        (In(_) | NotIn(_) | Prefix(_) | OwnedBy(_), _) => false,
    }
}
