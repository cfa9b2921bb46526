//! The formulas of a receipt, worked by hand, and strictness in reading one.

use super::*;
use crate::crypto::sha256;
use crate::domain::{FactsFrom, Outcome, PrincipalId, ReceiptId, Timestamp};
use crate::evidence::canonical;
use serde_json::json;
use std::borrow::Cow;

fn whole() -> Body {
    let at: Timestamp = "2026-11-02T09:30:00.125Z".parse().unwrap();
    Body {
        id: ReceiptId::at_index(at, 41, [1, 2, 3, 4, 5]),
        at,
        tenant: "acme-emea".parse().unwrap(),
        principal: Some(PrincipalId::new(at, [1; 10])),
        agent: Some("agt_00000000000000000000000001".parse().unwrap()),
        credential: Some("crd_00000000000000000000000002".parse().unwrap()),
        kind: Kind::GateEvaluate,
        outcome: Some(Outcome::Escalate),
        mandate_version: Some(7),
        policy_version: Some(3),
        catalogue_version: Some(2),
        engine_version: Cow::Borrowed("1"),
        facts_from: Some(FactsFrom::Derived),
        input_hash: sha256(b"in"),
        output_hash: sha256(b"out"),
        chain: "crd_00000000000000000000000002".parse().unwrap(),
        seq: 17,
        prev: sha256(b"before"),
        auth_key: "key_00000000000000000000000003".parse().unwrap(),
    }
}

fn sparse() -> Body {
    Body {
        principal: None,
        agent: None,
        credential: None,
        kind: Kind::LogGap,
        outcome: None,
        mandate_version: None,
        policy_version: None,
        catalogue_version: None,
        engine_version: Cow::Borrowed("1 \"rc\" \u{1F600}\n"),
        facts_from: None,
        chain: "tnt_00000000000000000000000004".parse().unwrap(),
        seq: 0,
        prev: Hash::ZERO,
        ..whole()
    }
}

fn receipt(body: Body) -> Receipt {
    let hash = body.hash();
    let auth = authenticate(&AuthKey::from_bytes(&[7; 32]), &hash);
    let merkle = Inclusion {
        index: 41,
        size: 44,
        root: sha256(b"root"),
        path: vec![sha256(b"a"), sha256(b"b")],
        checkpoint: "acme/log/acme-emea\n44\n…\n".into(),
        key: "acme/log/acme-emea+00000000+AQ==".into(),
    };
    Receipt { body, hash, auth, merkle }
}

fn json_of(receipt: &Receipt) -> Value {
    let mut out = Vec::new();
    receipt.write_json(&mut out);
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn the_direct_writer_writes_what_rfc_8785_makes_of_the_json() {
    for body in [whole(), sparse()] {
        assert_eq!(body.canonical(), canonical::to_vec(&body.to_json()));
        assert_eq!(body.canonical(), serde_json_canonicalizer::to_vec(&body.to_json()).unwrap());
    }
}

#[test]
fn the_body_is_the_receipt_without_hash_auth_and_merkle() {
    for body in [whole(), sparse()] {
        let mut json = json_of(&receipt(body.clone()));
        for outside in ["hash", "auth", "merkle"] {
            assert!(json.as_object_mut().unwrap().remove(outside).is_some());
        }
        assert_eq!(json, body.to_json());
        assert_eq!(sha256(&serde_json_canonicalizer::to_vec(&json).unwrap()), body.hash());
    }
}

#[test]
fn what_was_written_is_read_back() {
    for body in [whole(), sparse()] {
        let receipt = receipt(body);
        assert_eq!(Receipt::from_json(&json_of(&receipt)).unwrap(), receipt);
        assert_eq!(Body::from_json(&receipt.body.to_json()).unwrap(), receipt.body);
    }
}

#[test]
fn a_leaf_is_the_hash_of_auth_and_hash_in_canonical_form() {
    let receipt = receipt(whole());
    let document = json!({"hash": receipt.hash.to_string(), "auth": receipt.auth.to_string()});
    assert_eq!(leaf_data(&receipt.hash, &receipt.auth), canonical::to_vec(&document));
    let mut prefixed = vec![0];
    prefixed.extend(canonical::to_vec(&document));
    assert_eq!(receipt.leaf(), sha256(&prefixed));
}

/// RFC 4231 §4.7: a key longer than a block, so the formula is HMAC and not a plain hash of key and message.
#[test]
fn auth_is_an_hmac_over_the_32_bytes_of_the_hash() {
    let key = AuthKey::from_slice(&[0xaa; 131]).unwrap();
    let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
    let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
    assert_eq!(Auth(hmac_sha256(&key, message)).to_string(), format!("hmac-sha256:{expected}"));
    let hash = sha256(b"x");
    assert_eq!(authenticate(&key, &hash), Auth(hmac_sha256(&key, &hash.0)));
}

#[test]
fn a_member_too_many_too_few_or_of_another_type_is_named() {
    let right = json_of(&receipt(whole()));
    let refused = |pointer: &str, change: &dyn Fn(&mut Value)| {
        let mut changed = right.clone();
        change(&mut changed);
        let said = Receipt::from_json(&changed).unwrap_err();
        assert_eq!(said.faults[0].pointer, pointer, "{said}");
    };
    for name in
        ["id", "at", "tenant", "kind", "engine_version", "input_hash", "chain", "seq", "auth", "merkle"]
    {
        refused(&format!("/{name}"), &|receipt| drop(receipt.as_object_mut().unwrap().remove(name)));
        refused(&format!("/{name}"), &|receipt| receipt[name] = json!([1]));
    }
    for name in ["index", "size", "root", "path", "checkpoint", "key"] {
        let pointer = format!("/merkle/{name}");
        refused(&pointer, &|receipt| drop(receipt["merkle"].as_object_mut().unwrap().remove(name)));
        refused(&pointer, &|receipt| receipt["merkle"][name] = json!(true));
    }
    refused("/extra", &|receipt| receipt["extra"] = json!(1));
    refused("/merkle/ex~1tra", &|receipt| receipt["merkle"]["ex/tra"] = json!(1));
    refused("/outcome", &|receipt| receipt["outcome"] = json!("perhaps"));
    refused("/outcome", &|receipt| receipt["outcome"] = Value::Null);
    refused("/seq", &|receipt| receipt["seq"] = json!(-1));
    refused("/seq", &|receipt| receipt["seq"] = json!(1_u64 << 53));
    refused("/merkle/path/1", &|receipt| receipt["merkle"]["path"][1] = json!("sha256:00"));
}

#[test]
fn another_spelling_of_the_same_value_is_refused() {
    let right = json_of(&receipt(whole()));
    for (name, other) in [
        ("at", json!("2026-11-02T09:30:00.1250Z")),
        ("at", json!("2026-11-02T10:30:00.125+01:00")),
        ("at", json!("2026-11-02T09:30:00.1251Z")),
        ("auth", json!(right["auth"].as_str().unwrap().to_uppercase())),
        ("seq", json!(17.5)),
    ] {
        let mut changed = right.clone();
        changed[name] = other;
        assert!(Receipt::from_json(&changed).is_err(), "{}", changed[name]);
    }
}

#[test]
fn every_kind_has_one_name() {
    for kind in Kind::ALL {
        assert_eq!(kind.as_str().parse::<Kind>().unwrap(), *kind);
    }
    assert!("gate.Evaluate".parse::<Kind>().is_err());
}
