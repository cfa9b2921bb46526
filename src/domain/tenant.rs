//! A tenant's name: immutable, and the first part of every key.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};

/// A tenant's slug, `[a-z0-9-]{1,63}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TenantSlug(Arc<str>);

impl TenantSlug {
    /// The slug as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TenantSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TenantSlug {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let fits = (1..=63).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(format!("`{}` is not a tenant's slug: 1 to 63 of a-z, 0-9 and -", text.escape_debug()))
        }
    }
}

impl<'de> Deserialize<'de> for TenantSlug {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
