//! A person's mandate: its sentences, the form for what changes most, the whole document, and its versions.

use super::{ClauseSentence, DraftCheck, Frame, ScopeChoice, Tone, choices, sentence};
use crate::domain::Malformed;
use crate::engine::{KnownCounterparty, MandateDocument, Unlisted};
use crate::web::display::{self, Shown};
use crate::web::when::When;
use askama::Template;

/// The live mandate and how to change it.
#[derive(Debug, Clone, Template)]
#[template(path = "mandate.html")]
pub struct MandatePage {
    /// The frame; its notice says what the last change came to, such as `version 4 is live: narrowed`.
    pub frame: Frame,
    /// The live version; each form sends it back, so that nobody overwrites what they did not see.
    pub version: u64,
    /// Since when it is live.
    pub live_since: When,
    /// Since when or until when its terms hold, if it says so.
    pub valid: Option<(Option<When>, Option<When>)>,
    /// The scopes it switches on.
    pub scopes: Vec<ScopeChoice>,
    /// Whether an intent that no clause names is refused rather than asked about.
    pub refuses_unlisted: bool,
    /// The clauses as sentences.
    pub clauses: Vec<ClauseSentence>,
    /// Whom it lists as known.
    pub known: Vec<KnownLine>,
    /// The whole document.
    pub editor: Editor,
    /// What the document in the editor would do, where the person asked.
    pub check: Option<DraftCheck>,
    /// All versions, newest first.
    pub versions: Vec<VersionRow>,
}

impl MandatePage {
    /// The scopes, the rule for what is unlisted, the sentences and the known of a document.
    pub fn parts(
        document: &MandateDocument,
    ) -> (Vec<ScopeChoice>, bool, Vec<ClauseSentence>, Vec<KnownLine>) {
        let refuses_unlisted = match document.unlisted {
            Unlisted::Refuse => true,
            Unlisted::Escalate => false,
        };
        let clauses = document.clauses.iter().map(sentence).collect();
        let known = document.counterparties.iter().map(KnownLine::new).collect();
        (choices(document.scopes), refuses_unlisted, clauses, known)
    }

    fn has_scopes(&self) -> bool {
        self.scopes.iter().any(|scope| scope.is_chosen)
    }
}

/// The text area with the whole document.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    /// The document as YAML or JSON, as it is live or as it was typed.
    pub text: String,
    /// What is wrong with what was typed.
    pub faults: Vec<FaultLine>,
    /// Whether the text held characters that do not show and are written as escapes now.
    pub had_hidden: bool,
}

impl Editor {
    /// The editor with `text` in it, which may not be a mandate at all.
    pub fn new(text: &str, malformed: Option<&Malformed>) -> Self {
        Self {
            text: display::inert(text),
            faults: malformed.map_or_else(Vec::new, FaultLine::all),
            had_hidden: display::hides_something(text),
        }
    }
}

/// One thing wrong with a document.
#[derive(Debug, Clone)]
pub struct FaultLine {
    /// Where: a JSON Pointer, or nothing for the document as a whole.
    pub pointer: Option<Shown>,
    /// What was found and what is allowed.
    pub detail: Shown,
}

impl FaultLine {
    /// What is said of one place.
    pub fn new(pointer: &str, detail: &str) -> Self {
        Self { pointer: (!pointer.is_empty()).then(|| display::line(pointer)), detail: display::line(detail) }
    }

    /// All that is wrong, in document order.
    pub fn all(malformed: &Malformed) -> Vec<Self> {
        malformed.faults.iter().map(|fault| Self::new(&fault.pointer, &fault.detail)).collect()
    }
}

/// A counterparty that the mandate lists.
#[derive(Debug, Clone)]
pub struct KnownLine {
    /// Its name.
    pub name: Shown,
    /// Its other names.
    pub aliases: Vec<Shown>,
    /// Up to which amount.
    pub at_most: Option<String>,
}

impl KnownLine {
    /// The counterparty as a line.
    pub fn new(known: &KnownCounterparty) -> Self {
        Self {
            name: display::name(&known.id),
            aliases: known.aliases.iter().map(display::name).collect(),
            at_most: known.at_most.map(|amount| amount.to_string()),
        }
    }
}

/// One version in the list.
#[derive(Debug, Clone)]
pub struct VersionRow {
    /// Its number.
    pub version: u64,
    /// How it compares with the one before: `narrowed`, `widened`, `mixed`, `unchanged` or `first`.
    pub change: String,
    /// Since when it is, or was, live.
    pub live_since: When,
}

impl VersionRow {
    fn tone(&self) -> Tone {
        change_tone(&self.change)
    }
}

/// The colour of a kind of change.
pub(super) fn change_tone(change: &str) -> Tone {
    match change {
        "narrowed" => Tone::Good,
        "widened" | "mixed" => Tone::Waiting,
        _ => Tone::Quiet,
    }
}

/// One earlier or live version, to read.
#[derive(Debug, Clone, Template)]
#[template(path = "mandate_version.html")]
pub struct MandateVersionPage {
    /// The frame.
    pub frame: Frame,
    /// The version's row.
    pub row: VersionRow,
    /// The scopes it switches on.
    pub scopes: Vec<ScopeChoice>,
    /// Whether an intent that no clause names is refused rather than asked about.
    pub refuses_unlisted: bool,
    /// Its clauses as sentences.
    pub clauses: Vec<ClauseSentence>,
    /// Whom it lists as known.
    pub known: Vec<KnownLine>,
    /// The whole document.
    pub document: Shown,
}
