//! Checkpoints, proofs, tiles and receipts of one log, in any mix: of one history, or named.

use super::*;

pub(super) fn key_of(log: &TestLog) -> Options {
    Options { key: Some(log.key()), ..Options::default() }
}

fn is_apart(report: &Report) -> bool {
    report.notes.iter().any(|note| note.contains("of one history is not shown"))
}

/// Whether the only proof there is was not counted, and that is said.
fn is_unused(report: &Report) -> bool {
    report.proofs == 0 && report.notes.iter().any(|note| note.contains("is held against nothing"))
}

/// A log and another that is the same for five leaves.
fn forked() -> (TestLog, TestLog) {
    let mut honest = TestLog::with_calls(5);
    let mut fork = honest.clone();
    for number in 0..8 {
        honest.call(1 + number % 2, 50 + number);
        fork.call(1 + number % 2, 70 + number);
    }
    (honest, fork)
}

#[test]
fn a_consistency_proof_shows_two_checkpoints_to_be_of_one_history() {
    let (honest, fork) = forked();
    let (old, new) = (("old", honest.checkpoint(7)), ("new", honest.checkpoint(13)));
    let proof = ("proof", honest.consistency(7, 13).to_string());
    let report = run(&[old.clone(), new.clone()], key_of(&honest));
    assert_held(&report);
    assert!(is_apart(&report), "{:?}", report.notes);
    for files in [
        [old.clone(), new.clone(), proof.clone()],
        [proof.clone(), old.clone(), new.clone()],
        [new.clone(), proof.clone(), old],
    ] {
        let report = run(&files, key_of(&honest));
        assert_held(&report);
        assert!(!is_apart(&report), "{:?}", report.notes);
        assert_eq!((report.checkpoints, report.proofs), (2, 1));
    }
    let report = run(&[("old", fork.checkpoint(7)), new.clone(), proof.clone()], key_of(&honest));
    assert_fails_at(&report, "path");
    let failure = report.failure.unwrap();
    assert_eq!((failure.file.as_str(), failure.line), ("proof", Some(1)));
    assert!(failure.expected.is_some() && failure.found.is_some(), "{failure}");
    // Up to where they part the two are one log.
    let report = run(
        &[("old", fork.checkpoint(5)), new, ("proof", honest.consistency(5, 13).to_string())],
        key_of(&honest),
    );
    assert_held(&report);
    assert!(!is_apart(&report));
}

#[test]
fn every_change_to_a_consistency_proof_is_named_or_leaves_it_unused() {
    let (honest, _) = forked();
    for (from, to) in [(7, 13), (8, 13), (12, 13), (1, 2), (0, 13), (13, 13)] {
        let files = |proof: String| {
            [("old", honest.checkpoint(from)), ("new", honest.checkpoint(to)), ("proof", proof)]
        };
        let size = |size: usize| u64::try_from(size).unwrap();
        let proof = honest.consistency(size(from), size(to));
        let report = run(&files(proof.to_string()), key_of(&honest));
        assert_held(&report);
        assert!(!is_apart(&report), "{from} to {to}: {:?}", report.notes);
        let mut longer = proof.clone();
        longer["path"].as_array_mut().unwrap().push(json!(TestLog::stray_leaf()));
        assert_fails_at(&run(&files(longer.to_string()), key_of(&honest)), "path");
        let path = proof["path"].as_array().unwrap();
        for place in 0..path.len() {
            let (mut other, mut shorter) = (proof.clone(), proof.clone());
            other["path"][place] = json!(TestLog::stray_leaf());
            shorter["path"].as_array_mut().unwrap().remove(place);
            assert_fails_at(&run(&files(other.to_string()), key_of(&honest)), "path");
            assert_fails_at(&run(&files(shorter.to_string()), key_of(&honest)), "path");
        }
        for (member, value) in [("from", json!(3)), ("to", json!(99)), ("origin", json!("x/log/acme-emea"))] {
            let mut other = proof.clone();
            other[member] = value;
            let report = run(&files(other.to_string()), key_of(&honest));
            assert_held(&report);
            assert!(is_unused(&report), "{member}: {} proofs, {:?}", report.proofs, report.notes);
        }
        for (member, value) in
            [("from", json!(-1)), ("to", json!("13")), ("path", json!({})), ("more", json!(1))]
        {
            let mut other = proof.clone();
            other[member] = value;
            assert!(run(&files(other.to_string()), key_of(&honest)).failure.is_some(), "{member}");
        }
    }
}

