//! What repeats, beside a receipt, what its content says: rows that are forgotten with it, and rows that need it.

use crate::actions::{Error, lookup};
use crate::committer::Books;
use crate::domain::{DecisionId, Duration, EffectId, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::decision::{self, DecisionStatus};
use crate::storage::effect::{self, EffectStatus};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{StoreError, content, idempotency};
use serde_json::Value;
use std::str::FromStr;

/// A receipt's documents, read.
pub(super) struct Documents {
    pub(super) input: Value,
    pub(super) output: Value,
    content: Value,
}

impl Documents {
    pub(super) fn of(stored: &StoredReceipt) -> Result<Self, Error> {
        let read = |place, text: &str| {
            serde_json::from_str(text)
                .map_err(|error| Error::Store(StoreError::Corrupt { place, detail: error.to_string() }))
        };
        Ok(Self {
            input: read("receipts.input", &stored.input)?,
            output: read("receipts.output", &stored.output)?,
            content: stored
                .content
                .as_deref()
                .map_or(Ok(Value::Null), |text| read("receipts.content", text))?,
        })
    }

    /// The decisions a call was put to, or named.
    pub(super) fn decisions(&self) -> impl Iterator<Item = DecisionId> {
        let opened = self.output.get("decision").map(|decision| decision.get("id").unwrap_or(decision));
        [opened, self.input.get("decision")].into_iter().flatten().filter_map(named)
    }

    /// The effect that an answer let happen, or that a report is on.
    pub(super) fn effect(&self) -> Option<EffectId> {
        let claimed = self.output.get("effect").and_then(|effect| effect.get("id"));
        claimed.or_else(|| self.input.get("effect")).and_then(named)
    }

    /// The idempotency key that came with a call.
    fn key(&self) -> Option<&str> {
        self.content.get("/input/idempotency_key")?.get("value")?.as_str()
    }
}

/// An id that a member names.
pub(super) fn named<T: FromStr>(member: &Value) -> Option<T> {
    member.as_str()?.parse().ok()
}

/// Whether a rule has to wait: the content may still decide something, or still be asked for.
pub(super) fn is_needed(books: &mut Books<'_>, stored: &StoredReceipt) -> Result<bool, Error> {
    let now = books.now();
    let documents = Documents::of(stored)?;
    for id in documents.decisions() {
        let (connection, slug) = books.place();
        let found = decision::find(connection, slug, id)?;
        if found.is_some_and(|found| matches!(found.status, DecisionStatus::Open | DecisionStatus::Approved))
        {
            return Ok(true);
        }
    }
    if let Some(id) = documents.effect() {
        let (connection, slug) = books.place();
        let found = effect::find(connection, slug, id)?;
        if found.is_some_and(|found| matches!(found.status, EffectStatus::Claimed | EffectStatus::Unknown)) {
            return Ok(true);
        }
    }
    let (Some(key), Some(credential)) = (documents.key(), stored.body.credential) else { return Ok(false) };
    let (connection, slug) = books.place();
    let answered = idempotency::find(connection, slug, credential, key)?;
    Ok(answered.is_some_and(|answered| answered.log_index == stored.log_index && now < answered.expires_at))
}

/// Forgets what rows repeat of a receipt's content.
pub(super) fn forget(books: &mut Books<'_>, stored: &StoredReceipt) -> Result<(), Error> {
    lookup::forget_content(books, stored)?;
    let documents = Documents::of(stored)?;
    match stored.body.kind {
        Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer => {
            forget_call(books, stored, &documents)
        }
        Kind::EffectOutcome | Kind::DecisionResolve => match documents.effect() {
            Some(id) => forget_report(books, id),
            None => Ok(()),
        },
        Kind::DecisionDecline => {
            for id in documents.decisions() {
                let (connection, slug) = books.place();
                content::forget_decision(connection, slug, id, true)?;
            }
            Ok(())
        }
        Kind::AccessMinute => forget_minute(books, stored, &documents),
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
        | Kind::DecisionExpire
        | Kind::DecisionRenew
        | Kind::QuestionLost
        | Kind::QuestionAnswered
        | Kind::QuestionFetch
        | Kind::QuestionWithdraw
        | Kind::QuestionExpire
        | Kind::QuestionReceive
        | Kind::DecisionWithdraw
        | Kind::LogGap
        | Kind::LogRestore
        | Kind::Export
        | Kind::ContentErase
        | Kind::RetentionPut
        | Kind::KeyRotate
        | Kind::TenantSetup => Ok(()),
    }
}

/// Decisions and keys hold a keyed hash of the request: with the key, a short request could be guessed from it.
fn forget_call(books: &mut Books<'_>, stored: &StoredReceipt, documents: &Documents) -> Result<(), Error> {
    let (connection, slug) = books.place();
    for id in documents.decisions() {
        content::forget_decision(connection, slug, id, false)?;
    }
    if let (Some(key), Some(credential)) = (documents.key(), stored.body.credential) {
        content::forget_key(connection, slug, credential, key, stored.log_index)?;
    }
    Ok(())
}

/// What was reported stays as far as it decides: how it ended, and whether a program or a person said so.
fn forget_report(books: &mut Books<'_>, id: EffectId) -> Result<(), Error> {
    let (connection, slug) = books.place();
    let Some(found) = effect::find(connection, slug, id)? else { return Ok(()) };
    let Some(reported) = found.reported else { return Ok(()) };
    let mut reported: Value = serde_json::from_str(&reported).map_err(|error| {
        Error::Store(StoreError::Corrupt { place: "effects.reported", detail: error.to_string() })
    })?;
    for said in ["details", "reference"] {
        if let Some(said) = reported.get_mut(said) {
            *said = Value::Null;
        }
    }
    content::set_reported(connection, slug, id, &reported.to_string())?;
    Ok(())
}

fn forget_minute(books: &mut Books<'_>, stored: &StoredReceipt, documents: &Documents) -> Result<(), Error> {
    let Some(from) = documents.input.get("minute").and_then(named::<Timestamp>) else { return Ok(()) };
    let (connection, slug) = books.place();
    content::forget_access_details(
        connection,
        slug,
        &stored.body.chain,
        from,
        from.plus(Duration::minutes(1)),
    )?;
    Ok(())
}
