//! What a draft of the mandate would do, said before it is put live.

use super::{FaultLine, Tone};
use crate::web::{display::Shown, when::When};

/// What was found out about a draft.
#[derive(Debug, Clone)]
pub struct DraftCheck {
    /// How it compares with what is live: `narrowed`, `widened`, `mixed` or `unchanged`.
    pub change: &'static str,
    /// What keeps it out.
    pub errors: Vec<FaultLine>,
    /// What is odd about it.
    pub warnings: Vec<FaultLine>,
    /// What it takes for granted.
    pub assumptions: Vec<Shown>,
    /// How many days of calls it was put to.
    pub days: i64,
    /// How many calls it was put to.
    pub considered: u64,
    /// How many of them it would have answered otherwise.
    pub changes: u64,
    /// Those, by what was answered and what would have been.
    pub sums: Vec<Sum>,
    /// The latest of them, newest first.
    pub rows: Vec<ChangedRow>,
    /// The calls it was not put to, by why not.
    pub left_out: Vec<(u64, &'static str)>,
}

/// How many answers would have gone from one to another.
#[derive(Debug, Clone)]
pub struct Sum {
    /// How many.
    pub count: u64,
    /// What was answered.
    pub was: Answer,
    /// What would have been.
    pub would_be: Answer,
}

/// An answer as a word and its colour.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The word.
    pub word: &'static str,
    /// The colour.
    pub tone: Tone,
}

/// A call that would have been answered otherwise.
#[derive(Debug, Clone)]
pub struct ChangedRow {
    /// When it was made.
    pub at: When,
    /// What it asked for.
    pub intent: String,
    /// What was answered.
    pub was: Answer,
    /// What would have been.
    pub would_be: Answer,
    /// The clauses that would have decided.
    pub clauses: String,
    /// The receipt, as an absolute path.
    pub receipt: String,
}

impl DraftCheck {
    pub(super) fn tone(&self) -> Tone {
        super::mandate::change_tone(self.change)
    }

    /// How many of the changes are listed.
    pub(super) fn shown(&self) -> u64 {
        u64::try_from(self.rows.len()).unwrap_or(u64::MAX)
    }
}
