//! The course of calls: in the log's order, what was asked, what was answered, and what gave back what it had taken.

use super::along::{self, Order, Sought};
use super::receipt::StoredReceipt;
use super::trail::Trail;
use super::{AnyConnection, StoreError, head, read, schema::receipts};
use crate::domain::{Duration, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;
use std::ops::Range;

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

/// The part of the log whose receipts were recorded at an instant.
pub(super) fn instant(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    at: Timestamp,
) -> Result<Range<u64>, StoreError> {
    let (first, _) = places_since(connection, tenant, at)?;
    let (end, _) = places_since(connection, tenant, at.plus(Duration::milliseconds(1)))?;
    Ok(first..end)
}

/// How many calls of the gate the stretch holds.
pub fn count(connection: &mut AnyConnection, stretch: &Stretch) -> Result<u64, StoreError> {
    along::count(connection, &stretch.tenant, &stretch.sought(vec![Kind::GateEvaluate]))
}

/// Where the last `most` calls of the gate in the stretch begin; the stretch's own beginning, if it has no more.
pub fn last(connection: &mut AnyConnection, stretch: &Stretch, most: usize) -> Result<u64, StoreError> {
    let sought = stretch.sought(vec![Kind::GateEvaluate]);
    let places = along::places(connection, &stretch.tenant, &sought, Order::Falling, most.max(1))?;
    let is_all = places.len() < most.max(1);
    Ok(places.last().copied().filter(|_| !is_all).unwrap_or(stretch.from))
}

/// The first receipts of the stretch that tell its course, in order.
pub fn page(
    connection: &mut AnyConnection,
    stretch: &Stretch,
    limit: usize,
) -> Result<Vec<StoredReceipt>, StoreError> {
    let kinds = vec![Kind::GateEvaluate, Kind::GateWithdrawn, Kind::EffectOutcome, Kind::DecisionResolve];
    along::receipts(connection, &stretch.tenant, &stretch.sought(kinds), Order::Rising, limit)
}

impl Stretch {
    fn sought(&self, kinds: Vec<Kind>) -> Sought {
        let trails = self.principal.map(Trail::Principal).into_iter().collect();
        Sought { trails, kinds, span: self.from..self.until }
    }
}
