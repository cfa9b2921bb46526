//! Why an answer came out as it did, step by step: everything that was looked at, in the order of the rules.
//!
//! Nothing is decided here. Every step asks the function that [`decide()`](super::decide()) asks, and the verdict
//! is `decide`'s own; what is added is what it passed over, and the two values of every test.

pub(super) mod clause;
mod render;
mod text;
mod words;

use super::action::Action;
use super::book::BookOwner;
use super::condition::{Facts, Pass};
use super::decide::{
    Standing, Verdict, applicable, certain_countries, decide, documents, refused_outright, unregistered,
};
use super::document::{Applies, Domain};
use super::reason::{ClauseRef, Finding, Reason, ServiceClause, Source};
use super::terms::{Said, Terms};
use super::within::check_domains;
use crate::domain::{Country, CredentialId, Malformed, Timestamp};
use clause::{ClauseStep, Tested};
pub use render::Shown;
use std::collections::BTreeSet;

/// An answer with everything that was looked at on the way to it.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What was asked, as the gate saw it.
    pub action: Action,
    /// For which instant.
    pub at: Timestamp,
    /// What was looked at, in order.
    pub(super) steps: Vec<Step>,
    /// What it came to; malformed where the request lies outside a domain.
    pub verdict: Result<Verdict, Malformed>,
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What.
    pub(super) subject: Subject,
    /// The clauses in it that name the intent.
    pub(super) clauses: Vec<ClauseStep>,
    /// How many of its clauses name other intents.
    pub(super) elsewhere: usize,
    /// What it came to.
    pub(super) comes_to: ComesTo,
}

/// What a step looks at.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// What the documents let requests say at all: the conditions that are about this intent.
    Domains(Vec<(Source, Tested)>),
    /// What credential and mandate carry.
    Scopes,
    /// When the mandate holds.
    Validity,
    /// What the agent is for.
    AgentKind,
    /// Whether the catalogue knows the intent.
    Catalogue,
    /// One rule set of the policy; `None` where none counts.
    Policy {
        /// For whom it is.
        applies: Option<Applies>,
        /// The countries that are more than the agent's word.
        certain: BTreeSet<Country>,
    },
    /// The principal's mandate.
    Mandate,
    /// The clauses of the credential, or of one it was derived from.
    Credential(CredentialId),
}

/// What a step comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ComesTo {
    /// It was not looked at any more: something before it refused.
    NotReached,
    /// It has nothing to say against the action, nor for it.
    Passes,
    /// What it found.
    Finds(Vec<Finding>),
    /// The request is not one that may be made at all.
    Outside(Malformed),
}

/// Explains one action: what [`check_domains`] and [`decide()`](super::decide()) say to it, and why.
pub fn explain(standing: &Standing<'_>, action: &Action, now: Timestamp) -> Explanation {
    let mut steps = vec![domains(standing, action, now)];
    let outside = match &steps.first().map(|step| &step.comes_to) {
        Some(ComesTo::Outside(malformed)) => Some((*malformed).clone()),
        Some(ComesTo::NotReached | ComesTo::Passes | ComesTo::Finds(_)) | None => None,
    };
    let refusal = refused_outright(standing, action, now);
    let mut open = outside.is_none();
    for subject in [Subject::Scopes, Subject::Validity, Subject::AgentKind] {
        let found = refusal.as_ref().filter(|refusal| is_of(refusal, &subject));
        steps.push(whole(subject, found.cloned(), open));
        open = open && found.is_none();
    }
    steps.push(whole(Subject::Catalogue, unregistered(standing.policy, action), open));
    steps.extend(read(standing, action, now, open));
    let verdict = match outside {
        Some(malformed) => Err(malformed),
        None => Ok(decide(standing, action, now)),
    };
    Explanation { action: action.clone(), at: now, steps, verdict }
}

