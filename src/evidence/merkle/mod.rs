//! The log as a Merkle tree (RFC 9162 §2.1, the tree of RFC 6962): growing it, and paths through it.
//!
//! A *node* is named by its level and its index there: node (level, i) covers the leaves from i·2^level up to
//! (i+1)·2^level. It is *complete* once all of them exist, and never changes from then on.

mod growth;
mod path;
mod tile;

pub use growth::{Growth, Sealed};
pub use path::{consistency_path, path, root, verify_consistency, verify_inclusion};
pub use tile::{TILE_WIDTH, TileContent, TilePath};

use crate::crypto::{sha256, sha256_of_parts};
use crate::domain::{Hash, Malformed};

const LEAF: &[u8] = &[0];
const NODE: &[u8] = &[1];
const HASH_BYTES: usize = 32;

/// The hash of a leaf: SHA-256 of a zero byte and its data (RFC 9162 §2.1.1).
pub fn leaf_hash(data: &[u8]) -> Hash {
    sha256_of_parts(&[LEAF, data])
}

/// The hash of an inner node: SHA-256 of a one byte and the hashes of its two children (RFC 9162 §2.1.1).
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    sha256_of_parts(&[NODE, left.as_bytes(), right.as_bytes()])
}

/// The root of a complete subtree from one level of its nodes, left to right; their count is a power of two.
/// Of no nodes the SHA-256 of nothing, as of a tree without leaves.
pub fn complete_root(nodes: &[Hash]) -> Hash {
    match nodes {
        [] => sha256(b""),
        [one] => *one,
        more => {
            let (left, right) = more.split_at(more.len() / 2);
            node_hash(&complete_root(left), &complete_root(right))
        }
    }
}

/// Nodes side by side, and above them what they come to in pairs, up to one; a node without a neighbour has none above it.
pub fn levels(nodes: Vec<Hash>) -> Vec<Vec<Hash>> {
    let mut levels = vec![nodes];
    while let Some(below) = levels.last().filter(|below| below.len() > 1) {
        let (pairs, _) = below.as_chunks::<2>();
        let above = pairs.iter().map(|[left, right]| node_hash(left, right)).collect();
        levels.push(above);
    }
    levels
}

/// The right edge of a tree: all that is needed to append to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frontier {
    size: u64,
    nodes: Vec<Hash>,
}

impl Frontier {
    /// The frontier of a tree without leaves.
    pub const fn empty() -> Self {
        Self { size: 0, nodes: Vec::new() }
    }

    /// How many leaves the tree has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The largest complete subtrees, from the left, one for each bit set in the size.
    pub fn nodes(&self) -> &[Hash] {
        &self.nodes
    }

    /// Appends one leaf and gives its index.
    pub fn push(&mut self, leaf: Hash) -> u64 {
        let index = self.size;
        let mut node = leaf;
        let mut rest = self.size;
        while rest & 1 == 1 {
            let Some(left) = self.nodes.pop() else { break };
            node = node_hash(&left, &node);
            rest >>= 1;
        }
        self.nodes.push(node);
        self.size = self.size.saturating_add(1);
        index
    }

    /// The root; of a tree without leaves the SHA-256 of nothing (RFC 9162 §2.1.1).
    pub fn root(&self) -> Hash {
        let mut from_the_right = self.nodes.iter().rev();
        let Some(last) = from_the_right.next() else { return sha256(b"") };
        from_the_right.fold(*last, |right, left| node_hash(left, &right))
    }

    /// The size in eight bytes, most significant first, then the nodes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.nodes.len() * HASH_BYTES);
        bytes.extend_from_slice(&self.size.to_be_bytes());
        for node in &self.nodes {
            bytes.extend_from_slice(node.as_bytes());
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote; the nodes must be as many as the size has bits set.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let wrong = || Malformed::whole(format!("{} bytes are not the right edge of a tree", bytes.len()));
        let (size, nodes) = bytes.split_first_chunk::<8>().ok_or_else(wrong)?;
        let size = u64::from_be_bytes(*size);
        let (nodes, rest) = nodes.as_chunks::<HASH_BYTES>();
        let expected = usize::try_from(size.count_ones()).map_err(|_| wrong())?;
        if !rest.is_empty() || nodes.len() != expected {
            return Err(wrong());
        }
        Ok(Self { size, nodes: nodes.iter().copied().map(Hash).collect() })
    }

    /// The complete node (level, index), where it is one of the frontier's.
    fn node(&self, level: u32, index: u64) -> Option<Hash> {
        let is_frontier = (self.size >> level) & 1 == 1 && index == (self.size >> level) - 1;
        let larger = self.size.checked_shr(level + 1).unwrap_or(0).count_ones();
        is_frontier.then(|| self.nodes.get(usize::try_from(larger).ok()?).copied()).flatten()
    }
}

#[cfg(test)]
mod outside_tests;
#[cfg(test)]
mod tests;
