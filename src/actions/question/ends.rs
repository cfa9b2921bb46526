//! How a question ends without an answer: taken back by who asked, by a change of authority, or by time.

use crate::actions::Error;
use crate::actions::caller::{AgentCaller, Person};
use crate::actions::withdraw::{Reconsidered, reconsider_call};
use crate::committer::{Books, Draft};
use crate::domain::{Chain, CredentialId, Outcome, PrincipalId, QuestionId, QuestionStatus, Scope};
use crate::evidence::receipt::Kind;
use crate::storage::question::{self, Question};
use serde_json::{Value, json};

/// Who takes a question back.
#[derive(Debug)]
pub enum By {
    /// An agent, its own.
    Agent(Box<AgentCaller>),
    /// The principal for whom it was asked.
    Person(Box<Person>),
}

/// Takes an open question back.
///
/// # Errors
/// It is not the caller's, or not open any more.
pub fn withdraw(books: &mut Books<'_>, by: &By, id: QuestionId) -> Result<Question, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    let found = question::find(connection, slug, id)?.filter(|found| match by {
        By::Agent(agent) => found.agent == agent.presented.agent,
        By::Person(person) => found.asker == person.id,
    });
    let found = found.ok_or(Error::NotFound("question"))?;
    let status = found.status_at(now);
    if status != QuestionStatus::Open {
        return Err(Error::Conflict(format!("question `{id}` is {status}, no longer open")));
    }
    end(books, &found, QuestionStatus::Withdrawn, "who asked took it back")?;
    let (connection, slug) = books.place();
    question::find(connection, slug, id)?.ok_or(Error::NotFound("question"))
}

/// Ends a question that nobody answered in time; `false` if its time is not over, by the books' clock.
///
/// # Errors
/// The database failed.
pub fn expire(books: &mut Books<'_>, id: QuestionId) -> Result<bool, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    let found = question::find(connection, slug, id)?;
    let is_over = |found: &Question| {
        found.status == QuestionStatus::Open && found.status_at(now) == QuestionStatus::Expired
    };
    match found.filter(is_over) {
        Some(found) => end(books, &found, QuestionStatus::Expired, "nobody answered in time").map(|()| true),
        None => Ok(false),
    }
}

/// After a narrowed or mixed change: questions on their way that would now be refused, by either side, are taken back.
pub(in crate::actions) fn after_narrowing(
    books: &mut Books<'_>,
    principal: Option<PrincipalId>,
    reason: &'static str,
) -> Result<(), Error> {
    let (connection, slug) = books.place();
    for open in question::open(connection, slug, principal)? {
        let asked = reconsider_call(books, open.credential, open.ask_index)?;
        let stays = match asked {
            Reconsidered::Verdict(verdict) => verdict.outcome != Outcome::Refuse,
            Reconsidered::Gone(_) => false,
        };
        if !stays || !is_still_welcome(books, &open)? {
            end(books, &open, QuestionStatus::Withdrawn, reason)?;
        }
    }
    Ok(())
}

/// Whether the live mandate of whom a question is for still lets questions be answered, and does not refuse this one.
fn is_still_welcome(books: &mut Books<'_>, open: &Question) -> Result<bool, Error> {
    let live = books.mandate(open.receiver)?;
    if !live.document.scopes.contains(Scope::QuestionAnswer) {
        return Ok(false);
    }
    super::is_let_in_now(books, open)
}

/// After a revocation: what these credentials asked is taken back.
pub(in crate::actions) fn after_revocation(
    books: &mut Books<'_>,
    principal: PrincipalId,
    revoked: &[CredentialId],
) -> Result<(), Error> {
    let (connection, slug) = books.place();
    for open in question::open(connection, slug, Some(principal))? {
        if revoked.contains(&open.credential) {
            end(books, &open, QuestionStatus::Withdrawn, "its credential was revoked")?;
        }
    }
    Ok(())
}

/// Ends a question with a receipt on both sides' chains.
fn end(
    books: &mut Books<'_>,
    found: &Question,
    status: QuestionStatus,
    reason: &'static str,
) -> Result<(), Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    if !question::end(connection, slug, found.id, (status, None), now)? {
        return Ok(());
    }
    let kind = match status {
        QuestionStatus::Expired => Kind::QuestionExpire,
        QuestionStatus::Open | QuestionStatus::Answered | QuestionStatus::Withdrawn => Kind::QuestionWithdraw,
    };
    let output = json!({"status": status.as_str(), "reason": reason});
    record(books, found, (kind, Chain::Credential(found.credential)), &output)?;
    record(books, found, (kind, Chain::Principal(found.receiver)), &output)
}

/// Records what became of a question on one side's chain.
pub(super) fn record(
    books: &mut Books<'_>,
    found: &Question,
    (kind, chain): (Kind, Chain),
    output: &Value,
) -> Result<(), Error> {
    let is_asker = chain == Chain::Credential(found.credential);
    let principal = if is_asker { found.asker } else { found.receiver };
    let input = json!({
        "kind": kind.as_str(),
        "tenant": books.slug(),
        "principal": principal,
        "question": found.id,
    });
    let mut draft = Draft::act(kind, chain, input, output.clone()).by(principal);
    if is_asker {
        draft.agent = Some(found.agent);
        draft.credential = Some(found.credential);
    }
    books.record(draft)?;
    Ok(())
}
