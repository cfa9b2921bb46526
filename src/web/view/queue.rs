//! The queue: what waits for a person, and what has ended lately.

use super::{Frame, Status};
use crate::web::{display::Shown, when::When};
use askama::Template;

/// A person's queue.
#[derive(Debug, Clone, Template)]
#[template(path = "queue.html")]
pub struct QueuePage {
    /// The frame.
    pub frame: Frame,
    /// What waits, newest first.
    pub open: Vec<OpenRow>,
    /// What has ended, newest first.
    pub ended: Vec<EndedRow>,
    /// The next page of ended ones, as an absolute path.
    pub older: Option<String>,
}

/// A decision that waits.
#[derive(Debug, Clone)]
pub struct OpenRow {
    /// Its id.
    pub id: String,
    /// What is asked for rather than a yes, such as `nobody knows how this ended`.
    pub about: Option<&'static str>,
    /// How often it was asked, if more than once, such as `asked 3 times`.
    pub badge: Option<String>,
    /// Whose yes it takes, where it is more than its principal's, such as `1 said yes, 1 more needed`.
    pub people: Option<String>,
    /// The agent's name.
    pub agent: Shown,
    /// Whose agent it is, where it is not the reader's.
    pub owner: Option<Shown>,
    /// What it wants to do.
    pub intent: String,
    /// What that moves, such as `12.00 EUR`.
    pub amount: Option<String>,
    /// Why it was not simply allowed.
    pub reason: Shown,
    /// When it ends undecided; an effect waits until somebody says how it ended.
    pub expires: Option<When>,
}

/// A decision that has ended.
#[derive(Debug, Clone)]
pub struct EndedRow {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: Shown,
    /// Whose agent it is, where it is not the reader's.
    pub owner: Option<Shown>,
    /// What it wanted to do.
    pub intent: String,
    /// What that would have moved.
    pub amount: Option<String>,
    /// How it ended.
    pub status: Status,
    /// When it was asked.
    pub asked: When,
}
