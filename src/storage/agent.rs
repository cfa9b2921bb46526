//! Agents.

use super::{AnyConnection, StoreError, read, schema::agents};
use crate::domain::{AgentId, AgentKind, Label, PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// Software that acts for one principal.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Whose tenant.
    pub tenant: TenantSlug,
    /// The agent's id.
    pub id: AgentId,
    /// For whom it acts.
    pub principal: PrincipalId,
    /// What it is called.
    pub name: Label,
    /// What it is for.
    pub kind: AgentKind,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Since when it is no more.
    pub retired_at: Option<Timestamp>,
}

type Row = (String, String, String, String, String, i64, Option<i64>);

fn read_row((tenant, id, principal, name, kind, created_at, retired_at): Row) -> Result<Agent, StoreError> {
    Ok(Agent {
        tenant: read::text("agents.tenant", &tenant)?,
        id: read::text("agents.id", &id)?,
        principal: read::text("agents.principal", &principal)?,
        name: read::text("agents.name", &name)?,
        kind: read::text("agents.kind", &kind)?,
        created_at: read::time(created_at),
        retired_at: read::optional_time(retired_at),
    })
}

/// Adds an agent.
pub fn insert(connection: &mut AnyConnection, agent: &Agent) -> Result<(), StoreError> {
    diesel::insert_into(agents::table)
        .values((
            agents::tenant.eq(agent.tenant.as_str()),
            agents::id.eq(agent.id.to_string()),
            agents::principal.eq(agent.principal.to_string()),
            agents::name.eq(agent.name.as_str()),
            agents::kind.eq(agent.kind.as_str()),
            agents::created_at.eq(agent.created_at.unix_milliseconds()),
            agents::retired_at.eq(read::stored_time(agent.retired_at)),
        ))
        .execute(connection)?;
    Ok(())
}

/// The agent of that id.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: AgentId,
) -> Result<Option<Agent>, StoreError> {
    agents::table
        .find((tenant.as_str(), id.to_string()))
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The tenant's agents of a name, at most so many.
pub fn named(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    name: &str,
    most: usize,
) -> Result<Vec<Agent>, StoreError> {
    agents::table
        .filter(agents::tenant.eq(tenant.as_str()).and(agents::name.eq(name)))
        .filter(agents::kind.eq("answering").and(agents::retired_at.is_null()))
        .order(agents::id)
        .limit(i64::try_from(most).unwrap_or(i64::MAX))
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// One person's agents after `after`, in the order of their ids.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<Agent>, StoreError> {
    agents::table
        .filter(agents::tenant.eq(tenant.as_str()).and(agents::principal.eq(principal.to_string())))
        .filter(agents::id.gt(after.unwrap_or_default().to_owned()))
        .order(agents::id)
        .limit(limit)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// Retires an agent that is not retired yet; `false` otherwise.
pub fn retire(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: AgentId,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let changed = diesel::update(
        agents::table.find((tenant.as_str(), id.to_string())).filter(agents::retired_at.is_null()),
    )
    .set(agents::retired_at.eq(Some(at.unix_milliseconds())))
    .execute(connection)?;
    Ok(changed == 1)
}
