//! What stands on a line in the place of erased content.

use super::Tree;
use super::form::Documents;
use crate::evidence::canonical;
use crate::evidence::erased::{self, Erased};
use crate::evidence::receipt::{Kind, Receipt};
use crate::storage::receipt::{self, StoredReceipt};
use crate::storage::{AnyConnection, StoreError};
use serde_json::Value;

/// The receipt that says when and why content was erased, with its documents.
pub(super) struct Erasing {
    receipt: Receipt,
    input: Value,
    output: Value,
    reason: String,
}

impl Erasing {
    /// What says that a receipt's content was erased, if it was. What was erased after a tree was signed is said by a
    /// receipt that the tree does not hold: that one's path leads through the tree of now.
    pub(super) fn of(
        connection: &mut AnyConnection,
        stored: &StoredReceipt,
        tree: &mut Tree,
    ) -> Result<Option<Self>, StoreError> {
        let Some(place) = stored.erased_by else { return Ok(None) };
        let corrupt = |detail: String| StoreError::Corrupt { place: "receipts.erased_by", detail };
        let tenant = &stored.body.tenant;
        let by = receipt::find(connection, tenant, place)?
            .filter(|by| by.body.kind == Kind::ContentErase)
            .ok_or_else(|| corrupt(format!("the receipt at {place} erases nothing")))?;
        let receipt = if place < tree.size() {
            tree.receipt(connection, &by)?
        } else {
            let newer = Tree::now(connection, tenant)?;
            newer.ok_or_else(|| corrupt("the log is gone".into()))?.receipt(connection, &by)?
        };
        let Documents { input, output, .. } = Documents::of(&by)?;
        let reason = erased::reason(&input).unwrap_or_default().to_owned();
        Ok(Some(Self { receipt, input, output, reason }))
    }

    /// As a line holds it.
    pub(super) fn erased(&self) -> Erased<'_> {
        Erased {
            at: self.receipt.body.at,
            reason: &self.reason,
            receipt: self.receipt.clone(),
            input: &self.input,
            output: &self.output,
        }
    }

    /// The same in canonical form (RFC 8785).
    pub(super) fn canonical(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.erased().write_json(&mut bytes);
        // It was just written.
        canonical::to_vec(&serde_json::from_slice(&bytes).unwrap_or_default())
    }
}
