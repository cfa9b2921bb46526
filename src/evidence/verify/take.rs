//! One JSON value of a file: told apart by its members, read strictly, held against itself and against what was read.

use super::erased;
use super::export::{self, OpenExport, Place};
use super::proof::Proof;
use super::receipt::{Documents, check};
use super::report::{Fault, Site, same};
use super::{Seen, Verifier};
use crate::crypto::sha256;
use crate::domain::Outcome;
use crate::evidence::receipt::Receipt;
use crate::evidence::{canonical, line::Line};
use serde_json::Value;
use std::sync::Arc;

/// What is said where the lines of an export that stands before another are gone.
const SEVERAL: &str = "several exports stand in one stream, which is read once: give them as files";

/// What a file turned out to hold, and how far it is read.
pub(super) enum Reading {
    Nothing,
    Loose,
    Export(Box<OpenExport>),
    BetweenExports,
}

/// What a JSON value is meant to be, by the members it has; reading it strictly comes after.
enum Shape {
    Header,
    Line,
    Answer,
    Receipt,
    Proof,
    Unknown,
}

impl Shape {
    fn of(value: &Value) -> Self {
        let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
        if has(&["procura"]) || (has(&["export"]) && !has(&["receipt", "input", "output", "content"])) {
            Self::Header
        } else if has(&["input", "output", "content", "export"]) {
            Self::Line
        } else if has(&["receipt"]) {
            Self::Answer
        } else if has(&["hash", "auth", "merkle", "prev", "chain", "input_hash"]) {
            Self::Receipt
        } else if has(&["path", "to"]) {
            Self::Proof
        } else {
            Self::Unknown
        }
    }
}

impl Verifier {
    /// Takes the next value of a file.
    pub(super) fn take(&mut self, reading: Reading, value: &Value, site: &Site) -> Result<Reading, Fault> {
        match (Shape::of(value), reading) {
            (Shape::Header, Reading::Nothing) => self.take_header(value, site, false),
            (Shape::Header, Reading::BetweenExports) => self.take_header(value, site, true),
            (Shape::Header, Reading::Export(open)) => Err(open.missing_manifest()),
            (Shape::Header, Reading::Loose) => {
                Err(Fault::new("export", "an export's header is the first line of its file"))
            }
            (Shape::Unknown, Reading::Nothing) => {
                Err(Fault::unreadable("not a receipt, a line, an answer, an export, a proof or a checkpoint"))
            }
            (_, Reading::Export(mut open)) => match self.take_export_line(&mut open, value, site)? {
                Place::Between => Ok(Reading::Export(open)),
                Place::Last => {
                    self.counts.exports += 1;
                    Ok(Reading::BetweenExports)
                }
            },
            (_, Reading::BetweenExports) => {
                Err(Fault::new("export", "a line stands after the export's manifest"))
            }
            (Shape::Unknown, Reading::Loose) => {
                Err(Fault::new("", "not a receipt, a line, an answer or a proof"))
            }
            (Shape::Line, Reading::Nothing | Reading::Loose) => {
                let parsed = Line::from_json(value).map_err(|fault| Fault::shape(&fault))?;
                if let Some(export) = parsed.export {
                    let detail = format!("a line of export {export}, whose header is missing");
                    return Err(Fault::new("export", detail).of(parsed.receipt.body.id));
                }
                self.erased(&parsed, true, site)?;
                self.loose(&parsed.receipt, export::documents(&parsed), site)
            }
            (Shape::Answer, Reading::Nothing | Reading::Loose) => self.take_answer(value, site),
            (Shape::Receipt, Reading::Nothing | Reading::Loose) => {
                let receipt = Receipt::from_json(value).map_err(|fault| Fault::shape(&fault))?;
                self.loose(&receipt, Documents::default(), site)
            }
            (Shape::Proof, Reading::Nothing | Reading::Loose) => {
                let proof = Proof::from_json(value, site).map_err(|fault| Fault::shape(&fault))?;
                self.proofs.push(proof);
                Ok(Reading::Loose)
            }
        }
    }

    /// Opens an export. No two have one id: its file may be given twice, but within a file it is repeated.
    fn take_header(&mut self, value: &Value, site: &Site, is_further: bool) -> Result<Reading, Fault> {
        let (open, checkpoint) = OpenExport::begin(value, &mut self.keys)?;
        let (id, header) = open.id();
        let here = Arc::new(site.clone());
        match self.exports.insert(id, (self.files, header, Arc::clone(&here))) {
            Some((file, _, other)) if file == self.files => {
                let detail = format!("export {id} is repeated: it was read before");
                return Err(Fault::new("export", detail).beside(&other));
            }
            Some((_, before, other)) => {
                let detail = format!("another export {id} was read before");
                same("export", &before, &header, &detail).map_err(|fault| fault.beside(&other))?;
            }
            None => {}
        }
        self.history.checkpoint(&checkpoint, &here)?;
        if self.is_alone && is_further {
            self.is_several = true;
            return Err(Fault::unreadable(SEVERAL));
        }
        Ok(Reading::Export(Box::new(open)))
    }

