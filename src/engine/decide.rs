//! The decision: what a standing says to one action at one instant.

use super::action::Action;
use super::book::{BookUse, Looks, MOST_BOOKS, Reservation, Used};
use super::condition::{Facts, KnownCounterparties};
use super::document::{
    Applies, Approvals, CredentialClauses, MandateDocument, PolicyDocument, RuleSet, Unregistered,
};
use super::reason::{ClauseRef, Finding, Reason, ServiceClause, Source};
use super::terms::{Said, Terms};
use crate::domain::{
    AgentId, AgentKind, Country, CredentialId, FactsFrom, Intent, Outcome, PrincipalId, Scope, Scopes,
    Timestamp,
};
use chrono_tz::Tz;
use std::collections::BTreeSet;

/// How many distinct reasons one answer spells out.
const MOST_REASONS: usize = 3;

/// Everything that decides, at one instant.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    /// What the token, the credential and all its ancestors carry in common.
    pub scopes: Scopes,
    /// In whose name.
    pub principal: PrincipalId,
    /// Who asks.
    pub agent: AgentId,
    /// What the agent is for.
    pub agent_kind: AgentKind,
    /// The principal's live mandate.
    pub mandate: &'a MandateDocument,
    /// The tenant's live policy.
    pub policy: &'a PolicyDocument,
    /// The credential's own clauses, then its ancestors'.
    pub credentials: &'a [CredentialTerms<'a>],
    /// The country the credential is fixed to.
    pub country_fixed: Option<Country>,
    /// Whom the principal approved before.
    pub known: &'a dyn KnownCounterparties,
    /// What limits have used, as far as [`looks`] asked for it.
    pub used: &'a Used,
    /// The tenant's zone: where the periods of the calendar begin.
    pub zone: Tz,
}

/// One credential's clauses, and whose books their limits count in.
#[derive(Clone, Copy, Debug)]
pub struct CredentialTerms<'a> {
    /// The credential.
    pub id: CredentialId,
    /// Its clauses.
    pub clauses: &'a CredentialClauses,
}

/// An answer and everything that decided it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The answer.
    pub outcome: Outcome,
    /// What decided, the strictest first, then by source and clause id.
    pub findings: Vec<Finding>,
    /// What the allow, or the allow that a person's yes would make of it, takes from the books.
    pub reservations: Vec<Reservation>,
    /// Of an escalation: looks into the books that nobody took, of allowances that their conditions keep from
    /// holding already. Taken and noted, they tell what else a person's yes would go beyond.
    pub unseen: Vec<BookUse>,
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

    /// Whose yes turns this escalation into an allow, or did: every one of these.
    pub fn approvals(&self) -> BTreeSet<Approvals> {
        self.asking().map(|finding| finding.approvals.clone().unwrap_or_else(Approvals::own)).collect()
    }

    /// What the person who decides is told must hold, in the words of the policy.
    pub fn obligations(&self) -> Vec<&str> {
        let mut sentences = Vec::new();
        for finding in self.deciding() {
            if let Reason::Obliged(obligation) = &finding.reason
                && !sentences.contains(&obligation.as_str())
            {
                sentences.push(obligation.as_str());
            }
        }
        sentences
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

    /// The findings that ask for a person's yes, or asked for the one that was given.
    pub(super) fn asking(&self) -> impl Iterator<Item = &Finding> {
        let escalated = self.approved || self.outcome == Outcome::Escalate;
        self.deciding().filter(move |_| escalated)
    }

    /// The findings that came to the outcome, or to the escalation that was approved.
    pub fn deciding(&self) -> impl Iterator<Item = &Finding> {
        let effect = if self.approved { Outcome::Escalate } else { self.outcome };
        self.findings.iter().filter(move |finding| finding.effect == effect)
    }

    /// The most restrictive finding is the answer; where nothing was found, the answer is no.
    fn of(mut findings: Vec<Finding>, reservations: Vec<Reservation>, unseen: Vec<BookUse>) -> Self {
        findings.sort_by(|one, other| {
            (other.effect.cmp(&one.effect))
                .then_with(|| one.source.cmp(&other.source))
                .then_with(|| one.clause.cmp(&other.clause))
        });
        findings.dedup();
        let outcome = findings.first().map_or(Outcome::Refuse, |finding| finding.effect);
        let reservations = if outcome == Outcome::Refuse { Vec::new() } else { reservations };
        let unseen = if outcome == Outcome::Escalate { unseen } else { Vec::new() };
        Self { outcome, findings, reservations, unseen, approved: false }
    }
}

