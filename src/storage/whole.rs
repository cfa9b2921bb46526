//! A whole log, receipt after receipt, as whoever checks it reads it: a row that cannot be read is one answer among
//! others, not the end.

use super::receipt::{COLUMNS, Row, StoredReceipt, read_row};
use super::{AnyConnection, StoreError, read, schema::receipts};
use crate::domain::TenantSlug;
use crate::evidence::receipt::Kind;
use diesel::prelude::*;
use std::collections::BTreeMap;

/// A place of the log and what stands there, or why it cannot be read.
pub type Place = (u64, Result<StoredReceipt, StoreError>);

/// The receipts in `from..until`, in order; places that hold none are left out.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    from: u64,
    until: u64,
) -> Result<Vec<Place>, StoreError> {
    let rows: Vec<Row> = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(from)))
        .filter(receipts::log_index.lt(read::stored_count(until)))
        .order(receipts::log_index)
        .select(COLUMNS)
        .load(connection)?;
    rows.into_iter().map(|row| Ok((read::count("receipts.log_index", row.0.1)?, read_row(row)))).collect()
}

/// Receipts of some kinds at a place and after it, in order, so many at most.
pub fn page_of_kinds(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    kinds: &[Kind],
    from: u64,
    limit: i64,
) -> Result<Vec<Place>, StoreError> {
    let rows: Vec<Row> = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(from)))
        .filter(receipts::kind.eq_any(kinds.iter().map(|kind| kind.as_str())))
        .order(receipts::log_index)
        .limit(limit)
        .select(COLUMNS)
        .load(connection)?;
    rows.into_iter().map(|row| Ok((read::count("receipts.log_index", row.0.1)?, read_row(row)))).collect()
}

/// The next place at which a receipt stands, from one on.
pub fn next_place(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    from: u64,
) -> Result<Option<u64>, StoreError> {
    let place: Option<i64> = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(from)))
        .select(diesel::dsl::min(receipts::log_index))
        .first(connection)?;
    read::optional_count("receipts.log_index", place)
}

/// How far the receipts that stand in the table reach, whatever the head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How many there are.
    pub count: u64,
    /// The place after the last.
    pub end: u64,
    /// What the last numbers of all chains come to.
    pub linked: u64,
}

/// Reads it at one instant.
pub fn extent(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Extent, StoreError> {
    let chains: Vec<(i64, Option<i64>, Option<i64>)> = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .group_by(receipts::chain)
        .select((
            diesel::dsl::count_star(),
            diesel::dsl::max(receipts::log_index),
            diesel::dsl::max(receipts::seq),
        ))
        .load(connection)?;
    let after = |last: Option<i64>| last.map_or(0, |last| u64::try_from(last).unwrap_or(0).saturating_add(1));
    let mut extent = Extent { count: 0, end: 0, linked: 0 };
    for (count, last, seq) in chains {
        extent.count = extent.count.saturating_add(read::count("receipts", count)?);
        extent.end = extent.end.max(after(last));
        extent.linked = extent.linked.saturating_add(after(seq));
    }
    Ok(extent)
}

/// How many receipts of each kind stand at a place and after it.
pub fn kinds_since(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    from: u64,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let kinds: Vec<(String, i64)> = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(from)))
        .group_by(receipts::kind)
        .select((receipts::kind, diesel::dsl::count_star()))
        .load(connection)?;
    kinds.into_iter().map(|(kind, count)| Ok((kind, read::count("receipts", count)?))).collect()
}

/// How many receipts a log holds, counted.
pub fn count(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<u64, StoreError> {
    let count: i64 =
        receipts::table.filter(receipts::tenant.eq(tenant.as_str())).count().get_result(connection)?;
    read::count("receipts", count)
}
