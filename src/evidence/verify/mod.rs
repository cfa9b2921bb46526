//! Verification offline: of receipts, lines, answers, exports and checkpoints, from their text alone.
//!
//! Each receipt stands by itself: its hash, its documents, its place under a signed checkpoint. Together they
//! must be of one history: no fork in a chain or a log, no two roots for one size. An export must be whole.

mod counts;
mod export;
mod history;
mod receipt;
mod report;
mod source;

pub use report::{Failure, KeyUsed, Report, Verdict};

use self::counts::Counts;
use self::export::{OpenExport, Place};
use self::history::History;
use self::receipt::{Documents, Keys, check};
use self::report::{Fault, same};
use self::source::{Item, Source};
use super::{
    canonical,
    line::Line,
    note::{VerifierKey, open_checkpoint},
    receipt::Receipt,
};
use crate::crypto::sha256;
use crate::domain::{Outcome, ReceiptId};
use crate::evidence::receipt::Kind;
use serde_json::Value;
use std::{io::BufRead, ops::ControlFlow};

/// What the person who verifies brings along.
#[derive(Default)]
pub struct Options {
    /// The log's key, known from elsewhere: any other is a failure.
    pub key: Option<VerifierKey>,
    /// The name and text of a signed checkpoint from elsewhere: every receipt must be of that log.
    pub checkpoint: Option<(String, String)>,
}

/// Verifies named files, in order, up to the first thing that does not hold.
pub fn verify<R: BufRead>(files: impl IntoIterator<Item = (String, R)>, options: Options) -> Report {
    let mut verifier = Verifier::new(options);
    for (name, reader) in files {
        if verifier.read(&name, reader).is_break() {
            break;
        }
    }
    verifier.finish()
}

/// Verification under way.
pub struct Verifier {
    keys: Keys,
    outside: Option<(String, String)>,
    history: History,
    /// Every key a receipt was under, and the first one that was.
    seen: Vec<Seen>,
    /// Texts that are checkpoints if a key opens them: the keys are known once everything is read.
    notes: Vec<(String, String)>,
    counts: Counts,
    failure: Option<Failure>,
}

struct Seen {
    key: VerifierKey,
    file: String,
    line: u64,
    receipt: ReceiptId,
}

/// What a file turned out to hold, and how far it is read.
enum Reading {
    Nothing,
    Loose,
    Export(Box<OpenExport>),
    BetweenExports,
}

impl Verifier {
    /// Starts with nothing read.
    pub fn new(options: Options) -> Self {
        let outside_size =
            options.checkpoint.as_ref().and_then(|(_, text)| text.lines().nth(1)?.parse().ok());
        Self {
            keys: Keys::new(options.key),
            outside: options.checkpoint,
            history: History::default(),
            seen: Vec::new(),
            notes: Vec::new(),
            counts: Counts { outside_size, ..Counts::default() },
            failure: None,
        }
    }

