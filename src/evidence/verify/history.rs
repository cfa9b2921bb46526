//! What several receipts say together: one chain, one log, one root for each size.
//!
//! Kept for every receipt: its hash by place in its chain, its leaf by place in its log; about a hundred bytes.

use super::report::Fault;
use crate::domain::{Chain, Hash};
use crate::evidence::{note::Checkpoint, receipt::Receipt};
use std::collections::{BTreeMap, HashMap};

/// How the hash at one place of a chain became known.
#[derive(Clone, Copy)]
enum Known {
    /// The receipt itself was read.
    Read(Hash),
    /// The receipt after it links to it.
    Linked(Hash),
}

/// Everything read so far, across all files.
#[derive(Default)]
pub(super) struct History {
    chains: HashMap<Chain, BTreeMap<u64, Known>>,
    logs: HashMap<String, Log>,
}

#[derive(Default)]
struct Log {
    roots: BTreeMap<u64, Hash>,
    leaves: BTreeMap<u64, Hash>,
}

impl History {
    /// Adds a receipt that holds by itself; fails where it contradicts one read before.
    pub(super) fn add(&mut self, receipt: &Receipt, origin: &str) -> Result<(), Fault> {
        self.link(receipt)?;
        let (index, leaf) = (receipt.merkle.index, receipt.leaf());
        let log = self.log(origin);
        let known = *log.leaves.entry(index).or_insert(leaf);
        if known != leaf {
            let detail =
                format!("leaf {index} of the log `{origin}` is another one in a receipt read before: a fork");
            return Err(Fault::differs("merkle.index", known, leaf, detail));
        }
        self.root(origin, receipt.merkle.size, receipt.merkle.root)
    }

    /// Adds a checkpoint that holds by itself.
    pub(super) fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        self.root(&checkpoint.origin, checkpoint.size, checkpoint.root)
    }

    fn root(&mut self, origin: &str, size: u64, root: Hash) -> Result<(), Fault> {
        let known = *self.log(origin).roots.entry(size).or_insert(root);
        if known == root {
            return Ok(());
        }
        let detail = format!(
            "the log `{origin}` has another root at size {size} in what was read before: a split view"
        );
        Err(Fault::differs("merkle.root", known, root, detail))
    }

    fn link(&mut self, receipt: &Receipt) -> Result<(), Fault> {
        let (body, hash) = (&receipt.body, receipt.hash);
        let chain = self.chains.entry(body.chain).or_default();
        match chain.insert(body.seq, Known::Read(hash)) {
            Some(Known::Read(other)) if other != hash => {
                let detail = format!(
                    "place {} of chain {} holds another receipt as well: a fork",
                    body.seq, body.chain
                );
                return Err(Fault::differs("hash", other, hash, detail));
            }
            Some(Known::Linked(other)) if other != hash => {
                let detail = format!("the receipt after it in chain {} links to another one", body.chain);
                return Err(Fault::differs("hash", other, hash, detail));
            }
            Some(Known::Read(_) | Known::Linked(_)) | None => {}
        }
        let Some(before) = body.seq.checked_sub(1) else { return Ok(()) };
        let known = *chain.entry(before).or_insert(Known::Linked(body.prev));
        let (Known::Read(other) | Known::Linked(other)) = known;
        if other == body.prev {
            return Ok(());
        }
        let detail = format!("it does not link to the receipt at place {before} of chain {}", body.chain);
        Err(Fault::differs("prev", other, body.prev, detail))
    }

    fn log(&mut self, origin: &str) -> &mut Log {
        if !self.logs.contains_key(origin) {
            self.logs.insert(origin.to_owned(), Log::default());
        }
        self.logs.entry(origin.to_owned()).or_default()
    }
}
