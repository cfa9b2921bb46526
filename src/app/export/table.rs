//! CSV (RFC 4180): a row a receipt, inert in a spreadsheet, and a last row that says how many there are.

use super::ExportError;
use super::form::{Count, Facts, Form};
use crate::domain::{Amount, Hash};
use crate::evidence::export::Header;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError};
use serde_json::Value;
use sha2::{Digest, Sha256};

const COLUMNS: [&str; 18] = [
    "at",
    "receipt",
    "kind",
    "outcome",
    "intent",
    "amount",
    "currency",
    "reason",
    "clauses",
    "mandate_version",
    "policy_version",
    "principal",
    "agent",
    "credential",
    "seq",
    "log_index",
    "hash",
    "export",
];

/// An export as a table.
pub(super) struct Table {
    header: Header,
    count: Count,
    digest: Sha256,
    waiting: Vec<u8>,
}

impl Table {
    pub(super) fn begin(header: &Header) -> Result<Self, StoreError> {
        let (header, count) = (header.clone(), Count::default());
        let mut table = Self { header, count, digest: Sha256::new(), waiting: Vec::new() };
        table.write(COLUMNS)?;
        Ok(table)
    }

    /// Appends one record with its line's end.
    fn write(&mut self, cells: [impl AsRef<[u8]>; 18]) -> Result<(), StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::Failed(error.to_string());
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        writer.write_record(cells).map_err(|error| failed(&error))?;
        let record = writer.into_inner().map_err(|error| failed(&error))?;
        self.digest.update(&record);
        self.waiting.extend_from_slice(&record);
        Ok(())
    }

    fn cells(&self, stored: &StoredReceipt, facts: Facts) -> [String; 18] {
        let body = &stored.body;
        let version = |version: Option<u64>| version.map(|version| version.to_string()).unwrap_or_default();
        let cells = [
            body.at.to_string(),
            body.id.to_string(),
            body.kind.as_str().to_owned(),
            body.outcome.map(|outcome| outcome.as_str().to_owned()).unwrap_or_default(),
            stored.intent.as_ref().map(ToString::to_string).unwrap_or_default(),
            facts.amount.map(Amount::major_units).unwrap_or_default(),
            facts.amount.map(|amount| amount.currency().to_string()).unwrap_or_default(),
            facts.reason.unwrap_or_default(),
            facts.clauses.unwrap_or_default(),
            version(body.mandate_version),
            version(body.policy_version),
            body.principal.map(|id| id.to_string()).unwrap_or_default(),
            body.agent.map(|id| id.to_string()).unwrap_or_default(),
            body.credential.map(|id| id.to_string()).unwrap_or_default(),
            body.seq.to_string(),
            stored.log_index.to_string(),
            stored.hash.to_string(),
            self.header.export.to_string(),
        ];
        cells.map(defuse)
    }
}

impl Form for Table {
    fn row(&mut self, _: &mut AnyConnection, stored: &StoredReceipt) -> Result<(), ExportError> {
        let cells = self.cells(stored, Facts::of(stored)?);
        self.write(cells)?;
        self.count.add(&stored.body, stored.hash);
        Ok(())
    }

    /// Its digest is the SHA-256 of every byte above the last row.
    fn manifest(&mut self) -> Result<Value, ExportError> {
        Ok(self.count.manifest(&self.header, Hash(self.digest.clone().finalize().into())))
    }

    fn end(&mut self, manifest: &StoredReceipt, _: Option<&str>) -> Result<(), ExportError> {
        let cells = self.cells(manifest, Facts::of_manifest(manifest)?);
        Ok(self.write(cells)?)
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.waiting)
    }
}

/// A cell that no spreadsheet takes for a formula: what begins like one gets an apostrophe before it.
pub(in crate::app) fn defuse(cell: String) -> String {
    let begins = cell.trim_start_matches([' ', '\u{a0}', ';', '"', '\'']);
    let is_formula = begins.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::defuse;

    #[test]
    fn no_cell_is_a_formula() {
        for (cell, written) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-5", "'-5"),
            ("+5", "'+5"),
            ("\tx", "'\tx"),
            ("\rx", "'\rx"),
            (" =1+1", "' =1+1"),
            ("＝1+1", "'＝1+1"),
            (";=1", "';=1"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(defuse(cell.to_owned()), written);
        }
    }
}
