//! A leaf's inclusion path and the checkpoint it leads to, in one text (C2SP tlog-proof).

use super::checkpoint::{decimal, hash_in_base64, open_checkpoint};
use super::{NoteError, VerifierKey, malformed};
use crate::domain::Hash;
use crate::evidence::merkle::verify_inclusion;
use base64::{Engine, prelude::BASE64_STANDARD};
use std::fmt::{self, Write};

const VERSION: &str = "c2sp.org/tlog-proof@v1";

/// What shows a leaf to be in a log, without asking the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogProof {
    /// Bytes the log wants carried along; they are not covered by the proof.
    pub extra: Option<Vec<u8>>,
    /// The leaf's place.
    pub index: u64,
    /// The inclusion path (RFC 9162 §2.1.3.1).
    pub path: Vec<Hash>,
    /// The signed checkpoint, a whole note.
    pub checkpoint: String,
}

impl LogProof {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let wrong = |what: &str| malformed(format!("not a log proof: {what}"));
        let (head, checkpoint) =
            text.split_once("\n\n").ok_or_else(|| wrong("no empty line before its checkpoint"))?;
        let mut lines = head.split('\n');
        if lines.next() != Some(VERSION) {
            return Err(wrong(&format!("its first line is not `{VERSION}`")));
        }
        let mut line = lines.next().unwrap_or_default();
        let mut extra = None;
        if let Some(encoded) = line.strip_prefix("extra ") {
            extra = Some(BASE64_STANDARD.decode(encoded).map_err(|_| wrong("`extra` is not base64"))?);
            line = lines.next().unwrap_or_default();
        }
        let index = line
            .strip_prefix("index ")
            .and_then(decimal)
            .ok_or_else(|| wrong("no line `index <decimal>` without leading zeros"))?;
        let path = lines
            .map(|line| {
                hash_in_base64(line).ok_or_else(|| wrong("a line of its path is not 32 bytes in base64"))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { extra, index, path, checkpoint: checkpoint.to_owned() })
    }

    /// Whether the leaf with hash `leaf` is in the log of `key`. Errors: the checkpoint does not open.
    pub fn shows(&self, leaf: &Hash, key: &VerifierKey) -> Result<bool, NoteError> {
        let checkpoint = open_checkpoint(&self.checkpoint, key)?;
        Ok(verify_inclusion(leaf, self.index, checkpoint.size, &self.path, &checkpoint.root))
    }
}

impl fmt::Display for LogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{VERSION}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", BASE64_STANDARD.encode(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        for hash in &self.path {
            writeln!(f, "{}", BASE64_STANDARD.encode(hash.as_bytes()))?;
        }
        f.write_char('\n')?;
        f.write_str(&self.checkpoint)
    }
}
