//! Hours of the week by the wall clock of a zone.

use crate::domain::Timestamp;
use chrono::{DateTime, Datelike, NaiveDateTime, Timelike, Weekday};
use chrono_tz::Tz;
use std::fmt;

/// The days of a week by their names in documents, Monday first.
const NAMES: [(Weekday, &str); 7] = [
    (Weekday::Mon, "mon"),
    (Weekday::Tue, "tue"),
    (Weekday::Wed, "wed"),
    (Weekday::Thu, "thu"),
    (Weekday::Fri, "fri"),
    (Weekday::Sat, "sat"),
    (Weekday::Sun, "sun"),
];

/// A day of the week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Day(Weekday);

impl Day {
    /// Every day, Monday first, with its name in documents.
    pub(super) fn all() -> [(&'static str, Self); 7] {
        NAMES.map(|(day, name)| (name, Self(day)))
    }

    const fn bit(self) -> u8 {
        1 << self.0.num_days_from_monday()
    }
}

/// Several days of the week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DaysOfWeek(u8);

impl DaysOfWeek {
    /// All seven.
    pub(super) const ALL: Self = Self(0b111_1111);

    /// Their names, Monday first.
    pub fn names(self) -> Vec<&'static str> {
        Day::all().into_iter().filter(|(_, day)| self.has(day.0)).map(|(name, _)| name).collect()
    }

    const fn has(self, day: Weekday) -> bool {
        self.0 & Day(day).bit() != 0
    }
}

impl FromIterator<Day> for DaysOfWeek {
    fn from_iter<I: IntoIterator<Item = Day>>(days: I) -> Self {
        Self(days.into_iter().fold(0, |days, day| days | day.bit()))
    }
}

/// A minute of the day, `00:00` to `23:59`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Minute(u32);

impl std::str::FromStr for Minute {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let two = |part: &str, below: u32| {
            let number: u32 = part.parse().ok().filter(|number| *number < below)?;
            (part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
        };
        let read =
            text.split_once(':').and_then(|(hour, minute)| Some(two(hour, 24)? * 60 + two(minute, 60)?));
        read.map(Self).ok_or_else(|| {
            let shown = text.chars().take(16).collect::<String>().escape_debug().to_string();
            format!("`{shown}` is not a time of day: two digits, a colon, two digits, 00:00 to 23:59")
        })
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

/// Some hours of some days. Where `until` is before `from` they reach past midnight, and belong to the day on
/// which they began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hours {
    /// The days.
    pub days: DaysOfWeek,
    /// From when until when, the end excluded and never the same; the whole day, if not said.
    pub span: Option<(Minute, Minute)>,
    /// Whose wall clock counts, daylight saving included.
    pub zone: Tz,
}

impl Hours {
    /// Whether the instant is inside them.
    pub(super) fn hold(&self, now: Timestamp) -> bool {
        self.local(now)
            .is_some_and(|local| self.cover(local.weekday(), Minute(local.hour() * 60 + local.minute())))
    }

    /// The instant by their clock, as a sentence names it: `Sun 03:12 in Europe/Berlin`.
    pub(super) fn clock(&self, now: Timestamp) -> String {
        match self.local(now) {
            Some(local) => format!("{} in {}", local.format("%a %H:%M"), self.zone.name()),
            None => now.to_string(),
        }
    }

    fn local(&self, now: Timestamp) -> Option<NaiveDateTime> {
        Some(
            DateTime::from_timestamp_millis(now.unix_milliseconds())?.with_timezone(&self.zone).naive_local(),
        )
    }

    fn cover(&self, day: Weekday, minute: Minute) -> bool {
        match self.span {
            None => self.days.has(day),
            Some((from, until)) if from < until => self.days.has(day) && from <= minute && minute < until,
            Some((from, until)) => {
                (self.days.has(day) && from <= minute) || (self.days.has(day.pred()) && minute < until)
            }
        }
    }

