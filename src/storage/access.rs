//! Calls without a leaf of their own, and the minutes whose one leaf commits to them.

use super::receipt::Filter;
use super::{AnyConnection, StoreError, read, schema::access_minutes, schema::accesses};
use crate::domain::{AgentId, CallId, Chain, CredentialId, PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// Who a call is recorded against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The chain its minute's leaf goes to.
    pub chain: Chain,
    /// The person.
    pub principal: Option<PrincipalId>,
    /// The agent.
    pub agent: Option<AgentId>,
    /// The credential.
    pub credential: Option<CredentialId>,
}

impl Subject {
    /// A person's own calls.
    pub fn of_principal(principal: PrincipalId) -> Self {
        Self { chain: Chain::Principal(principal), principal: Some(principal), agent: None, credential: None }
    }

    /// The calls of a credential.
    pub fn of_credential(credential: CredentialId, agent: AgentId, principal: PrincipalId) -> Self {
        Self {
            chain: Chain::Credential(credential),
            principal: Some(principal),
            agent: Some(agent),
            credential: Some(credential),
        }
    }
}

/// A call listed by itself.
#[derive(Debug, Clone)]
pub struct Access {
    /// Its id.
    pub id: CallId,
    /// When it came.
    pub at: Timestamp,
    /// Against whom it stands.
    pub subject: Subject,
    /// The HTTP method.
    pub method: String,
    /// The route's pattern, never the path with its values.
    pub route: String,
    /// The status it was answered with.
    pub status: u16,
    /// What was wrong, where something was.
    pub detail: Option<String>,
}

pub(super) type Row = (
    String,
    String,
    i64,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
    String,
    i64,
    Option<String>,
);

pub(super) fn read_row(row: Row) -> Result<Access, StoreError> {
    let (_, id, at, chain, principal, agent, credential, method, route, status, detail) = row;
    Ok(Access {
        id: read::text("accesses.id", &id)?,
        at: read::time(at),
        subject: Subject {
            chain: read::text("accesses.chain", &chain)?,
            principal: read::optional_text("accesses.principal", principal.as_deref())?,
            agent: read::optional_text("accesses.agent", agent.as_deref())?,
            credential: read::optional_text("accesses.credential", credential.as_deref())?,
        },
        method,
        route,
        status: u16::try_from(status)
            .map_err(|_| StoreError::Corrupt { place: "accesses.status", detail: status.to_string() })?,
        detail,
    })
}

/// Lists a call.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    access: &Access,
) -> Result<(), StoreError> {
    diesel::insert_into(accesses::table)
        .values((
            accesses::tenant.eq(tenant.as_str()),
            accesses::id.eq(access.id.to_string()),
            accesses::at.eq(access.at.unix_milliseconds()),
            accesses::chain.eq(access.subject.chain.to_string()),
            accesses::principal.eq(access.subject.principal.map(|id| id.to_string())),
            accesses::agent.eq(access.subject.agent.map(|id| id.to_string())),
            accesses::credential.eq(access.subject.credential.map(|id| id.to_string())),
            accesses::method.eq(&access.method),
            accesses::route.eq(&access.route),
            accesses::status.eq(i64::from(access.status)),
            accesses::detail.eq(&access.detail),
        ))
        .execute(connection)?;
    Ok(())
}

/// Listed calls that fit the filter and whose id sorts below `before`, newest first; as with receipts, `before`
/// is what follows an id's prefix.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    filter: &Filter,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Access>, StoreError> {
    if filter.outcome.is_some() || filter.intent.is_some() || filter.kind.is_some() {
        return Ok(Vec::new());
    }
    let mut query = accesses::table
        .filter(accesses::tenant.eq(tenant.as_str()))
        .order(accesses::id.desc())
        .limit(limit)
        .into_boxed();
    if let Some(credential) = filter.credential {
        query = query.filter(accesses::chain.eq(credential.to_string()));
    }
    if let Some(principal) = filter.principal {
        query = query.filter(accesses::principal.eq(principal.to_string()));
    }
    if let Some(agent) = filter.agent {
        query = query.filter(accesses::agent.eq(agent.to_string()));
    }
    if let Some(from) = filter.from {
        query = query.filter(accesses::at.ge(from.unix_milliseconds()));
    }
    if let Some(until) = filter.until {
        query = query.filter(accesses::at.lt(until.unix_milliseconds()));
    }
    if let Some(before) = before {
        query = query.filter(accesses::id.lt(format!("call_{before}")));
    }
    query.load::<Row>(connection)?.into_iter().map(read_row).collect()
}

