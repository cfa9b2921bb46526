//! Whatever is changed, dropped, repeated, moved or cut is named; spacing and member order are nobody's business.

use super::fixture::{TestLog, at, credential};
use super::*;
use proptest::prelude::*;
use serde_json::{Map, json};

fn run(files: &[(&str, String)], options: Options) -> Report {
    verify(files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes())), options)
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

/// Every place of a value, as JSON Pointers, parents before children.
fn places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, child)| (name.replace('~', "~0").replace('/', "~1"), child)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(place, child)| (place.to_string(), child)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, child) in children {
        found.push(format!("/{name}"));
        found.extend(places(child).into_iter().map(|below| format!("/{name}{below}")));
    }
    found
}

/// Other values that could stand where this one does.
fn alterations(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(0), json!("null")],
        Value::Bool(truth) => vec![json!(!truth), Value::Null],
        Value::Number(number) => vec![json!(number.as_f64().unwrap() + 1.0), json!(number.to_string())],
        Value::String(text) => {
            let mut flipped: Vec<char> = text.chars().collect();
            let middle = flipped.len() / 2;
            let swapped = |letter: char| if letter == 'a' { 'b' } else { 'a' };
            let mut others = vec![json!(format!("{text} ")), Value::Null];
            if let Some(letter) = flipped.get_mut(middle) {
                *letter = swapped(*letter);
                others.push(json!(flipped.iter().collect::<String>()));
            }
            others
        }
        Value::Array(items) => vec![json!([items.clone(), vec![json!(1)]].concat()), json!({})],
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("added".into(), json!(1));
            vec![Value::Object(more), json!([])]
        }
    }
}

fn members_mut<'a>(value: &'a mut Value, pointer: &str) -> Option<(&'a mut Map<String, Value>, String)> {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    Some((value.pointer_mut(parent)?.as_object_mut()?, name))
}

