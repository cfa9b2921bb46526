//! Answers one described action and records the answer.

use super::Error;
use super::answer::{Answer, Links};
use super::caller::Presented;
use super::recording::Content;
use super::replay::{self, Replayed};
use super::request;
use crate::committer::{Books, Draft, Life, Standing};
use crate::domain::{
    CredentialId, DecisionId, Duration, EffectId, Hash, Malformed, Outcome, Scope, Timestamp,
};
use crate::engine::{self, Action, Described, OutcomeFrom, Verdict};
use crate::evidence::receipt::Kind;
use crate::notify::compose::{self, MailSettings};
use crate::storage::decision::{Decision, DecisionKind, DecisionStatus, Turn};
use crate::storage::effect::{Effect, EffectStatus};
use crate::storage::idempotency::Answered;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{decision, effect, idempotency, outbox, principal};
use serde_json::{Value, json};
use std::sync::Arc;

/// How long a decision waits for a person.
pub const DECISION_LIFETIME: Duration = Duration::hours(24);
/// How long an effect may go unreported.
pub const REPORT_WITHIN: Duration = Duration::hours(24);
/// How long idempotency keys are kept.
pub const KEY_LIFETIME: Duration = Duration::hours(48);
/// How many decisions one agent may have open.
pub const OPEN_DECISIONS: u64 = 20;
/// How many decisions one agent may open in an hour.
pub const ESCALATIONS_AN_HOUR: u64 = 60;

/// A call of the gate, parsed.
#[derive(Debug)]
pub struct Call {
    /// Who asks.
    pub presented: Presented,
    /// What is asked.
    pub described: Described,
    /// The `Idempotency-Key`, if one was sent.
    pub key: Option<String>,
    /// How answers link to pages.
    pub links: Links,
    /// Whether and how people are told of decisions.
    pub mail: MailSettings,
}

/// Answers one described action and records the answer.
pub fn evaluate(books: &mut Books<'_>, call: &Call) -> Result<Answer, Error> {
    let standing = admit(books, call)?;
    let request_hash = request::request_hash(books.lookup_key(), &call.described);
    if let Some(replayed) = replay::find(books, call, &standing, request_hash)? {
        return answer_again(books, call, &standing, &replayed);
    }
    engine::check_labels(&standing.policy.document, &call.described)?;
    let action = facts(&standing, call)?;
    let now = books.now();
    let clauses: Vec<_> = standing.clauses.iter().collect();
    let verdict = engine::decide(&standing.view(&clauses, call.presented.scopes), &action, now);
    let settled = settle(books, call, &standing, verdict, request_hash)?;
    record(books, call, &standing, &action, &settled, request_hash)
}

/// What must hold before the engine is asked: the credential lives, carries the scope, and is who the call says.
fn admit(books: &mut Books<'_>, call: &Call) -> Result<Arc<Standing>, Error> {
    let standing = books.standing(call.presented.credential)?.ok_or(Error::Unknown)?;
    if standing.agent.id != call.presented.agent {
        return Err(Error::Unknown);
    }
    match standing.life(books.now()) {
        Life::Live => {}
        life @ (Life::Expired { .. } | Life::Revoked { .. } | Life::Retired { .. }) => {
            return Err(Error::Dead(life));
        }
    }
    if !standing.scopes.intersection(call.presented.scopes).contains(Scope::ActionRequest) {
        return Err(Error::InsufficientScope(Scope::ActionRequest));
    }
    if let Some(tenant) = &call.described.tenant
        && tenant != books.slug()
    {
        return Err(Malformed::at("/tenant", format!("`{tenant}` is not the token's tenant")).into());
    }
    if let Some(agent) = &call.described.agent
        && agent.as_str() != standing.agent.name.as_str()
        && agent.as_str() != standing.agent.id.to_string()
    {
        return Err(Malformed::at(
            "/agent",
            format!("`{agent}` is neither name nor id of the token's agent"),
        )
        .into());
    }
    match call.described.min_mandate_version {
        Some(asked) if standing.mandate.version < asked => {
            Err(Error::MandateTooOld { live: standing.mandate.version, asked })
        }
        Some(_) | None => Ok(standing),
    }
}

