//! What of a record its own hash does not cover: the content that its documents commit to, and the column that lists
//! search by.

use crate::domain::{DecisionId, EffectId, Intent, ReceiptId, TenantSlug};
use crate::evidence::commitment::check_content;
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{self, AnyConnection, StoreError};
use serde_json::Value;
use std::str::FromStr;

/// Something of a record that was changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed {
    /// What of it.
    pub(super) field: String,
    /// What the record says of it.
    pub(super) expected: String,
    /// What stands there.
    pub(super) found: String,
}

/// The first such thing, if there is one.
pub(super) fn changed(
    connection: &mut AnyConnection,
    stored: &StoredReceipt,
) -> Result<Option<Changed>, StoreError> {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let (input, output) = (read(&stored.input), read(&stored.output));
    // What was erased is held against the receipt that erased it, elsewhere.
    if stored.erased_by.is_none()
        && let Some(changed) = content(input.as_ref(), output.as_ref(), stored.content.as_deref())
    {
        return Ok(Some(changed));
    }
    let stands = stored.intent.as_ref().map(Intent::as_str);
    let none = "none".to_owned();
    let expected = match stated_intent(connection, stored, &input.unwrap_or_default())? {
        Stated::Unknown => return Ok(None),
        Stated::Nothing => None,
        Stated::Intent(intent) => Some(intent),
    };
    Ok((expected.as_deref() != stands).then(|| Changed {
        field: "intent".to_owned(),
        expected: expected.unwrap_or_else(|| none.clone()),
        found: stands.map_or(none, str::to_owned),
    }))
}

fn content(input: Option<&Value>, output: Option<&Value>, content: Option<&str>) -> Option<Changed> {
    let changed = |field: String, expected: String, found: String| Some(Changed { field, expected, found });
    let Ok(value) = content.map(serde_json::from_str::<Value>).transpose() else {
        return changed("content".into(), "an object of openings".into(), "no JSON".into());
    };
    match check_content(input, output, value.as_ref()) {
        Err(mismatch) => changed(format!("content {}", mismatch.pointer), mismatch.expected, mismatch.found),
        Ok(all) if all.closed > 0 => {
            let expected = format!("{} openings", all.opened.saturating_add(all.closed));
            let found = format!("{}, and no record says that it was erased", all.opened);
            changed("content".into(), expected, found)
        }
        Ok(_) => None,
    }
}

/// What a record says of its intent.
enum Stated {
    /// This one.
    Intent(String),
    /// It is of none.
    Nothing,
    /// What it names to say so cannot be read here.
    Unknown,
}

fn stated_intent(
    connection: &mut AnyConnection,
    stored: &StoredReceipt,
    input: &Value,
) -> Result<Stated, StoreError> {
    let tenant = &stored.body.tenant;
    let place = match stored.body.kind {
        Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer | Kind::QuestionReceive => {
            return Ok(intent_of(input));
        }
        Kind::GateReplay => named::<ReceiptId>(input, "first").map(|first| first.log_index()),
        Kind::DecisionApprove | Kind::DecisionDecline | Kind::DecisionResolve => {
            match named::<DecisionId>(input, "decision") {
                Some(id) => {
                    read(storage::decision::find(connection, tenant, id))?.map(|found| found.log_index)
                }
                None => None,
            }
        }
        Kind::EffectOutcome => match named::<EffectId>(input, "effect") {
            Some(id) => read(storage::effect::find(connection, tenant, id))?.map(|found| found.log_index),
            None => None,
        },
        Kind::GateWithdrawn
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
        | Kind::DecisionExpire
        | Kind::DecisionRenew
        | Kind::QuestionLost
        | Kind::QuestionAnswered
        | Kind::QuestionFetch
        | Kind::QuestionWithdraw
        | Kind::QuestionExpire
        | Kind::DecisionWithdraw
        | Kind::AccessMinute
        | Kind::LogGap
        | Kind::LogRestore
        | Kind::ContentErase
        | Kind::RetentionPut
        | Kind::Export
        | Kind::KeyRotate
        | Kind::TenantSetup => return Ok(Stated::Nothing),
    };
    match place {
        Some(place) => at(connection, tenant, place),
        None => Ok(Stated::Unknown),
    }
}

/// The intent of the call that was recorded at a place.
fn at(connection: &mut AnyConnection, tenant: &TenantSlug, place: u64) -> Result<Stated, StoreError> {
    let call = read(storage::receipt::find(connection, tenant, place))?;
    let input = call.and_then(|call| serde_json::from_str(&call.input).ok());
    Ok(input.map_or(Stated::Unknown, |input| intent_of(&input)))
}

fn intent_of(input: &Value) -> Stated {
    let intent = input.pointer("/request/intent").and_then(Value::as_str);
    intent.map_or(Stated::Unknown, |intent| Stated::Intent(intent.to_owned()))
}

fn named<T: FromStr>(input: &Value, member: &str) -> Option<T> {
    input.get(member)?.as_str()?.parse().ok()
}

/// What cannot be read is found where it stands.
fn read<T>(found: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Ok(found) => Ok(found),
        Err(StoreError::Corrupt { .. }) => Ok(None),
        Err(error @ StoreError::Failed(_)) => Err(error),
    }
}
