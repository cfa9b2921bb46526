//! What a person says to an item of their queue: yes once, no, or how an uncertain effect ended.

use super::Error;
use super::caller::Person;
use super::evaluate::asked;
use super::recording::{Beside, Content, put};
use super::request::{counterparties, described_again};
use super::withdraw::{self, Reconsidered, reconsider};
use super::{lookup, mandate};
use crate::committer::{Books, Draft};
use crate::domain::{Chain, DecisionId, Duration, Hash, Malformed, Timestamp};
use crate::engine::step::{self, Given, Word, Yes};
use crate::engine::{Change, Clause, Effect as ClauseEffect, compare};
use crate::evidence::receipt::Kind;
use crate::storage::decision::{self, Decision, DecisionKind, DecisionStatus, Turn};
use crate::storage::effect::{self, EffectStatus};
use crate::storage::known;
use crate::storage::principal::PasswordSetBy;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{approval, book};
use serde_json::{Value, json};
use std::sync::Arc;

/// How long a yes may be used unless the person says otherwise.
pub const APPROVAL_LIFETIME: Duration = Duration::minutes(15);
/// How long a yes may be used at most.
pub const LONGEST_APPROVAL: Duration = Duration::hours(24);

/// A decision after a person acted on it.
#[derive(Debug)]
pub struct Decided {
    /// As it stands now.
    pub decision: Decision,
    /// The act's receipt.
    pub stored: Arc<StoredReceipt>,
}

/// What came of a yes.
#[derive(Debug)]
pub enum Approved {
    /// It is given, and may be used once.
    Given(Box<Decided>),
    /// More stands in the way by now than was shown: the question was put anew instead.
    Anew {
        /// What was not shown.
        reason: String,
    },
    /// The answer would now be refuse: the decision was withdrawn instead.
    Withdrawn {
        /// Why.
        reason: String,
    },
}

/// Gives the person's single-use yes to exactly what they were shown.
pub fn approve(
    books: &mut Books<'_>,
    person: &Person,
    id: DecisionId,
    shown: Hash,
    valid_for: Option<Duration>,
) -> Result<Approved, Error> {
    person.require_session(books)?;
    let lifetime = lifetime(valid_for)?;
    let open = open_decision(books, person, id, &[DecisionKind::Action])?;
    if open.input_hash != shown {
        return Err(Error::Conflict(format!(
            "`{shown}` is not the input hash of decision `{id}`: look at it again"
        )));
    }
    let verdict = match reconsider(books, &open)? {
        Reconsidered::Verdict(verdict) => verdict,
        Reconsidered::Gone(reason) => {
            withdraw::withdraw(books, &open, reason)?;
            return Ok(Approved::Withdrawn { reason: reason.to_owned() });
        }
    };
    let now = books.now();
    let asked = asked(books, &open, None)?;
    let given = Given { by: person.id, roles: person.roles };
    let more = match step::approve(&asked, &verdict, given, now) {
        Yes::Completes => 0,
        Yes::Counts { more } => more,
        Yes::Withdraws => {
            withdraw::withdraw(books, &open, "the answer would now be refuse")?;
            let reason = format!(
                "the answer would now be refuse ({}): {}",
                verdict.clauses().join(", "),
                verdict.reason()
            );
            return Ok(Approved::Withdrawn { reason });
        }
        Yes::Anew => {
            let lacking: Vec<String> =
                open.why.grounds.lack(&verdict.grounds()).map(ToString::to_string).collect();
            withdraw::put_anew(books, &open, &verdict, "more stands in the way than was shown")?;
            return Ok(Approved::Anew { reason: lacking.join("; ") });
        }
        Yes::DoesNotCount => {
            return Err(Error::Forbidden(format!("decision `{id}` asks for the yes of other people")));
        }
        Yes::AlreadyGiven => {
            return Err(Error::Conflict(format!(
                "decision `{id}` has your yes already, and waits for others"
            )));
        }
        Yes::Over(status) => {
            return Err(Error::Conflict(format!("decision `{id}` is {status}, no longer open")));
        }
    };
    let asking = withdraw::ask_others(books, &open, &verdict)?;
    let (connection, slug) = books.place();
    approval::insert(connection, slug, id, &given, now)?;
    let mut output = if more == 0 {
        let until = complete(books, person, &open, lifetime)?;
        if asked.given.iter().chain([&given]).any(|given| given.by == open.principal) {
            learn_counterparties(books, &open)?;
        }
        json!({"status": DecisionStatus::Approved.as_str(), "approved_until": until})
    } else {
        withdraw::tell_others(books, &open, &asking)?;
        json!({"status": DecisionStatus::Open.as_str(), "more": more})
    };
    put(&mut output, "approvals", withdraw::listed(&withdraw::asked_of(&verdict)));
    if person.password_set_by == Some(PasswordSetBy::Operator) {
        put(&mut output, "mark", json!("operator-set password"));
    }
    let input = json!({
        "kind": Kind::DecisionApprove.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "roles": person.roles,
        "decision": id,
        "shown": shown,
        "why": open.why.to_json(),
        "session_signed_in_at": person.signed_in_at,
    });
    let stored = record(books, person, &open, Kind::DecisionApprove, input, output, Beside::default())?;
    Ok(Approved::Given(Box::new(Decided { decision: again(books, id)?, stored })))
}

