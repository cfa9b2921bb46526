//! A line of an export written straight in its canonical form, from documents that are canonical already.

use super::canonical;
use super::object_writer::ObjectWriter;
use super::receipt::{Inclusion, Receipt};
use crate::domain::{ExportId, FactsFrom, Outcome};
use serde_json::Value;
use std::io::Write;

/// A receipt with its documents as they are stored: text in canonical form (RFC 8785).
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// The export it is a line of.
    pub export: ExportId,
    /// The receipt.
    pub receipt: &'a Receipt,
    /// What was asked, in canonical form.
    pub input: &'a str,
    /// What was answered, in canonical form.
    pub output: &'a str,
    /// Openings by pointer, while they exist.
    pub content: Option<&'a Value>,
}

impl Written<'_> {
    /// Appends the line, canonical as a whole where its documents are, without a newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        if let Some(content) = self.content {
            canonical::write(content, object.member("content"));
        }
        object.plain("export", self.export);
        object.member("input").extend_from_slice(self.input.as_bytes());
        object.member("output").extend_from_slice(self.output.as_bytes());
        write_receipt(self.receipt, object.member("receipt"));
        object.end();
    }
}

/// Members in the order of their names (RFC 8785 §3.2.3).
fn write_receipt(receipt: &Receipt, out: &mut Vec<u8>) {
    let body = &receipt.body;
    let mut object = ObjectWriter::new(out);
    object.optional_plain("agent", body.agent);
    object.plain("at", body.at);
    object.plain("auth", receipt.auth);
    object.plain("auth_key", body.auth_key);
    object.optional_number("catalogue_version", body.catalogue_version);
    object.plain("chain", body.chain);
    object.optional_plain("credential", body.credential);
    object.text("engine_version", &body.engine_version);
    object.optional_plain("facts_from", body.facts_from.map(FactsFrom::as_str));
    object.plain("hash", receipt.hash);
    object.plain("id", body.id);
    object.plain("input_hash", body.input_hash);
    object.plain("kind", body.kind);
    object.optional_number("mandate_version", body.mandate_version);
    write_place(&receipt.merkle, object.member("merkle"));
    object.optional_plain("outcome", body.outcome.map(Outcome::as_str));
    object.plain("output_hash", body.output_hash);
    object.optional_number("policy_version", body.policy_version);
    object.plain("prev", body.prev);
    object.optional_plain("principal", body.principal);
    object.number("seq", body.seq);
    object.plain("tenant", &body.tenant);
    object.end();
}

fn write_place(merkle: &Inclusion, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::new(out);
    object.text("checkpoint", &merkle.checkpoint);
    object.number("index", merkle.index);
    object.text("key", &merkle.key);
    let path = object.member("path");
    path.push(b'[');
    for (position, hash) in merkle.path.iter().enumerate() {
        if position > 0 {
            path.push(b',');
        }
        // Writing to memory does not fail.
        let _ = write!(path, "\"{hash}\"");
    }
    path.push(b']');
    object.plain("root", merkle.root);
    object.number("size", merkle.size);
    object.end();
}
