//! Asks another member's agent, and answers: decided like any call of the gate, under the terms of both sides.

mod ends;
mod fetch;
mod pose;

pub use ends::{By, expire, withdraw};
pub(super) use ends::{after_narrowing, after_revocation};
pub use fetch::{Fetched, fetch};
pub use pose::{Answering, Ask, Asking, Receiver, answer, ask, said};

use super::Error;
use super::evaluate::Call;
use super::evaluated::Evaluated;
use super::judge::{Judged, judge_as, reserve};
use super::recording::{Beside, Content};
use super::request::{self, Private, described_again};
use crate::committer::{Books, Draft, Standing};
use crate::domain::{
    AgentKind, Chain, Duration, Malformed, Outcome, QuestionId, QuestionStatus, Scope, Timestamp,
};
use crate::engine::step::{self, Reachable, Settled};
use crate::engine::{self, Described, Used};
use crate::evidence::document::Document;
use crate::evidence::receipt::Kind;
use crate::storage::agent;
use crate::storage::decision::Decision;
use crate::storage::question::{self, Question};
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};

/// How long a question waits for an answer unless it says otherwise.
pub const QUESTION_LIFETIME: Duration = Duration::hours(24);
/// How long it may wait at most.
pub const LONGEST_QUESTION: Duration = Duration::days(30);
/// How many open questions a principal's agents may have asked.
pub const OPEN_ASKED: u64 = 20;
/// How many open questions may wait for one principal's agents.
pub const OPEN_RECEIVED: u64 = 200;
/// How long a question or an answer may be, in bytes.
pub const LONGEST_TEXT_BYTES: usize = 16 * 1024;

/// A question that is asked, or answered, by a call.
#[derive(Debug)]
pub enum Posed {
    /// It is asked.
    Ask(Ask),
    /// This one is answered.
    Answer(QuestionId),
}

/// Where a question that may be asked goes.
pub struct Reach {
    reachable: Reachable,
    id: QuestionId,
    expires_at: Timestamp,
    received: Option<Received>,
}

/// What those say whom a question is for.
struct Received {
    receiver: Receiver,
    described: Described,
    private: Private,
    judged: Judged,
    is_let_in: bool,
    versions: [u64; 3],
}

impl Reach {
    pub(super) fn as_str(&self) -> &'static str {
        self.reachable.as_str()
    }
}

/// What becomes of a question that may be asked, by whether it reaches anybody; an answer must be to a question that is
/// open and the agent's to answer.
pub(super) fn reach(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    settled: Settled<Decision>,
) -> Result<(Settled<Decision>, Option<Reach>), Error> {
    let ask = match &call.posed {
        None => return Ok((settled, None)),
        Some(Posed::Answer(id)) => {
            require_answerable(books, standing, *id)?;
            return Ok((settled, None));
        }
        Some(Posed::Ask(ask)) => ask,
    };
    if settled.outcome != Outcome::Allow {
        return Ok((settled, None));
    }
    let id = books.new_id(QuestionId::new);
    let expires_at = books.now().plus(ask.lifetime);
    let asker = standing.credential.principal;
    let (connection, slug) = books.place();
    let whom = ask.receiver.as_ref().map_or(asker, |receiver| receiver.principal);
    let (asked, waiting) = question::count_open(connection, slug, asker, whom)?;
    if asked >= OPEN_ASKED {
        let reach = Reach { reachable: Reachable::Full, id, expires_at, received: None };
        return Ok((step::reached(settled, Reachable::Full), Some(reach)));
    }
    let received = match &ask.receiver {
        Some(receiver) if waiting < OPEN_RECEIVED && still_answers(books, receiver)? => {
            receive(books, call, standing, ask, receiver)?
        }
        Some(_) | None => None,
    };
    let is_let_in = received.as_ref().is_some_and(|received| received.is_let_in);
    let reachable = if is_let_in { Reachable::There } else { Reachable::Nobody };
    Ok((step::reached(settled, reachable), Some(Reach { reachable, id, expires_at, received })))
}

/// Whether the agent that a question names is not retired meanwhile.
fn still_answers(books: &mut Books<'_>, receiver: &Receiver) -> Result<bool, Error> {
    let Some(id) = receiver.answerer else { return Ok(true) };
    let (connection, slug) = books.place();
    let found = agent::find(connection, slug, id)?;
    Ok(found.is_some_and(|agent| agent.retired_at.is_none() && agent.kind == AgentKind::Answering))
}

