//! Records that somebody takes a copy of the log, and what was in it.

use super::Error;
use super::recording::put;
use crate::committer::{Books, Draft};
use crate::domain::{Chain, Duration};
use crate::evidence::receipt::Kind;
use crate::storage::export::{self, Export};
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::sync::Arc;

/// How long an export that broke off can be gone on with, and one that ended can be fetched again.
pub const RESUMED_FOR: Duration = Duration::hours(24);

/// The manifest of an export.
#[derive(Debug, Clone)]
pub enum Manifest {
    /// Recorded by this act.
    Now(Arc<StoredReceipt>),
    /// Recorded before, at this place of the log: the export was taken again.
    Before(u64),
}

/// Writes down that an export begins; it leaves no receipt before it ends.
pub fn begin(books: &mut Books<'_>, export: &Export) -> Result<(), Error> {
    Ok(export::insert(books.connection(), export)?)
}

/// Records an export's manifest as a leaf, once: in the chain of the person who took it, or in the tenant's for the
/// console.
pub fn record(books: &mut Books<'_>, begun: &Export, lines: u64, manifest: Value) -> Result<Manifest, Error> {
    let header = &begun.header;
    let (connection, slug) = books.place();
    let found = export::find(connection, slug, header.export)?.ok_or(Error::NotFound("export"))?;
    if let Some(log_index) = found.log_index {
        return Ok(Manifest::Before(log_index));
    }
    let chain = begun.taken_by.map_or_else(|| Chain::Tenant(books.tenant().id), Chain::Principal);
    let mut input = json!({
        "kind": Kind::Export.as_str(),
        "tenant": books.slug(),
        "export": header.export,
        "subject": header.subject.to_json(books.slug()),
        "format": begun.format,
    });
    for (name, at) in [("from", header.from), ("until", header.until)] {
        if let Some(at) = at {
            put(&mut input, name, json!(at));
        }
    }
    if let Some(person) = begun.taken_by {
        put(&mut input, "principal", json!(person));
    }
    let mut draft = Draft::act(Kind::Export, chain, input, manifest);
    draft.principal = begun.taken_by;
    let stored = books.record(draft)?;
    let (connection, slug) = books.place();
    export::recorded(connection, slug, header.export, stored.log_index, lines)?;
    Ok(Manifest::Now(stored))
}

/// Keeps the manifest's line as it is handed out, unless one was handed out before; gives the one that is kept.
pub fn keep_last_line(books: &mut Books<'_>, begun: &Export, line: &str) -> Result<String, Error> {
    let id = begun.header.export;
    let (connection, slug) = books.place();
    export::keep_last_line(connection, slug, id, line)?;
    let kept = export::find(connection, slug, id)?.and_then(|found| found.last_line);
    kept.ok_or(Error::NotFound("export"))
}
