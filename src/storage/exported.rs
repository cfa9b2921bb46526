//! The receipts that an export holds, page after page in the order of the log.

use super::along::{self, Order, Sought};
use super::receipt::{COLUMNS, Row, StoredReceipt, read_row};
use super::trail::Trail;
use super::{AnyConnection, StoreError, read, schema::receipts};
use crate::domain::{AgentId, Chain, CredentialId, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;
use std::ops::Range;

/// How many places are looked at in one query.
const PLACES_AT_ONCE: usize = 4096;

/// Whose receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// One credential's chain.
    Credential(CredentialId),
    /// What concerns one agent of a person.
    Agent(AgentId, PrincipalId),
    /// What concerns one person, or was done by them.
    Principal(PrincipalId),
    /// All.
    Everyone,
}

impl Whose {
    fn trails(self) -> Vec<Trail> {
        match self {
            Self::Credential(id) => vec![Trail::Chain(Chain::Credential(id))],
            Self::Agent(id, principal) => vec![Trail::Agent(id), Trail::Principal(principal)],
            Self::Principal(id) => vec![Trail::Principal(id)],
            Self::Everyone => Vec::new(),
        }
    }
}

/// The next receipts in a part of the log, in its order.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    whose: Whose,
    span: Range<u64>,
    limit: usize,
) -> Result<Vec<StoredReceipt>, StoreError> {
    if whose == Whose::Everyone {
        return everyones(connection, tenant, &span, limit);
    }
    let sought = Sought { trails: whose.trails(), kinds: Vec::new(), span };
    along::receipts(connection, tenant, &sought, Order::Rising, limit)
}

fn everyones(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    span: &Range<u64>,
    limit: usize,
) -> Result<Vec<StoredReceipt>, StoreError> {
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(span.start)))
        .filter(receipts::log_index.lt(read::stored_count(span.end)))
        .order(receipts::log_index)
        .limit(i64::try_from(limit).unwrap_or(i64::MAX))
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// Whether content of receipts at places `first..end` of the log was erased by one that came at place `since` or later.
pub fn is_erased_since(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    whose: Whose,
    (first, end): (u64, u64),
    since: u64,
) -> Result<bool, StoreError> {
    // Mostly nothing was erased: then what the export holds is not looked through.
    let since = read::stored_count(since);
    let erasing = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::log_index.ge(since)))
        .filter(receipts::kind.eq(Kind::ContentErase.as_str()))
        .select(receipts::log_index)
        .first::<i64>(connection)
        .optional()?;
    if erasing.is_none() {
        return Ok(false);
    }
    if whose == Whose::Everyone {
        return any_erased(connection, tenant, since, &(first..end), None);
    }
    let mut sought = Sought { trails: whose.trails(), kinds: Vec::new(), span: first..end };
    loop {
        let places = along::places(connection, tenant, &sought, Order::Rising, PLACES_AT_ONCE)?;
        let Some(last) = places.last() else { return Ok(false) };
        sought.span.start = last.saturating_add(1);
        if any_erased(connection, tenant, since, &(first..end), Some(&places))? {
            return Ok(true);
        }
    }
}

/// Whether content of receipts in a part of the log, at some places or at all, was erased by one at `since` or later.
fn any_erased(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    since: i64,
    span: &Range<u64>,
    places: Option<&[u64]>,
) -> Result<bool, StoreError> {
    let mut query = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::erased_by.ge(since)))
        .filter(receipts::log_index.ge(read::stored_count(span.start)))
        .filter(receipts::log_index.lt(read::stored_count(span.end)))
        .limit(1)
        .select(receipts::log_index)
        .into_boxed();
    if let Some(places) = places {
        let places: Vec<i64> = places.iter().copied().map(read::stored_count).collect();
        query = query.filter(receipts::log_index.eq_any(places));
    }
    Ok(query.first::<i64>(connection).optional()?.is_some())
}

/// The first place among the first `size` of the log whose receipt is not older than an instant, or `size`: times never
/// step back along a log, so that it is found by halving.
pub fn first_since(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    since: Timestamp,
    size: u64,
) -> Result<u64, StoreError> {
    let (mut low, mut high) = (0, size);
    while low < high {
        let middle = low.midpoint(high);
        let at = receipts::table
            .find((tenant.as_str(), read::stored_count(middle)))
            .select(receipts::at)
            .first::<i64>(connection)
            .optional()?;
        let at = at.ok_or_else(|| StoreError::Corrupt {
            place: "receipts",
            detail: format!("nothing stands at place {middle} of the log of `{tenant}`"),
        })?;
        if at < since.unix_milliseconds() {
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    Ok(low)
}