/// What the terms of whom a question is for say to it; `None` where it is outside of what may be said to them at all.
fn receive(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    ask: &Ask,
    receiver: &Receiver,
) -> Result<Option<Received>, Error> {
    let described = pose::described_receive(standing.credential.principal, ask, &call.described)?;
    judge_received(books, standing, described, *receiver)
}

fn judge_received(
    books: &mut Books<'_>,
    standing: &Standing,
    described: Described,
    receiver: Receiver,
) -> Result<Option<Received>, Error> {
    let action = request::action(None, &described, None)?;
    let (mandate, policy) = (books.mandate(receiver.principal)?, books.policy()?);
    let (known, zone) = (books.known(receiver.principal)?, books.tenant().zone);
    let nothing = Used::default();
    let unread = engine::Standing {
        scopes: [Scope::QuestionAnswer].into_iter().collect(),
        principal: receiver.principal,
        agent: standing.agent.id,
        agent_kind: AgentKind::Acting,
        mandate: &mandate.document,
        policy: &policy.document,
        credentials: &[],
        country_fixed: None,
        known: &*known,
        used: &nothing,
        zone,
    };
    let judged = match judge_as(books, &unread, &known, &action) {
        Ok(judged) => judged,
        Err(Error::Malformed(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(Received {
        receiver,
        private: Private::of(&described),
        described,
        is_let_in: judged.verdict.outcome == Outcome::Allow,
        judged,
        versions: [mandate.version, policy.version, standing.catalogue.version],
    }))
}

/// Whether the terms of whom an open question is for do not refuse it now.
fn is_let_in_now(books: &mut Books<'_>, open: &Question) -> Result<bool, Error> {
    let (Some(standing), Some(stored)) =
        (books.standing(open.credential)?, books.receipt(open.receive_index)?)
    else {
        return Ok(false);
    };
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let content = stored.content.as_deref().and_then(read);
    let Some(described) = read(&stored.input).and_then(|input| described_again(&input, content.as_ref()))
    else {
        return Ok(false);
    };
    let receiver = Receiver { principal: open.receiver, answerer: open.answerer };
    let received = judge_received(books, &standing, described, receiver)?;
    Ok(received.is_some_and(|received| received.judged.verdict.outcome != Outcome::Refuse))
}

/// The question that an agent may answer, if it waits for an answer.
fn require_answerable(books: &mut Books<'_>, standing: &Standing, id: QuestionId) -> Result<Question, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    let found = question::find(connection, slug, id)?.filter(|found| {
        found.receiver == standing.credential.principal
            && found.answerer.is_none_or(|only| only == standing.agent.id)
    });
    let found = found.ok_or(Error::NotFound("question"))?;
    let status = found.status_at(now);
    if status == QuestionStatus::Open {
        return Ok(found);
    }
    Err(Error::Conflict(format!("question `{id}` is {status}, no longer open")))
}

/// What the output document says of the question.
pub(super) fn answered(evaluated: &Evaluated<'_>) -> Option<Value> {
    if evaluated.settled.outcome != Outcome::Allow {
        return None;
    }
    match (&evaluated.call.posed, &evaluated.reach) {
        (Some(Posed::Answer(id)), _) => Some(json!({"id": id, "status": QuestionStatus::Answered.as_str()})),
        (Some(Posed::Ask(_)), Some(reach)) => Some(json!({
            "id": reach.id,
            "status": QuestionStatus::Open.as_str(),
            "expires_at": reach.expires_at,
        })),
        (Some(Posed::Ask(_)) | None, _) => None,
    }
}

/// What a question or an answer does beside being recorded: on the other side's chain, and to the question.
pub(super) fn follow(
    books: &mut Books<'_>,
    evaluated: &Evaluated<'_>,
    stored: &StoredReceipt,
) -> Result<(), Error> {
    match (&evaluated.call.posed, &evaluated.reach) {
        (Some(Posed::Answer(id)), _) if evaluated.settled.outcome == Outcome::Allow => {
            take_answer(books, evaluated, *id, stored)
        }
        (Some(Posed::Ask(_)), Some(reach)) if reach.reachable != Reachable::Full => {
            deliver(books, evaluated, reach, stored)
        }
        (Some(Posed::Answer(_) | Posed::Ask(_)) | None, _) => Ok(()),
    }
}

