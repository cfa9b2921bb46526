//! The gate's answer as callers see it.

use crate::domain::{DecisionId, Timestamp};
use crate::evidence::receipt::Receipt;
use crate::storage::decision::DecisionStatus;
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::sync::Arc;

/// Where pages are, for links in answers and mail.
#[derive(Debug, Clone)]
pub struct Links {
    base: Arc<str>,
}

impl Links {
    /// Links below the service's public address.
    pub fn below(base: &str) -> Self {
        Self { base: base.trim_end_matches('/').into() }
    }

    /// The public address, without a trailing slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The page of whoever's queue is looked at.
    pub fn queue(&self) -> String {
        format!("{}/queue", self.base)
    }

    /// The page that shows a decision.
    pub fn page(&self, id: DecisionId) -> String {
        format!("{}/queue/{id}", self.base)
    }

    /// A decision as answers mention it.
    pub fn decision(&self, id: DecisionId, status: DecisionStatus, expires_at: Timestamp) -> Value {
        json!({"id": id, "status": status.as_str(), "expires_at": expires_at, "url": self.page(id)})
    }
}

/// An answer of the gate and whether it repeats an earlier one.
#[derive(Debug)]
pub struct Answer {
    /// The receipt whose output document is the answer.
    pub stored: Arc<StoredReceipt>,
    /// Whether this call was a repetition.
    pub is_replay: bool,
}

impl Answer {
    /// The answer's JSON: the output document with the receipt in it.
    pub fn to_json(&self, receipt: &Receipt) -> Vec<u8> {
        let output = self.stored.output.as_bytes();
        let mut body = Vec::with_capacity(output.len() + 2048);
        // The output document is a canonical object and never empty, so its last byte is the brace.
        body.extend_from_slice(output.strip_suffix(b"}").unwrap_or(output));
        body.extend_from_slice(b",\"receipt\":");
        receipt.write_json(&mut body);
        body.push(b'}');
        body
    }
}
