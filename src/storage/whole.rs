//! A whole log, receipt after receipt, as whoever checks it reads it: a row that cannot be read is one answer among
//! others, not the end.

use super::receipt::{COLUMNS, Row, StoredReceipt, read_row};
use super::{AnyConnection, StoreError, read, schema::receipts};
use crate::domain::TenantSlug;
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
