//! Published and generated notes, checkpoints and proofs, and an independent reader of what we write.

use super::*;
use crate::crypto::SigningKey;
use crate::domain::Hash;
use crate::evidence::merkle::{leaf_hash, verify_consistency};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../tests/vectors/signed_note_tlog.json");

fn cases(table: &str) -> Vec<Value> {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    vectors[table].as_array().unwrap().clone()
}

fn keys(case: &Value) -> Vec<VerifierKey> {
    case["vkeys"].as_array().unwrap().iter().map(|key| key.as_str().unwrap().parse().unwrap()).collect()
}

fn note(case: &Value) -> Option<String> {
    case["note"].as_str().map(str::to_owned).or_else(|| {
        String::from_utf8(BASE64_STANDARD.decode(case["note_b64"].as_str().unwrap()).unwrap()).ok()
    })
}

/// The seed of a key that the vectors are signed with.
pub(super) fn seed(whose: &str) -> [u8; 32] {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    hex::decode(vectors["test_seeds_hex"][whose].as_str().unwrap()).unwrap().try_into().unwrap()
}

fn log_key() -> SigningKey {
    SigningKey::from_seed(&seed("log")).unwrap()
}

#[test]
fn notes_come_out_as_the_vectors_say() {
    for case in cases("note") {
        let keys = keys(&case);
        let opens = note(&case).is_some_and(|note| open_note(&note, &keys).is_ok());
        assert_eq!(opens, case["expect"] == "accept", "{case}");
    }
}

#[test]
fn checkpoints_come_out_as_the_vectors_say() {
    for case in cases("checkpoint") {
        let (keys, note) = (keys(&case), note(&case).unwrap());
        let parsed = open_note(&note, &keys).and_then(|opened| parse_checkpoint(opened.text));
        let origin = case["origin_expected"].as_str();
        let accepted = parsed.is_ok_and(|found| origin.is_none_or(|origin| found.origin == origin));
        assert_eq!(accepted, case["expect"] == "accept", "{case}");
    }
}

#[test]
fn a_log_does_not_sign_for_another_origin() {
    let case = cases("checkpoint").into_iter().find(|case| case["id"] == "wrong-origin").unwrap();
    let said = open_checkpoint(&note(&case).unwrap(), &keys(&case)[0]).unwrap_err();
    let (found, expected) = ("log.example/other".into(), "log.example/gate".into());
    assert_eq!(said, NoteError::OtherOrigin { found, expected });
}

#[test]
fn log_proofs_come_out_as_the_vectors_say() {
    for case in cases("proof") {
        let leaf = leaf_hash(&hex::decode(case["leaf_input_hex"].as_str().unwrap()).unwrap());
        let text = case["proof"].as_str().unwrap();
        let [key] = &keys(&case)[..] else { panic!("one key in {case}") };
        let proof = LogProof::parse(text);
        let shown = proof.as_ref().is_ok_and(|proof| proof.shows(&leaf, key) == Ok(true));
        assert_eq!(shown, case["expect"] == "accept", "{case}");
        if let Ok(proof) = proof {
            assert_eq!(proof.to_string(), text);
        }
    }
}

#[test]
fn growth_is_told_from_rollback_and_split_views() {
    let key = VerifierKey::new("log.example/gate", log_key().public()).unwrap();
    for case in cases("checkpoint_pairs") {
        let open = |side: &str| open_checkpoint(case[side].as_str().unwrap(), &key).unwrap();
        let (old, new) = (open("old"), open("new"));
        let path: Vec<Hash> = case["consistency_proof_hex"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hash| Hash(hex::decode(hash.as_str().unwrap()).unwrap().try_into().unwrap()))
            .collect();
        let holds = verify_consistency(old.size, new.size, &old.root, &new.root, &path);
        assert_eq!(holds, case["expect"] == "accept", "{case}");
    }
}

#[test]
fn what_we_sign_is_the_vector_and_an_independent_reader_opens_it() {
    let wanted = cases("checkpoint").into_iter().find(|case| case["id"] == "ok").unwrap();
    let root = Hash(
        BASE64_STANDARD.decode("XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=").unwrap().try_into().unwrap(),
    );
    let written = sign_checkpoint(&log_key(), "log.example/gate", 8, root);
    assert_eq!(written, wanted["note"].as_str().unwrap());

    let key = VerifierKey::new("log.example/gate", log_key().public()).unwrap().to_string();
    assert_eq!(key, wanted["vkeys"][0].as_str().unwrap());
    let known =
        signed_note::VerifierList::new(vec![Box::new(signed_note::StandardVerifier::new(&key).unwrap())]);
    let outside = signed_note::Note::from_bytes(written.as_bytes()).unwrap();
    let (verified, _) = outside.verify(&known).unwrap();
    assert_eq!(verified.len(), 1);
}

#[test]
fn a_key_has_one_spelling() {
    let right = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
    assert_eq!(right.parse::<VerifierKey>().unwrap().to_string(), right);
    for wrong in [
        "",
        "example.com/foo",
        "example.com/foo+530d903a",
        "example.com/foo+530D903A+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903b+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/bar+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903a+AukyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U0=",
    ] {
        assert!(wrong.parse::<VerifierKey>().is_err(), "{wrong}");
    }
}

#[test]
fn a_checkpoint_of_another_log_does_not_open() {
    let key = log_key();
    let mine = VerifierKey::new("a.example/log/x", key.public()).unwrap();
    let note = sign_checkpoint(&key, "a.example/log/x", 3, Hash::ZERO);
    assert!(open_checkpoint(&note, &mine).is_ok());
    let other = sign_checkpoint(&key, "a.example/log/y", 3, Hash::ZERO);
    assert_eq!(open_checkpoint(&other, &mine), Err(NoteError::Unsigned("a.example/log/x".into())));
}
