//! What stands on a line in the place of erased content: the receipt that says when and why, whole, so that it is
//! checked with the line it stands on and by itself.

use super::{canonical, members::Members, object_writer::ObjectWriter, receipt::Receipt};
use crate::domain::{Malformed, ReceiptId, Timestamp};
use serde_json::Value;

/// When, why and by which receipt the content of a line was erased.
#[derive(Clone, PartialEq, Debug)]
pub struct Erased<'a> {
    /// When; the erasing receipt's own time.
    pub at: Timestamp,
    /// Why; what its input document says.
    pub reason: &'a str,
    /// The erasing receipt, of kind `content.erase`.
    pub receipt: Receipt,
    /// Its input document, which lists the receipts whose content is gone.
    pub input: &'a Value,
    /// Its output document.
    pub output: &'a Value,
}

impl<'a> Erased<'a> {
    /// Appends the JSON of it.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object.plain("at", self.at);
        object.text("reason", self.reason);
        self.receipt.write_json(object.member("receipt"));
        canonical::write(self.input, object.member("input"));
        canonical::write(self.output, object.member("output"));
        object.end();
    }

    /// Reads it strictly; what it says is not checked here.
    pub fn from_json(value: &'a Value) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "what is said of erased content")?;
        let erased = Self {
            at: members.spelt("at")?,
            reason: members.text("reason")?,
            receipt: Receipt::from_json(members.required("receipt")?)
                .map_err(|fault| fault.under("/receipt"))?,
            input: members.required("input")?,
            output: members.required("output")?,
        };
        members.end()?;
        Ok(erased)
    }
}

/// Why an erasing receipt erased, by its input document.
pub fn reason(input: &Value) -> Option<&str> {
    input.get("reason")?.as_str()
}

/// Whether an erasing receipt's input document lists a receipt.
pub fn lists(input: &Value, id: ReceiptId) -> bool {
    let id = id.to_string();
    let listed = input.get("receipts").and_then(Value::as_array);
    listed.is_some_and(|listed| listed.iter().any(|one| one.as_str() == Some(&id)))
}
