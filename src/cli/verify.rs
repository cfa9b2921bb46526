//! `procura verify`: checks receipts, exports, checkpoints, proofs and tiles offline and names the first thing that does
//! not hold.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form, diagnose};
use super::progress::Progress;
use crate::evidence::note::VerifierKey;
use crate::evidence::verify::{KeyUsed, Narrowed, Options, Report, Site, Verdict, Verifier, is_tile};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

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
    let narrowing = sources.switch("narrowing", options.narrowing)?;
    let mut names = Vec::new();
    for name in &options.files {
        names.extend(files_of(name)?);
    }
    let is_alone = names == options.files && names.len() == 1;
    let asked = Options { key, checkpoint, narrowing, is_alone };
    let (mut verifier, mut files) = read_all(&names, asked.clone())?;
    if verifier.is_several() && names.iter().all(|name| is_read_again(name)) {
        (verifier, files) = read_all(&names, Options { is_alone: false, ..asked })?;
    }
    let report = verifier.finish();
    if form == Form::Json {
        output::json(&as_json(&report))?;
    } else {
        tell(&files, &report)?;
    }
    Ok(report.verdict().exit_status())
}

/// Reads the files up to the first thing that does not hold; gives the names and lines of those that were read.
fn read_all(names: &[String], options: Options) -> Result<(Verifier, Vec<(String, u64)>), Failure> {
    let mut verifier = Verifier::new(options);
    let mut files = Vec::new();
    for name in names {
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
    Ok((verifier, files))
}

/// Whether a second reading gives what the first one gave, which a pipe does not.
fn is_read_again(name: &str) -> bool {
    name != "-" && Path::new(name).is_file()
}

/// A file is itself; a directory is the checkpoint, the tiles and the entry bundles of the log in it, in the order of their names.
/// Links to other directories are not followed: they may lead back, and nothing is to be read twice.
fn files_of(name: &str) -> Result<Vec<String>, Failure> {
    let directory = Path::new(name);
    if name == "-" || !directory.is_dir() {
        return Ok(vec![name.to_owned()]);
    }
    let unreadable = |error: io::Error| Failure::usage(format!("`{name}` cannot be read: {error}"));
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            if entry.file_type().map_err(unreadable)?.is_dir() {
                waiting.push(path);
            } else if !path.is_dir()
                && let Some(text) = path.to_str()
                && (is_tile(text) || path == directory.join("checkpoint"))
            {
                found.push(text.to_owned());
            }
        }
    }
    if found.is_empty() {
        let detail = "holds neither a checkpoint nor tiles";
        return Err(Failure::usage(format!("`{name}` {detail}: a file, or a directory of a log, is taken")));
    }
    found.sort();
    Ok(found)
}

fn open(name: &str) -> Result<(Box<dyn Read>, Option<u64>), Failure> {
    if name == "-" {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let unreadable = |error: io::Error| Failure::usage(format!("`{name}` cannot be read: {error}"));
    let file = File::open(name).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
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
    for (count, noun) in [
        (report.exports, "whole export"),
        (report.checkpoints, "checkpoint"),
        (report.tiles, "tile"),
        (report.bundles, "entry bundle"),
        (report.proofs, "consistency proof"),
        (report.inclusion_proofs, "inclusion proof"),
    ] {
        if count > 0 {
            checked.push(counted(count, noun));
        }
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
    for narrowed in report.narrowing.iter().flatten() {
        tell_narrowing(narrowed)?;
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

/// What answers were held against, and where the log was not read.
fn tell_narrowing(narrowed: &Narrowed) -> Result<(), Failure> {
    /// More stretches than these are only counted.
    const MOST_NAMED: usize = 3;
    output::line(format!(
        "narrowing: {} held against {}, from leaf {} to leaf {} of the {} of `{}`",
        counted(narrowed.answers, "answer"),
        counted(narrowed.changes, "change"),
        narrowed.first,
        narrowed.last,
        narrowed.size,
        narrowed.origin
    ))?;
    for (first, last) in narrowed.gaps.iter().take(MOST_NAMED) {
        output::line(format!(
            "note: narrowing is not shown from leaf {first} to leaf {last}: they were not read"
        ))?;
    }
    match narrowed.gaps.len().checked_sub(MOST_NAMED) {
        None | Some(0) => Ok(()),
        Some(more) => output::line(format!("note: nor in {more} other stretches of the log")),
    }
}

fn narrowing_json(narrowed: &Narrowed) -> Value {
    let gaps: Vec<_> =
        narrowed.gaps.iter().map(|(first, last)| json!({"first": first, "last": last})).collect();
    json!({"origin": narrowed.origin, "answers": narrowed.answers, "changes": narrowed.changes,
        "first": narrowed.first, "last": narrowed.last, "size": narrowed.size, "not_read": gaps})
}

fn site_json(site: &Site) -> Value {
    json!({"file": &*site.file, "line": site.line, "receipt": site.receipt.map(|id| id.to_string())})
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
            "expected": failure.expected, "found": failure.found, "detail": failure.detail,
            "other": failure.other.as_deref().map(site_json)})
    });
    let narrowing: Option<Vec<Value>> =
        report.narrowing.as_ref().map(|logs| logs.iter().map(narrowing_json).collect());
    json!({"verdict": verdict, "receipts": report.receipts, "exports": report.exports,
        "checkpoints": report.checkpoints, "tiles": report.tiles, "bundles": report.bundles,
        "proofs": report.proofs, "inclusion_proofs": report.inclusion_proofs, "lines": report.lines,
        "keys": keys, "key_given": is_given, "narrowing": narrowing, "notes": report.notes, "failure": failure})
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
