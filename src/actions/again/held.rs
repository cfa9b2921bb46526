//! What rows repeat of a recorded call, made again from its receipt.

pub use crate::actions::judge::book_key;
use crate::actions::request;
use crate::crypto::AuthKey;
use crate::domain::{ExternalName, Hash};
use crate::engine::Described;
use crate::storage::receipt::StoredReceipt;
use serde_json::Value;

/// The keyed hash of the request, by which a yes and a key find theirs; `None` once its content is erased.
pub fn request_hash(stored: &StoredReceipt, lookup: &AuthKey) -> Option<Hash> {
    described(stored)
        .map(|(described, _)| request::request_hash(lookup, &described, &request::Private::of(&described)))
}

/// Whom the call concerned; `None` once its content is erased.
pub fn counterparties(stored: &StoredReceipt) -> Option<Vec<ExternalName>> {
    let (described, content) = described(stored)?;
    Some(request::counterparties(&described, content.as_ref()))
}

fn described(stored: &StoredReceipt) -> Option<(Described, Option<Value>)> {
    let input = serde_json::from_str(&stored.input).ok()?;
    let content = stored.content.as_deref().and_then(|content| serde_json::from_str(content).ok());
    request::described_again(&input, content.as_ref()).map(|described| (described, content))
}
