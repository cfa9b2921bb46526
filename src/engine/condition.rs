//! Whether one condition holds of one action, and if not, why.

use super::action::Action;
use super::argument::ArgumentTest;
use super::book::Used;
use super::decide::Standing;
use super::document::{
    AmountTest, Condition, CounterpartyTest, CountryTest, EvidenceTest, KnownCounterparty, LabelTest, Owner,
    ResourceTest,
};
use super::hours::Hours;
use super::labels::Labels;
use super::links::{Link, links_in, may_lead_into};
use super::pointer::{Pointer, all_at, lookup};
use super::protected::{self, Protected};
use super::reach::HostDomains;
use super::reason::{Reason, Share};
use super::unmet::{Part, Unmet};
use crate::domain::{Amount, Country, ExternalName, PrincipalId, Timestamp};
use crate::screening::Class;
use chrono_tz::Tz;
use serde_json::{Map, Value};
use std::{
    cell::{Cell, OnceCell},
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
    /// One, or one that cannot be compared: what a refusal or escalation needs to act.
    Any,
}

/// What conditions are tested on.
pub(super) struct Facts<'a> {
    pub(super) action: &'a Action,
    /// What the action names and what the credential fixes.
    pub(super) countries: BTreeSet<Country>,
    pub(super) approved: &'a dyn KnownCounterparties,
    pub(super) listed: &'a [KnownCounterparty],
    principal: PrincipalId,
    labels: &'a Labels,
    /// What the books said.
    pub(super) used: &'a Used,
    pub(super) now: Timestamp,
    /// The tenant's, for periods of the calendar.
    pub(super) zone: Tz,
    // Found once, however many clauses ask.
    links: OnceCell<Vec<Link>>,
    texts: OnceCell<Vec<String>>,
    /// The classes of personal data that they hold, once one is asked for.
    classes: OnceCell<BTreeSet<Class>>,
    known: OnceCell<Vec<bool>>,
    /// What reading values through has cost so far.
    work: Cell<usize>,
}

/// A condition that does not hold: where it stands in its clause, and why.
pub(super) struct Failed {
    place: usize,
    reason: Reason,
}

/// What reading through the values of one action may cost, all documents together: about as many comparisons, or
/// characters put to a pattern, weighed by the size of the pattern.
pub(super) const MOST_WORK: usize = 2_000_000;
/// What one comparison of a value costs, beside its length.
const COMPARISON: usize = 8;

impl<'a> Facts<'a> {
    /// What an action and its standing say at one instant.
    pub(super) fn new(standing: &Standing<'a>, action: &'a Action, now: Timestamp) -> Self {
        Self {
            action,
            countries: action.country.into_iter().chain(standing.country_fixed).collect(),
            approved: standing.known,
            listed: &standing.mandate.counterparties,
            principal: standing.principal,
            labels: &standing.policy.labels,
            used: standing.used,
            now,
            zone: standing.zone,
            links: OnceCell::new(),
            texts: OnceCell::new(),
            classes: OnceCell::new(),
            known: OnceCell::new(),
            work: Cell::new(0),
        }
    }

    /// The first condition that does not hold, as a reason.
    pub(super) fn test_all(&self, conditions: &[Condition], pass: Pass) -> Result<(), Reason> {
        conditions.iter().try_for_each(|condition| self.test(condition, pass))
    }

    /// Every condition of an allowance that does not hold, as a reason; `first` is the one found before, which is not
    /// tested again, nor is what comes before it.
    pub(super) fn all_in_the_way(&self, conditions: &[Condition], first: &Failed) -> Vec<Reason> {
        let after = conditions.iter().skip(first.place.saturating_add(1));
        let others = after.filter_map(|condition| self.test(condition, Pass::Every).err());
        std::iter::once(first.reason.clone()).chain(others).collect()
    }

    /// The first condition of an allowance that does not hold.
    pub(super) fn first_in_the_way(&self, conditions: &[Condition]) -> Result<(), Failed> {
        conditions.iter().enumerate().try_for_each(|(place, condition)| {
            self.test(condition, Pass::Every).map_err(|reason| Failed { place, reason })
        })
    }

