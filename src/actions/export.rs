//! Records that somebody took a copy of a credential's log, and what was in it.

use super::Error;
use crate::committer::{Books, Draft};
use crate::domain::{Chain, CredentialId, ExportId, PrincipalId};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::sync::Arc;

/// Records an export's manifest as a leaf: in the chain of the person who took it, or in the tenant's for the console.
pub fn record(
    books: &mut Books<'_>,
    taken_by: Option<PrincipalId>,
    export: ExportId,
    credential: CredentialId,
    format: &str,
    manifest: Value,
) -> Result<Arc<StoredReceipt>, Error> {
    let chain = taken_by.map_or_else(|| Chain::Tenant(books.tenant().id), Chain::Principal);
    let mut input = json!({
        "kind": Kind::Export.as_str(),
        "tenant": books.slug(),
        "export": export,
        "subject": {"credential": credential},
        "format": format,
    });
    if let Some(person) = taken_by {
        super::recording::put(&mut input, "principal", json!(person));
    }
    let mut draft = Draft::act(Kind::Export, chain, input, manifest);
    draft.principal = taken_by;
    Ok(books.record(draft)?)
}
