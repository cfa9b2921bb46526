//! JSON Lines: the form that verifies offline, each line with a path to the one tree that the header names.

use super::erasing::Erasing;
use super::form::{self, Form};
use super::{ExportError, Tree};
use crate::domain::ExportId;
use crate::evidence::export::{Exporter, Header};
use crate::evidence::receipt::Receipt;
use crate::evidence::written::Written;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError};
use serde::de::IgnoredAny;
use serde_json::Value;

/// An export as JSON Lines.
pub(super) struct Lines {
    exporter: Exporter,
    tree: Tree,
    waiting: Vec<u8>,
}

impl Lines {
    pub(super) fn begin(header: &Header) -> Self {
        let mut waiting = Vec::new();
        let exporter = Exporter::begin(header, &mut waiting);
        Self { exporter, tree: Tree::of(header), waiting }
    }
}

impl Form for Lines {
    fn row(&mut self, connection: &mut AnyConnection, stored: &StoredReceipt) -> Result<(), ExportError> {
        let receipt = self.tree.receipt(connection, stored)?;
        let content = form::content(stored)?;
        let erased = Erasing::of(connection, stored, &mut self.tree)?.map(|erasing| erasing.canonical());
        let openings = (content.as_ref(), erased.as_deref());
        self.exporter.written(&receipt, documents(stored)?, openings, &mut self.waiting);
        Ok(())
    }

    fn manifest(&mut self) -> Result<Value, ExportError> {
        Ok(self.exporter.manifest().to_json())
    }

    fn end(&mut self, _: &StoredReceipt, line: Option<&str>) -> Result<(), ExportError> {
        self.waiting.extend_from_slice(line.unwrap_or_default().as_bytes());
        Ok(())
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.waiting)
    }
}

/// The manifest's own line, without content: no digest would cover it.
pub(super) fn last(
    export: ExportId,
    receipt: &Receipt,
    stored: &StoredReceipt,
) -> Result<String, StoreError> {
    let mut line = Vec::new();
    let (input, output) = documents(stored)?;
    Written { export, receipt, input, output, content: None, erased: None }.write(&mut line);
    line.push(b'\n');
    String::from_utf8(line).map_err(|error| StoreError::Failed(error.to_string()))
}

/// The documents as they are stored. They are canonical, as they were recorded; a row that is no JSON any more, or more
/// than one line, would break the lines after it and is named here.
fn documents(stored: &StoredReceipt) -> Result<(&str, &str), StoreError> {
    for (place, text) in [("receipts.input", &stored.input), ("receipts.output", &stored.output)] {
        let corrupt = |detail: String| StoreError::Corrupt { place, detail };
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| corrupt(error.to_string()))?;
        if text.contains('\n') {
            return Err(corrupt(format!("the document of {} is not in canonical form", stored.body.id)));
        }
    }
    Ok((&stored.input, &stored.output))
}
