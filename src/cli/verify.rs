//! `procura verify`: checks receipts, exports and checkpoints offline and names the first thing that does not hold.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form, diagnose};
use super::progress::Progress;
use crate::evidence::note::VerifierKey;
use crate::evidence::verify::{KeyUsed, Options, Report, Verdict, Verifier};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufReader, Read};

/// The largest checkpoint that is read, in bytes; a note is a few lines.
const LARGEST_CHECKPOINT: u64 = 64 * 1024;

/// Verifies the files in order, up to the first thing that does not hold.
pub(super) fn run(sources: &Sources, options: &arguments::Verify, form: Form) -> Result<u8, Failure> {
    let key = sources.parse("key", options.key.as_deref(), |text| {
        text.parse::<VerifierKey>().map_err(|error| format!("{error}, as `procura keys list` prints it"))
    })?;
    let checkpoint = match sources.value("checkpoint", options.checkpoint.as_deref())? {
        Some(given) => Some((given.text.clone(), read_checkpoint(&given.text)?)),
        None => None,
    };
    let mut verifier = Verifier::new(Options { key, checkpoint });
    let mut files = Vec::new();
    for name in &options.files {
        let (reader, bytes) = open(name)?;
        let mut watched = Watched::new(reader, bytes);
        let shown = if name == "-" { "standard input" } else { name };
        let flow = verifier.read(shown, BufReader::with_capacity(1 << 16, &mut watched));
        files.push((shown.to_owned(), watched.lines()));
        if let Some(error) = watched.error.take() {
            return Err(Failure::usage(format!("`{name}` cannot be read: {error}")));
        }
        if flow.is_break() {
            break;
        }
    }
    let report = verifier.finish();
    if form == Form::Json {
        output::json(&as_json(&report))?;
    } else {
        tell(&files, &report)?;
    }
    Ok(report.verdict().exit_status())
}

fn open(name: &str) -> Result<(Box<dyn Read>, Option<u64>), Failure> {
    if name == "-" {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let unreadable = |error: io::Error| Failure::usage(format!("`{name}` cannot be read: {error}"));
    let file = File::open(name).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if about.is_dir() {
        return Err(Failure::usage(format!("`{name}` is a directory: a file is taken")));
    }
    Ok((Box::new(file), Some(about.len())))
}

fn read_checkpoint(name: &str) -> Result<String, Failure> {
    let (reader, _) = open(name)?;
    let mut text = String::new();
    reader
        .take(LARGEST_CHECKPOINT)
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("`{name}` cannot be read: {error}")))?;
    Ok(text)
}

/// For people: what was read, what was not shown, and whether it holds.
fn tell(files: &[(String, u64)], report: &Report) -> Result<(), Failure> {
    for (name, lines) in files {
        output::line(format!("{name}: {}", counted(*lines, "line")))?;
    }
    let mut checked = vec![counted(report.receipts, "receipt")];
    if report.exports > 0 {
        checked.push(counted(report.exports, "whole export"));
    }
    if report.checkpoints > 0 {
        checked.push(counted(report.checkpoints, "checkpoint"));
    }
    output::line(format!("checked {}", checked.join(", ")))?;
    match &report.key_used {
        KeyUsed::Given(key) => output::line(format!("key given: {key}"))?,
        KeyUsed::FromFiles(keys) => {
            for key in keys {
                output::line(format!("key from the file: {key}"))?;
            }
        }
    }
    for note in &report.notes {
        output::line(format!("note: {note}"))?;
    }
    match &report.failure {
        None => output::line("all hold"),
        Some(failure) => {
            let what = match report.verdict() {
                Verdict::Unreadable => "cannot be verified",
                Verdict::Failed | Verdict::Held => "does not hold",
            };
            diagnose(&format!("{what}: {failure}"));
            Ok(())
        }
    }
}

fn as_json(report: &Report) -> Value {
    let verdict = match report.verdict() {
        Verdict::Held => "held",
        Verdict::Failed => "failed",
        Verdict::Unreadable => "unreadable",
    };
    let (is_given, keys) = match &report.key_used {
        KeyUsed::Given(key) => (true, vec![key.clone()]),
        KeyUsed::FromFiles(keys) => (false, keys.clone()),
    };
    let failure = report.failure.as_ref().map(|failure| {
        json!({"file": failure.file, "line": failure.line, "receipt": failure.receipt, "field": failure.field,
            "expected": failure.expected, "found": failure.found, "detail": failure.detail})
    });
    json!({"verdict": verdict, "receipts": report.receipts, "exports": report.exports,
        "checkpoints": report.checkpoints, "lines": report.lines, "keys": keys, "key_given": is_given,
        "notes": report.notes, "failure": failure})
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A reader that counts lines, keeps the system's error, and shows how far it is.
struct Watched<R> {
    inner: R,
    newlines: u64,
    ends_open: bool,
    error: Option<io::Error>,
    progress: Progress,
}

impl<R: Read> Watched<R> {
    fn new(inner: R, bytes: Option<u64>) -> Self {
        Self { inner, newlines: 0, ends_open: false, error: None, progress: Progress::of_bytes(bytes) }
    }

    /// Lines so far, a last one without an end among them.
    fn lines(&self) -> u64 {
        self.newlines + u64::from(self.ends_open)
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer).inspect_err(|error| {
            self.error = Some(io::Error::new(error.kind(), error.to_string()));
        })?;
        let got = buffer.get(..count).unwrap_or_default();
        self.newlines += got.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        if let Some(last) = got.last() {
            self.ends_open = *last != b'\n';
        }
        self.progress.advance(count);
        Ok(count)
    }
}
