//! The public half of a key that signs notes, as people hand it around (C2SP signed-note, verifier keys).

use super::{NoteError, malformed};
use crate::crypto::{PublicKey, sha256_of_parts};
use base64::{Engine, prelude::BASE64_STANDARD};
use std::{fmt, str::FromStr, sync::Arc};

/// What a key signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Ed25519 over the note's text: a log's own signature.
    Ed25519,
    /// Ed25519 over the text with a time before it: a witness's cosignature (C2SP tlog-cosignature v1).
    Cosignature,
}

impl Algorithm {
    const fn byte(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::Cosignature => 4,
        }
    }
}

/// A name and a public key, written `<name>+<key id in hex>+<base64>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifierKey {
    name: Arc<str>,
    id: [u8; 4],
    algorithm: Algorithm,
    public: PublicKey,
}

impl VerifierKey {
    /// A log's key. The name holds no blank and no plus sign and is not empty.
    pub fn new(name: &str, public: PublicKey) -> Result<Self, NoteError> {
        Self::with_algorithm(name, Algorithm::Ed25519, public)
    }

    /// A key for one of the two ways of signing.
    pub fn with_algorithm(name: &str, algorithm: Algorithm, public: PublicKey) -> Result<Self, NoteError> {
        if !is_name(name) {
            return Err(malformed(format!(
                "`{}` cannot name a key: it has no blank and no plus sign and is not empty",
                name.escape_debug()
            )));
        }
        Ok(Self { name: name.into(), id: key_id(name, algorithm, public), algorithm, public })
    }

    /// The key's name; a log's key is named as the log's origin.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first four bytes of SHA-256 over name, newline, algorithm and key.
    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    /// How it signs.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key itself.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Whether `signature`, the bytes after the key id of a signature line, is this key's over `text`.
    pub(super) fn verifies(&self, text: &str, signature: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Ed25519 => self.public.verifies(text.as_bytes(), signature),
            Algorithm::Cosignature => signature.split_first_chunk::<8>().is_some_and(|(time, signature)| {
                let time = u64::from_be_bytes(*time);
                self.public.verifies(format!("cosignature/v1\ntime {time}\n{text}").as_bytes(), signature)
            }),
        }
    }
}

/// The id that a signature line and a written key carry.
pub(super) fn key_id(name: &str, algorithm: Algorithm, public: PublicKey) -> [u8; 4] {
    let hash = sha256_of_parts(&[name.as_bytes(), b"\n", &[algorithm.byte()], &public.0]);
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// Whether a text can name a key (C2SP signed-note: no Unicode space, no plus sign, not empty).
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(|character: char| character.is_whitespace() || character == '+')
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![self.algorithm.byte()];
        bytes.extend_from_slice(&self.public.0);
        write!(f, "{}+{}+{}", self.name, hex::encode(self.id), BASE64_STANDARD.encode(bytes))
    }
}

impl FromStr for VerifierKey {
    type Err = NoteError;

    /// Reads the written form. Errors: another form, an algorithm that is not read here, an id that is not the
    /// key's.
    fn from_str(text: &str) -> Result<Self, NoteError> {
        let shown = || text.chars().take(120).collect::<String>().escape_debug().to_string();
        let wrong = || malformed(format!("`{}` is not a verifier key: <name>+<hex id>+<base64>", shown()));
        let (name, rest) = text.split_once('+').ok_or_else(wrong)?;
        let (id, encoded) = rest.split_once('+').ok_or_else(wrong)?;
        let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| wrong())?;
        let (algorithm, public) = bytes.split_first().ok_or_else(wrong)?;
        let algorithm = [Algorithm::Ed25519, Algorithm::Cosignature]
            .into_iter()
            .find(|known| known.byte() == *algorithm)
            .ok_or_else(|| malformed(format!("`{}` is not an Ed25519 key", shown())))?;
        let public = PublicKey(public.try_into().map_err(|_| wrong())?);
        let key = Self::with_algorithm(name, algorithm, public)?;
        if hex::encode(key.id) != id {
            return Err(malformed(format!(
                "`{}` says its id is {}, the key's is {}",
                shown(),
                id.escape_debug(),
                hex::encode(key.id)
            )));
        }
        Ok(key)
    }
}
