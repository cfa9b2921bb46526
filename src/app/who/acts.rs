//! Each receipt in one line: who did it, and what.

use super::case::{document, id};
use super::names::Names;
use crate::domain::{AgentId, Chain, Outcome, PrincipalId};
use crate::evidence::receipt::Kind;
use crate::storage::StoreError;
use crate::storage::receipt::StoredReceipt;
use serde_json::Value;

/// Who did what a receipt records, or asked for it.
pub(super) fn who(stored: &StoredReceipt, names: &mut Names<'_>) -> Result<String, StoreError> {
    match stored.body.chain {
        Chain::Principal(person) => names.person(person),
        Chain::Credential(credential) => names.credential(credential),
        Chain::Tenant(_) => Ok("the service".into()),
    }
}

/// What it records, to stand after who did it.
pub(super) fn says(stored: &StoredReceipt, names: &mut Names<'_>) -> Result<String, StoreError> {
    let (input, output) = (document(&stored.input), document(&stored.output));
    let body = &stored.body;
    let (decision, reason) = (said(&input, "decision"), said(&output, "reason"));
    let number = |member: &str| output.get(member).and_then(Value::as_u64).unwrap_or_default();
    let intent = stored.intent.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut agent = |id: Option<AgentId>| match id {
        Some(id) => names.agent(id),
        None => Ok("an agent".into()),
    };
    Ok(match body.kind {
        Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer | Kind::QuestionReceive => {
            let outcome = body.outcome.map(Outcome::as_str).unwrap_or_default();
            let why = if reason.is_empty() { reason } else { format!(": {reason}") };
            format!("asked for `{intent}`, and was answered {outcome}{why}")
        }
        Kind::QuestionLost => "asked somebody whom no question reaches".into(),
        Kind::QuestionAnswered => format!("was answered {}", said(&input, "question")),
        Kind::QuestionFetch => format!("fetched the answer to {}", said(&input, "question")),
        Kind::QuestionWithdraw => format!("had question {} taken back: {reason}", said(&input, "question")),
        Kind::QuestionExpire => format!("had no answer to {} in time", said(&input, "question")),
        Kind::GateReplay => format!("asked again what {} had answered", said(&input, "first")),
        Kind::GateWithdrawn => format!("lost the answer {}, which came too late", said(&input, "receipt")),
        Kind::MandatePut => {
            format!("put version {} of the mandate live, {}", number("version"), said(&output, "change"))
        }
        Kind::PolicyPut => {
            format!("put version {} of the policy live, {}", number("version"), said(&output, "change"))
        }
        Kind::CataloguePut => {
            format!("put `{}` into the catalogue, its version {}", said(&input, "intent"), number("version"))
        }
        Kind::PrincipalCreate => {
            let whom = id::<PrincipalId>(&output, "id").map(|id| names.person(id)).transpose()?;
            format!("registered {}, with a first mandate that allows nothing", whom.unwrap_or_default())
        }
        Kind::PrincipalPassword => "changed their password".into(),
        Kind::AgentCreate => format!("registered the {} {}", said(&input, "agent_kind"), agent(body.agent)?),
        Kind::AgentRetire => format!("retired {} with its credentials", agent(body.agent)?),
        Kind::CredentialCreate => {
            format!(
                "gave {} the credential \"{}\" with {}",
                agent(body.agent)?,
                said(&input, "label"),
                scopes(&input)
            )
        }
        Kind::CredentialDerive => {
            format!("derived the credential \"{}\" with {}", said(&input, "label"), scopes(&input))
        }
        Kind::CredentialRevoke => {
            let revoked = body.credential.map(|id| names.credential(id)).transpose()?;
            format!("revoked the {}", revoked.unwrap_or_default())
        }
        Kind::EnforcementPointCreate => format!("registered an enforcement point, {}", said(&output, "id")),
        Kind::EnforcementPointRevoke => {
            format!("revoked the enforcement point {}", said(&input, "enforcement_point"))
        }
        Kind::DecisionApprove => {
            let more = match number("more") {
                0 => String::new(),
                more => format!(", which takes {more} more"),
            };
            format!("said yes to decision {decision}, shown as {}{more}", said(&input, "shown"))
        }
        Kind::DecisionDecline => format!("said no to decision {decision}"),
        Kind::DecisionExpire => format!("was not answered in time: decision {decision}, {reason}"),
        Kind::DecisionRenew => format!("had decision {decision} put anew: {reason}"),
        Kind::DecisionWithdraw => format!("had decision {decision} taken back: {reason}"),
        Kind::DecisionResolve => {
            format!("said of effect {}: {}", said(&input, "effect"), said(&input, "status"))
        }
        Kind::EffectOutcome => of_effect(&input, &output),
        Kind::AccessMinute => "was listed with a minute of calls".into(),
        Kind::LogGap => "could not record calls for a while".into(),
        Kind::LogRestore => "was restored from a backup".into(),
        Kind::ContentErase => format!("had content erased: {}", said(&input, "reason")),
        Kind::RetentionPut => format!("put version {} of the rules of retention live", number("version")),
        Kind::KeyRotate => {
            format!("put another {} key in the place of {}", said(&input, "purpose"), said(&input, "retired"))
        }
        Kind::Export => "took an export".into(),
        Kind::TenantSetup => "was set up, with a first operator and an empty policy".into(),
    })
}

/// What a receipt says of an effect.
fn of_effect(input: &Value, output: &Value) -> String {
    let effect = said(input, "effect");
    let by = if input.get("enforcement_point").is_some() { " by its enforcement point" } else { "" };
    match said(input, "said") {
        _ if input.get("unknown_since").is_some() => {
            format!("had the question put how effect {effect} ended, for which there was no room before")
        }
        nothing if nothing.is_empty() => {
            format!("reported nothing on effect {effect} in time: {}", said(output, "status"))
        }
        report => format!("had effect {effect} reported{by} as {report}"),
    }
}

/// A member that is text; nothing, where it is not.
fn said(document: &Value, member: &str) -> String {
    document.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What a credential was given for.
fn scopes(input: &Value) -> String {
    let scopes = input.get("scopes").and_then(Value::as_array);
    let scopes: Vec<&str> = scopes.into_iter().flatten().filter_map(Value::as_str).collect();
    scopes.join(", ")
}
