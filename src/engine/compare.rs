//! Is it narrower? Two versions of a document, compared by what they can answer.
//!
//! Everything rests on one question: is `a` *provably no wider* than `b`, which means that to every action,
//! at every instant, `a` answers the same as `b` or stricter. It is decided from the clauses alone and
//! conservatively: a yes is certain, a no may only mean that no proof was found. Compared is one document
//! with the rest of the standing unchanged.

use super::condition::fits;
use super::document::{
    Applies, Clause, Condition, CredentialClauses, Domain, Effect, KnownCounterparty, MandateDocument,
    Otherwise, PolicyDocument, Validity,
};
use super::implies::{Known, PremiseIn, implies};
use super::limit::{Limit, no_wider as no_more_room};
use super::terms::Terms;
use crate::domain::{IntentPattern, Outcome, Scope};
use std::collections::BTreeSet;

/// What a new version does to what the old one let through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// Every action is answered as before.
    Unchanged,
    /// No action is answered less strictly than before.
    Narrowed,
    /// No action is answered more strictly than before.
    Widened,
    /// Neither could be shown.
    Mixed,
}

impl Change {
    /// The word for it in answers and receipts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Narrowed => "narrowed",
            Self::Widened => "widened",
            Self::Mixed => "mixed",
        }
    }

    /// Whether something may now be let through that was not before.
    pub const fn may_widen(self) -> bool {
        match self {
            Self::Unchanged | Self::Narrowed => false,
            Self::Widened | Self::Mixed => true,
        }
    }

    const fn from_proofs(new_is_no_wider: bool, old_is_no_wider: bool) -> Self {
        match (new_is_no_wider, old_is_no_wider) {
            (true, true) => Self::Unchanged,
            (true, false) => Self::Narrowed,
            (false, true) => Self::Widened,
            (false, false) => Self::Mixed,
        }
    }
}

/// What a new version of a mandate does.
///
/// Titles and the order of clauses mean nothing. Two versions that both stop every action are unchanged in
/// what they answer, whatever else they say. A shorter list of known counterparties counts as narrower also
/// for the clauses of policies and credentials, where it is so unless they refuse or escalate what is known.
pub fn compare(old: &MandateDocument, new: &MandateDocument) -> Change {
    Change::from_proofs(mandate_no_wider(new, old), mandate_no_wider(old, new))
}

/// What a new version of a policy does.
pub fn compare_policies(old: &PolicyDocument, new: &PolicyDocument) -> Change {
    Change::from_proofs(policy_no_wider(new, old), policy_no_wider(old, new))
}

/// What other clauses of a credential do.
pub fn compare_clauses(old: &CredentialClauses, new: &CredentialClauses) -> Change {
    let known = Known { same: true };
    let no_wider = |a, b| no_wider(Terms::compared(a), Terms::compared(b), known);
    Change::from_proofs(no_wider(new, old), no_wider(old, new))
}

/// Whether a derived credential's clauses are provably no wider than its parent's.
///
/// The parent's limits are left out: they count every call of the child in the parent's own books, whatever the
/// child's clauses say.
pub fn clauses_within(child: &CredentialClauses, parent: &CredentialClauses) -> bool {
    let mut unlimited = parent.clone();
    for clause in &mut unlimited.0 {
        clause.limits.clear();
    }
    no_wider(Terms::compared(child), Terms::compared(&unlimited), Known { same: true })
}

fn mandate_no_wider(a: &MandateDocument, b: &MandateDocument) -> bool {
    let stopped = !a.scopes.contains(Scope::ActionRequest);
    let known = Known { same: known_within(&b.counterparties, &a.counterparties) };
    a.scopes.is_subset_of(b.scopes)
        && valid_within(a.valid, b.valid)
        && known_within(&a.counterparties, &b.counterparties)
        && (stopped || same_counterparties(&a.counterparties, &b.counterparties))
        && (stopped || domains_within(&a.domains, &b.domains, known))
        && (stopped || no_wider(Terms::mandate(a), Terms::mandate(b), known))
}

