//! Instants as a person reads them: the day and hour with their zone, and how far off that is.

use crate::domain::{Duration, Timestamp};
use chrono::{DateTime, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;
use std::fmt;

/// An instant ready to be shown; writes itself as a `time` element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// RFC 3339 in UTC, for machines.
    pub machine: String,
    /// Day and time with the zone's name, such as `1 Nov 2026, 14:05 CET`.
    pub absolute: String,
    /// The distance from now, such as `in 3 h`.
    pub relative: String,
}

impl When {
    /// `at` in the tenant's zone, to the minute, seen from `now`.
    pub fn new(at: Timestamp, now: Timestamp, zone: Tz) -> Self {
        Self::formatted(at, now, zone, "%-d %b %Y, %H:%M %Z")
    }

    /// The same to the second, for the log.
    pub fn to_the_second(at: Timestamp, now: Timestamp, zone: Tz) -> Self {
        Self::formatted(at, now, zone, "%-d %b %Y, %H:%M:%S %Z")
    }

    fn formatted(at: Timestamp, now: Timestamp, zone: Tz, format: &str) -> Self {
        let machine = at.to_string();
        let absolute = DateTime::<Utc>::from_timestamp_millis(at.unix_milliseconds())
            .map_or_else(|| machine.clone(), |utc| utc.with_timezone(&zone).format(format).to_string());
        Self { machine, absolute, relative: relative(at.since(now)) }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, absolute, relative } = self;
        write!(f, "<time datetime=\"{machine}\">{absolute}</time> <span class=\"relative\">{relative}</span>")
    }
}

/// Digits and the names of months and zones hold nothing to escape.
impl askama::filters::HtmlSafe for When {}

/// Reads what a `datetime-local` field sends, `2026-11-01T14:05` with or without seconds, in the tenant's
/// zone; the earlier instant where a clock was set back, an error where it was set forward.
pub fn read_local(text: &str, zone: Tz) -> Result<Timestamp, String> {
    let wrong = || format!("`{}` is not a day and time such as 2026-11-01T14:05", text.escape_debug());
    let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M")
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S"))
        .map_err(|_| wrong())?;
    let at = zone
        .from_local_datetime(&local)
        .earliest()
        .ok_or_else(|| format!("`{text}` does not exist in {zone}: clocks were set forward"))?;
    Ok(at.with_timezone(&Utc).into())
}

/// An instant as a `datetime-local` field takes it, in the tenant's zone.
pub fn write_local(at: Timestamp, zone: Tz) -> String {
    DateTime::<Utc>::from_timestamp_millis(at.unix_milliseconds())
        .map_or_else(String::new, |utc| utc.with_timezone(&zone).format("%Y-%m-%dT%H:%M:%S").to_string())
}

/// A distance in its two largest fitting units, rounded down.
fn relative(distance: Duration) -> String {
    let seconds = distance.whole_seconds();
    let length = length(seconds.unsigned_abs());
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("in {length}"),
        ..0 => format!("{length} ago"),
    }
}

fn length(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if minutes == 0 {
        format!("{seconds} s")
    } else if hours == 0 {
        format!("{minutes} min")
    } else if days < 2 && minutes % 60 == 0 {
        format!("{hours} h")
    } else if days < 2 {
        format!("{hours} h {} min", minutes % 60)
    } else {
        format!("{days} days")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_tenants_zone_with_its_distance() {
        let now: Timestamp = "2026-11-01T10:00:00Z".parse().unwrap();
        let at: Timestamp = "2026-11-01T13:05:30Z".parse().unwrap();
        let when = When::new(at, now, chrono_tz::Europe::Berlin);
        assert_eq!(when.absolute, "1 Nov 2026, 14:05 CET");
        assert_eq!(when.relative, "in 3 h 5 min");
        assert_eq!(
            When::to_the_second(now, at, Tz::UTC).to_string(),
            "<time datetime=\"2026-11-01T10:00:00.000Z\">1 Nov 2026, 10:00:00 UTC</time> \
             <span class=\"relative\">3 h 5 min ago</span>"
        );
    }

    #[test]
    fn a_distance_is_rounded_down() {
        for (seconds, said) in [
            (0, "now"),
            (59, "in 59 s"),
            (60, "in 1 min"),
            (3599, "in 59 min"),
            (7200, "in 2 h"),
            (172_800, "in 2 days"),
            (-90, "1 min ago"),
        ] {
            assert_eq!(relative(Duration::seconds(seconds)), said);
        }
    }

    #[test]
    fn a_local_time_is_read_in_the_tenants_zone() {
        let berlin = chrono_tz::Europe::Berlin;
        let at = read_local("2026-11-01T14:05", berlin).unwrap();
        assert_eq!(at.to_string(), "2026-11-01T13:05:00.000Z");
        assert_eq!(read_local(&write_local(at, berlin), berlin), Ok(at));
        assert!(read_local("2026-03-29T02:30", berlin).unwrap_err().contains("set forward"));
        assert_eq!(read_local("2026-10-25T02:30", berlin).unwrap().to_string(), "2026-10-25T00:30:00.000Z");
        assert!(read_local("yesterday", berlin).is_err());
    }
}
