//! What verification found, in words and values a person can act on.

use super::narrowing::Narrowed;
use crate::domain::{Malformed, ReceiptId};
use std::fmt;
use std::sync::Arc;

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything holds.
    Held,
    /// Something does not, and is named.
    Failed,
    /// A file is not anything that can be verified.
    Unreadable,
}

impl Verdict {
    /// The exit status of `procura verify`.
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Failed => 1,
            Self::Unreadable => 2,
        }
    }
}

/// Whose key the checkpoints were checked with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyUsed {
    /// The one that was given.
    Given(String),
    /// Those that stand in the files: whoever wrote the files chose them.
    FromFiles(Vec<String>),
}

/// Where something was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The file's name.
    pub file: Arc<str>,
    /// The line in it, from 1.
    pub line: Option<u64>,
    /// The receipt that stands there.
    pub receipt: Option<ReceiptId>,
}

impl Site {
    /// A file as a whole.
    pub(super) fn whole(file: &str) -> Self {
        Self { file: file.into(), line: None, receipt: None }
    }

    /// The receipt that stands there.
    pub(super) fn of(&self, receipt: ReceiptId) -> Self {
        Self { receipt: Some(receipt), ..self.clone() }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        match &self.receipt {
            Some(receipt) => write!(f, ", receipt {receipt}"),
            None => Ok(()),
        }
    }
}

/// The first thing that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The file's name.
    pub file: String,
    /// The line in it, from 1.
    pub line: Option<u64>,
    /// The receipt, where one could be read.
    pub receipt: Option<String>,
    /// The member, as a dotted name or a JSON Pointer.
    pub field: String,
    /// The value that would hold.
    pub expected: Option<String>,
    /// The value that stands there.
    pub found: Option<String>,
    /// What is wrong, in one sentence without a full stop.
    pub detail: String,
    /// Whether the file cannot be verified at all.
    pub unreadable: bool,
    /// Where what it contradicts was read.
    pub other: Option<Arc<Site>>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if let Some(receipt) = &self.receipt {
            write!(f, ", receipt {receipt}")?;
        }
        if !self.field.is_empty() {
            write!(f, ", {}", self.field)?;
        }
        write!(f, ": {}", self.detail)?;
        match (&self.expected, &self.found) {
            (Some(expected), Some(found)) => write!(f, " (expected {expected}, found {found})"),
            (Some(expected), None) => write!(f, " (expected {expected})"),
            (None, Some(found)) => write!(f, " (found {found})"),
            (None, None) => Ok(()),
        }?;
        match &self.other {
            Some(other) => write!(f, "; the other stands in {other}"),
            None => Ok(()),
        }
    }
}

/// What was verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Receipts that were checked, those of exports among them.
    pub receipts: u64,
    /// Whole exports.
    pub exports: u64,
    /// Checkpoints in files of their own, or given.
    pub checkpoints: u64,
    /// Tiles.
    pub tiles: u64,
    /// Entry bundles.
    pub bundles: u64,
    /// Consistency proofs.
    pub proofs: u64,
    /// Inclusion proofs.
    pub inclusion_proofs: u64,
    /// Lines that held something.
    pub lines: u64,
    /// Whose key counted.
    pub key_used: KeyUsed,
    /// What answers were held against, log by log, where that was asked.
    pub narrowing: Option<Vec<Narrowed>>,
    /// What was not shown, and what the reader should know.
    pub notes: Vec<String>,
    /// The first thing that does not hold.
    pub failure: Option<Failure>,
}

impl Report {
    /// How it ended.
    pub fn verdict(&self) -> Verdict {
        match &self.failure {
            None => Verdict::Held,
            Some(failure) if failure.unreadable => Verdict::Unreadable,
            Some(_) => Verdict::Failed,
        }
    }
}

/// A failure before file and line are known.
#[derive(Debug, Default)]
pub(super) struct Fault {
    pub(super) receipt: Option<ReceiptId>,
    pub(super) field: String,
    pub(super) expected: Option<Box<str>>,
    pub(super) found: Option<Box<str>>,
    pub(super) detail: String,
    pub(super) unreadable: bool,
    /// Where it is, if elsewhere than what is being looked at.
    site: Option<Arc<Site>>,
    /// Where what it contradicts was read.
    other: Option<Arc<Site>>,
}

impl Fault {
    pub(super) fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into(), ..Self::default() }
    }

    /// Two values that should be one.
    pub(super) fn differs(
        field: impl Into<String>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
        detail: impl Into<String>,
    ) -> Self {
        let fault = Self::new(field, detail);
        Self { expected: Some(expected.to_string().into()), found: Some(found.to_string().into()), ..fault }
    }

    pub(super) fn unreadable(detail: impl Into<String>) -> Self {
        Self { unreadable: true, ..Self::new("", detail) }
    }

    /// Not of the shape it must have.
    pub(super) fn shape(malformed: &Malformed) -> Self {
        malformed
            .faults
            .first()
            .map_or_else(|| Self::new("", "malformed"), |fault| Self::new(&fault.pointer, &fault.detail))
    }

    /// Names the receipt, unless one is named already.
    pub(super) fn of(mut self, receipt: ReceiptId) -> Self {
        self.receipt.get_or_insert(receipt);
        self
    }

    /// Puts it where something was read before.
    pub(super) fn in_site(self, site: &Arc<Site>) -> Self {
        Self { site: Some(Arc::clone(site)), ..self }
    }

    /// Names where what it contradicts was read.
    pub(super) fn beside(self, other: &Arc<Site>) -> Self {
        Self { other: Some(Arc::clone(other)), ..self }
    }

    pub(super) fn at(self, site: &Site) -> Failure {
        let site = self.site.as_deref().unwrap_or(site);
        Failure {
            file: site.file.to_string(),
            line: site.line,
            receipt: self.receipt.or(site.receipt).map(|id| id.to_string()),
            field: self.field,
            expected: self.expected.map(String::from),
            found: self.found.map(String::from),
            detail: self.detail,
            unreadable: self.unreadable,
            other: self.other,
        }
    }
}

/// Fails unless both values are the same.
pub(super) fn same<T: PartialEq + fmt::Display>(
    field: &str,
    expected: &T,
    found: &T,
    detail: &str,
) -> Result<(), Fault> {
    if expected == found { Ok(()) } else { Err(Fault::differs(field, expected, found, detail)) }
}