    /// Reads one file; breaks where something did not hold, now or before.
    pub fn read(&mut self, file: &str, reader: impl BufRead) -> ControlFlow<()> {
        if self.failure.is_none() {
            let mut source = Source::new(reader);
            if let Err(fault) = self.read_items(file, &mut source) {
                let line = Some(source.line()).filter(|line| *line > 0);
                self.failure = Some(fault.at(file, line));
            }
        }
        if self.failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Checks what only the whole shows, and reports.
    pub fn finish(mut self) -> Report {
        if self.failure.is_none() {
            self.failure = self.check_notes().err().map(|failure| *failure);
        }
        let key_used = self.key_used();
        let notes = self.counts.remarks(matches!(&key_used, KeyUsed::FromFiles(keys) if !keys.is_empty()));
        Report {
            receipts: self.counts.receipts,
            exports: self.counts.exports,
            checkpoints: self.counts.checkpoints,
            lines: self.counts.lines,
            key_used,
            notes,
            failure: self.failure,
        }
    }

    fn read_items(&mut self, file: &str, source: &mut Source<impl BufRead>) -> Result<(), Fault> {
        let mut reading = Reading::Nothing;
        while let Some(item) = source.next()? {
            match item {
                Item::Text(text) => {
                    if !is_note(&text) {
                        return Err(Fault::unreadable("neither JSON nor a signed note"));
                    }
                    self.notes.push((file.to_owned(), text));
                    return Ok(());
                }
                Item::Json(value) => {
                    self.counts.lines += 1;
                    reading = self.take(reading, &value, file, source.line())?;
                }
            }
        }
        match reading {
            Reading::Nothing => Err(Fault::unreadable("it holds nothing")),
            Reading::Export(open) => Err(open.missing_manifest()),
            Reading::Loose | Reading::BetweenExports => Ok(()),
        }
    }

    fn take(&mut self, reading: Reading, value: &Value, file: &str, line: u64) -> Result<Reading, Fault> {
        match (Shape::of(value), reading) {
            (Shape::Header, Reading::Nothing | Reading::BetweenExports) => {
                let (open, checkpoint) = OpenExport::begin(value, &mut self.keys)?;
                self.history.checkpoint(&checkpoint)?;
                Ok(Reading::Export(Box::new(open)))
            }
            (Shape::Header, Reading::Export(open)) => Err(open.missing_manifest()),
            (Shape::Header, Reading::Loose) => {
                Err(Fault::new("export", "an export's header is the first line of its file"))
            }
            (Shape::Unknown, Reading::Nothing) => {
                Err(Fault::unreadable("not a receipt, a line, an answer, an export or a checkpoint"))
            }
            (_, Reading::Export(mut open)) => match self.take_export_line(&mut open, value, file, line)? {
                Place::Between => Ok(Reading::Export(open)),
                Place::Last => {
                    self.counts.exports += 1;
                    Ok(Reading::BetweenExports)
                }
            },
            (_, Reading::BetweenExports) => {
                Err(Fault::new("export", "a line stands after the export's manifest"))
            }
            (Shape::Unknown, Reading::Loose) => Err(Fault::new("", "not a receipt, a line or an answer")),
            (Shape::Line, Reading::Nothing | Reading::Loose) => {
                let parsed = Line::from_json(value).map_err(|fault| Fault::shape(&fault))?;
                if let Some(export) = parsed.export {
                    let detail = format!("a line of export {export}, whose header is missing");
                    return Err(Fault::new("export", detail).of(parsed.receipt.body.id));
                }
                self.loose(&parsed.receipt, export::documents(&parsed), file, line)
            }
            (Shape::Answer, Reading::Nothing | Reading::Loose) => self.take_answer(value, file, line),
            (Shape::Receipt, Reading::Nothing | Reading::Loose) => {
                let receipt = Receipt::from_json(value).map_err(|fault| Fault::shape(&fault))?;
                self.loose(&receipt, Documents::default(), file, line)
            }
        }
    }

    fn take_export_line(
        &mut self,
        open: &mut OpenExport,
        value: &Value,
        file: &str,
        line: u64,
    ) -> Result<Place, Fault> {
        let parsed = Line::from_json(value).map_err(|fault| Fault::shape(&fault))?;
        let id = parsed.receipt.body.id;
        open.check_id(&parsed).map_err(|fault| fault.of(id))?;
        self.hold(&parsed.receipt, export::documents(&parsed), file, line)?;
        open.line(&parsed, value).map_err(|fault| fault.of(id))
    }

    /// An answer of the service with the receipt in it. What the receipt repeats must agree; where the rest is
    /// the output document, it is checked as that.
    fn take_answer(&mut self, value: &Value, file: &str, line: u64) -> Result<Reading, Fault> {
        let nested = value.get("receipt").unwrap_or(&Value::Null);
        let receipt = Receipt::from_json(nested).map_err(|fault| Fault::shape(&fault.under("/receipt")))?;
        let body = &receipt.body;
        let repeated = [
            ("outcome", body.outcome.map(|outcome| Value::from(Outcome::as_str(outcome)))),
            ("mandate_version", body.mandate_version.map(Value::from)),
            ("policy_version", body.policy_version.map(Value::from)),
        ];
        for (member, stated) in repeated {
            if let (Some(answered), Some(stated)) = (value.get(member), stated) {
                same(member, &stated, answered, "the receipt in the answer says otherwise")
                    .map_err(|f| f.of(body.id))?;
            }
        }
        let mut rest = value.clone();
        rest.as_object_mut().map(|members| members.remove("receipt"));
        let covered = sha256(&canonical::to_vec(&rest)) == body.output_hash;
        // What the gate answered is its output document: members beside the receipt that it does not cover were changed.
        if !covered
            && body.kind == Kind::GateEvaluate
            && rest.as_object().is_some_and(|members| !members.is_empty())
        {
            let found = sha256(&canonical::to_vec(&rest));
            let changed =
                same("output_hash", &body.output_hash, &found, "the answer around the receipt was changed");
            return changed.map(|()| Reading::Loose).map_err(|f| f.of(body.id));
        }
        self.counts.uncovered += u64::from(!covered);
        let documents = Documents { output: Some(&rest).filter(|_| covered), ..Documents::default() };
        self.loose(&receipt, documents, file, line)
    }

    fn loose(
        &mut self,
        receipt: &Receipt,
        documents: Documents<'_>,
        file: &str,
        line: u64,
    ) -> Result<Reading, Fault> {
        self.hold(receipt, documents, file, line)?;
        self.counts.loose += 1;
        self.counts.bare += u64::from(documents.input.is_none());
        Ok(Reading::Loose)
    }

    /// Checks a receipt by itself, then against all that was read before.
    fn hold(
        &mut self,
        receipt: &Receipt,
        documents: Documents<'_>,
        file: &str,
        line: u64,
    ) -> Result<(), Fault> {
        let id = receipt.body.id;
        let (key, commitments) = check(receipt, documents, &mut self.keys).map_err(|fault| fault.of(id))?;
        self.history.add(receipt, key.name()).map_err(|fault| fault.of(id))?;
        self.counts.receipts += 1;
        self.counts.closed += u64::try_from(commitments.closed).unwrap_or(u64::MAX);
        self.counts.other_sizes +=
            u64::from(self.counts.outside_size.is_some_and(|size| size != receipt.merkle.size));
        if !self.seen.iter().any(|seen| seen.key == key) {
            self.seen.push(Seen { key, file: file.to_owned(), line, receipt: id });
        }
        Ok(())
    }

    /// Opens the checkpoints that stand for themselves, and the one that was given.
    fn check_notes(&mut self) -> Result<(), Box<Failure>> {
        for (file, text) in std::mem::take(&mut self.notes) {
            self.open_alone(&text).map_err(|fault| Box::new(fault.at(&file, None)))?;
        }
        let Some((name, text)) = self.outside.take() else { return Ok(()) };
        if !is_note(&text) {
            return Err(Box::new(Fault::unreadable("not a signed checkpoint").at(&name, None)));
        }
        let key = self.open_alone(&text).map_err(|fault| Box::new(fault.at(&name, None)))?;
        match self.seen.iter().find(|seen| seen.key != key) {
            None => Ok(()),
            Some(other) => {
                let detail = "the checkpoint that was given is of another log or key";
                let fault = Fault::differs("merkle.key", &key, &other.key, detail).of(other.receipt);
                Err(Box::new(fault.at(&other.file, Some(other.line))))
            }
        }
    }

    /// Opens a checkpoint with the key that was given, or else one that receipts of its log are under.
    fn open_alone(&mut self, text: &str) -> Result<VerifierKey, Fault> {
        let origin = text.lines().next().unwrap_or_default();
        let known = self.keys.given().into_iter().chain(self.seen.iter().map(|seen| &seen.key));
        let mut refusal = Fault::new(
            "checkpoint",
            format!("no key is known for the log `{}`: give it with --key", origin.escape_debug()),
        );
        for key in known.filter(|key| key.name() == origin || self.keys.given().is_some()) {
            match open_checkpoint(text, key) {
                Ok(checkpoint) => {
                    let key = key.clone();
                    self.history.checkpoint(&checkpoint)?;
                    self.counts.checkpoints += 1;
                    return Ok(key);
                }
                Err(error) => refusal = Fault::new("checkpoint", error.to_string()),
            }
        }
        Err(refusal)
    }

    fn key_used(&self) -> KeyUsed {
        match self.keys.given() {
            Some(key) => KeyUsed::Given(key.to_string()),
            None => KeyUsed::FromFiles(self.seen.iter().map(|seen| seen.key.to_string()).collect()),
        }
    }
}

/// Whether a text has the form of a note at all; opening it comes after.
fn is_note(text: &str) -> bool {
    text.contains("\n\n\u{2014} ")
}

/// What a JSON value is meant to be, by the members it has; reading it strictly comes after.
enum Shape {
    Header,
    Line,
    Answer,
    Receipt,
    Unknown,
}

impl Shape {
    fn of(value: &Value) -> Self {
        let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
        if has(&["procura"]) || (has(&["export"]) && !has(&["receipt", "input", "output", "content"])) {
            Self::Header
        } else if has(&["input", "output", "content", "export"]) {
            Self::Line
        } else if has(&["receipt"]) {
            Self::Answer
        } else if has(&["hash", "auth", "merkle", "prev", "chain", "input_hash"]) {
            Self::Receipt
        } else {
            Self::Unknown
        }
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
