//! One step of the service's course, decided without touching anything: what becomes of a call, a yes, a report.
//!
//! Whoever runs a step reads what it takes in the transaction of its answer, asks here, and writes what comes back
//! in the same transaction. The service does so on its database, and the model checker on a model of it: both take
//! every turn below, so that what is checked is what runs.
//!
//! ```text
//! decision   open ──▶ approved ──▶ used           effect   claimed ──▶ done
//!              │ ╲        │                                   │  ╲───▶ failed
//!              ▼  ╲       ▼                                   ▼          ▲
//!          declined ╲▶ withdrawn, expired                  unknown ──────┴──▶ done (a person, or an
//!                                                                              enforcement point)
//! ```
//!
//! An ending that the agent, or another enforcement point, told and an enforcement point contradicts is unknown again,
//! until a person ends it.

mod ending;

pub use ending::{Said, Word, puts_off, releases, report, takes_again};

use super::decide::{Verdict, permit_with_approval};
use super::document::Approvals;
use super::why::Grounds;
use crate::domain::{DecisionStatus, Duration, EffectStatus, Outcome, PrincipalId, Roles, Timestamp};
use std::collections::BTreeSet;

/// What an answer names where the agent asked too much already.
const ATTENTION_BUDGET: &str = "attention-budget";
/// How long an answer may be repeated without asking again.
pub const REPEATABLE: Duration = Duration::seconds(60);
/// How many decisions one agent may have open.
pub const OPEN_DECISIONS: u64 = 20;
/// How many decisions one agent may open, or have put anew, in an hour.
pub const ESCALATIONS_AN_HOUR: u64 = 60;

/// The versions an answer rests on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Versions {
    /// The mandate's.
    pub mandate: u64,
    /// The policy's.
    pub policy: u64,
    /// The catalogue's.
    pub catalogue: u64,
}

/// The answer that an idempotency key got first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct First {
    /// Whether it was the same request.
    pub same_request: bool,
    /// What was answered.
    pub outcome: Outcome,
    /// Under which versions.
    pub versions: Versions,
    /// When.
    pub answered_at: Timestamp,
    /// Where the effect stands that it let happen, if it did.
    pub effect: Option<EffectStatus>,
}

/// What a call gets whose key may have been used before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeat {
    /// It is decided on.
    Evaluate,
    /// The key belongs to another request.
    KeyReused,
    /// The first answer, again.
    Same,
    /// The first answer no longer stands, and nothing came of it: ask under a new key.
    Stale,
    /// The first answer let an effect happen, and nobody said how it ended.
    Unsettled,
}

/// What becomes of a call under a key. A replay repeats the record, never the permission.
pub fn repeat(first: Option<&First>, live: Versions, names_decision: bool, now: Timestamp) -> Repeat {
    let Some(first) = first else { return Repeat::Evaluate };
    if !first.same_request {
        return Repeat::KeyReused;
    }
    if first.outcome == Outcome::Escalate && names_decision {
        // The person may have decided: the same key is asked again, with the decision.
        return Repeat::Evaluate;
    }
    if first.versions == live && now < first.answered_at.plus(REPEATABLE) {
        return Repeat::Same;
    }
    match first.effect {
        Some(EffectStatus::Done | EffectStatus::Failed) => Repeat::Same,
        Some(EffectStatus::Claimed | EffectStatus::Unknown) => Repeat::Unsettled,
        None => Repeat::Stale,
    }
}

/// A yes that was given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Given {
    /// Whose.
    pub by: PrincipalId,
    /// The roles they held then.
    pub roles: Roles,
}

/// A decision, as a call or a person meets it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    /// Where it stands.
    pub status: DecisionStatus,
    /// Whether it is about the same request.
    pub same_request: bool,
    /// When it expires undecided.
    pub expires_at: Timestamp,
    /// Until when the yes may be used.
    pub approved_until: Option<Timestamp>,
    /// Whose queue it is in.
    pub principal: PrincipalId,
    /// Every yes it has.
    pub given: Vec<Given>,
    /// What stood in the way, as whoever decides is shown it.
    pub shown: Grounds,
}

impl Asked {
    /// Whether it waits for a person, or for its use.
    pub fn is_waiting(&self, now: Timestamp) -> bool {
        match self.status {
            DecisionStatus::Open => now < self.expires_at,
            DecisionStatus::Approved => self.approved_until.is_some_and(|until| now < until),
            DecisionStatus::Declined
            | DecisionStatus::Expired
            | DecisionStatus::Withdrawn
            | DecisionStatus::Used
            | DecisionStatus::Resolved => false,
        }
    }
}

