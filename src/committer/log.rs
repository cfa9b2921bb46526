//! One tenant's log inside a batch: its head, the tree as it grows, the ends of its chains.

use super::keys::TenantKeys;
use super::lookups::Lookups;
use super::trails::Trails;
use crate::domain::{AgentId, Chain, Hash, TenantSlug, Timestamp};
use crate::evidence::merkle::{self, Frontier, Growth};
use crate::evidence::note;
use crate::evidence::receipt::{self, Inclusion, Receipt};
use crate::storage::head::Head;
use crate::storage::lookup::Key;
use crate::storage::receipt::StoredReceipt;
use crate::storage::trail::{self, RUN, Trail};
use crate::storage::{self, AnyConnection, StoreError, tile};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many chain ends are kept in memory between batches.
const MOST_CHAINS: usize = 50_000;
/// How many receipts that other nodes recorded are followed; after more, the log's end is read anew.
const MOST_FOLLOWED: u64 = 8 * RUN;
/// How many agents are remembered as ones whose questions all have their answer.
const MOST_QUIET: usize = 50_000;

/// What seals the receipts of one tenant's part of a batch.
#[derive(Debug)]
pub struct Seal {
    tree: merkle::Sealed,
    checkpoint: Arc<str>,
    key: Arc<str>,
}

impl Seal {
    /// The complete receipt of something recorded in this batch; `None` for receipts of others.
    pub fn receipt(&self, stored: &StoredReceipt) -> Option<Receipt> {
        let path = self.tree.path(stored.log_index)?;
        Some(Receipt {
            body: stored.body.clone(),
            hash: stored.hash,
            auth: stored.auth,
            merkle: Inclusion {
                index: stored.log_index,
                size: self.tree.size(),
                root: self.tree.root(),
                path,
                checkpoint: self.checkpoint.clone(),
                key: self.key.clone(),
            },
        })
    }
}

/// Where a chain ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainEnd {
    pub(super) next_seq: u64,
    pub(super) last: Hash,
}

/// Where a tenant's log stood, to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pending: usize,
    undo: usize,
    epoch: u64,
    last_at: Timestamp,
}

/// What is kept of a tenant's log between batches, good only while the head has not moved elsewhere.
#[derive(Debug)]
pub(super) struct TenantLog {
    pub(super) keys: Arc<TenantKeys>,
    pub(super) head: Head,
    growth: Growth,
    /// Where chains end: all that have a receipt behind the last whole run of trails, and others that were looked up.
    ends: HashMap<Chain, ChainEnd>,
    /// The hash of the newest receipt.
    newest: Option<Hash>,
    trails: Trails,
    /// What the ends were before this batch touched them, newest last.
    undo: Vec<(Chain, ChainEnd)>,
    /// Agents of whom no decision about an action waits.
    quiet: HashSet<AgentId>,
    lookups: Lookups,
    pub(super) pending: Vec<Arc<StoredReceipt>>,
}

impl TenantLog {
    /// A log as its head row describes it.
    pub(super) fn open(
        connection: &mut AnyConnection,
        keys: Arc<TenantKeys>,
        head: Head,
    ) -> Result<Self, StoreError> {
        let growth = Growth::new(read_frontier(&head)?);
        if head.trailed > head.size || !head.trailed.is_multiple_of(RUN) {
            let detail = format!("it is {} of {} receipts, in runs of {RUN}", head.trailed, head.size);
            return Err(StoreError::Corrupt { place: "heads.trailed", detail });
        }
        let (ends, undo, quiet, pending) = (HashMap::new(), Vec::new(), HashSet::new(), Vec::new());
        let (newest, trails, lookups) = (None, Trails::from(head.trailed), Lookups::default());
        let mut log = Self { keys, head, growth, ends, newest, trails, undo, quiet, lookups, pending };
        log.read_end(connection)?;
        Ok(log)
    }

    /// Starts a batch under the head just locked: what was kept counts only if nobody else moved the head.
    pub(super) fn begin(&mut self, connection: &mut AnyConnection, head: Head) -> Result<(), StoreError> {
        let known = std::mem::replace(&mut self.head, head);
        self.undo.clear();
        self.pending.clear();
        if self.head.size != known.size || self.head.checkpoint != known.checkpoint {
            self.quiet.clear();
            self.growth = Growth::new(read_frontier(&self.head)?);
            if !self.follow(connection, known.size)? {
                self.read_end(connection)?;
            }
        }
        if self.ends.len() > MOST_CHAINS {
            self.read_end(connection)?;
        }
        Ok(())
    }

    /// Reads what lies behind the last whole run of trails.
    fn read_end(&mut self, connection: &mut AnyConnection) -> Result<(), StoreError> {
        self.ends.clear();
        self.trails = Trails::from(self.head.trailed);
        self.take_steps(connection, self.head.trailed)
    }

