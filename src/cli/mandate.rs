//! `procura mandate check`: whether a file is a mandate or a policy, what is odd about it, and what it says.

use super::arguments::MandateCheck;
use super::config::Sources;
use super::output::{self, Failure, Form, diagnose};
use crate::committer::clock;
use crate::domain::{Malformed, Timestamp};
use crate::engine::{
    MandateDocument, Notation, PolicyDocument, Warning, check_mandate, check_policy, read_text,
};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};

/// The most bytes that are read; a document that reaches it is refused by its size.
const MOST_BYTES: u64 = 1 << 20;

/// Checks one file as it would be checked now: 0 if it can go live.
pub(super) fn check(sources: &Sources, options: &MandateCheck, form: Form) -> Result<u8, Failure> {
    let text = read_file(&options.file)?;
    let checked =
        if sources.switch("policy", options.policy)? { policy(&text) } else { mandate(&text, clock::now()) };
    match checked {
        Ok((document, warnings)) => accepted(form, &document, &warnings),
        Err(malformed) => refused(form, &malformed),
    }
}

fn read_file(name: &str) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: io::Error| Failure::usage(format!("`{name}` cannot be read: {error}"));
    let mut text = Vec::new();
    if name == "-" {
        io::stdin().lock().take(MOST_BYTES).read_to_end(&mut text).map_err(unreadable)?;
    } else {
        let file = File::open(name).map_err(unreadable)?;
        file.take(MOST_BYTES).read_to_end(&mut text).map_err(unreadable)?;
    }
    Ok(text)
}

fn mandate(text: &[u8], now: Timestamp) -> Result<(Value, Vec<Warning>), Malformed> {
    let document = MandateDocument::read(&read_text(text, Notation::of(text))?)?;
    Ok((document.to_json(), check_mandate(&document, None, now)))
}

fn policy(text: &[u8]) -> Result<(Value, Vec<Warning>), Malformed> {
    let document = PolicyDocument::read(&read_text(text, Notation::of(text))?)?;
    Ok((document.to_json(), check_policy(&document)))
}

fn accepted(form: Form, document: &Value, warnings: &[Warning]) -> Result<u8, Failure> {
    if form == Form::Json {
        let warnings: Vec<_> = warnings
            .iter()
            .map(|warning| json!({"pointer": warning.pointer, "message": warning.message}))
            .collect();
        output::json(&json!({"ok": true, "warnings": warnings, "document": document}))?;
        return Ok(0);
    }
    for warning in warnings {
        diagnose(&format!("warning: {}: {}", place(&warning.pointer), warning.message));
    }
    output::line("ok")?;
    summarise(document)?;
    Ok(0)
}

fn refused(form: Form, malformed: &Malformed) -> Result<u8, Failure> {
    if form == Form::Json {
        let faults: Vec<_> = malformed
            .faults
            .iter()
            .map(|fault| json!({"pointer": fault.pointer, "detail": fault.detail}))
            .collect();
        output::json(&json!({"ok": false, "faults": faults}))?;
        return Ok(1);
    }
    for fault in &malformed.faults {
        diagnose(&format!("{}: {}", place(&fault.pointer), fault.detail));
    }
    Ok(1)
}

/// What the document says, in the one form that equal documents share: a line a member, then its clauses.
fn summarise(document: &Value) -> Result<(), Failure> {
    let members = document.as_object().into_iter().flatten();
    for (name, value) in members.filter(|(name, _)| !matches!(name.as_str(), "clauses" | "rule_sets")) {
        output::line(format!("{name}: {}", plain(value)))?;
    }
    if let Some(clauses) = document.get("clauses") {
        tabulate(clauses)?;
    }
    for set in document.get("rule_sets").and_then(Value::as_array).into_iter().flatten() {
        output::line(format!("applies: {}", set.get("applies").map_or_else(|| "to everyone".into(), plain)))?;
        tabulate(set.get("clauses").unwrap_or(&Value::Null))?;
    }
    Ok(())
}

fn tabulate(clauses: &Value) -> Result<(), Failure> {
    let cell = |clause: &Value, name: &str| clause.get(name).map_or_else(|| "-".into(), plain);
    let rows: Vec<Vec<String>> = clauses
        .as_array()
        .into_iter()
        .flatten()
        .map(|clause| ["id", "effect", "intent", "when", "otherwise"].map(|name| cell(clause, name)).to_vec())
        .collect();
    if rows.is_empty() {
        Ok(())
    } else {
        output::table(&["clause", "effect", "intent", "when", "otherwise"], &rows)
    }
}

fn plain(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = || Some(value.as_array()?.iter().map(text).collect::<Option<Vec<_>>>()?.join(" "));
    text(value).or_else(list).unwrap_or_else(|| value.to_string())
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the document" } else { pointer }
}
