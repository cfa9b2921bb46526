//! Ed25519 and HMAC against the vectors of their standards and of Wycheproof.

use super::{AuthKey, PublicKey, SigningKey, hmac_sha256};
use serde_json::Value;

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn ed25519_cases() -> Value {
    serde_json::from_str(include_str!("../../tests/vectors/wycheproof/ed25519_test.json")).unwrap()
}

/// RFC 8032 §7.1, the tests 1, 2, 3 and SHA(abc): secret seed, public key, message, signature.
const RFC_8032: [[&str; 4]; 4] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
    [
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ],
];

#[test]
fn ed25519_signs_as_rfc_8032_shows() {
    for vector in RFC_8032 {
        let [seed, public, message, signature] = vector.map(|text| hex::decode(text).unwrap());
        let key = SigningKey::from_seed(&seed.try_into().unwrap()).unwrap();
        assert_eq!(key.public().0.as_slice(), public);
        assert_eq!(key.sign(&message).as_slice(), signature);
        assert!(key.public().verifies(&message, &signature));
        assert!(!key.public().verifies(&[&message[..], b"x"].concat(), &signature));
    }
}

/// RFC 8032 §7.1, test 1024; message and signature stand in Wycheproof's table under its older name.
#[test]
fn ed25519_signs_1023_bytes_as_rfc_8032_shows() {
    let seed = hex::decode("f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5").unwrap();
    let key = SigningKey::from_seed(&seed.try_into().unwrap()).unwrap();
    let file = ed25519_cases();
    let case = file["testGroups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["tests"].as_array().unwrap())
        .find(|case| case["comment"] == "draft-josefsson-eddsa-ed25519-02: Test 1024")
        .unwrap();
    let message = bytes(&case["msg"]);
    assert_eq!(message.len(), 1023);
    assert_eq!(key.sign(&message).as_slice(), bytes(&case["sig"]));
}

#[test]
fn ed25519_signatures_get_wycheproofs_verdict() {
    let file = ed25519_cases();
    let (mut accepted, mut refused) = (0, 0);
    for group in file["testGroups"].as_array().unwrap() {
        let key = PublicKey(bytes(&group["publicKey"]["pk"]).try_into().unwrap());
        for case in group["tests"].as_array().unwrap() {
            let valid = case["result"] == "valid";
            assert_eq!(key.verifies(&bytes(&case["msg"]), &bytes(&case["sig"])), valid, "{}", case["tcId"]);
            if valid { accepted += 1 } else { refused += 1 }
        }
    }
    assert_eq!((accepted, refused), (88, 63));
}

/// Where a group cuts the tag short, its first bytes count; the service itself never cuts one.
#[test]
fn hmac_sha_256_tags_get_wycheproofs_verdict() {
    let file: Value =
        serde_json::from_str(include_str!("../../tests/vectors/wycheproof/hmac_sha256_test.json")).unwrap();
    let (mut accepted, mut refused, mut of_32_bytes) = (0, 0, 0);
    for group in file["testGroups"].as_array().unwrap() {
        for case in group["tests"].as_array().unwrap() {
            let (key, tag) = (bytes(&case["key"]), bytes(&case["tag"]));
            let made = hmac_sha256(&AuthKey::from_slice(&key).unwrap(), &bytes(&case["msg"]));
            let valid = case["result"] == "valid";
            assert_eq!(made[..tag.len()] == tag, valid, "{}", case["tcId"]);
            if valid {
                accepted += 1;
            } else {
                refused += 1;
            }
            if let Ok(key) = <[u8; 32]>::try_from(key) {
                assert_eq!(hmac_sha256(&AuthKey::from_bytes(&key), &bytes(&case["msg"])), made);
                of_32_bytes += 1;
            }
        }
    }
    assert_eq!((accepted, refused), (66, 108));
    assert!(of_32_bytes > 50, "{of_32_bytes}");
}
