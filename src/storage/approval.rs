//! Whose yes a decision has, where it takes more than one.

use super::schema::{decision_approvals, principals};
use super::{AnyConnection, StoreError, read};
use crate::domain::{DecisionId, Label, Roles, TenantSlug, Timestamp};
use crate::engine::step::Given;
use diesel::prelude::*;
use std::collections::HashMap;

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

/// A yes as it is shown: whose, and when.
#[derive(Debug, Clone)]
pub struct Noted {
    /// The yes.
    pub given: Given,
    /// What its giver is called.
    pub name: Label,
    /// When it was given.
    pub at: Timestamp,
}

/// Every yes a decision has, the first one first. Roles are those held then and still: a yes counts as long as
/// whoever gave it may give one.
pub fn of_decision(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decision: DecisionId,
) -> Result<Vec<Given>, StoreError> {
    let mut noted = of_decisions(connection, tenant, [decision])?;
    Ok(noted.remove(&decision).unwrap_or_default().into_iter().map(|noted| noted.given).collect())
}

/// Every yes of several decisions, each decision's first one first; one query, however many they are.
pub fn of_decisions(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decisions: impl IntoIterator<Item = DecisionId>,
) -> Result<HashMap<DecisionId, Vec<Noted>>, StoreError> {
    let decisions: Vec<String> = decisions.into_iter().map(|id| id.to_string()).collect();
    let people = principals::tenant
        .eq(decision_approvals::tenant)
        .and(principals::id.eq(decision_approvals::principal));
    let rows = decision_approvals::table
        .inner_join(principals::table.on(people))
        .filter(
            decision_approvals::tenant
                .eq(tenant.as_str())
                .and(decision_approvals::decision.eq_any(decisions)),
        )
        .order((decision_approvals::at, decision_approvals::principal))
        .select((
            decision_approvals::decision,
            decision_approvals::principal,
            decision_approvals::roles,
            principals::roles,
            principals::name,
            decision_approvals::at,
        ))
        .load::<(String, String, String, String, String, i64)>(connection)?;
    let mut noted: HashMap<DecisionId, Vec<Noted>> = HashMap::new();
    for (decision, principal, then, now, name, at) in rows {
        let then = read_roles("decision_approvals.roles", &then)?;
        let now = read_roles("principals.roles", &now)?;
        let given = Given {
            by: read::text("decision_approvals.principal", &principal)?,
            roles: then.iter().filter(|role| now.contains(*role)).collect(),
        };
        let one = Noted { given, name: read::text("principals.name", &name)?, at: read::time(at) };
        noted.entry(read::text("decision_approvals.decision", &decision)?).or_default().push(one);
    }
    Ok(noted)
}

/// Every yes a decision has as it was noted: whose, with which roles, and when.
pub fn noted(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decision: DecisionId,
) -> Result<Vec<(String, String, Timestamp)>, StoreError> {
    let rows = decision_approvals::table
        .filter(decision_approvals::tenant.eq(tenant.as_str()))
        .filter(decision_approvals::decision.eq(decision.to_string()))
        .select((decision_approvals::principal, decision_approvals::roles, decision_approvals::at))
        .load::<(String, String, i64)>(connection)?;
    Ok(rows.into_iter().map(|(by, roles, at)| (by, roles, read::time(at))).collect())
}

fn read_roles(place: &'static str, text: &str) -> Result<Roles, StoreError> {
    Roles::from_space_separated(text).map_err(|detail| StoreError::Corrupt { place, detail })
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
