//! Whatever is changed, dropped, repeated, moved or cut is named; spacing and member order are nobody's business.

use super::fixture::{TestLog, at, credential};
use super::*;
use crate::domain::Outcome;
use crate::evidence::line::Line;
use serde_json::{Value, json};

mod bundles;
mod inclusion;
mod keeper;
mod narrowing;
// It starts an interpreter, which nothing in this layer does.
#[path = "../../../../tests/other/verifier.rs"]
mod other;
mod tamper;
mod together;
mod trees;

fn run(files: &[(&str, String)], options: Options) -> Report {
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    run_bytes(&files, options)
}

/// What this verifier says, which the other one must say as well.
fn run_bytes(files: &[(&str, &[u8])], options: Options) -> Report {
    let said = other::status(files, &options);
    let report = verify(files.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)), options);
    let failure = report.failure.as_ref().map(ToString::to_string);
    let words = &said.words;
    assert_eq!(report.verdict().exit_status(), said.status, "{failure:?}, the other says: {words}");
    assert!(said.status == 0 || words.contains(": "), "it names nothing: {words}");
    for unshown in
        ["one history is not shown", "are not held against a checkpoint", "is held against nothing"]
    {
        let count = report.notes.iter().filter(|note| note.contains(unshown)).count();
        assert_eq!(count, words.matches(unshown).count(), "{unshown}: {:?}, {words}", report.notes);
    }
    match &report.failure {
        None => {
            for (member, count) in other::counted(&report).as_object().unwrap() {
                assert_eq!(&said.report[member], count, "{member}: {}", said.report);
            }
        }
        Some(failure) => assert_names_alike(failure, &said.report["failure"]),
    }
    report
}

/// Both name the same file, line and receipt, and where a fork's other half was read.
#[track_caller]
fn assert_names_alike(failure: &Failure, said: &Value) {
    assert_eq!(said["file"], json!(failure.file), "{failure}; {said}");
    assert_eq!(said["line"], json!(failure.line), "{failure}; {said}");
    if failure.detail.ends_with("a fork") || failure.field == "outcome" {
        assert_eq!(said["field"], json!(failure.field), "{failure}; {said}");
        assert_eq!(said["receipt"], json!(failure.receipt), "{failure}; {said}");
        assert_eq!(said["expected"], json!(failure.expected), "{failure}; {said}");
        assert_eq!(said["found"], json!(failure.found), "{failure}; {said}");
        if let Some(other) = &failure.other {
            let receipt = other.receipt.map(|id| id.to_string());
            let other = json!({"file": &*other.file, "line": other.line, "receipt": receipt});
            assert_eq!(said["other"], other, "{failure}; {said}");
        }
    }
}

fn one(text: impl Into<String>) -> Report {
    run(&[("file", text.into())], Options::default())
}

