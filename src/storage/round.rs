//! What is done for a tenant every so often, by whichever node comes first.

use super::{AnyConnection, StoreError, read, schema::rounds};
use crate::domain::{TenantSlug, Timestamp};
use diesel::prelude::*;

/// What is done every so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// The newest checkpoint is put before the witnesses.
    Witness,
    /// Everyone is told of their day.
    Digest,
}

impl Name {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Witness => "witness",
            Self::Digest => "digest",
        }
    }
}

/// When it was last done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// When.
    pub at: Timestamp,
    /// How many leaves the log had.
    pub size: u64,
}

/// When it was last done, if it ever was.
pub fn last(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    name: Name,
) -> Result<Option<Round>, StoreError> {
    let row = rounds::table
        .find((tenant.as_str(), name.as_str()))
        .select((rounds::at, rounds::size))
        .first::<(i64, i64)>(connection)
        .optional()?;
    row.map(|(at, size)| Ok(Round { at: read::time(at), size: read::count("rounds.size", size)? }))
        .transpose()
}

/// Takes the next round, if the last one is still `before`; `false` where another node took it.
pub fn take(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    name: Name,
    before: Option<Round>,
    now: Round,
) -> Result<bool, StoreError> {
    if last(connection, tenant, name)? != before {
        return Ok(false);
    }
    let (at, size) = (now.at.unix_milliseconds(), read::stored_count(now.size));
    let place = rounds::table.find((tenant.as_str(), name.as_str()));
    let moved = diesel::update(place).set((rounds::at.eq(at), rounds::size.eq(size))).execute(connection)?;
    if moved == 0 {
        diesel::insert_into(rounds::table)
            .values((
                rounds::tenant.eq(tenant.as_str()),
                rounds::name.eq(name.as_str()),
                rounds::at.eq(at),
                rounds::size.eq(size),
            ))
            .execute(connection)?;
    }
    Ok(true)
}
