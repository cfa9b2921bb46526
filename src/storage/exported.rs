//! The receipts that an export holds, page after page in the order of the log, along an index that has them in it.

use super::receipt::{COLUMNS, Row, StoredReceipt, read_row};
use super::{AnyConnection, StoreError, read, schema::receipts};
use crate::domain::{AgentId, Chain, CredentialId, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;

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

/// Where the next page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Next {
    log_index: u64,
    /// In a credential's chain.
    seq: u64,
}

impl Next {
    /// Behind a receipt.
    pub fn after(stored: &StoredReceipt) -> Self {
        Self { log_index: stored.log_index.saturating_add(1), seq: stored.body.seq.saturating_add(1) }
    }

    /// From this place of the log on.
    pub const fn at(log_index: u64) -> Self {
        Self { log_index, seq: 0 }
    }
}

/// The next receipts before place `end` of the log, in its order.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    whose: Whose,
    next: Next,
    end: u64,
    limit: i64,
) -> Result<Vec<StoredReceipt>, StoreError> {
    let mut query = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(next.log_index)))
        .filter(receipts::log_index.lt(read::stored_count(end)))
        .limit(limit)
        .select(COLUMNS)
        .into_boxed();
    // Along a chain both orders are one; each is chosen for the index that has it.
    query = match whose {
        Whose::Credential(id) => query
            .filter(receipts::chain.eq(Chain::Credential(id).to_string()))
            .filter(receipts::seq.ge(read::stored_count(next.seq)))
            .order(receipts::seq),
        Whose::Agent(id, principal) => query
            .filter(receipts::principal.eq(principal.to_string()))
            .filter(receipts::agent.eq(id.to_string()))
            .order(receipts::log_index),
        Whose::Principal(id) => {
            query.filter(receipts::principal.eq(id.to_string())).order(receipts::log_index)
        }
        Whose::Everyone => query.order(receipts::log_index),
    };
    query.load::<Row>(connection)?.into_iter().map(read_row).collect()
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
    let mut query = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::erased_by.ge(since)))
        .filter(receipts::log_index.ge(read::stored_count(first)))
        .filter(receipts::log_index.lt(read::stored_count(end)))
        .limit(1)
        .select(receipts::log_index)
        .into_boxed();
    query = match whose {
        Whose::Credential(id) => query.filter(receipts::chain.eq(Chain::Credential(id).to_string())),
        Whose::Agent(id, principal) => query
            .filter(receipts::principal.eq(principal.to_string()))
            .filter(receipts::agent.eq(id.to_string())),
        Whose::Principal(id) => query.filter(receipts::principal.eq(id.to_string())),
        Whose::Everyone => query,
    };
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
