//! What everything that was read says together: one chain, one log, one root for each size.

use super::log::{Log, beginnings};
use super::proof::{OpenedProof, Proof};
use super::report::{Failure, Fault, Site};
use super::tile::Tile;
use crate::domain::{Chain, Hash};
use crate::evidence::{note::Checkpoint, receipt::Receipt};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What all of it shows together.
#[derive(Default)]
pub(super) struct Shown {
    /// What is not shown.
    pub(super) unshown: Vec<String>,
    /// How many proofs led from one checkpoint to another.
    pub(super) proofs: u64,
    /// How many proofs led from a leaf to a checkpoint.
    pub(super) inclusion_proofs: u64,
}

/// Everything read so far, across all files.
#[derive(Default)]
pub(super) struct History {
    /// The hash at each place of each chain, as its receipt or the one after it states it, and where that was.
    chains: HashMap<Chain, BTreeMap<u64, (Hash, Arc<Site>)>>,
    logs: BTreeMap<String, Log>,
}

impl History {
    /// Adds a receipt that holds by itself; fails where it contradicts one read before.
    ///
    /// What is not `kept` leaves only its checkpoint behind: lines of an export that nothing else is held against.
    pub(super) fn add(
        &mut self,
        receipt: &Receipt,
        origin: &str,
        kept: bool,
        site: &Arc<Site>,
    ) -> Result<(), Fault> {
        let merkle = &receipt.merkle;
        let leaf = receipt.leaf();
        if kept {
            self.link(receipt, site)?;
            self.log(origin).leaf(origin, merkle.index, leaf, site)?;
        }
        let log = self.log(origin);
        log.signed(origin, merkle.size, merkle.root, site)?;
        let wanted = |log: &Log, size: u64| size > 0 && size < merkle.size && (kept || log.is_signed(size));
        let next = merkle.index.saturating_add(1);
        if wanted(log, merkle.index) || wanted(log, next) {
            let (before, with) = beginnings(&leaf, merkle.index, merkle.size, &merkle.path);
            for (size, root) in [(merkle.index, before), (next, Some(with))] {
                if let Some(root) = root.filter(|_| wanted(log, size)) {
                    log.begins(origin, size, root, merkle.size, site)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a checkpoint that holds by itself.
    pub(super) fn checkpoint(&mut self, checkpoint: &Checkpoint, site: &Arc<Site>) -> Result<(), Fault> {
        let Checkpoint { origin, size, root } = checkpoint;
        self.log(origin).signed(origin, *size, *root, site)
    }

    /// The largest checkpoint of a log.
    pub(super) fn largest(&self, origin: &str) -> u64 {
        self.logs.get(origin).map_or(0, Log::largest)
    }

    /// Holds tiles and proofs against the checkpoints, and these against each other. `checkpoints` says which log the checkpoint beside a tree of
    /// tiles is of, by what stands before both names.
    pub(super) fn settle(
        &mut self,
        tiles: Vec<Tile>,
        proofs: &[Proof],
        leaf_proofs: &[OpenedProof],
        checkpoints: &BTreeMap<String, String>,
    ) -> Result<Shown, Box<Failure>> {
        let mut all = Shown::default();
        for tile in tiles {
            let beside = checkpoints.get(&tile.base);
            let added = self.log_of(beside).and_then(|origin| self.log(&origin).tile(&origin, &tile));
            added.map_err(|fault| Box::new(fault.at(&tile.site)))?;
        }
        for proof in leaf_proofs {
            let held = self.log(&proof.checkpoint.origin).show(proof);
            if held.map_err(|fault| Box::new(fault.at(&proof.site)))? {
                all.inclusion_proofs += 1;
            } else {
                all.unshown.push(proof.unheld());
            }
        }
        let mut by_log: BTreeMap<String, Vec<&Proof>> = BTreeMap::new();
        for proof in proofs {
            let origin =
                self.log_of(proof.origin.as_ref()).map_err(|fault| Box::new(fault.at(&proof.site)))?;
            by_log.entry(origin).or_default().push(proof);
        }
        for (origin, log) in &mut self.logs {
            let proofs = by_log.remove(origin).unwrap_or_default();
            let (unshown, shown) =
                log.settle(origin, &proofs).map_err(|fault| Box::new(fault.at(&Site::whole(origin))))?;
            all.unshown.extend(unshown);
            all.proofs += shown;
        }
        all.unshown.extend(by_log.values().flatten().map(|proof| proof.unheld()));
        Ok(all)
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

    fn link(&mut self, receipt: &Receipt, site: &Arc<Site>) -> Result<(), Fault> {
        let (body, hash) = (&receipt.body, receipt.hash);
        let chain = self.chains.entry(body.chain).or_default();
        let before = body.seq.checked_sub(1).map(|before| (before, body.prev, "prev"));
        for (place, hash, field) in [(body.seq, hash, "hash")].into_iter().chain(before) {
            let known = chain.entry(place).or_insert_with(|| (hash, Arc::clone(site)));
            if known.0 != hash {
                let detail =
                    format!("another receipt at place {place} of {} was read before: a fork", body.chain);
                return Err(Fault::differs(field, known.0, hash, detail).beside(&known.1));
            }
        }
        Ok(())
    }

    fn log(&mut self, origin: &str) -> &mut Log {
        if !self.logs.contains_key(origin) {
            self.logs.insert(origin.to_owned(), Log::default());
        }
        self.logs.entry(origin.to_owned()).or_default()
    }
}
