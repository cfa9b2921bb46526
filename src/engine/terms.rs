//! What one document says to one action.

use super::condition::{Facts, Pass};
use super::document::{Clause, CredentialClauses, Effect, MandateDocument};
use super::reason::{ClauseRef, Finding, Reason, ServiceClause, Source};
use crate::domain::Outcome;

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
    pub(super) fn evaluate(&self, facts: &Facts<'_>) -> Vec<Finding> {
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
