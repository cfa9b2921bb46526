//! Names that others gave: counterparties and resources, and the labels people type.

use serde::Serialize;
use std::{fmt, str::FromStr, sync::Arc};
use unicode_normalization::{UnicodeNormalization, is_nfc};
use unicode_security::GeneralSecurityProfile;

const LONGEST_NAME_BYTES: usize = 256;
const LONGEST_LABEL_BYTES: usize = 200;

/// Why a text cannot stand as a name, if it cannot.
pub(crate) fn objection(text: &str, longest_bytes: usize) -> Option<String> {
    if text.is_empty() {
        return Some("it is empty".into());
    }
    if text.len() > longest_bytes {
        return Some(format!("it has {} bytes, {longest_bytes} are allowed", text.len()));
    }
    if let Some(hidden) = text.chars().find(|character| is_hidden(*character)) {
        return Some(format!("it holds U+{:04X}, which does not show", u32::from(hidden)));
    }
    if text.starts_with(' ') || text.ends_with(' ') {
        return Some("it begins or ends with a blank".into());
    }
    if !is_nfc(text) {
        return Some(format!("it is not in Unicode form NFC, which would be `{}`", text.nfc()));
    }
    None
}

/// Characters a reader cannot see or that reorder what they see: controls, formats, bidirectional marks,
/// line separators, fillers, private and unassigned ones that render as nothing.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00A0}' | '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{1680}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{2000}'..='\u{200F}' | '\u{2028}'..='\u{202F}' | '\u{205F}'..='\u{206F}'
            | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// A counterparty or resource as others name it: at most 256 bytes of UTF-8 in NFC, without control,
/// invisible or bidirectional characters. Compared byte by byte.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ExternalName(Arc<str>);

impl ExternalName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name mixes scripts as look-alikes do.
    pub fn is_mixed_script(&self) -> bool {
        use unicode_security::MixedScript;
        !self.0.is_single_script() || self.0.chars().any(|c| !c.is_ascii() && !c.identifier_allowed())
    }
}

impl fmt::Display for ExternalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ExternalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl FromStr for ExternalName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match objection(text, LONGEST_NAME_BYTES) {
            None => Ok(Self(text.into())),
            Some(why) => Err(format!(
                "`{}` cannot name a counterparty or resource: {why}",
                text.chars().take(64).collect::<String>().escape_debug()
            )),
        }
    }
}

/// What people call an agent, a credential, a clause or themselves: at most 200 bytes, nothing hidden in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Label(Arc<str>);

impl Label {
    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl FromStr for Label {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match objection(text, LONGEST_LABEL_BYTES) {
            None => Ok(Self(text.into())),
            Some(why) => Err(format!(
                "`{}` cannot stand as a name: {why}",
                text.chars().take(64).collect::<String>().escape_debug()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_all_it_is() {
        for right in ["acct:cus_91", "order:4412", "café", "Иван", "a b"] {
            assert!(right.parse::<ExternalName>().is_ok(), "{right}");
        }
        for wrong in [
            "",
            "a\u{0}b",
            "a\nb",
            "cafe\u{301}",
            "a\u{200B}b",
            "a\u{202E}b",
            "a\u{FEFF}",
            "\u{2066}x\u{2069}",
            " a",
            "a ",
            "a\u{AD}b",
            "a\u{E0041}",
            &"é".repeat(129),
        ] {
            assert!(wrong.parse::<ExternalName>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn look_alikes_are_flagged() {
        assert!("раypal".parse::<ExternalName>().unwrap().is_mixed_script());
        assert!(!"paypal".parse::<ExternalName>().unwrap().is_mixed_script());
        assert!(!"acct:cus_91".parse::<ExternalName>().unwrap().is_mixed_script());
    }
}
