//! Clauses that nothing reaches, allowances on what nobody knows, and what cannot be taken back.

use super::limits::{entry_of, only_currency};
use super::{Admission, Beside, Part};
use crate::domain::IntentPattern;
use crate::engine::catalogue::{Catalogue, CatalogueEntry};
use crate::engine::check::{amount_bounds, conflict, hindrance};
use crate::engine::compare::unconditional_refusal;
use crate::engine::document::{Clause, Condition, Domain, Effect, PolicyDocument, Unregistered};
use crate::engine::limit::Bound;

/// What stands before the clauses of a document.
pub(super) struct Reach<'a> {
    pub(super) beside: Beside<'a>,
    pub(super) domains: &'a [Domain],
}

impl Reach<'_> {
    /// Says why a clause never does anything, or does it on somebody's word alone; whether it never does.
    pub(super) fn clause(
        &self,
        clause: &Clause,
        pointer: &str,
        part: &Part<'_>,
        said: &mut Admission,
    ) -> bool {
        let before = said.warnings.len();
        let never = if clause.is_allowance() { "it can never allow anything" } else { "it never acts" };
        if let Some(why) = self.stopped_before(clause, part) {
            said.warn(pointer.to_owned(), format!("{never}: {why}"));
        }
        if let Some(domain) = self.outside(clause) {
            let message = format!("{never}: nothing inside the domain of `{domain}` meets its conditions");
            said.warn(pointer.to_owned(), message);
        }
        if let Some(entry) = entry_of(clause, self.beside.catalogue) {
            for (member, why) in not_derived(clause, entry) {
                said.warn(format!("{pointer}/when/{member}"), format!("{never}: {why}"));
            }
        }
        let is_dead = said.warnings.len() > before;
        self.unknown(clause, pointer, said);
        is_dead
    }

    /// What of its own document, or of the policy, comes before everything that a clause names.
    fn stopped_before(&self, clause: &Clause, part: &Part<'_>) -> Option<String> {
        if !clause.is_allowance()
            && let Some(other) = refused_before(clause, part.clauses)
        {
            return Some(format!("clause `{}` refuses all it names", other.id));
        }
        let policy = self.beside.policy?;
        if let Some(other) = hindered_by(policy, clause) {
            return Some(format!("clause `{}` of the policy {} all it names", other.id, other.effect.does()));
        }
        let does = match policy.unregistered {
            Unregistered::Described => return None,
            Unregistered::Escalate => "escalates",
            Unregistered::Refuse => "refuses",
        };
        let IntentPattern::Exact(intent) = &clause.intent else { return None };
        let is_unknown = clause.is_allowance() && self.beside.catalogue?.get(intent).is_none();
        is_unknown.then(|| format!("the policy {does} what the catalogue does not know"))
    }

    /// The domain in which nothing meets the conditions of a clause.
    fn outside(&self, clause: &Clause) -> Option<&IntentPattern> {
        let of_policy = self.beside.policy.map_or(&[][..], |policy| &policy.domains);
        let around =
            self.domains.iter().chain(of_policy).filter(|domain| domain.intent.covers(&clause.intent));
        let mut around = around.filter(|domain| conflict(&domain.when, &clause.when).is_some());
        around.next().map(|domain| &domain.intent)
    }

    /// An allowance on what the catalogue does not know is decided on as the agent describes it.
    fn unknown(&self, clause: &Clause, pointer: &str, said: &mut Admission) {
        let Some(catalogue) = self.beside.catalogue.filter(|_| clause.is_allowance()) else { return };
        let message = match &clause.intent {
            IntentPattern::Exact(intent) if catalogue.get(intent).is_none() => {
                format!("the catalogue does not know `{intent}`: every fact of it is the agent's word")
            }
            IntentPattern::Below(_)
                if !catalogue.entries.keys().any(|intent| clause.intent.matches(intent)) =>
            {
                format!(
                    "the catalogue knows no intent of `{}`: every fact of them is the agent's word",
                    clause.intent
                )
            }
            IntentPattern::Exact(_) | IntentPattern::Below(_) | IntentPattern::Any => return,
        };
        said.warn(format!("{pointer}/intent"), message);
    }
}

