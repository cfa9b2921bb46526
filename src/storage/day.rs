//! What the gate answered for one person in a stretch of the log.

use super::along::{self, Sought};
use super::trail::Trail;
use super::{AnyConnection, StoreError, read, schema::receipts};
use crate::domain::{Outcome, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;
use std::ops::Range;

/// How many answers there were of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answers {
    /// Allowed.
    pub allowed: u64,
    /// Put before a person.
    pub escalated: u64,
    /// Refused.
    pub refused: u64,
    /// Taken back, because the caller could not be told in time.
    pub withdrawn: u64,
}

/// The first place of the log, among its first `size`, whose receipt is of `at` or later; `size` where none is.
///
/// Times never fall along a log, so it is found in a few looks.
pub fn first_place_since(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    size: u64,
    at: Timestamp,
) -> Result<u64, StoreError> {
    let (mut from, mut until) = (0, size);
    while from < until {
        let middle = from + (until - from) / 2;
        let found = receipts::table
            .find((tenant.as_str(), read::stored_count(middle)))
            .select(receipts::at)
            .first::<i64>(connection)?;
        if read::time(found) < at {
            from = middle + 1;
        } else {
            until = middle;
        }
    }
    Ok(from)
}

/// What the gate answered in a person's name at these places of the log; repeated answers are not counted again.
pub fn answers(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    places: Range<u64>,
) -> Result<Answers, StoreError> {
    let mut count = |kind: Kind, outcome: Option<Outcome>| {
        let outcome = outcome.map(Trail::Outcome);
        let trails = [Some(Trail::Principal(principal)), outcome].into_iter().flatten().collect();
        let sought = Sought { trails, kinds: vec![kind], span: places.clone() };
        along::count(connection, tenant, &sought)
    };
    Ok(Answers {
        allowed: count(Kind::GateEvaluate, Some(Outcome::Allow))?,
        escalated: count(Kind::GateEvaluate, Some(Outcome::Escalate))?,
        refused: count(Kind::GateEvaluate, Some(Outcome::Refuse))?,
        withdrawn: count(Kind::GateWithdrawn, None)?,
    })
}