/// The facts to decide on: derived from the arguments wherever the catalogue knows the intent.
fn facts(standing: &Standing, call: &Call) -> Result<Action, Error> {
    let Some(entry) = standing.catalogue.catalogue.get(&call.described.intent) else {
        return Ok(Action::described(&call.described));
    };
    let action = engine::derive(entry, &call.described)?;
    if entry.irreversible && call.key.is_none() {
        return Err(Malformed::whole(format!(
            "`{}` cannot be taken back: send an Idempotency-Key header",
            call.described.intent
        ))
        .into());
    }
    Ok(action)
}

/// A verdict with what approvals and budgets make of it.
struct Settled {
    outcome: Outcome,
    clauses: Vec<String>,
    reason: String,
    decision: DecisionUse,
}

/// What a call has to do with the queue.
enum DecisionUse {
    /// Nothing.
    None,
    /// It opens a decision.
    Open,
    /// It asks again about one that is still open.
    Pending(Box<Decision>),
    /// It uses the person's yes.
    Approved(DecisionId),
}

fn settle(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    verdict: Verdict,
    request_hash: Hash,
) -> Result<Settled, Error> {
    let settled = |verdict: &Verdict, decision| Settled {
        outcome: verdict.outcome,
        clauses: verdict.clauses(),
        reason: verdict.reason(),
        decision,
    };
    let refused = |clause: &str, reason: String| Settled {
        outcome: Outcome::Refuse,
        clauses: vec![clause.to_owned()],
        reason,
        decision: DecisionUse::None,
    };
    if verdict.outcome == Outcome::Refuse {
        return Ok(settled(&verdict, DecisionUse::None));
    }
    if let Some(id) = call.described.decision {
        return match approval(books, call.presented.credential, id, request_hash)? {
            Approval::Good => {
                let verdict = engine::permit_with_approval(verdict);
                Ok(settled(&verdict, DecisionUse::Approved(id)))
            }
            Approval::Pending(decision) => match verdict.outcome {
                Outcome::Escalate => Ok(settled(&verdict, DecisionUse::Pending(decision))),
                Outcome::Allow | Outcome::Refuse => Ok(settled(&verdict, DecisionUse::None)),
            },
            Approval::Bad { clause, reason } => Ok(refused(clause, reason)),
        };
    }
    if verdict.outcome == Outcome::Allow {
        return Ok(settled(&verdict, DecisionUse::None));
    }
    let hour_ago = books.now().minus(Duration::hours(1));
    let (connection, slug) = books.place();
    let (open, recent) = decision::count_of_agent(connection, slug, standing.agent.id, hour_ago)?;
    if open >= OPEN_DECISIONS {
        return Ok(refused(
            "attention-budget",
            format!("{open} decisions of this agent are open, {OPEN_DECISIONS} may be"),
        ));
    }
    if recent >= ESCALATIONS_AN_HOUR {
        let reason =
            format!("{recent} decisions opened by this agent within an hour, {ESCALATIONS_AN_HOUR} may be");
        return Ok(refused("attention-budget", reason));
    }
    Ok(settled(&verdict, DecisionUse::Open))
}

/// What a decision named in a call is worth.
enum Approval {
    Good,
    Pending(Box<Decision>),
    Bad { clause: &'static str, reason: String },
}

fn approval(
    books: &mut Books<'_>,
    credential: CredentialId,
    id: DecisionId,
    request_hash: Hash,
) -> Result<Approval, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    let found = decision::find(connection, slug, id)?.filter(|decision| decision.credential == credential);
    let Some(found) = found else {
        return Err(Malformed::at("/decision", format!("`{id}` is not a decision of this credential")).into());
    };
    if found.request_hash != Some(request_hash) {
        let reason = "the decision is about another request: every member must be as it was asked".to_owned();
        return Ok(Approval::Bad { clause: "approval.mismatch", reason });
    }
    let bad = |clause, reason: &str| Ok(Approval::Bad { clause, reason: reason.to_owned() });
    match found.status {
        DecisionStatus::Open if found.expires_at <= now => bad("approval.expired", "nobody decided in time"),
        DecisionStatus::Open => Ok(Approval::Pending(Box::new(found))),
        DecisionStatus::Approved if found.approved_until.is_some_and(|until| now < until) => {
            Ok(Approval::Good)
        }
        DecisionStatus::Approved | DecisionStatus::Expired => bad("approval.expired", "the approval is over"),
        DecisionStatus::Used => bad("approval.used", "the approval was used; it was good for one call"),
        DecisionStatus::Declined => bad("approval.declined", "the person declined"),
        DecisionStatus::Withdrawn => bad("approval.withdrawn", "the decision was withdrawn"),
        DecisionStatus::Resolved => bad("approval.mismatch", "the decision was about an effect's ending"),
    }
}

