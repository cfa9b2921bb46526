//! SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104).

use crate::domain::Hash;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> Hash {
    Hash(Sha256::digest(bytes).into())
}

/// SHA-256 of the parts, one after the other.
pub fn sha256_of_parts(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    Hash(digest.finalize().into())
}

/// HMAC-SHA-256 of `message` under `key` (RFC 2104), 32 bytes.
pub fn hmac_sha256(key: &AuthKey, message: &[u8]) -> [u8; 32] {
    let mut mac = key.prepared.clone();
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// What a receipt says of a password's hash or a secret's digest, so that the row that holds it can be held against the
/// receipt: whoever has no key learns nothing from it.
pub fn seal(key: &AuthKey, stored: &[u8]) -> String {
    format!("hmac-sha256:{}", hex::encode(hmac_sha256(key, &[b"procura-secret-v1 ", stored].concat())))
}

/// A key for [`hmac_sha256`], its padding computed once.
#[derive(Clone)]
pub struct AuthKey {
    prepared: Hmac<Sha256>,
}

impl AuthKey {
    /// A key of 32 bytes, filled up with zeros to SHA-256's block as RFC 2104 §2 does.
    pub fn from_bytes(key: &[u8; 32]) -> Self {
        let mut block = Zeroizing::new([0u8; 64]);
        for (to, from) in block.iter_mut().zip(key) {
            *to = *from;
        }
        Self { prepared: KeyInit::new((&*block).into()) }
    }

    /// A key of any length, as RFC 2104 allows.
    pub fn from_slice(key: &[u8]) -> Option<Self> {
        Hmac::new_from_slice(key).ok().map(|prepared| Self { prepared })
    }
}

impl std::fmt::Debug for AuthKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuthKey")
    }
}
