//! Exports verify offline, and nothing in them can be changed unnoticed.

use crate::agent::Agent;
use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::log::{check_verifies, export, lines, other_says, verify, verify_files};
use crate::server::{Folder, Server, TENANT, procura, said};
use serde_json::{Value, json};
use std::path::Path;

both!(
    a_changed_byte_anywhere_is_named_by_verify,
    a_forged_receipt_under_another_key_is_named,
    a_csv_export_is_inert_in_a_spreadsheet,
);

/// A way to spoil a file, and the file.
struct Spoilt {
    how: String,
    text: String,
}

fn a_changed_byte_anywhere_is_named_by_verify(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    for euros in ["1.00", "2.00", "500.00", "3.00"] {
        let action = with(&refund(euros), "counterparty", "acct:cus_91");
        agent.evaluate(&with(&action, "arguments", json!({"note": "hello", "copies": 2}))).expect(200);
    }
    agent.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    let text = export(&compliance, &agent.credential);
    check_verifies(&text);
    let loosely: String =
        text.lines().map(|line| loose(&serde_json::from_str(line).unwrap()) + "\n").collect();
    check_verifies(&loosely);

    let spoilt = spoil(&text);
    let folder = Folder::new();
    let files: Vec<_> = spoilt
        .iter()
        .enumerate()
        .map(|(place, one)| folder.write(&format!("{place}.jsonl"), &one.text))
        .collect();
    let others = other_says(&files);
    assert_eq!(others.len(), spoilt.len());
    let workers = 4;
    let missed: Vec<String> = in_parallel(workers, |worker| {
        let mine = (worker..spoilt.len()).step_by(workers);
        mine.filter_map(|place| missed(&spoilt[place], &files[place], &others[place])).collect::<Vec<_>>()
    })
    .concat();
    assert!(missed.is_empty(), "{} of {} changes pass: {missed:#?}", missed.len(), spoilt.len());
}

/// What is wrong with how the two verifiers take a spoilt file, if something is.
fn missed(spoilt: &Spoilt, file: &Path, (other, other_words): &(Option<i64>, String)) -> Option<String> {
    let output = procura(&["verify"]).arg(file).output().unwrap();
    let (words, status) = (said(&output), output.status.code());
    let is_named = matches!(status, Some(1 | 2)) && !words.trim().is_empty() && !words.contains("panicked");
    let is_named_by_both = is_named && status.map(i64::from) == *other && other_words.contains("line");
    (!is_named_by_both)
        .then(|| format!("{}: exit {status:?}, {words}; the other: {other:?}, {other_words}", spoilt.how))
}

/// Every leaf value and member name of the header, one call and the manifest, and every way to touch whole lines.
fn spoil(text: &str) -> Vec<Spoilt> {
    let lines: Vec<&str> = text.lines().collect();
    let call = lines.iter().position(|line| line.contains("\"gate.evaluate\"")).unwrap();
    let mut spoilt = Vec::new();
    for (name, index) in [("header", 0), ("call", call), ("manifest", lines.len() - 1)] {
        let line: Value = serde_json::from_str(lines[index]).unwrap();
        for pointer in pointers(&line) {
            for (kind, changed) in
                [("value", change_value(&line, &pointer)), ("name", change_name(&line, &pointer))]
            {
                let Some(changed) = changed else { continue };
                let mut copy: Vec<String> = lines.iter().map(ToString::to_string).collect();
                copy[index] = changed.to_string();
                spoilt.push(Spoilt { how: format!("{name}: {kind} at {pointer}"), text: joined(&copy) });
            }
        }
    }
    let mut whole = |how: String, copy: Vec<&str>| spoilt.push(Spoilt { how, text: joined(&copy) });
    for index in 0..lines.len() {
        let without = [&lines[..index], &lines[index + 1..]].concat();
        whole(format!("line {index} dropped"), without);
        whole(format!("line {index} repeated"), [&lines[..=index], &lines[index..]].concat());
        if index > 0 {
            let mut swapped = lines.clone();
            swapped.swap(index - 1, index);
            whole(format!("line {index} before its predecessor"), swapped);
            whole(format!("cut before line {index}"), lines[..index].to_vec());
        }
    }
    let last = lines[lines.len() - 1];
    whole(
        "cut inside the last line".into(),
        [&lines[..lines.len() - 1], &[&last[..last.len() / 2]]].concat(),
    );
    spoilt
}