/// The looks into the books that deciding on this action takes: to be read in the transaction of the answer and
/// given to [`decide`] in `used`.
pub fn looks(standing: &Standing<'_>, action: &Action, now: Timestamp) -> Vec<BookUse> {
    let facts = Facts::new(standing, action, now);
    let mut looks = Looks::default();
    for terms in documents(standing, action) {
        terms.looks(&facts, &mut looks);
    }
    looks.finish()
}

/// Decides one action, with the books read as they are asked for; gives back what they showed, too.
///
/// # Errors
/// Those of reading.
pub fn decide_reading<E>(
    unread: &Standing<'_>,
    action: &Action,
    now: Timestamp,
    mut read: impl FnMut(&BookUse) -> Result<u64, E>,
) -> Result<(Verdict, Used), E> {
    let mut used = Used::default();
    for look in looks(unread, action, now) {
        used.note(&look, read(&look)?);
    }
    let verdict = decide(&Standing { used: &used, ..*unread }, action, now);
    if verdict.unseen.is_empty() {
        return Ok((verdict, used));
    }
    for look in &verdict.unseen {
        used.note(look, read(look)?);
    }
    let verdict = decide(&Standing { used: &used, ..*unread }, action, now);
    Ok((verdict, used))
}

/// Decides one action.
///
/// The order is that of the rules: scopes, validity and kind of agent first, each alone enough to refuse;
/// then policy, mandate and every credential, of which the most restrictive wins.
pub fn decide(standing: &Standing<'_>, action: &Action, now: Timestamp) -> Verdict {
    if let Some(refusal) = refused_outright(standing, action, now) {
        return Verdict::of(vec![refusal], Vec::new(), Vec::new());
    }
    let facts = Facts::new(standing, action, now);
    let mut said = Said::default();
    said.findings.extend(unregistered(standing.policy, action));
    for terms in documents(standing, action) {
        terms.evaluate(&facts, &mut said);
    }
    let Said { mut findings, reservations, unseen } = said;
    let reservations = reservations.finish();
    if facts.is_worn_out() {
        findings.push(service(ServiceClause::Work, Outcome::Refuse, Reason::TooMuchWork));
    }
    if reservations.len() > MOST_BOOKS {
        findings.push(service(ServiceClause::Books, Outcome::Refuse, Reason::TooManyBooks));
    }
    let refused = findings.iter().any(|finding| finding.effect == Outcome::Refuse);
    match standing.agent_kind {
        AgentKind::Reading if !refused => {
            findings.push(service(ServiceClause::AgentKind, Outcome::Escalate, Reason::AgentReads));
        }
        AgentKind::Acting | AgentKind::Reading | AgentKind::Answering => {}
    }
    Verdict::of(findings, reservations, unseen.finish())
}