    pub(super) fn test(&self, condition: &Condition, pass: Pass) -> Result<(), Reason> {
        if self.is_worn_out() {
            return Err(Reason::TooMuchWork);
        }
        match condition {
            Condition::Amount(AmountTest::AtMost(most)) => self.amount_at_most(*most, pass),
            Condition::Amount(AmountTest::AtLeast(least)) => self.amount_at_least(*least, pass),
            Condition::Counterparty(test) => self.counterparty(test, pass),
            Condition::Country(test) => self.country(test, pass),
            Condition::Resource(test) => self.resource(test),
            Condition::Untrusted(true) if !self.action.untrusted => Err(Reason::Trusted),
            Condition::Untrusted(false) if self.action.untrusted => Err(Reason::Untrusted),
            Condition::Untrusted(_) => Ok(()),
            Condition::Arguments(at, test) => self.argument(at, test, pass),
            Condition::Facts(at, test) => self.fact(at, test, pass),
            Condition::Evidence(test) => self.evidence(test, pass).map_err(Reason::Unmet),
            Condition::Labels(label, test) => self.label(label, test, pass).map_err(Reason::Unmet),
            Condition::Hours(hours) => self.hours(hours),
            Condition::Links(domains) => self.links(domains, pass),
            Condition::Contains(protected) => self.contains(protected),
        }
    }

    fn contains(&self, protected: &Protected) -> Result<(), Reason> {
        let arguments = self.arguments()?;
        if !protected.classes.is_empty() {
            if self.classes.get().is_none() && !self.may_work(protected::length_of(arguments)) {
                return Err(Reason::TooMuchWork);
            }
            let held = self.classes.get_or_init(|| protected::classes_in(arguments));
            if let Some(class) = protected.classes.intersection(held).next() {
                return Err(Reason::Unmet(Unmet::PersonalDataFound(*class)));
            }
        }
        if protected.literals.is_empty() {
            return Ok(());
        }
        let texts = self.texts.get_or_init(|| protected::texts_in(arguments));
        let length: usize = texts.iter().map(String::len).sum();
        if !self.may_work(protected.literals.len().saturating_mul(length / 16 + COMPARISON)) {
            return Err(Reason::TooMuchWork);
        }
        unless(protected::found(texts, &protected.literals), Unmet::ProtectedFound)
    }

    /// Whether more was asked of one decision than it may cost; it is refused then, whatever else was found.
    pub(super) fn is_worn_out(&self) -> bool {
        self.work.get() > MOST_WORK
    }

    /// Counts work before it is done; `false` if it is too much.
    fn may_work(&self, cost: usize) -> bool {
        self.work.set(self.work.get().saturating_add(cost));
        !self.is_worn_out()
    }

    fn amount_at_most(&self, allowed: Amount, pass: Pass) -> Result<(), Reason> {
        let Some(asked) = self.action.amount else { return Err(Reason::AmountMissing { allowed }) };
        match fits(asked, allowed) {
            Some(true) => Ok(()),
            Some(false) => Err(Reason::AmountAbove { asked, allowed }),
            None => other_currency(asked, allowed, pass),
        }
    }

    fn amount_at_least(&self, required: Amount, pass: Pass) -> Result<(), Reason> {
        let Some(asked) = self.action.amount else {
            return Err(Reason::Unmet(Unmet::AmountMissing { required }));
        };
        match fits(required, asked) {
            Some(true) => Ok(()),
            Some(false) => Err(Reason::Unmet(Unmet::AmountBelow { asked, required })),
            None => other_currency(asked, required, pass),
        }
    }

