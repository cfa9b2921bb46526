//! People's signed-in sessions, found by the digest of their token.

use super::{AnyConnection, StoreError, read, schema::sessions};
use crate::domain::{Hash, PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// A signed-in session.
#[derive(Debug, Clone)]
pub struct Session {
    /// Whose tenant.
    pub tenant: TenantSlug,
    /// SHA-256 of the token.
    pub digest: Hash,
    /// Who signed in.
    pub principal: PrincipalId,
    /// When; acts that need a fresh sign-in look at this.
    pub signed_in_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Timestamp,
}

type Row = (String, Vec<u8>, String, i64, i64);

/// Adds a session.
pub fn insert(connection: &mut AnyConnection, session: &Session) -> Result<(), StoreError> {
    diesel::insert_into(sessions::table)
        .values((
            sessions::tenant.eq(session.tenant.as_str()),
            sessions::digest.eq(session.digest.as_bytes().to_vec()),
            sessions::principal.eq(session.principal.to_string()),
            sessions::signed_in_at.eq(session.signed_in_at.unix_milliseconds()),
            sessions::last_used_at.eq(session.last_used_at.unix_milliseconds()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The session whose token has that digest.
pub fn find(connection: &mut AnyConnection, digest: Hash) -> Result<Option<Session>, StoreError> {
    let row = sessions::table.find(digest.as_bytes().to_vec()).first::<Row>(connection).optional()?;
    row.map(|(tenant, _, principal, signed_in_at, last_used_at)| {
        Ok(Session {
            tenant: read::text("sessions.tenant", &tenant)?,
            digest,
            principal: read::text("sessions.principal", &principal)?,
            signed_in_at: read::time(signed_in_at),
            last_used_at: read::time(last_used_at),
        })
    })
    .transpose()
}

/// Notes that a session was used.
pub fn touch(connection: &mut AnyConnection, digest: Hash, at: Timestamp) -> Result<(), StoreError> {
    diesel::update(sessions::table.find(digest.as_bytes().to_vec()))
        .set(sessions::last_used_at.eq(at.unix_milliseconds()))
        .execute(connection)?;
    Ok(())
}

/// Ends a session; `false` if there was none.
pub fn delete(connection: &mut AnyConnection, digest: Hash) -> Result<bool, StoreError> {
    Ok(diesel::delete(sessions::table.find(digest.as_bytes().to_vec())).execute(connection)? == 1)
}

/// Ends a person's other sessions, as a changed password does.
pub fn delete_others(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    keep: Hash,
) -> Result<usize, StoreError> {
    Ok(diesel::delete(
        sessions::table
            .filter(sessions::tenant.eq(tenant.as_str()))
            .filter(sessions::principal.eq(principal.to_string()))
            .filter(sessions::digest.ne(keep.as_bytes().to_vec())),
    )
    .execute(connection)?)
}

/// Ends everybody's sessions.
pub fn delete_all(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<usize, StoreError> {
    Ok(diesel::delete(sessions::table.filter(sessions::tenant.eq(tenant.as_str()))).execute(connection)?)
}

/// Removes sessions nobody can use any more.
pub fn delete_idle_since(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    before: Timestamp,
) -> Result<usize, StoreError> {
    let idle = sessions::table
        .filter(sessions::tenant.eq(tenant.as_str()))
        .filter(sessions::last_used_at.lt(before.unix_milliseconds()));
    Ok(diesel::delete(idle).execute(connection)?)
}
