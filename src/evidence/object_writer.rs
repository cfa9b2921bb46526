//! An object written straight to bytes, member after member, without building it first.

use super::canonical;
use std::{fmt::Display, io::Write};

/// Writes one object; member names are ours and need no escape.
pub(crate) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    separator: u8,
}

impl<'a> ObjectWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, separator: b'{' }
    }

    /// Starts a member and gives where its value goes.
    pub(crate) fn member(&mut self, name: &str) -> &mut Vec<u8> {
        self.out.push(self.separator);
        self.separator = b',';
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// A number, or text that needs no escape and is not quoted yet.
    fn raw(&mut self, name: &str, quote: &[u8], value: impl Display) {
        let out = self.member(name);
        out.extend_from_slice(quote);
        // Writing to memory does not fail.
        let _ = write!(out, "{value}");
        out.extend_from_slice(quote);
    }

    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.raw(name, b"", value);
    }

    pub(crate) fn optional_number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// Ids, hashes, names of enums, times: ASCII without quotes, backslashes or controls.
    pub(crate) fn plain(&mut self, name: &str, value: impl Display) {
        self.raw(name, b"\"", value);
    }

    pub(crate) fn optional_plain(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.plain(name, value);
        }
    }

    /// Any text.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        canonical::write_string(value, self.member(name));
    }

    pub(crate) fn end(self) {
        if self.separator == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}