/// A decision about the same request under the same credential that still waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Same<D> {
    /// What it is known by.
    pub known_by: D,
    /// Whether it has every yes that was asked for.
    pub is_approved: bool,
    /// What stood in the way, as whoever decides is shown it.
    pub shown: Grounds,
}

/// How much of its principal's attention an agent takes when another decision would join the queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Load {
    /// How many of its decisions are open.
    pub open: u64,
    /// How many it opened, or had put anew, within the last hour.
    pub recent: u64,
}

impl Load {
    /// What is too much already for another decision to join the queue; `None` where there is room.
    pub fn too_much(self) -> Option<String> {
        if self.open >= OPEN_DECISIONS {
            return Some(format!("{} decisions of this agent are open, {OPEN_DECISIONS} may be", self.open));
        }
        self.too_often()
    }

    /// The same for what is in the queue and would be put anew.
    fn too_often(self) -> Option<String> {
        (self.recent >= ESCALATIONS_AN_HOUR).then(|| {
            let recent = self.recent;
            format!("{recent} decisions opened by this agent within an hour, {ESCALATIONS_AN_HOUR} may be")
        })
    }
}

/// The queue as a call meets it; each look is taken only where it decides.
pub trait Queue<D> {
    /// What looking can fail with.
    type Error;

    /// The same ask, if it still waits.
    ///
    /// # Errors
    /// Those of looking.
    fn same(&mut self) -> Result<Option<Same<D>>, Self::Error>;

    /// How much the agent asks already.
    ///
    /// # Errors
    /// Those of looking.
    fn load(&mut self) -> Result<Load, Self::Error>;
}

/// A verdict with what approvals and budgets make of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled<D> {
    /// The answer.
    pub outcome: Outcome,
    /// The clauses that decided.
    pub clauses: Vec<String>,
    /// One sentence for a person.
    pub reason: String,
    /// What the engine found.
    pub verdict: Verdict,
    /// What the call has to do with the queue.
    pub queue: QueueUse<D>,
}

/// What a call has to do with the queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueueUse<D> {
    /// Nothing.
    None,
    /// It opens a decision.
    Open,
    /// It asks again what still waits.
    Again(D),
    /// It asks again what still waits for a yes, and something stands in the way that was not shown: the question is
    /// put anew, and whoever said yes already is asked again.
    Anew(D),
    /// The same would be put anew, but the agent asked too much already: the question stays as it was shown.
    Stands(D),
    /// It is allowed without the yes that the same ask still waits for or has: that question is over.
    Closes(D),
    /// It uses the yes of the decision it names.
    Uses,
    /// It is refused because the agent asked too much already, and one item says so.
    Flood,
}

/// What becomes of a call with this verdict: what the decision it names is worth, and whether the queue has room.
///
/// `named` is the decision that the call names, with whatever it is known by.
///
/// # Errors
/// Those of looking at the queue.
pub fn settle<D, Q: Queue<D>>(
    verdict: Verdict,
    named: Option<(&Asked, D)>,
    now: Timestamp,
    queue: &mut Q,
) -> Result<Settled<D>, Q::Error> {
    if verdict.outcome == Outcome::Refuse {
        return Ok(as_found(verdict, QueueUse::None));
    }
    if let Some((asked, known_by)) = named {
        return Ok(match worth(asked, &verdict, now) {
            Worth::Yes => as_found(permit_with_approval(verdict), QueueUse::Uses),
            Worth::Waits if verdict.outcome == Outcome::Allow => {
                as_found(verdict, QueueUse::Closes(known_by))
            }
            Worth::Waits if asked.shown.cover(&verdict.grounds()) => {
                as_found(verdict, QueueUse::Again(known_by))
            }
            Worth::Waits => anew(verdict, known_by, queue.load()?),
            Worth::Nothing(clause, reason) => refused(verdict, clause, reason.to_owned(), QueueUse::None),
        });
    }
    let same = queue.same()?;
    if verdict.outcome == Outcome::Allow {
        return Ok(as_found(verdict, same.map_or(QueueUse::None, |same| QueueUse::Closes(same.known_by))));
    }
    match same {
        Some(same) if same.shown.cover(&verdict.grounds()) => {
            return Ok(as_found(verdict, QueueUse::Again(same.known_by)));
        }
        Some(same) if !same.is_approved => return Ok(anew(verdict, same.known_by, queue.load()?)),
        // A yes to other reasons stands for itself; this is another question.
        Some(_) | None => {}
    }
    Ok(match queue.load()?.too_much() {
        Some(flood) => refused(verdict, ATTENTION_BUDGET, flood, QueueUse::Flood),
        None => as_found(verdict, QueueUse::Open),
    })
}