#[test]
fn a_proof_or_a_tile_alone_shows_nothing() {
    let (honest, _) = forked();
    let proof = honest.consistency(7, 13).to_string();
    for files in [
        vec![("proof", proof.clone()), ("head", honest.checkpoint(13))],
        vec![("head", honest.checkpoint(7)), ("proof", proof.clone())],
        vec![("proof", proof.clone())],
    ] {
        let report = run(&files, key_of(&honest));
        assert_held(&report);
        assert!(is_unused(&report), "{} proofs, {:?}", report.proofs, report.notes);
        let note = report.notes.iter().find(|note| note.contains("is held against nothing")).unwrap();
        assert!(note.contains("from 7 to 13 leaves in proof line 1"), "{note}");
    }
    let mut nameless: Value = serde_json::from_str(&proof).unwrap();
    nameless.as_object_mut().unwrap().remove("origin");
    assert_eq!(one(nameless.to_string()).verdict(), Verdict::Unreadable);
    let tile = honest.tile(0, 0, 13);
    let report = run_bytes(&[("tile/0/000.p/13", &tile)], key_of(&honest));
    assert_eq!(report.verdict(), Verdict::Unreadable);
}

#[test]
fn a_receipt_ties_the_trees_that_end_beside_it_to_its_checkpoint() {
    let (honest, fork) = forked();
    let receipt = honest.receipt_json(6, 13).to_string();
    for size in [6, 7] {
        let report = run(&[("head", honest.checkpoint(size)), ("a", receipt.clone())], Options::default());
        assert_held(&report);
        assert!(!is_apart(&report), "{size}: {:?}", report.notes);
        for files in [
            [("head", fork.checkpoint(size)), ("a", receipt.clone())],
            [("a", receipt.clone()), ("head", fork.checkpoint(size))],
        ] {
            assert_fails_at(&run(&files, Options::default()), "merkle.root");
        }
    }
    assert!(is_apart(&run(&[("head", honest.checkpoint(9)), ("a", receipt.clone())], Options::default())));
    // Receipts of two stories under checkpoints of different sizes meet in the tree that both paths show.
    let pair = [("a", receipt), ("b", fork.receipt_json(7, 12).to_string())];
    assert_fails_at(&run(&pair, Options::default()), "merkle.root");
}

#[test]
fn all_leaves_together_show_every_smaller_tree() {
    let (honest, fork) = forked();
    let all: Vec<Value> = (0..13).rev().map(|index| honest.receipt_json(index, 13)).collect();
    for size in 1..13 {
        let report = run(&[("all", jsonl(&all)), ("head", honest.checkpoint(size))], Options::default());
        assert_held(&report);
        assert!(!is_apart(&report), "{size}: {:?}", report.notes);
        let forged = run(&[("all", jsonl(&all)), ("head", fork.checkpoint(size))], Options::default());
        assert_eq!(forged.failure.is_some(), size > 5, "{size}");
    }
}

