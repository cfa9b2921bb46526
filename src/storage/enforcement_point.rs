//! Enforcement points.

use super::credential::Revoked;
use super::{AnyConnection, StoreError, read, schema::enforcement_points};
use crate::domain::{EnforcementPointId, Hash, Label, PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// The program in front of a tool, which asks the gate for agents and states what they may not.
#[derive(Debug, Clone)]
pub struct EnforcementPoint {
    /// Whose tenant.
    pub tenant: TenantSlug,
    /// Its id.
    pub id: EnforcementPointId,
    /// What it is called.
    pub name: Label,
    /// SHA-256 of its secret.
    pub secret_digest: Hash,
    /// When it was registered.
    pub created_at: Timestamp,
    /// The operator who registered it.
    pub created_by: PrincipalId,
    /// Since when and by whom it is revoked.
    pub revoked: Option<Revoked>,
}

type Row = (String, String, String, Vec<u8>, i64, String, Option<i64>, Option<String>);

fn read_row(row: Row) -> Result<EnforcementPoint, StoreError> {
    let (tenant, id, name, secret_digest, created_at, created_by, revoked_at, revoked_by) = row;
    Ok(EnforcementPoint {
        tenant: read::text("enforcement_points.tenant", &tenant)?,
        id: read::text("enforcement_points.id", &id)?,
        name: read::text("enforcement_points.name", &name)?,
        secret_digest: read::hash("enforcement_points.secret_digest", &secret_digest)?,
        created_at: read::time(created_at),
        created_by: read::text("enforcement_points.created_by", &created_by)?,
        revoked: revoked_at.map(|at| Revoked { at: read::time(at), by: revoked_by.unwrap_or_default() }),
    })
}

/// Adds an enforcement point.
pub fn insert(connection: &mut AnyConnection, point: &EnforcementPoint) -> Result<(), StoreError> {
    diesel::insert_into(enforcement_points::table)
        .values((
            enforcement_points::tenant.eq(point.tenant.as_str()),
            enforcement_points::id.eq(point.id.to_string()),
            enforcement_points::name.eq(point.name.as_str()),
            enforcement_points::secret_digest.eq(point.secret_digest.as_bytes().to_vec()),
            enforcement_points::created_at.eq(point.created_at.unix_milliseconds()),
            enforcement_points::created_by.eq(point.created_by.to_string()),
        ))
        .execute(connection)?;
    Ok(())
}

/// The enforcement point of that id.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EnforcementPointId,
) -> Result<Option<EnforcementPoint>, StoreError> {
    enforcement_points::table
        .find((tenant.as_str(), id.to_string()))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The enforcement point of that id in whichever tenant has it: ids are unique, and its secret proves the caller.
pub fn find_anywhere(
    connection: &mut AnyConnection,
    id: EnforcementPointId,
) -> Result<Option<EnforcementPoint>, StoreError> {
    enforcement_points::table
        .filter(enforcement_points::id.eq(id.to_string()))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The tenant's enforcement points after `after`, in the order of their ids.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<EnforcementPoint>, StoreError> {
    enforcement_points::table
        .filter(enforcement_points::tenant.eq(tenant.as_str()))
        .filter(enforcement_points::id.gt(after.unwrap_or_default().to_owned()))
        .order(enforcement_points::id)
        .limit(limit)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// Revokes an enforcement point that is not revoked yet; `false` otherwise.
pub fn revoke(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EnforcementPointId,
    revoked: &Revoked,
) -> Result<bool, StoreError> {
    let changed = diesel::update(
        enforcement_points::table
            .find((tenant.as_str(), id.to_string()))
            .filter(enforcement_points::revoked_at.is_null()),
    )
    .set((
        enforcement_points::revoked_at.eq(Some(revoked.at.unix_milliseconds())),
        enforcement_points::revoked_by.eq(Some(&revoked.by)),
    ))
    .execute(connection)?;
    Ok(changed == 1)
}
