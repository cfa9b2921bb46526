//! Secrets that are recognised by their spelling: a prefix that says what they open, 32 random characters,
//! and a checksum that finds a mistyped or invented one before anything is looked up.

use super::sha256;
use crate::domain::Hash;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use std::fmt;
use zeroize::Zeroizing;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY_LENGTH: usize = 32;
const CHECKSUM_LENGTH: usize = 6;

/// What a secret opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SecretKind {
    /// A credential's client secret, `pca_…`.
    Client,
    /// A person's session, `pcs_…`.
    Session,
}

impl SecretKind {
    const ALL: [Self; 2] = [Self::Client, Self::Session];

    /// What every secret of this kind starts with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Client => "pca_",
            Self::Session => "pcs_",
        }
    }
}

/// A secret whose checksum holds: prefix, 32 characters of `[0-9A-Za-z]` (190 bits), six of checksum.
///
/// The checksum is the CRC-32 (ISO-HDLC, as in IEEE 802.3) of all before it, in base 62. It is wiped when dropped and prints as
/// its type's name.
#[derive(Clone)]
pub struct Secret {
    kind: SecretKind,
    text: Zeroizing<String>,
}

impl Secret {
    /// The secret that `entropy` spells; the caller draws it at random, once for each secret.
    pub fn generate(kind: SecretKind, entropy: [u8; 32]) -> Self {
        let mut rest = Zeroizing::new(entropy);
        let mut text = Zeroizing::new(String::with_capacity(42));
        text.push_str(kind.prefix());
        for _ in 0..BODY_LENGTH {
            text.push(letter(divide(&mut rest, 62)));
        }
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Self { kind, text }
    }

    /// Reads a secret and checks prefix, length, alphabet and checksum, nothing else: no store is asked.
    pub fn parse(text: &str) -> Result<Self, NotASecret> {
        let kind =
            SecretKind::ALL.into_iter().find(|kind| text.starts_with(kind.prefix())).ok_or(NotASecret)?;
        let checked = kind.prefix().len() + BODY_LENGTH;
        let spelt = text.bytes().skip(kind.prefix().len()).all(|byte| byte.is_ascii_alphanumeric());
        if !spelt || text.len() != checked + CHECKSUM_LENGTH {
            return Err(NotASecret);
        }
        let (body, given) = text.split_at_checked(checked).ok_or(NotASecret)?;
        if checksum(body) != given {
            return Err(NotASecret);
        }
        Ok(Self { kind, text: Zeroizing::new(text.to_owned()) })
    }

    /// What it opens.
    pub fn kind(&self) -> SecretKind {
        self.kind
    }

    /// SHA-256 of the whole text: what is stored and looked up in its place.
    pub fn digest(&self) -> Hash {
        sha256(self.text.as_bytes())
    }

    /// Whether `stored` is this secret's digest, in time that does not depend on where they differ.
    pub fn matches(&self, stored: &Hash) -> bool {
        same_bytes(self.digest().as_bytes(), stored.as_bytes())
    }

