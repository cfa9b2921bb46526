//! Questions between members' agents: where each stands, and which credentials fetched which answers.

use super::schema::{fetched_answers as fetched, questions};
use super::{AnyConnection, StoreError, read};
use crate::domain::{AgentId, CredentialId, PrincipalId, QuestionId, QuestionStatus, TenantSlug, Timestamp};
use diesel::prelude::*;

/// A question that was let in. What was asked and answered is content of the receipts it names.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// For whom it was asked.
    pub asker: PrincipalId,
    /// By which agent.
    pub agent: AgentId,
    /// With which credential.
    pub credential: CredentialId,
    /// Whom it is for.
    pub receiver: PrincipalId,
    /// Which of their answering agents alone, if it was asked by name.
    pub answerer: Option<AgentId>,
    /// Where it stands.
    pub status: QuestionStatus,
    /// The receipt that records what was asked.
    pub ask_index: u64,
    /// The receipt that let it in.
    pub receive_index: u64,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it expires unanswered.
    pub expires_at: Timestamp,
    /// When it was answered or ended.
    pub ended_at: Option<Timestamp>,
    /// The receipt that records the answer.
    pub answer_index: Option<u64>,
}

impl Question {
    /// Where it stands at an instant: what time has ended is expired, also before that is recorded.
    pub fn status_at(&self, now: Timestamp) -> QuestionStatus {
        match self.status {
            QuestionStatus::Open if self.expires_at <= now => QuestionStatus::Expired,
            status @ (QuestionStatus::Open
            | QuestionStatus::Answered
            | QuestionStatus::Expired
            | QuestionStatus::Withdrawn) => status,
        }
    }
}

type Row = (
    (String, String, String, String, String, Option<String>, String),
    (i64, i64, i64, i64, Option<i64>, Option<i64>),
);

#[rustfmt::skip]
type Columns = (
    (questions::id, questions::asker, questions::agent, questions::credential, questions::receiver, questions::answerer,
     questions::status),
    (questions::ask_index, questions::receive_index, questions::asked_at, questions::expires_at, questions::ended_at,
     questions::answer_index),
);

#[rustfmt::skip]
const COLUMNS: Columns = (
    (questions::id, questions::asker, questions::agent, questions::credential, questions::receiver, questions::answerer,
     questions::status),
    (questions::ask_index, questions::receive_index, questions::asked_at, questions::expires_at, questions::ended_at,
     questions::answer_index),
);

fn read_row((subject, course): Row) -> Result<Question, StoreError> {
    let (id, asker, agent, credential, receiver, answerer, status) = subject;
    let (ask_index, receive_index, asked_at, expires_at, ended_at, answer_index) = course;
    Ok(Question {
        id: read::text("questions.id", &id)?,
        asker: read::text("questions.asker", &asker)?,
        agent: read::text("questions.agent", &agent)?,
        credential: read::text("questions.credential", &credential)?,
        receiver: read::text("questions.receiver", &receiver)?,
        answerer: read::optional_text("questions.answerer", answerer.as_deref())?,
        status: read::text("questions.status", &status)?,
        ask_index: read::count("questions.ask_index", ask_index)?,
        receive_index: read::count("questions.receive_index", receive_index)?,
        asked_at: read::time(asked_at),
        expires_at: read::time(expires_at),
        ended_at: read::optional_time(ended_at),
        answer_index: read::optional_count("questions.answer_index", answer_index)?,
    })
}

/// Lets a question in.
pub fn insert(connection: &mut AnyConnection, tenant: &TenantSlug, one: &Question) -> Result<(), StoreError> {
    diesel::insert_into(questions::table)
        .values((
            questions::tenant.eq(tenant.as_str()),
            questions::id.eq(one.id.to_string()),
            questions::asker.eq(one.asker.to_string()),
            questions::agent.eq(one.agent.to_string()),
            questions::credential.eq(one.credential.to_string()),
            questions::receiver.eq(one.receiver.to_string()),
            questions::answerer.eq(one.answerer.map(|id| id.to_string())),
            questions::status.eq(one.status.as_str()),
            questions::ask_index.eq(read::stored_count(one.ask_index)),
            questions::receive_index.eq(read::stored_count(one.receive_index)),
            questions::asked_at.eq(one.asked_at.unix_milliseconds()),
            questions::expires_at.eq(one.expires_at.unix_milliseconds()),
            questions::due_at.eq(Some(one.expires_at.unix_milliseconds())),
        ))
        .execute(connection)?;
    Ok(())
}

