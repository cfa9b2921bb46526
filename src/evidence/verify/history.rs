//! What everything that was read says together: one chain, one log, one root for each size.

use super::log::{Log, beginnings};
use super::proof::{Proof, Tile};
use super::report::{Failure, Fault};
use crate::domain::{Chain, Hash};
use crate::evidence::{note::Checkpoint, receipt::Receipt};
use std::collections::{BTreeMap, HashMap};

/// Everything read so far, across all files.
#[derive(Default)]
pub(super) struct History {
    /// The hash at each place of each chain, as its receipt or the one after it states it.
    chains: HashMap<Chain, BTreeMap<u64, Hash>>,
    logs: BTreeMap<String, Log>,
}

impl History {
    /// Adds a receipt that holds by itself; fails where it contradicts one read before.
    ///
    /// What is not `kept` leaves only its checkpoint behind: lines of an export that nothing else is held against.
    pub(super) fn add(&mut self, receipt: &Receipt, origin: &str, kept: bool) -> Result<(), Fault> {
        let merkle = &receipt.merkle;
        let leaf = receipt.leaf();
        if kept {
            self.link(receipt)?;
            self.log(origin).leaf(origin, merkle.index, leaf)?;
        }
        let log = self.log(origin);
        log.signed(origin, merkle.size, merkle.root)?;
        let wanted = |log: &Log, size: u64| size > 0 && size < merkle.size && (kept || log.is_signed(size));
        let next = merkle.index.saturating_add(1);
        if wanted(log, merkle.index) || wanted(log, next) {
            let (before, with) = beginnings(&leaf, merkle.index, merkle.size, &merkle.path);
            for (size, root) in [(merkle.index, before), (next, Some(with))] {
                if let Some(root) = root.filter(|_| wanted(log, size)) {
                    log.begins(origin, size, root, merkle.size)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a checkpoint that holds by itself.
    pub(super) fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        self.log(&checkpoint.origin).signed(&checkpoint.origin, checkpoint.size, checkpoint.root)
    }

    /// The largest checkpoint of a log.
    pub(super) fn largest(&self, origin: &str) -> u64 {
        self.logs.get(origin).map_or(0, Log::largest)
    }

    /// Holds tiles and proofs against the checkpoints, and these against each other; gives what is not shown, and how
    /// many proofs led from one checkpoint to another. `checkpoints` says which log the checkpoint beside a tree of
    /// tiles is of, by what stands before both names.
    pub(super) fn settle(
        &mut self,
        tiles: Vec<Tile>,
        proofs: &[Proof],
        checkpoints: &BTreeMap<String, String>,
    ) -> Result<(Vec<String>, u64), Box<Failure>> {
        for tile in tiles {
            let beside = checkpoints.get(&tile.base);
            let added = self.log_of(beside).and_then(|origin| {
                let log = self.log(&origin);
                log.tile(tile.level, tile.first, &tile.hashes)
            });
            added.map_err(|fault| Box::new(fault.at(&tile.file, None)))?;
        }
        let mut by_log: BTreeMap<String, Vec<&Proof>> = BTreeMap::new();
        for proof in proofs {
            let origin = self
                .log_of(proof.origin.as_ref())
                .map_err(|fault| Box::new(fault.at(&proof.file, Some(proof.line))))?;
            by_log.entry(origin).or_default().push(proof);
        }
        let (mut notes, mut held) = (Vec::new(), 0);
        for (origin, log) in &mut self.logs {
            let proofs = by_log.remove(origin).unwrap_or_default();
            let (unshown, shown) =
                log.settle(origin, &proofs).map_err(|fault| Box::new(fault.at(origin, None)))?;
            notes.extend(unshown);
            held += shown;
        }
        notes.extend(by_log.values().flatten().map(|proof| proof.unheld()));
        Ok((notes, held))
    }

    /// The log that is named, or else the only one there is.
    fn log_of(&self, named: Option<&String>) -> Result<String, Fault> {
        let known = |(origin, log): (&String, &Log)| log.is_known().then(|| origin.clone());
        let mut known = self.logs.iter().filter_map(known);
        match (named, known.next(), known.next()) {
            (Some(origin), _, _) => Ok(origin.clone()),
            (None, Some(only), None) => Ok(only),
            (None, _, _) => Err(Fault::unreadable("no checkpoint says which log it is of")),
        }
    }

    fn link(&mut self, receipt: &Receipt) -> Result<(), Fault> {
        let (body, hash) = (&receipt.body, receipt.hash);
        let chain = self.chains.entry(body.chain).or_default();
        let known = *chain.entry(body.seq).or_insert(hash);
        if known != hash {
            let detail =
                format!("another receipt stands at place {} of chain {}: a fork", body.seq, body.chain);
            return Err(Fault::differs("hash", known, hash, detail));
        }
        let Some(before) = body.seq.checked_sub(1) else { return Ok(()) };
        let known = *chain.entry(before).or_insert(body.prev);
        if known == body.prev {
            return Ok(());
        }
        let detail = format!("it does not link to the receipt at place {before} of chain {}", body.chain);
        Err(Fault::differs("prev", known, body.prev, detail))
    }

    fn log(&mut self, origin: &str) -> &mut Log {
        if !self.logs.contains_key(origin) {
            self.logs.insert(origin.to_owned(), Log::default());
        }
        self.logs.entry(origin.to_owned()).or_default()
    }
}
