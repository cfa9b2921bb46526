//! Follows trails: what stands on all of some trails at once, in a part of the log, from either end.

use super::receipt::StoredReceipt;
use super::schema::{heads, receipts, trails};
use super::trail::{RUN, Trail, read_places};
use super::{AnyConnection, StoreError, read};
use crate::domain::{Outcome, TenantSlug};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// How many rows of a trail the first query reads, and how many one reads at most; each reads twice as many.
const FIRST_ROWS: i64 = 2;
const MOST_ROWS: i64 = 64;
/// How many places are held while they are counted.
const COUNTED_AT_ONCE: usize = 16_384;

/// Which of the two ways along the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The oldest first.
    Rising,
    /// The newest first.
    Falling,
}

/// What is sought.
#[derive(Debug, Clone)]
pub struct Sought {
    /// On all of these at once; everything, where none is named.
    pub trails: Vec<Trail>,
    /// Of one of these kinds; of any, where none is named.
    pub kinds: Vec<Kind>,
    /// In this part of the log.
    pub span: Range<u64>,
}

/// Receipts that are sought, so many at most.
pub fn receipts(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    sought: &Sought,
    order: Order,
    limit: usize,
) -> Result<Vec<StoredReceipt>, StoreError> {
    let places = places(connection, tenant, sought, order, limit)?;
    let mut found = super::receipt::find_many(connection, tenant, places.iter().copied())?;
    Ok(places.iter().filter_map(|place| found.remove(place)).collect())
}

/// How many receipts are sought, counted some at a time.
pub fn count(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    sought: &Sought,
) -> Result<u64, StoreError> {
    let mut left = sought.clone();
    let mut count = 0u64;
    loop {
        let found = places(connection, tenant, &left, Order::Rising, COUNTED_AT_ONCE)?;
        count = count.saturating_add(u64::try_from(found.len()).unwrap_or(u64::MAX));
        match found.last() {
            Some(last) if found.len() == COUNTED_AT_ONCE => left.span.start = last.saturating_add(1),
            _ => return Ok(count),
        }
    }
}

/// The places of receipts that are sought, so many at most.
pub fn places(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    sought: &Sought,
    order: Order,
    limit: usize,
) -> Result<Vec<u64>, StoreError> {
    if sought.kinds.is_empty() {
        return of_trails(connection, tenant, &sought.trails, &sought.span, order, limit);
    }
    let (mut places, mut span) = (BTreeSet::new(), sought.span.clone());
    for kind in &sought.kinds {
        let trails: Vec<Trail> = sought.trails.iter().cloned().chain([Trail::Kind(*kind)]).collect();
        let found = of_trails(connection, tenant, &trails, &span, order, limit)?;
        // Where one kind fills the page, no other is sought beyond it.
        if let Some(last) = found.last().filter(|_| found.len() >= limit) {
            match order {
                Order::Rising => span.end = last.saturating_add(1),
                Order::Falling => span.start = *last,
            }
        }
        places.extend(found);
    }
    Ok(match order {
        Order::Rising => places.into_iter().take(limit).collect(),
        Order::Falling => places.into_iter().rev().take(limit).collect(),
    })
}

fn of_trails(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    trails: &[Trail],
    span: &Range<u64>,
    order: Order,
    limit: usize,
) -> Result<Vec<u64>, StoreError> {
    // Read first: runs that are written from now on are looked through here all the same.
    let head = heads::table.find(tenant.as_str()).select(heads::trailed);
    let trailed = match trails {
        [] => 0,
        _ => read::optional_count("heads.trailed", head.get_result(connection).optional()?)?.unwrap_or(0),
    };
    let whole = span.start..span.end.min(trailed);
    let rest = span.start.max(trailed)..span.end;
    let mut places = Vec::new();
    match order {
        Order::Rising => {
            along(connection, tenant, trails, &whole, order, limit, &mut places)?;
            look_through(connection, tenant, trails, &rest, order, limit, &mut places)?;
        }
        Order::Falling => {
            look_through(connection, tenant, trails, &rest, order, limit, &mut places)?;
            along(connection, tenant, trails, &whole, order, limit, &mut places)?;
        }
    }
    Ok(places)
}

type Query<'a> = receipts::BoxedQuery<'a, <AnyConnection as Connection>::Backend>;

fn within<'a>(tenant: &'a TenantSlug, span: &Range<u64>) -> Query<'a> {
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(span.start)))
        .filter(receipts::log_index.lt(read::stored_count(span.end)))
        .into_boxed()
}