/// Every agent and country that either version names, and one of each that neither does, see a rule set
/// that is no wider. What a level of a label means also decides in mandates, so other labels prove nothing. Where several sets apply because the country is uncertain, the strictest of each
/// version is then no wider either.
fn policy_no_wider(a: &PolicyDocument, b: &PolicyDocument) -> bool {
    let sets = || a.rule_sets.iter().chain(&b.rule_sets);
    let agents: BTreeSet<_> = sets().map(|set| set.applies.agent).chain([None]).collect();
    let countries: BTreeSet<_> = sets().map(|set| set.applies.country).chain([None]).collect();
    let pairs: BTreeSet<_> = agents
        .iter()
        .flat_map(|agent| countries.iter().map(|country| (*agent, *country)))
        .map(|(agent, country)| {
            let applies = |policy: &PolicyDocument| policy.select(agent, country).map(|set| set.applies);
            (applies(a), applies(b))
        })
        .collect();
    a.labels == b.labels
        && a.unregistered >= b.unregistered
        && domains_within(&a.domains, &b.domains, Known { same: true })
        && pairs.into_iter().all(|(of_a, of_b)| {
            let (of_a, of_b) = (clauses_for(a, of_a), clauses_for(b, of_b));
            no_wider(Terms::policy(of_a), Terms::policy(of_b), Known { same: true })
        })
}

/// Whether `a` accepts no request that `b` turns away as outside a domain.
fn domains_within(a: &[Domain], b: &[Domain], known: Known) -> bool {
    let bounds = |of_a: &Domain, test: &Condition, intent: &IntentPattern| {
        of_a.intent.covers(intent)
            && of_a.when.iter().any(|premise| implies(premise, test, known, PremiseIn::A))
    };
    b.iter().all(|of_b| of_b.when.iter().all(|test| a.iter().any(|of_a| bounds(of_a, test, &of_b.intent))))
}

fn clauses_for(policy: &PolicyDocument, applies: Option<Applies>) -> &[Clause] {
    let set = policy.rule_sets.iter().find(|set| Some(set.applies) == applies);
    set.map_or(&[], |set| &set.clauses)
}

/// Whether every name that either version lists means the same counterparty in both: under another id the limits of
/// `each` counterparty would begin anew, also those of credentials.
fn same_counterparties(a: &[KnownCounterparty], b: &[KnownCounterparty]) -> bool {
    let names = a.iter().chain(b).flat_map(|listed| listed.aliases.iter().chain([&listed.id]));
    let mut names = names.collect::<BTreeSet<_>>().into_iter();
    names.all(|name| KnownCounterparty::id_in(a, name) == KnownCounterparty::id_in(b, name))
}

/// Whether everything `inner` knows is known to `outer`, up to no lower an amount.
fn known_within(inner: &[KnownCounterparty], outer: &[KnownCounterparty]) -> bool {
    inner.iter().all(|known| {
        known.aliases.iter().chain([&known.id]).all(|name| {
            outer.iter().any(|other| {
                other.is_called(name)
                    && match (known.at_most, other.at_most) {
                        (_, None) => true,
                        (None, Some(_)) => false,
                        (Some(inner), Some(outer)) => fits(inner, outer) == Some(true),
                    }
            })
        })
    })
}

fn valid_within(inner: Option<Validity>, outer: Option<Validity>) -> bool {
    let from = |valid: Option<Validity>| valid.and_then(|valid| valid.from);
    let until = |valid: Option<Validity>| valid.and_then(|valid| valid.until);
    let starts_no_earlier = from(outer).is_none_or(|outer| from(inner).is_some_and(|inner| inner >= outer));
    let ends_no_later = until(outer).is_none_or(|outer| until(inner).is_some_and(|inner| inner <= outer));
    starts_no_earlier && ends_no_later
}

