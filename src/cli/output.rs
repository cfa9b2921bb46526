//! What goes to standard output and standard error, and with which status a command ends.

use serde_json::Value;
use std::fmt::Display;
use std::io::{self, Write};

/// Why a command did not do what it was asked: a status and a sentence for the person.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    status: u8,
    message: String,
}

impl Failure {
    /// What was asked cannot be understood, or a file cannot be read: status 2.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { status: 2, message: message.into() }
    }

    /// It could not be done: status 1.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self { status: 1, message: message.into() }
    }

    /// The same, of a command whose status 1 says that something it read is not so: status 2.
    pub(super) fn into_unreadable(self) -> Self {
        Self { status: 2, ..self }
    }

    /// The same, and what to do about it.
    pub(super) fn with(self, advice: &str) -> Self {
        Self { message: format!("{}; {advice}", self.message), ..self }
    }

    /// Says it on standard error and gives the status.
    pub(super) fn report(&self) -> u8 {
        if !self.message.is_empty() {
            diagnose(&format!("procura: {}", self.message));
        }
        self.status
    }

    #[cfg(test)]
    pub(super) fn status(&self) -> u8 {
        self.status
    }

    /// The sentence.
    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

/// The form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines and tables for people.
    Text,
    /// One JSON value a line, for programs.
    Json,
}

/// Writes one line of text to standard output.
pub(super) fn line(text: impl Display) -> Result<(), Failure> {
    written(writeln!(io::stdout(), "{}", inert(&text.to_string())))
}

/// Writes one JSON value as one line to standard output.
pub(super) fn json(value: &Value) -> Result<(), Failure> {
    written(writeln!(io::stdout(), "{value}"))
}

/// Writes a table to standard output: columns as wide as their widest cell, the last as wide as it is.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let cells = |row: &Vec<String>| row.iter().map(|cell| inert(cell)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = std::iter::once(headings).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    for row in &rows {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        written(writeln!(io::stdout(), "{}", padded.collect::<Vec<_>>().join("  ").trim_end()))?;
    }
    Ok(())
}

/// Writes one line to standard error; if nobody reads it, there is nobody left to tell.
pub(super) fn diagnose(text: &str) {
    // What databases say comes in several lines.
    let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    drop(writeln!(io::stderr(), "{}", inert(text.trim_end())));
}

/// A reader that went away ends the command without a word; a full disk is said.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::failed("")
        } else {
            Failure::failed(format!("standard output cannot be written: {error}"))
        }
    })
}

/// The text with everything that a terminal would obey or not show written as an escape: what others wrote must
/// not move the cursor of whoever reads it.
fn inert(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => shown.push(character),
            // After another character, so that a mark that belongs to one before it is kept as it is.
            other => shown.extend(format!("_{other}").escape_debug().skip(1)),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_cannot_move_the_cursor() {
        assert_eq!(inert("a\u{1b}[2Jb\r\nc"), "a\\u{1b}[2Jb\\r\\nc");
        assert_eq!(inert("pay \u{202e}001"), "pay \\u{202e}001");
    }

    #[test]
    fn ordinary_text_is_shown_as_it_is() {
        for text in [r#"it's "so" \ `x`"#, "Zoë — 12,00 €", "नमस्ते", "日本"] {
            assert_eq!(inert(text), text);
        }
    }
}
