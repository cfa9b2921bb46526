//! Our tree against the one of `tlog_tiles`, which was written by others: each shows what the other believes.

use super::*;
use proptest::prelude::*;
use std::convert::Infallible;
use tlog_tiles::{Hash as Theirs, HashReader, check_record, check_tree, prove_record, prove_tree, tree_hash};

/// All complete nodes of a tree, as rows of one level, and as the outside implementation stores them.
struct Both {
    levels: Vec<Vec<Hash>>,
    stored: Vec<Theirs>,
}

impl HashReader for Both {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<Theirs>, tlog_tiles::Error> {
        Ok(indexes.iter().map(|index| self.stored[usize::try_from(*index).unwrap()]).collect())
    }
}

impl Both {
    fn grown(size: u64, seed: u8) -> Self {
        let mut both = Self { levels: vec![Vec::new()], stored: Vec::new() };
        for number in 0..size {
            let data = [&[seed], &number.to_be_bytes()[..]].concat();
            let added = tlog_tiles::stored_hashes(number, &data, &both).unwrap();
            both.stored.extend(added);
            both.levels[0].push(leaf_hash(&data));
        }
        while let Some(below) = both.levels.last().filter(|below| below.len() > 1) {
            let above = below.as_chunks::<2>().0.iter().map(|[left, right]| node_hash(left, right)).collect();
            both.levels.push(above);
        }
        both
    }

    fn node(&self, level: u32, index: u64) -> Hash {
        self.levels[usize::try_from(level).unwrap()][usize::try_from(index).unwrap()]
    }

    /// The same, as the tree asks for it.
    fn nodes(&self) -> impl FnMut(u32, u64) -> Result<Hash, Infallible> + '_ {
        |level, index| Ok(self.node(level, index))
    }
}

fn theirs(hashes: &[Hash]) -> Vec<Theirs> {
    hashes.iter().map(|hash| Theirs(hash.0)).collect()
}

fn ours(hashes: &[Theirs]) -> Vec<Hash> {
    hashes.iter().map(|hash| Hash(hash.0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn roots_are_the_same(size in 0u64..600, seed: u8) {
        let both = Both::grown(size, seed);
        let root = root(size, both.nodes()).unwrap();
        prop_assert_eq!(root.0, tree_hash(size, &both).unwrap().0);
    }

    #[test]
    fn each_believes_the_others_inclusion_proof(size in 1u64..600, index in 0u64..600, cut in 0u64..600, seed: u8) {
        let (index, both) = (index % size, Both::grown(size, seed));
        // Also in a tree that the log has outgrown.
        let size = (index + 1).max(size - cut.min(size - 1));
        let root = root(size, both.nodes()).unwrap();
        let leaf = both.node(0, index);
        let proof = path(index, size, both.nodes()).unwrap();
        let their_proof = prove_record(size, index, &both).unwrap();
        prop_assert!(check_record(&theirs(&proof), size, Theirs(root.0), index, Theirs(leaf.0)).is_ok());
        prop_assert!(verify_inclusion(&leaf, index, size, &ours(&their_proof), &root));
        prop_assert_eq!(ours(&their_proof), proof);
    }

    #[test]
    fn each_believes_the_others_consistency_proof(old in 1u64..600, more in 0u64..600, seed: u8) {
        let new = old + more;
        let both = Both::grown(new, seed);
        let root = |size| root(size, both.nodes()).unwrap();
        let (old_root, new_root) = (root(old), root(new));
        let proof = consistency_path(old, new, both.nodes()).unwrap();
        let their_proof = prove_tree(new, old, &both).unwrap();
        prop_assert!(check_tree(&theirs(&proof), new, Theirs(new_root.0), old, Theirs(old_root.0)).is_ok());
        prop_assert!(verify_consistency(old, new, &old_root, &new_root, &ours(&their_proof)));
        prop_assert_eq!(ours(&their_proof), proof);
    }

    #[test]
    fn neither_believes_a_proof_with_one_bit_changed(size in 2u64..600, index in 0u64..600, bit in 0usize..256, seed: u8) {
        let (index, both) = (index % size, Both::grown(size, seed));
        let root = root(size, both.nodes()).unwrap();
        let leaf = both.node(0, index);
        let mut proof = path(index, size, both.nodes()).unwrap();
        let place = bit % proof.len();
        proof[place].0[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(check_record(&theirs(&proof), size, Theirs(root.0), index, Theirs(leaf.0)).is_err());
        prop_assert!(!verify_inclusion(&leaf, index, size, &proof, &root));
    }
}
