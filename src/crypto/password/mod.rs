//! Passwords: argon2id (RFC 9106) as PHC strings, the rules for choosing one, and a small pool that hashes.

mod common;
mod pool;
mod rules;

pub use pool::PasswordPool;
pub use rules::{LONGEST_CHARACTERS, PasswordFault, PasswordRules};

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version,
    password_hash::{Error, phc::PasswordHash},
};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

/// 19 MiB, the memory that OWASP ASVS 5.0 (appendix C) asks for with two passes and one lane.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// There is no room to hash now; ask again in a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("too many sign-ins at once: try again in a moment")]
pub struct Busy;

/// Hashes `password` under a random `salt`, as a PHC string; takes about 70 ms and 19 MiB.
///
/// The password counts in Unicode form NFC, all of it, whatever its length.
pub fn hash(password: &str, salt: &[u8; 16]) -> Result<String, Busy> {
    // The parameters are constants that fit, so that memory is all that can be missing.
    let phc: PasswordHash =
        hasher()?.hash_password_with_salt(normalised(password).as_bytes(), salt).map_err(|_| Busy)?;
    Ok(phc.to_string())
}

/// Whether `password` is the one that `phc` was made of, by the parameters that `phc` states.
///
/// A `phc` that cannot be read matches nothing.
pub fn verify(password: &str, phc: &str) -> Result<bool, Busy> {
    match hasher()?.verify_password(normalised(password).as_bytes(), phc) {
        Ok(()) => Ok(true),
        Err(Error::OutOfMemory) => Err(Busy),
        Err(_) => Ok(false),
    }
}

/// Costs what [`verify`] costs and says no: what an unknown account gets, so that the time does not tell.
pub fn dummy_verify(password: &str) -> Result<bool, Busy> {
    hash(password, &[0; 16]).map(|phc| std::hint::black_box(phc).is_empty())
}

fn hasher() -> Result<Argon2<'static>, Busy> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|_| Busy)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// The text in form NFC, so that the same characters typed on another keyboard are the same password.
fn normalised(password: &str) -> Zeroizing<String> {
    Zeroizing::new(password.nfc().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "Zk4-harbour-quill-93-ember";

    #[test]
    fn a_password_verifies_against_its_own_hash_alone() {
        let phc = hash(PASSWORD, &[7; 16]).unwrap();
        assert!(phc.starts_with("$argon2id$v=19$m=19456,t=2,p=1$BwcHBwcHBwcHBwcHBwcHBw$"), "{phc}");
        assert_eq!(verify(PASSWORD, &phc), Ok(true));
        for wrong in
            ["", "zk4-harbour-quill-93-ember", "Zk4-harbour-quill-93-embe", "Zk4-harbour-quill-93-ember "]
        {
            assert_eq!(verify(wrong, &phc), Ok(false), "{wrong}");
        }
        assert_ne!(hash(PASSWORD, &[8; 16]).unwrap(), phc, "another salt, another hash");
    }

    /// Made with the reference implementation of the Password Hashing Competition: its own test of argon2id
    /// with 2¹⁶ KiB, two passes, one lane, password `password`, salt `somesalt`.
    #[test]
    fn a_hash_of_the_reference_implementation_verifies_by_its_own_parameters() {
        let phc = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        assert_eq!(verify("password", phc), Ok(true));
        assert_eq!(verify("passwore", phc), Ok(false));
    }

    #[test]
    fn the_end_of_a_long_password_counts() {
        let long = "x".repeat(300);
        let phc = hash(&long, &[7; 16]).unwrap();
        assert_eq!(verify(&long, &phc), Ok(true));
        assert_eq!(verify(&long[..299], &phc), Ok(false));
        assert_eq!(verify(&format!("{long}x"), &phc), Ok(false));
    }

    #[test]
    fn the_same_characters_are_the_same_password() {
        let phc = hash("Übergröße-im-Café-9", &[7; 16]).unwrap();
        assert_eq!(verify("U\u{308}bergro\u{308}ße-im-Cafe\u{301}-9", &phc), Ok(true));
    }

    #[test]
    fn what_is_no_hash_matches_nothing() {
        for phc in [
            "",
            "plain",
            "$argon2id$",
            "$2b$12$abcdefghijklmnopqrstuu",
            "$argon2id$v=19$m=19456,t=2,p=1$BwcHBwcHBwc",
        ] {
            assert_eq!(verify(PASSWORD, phc), Ok(false), "{phc}");
        }
    }

    /// The same parameters run, so the same work is done; the wide margin is for a busy machine.
    #[test]
    fn an_unknown_account_costs_what_a_known_one_does() {
        let phc = hash(PASSWORD, &[7; 16]).unwrap();
        let fastest = |work: &dyn Fn() -> Result<bool, Busy>| {
            (0..3)
                .map(|_| {
                    let begun = std::time::Instant::now();
                    assert_eq!(work(), Ok(false));
                    begun.elapsed()
                })
                .min()
                .unwrap()
        };
        let known = fastest(&|| verify("wrong", &phc));
        let unknown = fastest(&|| dummy_verify("wrong"));
        assert!(unknown < known * 3 && known < unknown * 3, "{known:?} against {unknown:?}");
    }
}
