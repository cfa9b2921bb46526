//! SHA-256 values, written `sha256:` and 64 lower-case hexadecimal digits.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A SHA-256 value (FIPS 180-4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// 32 zero bytes: what the first receipt of a chain links to.
    pub const ZERO: Self = Self([0; 32]);
    const PREFIX: &'static str = "sha256:";

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0u8; 64];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str(Self::PREFIX)?;
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{}` is not a hash of the form sha256:<64 lower-case hex digits>", text.escape_debug())
        };
        let digits = text.strip_prefix(Self::PREFIX).ok_or_else(wrong)?;
        if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(wrong());
        }
        let mut bytes = [0u8; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| wrong())?;
        Ok(Self(bytes))
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_one_spelling() {
        let text = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(text.parse::<Hash>().unwrap().to_string(), text);
        for wrong in [
            "",
            "sha256:",
            &text[..70],
            &text.to_uppercase(),
            &text.replace("0a", "0A"),
            &format!("{text}00"),
        ] {
            assert!(wrong.parse::<Hash>().is_err(), "{wrong}");
        }
    }
}
