//! What is wrong with something a person or program wrote: where, what was found, what was expected.

use std::fmt;

/// One thing that does not fit, at one place of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON Pointer (RFC 6901) to the place, empty for the whole document.
    pub pointer: String,
    /// What was found and what is allowed, in lower case, input in backticks.
    pub detail: String,
}

/// Everything found wrong with one document, in document order; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The faults, at least one.
    pub faults: Vec<Fault>,
}

impl Malformed {
    /// One fault at `pointer`.
    pub fn at(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { faults: vec![Fault { pointer: pointer.into(), detail: detail.into() }] }
    }

    /// One fault of the document as a whole.
    pub fn whole(detail: impl Into<String>) -> Self {
        Self::at("", detail)
    }

    /// The same faults, their places moved below `prefix`.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        for fault in &mut self.faults {
            fault.pointer.insert_str(0, prefix);
        }
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, fault) in self.faults.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            if fault.pointer.is_empty() {
                f.write_str(&fault.detail)?;
            } else {
                write!(f, "{}: {}", fault.pointer, fault.detail)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Malformed {}
