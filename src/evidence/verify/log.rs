//! What is known of one log, from whatever was read: roots by size, nodes by level and index, and which tree is the
//! beginning of which.
//!
//! A receipt's path shows more than its own leaf: what stands left of leaf `i` is the tree of the first `i` leaves, so
//! each receipt ties the trees of `i` and `i + 1` leaves to the one its checkpoint signs.

use super::proof::{OpenedProof, Proof};
use super::report::{Fault, Site, same};
use super::tile::Tile;
use crate::crypto::sha256;
use crate::domain::Hash;
use crate::evidence::merkle::{node_hash, verify_consistency, verify_inclusion};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// One log.
#[derive(Default)]
pub(super) struct Log {
    /// Roots by size, signed or shown by a path, and where they were read first.
    trees: HashMap<u64, (Hash, Arc<Site>)>,
    /// Sizes whose root is signed.
    signed: BTreeSet<u64>,
    /// Larger trees that are shown to begin with the tree of a size.
    above: HashMap<u64, Vec<u64>>,
    /// Leaves of receipts and hashes of tiles, by level and index, and where they were read first.
    nodes: HashMap<(u32, u64), (Hash, Arc<Site>)>,
    /// Where the tiles end, in leaves.
    tiled: u64,
    /// Nodes as they come out, once everything is read.
    built: HashMap<(u32, u64), Option<Hash>>,
}

impl Log {
    /// Adds a signed root; fails where another one is known for its size.
    pub(super) fn signed(
        &mut self,
        origin: &str,
        size: u64,
        root: Hash,
        at: &Arc<Site>,
    ) -> Result<(), Fault> {
        self.tree(origin, size, root, at)?;
        self.signed.insert(size);
        Ok(())
    }

    /// Whether a checkpoint of that size was read.
    pub(super) fn is_signed(&self, size: u64) -> bool {
        self.signed.contains(&size)
    }

    /// Whether any checkpoint was read.
    pub(super) fn is_known(&self) -> bool {
        !self.signed.is_empty()
    }

    /// The largest size a checkpoint was read of.
    pub(super) fn largest(&self) -> u64 {
        self.signed.last().copied().unwrap_or(0)
    }

    /// Adds what a path under a signed tree of `whole` leaves shows: the root of the first `size`.
    pub(super) fn begins(
        &mut self,
        origin: &str,
        size: u64,
        root: Hash,
        whole: u64,
        at: &Arc<Site>,
    ) -> Result<(), Fault> {
        self.tree(origin, size, root, at)?;
        self.is_above(size, whole);
        Ok(())
    }

    fn is_above(&mut self, size: u64, whole: u64) {
        let above = self.above.entry(size).or_default();
        if !above.contains(&whole) {
            above.push(whole);
        }
    }

