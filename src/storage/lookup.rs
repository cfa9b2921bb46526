//! Where in the log a hash, a reference or a request stands: sorted prefixes, a run of receipts at a time.

use super::{AnyConnection, StoreError, read, schema::lookups};
use crate::domain::{Hash, TenantSlug};
use diesel::prelude::*;

/// How many receipts one run holds.
pub const RUN: u64 = 1024;
/// How many runs one query reads.
const RUNS_AT_ONCE: i64 = 64;
/// How many parts a run is cut into, by the first four bits of a key: a search reads one of them.
const PARTS: u8 = 16;
/// Bytes of an entry: a key, and two for the place in its run.
const ENTRY: usize = 10;

/// What something is found by: the first eight bytes of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key([u8; 8]);

impl Key {
    /// The key of a hash.
    pub fn of(hash: &Hash) -> Self {
        Self(hash.as_bytes().first_chunk().copied().unwrap_or_default())
    }

    fn part(self) -> u8 {
        let [first, ..] = self.0;
        first >> 4
    }
}

/// The run that is to be written next.
pub fn next_run(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<u64, StoreError> {
    let last: Option<i64> = lookups::table
        .filter(lookups::tenant.eq(tenant.as_str()).and(lookups::part.eq(0)))
        .order(lookups::run.desc())
        .select(lookups::run)
        .first(connection)
        .optional()?;
    Ok(read::optional_count("lookups.run", last)?.map_or(0, |last| last.saturating_add(1)))
}

/// Writes a run: every key of its receipts, with the receipt's place in the run.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    run: u64,
    mut entries: Vec<(Key, u16)>,
) -> Result<(), StoreError> {
    entries.sort_unstable();
    entries.dedup();
    for part in 0..PARTS {
        let bytes: Vec<u8> = entries.iter().filter(|(key, _)| key.part() == part).flat_map(written).collect();
        diesel::insert_into(lookups::table)
            .values((
                lookups::tenant.eq(tenant.as_str()),
                lookups::part.eq(i64::from(part)),
                lookups::run.eq(read::stored_count(run)),
                lookups::entries.eq(bytes),
            ))
            .execute(connection)?;
    }
    Ok(())
}

fn written((key, place): &(Key, u16)) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    for (to, from) in bytes.iter_mut().zip(key.0.into_iter().chain(place.to_be_bytes())) {
        *to = from;
    }
    bytes
}

/// Places of the log that may hold what has this key, the newest first, and the run to go on below; `None` where
/// there is none left.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    key: Key,
    below: u64,
) -> Result<(Vec<u64>, Option<u64>), StoreError> {
    let rows: Vec<(i64, Vec<u8>)> = lookups::table
        .filter(lookups::tenant.eq(tenant.as_str()).and(lookups::part.eq(i64::from(key.part()))))
        .filter(lookups::run.lt(read::stored_count(below)))
        .order(lookups::run.desc())
        .limit(RUNS_AT_ONCE)
        .select((lookups::run, lookups::entries))
        .load(connection)?;
    let mut places = Vec::new();
    let mut last = None;
    for (run, entries) in rows {
        let run = read::count("lookups.run", run)?;
        let first = run.saturating_mul(RUN);
        let (entries, _) = entries.as_chunks::<ENTRY>();
        let from = entries.partition_point(|entry| entry.as_slice() < key.0.as_slice());
        let here = entries.iter().skip(from).take_while(|entry| entry.starts_with(&key.0));
        let here: Vec<u64> =
            here.map(|[.., high, low]| first + u64::from(u16::from_be_bytes([*high, *low]))).collect();
        places.extend(here.into_iter().rev());
        last = Some(run).filter(|run| *run > 0);
    }
    Ok((places, last))
}

/// Takes one receipt's entry out, as erasing what it was made of does.
pub fn forget(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    key: Key,
    log_index: u64,
) -> Result<(), StoreError> {
    let run = read::stored_count(log_index / RUN);
    let place = lookups::table.find((tenant.as_str(), i64::from(key.part()), run));
    let found: Option<Vec<u8>> = place.select(lookups::entries).first(connection).optional()?;
    let (Some(bytes), Ok(offset)) = (found, u16::try_from(log_index % RUN)) else { return Ok(()) };
    let gone = written(&(key, offset));
    let (entries, _) = bytes.as_chunks::<ENTRY>();
    let kept: Vec<u8> = entries.iter().filter(|entry| **entry != gone).flatten().copied().collect();
    diesel::update(place).set(lookups::entries.eq(kept)).execute(connection)?;
    Ok(())
}
