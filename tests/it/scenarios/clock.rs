//! Time in the scenarios: the server's own clock runs, what was written down is moved back, and documents name
//! times by how far they are from now.

use super::script::Happened;
use crate::server::Server;
use chrono::{DateTime, Datelike, Duration, Timelike, Utc};
use serde_json::Value;

/// What waits or counts, with its times.
const TIMES: [(&str, &[&str]); 5] = [
    ("books", &["at", "released_at"]),
    ("books_forgotten", &["at"]),
    ("decisions", &["opened_at", "expires_at", "due_at", "decided_at", "approved_until"]),
    ("effects", &["claimed_at", "report_by", "due_at", "ended_at"]),
    ("idempotency_keys", &["answered_at", "expires_at"]),
];

/// Lets time go by for a company: `25 hours`, `7 days`, `61 seconds`. Sessions and credentials stay as they are.
pub(crate) fn advance(server: &Server, company: &str, time: &str) {
    move_back(server, company, duration(time).num_milliseconds());
}

/// Moves what a company did so that all uses of a person lie in the present period and the earliest at its edge, or
/// all before it and the newest at the edge.
pub(crate) fn happened(server: &Server, company: &str, principal: &str, edge: &Happened) {
    stay_clear_of_the_hour();
    let start = start_of(&edge.period, now());
    let (which, target) = match &*edge.at {
        "first" => ("MIN", start),
        "before" => ("MAX", start - Duration::milliseconds(1)),
        other => panic!("no edge is `{other}`"),
    };
    let at = format!(
        "SELECT {which}(books.at) FROM books JOIN receipts ON receipts.tenant = books.tenant
         AND receipts.log_index = books.log_index
         WHERE books.tenant = '{company}' AND receipts.principal = '{principal}'"
    );
    let at = server.database().connect().number(&at);
    move_back(server, company, at - target.timestamp_millis());
}

/// Waits where the hour is about to end, so that no period ends inside a step.
pub(crate) fn stay_clear_of_the_hour() {
    let now = now();
    if now.minute() == 59 && now.second() >= 45 {
        std::thread::sleep(std::time::Duration::from_secs(u64::from(61 - now.second())));
    }
}

fn move_back(server: &Server, company: &str, milliseconds: i64) {
    let mut connection = server.database().connect();
    for (table, columns) in TIMES {
        let set: Vec<_> = columns.iter().map(|name| format!("{name} = {name} - {milliseconds}")).collect();
        connection.execute(&format!("UPDATE {table} SET {} WHERE tenant = '{company}'", set.join(", ")));
    }
}

/// The machine's time, which on one machine is the server's and its database's too.
#[expect(
    clippy::disallowed_methods,
    reason = "the scenarios are told from outside, where nobody hands the time over"
)]
fn now() -> DateTime<Utc> {
    Utc::now()
}

fn start_of(period: &str, now: DateTime<Utc>) -> DateTime<Utc> {
    let day = now.date_naive();
    let day = match period {
        "hour" => return now.date_naive().and_hms_opt(now.hour(), 0, 0).unwrap().and_utc(),
        "day" => day,
        "week" => day - Duration::days(i64::from(day.weekday().num_days_from_monday())),
        "month" => day.with_day(1).unwrap(),
        other => panic!("no calendar period is `{other}`"),
    };
    day.and_hms_opt(0, 0, 0).unwrap().and_utc()
}

fn duration(text: &str) -> Duration {
    let (count, unit) = text.split_once(' ').unwrap_or_else(|| panic!("no time is `{text}`"));
    let count = count.parse().unwrap_or_else(|_| panic!("no time is `{text}`"));
    match unit.trim_end_matches('s') {
        "second" => Duration::seconds(count),
        "minute" => Duration::minutes(count),
        "hour" => Duration::hours(count),
        "day" => Duration::days(count),
        _ => panic!("no time is `{text}`"),
    }
}

/// A document whose placeholders are filled in: `<clock +2 hours>` is a time of day in UTC, `<day +1 day>` a
/// weekday, `<instant -1 hour>` a time with its offset, and any other `<name>` what `named` says.
pub(crate) fn resolve(value: &Value, named: &dyn Fn(&str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
            Some(inside) => {
                time(inside).or_else(|| named(inside)).map_or_else(|| value.clone(), Value::String)
            }
            None => value.clone(),
        },
        Value::Array(entries) => entries.iter().map(|entry| resolve(entry, named)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), resolve(value, named))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn time(placeholder: &str) -> Option<String> {
    let (what, offset) = placeholder.split_once(' ').unwrap_or((placeholder, ""));
    if !["clock", "day", "instant"].contains(&what) {
        return None;
    }
    let at = match offset.split_at_checked(1) {
        None => now(),
        Some(("+", time)) => now() + duration(time),
        Some(("-", time)) => now() - duration(time),
        Some(_) => panic!("no time is `{placeholder}`"),
    };
    Some(match what {
        "clock" => at.format("%H:%M").to_string(),
        "day" => at.weekday().to_string().to_lowercase(),
        _ => at.to_rfc3339(),
    })
}
