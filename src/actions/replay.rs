//! A key that was used before: the same answer again, or why not.

use super::Error;
use super::answer::Answer;
use super::evaluate::Call;
use super::evaluated::draft;
use super::recording::{Content, put};
use crate::committer::{Books, Standing};
use crate::domain::{EffectId, Hash, Outcome};
use crate::engine::step::{self, First, Repeat, Versions};
use crate::evidence::receipt::Kind;
use crate::storage::effect::{self, EffectStatus};
use crate::storage::idempotency;
use crate::storage::receipt::StoredReceipt;
use serde_json::json;
use std::sync::Arc;

/// What a repeated call gets.
pub(super) struct Replayed {
    /// The receipt of the first call.
    pub(super) first: Arc<StoredReceipt>,
    /// Why the first answer is not given again, if it is not.
    pub(super) refusal: Option<Refusal>,
}

/// A replay repeats the record, never the permission.
pub(super) struct Refusal {
    pub(super) clause: &'static str,
    pub(super) reason: String,
    pub(super) effect: Option<EffectId>,
}

/// Looks a call's key up; `None` where it is to be evaluated.
pub(super) fn find(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    request_hash: Hash,
) -> Result<Option<Replayed>, Error> {
    let Some(key) = &call.key else { return Ok(None) };
    let now = books.now();
    let (connection, slug) = books.place();
    let answered = idempotency::find(connection, slug, call.presented.credential, key)?;
    let Some(answered) = answered.filter(|answered| now < answered.expires_at) else { return Ok(None) };
    let first = books.receipt(answered.log_index)?.ok_or_else(|| {
        Error::Store(crate::storage::StoreError::Corrupt {
            place: "idempotency_keys.log_index",
            detail: format!("no receipt at {}", answered.log_index),
        })
    })?;
    let effect = match answered.effect {
        Some(id) => {
            let (connection, slug) = books.place();
            // An effect that is not there is one nobody knows the end of.
            Some(effect::find(connection, slug, id)?.map_or(EffectStatus::Unknown, |effect| effect.status))
        }
        None => None,
    };
    let live = Versions {
        mandate: standing.mandate.version,
        policy: standing.policy.version,
        catalogue: standing.catalogue.version,
    };
    let known = First {
        same_request: answered.request_hash == request_hash,
        outcome: first.body.outcome.unwrap_or(Outcome::Refuse),
        versions: Versions {
            mandate: first.body.mandate_version.unwrap_or_default(),
            policy: first.body.policy_version.unwrap_or_default(),
            catalogue: first.body.catalogue_version.unwrap_or_default(),
        },
        answered_at: answered.answered_at,
        effect,
    };
    let refusal = match step::repeat(Some(&known), live, call.described.decision.is_some(), now) {
        Repeat::Evaluate => return Ok(None),
        Repeat::KeyReused => return Err(Error::KeyReused { first_used: answered.answered_at }),
        Repeat::Same => None,
        Repeat::Stale => Some(Refusal {
            clause: "replay.stale",
            reason:
                "this key was answered before and that answer no longer stands: ask again under a new key"
                    .into(),
            effect: None,
        }),
        Repeat::Unsettled => {
            let named = answered.effect.map(|id| format!(" {id}")).unwrap_or_default();
            let reason =
                format!("this key let effect{named} happen and nobody said how it ended: report on it first");
            Some(Refusal { clause: "effect.unsettled", reason, effect: answered.effect })
        }
    };
    Ok(Some(Replayed { first, refusal }))
}

/// Answers a repeated call: a record of its own that points to the first.
pub(super) fn answer(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    replayed: &Replayed,
) -> Result<Answer, Error> {
    let first = replayed.first.clone();
    let mut content = Content::default();
    let key = content.commit("/input/idempotency_key", json!(call.key));
    let mut input = json!({
        "kind": Kind::GateReplay.as_str(),
        "tenant": books.slug(),
        "principal": standing.credential.principal,
        "agent": standing.agent.id,
        "credential": standing.credential.id,
        "first": first.body.id,
        "idempotency_key": key,
    });
    if let Some(point) = call.enforcement_point {
        put(&mut input, "enforcement_point", json!(point));
    }
    let (outcome, output) = match &replayed.refusal {
        None => (first.body.outcome, json!({"outcome": first.body.outcome, "replayed": first.body.id})),
        Some(refusal) => {
            let mut output = json!({
                "outcome": Outcome::Refuse,
                "reason": refusal.reason,
                "clauses": [refusal.clause],
                "mandate_version": standing.mandate.version,
                "policy_version": standing.policy.version,
            });
            if let Some(effect) = refusal.effect {
                put(&mut output, "effect", json!({"id": effect}));
            }
            (Some(Outcome::Refuse), output)
        }
    };
    let mut draft = draft(standing, Kind::GateReplay, input, output);
    draft.outcome = outcome;
    draft.intent = Some(call.described.intent.clone());
    draft.content = content.finish();
    let stored = books.record(draft)?;
    Ok(match &replayed.refusal {
        None => Answer { stored: first, is_replay: true },
        Some(_) => Answer { stored, is_replay: false },
    })
}
