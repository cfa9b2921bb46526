//! The rows of one tenant, and the log in the order of its commits.

use procura::domain::{DecisionStatus, Duration, EffectStatus, Outcome, Timestamp};
use procura::engine::step::{Asked, First, Given, Load, Said, Versions, Word};
use procura::engine::{Book, BookUse, Change, Grounds};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::setting::Setting;

/// Everything that is stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct World {
    /// The time.
    pub(crate) now: Timestamp,
    /// Which document each version of the mandate is; the last one is live. Version 1 is the first.
    pub(crate) mandate: Vec<usize>,
    /// Whether the credential was revoked.
    pub(crate) revoked: bool,
    /// What was recorded, in its order.
    pub(crate) log: Vec<Entry>,
    /// What allows took from the books.
    pub(crate) books: Vec<Row>,
    /// What each idempotency key was answered.
    pub(crate) keys: BTreeMap<usize, KeyRow>,
    /// The queue.
    pub(crate) decisions: Vec<Decision>,
    /// What allows let happen.
    pub(crate) effects: Vec<Effect>,
    /// When a call put a question anew.
    pub(crate) renewals: Vec<Timestamp>,
}

/// One receipt, as far as promises are about it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Entry {
    /// A version of the mandate went live.
    Put { version: usize, change: Change },
    /// A call was answered.
    Answered {
        body: usize,
        outcome: Outcome,
        version: usize,
        /// The decision whose yes it used.
        uses: Option<usize>,
        /// The decision it opened, or that waits for the same.
        opens: Option<usize>,
        at: Timestamp,
        /// What stood in the way, where a yes was used.
        grounds: Arc<Grounds>,
    },
    /// A repeated call got the first answer again, or a refusal of its own.
    Replayed { first: usize, again: bool },
    /// A person's yes.
    Yes { decision: usize, completes: bool, until: Timestamp, shown: Arc<Grounds> },
    /// A person's no.
    No { decision: usize },
    /// A decision ended without a person.
    Over { decision: usize, status: DecisionStatus },
    /// An effect came to an ending.
    Ended { effect: usize, status: EffectStatus, word: Word },
    /// The credential was revoked.
    Revoked,
}

/// What one call took from one book.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Row {
    pub(crate) book: Arc<Book>,
    pub(crate) amount: u64,
    pub(crate) at: Timestamp,
    /// The place of the answer in the log.
    pub(crate) place: usize,
    pub(crate) released: bool,
}

/// What a key was answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KeyRow {
    pub(crate) body: usize,
    pub(crate) place: usize,
    pub(crate) effect: Option<usize>,
    pub(crate) answered_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
}

/// What a decision is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum DecisionKind {
    /// A call outside the mandate.
    Action { body: usize },
    /// An effect that nobody knows the end of.
    Effect(usize),
}

/// An item of the queue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Decision {
    pub(crate) kind: DecisionKind,
    pub(crate) status: DecisionStatus,
    /// The version of the mandate it was opened under.
    pub(crate) version: usize,
    pub(crate) opened_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) approved_until: Option<Timestamp>,
    pub(crate) given: Vec<Given>,
    /// What stood in the way, as whoever decides is shown it.
    pub(crate) shown: Arc<Grounds>,
}

/// Something that may happen once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Effect {
    pub(crate) body: usize,
    pub(crate) key: Option<usize>,
    pub(crate) status: EffectStatus,
    /// What was said of it last, so that the same may be said again.
    pub(crate) said: Option<Said>,
    pub(crate) place: usize,
    pub(crate) claimed_at: Timestamp,
    pub(crate) report_by: Timestamp,
}

impl World {
    /// The first version is live, and nothing happened yet.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            now,
            mandate: vec![0],
            revoked: false,
            log: Vec::new(),
            books: Vec::new(),
            keys: BTreeMap::new(),
            decisions: Vec::new(),
            effects: Vec::new(),
            renewals: Vec::new(),
        }
    }

    /// The live version of the mandate.
    pub(crate) fn version(&self) -> usize {
        self.mandate.len()
    }

    /// The versions that answer now.
    pub(super) fn live(&self) -> Versions {
        versions(self.version())
    }

    /// What was used in a book since an instant, or ever.
    pub(super) fn used(&self, look: &BookUse) -> u64 {
        let counts = |row: &&Row| {
            !row.released && *row.book == look.book && look.since.is_none_or(|since| row.at >= since)
        };
        self.books.iter().filter(counts).map(|row| row.amount).sum()
    }

    /// What a key was answered, if it was.
    pub(super) fn first(&self, key: usize, body: usize) -> Option<(KeyRow, First)> {
        let row = *self.keys.get(&key)?;
        if row.expires_at.is_some_and(|expires_at| expires_at <= self.now) {
            return None;
        }
        let Entry::Answered { outcome, version, .. } = self.log[row.place] else {
            unreachable!("a key points to the answer of a call of its own")
        };
        let first = First {
            same_request: row.body == body,
            outcome,
            versions: versions(version),
            answered_at: row.answered_at,
            effect: row.effect.map(|effect| self.effects[effect].status),
        };
        Some((row, first))
    }

    /// The outcome recorded at a place, and the decision it named.
    pub(crate) fn answered(&self, place: usize) -> (Option<Outcome>, Option<usize>) {
        match self.log[place] {
            Entry::Answered { outcome, opens, .. } => (Some(outcome), opens),
            Entry::Put { .. }
            | Entry::Replayed { .. }
            | Entry::Yes { .. }
            | Entry::No { .. }
            | Entry::Over { .. }
            | Entry::Ended { .. }
            | Entry::Revoked => (None, None),
        }
    }

    /// A decision as the steps take it, asked after with a call that says `body`.
    pub(crate) fn asked(&self, setting: &Setting, decision: usize, body: Option<usize>) -> Asked {
        let row = &self.decisions[decision];
        let same_request = match (row.kind, body) {
            (DecisionKind::Action { .. }, None) => true,
            (DecisionKind::Action { body: asked }, Some(body)) => asked == body,
            (DecisionKind::Effect(_), _) => false,
        };
        Asked {
            status: row.status,
            same_request,
            expires_at: row.expires_at,
            approved_until: row.approved_until,
            principal: setting.people[0].by,
            given: row.given.clone(),
            shown: Grounds::clone(&row.shown),
        }
    }

    /// How much of its principal's attention the agent takes.
    pub(super) fn load(&self) -> Load {
        let an_hour_ago = self.now.minus(Duration::hours(1));
        let count = |of: usize| u64::try_from(of).unwrap();
        let open = self.decisions.iter().filter(|row| row.status == DecisionStatus::Open).count();
        let opened = self.decisions.iter().filter(|row| row.opened_at >= an_hour_ago).count();
        let renewed = self.renewals.iter().filter(|at| **at >= an_hour_ago).count();
        Load { open: count(open), recent: count(opened + renewed) }
    }

    /// Gives back what a call took from the books, or takes it again.
    pub(super) fn set_released(&mut self, place: usize, released: bool) {
        for row in self.books.iter_mut().filter(|row| row.place == place) {
            row.released = released;
        }
    }
}

/// Policy and catalogue stay as they are.
fn versions(mandate: usize) -> Versions {
    Versions { mandate: u64::try_from(mandate).unwrap(), policy: 1, catalogue: 1 }
}
