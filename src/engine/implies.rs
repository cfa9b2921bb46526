//! Whether one condition follows from another.

use super::condition::fits;
use super::document::{AmountTest, Condition, CounterpartyTest, CountryTest, ResourceTest};

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
        (Condition::Amount(AmountTest::AtMost(inner)), Condition::Amount(AmountTest::AtMost(outer))) => {
            fits(*inner, *outer) == Some(true)
        }
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
        (
            Condition::Amount(_)
            | Condition::Counterparty(_)
            | Condition::Country(_)
            | Condition::Resource(_)
            | Condition::Untrusted(_),
            _,
        ) => false,
    }
}

fn implies_counterparty(
    premise: &CounterpartyTest,
    test: &CounterpartyTest,
    known: Known,
    premise_in: PremiseIn,
) -> bool {
    use CounterpartyTest::{In, Known as IsKnown, NotIn};
    match (premise, test) {
        (In(inner), In(outer)) => inner.is_subset(outer),
        (In(inner), NotIn(excluded)) => inner.is_disjoint(excluded),
        (NotIn(inner), NotIn(outer)) => outer.is_subset(inner),
        // Who is known in `a` is known in `b`: that carries "known" from `a` to `b`, and "not known" back.
        (IsKnown(true), IsKnown(true)) => premise_in == PremiseIn::A || known.same,
        (IsKnown(false), IsKnown(false)) => premise_in == PremiseIn::B || known.same,
        (IsKnown(_), In(_) | NotIn(_) | IsKnown(_)) | (In(_) | NotIn(_), IsKnown(_)) | (NotIn(_), In(_)) => {
            false
        }
    }
}

fn implies_resource(premise: &ResourceTest, test: &ResourceTest) -> bool {
    use ResourceTest::{In, NotIn, Prefix};
    match (premise, test) {
        (In(inner), In(outer)) => inner.is_subset(outer),
        (In(inner), NotIn(excluded)) => inner.is_disjoint(excluded),
        (In(inner), Prefix(prefix)) => inner.iter().all(|name| name.as_str().starts_with(prefix.as_str())),
        (NotIn(inner), NotIn(outer)) => outer.is_subset(inner),
        (Prefix(inner), Prefix(outer)) => inner.as_str().starts_with(outer.as_str()),
        (Prefix(prefix), NotIn(excluded)) => {
            excluded.iter().all(|name| !name.as_str().starts_with(prefix.as_str()))
        }
        (NotIn(_) | Prefix(_), In(_)) | (NotIn(_), Prefix(_)) => false,
    }
}
