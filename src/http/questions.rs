//! Questions between members' agents: asked, waited for, answered, taken back.

use super::request::{self, Query, has_leaf, path_id};
use super::{Problem, body, gate};
use crate::actions::answer::Answer;
use crate::actions::question::{
    self as act, Answering, Asking, By, LONGEST_QUESTION, QUESTION_LIFETIME, screened,
};
use crate::app::{App, Caller};
use crate::committer::{Sealed, clock};
use crate::domain::{
    AgentKind, DecisionId, Duration, ExternalName, Malformed, QuestionId, QuestionStatus, Scope, TenantSlug,
};
use crate::storage::question::{self, Question};
use crate::storage::{AnyConnection, StoreError, receipt};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::time::Duration as Wait;

/// How long a caller may wait for a change.
const LONGEST_WAIT_SECONDS: i64 = 60;
/// How often a waiting call looks again: another node may have answered.
const LOOK_AGAIN: Wait = Wait::from_secs(1);

/// Asks another member's agent.
pub(super) async fn ask(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let agent = request::agent(&app, &request).await?;
    agent.require_carried(Scope::QuestionAsk)?;
    let mut members = body::object(&request, &mut payload).await?;
    let to: Option<ExternalName> = members.parsed_required("to");
    let text = members.required("text", read_text);
    let about: Option<ExternalName> = members.parsed("about");
    let seconds: Option<i64> = members.optional("expires_in");
    let decision: Option<DecisionId> = members.parsed("decision");
    let (to, text) = members.finish("to, text, about, expires_in, decision", to.zip(text))?;
    let asking = Asking {
        presented: agent.presented,
        to,
        about,
        text,
        lifetime: lifetime(seconds)?,
        decision,
        key: gate::idempotency_key(&request)?,
        links: app.links.clone(),
    };
    let sealed = app.committer.act(agent.tenant.clone(), move |books| act::ask(books, asking)).await??;
    respond(&app, &request, &agent.tenant, &sealed).await
}

/// Answers a question.
pub(super) async fn answer(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let agent = request::agent(&app, &request).await?;
    agent.require_carried(Scope::QuestionAnswer)?;
    let id: QuestionId = path_id(&path, "question")?;
    let mut members = body::object(&request, &mut payload).await?;
    let text = members.required("text", read_text);
    let decision: Option<DecisionId> = members.parsed("decision");
    let text = members.finish("text, decision", text)?;
    let answering = Answering {
        presented: agent.presented,
        question: id,
        text,
        decision,
        key: gate::idempotency_key(&request)?,
        links: app.links.clone(),
    };
    let sealed =
        app.committer.act(agent.tenant.clone(), move |books| act::answer(books, answering)).await??;
    respond(&app, &request, &agent.tenant, &sealed).await
}

fn read_text(value: Value) -> Result<String, Malformed> {
    match value {
        Value::String(text) => screened(&text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(Malformed::whole("a text is expected"))
        }
    }
}

fn lifetime(seconds: Option<i64>) -> Result<Duration, Malformed> {
    let most = LONGEST_QUESTION.whole_seconds();
    match seconds {
        None => Ok(QUESTION_LIFETIME),
        Some(seconds) if (1..=most).contains(&seconds) => Ok(Duration::seconds(seconds)),
        Some(seconds) => {
            let detail = format!("{seconds} seconds asked, 1 to {most} are allowed");
            Err(Malformed::at("/expires_in", detail))
        }
    }
}

async fn respond(
    app: &App,
    request: &HttpRequest,
    tenant: &TenantSlug,
    sealed: &Sealed<Answer>,
) -> Result<HttpResponse, Problem> {
    has_leaf(request);
    app.decisions_changed();
    let answer = &sealed.value;
    let receipt = match sealed.receipt(&answer.stored) {
        Some(receipt) => receipt,
        None => gate::stored_receipt(app, tenant, answer.stored.clone()).await?,
    };
    Ok(gate::respond(answer, &receipt))
}

/// One question; with `?wait=` after it ended, or when the time is over.
pub(super) async fn get(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let caller = reader(&app, &request).await?;
    let query = Query::read(&request, &["wait"])?;
    let deadline = deadline(&query)?;
    let id: QuestionId = path_id(&path, "question")?;
    let mut changes = app.watch_decisions();
    let mut found = find(&app, &caller, id).await?;
    while tokio::time::Instant::now() < deadline
        && found.status_at(clock::now()) == QuestionStatus::Open
        && !app.is_stopping()
    {
        let look_again = (tokio::time::Instant::now() + LOOK_AGAIN).min(deadline);
        drop(tokio::time::timeout_at(look_again, changes.changed()).await);
        found = find(&app, &caller, id).await?;
    }
    if let Caller::Agent(agent) = &caller
        && agent.kind == AgentKind::Acting
        && found.answer_index.is_some()
    {
        // Nobody else's words leave before it is durable who took them in.
        let by = agent.clone();
        let fetched =
            app.committer.act(agent.tenant.clone(), move |books| act::fetch(books, &by, id)).await??;
        if fetched.value.is_new {
            has_leaf(&request);
        }
        found = fetched.value.question;
    }
    let tenant = caller.tenant().clone();
    let shown = app.read(move |connection| described(connection, &tenant, &found, true)).await?;
    Ok(HttpResponse::Ok().json(shown))
}

fn deadline(query: &Query) -> Result<tokio::time::Instant, Problem> {
    let wait = query.number("wait", 0, 0, LONGEST_WAIT_SECONDS)?;
    Ok(tokio::time::Instant::now() + Wait::from_secs(u64::try_from(wait).unwrap_or(0)))
}

