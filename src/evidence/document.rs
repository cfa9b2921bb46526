//! A document written member by member in any order, straight to its canonical form (RFC 8785).

use super::canonical;
use serde_json::Value;
use std::fmt::Display;
use std::io::Write;
use std::ops::Range;

/// An object whose members are written as they come up, and put in the order of their names at the end. Names are ASCII
/// and need no escape; none is written twice.
#[derive(Debug, Clone, Default)]
pub struct Document {
    bytes: Vec<u8>,
    members: Vec<(&'static str, Range<usize>)>,
}

impl Document {
    /// An empty document with room for so many bytes of values.
    pub fn with_room(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), members: Vec::with_capacity(16) }
    }

    /// Starts a member and gives where its value goes, in canonical form.
    pub fn member(&mut self, name: &'static str, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.members.push((name, start..self.bytes.len()));
    }

    /// Ids, hashes, names of enums, times: ASCII without quotes, backslashes or controls.
    pub fn plain(&mut self, name: &'static str, value: impl Display) {
        self.member(name, |out| {
            // Writing to memory does not fail.
            let _ = write!(out, "\"{value}\"");
        });
    }

    /// Any text.
    pub fn text(&mut self, name: &'static str, value: &str) {
        self.member(name, |out| canonical::write_string(value, out));
    }

    /// A whole number below 2^53.
    pub fn number(&mut self, name: &'static str, value: u64) {
        self.member(name, |out| {
            // Writing to memory does not fail.
            let _ = write!(out, "{value}");
        });
    }

    /// True or false.
    pub fn flag(&mut self, name: &'static str, value: bool) {
        self.member(name, |out| out.extend_from_slice(if value { b"true" } else { b"false" }));
    }

    /// Any value.
    pub fn value(&mut self, name: &'static str, value: &Value) {
        self.member(name, |out| canonical::write(value, out));
    }

    /// A list of ids, hashes or names of enums.
    pub fn list(&mut self, name: &'static str, items: impl IntoIterator<Item = impl Display>) {
        self.member(name, |out| {
            out.push(b'[');
            for (place, item) in items.into_iter().enumerate() {
                let comma = if place == 0 { "" } else { "," };
                // Writing to memory does not fail.
                let _ = write!(out, "{comma}\"{item}\"");
            }
            out.push(b']');
        });
    }

    /// A document inside this one.
    pub fn document(&mut self, name: &'static str, inner: Self) {
        self.member(name, |out| inner.write(out));
    }

    /// Appends the document in canonical form.
    pub fn write(mut self, out: &mut Vec<u8>) {
        self.members.sort_unstable_by_key(|(name, _)| *name);
        out.push(b'{');
        for (place, (name, range)) in self.members.into_iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            out.extend_from_slice(self.bytes.get(range).unwrap_or_default());
        }
        out.push(b'}');
    }

    /// The document in canonical form.
    pub fn to_vec(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 16 * self.members.len() + 2);
        self.write(&mut out);
        out
    }
}

/// A value in its canonical form, as it is hashed and stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical(Vec<u8>);

impl Canonical {
    /// The bytes, which are UTF-8.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl From<Document> for Canonical {
    fn from(document: Document) -> Self {
        Self(document.to_vec())
    }
}

impl From<Value> for Canonical {
    fn from(value: Value) -> Self {
        Self(canonical::to_vec(&value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_come_out_as_the_canonical_form_of_the_same_object() {
        let mut inner = Document::default();
        inner.flag("yes", true);
        inner.flag("no", false);
        let mut document = Document::default();
        document.text("zeta", "a \"quoted\"\u{1}\n\u{e9}");
        document.number("alpha", 42);
        document.plain("outcome", "allow");
        document.document("inner", inner);
        document.list("clauses", ["M-001", "M-002"]);
        document.list("none", Vec::<String>::new());
        document.value("beta", &json!({"b": 1.50, "a": [null]}));
        let same = json!({"zeta": "a \"quoted\"\u{1}\n\u{e9}", "alpha": 42, "outcome": "allow",
            "inner": {"yes": true, "no": false}, "clauses": ["M-001", "M-002"], "none": [],
            "beta": {"b": 1.5, "a": [null]}});
        let bytes = document.to_vec();
        assert_eq!(bytes, canonical::to_vec(&same));
        assert_eq!(Canonical::from(same).into_bytes(), bytes);
        assert_eq!(Document::default().to_vec(), b"{}");
    }
}