fn jsonl(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn assert_held(report: &Report) {
    assert_eq!(report.failure, None);
}

fn assert_fails_at(report: &Report, field: &str) {
    let failure = report.failure.as_ref().expect("it must not hold");
    assert_eq!(failure.field, field, "{failure}");
    assert_eq!(report.verdict(), Verdict::Failed, "{failure}");
}

/// The same value spelt otherwise: members backwards, blanks wherever JSON lets them stand.
fn respelt(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let texts: Vec<_> = members
                .iter()
                .rev()
                .map(|(name, child)| format!("\t{} : {}", json!(name), respelt(child)))
                .collect();
            format!("{{ {} }}", texts.join(" ,"))
        }
        Value::Array(items) => format!("[ {} ]", items.iter().map(respelt).collect::<Vec<_>>().join(" ,\r")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[test]
fn an_untouched_export_holds_and_so_does_it_under_other_spacing_and_member_order() {
    let text = TestLog::with_calls(9).export(1, None, None);
    let report = one(text.clone());
    assert_held(&report);
    assert_eq!((report.exports, report.receipts, report.lines), (1, 6, 7));
    assert!(!report.notes.iter().any(|note| note.contains("completeness")), "{:?}", report.notes);

    let other: Vec<_> = parsed(&text).iter().map(respelt).collect();
    assert_held(&one(format!("\n  \r\n{}\r\n\n", other.join("\r\n\r\n"))));
}

#[test]
fn an_export_over_a_window_starts_in_the_middle_of_its_chain() {
    let text = TestLog::with_calls(12).export(2, Some(at(3)), Some(at(9)));
    let lines = parsed(&text);
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[1]["receipt"]["seq"], 1);
    assert_held(&one(text));
    assert_held(&one(TestLog::with_calls(4).export(3, None, None)));
}

#[test]
fn loose_receipts_hold_and_completeness_is_not_shown() {
    let log = TestLog::with_calls(7);
    let text = jsonl(&[log.receipt_json(4, 7), log.line_json(0, 3), log.answer_json(2, 7)]);
    let report = one(text);
    assert_held(&report);
    assert_eq!((report.receipts, report.exports, report.verdict().exit_status()), (3, 0, 0));
    assert!(report.notes.iter().any(|note| note.contains("completeness is not shown")));
    assert!(report.notes.iter().any(|note| note.contains("the key in the file was used")));
    assert_eq!(report.key_used, KeyUsed::FromFiles(vec![log.key().to_string()]));
}

#[test]
fn one_value_may_span_many_lines() {
    let log = TestLog::with_calls(3);
    assert_held(&one(serde_json::to_string_pretty(&log.line_json(1, 3)).unwrap()));
    assert_held(&one(serde_json::to_string_pretty(&log.receipt_json(1, 3)).unwrap()));
}

#[test]
fn what_is_nothing_to_verify_is_unreadable() {
    for text in [
        "",
        "\n\n",
        "hello",
        "{",
        "[]",
        "{}",
        "{\"a\":1}",
        "null",
        "1",
        "\u{feff}{}",
        "{\n\"a\":\n1}",
        "— x\n",
    ] {
        let report = one(text);
        assert_eq!(report.verdict().exit_status(), 2, "{text:?}: {:?}", report.failure);
    }
    let bytes: &[u8] = b"{\"a\":\"\xff\"}";
    let report = run_bytes(&[("file", bytes)], Options::default());
    assert_eq!(report.verdict(), Verdict::Unreadable);
}

#[test]
fn a_failure_names_file_line_receipt_field_and_both_values() {
    let log = TestLog::with_calls(3);
    let mut changed = log.line_json(1, 3);
    changed["input"]["intent"] = json!("payments.send");
    let report = run(
        &[("good", log.receipt_json(0, 3).to_string()), ("bad", jsonl(&[log.line_json(2, 3), changed]))],
        Options::default(),
    );
    let failure = report.failure.unwrap();
    assert_eq!((failure.file.as_str(), failure.line, failure.field.as_str()), ("bad", Some(2), "input_hash"));
    let stated = log.line_json(1, 3);
    assert_eq!(failure.receipt.as_deref(), stated["receipt"]["id"].as_str());
    assert_eq!(failure.found.as_deref(), stated["receipt"]["input_hash"].as_str());
    assert!(failure.expected.is_some());
}

#[test]
fn each_check_stands_by_itself() {
    let log = TestLog::with_calls(8);
    let fails = |field: &str, change: &dyn Fn(&mut Line<'_>)| {
        let mut line = log.line(3, 8);
        change(&mut line);
        let mut out = Vec::new();
        line.write_json(&mut out);
        assert_fails_at(&one(String::from_utf8(out).unwrap()), field);
    };
    let rehash = |line: &mut Line<'_>| line.receipt.hash = line.receipt.body.hash();
    fails("hash", &|line| line.receipt.body.seq = 9);
    fails("merkle.path", &|line| {
        line.receipt.body.seq = 9;
        rehash(line);
    });
    fails("prev", &|line| {
        line.receipt.body.seq = 0;
        rehash(line);
    });
    fails("outcome", &|line| {
        line.receipt.body.outcome = Some(Outcome::Allow);
        rehash(line);
    });
    fails("mandate_version", &|line| {
        line.receipt.body.mandate_version = Some(8);
        rehash(line);
    });
    fails("credential", &|line| {
        line.receipt.body.credential = Some(credential(9));
        rehash(line);
    });
    fails("merkle.path", &|line| line.receipt.auth.0[0] ^= 1);
    fails("merkle.path", &|line| line.receipt.merkle.index = 2);
    fails("merkle.path", &|line| line.receipt.merkle.path.push(TestLog::stray_leaf()));
    fails("merkle.checkpoint", &|line| line.receipt.merkle.checkpoint = "x\n".into());
    fails("merkle.root", &|line| {
        // The path of a tree of one leaf, its own, under a checkpoint of eight.
        line.receipt.merkle.path.clear();
        (line.receipt.merkle.index, line.receipt.merkle.size) = (0, 1);
        line.receipt.merkle.root = line.receipt.leaf();
        line.receipt.merkle.checkpoint = log.checkpoint(1).into();
    });
    fails("merkle.size", &|line| {
        line.receipt.merkle = log.receipt(3, 7).merkle;
        line.receipt.merkle.checkpoint = log.checkpoint(8).into();
    });
    fails("merkle.key", &|line| line.receipt.merkle.key = "x".into());
}

#[test]
fn the_log_of_another_tenant_shows_nothing() {
    let log = TestLog::with_calls(2);
    let mut receipt = log.receipt(0, 1);
    receipt.body.tenant = "other".parse().unwrap();
    receipt.hash = receipt.body.hash();
    let seed = crate::crypto::SigningKey::from_seed(&[1; 32]).unwrap();
    receipt.merkle.root = receipt.leaf();
    receipt.merkle.checkpoint =
        crate::evidence::note::sign_checkpoint(&seed, super::fixture::ORIGIN, 1, receipt.leaf()).into();
    let mut out = Vec::new();
    receipt.write_json(&mut out);
    assert_fails_at(&one(String::from_utf8(out).unwrap()), "merkle.checkpoint");
}

#[test]
fn a_request_as_deep_as_requests_may_be_still_verifies() {
    let deep = format!("{}1{}", "[".repeat(31), "]".repeat(31));
    let value: Value = serde_json::from_str(&deep).unwrap();
    let mut log = TestLog::new(1);
    log.call_saying(1, 0, value);
    assert_held(&one(log.line_json(0, 1).to_string()));
}