    /// The text itself, to be shown to its owner once.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The text is no secret of this service; it is not repeated, since it may be one of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a secret of this service: `pca_` or `pcs_`, then 38 letters and digits whose checksum holds")]
pub struct NotASecret;

/// Whether both hold the same bytes, in time that depends on their length alone.
pub fn same_bytes(left: &[u8], right: &[u8]) -> bool {
    verify_slices_are_equal(left, right).is_ok()
}

fn letter(digit: u32) -> char {
    usize::try_from(digit).ok().and_then(|place| ALPHABET.get(place)).copied().map_or('0', char::from)
}

/// Divides the big-endian number in place and gives the remainder.
fn divide(number: &mut [u8; 32], divisor: u32) -> u32 {
    let mut remainder = 0u32;
    for byte in number.iter_mut() {
        let dividend = (remainder << 8) | u32::from(*byte);
        *byte = u8::try_from(dividend / divisor).unwrap_or(0);
        remainder = dividend % divisor;
    }
    remainder
}

/// The CRC-32 of `text` as six digits of base 62, the most significant first.
fn checksum(text: &str) -> String {
    let mut rest = crc32(text.as_bytes());
    let mut digits = [0u32; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = rest % 62;
        rest /= 62;
    }
    digits.into_iter().map(letter).collect()
}

/// CRC-32/ISO-HDLC: reflected polynomial 0xEDB88320, all ones first and last.
fn crc32(bytes: &[u8]) -> u32 {
    let mut state = u32::MAX;
    for byte in bytes {
        state ^= u32::from(*byte);
        for _ in 0..8 {
            let low_bit_set = state & 1 == 1;
            state >>= 1;
            if low_bit_set {
                state ^= 0xEDB8_8320;
            }
        }
    }
    !state
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_secret_reads_back_and_holds_only_letters_and_digits(entropy: [u8; 32]) {
            for kind in SecretKind::ALL {
                let secret = Secret::generate(kind, entropy);
                let text = secret.expose();
                prop_assert_eq!(text.len(), 42);
                prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
                let read = Secret::parse(text).unwrap();
                prop_assert_eq!(read.kind(), kind);
                prop_assert!(read.matches(&sha256(text.as_bytes())));
            }
        }

        #[test]
        fn one_changed_character_is_found_without_a_lookup(entropy: [u8; 32], place in 4usize..42, by in 1usize..62) {
            let secret = Secret::generate(SecretKind::Client, entropy);
            let mut text = secret.expose().as_bytes().to_vec();
            let was = ALPHABET.iter().position(|letter| *letter == text[place]).unwrap();
            text[place] = ALPHABET[(was + by) % 62];
            prop_assert_eq!(Secret::parse(std::str::from_utf8(&text).unwrap()).unwrap_err(), NotASecret);
        }
    }

    #[test]
    fn every_bit_that_counts_changes_the_secret() {
        let zero = Secret::generate(SecretKind::Client, [0; 32]);
        for bit in 0..190 {
            let mut entropy = [0u8; 32];
            entropy[31 - bit / 8] = 1 << (bit % 8);
            assert_ne!(Secret::generate(SecretKind::Client, entropy).expose(), zero.expose(), "bit {bit}");
        }
    }

    #[test]
    fn a_client_secret_is_not_a_session_even_with_the_same_body() {
        let text = Secret::generate(SecretKind::Client, [7; 32]).expose().replacen("pca_", "pcs_", 1);
        assert_eq!(Secret::parse(&text).unwrap_err(), NotASecret);
    }

    #[test]
    fn other_spellings_are_no_secret() {
        let right = Secret::generate(SecretKind::Session, [9; 32]).expose().to_owned();
        assert!(Secret::parse(&right).is_ok());
        let short = &right[..41];
        for wrong in [
            "",
            "pcs_",
            short,
            &format!("{right} "),
            &format!("{right}0"),
            &format!(" {right}"),
            &right.to_uppercase(),
            "ghp_000000000000000000000000000000000000000",
            &right.replacen('_', "é", 1),
            &format!("pcs_{}", "é".repeat(19)),
        ] {
            assert_eq!(Secret::parse(wrong).unwrap_err(), NotASecret, "{wrong}");
        }
    }

    #[test]
    fn a_sign_is_refused_even_where_the_checksum_holds() {
        for sign in ["-", "_", " ", "'", "+", "\u{0}"] {
            let body = format!("pca_{sign}{}", "0".repeat(BODY_LENGTH - 1));
            assert_eq!(
                Secret::parse(&format!("{body}{}", checksum(&body))).unwrap_err(),
                NotASecret,
                "{sign:?}"
            );
        }
        let body = format!("pca_{}", "0".repeat(BODY_LENGTH));
        assert!(Secret::parse(&format!("{body}{}", checksum(&body))).is_ok());
    }

    #[test]
    fn the_checksum_is_the_standard_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926, "the check value of CRC-32/ISO-HDLC");
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn another_secrets_digest_does_not_match() {
        let secret = Secret::generate(SecretKind::Client, [1; 32]);
        assert!(!secret.matches(&Secret::generate(SecretKind::Client, [2; 32]).digest()));
        assert!(!same_bytes(b"abc", b"abcd") && !same_bytes(b"abc", b"abd") && same_bytes(b"abc", b"abc"));
    }

    #[test]
    fn neither_secret_nor_refusal_prints_the_text() {
        let secret = Secret::generate(SecretKind::Client, [3; 32]);
        assert_eq!(format!("{secret:?}"), "Secret");
        let refusal = Secret::parse("pca_hunter2").unwrap_err();
        assert!(!format!("{refusal} {refusal:?}").contains("hunter2"));
    }
}
