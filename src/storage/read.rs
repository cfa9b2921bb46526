//! From stored text and numbers back to typed values; what does not fit is a corrupt row, never a default.

use super::StoreError;
use crate::domain::{Hash, Malformed, Timestamp};
use serde_json::Value;
use std::{fmt::Display, str::FromStr};

/// A stored document, read as it was when it was written.
///
/// # Errors
/// [`StoreError::Corrupt`] at `place` where it can no longer be read.
pub fn read_document<T>(
    place: &'static str,
    text: &str,
    read: impl FnOnce(&Value) -> Result<T, Malformed>,
) -> Result<T, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { place, detail };
    let value = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
    read(&value).map_err(|malformed| corrupt(malformed.to_string()))
}

pub(super) fn text<T: FromStr<Err: Display>>(place: &'static str, stored: &str) -> Result<T, StoreError> {
    stored.parse().map_err(|error: T::Err| StoreError::Corrupt { place, detail: error.to_string() })
}

pub(super) fn optional_text<T: FromStr<Err: Display>>(
    place: &'static str,
    stored: Option<&str>,
) -> Result<Option<T>, StoreError> {
    stored.map(|stored| text(place, stored)).transpose()
}

pub(super) fn hash(place: &'static str, stored: &[u8]) -> Result<Hash, StoreError> {
    bytes(place, stored).map(Hash)
}

pub(super) fn bytes<const N: usize>(place: &'static str, stored: &[u8]) -> Result<[u8; N], StoreError> {
    stored
        .try_into()
        .map_err(|_| StoreError::Corrupt { place, detail: format!("{} bytes, {N} expected", stored.len()) })
}

pub(super) fn count(place: &'static str, stored: i64) -> Result<u64, StoreError> {
    u64::try_from(stored).map_err(|_| StoreError::Corrupt { place, detail: format!("{stored} is negative") })
}

pub(super) fn optional_count(place: &'static str, stored: Option<i64>) -> Result<Option<u64>, StoreError> {
    stored.map(|stored| count(place, stored)).transpose()
}

/// A count as the databases hold it; larger ones do not occur and saturate.
pub(super) fn stored_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn time(stored: i64) -> Timestamp {
    Timestamp::from_unix_milliseconds(stored)
}

pub(super) fn optional_time(stored: Option<i64>) -> Option<Timestamp> {
    stored.map(time)
}

pub(super) fn stored_time(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::unix_milliseconds)
}