/// Looks at every receipt of a span.
fn look_through(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    trails: &[Trail],
    span: &Range<u64>,
    order: Order,
    limit: usize,
    places: &mut Vec<u64>,
) -> Result<(), StoreError> {
    let left = limit.saturating_sub(places.len());
    if span.is_empty() || left == 0 {
        return Ok(());
    }
    let mut query = within(tenant, span);
    for trail in trails {
        query = match trail {
            Trail::Chain(chain) => query.filter(receipts::chain.eq(chain.to_string())),
            Trail::Agent(id) => query.filter(receipts::agent.eq(id.to_string())),
            Trail::Principal(id) => query.filter(receipts::principal.eq(id.to_string())),
            Trail::Intent(intent) => query.filter(receipts::intent.eq(intent.as_str().to_owned())),
            Trail::Kind(kind) => query.filter(receipts::kind.eq(kind.as_str())),
            Trail::Outcome(outcome) => query.filter(receipts::outcome.eq(outcome.as_str())),
        };
    }
    query = match order {
        Order::Rising => query.order(receipts::log_index),
        Order::Falling => query.order(receipts::log_index.desc()),
    };
    let limit = i64::try_from(left).unwrap_or(i64::MAX);
    for place in query.limit(limit).select(receipts::log_index).load::<i64>(connection)? {
        places.push(read::count("receipts.log_index", place)?);
    }
    Ok(())
}

/// Follows the trail with the fewest receipts, and keeps what stands on the others too.
fn along(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    trails: &[Trail],
    span: &Range<u64>,
    order: Order,
    limit: usize,
    places: &mut Vec<u64>,
) -> Result<(), StoreError> {
    let Some(followed) = trails.iter().min_by_key(|trail| width(trail)) else { return Ok(()) };
    let others: Vec<String> =
        trails.iter().filter(|trail| *trail != followed).map(ToString::to_string).collect();
    let followed = followed.to_string();
    let mut runs = span.start / RUN..span.end.div_ceil(RUN);
    let mut rows_at_once = FIRST_ROWS;
    while !runs.is_empty() && places.len() < limit {
        let mut query = trails::table
            .filter(trails::tenant.eq(tenant.as_str()).and(trails::trail.eq(&followed)))
            .filter(trails::run.ge(read::stored_count(runs.start)))
            .filter(trails::run.lt(read::stored_count(runs.end)))
            .limit(rows_at_once)
            .select((trails::run, trails::places))
            .into_boxed();
        query = match order {
            Order::Rising => query.order(trails::run),
            Order::Falling => query.order(trails::run.desc()),
        };
        let rows: Vec<(i64, Vec<u8>)> = query.load(connection)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        rows_at_once = MOST_ROWS.min(rows_at_once.saturating_mul(2));
        let last = read::count("trails.run", *last)?;
        match order {
            Order::Rising => runs.start = last.saturating_add(1),
            Order::Falling => runs.end = last,
        }
        let mut found: BTreeMap<i64, BTreeSet<u16>> = BTreeMap::new();
        for (run, places) in rows {
            found.insert(run, read_places(&places)?.into_iter().collect());
        }
        for other in &others {
            keep_common(connection, tenant, other, &mut found)?;
        }
        for run in in_order(found.into_iter(), order) {
            let first = read::count("trails.run", run.0)?.saturating_mul(RUN);
            let here = run.1.into_iter().map(|place| first.saturating_add(u64::from(place)));
            let here = in_order(here.filter(|place| span.contains(place)), order);
            places.extend(here.take(limit.saturating_sub(places.len())));
        }
    }
    Ok(())
}

fn in_order<'a, T: 'a>(
    items: impl DoubleEndedIterator<Item = T> + 'a,
    order: Order,
) -> Box<dyn Iterator<Item = T> + 'a> {
    match order {
        Order::Rising => Box::new(items),
        Order::Falling => Box::new(items.rev()),
    }
}

/// Of the places found in some runs, keeps those that stand on another trail too.
fn keep_common(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    other: &str,
    found: &mut BTreeMap<i64, BTreeSet<u16>>,
) -> Result<(), StoreError> {
    let rows: Vec<(i64, Vec<u8>)> = trails::table
        .filter(trails::tenant.eq(tenant.as_str()).and(trails::trail.eq(other)))
        .filter(trails::run.eq_any(found.keys().copied().collect::<Vec<_>>()))
        .select((trails::run, trails::places))
        .load(connection)?;
    let mut also = HashMap::new();
    for (run, places) in rows {
        also.insert(run, read_places(&places)?.into_iter().collect::<BTreeSet<u16>>());
    }
    found.retain(|run, places| {
        let Some(also) = also.get(run) else { return false };
        places.retain(|place| also.contains(place));
        !places.is_empty()
    });
    Ok(())
}

/// How wide a trail is likely to be: the narrowest is followed.
fn width(trail: &Trail) -> u8 {
    match trail {
        Trail::Chain(_) => 0,
        Trail::Agent(_) => 1,
        Trail::Principal(_) => 2,
        Trail::Outcome(Outcome::Refuse | Outcome::Escalate) => 3,
        Trail::Intent(_) => 4,
        Trail::Kind(_) => 5,
        Trail::Outcome(Outcome::Allow) => 6,
    }
}

#[cfg(test)]
#[path = "along_tests.rs"]
mod tests;
