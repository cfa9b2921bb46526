//! Registers an intent, or changes what the catalogue says of it.

use super::Error;
use super::caller::Operator;
use super::recording::Content;
use super::withdraw;
use crate::committer::{Books, Draft};
use crate::domain::{Chain, Intent, Malformed};
use crate::engine::CatalogueEntry;
use crate::evidence::receipt::Kind;
use crate::storage::catalogue::{self, CatalogueVersion};
use crate::storage::receipt::StoredReceipt;
use serde_json::json;
use std::sync::Arc;

/// An entry that was put live.
#[derive(Debug)]
pub struct Put {
    /// The catalogue's version with it.
    pub version: u64,
    /// The act's receipt.
    pub stored: Arc<StoredReceipt>,
}

/// Puts an entry live. With `seen`, only if that is still the catalogue's version.
pub fn put(
    books: &mut Books<'_>,
    operator: &Operator,
    intent: &Intent,
    entry: &CatalogueEntry,
    seen: Option<u64>,
) -> Result<Put, Error> {
    operator.person().require_session(books)?;
    operator.person().require_fresh(books.now(), "changing the catalogue")?;
    if intent.is_reserved() {
        let detail = format!("`{intent}` is the service's own: what it takes is not the catalogue's to say");
        return Err(Malformed::whole(detail).into());
    }
    let now = books.now();
    let person = operator.person();
    let live = books.catalogue()?.version;
    if seen.is_some_and(|seen| seen != live) {
        return Err(Error::Stale { live });
    }
    let version = live.saturating_add(1);
    let written = entry.to_json();
    let row = CatalogueVersion {
        version,
        intent: intent.clone(),
        document: written.to_string(),
        live_since: now,
        author: person.id,
    };
    let (connection, slug) = books.place();
    catalogue::insert(connection, slug, &row)?;
    books.authority_changed();
    let mut content = Content::default();
    let input = json!({
        "kind": Kind::CataloguePut.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "intent": intent,
        "entry": content.commit("/input/entry", written),
    });
    let output = json!({"version": version});
    let mut draft = Draft::act(Kind::CataloguePut, Chain::Principal(person.id), input, output).by(person.id);
    draft.catalogue_version = Some(version);
    draft.content = content.finish();
    let stored = books.record(draft)?;
    withdraw::after_catalogue_change(books, intent)?;
    Ok(Put { version, stored })
}
