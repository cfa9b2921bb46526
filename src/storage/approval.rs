//! Whose yes a decision has, where it takes more than one.

use super::{AnyConnection, StoreError, read, schema::decision_approvals};
use crate::domain::{DecisionId, Roles, TenantSlug, Timestamp};
use crate::engine::step::Given;
use diesel::prelude::*;

/// Notes a person's yes.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decision: DecisionId,
    given: &Given,
    at: Timestamp,
) -> Result<(), StoreError> {
    diesel::insert_into(decision_approvals::table)
        .values((
            decision_approvals::tenant.eq(tenant.as_str()),
            decision_approvals::decision.eq(decision.to_string()),
            decision_approvals::principal.eq(given.by.to_string()),
            decision_approvals::roles.eq(given.roles.to_string()),
            decision_approvals::at.eq(at.unix_milliseconds()),
        ))
        .execute(connection)?;
    Ok(())
}

/// Every yes a decision has, the first one first.
pub fn of_decision(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decision: DecisionId,
) -> Result<Vec<Given>, StoreError> {
    decision_approvals::table
        .filter(
            decision_approvals::tenant
                .eq(tenant.as_str())
                .and(decision_approvals::decision.eq(decision.to_string())),
        )
        .order((decision_approvals::at, decision_approvals::principal))
        .select((decision_approvals::principal, decision_approvals::roles))
        .load::<(String, String)>(connection)?
        .into_iter()
        .map(|(principal, roles)| {
            let by = read::text("decision_approvals.principal", &principal)?;
            let roles = Roles::from_space_separated(&roles)
                .map_err(|detail| StoreError::Corrupt { place: "decision_approvals.roles", detail })?;
            Ok(Given { by, roles })
        })
        .collect()
}

/// Takes back every yes a decision has.
pub fn forget(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decision: DecisionId,
) -> Result<usize, StoreError> {
    Ok(diesel::delete(
        decision_approvals::table.filter(
            decision_approvals::tenant
                .eq(tenant.as_str())
                .and(decision_approvals::decision.eq(decision.to_string())),
        ),
    )
    .execute(connection)?)
}
