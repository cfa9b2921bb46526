//! What passes between a log and its witnesses: a checkpoint with the way to it, and a signature on having seen it
//! (C2SP tlog-witness, tlog-cosignature).

use super::checkpoint::decimal;
use super::{Algorithm, MOST_SIGNATURES, NoteError, VerifierKey, malformed, signature_line, split};
use crate::domain::{Hash, Timestamp};
use base64::{Engine, prelude::BASE64_STANDARD};
use std::fmt::Write;

/// The media type of the body in which a witness says how far it has seen a log.
pub const SIZE_MEDIA_TYPE: &str = "text/x.tlog.size";

/// A witness's word, checked, that it has seen a checkpoint and that the log had only grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    /// The witness's key.
    pub witness: VerifierKey,
    /// When the witness says it signed, to the second.
    pub at: Timestamp,
    /// The signature line, without its newline.
    pub line: String,
}

/// The signed text of a note, without its signatures.
///
/// # Errors
/// Where it is not of the form of a note.
pub fn text_of(note: &str) -> Result<&str, NoteError> {
    split(note).map(|(text, _)| text)
}

/// The signature lines of a note, each with its newline.
///
/// # Errors
/// Where it is not of the form of a note.
pub fn signatures_of(note: &str) -> Result<&str, NoteError> {
    let (text, _) = split(note)?;
    Ok(note.get(text.len() + 1..).unwrap_or_default())
}

/// The cosignatures on a checkpoint with this `text` among signature `lines`, one a witness, in their order.
///
/// Lines of unknown keys are passed over.
///
/// # Errors
/// A line that is none; a witness's signature that does not fit the text, or says no time.
pub fn read_cosignatures(
    text: &str,
    lines: &str,
    witnesses: &[VerifierKey],
) -> Result<Vec<Cosignature>, NoteError> {
    let lines = lines
        .strip_suffix('\n')
        .ok_or_else(|| malformed("signatures stand one a line, and each line ends with a newline"))?;
    let count = lines.split('\n').count();
    if count > MOST_SIGNATURES {
        return Err(malformed(format!("{count} signatures, {MOST_SIGNATURES} are read")));
    }
    let mut found: Vec<Cosignature> = Vec::new();
    for line in lines.split('\n') {
        let signature = signature_line(line)?;
        let known = witnesses.iter().find(|key| {
            key.algorithm() == Algorithm::Cosignature
                && key.name() == signature.name
                && key.id() == signature.key_id
        });
        let Some(witness) = known else { continue };
        if !witness.verifies(text, &signature.bytes) {
            return Err(NoteError::WrongSignature(witness.name().to_owned()));
        }
        let seconds = signature.bytes.first_chunk().map(|time| u64::from_be_bytes(*time)).unwrap_or_default();
        let seconds = i64::try_from(seconds).ok().filter(|seconds| *seconds > 0).ok_or_else(|| {
            malformed(format!("the signature of `{}` says no time: {seconds} s", witness.name()))
        })?;
        if found.iter().all(|other| other.witness != *witness) {
            found.push(Cosignature {
                witness: witness.clone(),
                at: Timestamp::from_unix_seconds(seconds),
                line: line.to_owned(),
            });
        }
    }
    Ok(found)
}

/// What a log sends to a witness: up to where the witness has seen it, what shows that it has only grown since, and
/// its signed checkpoint (tlog-witness, add-checkpoint).
pub fn submission(seen: u64, path: &[Hash], checkpoint: &str) -> String {
    let mut body = format!("old {seen}\n");
    for hash in path {
        // Writing to a text cannot fail.
        let _ = writeln!(body, "{}", BASE64_STANDARD.encode(hash.as_bytes()));
    }
    body + "\n" + checkpoint
}

/// How far a witness has seen a log, as it says where it has seen more or less than it was told.
pub fn read_size(body: &str) -> Option<u64> {
    decimal(body.strip_suffix('\n')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SigningKey;
    use crate::evidence::note::{sign_checkpoint, tests::seed};

    const ORIGIN: &str = "log.example/gate";

    /// A checkpoint, its witness, and the witness's line on it at that second.
    fn cosigned(seconds: u64) -> (String, VerifierKey, String) {
        let (log, witness) = (SigningKey::from_seed(&seed("log")), SigningKey::from_seed(&seed("witness")));
        let (log, witness) = (log.unwrap(), witness.unwrap());
        let note = sign_checkpoint(&log, ORIGIN, 3, Hash([7; 32]));
        let key = VerifierKey::with_algorithm("witness.example", Algorithm::Cosignature, witness.public());
        let key = key.unwrap();
        // Written down from tlog-cosignature, "Ed25519 signed message" and "Format".
        let message = format!("cosignature/v1\ntime {seconds}\n{}", text_of(&note).unwrap());
        let signature = [&key.id()[..], &seconds.to_be_bytes(), &witness.sign(message.as_bytes())].concat();
        let line = format!("\u{2014} witness.example {}\n", BASE64_STANDARD.encode(signature));
        (note, key, line)
    }

    #[test]
    fn a_witness_is_believed_on_what_it_signed_and_nothing_else() {
        let (note, key, line) = cosigned(1_700_000_000);
        let text = text_of(&note).unwrap();
        let found = read_cosignatures(text, &line, std::slice::from_ref(&key)).unwrap();
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.at.to_string(), "2023-11-14T22:13:20.000Z");
        assert_eq!(format!("{}\n", one.line), line);
        let other = text.replace("\n3\n", "\n4\n");
        let said = read_cosignatures(&other, &line, std::slice::from_ref(&key)).unwrap_err();
        assert_eq!(said, NoteError::WrongSignature("witness.example".into()));
        assert_eq!(read_cosignatures(text, &line, &[]), Ok(Vec::new()), "nobody knows that witness");
        let log_signature = signatures_of(&note).unwrap();
        let both = format!("{log_signature}{line}{line}");
        assert_eq!(read_cosignatures(text, &both, &[key]).unwrap(), found, "once, however often it stands");
    }

    #[test]
    fn a_cosignature_says_when() {
        for seconds in [0, 1 << 63] {
            let (note, key, line) = cosigned(seconds);
            let said = read_cosignatures(text_of(&note).unwrap(), &line, &[key]).unwrap_err();
            assert!(said.to_string().contains("says no time"), "{said}");
        }
    }

    #[test]
    fn what_is_not_signature_lines_is_refused() {
        let (note, key, line) = cosigned(1);
        for wrong in
            ["", "\n", &*line.repeat(101), line.trim_end(), "witness.example AAAA\n", "\u{2014} a b\n\n"]
        {
            let read = read_cosignatures(text_of(&note).unwrap(), wrong, std::slice::from_ref(&key));
            assert!(read.is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_log_writes_to_its_witness_as_the_standard_says() {
        // The example of tlog-witness, its proof cut to two lines.
        let body = "old 20852014\nPlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n\
                    jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=\n\nexample.com/behind-the-sofa\n";
        let hash = |text: &str| Hash(BASE64_STANDARD.decode(text).unwrap().try_into().unwrap());
        let path = [
            hash("PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw="),
            hash("jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk="),
        ];
        assert_eq!(submission(20_852_014, &path, "example.com/behind-the-sofa\n"), body);
        assert_eq!(submission(0, &[], "x\n"), "old 0\n\nx\n");
        assert_eq!(read_size("20852163\n"), Some(20_852_163));
        for wrong in ["20852163", "\n", "007\n", "-1\n", "1\n2\n", "18446744073709551616\n"] {
            assert_eq!(read_size(wrong), None, "{wrong:?}");
        }
    }
}
