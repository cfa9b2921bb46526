//! What became of an effect, as its agent or an enforcement point reports it.

use super::caller::{AgentCaller, PointCaller};
use super::recording::{Beside, Content, put};
use super::{Error, enforcement_point, evaluate, lookup, queue, tell, withdraw};
use crate::committer::{Books, Draft, Life};
use crate::domain::{Chain, DecisionId, Duration, EffectId, EnforcementPointId, Malformed};
use crate::engine::Why;
use crate::engine::step::{self, Said, Word};
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
pub const UNKNOWN_LIFETIME: Duration = Duration::days(3650);
/// When it is looked at again whether there is room to ask how an effect ended.
const ASK_AGAIN_WITHIN: Duration = Duration::minutes(1);

/// Who reports on an effect.
#[derive(Debug)]
pub enum Reporter {
    /// An agent, on its own credential's effects.
    Agent(Box<AgentCaller>),
    /// An enforcement point, on any effect of its tenant.
    Point(Box<PointCaller>),
}

impl Reporter {
    fn point(&self) -> Option<EnforcementPointId> {
        match self {
            Self::Agent(_) => None,
            Self::Point(point) => Some(point.id),
        }
    }

    /// The effect, if the reporter may still report at all and on this one.
    fn effect(&self, books: &mut Books<'_>, id: EffectId) -> Result<Effect, Error> {
        let credential = match self {
            Self::Agent(caller) => {
                let standing = books.standing(caller.presented.credential)?.ok_or(Error::Unknown)?;
                let life = standing.life(books.now());
                if life != Life::Live {
                    return Err(Error::Dead(life));
                }
                Some(caller.presented.credential)
            }
            Self::Point(point) => {
                enforcement_point::require_live(books, point.id)?;
                None
            }
        };
        let (connection, slug) = books.place();
        effect::find(connection, slug, id)?
            .filter(|effect| credential.is_none_or(|credential| effect.credential == credential))
            .ok_or(Error::NotFound("effect"))
    }
}

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

/// Takes a report. The same again is answered the same; another is refused, unless nobody knew how the effect ended
/// and an enforcement point does, or the agent or another point said how and an enforcement point says otherwise: a person
/// resolves that.
pub fn report(
    books: &mut Books<'_>,
    reporter: &Reporter,
    id: EffectId,
    report: &Report,
) -> Result<Reported, Error> {
    if report.status == EffectStatus::Claimed {
        return Err(Malformed::at("/status", "`claimed` is no ending: done, failed or unknown").into());
    }
    let found = reporter.effect(books, id)?;
    let point = reporter.point();
    let word = point.map_or(Word::Agent, Word::EnforcementPoint);
    let said = canonical_text(&json!({"status": report.status.as_str(), "details": report.details}))?;
    let last = last_said(&found)?;
    let is_again = last.is_some_and(|last| Said { word, status: report.status }.is_again(found.status, last));
    if is_again && found.reported.as_deref() == Some(&said) {
        return Ok(Reported { effect: found, stored: None });
    }
    let Some(status) = step::report(found.status, report.status, found.attested, word, last) else {
        return Err(Error::Conflict(match &found.reported {
            Some(_) => format!("effect `{id}` is {} and was reported on differently", found.status),
            None => {
                format!("effect `{id}` is {}: nobody reported on it by {}", found.status, found.report_by)
            }
        }));
    };
    let now = books.now();
    let (connection, slug) = books.place();
    if !effect::turn(connection, slug, id, found.status, status, Some(&said), now)? {
        return Err(Error::Conflict(format!("effect `{id}` was reported on at this moment")));
    }
    if let Some(point) = point {
        effect::set_reporter(connection, slug, id, point)?;
    }
    settle(books, &found, status)?;
    let mut content = Content::default();
    let mut input = json!({
        "kind": Kind::EffectOutcome.as_str(),
        "tenant": books.slug(),
        "principal": found.principal,
        "credential": found.credential,
        "effect": id,
        "said": report.status.as_str(),
        "details": content.commit("/input/details", report.details.clone()),
    });
    if let Some(point) = point {
        put(&mut input, "enforcement_point", json!(point));
    }
    if found.status.has_ended() {
        put(&mut input, "contradicts", json!(found.status.as_str()));
    }
    let found_by = lookup::of_report(books.lookup_key(), report.details.get("reference"));
    let stored =
        record(books, &found, (status, word), input, Beside { content: content.finish(), found_by })?;
    if found.status == EffectStatus::Unknown {
        nothing_to_resolve(books, &found)?;
    }
    let (connection, slug) = books.place();
    let effect = effect::find(connection, slug, id)?.ok_or(Error::NotFound("effect"))?;
    Ok(Reported { effect, stored: Some(stored) })
}

/// What was said of an effect last, and by whom, as far as its report tells.
fn last_said(effect: &Effect) -> Result<Option<Said>, Error> {
    let Some(reported) = &effect.reported else { return Ok(None) };
    let (status, by_person): (EffectStatus, bool) =
        crate::storage::read_document("effects.reported", reported, |told| {
            let status = told.get("status").and_then(Value::as_str).unwrap_or_default();
            // What a person resolves comes without details.
            Ok((
                status.parse().map_err(|error: String| Malformed::whole(error))?,
                told.get("details").is_none(),
            ))
        })?;
    let word = match effect.enforcement_point {
        _ if by_person => Word::Person,
        Some(point) => Word::EnforcementPoint(point),
        None => Word::Agent,
    };
    Ok(Some(Said { word, status }))
}

