//! What the gate answered for one person in a stretch of the log.

use super::{AnyConnection, StoreError, read, schema::receipts};
use crate::domain::{Outcome, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use diesel::dsl::count_star;
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
    let rows = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::principal.eq(principal.to_string())))
        .filter(
            receipts::log_index
                .ge(read::stored_count(places.start))
                .and(receipts::log_index.lt(read::stored_count(places.end))),
        )
        .filter(receipts::kind.eq_any([Kind::GateEvaluate.as_str(), Kind::GateWithdrawn.as_str()]))
        .group_by((receipts::kind, receipts::outcome))
        .select((receipts::kind, receipts::outcome, count_star()))
        .load::<(String, Option<String>, i64)>(connection)?;
    let mut answers = Answers::default();
    for (kind, outcome, count) in rows {
        let count = read::count("receipts", count)?;
        if kind == Kind::GateWithdrawn.as_str() {
            answers.withdrawn = answers.withdrawn.saturating_add(count);
            continue;
        }
        match read::optional_text("receipts.outcome", outcome.as_deref())? {
            Some(Outcome::Allow) => answers.allowed = count,
            Some(Outcome::Escalate) => answers.escalated = count,
            Some(Outcome::Refuse) => answers.refused = count,
            None => {}
        }
    }
    Ok(answers)
}
