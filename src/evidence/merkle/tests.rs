//! Published vectors, and the definitions of RFC 9162 §2.1 written down naively.

use super::*;
use base64::{Engine, prelude::BASE64_STANDARD};
use proptest::prelude::*;
use serde_json::Value;
use std::convert::Infallible;

const REFERENCE: &str = include_str!("../../../tests/vectors/merkle_reference_8leaf.json");
const TRANSPARENCY: &str = include_str!("../../../tests/vectors/merkle_rfc6962_transparency_dev.json");

/// MTH of RFC 9162 §2.1.1, word for word.
fn naive_root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => sha256(b""),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(largest_power_below(leaves.len()));
            node_hash(&naive_root(left), &naive_root(right))
        }
    }
}

/// PATH of RFC 9162 §2.1.3.1, word for word.
fn naive_path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() <= 1 {
        return Vec::new();
    }
    let split = largest_power_below(leaves.len());
    let (left, right) = leaves.split_at(split);
    let (mut path, sibling) = if index < split {
        (naive_path(index, left), naive_root(right))
    } else {
        (naive_path(index - split, right), naive_root(left))
    };
    path.push(sibling);
    path
}

/// SUBPROOF of RFC 9162 §2.1.4.1, word for word.
fn naive_subproof(old: usize, leaves: &[Hash], known: bool) -> Vec<Hash> {
    if old == leaves.len() {
        return if known { Vec::new() } else { vec![naive_root(leaves)] };
    }
    let split = largest_power_below(leaves.len());
    let (left, right) = leaves.split_at(split);
    let (mut proof, sibling) = if old <= split {
        (naive_subproof(old, left, known), naive_root(right))
    } else {
        (naive_subproof(old - split, right, false), naive_root(left))
    };
    proof.push(sibling);
    proof
}

fn largest_power_below(count: usize) -> usize {
    1 << (usize::BITS - 1 - (count - 1).leading_zeros())
}

fn numbered(count: usize) -> Vec<Hash> {
    (0..count).map(|number| leaf_hash(&number.to_be_bytes())).collect()
}

fn grown(leaves: &[Hash]) -> Frontier {
    let mut frontier = Frontier::empty();
    for leaf in leaves {
        frontier.push(*leaf);
    }
    frontier
}

/// Complete nodes only: asking for any other is a fault of the caller.
fn stored(leaves: &[Hash]) -> impl FnMut(u32, u64) -> Result<Hash, Infallible> + '_ {
    |level, index| {
        let width = 1usize << level;
        let from = usize::try_from(index).unwrap() * width;
        Ok(naive_root(&leaves[from..from + width]))
    }
}

fn from_hex(value: &Value) -> Hash {
    Hash(hex::decode(value.as_str().unwrap()).unwrap().try_into().unwrap())
}

