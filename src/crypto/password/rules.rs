//! What a password may be when one is chosen: long enough, and nothing that is guessed first.
//!
//! No mixture of characters is asked for, and none is forbidden (NIST SP 800-63B-4 §3.1.1, OWASP ASVS 5.0 §6.2).

use super::common;
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

/// The most characters (Unicode code points in form NFC) a password may have.
pub const LONGEST_CHARACTERS: usize = 256;
/// The fewest where the password is all that is asked.
const FEWEST_ALONE: usize = 15;
/// The fewest where a second factor is asked too.
const FEWEST_WITH_SECOND_FACTOR: usize = 8;
/// Words shorter than this are too common in good passwords to be held against one.
const SHORTEST_CONTEXT_WORD: usize = 4;

/// The rules for one person's choice.
#[derive(Clone, Copy, Debug)]
pub struct PasswordRules<'a> {
    /// Whether signing in asks for a second factor as well.
    pub second_factor: bool,
    /// What anyone would try for this person: their address, name, tenant, the service.
    pub context: &'a [&'a str],
}

impl PasswordRules<'_> {
    /// Whether `password` may be chosen; if not, why.
    pub fn check(&self, password: &str) -> Result<(), PasswordFault> {
        let normalised = Zeroizing::new(password.nfc().collect::<String>());
        let found = normalised.chars().count();
        let fewest = if self.second_factor { FEWEST_WITH_SECOND_FACTOR } else { FEWEST_ALONE };
        if found < fewest {
            return Err(PasswordFault::Short { found, fewest });
        }
        if found > LONGEST_CHARACTERS {
            return Err(PasswordFault::Long { found });
        }
        if common::is_common(&normalised) {
            return Err(PasswordFault::Common);
        }
        let characters = Zeroizing::new(normalised.to_lowercase().chars().collect::<Vec<char>>());
        if is_run(&characters) || is_repetition(&characters) {
            return Err(PasswordFault::Pattern);
        }
        let folded = fold(&normalised);
        match self.context.iter().find(|word| is_mostly(&folded, word)) {
            Some(word) => Err(PasswordFault::Context((*word).to_owned())),
            None => Ok(()),
        }
    }
}

/// Why a password may not be chosen; never repeats it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PasswordFault {
    /// Too few characters.
    #[error("the password has {found} characters, at least {fewest} are asked for")]
    Short {
        /// Its length.
        found: usize,
        /// The fewest allowed.
        fewest: usize,
    },
    /// Too many.
    #[error("the password has {found} characters, at most {LONGEST_CHARACTERS} are taken")]
    Long {
        /// Its length.
        found: usize,
    },
    /// Among the most common.
    #[error("the password is one of the most common ones, which are tried first")]
    Common,
    /// A run or a repetition.
    #[error("the password only repeats a few characters or counts them up or down, which is tried first")]
    Pattern,
    /// Little more than a word anyone would try.
    #[error("the password is little more than `{0}`, which anyone would try for this account")]
    Context(String),
}

/// Letters and digits in lower case: `Acme-Ltd.` and `acmeltd` are guessed alike.
pub(super) fn fold(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_lowercase().chars().filter(|character| character.is_alphanumeric()).collect())
}

/// Whether fewer than eight letters and digits remain without `context`, or without the part before its `@`.
fn is_mostly(folded: &str, context: &str) -> bool {
    [Some(context), context.split_once('@').map(|(local, _)| local)].into_iter().flatten().any(|word| {
        let word = fold(word);
        word.chars().count() >= SHORTEST_CONTEXT_WORD
            && folded.contains(&**word)
            && Zeroizing::new(folded.replace(&**word, "")).chars().count() < FEWEST_WITH_SECOND_FACTOR
    })
}

/// `abcdefgh…`, `87654321…`: every character one further than the last, in the same direction.
fn is_run(characters: &[char]) -> bool {
    let step = |by: i64| {
        characters.windows(2).all(|pair| match pair {
            [from, to] => i64::from(u32::from(*to)) - i64::from(u32::from(*from)) == by,
            _ => false,
        })
    };
    step(1) || step(-1)
}

