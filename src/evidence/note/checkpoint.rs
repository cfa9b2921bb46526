//! The signed head of a log: origin, size and root (C2SP tlog-checkpoint).

use super::key::{Algorithm, VerifierKey, key_id};
use super::{NoteError, SIGNATURE_MARK, malformed, open_note};
use crate::crypto::SigningKey;
use crate::domain::Hash;
use base64::{Engine, prelude::BASE64_STANDARD};
use std::fmt;

/// The head of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name, also that of its key.
    pub origin: String,
    /// How many leaves it has.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
}

impl fmt::Display for Checkpoint {
    /// The text that is signed: three lines, no extensions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, BASE64_STANDARD.encode(self.root.as_bytes()))
    }
}

/// Signs the head of the log `origin`, which is also the key's name, and gives the whole note.
pub fn sign_checkpoint(key: &SigningKey, origin: &str, size: u64, root: Hash) -> String {
    let text = Checkpoint { origin: origin.to_owned(), size, root }.to_string();
    let mut signature = key_id(origin, Algorithm::Ed25519, key.public()).to_vec();
    signature.extend_from_slice(&key.sign(text.as_bytes()));
    format!("{text}\n{SIGNATURE_MARK}{origin} {}\n", BASE64_STANDARD.encode(signature))
}

/// Reads the text of a checkpoint, without its signatures. Extension lines are allowed and mean nothing here.
pub fn parse_checkpoint(text: &str) -> Result<Checkpoint, NoteError> {
    let body =
        text.strip_suffix('\n').ok_or_else(|| malformed("a checkpoint's last line ends with a newline"))?;
    let mut lines = body.split('\n');
    let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
        return Err(malformed("a checkpoint has three lines: origin, size, root"));
    };
    if origin.is_empty() || lines.any(str::is_empty) {
        return Err(malformed("no line of a checkpoint is empty"));
    }
    let size = decimal(size).ok_or_else(|| {
        malformed(format!("`{}` is not a size: a decimal without leading zeros", size.escape_debug()))
    })?;
    let root = hash_in_base64(root)
        .ok_or_else(|| malformed(format!("`{}` is not a root: 32 bytes in base64", root.escape_debug())))?;
    Ok(Checkpoint { origin: origin.to_owned(), size, root })
}

/// Opens a signed checkpoint with the key of its log, whose name must be its origin.
pub fn open_checkpoint(note: &str, key: &VerifierKey) -> Result<Checkpoint, NoteError> {
    let opened = open_note(note, std::slice::from_ref(key))?;
    let checkpoint = parse_checkpoint(opened.text)?;
    if checkpoint.origin != key.name() {
        return Err(NoteError::OtherOrigin { found: checkpoint.origin, expected: key.name().to_owned() });
    }
    Ok(checkpoint)
}

/// A decimal in its only spelling: digits, no leading zero, below 2^64.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| canonical)
}

pub(super) fn hash_in_base64(text: &str) -> Option<Hash> {
    BASE64_STANDARD.decode(text).ok()?.try_into().ok().map(Hash)
}
