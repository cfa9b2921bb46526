//! Rows in the order of their keys, as whoever holds them against the receipts reads them: one that cannot be read is one
//! answer among others, not the end.

use super::access::{self, Access};
use super::decision::{self, Decision};
use super::effect::{self, Effect};
use super::idempotency::{self, Answered};
use super::schema::{
    accesses, books, books_forgotten as forgotten, decisions, effects, idempotency_keys as keys,
    known_counterparties as known,
};
use super::{AnyConnection, StoreError, read};
use crate::domain::{CallId, Chain, Duration, TenantSlug, Timestamp};
use diesel::prelude::*;

/// How many rows are read at once.
const PAGE: i64 = 512;

/// A row by its key, or why it cannot be read.
pub type Held<K, T> = (K, Result<T, StoreError>);

/// The effects whose ids come after one.
pub fn effects(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: &str,
) -> Result<Vec<Held<String, Effect>>, StoreError> {
    let rows = effects::table
        .filter(effects::tenant.eq(tenant.as_str()).and(effects::id.gt(after.to_owned())))
        .order(effects::id)
        .limit(PAGE)
        .select(effect::COLUMNS)
        .load::<effect::Row>(connection)?;
    Ok(rows.into_iter().map(|row| (row.0.0.clone(), effect::read_row(row))).collect())
}

/// The decisions whose ids come after one.
pub fn decisions(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: &str,
) -> Result<Vec<Held<String, Decision>>, StoreError> {
    let rows = decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()).and(decisions::id.gt(after.to_owned())))
        .order(decisions::id)
        .limit(PAGE)
        .select(decision::COLUMNS)
        .load::<decision::Row>(connection)?;
    Ok(rows.into_iter().map(|row| (row.0.0.clone(), decision::read_row(row))).collect())
}

/// Whose key it is, and the key.
pub type OfKey = (String, String);

/// The idempotency keys that come after one.
pub fn keys(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    (credential, key): &OfKey,
) -> Result<Vec<Held<OfKey, Answered>>, StoreError> {
    let later = keys::credential.gt(credential).or(keys::credential.eq(credential).and(keys::key.gt(key)));
    let rows = keys::table
        .filter(keys::tenant.eq(tenant.as_str()).and(later))
        .order((keys::credential, keys::key))
        .limit(PAGE)
        .select(((keys::credential, keys::key), idempotency::COLUMNS))
        .load::<(OfKey, idempotency::Row)>(connection)?;
    Ok(rows.into_iter().map(|(of, row)| (of, idempotency::read_row(row))).collect())
}

/// What one call took from one book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The key of the book.
    pub book: String,
    /// When.
    pub at: Timestamp,
    /// The place of the call's receipt.
    pub log_index: i64,
    /// How much.
    pub amount: i64,
    /// The book's running total with it; none where it was moved aside.
    pub total: Option<i64>,
    /// Since when it is given back.
    pub released_at: Option<Timestamp>,
}

/// What calls took from books, book after book in the order of its running total.
pub fn taken(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: Option<&Taken>,
) -> Result<Vec<Taken>, StoreError> {
    let mut query = books::table
        .filter(books::tenant.eq(tenant.as_str()))
        .order((books::book, books::at, books::log_index))
        .limit(PAGE)
        .select((books::book, books::at, books::log_index, books::amount, books::total, books::released_at))
        .into_boxed();
    if let Some(after) = after {
        let at = after.at.unix_milliseconds();
        let later = books::at.gt(at).or(books::at.eq(at).and(books::log_index.gt(after.log_index)));
        let same = books::book.eq(after.book.clone()).and(later);
        query = query.filter(books::book.gt(after.book.clone()).or(same));
    }
    let rows = query.load::<(String, i64, i64, i64, i64, Option<i64>)>(connection)?;
    let read = |(book, at, log_index, amount, total, released_at)| Taken {
        book,
        at: read::time(at),
        log_index,
        amount,
        total: Some(total),
        released_at: read::optional_time(released_at),
    };
    Ok(rows.into_iter().map(read).collect())
}

