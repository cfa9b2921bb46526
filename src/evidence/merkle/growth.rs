//! One batch of leaves appended to a tree, and the paths of every one of them at the new size.

use super::path::{Sibling, siblings};
use super::{Frontier, node_hash};
use crate::domain::Hash;

/// A tree being appended to: the old right edge and the leaves since.
#[derive(Clone, Debug)]
pub struct Growth {
    before: Frontier,
    leaves: Vec<Hash>,
}

impl Growth {
    /// Starts from a tree of which only the right edge is known.
    pub fn new(before: Frontier) -> Self {
        Self { before, leaves: Vec::new() }
    }

    /// Appends a leaf's hash and gives the leaf's index in the whole tree.
    pub fn append(&mut self, leaf: Hash) -> u64 {
        self.leaves.push(leaf);
        self.size() - 1
    }

    /// Leaves in the whole tree, with those appended.
    pub fn size(&self) -> u64 {
        self.before.size().saturating_add(wide(self.leaves.len()))
    }

    /// How many leaves were appended.
    pub fn appended(&self) -> usize {
        self.leaves.len()
    }

    /// Keeps the first `appended` leaves of this batch and drops those after them.
    pub fn truncate_to(&mut self, appended: usize) {
        self.leaves.truncate(appended);
    }

    /// Ends the batch: hashes every node it completed, once.
    pub fn seal(self) -> Sealed {
        let mut after = self.before.clone();
        for leaf in &self.leaves {
            after.push(*leaf);
        }
        let mut levels = vec![self.leaves];
        for level in 0..u64::BITS - 1 {
            let Some(below) = levels.last().filter(|nodes| !nodes.is_empty()) else { break };
            let parents = parents(&self.before, level, below);
            levels.push(parents);
        }
        let edges = edges(&after);
        let root = after.root();
        Sealed { before: self.before, after, root, levels, edges }
    }
}

/// The nodes one level up that this batch completes. Where the first has its left child in the old tree, that
/// child is on the old right edge.
fn parents(before: &Frontier, level: u32, below: &[Hash]) -> Vec<Hash> {
    let first = before.size() >> level;
    let mut parents = Vec::with_capacity(below.len() / 2 + 1);
    let mut rest = below;
    if first & 1 == 1
        && let Some(left) = before.node(level, first - 1)
        && let Some((right, after)) = rest.split_first()
    {
        parents.push(node_hash(&left, right));
        rest = after;
    }
    let (pairs, _) = rest.as_chunks::<2>();
    parents.extend(pairs.iter().map(|[left, right]| node_hash(left, right)));
    parents
}

/// For each level, the incomplete node at its right end, where there is one.
fn edges(after: &Frontier) -> Vec<Option<Hash>> {
    let mut edges = vec![None];
    let mut edge: Option<Hash> = None;
    let mut from_the_right = after.nodes().iter().rev();
    for level in 0..u64::BITS - after.size().leading_zeros() {
        if (after.size() >> level) & 1 == 1
            && let Some(left) = from_the_right.next()
        {
            edge = Some(edge.map_or(*left, |right| node_hash(left, &right)));
        }
        edges.push(edge);
    }
    edges
}

/// A batch whose tree is settled.
#[derive(Clone, Debug)]
pub struct Sealed {
    before: Frontier,
    after: Frontier,
    root: Hash,
    /// For each level, the nodes completed by this batch; the first stands at index `before.size >> level`.
    levels: Vec<Vec<Hash>>,
    edges: Vec<Option<Hash>>,
}

impl Sealed {
    /// The right edge before the batch.
    pub fn before(&self) -> &Frontier {
        &self.before
    }

    /// The right edge after the batch.
    pub fn after(&self) -> &Frontier {
        &self.after
    }

    /// Leaves in the tree after the batch.
    pub fn size(&self) -> u64 {
        self.after.size()
    }

    /// The root after the batch.
    pub fn root(&self) -> Hash {
        self.root
    }

    /// The hashes of the leaves appended, in order.
    pub fn leaves(&self) -> &[Hash] {
        self.levels.first().map_or(&[], Vec::as_slice)
    }

    /// Every node this batch completed, as (level, index, hash): what is stored for later paths.
    pub fn completed(&self) -> impl Iterator<Item = (u32, u64, Hash)> {
        (0..).zip(&self.levels).flat_map(|(level, nodes)| {
            let first = self.before.size() >> level;
            (first..).zip(nodes).map(move |(index, node)| (level, index, *node))
        })
    }

    /// The inclusion path of the leaf at `index` at the new size; `None` where this batch did not append it.
    pub fn path(&self, index: u64) -> Option<Vec<Hash>> {
        if !(self.before.size()..self.after.size()).contains(&index) {
            return None;
        }
        siblings(0, index, self.size())
            .map(|sibling| match sibling {
                Sibling::Complete(level, index) => self.node(level, index),
                Sibling::Edge(level) => self.edges.get(usize::try_from(level).ok()?).copied().flatten(),
            })
            .collect()
    }

    /// A complete node that a path from this batch can meet: completed by it, or left of it on the old edge.
    fn node(&self, level: u32, index: u64) -> Option<Hash> {
        match index.checked_sub(self.before.size() >> level) {
            Some(place) => {
                let nodes = self.levels.get(usize::try_from(level).ok()?)?;
                nodes.get(usize::try_from(place).ok()?).copied()
            }
            None => self.before.node(level, index),
        }
    }
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
