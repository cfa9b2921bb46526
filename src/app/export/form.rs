//! The forms an export is written in, and what of a receipt they share.

use super::ExportError;
use crate::domain::{Amount, Hash};
use crate::evidence::export::{Header, Tally};
use crate::evidence::receipt::Body;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError};
use serde_json::Value;
use std::str::FromStr;

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table as text (RFC 4180).
    Csv,
    /// The same table in typed columns (Apache Parquet).
    Parquet,
    /// A line a receipt, with everything it takes to verify it.
    JsonLines,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::JsonLines, Self::Csv, Self::Parquet];

    /// The format's name, which files of it end in.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::JsonLines => "jsonl",
        }
    }

    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::JsonLines => "application/jsonl",
        }
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| format!("`{}` is not a format: csv, jsonl or parquet", text.escape_debug()))
    }
}

/// An export being written in one form. What is written waits until it is taken.
pub(super) trait Form {
    /// Writes a receipt. `connection` reads what shows its place in the log.
    fn row(&mut self, connection: &mut AnyConnection, stored: &StoredReceipt) -> Result<(), ExportError>;

    /// What the manifest's receipt has to state, as its output document; no row comes after.
    fn manifest(&mut self) -> Result<Value, ExportError>;

    /// Ends with the manifest's receipt; `line` is its line where the form holds it.
    fn end(&mut self, manifest: &StoredReceipt, line: Option<&str>) -> Result<(), ExportError>;

    /// What is written and was not taken yet.
    fn take(&mut self) -> Vec<u8>;
}

/// A stored receipt's documents, read.
pub(super) struct Documents {
    pub(super) input: Value,
    pub(super) output: Value,
    pub(super) content: Option<Value>,
}

impl Documents {
    pub(super) fn of(stored: &StoredReceipt) -> Result<Self, StoreError> {
        Ok(Self {
            input: read("receipts.input", &stored.input)?,
            output: read("receipts.output", &stored.output)?,
            content: content(stored)?,
        })
    }
}

/// A stored receipt's openings, read, while they exist.
pub(super) fn content(stored: &StoredReceipt) -> Result<Option<Value>, StoreError> {
    stored.content.as_deref().map(|text| read("receipts.content", text)).transpose()
}

fn read(place: &'static str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt { place, detail: error.to_string() })
}

/// What a table's row says of a call beside what its receipt's body does.
pub(super) struct Facts {
    /// The sum that was decided on.
    pub(super) amount: Option<Amount>,
    /// Why it was answered so.
    pub(super) reason: Option<String>,
    /// The clauses that decided, with blanks between.
    pub(super) clauses: Option<String>,
}

impl Facts {
    pub(super) fn of(stored: &StoredReceipt) -> Result<Self, StoreError> {
        let documents = Documents::of(stored)?;
        let output = &documents.output;
        let clauses = output.get("clauses").and_then(Value::as_array);
        let facts = documents.input.get("facts").or_else(|| documents.input.get("request"));
        let amount = facts.and_then(|facts| facts.get("amount")).and_then(|amount| {
            let currency = amount.get("currency")?.as_str()?.parse().ok()?;
            Amount::from_json(amount.get("value")?, currency).ok()
        });
        Ok(Self {
            amount,
            reason: output.get("reason").and_then(Value::as_str).map(str::to_owned),
            clauses: clauses
                .map(|clauses| clauses.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        })
    }

    /// What the last row says, which stands for the manifest.
    pub(super) fn of_manifest(stored: &StoredReceipt) -> Result<Self, StoreError> {
        let output: Value = read("receipts.output", &stored.output)?;
        let text = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let lines = output.get("lines").and_then(Value::as_u64).unwrap_or_default();
        let reason = format!("end of export {}: {lines} rows above", text("export"));
        Ok(Self { amount: None, reason: Some(reason), clauses: None })
    }
}

/// What a table's manifest counts.
#[derive(Debug, Default)]
pub(super) struct Count {
    tally: Tally,
}

impl Count {
    pub(super) fn add(&mut self, body: &Body, hash: Hash) {
        self.tally.add(body, hash, hash);
    }

    /// The manifest of a table: `digest` is of the table's own bytes.
    pub(super) fn manifest(&self, header: &Header, digest: Hash) -> Value {
        let mut manifest = self.tally.manifest(header.export, header.hash()).to_json();
        if let Some(members) = manifest.as_object_mut() {
            members.insert("digest".into(), serde_json::json!(digest));
        }
        manifest
    }
}