/// Whether `a` answers every action as strictly as `b`, or more so.
///
/// Eight things make it so: `a` refuses wherever a refusal of `b` acts; it escalates or refuses wherever an
/// escalation of `b` acts, and says what that says must hold; it passes by an allowance, and as unlisted, only where `b` passes; and where
/// `b` comes to a refusal because a condition failed, or because no clause names the intent, so does `a`; and
/// whose yes is asked for stays the same. The books are the same for both.
fn no_wider(a: Terms<'_>, b: Terms<'_>, known: Known) -> bool {
    let met = |of_b: &Clause, of_a: &Clause| acts_wherever(of_a, of_b, known, PremiseIn::B);
    refusals(b)
        .all(|of_b| refusals(a).any(|of_a| met(of_b, of_a)) || floor(a, &of_b.intent) == Outcome::Refuse)
        && escalations(b).all(|of_b| {
            refusals(a).chain(escalations(a)).any(|of_a| met(of_b, of_a))
                || floor(a, &of_b.intent) >= Outcome::Escalate
        })
        && obliged(b).all(|of_b| {
            obliged(a).any(|of_a| of_a.obligation == of_b.obligation && met(of_b, of_a))
                || refusals(a).any(|of_a| met(of_b, of_a))
                || floor(a, &of_b.intent) == Outcome::Refuse
        })
        && allowances(a).all(|(of_a, _)| passes_only_where(of_a, a, b, known))
        && unlisted_passes_only_where(a, b)
        && failed_allowances_refuse(a, b)
        && unlisted_refuses(a, b, known)
        && approvals_stay(a, b)
}

/// Whether whose yes is asked for stays the same: where a clause of either asks for more than the principal's,
/// every allowance and escalation that meets its intents stands in both.
///
/// Asking more people, or others, is not shown to be narrower: the principal's own yes may then no longer count.
fn approvals_stay(a: Terms<'_>, b: Terms<'_>) -> bool {
    let asking = |terms: Terms<'_>| {
        let clauses = terms.clauses.iter().filter(|clause| clause.approvals.is_some());
        clauses.map(|clause| clause.intent.clone()).collect::<Vec<_>>()
    };
    let asked: Vec<IntentPattern> = asking(a).into_iter().chain(asking(b)).collect();
    let stands_in = |clause: &Clause, other: Terms<'_>| {
        other.clauses.iter().any(|there| Clause { title: clause.title.clone(), ..there.clone() } == *clause)
    };
    let near = |terms: Terms<'_>, other: Terms<'_>| {
        let softer = terms.clauses.iter().filter(|clause| clause.effect != Effect::Refuse);
        softer
            .filter(|clause| asked.iter().any(|intent| intent.overlaps(&clause.intent)))
            .all(|clause| stands_in(clause, other))
    };
    asked.is_empty() || (near(a, b) && near(b, a))
}

/// Whether the allowance `of_b` holds wherever `of_a` of the other document does: its conditions follow, and its
/// limits leave at least as much room in the same books.
fn bounded_by(of_a: &Clause, of_b: &Clause, known: Known) -> bool {
    let follows =
        |test: &Condition| of_a.when.iter().any(|premise| implies(premise, test, known, PremiseIn::A));
    let has_room = |limit: &Limit| {
        (limit.pool.is_some() || of_a.id == of_b.id) && of_a.limits.iter().any(|own| no_more_room(own, limit))
    };
    of_b.when.iter().all(follows) && of_b.limits.iter().all(has_room)
}

fn allowances(terms: Terms<'_>) -> impl Iterator<Item = (&Clause, Otherwise)> {
    terms.clauses.iter().filter_map(|clause| match clause.effect {
        Effect::Allow { otherwise } => Some((clause, otherwise)),
        Effect::Escalate | Effect::Refuse => None,
    })
}

/// The escalations that tell whoever decides what must hold.
fn obliged(terms: Terms<'_>) -> impl Iterator<Item = &Clause> {
    escalations(terms).filter(|clause| clause.obligation.is_some())
}

fn escalations(terms: Terms<'_>) -> impl Iterator<Item = &Clause> {
    terms.clauses.iter().filter(|clause| clause.effect == Effect::Escalate)
}

fn refusals(terms: Terms<'_>) -> impl Iterator<Item = &Clause> {
    terms.clauses.iter().filter(|clause| clause.effect == Effect::Refuse)
}

/// The clause that refuses every intent of `pattern` without any condition, if there is one.
pub(super) fn unconditional_refusal<'a>(
    clauses: &'a [Clause],
    pattern: &IntentPattern,
) -> Option<&'a Clause> {
    clauses.iter().find(|clause| {
        clause.effect == Effect::Refuse && clause.when.is_empty() && clause.intent.covers(pattern)
    })
}