/// Every single change to `value`: other values, members dropped, members renamed.
fn changes(value: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for place in places(value) {
        for other in alterations(value.pointer(&place).unwrap()) {
            let mut changed = value.clone();
            *changed.pointer_mut(&place).unwrap() = other;
            all.push((format!("{place} changed"), changed));
        }
        let mut dropped = value.clone();
        if let Some((members, name)) = members_mut(&mut dropped, &place) {
            let taken = members.remove(&name).unwrap();
            let mut renamed = dropped.clone();
            if let Some((members, name)) = members_mut(&mut renamed, &place) {
                members.insert(format!("{name}x"), taken);
            }
            all.push((format!("{place} dropped"), dropped));
            all.push((format!("{place} renamed"), renamed));
        }
    }
    all
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
fn every_change_to_an_export_is_named() {
    let lines = parsed(&TestLog::with_calls(4).export(1, None, None));
    for place in 0..lines.len() {
        for (what, changed) in changes(&lines[place]) {
            let mut other = lines.clone();
            other[place] = changed;
            let report = one(jsonl(&other));
            assert!(report.failure.is_some(), "line {}: {what}", place + 1);
        }
    }
}

#[test]
fn every_change_to_a_receipt_is_named() {
    let receipt = TestLog::with_calls(5).receipt_json(2, 5);
    assert_held(&one(receipt.to_string()));
    for (what, changed) in changes(&receipt) {
        assert!(one(changed.to_string()).failure.is_some(), "{what}");
    }
}

#[test]
fn every_change_to_a_line_is_named_unless_it_erases_content() {
    let line = TestLog::with_calls(5).line_json(2, 5);
    let report = one(line.to_string());
    assert_held(&report);
    for (what, changed) in changes(&line) {
        let report = one(changed.to_string());
        let erased =
            what.starts_with("/content") && what.ends_with("dropped") && what.matches('/').count() <= 2;
        assert_eq!(report.failure.is_none(), erased, "{what}");
    }
}

#[test]
fn every_change_to_an_answer_that_is_the_output_document_is_told() {
    let answer = TestLog::with_calls(5).answer_json(2, 5);
    let report = one(answer.to_string());
    assert_held(&report);
    let covered =
        |report: &Report| !report.notes.iter().any(|note| note.contains("only the receipt was checked"));
    assert!(covered(&report));
    for (what, changed) in changes(&answer) {
        let report = one(changed.to_string());
        assert!(report.failure.is_some() || !covered(&report), "{what}");
    }
    let mut other = answer;
    other["outcome"] = json!("allow");
    assert_fails_at(&one(other.to_string()), "outcome");
}

#[test]
fn lines_dropped_repeated_moved_added_or_cut_are_named() {
    let mut log = TestLog::with_calls(10);
    let text = log.export(1, None, None);
    let lines = parsed(&text);
    for place in 0..lines.len() {
        let mut dropped = lines.clone();
        dropped.remove(place);
        assert_eq!(one(jsonl(&dropped)).verdict(), Verdict::Failed, "line {} dropped", place + 1);
        let mut repeated = lines.clone();
        repeated.insert(place, lines[place].clone());
        assert_eq!(one(jsonl(&repeated)).verdict(), Verdict::Failed, "line {} repeated", place + 1);
        for other in 0..place {
            let mut moved = lines.clone();
            moved.swap(place, other);
            assert_eq!(
                one(jsonl(&moved)).verdict(),
                Verdict::Failed,
                "lines {} and {}",
                place + 1,
                other + 1
            );
        }
    }
    let mut foreign = log.line_json(1, 10);
    for place in 0..=lines.len() {
        for export in [Value::Null, lines[0]["export"].clone()] {
            foreign["export"] = export;
            let mut added = lines.clone();
            added.insert(place, foreign.clone());
            if foreign["export"].is_null() {
                added[place].as_object_mut().unwrap().remove("export");
            }
            assert_eq!(one(jsonl(&added)).verdict(), Verdict::Failed, "line added at {}", place + 1);
        }
    }
    for end in (1..text.len() - 1).step_by(7).chain([text.len() - 2]) {
        let report = verify([("file".to_owned(), &text.as_bytes()[..end])], Options::default());
        assert!(report.failure.is_some(), "cut at byte {end}");
    }
    assert_held(&one(text.trim_end()));
}

#[test]
fn a_part_of_an_export_says_what_is_missing() {
    let text = TestLog::with_calls(6).export(1, None, None);
    let lines: Vec<&str> = text.lines().collect();
    let headless = one(lines[1..].join("\n"));
    assert!(headless.failure.unwrap().detail.contains("whose header is missing"));
    let endless = one(lines[..lines.len() - 1].join("\n"));
    assert!(endless.failure.unwrap().detail.contains("without its manifest"));
    let damaged = one(format!("{}\n{}", &lines[0][..40], lines[1..].join("\n")));
    assert_eq!((damaged.verdict(), damaged.failure.unwrap().line), (Verdict::Failed, Some(1)));
    let damaged = one(format!("{}\n{}", lines[0], &lines[1][..40]));
    assert_eq!((damaged.verdict(), damaged.failure.unwrap().line), (Verdict::Failed, Some(2)));
}

#[test]
fn a_manifest_of_another_export_does_not_end_this_one() {
    let mut log = TestLog::with_calls(6);
    let first = parsed(&log.export(1, None, None));
    let second = parsed(&log.export(2, None, None));
    let mut mixed = first[..first.len() - 1].to_vec();
    mixed.push(second.last().unwrap().clone());
    assert_fails_at(&one(jsonl(&mixed)), "output.header");
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
    let report = verify([("file".to_owned(), bytes)], Options::default());
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
fn with_a_key_given_any_other_fails() {
    let (log, forged) = (TestLog::with_calls(4), {
        let mut forged = TestLog::new(2);
        forged.call(1, 0);
        forged
    });
    let options = || Options { key: Some(log.key()), checkpoint: None };
    let report = run(&[("a", log.receipt_json(0, 4).to_string())], options());
    assert_held(&report);
    assert_eq!(report.key_used, KeyUsed::Given(log.key().to_string()));
    assert_held(&one(forged.receipt_json(0, 1).to_string()));
    assert_fails_at(&run(&[("a", forged.receipt_json(0, 1).to_string())], options()), "merkle.key");
    let mut forged = forged;
    assert_fails_at(&run(&[("a", forged.export(1, None, None))], options()), "key");
}

#[test]
fn forks_between_files_are_found() {
    let log = TestLog::with_calls(6);
    let mut fork = log.clone();
    let mut honest = log.clone();
    honest.call(1, 40);
    fork.call(1, 41);
    // Same place of chain and log, two stories, both under the log's own signature.
    let pair = |left: Value, right: Value| {
        run(&[("left", left.to_string()), ("right", right.to_string())], Options::default())
    };
    assert_fails_at(&pair(honest.receipt_json(6, 7), fork.receipt_json(6, 7)), "hash");
    // A later receipt links to the story that the file does not tell.
    honest.call(1, 42);
    assert_fails_at(&pair(honest.receipt_json(7, 8), fork.receipt_json(6, 7)), "hash");
    assert_fails_at(&pair(fork.receipt_json(6, 7), honest.receipt_json(7, 8)), "prev");
    // The same leaf of the log, in two chains.
    let (mut left, mut right) = (log.clone(), log.clone());
    left.call(1, 40);
    right.call(2, 40);
    assert_fails_at(&pair(left.receipt_json(6, 7), right.receipt_json(6, 7)), "merkle.index");
    // Two roots for one size, shown by receipts that both stories share.
    assert_fails_at(&pair(left.receipt_json(0, 7), right.receipt_json(2, 7)), "merkle.root");
}

#[test]
fn a_checkpoint_from_outside_counts_for_every_receipt() {
    let mut log = TestLog::with_calls(6);
    let given =
        |log: &TestLog, size| Options { key: None, checkpoint: Some(("head".into(), log.checkpoint(size))) };
    let export = log.export(1, None, None);
    let report = run(&[("export", export.clone())], given(&log, 6));
    assert_held(&report);
    assert_eq!(report.checkpoints, 1);
    assert!(
        report.notes.iter().any(|note| note.starts_with("1 receipts lead to checkpoints of another size"))
    );

    let mut rewritten = log.clone();
    rewritten.call(1, 50);
    log.call(1, 51);
    assert_fails_at(&run(&[("a", log.receipt_json(2, 8).to_string())], given(&rewritten, 8)), "merkle.root");

    let mut other = TestLog::new(2);
    other.call(1, 0);
    assert_fails_at(&run(&[("a", log.receipt_json(2, 8).to_string())], given(&other, 1)), "checkpoint");
    let both = [("a", log.receipt_json(2, 8).to_string()), ("b", other.receipt_json(0, 1).to_string())];
    let failure = run(&both, given(&log, 7)).failure.unwrap();
    assert_eq!((failure.field.as_str(), failure.file.as_str()), ("merkle.key", "b"));
}

#[test]
fn a_file_may_be_a_checkpoint() {
    let log = TestLog::with_calls(6);
    let receipt = log.receipt_json(2, 6).to_string();
    for files in [
        [("head", log.checkpoint(6)), ("a", receipt.clone())],
        [("a", receipt.clone()), ("head", log.checkpoint(6))],
    ] {
        let report = run(&files, Options::default());
        assert_held(&report);
        assert_eq!(report.checkpoints, 1);
    }
    assert_held(&run(&[("head", log.checkpoint(3))], Options { key: Some(log.key()), checkpoint: None }));
    assert_fails_at(&one(log.checkpoint(3)), "checkpoint");
    let forged = log.checkpoint(6).replacen("\n6\n", "\n7\n", 1);
    assert_fails_at(&run(&[("a", receipt), ("head", forged)], Options::default()), "checkpoint");
}

#[test]
fn a_request_as_deep_as_requests_may_be_still_verifies() {
    let deep = format!("{}1{}", "[".repeat(31), "]".repeat(31));
    let value: Value = serde_json::from_str(&deep).unwrap();
    let mut log = TestLog::new(1);
    log.call_saying(1, 0, value);
    assert_held(&one(log.line_json(0, 1).to_string()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_changed_byte_never_passes_and_never_panics(place: prop::sample::Index, byte: u8) {
        static EXPORT: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| TestLog::with_calls(4).export(1, None, None));
        let mut bytes = EXPORT.clone().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let report = verify([("file".to_owned(), &bytes[..])], Options::default());
        let meaning = |bytes: &[u8]| -> Option<Vec<Value>> {
            bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
                .map(|line| serde_json::from_slice(line).ok()).collect()
        };
        let unchanged = meaning(&bytes) == meaning(EXPORT.as_bytes());
        prop_assert_eq!(report.failure.is_none(), unchanged, "byte {} is {}", place, byte);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", bytes: Vec<u8>) {
        let _ = one(text);
        let _ = verify([("file".to_owned(), &bytes[..])], Options::default());
    }
}
