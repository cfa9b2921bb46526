//! What a receipt can be found by again: its hashes, what was asked for, and what a provider calls it.

use super::Error;
use super::request::{Private, described_again, request_hash};
use crate::committer::Books;
use crate::crypto::{AuthKey, hmac_sha256};
use crate::domain::Hash;
use crate::engine::Described;
use crate::evidence::receipt::{Kind, leaf};
use crate::storage::lookup::{self, Key};
use crate::storage::receipt::StoredReceipt;
use serde_json::Value;

/// Keeps the keyed hash of a reference apart from that of a request.
const REFERENCE: &[u8] = b"procura-reference-v1\0";

/// The keyed hash that a request is found by, whoever asked and whatever else the call carried: without `tenant`,
/// `agent`, `min_mandate_version` and `decision`, amounts in minor units.
pub fn of_request(key: &AuthKey, described: &Described) -> Hash {
    let bare = Described { tenant: None, agent: None, min_mandate_version: None, ..described.clone() };
    request_hash(key, &bare, &Private::of(&bare))
}

/// The keyed hash that a provider's reference, or an idempotency key, is found by.
pub fn of_reference(key: &AuthKey, reference: &str) -> Hash {
    let bytes: Vec<u8> = REFERENCE.iter().chain(reference.as_bytes()).copied().collect();
    Hash(hmac_sha256(key, &bytes))
}

/// The keyed hash of what a receipt was asked for; `None` where it is no call, or its content is erased.
pub fn request_of(key: &AuthKey, stored: &StoredReceipt) -> Option<Hash> {
    if !stored.body.kind.is_call() {
        return None;
    }
    let described =
        described_again(&read(&stored.input)?, stored.content.as_deref().and_then(read).as_ref())?;
    Some(of_request(key, &described))
}

/// What a provider may call the effect that a receipt is of: the reference that was reported, and the idempotency key
/// that it was to be given.
pub fn references_of(stored: &StoredReceipt) -> Vec<String> {
    let content = |pointer: &str| {
        let content = stored.content.as_deref().and_then(read)?;
        content.get(pointer)?.get("value").cloned()
    };
    let reference = match stored.body.kind {
        Kind::EffectOutcome => {
            content("/input/details").and_then(|details| details.get("reference").cloned())
        }
        Kind::DecisionResolve => content("/input/reference"),
        Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer => {
            read(&stored.output).and_then(|output| output.get("effect")?.get("idempotency_key").cloned())
        }
        Kind::GateReplay
        | Kind::GateWithdrawn
        | Kind::MandatePut
        | Kind::PolicyPut
        | Kind::CataloguePut
        | Kind::PrincipalCreate
        | Kind::PrincipalPassword
        | Kind::AgentCreate
        | Kind::AgentRetire
        | Kind::CredentialCreate
        | Kind::CredentialDerive
        | Kind::CredentialRevoke
        | Kind::EnforcementPointCreate
        | Kind::EnforcementPointRevoke
        | Kind::DecisionApprove
        | Kind::DecisionDecline
        | Kind::DecisionExpire
        | Kind::DecisionRenew
        | Kind::QuestionLost
        | Kind::QuestionAnswered
        | Kind::QuestionFetch
        | Kind::QuestionWithdraw
        | Kind::QuestionExpire
        | Kind::QuestionReceive
        | Kind::DecisionWithdraw
        | Kind::AccessMinute
        | Kind::LogGap
        | Kind::LogRestore
        | Kind::ContentErase
        | Kind::RetentionPut
        | Kind::KeyRotate
        | Kind::Export
        | Kind::TenantSetup => None,
    };
    reference.as_ref().and_then(as_reference).into_iter().collect()
}

/// A value as a provider's reference, if it is one: a text or a number.
fn as_reference(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// What a call is found by, given before it is recorded: the keyed hash of what was asked, and of the key that what it
/// lets happen is to be given.
pub(super) fn of_call(
    key: &AuthKey,
    described: &Described,
    request_hash: Hash,
    idempotency_key: Option<&str>,
) -> Vec<Hash> {
    let is_bare =
        described.tenant.is_none() && described.agent.is_none() && described.min_mandate_version.is_none();
    let request = if is_bare { request_hash } else { of_request(key, described) };
    std::iter::once(request).chain(idempotency_key.map(|text| of_reference(key, text))).collect()
}

/// What a report is found by, given before it is recorded: the keyed hash of the provider's reference in it.
pub(super) fn of_report(key: &AuthKey, reference: Option<&Value>) -> Vec<Hash> {
    reference.and_then(as_reference).map(|text| of_reference(key, &text)).into_iter().collect()
}

/// Whether a receipt was said to be found by what it is found by as it stands in the log; looked at where the service is
/// tested.
pub(super) fn is_found_by(key: &AuthKey, stored: &StoredReceipt, found_by: &[Hash]) -> bool {
    let mut said: Vec<Key> = hashes_of(stored).iter().chain(found_by).map(Key::of).collect();
    let mut stands = keys_of(key, stored);
    said.sort_unstable();
    stands.sort_unstable();
    said == stands
}

/// The hashes that a receipt is known by in public: its own, those of its documents, and its leaf's.
pub fn hashes_of(stored: &StoredReceipt) -> [Hash; 4] {
    let body = &stored.body;
    [stored.hash, body.input_hash, body.output_hash, leaf(&stored.hash, &stored.auth)]
}

/// Every key a receipt is found by.
pub fn keys_of(key: &AuthKey, stored: &StoredReceipt) -> Vec<Key> {
    let references = references_of(stored);
    let keyed = references.iter().map(|reference| of_reference(key, reference));
    let hashes = hashes_of(stored).into_iter().chain(request_of(key, stored)).chain(keyed);
    hashes.map(|hash| Key::of(&hash)).collect()
}

/// Writes a run of the log's lookups, unless another node has; `false` if it has.
pub fn write(books: &mut Books<'_>, run: u64, entries: Vec<(Key, u16)>) -> Result<bool, Error> {
    let (connection, slug) = books.place();
    if lookup::next_run(connection, slug)? != run {
        return Ok(false);
    }
    lookup::insert(connection, slug, run, entries)?;
    Ok(true)
}

/// Takes out what a receipt is found by once its content is erased; to be called before the content goes.
pub fn forget_content(books: &mut Books<'_>, stored: &StoredReceipt) -> Result<(), Error> {
    books.forget_lookups();
    let key = books.lookup_key();
    let references = references_of(stored);
    let keyed = references.iter().map(|reference| of_reference(key, reference));
    let hashes: Vec<Hash> = request_of(key, stored).into_iter().chain(keyed).collect();
    let (connection, slug) = books.place();
    for hash in hashes {
        lookup::forget(connection, slug, Key::of(&hash), stored.log_index)?;
    }
    Ok(())
}

fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
