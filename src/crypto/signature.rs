//! Ed25519 (RFC 8032), through the same backend that signs tokens.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;

/// An Ed25519 signature, 64 bytes.
pub type Signature = [u8; 64];

/// A private key; prints as its type's name.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl SigningKey {
    /// The key pair of a 32-byte seed (RFC 8032 §5.1.5); `None` where the backend refuses it.
    pub fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let public = PublicKey(pair.public_key().as_ref().try_into().ok()?);
        Some(Self { pair, public })
    }

    /// Signs `message`.
    pub fn sign(&self, message: &[u8]) -> Signature {
        let signature = self.pair.sign(message);
        let mut bytes = [0; 64];
        for (to, from) in bytes.iter_mut().zip(signature.as_ref()) {
            *to = *from;
        }
        bytes
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        self.public
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

/// A public key, 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// Whether `signature` is this key's over `message` (RFC 8032 §5.1.7, with cofactorless checks as the backend makes them).
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}