    fn tree(&mut self, origin: &str, size: u64, root: Hash, at: &Arc<Site>) -> Result<(), Fault> {
        if size == 0 {
            return same("merkle.root", &sha256(b""), &root, "a tree without leaves has another root");
        }
        let known = match self.trees.entry(size) {
            Entry::Occupied(known) if known.get().0 == root => return Ok(()),
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert((root, Arc::clone(at)));
                return Ok(());
            }
        };
        let detail = format!("another root of the log `{origin}` at size {size} was read before: a fork");
        Err(Fault::differs("merkle.root", known.0, root, detail).beside(&known.1))
    }

    /// Adds a receipt's leaf; fails where another one is known at its index.
    pub(super) fn leaf(&mut self, origin: &str, index: u64, leaf: Hash, at: &Arc<Site>) -> Result<(), Fault> {
        self.put(origin, (0, index), leaf, "merkle.index", at)
    }

    /// Adds the hashes of a tile, or those of an entry bundle.
    pub(super) fn tile(&mut self, origin: &str, tile: &Tile) -> Result<(), Fault> {
        for (index, hash) in (tile.first..).zip(&tile.hashes) {
            self.put(origin, (tile.level, index), *hash, tile.field, &tile.site)?;
        }
        let end = tile.first.saturating_add(u64::try_from(tile.hashes.len()).unwrap_or(u64::MAX));
        self.tiled = self.tiled.max(end.saturating_mul(1 << tile.level.min(63)));
        Ok(())
    }

    fn put(
        &mut self,
        origin: &str,
        place: (u32, u64),
        node: Hash,
        field: &str,
        at: &Arc<Site>,
    ) -> Result<(), Fault> {
        let known = self.nodes.entry(place).or_insert_with(|| (node, Arc::clone(at)));
        if known.0 == node {
            return Ok(());
        }
        let (level, index) = place;
        let which =
            if level == 0 { format!("leaf {index}") } else { format!("node {index} of level {level}") };
        let detail = format!("another {which} of the log `{origin}` was read before: a fork");
        Err(Fault::differs(field, known.0, node, detail).beside(&known.1))
    }

    /// Holds every signed root against leaves, tiles and proofs, and tiles against each other; gives what they do not
    /// show, and how many proofs led from one root to another.
    pub(super) fn settle(&mut self, origin: &str, proofs: &[&Proof]) -> Result<(Vec<String>, u64), Fault> {
        self.hold_nodes()?;
        let sizes: Vec<u64> = self.signed.iter().rev().copied().filter(|size| *size > 0).collect();
        let mut held = 0;
        for size in &sizes {
            if let Some(root) = self.root(*size)? {
                held = held.max(*size);
                self.check_signed(origin, *size, &root)?;
                self.is_above(*size, held);
            }
        }
        let (mut shown, mut unheld) = (0, Vec::new());
        for proof in proofs {
            if self.prove(proof).map_err(|fault| fault.in_site(&proof.site))? {
                shown += 1;
            } else {
                unheld.push(proof.unheld());
            }
        }
        let mut notes = self.apart(origin, &sizes);
        notes.extend(unheld);
        if self.tiled > held {
            let what = format!("tiles of the log `{origin}`");
            let why = "no checkpoint is of a size that they suffice for";
            notes.push(format!("{what} are not held against a checkpoint beyond {held} leaves: {why}"));
        }
        Ok((notes, shown))
    }

    /// Fails where what was read of leaves and tiles leads to another root than the one that is signed.
    fn check_signed(&self, origin: &str, size: u64, root: &Hash) -> Result<(), Fault> {
        let Some((signed, at)) = self.trees.get(&size) else { return Ok(()) };
        let detail =
            format!("it is not the root of the first {size} leaves of the log `{origin}` that were read");
        same("merkle.root", root, signed, &detail).map_err(|fault| fault.in_site(at))
    }

    /// Fails where a leaf's proof cannot lead to the root it is under, or does not lead there from the leaf that was
    /// read; whether one was.
    pub(super) fn show(&mut self, proof: &OpenedProof) -> Result<bool, Fault> {
        let OpenedProof { site: at, index, path, checkpoint } = proof;
        let known = self.nodes.get(&(0, *index));
        let leads = match known {
            Some((leaf, _)) => verify_inclusion(leaf, *index, checkpoint.size, path, &checkpoint.root),
            None => leads_up(*index, checkpoint.size, path.len()),
        };
        if !leads {
            let detail =
                format!("it does not lead from leaf {index} to the root of {} leaves", checkpoint.size);
            let fault = Fault::new("path", detail);
            return Err(known.into_iter().fold(fault, |fault, (_, from)| fault.beside(from)));
        }
        let Some((leaf, _)) = known else { return Ok(false) };
        let (before, with) = beginnings(leaf, *index, checkpoint.size, path);
        for (size, root) in [(*index, before), (index.saturating_add(1), Some(with))] {
            if let Some(root) = root.filter(|_| size < checkpoint.size) {
                self.begins(&checkpoint.origin, size, root, checkpoint.size, at)?;
            }
        }
        Ok(true)
    }

    /// Fails where a proof does not lead from one root to the other; whether both are known.
    fn prove(&mut self, proof: &Proof) -> Result<bool, Fault> {
        let empty = sha256(b"");
        let known = |size: u64| match size {
            0 => Some(empty),
            size => self.trees.get(&size).filter(|_| self.signed.contains(&size)).map(|(root, _)| *root),
        };
        let (Some(from), Some(to)) = (known(proof.from), known(proof.to)) else { return Ok(false) };
        let holds = match proof.from {
            0 => proof.path.is_empty(),
            from_size => verify_consistency(from_size, proof.to, &from, &to, &proof.path),
        };
        if !holds {
            let detail =
                format!("it does not lead from the root of {} leaves to that of {}", proof.from, proof.to);
            return Err(Fault::differs("path", from, to, detail));
        }
        self.above.entry(proof.from).or_default().push(proof.to);
        Ok(true)
    }

    /// Which signed trees are not shown to be of one history with the largest.
    ///
    /// Whatever begins one tree is of one history with all else that begins it: each tree is followed up to the
    /// largest that is shown to begin with it.
    fn apart(&self, origin: &str, sizes: &[u64]) -> Vec<String> {
        let mut tops: BTreeMap<u64, u64> = BTreeMap::new();
        let mut notes = Vec::new();
        let largest = self.largest();
        for size in sizes {
            let above = self.above.get(size).into_iter().flatten().filter(|above| *above > size);
            let top = above.filter_map(|above| tops.get(above)).max().copied().unwrap_or(*size);
            tops.insert(*size, top);
            if top == *size && top != largest {
                notes.push(format!(
                    "that the trees of {size} and {largest} leaves of the log `{origin}` are of one history is not \
                     shown: a consistency proof from {size} to {largest} would show it"
                ));
            }
        }
        notes
    }

    /// Holds every node of a tile against those below it, also where no checkpoint's tree is known so far down.
    fn hold_nodes(&mut self) -> Result<(), Fault> {
        let mut stated: Vec<_> = self.nodes.keys().copied().filter(|(level, _)| *level > 0).collect();
        stated.sort_unstable();
        for (level, index) in stated {
            self.node(level, index)?;
        }
        Ok(())
    }

    /// Names where a node was read, and where the first of what stands below it was.
    fn placed(&self, fault: Fault, level: u32, index: u64) -> Fault {
        let at = |level: u32, index: u64| self.nodes.get(&(level, index)).map(|(_, at)| at);
        let fault = at(level, index).into_iter().fold(fault, Fault::in_site);
        let first = |below: u32| at(below, index << (level - below));
        (0..level).rev().find_map(first).into_iter().fold(fault, Fault::beside)
    }

    /// The root of the first `size` leaves, where nodes suffice.
    fn root(&mut self, size: u64) -> Result<Option<Hash>, Fault> {
        let mut root: Option<Hash> = None;
        for level in (0..u64::BITS).filter(|level| (size >> level) & 1 == 1) {
            let Some(left) = self.node(level, (size >> level) - 1)? else { return Ok(None) };
            root = Some(root.map_or(left, |right| node_hash(&left, &right)));
        }
        Ok(root)
    }

    /// A complete node: made of those below it where they are known, or else as it stands in a tile.
    fn node(&mut self, level: u32, index: u64) -> Result<Option<Hash>, Fault> {
        if let Some(built) = self.built.get(&(level, index)) {
            return Ok(*built);
        }
        let stated = self.nodes.get(&(level, index)).map(|(hash, _)| *hash);
        // A tile may claim to stand higher than any log grows: what would be below it has no index.
        let below = level.checked_sub(1).zip(index.checked_mul(2));
        let made = match below {
            None => None,
            Some((below, left)) => match self.node(below, left)? {
                None => None,
                Some(hash) => self.node(below, left + 1)?.map(|right| node_hash(&hash, &right)),
            },
        };
        if let (Some(made), Some(stated)) = (made, stated) {
            let detail = format!("node {index} of level {level} is not that of what stands below it");
            same("tile", &made, &stated, &detail).map_err(|fault| self.placed(fault, level, index))?;
        }
        let built = made.or(stated);
        self.built.insert((level, index), built);
        Ok(built)
    }
}

