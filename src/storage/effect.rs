//! The ledger of effects: what an allow lets happen once, and how it ended.

use super::{AnyConnection, StoreError, read, schema::effects};
pub use crate::domain::EffectStatus;
use crate::domain::{
    AgentId, CredentialId, EffectId, EnforcementPointId, Intent, PrincipalId, TenantSlug, Timestamp,
};
use diesel::prelude::*;

/// One effect.
#[derive(Debug, Clone)]
pub struct Effect {
    /// Its id.
    pub id: EffectId,
    /// For whom it happens.
    pub principal: PrincipalId,
    /// Which agent makes it happen.
    pub agent: AgentId,
    /// With which credential.
    pub credential: CredentialId,
    /// What it is.
    pub intent: Intent,
    /// Where it stands.
    pub status: EffectStatus,
    /// Whether only an enforcement point or a person may say that it failed.
    pub attested: bool,
    /// The receipt of the allow.
    pub log_index: u64,
    /// What the tool hands its provider as idempotency key.
    pub idempotency_key: String,
    /// When it was allowed.
    pub claimed_at: Timestamp,
    /// When it becomes unknown unless reported on.
    pub report_by: Timestamp,
    /// When it ended or became unknown.
    pub ended_at: Option<Timestamp>,
    /// The report as it was given, in canonical JSON.
    pub reported: Option<String>,
    /// The enforcement point that reported last, if one did.
    pub enforcement_point: Option<EnforcementPointId>,
}

pub(super) type Row = (
    (String, String, String, String, String, String, i64, i64, String),
    (i64, i64, Option<i64>, Option<String>, Option<String>),
);

#[rustfmt::skip]
pub(super) type Columns = (
    (effects::id, effects::principal, effects::agent, effects::credential, effects::intent, effects::status,
     effects::attested, effects::log_index, effects::idempotency_key),
    (effects::claimed_at, effects::report_by, effects::ended_at, effects::reported, effects::enforcement_point),
);

#[rustfmt::skip]
pub(super) const COLUMNS: Columns = (
    (effects::id, effects::principal, effects::agent, effects::credential, effects::intent, effects::status,
     effects::attested, effects::log_index, effects::idempotency_key),
    (effects::claimed_at, effects::report_by, effects::ended_at, effects::reported, effects::enforcement_point),
);

pub(super) fn read_row((subject, course): Row) -> Result<Effect, StoreError> {
    let (id, principal, agent, credential, intent, status, attested, log_index, idempotency_key) = subject;
    let (claimed_at, report_by, ended_at, reported, enforcement_point) = course;
    Ok(Effect {
        id: read::text("effects.id", &id)?,
        principal: read::text("effects.principal", &principal)?,
        agent: read::text("effects.agent", &agent)?,
        credential: read::text("effects.credential", &credential)?,
        intent: read::text("effects.intent", &intent)?,
        status: read::text("effects.status", &status)?,
        attested: attested != 0,
        log_index: read::count("effects.log_index", log_index)?,
        idempotency_key,
        claimed_at: read::time(claimed_at),
        report_by: read::time(report_by),
        ended_at: read::optional_time(ended_at),
        reported,
        enforcement_point: read::optional_text("effects.enforcement_point", enforcement_point.as_deref())?,
    })
}

/// Claims an effect.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    effect: &Effect,
) -> Result<(), StoreError> {
    diesel::insert_into(effects::table)
        .values((
            effects::tenant.eq(tenant.as_str()),
            effects::id.eq(effect.id.to_string()),
            effects::principal.eq(effect.principal.to_string()),
            effects::agent.eq(effect.agent.to_string()),
            effects::credential.eq(effect.credential.to_string()),
            effects::intent.eq(effect.intent.as_str()),
            effects::status.eq(effect.status.as_str()),
            effects::attested.eq(i64::from(effect.attested)),
            effects::log_index.eq(read::stored_count(effect.log_index)),
            effects::idempotency_key.eq(&effect.idempotency_key),
            effects::claimed_at.eq(effect.claimed_at.unix_milliseconds()),
            effects::report_by.eq(effect.report_by.unix_milliseconds()),
            effects::due_at.eq(Some(effect.report_by.unix_milliseconds())),
        ))
        .execute(connection)?;
    Ok(())
}

