//! Verification offline: of receipts, lines, answers, exports, checkpoints, tiles, entry bundles, consistency and
//! inclusion proofs, from their bytes alone, in any mix and order.
//!
//! Each receipt stands by itself: its hash, its documents, its place under a signed checkpoint. Together they
//! must be of one history: no fork in a chain or a log, no two roots for one size. An export must be whole.

mod counts;
mod erased;
mod export;
mod history;
mod log;
mod narrowing;
mod proof;
mod receipt;
mod report;
mod source;
mod take;
mod tile;

pub use narrowing::Narrowed;
pub use report::{Failure, KeyUsed, Report, Site, Verdict};

use self::counts::Counts;
use self::history::{History, Shown};
use self::narrowing::Narrowing;
use self::proof::{LeafProof, OpenedProof, Proof};
use self::receipt::Keys;
use self::report::Fault;
use self::source::{Item, Source};
use self::take::Reading;
use self::tile::{Tile, TilePath};
use super::note::{Checkpoint, VerifierKey, open_checkpoint};
use crate::domain::{ExportId, Hash};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::{io::BufRead, ops::ControlFlow};

/// What the person who verifies brings along.
#[derive(Clone, Default)]
pub struct Options {
    /// The log's key, known from elsewhere: any other is a failure.
    pub key: Option<VerifierKey>,
    /// The name and text of a signed checkpoint from elsewhere: every receipt must be of that log.
    pub checkpoint: Option<(String, String)>,
    /// Whether answers are also held against the changes before them.
    pub narrowing: bool,
    /// Whether one file is all there is: then the lines of an export, which is held together by itself, are forgotten
    /// as they go by. Where it holds several, see [`Verifier::is_several`].
    pub is_alone: bool,
}

/// Verifies named files, in order, up to the first thing that does not hold.
pub fn verify<R: BufRead>(files: impl IntoIterator<Item = (String, R)> + Clone, options: Options) -> Report {
    let mut verifier = Verifier::new(options.clone());
    for (name, reader) in files.clone() {
        if verifier.read(&name, reader).is_break() {
            break;
        }
    }
    if verifier.is_several() {
        verify(files, Options { is_alone: false, ..options })
    } else {
        verifier.finish()
    }
}

/// Verification under way.
pub struct Verifier {
    keys: Keys,
    outside: Option<(String, String)>,
    is_alone: bool,
    is_several: bool,
    files: u64,
    /// Exports by their id: the file each was last found in, counted, the hash of its header, and where that stands.
    exports: BTreeMap<ExportId, (u64, Hash, Arc<Site>)>,
    history: History,
    narrowing: Option<Narrowing>,
    /// Every key a receipt was under, and the first one that was.
    seen: Vec<Seen>,
    /// Texts that are checkpoints if a key opens them: the keys are known once everything is read.
    notes: Vec<(Arc<Site>, String)>,
    tiles: Vec<Tile>,
    proofs: Vec<Proof>,
    leaf_proofs: Vec<LeafProof>,
    counts: Counts,
    failure: Option<Failure>,
}

struct Seen {
    key: VerifierKey,
    site: Arc<Site>,
}

/// What everything that was read shows together.
#[derive(Default)]
struct Settled {
    /// What is not shown.
    unshown: Vec<String>,
    narrowing: Option<Vec<Narrowed>>,
}

impl Verifier {
    /// Starts with nothing read.
    pub fn new(options: Options) -> Self {
        Self {
            // What was given from elsewhere is held against every line, so that none may be forgotten.
            is_alone: options.is_alone && options.checkpoint.is_none(),
            keys: Keys::new(options.key),
            outside: options.checkpoint,
            is_several: false,
            files: 0,
            exports: BTreeMap::new(),
            history: History::default(),
            narrowing: options.narrowing.then(Narrowing::default),
            seen: Vec::new(),
            notes: Vec::new(),
            tiles: Vec::new(),
            proofs: Vec::new(),
            leaf_proofs: Vec::new(),
            counts: Counts::default(),
            failure: None,
        }
    }

