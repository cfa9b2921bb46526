//! Several files, keys and checkpoints that must be of one history.

use super::*;
use crate::domain::ExportId;

#[test]
fn with_a_key_given_any_other_fails() {
    let (log, forged) = (TestLog::with_calls(4), {
        let mut forged = TestLog::new(2);
        forged.call(1, 0);
        forged
    });
    let options = || Options { key: Some(log.key()), ..Options::default() };
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
    let given = |log: &TestLog, size| Options {
        checkpoint: Some(("head".into(), log.checkpoint(size))),
        ..Options::default()
    };
    let export = log.export(1, None, None);
    let report = run(&[("export", export.clone())], given(&log, 6));
    assert_held(&report);
    assert_eq!(report.checkpoints, 1);
    // The manifest is leaf 6: what stands left of it is the tree that the checkpoint signs.
    assert!(!report.notes.iter().any(|note| note.contains("is not shown")), "{:?}", report.notes);

    let mut rewritten = log.clone();
    rewritten.call(1, 50);
    log.call(1, 51);
    // The manifest of an export of its own, so that the tree of seven leaves is another one.
    let whole = log.export(1, None, None);
    let alone = Options { is_alone: true, ..given(&rewritten, 8) };
    let failure = run(&[("export", whole)], alone).failure.expect("a fork is noticed in a single file too");
    assert_eq!(failure.field, "merkle.root");
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
    assert_held(&run(&[("head", log.checkpoint(3))], Options { key: Some(log.key()), ..Options::default() }));
    assert_fails_at(&one(log.checkpoint(3)), "checkpoint");
    let forged = log.checkpoint(6).replacen("\n6\n", "\n7\n", 1);
    assert_fails_at(&run(&[("a", receipt), ("head", forged)], Options::default()), "checkpoint");
}

#[test]
fn a_key_that_does_not_belong_is_noticed_also_beside_a_checkpoint_seen_before() {
    let log = TestLog::with_calls(4);
    let mut other = log.receipt_json(1, 4);
    other["merkle"]["key"] = json!(TestLog::new(2).key().to_string());
    assert_fails_at(&one(jsonl(&[log.receipt_json(0, 4), other])), "merkle.checkpoint");
}

/// An export, of this id, of the first credential's calls at these places.
fn export(log: &mut TestLog, id: u8, lines: &[usize]) -> String {
    let mut header = log.header(1, None, None);
    header.export = ExportId::new(at(50), [id; 10]);
    log.export_as(&header, lines, log.size(), |_| {})
}

/// Two exports of one credential that contradict each other, though no checkpoint of the one is of a size that the other
/// shows a tree of.
fn contradicting() -> (String, String) {
    let (mut honest, mut fork) = (TestLog::with_calls(6), TestLog::with_calls(6));
    honest.call(1, 40);
    for number in 50..53 {
        fork.call(2, number);
    }
    fork.call(1, 41);
    (export(&mut honest, 1, &[0, 2, 4, 6]), export(&mut fork, 2, &[0, 2, 4, 9]))
}

fn alone_or_not(text: &str) -> [Report; 2] {
    [true, false].map(|is_alone| {
        let options = Options { is_alone, ..Options::default() };
        run(&[("exports", text.to_owned())], options)
    })
}

#[test]
fn exports_in_one_file_are_held_against_each_other_as_those_in_several_are() {
    let (first, second) = contradicting();
    assert_held(&one(&*first));
    assert_held(&one(&*second));
    for (left, right) in [(&first, &second), (&second, &first)] {
        let apart = run(&[("left", left.clone()), ("right", right.clone())], Options::default());
        assert_fails_at(&apart, "hash");
        for report in alone_or_not(&format!("{left}{right}")) {
            assert_fails_at(&report, "hash");
            assert!(report.failure.unwrap().detail.contains("a fork"));
        }
    }
    let mut log = TestLog::with_calls(6);
    let both = export(&mut log, 1, &[0, 2, 4]) + &export(&mut log, 2, &[0, 2, 4]);
    for report in alone_or_not(&both) {
        assert_held(&report);
        assert_eq!((report.exports, report.receipts, report.lines), (2, 8, 10), "each is counted once");
    }
}

#[test]
fn what_is_read_once_and_turns_out_to_hold_several_exports_is_not_said_to_hold() {
    let (first, second) = contradicting();
    let mut verifier = Verifier::new(Options { is_alone: true, ..Options::default() });
    assert!(verifier.read("-", format!("{first}{second}").as_bytes()).is_break());
    assert!(verifier.is_several());
    let report = verifier.finish();
    let failure = report.failure.as_ref().unwrap();
    assert_eq!((report.verdict(), failure.line), (Verdict::Unreadable, Some(7)), "{failure}");
    assert!(failure.detail.contains("several exports"), "{failure}");
}

#[test]
fn an_export_that_stands_twice_in_a_file_is_repeated() {
    let mut log = TestLog::with_calls(6);
    let (one_of_it, other) = (export(&mut log, 1, &[0, 2, 4]), export(&mut log, 2, &[0, 2, 4]));
    let same_id = export(&mut log, 1, &[0, 2, 4]);
    for text in [
        format!("{one_of_it}{one_of_it}"),
        format!("{one_of_it}{other}{one_of_it}"),
        format!("{one_of_it}{same_id}"),
    ] {
        for report in alone_or_not(&text) {
            assert_fails_at(&report, "export");
            assert!(report.failure.unwrap().detail.contains("is repeated"));
        }
    }
    // Two copies of a file are no more than one of them; two exports of one id are a lie.
    let report = run(&[("a", one_of_it.clone()), ("b", one_of_it.clone())], Options::default());
    assert_held(&report);
    let report = run(&[("a", one_of_it), ("b", same_id)], Options::default());
    assert_fails_at(&report, "export");
    assert!(report.failure.unwrap().expected.is_some());
}
