//! Countries as ISO 3166-1 alpha-2 names them.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// An assigned ISO 3166-1 alpha-2 code, upper case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country(&'static str);

impl Country {
    /// The two letters.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for Country {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Some(text)
            .filter(|text| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase()))
            .and_then(rust_iso3166::from_alpha2)
            .map(|country| Self(country.alpha2))
            .ok_or_else(|| {
                format!(
                    "`{}` is not a country: two upper-case letters of ISO 3166-1, such as DE",
                    text.escape_debug()
                )
            })
    }
}

impl Serialize for Country {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Country {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_assigned_upper_case_codes_are_countries() {
        for right in ["DE", "NL", "BR", "US"] {
            assert_eq!(right.parse::<Country>().unwrap().as_str(), right);
        }
        for wrong in ["de", "De", "DEU", "", "XX", "EU", "Ｄ", "D ", "ZZ"] {
            assert!(wrong.parse::<Country>().is_err(), "{wrong}");
        }
    }
}