/// The listed calls of one chain in `from..until`, oldest first.
pub fn of_chain_between(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: &Chain,
    from: Timestamp,
    until: Timestamp,
) -> Result<Vec<Access>, StoreError> {
    accesses::table
        .filter(accesses::tenant.eq(tenant.as_str()).and(accesses::chain.eq(chain.to_string())))
        .filter(accesses::at.ge(from.unix_milliseconds()).and(accesses::at.lt(until.unix_milliseconds())))
        .order(accesses::id)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// What is known of one chain's minute before its leaf is written.
#[derive(Debug, Clone)]
pub struct Minute {
    /// Against whom.
    pub subject: Subject,
    /// Minutes since 1970.
    pub minute: i64,
    /// How many calls there were, listed or not.
    pub count: u64,
    /// How many of them are listed by themselves.
    pub listed: u64,
    /// How many of each kind, as JSON.
    pub counts: String,
    /// The place of its leaf, once that is written: then nothing is added to it.
    pub log_index: Option<u64>,
}

type MinuteRow =
    (String, String, i64, Option<String>, Option<String>, Option<String>, i64, i64, String, Option<i64>);

fn read_minute(row: MinuteRow) -> Result<Minute, StoreError> {
    let (_, chain, minute, principal, agent, credential, count, listed, counts, log_index) = row;
    Ok(Minute {
        subject: Subject {
            chain: read::text("access_minutes.chain", &chain)?,
            principal: read::optional_text("access_minutes.principal", principal.as_deref())?,
            agent: read::optional_text("access_minutes.agent", agent.as_deref())?,
            credential: read::optional_text("access_minutes.credential", credential.as_deref())?,
        },
        minute,
        count: read::count("access_minutes.count", count)?,
        listed: read::count("access_minutes.listed", listed)?,
        counts,
        log_index: read::optional_count("access_minutes.log_index", log_index)?,
    })
}

/// One chain's minute as it stands.
pub fn find_minute(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: &Chain,
    minute: i64,
) -> Result<Option<Minute>, StoreError> {
    access_minutes::table
        .find((tenant.as_str(), chain.to_string(), minute))
        .first::<MinuteRow>(connection)
        .optional()?
        .map(read_minute)
        .transpose()
}

/// Writes a minute for the first time.
pub fn insert_minute(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    minute: &Minute,
) -> Result<(), StoreError> {
    diesel::insert_into(access_minutes::table)
        .values((
            access_minutes::tenant.eq(tenant.as_str()),
            access_minutes::chain.eq(minute.subject.chain.to_string()),
            access_minutes::minute.eq(minute.minute),
            access_minutes::principal.eq(minute.subject.principal.map(|id| id.to_string())),
            access_minutes::agent.eq(minute.subject.agent.map(|id| id.to_string())),
            access_minutes::credential.eq(minute.subject.credential.map(|id| id.to_string())),
            access_minutes::count.eq(read::stored_count(minute.count)),
            access_minutes::listed.eq(read::stored_count(minute.listed)),
            access_minutes::counts.eq(&minute.counts),
        ))
        .execute(connection)?;
    Ok(())
}

/// Writes a minute again, with more calls in it; a failure if its leaf is already written.
pub fn update_minute(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    minute: &Minute,
) -> Result<(), StoreError> {
    let changed = diesel::update(
        access_minutes::table
            .find((tenant.as_str(), minute.subject.chain.to_string(), minute.minute))
            .filter(access_minutes::log_index.is_null()),
    )
    .set((
        access_minutes::count.eq(read::stored_count(minute.count)),
        access_minutes::listed.eq(read::stored_count(minute.listed)),
        access_minutes::counts.eq(&minute.counts),
    ))
    .execute(connection)?;
    if changed == 1 {
        Ok(())
    } else {
        Err(StoreError::Failed("a minute was closed inside its transaction".into()))
    }
}

/// Minutes before `minute` that have no leaf yet, oldest first.
pub fn open_minutes(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    minute: i64,
    limit: i64,
) -> Result<Vec<Minute>, StoreError> {
    access_minutes::table
        .filter(access_minutes::tenant.eq(tenant.as_str()).and(access_minutes::minute.lt(minute)))
        .filter(access_minutes::log_index.is_null())
        .order((access_minutes::minute, access_minutes::chain))
        .limit(limit)
        .load::<MinuteRow>(connection)?
        .into_iter()
        .map(read_minute)
        .collect()
}

/// The tenants that have minutes before `minute` without a leaf.
pub fn tenants_with_open_minutes(
    connection: &mut AnyConnection,
    minute: i64,
) -> Result<Vec<TenantSlug>, StoreError> {
    access_minutes::table
        .filter(access_minutes::log_index.is_null().and(access_minutes::minute.lt(minute)))
        .select(access_minutes::tenant)
        .distinct()
        .load::<String>(connection)?
        .iter()
        .map(|tenant| read::text("access_minutes.tenant", tenant))
        .collect()
}

/// Notes the leaf that commits to a minute; `false` if it has one.
pub fn close_minute(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: &Chain,
    minute: i64,
    log_index: u64,
) -> Result<bool, StoreError> {
    let changed = diesel::update(
        access_minutes::table
            .find((tenant.as_str(), chain.to_string(), minute))
            .filter(access_minutes::log_index.is_null()),
    )
    .set(access_minutes::log_index.eq(Some(read::stored_count(log_index))))
    .execute(connection)?;
    Ok(changed == 1)
}