    /// Reads one file; breaks where something did not hold, now or before.
    pub fn read(&mut self, file: &str, reader: impl BufRead) -> ControlFlow<()> {
        if self.failure.is_some() {
            return ControlFlow::Break(());
        }
        self.files += 1;
        let whole = Site::whole(file);
        if let Some(path) = TilePath::of(file) {
            match Tile::read(path, whole.clone(), reader) {
                Ok(tile) => self.tiles.push(tile),
                Err(fault) => self.failure = Some(fault.at(&whole)),
            }
        } else {
            let mut source = Source::new(reader);
            if let Err(fault) = self.read_items(&whole, &mut source) {
                self.failure = Some(fault.at(&source.site(&whole)));
            }
        }
        if self.failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether the one file there is turned out to hold several exports, of which the first was not remembered: the
    /// others can be held against it only where the file is read again, by a verifier that is not told it is alone.
    pub fn is_several(&self) -> bool {
        self.is_several
    }

    /// Checks what only the whole shows, and reports.
    pub fn finish(mut self) -> Report {
        let settled = match self.failure.take() {
            Some(failure) => Err(Box::new(failure)),
            None => self.settle(),
        };
        let key_used = self.key_used();
        let own_keys = matches!(&key_used, KeyUsed::FromFiles(keys) if !keys.is_empty());
        let mut notes = self.counts.remarks(own_keys);
        let (settled, failure) = match settled {
            Ok(settled) => (settled, None),
            Err(failure) => (Settled::default(), Some(*failure)),
        };
        notes.extend(settled.unshown);
        Report {
            receipts: self.counts.receipts,
            exports: self.counts.exports,
            checkpoints: self.counts.checkpoints,
            tiles: self.counts.tiles,
            bundles: self.counts.bundles,
            proofs: self.counts.proofs,
            inclusion_proofs: self.counts.inclusion_proofs,
            lines: self.counts.lines,
            key_used,
            narrowing: settled.narrowing,
            notes,
            failure,
        }
    }

    /// What everything shows together: checkpoints open, trees are of one history, and, where that was asked, nothing
    /// was answered under what had been narrowed.
    fn settle(&mut self) -> Result<Settled, Box<Failure>> {
        let beside = self.check_notes()?;
        let leaf_proofs = self.open_leaf_proofs()?;
        let tiles = std::mem::take(&mut self.tiles);
        self.counts.bundles = wide(tiles.iter().filter(|tile| tile.is_bundle()).count());
        self.counts.tiles = wide(tiles.len()).saturating_sub(self.counts.bundles);
        let Shown { unshown, proofs, inclusion_proofs } =
            self.history.settle(tiles, &self.proofs, &leaf_proofs, &beside)?;
        (self.counts.proofs, self.counts.inclusion_proofs) = (proofs, inclusion_proofs);
        let Some(narrowing) = self.narrowing.take() else { return Ok(Settled { unshown, narrowing: None }) };
        let narrowed = narrowing.settle(|origin| self.history.largest(origin))?;
        Ok(Settled { unshown, narrowing: Some(narrowed) })
    }

    fn read_items(&mut self, file: &Site, source: &mut Source<impl BufRead>) -> Result<(), Fault> {
        let mut reading = Reading::Nothing;
        while let Some(item) = source.next()? {
            match item {
                Item::Text(text) => {
                    if LeafProof::is_meant(&text) {
                        self.leaf_proofs.push(LeafProof::read(&text, file.clone())?);
                    } else if is_note(&text) {
                        self.notes.push((Arc::new(file.clone()), text));
                    } else {
                        return Err(Fault::unreadable(source::NEITHER));
                    }
                    return Ok(());
                }
                Item::Json(value) => {
                    self.counts.lines += 1;
                    reading = self.take(reading, &value, &source.site(file))?;
                }
            }
        }
        match reading {
            Reading::Nothing => Err(Fault::unreadable("it holds nothing").in_site(&Arc::new(file.clone()))),
            Reading::Export(open) => Err(open.missing_manifest()),
            Reading::Loose | Reading::BetweenExports => Ok(()),
        }
    }

    /// Opens the checkpoints that stand for themselves, and the one that was given. Gives the logs of those that stand
    /// beside a tree of tiles, by what comes before `checkpoint` in their names.
    fn check_notes(&mut self) -> Result<BTreeMap<String, String>, Box<Failure>> {
        let mut beside = BTreeMap::new();
        for (site, text) in std::mem::take(&mut self.notes) {
            let (key, _) = self.open_alone(&text, &site).map_err(|fault| Box::new(fault.at(&site)))?;
            self.counts.checkpoints += 1;
            if let Some(base) = site.file.strip_suffix("checkpoint") {
                beside.insert(base.to_owned(), key.name().to_owned());
            }
        }
        let Some((name, text)) = self.outside.take() else { return Ok(beside) };
        let site = Arc::new(Site::whole(&name));
        if !is_note(&text) {
            return Err(Box::new(Fault::unreadable("not a signed checkpoint").at(&site)));
        }
        let (key, _) = self.open_alone(&text, &site).map_err(|fault| Box::new(fault.at(&site)))?;
        self.counts.checkpoints += 1;
        match self.seen.iter().find(|seen| seen.key != key) {
            None => Ok(beside),
            Some(other) => {
                let detail = "the checkpoint that was given is of another log or key";
                let fault = Fault::differs("merkle.key", &key, &other.key, detail).beside(&site);
                Err(Box::new(fault.at(&other.site)))
            }
        }
    }

    /// Opens the checkpoints of leaves' proofs.
    fn open_leaf_proofs(&mut self) -> Result<Vec<OpenedProof>, Box<Failure>> {
        let mut opened = Vec::new();
        for proof in std::mem::take(&mut self.leaf_proofs) {
            let site = Arc::clone(&proof.site);
            let (_, checkpoint) =
                self.open_alone(&proof.proof.checkpoint, &site).map_err(|fault| Box::new(fault.at(&site)))?;
            opened.push(proof.opened(checkpoint));
        }
        Ok(opened)
    }

    /// Opens a checkpoint with the key that was given, or else one that receipts of its log are under.
    fn open_alone(&mut self, text: &str, site: &Arc<Site>) -> Result<(VerifierKey, Checkpoint), Fault> {
        let origin = text.lines().next().unwrap_or_default();
        let known = self.keys.given().into_iter().chain(self.seen.iter().map(|seen| &seen.key));
        let mut refusal = Fault::new(
            "checkpoint",
            format!("no key is known for the log `{}`: give it with --key", origin.escape_debug()),
        );
        for key in known.filter(|key| key.name() == origin || self.keys.given().is_some()) {
            match open_checkpoint(text, key) {
                Ok(checkpoint) => {
                    let key = key.clone();
                    self.history.checkpoint(&checkpoint, site)?;
                    return Ok((key, checkpoint));
                }
                Err(error) => refusal = Fault::new("checkpoint", error.to_string()),
            }
        }
        Err(refusal)
    }

    fn key_used(&self) -> KeyUsed {
        match self.keys.given() {
            Some(key) => KeyUsed::Given(key.to_string()),
            None => KeyUsed::FromFiles(self.seen.iter().map(|seen| seen.key.to_string()).collect()),
        }
    }
}

/// Whether a file is taken for a tile or an entry bundle, which its path says (C2SP tlog-tiles).
pub fn is_tile(file: &str) -> bool {
    TilePath::of(file).is_some()
}

/// Whether a text has the form of a note at all; opening it comes after.
fn is_note(text: &str) -> bool {
    text.contains("\n\n\u{2014} ")
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
