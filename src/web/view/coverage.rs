//! A provider's list held against the ledger: the form, and what it came to.

use super::{Frame, Tone};
use crate::app::coverage::Sort;
use crate::web::display::{self, Shown};
use crate::web::when::When;
use askama::Template;

/// The page of coverage.
#[derive(Debug, Clone, Template)]
#[template(path = "coverage.html")]
pub struct CoveragePage {
    /// The frame; its fault says why nothing was held against anything.
    pub frame: Frame,
    /// What was sent.
    pub typed: Typed,
    /// What it came to.
    pub answer: Option<Answer>,
    /// How many bytes a list may have.
    pub most_bytes: usize,
}

/// What the form was sent with.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    /// Effects of which intents.
    pub intent: String,
    /// The first moment, as a `datetime-local` field holds it.
    pub from: String,
    /// The first moment after the last, likewise.
    pub until: String,
    /// The zone both are in.
    pub zone: String,
    /// What the columns are called: reference, amount, currency, time, key.
    pub columns: [String; 5],
    /// The list.
    pub list: String,
    /// Whether the list held characters that do not show, which are written as escapes now.
    pub had_hidden: bool,
    /// Whether the list is a file that is not shown again.
    pub is_left_out: bool,
}

impl Typed {
    /// A list as a text area shows it, so that it can be mended and sent again.
    pub fn of_list(list: &str) -> Self {
        // What a spreadsheet writes at the top, and a browser at the end of each line, says nothing.
        let list = list.strip_prefix('\u{FEFF}').unwrap_or(list).replace("\r\n", "\n");
        Self { had_hidden: display::hides_something(&list), list: display::inert(&list), ..Self::default() }
    }
}

impl CoveragePage {
    /// Each column: the field's name, what it holds, what it is called unless said, and what was typed.
    fn columns(&self) -> [(&'static str, &'static str, &'static str, &str); 5] {
        let [reference, amount, currency, time, key] = &self.typed.columns;
        [
            ("reference", "The provider's reference", "reference", reference),
            ("amount", "Amount, in major units", "amount", amount),
            ("currency", "Currency", "currency", currency),
            ("time", "Time, with its offset", "time", time),
            ("key", "Idempotency key, where the provider gives it back", "", key),
        ]
    }

    fn names_columns(&self) -> bool {
        self.typed.columns.iter().any(|name| !name.is_empty())
    }

    fn most_mebibytes(&self) -> usize {
        self.most_bytes >> 20
    }
}

/// What holding the list against the ledger came to.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Whether list and ledger say the same.
    pub agrees: bool,
    /// Lines of the list.
    pub lines: u64,
    /// Effects of the ledger.
    pub effects: u64,
    /// Lines outside the time that was asked for.
    pub outside: u64,
    /// Effects whose reference was erased.
    pub erased: u64,
    /// Every sort of line and effect, differences first.
    pub lists: Vec<List>,
}

/// Lines, or effects, of one sort.
#[derive(Debug, Clone)]
pub struct List {
    /// Which.
    pub sort: Sort,
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub rows: Vec<Row>,
    /// How many are not among those.
    pub more: u64,
}

impl List {
    fn anchor(&self) -> String {
        self.sort.as_str().replace('_', "-")
    }

    fn title(&self) -> &'static str {
        match self.sort {
            Sort::MissingReceipt => "Missing a receipt",
            Sort::AmountsDiffer => "Amounts that differ",
            Sort::NeverDone => "Allowed but never done",
            Sort::NotSettled => "Listed, but not known to be done",
            Sort::Duplicates => "Repeated references",
            Sort::Malformed => "Lines that cannot be read",
            Sort::Matched => "Matched",
        }
    }

    fn says(&self) -> &'static str {
        match self.sort {
            Sort::MissingReceipt => {
                "The provider lists them, and no call let them happen: they never passed the gate."
            }
            Sort::AmountsDiffer => "The provider lists another amount than the one that was allowed.",
            Sort::NeverDone => "They were allowed, and the provider does not list them.",
            Sort::NotSettled => {
                "The provider lists them; here they were reported as failed, not reported, or nobody knows."
            }
            Sort::Duplicates => "An earlier line has the same reference; only that one was compared.",
            Sort::Malformed => "Mend them in the list below and compare it again.",
            Sort::Matched => "Allowed, done and listed with the same amount.",
        }
    }

    fn class(&self) -> &'static str {
        let tone = match self.sort {
            _ if self.count == 0 => Tone::Quiet,
            Sort::MissingReceipt | Sort::AmountsDiffer => Tone::Bad,
            Sort::NeverDone | Sort::NotSettled | Sort::Duplicates | Sort::Malformed => Tone::Waiting,
            Sort::Matched => Tone::Good,
        };
        tone.class()
    }

    /// Which columns any of its rows has something in.
    fn shows(&self) -> Shows {
        let any = |has: fn(&Row) -> bool| self.rows.iter().any(has);
        Shows {
            line: any(|row| row.line.is_some()),
            reference: any(|row| row.reference.is_some()),
            listed: any(|row| row.listed.is_some()),
            allowed: any(|row| row.allowed.is_some()),
            at: any(|row| row.at.is_some()),
            known: any(|row| row.intent.is_some() || row.detail.is_some()),
            receipt: any(|row| row.receipt.is_some()),
        }
    }

    /// Whether it is of those that are told also where there are none.
    fn is_told(&self) -> bool {
        match self.sort {
            Sort::MissingReceipt | Sort::AmountsDiffer | Sort::NeverDone | Sort::Matched => true,
            Sort::NotSettled | Sort::Duplicates | Sort::Malformed => self.count > 0,
        }
    }
}

/// The columns of a table.
#[expect(clippy::struct_excessive_bools, reason = "one a column, told apart by their names")]
struct Shows {
    line: bool,
    reference: bool,
    listed: bool,
    allowed: bool,
    at: bool,
    known: bool,
    receipt: bool,
}

/// A line, an effect, or both where they belong together.
#[derive(Debug, Clone)]
pub struct Row {
    /// The line of the list.
    pub line: Option<u64>,
    /// The provider's reference.
    pub reference: Option<Shown>,
    /// The amount of the list.
    pub listed: Option<Shown>,
    /// The amount that was allowed.
    pub allowed: Option<String>,
    /// When it was allowed, or when it is listed for.
    pub at: Option<When>,
    /// The effect's intent.
    pub intent: Option<String>,
    /// Where the effect stands.
    pub status: Option<String>,
    /// What is to be said of it.
    pub detail: Option<Shown>,
    /// The receipt of the call, as an absolute path.
    pub receipt: Option<String>,
}
