//! Where in the log a hash, a reference or a request stands: sorted prefixes, a run of receipts at a time.

use super::{AnyConnection, StoreError, read, schema::lookups};
use crate::domain::{Hash, TenantSlug};
use diesel::prelude::*;
use std::collections::BTreeSet;

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

/// Everything that stands in a run; `None` where it is not written.
///
/// # Errors
/// A part of it is not there, or not as runs are written.
pub fn stands(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    run: u64,
) -> Result<Option<BTreeSet<(Key, u16)>>, StoreError> {
    let rows: Vec<(i64, Vec<u8>)> = lookups::table
        .filter(lookups::tenant.eq(tenant.as_str()))
        .filter(lookups::part.between(0, i64::from(PARTS) - 1))
        .filter(lookups::run.eq(read::stored_count(run)))
        .order(lookups::part)
        .select((lookups::part, lookups::entries))
        .load(connection)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let corrupt = |detail: String| StoreError::Corrupt { place: "lookups.entries", detail };
    if rows.len() != usize::from(PARTS) {
        return Err(corrupt(format!("{} of {PARTS} parts are there", rows.len())));
    }
    let mut all = BTreeSet::new();
    for (part, bytes) in rows {
        let (entries, rest) = bytes.as_chunks::<ENTRY>();
        let here = entries.iter().map(|[key @ .., high, low]| (Key(*key), u16::from_be_bytes([*high, *low])));
        let is_of_part = here.clone().all(|(key, _)| i64::from(key.part()) == part);
        if !rest.is_empty() || !is_of_part || !here.clone().is_sorted() {
            return Err(corrupt(format!("part {part} is not in its order")));
        }
        all.extend(here);
    }
    Ok(Some(all))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Database, migrate};

    /// Runs on empty tables in a folder that is gone afterwards.
    fn with_tables(name: &str, test: impl FnOnce(&mut AnyConnection, &TenantSlug)) {
        let folder = std::env::temp_dir().join(format!("procura-lookup-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut connection = Database::Sqlite(folder.join("tables.db")).open_writer().unwrap();
        migrate(&mut connection).unwrap();
        test(&mut connection, &"harbour".parse().unwrap());
        drop(connection);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    fn key(first: u8, last: u8) -> Key {
        let mut bytes = [7; 32];
        bytes[0] = first;
        bytes[7] = last;
        Key::of(&Hash(bytes))
    }

    /// Everything a key is found at, over all runs.
    fn all(connection: &mut AnyConnection, tenant: &TenantSlug, key: Key) -> Vec<u64> {
        let mut found = Vec::new();
        let mut below = Some(next_run(connection, tenant).unwrap());
        while let Some(run) = below {
            let (places, next) = find(connection, tenant, key, run).unwrap();
            found.extend(places);
            below = next;
        }
        found
    }

    #[test]
    fn every_place_of_a_key_is_found_the_newest_first_and_no_others() {
        with_tables("find", |connection, tenant| {
            let other: TenantSlug = "quay".parse().unwrap();
            insert(connection, &other, 0, vec![(key(0x20, 1), 3)]).unwrap();
            assert_eq!(next_run(connection, tenant).unwrap(), 0);
            for run in 0..150 {
                let mut entries = vec![(key(0x2f, 0), 5), (key(0x2f, 2), 6), (key(0xff, 1), 1023)];
                if run % 70 == 0 {
                    entries.extend([(key(0x2f, 1), 1023), (key(0x2f, 1), 0), (key(0x2f, 1), 0)]);
                }
                insert(connection, tenant, run, entries).unwrap();
            }
            assert_eq!(next_run(connection, tenant).unwrap(), 150);
            let of = |run: u64| [run * RUN + 1023, run * RUN];
            assert_eq!(all(connection, tenant, key(0x2f, 1)), [of(140), of(70), of(0)].concat());
            assert_eq!(all(connection, tenant, key(0xff, 1)).len(), 150);
            assert!(all(connection, tenant, key(0x2f, 3)).is_empty());
            assert!(all(connection, tenant, key(0x00, 1)).is_empty());
        });
    }

    #[test]
    fn what_is_forgotten_is_one_receipts_entry() {
        with_tables("forget", |connection, tenant| {
            insert(connection, tenant, 0, vec![(key(0x10, 1), 3), (key(0x10, 1), 4), (key(0x10, 2), 3)])
                .unwrap();
            forget(connection, tenant, key(0x10, 1), 3).unwrap();
            forget(connection, tenant, key(0x10, 1), RUN + 4).unwrap();
            assert_eq!(all(connection, tenant, key(0x10, 1)), [4]);
            assert_eq!(all(connection, tenant, key(0x10, 2)), [3]);
        });
    }
}
