//! An export being read: every line belongs to it, in order, and the manifest says the same.

use super::receipt::{Documents, Keys, check_origin};
use super::report::{Fault, same};
use crate::crypto::sha256;
use crate::domain::{Chain, ExportId, Hash};
use crate::evidence::{
    canonical,
    export::{ChainSpan, Header, Manifest, Tally},
    line::Line,
    note::Checkpoint,
    receipt::{Kind, Receipt},
    subject::Subject,
};
use serde_json::Value;

const OUT_OF_ORDER: &str = "a line is missing, repeated or out of order";

/// An export whose header was read and whose manifest was not.
pub(super) struct OpenExport {
    header: Header,
    header_hash: Hash,
    tally: Tally,
    last_index: Option<u64>,
}

/// What a line turned out to be.
#[derive(PartialEq, Eq)]
pub(super) enum Place {
    /// One of the lines between.
    Between,
    /// The manifest: the export is whole.
    Last,
}

impl OpenExport {
    /// Reads a header and checks what it says by itself.
    pub(super) fn begin(value: &Value, keys: &mut Keys) -> Result<(Self, Checkpoint), Fault> {
        let header = Header::from_json(value).map_err(|fault| Fault::shape(&fault))?;
        let (key, checkpoint) = keys.open(&header.checkpoint, &header.key, "")?;
        check_origin(&checkpoint, header.tenant.as_str())?;
        same("origin", &key.name(), &&*header.origin, "its key has another name")?;
        same("size", &checkpoint.size, &header.size, "its checkpoint has another size")?;
        same("root", &checkpoint.root, &header.root, "its checkpoint has another root")?;
        if let (Some(from), Some(until)) = (header.from, header.until)
            && from >= until
        {
            return Err(Fault::new("until", format!("{until} is not after `from`, {from}")));
        }
        let header_hash = sha256(&canonical::to_vec(value));
        Ok((Self { header, header_hash, tally: Tally::default(), last_index: None }, checkpoint))
    }

    /// The export's id, and the hash of its header.
    pub(super) fn id(&self) -> (ExportId, Hash) {
        (self.header.export, self.header_hash)
    }

    /// What is missing when the file ends here.
    pub(super) fn missing_manifest(&self) -> Fault {
        let detail = format!(
            "export {} ends after {} lines without its manifest: it was cut",
            self.header.export,
            self.tally.lines()
        );
        Fault::new("export", detail)
    }

    /// Checks a line whose receipt holds by itself, as part of the export.
    pub(super) fn line(&mut self, line: &Line<'_>, value: &Value) -> Result<Place, Fault> {
        let (header, receipt) = (&self.header, &line.receipt);
        let body = &receipt.body;
        same("tenant", &header.tenant, &body.tenant, "the export is of another tenant")?;
        same("merkle.key", &header.key, &receipt.merkle.key, "the header names another key")?;
        if receipt.merkle.size < header.size {
            let detail = "its path leads to fewer leaves than the header has";
            return Err(Fault::differs("merkle.size", header.size, receipt.merkle.size, detail));
        }
        if body.kind == Kind::Export && Manifest::is_of(line.output, header.export) {
            self.check_manifest(line)?;
            return Ok(Place::Last);
        }
        self.check_window(receipt)?;
        self.check_order(receipt)?;
        self.tally.add(body, receipt.hash, sha256(&canonical::to_vec(value)));
        self.last_index = Some(receipt.merkle.index);
        Ok(Place::Between)
    }

    /// Fails unless the line says it is of this export.
    pub(super) fn check_id(&self, line: &Line<'_>) -> Result<(), Fault> {
        let found = line.export.map_or_else(|| "absent".to_owned(), |id| id.to_string());
        same("export", &self.header.export.to_string(), &found, "the line is not of this export")
    }

    fn check_window(&self, receipt: &Receipt) -> Result<(), Fault> {
        let (header, body) = (&self.header, &receipt.body);
        if header.from.is_some_and(|from| body.at < from)
            || header.until.is_some_and(|until| body.at >= until)
        {
            let edge = |at: Option<_>| {
                at.map_or_else(|| "…".to_owned(), |at: crate::domain::Timestamp| at.to_string())
            };
            let detail =
                format!("outside the export's time, {} to {}", edge(header.from), edge(header.until));
            return Err(Fault::differs("at", "a time inside", body.at, detail));
        }
        if !header.subject.covers(body) {
            let kind = header.subject.kind();
            let detail = format!("the export is of another {kind}");
            return Err(Fault::differs(kind, header.subject, header.subject.found_in(body), detail));
        }
        Ok(())
    }

