//! What time alone brings about: expired decisions, overdue effects, closed minutes of the call log.

use super::{Error, effect as effects, withdraw};
use crate::committer::{Books, Draft};
use crate::domain::{DecisionId, Duration, EffectId, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::access::{self, Minute};
use crate::storage::decision::{self, DecisionStatus, Turn};
use crate::storage::effect::EffectStatus;
use crate::storage::{effect, export, idempotency, outbox, session};
use serde_json::{Value, json};

/// How long mail that was sent is kept: longer than anything it tells of waits, so that none is written twice.
const SENT_MAIL_KEPT: Duration = Duration::days(31);
/// How many minutes one job closes.
const MOST_MINUTES: i64 = 500;

/// Ends a decision whose time is over; `false` if it is not, by the books' clock.
pub fn expire(books: &mut Books<'_>, id: DecisionId) -> Result<bool, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    let Some(found) = decision::find(connection, slug, id)? else { return Ok(false) };
    let is_over = found.status != DecisionStatus::Expired && found.status_at(now) == DecisionStatus::Expired;
    if !is_over || !decision::turn(connection, slug, id, found.status, &Turn::Expired, now)? {
        return Ok(false);
    }
    let reason = match found.status {
        DecisionStatus::Approved => "the approval was not used in time",
        DecisionStatus::Open
        | DecisionStatus::Declined
        | DecisionStatus::Expired
        | DecisionStatus::Withdrawn
        | DecisionStatus::Used
        | DecisionStatus::Resolved => "nobody decided in time",
    };
    withdraw::end(books, &found, Kind::DecisionExpire, DecisionStatus::Expired, reason)?;
    Ok(true)
}

/// Says of an effect nobody reported on that nobody knows, or asks about one that waits to be asked about; `false` if its
/// time is not over, by the books' clock.
pub fn overdue(books: &mut Books<'_>, id: EffectId) -> Result<bool, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    match effect::find(connection, slug, id)? {
        Some(found) if found.status == EffectStatus::Unknown => effects::ask_late(books, &found),
        Some(found) if found.report_by <= now => effects::overdue(books, &found).map(|()| true),
        Some(_) | None => Ok(false),
    }
}

/// Writes the leaf of every minute before this one that has none yet; `true` if more are left.
pub fn close_minutes(books: &mut Books<'_>, until: i64) -> Result<bool, Error> {
    // This node's clock may be ahead of the books': the present minute stays open.
    let until = until.min(books.now().minute());
    let (connection, slug) = books.place();
    let open = access::open_minutes(connection, slug, until, MOST_MINUTES)?;
    for minute in &open {
        close_minute(books, minute)?;
    }
    Ok(i64::try_from(open.len()).is_ok_and(|closed| closed == MOST_MINUTES))
}

fn close_minute(books: &mut Books<'_>, minute: &Minute) -> Result<(), Error> {
    let from = Timestamp::from_unix_seconds(minute.minute.saturating_mul(60));
    let until = Timestamp::from_unix_seconds(minute.minute.saturating_add(1).saturating_mul(60));
    let (connection, slug) = books.place();
    let listed = access::of_chain_between(connection, slug, &minute.subject.chain, from, until)?;
    let listed: Vec<Value> = listed
        .iter()
        .map(|access| {
            json!({
                "id": access.id,
                "at": access.at,
                "method": access.method,
                "route": access.route,
                "status": access.status,
                "detail": access.detail,
            })
        })
        .collect();
    let mut content = super::recording::Content::default();
    let counts: Value = serde_json::from_str(&minute.counts).unwrap_or_default();
    let input = json!({
        "kind": Kind::AccessMinute.as_str(),
        "tenant": books.slug(),
        "chain": minute.subject.chain,
        "minute": from,
        "listed": content.commit("/input/listed", Value::Array(listed)),
    });
    let output = json!({"count": minute.count, "counts": counts});
    let mut draft = Draft::act(Kind::AccessMinute, minute.subject.chain, input, output);
    draft.principal = minute.subject.principal;
    draft.agent = minute.subject.agent;
    draft.credential = minute.subject.credential;
    draft.content = content.finish();
    let stored = books.record(draft)?;
    let (connection, slug) = books.place();
    access::close_minute(connection, slug, &minute.subject.chain, minute.minute, stored.log_index)?;
    Ok(())
}

/// Forgets keys and sessions whose time is over, and mail that left long ago. Receipts are never among what is forgotten.
pub fn tidy(books: &mut Books<'_>) -> Result<(), Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    idempotency::delete_expired(connection, slug, now)?;
    session::delete_idle_since(connection, slug, now.minus(super::session::LONGEST))?;
    outbox::delete_sent_before(connection, slug, now.minus(SENT_MAIL_KEPT))?;
    export::delete_unfinished_before(connection, slug, now.minus(super::export::RESUMED_FOR))?;
    Ok(())
}
