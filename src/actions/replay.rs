//! A key that was used before: the same answer again, or why not.

use super::Error;
use super::evaluate::Call;
use crate::committer::{Books, Standing};
use crate::domain::{Duration, EffectId, Hash, Outcome};
use crate::storage::effect::{self, EffectStatus};
use crate::storage::idempotency::{self, Answered};
use crate::storage::receipt::StoredReceipt;
use std::sync::Arc;

/// How long an answer may be repeated without asking again.
const REPEATABLE: Duration = Duration::seconds(60);

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
    if answered.request_hash != request_hash {
        return Err(Error::KeyReused { first_used: answered.answered_at });
    }
    let first = books.receipt(answered.log_index)?.ok_or_else(|| {
        Error::Store(crate::storage::StoreError::Corrupt {
            place: "idempotency_keys.log_index",
            detail: format!("no receipt at {}", answered.log_index),
        })
    })?;
    if first.body.outcome == Some(Outcome::Escalate) && call.described.decision.is_some() {
        // The person may have decided: the same key is asked again, with the decision.
        return Ok(None);
    }
    let refusal = refusal(books, standing, &answered, &first)?;
    Ok(Some(Replayed { first, refusal }))
}

fn refusal(
    books: &mut Books<'_>,
    standing: &Standing,
    answered: &Answered,
    first: &StoredReceipt,
) -> Result<Option<Refusal>, Error> {
    let now = books.now();
    let unchanged = first.body.mandate_version == Some(standing.mandate.version)
        && first.body.policy_version == Some(standing.policy.version)
        && first.body.catalogue_version == Some(standing.catalogue.version);
    if unchanged && now < answered.answered_at.plus(REPEATABLE) {
        return Ok(None);
    }
    let Some(id) = answered.effect else {
        let reason =
            "this key was answered before and that answer no longer stands: ask again under a new key".into();
        return Ok(Some(Refusal { clause: "replay.stale", reason, effect: None }));
    };
    let (connection, slug) = books.place();
    let status = effect::find(connection, slug, id)?.map(|effect| effect.status);
    match status {
        Some(EffectStatus::Done | EffectStatus::Failed) => Ok(None),
        Some(EffectStatus::Claimed | EffectStatus::Unknown) | None => {
            let reason =
                format!("this key let effect {id} happen and nobody said how it ended: report on it first");
            Ok(Some(Refusal { clause: "effect.unsettled", reason, effect: Some(id) }))
        }
    }
}
