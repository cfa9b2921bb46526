//! The reply rules: a form for what changes most, the whole document, and a text to try it on.

use super::{Editor, Frame};
use crate::web::display::Shown;
use crate::web::when::When;
use askama::Template;

/// The live rules and how to change them.
#[derive(Debug, Clone, Template)]
#[template(path = "reply_rules.html")]
pub struct ReplyRulesPage {
    /// The frame.
    pub frame: Frame,
    /// The live version, 0 where nobody put any; each form sends it back.
    pub version: u64,
    /// Since when it is live, where there is one.
    pub live_since: Option<When>,
    /// What each class of personal data gets.
    pub classes: Vec<ClassChoice>,
    /// Phrases never said, one a line.
    pub never_say: String,
    /// The words that make a sentence an offer, one a line.
    pub markers: String,
    /// The offers allowed, one a line.
    pub allowed: String,
    /// How many sentences must go with something, and how many replies are given word for word.
    pub others: (usize, usize),
    /// The whole document.
    pub editor: Editor,
    /// The text to try it on.
    pub text: String,
    /// Whether it is tried as a reply.
    pub is_reply: bool,
    /// What the document in the editor would do, where the person asked.
    pub tried: Option<Tried>,
    /// Earlier versions, newest first.
    pub versions: Vec<(u64, When)>,
}

/// What one class gets, and what it may get.
#[derive(Debug, Clone)]
pub struct ClassChoice {
    /// The class's name, which is the field's too.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it gets.
    pub action: &'static str,
    /// What it may get.
    pub actions: [&'static str; 3],
}

/// What a draft would do.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The text as it would be shown, where one was given.
    pub text: Option<Shown>,
    /// Whether it would be held back.
    pub withheld: bool,
    /// What would be said instead.
    pub say: Option<Shown>,
    /// What was found in it.
    pub rows: Vec<TriedRow>,
    /// How many kept texts it was put to.
    pub considered: u64,
    /// How many of them it would have shown otherwise.
    pub changes: u64,
}

/// One thing found in the text.
#[derive(Debug, Clone)]
pub struct TriedRow {
    /// Its class, or the rule.
    pub class: &'static str,
    /// What would become of it.
    pub action: &'static str,
    /// What would be shown in its place.
    pub mask: Option<Shown>,
}