/// A log of 300 leaves and its tiles.
pub(super) fn tiled() -> (TestLog, Vec<(&'static str, Vec<u8>)>) {
    let mut log = TestLog::new(1);
    for number in 0..300u16 {
        log.call(1, u8::try_from(number % 100).unwrap());
    }
    let files = vec![
        ("logs/a/checkpoint", log.checkpoint(300).into_bytes()),
        ("logs/a/tile/0/000", log.tile(0, 0, 256)),
        ("logs/a/tile/0/001.p/44", log.tile(0, 1, 44)),
        ("logs/a/tile/1/000.p/1", log.tile(1, 0, 1)),
    ];
    (log, files)
}

pub(super) fn run_all(files: &[(&'static str, Vec<u8>)], options: Options) -> Report {
    let files: Vec<_> = files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    run_bytes(&files, options)
}

#[test]
fn tiles_lead_to_the_checkpoint_and_any_changed_byte_of_them_is_named() {
    let (log, files) = tiled();
    let report = run_all(&files, key_of(&log));
    assert_held(&report);
    assert_eq!((report.tiles, report.notes.len()), (3, 0), "{:?}", report.notes);
    for place in 1..files.len() {
        for byte in [0, files[place].1.len() / 2, files[place].1.len() - 1] {
            let mut changed = files.clone();
            changed[place].1[byte] ^= 1;
            let failure = run_all(&changed, key_of(&log)).failure.expect("a changed tile passes");
            assert!(["tile", "merkle.root"].contains(&failure.field.as_str()), "{failure}");
            assert!(failure.expected.is_some() && failure.found.is_some(), "{failure}");
        }
        let mut cut = files.clone();
        cut[place].1.pop();
        assert_fails_at(&run_all(&cut, key_of(&log)), "tile");
        let mut longer = files.clone();
        longer[place].1.extend([0; 32]);
        assert_fails_at(&run_all(&longer, key_of(&log)), "tile");
    }
    // Any smaller checkpoint is held against them as well.
    for size in [1, 255, 256, 257, 299] {
        let mut more = files.clone();
        more.push(("old", log.checkpoint(size).into_bytes()));
        let report = run_all(&more, key_of(&log));
        assert_held(&report);
        assert!(!is_apart(&report), "{size}: {:?}", report.notes);
        let mut fork = TestLog::new(1);
        for number in 0..size {
            fork.call(2, u8::try_from(number % 100).unwrap());
        }
        more.push(("forged", fork.checkpoint(size).into_bytes()));
        assert_fails_at(&run_all(&more, key_of(&log)), "merkle.root");
    }
}

#[test]
fn tiles_that_do_not_suffice_are_said_not_to_be_held_against_anything() {
    let (log, files) = tiled();
    let mut without = files.clone();
    without.remove(2);
    let report = run_all(&without, key_of(&log));
    assert_held(&report);
    assert!(
        report.notes.iter().any(|note| note.contains("not held against a checkpoint")),
        "{:?}",
        report.notes
    );
    let mut other = files;
    other[2].0 = "logs/b/tile/0/001.p/44";
    assert_held(&run_all(&other, key_of(&log)));
}

#[test]
fn tiles_that_contradict_each_other_are_named_also_where_no_checkpoint_reaches_down_to_them() {
    let (log, files) = tiled();
    for place in [1, 3] {
        let mut changed = files.clone();
        changed[place].1[5] ^= 1;
        // The tile at the right edge is missing, so that the tree of 300 leaves is not known.
        let mut without = changed.clone();
        without.remove(2);
        assert_fails_at(&run_all(&without, key_of(&log)), "tile");
        // The tree of 64 leaves reaches neither to the full tile's last leaf nor up to the level above it.
        let mut early = changed.clone();
        early[0].1 = log.checkpoint(64).into_bytes();
        early[place].1 = files[place].1.clone();
        *early[place].1.last_mut().unwrap() ^= 1;
        assert_fails_at(&run_all(&early, key_of(&log)), "tile");
    }
}

#[test]
fn a_tile_higher_than_any_log_grows_is_held_against_nothing() {
    let (log, mut files) = tiled();
    files.push(("logs/a/tile/63/000.p/2", [7; 64].to_vec()));
    let report = run_all(&files, key_of(&log));
    assert_held(&report);
    assert!(report.notes.iter().any(|note| note.contains("are not held against a checkpoint")));
}

#[test]
fn the_leaf_of_a_receipt_must_be_the_one_in_the_tile() {
    let (log, mut files) = tiled();
    files.remove(3);
    files.push(("a", log.receipt_json(7, 300).to_string().into_bytes()));
    assert_held(&run_all(&files, Options::default()));
    files[1].1[7 * 32] ^= 1;
    files.remove(0);
    assert_fails_at(&run_all(&files, Options::default()), "tile");
}

#[test]
fn a_path_says_which_tile_a_file_is() {
    for name in [
        "tile/0/000",
        "x/tile/63/x001/x234/067",
        "./tile/8/999.p/255",
        "/tile/0/x001/000.p/1",
        "tile/entries/000",
        "x/tile/entries/x001/234.p/17",
    ] {
        assert!(is_tile(name), "{name}");
    }
    for name in [
        "tile/0/00",
        "tile/64/000",
        "tile/00/000",
        "tile/0/x000/001",
        "tile/0/001/002",
        "tile/0/000.p/256",
        "tile/0/000.p/0",
        "tile/0/000.p/01",
        "tile/entries/00",
        "tile/entries/000.p/256",
        "entries/000",
        "tile/0",
        "0/000",
        "tile/0/000.p",
        "tile/0/x001",
        "mytile/0/000",
        "tile/0/000/",
        "tile/0/000.p/+1",
        "tile/0/x001/x002/x003/x004/x005/x006/007",
    ] {
        assert!(!is_tile(name), "{name}");
        let report = run_bytes(&[(name.trim_end_matches('/'), b"\x00\xff")], Options::default());
        assert_ne!(report.verdict(), Verdict::Held, "{name}");
    }
}

#[test]
fn the_same_size_with_two_roots_is_a_fork_wherever_the_two_stand() {
    let (honest, fork) = forked();
    for (left, right) in [
        (honest.checkpoint(9), fork.checkpoint(9)),
        (honest.checkpoint(9), fork.receipt_json(2, 9).to_string()),
        (honest.receipt_json(1, 9).to_string(), fork.checkpoint(9)),
        (honest.answer_json(3, 9).to_string(), fork.line_json(4, 9).to_string()),
    ] {
        let report = run(&[("left", left), ("right", right)], key_of(&honest));
        assert_fails_at(&report, "merkle.root");
        let failure = report.failure.unwrap();
        assert!(failure.expected.is_some() && failure.found.is_some(), "{failure}");
    }
    let empty = TestLog::new(1);
    assert_held(&run(&[("empty", empty.checkpoint(0)), ("head", honest.checkpoint(9))], key_of(&honest)));
    let forged = crate::evidence::note::sign_checkpoint(
        &crate::crypto::SigningKey::from_seed(&[1; 32]).unwrap(),
        super::super::fixture::ORIGIN,
        0,
        TestLog::stray_leaf(),
    );
    assert_fails_at(&run(&[("empty", forged)], key_of(&honest)), "merkle.root");
}

#[test]
fn one_export_alone_whose_chain_does_not_link_is_named() {
    let mut log = TestLog::with_calls(4);
    let chain = super::super::fixture::credential(1);
    let answer = json!({"outcome": "escalate"});
    log.act(crate::evidence::receipt::Kind::GateEvaluate, &chain.to_string(), Some(chain), answer, |body| {
        body.outcome = Some(Outcome::Escalate);
        body.prev = TestLog::stray_leaf();
    });
    let text = log.export(1, None, None);
    for is_alone in [true, false] {
        let report = run(&[("export", text.clone())], Options { is_alone, ..Options::default() });
        assert_fails_at(&report, "prev");
        assert_eq!(report.failure.unwrap().line, Some(4));
    }
}

#[test]
fn one_export_alone_is_verified_without_remembering_its_lines() {
    let mut log = TestLog::with_calls(12);
    let text = log.export(1, None, None);
    let alone = || Options { is_alone: true, ..Options::default() };
    let report = run(&[("export", text.clone())], alone());
    assert_held(&report);
    assert!(!is_apart(&report));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(2, 3);
    assert_fails_at(&run(&[("export", lines.join("\n"))], alone()), "seq");
}
