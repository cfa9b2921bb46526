//! Decisions in lists: a person's queue, and what one agent asked.

use super::decision::{COLUMNS, Decision, DecisionStatus, Row, read_row};
use super::{AnyConnection, StoreError, schema::decisions};
use crate::domain::{AgentId, PrincipalId, Roles, TenantSlug};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable};
use std::cmp::Reverse;

/// Whose decisions a list holds.
#[derive(Debug, Clone, Copy)]
pub enum Whose {
    /// One person's queue: their own, and what asks for the yes of people with their roles.
    Person(PrincipalId, Roles),
    /// What one agent asked.
    Agent(AgentId),
}

/// Which part of a list is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part<'a> {
    /// Only those that stand there.
    pub status: Option<DecisionStatus>,
    /// Only those with an id below.
    pub before: Option<&'a str>,
}

/// At most `limit` decisions, newest first.
///
/// A person's own and those that ask for their roles are two queries, each along its own index.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    whose: Whose,
    part: Part<'_>,
    limit: i64,
) -> Result<Vec<Decision>, StoreError> {
    match whose {
        Whose::Agent(id) => load(connection, tenant, part, Some(limit), Among::Agent(id)),
        Whose::Person(id, roles) => {
            let own = load(connection, tenant, part, Some(limit), Among::Own(id))?;
            let shared = load(connection, tenant, part, Some(limit), Among::Shared(roles))?;
            let mut all = merged(own, shared);
            all.truncate(usize::try_from(limit).unwrap_or(0));
            Ok(all)
        }
    }
}

/// Everything in a person's queue that is not decided, newest first.
pub fn open(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    person: PrincipalId,
    roles: Roles,
) -> Result<Vec<Decision>, StoreError> {
    let part = Part { status: Some(DecisionStatus::Open), before: None };
    let own = load(connection, tenant, part, None, Among::Own(person))?;
    let shared = load(connection, tenant, part, None, Among::Shared(roles))?;
    Ok(merged(own, shared))
}

/// The two parts of a queue as one list, newest first; what is in both stands once.
fn merged(mut own: Vec<Decision>, shared: Vec<Decision>) -> Vec<Decision> {
    own.extend(shared);
    own.sort_by_key(|decision| Reverse(decision.id));
    own.dedup_by_key(|decision| decision.id);
    own
}

/// Among which decisions is looked.
#[derive(Clone, Copy)]
enum Among {
    /// Those in one person's own queue.
    Own(PrincipalId),
    /// Those that ask for the yes of people with one of these roles.
    Shared(Roles),
    /// Those of one agent.
    Agent(AgentId),
}

type Backend = <AnyConnection as diesel::Connection>::Backend;
type Test = Box<dyn BoxableExpression<decisions::table, Backend, SqlType = Nullable<Bool>>>;

fn load(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    part: Part<'_>,
    limit: Option<i64>,
    among: Among,
) -> Result<Vec<Decision>, StoreError> {
    let mut query = decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()))
        .order(decisions::id.desc())
        .select(COLUMNS)
        .into_boxed();
    query = match among {
        Among::Own(id) => query.filter(decisions::principal.eq(id.to_string())),
        Among::Agent(id) => query.filter(decisions::agent.eq(id.to_string())),
        Among::Shared(roles) => {
            let mut any: Option<Test> = None;
            for role in roles.iter() {
                // Roles stand quoted in the JSON of what is asked for.
                let named = decisions::approvals.like(format!("%\"{}\"%", role.as_str()));
                any = Some(match any {
                    None => Box::new(named),
                    Some(any) => Box::new(any.or(named)),
                });
            }
            let Some(any) = any else { return Ok(Vec::new()) };
            query.filter(decisions::approvals.is_not_null()).filter(any)
        }
    };
    if let Some(status) = part.status {
        query = query.filter(decisions::status.eq(status.as_str()));
    }
    if let Some(before) = part.before {
        query = query.filter(decisions::id.lt(before.to_owned()));
    }
    if let Some(limit) = limit {
        query = query.limit(limit);
    }
    query.load::<Row>(connection)?.into_iter().map(read_row).collect()
}
