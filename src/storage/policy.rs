//! The tenant's policies: append-only versions, the highest of which is live.

use super::{AnyConnection, StoreError, read, schema::policies};
use crate::domain::{PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// One version of a tenant's policy.
#[derive(Debug, Clone)]
pub struct PolicyVersion {
    /// Counts from 1.
    pub version: u64,
    /// The document, as JSON.
    pub document: String,
    /// How it compares with the version before.
    pub change: String,
    /// Since when it is, or was, live.
    pub live_since: Timestamp,
    /// The operator who put it live.
    pub author: PrincipalId,
}

type Row = (String, i64, String, String, i64, String);

fn read_row((_, version, document, change, live_since, author): Row) -> Result<PolicyVersion, StoreError> {
    Ok(PolicyVersion {
        version: read::count("policies.version", version)?,
        document,
        change,
        live_since: read::time(live_since),
        author: read::text("policies.author", &author)?,
    })
}

/// Puts a version live. Two of the same number cannot both be.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    policy: &PolicyVersion,
) -> Result<(), StoreError> {
    diesel::insert_into(policies::table)
        .values((
            policies::tenant.eq(tenant.as_str()),
            policies::version.eq(read::stored_count(policy.version)),
            policies::document.eq(&policy.document),
            policies::change.eq(&policy.change),
            policies::live_since.eq(policy.live_since.unix_milliseconds()),
            policies::author.eq(policy.author.to_string()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The live version.
pub fn live(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
) -> Result<Option<PolicyVersion>, StoreError> {
    Ok(page(connection, tenant, None, 1)?.pop())
}

/// One version.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    version: u64,
) -> Result<Option<PolicyVersion>, StoreError> {
    policies::table
        .find((tenant.as_str(), read::stored_count(version)))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Versions below `before`, newest first.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    before: Option<u64>,
    limit: i64,
) -> Result<Vec<PolicyVersion>, StoreError> {
    policies::table
        .filter(policies::tenant.eq(tenant.as_str()))
        .filter(policies::version.lt(before.map_or(i64::MAX, read::stored_count)))
        .order(policies::version.desc())
        .limit(limit)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}