fn deliver(
    books: &mut Books<'_>,
    evaluated: &Evaluated<'_>,
    reach: &Reach,
    stored: &StoredReceipt,
) -> Result<(), Error> {
    let Some(received) = &reach.received else {
        // One leaf more, as if somebody had been asked who does not want to be.
        let input =
            json!({"kind": Kind::QuestionLost.as_str(), "tenant": books.slug(), "ask": stored.body.id});
        let chain = Chain::Tenant(books.tenant().id);
        let draft = Draft::act(Kind::QuestionLost, chain, input, json!({"reach": reach.as_str()}));
        return Ok(books.record(draft).map(|_| ())?);
    };
    let let_in = record_received(books, evaluated, reach, received)?;
    if !received.is_let_in {
        return Ok(());
    }
    let reservations = &received.judged.verdict.reservations;
    reserve(books, received.receiver.principal, reservations, let_in.log_index)?;
    let credential = &evaluated.standing.credential;
    let opened = Question {
        id: reach.id,
        asker: credential.principal,
        agent: credential.agent,
        credential: credential.id,
        receiver: received.receiver.principal,
        answerer: received.receiver.answerer,
        status: QuestionStatus::Open,
        ask_index: stored.log_index,
        receive_index: let_in.log_index,
        asked_at: books.now(),
        expires_at: reach.expires_at,
        ended_at: None,
        answer_index: None,
    };
    let (connection, slug) = books.place();
    Ok(question::insert(connection, slug, &opened)?)
}

/// Records, in the chain of whom a question is for, what their terms said to it.
fn record_received(
    books: &mut Books<'_>,
    evaluated: &Evaluated<'_>,
    reach: &Reach,
    received: &Received,
) -> Result<std::sync::Arc<StoredReceipt>, Error> {
    let Received { receiver, described, private, judged, versions, .. } = received;
    let agent = evaluated.standing.agent.id;
    let [mandate, policy, catalogue] = *versions;
    let mut content = Content::default();
    let mut input = Document::with_room(1024);
    input.plain("kind", Kind::QuestionReceive);
    input.plain("tenant", books.slug());
    input.plain("principal", receiver.principal);
    input.plain("agent", agent);
    input.plain("agent_kind", AgentKind::Acting);
    input.list("scopes", [Scope::QuestionAnswer.as_str()]);
    input.plain("question", reach.id);
    input.document("request", request::document(described, private, &mut content));
    if let Some(facts) = request::facts(&request::action(None, described, None)?, &mut content) {
        input.document("facts", facts);
    }
    judged.write(&mut input);
    let mut output = Document::default();
    output.plain("outcome", judged.verdict.outcome);
    output.text("reason", &judged.verdict.reason());
    output.value("clauses", &json!(judged.verdict.clauses()));
    output.number("mandate_version", mandate);
    output.number("policy_version", policy);
    let chain = Chain::Principal(receiver.principal);
    let mut draft = Draft::act(Kind::QuestionReceive, chain, input, output).by(receiver.principal);
    draft.agent = Some(agent);
    draft.outcome = Some(judged.verdict.outcome);
    draft.intent = Some(described.intent.clone());
    draft.mandate_version = Some(mandate);
    draft.policy_version = Some(policy);
    draft.catalogue_version = Some(catalogue);
    draft.facts_from = Some(crate::domain::FactsFrom::Derived);
    Beside { content: content.finish(), found_by: Vec::new() }.record(books, draft)
}

/// Gives a question its answer, and says so in the chain of the credential that asked.
fn take_answer(
    books: &mut Books<'_>,
    evaluated: &Evaluated<'_>,
    id: QuestionId,
    stored: &StoredReceipt,
) -> Result<(), Error> {
    let now = books.now();
    let found = require_answerable(books, evaluated.standing, id)?;
    let (connection, slug) = books.place();
    let ending = (QuestionStatus::Answered, Some(stored.log_index));
    if !question::end(connection, slug, id, ending, now)? {
        return Err(Error::Conflict(format!("question `{id}` is no longer open")));
    }
    ends::record(
        books,
        &found,
        (Kind::QuestionAnswered, Chain::Credential(found.credential)),
        &json!({"status": QuestionStatus::Answered.as_str(), "answer": stored.body.id}),
    )
}

/// A text that is asked or answered: what the tenant's rules leave of it.
///
/// # Errors
/// A text that is empty or too long does not fit.
pub fn screened(text: &str) -> Result<String, Malformed> {
    if text.trim().is_empty() || text.len() > LONGEST_TEXT_BYTES {
        let detail = format!("{} bytes, 1 to {LONGEST_TEXT_BYTES} are allowed", text.len());
        return Err(Malformed::whole(detail));
    }
    Ok(text.to_owned())
}
