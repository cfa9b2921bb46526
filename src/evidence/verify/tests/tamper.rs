//! Every single change to what was handed out.

use super::*;
use proptest::prelude::*;
use serde_json::Map;

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
        let report = run_bytes(&[("file", &text.as_bytes()[..end])], Options::default());
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_changed_byte_never_passes_and_never_panics(place: prop::sample::Index, byte: u8) {
        static EXPORT: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| TestLog::with_calls(4).export(1, None, None));
        let mut bytes = EXPORT.clone().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let report = run_bytes(&[("file", &bytes[..])], Options::default());
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
