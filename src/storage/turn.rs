//! How a decision goes on: what it turns into, and when its time is over.

use super::{AnyConnection, StoreError, read, schema::decisions};
use crate::domain::{DecisionId, DecisionStatus, PrincipalId, TenantSlug, Timestamp};
use diesel::prelude::*;

/// What a decision turns into.
#[derive(Debug, Clone)]
pub enum Turn<'a> {
    /// A person's yes.
    Approved {
        /// Whose.
        by: PrincipalId,
        /// Until when it may be used.
        until: Timestamp,
    },
    /// A person's no.
    Declined {
        /// Whose.
        by: PrincipalId,
        /// What they said.
        reason: Option<&'a str>,
    },
    /// Time ran out.
    Expired,
    /// Taken back.
    Withdrawn {
        /// Why.
        reason: &'a str,
    },
    /// The yes was used.
    Used {
        /// The receipt of the call that used it.
        log_index: u64,
    },
    /// A person said how the effect ended.
    Resolved {
        /// Who.
        by: PrincipalId,
        /// What they said.
        reason: Option<&'a str>,
    },
}

impl Turn<'_> {
    const fn status(&self) -> DecisionStatus {
        match self {
            Self::Approved { .. } => DecisionStatus::Approved,
            Self::Declined { .. } => DecisionStatus::Declined,
            Self::Expired => DecisionStatus::Expired,
            Self::Withdrawn { .. } => DecisionStatus::Withdrawn,
            Self::Used { .. } => DecisionStatus::Used,
            Self::Resolved { .. } => DecisionStatus::Resolved,
        }
    }
}

/// Turns a decision that stands at `from`; `false` if it no longer does. The guard is in the `WHERE`: of two who
/// decide at once, one changes a row.
pub fn turn(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: DecisionId,
    from: DecisionStatus,
    to: &Turn<'_>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let place =
        decisions::table.find((tenant.as_str(), id.to_string())).filter(decisions::status.eq(from.as_str()));
    let status = decisions::status.eq(to.status().as_str());
    let at = decisions::decided_at.eq(Some(now.unix_milliseconds()));
    let ended = decisions::due_at.eq(None::<i64>);
    let changed = match to {
        Turn::Approved { by, until } => diesel::update(place)
            .set((
                status,
                at,
                decisions::decided_by.eq(Some(by.to_string())),
                decisions::approved_until.eq(Some(until.unix_milliseconds())),
                decisions::due_at.eq(Some(until.unix_milliseconds())),
            ))
            .execute(connection)?,
        Turn::Declined { by, reason } | Turn::Resolved { by, reason } => diesel::update(place)
            .set((
                status,
                at,
                ended,
                decisions::decided_by.eq(Some(by.to_string())),
                decisions::reason.eq(*reason),
            ))
            .execute(connection)?,
        Turn::Expired => diesel::update(place).set((status, ended)).execute(connection)?,
        Turn::Withdrawn { reason } => diesel::update(place)
            .set((status, ended, decisions::reason.eq(Some(*reason))))
            .execute(connection)?,
        Turn::Used { log_index } => diesel::update(place)
            .set((status, ended, decisions::used_index.eq(Some(read::stored_count(*log_index)))))
            .execute(connection)?,
    };
    Ok(changed == 1)
}

/// What becomes of a yes that a withdrawn allow had used: it is given back for as long as it was good, unless what
/// decides has changed meanwhile, which takes back every yes.
pub fn give_back(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    log_index: u64,
    still_stands: bool,
) -> Result<usize, StoreError> {
    let used = decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()))
        .filter(decisions::used_index.eq(Some(read::stored_count(log_index))))
        .filter(decisions::status.eq(DecisionStatus::Used.as_str()));
    let unused = decisions::used_index.eq(None::<i64>);
    Ok(if still_stands {
        let status = decisions::status.eq(DecisionStatus::Approved.as_str());
        diesel::update(used)
            .set((status, unused, decisions::due_at.eq(decisions::approved_until)))
            .execute(connection)?
    } else {
        let status = decisions::status.eq(DecisionStatus::Withdrawn.as_str());
        diesel::update(used).set((status, unused)).execute(connection)?
    })
}

/// Decisions whose time is over, with their tenants, oldest first.
pub fn due(
    connection: &mut AnyConnection,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(TenantSlug, DecisionId)>, StoreError> {
    decisions::table
        .filter(decisions::due_at.le(now.unix_milliseconds()))
        .order(decisions::due_at)
        .limit(limit)
        .select((decisions::tenant, decisions::id))
        .load::<(String, String)>(connection)?
        .into_iter()
        .map(|(tenant, id)| Ok((read::text("decisions.tenant", &tenant)?, read::text("decisions.id", &id)?)))
        .collect()
}

/// When the next decision's time is over.
pub fn next_due(connection: &mut AnyConnection) -> Result<Option<Timestamp>, StoreError> {
    let due: Option<i64> = decisions::table
        .filter(decisions::due_at.is_not_null())
        .select(diesel::dsl::min(decisions::due_at))
        .first(connection)?;
    Ok(due.map(read::time))
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