/// A clause of the same document that refuses, whatever they are like, all actions that this one names; of two that do
/// so to each other, the first stands.
fn refused_before<'a>(clause: &Clause, all: &'a [Clause]) -> Option<&'a Clause> {
    let own = all.iter().position(|other| other.id == clause.id)?;
    all.iter().enumerate().find_map(|(place, other)| {
        let covers = |one: &Clause, other: &Clause| {
            one.effect == Effect::Refuse && one.when.is_empty() && one.intent.covers(&other.intent)
        };
        let comes_first = place < own || !covers(clause, other);
        (place != own && covers(other, clause) && comes_first).then_some(other)
    })
}

/// The clause of a policy that stops everything that a clause of a mandate names, whichever rule set is used.
fn hindered_by<'a>(policy: &'a PolicyDocument, clause: &Clause) -> Option<&'a Clause> {
    let is_for_all =
        policy.rule_sets.iter().any(|set| set.applies.agent.is_none() && set.applies.country.is_none());
    let mut found = policy.rule_sets.iter().map(|set| {
        hindrance(clause, &set.clauses)
            .filter(|other| clause.is_allowance() || other.effect == Effect::Refuse)
    });
    let first = found.next()??;
    (is_for_all && found.all(|other| other.is_some())).then_some(first)
}

/// The conditions that no call of the intent meets, since the catalogue derives nothing to hold against them: their
/// member of `when`, and why.
fn not_derived(clause: &Clause, entry: &CatalogueEntry) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for condition in &clause.when {
        let (fact, is_missing) = match condition {
            Condition::Amount(_) => ("amount", entry.places.amount.is_none()),
            Condition::Counterparty(_) => ("counterparty", entry.places.counterparties.is_empty()),
            Condition::Resource(_) => ("resource", entry.places.resource.is_none()),
            // A credential may fix the country; the others are not derived.
            Condition::Country(_)
            | Condition::Untrusted(_)
            | Condition::Arguments(..)
            | Condition::Facts(..)
            | Condition::Evidence(_)
            | Condition::Labels(..)
            | Condition::Hours(_)
            | Condition::Links(_)
            | Condition::Contains(_) => continue,
        };
        if is_missing && found.iter().all(|(other, _)| *other != fact) {
            found.push((fact, format!("the catalogue derives no {fact} for `{}`", clause.intent)));
        }
    }
    let (_, bounds) = amount_bounds(&clause.when);
    if let Some(currency) = only_currency(entry)
        && let Some(bound) = bounds.iter().find(|bound| bound.currency() != currency)
    {
        let why = format!(
            "amounts of `{}` are in {currency}, the condition is in {}",
            clause.intent,
            bound.currency()
        );
        found.push(("amount", why));
    }
    found
}

/// Warns of an allowance on what cannot be taken back, where nothing keeps it from happening twice to one thing.
pub(super) fn irreversible(
    clause: &Clause,
    all: &[Clause],
    pointer: &str,
    catalogue: Option<&Catalogue>,
    said: &mut Admission,
) {
    let is_once = clause.limits.iter().any(|limit| limit.bound == Bound::Once);
    let Some(catalogue) = catalogue.filter(|_| clause.is_allowance() && !is_once) else { return };
    let named = catalogue.entries.iter().filter(|(intent, entry)| {
        let pattern = IntentPattern::Exact((*intent).clone());
        entry.irreversible && clause.intent.matches(intent) && unconditional_refusal(all, &pattern).is_none()
    });
    for (intent, _) in named {
        let message =
            format!("`{intent}` cannot be taken back, and no `once_per` keeps it from happening twice");
        said.warn(pointer.to_owned(), message);
    }
}