    /// Each chain goes on where it stopped, one that is held whole without gaps; without `from` it starts at its
    /// beginning. Lines stand in the order of the log, those of a tenant without gaps.
    fn check_order(&self, receipt: &Receipt) -> Result<(), Fault> {
        let (body, index) = (&receipt.body, receipt.merkle.index);
        let (before, is_whole) = (self.tally.span(body.chain), self.header.subject.holds_whole(body.chain));
        let due = before.map_or(0, |before| before.last_seq.saturating_add(1));
        let is_due = before.is_some() || (is_whole && self.header.from.is_none());
        if is_due && (body.seq < due || (is_whole && body.seq > due)) {
            return Err(Fault::differs("seq", due, body.seq, OUT_OF_ORDER));
        }
        if let Some(before) = before.filter(|_| body.seq == due) {
            let detail = "it does not link to the line before it in its chain";
            same("prev", &before.last_hash, &body.prev, detail)?;
        }
        let is_gapless = self.header.subject == Subject::Tenant
            && (self.last_index.is_some() || self.header.from.is_none());
        let due = self.last_index.map_or(0, |last| last.saturating_add(1));
        if index < due || (is_gapless && index > due) {
            return Err(Fault::differs("merkle.index", due, index, OUT_OF_ORDER));
        }
        Ok(())
    }

    /// A tenant's export without an end goes as far as the log did.
    fn check_end(&self) -> Result<(), Fault> {
        let header = &self.header;
        let reaches_end = header.subject == Subject::Tenant
            && header.until.is_none()
            && (self.last_index.is_some() || header.from.is_none());
        let reached = self.last_index.map_or(0, |last| last.saturating_add(1));
        if reaches_end {
            same("output.lines", &header.size, &reached, "the lines end before the log does")?;
        }
        Ok(())
    }

    /// No digest covers the manifest's own line, so nothing may stand on it that can be taken away.
    fn check_manifest(&self, line: &Line<'_>) -> Result<(), Fault> {
        if line.content.is_some() {
            return Err(Fault::new("content", "the manifest's line has none"));
        }
        if line.erased.is_some() {
            return Err(Fault::new("erased", "the manifest's line has none"));
        }
        let stated =
            Manifest::from_json(line.output).map_err(|fault| Fault::shape(&fault.under("/output")))?;
        let found = self.tally.manifest(self.header.export, self.header_hash);
        let of = "the manifest states another value than the lines of the file give";
        same("output.header", &found.header, &stated.header, "the header is not the one the manifest is of")?;
        same("output.lines", &found.lines, &stated.lines, of)?;
        same("output.chains", &spans(&found.chains), &spans(&stated.chains), of)?;
        same("output.first", &shown(found.first), &shown(stated.first), of)?;
        same("output.last", &shown(found.last), &shown(stated.last), of)?;
        same("output.digest", &found.digest, &stated.digest, of)?;
        self.check_end()?;
        if line.receipt.body.at < self.header.at {
            return Err(Fault::new(
                "at",
                format!("the manifest is older than the header, {}", self.header.at),
            ));
        }
        Ok(())
    }
}

/// The documents of a line, for the checks of its receipt.
pub(super) fn documents<'a>(line: &Line<'a>) -> Documents<'a> {
    Documents { input: Some(line.input), output: Some(line.output), content: line.content }
}

fn shown(hash: Option<Hash>) -> String {
    hash.map_or_else(|| "null".to_owned(), |hash| hash.to_string())
}

fn spans(chains: &[(Chain, ChainSpan)]) -> String {
    let texts: Vec<_> = chains
        .iter()
        .map(|(chain, span)| {
            format!(
                "{chain} {}-{} ({} lines, last {})",
                span.first_seq, span.last_seq, span.lines, span.last_hash
            )
        })
        .collect();
    texts.join("; ")
}