/// Writes the answer's receipt and everything that stands or falls with it.
fn record(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    action: &Action,
    settled: &Settled,
    request_hash: Hash,
) -> Result<Answer, Error> {
    let now = books.now();
    let opened = match settled.decision {
        DecisionUse::Open => Some((books.new_id(DecisionId::new), now.plus(DECISION_LIFETIME))),
        DecisionUse::Pending(ref pending) => Some((pending.id, pending.expires_at)),
        DecisionUse::None | DecisionUse::Approved(_) => None,
    };
    let claimed = claim(books, standing, action, settled, call.key.as_deref());
    let mut output = json!({
        "outcome": settled.outcome,
        "reason": settled.reason,
        "clauses": settled.clauses,
        "mandate_version": standing.mandate.version,
        "policy_version": standing.policy.version,
    });
    if let Some((id, expires_at)) = opened {
        put(&mut output, "decision", call.links.decision(id, DecisionStatus::Open, expires_at));
    }
    if let Some(effect) = &claimed {
        let value = json!({"id": effect.id, "idempotency_key": effect.idempotency_key, "report_by": effect.report_by});
        put(&mut output, "effect", value);
    }
    let mut content = Content::default();
    let input = input_document(books, call, standing, action, &mut content);
    let mut draft = draft(standing, Kind::GateEvaluate, input, output);
    draft.outcome = Some(settled.outcome);
    draft.intent = Some(call.described.intent.clone());
    draft.facts_from = Some(action.facts_from);
    draft.content = content.finish();
    let stored = books.record(draft)?;
    match settled.decision {
        DecisionUse::Open => open_decision(books, call, standing, &stored, opened, request_hash)?,
        DecisionUse::Approved(id) => use_approval(books, id, &stored, now)?,
        DecisionUse::None | DecisionUse::Pending(_) => {}
    }
    if let Some(mut effect) = claimed.clone() {
        effect.log_index = stored.log_index;
        let (connection, slug) = books.place();
        effect::insert(connection, slug, &effect)?;
    }
    if let Some(key) = &call.key {
        let answered = Answered {
            request_hash,
            log_index: stored.log_index,
            effect: claimed.as_ref().map(|effect| effect.id),
            answered_at: now,
            // What let an effect happen blocks its repetition for as long as the credential can repeat it.
            expires_at: if claimed.is_some() {
                standing.credential.expires_at
            } else {
                now.plus(KEY_LIFETIME)
            },
        };
        let (connection, slug) = books.place();
        idempotency::put(connection, slug, call.presented.credential, key, &answered)?;
    }
    Ok(Answer { stored, is_replay: false })
}

fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

/// A draft that names the standing's people and versions.
pub(super) fn draft(standing: &Standing, kind: Kind, input: Value, output: Value) -> Draft {
    let credential = &standing.credential;
    let mut draft = Draft::act(kind, crate::domain::Chain::Credential(credential.id), input, output);
    draft.principal = Some(credential.principal);
    draft.agent = Some(credential.agent);
    draft.credential = Some(credential.id);
    draft.mandate_version = Some(standing.mandate.version);
    draft.policy_version = Some(standing.policy.version);
    draft.catalogue_version = Some(standing.catalogue.version);
    draft
}

