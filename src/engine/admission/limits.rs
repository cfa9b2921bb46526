//! Limits that no call can meet, and pools whose members never count together.

use super::{Admission, Part};
use crate::domain::{Currency, IntentPattern};
use crate::engine::catalogue::{Catalogue, CatalogueEntry, Place, text};
use crate::engine::check::amount_bounds;
use crate::engine::document::{Clause, ClauseId};
use crate::engine::limit::{Bound, Each, Limit};
use std::collections::BTreeMap;

/// The limits of an allowance that leave no call any room, by their place, and why.
pub(super) fn beyond_reach(clause: &Clause, catalogue: Option<&Catalogue>) -> Vec<(usize, String)> {
    let entry = entry_of(clause, catalogue);
    let each = clause.limits.iter().enumerate();
    each.filter_map(|(index, limit)| {
        let why = amount_out_of_reach(clause, index, limit).or_else(|| not_derived(clause, limit, entry?));
        Some((index, why?))
    })
    .collect()
}

/// What the catalogue says of the one intent that a clause names.
pub(super) fn entry_of<'a>(clause: &Clause, catalogue: Option<&'a Catalogue>) -> Option<&'a CatalogueEntry> {
    match &clause.intent {
        IntentPattern::Exact(intent) => catalogue?.get(intent),
        IntentPattern::Below(_) | IntentPattern::Any => None,
    }
}

/// The currency that every amount of an intent is in.
pub(super) fn only_currency(entry: &CatalogueEntry) -> Option<Currency> {
    match entry.places.currency.as_ref()? {
        Place::Const(value) => text(value).ok(),
        Place::Pointer(_) => None,
    }
}

/// A total that the clause's other bounds on the amount leave no way to keep.
fn amount_out_of_reach(clause: &Clause, index: usize, limit: &Limit) -> Option<String> {
    let Bound::Total { most, .. } = limit.bound else { return None };
    let (least, bounds) = amount_bounds(&clause.when);
    if let Some(bound) = bounds.iter().find(|bound| bound.currency() != most.currency()) {
        return Some(format!(
            "the clause bounds amounts in {}, the total is in {}",
            bound.currency(),
            most.currency()
        ));
    }
    if let Some(least) = least.filter(|least| least.minor_units() > most.minor_units()) {
        return Some(format!("the clause takes {least} or more, the total allows {most}"));
    }
    let before = clause.limits.iter().take(index).find_map(|other| match other.bound {
        Bound::Total { most: other, .. } if other.currency() != most.currency() => Some(other.currency()),
        Bound::Total { .. } | Bound::Count { .. } | Bound::Once => None,
    })?;
    Some(format!("another total of the clause is in {before}, this one in {}", most.currency()))
}

/// A limit on a fact that no call of the intent has.
fn not_derived(clause: &Clause, limit: &Limit, entry: &CatalogueEntry) -> Option<String> {
    let missing = |fact: &str| Some(format!("the catalogue derives no {fact} for `{}`", clause.intent));
    match limit.each {
        Some(Each::Resource) if entry.places.resource.is_none() => return missing("resource"),
        Some(Each::Counterparty) if entry.places.counterparties.is_empty() => return missing("counterparty"),
        Some(Each::Resource | Each::Counterparty) | None => {}
    }
    let Bound::Total { most, .. } = limit.bound else { return None };
    if entry.places.amount.is_none() {
        return missing("amount");
    }
    let currency = only_currency(entry).filter(|currency| *currency != most.currency())?;
    Some(format!("amounts of `{}` are in {currency}, the total is in {}", clause.intent, most.currency()))
}

/// How the members of a pool count: those of one measure count in one book.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Amounts(Currency, Option<Each>),
    Uses(Option<Each>),
}

impl Measure {
    fn of(limit: &Limit) -> Self {
        match limit.bound {
            Bound::Total { most, .. } => Self::Amounts(most.currency(), limit.each),
            Bound::Count { .. } | Bound::Once => Self::Uses(limit.each),
        }
    }

    fn words(self) -> String {
        let each =
            |each: Option<Each>| each.map_or(String::new(), |each| format!(" for each {}", each.as_str()));
        match self {
            Self::Amounts(currency, by) => format!("amounts in {currency}{}", each(by)),
            Self::Uses(by) => format!("uses{}", each(by)),
        }
    }
}

/// Warns of pools that one clause alone names, and of members that count otherwise than the first.
pub(super) fn pools(parts: &[&Part<'_>], said: &mut Admission) {
    let mut members: BTreeMap<&ClauseId, Vec<(&ClauseId, Measure, String)>> = BTreeMap::new();
    for (clause, pointer) in parts.iter().flat_map(|part| part.each()) {
        for (index, limit) in clause.limits.iter().enumerate() {
            if let Some(pool) = &limit.pool {
                let member = (&clause.id, Measure::of(limit), format!("{pointer}/limits/{index}/pool"));
                members.entry(pool).or_default().push(member);
            }
        }
    }
    for (pool, members) in members {
        let [(first, measure, pointer), rest @ ..] = members.as_slice() else { continue };
        if rest.iter().all(|(clause, ..)| clause == first) {
            said.warn(pointer.clone(), format!("no other clause names the pool `{pool}`"));
            continue;
        }
        for (_, own, pointer) in rest.iter().filter(|(clause, own, _)| clause != first && own != measure) {
            let message = format!(
                "it never counts together with clause `{first}`: in the pool `{pool}` that one counts {}, this one {}",
                measure.words(),
                own.words()
            );
            said.warn(pointer.clone(), message);
        }
    }
}
