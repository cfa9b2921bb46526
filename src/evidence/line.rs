//! A receipt with the documents it is about: what `GET /v1/receipts/{id}` answers and exports hold.

use super::{canonical, erased::Erased, members::Members, object_writer::ObjectWriter, receipt::Receipt};
use crate::crypto::sha256;
use crate::domain::{ExportId, Hash, Malformed};
use serde_json::Value;

/// A receipt, the two documents it hashes, and what opens the commitments in them.
#[derive(Clone, PartialEq, Debug)]
pub struct Line<'a> {
    /// The export it is a line of.
    pub export: Option<ExportId>,
    /// The receipt.
    pub receipt: Receipt,
    /// What was asked.
    pub input: &'a Value,
    /// What was answered.
    pub output: &'a Value,
    /// Openings by pointer, while they exist.
    pub content: Option<&'a Value>,
    /// When and why they were erased, once they are.
    pub erased: Option<Box<Erased<'a>>>,
}

impl<'a> Line<'a> {
    /// Appends the JSON of it, without a newline.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object.optional_plain("export", self.export);
        self.receipt.write_json(object.member("receipt"));
        canonical::write(self.input, object.member("input"));
        canonical::write(self.output, object.member("output"));
        if let Some(content) = self.content {
            canonical::write(content, object.member("content"));
        }
        if let Some(erased) = &self.erased {
            erased.write_json(object.member("erased"));
        }
        object.end();
    }

    /// SHA-256 of its canonical bytes.
    pub fn hash(&self) -> Hash {
        let mut bytes = Vec::with_capacity(4096);
        self.write_json(&mut bytes);
        let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        sha256(&canonical::to_vec(&value))
    }

    /// Reads a line strictly; its documents stay where they are.
    pub fn from_json(value: &'a Value) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "a line")?;
        let line = Self {
            export: members.optional_spelt("export")?,
            receipt: Receipt::from_json(members.required("receipt")?)
                .map_err(|fault| fault.under("/receipt"))?,
            input: members.required("input")?,
            output: members.required("output")?,
            content: members.optional("content"),
            erased: members
                .optional("erased")
                .map(|erased| Erased::from_json(erased).map_err(|fault| fault.under("/erased")))
                .transpose()?
                .map(Box::new),
        };
        members.end()?;
        Ok(line)
    }
}
