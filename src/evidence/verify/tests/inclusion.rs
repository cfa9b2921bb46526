//! Proofs that a leaf is in the log (C2SP tlog-proof): held against the leaf, wherever it was read.

use super::trees::key_of;
use super::*;

fn log() -> TestLog {
    TestLog::with_calls(13)
}

/// A proof and the receipt of the leaf it is about.
fn beside_receipt(log: &TestLog, proof: impl Into<String>) -> Report {
    run(&[("proof", proof.into()), ("receipt", log.receipt_json(6, 13).to_string())], Options::default())
}

fn is_unused(report: &Report) -> bool {
    report.inclusion_proofs == 0 && report.notes.iter().any(|note| note.contains("is held against nothing"))
}

#[test]
fn a_proof_leads_from_the_leaf_that_was_read_to_its_own_checkpoint() {
    let log = log();
    for size in 1..=13 {
        for index in 0..size {
            let files =
                [("proof", log.proof(index, size)), ("receipt", log.receipt_json(index, 13).to_string())];
            let report = run(&files, Options::default());
            assert_held(&report);
            assert_eq!((report.inclusion_proofs, report.checkpoints), (1, 0), "leaf {index} of {size}");
        }
    }
    let (proof, tile, bundle) = (log.proof(6, 13).into_bytes(), log.tile(0, 0, 13), log.bundle(0, 13));
    for beside in [("tile/0/000.p/13", &tile), ("tile/entries/000.p/13", &bundle)] {
        let report = run_bytes(&[("proof", &proof), (beside.0, beside.1)], key_of(&log));
        assert_held(&report);
        assert_eq!(report.inclusion_proofs, 1);
    }
}

#[test]
fn a_proof_without_its_leaf_shows_nothing_and_that_is_said() {
    let log = log();
    let report = run(&[("proof", log.proof(6, 13))], key_of(&log));
    assert_held(&report);
    assert!(is_unused(&report), "{:?}", report.notes);
    assert!(
        report.notes.iter().any(|note| note.contains("of leaf 6 in proof is held")),
        "{:?}",
        report.notes
    );
    // Another index than the receipt's, and a path of the same length.
    let report = beside_receipt(&log, log.proof(6, 13).replace("index 6\n", "index 7\n"));
    assert_held(&report);
    assert!(is_unused(&report), "{:?}", report.notes);
}

#[test]
fn a_proof_is_opened_with_the_key_that_was_given_or_the_logs_own() {
    let (log, other) = (log(), TestLog::new(2));
    let proof = [("proof", log.proof(6, 13))];
    let report = run(&proof, Options::default());
    assert_fails_at(&report, "checkpoint");
    assert_eq!(report.failure.unwrap().file, "proof");
    assert_fails_at(&run(&proof, key_of(&other)), "checkpoint");
}

#[test]
fn every_change_to_a_line_of_a_proof_is_named() {
    let log = log();
    let proof = log.proof(6, 13);
    assert_held(&beside_receipt(&log, &*proof));
    let fails = |text: String| {
        let report = beside_receipt(&log, &*text);
        assert_eq!(report.verdict(), Verdict::Failed, "{text}");
        assert_eq!(report.failure.unwrap().file, "proof", "{text}");
    };
    for (from, to) in [
        ("@v1", "@v2"),
        ("@v1\n", "@v1\n\n"),
        ("index 6", "index 12"),
        ("index 6", "index 99"),
        ("index 6", "index 06"),
        ("index 6", "index -6"),
        ("index 6", "index  6"),
        ("index 6", "index 18446744073709551622"),
        ("index 6", "Index 6"),
        ("index 6\n", ""),
        ("index 6\n", "index 6\nindex 6\n"),
        ("index 6\n", "extra !\nindex 6\n"),
        ("index 6\n", "index 6\nextra b3BhcXVl\n"),
        ("\n\n", "\n"),
        ("\n13\n", "\n12\n"),
    ] {
        assert!(proof.contains(from), "{from:?}");
        fails(proof.replacen(from, to, 1));
    }
    let lines: Vec<&str> = proof.lines().collect();
    let swapped = |line: &str| {
        let middle = line.len() / 2;
        let letter = if line.as_bytes()[middle] == b'A' { "B" } else { "A" };
        format!("{}{letter}{}", &line[..middle], &line[middle + 1..])
    };
    for place in (2..lines.len()).filter(|place| !lines[*place].is_empty()) {
        for other in [None, Some(swapped(lines[place])), Some(format!("{} ", lines[place]))] {
            let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            changed.splice(place..=place, other);
            fails(changed.join("\n") + "\n");
        }
    }
    for end in [proof.len() - 1, proof.len() - 20, 60] {
        fails(proof[..end].to_owned());
    }
    let extra = proof.replacen("index", "extra b3BhcXVl\nindex", 1);
    assert_eq!(beside_receipt(&log, extra).inclusion_proofs, 1, "what it carries along proves nothing");
}

#[test]
fn a_proof_from_another_story_is_named_with_what_it_contradicts() {
    let (mut honest, mut fork) = (TestLog::with_calls(5), TestLog::with_calls(5));
    for number in 0..8 {
        honest.call(1 + number % 2, 50 + number);
        fork.call(1 + number % 2, 70 + number);
    }
    let receipt = honest.receipt_json(6, 13).to_string();
    let report = run(&[("proof", fork.proof(6, 12)), ("receipt", receipt.clone())], Options::default());
    assert_fails_at(&report, "path");
    let failure = report.failure.unwrap();
    assert_eq!((&*failure.file, &*failure.other.unwrap().file), ("proof", "receipt"));
    // The leaf is in both, the tree that ends beside it is signed in another form.
    let files = [
        ("proof", honest.proof(6, 13)),
        ("receipt", honest.receipt_json(6, 12).to_string()),
        ("head", fork.checkpoint(7)),
    ];
    assert_fails_at(&run(&files, Options::default()), "merkle.root");
}
