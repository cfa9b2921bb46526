//! Instants as milliseconds since 1970 in UTC, written as RFC 3339; lengths of time in whole milliseconds.

use chrono::{DateTime, Datelike, SecondsFormat, Timelike, Utc};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// An instant: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Duration(i64);

impl Duration {
    /// So many milliseconds.
    pub const fn milliseconds(count: i64) -> Self {
        Self(count)
    }
    /// So many seconds.
    pub const fn seconds(count: i64) -> Self {
        Self(count.saturating_mul(1000))
    }
    /// So many minutes.
    pub const fn minutes(count: i64) -> Self {
        Self::seconds(count.saturating_mul(60))
    }
    /// So many hours.
    pub const fn hours(count: i64) -> Self {
        Self::minutes(count.saturating_mul(60))
    }
    /// So many days of 24 hours.
    pub const fn days(count: i64) -> Self {
        Self::hours(count.saturating_mul(24))
    }
    /// The whole seconds in it.
    pub const fn whole_seconds(self) -> i64 {
        self.0 / 1000
    }
    /// The milliseconds in it.
    pub const fn whole_milliseconds(self) -> i64 {
        self.0
    }
}

impl Timestamp {
    /// The instant so many milliseconds after 1970 began.
    pub const fn from_unix_milliseconds(milliseconds: i64) -> Self {
        Self(milliseconds)
    }
    /// The instant so many seconds after 1970 began.
    pub const fn from_unix_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }
    /// Milliseconds since 1970 began.
    pub const fn unix_milliseconds(self) -> i64 {
        self.0
    }
    /// Whole seconds since 1970 began, rounded down.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }
    /// The instant `duration` later; saturates at the ends of the range.
    #[must_use]
    pub const fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
    /// The instant `duration` earlier; saturates at the ends of the range.
    #[must_use]
    pub const fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.0))
    }
    /// The time from `earlier` to this instant, negative when it is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// The minute it lies in, as minutes since 1970 began.
    pub const fn minute(self) -> i64 {
        self.0.div_euclid(60_000)
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_millis())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::<Utc>::from_timestamp_millis(self.0) {
            Some(at) => f.write_str(&at.to_rfc3339_opts(SecondsFormat::Millis, true)),
            None => write!(f, "{} ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = String;

    /// RFC 3339 with an offset; leap seconds and years outside 1..=9999 are refused; what is finer than a
    /// millisecond is cut.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is not a time with an offset as RFC 3339 writes it, such as 2026-11-01T00:00:00Z",
                text.escape_debug()
            )
        };
        let at = DateTime::parse_from_rfc3339(text).map_err(|_| wrong())?;
        // The year counts in UTC, which is how the instant is written and read again.
        if at.nanosecond() >= 1_000_000_000 || !(1..=9999).contains(&at.with_timezone(&Utc).year()) {
            return Err(wrong());
        }
        Ok(Self(at.timestamp_millis()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_an_offset_and_is_answered_in_utc() {
        let at: Timestamp = "2026-11-01T01:30:00+01:30".parse().unwrap();
        assert_eq!(at.to_string(), "2026-11-01T00:00:00.000Z");
        for wrong in [
            "9999-12-31T23:59:59-23:00",
            "0001-01-01T00:00:00+01:00",
            "2026-11-01T00:00:00",
            "2026-11-01",
            "",
            "2026-11-01T23:59:60Z",
            "now",
        ] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
        }
    }
}
