//! A line of an export written straight in its canonical form, from documents that are canonical already.

use super::canonical;
use super::object_writer::ObjectWriter;
use super::receipt::Receipt;
use crate::domain::ExportId;
use serde_json::Value;

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
    /// When and why they were erased, once they are, in canonical form.
    pub erased: Option<&'a [u8]>,
}

impl Written<'_> {
    /// Appends the line, canonical as a whole where its documents are, without a newline.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        if let Some(content) = self.content {
            canonical::write(content, object.member("content"));
        }
        if let Some(erased) = self.erased {
            object.member("erased").extend_from_slice(erased);
        }
        object.plain("export", self.export);
        object.member("input").extend_from_slice(self.input.as_bytes());
        object.member("output").extend_from_slice(self.output.as_bytes());
        self.receipt.body.write_canonical(Some(self.receipt), object.member("receipt"));
        object.end();
    }
}
