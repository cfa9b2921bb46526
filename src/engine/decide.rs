//! The decision: what a standing says to one action at one instant.

use super::action::Action;
use super::condition::{Facts, KnownCounterparties, Pass};
use super::document::{
    Applies, Clause, CredentialClauses, Effect, MandateDocument, PolicyDocument, RuleSet, Unregistered,
};
use super::reason::{ClauseRef, Finding, Reason, ServiceClause, Source};
use crate::domain::{AgentId, AgentKind, Country, FactsFrom, Outcome, Scope, Scopes, Timestamp};
use std::collections::BTreeSet;

/// How many distinct reasons one answer spells out.
const MOST_REASONS: usize = 3;

/// Everything that decides, at one instant.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    /// What the token, the credential and all its ancestors carry in common.
    pub scopes: Scopes,
    /// Who asks.
    pub agent: AgentId,
    /// What the agent is for.
    pub agent_kind: AgentKind,
    /// The principal's live mandate.
    pub mandate: &'a MandateDocument,
    /// The tenant's live policy.
    pub policy: &'a PolicyDocument,
    /// The credential's own clauses, then its ancestors'.
    pub credentials: &'a [&'a CredentialClauses],
    /// The country the credential is fixed to.
    pub country_fixed: Option<Country>,
    /// Whom the principal approved before.
    pub known: &'a dyn KnownCounterparties,
}

/// An answer and everything that decided it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The answer.
    pub outcome: Outcome,
    /// What decided, the strictest first, then by source and clause id.
    pub findings: Vec<Finding>,
    /// Whether a person's approval turned an escalation into this allow.
    pub approved: bool,
}

