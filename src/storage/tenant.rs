//! Tenants.

use super::{AnyConnection, StoreError, read, schema::tenants};
use crate::domain::{TenantId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// A club or company with its own people, policy, keys and log.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// Its name in every key.
    pub slug: TenantSlug,
    /// Names the chain of what the service itself records.
    pub id: TenantId,
    /// The zone its calendar follows.
    pub zone: chrono_tz::Tz,
    /// The origin of its checkpoints, fixed at setup.
    pub origin: String,
    /// `iss` and `aud` of its tokens, fixed at setup.
    pub issuer: String,
    /// When it was set up.
    pub created_at: Timestamp,
}

type Row = (String, String, String, String, String, i64);

fn read_row((slug, id, zone, origin, issuer, created_at): Row) -> Result<Tenant, StoreError> {
    Ok(Tenant {
        slug: read::text("tenants.slug", &slug)?,
        id: read::text("tenants.id", &id)?,
        zone: read::text("tenants.zone", &zone)?,
        origin,
        issuer,
        created_at: read::time(created_at),
    })
}

/// Adds a tenant.
pub fn insert(connection: &mut AnyConnection, tenant: &Tenant) -> Result<(), StoreError> {
    diesel::insert_into(tenants::table)
        .values((
            tenants::slug.eq(tenant.slug.as_str()),
            tenants::id.eq(tenant.id.to_string()),
            tenants::zone.eq(tenant.zone.name()),
            tenants::origin.eq(&tenant.origin),
            tenants::issuer.eq(&tenant.issuer),
            tenants::created_at.eq(tenant.created_at.unix_milliseconds()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The tenant of that name.
pub fn find(connection: &mut AnyConnection, slug: &TenantSlug) -> Result<Option<Tenant>, StoreError> {
    tenants::table.find(slug.as_str()).first::<Row>(connection).optional()?.map(read_row).transpose()
}

/// All tenants, by name.
pub fn all(connection: &mut AnyConnection) -> Result<Vec<Tenant>, StoreError> {
    tenants::table.order(tenants::slug).load::<Row>(connection)?.into_iter().map(read_row).collect()
}