fn joined(lines: &[impl AsRef<str>]) -> String {
    lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect()
}

/// JSON Pointers to everything below the root.
fn pointers(value: &Value) -> Vec<String> {
    let below = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        std::iter::once(format!("/{key}"))
            .chain(pointers(value).into_iter().map(move |rest| format!("/{key}{rest}")))
            .collect::<Vec<_>>()
    };
    match value {
        Value::Object(members) => members.iter().flat_map(|(key, value)| below(key, value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, value)| below(&index.to_string(), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Another value in place of a leaf, or one more in an empty list or object.
fn change_value(line: &Value, pointer: &str) -> Option<Value> {
    let mut line = line.clone();
    let place = line.pointer_mut(pointer)?;
    *place = match &*place {
        Value::Null => json!(0),
        Value::Bool(value) => json!(!value),
        Value::Number(value) => json!(value.as_u64()? + 1),
        Value::String(value) => json!(format!("{value}x")),
        Value::Array(items) if items.is_empty() => json!(["x"]),
        Value::Object(members) if members.is_empty() => json!({"x": 1}),
        Value::Array(_) | Value::Object(_) => return None,
    };
    Some(line)
}

/// The same value under another name.
fn change_name(line: &Value, pointer: &str) -> Option<Value> {
    let mut line = line.clone();
    let (parent, key) = pointer.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    let members = line.pointer_mut(parent)?.as_object_mut()?;
    let value = members.remove(&key)?;
    members.insert(format!("{key}x"), value);
    Some(line)
}

/// The same value with members in the opposite order and white space wherever it may stand.
fn loose(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members =
                members.iter().rev().map(|(key, value)| format!("{} :\t{}", json!(key), loose(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(" , "))
        }
        Value::Array(items) => format!("[ {} ]", items.iter().map(loose).collect::<Vec<_>>().join(" , ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn a_forged_receipt_under_another_key_is_named(db: Db) {
    let (ours, theirs) = (Server::start(db), Server::start(db));
    let receipt = |server: &Server| {
        let member = server.member_with("m@example.test", &small_refunds());
        Agent::new(&member, "runner").evaluate(&refund("1.00")).expect_outcome("allow")["receipt"].clone()
    };
    let (true_one, forged) = (receipt(&ours), receipt(&theirs));
    let key = true_one["merkle"]["key"].as_str().unwrap();
    let folder = Folder::new();
    let check = |receipt: &Value, key: &str| {
        let file = folder.write("receipt.jsonl", &lines([receipt]));
        verify_files(&["--key", key], &[&file])
    };
    assert_eq!(check(&true_one, key).status.code(), Some(0));
    assert_eq!(check(&forged, key).status.code(), Some(1), "another log's key was taken for the one given");
    let alone = verify(&folder, &lines([&forged]));
    assert_eq!(alone.status.code(), Some(0), "without --key a file is only held against itself");
    assert!(said(&alone).contains("key"), "and the output says so: {}", said(&alone));
    let checkpoint = ours.client().get(&format!("/log/{TENANT}/checkpoint")).text;
    let checkpoint = folder.write("checkpoint", &checkpoint);
    let file = folder.write("receipt.jsonl", &lines([&forged]));
    let against = verify_files(&["--checkpoint", checkpoint.to_str().unwrap()], &[&file]);
    assert_eq!(against.status.code(), Some(1), "{}", said(&against));
    let unreadable = folder.write("unreadable", "this is not JSON\n");
    for path in [unreadable.as_path(), Path::new("/nowhere/at/all")] {
        let output = verify_files(&[], &[path]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    }
}

fn a_csv_export_is_inert_in_a_spreadsheet(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    for resource in ["=1+1", "+1", "-1", "@x", "a,\"b\""] {
        agent.evaluate(&with(&refund("1.00"), "resource", resource)).expect_outcome("allow");
    }
    let exported = member.get(&format!("/v1/credentials/{}/calls/export?format=csv", agent.credential));
    assert_eq!(exported.status, 200, "{}", exported.text);
    let mut reader = csv::Reader::from_reader(exported.text.as_bytes());
    let width = reader.headers().unwrap().len();
    let rows: Vec<_> = reader.records().map(|row| row.expect("RFC 4180 quoting")).collect();
    assert!(rows.len() >= 5, "{}", exported.text);
    for row in &rows {
        assert_eq!(row.len(), width);
        for cell in row {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t']), "a formula: {cell}");
        }
    }
}
