//! Mandates: append-only versions, the highest of which is live.

use super::{AnyConnection, StoreError, read, schema::mandates};
use crate::domain::{MandateId, PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// One version of a principal's mandate.
#[derive(Debug, Clone)]
pub struct MandateVersion {
    /// Whose mandate.
    pub principal: PrincipalId,
    /// Counts from 1.
    pub version: u64,
    /// This version's id.
    pub id: MandateId,
    /// The document, as JSON.
    pub document: String,
    /// How it compares with the version before.
    pub change: String,
    /// Since when it is, or was, live.
    pub live_since: Timestamp,
    /// Who put it live.
    pub author: PrincipalId,
}

type Row = (String, String, i64, String, String, String, i64, String);

fn read_row(
    (_, principal, version, id, document, change, live_since, author): Row,
) -> Result<MandateVersion, StoreError> {
    Ok(MandateVersion {
        principal: read::text("mandates.principal", &principal)?,
        version: read::count("mandates.version", version)?,
        id: read::text("mandates.id", &id)?,
        document,
        change,
        live_since: read::time(live_since),
        author: read::text("mandates.author", &author)?,
    })
}

/// Puts a version live. Two of the same number cannot both be.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    mandate: &MandateVersion,
) -> Result<(), StoreError> {
    diesel::insert_into(mandates::table)
        .values((
            mandates::tenant.eq(tenant.as_str()),
            mandates::principal.eq(mandate.principal.to_string()),
            mandates::version.eq(read::stored_count(mandate.version)),
            mandates::id.eq(mandate.id.to_string()),
            mandates::document.eq(&mandate.document),
            mandates::change.eq(&mandate.change),
            mandates::live_since.eq(mandate.live_since.unix_milliseconds()),
            mandates::author.eq(mandate.author.to_string()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The live version.
pub fn live(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
) -> Result<Option<MandateVersion>, StoreError> {
    Ok(page(connection, tenant, principal, None, 1)?.pop())
}

/// One version.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    version: u64,
) -> Result<Option<MandateVersion>, StoreError> {
    mandates::table
        .find((tenant.as_str(), principal.to_string(), read::stored_count(version)))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Versions below `before`, newest first.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    before: Option<u64>,
    limit: i64,
) -> Result<Vec<MandateVersion>, StoreError> {
    mandates::table
        .filter(mandates::tenant.eq(tenant.as_str()).and(mandates::principal.eq(principal.to_string())))
        .filter(mandates::version.lt(before.map_or(i64::MAX, read::stored_count)))
        .order(mandates::version.desc())
        .limit(limit)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}
