//! Texts under Ed25519 signatures that any tool of the transparency world reads (C2SP signed-note,
//! tlog-checkpoint, tlog-cosignature, tlog-witness, tlog-proof).

mod checkpoint;
mod key;
mod proof;
mod witness;

pub use checkpoint::{Checkpoint, open_checkpoint, parse_checkpoint, sign_checkpoint};
pub use key::{Algorithm, VerifierKey};
pub use proof::LogProof;
pub use witness::{
    Cosignature, SIZE_MEDIA_TYPE, read_cosignatures, read_size, signatures_of, submission, text_of,
};

use base64::{Engine, prelude::BASE64_STANDARD};

/// Most signatures read on one note; the standard asks for at least 16.
pub const MOST_SIGNATURES: usize = 100;
/// What every signature line starts with: an em dash and a blank.
const SIGNATURE_MARK: &str = "\u{2014} ";

/// Why a note, key or checkpoint does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// It is not of the form the standard gives it.
    #[error("{0}")]
    Malformed(String),
    /// No signature on it is from a known key.
    #[error("no signature is from the key of `{0}`")]
    Unsigned(String),
    /// A known key's signature does not fit the text.
    #[error("the signature of `{0}` does not fit the text")]
    WrongSignature(String),
    /// It is another log's.
    #[error("the checkpoint is of `{found}`, the key of `{expected}`")]
    OtherOrigin {
        /// The origin the checkpoint states.
        found: String,
        /// The name of the key it was opened with.
        expected: String,
    },
}

fn malformed(detail: impl Into<String>) -> NoteError {
    NoteError::Malformed(detail.into())
}

/// A note whose signatures were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened<'a> {
    /// What was signed, with its last newline.
    pub text: &'a str,
    /// The known keys that signed it, in the order of their signatures.
    pub signers: Vec<&'a VerifierKey>,
}

/// Checks a signed note against the keys one trusts (C2SP signed-note).
///
/// Signatures of unknown keys are passed over. Errors: not of the form of a note; a known key's signature that
/// does not fit; no signature of a known key at all.
pub fn open_note<'a>(note: &'a str, keys: &'a [VerifierKey]) -> Result<Opened<'a>, NoteError> {
    let (text, signatures) = split(note)?;
    let mut signers = Vec::new();
    for signature in signatures {
        let signature = signature?;
        let known = keys.iter().find(|key| key.name() == signature.name && key.id() == signature.key_id);
        if let Some(key) = known {
            if !key.verifies(text, &signature.bytes) {
                return Err(NoteError::WrongSignature(key.name().to_owned()));
            }
            signers.push(key);
        }
    }
    if signers.is_empty() {
        let names: Vec<_> = keys.iter().map(VerifierKey::name).collect();
        return Err(NoteError::Unsigned(names.join("`, `")));
    }
    Ok(Opened { text, signers })
}

struct SignatureLine<'a> {
    name: &'a str,
    key_id: [u8; 4],
    bytes: Vec<u8>,
}

/// The signed text and its signature lines: what stands before and after the last empty line.
fn split(
    note: &str,
) -> Result<(&str, impl Iterator<Item = Result<SignatureLine<'_>, NoteError>>), NoteError> {
    if let Some(control) = note.bytes().find(|byte| *byte < 0x20 && *byte != b'\n') {
        return Err(malformed(format!("a note holds no control characters, this one U+{control:04X}")));
    }
    let (before, signatures) = note
        .rsplit_once("\n\n")
        .ok_or_else(|| malformed("a note has an empty line before its signatures"))?;
    let text = note.get(..=before.len()).unwrap_or(note);
    let signatures = signatures
        .strip_suffix('\n')
        .ok_or_else(|| malformed("a note's last line is a signature and ends with a newline"))?;
    let count = signatures.split('\n').count();
    if count > MOST_SIGNATURES {
        return Err(malformed(format!("{count} signatures, {MOST_SIGNATURES} are read")));
    }
    Ok((text, signatures.split('\n').map(signature_line)))
}

fn signature_line(line: &str) -> Result<SignatureLine<'_>, NoteError> {
    let wrong = || {
        malformed(format!(
            "`{}` is not a signature line: an em dash, a name, and base64",
            line.chars().take(80).collect::<String>().escape_debug()
        ))
    };
    let (name, encoded) =
        line.strip_prefix(SIGNATURE_MARK).and_then(|rest| rest.split_once(' ')).ok_or_else(wrong)?;
    let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| wrong())?;
    match bytes.split_first_chunk::<4>() {
        Some((key_id, signature)) if key::is_name(name) && !signature.is_empty() => {
            Ok(SignatureLine { name, key_id: *key_id, bytes: signature.to_vec() })
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests;