    /// Goes on from the receipts that were known to those that other nodes recorded; `false` where they do not go on
    /// from those, or are too many.
    fn follow(&mut self, connection: &mut AnyConnection, known: u64) -> Result<bool, StoreError> {
        let (Some(newest), Some(from)) = (self.newest, known.checked_sub(1)) else { return Ok(false) };
        if self.head.size <= known || self.head.size - known > MOST_FOLLOWED {
            return Ok(false);
        }
        let slug = self.keys.tenant.slug.clone();
        let last = trail::steps(connection, &slug, from, known)?;
        if last.first().is_none_or(|last| last.hash != newest) {
            return Ok(false);
        }
        self.take_steps(connection, known)?;
        Ok(true)
    }

    fn take_steps(&mut self, connection: &mut AnyConnection, from: u64) -> Result<(), StoreError> {
        let slug = self.keys.tenant.slug.clone();
        let mut from = from;
        while from < self.head.size {
            let until = self.head.size.min(from.saturating_add(MOST_FOLLOWED));
            for step in trail::steps(connection, &slug, from, until)? {
                if step.log_index != from {
                    break;
                }
                from = from.saturating_add(1);
                self.newest = Some(step.hash);
                let end = ChainEnd { next_seq: step.seq.saturating_add(1), last: step.hash };
                self.ends.insert(step.chain, end);
                self.trails.take(step.trails);
            }
            if from < until {
                let detail = format!("nothing stands at place {from} of the log of `{slug}`");
                return Err(StoreError::Corrupt { place: "receipts", detail });
            }
        }
        Ok(())
    }

    /// Whether no decision about an action of this agent waits; looked up once, and then known until one is opened.
    pub(super) fn is_quiet(
        &mut self,
        connection: &mut AnyConnection,
        agent: AgentId,
    ) -> Result<bool, StoreError> {
        if self.quiet.contains(&agent) {
            return Ok(true);
        }
        let waits = storage::decision::any_action_waits(connection, &self.keys.tenant.slug, agent)?;
        if !waits {
            if self.quiet.len() >= MOST_QUIET {
                self.quiet.clear();
            }
            self.quiet.insert(agent);
        }
        Ok(!waits)
    }

    /// A decision may wait from now on: one agent's, or anybody's.
    pub(super) fn may_wait(&mut self, agent: Option<AgentId>) {
        match agent {
            Some(agent) => drop(self.quiet.remove(&agent)),
            None => self.quiet.clear(),
        }
    }

    /// The place the next receipt takes.
    pub(super) fn next_index(&self) -> u64 {
        self.head.size.saturating_add(u64::try_from(self.pending.len()).unwrap_or(u64::MAX))
    }

    /// Where a chain ends, read from the database if this is the first time.
    pub(super) fn end_of(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        chain: Chain,
    ) -> Result<ChainEnd, StoreError> {
        if let Some(end) = self.ends.get(&chain) {
            return Ok(*end);
        }
        let end = match trail::last_of_chain(connection, tenant, chain)? {
            Some((seq, last)) => ChainEnd { next_seq: seq.saturating_add(1), last },
            None => ChainEnd { next_seq: 0, last: Chain::START },
        };
        self.ends.insert(chain, end);
        Ok(end)
    }

    /// Takes a receipt as the next leaf, which is found by its hashes and by more.
    pub(super) fn append(&mut self, stored: Arc<StoredReceipt>, found_by: &[Hash]) {
        let chain = stored.body.chain;
        let end = ChainEnd { next_seq: stored.body.seq.saturating_add(1), last: stored.hash };
        let before = ChainEnd { next_seq: stored.body.seq, last: stored.body.prev };
        self.ends.insert(chain, end);
        self.undo.push((chain, before));
        let leaf = receipt::leaf(&stored.hash, &stored.auth);
        let hashes = [stored.hash, stored.body.input_hash, stored.body.output_hash, leaf];
        self.lookups.take(stored.log_index, hashes.iter().chain(found_by).map(Key::of));
        self.growth.append(leaf);
        self.head.last_at = stored.body.at;
        self.pending.push(stored);
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            pending: self.pending.len(),
            undo: self.undo.len(),
            epoch: self.head.authority_epoch,
            last_at: self.head.last_at,
        }
    }

    /// What was gathered for finding receipts again is not to be written: some of it was erased.
    pub(super) fn forget_lookups(&mut self) {
        self.lookups.forget();
    }

    /// Forgets what was appended since the mark; says whether what decides had changed.
    pub(super) fn go_back(&mut self, mark: Mark) -> bool {
        for (chain, end) in self.undo.drain(mark.undo..).rev() {
            self.ends.insert(chain, end);
        }
        self.pending.truncate(mark.pending);
        self.lookups.forget();
        self.growth.truncate_to(mark.pending);
        self.head.last_at = mark.last_at;
        std::mem::replace(&mut self.head.authority_epoch, mark.epoch) != mark.epoch
    }

    /// Signs the grown tree and writes receipts, full tiles and head.
    pub(super) fn seal(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
    ) -> Result<Option<Arc<Seal>>, StoreError> {
        if self.pending.is_empty() {
            storage::head::update(connection, tenant, &self.head)?;
            return Ok(None);
        }
        let first = self.head.size;
        let tree = std::mem::replace(&mut self.growth, Growth::new(Frontier::default())).seal();
        let checkpoint: Arc<str> =
            note::sign_checkpoint(&self.keys.log, &self.keys.origin, tree.size(), tree.root()).into();
        self.head.size = tree.size();
        self.head.frontier = tree.after().to_bytes();
        self.head.checkpoint = checkpoint.to_string();
        storage::receipt::insert(connection, &self.pending)?;
        for stored in &self.pending {
            self.newest = Some(stored.hash);
            self.trails.take(Trail::of(stored));
        }
        self.trails.write(connection, tenant, &mut self.head)?;
        write_full_tiles(connection, tenant, first, self.head.size)?;
        self.lookups.write(connection, tenant)?;
        storage::head::update(connection, tenant, &self.head)?;
        self.growth = Growth::new(tree.after().clone());
        Ok(Some(Arc::new(Seal { tree, checkpoint, key: self.keys.verifier.clone() })))
    }
}

