//! Copies of the log: begun here, fetched, and those that were taken.

use super::{Choice, Frame, Tone};
use crate::web::{display::Shown, when::When};
use askama::Template;

/// The page of exports.
#[derive(Debug, Clone, Template)]
#[template(path = "exports.html")]
pub struct ExportsPage {
    /// The frame; its fault says why none was begun.
    pub frame: Frame,
    /// What there is to export, by heading.
    pub subjects: Vec<(&'static str, Vec<Choice>)>,
    /// What was typed.
    pub typed: Typed,
    /// Exports that were begun, newest first.
    pub exports: Vec<ExportRow>,
    /// The next, older page, as an absolute path.
    pub older: Option<String>,
    /// Whether the reader sees those of others as well.
    pub sees_tenant: bool,
}

/// What the form was sent with.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    /// The choice.
    pub subject: String,
    /// An id in place of a choice.
    pub id: String,
    /// The format's name.
    pub format: String,
    /// The first moment, as a `datetime-local` field holds it.
    pub from: String,
    /// The first moment after the last, likewise.
    pub until: String,
    /// The zone both are in.
    pub zone: String,
}

impl ExportsPage {
    fn formats(&self) -> [(&'static str, &'static str, bool); 3] {
        [
            ("jsonl", "JSONL: with receipts and paths, verifies offline", self.typed.format == "jsonl"),
            ("csv", "CSV: a table for spreadsheets", self.typed.format == "csv"),
            (
                "parquet",
                "Parquet: the same table in typed columns, for analysis",
                self.typed.format == "parquet",
            ),
        ]
    }

    fn is_running(&self) -> bool {
        self.exports.iter().any(|export| matches!(export.stage, Stage::Running { .. }))
    }
}

/// An export.
#[derive(Debug, Clone)]
pub struct ExportRow {
    /// When it was begun.
    pub at: When,
    /// Another's name; nothing for the reader's own.
    pub who: Option<Shown>,
    /// Whose receipts, in words.
    pub what: Shown,
    /// From when to when, where it is not all.
    pub period: Option<(Option<When>, Option<When>)>,
    /// The format's name.
    pub format: String,
    /// How far it is.
    pub stage: Stage,
    /// Where the file is fetched, as long as it is kept for the reader.
    pub file: Option<String>,
    /// The receipt of its manifest, as an absolute path.
    pub receipt: Option<String>,
}

/// How far an export is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nobody fetched it to its end.
    Begun,
    /// It is being fetched.
    Running {
        /// Places of the log behind it.
        done: u64,
        /// All it covers.
        all: u64,
    },
    /// It was fetched to its end.
    Whole {
        /// How many receipts it holds.
        lines: u64,
    },
}

impl Stage {
    fn word(self) -> &'static str {
        match self {
            Self::Begun => "not fetched",
            Self::Running { .. } => "being fetched",
            Self::Whole { .. } => "whole",
        }
    }

    fn class(self) -> &'static str {
        let tone = match self {
            Self::Begun => Tone::Quiet,
            Self::Running { .. } => Tone::Waiting,
            Self::Whole { .. } => Tone::Good,
        };
        tone.class()
    }
}