impl Verdict {
    /// The ids of the clauses that came to the outcome (of an approved one: those that had escalated),
    /// none twice.
    pub fn clauses(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for finding in self.deciding() {
            let id = finding.clause.to_string();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// One sentence for a person; it names no counterparty and no resource.
    pub fn reason(&self) -> String {
        let mut sentences: Vec<String> = Vec::new();
        for finding in self.deciding() {
            let sentence = finding.to_string();
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let more = sentences.len().saturating_sub(MOST_REASONS);
        sentences.truncate(MOST_REASONS);
        if more > 0 {
            sentences.push(format!("and {more} more"));
        }
        let text = sentences.join("; ");
        if self.approved { format!("approved by a person: {text}") } else { text }
    }

    /// The findings that came to the outcome, or to the escalation that was approved.
    fn deciding(&self) -> impl Iterator<Item = &Finding> {
        let effect = if self.approved { Outcome::Escalate } else { self.outcome };
        self.findings.iter().filter(move |finding| finding.effect == effect)
    }

    /// The most restrictive finding is the answer; where nothing was found, the answer is no.
    fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|one, other| {
            (other.effect.cmp(&one.effect))
                .then_with(|| one.source.cmp(&other.source))
                .then_with(|| one.clause.cmp(&other.clause))
        });
        findings.dedup();
        let outcome = findings.first().map_or(Outcome::Refuse, |finding| finding.effect);
        Self { outcome, findings, approved: false }
    }
}

/// Decides one action.
///
/// The order is that of the rules: scopes, validity and kind of agent first, each alone enough to refuse;
/// then policy, mandate and every credential, of which the most restrictive wins.
pub fn decide(standing: &Standing<'_>, action: &Action, now: Timestamp) -> Verdict {
    if let Some(refusal) = refused_outright(standing, now) {
        return Verdict::of(vec![refusal]);
    }
    let facts = Facts {
        action,
        countries: action.country.into_iter().chain(standing.country_fixed).collect(),
        approved: standing.known,
        listed: &standing.mandate.counterparties,
    };
    let mut findings = Vec::new();
    findings.extend(unregistered(standing.policy, action));
    for set in applicable(standing, action) {
        findings.extend(Terms::policy(&set.clauses).evaluate(&facts));
    }
    findings.extend(Terms::mandate(standing.mandate).evaluate(&facts));
    for clauses in standing.credentials {
        findings.extend(Terms::credential(clauses).evaluate(&facts));
    }
    let allowed = findings.iter().all(|finding| finding.effect == Outcome::Allow);
    match standing.agent_kind {
        AgentKind::Reading if allowed => {
            findings.push(service(ServiceClause::AgentKind, Outcome::Escalate, Reason::AgentReads));
        }
        AgentKind::Acting | AgentKind::Reading | AgentKind::Answering => {}
    }
    Verdict::of(findings)
}

/// Turns an escalation into an allow, on a person's approval; never a refusal.
#[must_use]
pub fn permit_with_approval(verdict: Verdict) -> Verdict {
    match verdict.outcome {
        Outcome::Escalate => Verdict { outcome: Outcome::Allow, approved: true, ..verdict },
        Outcome::Allow | Outcome::Refuse => verdict,
    }
}

/// What an agent effectively holds: what its token carries and the live mandate grants, and never
/// `mandate:write`.
#[must_use]
pub fn effective_scopes(carried: Scopes, mandate: &MandateDocument) -> Scopes {
    carried.intersection(mandate.scopes).without(Scope::MandateWrite)
}

/// What stops every action of this standing, whatever it is.
fn refused_outright(standing: &Standing<'_>, now: Timestamp) -> Option<Finding> {
    let refuse = |clause, reason| Some(service(clause, Outcome::Refuse, reason));
    if standing.scopes.contains(Scope::MandateWrite) {
        return refuse(ServiceClause::CredentialScopes, Reason::ScopeWithheld);
    }
    if !standing.scopes.contains(Scope::ActionRequest) {
        return refuse(ServiceClause::CredentialScopes, Reason::ScopeNotCarried);
    }
    if !standing.mandate.scopes.contains(Scope::ActionRequest) {
        return refuse(ServiceClause::MandateScopes, Reason::ScopeSwitchedOff);
    }
    let valid = standing.mandate.valid;
    if let Some(from) = valid.and_then(|valid| valid.from).filter(|from| now < *from) {
        return refuse(ServiceClause::MandateNotYetValid, Reason::NotYetValid { from });
    }
    if let Some(until) = valid.and_then(|valid| valid.until).filter(|until| now >= *until) {
        return refuse(ServiceClause::MandateExpired, Reason::Expired { until });
    }
    match standing.agent_kind {
        AgentKind::Answering => refuse(ServiceClause::AgentKind, Reason::AgentAnswers),
        AgentKind::Acting | AgentKind::Reading => None,
    }
}

fn service(clause: ServiceClause, effect: Outcome, reason: Reason) -> Finding {
    Finding { clause: ClauseRef::Service(clause), source: Source::Service, effect, reason }
}

fn unregistered(policy: &PolicyDocument, action: &Action) -> Option<Finding> {
    let effect = match policy.unregistered {
        Unregistered::Described => return None,
        Unregistered::Escalate => Outcome::Escalate,
        Unregistered::Refuse => Outcome::Refuse,
    };
    (!action.registered).then_some(Finding {
        clause: ClauseRef::Service(ServiceClause::PolicyUnregistered),
        source: Source::Policy,
        effect,
        reason: Reason::Unregistered,
    })
}

/// The rule sets that count for this action.
///
/// Where the country is more than the agent's word, one set for each country that is certain; otherwise
/// every set that some country could have selected, so that naming another country never helps.
fn applicable<'a>(standing: &Standing<'a>, action: &Action) -> Vec<&'a RuleSet> {
    let policy = standing.policy;
    let stated = match action.facts_from {
        FactsFrom::Derived | FactsFrom::Attested => action.country,
        FactsFrom::Described => None,
    };
    let mut countries: BTreeSet<Option<Country>> =
        stated.into_iter().chain(standing.country_fixed).map(Some).collect();
    if countries.is_empty() {
        countries.insert(None);
        countries.extend(policy.rule_sets.iter().map(|set| set.applies.country));
    }
    let mut sets: Vec<&RuleSet> = Vec::new();
    for set in countries.into_iter().filter_map(|country| policy.select(standing.agent, country)) {
        if !sets.iter().any(|chosen| chosen.applies == set.applies) {
            sets.push(set);
        }
    }
    sets
}