/// A step without clauses.
fn whole(subject: Subject, found: Option<Finding>, open: bool) -> Step {
    let comes_to = match found {
        _ if !open => ComesTo::NotReached,
        Some(finding) => ComesTo::Finds(vec![finding]),
        None => ComesTo::Passes,
    };
    Step { subject, clauses: Vec::new(), elsewhere: 0, comes_to }
}

/// Which of the first steps an outright refusal belongs to.
fn is_of(refusal: &Finding, subject: &Subject) -> bool {
    let ClauseRef::Service(clause) = &refusal.clause else { return false };
    match clause {
        ServiceClause::CredentialScopes | ServiceClause::MandateScopes => matches!(subject, Subject::Scopes),
        ServiceClause::MandateNotYetValid | ServiceClause::MandateExpired => {
            matches!(subject, Subject::Validity)
        }
        ServiceClause::AgentKind => matches!(subject, Subject::AgentKind),
        ServiceClause::Books
        | ServiceClause::Work
        | ServiceClause::PolicyUnregistered
        | ServiceClause::MandateUnlisted
        | ServiceClause::CredentialUnlisted => false,
    }
}

fn domains(standing: &Standing<'_>, action: &Action, now: Timestamp) -> Step {
    let facts = Facts::new(standing, action, now);
    let mut tested = Vec::new();
    let mut elsewhere = 0;
    let sources = [(Source::Policy, &standing.policy.domains), (Source::Mandate, &standing.mandate.domains)];
    for (source, domains) in sources {
        let (about, others): (Vec<&Domain>, Vec<&Domain>) =
            domains.iter().partition(|domain| domain.intent.matches(&action.intent));
        elsewhere += others.len();
        let conditions = about.into_iter().flat_map(|domain| &domain.when);
        tested
            .extend(conditions.map(|condition| (source, Tested::condition(condition, &facts, Pass::Every))));
    }
    let comes_to = match check_domains(standing, action, now) {
        Ok(()) => ComesTo::Passes,
        Err(malformed) => ComesTo::Outside(malformed),
    };
    Step { subject: Subject::Domains(tested), clauses: Vec::new(), elsewhere, comes_to }
}

/// The documents, in the order in which the decision reads them.
fn read(standing: &Standing<'_>, action: &Action, now: Timestamp, open: bool) -> Vec<Step> {
    let facts = Facts::new(standing, action, now);
    let certain = certain_countries(standing, action);
    let mut sets = applicable(standing, action).into_iter().map(|set| set.applies);
    let mut steps = Vec::new();
    if sets.len() == 0 {
        steps.push(whole(Subject::Policy { applies: None, certain: certain.clone() }, None, open));
    }
    for terms in documents(standing, action) {
        let subject = match terms.owner {
            BookOwner::Policy => Subject::Policy { applies: sets.next(), certain: certain.clone() },
            BookOwner::Mandate => Subject::Mandate,
            BookOwner::Credential(id) => Subject::Credential(id),
        };
        steps.push(document(subject, terms, &facts, open));
    }
    steps
}

fn document(subject: Subject, terms: Terms<'_>, facts: &Facts<'_>, open: bool) -> Step {
    if !open {
        return whole(subject, None, false);
    }
    let mut said = Said::default();
    terms.evaluate(facts, &mut said);
    let clauses = clause::steps(terms, facts, &said.findings);
    let elsewhere = terms.clauses.len().saturating_sub(clauses.len());
    let comes_to = if said.findings.is_empty() { ComesTo::Passes } else { ComesTo::Finds(said.findings) };
    Step { subject, clauses, elsewhere, comes_to }
}

impl Explanation {
    /// What the service adds at the end: a reading agent's action waits for a person, and one that would count in
    /// too many books is refused. Each with the name of its step.
    fn added(&self) -> impl Iterator<Item = (&'static str, &Finding)> {
        self.verdict.iter().flat_map(|verdict| &verdict.findings).filter_map(|finding| {
            let added = [(Reason::AgentReads, "agent kind"), (Reason::TooManyBooks, "books")];
            let (_, name) = added.into_iter().find(|(reason, _)| *reason == finding.reason)?;
            Some((name, finding))
        })
    }
}