/// Whether it is one short or common piece over and over, the last perhaps cut: `aaaa…`, `passwordpassword`.
fn is_repetition(characters: &[char]) -> bool {
    (1..characters.len())
        .find(|period| characters.iter().zip(characters.iter().skip(*period)).all(|(one, next)| one == next))
        .is_some_and(|period| {
            let piece = Zeroizing::new(characters.iter().take(period).collect::<String>());
            let short = period < FEWEST_WITH_SECOND_FACTOR && period <= characters.len() / 2;
            short || common::is_common(&piece)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: PasswordRules<'_> = PasswordRules {
        second_factor: false,
        context: &["olga.petrova@acme.example", "Olga Petrova", "acme-emea", "procura"],
    };
    const WITH_SECOND: PasswordRules<'_> = PasswordRules { second_factor: true, ..ALONE };

    #[test]
    fn length_is_counted_in_characters_and_has_two_ends() {
        let short = PasswordFault::Short { found: 14, fewest: 15 };
        assert_eq!(ALONE.check("vmquillharbour"), Err(short));
        assert_eq!(ALONE.check("vmquillharbour4"), Ok(()));
        assert_eq!(ALONE.check("Grüße-vom-Löwe!"), Ok(()), "fifteen characters, more bytes");
        assert_eq!(
            ALONE.check("Gru\u{308}ße-vom-Lo\u{308}we"),
            Err(PasswordFault::Short { found: 14, fewest: 15 })
        );
        assert_eq!(WITH_SECOND.check("q7-vmark"), Ok(()));
        assert_eq!(WITH_SECOND.check("q7-vmarq"), Ok(()), "one character that comes back is no repetition");
        assert_eq!(WITH_SECOND.check("q7-vmar"), Err(PasswordFault::Short { found: 7, fewest: 8 }));
        let long: String = "harbour quill ember 93 ".chars().cycle().take(LONGEST_CHARACTERS).collect();
        assert_eq!(ALONE.check(&long), Ok(()));
        assert_eq!(ALONE.check(&format!("{long}x")), Err(PasswordFault::Long { found: 257 }));
    }

    #[test]
    fn no_mixture_of_characters_is_asked_for_or_forbidden() {
        for right in [
            "Zk4-harbour-quill-93-ember",
            "sevenlowercasewordsinarow",
            "903417265580213",
            "пароль от старого сарая",
            "  spaces around and within  ",
            "🦊🦉🐢🐙🦔🐝🦋🐌🐞🦂🦎🐍🦖🐳🦈",
        ] {
            assert_eq!(ALONE.check(right), Ok(()), "{right}");
        }
    }

    #[test]
    fn what_everyone_tries_first_is_refused() {
        for common in [
            "password",
            "Password1",
            "iloveyou",
            "P@ssw0rd!",
            "Adm1n1$trator",
            "qwerty-uiop",
            "letmein!!",
            "Summer2026!",
            "123456789",
            "1q2w3e4r",
        ] {
            assert_eq!(WITH_SECOND.check(common), Err(PasswordFault::Common), "{common}");
        }
        for pattern in [
            "aaaaaaaaaaaaaaa",
            "abcabcabcabcabcabc",
            "PasswordPassword",
            "abcdefghijklmnopqrstuvwxyz",
            "zyxwvutsrqponmlkjih",
            "123456789012345",
        ] {
            assert_eq!(ALONE.check(pattern), Err(PasswordFault::Pattern), "{pattern}");
        }
    }

    #[test]
    fn little_more_than_ones_own_name_is_refused() {
        for (password, word) in [
            ("olga.petrova@acme.example", "olga.petrova@acme.example"),
            ("Olga-Petrova-1999", "olga.petrova@acme.example"),
            ("OLGAPETROVA!!!!", "olga.petrova@acme.example"),
            ("acme-emea-acme-emea-2026", "acme-emea"),
            ("procura-procura", "procura"),
        ] {
            let fault = ALONE.check(password).unwrap_err();
            assert!(
                fault == PasswordFault::Context(word.into()) || fault == PasswordFault::Pattern,
                "{password}: {fault}"
            );
        }
        assert_eq!(ALONE.check("olga.petrova keeps nine bees"), Ok(()), "enough remains without the name");
        let short_name = PasswordRules { second_factor: false, context: &["al@x.example"] };
        assert_eq!(short_name.check("algal-bloom-tea"), Ok(()));
    }

    #[test]
    fn a_refusal_says_why_and_never_repeats_the_password() {
        let said = ALONE.check("hunter2").unwrap_err().to_string();
        assert_eq!(said, "the password has 7 characters, at least 15 are asked for");
        assert!(!ALONE.check("PasswordPassword").unwrap_err().to_string().contains("PasswordPassword"));
    }
}
