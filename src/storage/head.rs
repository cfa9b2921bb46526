//! The head row of each tenant's log: what a batch locks first and writes last.

use super::{AnyConnection, StoreError, read, schema::heads};
use crate::domain::{TenantSlug, Timestamp};
use diesel::prelude::*;

/// The head of one tenant's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// How many receipts the log holds.
    pub size: u64,
    /// The tree's complete subtrees, as the evidence layer writes them.
    pub frontier: Vec<u8>,
    /// The signed checkpoint at that size.
    pub checkpoint: String,
    /// The time of the newest receipt; no later one is older.
    pub last_at: Timestamp,
    /// Raised by every change of what decides; what was read under another epoch is read again.
    pub authority_epoch: u64,
    /// How many receipts stand on trails: whole runs from the first on.
    pub trailed: u64,
}

type Row = (String, i64, Vec<u8>, String, i64, i64, i64);

fn read_row(
    (_, size, frontier, checkpoint, last_at, authority_epoch, trailed): Row,
) -> Result<Head, StoreError> {
    Ok(Head {
        size: read::count("heads.size", size)?,
        frontier,
        checkpoint,
        last_at: read::time(last_at),
        authority_epoch: read::count("heads.authority_epoch", authority_epoch)?,
        trailed: read::count("heads.trailed", trailed)?,
    })
}

/// Adds the head of a new tenant.
pub fn insert(connection: &mut AnyConnection, tenant: &TenantSlug, head: &Head) -> Result<(), StoreError> {
    diesel::insert_into(heads::table)
        .values((
            heads::tenant.eq(tenant.as_str()),
            heads::size.eq(read::stored_count(head.size)),
            heads::frontier.eq(&head.frontier),
            heads::checkpoint.eq(&head.checkpoint),
            heads::last_at.eq(head.last_at.unix_milliseconds()),
            heads::authority_epoch.eq(read::stored_count(head.authority_epoch)),
            heads::trailed.eq(read::stored_count(head.trailed)),
        ))
        .execute(connection)?;
    Ok(())
}

/// The head as last committed.
pub fn find(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Option<Head>, StoreError> {
    // Without a limit: SQLite plans a statement again each time that its limit is bound.
    heads::table.find(tenant.as_str()).get_result::<Row>(connection).optional()?.map(read_row).transpose()
}

/// The head, locked until the transaction ends. SQLite has one writer at a time and needs no lock of a row.
pub fn lock(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Option<Head>, StoreError> {
    match connection {
        AnyConnection::Postgres(postgres) => heads::table
            .find(tenant.as_str())
            .for_update()
            .first::<Row>(postgres)
            .optional()?
            .map(read_row)
            .transpose(),
        AnyConnection::Sqlite(_) => find(connection, tenant),
    }
}

/// Moves the head on.
pub fn update(connection: &mut AnyConnection, tenant: &TenantSlug, head: &Head) -> Result<(), StoreError> {
    let moved = diesel::update(heads::table.find(tenant.as_str()))
        .set((
            heads::size.eq(read::stored_count(head.size)),
            heads::frontier.eq(&head.frontier),
            heads::checkpoint.eq(&head.checkpoint),
            heads::last_at.eq(head.last_at.unix_milliseconds()),
            heads::authority_epoch.eq(read::stored_count(head.authority_epoch)),
            heads::trailed.eq(read::stored_count(head.trailed)),
        ))
        .execute(connection)?;
    if moved == 1 { Ok(()) } else { Err(StoreError::Failed(format!("the head of `{tenant}` is gone"))) }
}

/// The database's own time, read after the lock, where it has one.
pub fn database_time(connection: &mut AnyConnection) -> Result<Option<Timestamp>, StoreError> {
    #[derive(QueryableByName)]
    struct Clock {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        milliseconds: i64,
    }
    match connection {
        AnyConnection::Postgres(postgres) => {
            let clock: Clock = diesel::sql_query(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS milliseconds",
            )
            .get_result(postgres)?;
            Ok(Some(read::time(clock.milliseconds)))
        }
        AnyConnection::Sqlite(_) => Ok(None),
    }
}