    fn take_export_line(
        &mut self,
        open: &mut OpenExport,
        value: &Value,
        site: &Site,
    ) -> Result<Place, Fault> {
        let parsed = Line::from_json(value).map_err(|fault| Fault::shape(&fault))?;
        let id = parsed.receipt.body.id;
        open.check_id(&parsed).map_err(|fault| fault.of(id))?;
        let kept = !self.is_alone;
        self.erased(&parsed, kept, site)?;
        self.hold(&parsed.receipt, export::documents(&parsed), kept, site)?;
        open.line(&parsed, value).map_err(|fault| fault.of(id))
    }

    /// Checks what a line says of erased content, and the receipt that it says erased it.
    fn erased(&mut self, parsed: &Line<'_>, kept: bool, site: &Site) -> Result<(), Fault> {
        let Some(said) = &parsed.erased else { return Ok(()) };
        erased::check(parsed, said).map_err(|fault| fault.of(parsed.receipt.body.id))?;
        self.counts.erased += 1;
        self.hold(&said.receipt, erased::documents(said), kept, site)?;
        // It stands on this line, and is none of its own.
        self.counts.receipts = self.counts.receipts.saturating_sub(1);
        Ok(())
    }

    /// An answer of the service with the receipt in it. What the receipt repeats must agree; where the rest is
    /// the output document, it is checked as that.
    fn take_answer(&mut self, value: &Value, site: &Site) -> Result<Reading, Fault> {
        let nested = value.get("receipt").unwrap_or(&Value::Null);
        let receipt = Receipt::from_json(nested).map_err(|fault| Fault::shape(&fault.under("/receipt")))?;
        let body = &receipt.body;
        let repeated = [
            ("outcome", body.outcome.map(|outcome| Value::from(Outcome::as_str(outcome)))),
            ("mandate_version", body.mandate_version.map(Value::from)),
            ("policy_version", body.policy_version.map(Value::from)),
        ];
        for (member, stated) in repeated {
            if let (Some(answered), Some(stated)) = (value.get(member), stated) {
                same(member, &stated, answered, "the receipt in the answer says otherwise")
                    .map_err(|f| f.of(body.id))?;
            }
        }
        let mut rest = value.clone();
        rest.as_object_mut().map(|members| members.remove("receipt"));
        let found = sha256(&canonical::to_vec(&rest));
        let covered = found == body.output_hash;
        // What the gate answered is its output document: members beside the receipt that it does not cover were changed.
        if !covered && body.kind.is_call() && rest.as_object().is_some_and(|members| !members.is_empty()) {
            let detail = "the answer around the receipt was changed";
            return Err(Fault::differs("output_hash", body.output_hash, found, detail).of(body.id));
        }
        self.counts.uncovered += u64::from(!covered);
        let documents = Documents { output: Some(&rest).filter(|_| covered), ..Documents::default() };
        self.loose(&receipt, documents, site)
    }

    fn loose(&mut self, receipt: &Receipt, documents: Documents<'_>, site: &Site) -> Result<Reading, Fault> {
        self.hold(receipt, documents, true, site)?;
        self.counts.loose += 1;
        self.counts.bare += u64::from(documents.input.is_none());
        Ok(Reading::Loose)
    }

    /// Checks a receipt by itself, then against all that was read before.
    fn hold(
        &mut self,
        receipt: &Receipt,
        documents: Documents<'_>,
        kept: bool,
        site: &Site,
    ) -> Result<(), Fault> {
        let id = receipt.body.id;
        let (key, commitments) = check(receipt, documents, &mut self.keys).map_err(|fault| fault.of(id))?;
        let site = Arc::new(site.of(id));
        self.history.add(receipt, key.name(), kept, &site).map_err(|fault| fault.of(id))?;
        if let Some(narrowing) = &mut self.narrowing {
            narrowing.add(receipt, documents, key.name(), &site);
        }
        self.counts.receipts += 1;
        self.counts.closed += u64::try_from(commitments.closed).unwrap_or(u64::MAX);
        if !self.seen.iter().any(|seen| seen.key == key) {
            self.seen.push(Seen { key, site });
        }
        Ok(())
    }
}