/// Puts a question anew, which takes as much of a person's attention as another one; it waits either way.
fn anew<D>(verdict: Verdict, known_by: D, load: Load) -> Settled<D> {
    match load.too_often() {
        Some(flood) => Settled {
            outcome: verdict.outcome,
            clauses: vec![ATTENTION_BUDGET.to_owned()],
            reason: flood,
            verdict,
            queue: QueueUse::Stands(known_by),
        },
        None => as_found(verdict, QueueUse::Anew(known_by)),
    }
}

/// Whether a question that may be asked reaches whom it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reachable {
    /// It does.
    There,
    /// Nobody takes it: who does not exist, who cannot answer and who does not want it look the same.
    Nobody,
    /// Too many of the asker's wait already.
    Full,
}

impl Reachable {
    /// As input documents spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Nobody => "nobody",
            Self::Full => "full",
        }
    }

    /// The one spelt so.
    pub fn of(word: &str) -> Option<Self> {
        [Self::There, Self::Nobody, Self::Full].into_iter().find(|one| one.as_str() == word)
    }
}

/// What becomes of a question that may be asked, by whether it reaches anybody; a yes is not used for one that does not.
pub fn reached<D>(settled: Settled<D>, reach: Reachable) -> Settled<D> {
    let (clause, reason) = match (settled.outcome, reach) {
        (Outcome::Escalate | Outcome::Refuse, _) | (Outcome::Allow, Reachable::There) => return settled,
        (Outcome::Allow, Reachable::Nobody) => {
            ("question.unreachable", "nobody of that name takes this question")
        }
        (Outcome::Allow, Reachable::Full) => {
            ("question.open", "too many questions of this principal wait for an answer already")
        }
    };
    refused(settled.verdict, clause, reason.to_owned(), QueueUse::None)
}

fn as_found<D>(verdict: Verdict, queue: QueueUse<D>) -> Settled<D> {
    Settled { outcome: verdict.outcome, clauses: verdict.clauses(), reason: verdict.reason(), verdict, queue }
}

fn refused<D>(verdict: Verdict, clause: &str, reason: String, queue: QueueUse<D>) -> Settled<D> {
    Settled { outcome: Outcome::Refuse, clauses: vec![clause.to_owned()], reason, verdict, queue }
}

/// What a decision named in a call is worth.
enum Worth {
    Yes,
    Waits,
    Nothing(&'static str, &'static str),
}

fn worth(asked: &Asked, verdict: &Verdict, now: Timestamp) -> Worth {
    use DecisionStatus::{Approved, Declined, Expired, Open, Resolved, Used, Withdrawn};
    if !asked.same_request {
        let reason = "the decision is about another request: every member must be as it was asked";
        return Worth::Nothing("approval.mismatch", reason);
    }
    match asked.status {
        Open if asked.is_waiting(now) => Worth::Waits,
        Open => Worth::Nothing("approval.expired", "nobody decided in time"),
        Approved if !asked.is_waiting(now) => Worth::Nothing("approval.expired", "the approval is over"),
        Approved if !asked.shown.cover(&verdict.grounds()) => Worth::Nothing(
            "approval.outgrown",
            "more stands in the way by now than the person was shown: ask again without the decision",
        ),
        Approved if is_enough(&verdict.approvals(), asked) => Worth::Yes,
        Approved => Worth::Nothing("approval.incomplete", "what decides now asks for the yes of more people"),
        Expired => Worth::Nothing("approval.expired", "the approval is over"),
        Used => Worth::Nothing("approval.used", "the approval was used; it was good for one call"),
        Declined => Worth::Nothing("approval.declined", "the person declined"),
        Withdrawn => Worth::Nothing("approval.withdrawn", "the decision was withdrawn"),
        Resolved => Worth::Nothing("approval.mismatch", "the decision was about an effect's ending"),
    }
}

