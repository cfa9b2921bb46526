//! Limits: how much and how often an allowance may be used.
//!
//! What was used stands in books ([`super::book`]).

use super::action::Action;
use super::book::{Book, BookName, BookOwner, BookUse, Counted, Looks, Reservation, Reservations, Used};
use super::document::{Clause, ClauseId, KnownCounterparty};
use super::reason::Reason;
use crate::domain::{Amount, Duration, ExternalName, Timestamp};
use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveTime, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use std::{collections::BTreeSet, fmt, str::FromStr};

/// The most limits one clause may have.
pub(super) const MOST_LIMITS: usize = 16;
const MOST_DAYS: u32 = 366;
const MOST_HOURS: u32 = 366 * 24;

/// One bound on the use of an allowance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    /// What is bounded.
    pub bound: Bound,
    /// Counted for each counterparty or resource by itself; for all together, if not said.
    pub each: Option<Each>,
    /// Counted together with the other clauses that name the same pool; for the clause alone, if not said.
    pub pool: Option<ClauseId>,
}

/// What a limit bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The sum of the amounts of one period, in one currency; every other currency fails.
    Total {
        /// The highest sum.
        most: Amount,
        /// Over which time.
        per: Period,
    },
    /// The number of uses in one period.
    Count {
        /// The highest number.
        most: u64,
        /// Over which time.
        per: Period,
    },
    /// One use ever; only with `each`.
    Once,
}

impl fmt::Display for Limit {
    /// What it is told from others by; how much it allows is no part of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Bound::Total { most, per } => write!(f, "total {} per {per}", most.currency().code())?,
            Bound::Count { per, .. } => write!(f, "count per {per}")?,
            Bound::Once => f.write_str("once")?,
        }
        if let Some(each) = self.each {
            write!(f, " each {}", each.as_str())?;
        }
        self.pool.as_ref().map_or(Ok(()), |pool| write!(f, " pool {pool}"))
    }
}

/// What is counted by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Each {
    /// Each counterparty that the action names.
    Counterparty,
    /// The resource.
    Resource,
}

impl Each {
    /// The word for it in documents and sentences.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counterparty => "counterparty",
            Self::Resource => "resource",
        }
    }
}

/// Over which time a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    /// The hour of the clock.
    Hour,
    /// The day of the calendar.
    Day,
    /// The week, from Monday.
    Week,
    /// The month of the calendar.
    Month,
    /// So many hours up to now.
    Hours(u32),
    /// So many times 24 hours up to now.
    Days(u32),
}

impl Period {
    /// The first instant that still counts at `now`: the beginning of the calendar's period in the tenant's
    /// zone, or the instant after the one that has rolled out.
    pub fn since(self, now: Timestamp, zone: Tz) -> Timestamp {
        let rolling = |duration| now.minus(duration).plus(Duration::milliseconds(1));
        match self {
            Self::Hours(hours) => rolling(Duration::hours(i64::from(hours))),
            Self::Days(days) => rolling(Duration::days(i64::from(days))),
            Self::Hour | Self::Day | Self::Week | Self::Month => {
                let Some(utc) = DateTime::<Utc>::from_timestamp_millis(now.unix_milliseconds()) else {
                    // No calendar reaches that far: everything counts.
                    return Timestamp::from_unix_milliseconds(i64::MIN);
                };
                let local = utc.with_timezone(&zone);
                let date = local.date_naive();
                if let Some(first) = self.first_day(date) {
                    return midnight(first, zone);
                }
                let into = Duration::milliseconds(
                    i64::from(local.minute() * 60 + local.second()) * 1000
                        + i64::from(local.timestamp_subsec_millis()),
                );
                now.minus(into)
            }
        }
    }

    /// The day on which the calendar's period of `date` begins; `None` where it begins within a day.
    fn first_day(self, date: NaiveDate) -> Option<NaiveDate> {
        match self {
            Self::Day => Some(date),
            Self::Week => date.checked_sub_days(Days::new(u64::from(date.weekday().num_days_from_monday()))),
            Self::Month => date.with_day(1),
            Self::Hour | Self::Hours(_) | Self::Days(_) => None,
        }
    }

    /// Whether whatever counts in `other` counts here too, at every instant and in every zone.
    pub(super) fn contains(self, other: Self) -> bool {
        // The longest that a calendar's period lasts: a day of 25 hours, a month of 31 days and one hour.
        let longest = |period| match period {
            Self::Hour => Some(2),
            Self::Day => Some(26),
            Self::Week => Some(7 * 24 + 2),
            Self::Month => Some(31 * 24 + 2),
            Self::Hours(hours) => Some(hours),
            Self::Days(days) => days.checked_mul(24),
        };
        match (self, other) {
            (Self::Hours(_) | Self::Days(_), _) => match (longest(self), longest(other)) {
                (Some(mine), Some(others)) => mine >= others,
                (None, _) | (_, None) => false,
            },
            (one, another) if one == another => true,
            (Self::Day | Self::Week | Self::Month, Self::Hour) | (Self::Week | Self::Month, Self::Day) => {
                true
            }
            (Self::Hour | Self::Day | Self::Week | Self::Month, _) => false,
        }
    }
}

