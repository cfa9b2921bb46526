//! Whose yes a decision takes and has, where it takes more than its principal's.

use crate::web::{display::Shown, when::When};

/// Whose yes a decision takes and has.
#[derive(Debug, Clone)]
pub struct People {
    /// Who said yes, the first one first.
    pub given: Vec<YesLine>,
    /// Who is still needed.
    pub needed: Vec<Needed>,
    /// What the reader's own yes comes to.
    pub mine: Mine,
}

/// A yes.
#[derive(Debug, Clone)]
pub struct YesLine {
    /// Whose.
    pub name: Shown,
    /// When.
    pub at: When,
}

/// Whose yes is still needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needed {
    /// The principal's.
    Owner,
    /// That of so many more people with one of these roles.
    Holders {
        /// How many.
        count: usize,
        /// The roles' names, such as `compliance or operator`.
        roles: String,
    },
}

/// What the reader's own yes comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mine {
    /// It is given.
    Given,
    /// It is not one of those asked for.
    DoesNotCount,
    /// It counts, and so many more are needed after it.
    Counts {
        /// How many.
        more: usize,
    },
}

impl People {
    /// Whether the reader can say yes.
    pub fn may_say_yes(&self) -> bool {
        match self.mine {
            Mine::Counts { .. } => true,
            Mine::Given | Mine::DoesNotCount => false,
        }
    }

    /// Whether the reader said yes.
    pub fn has_said_yes(&self) -> bool {
        self.mine == Mine::Given
    }

    /// How many are needed after the reader's yes; 0 where it is the last one, or counts for nothing.
    pub fn more_after(&self) -> usize {
        match self.mine {
            Mine::Counts { more } => more,
            Mine::Given | Mine::DoesNotCount => 0,
        }
    }

    /// How many are needed now, where nobody counts for two of the requirements.
    pub fn more(&self) -> usize {
        let counts = self.needed.iter().map(|needed| match needed {
            Needed::Owner => 1,
            Needed::Holders { count, .. } => *count,
        });
        counts.sum()
    }
}
