//! The tenants' keys, wrapped by the master key.

use super::{AnyConnection, StoreError, read, schema::keys};
use crate::domain::{KeyId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// A stored key; its private half is readable under the master key alone.
#[derive(Debug, Clone)]
pub struct StoredKey {
    /// Whose it is.
    pub tenant: TenantSlug,
    /// Its name in receipts and tokens.
    pub id: KeyId,
    /// What it is for, as the crypto layer names purposes.
    pub purpose: String,
    /// The public half, where there is one.
    pub public: Option<Vec<u8>>,
    /// The private half, wrapped.
    pub wrapped: Vec<u8>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when nothing new is made with it.
    pub retired_at: Option<Timestamp>,
}

type Row = (String, String, String, Option<Vec<u8>>, Vec<u8>, i64, Option<i64>);

fn read_row(
    (tenant, id, purpose, public, wrapped, created_at, retired_at): Row,
) -> Result<StoredKey, StoreError> {
    Ok(StoredKey {
        tenant: read::text("keys.tenant", &tenant)?,
        id: read::text("keys.id", &id)?,
        purpose,
        public,
        wrapped,
        created_at: read::time(created_at),
        retired_at: read::optional_time(retired_at),
    })
}

/// Adds a key.
pub fn insert(connection: &mut AnyConnection, key: &StoredKey) -> Result<(), StoreError> {
    diesel::insert_into(keys::table)
        .values((
            keys::tenant.eq(key.tenant.as_str()),
            keys::id.eq(key.id.to_string()),
            keys::purpose.eq(&key.purpose),
            keys::public.eq(&key.public),
            keys::wrapped.eq(&key.wrapped),
            keys::created_at.eq(key.created_at.unix_milliseconds()),
            keys::retired_at.eq(read::stored_time(key.retired_at)),
        ))
        .execute(connection)?;
    Ok(())
}

/// The keys of one tenant, oldest first.
pub fn of_tenant(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Vec<StoredKey>, StoreError> {
    keys::table
        .filter(keys::tenant.eq(tenant.as_str()))
        .order((keys::created_at, keys::id))
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// Ends the time in which new things are made with a key; `false` if that has ended already.
pub fn retire(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: KeyId,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let in_force = keys::table.find((tenant.as_str(), id.to_string())).filter(keys::retired_at.is_null());
    let retired = keys::retired_at.eq(Some(at.unix_milliseconds()));
    Ok(diesel::update(in_force).set(retired).execute(connection)? == 1)
}