/// How long a yes may be used.
fn lifetime(asked: Option<Duration>) -> Result<Duration, Malformed> {
    let lifetime = asked.unwrap_or(APPROVAL_LIFETIME);
    let (seconds, most) = (lifetime.whole_seconds(), LONGEST_APPROVAL.whole_seconds());
    if seconds >= 1 && lifetime <= LONGEST_APPROVAL {
        return Ok(lifetime);
    }
    Err(Malformed::at("/valid_for", format!("{seconds} seconds asked, 1 to {most} are allowed")))
}

/// Approves what has every yes it takes; until when it may be used.
fn complete(
    books: &mut Books<'_>,
    person: &Person,
    open: &Decision,
    lifetime: Duration,
) -> Result<Timestamp, Error> {
    let now = books.now();
    let until = now.plus(lifetime);
    let turn = Turn::Approved { by: person.id, until };
    let (connection, slug) = books.place();
    if decision::turn(connection, slug, open.id, DecisionStatus::Open, &turn, now)? {
        Ok(until)
    } else {
        Err(decided_meanwhile(open.id))
    }
}

fn decided_meanwhile(id: DecisionId) -> Error {
    Error::Conflict(format!("decision `{id}` was decided at this moment by somebody else"))
}

/// Says no, and with `narrow` adds a clause to the person's mandate so that the like is not asked again.
pub fn decline(
    books: &mut Books<'_>,
    person: &Person,
    id: DecisionId,
    reason: Option<&str>,
    narrow: Option<Clause>,
) -> Result<Decided, Error> {
    let open = open_decision(books, person, id, &[DecisionKind::Action, DecisionKind::Attention])?;
    if narrow.is_some() && open.principal != person.id {
        let detail = "the mandate is another person's: only its principal narrows it";
        return Err(Malformed::at("/narrow", detail).into());
    }
    let now = books.now();
    let (connection, slug) = books.place();
    let turn = Turn::Declined { by: person.id, reason };
    if !decision::turn(connection, slug, id, DecisionStatus::Open, &turn, now)? {
        return Err(decided_meanwhile(id));
    }
    let mut content = Content::default();
    let mut input = json!({
        "kind": Kind::DecisionDecline.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "decision": id,
    });
    if let Some(reason) = reason {
        put(&mut input, "reason", content.commit("/input/reason", json!(reason)));
    }
    let output = json!({"status": DecisionStatus::Declined.as_str()});
    let beside = Beside { content: content.finish(), found_by: Vec::new() };
    let stored = record(books, person, &open, Kind::DecisionDecline, input, output, beside)?;
    if let Some(clause) = narrow {
        narrow_mandate(books, person, clause)?;
    }
    Ok(Decided { decision: again(books, id)?, stored })
}

/// Adds a restricting clause to the live mandate.
fn narrow_mandate(books: &mut Books<'_>, person: &Person, clause: Clause) -> Result<(), Error> {
    match clause.effect {
        ClauseEffect::Refuse | ClauseEffect::Escalate => {}
        ClauseEffect::Allow { .. } => {
            return Err(Malformed::at("/narrow/effect", "`allow` does not narrow: escalate or refuse").into());
        }
    }
    let live = books.mandate(person.id)?;
    let mut document = live.document.clone();
    if document.clauses.iter().any(|there| there.id == clause.id) {
        return Err(
            Malformed::at("/narrow/id", format!("clause `{}` is in the mandate already", clause.id)).into()
        );
    }
    document.clauses.push(clause);
    match compare(&live.document, &document) {
        Change::Narrowed | Change::Unchanged => {
            mandate::put(books, person, live.version, &document).map(|_| ())
        }
        Change::Widened | Change::Mixed => Err(Malformed::at(
            "/narrow",
            "the clause would widen the mandate: put the mandate itself instead",
        )
        .into()),
    }
}