    fn counterparty(&self, test: &CounterpartyTest, pass: Pass) -> Result<(), Reason> {
        let names = &self.action.counterparties;
        if names.is_empty() {
            return Err(Reason::CounterpartyMissing);
        }
        let passing = match test {
            CounterpartyTest::In(set) => names.iter().filter(|name| set.contains(*name)).count(),
            CounterpartyTest::NotIn(set) => names.iter().filter(|name| !set.contains(*name)).count(),
            CounterpartyTest::Known(wanted) => self.known().iter().filter(|known| *known == wanted).count(),
            CounterpartyTest::Domain(domains) => match pass {
                Pass::Every => names.iter().filter(|name| domains.reach(name.as_str())).count(),
                Pass::Any => names.iter().filter(|name| may_lead_into(name.as_str(), domains)).count(),
            },
        };
        let failing = names.len().saturating_sub(passing);
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
            CounterpartyTest::Domain(_) => Reason::Unmet(Unmet::CounterpartyElsewhere(share)),
        })
    }

    /// Of each counterparty in its place, whether the principal knows it.
    fn known(&self) -> &[bool] {
        self.known.get_or_init(|| self.action.counterparties.iter().map(|name| self.is_known(name)).collect())
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
            ResourceTest::OwnedBy(required) => match self.belongs_to(resource, *required) {
                Some(belongs) => (belongs, Reason::Unmet(Unmet::ResourceOwner { required: *required })),
                None => (false, Reason::Unmet(Unmet::OwnerMissing)),
            },
        };
        if holds { Ok(()) } else { Err(otherwise) }
    }

    /// Whether an enforcement point states that a thing is somebody's; `None` where none says whose it is.
    fn belongs_to(&self, thing: &ExternalName, owner: Owner) -> Option<bool> {
        const PRINCIPAL: &str = "principal";
        let stated = self.action.facts.as_ref()?.get("owners")?.get(thing.as_str())?.as_str()?;
        Some(match owner {
            Owner::Principal => stated == PRINCIPAL || stated == self.principal.to_string(),
            Owner::Counterparty => {
                stated != PRINCIPAL && self.action.counterparties.iter().any(|name| name.as_str() == stated)
            }
        })
    }

    fn arguments(&self) -> Result<&'a Map<String, Value>, Reason> {
        self.action.arguments.as_deref().ok_or(Reason::Unmet(Unmet::ArgumentsMissing))
    }

    fn argument(&self, at: &Pointer, test: &ArgumentTest, pass: Pass) -> Result<(), Reason> {
        self.value(Part::Argument, self.arguments()?, at, test, pass)
    }

    fn fact(&self, at: &Pointer, test: &ArgumentTest, pass: Pass) -> Result<(), Reason> {
        let facts = self.action.facts.as_ref().ok_or(Reason::Unmet(Unmet::FactsMissing))?;
        self.value(Part::Fact, facts, at, test, pass)
    }

    fn value(
        &self,
        part: Part,
        given: &Map<String, Value>,
        at: &Pointer,
        test: &ArgumentTest,
        pass: Pass,
    ) -> Result<(), Reason> {
        let place = lookup(given, at.as_str());
        if pass == Pass::Any && place.is_none() {
            let Ok(found) = all_at(given, at.as_str()) else { return Ok(()) };
            let cost = found.iter().map(|value| test.cost(*value)).fold(0, usize::saturating_add);
            if !self.may_work(cost) {
                return Err(Reason::TooMuchWork);
            }
            if found.into_iter().any(|value| test.holds(value, pass)) {
                return Ok(());
            }
        } else if !self.may_work(test.cost(place)) {
            return Err(Reason::TooMuchWork);
        }
        value(part, given, at, test, pass)
    }

    fn evidence(&self, test: &EvidenceTest, pass: Pass) -> Result<(), Unmet> {
        let evidence = self.action.evidence.as_ref().ok_or(Unmet::EvidenceMissing)?;
        let asked = evidence.cites.len();
        match test {
            EvidenceTest::Confidence(least) => match &evidence.confidence {
                None => Err(Unmet::ConfidenceMissing { required: least.to_string() }),
                Some(confidence) if confidence >= least => Ok(()),
                Some(confidence) => {
                    Err(Unmet::ConfidenceBelow { asked: confidence.to_string(), required: least.to_string() })
                }
            },
            EvidenceTest::CitesExactly(count) if asked == *count => Ok(()),
            EvidenceTest::CitesExactly(required) => {
                Err(Unmet::CitesCount { asked, required: *required, exactly: true })
            }
            EvidenceTest::CitesAtLeast(least) if asked >= *least => Ok(()),
            EvidenceTest::CitesAtLeast(required) => {
                Err(Unmet::CitesCount { asked, required: *required, exactly: false })
            }
            EvidenceTest::CitesOwnedBy(required) => {
                let belongs = |thing: &&ExternalName| self.belongs_to(thing, *required) == Some(true);
                let belonging = evidence.cites.iter().filter(belongs).count();
                let holds = match pass {
                    Pass::Every => asked > 0 && belonging == asked,
                    Pass::Any => belonging > 0,
                };
                let share = Share { part: asked - belonging, of: asked };
                if holds { Ok(()) } else { Err(Unmet::CitesOwner { share, required: *required }) }
            }
        }
    }

    fn label(&self, label: &str, test: &LabelTest, pass: Pass) -> Result<(), Unmet> {
        let (LabelTest::AtMost(level) | LabelTest::AtLeast(level)) = test;
        let named = || label.to_owned();
        let given = self.action.labels.get(label);
        let ranks = (self.labels.rank(label, level), given.and_then(|given| self.labels.rank(label, given)));
        let (given, bound, rank) = match (given, ranks, pass) {
            (Some(given), (Some(bound), Some(rank)), _) => (given, bound, rank),
            // How a level that is not declared compares nobody can tell.
            (Some(_), _, Pass::Any) => return Ok(()),
            (_, (None, _), _) => return Err(Unmet::LabelUndeclared { label: named() }),
            (_, (Some(_), _), _) => return Err(Unmet::LabelMissing { label: named() }),
        };
        let (asked, level) = (given.clone(), level.clone());
        match test {
            LabelTest::AtMost(_) if rank > bound => {
                Err(Unmet::LabelAbove { label: named(), asked, allowed: level })
            }
            LabelTest::AtLeast(_) if rank < bound => {
                Err(Unmet::LabelBelow { label: named(), asked, required: level })
            }
            LabelTest::AtMost(_) | LabelTest::AtLeast(_) => Ok(()),
        }
    }

    fn hours(&self, hours: &Hours) -> Result<(), Reason> {
        if hours.hold(self.now) {
            return Ok(());
        }
        Err(Reason::Unmet(Unmet::OutsideHours { at: hours.clock(self.now), allowed: hours.to_string() }))
    }

    fn links(&self, domains: &HostDomains, pass: Pass) -> Result<(), Reason> {
        let arguments = self.arguments()?;
        let links = self.links.get_or_init(|| links_in(arguments));
        if !self.may_work(links.len().saturating_mul(COMPARISON)) {
            return Err(Reason::TooMuchWork);
        }
        match pass {
            Pass::Every => {
                let inside = links.iter().all(|link| link.as_ref().is_some_and(|host| domains.hold(host)));
                unless(!inside, Unmet::LinkOutside)
            }
            // Where a link leads that nobody can tell, it may lead there.
            Pass::Any => {
                let inside = links.iter().any(|link| link.as_ref().is_none_or(|host| domains.hold(host)));
                unless(!inside, Unmet::LinkMissing)
            }
        }
    }
}

