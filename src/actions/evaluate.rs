//! Answers one described action and records the answer.

use super::Error;
use super::answer::Answer;
use super::caller::Presented;
use super::evaluated::{self, Evaluated, decision_state, draft};
use super::judge::{judge, reserve};
use super::question::{self, Posed};
use super::recording::{Beside, Content};
use super::replay;
use super::request::{Derived, Private};
use super::{enforcement_point, lookup, queue, request, withdraw};
use crate::committer::{Books, Life, LiveCatalogue, Standing};
use crate::domain::{DecisionId, Duration, EffectId, EnforcementPointId, Hash, Links, Malformed, Outcome};
use crate::engine::step::{self, Asked, Load, QueueUse, Same};
use crate::engine::{self, Action, Described, OutcomeFrom};
use crate::storage::decision::{Decision, DecisionKind, DecisionStatus};
use crate::storage::effect::{Effect, EffectStatus};
use crate::storage::idempotency::Answered;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{approval, decision, effect, idempotency};
use serde_json::{Map, Value, json};
use std::sync::{Arc, OnceLock};

/// How long a decision waits for a person.
pub const DECISION_LIFETIME: Duration = Duration::hours(24);
/// How long an effect may go unreported.
pub const REPORT_WITHIN: Duration = Duration::hours(24);
/// How long idempotency keys are kept.
pub const KEY_LIFETIME: Duration = Duration::hours(48);

/// A call of the gate, parsed.
#[derive(Debug)]
pub struct Call {
    /// Who asks.
    pub presented: Presented,
    /// The enforcement point that asks for the agent, if one does.
    pub enforcement_point: Option<EnforcementPointId>,
    /// What is asked.
    pub described: Described,
    /// What of it can name or describe a person.
    pub private: Private,
    /// What that comes to by the catalogue that a batch saw last, if one did.
    pub derived: Option<Derived>,
    /// Where the catalogue is left that this batch sees.
    pub catalogue: Arc<OnceLock<Arc<LiveCatalogue>>>,
    /// The `Idempotency-Key`, if one was sent.
    pub key: Option<String>,
    /// How answers link to pages.
    pub links: Links,
    /// The question that is asked or answered with it, if it is one of the service's own.
    pub posed: Option<Posed>,
}

/// Answers one described action and records the answer.
pub fn evaluate(books: &mut Books<'_>, call: &Call) -> Result<Answer, Error> {
    let standing = admit(books, call)?;
    // Whoever comes second finds it there.
    let _ = call.catalogue.set(standing.catalogue.clone());
    let request_hash = request::request_hash(books.lookup_key(), &call.described, &call.private);
    if let Some(replayed) = replay::find(books, call, &standing, request_hash)? {
        return replay::answer(books, call, &standing, &replayed);
    }
    engine::check_labels(&standing.policy.document, &call.described)?;
    let action = facts(&standing, call)?;
    let judged = judge(books, &standing, call.presented.scopes, &action)?;
    let named = named_decision(books, call, request_hash)?;
    let now = books.now();
    let mut queue = Queue { books, call, request_hash, looked: Map::new() };
    let settled = step::settle(
        judged.verdict.clone(),
        named.as_ref().map(|(asked, found)| (asked, found.clone())),
        now,
        &mut queue,
    )?;
    let looked = queue.looked;
    let (settled, reach) = question::reach(books, call, &standing, settled)?;
    let mut course = Vec::new();
    if let Some(reach) = &reach {
        course.push(("reach", json!(reach.as_str())));
    }
    if let Some((asked, _)) = &named {
        course.push(("asked", decision_state(asked)));
    }
    if !looked.is_empty() {
        course.push(("queue", Value::Object(looked)));
    }
    record(
        books,
        &Evaluated {
            call,
            standing: &standing,
            action: &action,
            judged,
            settled,
            course,
            request_hash,
            reach,
        },
    )
}

