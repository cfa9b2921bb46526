//! Hands an answer to the agent that asked: text that somebody else wrote, which is remembered of who takes it in.

use crate::actions::Error;
use crate::actions::caller::AgentCaller;
use crate::committer::{Books, Draft};
use crate::domain::{Chain, CredentialId, QuestionId};
use crate::evidence::receipt::Kind;
use crate::storage::question::{self, Question};
use serde_json::json;

/// An answer that an acting agent may read from now on.
#[derive(Debug)]
pub struct Fetched {
    /// The question.
    pub question: Question,
    /// Whether a leaf was written for it.
    pub is_new: bool,
}

/// Records that an acting agent fetches an answer. From then on whatever its credential, those it comes from and those
/// derived from any of them ask of the gate counts as untrusted.
///
/// # Errors
/// The question is not the agent's, or has no answer.
pub fn fetch(books: &mut Books<'_>, caller: &AgentCaller, id: QuestionId) -> Result<Fetched, Error> {
    let credential = caller.presented.credential;
    let standing = books.standing(credential)?.ok_or(Error::Unknown)?;
    let (connection, slug) = books.place();
    let found = question::find(connection, slug, id)?
        .filter(|found| found.agent == caller.presented.agent && found.answer_index.is_some())
        .ok_or(Error::NotFound("question"))?;
    if question::is_fetched(connection, slug, credential, id)? {
        return Ok(Fetched { question: found, is_new: false });
    }
    let input = json!({
        "kind": Kind::QuestionFetch.as_str(),
        "tenant": books.slug(),
        "principal": standing.credential.principal,
        "credential": credential,
        "question": id,
    });
    let line: Vec<CredentialId> =
        [credential].into_iter().chain(standing.ancestors.iter().map(|one| one.id)).collect();
    let output = json!({"untrusted": line});
    let chain = Chain::Credential(credential);
    let mut draft = Draft::act(Kind::QuestionFetch, chain, input, output).by(standing.credential.principal);
    draft.agent = Some(caller.presented.agent);
    draft.credential = Some(credential);
    let stored = books.record(draft)?;
    for one in line {
        let (connection, slug) = books.place();
        question::fetch(connection, slug, one, id, stored.log_index)?;
    }
    books.authority_changed();
    Ok(Fetched { question: found, is_new: true })
}
