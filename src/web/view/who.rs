//! Who allowed what was asked about, in one sentence, and the receipts behind it.

use super::{Frame, Tone};
use crate::web::{display::Shown, when::When};
use askama::Template;

/// The page that answers the search box.
#[derive(Debug, Clone, Template)]
#[template(path = "who.html")]
pub struct WhoPage {
    /// The frame; its fault says why nothing was found.
    pub frame: Frame,
    /// What was asked, to start from.
    pub q: String,
    /// What was found, the newest first.
    pub matches: Vec<WhoMatch>,
    /// Whether there is more than is shown.
    pub more: bool,
    /// How many receipts, the oldest, were not looked through yet.
    pub not_searched: u64,
}

impl WhoPage {
    /// The page before anything was found.
    pub fn asking(frame: Frame, q: String) -> Self {
        Self { frame, q, matches: Vec::new(), more: false, not_searched: 0 }
    }
}

/// One match.
#[derive(Debug, Clone)]
pub struct WhoMatch {
    /// Who allowed it: the sentence up to its first semicolon.
    pub sentence: Shown,
    /// What came of it: the rest, a part a line.
    pub rest: Vec<Shown>,
    /// How it stands, in a word.
    pub standing: &'static str,
    /// The word's colour.
    pub tone: Tone,
    /// The receipt it is about, as an absolute path.
    pub receipt: String,
    /// The file to hand over, as an absolute path.
    pub file: String,
    /// The decision's page, as an absolute path.
    pub decision: Option<String>,
    /// The receipts behind it, in the order they were recorded.
    pub chain: Vec<LinkRow>,
}

/// A receipt behind a match.
#[derive(Debug, Clone)]
pub struct LinkRow {
    /// When.
    pub at: When,
    /// Who.
    pub who: Shown,
    /// What they did.
    pub says: Shown,
    /// The kind of receipt.
    pub kind: &'static str,
    /// The receipt's id.
    pub id: String,
}