/// An amount in another currency is there, and cannot be compared: a bound on it acts in a refusal.
fn other_currency(asked: Amount, bound: Amount, pass: Pass) -> Result<(), Reason> {
    match pass {
        Pass::Every => Err(Reason::AmountCurrency { asked: asked.currency(), allowed: bound.currency() }),
        Pass::Any => Ok(()),
    }
}

fn unless(fails: bool, why: Unmet) -> Result<(), Reason> {
    if fails { Err(Reason::Unmet(why)) } else { Ok(()) }
}

/// Tests one value at its place. A number that fails a bound is named, unless it is longer than a number to be
/// read by a person.
fn value(
    part: Part,
    given: &Map<String, Value>,
    at: &Pointer,
    test: &ArgumentTest,
    pass: Pass,
) -> Result<(), Reason> {
    const LONGEST_SHOWN: usize = 24;
    let value = lookup(given, at.as_str());
    if test.holds(value, pass) {
        return Ok(());
    }
    let at = at.clone();
    let Some(value) = value else { return Err(Reason::Unmet(Unmet::ValueMissing { part, at })) };
    let number = || test.failing_number(value).filter(|number| number.to_string().len() <= LONGEST_SHOWN);
    Err(Reason::Unmet(match test {
        ArgumentTest::Exists(_) => Unmet::ValuePresent { part, at },
        ArgumentTest::AtMost(allowed) if let Some(asked) = number() => {
            Unmet::ValueAbove { part, at, asked, allowed: allowed.clone() }
        }
        ArgumentTest::AtLeast(required) if let Some(asked) = number() => {
            Unmet::ValueBelow { part, at, asked, required: required.clone() }
        }
        ArgumentTest::Equals(_)
        | ArgumentTest::In(_)
        | ArgumentTest::NotIn(_)
        | ArgumentTest::AtMost(_)
        | ArgumentTest::AtLeast(_)
        | ArgumentTest::Domain(_)
        | ArgumentTest::Prefix(_)
        | ArgumentTest::Matches(_)
        | ArgumentTest::Each(_) => Unmet::ValueOutside { part, at, test: test.name() },
    }))
}

/// Whether `asked` is no more than `most`; `None` when the currencies differ.
pub(super) fn fits(asked: Amount, most: Amount) -> Option<bool> {
    (asked.currency() == most.currency()).then(|| asked.minor_units() <= most.minor_units())
}
