//! How a question and an answer are described to the engine, and who is meant.

use super::{LONGEST_TEXT_BYTES, Posed};
use crate::actions::Error;
use crate::actions::answer::Answer;
use crate::actions::caller::Presented;
use crate::actions::evaluate::{Call, evaluate};
use crate::actions::request::{Private, described_again};
use crate::committer::Books;
use crate::crypto::{AuthKey, hmac_sha256};
use crate::domain::{
    AgentId, AgentKind, DecisionId, Duration, ExternalName, Intent, Links, Malformed, PrincipalId,
    QuestionId, TenantSlug, Timestamp,
};
use crate::engine::Described;
use crate::storage::question::{self as stored_question, Question};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError, agent, principal};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How many of a tenant's agents of one name are looked at.
const MOST_NAMESAKES: usize = 2;

/// A question as an agent asks it.
#[derive(Debug)]
pub struct Asking {
    /// Who asks.
    pub presented: Presented,
    /// Whom: a person by id or e-mail, or an answering agent by id or name.
    pub to: ExternalName,
    /// What about, for the clauses of both sides.
    pub about: Option<ExternalName>,
    /// The question.
    pub text: String,
    /// How long it waits.
    pub lifetime: Duration,
    /// The decision whose yes it uses.
    pub decision: Option<DecisionId>,
    /// The `Idempotency-Key`, if one was sent.
    pub key: Option<String>,
    /// How answers link to pages.
    pub links: Links,
}

/// Asks another member's agent.
///
/// # Errors
/// Those of the gate. Whom a question does not reach is no error, and does not show who exists.
pub fn ask(books: &mut Books<'_>, asking: Asking) -> Result<Answer, Error> {
    let Asking { presented, to, about, text, lifetime, decision, key, links } = asking;
    let (connection, slug) = books.place();
    let receiver = find_receiver(connection, slug, &to)?;
    let said = (about.as_ref(), text.as_str(), lifetime);
    let described = described_ask(books.lookup_key(), &to, receiver, said, decision)?;
    let posed = Posed::Ask(Ask { receiver, lifetime });
    evaluate(books, &call(presented, described, posed, key, links))
}

/// An answer as an agent gives it.
#[derive(Debug)]
pub struct Answering {
    /// Who answers.
    pub presented: Presented,
    /// Which question.
    pub question: QuestionId,
    /// The answer.
    pub text: String,
    /// The decision whose yes it uses.
    pub decision: Option<DecisionId>,
    /// The `Idempotency-Key`, if one was sent.
    pub key: Option<String>,
    /// How answers link to pages.
    pub links: Links,
}

/// Answers a question.
///
/// # Errors
/// Those of the gate; the question is not the agent's to answer, or not open any more.
pub fn answer(books: &mut Books<'_>, answering: Answering) -> Result<Answer, Error> {
    let Answering { presented, question, text, decision, key, links } = answering;
    let (connection, slug) = books.place();
    let found = stored_question::find(connection, slug, question)?.ok_or(Error::NotFound("question"))?;
    let asked = books.receipt(found.ask_index)?;
    let described = described_answer(&found, asked.as_deref(), &text, decision)?;
    evaluate(books, &call(presented, described, Posed::Answer(question), key, links))
}

fn call(presented: Presented, described: Described, posed: Posed, key: Option<String>, links: Links) -> Call {
    Call {
        presented,
        enforcement_point: None,
        private: Private::of(&described),
        described,
        derived: None,
        catalogue: Arc::default(),
        key,
        links,
        posed: Some(posed),
    }
}

/// A question that is asked.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Whom it is for; `None` where there is nobody of that name.
    pub receiver: Option<Receiver>,
    /// How long it waits.
    pub lifetime: Duration,
}

/// Whom a question is for.
#[derive(Debug, Clone, Copy)]
pub struct Receiver {
    /// Whose agents may answer.
    pub principal: PrincipalId,
    /// Which of them alone, if one was named.
    pub answerer: Option<AgentId>,
}

/// Who is meant: a person by id or e-mail, or an answering agent by id or by a name that no other has.
fn find_receiver(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    to: &ExternalName,
) -> Result<Option<Receiver>, StoreError> {
    if let Ok(id) = to.as_str().parse::<PrincipalId>() {
        let found = principal::find(connection, tenant, id)?;
        return Ok(found.map(|found| Receiver { principal: found.id, answerer: None }));
    }
    if to.as_str().contains('@') {
        let found = principal::find_by_email(connection, tenant, to.as_str())?;
        return Ok(found.map(|found| Receiver { principal: found.id, answerer: None }));
    }
    let mut named = match to.as_str().parse::<AgentId>() {
        Ok(id) => agent::find(connection, tenant, id)?.into_iter().collect(),
        Err(_) => agent::named(connection, tenant, to.as_str(), MOST_NAMESAKES)?,
    };
    named.retain(|agent| agent.kind == AgentKind::Answering && agent.retired_at.is_none());
    match named.as_slice() {
        [one] => Ok(Some(Receiver { principal: one.principal, answerer: Some(one.id) })),
        _ => Ok(None),
    }
}