/// Takes back the question of how an effect ended: it is answered.
fn nothing_to_resolve(books: &mut Books<'_>, effect: &Effect) -> Result<(), Error> {
    let (connection, slug) = books.place();
    let mut asked = decision::undecided(connection, slug, Some(effect.principal))?;
    asked.retain(|decision| decision.effect == Some(effect.id));
    for decision in &asked {
        withdraw::withdraw(books, decision, "the enforcement point reported it")?;
    }
    Ok(())
}

/// Says of an effect nobody reported on in time that nobody knows how it ended.
pub(super) fn overdue(books: &mut Books<'_>, found: &Effect) -> Result<(), Error> {
    let now = books.now();
    let Some(status) = step::report(found.status, EffectStatus::Unknown, found.attested, Word::Nobody, None)
    else {
        return Ok(());
    };
    let (connection, slug) = books.place();
    if !effect::turn(connection, slug, found.id, found.status, status, None, now)? {
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
    record(books, found, (status, Word::Nobody), input, Beside::default()).map(|_| ())
}

/// Asks how an effect ended whose question was put off, if there is room by now; `false` if there is none, or it is not
/// due.
pub(super) fn ask_late(books: &mut Books<'_>, found: &Effect) -> Result<bool, Error> {
    let now = books.now();
    if step::puts_off(Word::Nobody, queue::load(books, found.agent)?).is_some() {
        let (connection, slug) = books.place();
        effect::put_off(connection, slug, found.agent, (now, now.plus(ASK_AGAIN_WITHIN)))?;
        return Ok(false);
    }
    let (connection, slug) = books.place();
    if !effect::take_due(connection, slug, found.id, now)? {
        return Ok(false);
    }
    let input = json!({
        "kind": Kind::EffectOutcome.as_str(),
        "tenant": books.slug(),
        "principal": found.principal,
        "credential": found.credential,
        "effect": found.id,
        "unknown_since": found.ended_at,
    });
    record(books, found, (EffectStatus::Unknown, Word::Nobody), input, Beside::default()).map(|_| true)
}

/// Gives back what the allow took from the books, where the ending says that nothing happened, and takes it again
/// where it may have happened after all.
fn settle(books: &mut Books<'_>, effect: &Effect, status: EffectStatus) -> Result<(), Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    if step::takes_again(effect.status, status) {
        book::take_again(connection, slug, effect.log_index)?;
    } else if step::releases(status) {
        book::release(connection, slug, effect.log_index, now)?;
    }
    Ok(())
}

/// Records an effect's turn; an uncertain one becomes a decision that a person resolves, at once or when the agent's
/// budget has room for it.
fn record(
    books: &mut Books<'_>,
    effect: &Effect,
    (status, word): (EffectStatus, Word),
    input: Value,
    beside: Beside,
) -> Result<Arc<StoredReceipt>, Error> {
    let mut output = json!({"status": status.as_str()});
    let question = if status == EffectStatus::Unknown {
        if let Some(why) = step::puts_off(word, queue::load(books, effect.agent)?) {
            put(&mut output, "not_asked_yet", json!(why));
            Some(Question::PutOff)
        } else {
            let decision = books.new_id(DecisionId::new);
            put(&mut output, "decision", json!(decision));
            Some(Question::Asked(decision))
        }
    } else {
        None
    };
    let mut draft = Draft::act(Kind::EffectOutcome, Chain::Credential(effect.credential), input, output)
        .by(effect.principal);
    draft.agent = Some(effect.agent);
    draft.credential = Some(effect.credential);
    draft.intent = Some(effect.intent.clone());
    let stored = beside.record(books, draft)?;
    match question {
        Some(Question::Asked(id)) => open(books, effect, &stored, (id, DecisionKind::Effect))?,
        Some(Question::PutOff) => {
            let again_at = books.now().plus(ASK_AGAIN_WITHIN);
            let (connection, slug) = books.place();
            effect::ask_at(connection, slug, effect.id, again_at)?;
            if !queue::is_said_already(books, effect.agent)? {
                let id = books.new_id(DecisionId::new);
                open(books, effect, &stored, (id, DecisionKind::Attention))?;
            }
        }
        None => {}
    }
    Ok(stored)
}

/// What becomes of the question of how an effect ended.
enum Question {
    /// It joins the queue as this decision.
    Asked(DecisionId),
    /// It waits until there is room; one item says that the agent asks too much.
    PutOff,
}

/// Opens an item about an effect in its principal's queue.
fn open(
    books: &mut Books<'_>,
    effect: &Effect,
    stored: &StoredReceipt,
    (id, kind): (DecisionId, DecisionKind),
) -> Result<(), Error> {
    let now = books.now();
    let (effect_id, lifetime) = match kind {
        DecisionKind::Effect => (Some(effect.id), UNKNOWN_LIFETIME),
        DecisionKind::Action | DecisionKind::Attention => (None, evaluate::DECISION_LIFETIME),
    };
    let opened = Decision {
        id,
        principal: effect.principal,
        agent: effect.agent,
        credential: effect.credential,
        kind,
        status: DecisionStatus::Open,
        intent: effect.intent.clone(),
        log_index: effect.log_index,
        input_hash: stored.body.input_hash,
        request_hash: None,
        effect: effect_id,
        opened_at: now,
        expires_at: now.plus(lifetime),
        decided_at: None,
        decided_by: None,
        approved_until: None,
        reason: None,
        used_index: None,
        asks: 1,
        approvals: BTreeSet::new(),
        why: Why::default(),
    };
    books.open_decision(&opened)?;
    match kind {
        DecisionKind::Effect => tell::unknown(books, effect, &opened),
        DecisionKind::Action | DecisionKind::Attention => tell::opened(books, &opened),
    }
}

fn canonical_text(value: &Value) -> Result<String, Error> {
    String::from_utf8(canonical::to_vec(value))
        .map_err(|_| Error::Store(crate::storage::StoreError::Failed("a canonical form is not UTF-8".into())))
}