/// Says how an effect ended that nobody knew the end of.
pub fn resolve(
    books: &mut Books<'_>,
    person: &Person,
    id: DecisionId,
    status: EffectStatus,
    reference: Option<&str>,
) -> Result<Decided, Error> {
    person.require_session(books)?;
    if step::report(EffectStatus::Unknown, status, false, Word::Person, None).is_none() {
        return Err(Malformed::at("/status", format!("`{status}` is no ending: done or failed")).into());
    }
    let open = open_decision(books, person, id, &[DecisionKind::Effect])?;
    let Some(effect) = open.effect else { return Err(Error::NotFound("effect")) };
    let now = books.now();
    let mut content = Content::default();
    let mut input = json!({
        "kind": Kind::DecisionResolve.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "decision": id,
        "effect": effect,
        "status": status.as_str(),
    });
    if let Some(reference) = reference {
        put(&mut input, "reference", content.commit("/input/reference", json!(reference)));
    }
    let reported = json!({"status": status.as_str(), "reference": reference}).to_string();
    let (connection, slug) = books.place();
    if !effect::turn(connection, slug, effect, EffectStatus::Unknown, status, Some(&reported), now)? {
        return Err(Error::Conflict(format!("effect `{effect}` is not unknown any more")));
    }
    if step::releases(status) {
        book::release(connection, slug, open.log_index, now)?;
    }
    let turn = Turn::Resolved { by: person.id, reason: None };
    if !decision::turn(connection, slug, id, DecisionStatus::Open, &turn, now)? {
        return Err(decided_meanwhile(id));
    }
    let output = json!({"status": DecisionStatus::Resolved.as_str(), "effect_status": status.as_str()});
    let reference = json!(reference);
    let found_by = lookup::of_report(books.lookup_key(), Some(&reference));
    let beside = Beside { content: content.finish(), found_by };
    let stored = record(books, person, &open, Kind::DecisionResolve, input, output, beside)?;
    Ok(Decided { decision: again(books, id)?, stored })
}

/// The decision, if the person may decide it, and it is of one of these kinds, open and in time.
fn open_decision(
    books: &mut Books<'_>,
    person: &Person,
    id: DecisionId,
    kinds: &[DecisionKind],
) -> Result<Decision, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    let found = decision::find(connection, slug, id)?
        .filter(|decision| decision.is_seen_by(person.id, person.roles))
        .ok_or(Error::NotFound("decision"))?;
    if !kinds.contains(&found.kind) {
        return Err(Error::Conflict(match found.kind {
            DecisionKind::Action => format!("decision `{id}` is about an action: approve or decline it"),
            DecisionKind::Effect => format!("decision `{id}` asks how an effect ended: resolve it"),
            DecisionKind::Attention => {
                format!("decision `{id}` says that an agent asks too much: decline it to close it")
            }
        }));
    }
    if found.status != DecisionStatus::Open {
        let why = found.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        return Err(Error::Conflict(format!("decision `{id}` is {}, no longer open{why}", found.status)));
    }
    if found.kind != DecisionKind::Effect && found.expires_at <= now {
        return Err(Error::Conflict(format!("decision `{id}` expired at {}", found.expires_at)));
    }
    Ok(found)
}

fn again(books: &mut Books<'_>, id: DecisionId) -> Result<Decision, Error> {
    let (connection, slug) = books.place();
    decision::find(connection, slug, id)?.ok_or(Error::NotFound("decision"))
}

fn record(
    books: &mut Books<'_>,
    person: &Person,
    decision: &Decision,
    kind: Kind,
    input: Value,
    output: Value,
    beside: Beside,
) -> Result<Arc<StoredReceipt>, Error> {
    let mut draft = Draft::act(kind, Chain::Principal(person.id), input, output).by(person.id);
    draft.agent = Some(decision.agent);
    draft.credential = Some(decision.credential);
    draft.intent = Some(decision.intent.clone());
    beside.record(books, draft)
}

/// Whom the person said yes to is known from now on.
fn learn_counterparties(books: &mut Books<'_>, decision: &Decision) -> Result<(), Error> {
    let now = books.now();
    let Some(stored) = books.receipt(decision.log_index)? else { return Ok(()) };
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (input, content) = (read(&stored.input), stored.content.as_deref().map(read).unwrap_or_default());
    let described = described_again(&input, Some(&content));
    let names = described.map(|described| counterparties(&described, Some(&content))).unwrap_or_default();
    let mut learnt = false;
    for name in &names {
        let (connection, slug) = books.place();
        learnt |= known::insert(connection, slug, decision.principal, name, decision.id, now)?;
    }
    if learnt {
        books.authority_changed();
    }
    Ok(())
}
