//! What one document says to one action.

use super::book::{BookOwner, Looks, Reservations};
use super::condition::{Facts, Pass};
use super::document::{Clause, CredentialClauses, Effect, MandateDocument};
use super::limit::Metered;
use super::reason::{ClauseRef, Finding, Reason, ServiceClause, Source};
use crate::domain::{CredentialId, Outcome, Timestamp};

/// The clauses of one document, and what becomes of an intent that none of them names.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) source: Source,
    pub(super) owner: BookOwner,
    pub(super) clauses: &'a [Clause],
    /// `None` passes: nothing found, nothing said.
    unlisted: Option<(Outcome, ServiceClause)>,
}

/// What documents say: what was found, and what an allow would take from the books.
#[derive(Default)]
pub(super) struct Said {
    pub(super) findings: Vec<Finding>,
    pub(super) reservations: Reservations,
    /// The looks that would tell of more that stands in the way.
    pub(super) unseen: Looks,
}

impl<'a> Terms<'a> {
    pub(super) fn policy(clauses: &'a [Clause]) -> Self {
        Self { source: Source::Policy, owner: BookOwner::Policy, clauses, unlisted: None }
    }

    pub(super) fn mandate(document: &'a MandateDocument) -> Self {
        let unlisted = Some((document.unlisted.outcome(), ServiceClause::MandateUnlisted));
        Self { source: Source::Mandate, owner: BookOwner::Mandate, clauses: &document.clauses, unlisted }
    }

    /// Only clauses with an allowance among them say something to intents they do not name.
    pub(super) fn credential(id: CredentialId, document: &'a CredentialClauses) -> Self {
        let allows = document.0.iter().any(Clause::is_allowance);
        let unlisted = allows.then_some((Outcome::Escalate, ServiceClause::CredentialUnlisted));
        Self { source: Source::Credential, owner: BookOwner::Credential(id), clauses: &document.0, unlisted }
    }

    /// Of a credential, to be compared with other clauses of the same one.
    pub(super) fn compared(document: &'a CredentialClauses) -> Self {
        Self {
            owner: BookOwner::Mandate,
            ..Self::credential(CredentialId::new(Timestamp::from_unix_milliseconds(0), [0; 10]), document)
        }
    }

    /// What becomes of an intent that no clause names.
    pub(super) fn unlisted(&self) -> Outcome {
        self.unlisted.map_or(Outcome::Allow, |(outcome, _)| outcome)
    }

