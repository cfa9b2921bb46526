//! The documents receipts hash: what stands in them plainly, and what only as a salted commitment.

use super::{Error, lookup};
use crate::committer::{Books, Draft, entropy};
use crate::domain::Hash;
use crate::evidence::canonical;
use crate::evidence::commitment::{Salt, commit_canonical, placeholder};
use crate::evidence::document::{Canonical, Document};
use crate::storage::receipt::StoredReceipt;
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;

/// Collects what documents commit to.
#[derive(Debug, Default)]
pub(super) struct Content(Vec<(&'static str, Salt, Vec<u8>)>);

impl Content {
    /// Commits to `value`, which stands at `pointer` (below `/input` or `/output`), and gives what stands there instead.
    #[expect(clippy::needless_pass_by_value, reason = "callers hand over what they made for it")]
    pub(super) fn commit(&mut self, pointer: &'static str, value: Value) -> Value {
        placeholder(&self.seal(pointer, canonical::to_vec(&value)))
    }

    /// Commits to a value in canonical form, and gives its commitment.
    fn seal(&mut self, pointer: &'static str, value: Vec<u8>) -> Hash {
        let salt = Salt(entropy::bytes());
        let commitment = commit_canonical(&salt, &value);
        self.0.push((pointer, salt, value));
        commitment
    }

    /// Commits to a value in canonical form, which stands as member `name` of a document at `pointer`.
    pub(super) fn put(
        &mut self,
        document: &mut Document,
        name: &'static str,
        pointer: &'static str,
        value: Vec<u8>,
    ) {
        let commitment = self.seal(pointer, value);
        document.member(name, |out| {
            // Writing to memory does not fail.
            let _ = write!(out, "{{\"commitment\":\"{commitment}\"}}");
        });
    }

    /// The salts and values, if there are any.
    pub(super) fn finish(self) -> Option<Canonical> {
        if self.0.is_empty() {
            return None;
        }
        let mut openings = Document::with_room(1024);
        for (pointer, salt, value) in self.0 {
            openings.member(pointer, |out| {
                // Writing to memory does not fail.
                let _ = write!(out, "{{\"salt\":\"{salt}\",\"value\":");
                out.extend_from_slice(&value);
                out.push(b'}');
            });
        }
        Some(openings.into())
    }
}

/// What goes with a receipt beside its documents.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Salts and values of what the documents commit to.
    pub(super) content: Option<Canonical>,
    /// Keyed hashes it is found by: what was asked for, and what a provider calls it.
    pub(super) found_by: Vec<Hash>,
}

impl Beside {
    /// Records a draft with it.
    pub(super) fn record(self, books: &mut Books<'_>, mut draft: Draft) -> Result<Arc<StoredReceipt>, Error> {
        draft.content = self.content;
        draft.found_by.clone_from(&self.found_by);
        let stored = books.record(draft)?;
        debug_assert!(lookup::is_found_by(books.lookup_key(), &stored, &self.found_by), "{stored:?}");
        Ok(stored)
    }
}

/// Adds a member to a document; documents are objects.
pub(super) fn put(document: &mut Value, name: &str, value: Value) {
    if let Some(members) = document.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}
