//! The gate's answer as callers see it.

use crate::evidence::receipt::Receipt;
use crate::storage::receipt::StoredReceipt;
use std::sync::Arc;

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
