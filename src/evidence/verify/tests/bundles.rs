//! Entry bundles (C2SP tlog-tiles): their entries' hashes are those of tiles, receipts and checkpoints.

use super::trees::{key_of, run_all, tiled};
use super::*;

/// The mirrored log with its entries.
fn mirrored() -> (TestLog, Vec<(&'static str, Vec<u8>)>) {
    let (log, mut files) = tiled();
    files.push(("logs/a/tile/entries/000", log.bundle(0, 256)));
    files.push(("logs/a/tile/entries/001.p/44", log.bundle(256, 44)));
    (log, files)
}

#[test]
fn bundles_lead_to_the_checkpoint_with_tiles_and_without() {
    let (log, files) = mirrored();
    let report = run_all(&files, key_of(&log));
    assert_held(&report);
    assert_eq!((report.tiles, report.bundles, report.notes.len()), (3, 2, 0), "{:?}", report.notes);
    let entries: Vec<_> = [&files[..1], &files[4..]].concat();
    let report = run_all(&entries, key_of(&log));
    assert_held(&report);
    assert_eq!((report.bundles, report.notes.len()), (2, 0), "{:?}", report.notes);
    let report = run_all(&entries[..2], key_of(&log));
    assert_held(&report);
    assert!(report.notes.iter().any(|note| note.contains("not held against a checkpoint")));
    assert_eq!(run_all(&files[4..], key_of(&log)).verdict(), Verdict::Unreadable, "of no log that is known");
}

#[test]
fn any_changed_byte_of_a_bundle_is_named() {
    let (log, files) = mirrored();
    let length = 2 + usize::from(u16::from_be_bytes([files[4].1[0], files[4].1[1]]));
    let last = files[5].1.len() - 1;
    // High and low byte of a length, the first, a middle and the last byte of an entry, at both ends and between.
    let inside = [0, 1, 2, 20, 100, length - 1].map(|byte| (4, byte));
    let others = [(4, length), (4, length + 1), (4, 7 * length + 60), (5, 0), (5, 1), (5, 30), (5, last)];
    for (place, byte) in inside.into_iter().chain(others) {
        for with_tiles in [true, false] {
            let mut changed = files.clone();
            changed[place].1[byte] ^= 1;
            if !with_tiles {
                changed.drain(1..4);
            }
            let report = run_all(&changed, key_of(&log));
            assert_eq!(report.verdict(), Verdict::Failed, "byte {byte} of {}", files[place].0);
            let failure = report.failure.unwrap();
            let is_named = ["entries", "merkle.root"].contains(&&*failure.field);
            assert!(is_named && failure.expected.is_some() && failure.found.is_some(), "{failure}");
            if with_tiles {
                assert_eq!((&*failure.file, &*failure.field), (files[place].0, "entries"), "{failure}");
            }
        }
    }
}

#[test]
fn a_bundle_is_as_long_as_its_name_says_and_not_compressed() {
    let (log, files) = mirrored();
    let bytes = &files[5].1;
    let first = 2 + usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
    // A member of gzip whose one block is stored as it is (RFC 1951 §3.2.4, RFC 1952 §2.3).
    let size = u16::try_from(bytes.len()).unwrap();
    let head = [31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let gzip = [&head[..], &size.to_le_bytes(), &(!size).to_le_bytes(), bytes, &[0; 8]].concat();
    let empty: &[u8] = b"";
    for (what, other) in [
        ("empty", empty.to_vec()),
        ("half a length", bytes[..1].to_vec()),
        ("cut in the last entry", bytes[..bytes.len() - 1].to_vec()),
        ("cut before the last entry's end", bytes[..bytes.len() - 100].to_vec()),
        ("without its first entry", bytes[first..].to_vec()),
        ("a byte more", [&bytes[..], &[0]].concat()),
        ("an empty entry more", [&bytes[..], &[0, 0]].concat()),
        ("an entry more", [&bytes[..], &bytes[..first]].concat()),
        ("compressed", gzip),
    ] {
        let mut changed = files.clone();
        changed[5].1 = other;
        let report = run_all(&changed, key_of(&log));
        assert_fails_at(&report, "entries");
        assert_eq!(report.failure.unwrap().file, files[5].0, "{what}");
    }
    let mut renamed = files.clone();
    renamed[5].0 = "logs/a/tile/entries/001.p/43";
    assert_fails_at(&run_all(&renamed, key_of(&log)), "entries");
}

#[test]
fn a_bundle_at_another_place_contradicts_the_tile_there() {
    let (log, mut files) = mirrored();
    files[5] = ("logs/a/tile/entries/000.p/44", log.bundle(256, 44));
    files.remove(4);
    let report = run_all(&files, key_of(&log));
    assert_fails_at(&report, "entries");
    let failure = report.failure.unwrap();
    assert_eq!(failure.file, "logs/a/tile/entries/000.p/44");
    assert_eq!(&*failure.other.unwrap().file, "logs/a/tile/0/000");
    // Where nothing else says what stands there, the checkpoint does.
    files.drain(1..4);
    files.push(("logs/a/tile/entries/001.p/44", log.bundle(256, 44)));
    files.push(("logs/a/tile/entries/000", log.bundle(44, 256)));
    assert_fails_at(&run_all(&files, key_of(&log)), "entries");
    files.remove(1);
    assert_fails_at(&run_all(&files, key_of(&log)), "merkle.root");
}

#[test]
fn an_entry_is_the_leaf_of_the_receipt_at_its_place() {
    let (log, files) = mirrored();
    let mut fork = TestLog::new(1);
    for number in 0..300u16 {
        fork.call(1, u8::try_from(number % 90).unwrap());
    }
    let receipt = ("receipt", log.receipt_json(95, 300).to_string().into_bytes());
    let report = run_all(&[receipt.clone(), files[4].clone()], Options::default());
    assert_held(&report);
    assert_eq!((report.receipts, report.bundles), (1, 1));
    let forged = ("logs/a/tile/entries/000", fork.bundle(0, 256));
    for files in [[receipt.clone(), forged.clone()], [forged, receipt]] {
        let report = run_all(&files, Options::default());
        assert_fails_at(&report, "entries");
        let failure = report.failure.unwrap();
        let other = failure.other.unwrap();
        assert_eq!((&*failure.file, &*other.file), ("logs/a/tile/entries/000", "receipt"));
        assert!(other.receipt.is_some(), "the receipt is named as well");
    }
}

#[test]
fn what_no_tree_reaches_is_refused_and_too_many_entries_end_the_reading() {
    let (log, files) = mirrored();
    for (name, field) in [
        ("logs/a/tile/0/x100/x000/x000/x000/x000/000.p/1", "tile"),
        ("logs/a/tile/0/x072/x057/x594/x037/x927/936.p/1", "tile"),
        ("logs/a/tile/63/x999/x999/x999/x999/x999/999.p/1", "tile"),
        ("logs/a/tile/entries/x100/x000/x000/x000/x000/000.p/1", "entries"),
    ] {
        let report = run_all(&[files[0].clone(), (name, vec![0; 32])], key_of(&log));
        assert_eq!(report.failure.expect(name).field, field, "{name}");
    }
    let zeros = run_all(&[files[0].clone(), ("logs/a/tile/entries/000", vec![0; 1 << 24])], key_of(&log));
    assert_eq!(zeros.failure.unwrap().field, "entries");
}