/// The first instant of a day; where the clocks skip midnight, the first that exists.
fn midnight(day: NaiveDate, zone: Tz) -> Timestamp {
    const QUARTER_HOURS_A_DAY: u32 = 96;
    let of = |quarter: u32| {
        let time = NaiveTime::from_num_seconds_from_midnight_opt(quarter.checked_mul(900)?, 0)?;
        zone.from_local_datetime(&day.and_time(time)).earliest()
    };
    let first = (0..QUARTER_HOURS_A_DAY).find_map(of);
    // A zone may leave out a whole day; then the day before it has not ended.
    let milliseconds = first.map_or_else(
        || day.and_time(NaiveTime::MIN).and_utc().timestamp_millis(),
        |first| first.timestamp_millis(),
    );
    Timestamp::from_unix_milliseconds(milliseconds)
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hour => f.write_str("hour"),
            Self::Day => f.write_str("day"),
            Self::Week => f.write_str("week"),
            Self::Month => f.write_str("month"),
            Self::Hours(hours) => write!(f, "{hours} hours"),
            Self::Days(days) => write!(f, "{days} days"),
        }
    }
}

impl FromStr for Period {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is not a period: hour, day, week, month, `1 days` to `{MOST_DAYS} days`, or `1 hours` to \
                 `{MOST_HOURS} hours`",
                text.chars().take(64).collect::<String>().escape_debug()
            )
        };
        let number = |digits: &str, most: u32| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
            digits.parse::<u32>().ok().filter(|number| plain && *number <= most).ok_or_else(wrong)
        };
        match text {
            "hour" => Ok(Self::Hour),
            "day" => Ok(Self::Day),
            "week" => Ok(Self::Week),
            "month" => Ok(Self::Month),
            "1 hour" => Ok(Self::Hours(1)),
            "1 day" => Ok(Self::Days(1)),
            rolling => match rolling.split_once(' ') {
                Some((digits, "days")) => number(digits, MOST_DAYS).map(Self::Days),
                Some((digits, "hours")) => number(digits, MOST_HOURS).map(Self::Hours),
                Some(_) | None => Err(wrong()),
            },
        }
    }
}

/// A clause's limits, as they meet one action.
pub(super) struct Metered<'a> {
    pub(super) action: &'a Action,
    /// Whom the mandate lists, with what else they are called.
    pub(super) listed: &'a [KnownCounterparty],
    pub(super) owner: BookOwner,
    pub(super) zone: Tz,
    pub(super) now: Timestamp,
}