    /// Whether every instant inside these is inside those. By one clock both change only at their own ends and at
    /// midnight, so those minutes of each day say it all; two clocks are never compared.
    pub(super) fn within(&self, outer: &Self) -> bool {
        let ends = [self.span, outer.span].into_iter().flatten().flat_map(|(from, until)| [from, until]);
        let minutes: Vec<Minute> = ends.chain([Minute(0)]).collect();
        let covered = |(day, _): (Weekday, _)| {
            minutes.iter().all(|minute| !self.cover(day, *minute) || outer.cover(day, *minute))
        };
        let always = outer.span.is_none() && outer.days == DaysOfWeek::ALL;
        always || (self.zone == outer.zone && NAMES.into_iter().all(covered))
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.days.names();
        if days.len() < 7 {
            write!(f, "{} ", days.join(", "))?;
        }
        match self.span {
            Some((from, until)) => write!(f, "{from} to {until}")?,
            None if days.len() == 7 => f.write_str("at any hour")?,
            None => f.write_str("all day")?,
        }
        write!(f, " in {}", self.zone.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(days: &[&str], span: Option<(&str, &str)>, zone: &str) -> Hours {
        let day = |name: &&str| Day::all().into_iter().find(|(known, _)| known == name).unwrap().1;
        Hours {
            days: if days.is_empty() { DaysOfWeek::ALL } else { days.iter().map(day).collect() },
            span: span.map(|(from, until)| (from.parse().unwrap(), until.parse().unwrap())),
            zone: zone.parse().unwrap(),
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn office_hours_follow_the_wall_clock_through_daylight_saving() {
        let office = |zone| hours(&["mon", "tue", "wed", "thu", "fri"], Some(("08:00", "18:00")), zone);
        for (zone, instant, inside) in [
            // Berlin is two hours ahead of UTC until Sunday 2026-10-25, one hour ahead after it.
            ("Europe/Berlin", "2026-10-23T05:59:59.999Z", false),
            ("Europe/Berlin", "2026-10-23T06:00:00Z", true),
            ("Europe/Berlin", "2026-10-26T06:30:00Z", false),
            ("Europe/Berlin", "2026-10-26T07:00:00Z", true),
            ("Europe/Berlin", "2026-10-26T16:59:59.999Z", true),
            ("Europe/Berlin", "2026-10-26T17:00:00Z", false),
            ("Europe/Berlin", "2026-10-24T10:00:00Z", false),
            // New York is four hours behind until Sunday 2026-11-01, five after it.
            ("America/New_York", "2026-10-30T12:00:00Z", true),
            ("America/New_York", "2026-11-02T12:30:00Z", false),
            ("America/New_York", "2026-11-02T13:00:00Z", true),
            // Lord Howe moves by half an hour: from 11:00 ahead to 10:30 ahead on Sunday 2026-04-05.
            ("Australia/Lord_Howe", "2026-04-02T21:00:00Z", true),
            ("Australia/Lord_Howe", "2026-04-05T21:15:00Z", false),
            ("Australia/Lord_Howe", "2026-04-05T21:30:00Z", true),
            // Kolkata never moves: 5:30 ahead.
            ("Asia/Kolkata", "2026-06-01T02:29:59Z", false),
            ("Asia/Kolkata", "2026-06-01T02:30:00Z", true),
            ("Asia/Kolkata", "2026-12-01T02:30:00Z", true),
        ] {
            assert_eq!(office(zone).hold(at(instant)), inside, "{zone} {instant}");
        }
    }

    #[test]
    fn an_hour_that_comes_twice_counts_twice_and_one_that_is_skipped_never() {
        let night = hours(&["sun"], Some(("02:00", "03:00")), "Europe/Berlin");
        // 2026-10-25: 02:00 to 03:00 comes at 00:00 UTC and again at 01:00 UTC.
        for (instant, inside) in [
            ("T23:59:59Z", false),
            ("T00:00:00Z", true),
            ("T00:30:00Z", true),
            ("T01:30:00Z", true),
            ("T02:00:00Z", false),
        ] {
            let day = if instant.starts_with("T23") { "2026-10-24" } else { "2026-10-25" };
            assert_eq!(night.hold(at(&format!("{day}{instant}"))), inside, "{instant}");
        }
        // 2026-03-29: 02:00 becomes 03:00 at 01:00 UTC.
        for instant in ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"] {
            assert!(!night.hold(at(instant)), "{instant}");
        }
    }

    #[test]
    fn hours_past_midnight_belong_to_the_day_they_began() {
        let friday = hours(&["fri"], Some(("22:00", "06:00")), "Europe/Berlin");
        for (instant, inside) in [
            ("2026-11-27T20:59:59Z", false),
            ("2026-11-27T21:00:00Z", true),
            ("2026-11-27T23:30:00Z", true),
            ("2026-11-28T04:59:59Z", true),
            ("2026-11-28T05:00:00Z", false),
            ("2026-11-27T02:00:00Z", false),
            ("2026-11-28T21:00:00Z", false),
        ] {
            assert_eq!(friday.hold(at(instant)), inside, "{instant}");
        }
    }

    #[test]
    fn a_time_of_day_has_four_digits() {
        for wrong in ["8:00", "24:00", "08:60", "0800", "08:00:00", "+8:00", "", "08:0٠"] {
            assert!(wrong.parse::<Minute>().is_err(), "{wrong}");
        }
        assert_eq!("00:00".parse::<Minute>().unwrap().to_string(), "00:00");
    }

    /// Minute by minute through a week.
    #[test]
    fn hours_lie_within_hours_exactly_where_every_minute_does() {
        let spans = [
            None,
            Some(("08:00", "18:00")),
            Some(("09:00", "17:59")),
            Some(("18:00", "08:00")),
            Some(("00:00", "08:00")),
        ];
        let days: [&[&str]; 5] = [&[], &["mon"], &["tue"], &["mon", "tue"], &["sun", "mon", "tue"]];
        let all: Vec<Hours> =
            days.iter().flat_map(|days| spans.map(|span| hours(days, span, "Etc/UTC"))).collect();
        for inner in &all {
            for outer in &all {
                let every = (0..7 * 1440).all(|minute| {
                    let now = Timestamp::from_unix_seconds(minute * 60);
                    !inner.hold(now) || outer.hold(now)
                });
                assert_eq!(inner.within(outer), every, "{inner} within {outer}");
            }
        }
        let elsewhere = hours(&["mon"], None, "Europe/Berlin");
        assert!(!elsewhere.within(&hours(&["mon"], None, "Etc/UTC")));
        assert!(elsewhere.within(&hours(&[], None, "Etc/UTC")));
    }

    #[test]
    fn hours_read_as_a_sentence() {
        assert_eq!(
            hours(&["mon", "fri"], Some(("08:00", "18:00")), "Europe/Berlin").to_string(),
            "mon, fri 08:00 to 18:00 in Europe/Berlin"
        );
        assert_eq!(hours(&["sun"], None, "Europe/Berlin").to_string(), "sun all day in Europe/Berlin");
        assert_eq!(hours(&[], None, "Etc/UTC").clock(at("2026-11-30T13:05:00Z")), "Mon 13:05 in Etc/UTC");
    }
}
