//! How often each thing happened that screening counts, by tenant.

use super::{AnyConnection, StoreError, read, schema::reply_counts};
use crate::domain::TenantSlug;
use diesel::prelude::*;

/// Adds to the counts of a tenant.
pub fn add(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    counts: &[(&'static str, u64)],
) -> Result<(), StoreError> {
    for (name, times) in counts {
        let place = reply_counts::table.find((tenant.as_str(), *name));
        let more = read::stored_count(*times);
        let set = diesel::update(place).set(reply_counts::times.eq(reply_counts::times + more));
        if set.execute(connection)? == 0 {
            let row = (
                reply_counts::tenant.eq(tenant.as_str()),
                reply_counts::name.eq(*name),
                reply_counts::times.eq(more),
            );
            diesel::insert_into(reply_counts::table).values(row).execute(connection)?;
        }
    }
    Ok(())
}

/// The counts of a tenant, by name; what never happened is not among them.
pub fn all(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Vec<(String, u64)>, StoreError> {
    let rows: Vec<(String, i64)> = reply_counts::table
        .filter(reply_counts::tenant.eq(tenant.as_str()))
        .order(reply_counts::name.asc())
        .select((reply_counts::name, reply_counts::times))
        .load(connection)?;
    rows.into_iter().map(|(name, times)| Ok((name, read::count("reply_counts.times", times)?))).collect()
}