impl Metered<'_> {
    /// Every look that the limits of a clause take; a limit that the action lacks a fact for takes none.
    pub(super) fn looks(&self, clause: &Clause, into: &mut Looks) {
        for limit in &clause.limits {
            for book in self.books(clause, limit).unwrap_or_default() {
                into.add(BookUse { book, since: self.since(limit) });
            }
        }
    }

    /// The first limit that leaves no room, as a reason.
    pub(super) fn room(&self, clause: &Clause, used: &Used) -> Result<(), Reason> {
        clause.limits.iter().try_for_each(|limit| {
            let books = self.books(clause, limit)?;
            books.into_iter().try_for_each(|book| {
                let used = used.of(&BookUse { book, since: self.since(limit) });
                self.fits(limit, used)
            })
        })
    }

    /// Every limit that leaves no room, as a reason and by what it is told from others. Where conditions keep the clause from holding already, its books
    /// need not have been read: `unseen` are the looks that would tell.
    pub(super) fn all_in_the_way(
        &self,
        clause: &Clause,
        used: &Used,
        mut unseen: Option<&mut Looks>,
    ) -> Vec<(Reason, String)> {
        let mut reasons = Vec::new();
        for limit in &clause.limits {
            let books = match self.books(clause, limit) {
                Ok(books) => books,
                Err(reason) => {
                    reasons.push((reason, limit.to_string()));
                    continue;
                }
            };
            // Counterparties are told apart by their place: whom they name is not for the record.
            for (place, book) in books.into_iter().enumerate() {
                let look = BookUse { book, since: self.since(limit) };
                match (used.noted(&look), &mut unseen) {
                    (None, Some(unseen)) => unseen.add(look),
                    (used, _) => {
                        let full = self.fits(limit, used.unwrap_or(u64::MAX)).err();
                        reasons.extend(full.map(|reason| (reason, format!("{limit} {place}"))));
                    }
                }
            }
        }
        reasons
    }

    /// Whether one limit has room beside what one of its books holds.
    pub(super) fn fits(&self, limit: &Limit, used: u64) -> Result<(), Reason> {
        match limit.bound {
            Bound::Total { most, per } => {
                let asked = self.amount(most)?;
                let sum = minor_units(asked).checked_add(used);
                if sum.is_some_and(|sum| sum <= minor_units(most)) {
                    return Ok(());
                }
                Err(Reason::TotalAbove { asked, used, allowed: most, per, each: limit.each })
            }
            Bound::Count { most, .. } if used < most => Ok(()),
            Bound::Count { most, per } => {
                Err(Reason::CountReached { used, allowed: most, per, each: limit.each })
            }
            Bound::Once if used == 0 => Ok(()),
            Bound::Once => Err(Reason::OnlyOnce(limit.each.unwrap_or(Each::Resource))),
        }
    }

    /// What a clause's limits take from the books if it allows the action; of a limit that the action lacks a
    /// fact for, nothing (only a person's yes lets such an action through).
    pub(super) fn reserve(&self, clause: &Clause, into: &mut Reservations) {
        for limit in &clause.limits {
            for book in self.books(clause, limit).unwrap_or_default() {
                let amount = match limit.bound {
                    Bound::Total { .. } => self.action.amount.map_or(0, minor_units),
                    Bound::Count { .. } | Bound::Once => 1,
                };
                into.add(Reservation { book, amount });
            }
        }
    }

    /// The first instant that counts for a limit; `None` is ever.
    pub(super) fn since(&self, limit: &Limit) -> Option<Timestamp> {
        match limit.bound {
            Bound::Total { per, .. } | Bound::Count { per, .. } => Some(per.since(self.now, self.zone)),
            Bound::Once => None,
        }
    }

    fn amount(&self, most: Amount) -> Result<Amount, Reason> {
        let Some(asked) = self.action.amount else { return Err(Reason::AmountMissing { allowed: most }) };
        if asked.currency() == most.currency() {
            Ok(asked)
        } else {
            Err(Reason::AmountCurrency { asked: asked.currency(), allowed: most.currency() })
        }
    }

    /// The books of one limit: one, or one for each counterparty.
    pub(super) fn books(&self, clause: &Clause, limit: &Limit) -> Result<Vec<Book>, Reason> {
        let counts = match limit.bound {
            Bound::Total { most, .. } => Counted::Amounts(self.amount(most)?.currency()),
            Bound::Count { .. } | Bound::Once => Counted::Uses,
        };
        let name = match &limit.pool {
            Some(pool) => BookName::Pool(pool.clone()),
            None => BookName::Clause(clause.id.clone()),
        };
        let book = |each| Book { owner: self.owner, name: name.clone(), each, counts };
        match limit.each {
            None => Ok(vec![book(None)]),
            Some(Each::Resource) => match &self.action.resource {
                Some(resource) => Ok(vec![book(Some((Each::Resource, resource.clone())))]),
                None => Err(Reason::ResourceMissing),
            },
            Some(Each::Counterparty) if self.action.counterparties.is_empty() => {
                Err(Reason::CounterpartyMissing)
            }
            Some(Each::Counterparty) => {
                // Whatever it is called, it is one counterparty.
                let ids: BTreeSet<&ExternalName> = self
                    .action
                    .counterparties
                    .iter()
                    .map(|name| KnownCounterparty::id_in(self.listed, name))
                    .collect();
                Ok(ids.into_iter().map(|id| book(Some((Each::Counterparty, id.clone())))).collect())
            }
        }
    }
}

/// Amounts are positive, so nothing is lost.
fn minor_units(amount: Amount) -> u64 {
    u64::try_from(amount.minor_units()).unwrap_or(u64::MAX)
}

/// Whether the limit `a` of one version leaves no room that `b` of the other does not, for the same books.
pub(super) fn no_wider(a: &Limit, b: &Limit) -> bool {
    if (a.each, &a.pool) != (b.each, &b.pool) {
        return false;
    }
    match (a.bound, b.bound) {
        (Bound::Total { most, per }, Bound::Total { most: other, per: others }) => {
            most.currency() == other.currency()
                && most.minor_units() <= other.minor_units()
                && per.contains(others)
        }
        (Bound::Count { most, per }, Bound::Count { most: other, per: others }) => {
            most <= other && per.contains(others)
        }
        (Bound::Once, Bound::Once | Bound::Count { .. }) => true,
        (Bound::Total { .. } | Bound::Count { .. } | Bound::Once, _) => false,
    }
}
