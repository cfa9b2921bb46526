//! Puts a version of a person's mandate live.

use super::Error;
use super::caller::Person;
use super::recording::Content;
use super::withdraw;
use crate::committer::{Books, Draft};
use crate::domain::{Chain, MandateId, Scopes};
use crate::engine::{Admission, Beside, Change, MandateDocument, admit_mandate, compare};
use crate::evidence::receipt::Kind;
use crate::storage::mandate::{self, MandateVersion};
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::sync::Arc;

/// A version that was put live.
#[derive(Debug)]
pub struct Put {
    /// Its number.
    pub version: u64,
    /// How it compares with the one before.
    pub change: Change,
    /// What the person should know about it, and what it takes for granted.
    pub admission: Admission,
    /// The act's receipt.
    pub stored: Arc<StoredReceipt>,
}

/// Puts `document` live as the next version, if `seen` is still the live one and nothing keeps it out. Widening needs
/// a fresh sign-in.
pub fn put(
    books: &mut Books<'_>,
    person: &Person,
    seen: u64,
    document: &MandateDocument,
) -> Result<Put, Error> {
    let live = books.mandate(person.id)?;
    if live.version != seen {
        return Err(Error::Stale { live: live.version });
    }
    let now = books.now();
    let change = compare(&live.document, document);
    match change {
        Change::Widened | Change::Mixed => {
            person.require_session(books)?;
            person.require_fresh(now, "widening a mandate")?;
        }
        Change::Narrowed | Change::Unchanged => {}
    }
    let (catalogue, policy) = (books.catalogue()?, books.policy()?);
    let beside = Beside { catalogue: Some(&catalogue.catalogue), policy: Some(&policy.document) };
    let admission = admit_mandate(document, Some(&live.document), beside, now);
    admission.admitted()?;
    let version = live.version.saturating_add(1);
    let written = document.to_json();
    let row = MandateVersion {
        principal: person.id,
        version,
        id: books.new_id(MandateId::new),
        document: written.to_string(),
        change: change.as_str().to_owned(),
        live_since: now,
        author: person.id,
    };
    let (connection, slug) = books.place();
    mandate::insert(connection, slug, &row)?;
    books.authority_changed();
    let stored = record(books, person, &row, written, change, &admission)?;
    match change {
        Change::Narrowed | Change::Mixed => {
            withdraw::after_narrowing(books, Some(person.id), "the mandate was narrowed")?;
        }
        Change::Widened | Change::Unchanged => {}
    }
    Ok(Put { version, change, admission, stored })
}

/// Takes every scope away, whatever version is live: from the next call on every agent is refused.
pub fn stop(books: &mut Books<'_>, person: &Person) -> Result<Put, Error> {
    let live = books.mandate(person.id)?;
    let stopped = MandateDocument { scopes: Scopes::NONE, ..live.document.clone() };
    put(books, person, live.version, &stopped)
}

fn record(
    books: &mut Books<'_>,
    person: &Person,
    row: &MandateVersion,
    written: Value,
    change: Change,
    admission: &Admission,
) -> Result<Arc<StoredReceipt>, Error> {
    let mut content = Content::default();
    let input = json!({
        "kind": Kind::MandatePut.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "mandate": row.id,
        "replaces": row.version.saturating_sub(1),
        "document": content.commit("/input/document", written),
    });
    let output = json!({
        "version": row.version,
        "change": change.as_str(),
        "warnings": content.commit("/output/warnings", admission.warnings_json()),
        "assumptions": content.commit("/output/assumptions", json!(admission.assumptions)),
    });
    let mut draft = Draft::act(Kind::MandatePut, Chain::Principal(person.id), input, output).by(person.id);
    draft.mandate_version = Some(row.version);
    draft.content = content.finish();
    Ok(books.record(draft)?)
}
