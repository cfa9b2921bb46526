//! `procura mandate check`: whether a file is a mandate or a policy, what is odd about it, and what it says.

use super::arguments::MandateCheck;
use super::catalogue;
use super::config::Sources;
use super::diff::is_policy;
use super::output::{self, Failure, Form, diagnose};
use crate::committer::clock;
use crate::domain::{Fault, Malformed, Timestamp};
use crate::engine::{
    Admission, Beside, Catalogue, MandateDocument, Notation, PolicyDocument, admit_mandate, admit_policy,
    read_text,
};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};

/// The most bytes that are read; a document that reaches it is refused by its size.
const MOST_BYTES: u64 = 1 << 20;

/// What only a catalogue can tell.
const WITHOUT_CATALOGUE: &str = "without --catalogue, whether the intents are registered, what cannot be taken back, \
                                 and which facts the gate derives";
/// Said of a file that is no mandate but reads as a policy.
const LOOKS_LIKE_A_POLICY: &str = "this looks like a policy: --policy checks it as one";

/// Checks one file as it would be checked now: 0 if it can go live.
pub(super) fn check(sources: &Sources, options: &MandateCheck, form: Form) -> Result<u8, Failure> {
    let text = read_file(&options.file)?;
    let known = sources.parse("catalogue", options.catalogue.as_deref(), |name| Ok(name.to_owned()))?;
    let known = known.map(|name| document(&name, catalogue::read)).transpose()?;
    let as_policy = sources.switch("policy", options.policy)?;
    let checked =
        if as_policy { policy(&text, known.as_ref()) } else { mandate(&text, known.as_ref(), clock::now()) };
    let not_checked = if known.is_some() { None } else { Some(WITHOUT_CATALOGUE) };
    match checked {
        Ok((document, admission)) => said(form, &document, &admission, not_checked),
        Err(malformed) => {
            let hint = (!as_policy && looks_like_a_policy(&text)).then_some(LOOKS_LIKE_A_POLICY);
            refused(form, &malformed, hint)
        }
    }
}

/// Whether a text that is no mandate says what only a policy says, or can be read as one.
fn looks_like_a_policy(text: &[u8]) -> bool {
    read_text(text, Notation::of(text))
        .is_ok_and(|value| is_policy(&value) || PolicyDocument::read(&value).is_ok())
}

/// A document of a file, as its reader takes it; a faulty one cannot be read.
pub(super) fn document<T>(
    name: &str,
    read: impl FnOnce(&Value) -> Result<T, Malformed>,
) -> Result<T, Failure> {
    let text = read_file(name)?;
    let value = read_text(&text, Notation::of(&text));
    value.and_then(|value| read(&value)).map_err(|malformed| Failure::usage(format!("`{name}`: {malformed}")))
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

fn mandate(
    text: &[u8],
    catalogue: Option<&Catalogue>,
    now: Timestamp,
) -> Result<(Value, Admission), Malformed> {
    let document = MandateDocument::read(&read_text(text, Notation::of(text))?)?;
    let admission = admit_mandate(&document, None, Beside { catalogue, policy: None }, now);
    Ok((document.to_json(), admission))
}

fn policy(text: &[u8], catalogue: Option<&Catalogue>) -> Result<(Value, Admission), Malformed> {
    let document = PolicyDocument::read(&read_text(text, Notation::of(text))?)?;
    Ok((document.to_json(), admit_policy(&document, None, catalogue)))
}

/// Says of a well-formed document whether it can go live, and what else is to be said of it.
fn said(
    form: Form,
    document: &Value,
    admission: &Admission,
    not_checked: Option<&str>,
) -> Result<u8, Failure> {
    let admitted = admission.admitted();
    if form == Form::Json {
        let faults: Vec<_> = admission.errors.iter().map(fault_json).collect();
        let mut answer = json!({
            "ok": admitted.is_ok(),
            "warnings": admission.warnings_json(),
            "assumptions": admission.assumptions,
            "not_checked": not_checked,
            "document": document,
        });
        if let (Err(_), Some(members)) = (&admitted, answer.as_object_mut()) {
            members.insert("faults".into(), json!(faults));
        }
        output::json(&answer)?;
        return Ok(u8::from(admitted.is_err()));
    }
    for warning in &admission.warnings {
        diagnose(&format!("warning: {}: {}", place(&warning.pointer), warning.message));
    }
    for assumption in &admission.assumptions {
        diagnose(&format!("assumed: {assumption}"));
    }
    if let Some(not_checked) = not_checked {
        diagnose(&format!("not checked: {not_checked}"));
    }
    if let Err(malformed) = admitted {
        return refused(form, &malformed, None);
    }
    output::line("ok")?;
    summarise(document)?;
    Ok(0)
}

fn refused(form: Form, malformed: &Malformed, hint: Option<&str>) -> Result<u8, Failure> {
    if form == Form::Json {
        let faults: Vec<_> = malformed.faults.iter().map(fault_json).collect();
        let mut answer = json!({"ok": false, "faults": faults});
        if let (Some(hint), Some(members)) = (hint, answer.as_object_mut()) {
            members.insert("hint".into(), json!(hint));
        }
        output::json(&answer)?;
        return Ok(1);
    }
    for fault in &malformed.faults {
        diagnose(&format!("{}: {}", place(&fault.pointer), fault.detail));
    }
    if let Some(hint) = hint {
        diagnose(hint);
    }
    Ok(1)
}

fn fault_json(fault: &Fault) -> Value {
    json!({"pointer": fault.pointer, "detail": fault.detail})
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
    let clauses = clauses.as_array().map_or(&[][..], Vec::as_slice);
    let has = |name: &&str| clauses.iter().any(|clause| clause.get(*name).is_some());
    let mut names = vec!["id", "effect", "intent", "when", "otherwise"];
    names.extend(["limits", "approvals", "obligation"].into_iter().filter(has));
    let rows: Vec<Vec<String>> =
        clauses.iter().map(|clause| names.iter().map(|name| cell(clause, name)).collect()).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let titles: Vec<&str> = names.iter().map(|name| if *name == "id" { "clause" } else { *name }).collect();
    output::table(&titles, &rows)
}

fn plain(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = || Some(value.as_array()?.iter().map(text).collect::<Option<Vec<_>>>()?.join(" "));
    text(value).or_else(list).unwrap_or_else(|| value.to_string())
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the document" } else { pointer }
}
