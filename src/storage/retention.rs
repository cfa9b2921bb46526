//! The tenant's rules of what is erased at which age: append-only versions, the highest of which is live.

use super::{AnyConnection, StoreError, read, schema::retention};
use crate::domain::{PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// One version of the rules.
#[derive(Debug, Clone)]
pub struct RetentionVersion {
    /// Counts from 1.
    pub version: u64,
    /// The rules, as JSON.
    pub document: String,
    /// Since when it is, or was, live.
    pub live_since: Timestamp,
    /// The operator who put it live.
    pub author: PrincipalId,
}

type Row = (String, i64, String, i64, String);

fn read_row((_, version, document, live_since, author): Row) -> Result<RetentionVersion, StoreError> {
    Ok(RetentionVersion {
        version: read::count("retention.version", version)?,
        document,
        live_since: read::time(live_since),
        author: read::text("retention.author", &author)?,
    })
}

/// One version.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    version: u64,
) -> Result<Option<RetentionVersion>, StoreError> {
    retention::table
        .find((tenant.as_str(), read::stored_count(version)))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The live version.
pub fn live(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
) -> Result<Option<RetentionVersion>, StoreError> {
    retention::table
        .filter(retention::tenant.eq(tenant.as_str()))
        .order(retention::version.desc())
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Puts a version live. Two of the same number cannot both be.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    rules: &RetentionVersion,
) -> Result<(), StoreError> {
    diesel::insert_into(retention::table)
        .values((
            retention::tenant.eq(tenant.as_str()),
            retention::version.eq(read::stored_count(rules.version)),
            retention::document.eq(&rules.document),
            retention::live_since.eq(rules.live_since.unix_milliseconds()),
            retention::author.eq(rules.author.to_string()),
        ))
        .execute(connection)?;
    Ok(())
}