/// Who may read questions: a person, an agent that may ask, or an answering one that may answer.
async fn reader(app: &App, request: &HttpRequest) -> Result<Caller, Problem> {
    let caller = request::caller(app, request).await?;
    if let Caller::Agent(agent) = &caller {
        agent.require(match agent.kind {
            AgentKind::Answering => Scope::QuestionAnswer,
            AgentKind::Acting | AgentKind::Reading => Scope::QuestionAsk,
        })?;
    }
    Ok(caller)
}

async fn find(app: &App, caller: &Caller, id: QuestionId) -> Result<Question, Problem> {
    let tenant = caller.tenant().clone();
    let found = app.read(move |connection| question::find(connection, &tenant, id)).await?;
    let found = found.filter(|found| match caller {
        Caller::Person(person) => found.asker == person.id || found.receiver == person.id,
        Caller::Agent(agent) => match agent.kind {
            AgentKind::Acting => found.agent == agent.presented.agent,
            AgentKind::Reading => found.asker == agent.principal,
            AgentKind::Answering => {
                found.receiver == agent.principal
                    && found.answerer.is_none_or(|only| only == agent.presented.agent)
            }
        },
    });
    found.ok_or_else(|| Problem::not_found("question"))
}

/// A list of questions, without what they say.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let caller = reader(&app, &request).await?;
    let query = Query::read(&request, &["box", "status", "wait", "limit", "cursor"])?;
    let status: Option<QuestionStatus> = query.parsed("status")?;
    let (limit, before) = (query.limit()?, query.id_cursor::<QuestionId>()?);
    let deadline = deadline(&query)?;
    let wanted = query.parsed::<Wanted>("box")?;
    let of = match &caller {
        Caller::Person(person) => match wanted {
            Some(Wanted::Inbox) => question::Box::Inbox(person.id, None),
            Some(Wanted::Asked) | None => question::Box::Asked(person.id),
        },
        Caller::Agent(agent) => match (agent.kind, wanted) {
            (AgentKind::Answering, Some(Wanted::Inbox) | None) => {
                question::Box::Inbox(agent.principal, Some(agent.presented.agent))
            }
            (AgentKind::Acting | AgentKind::Reading, Some(Wanted::Asked) | None) => {
                question::Box::Asked(agent.principal)
            }
            (AgentKind::Answering, Some(Wanted::Asked)) => return Err(other_box("inbox")),
            (AgentKind::Acting | AgentKind::Reading, Some(Wanted::Inbox)) => return Err(other_box("asked")),
        },
    };
    let mut changes = app.watch_decisions();
    loop {
        let (tenant, before) = (caller.tenant().clone(), before.clone());
        let items = app
            .read(move |connection| {
                let found = question::page(connection, &tenant, of, status, before.as_deref(), limit)?;
                found
                    .iter()
                    .map(|one| described(connection, &tenant, one, false))
                    .collect::<Result<Vec<_>, _>>()
            })
            .await?;
        if !items.is_empty() || tokio::time::Instant::now() >= deadline || app.is_stopping() {
            let last = items.last().and_then(|last| last.get("id")?.as_str().map(str::to_owned));
            return Ok(super::page(&items, last, limit));
        }
        let look_again = (tokio::time::Instant::now() + LOOK_AGAIN).min(deadline);
        drop(tokio::time::timeout_at(look_again, changes.changed()).await);
    }
}

/// Which questions a list is of.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Asked,
    Inbox,
}

impl std::str::FromStr for Wanted {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "asked" => Ok(Self::Asked),
            "inbox" => Ok(Self::Inbox),
            other => Err(format!("`{}` is no box: asked or inbox", other.escape_debug())),
        }
    }
}

fn other_box(own: &str) -> Problem {
    Malformed::whole(format!("parameter `box`: an agent of this kind has `{own}` alone")).into()
}

/// Takes a question back.
pub(super) async fn withdraw(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let by = match request::caller(&app, &request).await? {
        Caller::Agent(agent) => {
            agent.require_carried(Scope::QuestionAsk)?;
            By::Agent(agent)
        }
        Caller::Person(person) => By::Person(person),
    };
    let id: QuestionId = path_id(&path, "question")?;
    let tenant = match &by {
        By::Agent(agent) => agent.tenant.clone(),
        By::Person(person) => person.tenant.clone(),
    };
    let sealed = app.committer.urgent(tenant.clone(), move |books| act::withdraw(books, &by, id)).await??;
    has_leaf(&request);
    app.decisions_changed();
    let found = sealed.value;
    let shown = app.read(move |connection| described(connection, &tenant, &found, false)).await?;
    Ok(HttpResponse::Ok().json(shown))
}

/// A question as it is shown; what was said alone where it is asked for.
fn described(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    found: &Question,
    with_texts: bool,
) -> Result<Value, StoreError> {
    let mut shown = json!({
        "id": found.id,
        "status": found.status_at(clock::now()).as_str(),
        "from": {"principal": found.asker, "agent": found.agent},
        "to": {"principal": found.receiver, "agent": found.answerer},
        "asked_at": found.asked_at,
        "expires_at": found.expires_at,
        "ended_at": found.ended_at,
    });
    if !with_texts {
        return Ok(shown);
    }
    let (text, about) = match receipt::find(connection, tenant, found.ask_index)? {
        Some(stored) => act::said(&stored),
        None => (None, None),
    };
    super::insert(&mut shown, "text", Some(json!(text)));
    super::insert(&mut shown, "about", about.map(|about| json!(about)));
    if let Some(place) = found.answer_index {
        let answer = receipt::find(connection, tenant, place)?.and_then(|stored| act::said(&stored).0);
        super::insert(&mut shown, "answer", Some(json!({"text": answer, "untrusted": true})));
    }
    Ok(shown)
}
