//! Full tiles of the log's tree (C2SP tlog-tiles): 256 hashes of one level, written once, when they are full.

use super::{AnyConnection, StoreError, schema::tiles};
use crate::domain::{Hash, TenantSlug};
use crate::storage::read;
use diesel::prelude::*;

/// How many hashes a full tile holds.
pub const WIDTH: u64 = 256;

/// Writes a full tile.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    level: u32,
    tile: u64,
    hashes: &[Hash],
) -> Result<(), StoreError> {
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| *hash.as_bytes()).collect();
    diesel::insert_into(tiles::table)
        .values((
            tiles::tenant.eq(tenant.as_str()),
            tiles::level.eq(i64::from(level)),
            tiles::tile.eq(read::stored_count(tile)),
            tiles::hashes.eq(bytes),
        ))
        .execute(connection)?;
    Ok(())
}

/// A full tile's hashes, if it is full.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    level: u32,
    tile: u64,
) -> Result<Option<Vec<Hash>>, StoreError> {
    let bytes = tiles::table
        .find((tenant.as_str(), i64::from(level), read::stored_count(tile)))
        .select(tiles::hashes)
        .first::<Vec<u8>>(connection)
        .optional()?;
    bytes.map(|bytes| hashes(&bytes)).transpose()
}

/// The hashes of the full tiles of a level from `first` on, before `until`, in order.
pub fn find_between(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    level: u32,
    first: u64,
    until: u64,
) -> Result<Vec<Vec<Hash>>, StoreError> {
    tiles::table
        .filter(tiles::tenant.eq(tenant.as_str()).and(tiles::level.eq(i64::from(level))))
        .filter(tiles::tile.ge(read::stored_count(first)).and(tiles::tile.lt(read::stored_count(until))))
        .order(tiles::tile)
        .select(tiles::hashes)
        .load::<Vec<u8>>(connection)?
        .iter()
        .map(|bytes| hashes(bytes))
        .collect()
}

fn hashes(bytes: &[u8]) -> Result<Vec<Hash>, StoreError> {
    bytes.chunks(32).map(|hash| read::hash("tiles.hashes", hash)).collect()
}
