//! What limits have used: one row a book and call, with the book's running total.
//!
//! The use of any window is the difference of two running totals, less what was released in it, so that a look costs
//! the same however much a book holds. Rows of one book are written in the order of their times: the committer's
//! clock never goes back, and the tenant's head is locked.

use super::{AnyConnection, StoreError, read, schema::books};
use crate::domain::{TenantSlug, Timestamp};
use diesel::{dsl::sql, prelude::*, sql_types::BigInt};

/// What was used since an instant, or ever: minor units, or uses. A book beyond all counting is used up.
pub fn used(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    book: &str,
    since: Option<Timestamp>,
) -> Result<u64, StoreError> {
    let Some(total) = total_before(connection, tenant, book, None)? else { return Ok(0) };
    if total == i64::MAX {
        return Ok(u64::MAX);
    }
    let before = match since {
        Some(since) => total_before(connection, tenant, book, Some(since))?.unwrap_or(0),
        None => 0,
    };
    let mut released = books::table
        .filter(books::tenant.eq(tenant.as_str()).and(books::book.eq(book)))
        .filter(books::released_at.is_not_null())
        .select(sql::<BigInt>("CAST(COALESCE(SUM(amount), 0) AS BIGINT)"))
        .into_boxed();
    if let Some(since) = since {
        released = released.filter(books::at.ge(since.unix_milliseconds()));
    }
    let released: i64 = released.first(connection)?;
    let used = total.saturating_sub(before).saturating_sub(released);
    read::count("books.total", used)
}

/// The running total before an instant, or the last one.
fn total_before(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    book: &str,
    before: Option<Timestamp>,
) -> Result<Option<i64>, StoreError> {
    let mut rows = books::table
        .filter(books::tenant.eq(tenant.as_str()).and(books::book.eq(book)))
        .order((books::at.desc(), books::log_index.desc()))
        .limit(1)
        .select(books::total)
        .into_boxed();
    if let Some(before) = before {
        rows = rows.filter(books::at.lt(before.unix_milliseconds()));
    }
    Ok(rows.first(connection).optional()?)
}

/// Takes from a book for one call.
pub fn reserve(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    book: &str,
    amount: u64,
    log_index: u64,
    at: Timestamp,
) -> Result<(), StoreError> {
    let amount = i64::try_from(amount).unwrap_or(i64::MAX);
    let total = total_before(connection, tenant, book, None)?.unwrap_or(0).saturating_add(amount);
    diesel::insert_into(books::table)
        .values((
            books::tenant.eq(tenant.as_str()),
            books::book.eq(book),
            books::at.eq(at.unix_milliseconds()),
            books::log_index.eq(read::stored_count(log_index)),
            books::amount.eq(amount),
            books::total.eq(total),
        ))
        .execute(connection)?;
    Ok(())
}

/// Gives back all that one call took. What was taken last is forgotten altogether, so that taking and giving back in
/// turn leaves nothing behind.
pub fn release(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    log_index: u64,
    at: Timestamp,
) -> Result<usize, StoreError> {
    let taken = || {
        books::table
            .filter(books::tenant.eq(tenant.as_str()).and(books::log_index.eq(read::stored_count(log_index))))
            .filter(books::released_at.is_null())
    };
    let affected: Vec<String> = taken().select(books::book).load(connection)?;
    let released = diesel::update(taken())
        .set(books::released_at.eq(Some(at.unix_milliseconds())))
        .execute(connection)?;
    for book in &affected {
        forget_released_end(connection, tenant, book)?;
    }
    Ok(released)
}

/// Deletes the rows at a book's end that were released: no running total rests on them.
fn forget_released_end(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    book: &str,
) -> Result<(), StoreError> {
    loop {
        let of_book = books::table.filter(books::tenant.eq(tenant.as_str()).and(books::book.eq(book)));
        let last: Option<(i64, i64, Option<i64>)> = of_book
            .order((books::at.desc(), books::log_index.desc()))
            .select((books::at, books::log_index, books::released_at))
            .first(connection)
            .optional()?;
        let Some((at, log_index, Some(_))) = last else { return Ok(()) };
        diesel::delete(books::table.find((tenant.as_str(), book, at, log_index))).execute(connection)?;
    }
}