/// Holds a tenant's head against its newest receipt and its own signature: a log that lost its end, or whose
/// head was moved by another hand, is not written to.
pub(super) fn verify_head(connection: &mut AnyConnection, keys: &TenantKeys) -> Result<Head, StoreError> {
    let slug = &keys.tenant.slug;
    let corrupt =
        |detail: &str| StoreError::Corrupt { place: "heads", detail: format!("`{slug}`: {detail}") };
    let head = storage::head::lock(connection, slug)?.ok_or_else(|| corrupt("there is none"))?;
    let frontier = read_frontier(&head)?;
    let verifier = keys.verifier.parse().map_err(|_| corrupt("the verifier key does not read back"))?;
    let checkpoint = note::open_checkpoint(&head.checkpoint, &verifier)
        .map_err(|error| corrupt(&format!("the checkpoint does not hold: {error}")))?;
    if checkpoint.size != head.size || checkpoint.root != frontier.root() {
        return Err(corrupt("the checkpoint is of another tree"));
    }
    if storage::receipt::find(connection, slug, head.size)?.is_some() {
        return Err(corrupt("a receipt lies beyond it"));
    }
    if let Some(last) = head.size.checked_sub(1) {
        let stored = storage::receipt::find(connection, slug, last)?
            .ok_or_else(|| corrupt("its last receipt is missing"))?;
        if stored.body.hash() != stored.hash {
            return Err(corrupt("its last receipt was changed"));
        }
    }
    Ok(head)
}

fn read_frontier(head: &Head) -> Result<Frontier, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { place: "heads.frontier", detail };
    let frontier =
        Frontier::from_bytes(&head.frontier).map_err(|malformed| corrupt(malformed.to_string()))?;
    if frontier.size() == head.size {
        Ok(frontier)
    } else {
        Err(corrupt(format!("it is of {} leaves, the head of {}", frontier.size(), head.size)))
    }
}

/// Writes every tile that became full between two sizes, from the level of the leaves upwards.
fn write_full_tiles(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    old_size: u64,
    new_size: u64,
) -> Result<(), StoreError> {
    for full in old_size / tile::WIDTH..new_size / tile::WIDTH {
        let from = full * tile::WIDTH;
        let leaves = storage::receipt::leaves(connection, tenant, from, from + tile::WIDTH)?;
        let mut hashes: Vec<Hash> = leaves.iter().map(|(hash, auth)| receipt::leaf(hash, auth)).collect();
        let (mut level, mut number) = (0, full);
        loop {
            tile::insert(connection, tenant, level, number, &hashes)?;
            if (number + 1) % tile::WIDTH != 0 {
                break;
            }
            // The tile above is full too: its hashes are the roots of the 256 tiles below it.
            number /= tile::WIDTH;
            level += 1;
            let below = number * tile::WIDTH..(number + 1) * tile::WIDTH;
            hashes = below
                .map(|below| tile_root(connection, tenant, level - 1, below))
                .collect::<Result<_, _>>()?;
        }
    }
    Ok(())
}

fn tile_root(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    level: u32,
    number: u64,
) -> Result<Hash, StoreError> {
    let hashes = tile::find(connection, tenant, level, number)?.ok_or_else(|| StoreError::Corrupt {
        place: "tiles",
        detail: format!("tile {level}/{number} is missing"),
    })?;
    Ok(merkle::complete_root(&hashes))
}