/// What a question says to the engine under the asker's terms. Who does not exist is described like who does.
fn described_ask(
    key: &AuthKey,
    to: &ExternalName,
    receiver: Option<Receiver>,
    (about, text, lifetime): (Option<&ExternalName>, &str, Duration),
    decision: Option<DecisionId>,
) -> Result<Described, Malformed> {
    let whom = match receiver {
        Some(receiver) => receiver.principal,
        None => to.as_str().parse().unwrap_or_else(|_| nobody(key, to)),
    };
    let mut arguments = Map::new();
    arguments.insert("to".into(), json!(to));
    arguments.insert("expires_in".into(), json!(lifetime.whole_seconds()));
    if let Some(about) = about {
        arguments.insert("about".into(), json!(about));
    }
    let attachment = attachment("question", text)?;
    Ok(Described { decision, attachment: Some(attachment), ..bare(Intent::QUESTION_ASK, whom, arguments)? })
}

/// An id that nobody has, always the same for a name.
fn nobody(key: &AuthKey, to: &ExternalName) -> PrincipalId {
    /// 2026-11-30T00:00:00Z, about when tenants began.
    const BEGAN: i64 = 1_796_083_200_000;
    let digest = hmac_sha256(key, format!("procura-nobody-v1 {to}").as_bytes());
    let mut random = [0; 10];
    random.iter_mut().zip(digest.iter()).for_each(|(to, from)| *to = *from);
    let spread = digest.iter().skip(10).take(3).fold(0, |sum: i64, byte| (sum << 8) | i64::from(*byte));
    PrincipalId::new(Timestamp::from_unix_milliseconds(BEGAN + spread), random)
}

/// What a question says to the engine under the terms of whom it is for.
pub(super) fn described_receive(
    asker: PrincipalId,
    ask: &Ask,
    asked: &Described,
) -> Result<Described, Malformed> {
    let mut arguments = Map::new();
    let to = match ask.receiver {
        Some(Receiver { answerer: Some(agent), .. }) => json!(agent),
        Some(Receiver { principal, .. }) => json!(principal),
        None => Value::Null,
    };
    arguments.insert("to".into(), to);
    if let Some(about) = asked.arguments.as_ref().and_then(|arguments| arguments.get("about")) {
        arguments.insert("about".into(), about.clone());
    }
    bare(Intent::QUESTION_RECEIVE, asker, arguments)
}

/// What an answer says to the engine under the answerer's terms; `asked` is the receipt of the question.
fn described_answer(
    question: &Question,
    asked: Option<&StoredReceipt>,
    text: &str,
    decision: Option<DecisionId>,
) -> Result<Described, Malformed> {
    let mut arguments = Map::new();
    arguments.insert("question".into(), json!(question.id));
    if let Some(about) = asked.and_then(|asked| said(asked).1) {
        arguments.insert("about".into(), json!(about));
    }
    let attachment = attachment("answer", text)?;
    let bare = bare(Intent::QUESTION_ANSWER, question.asker, arguments)?;
    Ok(Described { decision, attachment: Some(attachment), ..bare })
}

fn bare(intent: &str, whom: PrincipalId, arguments: Map<String, Value>) -> Result<Described, Malformed> {
    let intent: Intent = intent.parse().map_err(Malformed::whole)?;
    let whom: ExternalName = whom.to_string().parse().map_err(Malformed::whole)?;
    Ok(Described {
        tenant: None,
        agent: None,
        intent,
        country: None,
        amount: None,
        counterparties: Some(vec![whom]),
        resource: None,
        arguments: Some(Arc::new(arguments)),
        evidence: None,
        untrusted: None,
        labels: std::collections::BTreeMap::new(),
        attachment: None,
        decision: None,
        min_mandate_version: None,
        facts: None,
    })
}

fn attachment(kind: &str, text: &str) -> Result<Map<String, Value>, Malformed> {
    if text.len() > LONGEST_TEXT_BYTES {
        return Err(Malformed::at("/text", format!("at most {LONGEST_TEXT_BYTES} bytes are allowed")));
    }
    let mut attachment = Map::new();
    attachment.insert("kind".into(), json!(kind));
    attachment.insert("text".into(), json!(text));
    Ok(attachment)
}

/// The text that a receipt's content holds, and what it is about; gone once erased.
pub fn said(stored: &StoredReceipt) -> (Option<String>, Option<String>) {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let (Some(input), content) = (read(&stored.input), stored.content.as_deref().and_then(read)) else {
        return (None, None);
    };
    let Some(described) = described_again(&input, content.as_ref()) else { return (None, None) };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let about = described.arguments.as_ref().and_then(|arguments| arguments.get("about"));
    (text(described.attachment.as_ref().and_then(|attachment| attachment.get("text"))), text(about))
}