    /// The clauses that name the action's intent.
    pub(super) fn named<'b>(
        &'b self,
        facts: &'b Facts<'_>,
    ) -> impl Iterator<Item = &'a Clause> + use<'a, 'b> {
        self.clauses.iter().filter(|clause| clause.intent.matches(&facts.action.intent))
    }

    /// The looks into the books that deciding on the action takes: those of allowances whose conditions hold.
    pub(super) fn looks(&self, facts: &Facts<'_>, into: &mut Looks) {
        for clause in self.clauses {
            if clause.is_allowance()
                && !clause.limits.is_empty()
                && clause.intent.matches(&facts.action.intent)
                && facts.test_all(&clause.when, Pass::Every).is_ok()
            {
                self.metered(facts).looks(clause, into);
            }
        }
    }

    /// What the document says to the action: its refusals alone if one acts, otherwise its escalations
    /// and what its allowances come to.
    pub(super) fn evaluate(&self, facts: &Facts<'_>, said: &mut Said) {
        let named: Vec<&Clause> = self.named(facts).collect();
        let acting = |effect: Effect| {
            named.iter().copied().filter(move |clause| {
                clause.effect == effect && facts.test_all(&clause.when, Pass::Any).is_ok()
            })
        };
        let before = said.findings.len();
        said.findings.extend(
            acting(Effect::Refuse).map(|clause| self.finding(clause, Outcome::Refuse, Reason::Forbidden)),
        );
        if said.findings.len() > before {
            return;
        }
        said.findings.extend(acting(Effect::Escalate).map(|clause| {
            let reason = match &clause.obligation {
                Some(obligation) => Reason::Obliged(obligation.clone()),
                None => Reason::AsksAPerson,
            };
            self.finding(clause, Outcome::Escalate, reason)
        }));
        let acted = said.findings.len() > before;
        self.allowances(&named, facts, acted, said);
    }

    /// One passing allowance suffices, and of several the smallest id is named and reserves; if none passes,
    /// every one that failed is named with all that stands in its way, and a person's yes would count in all their books; if there is none and
    /// no escalation acted either, the intent is unlisted.
    fn allowances(&self, named: &[&Clause], facts: &Facts<'_>, acted: bool, said: &mut Said) {
        let mut passing: Option<&Clause> = None;
        let mut failing = Vec::new();
        for clause in named {
            let Effect::Allow { otherwise } = clause.effect else { continue };
            if passing.is_some_and(|best| best.id < clause.id) {
                continue;
            }
            let failed = facts.first_in_the_way(&clause.when).err();
            if failed.is_none() && self.has_room(clause, facts) {
                passing = Some(clause);
            } else if passing.is_none() {
                // Why it failed matters only where nothing passes.
                failing.push((*clause, otherwise, failed));
            }
        }
        if let Some(clause) = passing {
            self.metered(facts).reserve(clause, &mut said.reservations);
            // A policy passes to the mandate; it never allows, so it has nothing to name here.
            match self.source {
                Source::Policy => {}
                Source::Mandate | Source::Credential | Source::Service => {
                    said.findings.push(self.finding(clause, Outcome::Allow, Reason::Allowed));
                }
            }
            return;
        }
        if failing.is_empty()
            && !acted
            && let Some((effect, clause)) = self.unlisted
        {
            let clause = ClauseRef::Service(clause);
            said.findings.push(Finding {
                clause,
                source: self.source,
                effect,
                reason: Reason::Unlisted,
                approvals: None,
                credential: self.of_credential(),
                limit: None,
            });
        }
        for (clause, otherwise, failed) in failing {
            let metered = self.metered(facts);
            metered.reserve(clause, &mut said.reservations);
            let unseen = failed.is_some().then_some(&mut said.unseen);
            let limits = metered.all_in_the_way(clause, facts.used, unseen);
            let conditions = failed.map_or_else(Vec::new, |first| facts.all_in_the_way(&clause.when, &first));
            let of_clause = |reason| self.finding(clause, otherwise.outcome(), reason);
            said.findings.extend(conditions.into_iter().map(of_clause));
            let of_limit = |(reason, limit)| Finding { limit: Some(limit), ..of_clause(reason) };
            said.findings.extend(limits.into_iter().map(of_limit));
        }
    }

    /// Whether an allowance holds: its conditions first, then its limits.
    pub(super) fn test(&self, clause: &Clause, facts: &Facts<'_>) -> Result<(), Reason> {
        facts.test_all(&clause.when, Pass::Every)?;
        self.metered(facts).room(clause, facts.used)
    }

    fn has_room(&self, clause: &Clause, facts: &Facts<'_>) -> bool {
        clause.limits.is_empty() || self.metered(facts).room(clause, facts.used).is_ok()
    }

    /// The limits of this document's clauses, as they meet the action.
    pub(super) fn metered<'b>(&self, facts: &'b Facts<'_>) -> Metered<'b> {
        Metered {
            action: facts.action,
            // What a person calls a counterparty means nothing to the tenant's books.
            listed: match self.owner {
                BookOwner::Policy => &[],
                BookOwner::Mandate | BookOwner::Credential(_) => facts.listed,
            },
            owner: self.owner,
            zone: facts.zone,
            now: facts.now,
        }
    }

    fn finding(&self, clause: &Clause, effect: Outcome, reason: Reason) -> Finding {
        let approvals = match effect {
            Outcome::Escalate => clause.approvals.clone(),
            Outcome::Allow | Outcome::Refuse => None,
        };
        Finding {
            clause: ClauseRef::Written(clause.id.clone()),
            source: self.source,
            effect,
            reason,
            approvals,
            credential: self.of_credential(),
            limit: None,
        }
    }

    fn of_credential(&self) -> Option<CredentialId> {
        match self.owner {
            BookOwner::Credential(id) => Some(id),
            BookOwner::Policy | BookOwner::Mandate => None,
        }
    }
}