impl PolicyDocument {
    /// The most specific rule set for an agent in a country: for both, else for the agent, else for the
    /// country, else the general one.
    pub fn select(&self, agent: AgentId, country: Option<Country>) -> Option<&RuleSet> {
        let find =
            |agent, country| self.rule_sets.iter().find(|set| set.applies == Applies { agent, country });
        find(Some(agent), country)
            .or_else(|| find(Some(agent), None))
            .or_else(|| find(None, country))
            .or_else(|| find(None, None))
    }
}

/// The clauses of one document, and what becomes of an intent that none of them names.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    source: Source,
    pub(super) clauses: &'a [Clause],
    /// `None` passes: nothing found, nothing said.
    unlisted: Option<(Outcome, ServiceClause)>,
}

impl<'a> Terms<'a> {
    pub(super) fn policy(clauses: &'a [Clause]) -> Self {
        Self { source: Source::Policy, clauses, unlisted: None }
    }

    pub(super) fn mandate(document: &'a MandateDocument) -> Self {
        let unlisted = Some((document.unlisted.outcome(), ServiceClause::MandateUnlisted));
        Self { source: Source::Mandate, clauses: &document.clauses, unlisted }
    }

    /// Only clauses with an allowance among them say something to intents they do not name.
    pub(super) fn credential(document: &'a CredentialClauses) -> Self {
        let allows = document.0.iter().any(Clause::is_allowance);
        let unlisted = allows.then_some((Outcome::Escalate, ServiceClause::CredentialUnlisted));
        Self { source: Source::Credential, clauses: &document.0, unlisted }
    }

    /// What becomes of an intent that no clause names.
    pub(super) fn unlisted(&self) -> Outcome {
        self.unlisted.map_or(Outcome::Allow, |(outcome, _)| outcome)
    }

    /// What the document says to the action: its refusals alone if one acts, otherwise its escalations
    /// and what its allowances come to.
    fn evaluate(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let named = || self.clauses.iter().filter(|clause| clause.intent.matches(&facts.action.intent));
        let acting = |effect: Effect| {
            named().filter(move |clause| {
                clause.effect == effect && facts.test_all(&clause.when, Pass::Any).is_ok()
            })
        };
        let refusals: Vec<Finding> = acting(Effect::Refuse)
            .map(|clause| self.finding(clause, Outcome::Refuse, Reason::Forbidden))
            .collect();
        if !refusals.is_empty() {
            return refusals;
        }
        let mut findings: Vec<Finding> = acting(Effect::Escalate)
            .map(|clause| self.finding(clause, Outcome::Escalate, Reason::AsksAPerson))
            .collect();
        let acted = !findings.is_empty();
        findings.extend(self.allowances(named(), facts, acted));
        findings
    }

    /// One passing allowance suffices, and of several the smallest id is named; if none passes, every
    /// one that failed is; if there is none and no escalation acted either, the intent is unlisted.
    fn allowances<'c>(
        &self,
        named: impl Iterator<Item = &'c Clause>,
        facts: &Facts<'_>,
        acted: bool,
    ) -> Vec<Finding> {
        let mut passing: Option<&Clause> = None;
        let mut failing = Vec::new();
        for clause in named {
            let Effect::Allow { otherwise } = clause.effect else { continue };
            match facts.test_all(&clause.when, Pass::Every) {
                Ok(()) if passing.is_none_or(|best| clause.id < best.id) => passing = Some(clause),
                Ok(()) => {}
                Err(reason) => failing.push(self.finding(clause, otherwise.outcome(), reason)),
            }
        }
        if let Some(clause) = passing {
            // A policy passes to the mandate; it never allows, so it has nothing to name here.
            return match self.source {
                Source::Policy => Vec::new(),
                Source::Mandate | Source::Credential | Source::Service => {
                    vec![self.finding(clause, Outcome::Allow, Reason::Allowed)]
                }
            };
        }
        if failing.is_empty()
            && !acted
            && let Some((effect, clause)) = self.unlisted
        {
            let clause = ClauseRef::Service(clause);
            return vec![Finding { clause, source: self.source, effect, reason: Reason::Unlisted }];
        }
        failing
    }

    fn finding(&self, clause: &Clause, effect: Outcome, reason: Reason) -> Finding {
        Finding { clause: ClauseRef::Written(clause.id.clone()), source: self.source, effect, reason }
    }
}
