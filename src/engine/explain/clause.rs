//! One clause that names the intent: each of its conditions and limits, and what the clause came to.

use super::super::book::{Book, BookUse, Counted};
use super::super::condition::{Facts, Pass};
use super::super::document::{Clause, ClauseId, Condition, Effect};
use super::super::limit::{Bound, Limit};
use super::super::reason::{ClauseRef, Finding, Reason};
use super::super::terms::Terms;
use super::super::write;
use super::super::write_condition::conditions as write_conditions;
use super::words;
use crate::domain::{Label, Outcome, Timestamp};
use serde_json::Value;

/// A clause that names the intent.
#[derive(Clone, Debug)]
pub(in crate::engine) struct ClauseStep {
    /// Its name.
    pub(in crate::engine) id: ClauseId,
    /// What it is for, in the words of whoever wrote it.
    pub(in crate::engine) title: Option<Label>,
    /// What it does.
    pub(in crate::engine) effect: Effect,
    /// Each of its conditions.
    pub(in crate::engine) conditions: Vec<Tested>,
    /// Each of its limits.
    pub(in crate::engine) limits: Vec<LimitStep>,
    /// What it came to.
    pub(in crate::engine) comes_to: ClauseComesTo,
}

/// What a clause came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) enum ClauseComesTo {
    /// It is among what the document found: what it came to, and why.
    Found(Outcome, Reason),
    /// A policy's allowance holds: the rest is the mandate's.
    Passes,
    /// A condition of a refusal or escalation does not hold.
    DoesNotAct,
    /// A refusal of the same document acts, which counts alone.
    Outranked,
    /// Another allowance of the same document holds, and one is enough.
    Yields {
        /// Which.
        to: ClauseId,
        /// Whether this one holds too.
        holds: bool,
    },
}

/// One test of a fact: what was wanted, and whether it holds.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Tested {
    /// The test as documents write it.
    pub(in crate::engine) written: Value,
    /// The test in words that name nobody.
    pub(in crate::engine) says: String,
    /// Why it does not hold, if it does not.
    pub(in crate::engine) result: Result<(), Reason>,
}

/// One limit, as it meets the action.
#[derive(Clone, Debug)]
pub(in crate::engine) struct LimitStep {
    /// The limit as documents write it.
    pub(in crate::engine) written: Value,
    /// The limit in words.
    pub(in crate::engine) says: String,
    /// What it came to.
    pub(in crate::engine) met: Met,
}

/// What a limit came to.
#[derive(Clone, Debug)]
pub(in crate::engine) enum Met {
    /// Nobody looked, since a condition of the clause does not hold.
    NotAsked,
    /// The action lacks what it counts.
    Lacks(Reason),
    /// What its books showed: one, or one for each counterparty in the order the action names them.
    Looked(Vec<Look>),
}

/// A look into one book.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Look {
    /// What it counts.
    pub(in crate::engine) counts: Counted,
    /// The first instant that counts; `None` is ever.
    pub(in crate::engine) since: Option<Timestamp>,
    /// What was used since; `None` where the books could not say.
    pub(in crate::engine) used: Option<u64>,
    /// What the action would add.
    pub(in crate::engine) asked: u64,
    /// What is allowed in all.
    pub(in crate::engine) allowed: u64,
    /// Why there is no room, if there is none.
    pub(in crate::engine) result: Result<(), Reason>,
}

impl Tested {
    pub(super) fn condition(condition: &Condition, facts: &Facts<'_>, pass: Pass) -> Self {
        let written = write_conditions(std::slice::from_ref(condition));
        let says = words::condition(&written);
        Self { written, says, result: facts.test(condition, pass) }
    }
}

/// The clauses of one document that name the intent; `findings` are what the document said.
pub(super) fn steps(terms: Terms<'_>, facts: &Facts<'_>, findings: &[Finding]) -> Vec<ClauseStep> {
    let refused = findings.iter().any(|finding| finding.reason == Reason::Forbidden);
    let holding =
        terms.named(facts).filter(|clause| clause.is_allowance() && terms.test(clause, facts).is_ok());
    let deciding = holding.map(|clause| clause.id.clone()).min();
    terms
        .named(facts)
        .map(|clause| {
            let pass = if clause.is_allowance() { Pass::Every } else { Pass::Any };
            let conditions = clause.when.iter().map(|condition| Tested::condition(condition, facts, pass));
            let found = findings
                .iter()
                .find(|finding| matches!(&finding.clause, ClauseRef::Written(id) if *id == clause.id));
            let comes_to = match (found, &deciding) {
                (Some(finding), _) => ClauseComesTo::Found(finding.effect, finding.reason.clone()),
                (None, _) if !clause.is_allowance() && facts.test_all(&clause.when, pass).is_err() => {
                    ClauseComesTo::DoesNotAct
                }
                (None, _) if refused || !clause.is_allowance() => ClauseComesTo::Outranked,
                (None, Some(other)) if *other != clause.id => {
                    ClauseComesTo::Yields { to: other.clone(), holds: terms.test(clause, facts).is_ok() }
                }
                (None, Some(_) | None) => ClauseComesTo::Passes,
            };
            ClauseStep {
                id: clause.id.clone(),
                title: clause.title.clone(),
                effect: clause.effect,
                conditions: conditions.collect(),
                limits: clause.limits.iter().map(|limit| meet(terms, clause, limit, facts)).collect(),
                comes_to,
            }
        })
        .collect()
}

fn meet(terms: Terms<'_>, clause: &Clause, limit: &Limit, facts: &Facts<'_>) -> LimitStep {
    let metered = terms.metered(facts);
    let holds = facts.test_all(&clause.when, Pass::Every).is_ok();
    let books = metered.books(clause, limit);
    let is_read = |book: &Book| {
        facts.used.noted(&BookUse { book: book.clone(), since: metered.since(limit) }).is_some()
    };
    let met = if !holds && !books.as_ref().is_ok_and(|books| books.iter().all(is_read)) {
        Met::NotAsked
    } else {
        match books {
            Err(reason) => Met::Lacks(reason),
            Ok(books) => Met::Looked(
                books
                    .into_iter()
                    .map(|book| {
                        let (counts, since) = (book.counts, metered.since(limit));
                        let used = facts.used.of(&BookUse { book, since });
                        Look {
                            counts,
                            since,
                            used: (used != u64::MAX).then_some(used),
                            asked: asked(facts, limit),
                            allowed: allowed(limit),
                            result: metered.fits(limit, used),
                        }
                    })
                    .collect(),
            ),
        }
    };
    LimitStep { written: write::limit(limit), says: words::limit(limit), met }
}

fn asked(facts: &Facts<'_>, limit: &Limit) -> u64 {
    match limit.bound {
        Bound::Total { .. } => {
            facts.action.amount.and_then(|amount| u64::try_from(amount.minor_units()).ok()).unwrap_or(0)
        }
        Bound::Count { .. } | Bound::Once => 1,
    }
}

fn allowed(limit: &Limit) -> u64 {
    match limit.bound {
        Bound::Total { most, .. } => u64::try_from(most.minor_units()).unwrap_or(0),
        Bound::Count { most, .. } => most,
        Bound::Once => 1,
    }
}
