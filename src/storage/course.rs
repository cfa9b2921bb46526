//! The course of calls: in the log's order, what was asked, what was answered, and what gave back what it had taken.

use super::receipt::{COLUMNS, Row, StoredReceipt, read_row};
use super::{AnyConnection, StoreError, head, read, schema::receipts};
use crate::domain::{PrincipalId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;

/// Which part of a tenant's log.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// Whose log.
    pub tenant: TenantSlug,
    /// One person's receipts; everybody's, if not said.
    pub principal: Option<PrincipalId>,
    /// The first place.
    pub from: u64,
    /// The place after the last.
    pub until: u64,
}

/// The place of the first receipt at or after an instant, and the place after the last of all.
pub fn places_since(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    since: Timestamp,
) -> Result<(u64, u64), StoreError> {
    let size = head::find(connection, tenant)?.map_or(0, |head| head.size);
    // Times rise along the log, which has no index by time.
    let (mut low, mut high) = (0, size);
    while low < high {
        let middle = low.midpoint(high);
        let at: Option<i64> = receipts::table
            .find((tenant.as_str(), read::stored_count(middle)))
            .select(receipts::at)
            .first(connection)
            .optional()?;
        if at.is_some_and(|at| read::time(at) < since) {
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    Ok((low, size))
}

/// How many calls of the gate the stretch holds.
pub fn count(connection: &mut AnyConnection, stretch: &Stretch) -> Result<u64, StoreError> {
    let kinds = &[Kind::GateEvaluate];
    let count: i64 = of(stretch, kinds).count().get_result(connection)?;
    read::count("receipts", count)
}

/// Where the last `most` calls of the gate in the stretch begin; the stretch's own beginning, if it has no more.
pub fn last(connection: &mut AnyConnection, stretch: &Stretch, most: i64) -> Result<u64, StoreError> {
    let first: Option<i64> = of(stretch, &[Kind::GateEvaluate])
        .order(receipts::log_index.desc())
        .offset(most.saturating_sub(1).max(0))
        .limit(1)
        .select(receipts::log_index)
        .first(connection)
        .optional()?;
    Ok(read::optional_count("receipts.log_index", first)?.unwrap_or(stretch.from))
}

/// The first receipts of the stretch that tell its course, in order.
pub fn page(
    connection: &mut AnyConnection,
    stretch: &Stretch,
    limit: i64,
) -> Result<Vec<StoredReceipt>, StoreError> {
    let kinds = &[Kind::GateEvaluate, Kind::GateWithdrawn, Kind::EffectOutcome, Kind::DecisionResolve];
    of(stretch, kinds)
        .order(receipts::log_index)
        .limit(limit)
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

type Query<'a> = receipts::BoxedQuery<'a, <AnyConnection as Connection>::Backend>;

fn of<'a>(stretch: &'a Stretch, kinds: &[Kind]) -> Query<'a> {
    let kinds: Vec<&'static str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let mut query = receipts::table
        .filter(receipts::tenant.eq(stretch.tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(stretch.from)))
        .filter(receipts::log_index.lt(read::stored_count(stretch.until)))
        .filter(receipts::kind.eq_any(kinds))
        .into_boxed();
    if let Some(principal) = stretch.principal {
        query = query.filter(receipts::principal.eq(principal.to_string()));
    }
    query
}
