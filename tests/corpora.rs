//! Tries every input that fuzzing found worth keeping, and every one it was begun with, on the compiler in use.

#![cfg(test)]

#[path = "fuzz/checks.rs"]
#[expect(unreachable_pub, reason = "the targets of the fuzzer are crates of their own, and call them too")]
mod checks;

use std::path::Path;

/// Fewer than this is a folder in the wrong place, not a corpus.
const FEWEST_INPUTS: usize = 20;
/// A corpus is kept minimised, so that trying it stays a matter of seconds.
const MOST_INPUTS: usize = 300;

#[test]
fn every_request_of_the_corpus_reads_back_as_the_same() {
    try_all("request", checks::request);
}

#[test]
fn every_document_of_the_corpus_reads_back_as_the_same() {
    try_all("document", checks::document);
}

#[test]
fn every_text_of_the_corpus_has_one_canonical_form() {
    try_all("canonical", checks::canonical);
}

#[test]
fn every_text_of_the_corpus_is_screened_once_and_for_all() {
    try_all("screening", checks::screening);
}

fn try_all(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut inputs: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!((FEWEST_INPUTS..=MOST_INPUTS).contains(&inputs.len()), "{} inputs", inputs.len());
    let mut failed = Vec::new();
    for input in inputs {
        let bytes = std::fs::read(&input).unwrap();
        if std::panic::catch_unwind(|| check(&bytes)).is_err() {
            failed.push(input);
        }
    }
    assert!(failed.is_empty(), "of `{target}`, these do not pass: {failed:#?}");
}