/// The question of that id.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: QuestionId,
) -> Result<Option<Question>, StoreError> {
    questions::table
        .find((tenant.as_str(), id.to_string()))
        .select(COLUMNS)
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Ends an open question; `false` if it is not open any more.
pub fn end(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: QuestionId,
    (status, answer_index): (QuestionStatus, Option<u64>),
    at: Timestamp,
) -> Result<bool, StoreError> {
    let open = questions::table
        .filter(questions::tenant.eq(tenant.as_str()).and(questions::id.eq(id.to_string())))
        .filter(questions::status.eq(QuestionStatus::Open.as_str()));
    let changed = diesel::update(open)
        .set((
            questions::status.eq(status.as_str()),
            questions::answer_index.eq(answer_index.map(read::stored_count)),
            questions::ended_at.eq(Some(at.unix_milliseconds())),
            questions::due_at.eq(None::<i64>),
        ))
        .execute(connection)?;
    Ok(changed == 1)
}

/// Which questions a list is of.
#[derive(Debug, Clone, Copy)]
pub enum Box {
    /// Those that a principal's agents asked.
    Asked(PrincipalId),
    /// Those that are for a principal; with an agent, those that it may answer.
    Inbox(PrincipalId, Option<AgentId>),
}

/// A page of questions, the newest first.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    of: Box,
    status: Option<QuestionStatus>,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Question>, StoreError> {
    let mut query = questions::table
        .filter(questions::tenant.eq(tenant.as_str()))
        .order(questions::id.desc())
        .limit(limit)
        .select(COLUMNS)
        .into_boxed();
    query = match of {
        Box::Asked(principal) => query.filter(questions::asker.eq(principal.to_string())),
        Box::Inbox(principal, None) => query.filter(questions::receiver.eq(principal.to_string())),
        Box::Inbox(principal, Some(agent)) => query
            .filter(questions::receiver.eq(principal.to_string()))
            .filter(questions::answerer.is_null().or(questions::answerer.eq(agent.to_string()))),
    };
    if let Some(status) = status {
        query = query.filter(questions::status.eq(status.as_str()));
    }
    if let Some(before) = before {
        query = query.filter(questions::id.lt(before.to_owned()));
    }
    query.load::<Row>(connection)?.into_iter().map(read_row).collect()
}

/// The open questions that a principal, or their agents, asked or are asked: the whole tenant's without one.
pub fn open(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: Option<PrincipalId>,
) -> Result<Vec<Question>, StoreError> {
    let mut query = questions::table
        .filter(questions::tenant.eq(tenant.as_str()))
        .filter(questions::status.eq(QuestionStatus::Open.as_str()))
        .order(questions::id)
        .select(COLUMNS)
        .into_boxed();
    if let Some(principal) = principal {
        let id = principal.to_string();
        query = query.filter(questions::asker.eq(id.clone()).or(questions::receiver.eq(id)));
    }
    query.load::<Row>(connection)?.into_iter().map(read_row).collect()
}

/// How many open questions a principal asked, and how many are for another.
pub fn count_open(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    asker: PrincipalId,
    receiver: PrincipalId,
) -> Result<(u64, u64), StoreError> {
    let open = || {
        questions::table
            .filter(questions::tenant.eq(tenant.as_str()))
            .filter(questions::status.eq(QuestionStatus::Open.as_str()))
    };
    let asked: i64 = open().filter(questions::asker.eq(asker.to_string())).count().get_result(connection)?;
    let received: i64 =
        open().filter(questions::receiver.eq(receiver.to_string())).count().get_result(connection)?;
    Ok((read::count("questions", asked)?, read::count("questions", received)?))
}

/// Questions whose time is over, of all tenants.
pub fn due(
    connection: &mut AnyConnection,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(TenantSlug, QuestionId)>, StoreError> {
    questions::table
        .filter(questions::due_at.le(Some(now.unix_milliseconds())))
        .order(questions::due_at)
        .limit(limit)
        .select((questions::tenant, questions::id))
        .load::<(String, String)>(connection)?
        .iter()
        .map(|(tenant, id)| Ok((read::text("questions.tenant", tenant)?, read::text("questions.id", id)?)))
        .collect()
}

/// When the next question is due.
pub fn next_due(connection: &mut AnyConnection) -> Result<Option<Timestamp>, StoreError> {
    let first: Option<Option<i64>> = questions::table
        .filter(questions::due_at.is_not_null())
        .order(questions::due_at)
        .select(questions::due_at)
        .first(connection)
        .optional()?;
    Ok(read::optional_time(first.flatten()))
}

/// Says that a credential fetched an answer; the receipt at `log_index` records it.
pub fn fetch(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credential: CredentialId,
    question: QuestionId,
    log_index: u64,
) -> Result<(), StoreError> {
    if is_fetched(connection, tenant, credential, question)? {
        return Ok(());
    }
    diesel::insert_into(fetched::table)
        .values((
            fetched::tenant.eq(tenant.as_str()),
            fetched::credential.eq(credential.to_string()),
            fetched::question.eq(question.to_string()),
            fetched::log_index.eq(read::stored_count(log_index)),
        ))
        .execute(connection)?;
    Ok(())
}

/// Whether a credential fetched an answer before.
pub fn is_fetched(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credential: CredentialId,
    question: QuestionId,
) -> Result<bool, StoreError> {
    let key = (tenant.as_str(), credential.to_string(), question.to_string());
    let found = fetched::table.find(key).select(fetched::log_index).first::<i64>(connection).optional()?;
    Ok(found.is_some())
}

/// The first question whose answer one of these credentials fetched.
pub fn first_fetched(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credentials: &[CredentialId],
) -> Result<Option<QuestionId>, StoreError> {
    let credentials: Vec<String> = credentials.iter().map(ToString::to_string).collect();
    let first: Option<String> = fetched::table
        .filter(fetched::tenant.eq(tenant.as_str()).and(fetched::credential.eq_any(credentials)))
        .order((fetched::log_index, fetched::question))
        .select(fetched::question)
        .first(connection)
        .optional()?;
    read::optional_text("fetched_answers.question", first.as_deref())
}