/// Whether a path of so many nodes can lead from leaf `index` to the root of `size` leaves, whatever the leaf is: one
/// node a level up to where leaf and last leaf meet, above that one where there is something to the left.
fn leads_up(index: u64, size: u64, nodes: usize) -> bool {
    let Some(last) = size.checked_sub(1).filter(|last| index <= *last) else { return false };
    let apart = u64::BITS - (index ^ last).leading_zeros();
    let above = index.checked_shr(apart).unwrap_or(0).count_ones();
    u32::try_from(nodes).is_ok_and(|nodes| nodes == apart + above)
}

/// The roots of the first `index` and of the first `index + 1` leaves, from the path of leaf `index` in a tree of
/// `size` leaves that it does lead to the root of (RFC 9162 §2.1.3.2).
pub(super) fn beginnings(leaf: &Hash, index: u64, size: u64, path: &[Hash]) -> (Option<Hash>, Hash) {
    let (mut node, mut last) = (index, size.saturating_sub(1));
    let (mut before, mut with) = (None, *leaf);
    for sibling in path {
        if node & 1 == 1 || node == last {
            before = Some(before.map_or(*sibling, |right| node_hash(sibling, &right)));
            with = node_hash(sibling, &with);
            while node != 0 && node & 1 == 0 {
                node >>= 1;
                last >>= 1;
            }
        }
        node >>= 1;
        last >>= 1;
    }
    (before, with)
}