/// What must hold before the engine is asked: the enforcement point is not revoked, the credential lives, carries the
/// scope, and is who the call says.
fn admit(books: &mut Books<'_>, call: &Call) -> Result<Arc<Standing>, Error> {
    if let Some(point) = call.enforcement_point {
        enforcement_point::require_live(books, point)?;
    }
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
    let needed = call.described.intent.scope();
    if !standing.scopes.intersection(call.presented.scopes).contains(needed) {
        return Err(Error::InsufficientScope(needed));
    }
    if call.described.intent.is_reserved() != call.posed.is_some() {
        let detail =
            format!("`{}` is the service's own: questions go to /v1/questions", call.described.intent);
        return Err(Malformed::at("/intent", detail).into());
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
    let entry = standing.catalogue.catalogue.entries.get(&call.described.intent);
    let mut action =
        request::live_action(entry, &call.described, call.enforcement_point, call.derived.as_ref())?;
    action.untrusted |= standing.tainted_by.is_some();
    if entry.is_some_and(|entry| entry.irreversible) && call.key.is_none() {
        return Err(Malformed::whole(format!(
            "`{}` cannot be taken back: send an Idempotency-Key header",
            call.described.intent
        ))
        .into());
    }
    Ok(action)
}

/// The decision that the call names, as it stands.
fn named_decision(
    books: &mut Books<'_>,
    call: &Call,
    request_hash: Hash,
) -> Result<Option<(Asked, Decision)>, Error> {
    let Some(id) = call.described.decision else { return Ok(None) };
    let (connection, slug) = books.place();
    let found =
        decision::find(connection, slug, id)?.filter(|found| found.credential == call.presented.credential);
    let Some(found) = found else {
        return Err(Malformed::at("/decision", format!("`{id}` is not a decision of this credential")).into());
    };
    let asked = asked(books, &found, Some(request_hash))?;
    Ok(Some((asked, found)))
}

/// A decision as the steps take it; `request_hash` is that of the call that names it.
pub(super) fn asked(
    books: &mut Books<'_>,
    found: &Decision,
    request_hash: Option<Hash>,
) -> Result<Asked, Error> {
    let (connection, slug) = books.place();
    let given = approval::of_decision(connection, slug, found.id)?;
    let same_request = request_hash.is_none() || found.request_hash == request_hash;
    Ok(Asked { same_request, ..found.asked(given) })
}

/// The agent's queue, and what was seen of it: members of the input document.
struct Queue<'a, 'b> {
    books: &'a mut Books<'b>,
    call: &'a Call,
    request_hash: Hash,
    looked: Map<String, Value>,
}

impl step::Queue<Decision> for Queue<'_, '_> {
    type Error = Error;

    fn same(&mut self) -> Result<Option<Same<Decision>>, Error> {
        let now = self.books.now();
        let presented = &self.call.presented;
        let (agent, credential) = (presented.agent, presented.credential);
        if self.books.is_quiet(agent)? {
            return Ok(None);
        }
        let (connection, slug) = self.books.place();
        let found = decision::waiting_for_same(connection, slug, agent, credential, self.request_hash)?;
        let Some(found) = found.into_iter().next().filter(|found| found.asked(Vec::new()).is_waiting(now))
        else {
            return Ok(None);
        };
        let same = Same {
            is_approved: found.status == DecisionStatus::Approved,
            shown: found.why.grounds.clone(),
            known_by: found,
        };
        let noted = json!({
            "decision": same.known_by.id,
            "approved": same.is_approved,
            "shown": same.shown.to_json(),
        });
        self.looked.insert("same".into(), noted);
        Ok(Some(same))
    }

    fn load(&mut self) -> Result<Load, Error> {
        let load = queue::load(self.books, self.call.presented.agent)?;
        self.looked.insert("open".into(), json!(load.open));
        self.looked.insert("recent".into(), json!(load.recent));
        Ok(load)
    }
}

/// Writes the answer's receipt and everything that stands or falls with it.
fn record(books: &mut Books<'_>, evaluated: &Evaluated<'_>) -> Result<Answer, Error> {
    let Evaluated { call, standing, action, settled, request_hash, .. } = evaluated;
    let now = books.now();
    let decision = match &settled.queue {
        QueueUse::Open => {
            Some((books.new_id(DecisionId::new), DecisionStatus::Open, now.plus(DECISION_LIFETIME)))
        }
        QueueUse::Again(same) | QueueUse::Anew(same) | QueueUse::Stands(same) => {
            Some((same.id, same.status, same.approved_until.unwrap_or(same.expires_at)))
        }
        QueueUse::None | QueueUse::Uses | QueueUse::Closes(_) | QueueUse::Flood => None,
    };
    let claimed = claim(books, call, standing, action, settled.outcome);
    let waiting = decision.map(|(id, status, at)| call.links.decision(id, status, at));
    let output = evaluated::output(evaluated, waiting.as_ref(), claimed.as_ref());
    let mut content = Content::default();
    let input = evaluated::input(books, evaluated, &mut content);
    let mut draft = draft(standing, evaluated::kind(call), input, output);
    draft.outcome = Some(settled.outcome);
    draft.intent = Some(call.described.intent.clone());
    draft.facts_from = Some(action.facts_from);
    let effect_key = claimed.as_ref().map(|effect| effect.idempotency_key.as_str());
    let found_by = lookup::of_call(books.lookup_key(), &call.described, *request_hash, effect_key);
    let stored = Beside { content: content.finish(), found_by }.record(books, draft)?;
    take_its_course(books, evaluated, &stored, decision.map(|(id, ..)| id))?;
    question::follow(books, evaluated, &stored)?;
    if let Some(mut effect) = claimed.clone() {
        effect.log_index = stored.log_index;
        let (connection, slug) = books.place();
        effect::insert(connection, slug, &effect)?;
    }
    if let Some(key) = &call.key {
        let answered = Answered {
            request_hash: *request_hash,
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

/// What the answer does beside being given: to the queue, and to the books.
fn take_its_course(
    books: &mut Books<'_>,
    evaluated: &Evaluated<'_>,
    stored: &StoredReceipt,
    decision: Option<DecisionId>,
) -> Result<(), Error> {
    let Evaluated { call, standing, settled, request_hash, .. } = evaluated;
    match (&settled.queue, decision) {
        (QueueUse::Open, Some(id)) => {
            let asks = (Some(*request_hash), Some(&settled.verdict));
            queue::open(books, call, standing, stored, (id, DecisionKind::Action), asks)?;
        }
        (QueueUse::Flood, _) => queue::say_flood(books, call, standing, stored)?,
        (QueueUse::Again(same), _) => queue::ask_again(books, call, same, settled.verdict.approvals())?,
        (QueueUse::Anew(same), _) => queue::ask_anew(books, call, same, &settled.verdict, stored)?,
        (QueueUse::Stands(same), _) => queue::count_ask(books, call, same)?,
        (QueueUse::Closes(_), _) => {
            let presented = &call.presented;
            let (agent, credential) = (presented.agent, presented.credential);
            let (connection, slug) = books.place();
            for same in decision::waiting_for_same(connection, slug, agent, credential, *request_hash)? {
                withdraw::withdraw(books, &same, "the same was allowed meanwhile, without it")?;
            }
        }
        (QueueUse::Uses, _) => {
            if let Some(id) = call.described.decision {
                queue::use_approval(books, id, stored)?;
            }
        }
        (QueueUse::None | QueueUse::Open, _) => {}
    }
    if settled.outcome == Outcome::Allow {
        let taken = &settled.verdict.reservations;
        reserve(books, standing.credential.principal, taken, stored.log_index)?;
    }
    Ok(())
}

/// What an allow of a catalogued effect lets happen once.
fn claim(
    books: &Books<'_>,
    call: &Call,
    standing: &Standing,
    action: &Action,
    outcome: Outcome,
) -> Option<Effect> {
    let entry = standing.catalogue.catalogue.get(&action.intent).filter(|entry| entry.effect)?;
    if outcome != Outcome::Allow {
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
        // What a point was let do for the agent, the agent cannot say did not happen.
        attested: entry.outcome == OutcomeFrom::Attested || call.enforcement_point.is_some(),
        log_index: 0,
        idempotency_key: call.key.clone().unwrap_or_else(|| id.to_string()),
        claimed_at: now,
        report_by: now.plus(REPORT_WITHIN),
        ended_at: None,
        reported: None,
        enforcement_point: None,
    })
}