type MovedAside = (String, i64, i64, i64);

fn aside((book, at, log_index, amount): MovedAside) -> Taken {
    Taken { book, at: read::time(at), log_index, amount, total: None, released_at: None }
}

/// What was given back and moved aside, after one such row.
pub fn moved_aside(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: Option<&Taken>,
) -> Result<Vec<Taken>, StoreError> {
    let mut query = forgotten::table
        .filter(forgotten::tenant.eq(tenant.as_str()))
        .order((forgotten::log_index, forgotten::book))
        .limit(PAGE)
        .select((forgotten::book, forgotten::at, forgotten::log_index, forgotten::amount))
        .into_boxed();
    if let Some(after) = after {
        let same = forgotten::log_index.eq(after.log_index).and(forgotten::book.gt(after.book.clone()));
        query = query.filter(forgotten::log_index.gt(after.log_index).or(same));
    }
    Ok(query.load::<MovedAside>(connection)?.into_iter().map(aside).collect())
}

/// What the call at a place took, whether it stands in its books or was moved aside.
pub fn taken_by(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    place: u64,
) -> Result<Vec<Taken>, StoreError> {
    let place = read::stored_count(place);
    let mut rows: Vec<MovedAside> = books::table
        .filter(books::tenant.eq(tenant.as_str()).and(books::log_index.eq(place)))
        .select((books::book, books::at, books::log_index, books::amount))
        .load(connection)?;
    rows.extend(
        forgotten::table
            .filter(forgotten::tenant.eq(tenant.as_str()).and(forgotten::log_index.eq(place)))
            .select((forgotten::book, forgotten::at, forgotten::log_index, forgotten::amount))
            .load::<MovedAside>(connection)?,
    );
    Ok(rows.into_iter().map(aside).collect())
}

/// A counterparty that a person knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Who knows it.
    pub principal: String,
    /// Its name.
    pub name: String,
    /// The decision it was learnt from.
    pub decision: String,
    /// Since when.
    pub since: Timestamp,
}

/// The counterparties that people know, after one of them.
pub fn known(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: Option<&Known>,
) -> Result<Vec<Known>, StoreError> {
    let mut query = known::table
        .filter(known::tenant.eq(tenant.as_str()))
        .order((known::principal, known::name))
        .limit(PAGE)
        .select((known::principal, known::name, known::decision, known::since))
        .into_boxed();
    if let Some(after) = after {
        let same = known::principal.eq(after.principal.clone()).and(known::name.gt(after.name.clone()));
        query = query.filter(known::principal.gt(after.principal.clone()).or(same));
    }
    let rows = query.load::<(String, String, String, i64)>(connection)?;
    let read =
        |(principal, name, decision, since)| Known { principal, name, decision, since: read::time(since) };
    Ok(rows.into_iter().map(read).collect())
}

/// How far from its minute a call is looked for by its id, which begins with its time.
const APART: Duration = Duration::minutes(2);

/// The listed calls of one chain in `from..until`, by their ids, which find them.
pub fn calls(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: &Chain,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<Held<String, Access>>, StoreError> {
    let first = CallId::new(from.minus(APART), [0; 10]).to_string();
    let last = CallId::new(until.plus(APART), [u8::MAX; 10]).to_string();
    let rows = accesses::table
        .filter(accesses::tenant.eq(tenant.as_str()).and(accesses::chain.eq(chain.to_string())))
        .filter(accesses::id.between(first, last))
        .filter(accesses::at.ge(from.unix_milliseconds()).and(accesses::at.lt(until.unix_milliseconds())))
        .order(accesses::id)
        .load::<access::Row>(connection)?;
    Ok(rows.into_iter().map(|row| (row.1.clone(), access::read_row(row))).collect())
}