/// The effect of that id.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EffectId,
) -> Result<Option<Effect>, StoreError> {
    effects::table
        .find((tenant.as_str(), id.to_string()))
        .select(COLUMNS)
        .get_result::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Moves an effect that stands at `from`; `false` if it no longer does.
pub fn turn(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EffectId,
    from: EffectStatus,
    to: EffectStatus,
    reported: Option<&str>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let changed = diesel::update(
        effects::table.find((tenant.as_str(), id.to_string())).filter(effects::status.eq(from.as_str())),
    )
    .set((
        effects::status.eq(to.as_str()),
        effects::reported.eq(reported),
        effects::ended_at.eq(Some(now.unix_milliseconds())),
        effects::due_at.eq(None::<i64>),
    ))
    .execute(connection)?;
    Ok(changed == 1)
}

/// Says when it is looked at again whether there is room to ask how an effect ended that nobody knows the end of.
pub fn ask_at(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EffectId,
    at: Timestamp,
) -> Result<(), StoreError> {
    diesel::update(effects::table.find((tenant.as_str(), id.to_string())))
        .set(effects::due_at.eq(Some(at.unix_milliseconds())))
        .execute(connection)?;
    Ok(())
}

/// Takes an unknown effect whose question is due; `false` if none is, or it was taken.
pub fn take_due(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EffectId,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let place = effects::table
        .find((tenant.as_str(), id.to_string()))
        .filter(effects::status.eq(EffectStatus::Unknown.as_str()))
        .filter(effects::due_at.le(now.unix_milliseconds()));
    Ok(diesel::update(place).set(effects::due_at.eq(None::<i64>)).execute(connection)? == 1)
}

/// Puts off all questions of an agent that are due.
pub fn put_off(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    agent: AgentId,
    (now, until): (Timestamp, Timestamp),
) -> Result<(), StoreError> {
    let due = effects::table
        .filter(effects::tenant.eq(tenant.as_str()).and(effects::agent.eq(agent.to_string())))
        .filter(effects::status.eq(EffectStatus::Unknown.as_str()))
        .filter(effects::due_at.le(now.unix_milliseconds()));
    diesel::update(due).set(effects::due_at.eq(Some(until.unix_milliseconds()))).execute(connection)?;
    Ok(())
}

/// Notes that an enforcement point reported on an effect.
pub fn set_reporter(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EffectId,
    point: EnforcementPointId,
) -> Result<(), StoreError> {
    diesel::update(effects::table.find((tenant.as_str(), id.to_string())))
        .set(effects::enforcement_point.eq(Some(point.to_string())))
        .execute(connection)?;
    Ok(())
}

/// Ends the effects of a withdrawn allow as failed.
pub fn withdraw(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    log_index: u64,
    at: Timestamp,
) -> Result<usize, StoreError> {
    Ok(diesel::update(
        effects::table
            .filter(
                effects::tenant.eq(tenant.as_str()).and(effects::log_index.eq(read::stored_count(log_index))),
            )
            .filter(effects::status.eq(EffectStatus::Claimed.as_str())),
    )
    .set((
        effects::status.eq(EffectStatus::Failed.as_str()),
        effects::ended_at.eq(Some(at.unix_milliseconds())),
        effects::due_at.eq(None::<i64>),
    ))
    .execute(connection)?)
}

/// Effects nobody reported on in time, and those it is to be looked at whether they are asked about, with their
/// tenants, oldest first.
pub fn due(
    connection: &mut AnyConnection,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(TenantSlug, EffectId)>, StoreError> {
    effects::table
        .filter(effects::due_at.le(now.unix_milliseconds()))
        .order(effects::due_at)
        .limit(limit)
        .select((effects::tenant, effects::id))
        .load::<(String, String)>(connection)?
        .into_iter()
        .map(|(tenant, id)| Ok((read::text("effects.tenant", &tenant)?, read::text("effects.id", &id)?)))
        .collect()
}

/// When the next effect is due.
pub fn next_due(connection: &mut AnyConnection) -> Result<Option<Timestamp>, StoreError> {
    let due: Option<i64> = effects::table
        .filter(effects::due_at.is_not_null())
        .select(diesel::dsl::min(effects::due_at))
        .first(connection)?;
    Ok(due.map(read::time))
}
