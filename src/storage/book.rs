//! What limits have used: one row a book and call, with the book's running total.
//!
//! The use of any window is the difference of two running totals, less what was released in it, so that a look costs
//! the same however much a book holds. Rows of one book are written in the order of their times: the committer's
//! clock never goes back, and the tenant's head is locked.

use super::schema::{books, books_forgotten as forgotten};
use super::{AnyConnection, StoreError, read};
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
    let released: i64 = released.get_result(connection)?;
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
        .select(books::total)
        .into_boxed();
    if let Some(before) = before {
        rows = rows.filter(books::at.lt(before.unix_milliseconds()));
    }
    // SQLite reads no further than the first row, and plans a statement again each time that its limit is bound.
    if let AnyConnection::Postgres(_) = connection {
        rows = rows.limit(1);
    }
    Ok(rows.get_result(connection).optional()?)
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

/// Gives back all that one call took. What was taken last is moved aside, so that taking and giving back in turn leaves
/// nothing behind that a look would have to count.
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

/// Takes again what one call took and gave back, as if it had never been given back: in the windows of its time.
pub fn take_again(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    log_index: u64,
) -> Result<(), StoreError> {
    let index = read::stored_count(log_index);
    diesel::update(books::table.filter(books::tenant.eq(tenant.as_str()).and(books::log_index.eq(index))))
        .set(books::released_at.eq(None::<i64>))
        .execute(connection)?;
    let of_call =
        || forgotten::table.filter(forgotten::tenant.eq(tenant.as_str()).and(forgotten::log_index.eq(index)));
    let rows: Vec<(String, i64, i64)> =
        of_call().select((forgotten::book, forgotten::at, forgotten::amount)).load(connection)?;
    diesel::delete(of_call()).execute(connection)?;
    for (book, at, amount) in rows {
        insert_between(connection, tenant, &book, (at, index), amount)?;
    }
    Ok(())
}

/// Puts a row back at its place, and counts it in every running total after it.
fn insert_between(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    book: &str,
    (at, log_index): (i64, i64),
    amount: i64,
) -> Result<(), StoreError> {
    let of_book = || books::table.filter(books::tenant.eq(tenant.as_str()).and(books::book.eq(book)));
    let earlier = books::at.lt(at).or(books::at.eq(at).and(books::log_index.lt(log_index)));
    let before: Option<i64> = of_book()
        .filter(earlier)
        .order((books::at.desc(), books::log_index.desc()))
        .select(books::total)
        .first(connection)
        .optional()?;
    // A total that is beyond all counting stays there.
    let later = books::at.gt(at).or(books::at.eq(at).and(books::log_index.gt(log_index)));
    let full = i64::MAX.saturating_sub(amount);
    diesel::update(of_book().filter(later).filter(books::total.gt(full)))
        .set(books::total.eq(i64::MAX))
        .execute(connection)?;
    diesel::update(of_book().filter(later).filter(books::total.le(full)))
        .set(books::total.eq(books::total + amount))
        .execute(connection)?;
    diesel::insert_into(books::table)
        .values((
            books::tenant.eq(tenant.as_str()),
            books::book.eq(book),
            books::at.eq(at),
            books::log_index.eq(log_index),
            books::amount.eq(amount),
            books::total.eq(before.unwrap_or(0).saturating_add(amount)),
        ))
        .execute(connection)?;
    Ok(())
}

/// Moves the rows at a book's end aside that were released: no running total rests on them.
fn forget_released_end(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    book: &str,
) -> Result<(), StoreError> {
    loop {
        let of_book = books::table.filter(books::tenant.eq(tenant.as_str()).and(books::book.eq(book)));
        let last: Option<(i64, i64, i64, Option<i64>)> = of_book
            .order((books::at.desc(), books::log_index.desc()))
            .select((books::at, books::log_index, books::amount, books::released_at))
            .first(connection)
            .optional()?;
        let Some((at, log_index, amount, Some(_))) = last else { return Ok(()) };
        diesel::insert_into(forgotten::table)
            .values((
                forgotten::tenant.eq(tenant.as_str()),
                forgotten::log_index.eq(log_index),
                forgotten::book.eq(book),
                forgotten::at.eq(at),
                forgotten::amount.eq(amount),
            ))
            .execute(connection)?;
        diesel::delete(books::table.find((tenant.as_str(), book, at, log_index))).execute(connection)?;
    }
}