fn input_document(
    books: &Books<'_>,
    call: &Call,
    standing: &Standing,
    action: &Action,
    content: &mut Content,
) -> Value {
    let mut input = json!({
        "kind": Kind::GateEvaluate.as_str(),
        "tenant": books.slug(),
        "principal": standing.credential.principal,
        "agent": standing.agent.id,
        "agent_kind": standing.agent.kind,
        "credential": standing.credential.id,
        "scopes": standing.scopes.intersection(call.presented.scopes),
        "request": request::document(&call.described, content),
    });
    if let Some(facts) = request::facts(action, content) {
        put(&mut input, "facts", facts);
    }
    if let Some(decision) = call.described.decision {
        put(&mut input, "decision", json!(decision));
    }
    if let Some(version) = call.described.min_mandate_version {
        put(&mut input, "min_mandate_version", json!(version));
    }
    if let Some(key) = &call.key {
        let commitment = content.commit("/input/idempotency_key", json!(key));
        put(&mut input, "idempotency_key", commitment);
    }
    input
}

/// What an allow of a catalogued effect lets happen once.
fn claim(
    books: &Books<'_>,
    standing: &Standing,
    action: &Action,
    settled: &Settled,
    key: Option<&str>,
) -> Option<Effect> {
    let entry = standing.catalogue.catalogue.get(&action.intent).filter(|entry| entry.effect)?;
    if settled.outcome != Outcome::Allow {
        return None;
    }
    let now = books.now();
    let id = books.new_id(EffectId::new);
    Some(Effect {
        id,
        principal: standing.credential.principal,
        agent: standing.agent.id,
        credential: standing.credential.id,
        intent: action.intent.clone(),
        status: EffectStatus::Claimed,
        attested: entry.outcome == OutcomeFrom::Attested,
        log_index: 0,
        idempotency_key: key.map_or_else(|| id.to_string(), str::to_owned),
        claimed_at: now,
        report_by: now.plus(REPORT_WITHIN),
        ended_at: None,
        reported: None,
    })
}

fn open_decision(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    stored: &StoredReceipt,
    opened: Option<(DecisionId, Timestamp)>,
    request_hash: Hash,
) -> Result<(), Error> {
    let Some((id, expires_at)) = opened else { return Ok(()) };
    let now = books.now();
    let opened = Decision {
        id,
        principal: standing.credential.principal,
        agent: standing.agent.id,
        credential: standing.credential.id,
        kind: DecisionKind::Action,
        status: DecisionStatus::Open,
        intent: call.described.intent.clone(),
        log_index: stored.log_index,
        input_hash: stored.body.input_hash,
        request_hash: Some(request_hash),
        effect: None,
        opened_at: now,
        expires_at,
        decided_at: None,
        decided_by: None,
        approved_until: None,
        reason: None,
        used_index: None,
    };
    let (connection, slug) = books.place();
    decision::insert(connection, slug, &opened)?;
    if call.mail.enabled
        && let Some(person) = principal::find(connection, slug, opened.principal)?
    {
        let mail =
            compose::decision_opened(slug, &person, &opened, &call.links.page(id)).map_err(Error::Store)?;
        outbox::insert(connection, &mail, now)?;
    }
    Ok(())
}

fn use_approval(
    books: &mut Books<'_>,
    id: DecisionId,
    stored: &StoredReceipt,
    now: Timestamp,
) -> Result<(), Error> {
    let turn = Turn::Used { log_index: stored.log_index };
    let (connection, slug) = books.place();
    if decision::turn(connection, slug, id, DecisionStatus::Approved, &turn, now)? {
        Ok(())
    } else {
        // It was approved when this batch read it, and nothing else writes.
        Err(Error::Store(crate::storage::StoreError::Failed(
            "an approval changed inside its transaction".into(),
        )))
    }
}

/// Answers a repeated call: a record of its own that points to the first.
fn answer_again(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    replayed: &Replayed,
) -> Result<Answer, Error> {
    let first = replayed.first.clone();
    let mut content = Content::default();
    let key = content.commit("/input/idempotency_key", json!(call.key));
    let input = json!({
        "kind": Kind::GateReplay.as_str(),
        "tenant": books.slug(),
        "principal": standing.credential.principal,
        "agent": standing.agent.id,
        "credential": standing.credential.id,
        "first": first.body.id,
        "idempotency_key": key,
    });
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
