//! Counterparties a principal has approved before.

use super::{AnyConnection, StoreError, schema::known_counterparties as known};
use crate::domain::{DecisionId, ExternalName, PrincipalId, TenantSlug, Timestamp};
use crate::storage::read;
use diesel::prelude::*;

/// Adds a name unless it is there; `true` if it is new.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    name: &ExternalName,
    decision: DecisionId,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let key = (tenant.as_str(), principal.to_string(), name.as_str());
    if known::table.find(key).select(known::since).first::<i64>(connection).optional()?.is_some() {
        return Ok(false);
    }
    diesel::insert_into(known::table)
        .values((
            known::tenant.eq(tenant.as_str()),
            known::principal.eq(principal.to_string()),
            known::name.eq(name.as_str()),
            known::decision.eq(decision.to_string()),
            known::since.eq(since.unix_milliseconds()),
        ))
        .execute(connection)?;
    Ok(true)
}

/// All of a principal's, by name.
pub fn of_principal(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
) -> Result<Vec<ExternalName>, StoreError> {
    known::table
        .filter(known::tenant.eq(tenant.as_str()).and(known::principal.eq(principal.to_string())))
        .order(known::name)
        .select(known::name)
        .load::<String>(connection)?
        .iter()
        .map(|name| read::text("known_counterparties.name", name))
        .collect()
}
