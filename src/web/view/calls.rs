//! The call log: what was asked, what was answered, and the receipt for each.

use super::{Frame, Tone};
use crate::domain::Outcome;
use crate::web::{display::Shown, when::When};
use askama::Template;

/// One page of the call log.
#[derive(Debug, Clone, Template)]
#[template(path = "calls.html")]
pub struct CallsPage {
    /// The frame; its fault names a filter that could not be read.
    pub frame: Frame,
    /// What the list is narrowed to.
    pub filter: Filter,
    /// The calls, newest first.
    pub calls: Vec<CallRow>,
    /// The next, older page, as an absolute path with the same filter.
    pub older: Option<String>,
    /// Where the filtered calls of one credential are to be had as CSV and JSONL, once one is chosen.
    pub exports: Option<(String, String)>,
}

/// What the list of calls is narrowed to, as it was typed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The credentials to choose from.
    pub credentials: Vec<Choice>,
    /// The outcome chosen, if any.
    pub outcome: Option<Outcome>,
    /// The intent typed.
    pub intent: String,
    /// The first moment, as a `datetime-local` field holds it.
    pub from: String,
    /// The first moment after the last, likewise.
    pub until: String,
    /// The zone both are in.
    pub zone: String,
}

impl Filter {
    fn outcomes(&self) -> [Choice; 3] {
        [Outcome::Allow, Outcome::Escalate, Outcome::Refuse].map(|outcome| Choice {
            value: outcome.as_str().to_owned(),
            says: outcome.as_str().to_owned(),
            is_chosen: self.outcome == Some(outcome),
        })
    }
}

/// One entry of a list to choose from.
#[derive(Debug, Clone)]
pub struct Choice {
    /// What the form sends.
    pub value: String,
    /// What it says.
    pub says: String,
    /// Whether it is chosen.
    pub is_chosen: bool,
}

/// A call.
#[derive(Debug, Clone)]
pub struct CallRow {
    /// When it came.
    pub at: When,
    /// The agent's name, or another person's; nothing for the reader's own call.
    pub agent: Option<Shown>,
    /// What its credential is called.
    pub credential: Option<Shown>,
    /// The intent, or what kind of call it was.
    pub what: String,
    /// The answer in a word: an outcome, or an HTTP status.
    pub answer: String,
    /// The answer's colour.
    pub tone: Tone,
    /// Why.
    pub reason: Option<Shown>,
    /// The receipt, as an absolute path; calls counted by the minute have none of their own.
    pub receipt: Option<String>,
}
