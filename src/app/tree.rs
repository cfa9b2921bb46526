//! Paths through a log as it is now, from full tiles and the newest leaves.

use super::Roots;
use crate::crypto::PublicKey;
use crate::crypto::keyring::KeyPurpose;
use crate::domain::{Hash, TenantSlug};
use crate::evidence::export::Header;
use crate::evidence::merkle;
use crate::evidence::note::{VerifierKey, open_checkpoint};
use crate::evidence::receipt::{self, Inclusion, Receipt};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{self, AnyConnection, StoreError, tile};
use std::collections::HashMap;
use std::sync::Arc;

/// The keys that a tenant's log signs, or signed, with; named as its origin.
pub fn log_keys(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    origin: &str,
) -> Result<Vec<VerifierKey>, StoreError> {
    Ok(storage::key::of_tenant(connection, tenant)?
        .into_iter()
        .filter(|key| key.purpose == KeyPurpose::Log.as_str())
        .filter_map(|key| <[u8; 32]>::try_from(key.public?.as_slice()).ok())
        .filter_map(|public| VerifierKey::new(origin, PublicKey(public)).ok())
        .collect())
}

/// How many tiles one view keeps at hand, 16 KiB each at most.
const MOST_TILES: usize = 512;

/// A tile's hashes, and what they come to in pairs, level above level, as far as pairs are complete.
type Levels = Vec<Vec<Hash>>;

/// A tenant's tree at one checkpoint; gives the path of any receipt in it.
#[derive(Debug)]
pub struct Tree {
    tenant: TenantSlug,
    origin: String,
    size: u64,
    root: Hash,
    checkpoint: Arc<str>,
    key: Arc<str>,
    tiles: HashMap<(u32, u64), Arc<Levels>>,
    roots: Arc<Roots>,
}

impl Tree {
    /// The tree as last committed.
    pub fn now(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Option<Self>, StoreError> {
        let Some(head) = storage::head::find(connection, tenant)? else { return Ok(None) };
        let Some(origin) = storage::tenant::find(connection, tenant)?.map(|tenant| tenant.origin) else {
            return Ok(None);
        };
        let corrupt = |detail: String| StoreError::Corrupt { place: "heads.checkpoint", detail };
        let key = log_keys(connection, tenant, &origin)?
            .into_iter()
            .find_map(|key| Some((open_checkpoint(&head.checkpoint, &key).ok()?, key)));
        let (opened, key) = key.ok_or_else(|| corrupt("no log key of the tenant signed it".into()))?;
        Ok(Some(Self {
            tenant: tenant.clone(),
            origin,
            size: opened.size,
            root: opened.root,
            checkpoint: head.checkpoint.into(),
            key: key.to_string().into(),
            tiles: HashMap::new(),
            roots: Arc::default(),
        }))
    }

    /// The tree as it was when an export of it began.
    pub fn of(header: &Header) -> Self {
        Self {
            tenant: header.tenant.clone(),
            origin: header.origin.to_string(),
            size: header.size,
            root: header.root,
            checkpoint: header.checkpoint.clone(),
            key: header.key.clone(),
            tiles: HashMap::new(),
            roots: Arc::default(),
        }
    }

    /// The same, with what others found out about tiles that are not full.
    #[must_use]
    pub fn knowing(mut self, roots: &Arc<Roots>) -> Self {
        self.roots = roots.clone();
        self
    }

    /// How many leaves it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root.
    pub fn root(&self) -> Hash {
        self.root
    }

    /// The log's name.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The signed checkpoint.
    pub fn checkpoint(&self) -> &str {
        &self.checkpoint
    }

    /// The key that signed it, as C2SP writes verifier keys.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A receipt with its path in this tree; an error if the tree does not hold it.
    pub fn receipt(
        &mut self,
        connection: &mut AnyConnection,
        stored: &StoredReceipt,
    ) -> Result<Receipt, StoreError> {
        let path = self.inclusion(connection, stored.log_index)?;
        Ok(Receipt {
            body: stored.body.clone(),
            hash: stored.hash,
            auth: stored.auth,
            merkle: Inclusion {
                index: stored.log_index,
                size: self.size,
                root: self.root,
                path,
                checkpoint: self.checkpoint.clone(),
                key: self.key.clone(),
            },
        })
    }

    /// The inclusion path of a leaf of this tree (RFC 9162 §2.1.3.1).
    pub fn inclusion(&mut self, connection: &mut AnyConnection, index: u64) -> Result<Vec<Hash>, StoreError> {
        merkle::path(index, self.size, |level, index| self.node(connection, level, index))
    }

    /// The root of the first `size` leaves, as many as this tree has or fewer.
    pub fn root_at(&mut self, connection: &mut AnyConnection, size: u64) -> Result<Hash, StoreError> {
        merkle::root(size.min(self.size), |level, index| self.node(connection, level, index))
    }

    /// What shows that the first `from` leaves are the beginning of the first `to` (RFC 9162 §2.1.4.1), both of
    /// this tree.
    pub fn consistency(
        &mut self,
        connection: &mut AnyConnection,
        from: u64,
        to: u64,
    ) -> Result<Vec<Hash>, StoreError> {
        merkle::consistency_path(from, to.min(self.size), |level, index| self.node(connection, level, index))
    }

    /// The hash of a complete subtree of 2^level leaves.
    fn node(&mut self, connection: &mut AnyConnection, level: u32, index: u64) -> Result<Hash, StoreError> {
        let (tile_level, inside) = (level / 8, level % 8);
        let width = tile::WIDTH >> inside;
        let (tile, offset) = (index / width, index % width);
        let levels = self.tile(connection, tile_level, tile)?;
        let row = usize::try_from(inside).ok().and_then(|inside| levels.get(inside));
        let node = row.zip(usize::try_from(offset).ok()).and_then(|(row, offset)| row.get(offset));
        node.copied().ok_or_else(|| StoreError::Corrupt {
            place: "tiles",
            detail: format!("tile {tile_level}/{tile} has {} hashes", levels.first().map_or(0, Vec::len)),
        })
    }

    /// A tile, read when full, computed from what lies below it at the right edge.
    fn tile(
        &mut self,
        connection: &mut AnyConnection,
        level: u32,
        number: u64,
    ) -> Result<Arc<Levels>, StoreError> {
        if let Some(tile) = self.tiles.get(&(level, number)) {
            return Ok(tile.clone());
        }
        let hashes = match tile::find(connection, &self.tenant, level, number)? {
            Some(hashes) => hashes,
            None => self.right_edge(connection, level, number)?,
        };
        if self.tiles.len() >= MOST_TILES {
            self.tiles.clear();
        }
        let levels = Arc::new(merkle::levels(hashes));
        self.tiles.insert((level, number), levels.clone());
        Ok(levels)
    }

    fn right_edge(
        &mut self,
        connection: &mut AnyConnection,
        level: u32,
        number: u64,
    ) -> Result<Vec<Hash>, StoreError> {
        let first = number.saturating_mul(tile::WIDTH);
        let end = first.saturating_add(tile::WIDTH);
        if level == 0 {
            let leaves = storage::receipt::leaves(connection, &self.tenant, first, end.min(self.size))?;
            return Ok(leaves.iter().map(|(hash, auth)| receipt::leaf(hash, auth)).collect());
        }
        let complete = self.size.checked_shr(8 * level).unwrap_or(0);
        let width = end.min(complete).saturating_sub(first);
        self.roots.of_tile(connection, &self.tenant, (level, number), width)
    }
}
