//! Whether one condition holds of one action, and if not, why.

use super::action::Action;
use super::document::{
    AmountTest, Condition, CounterpartyTest, CountryTest, KnownCounterparty, ResourceTest,
};
use super::limit::Used;
use super::reason::{Reason, Share};
use crate::domain::{Amount, Country, ExternalName, Timestamp};
use chrono_tz::Tz;
use std::{
    collections::{BTreeSet, HashSet},
    hash::BuildHasher,
};

/// Whom the principal has approved before; asked by name.
pub trait KnownCounterparties {
    /// Whether the principal approved an action with this counterparty before.
    fn is_known(&self, name: &ExternalName) -> bool;
}

impl KnownCounterparties for BTreeSet<ExternalName> {
    fn is_known(&self, name: &ExternalName) -> bool {
        self.contains(name)
    }
}

impl<S: BuildHasher> KnownCounterparties for HashSet<ExternalName, S> {
    fn is_known(&self, name: &ExternalName) -> bool {
        self.contains(name)
    }
}

/// Of a fact with several values, how many must pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pass {
    /// All, and there is one: what an allowance needs.
    Every,
    /// One: what a refusal or escalation needs to act.
    Any,
}

/// What conditions are tested on.
pub(super) struct Facts<'a> {
    pub(super) action: &'a Action,
    /// What the action names and what the credential fixes.
    pub(super) countries: BTreeSet<Country>,
    pub(super) approved: &'a dyn KnownCounterparties,
    pub(super) listed: &'a [KnownCounterparty],
    /// What the books said.
    pub(super) used: &'a Used,
    pub(super) now: Timestamp,
    /// The tenant's, for periods of the calendar.
    pub(super) zone: Tz,
}

impl Facts<'_> {
    /// The first condition that does not hold, as a reason.
    pub(super) fn test_all(&self, conditions: &[Condition], pass: Pass) -> Result<(), Reason> {
        conditions.iter().try_for_each(|condition| self.test(condition, pass))
    }

    pub(super) fn test(&self, condition: &Condition, pass: Pass) -> Result<(), Reason> {
        match condition {
            Condition::Amount(AmountTest::AtMost(most)) => self.amount_at_most(*most),
            Condition::Counterparty(test) => self.counterparty(test, pass),
            Condition::Country(test) => self.country(test, pass),
            Condition::Resource(test) => self.resource(test),
            Condition::Untrusted(true) if !self.action.untrusted => Err(Reason::Trusted),
            Condition::Untrusted(false) if self.action.untrusted => Err(Reason::Untrusted),
            Condition::Untrusted(_) => Ok(()),
        }
    }

    fn amount_at_most(&self, allowed: Amount) -> Result<(), Reason> {
        let Some(asked) = self.action.amount else { return Err(Reason::AmountMissing { allowed }) };
        match fits(asked, allowed) {
            Some(true) => Ok(()),
            Some(false) => Err(Reason::AmountAbove { asked, allowed }),
            None => Err(Reason::AmountCurrency { asked: asked.currency(), allowed: allowed.currency() }),
        }
    }

    fn counterparty(&self, test: &CounterpartyTest, pass: Pass) -> Result<(), Reason> {
        let names = &self.action.counterparties;
        if names.is_empty() {
            return Err(Reason::CounterpartyMissing);
        }
        let passes = |name: &ExternalName| match test {
            CounterpartyTest::In(set) => set.contains(name),
            CounterpartyTest::NotIn(set) => !set.contains(name),
            CounterpartyTest::Known(known) => self.is_known(name) == *known,
        };
        let failing = names.iter().filter(|name| !passes(name)).count();
        let holds = match pass {
            Pass::Every => failing == 0,
            Pass::Any => failing < names.len(),
        };
        if holds {
            return Ok(());
        }
        let share = Share { part: failing, of: names.len() };
        Err(match test {
            CounterpartyTest::In(_) => Reason::CounterpartyOutside(share),
            CounterpartyTest::NotIn(_) => Reason::CounterpartyExcluded(share),
            CounterpartyTest::Known(false) => Reason::CounterpartyKnown(share),
            CounterpartyTest::Known(true) => self.why_unknown(share),
        })
    }

    /// Approved before, or listed for at least this amount.
    fn is_known(&self, name: &ExternalName) -> bool {
        self.approved.is_known(name)
            || self.listed.iter().filter(|listed| listed.is_called(name)).any(|listed| {
                listed.at_most.is_none_or(|most| {
                    self.action.amount.is_some_and(|asked| fits(asked, most) == Some(true))
                })
            })
    }

    /// Where only a listed bound stands in the way, both amounts say more than "not known".
    fn why_unknown(&self, share: Share) -> Reason {
        let unknown = self.action.counterparties.iter().filter(|name| !self.is_known(name));
        let exceeded: Option<Vec<Amount>> = unknown
            .map(|name| {
                let asked = self.action.amount?;
                let listed = self.listed.iter().find(|listed| listed.is_called(name))?;
                listed.at_most.filter(|most| fits(asked, *most) == Some(false))
            })
            .collect();
        let lowest = exceeded.and_then(|bounds| bounds.into_iter().min_by_key(|bound| bound.minor_units()));
        match (self.action.amount, lowest) {
            (Some(asked), Some(allowed)) => Reason::CounterpartyKnownForLess { asked, allowed },
            (_, None) | (None, _) => Reason::CounterpartyUnknown(share),
        }
    }

    fn country(&self, test: &CountryTest, pass: Pass) -> Result<(), Reason> {
        if self.countries.is_empty() {
            return Err(Reason::CountryMissing);
        }
        let passes = |country: &Country| match test {
            CountryTest::In(set) => set.contains(country),
            CountryTest::NotIn(set) => !set.contains(country),
        };
        let mut failing = self.countries.iter().filter(|country| !passes(country));
        let some_pass = self.countries.iter().any(passes);
        match (pass, failing.next()) {
            (_, None) => Ok(()),
            (Pass::Any, Some(_)) if some_pass => Ok(()),
            (Pass::Every | Pass::Any, Some(asked)) => Err(match test {
                CountryTest::In(set) => Reason::CountryOutside { asked: *asked, allowed: set.clone() },
                CountryTest::NotIn(_) => Reason::CountryExcluded { asked: *asked },
            }),
        }
    }

    fn resource(&self, test: &ResourceTest) -> Result<(), Reason> {
        let Some(resource) = &self.action.resource else { return Err(Reason::ResourceMissing) };
        let (holds, otherwise) = match test {
            ResourceTest::In(set) => (set.contains(resource), Reason::ResourceOutside),
            ResourceTest::NotIn(set) => (!set.contains(resource), Reason::ResourceExcluded),
            ResourceTest::Prefix(prefix) => {
                (resource.as_str().starts_with(prefix.as_str()), Reason::ResourceOutside)
            }
        };
        if holds { Ok(()) } else { Err(otherwise) }
    }
}

/// Whether `asked` is no more than `most`; `None` when the currencies differ.
pub(super) fn fits(asked: Amount, most: Amount) -> Option<bool> {
    (asked.currency() == most.currency()).then(|| asked.minor_units() <= most.minor_units())
}
