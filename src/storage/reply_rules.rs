//! The tenant's reply rules: append-only versions, the highest of which is live.

use super::{AnyConnection, StoreError, read, schema::reply_rules};
use crate::domain::{PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// One version of the rules.
#[derive(Debug, Clone)]
pub struct RulesVersion {
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

fn read_row((_, version, document, live_since, author): Row) -> Result<RulesVersion, StoreError> {
    Ok(RulesVersion {
        version: read::count("reply_rules.version", version)?,
        document,
        live_since: read::time(live_since),
        author: read::text("reply_rules.author", &author)?,
    })
}

/// One version.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    version: u64,
) -> Result<Option<RulesVersion>, StoreError> {
    reply_rules::table
        .find((tenant.as_str(), read::stored_count(version)))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The live version.
pub fn live(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Option<RulesVersion>, StoreError> {
    Ok(page(connection, tenant, None, 1)?.pop())
}

/// Versions below `before`, newest first.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    before: Option<u64>,
    limit: i64,
) -> Result<Vec<RulesVersion>, StoreError> {
    reply_rules::table
        .filter(reply_rules::tenant.eq(tenant.as_str()))
        .filter(reply_rules::version.lt(before.map_or(i64::MAX, read::stored_count)))
        .order(reply_rules::version.desc())
        .limit(limit)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// Puts a version live. Two of the same number cannot both be.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    rules: &RulesVersion,
) -> Result<(), StoreError> {
    diesel::insert_into(reply_rules::table)
        .values((
            reply_rules::tenant.eq(tenant.as_str()),
            reply_rules::version.eq(read::stored_count(rules.version)),
            reply_rules::document.eq(&rules.document),
            reply_rules::live_since.eq(rules.live_since.unix_milliseconds()),
            reply_rules::author.eq(rules.author.to_string()),
        ))
        .execute(connection)?;
    Ok(())
}
