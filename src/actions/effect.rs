//! What became of an effect, as its agent reports it.

use super::Error;
use super::caller::AgentCaller;
use super::recording::Content;
use crate::committer::{Books, Draft, Life};
use crate::domain::{Chain, DecisionId, Duration, EffectId, Malformed};
use crate::engine::step::{self, Word};
use crate::evidence::canonical;
use crate::evidence::receipt::Kind;
use crate::storage::book;
use crate::storage::decision::{self, Decision, DecisionKind, DecisionStatus};
use crate::storage::effect::{self, Effect, EffectStatus};
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long an uncertain effect waits in the queue; it never expires into an ending by itself.
const UNKNOWN_LIFETIME: Duration = Duration::days(3650);

/// A report on an effect.
#[derive(Debug)]
pub struct Report {
    /// What the caller says.
    pub status: EffectStatus,
    /// The provider's reference, what else is known, and what shows it, as sent.
    pub details: Value,
}

/// An effect after a report.
#[derive(Debug)]
pub struct Reported {
    /// As it stands now.
    pub effect: Effect,
    /// The report's receipt; `None` where the same report was made before.
    pub stored: Option<Arc<StoredReceipt>>,
}

/// Takes an agent's report. The same again is answered the same; another is refused.
pub fn report(
    books: &mut Books<'_>,
    caller: &AgentCaller,
    id: EffectId,
    report: &Report,
) -> Result<Reported, Error> {
    if report.status == EffectStatus::Claimed {
        return Err(Malformed::at("/status", "`claimed` is no ending: done, failed or unknown").into());
    }
    let standing = books.standing(caller.presented.credential)?.ok_or(Error::Unknown)?;
    let life = standing.life(books.now());
    if life != Life::Live {
        return Err(Error::Dead(life));
    }
    let (connection, slug) = books.place();
    let found = effect::find(connection, slug, id)?
        .filter(|effect| effect.credential == caller.presented.credential)
        .ok_or(Error::NotFound("effect"))?;
    let said = canonical_text(&json!({"status": report.status.as_str(), "details": report.details}))?;
    if found.reported.as_deref() == Some(&said) {
        return Ok(Reported { effect: found, stored: None });
    }
    let Some(status) = step::report(found.status, report.status, found.attested, Word::Agent) else {
        return Err(Error::Conflict(match &found.reported {
            Some(_) => format!("effect `{id}` is {} and was reported on differently", found.status),
            None => {
                format!("effect `{id}` is {}: nobody reported on it by {}", found.status, found.report_by)
            }
        }));
    };
    let now = books.now();
    let (connection, slug) = books.place();
    if !effect::turn(connection, slug, id, EffectStatus::Claimed, status, Some(&said), now)? {
        return Err(Error::Conflict(format!("effect `{id}` was reported on at this moment")));
    }
    release(books, &found, status)?;
    let mut content = Content::default();
    let input = json!({
        "kind": Kind::EffectOutcome.as_str(),
        "tenant": books.slug(),
        "principal": found.principal,
        "credential": found.credential,
        "effect": id,
        "said": report.status.as_str(),
        "details": content.commit("/input/details", report.details.clone()),
    });
    let stored = record(books, &found, status, input, content.finish())?;
    let (connection, slug) = books.place();
    let effect = effect::find(connection, slug, id)?.ok_or(Error::NotFound("effect"))?;
    Ok(Reported { effect, stored: Some(stored) })
}

/// Says of an effect nobody reported on in time that nobody knows how it ended.
pub(super) fn overdue(books: &mut Books<'_>, found: &Effect) -> Result<(), Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    if !effect::turn(connection, slug, found.id, EffectStatus::Claimed, EffectStatus::Unknown, None, now)? {
        return Ok(());
    }
    let input = json!({
        "kind": Kind::EffectOutcome.as_str(),
        "tenant": books.slug(),
        "principal": found.principal,
        "credential": found.credential,
        "effect": found.id,
        "report_by": found.report_by,
    });
    record(books, found, EffectStatus::Unknown, input, None).map(|_| ())
}

/// Gives back what the allow took from the books, where the ending says that nothing happened.
pub(super) fn release(books: &mut Books<'_>, effect: &Effect, ending: EffectStatus) -> Result<(), Error> {
    if step::releases(ending) {
        let now = books.now();
        let (connection, slug) = books.place();
        book::release(connection, slug, effect.log_index, now)?;
    }
    Ok(())
}

/// Records an effect's turn; an uncertain one becomes a decision that a person resolves.
fn record(
    books: &mut Books<'_>,
    effect: &Effect,
    status: EffectStatus,
    input: Value,
    content: Option<Value>,
) -> Result<Arc<StoredReceipt>, Error> {
    let decision = (status == EffectStatus::Unknown).then(|| books.new_id(DecisionId::new));
    let mut output = json!({"status": status.as_str()});
    if let (Some(decision), Some(members)) = (decision, output.as_object_mut()) {
        members.insert("decision".into(), json!(decision));
    }
    let mut draft = Draft::act(Kind::EffectOutcome, Chain::Credential(effect.credential), input, output)
        .by(effect.principal);
    draft.agent = Some(effect.agent);
    draft.credential = Some(effect.credential);
    draft.intent = Some(effect.intent.clone());
    draft.content = content;
    let stored = books.record(draft)?;
    if let Some(id) = decision {
        let now = books.now();
        let opened = Decision {
            id,
            principal: effect.principal,
            agent: effect.agent,
            credential: effect.credential,
            kind: DecisionKind::Effect,
            status: DecisionStatus::Open,
            intent: effect.intent.clone(),
            log_index: effect.log_index,
            input_hash: stored.body.input_hash,
            request_hash: None,
            effect: Some(effect.id),
            opened_at: now,
            expires_at: now.plus(UNKNOWN_LIFETIME),
            decided_at: None,
            decided_by: None,
            approved_until: None,
            reason: None,
            used_index: None,
            asks: 1,
            approvals: BTreeSet::new(),
        };
        let (connection, slug) = books.place();
        decision::insert(connection, slug, &opened)?;
    }
    Ok(stored)
}

fn canonical_text(value: &Value) -> Result<String, Error> {
    String::from_utf8(canonical::to_vec(value))
        .map_err(|_| Error::Store(crate::storage::StoreError::Failed("a canonical form is not UTF-8".into())))
}
