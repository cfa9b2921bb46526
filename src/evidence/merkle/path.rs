//! Paths that show a leaf to be in a tree, and one tree to be the beginning of another (RFC 9162 §2.1.3, §2.1.4).

use super::node_hash;
use crate::crypto::sha256;
use crate::domain::Hash;

/// The inclusion path of leaf `index` in the tree of the first `size` leaves (RFC 9162 §2.1.3.1), from
/// complete nodes that `lookup(level, index)` knows. An index outside the tree has no path: the result is empty.
pub fn path<E>(
    index: u64,
    size: u64,
    mut lookup: impl FnMut(u32, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let mut hashes = Vec::new();
    if index < size {
        collect(siblings(0, index, size), size, &mut lookup, &mut hashes)?;
    }
    Ok(hashes)
}

/// What shows that the first `old_size` leaves of the tree of `new_size` leaves are the old tree
/// (RFC 9162 §2.1.4.1), from complete nodes. Empty where both are the same size, and where there is nothing to
/// show: an old tree without leaves, or larger than the new one.
pub fn consistency_path<E>(
    old_size: u64,
    new_size: u64,
    mut lookup: impl FnMut(u32, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    let mut hashes = Vec::new();
    if old_size == 0 || old_size >= new_size {
        return Ok(hashes);
    }
    // The last and smallest complete subtree of the old tree; the verifier knows it where it is the whole tree.
    let level = old_size.trailing_zeros();
    let node = (old_size >> level) - 1;
    if node > 0 {
        hashes.push(lookup(level, node)?);
    }
    collect(siblings(level, node, new_size), new_size, &mut lookup, &mut hashes)?;
    Ok(hashes)
}

/// The root of the tree of the first `size` leaves (RFC 9162 §2.1.1), from complete nodes.
pub fn root<E>(size: u64, mut lookup: impl FnMut(u32, u64) -> Result<Hash, E>) -> Result<Hash, E> {
    Ok(edge(u64::BITS, size, &mut lookup)?.unwrap_or_else(|| sha256(b"")))
}

/// What stands beside the way from a node to the root.
pub(super) enum Sibling {
    /// The complete node (level, index).
    Complete(u32, u64),
    /// The incomplete node at the right end of a level.
    Edge(u32),
}

/// The siblings from node (level, node) up to the root of the tree of `size` leaves.
pub(super) fn siblings(mut level: u32, mut node: u64, size: u64) -> impl Iterator<Item = Sibling> {
    let mut last = size.saturating_sub(1) >> level;
    std::iter::from_fn(move || {
        while last > 0 {
            let (here, sibling, is_last) = (level, node ^ 1, node ^ 1 == last);
            node >>= 1;
            last >>= 1;
            level += 1;
            if sibling < size >> here {
                return Some(Sibling::Complete(here, sibling));
            }
            if is_last {
                return Some(Sibling::Edge(here));
            }
        }
        None
    })
}

fn collect<E>(
    siblings: impl Iterator<Item = Sibling>,
    size: u64,
    lookup: &mut impl FnMut(u32, u64) -> Result<Hash, E>,
    hashes: &mut Vec<Hash>,
) -> Result<(), E> {
    for sibling in siblings {
        match sibling {
            Sibling::Complete(level, index) => hashes.push(lookup(level, index)?),
            Sibling::Edge(level) => hashes.extend(edge(level, size, lookup)?),
        }
    }
    Ok(())
}

/// The incomplete node at the right end of `level`: the leaves that the complete nodes there do not cover.
fn edge<E>(
    level: u32,
    size: u64,
    lookup: &mut impl FnMut(u32, u64) -> Result<Hash, E>,
) -> Result<Option<Hash>, E> {
    let mut right: Option<Hash> = None;
    for below in 0..level {
        if (size >> below) & 1 == 1 {
            let left = lookup(below, (size >> below) - 1)?;
            right = Some(right.map_or(left, |right| node_hash(&left, &right)));
        }
    }
    Ok(right)
}

/// Whether `path` shows the leaf with hash `leaf` at `index` in the tree of `size` leaves with this `root`
/// (RFC 9162 §2.1.3.2).
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            skip_levels_without_sibling(&mut node, &mut last);
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// Whether `path` shows the tree of `old_size` leaves to be the beginning of the tree of `new_size` leaves
/// (RFC 9162 §2.1.4.2). Nothing can be shown about a tree without leaves: that is false.
pub fn verify_consistency(
    old_size: u64,
    new_size: u64,
    old_root: &Hash,
    new_root: &Hash,
    path: &[Hash],
) -> bool {
    if old_size == 0 || old_size > new_size {
        return false;
    }
    if old_size == new_size {
        return path.is_empty() && old_root == new_root;
    }
    // Where the old tree is one complete subtree, its root is the first hash and is left out of the path.
    let (first, rest) = match path.split_first() {
        None => return false,
        Some(_) if old_size.is_power_of_two() => (old_root, path),
        Some((first, rest)) => (first, rest),
    };
    let shift = (old_size - 1).trailing_ones();
    let (mut node, mut last) = ((old_size - 1) >> shift, (new_size - 1) >> shift);
    let (mut old, mut new) = (*first, *first);
    for hash in rest {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            old = node_hash(hash, &old);
            new = node_hash(hash, &new);
            skip_levels_without_sibling(&mut node, &mut last);
        } else {
            new = node_hash(&new, hash);
        }
        node >>= 1;
        last >>= 1;
    }
    last == 0 && old == *old_root && new == *new_root
}

/// A node at the right end that is a left child has no sibling: it stands for its parent.
fn skip_levels_without_sibling(node: &mut u64, last: &mut u64) {
    if *node & 1 == 0 {
        let levels = node.trailing_zeros().min(u64::BITS - 1);
        *node >>= levels;
        *last >>= levels;
    }
}
