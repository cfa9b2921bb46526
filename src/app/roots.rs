//! Roots of full tiles, hashed once: the tiles above the leaves that are not full yet are asked for again and again.

use crate::domain::{Hash, TenantSlug};
use crate::evidence::merkle;
use crate::storage::{AnyConnection, StoreError, tile};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many tiles are kept, 8 KiB each at most; beyond it all are forgotten.
const MOST_TILES: usize = 1024;

/// A tile, by tenant, level and number.
type Place = (TenantSlug, u32, u64);

/// What is known of tiles that are not full yet.
///
/// Such a tile only ever grows at its end, so that what is known stays true.
#[derive(Debug, Default)]
pub struct Roots(Mutex<HashMap<Place, Arc<Vec<Hash>>>>);

impl Roots {
    /// The first `width` hashes of a tile above the leaves, or as many as there are: the roots of the full tiles below.
    pub fn of_tile(
        &self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        (level, number): (u32, u64),
        width: u64,
    ) -> Result<Vec<Hash>, StoreError> {
        let key = (tenant.clone(), level, number);
        let known =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned().unwrap_or_default();
        let wanted = usize::try_from(width).unwrap_or(usize::MAX);
        if known.len() >= wanted {
            return Ok(known.iter().take(wanted).copied().collect());
        }
        let first = number.saturating_mul(tile::WIDTH);
        let next = first.saturating_add(u64::try_from(known.len()).unwrap_or(u64::MAX));
        let below = level.saturating_sub(1);
        let added = tile::find_between(connection, tenant, below, next, first.saturating_add(width))?;
        let mut hashes = known.to_vec();
        hashes.extend(added.iter().map(|hashes| merkle::complete_root(hashes)));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_TILES {
            all.clear();
        }
        all.insert(key, Arc::new(hashes.clone()));
        Ok(hashes)
    }
}