/// What every intent of `pattern` comes to at least, since no allowance names any of them.
fn floor(terms: Terms<'_>, pattern: &IntentPattern) -> Outcome {
    let meets = |clause: &Clause| clause.intent.overlaps(pattern);
    if allowances(terms).any(|(clause, _)| meets(clause)) {
        return Outcome::Allow;
    }
    // An escalation that acts stands in the place of "unlisted".
    let softened = escalations(terms).any(meets);
    match terms.unlisted() {
        Outcome::Refuse if !softened => Outcome::Refuse,
        Outcome::Refuse | Outcome::Escalate => Outcome::Escalate,
        Outcome::Allow => Outcome::Allow,
    }
}

/// Whether the refusal or escalation `x` acts on everything that `y` of the other document acts on.
fn acts_wherever(x: &Clause, y: &Clause, known: Known, y_in: PremiseIn) -> bool {
    let follows = |test: &Condition| y.when.iter().any(|premise| implies(premise, test, known, y_in));
    x.intent.covers(&y.intent) && x.when.iter().all(follows)
}

/// Whether `b` passes every action that the allowance `clause` of `a` passes.
fn passes_only_where(clause: &Clause, a: Terms<'_>, b: Terms<'_>, known: Known) -> bool {
    let within = |wider: &Clause| wider.intent.covers(&clause.intent) && bounded_by(clause, wider, known);
    let unlisted_in_b = b.unlisted() == Outcome::Allow
        && allowances(b).all(|(other, _)| !other.intent.overlaps(&clause.intent));
    allowances(b).any(|(wider, _)| within(wider))
        || unlisted_in_b
        || unconditional_refusal(a.clauses, &clause.intent).is_some()
}

/// Where `a` passes what no allowance of it names, `b` must pass too.
fn unlisted_passes_only_where(a: Terms<'_>, b: Terms<'_>) -> bool {
    let named_in_a = |pattern: &IntentPattern| allowances(a).any(|(clause, _)| clause.intent.covers(pattern));
    a.unlisted() != Outcome::Allow
        || (b.unlisted() == Outcome::Allow
            && allowances(b).all(|(clause, _)| clause.is_unconditional() || named_in_a(&clause.intent)))
}

/// Where `b` refuses because a condition failed, `a` must refuse too.
fn failed_allowances_refuse(a: Terms<'_>, b: Terms<'_>) -> bool {
    allowances(b)
        .filter(|(clause, otherwise)| *otherwise == Otherwise::Refuse && !clause.is_unconditional())
        .all(|(clause, _)| comes_to_refusal(a, &clause.intent))
}

/// Whether every intent of `pattern` that no allowance passes is refused.
fn comes_to_refusal(terms: Terms<'_>, pattern: &IntentPattern) -> bool {
    let fails_hard = allowances(terms)
        .any(|(clause, otherwise)| otherwise == Otherwise::Refuse && clause.intent.covers(pattern));
    let nothing_softer = terms.unlisted() == Outcome::Refuse
        && allowances(terms)
            .all(|(clause, otherwise)| otherwise == Otherwise::Refuse || !clause.intent.overlaps(pattern))
        && escalations(terms).all(|clause| !clause.intent.overlaps(pattern));
    fails_hard || nothing_softer || unconditional_refusal(terms.clauses, pattern).is_some()
}

/// Where `b` refuses because no clause names the intent, `a` must refuse too.
fn unlisted_refuses(a: Terms<'_>, b: Terms<'_>, known: Known) -> bool {
    let named_in_b = |pattern: &IntentPattern| allowances(b).any(|(clause, _)| clause.intent.covers(pattern));
    b.unlisted() != Outcome::Refuse
        || unconditional_refusal(a.clauses, &IntentPattern::Any).is_some()
        || (a.unlisted() == Outcome::Refuse
            && allowances(a)
                .all(|(clause, otherwise)| otherwise == Otherwise::Refuse || named_in_b(&clause.intent))
            && escalations(a).all(|clause| {
                named_in_b(&clause.intent)
                    || escalations(b).any(|other| acts_wherever(other, clause, known, PremiseIn::A))
            }))
}