/// Whether every yes that is asked for is there.
pub fn is_enough(asked_for: &BTreeSet<Approvals>, asked: &Asked) -> bool {
    more(asked_for, asked) == 0
}

/// How many more people's yes is needed, where nobody counts for two of the requirements.
pub fn more(asked_for: &BTreeSet<Approvals>, asked: &Asked) -> usize {
    asked_for.iter().map(|approvals| missing(approvals, asked)).sum()
}

/// How many more people one requirement takes.
pub fn missing(approvals: &Approvals, asked: &Asked) -> usize {
    let people: BTreeSet<PrincipalId> = asked
        .given
        .iter()
        .filter(|given| counts(approvals, asked.principal, given.by, given.roles))
        .map(|given| given.by)
        .collect();
    usize::from(approvals.count).saturating_sub(people.len())
}

/// Whether a person's yes counts for a requirement.
pub fn counts(approvals: &Approvals, principal: PrincipalId, person: PrincipalId, roles: Roles) -> bool {
    if approvals.roles.is_empty() {
        person == principal
    } else {
        (person != principal || !approvals.others) && approvals.roles.iter().any(|role| roles.contains(*role))
    }
}

/// What comes of a person's yes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Yes {
    /// It is the last one needed: the decision is approved.
    Completes,
    /// It counts, and others are still needed.
    Counts {
        /// How many, as [`more`] counts them.
        more: usize,
    },
    /// Theirs does not count here.
    DoesNotCount,
    /// They said it before.
    AlreadyGiven,
    /// More stands in the way by now than was shown: the question is put anew.
    Anew,
    /// The answer would now be refuse: the decision is withdrawn.
    Withdraws,
    /// It is no longer open: this is how it stands, or would as soon as someone looks.
    Over(DecisionStatus),
}

/// What a person's yes comes to, with the call behind the decision decided again under what is live now.
pub fn approve(asked: &Asked, verdict: &Verdict, person: Given, now: Timestamp) -> Yes {
    match asked.status {
        DecisionStatus::Open if asked.is_waiting(now) => {}
        DecisionStatus::Open => return Yes::Over(DecisionStatus::Expired),
        over @ (DecisionStatus::Approved
        | DecisionStatus::Declined
        | DecisionStatus::Expired
        | DecisionStatus::Withdrawn
        | DecisionStatus::Used
        | DecisionStatus::Resolved) => return Yes::Over(over),
    }
    if verdict.outcome == Outcome::Refuse {
        return Yes::Withdraws;
    }
    let mut asked_for = verdict.approvals();
    if asked_for.is_empty() {
        // The answer would now be allow; the yes may still be used, and the principal's is enough.
        asked_for.insert(Approvals::own());
    }
    if !asked_for.iter().any(|approvals| counts(approvals, asked.principal, person.by, person.roles)) {
        return Yes::DoesNotCount;
    }
    if asked.given.iter().any(|given| given.by == person.by) {
        return Yes::AlreadyGiven;
    }
    if !asked.shown.cover(&verdict.grounds()) {
        return Yes::Anew;
    }
    let mut with_this = asked.clone();
    with_this.given.push(person);
    match more(&asked_for, &with_this) {
        0 => Yes::Completes,
        more => Yes::Counts { more },
    }
}

/// What a change of authority does to a decision that waits: a narrowed or mixed change takes back every yes that
/// was given, and what would now be refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterChange {
    /// It stays as it is.
    Stays,
    /// It stays open and is put anew: those who said yes are asked again.
    Anew,
    /// It is withdrawn.
    Withdrawn,
}

/// What a narrowed or mixed change does to a decision about an action; `now` is what the engine says to its call by
/// now, if it still can be asked.
pub fn after_narrowing(asked: &Asked, now: Option<&Verdict>) -> AfterChange {
    match asked.status {
        DecisionStatus::Approved => AfterChange::Withdrawn,
        DecisionStatus::Open => match now {
            Some(now) if now.outcome != Outcome::Refuse => {
                let is_shown = asked.shown.cover(&now.grounds());
                if asked.given.is_empty() && is_shown { AfterChange::Stays } else { AfterChange::Anew }
            }
            Some(_) | None => AfterChange::Withdrawn,
        },
        DecisionStatus::Declined
        | DecisionStatus::Expired
        | DecisionStatus::Withdrawn
        | DecisionStatus::Used
        | DecisionStatus::Resolved => AfterChange::Stays,
    }
}