/// The documents that speak to the action: the policy's rule sets, the mandate, the credential and its ancestors.
pub(super) fn documents<'a>(
    standing: &Standing<'a>,
    action: &Action,
) -> impl Iterator<Item = Terms<'a>> + use<'a> {
    let policy = applicable(standing, action).into_iter().map(|set| Terms::policy(&set.clauses));
    let credentials = standing.credentials.iter().map(|own| Terms::credential(own.id, own.clauses));
    policy.chain([Terms::mandate(standing.mandate)]).chain(credentials)
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
pub(super) fn refused_outright(standing: &Standing<'_>, action: &Action, now: Timestamp) -> Option<Finding> {
    let refuse = |clause, reason| Some(service(clause, Outcome::Refuse, reason));
    if standing.scopes.contains(Scope::MandateWrite) {
        return refuse(ServiceClause::CredentialScopes, Reason::ScopeWithheld);
    }
    let needed = action.intent.scope();
    if !standing.scopes.contains(needed) {
        let reason = match needed {
            Scope::ActionRequest => Reason::ScopeNotCarried,
            other => Reason::QuestionScopeNotCarried(other),
        };
        return refuse(ServiceClause::CredentialScopes, reason);
    }
    if !standing.mandate.scopes.contains(needed) {
        let reason = match needed {
            Scope::ActionRequest => Reason::ScopeSwitchedOff,
            other => Reason::QuestionScopeSwitchedOff(other),
        };
        return refuse(ServiceClause::MandateScopes, reason);
    }
    let valid = standing.mandate.valid;
    if let Some(from) = valid.and_then(|valid| valid.from).filter(|from| now < *from) {
        return refuse(ServiceClause::MandateNotYetValid, Reason::NotYetValid { from });
    }
    if let Some(until) = valid.and_then(|valid| valid.until).filter(|until| now >= *until) {
        return refuse(ServiceClause::MandateExpired, Reason::Expired { until });
    }
    let answers = action.intent.as_str() == Intent::QUESTION_ANSWER;
    match standing.agent_kind {
        AgentKind::Answering if answers => None,
        AgentKind::Answering => refuse(ServiceClause::AgentKind, Reason::AgentAnswers),
        AgentKind::Acting | AgentKind::Reading if answers => {
            refuse(ServiceClause::AgentKind, Reason::AgentDoesNotAnswer)
        }
        AgentKind::Acting | AgentKind::Reading => None,
    }
}

fn service(clause: ServiceClause, effect: Outcome, reason: Reason) -> Finding {
    Finding {
        clause: ClauseRef::Service(clause),
        source: Source::Service,
        effect,
        reason,
        approvals: None,
        credential: None,
        limit: None,
    }
}

pub(super) fn unregistered(policy: &PolicyDocument, action: &Action) -> Option<Finding> {
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
        approvals: None,
        credential: None,
        limit: None,
    })
}

/// The rule sets that count for this action.
///
/// Where the country is more than the agent's word, one set for each country that is certain; otherwise
/// every set that some country could have selected, so that naming another country never helps.
pub(super) fn applicable<'a>(standing: &Standing<'a>, action: &Action) -> Vec<&'a RuleSet> {
    let policy = standing.policy;
    let mut countries: BTreeSet<Option<Country>> =
        certain_countries(standing, action).into_iter().map(Some).collect();
    if countries.is_empty() {
        countries.insert(None);
        countries.extend(policy.rule_sets.iter().map(|set| set.applies.country));
    }
    let mut sets: Vec<&RuleSet> = Vec::new();
    for set in countries.into_iter().filter_map(|country| policy.select(Some(standing.agent), country)) {
        if !sets.iter().any(|chosen| chosen.applies == set.applies) {
            sets.push(set);
        }
    }
    sets
}

/// The countries that are more than the agent's word: where the action was seen to take effect, and what the
/// credential is fixed to.
pub(super) fn certain_countries(standing: &Standing<'_>, action: &Action) -> BTreeSet<Country> {
    let seen = match action.facts_from {
        FactsFrom::Derived | FactsFrom::Attested => action.country,
        FactsFrom::Described => None,
    };
    seen.into_iter().chain(standing.country_fixed).collect()
}

impl PolicyDocument {
    /// The most specific rule set for an agent in a country: for both, else for the agent, else for the
    /// country, else the general one. `None` is an agent, or a country, that no rule set names.
    pub(super) fn select(&self, agent: Option<AgentId>, country: Option<Country>) -> Option<&RuleSet> {
        [(agent, country), (agent, None), (None, country), (None, None)].into_iter().find_map(
            |(agent, country)| self.rule_sets.iter().find(|set| set.applies == Applies { agent, country }),
        )
    }
}