fn hashes(value: &Value) -> Vec<Hash> {
    value.as_array().unwrap().iter().map(from_hex).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn the_reference_tree_has_the_published_hashes_roots_and_proofs() {
    let vectors: Value = serde_json::from_str(REFERENCE).unwrap();
    let leaves: Vec<Hash> = vectors["leaf_inputs_hex"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| leaf_hash(&hex::decode(input.as_str().unwrap()).unwrap()))
        .collect();
    assert_eq!(leaves, hashes(&vectors["leaf_hashes_hex"]));
    for size in 0..=leaves.len() {
        assert_eq!(
            grown(&leaves[..size]).root(),
            from_hex(&vectors["roots_hex"][size.to_string()]),
            "{size}"
        );
    }
    let root = |size: u64| from_hex(&vectors["roots_hex"][size.to_string()]);
    for size in [0, 1, 2, 4, 8] {
        assert_eq!(
            complete_root(&leaves[..size]),
            from_hex(&vectors["roots_hex"][size.to_string()]),
            "{size}"
        );
    }
    for case in vectors["inclusion"].as_array().unwrap() {
        let (index, size) = (number(&case["leaf_index"]), number(&case["tree_size"]));
        let expected = hashes(&case["proof_hex"]);
        assert_eq!(path(index, size, stored(&leaves)), Ok(expected.clone()), "{case}");
        let leaf = leaves[usize::try_from(index).unwrap()];
        assert!(verify_inclusion(&leaf, index, size, &expected, &root(size)), "{case}");
    }
    for case in vectors["consistency"].as_array().unwrap() {
        let (old, new) = (number(&case["size1"]), number(&case["size2"]));
        let expected = hashes(&case["proof_hex"]);
        assert_eq!(consistency_path(old, new, stored(&leaves)), Ok(expected.clone()), "{case}");
        assert!(verify_consistency(old, new, &root(old), &root(new), &expected), "{case}");
    }
}

#[test]
fn the_reference_attacks_fail() {
    let vectors: Value = serde_json::from_str(REFERENCE).unwrap();
    let leaves = hashes(&vectors["leaf_hashes_hex"]);
    let attack = |id: &str| {
        vectors["negative"].as_array().unwrap().iter().find(|case| case["id"] == id).cloned().unwrap()
    };

    let case = attack("second-preimage-no-prefix");
    let children = [leaves[0].0, leaves[1].0].concat();
    assert_eq!(leaf_hash(&children), from_hex(&case["leaf_hash_of_children_concat_hex"]));
    assert_ne!(leaf_hash(&children), from_hex(&case["interior_hex"]));
    assert_ne!(grown(&leaves[..2]).root(), from_hex(&attack("no-domain-separation-root")["root_hex"]));
    assert_ne!(grown(&leaves[..3]).root(), from_hex(&attack("duplicate-last-leaf-root")["root_hex"]));

    let case = attack("wrong-size");
    let (index, size) = (number(&case["leaf_index"]), number(&case["tree_size"]));
    let (proof, root) = (hashes(&case["proof_hex"]), from_hex(&case["root_hex"]));
    // A path as such does not tell 5 from 6 leaves here; the root that belongs to the size does.
    assert!(verify_inclusion(&leaves[2], index, size - 1, &proof, &root));
    assert!(!verify_inclusion(&leaves[2], index, size, &proof, &grown(&leaves[..6]).root()));

    let case = attack("split-view");
    let (left, right) = (from_hex(&case["root_a_hex"]), from_hex(&case["root_b_hex"]));
    assert!(!verify_consistency(8, 8, &left, &right, &[]));
    let case = attack("rollback");
    let (from, to) = (number(&case["from"]), number(&case["to"]));
    let root = |size: u64| grown(&leaves[..usize::try_from(size).unwrap()]).root();
    assert!(!verify_consistency(from, to, &root(from), &root(to), &[]));
}

#[test]
fn the_vectors_of_transparency_dev_come_out_as_they_say() {
    let vectors: Value = serde_json::from_str(TRANSPARENCY).unwrap();
    // Some cases hold other bytes where a hash belongs, which the type does not let in: their hash stands for them.
    let decode = |value: &Value| -> Option<Hash> {
        let bytes = BASE64_STANDARD.decode(value.as_str()?).ok()?;
        (!bytes.is_empty()).then_some(bytes.clone().try_into().map_or_else(|_| leaf_hash(&bytes), Hash))
    };
    let decode_all = |value: &Value| -> Option<Vec<Hash>> {
        value.as_array().map_or(Some(Vec::new()), |hashes| hashes.iter().map(decode).collect())
    };
    for case in vectors["inclusion"].as_array().unwrap() {
        let holds = (|| {
            let (index, size) = (number(&case["leafIdx"]), number(&case["treeSize"]));
            let path = decode_all(&case["proof"])?;
            Some(verify_inclusion(&decode(&case["leafHash"])?, index, size, &path, &decode(&case["root"])?))
        })();
        assert_eq!(holds.unwrap_or(false), case["wantErr"] == false, "{case}");
    }
    for case in vectors["consistency"].as_array().unwrap() {
        let holds = (|| {
            let (old, new) = (number(&case["size1"]), number(&case["size2"]));
            let path = decode_all(&case["proof"])?;
            Some(verify_consistency(old, new, &decode(&case["root1"])?, &decode(&case["root2"])?, &path))
        })();
        assert_eq!(holds.unwrap_or(false), case["wantErr"] == false, "{case}");
    }
}

#[test]
fn a_right_edge_survives_storage_and_nothing_else_passes_for_one() {
    for size in 0..40 {
        let frontier = grown(&numbered(size));
        let bytes = frontier.to_bytes();
        assert_eq!(Frontier::from_bytes(&bytes).unwrap(), frontier);
        assert!(Frontier::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        assert!(Frontier::from_bytes(&[&bytes[..], &[0; 32]].concat()).is_err());
    }
    assert!(Frontier::from_bytes(&[]).is_err());
}

#[test]
fn leaves_that_were_taken_back_leave_no_trace() {
    let leaves = numbered(20);
    let mut growth = Growth::new(grown(&leaves[..5]));
    for leaf in &leaves[5..9] {
        growth.append(*leaf);
    }
    growth.append(leaf_hash(b"abandoned"));
    growth.append(leaf_hash(b"abandoned too"));
    growth.truncate_to(4);
    assert_eq!(growth.append(leaves[9]), 9);
    assert_eq!(growth.seal().root(), naive_root(&leaves[..10]));
}

#[test]
fn sizes_at_the_end_of_the_range_do_not_overflow() {
    let leaf = leaf_hash(b"x");
    let lookup = |_, _| Ok::<_, Infallible>(leaf);
    assert_eq!(path(u64::MAX - 1, u64::MAX, lookup).unwrap().len(), 63);
    assert_eq!(path(0, u64::MAX, lookup).unwrap().len(), 64);
    assert_eq!(path(u64::MAX, u64::MAX, lookup).unwrap().len(), 0);
    assert!(!verify_inclusion(&leaf, u64::MAX - 1, u64::MAX, &[leaf; 63], &leaf));
    assert!(!verify_consistency(u64::MAX - 1, u64::MAX, &leaf, &leaf, &[leaf; 64]));
    assert!(!verify_consistency(1 << 63, u64::MAX, &leaf, &leaf, &[leaf; 64]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_path_of_a_batch_is_the_one_the_standard_defines(before in 0usize..70, batch in 0usize..40) {
        let leaves = numbered(before + batch);
        let mut growth = Growth::new(grown(&leaves[..before]));
        for leaf in &leaves[before..] {
            growth.append(*leaf);
        }
        let sealed = growth.seal();
        let size = u64::try_from(leaves.len()).unwrap();
        let root = naive_root(&leaves);
        prop_assert_eq!(sealed.root(), root);
        prop_assert_eq!(sealed.after(), &grown(&leaves));
        for (index, leaf) in (0..).zip(&leaves) {
            let naive = naive_path(usize::try_from(index).unwrap(), &leaves);
            prop_assert!(verify_inclusion(leaf, index, size, &naive, &root));
            prop_assert_eq!(&path(index, size, stored(&leaves)).unwrap(), &naive);
            let own = sealed.path(index);
            prop_assert_eq!(own, (index >= sealed.before().size()).then_some(naive));
        }
        prop_assert_eq!(sealed.path(size), None);
    }

    #[test]
    fn a_batch_names_exactly_the_nodes_it_completed(before in 0usize..100, batch in 0usize..60) {
        let leaves = numbered(before + batch);
        let mut growth = Growth::new(grown(&leaves[..before]));
        for leaf in &leaves[before..] {
            growth.append(*leaf);
        }
        let mut expected = Vec::new();
        for level in 0..8 {
            for index in before >> level..leaves.len() >> level {
                let (level, index) = (u32::try_from(level).unwrap(), u64::try_from(index).unwrap());
                expected.push((level, index, stored(&leaves)(level, index).unwrap()));
            }
        }
        prop_assert_eq!(growth.seal().completed().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn one_tree_is_shown_to_continue_another(old in 1usize..120, more in 0usize..120) {
        let leaves = numbered(old + more);
        let (old_size, new_size) = (u64::try_from(old).unwrap(), u64::try_from(old + more).unwrap());
        let proof = consistency_path(old_size, new_size, stored(&leaves)).unwrap();
        prop_assert_eq!(&proof, &naive_subproof(old, &leaves, true));
        let (old_root, new_root) = (naive_root(&leaves[..old]), naive_root(&leaves));
        prop_assert!(verify_consistency(old_size, new_size, &old_root, &new_root, &proof));
        prop_assert!(more == 0 || !verify_consistency(old_size, new_size, &new_root, &old_root, &proof));
    }

    #[test]
    fn above_nodes_stands_what_each_complete_pair_comes_to(count in 0usize..70) {
        let leaves = numbered(count);
        let levels = levels(leaves.clone());
        let mut width = 1;
        for level in &levels {
            let expected: Vec<Hash> = leaves.chunks_exact(width).map(naive_root).collect();
            prop_assert_eq!(level, &expected);
            width *= 2;
        }
        prop_assert!(levels.last().unwrap().len() <= 1, "up to one");
    }

    #[test]
    fn a_path_shows_one_leaf_at_one_place(size in 1u64..70, index in 0u64..70, other in 0u64..70, cut in 0usize..7) {
        let leaves = numbered(usize::try_from(size).unwrap());
        let index = index % size;
        let leaf = leaves[usize::try_from(index).unwrap()];
        let root = naive_root(&leaves);
        let whole = path(index, size, stored(&leaves)).unwrap();
        if other != index {
            prop_assert!(!verify_inclusion(&leaf, other, size, &whole, &root));
        }
        if cut < whole.len() {
            let mut shorter = whole.clone();
            shorter.remove(cut);
            prop_assert!(!verify_inclusion(&leaf, index, size, &shorter, &root));
            let mut changed = whole.clone();
            changed[cut].0[0] ^= 1;
            prop_assert!(!verify_inclusion(&leaf, index, size, &changed, &root));
        }
        prop_assert!(!verify_inclusion(&leaf, index, size, &[&whole[..], &[leaf]].concat(), &root));
    }
}
