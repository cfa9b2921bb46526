//! The catalogue of intents: one row a change; an intent's live entry is its newest.

use super::{AnyConnection, StoreError, read, schema::catalogue};
use crate::domain::{Intent, PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// What the catalogue says of one intent.
#[derive(Debug, Clone)]
pub struct CatalogueVersion {
    /// The catalogue's version since this entry; counts from 1 over all intents.
    pub version: u64,
    /// The intent.
    pub intent: Intent,
    /// The entry, as JSON.
    pub document: String,
    /// Since when it is live.
    pub live_since: Timestamp,
    /// The operator who registered it.
    pub author: PrincipalId,
}

type Row = (String, i64, String, String, i64, String);

fn read_row((_, version, intent, document, live_since, author): Row) -> Result<CatalogueVersion, StoreError> {
    Ok(CatalogueVersion {
        version: read::count("catalogue.version", version)?,
        intent: read::text("catalogue.intent", &intent)?,
        document,
        live_since: read::time(live_since),
        author: read::text("catalogue.author", &author)?,
    })
}

/// Registers an intent, or changes what is said of it.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    entry: &CatalogueVersion,
) -> Result<(), StoreError> {
    diesel::insert_into(catalogue::table)
        .values((
            catalogue::tenant.eq(tenant.as_str()),
            catalogue::version.eq(read::stored_count(entry.version)),
            catalogue::intent.eq(entry.intent.as_str()),
            catalogue::document.eq(&entry.document),
            catalogue::live_since.eq(entry.live_since.unix_milliseconds()),
            catalogue::author.eq(entry.author.to_string()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The catalogue's version: 0 while it is empty.
pub fn version(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<u64, StoreError> {
    let newest = catalogue::table
        .filter(catalogue::tenant.eq(tenant.as_str()))
        .select(catalogue::version)
        .order(catalogue::version.desc())
        .first::<i64>(connection)
        .optional()?;
    read::count("catalogue.version", newest.unwrap_or(0))
}

/// The live entries of all intents, by name.
pub fn live(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
) -> Result<Vec<CatalogueVersion>, StoreError> {
    let rows = catalogue::table
        .filter(catalogue::tenant.eq(tenant.as_str()))
        .order((catalogue::intent, catalogue::version.desc()))
        .load::<Row>(connection)?;
    let mut entries: Vec<CatalogueVersion> = Vec::new();
    for row in rows {
        let entry = read_row(row)?;
        if entries.last().is_none_or(|last| last.intent != entry.intent) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The live entry of one intent.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    intent: &Intent,
) -> Result<Option<CatalogueVersion>, StoreError> {
    at_version(connection, tenant, intent, u64::MAX)
}

/// The entry of one intent that was live when the catalogue had this version.
pub fn at_version(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    intent: &Intent,
    version: u64,
) -> Result<Option<CatalogueVersion>, StoreError> {
    catalogue::table
        .filter(catalogue::tenant.eq(tenant.as_str()).and(catalogue::intent.eq(intent.as_str())))
        .filter(catalogue::version.le(read::stored_count(version)))
        .order(catalogue::version.desc())
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}
