//! The queue, and what became of effects.

use super::decision_shown::{Shown, shown};
use super::request::{self, Query, has_leaf, path_id};
use super::{Problem, body};
use crate::actions::caller::Person;
use crate::actions::decision::{self as act, Approved, Decided};
use crate::actions::effect::{self as act_effect, Report, Reporter};
use crate::app::{App, Caller};
use crate::committer::{Sealed, clock};
use crate::domain::{DecisionId, Duration, EffectId, Hash, Label, Malformed, Scope, TenantSlug};
use crate::engine::{Clause, CredentialClauses};
use crate::storage::decision::{self, Decision, DecisionStatus};
use crate::storage::effect::{Effect, EffectStatus};
use crate::storage::queue::{self, Part, Whose};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value, json};
use std::time::Duration as Wait;

/// How long a caller may wait for a change.
const LONGEST_WAIT_SECONDS: i64 = 60;
/// How often a waiting call looks again: another node may have decided.
const LOOK_AGAIN: Wait = Wait::from_secs(1);

/// One decision; with `?wait=` after it changed, or when the time is over.
pub(super) async fn get(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let caller = reader(&app, &request).await?;
    let query = Query::read(&request, &["wait"])?;
    let wait = query.number("wait", 0, 0, LONGEST_WAIT_SECONDS)?;
    let id: DecisionId = path_id(&path, "decision")?;
    let deadline = tokio::time::Instant::now() + Wait::from_secs(u64::try_from(wait).unwrap_or(0));
    let mut changes = app.watch_decisions();
    let mut found = find(&app, &caller, id).await?;
    while tokio::time::Instant::now() < deadline
        && found.status_at(clock::now()) == DecisionStatus::Open
        && !app.is_stopping()
    {
        let look_again = (tokio::time::Instant::now() + LOOK_AGAIN).min(deadline);
        drop(tokio::time::timeout_at(look_again, changes.changed()).await);
        found = find(&app, &caller, id).await?;
    }
    Ok(HttpResponse::Ok().json(shown(&app, caller.tenant(), found).await?))
}

/// Who may read decisions: the person whose queue it is, or an agent its own.
async fn reader(app: &App, request: &HttpRequest) -> Result<Caller, Problem> {
    let caller = request::caller(app, request).await?;
    if let Caller::Agent(agent) = &caller {
        agent.require(Scope::DecisionRead)?;
    }
    Ok(caller)
}

async fn find(app: &App, caller: &Caller, id: DecisionId) -> Result<Decision, Problem> {
    let tenant = caller.tenant().clone();
    let found = app.read(move |connection| decision::find(connection, &tenant, id)).await?;
    let found = found.filter(|found| match caller {
        Caller::Person(person) => found.is_seen_by(person.id, person.roles),
        Caller::Agent(agent) => found.agent == agent.presented.agent,
    });
    found.ok_or_else(|| Problem::not_found("decision"))
}

/// A list of decisions.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let caller = reader(&app, &request).await?;
    let query = Query::read(&request, &["status", "limit", "cursor"])?;
    let status: Option<DecisionStatus> = query.parsed("status")?;
    let (limit, before) = (query.limit()?, query.id_cursor::<DecisionId>()?);
    let whose = match &caller {
        Caller::Person(person) => Whose::Person(person.id, person.roles),
        Caller::Agent(agent) => Whose::Agent(agent.presented.agent),
    };
    let tenant = caller.tenant().clone();
    let shown = app
        .read(move |connection| {
            let part = Part { status, before: before.as_deref() };
            let found = queue::page(connection, &tenant, whose, part, limit)?;
            Shown::all(connection, &tenant, found)
        })
        .await?;
    let cursor = shown.last().map(|last| last.decision.id.to_string());
    let items: Vec<Value> = shown.iter().map(|one| one.to_json(&app)).collect();
    Ok(super::page(&items, cursor, limit))
}

/// A decision a person just ended, with the receipt of that act.
async fn ended<T>(
    app: &App,
    tenant: &TenantSlug,
    sealed: &Sealed<T>,
    decided: &Decided,
) -> Result<Value, Problem> {
    let mut answer = shown(app, tenant, decided.decision.clone()).await?;
    super::insert(&mut answer, "decision_receipt", super::receipt(sealed, &decided.stored));
    Ok(answer)
}

/// Gives the person's yes.
pub(super) async fn approve(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let id: DecisionId = path_id(&path, "decision")?;
    let mut members = body::object(&request, &mut payload).await?;
    let shown: Option<Hash> = members.parsed_required("input_hash");
    let seconds: Option<i64> = members.optional("valid_for");
    let shown = members.finish("input_hash, valid_for", shown)?;
    let answer = give_approval(&app, &request, person, id, shown, seconds.map(Duration::seconds)).await?;
    Ok(HttpResponse::Ok().json(answer))
}

/// Gives a yes, for the wire and for the page.
pub(crate) async fn give_approval(
    app: &App,
    request: &HttpRequest,
    person: Person,
    id: DecisionId,
    shown: Hash,
    valid_for: Option<Duration>,
) -> Result<Value, Problem> {
    let tenant = person.tenant.clone();
    let sealed = app
        .committer
        .act(tenant.clone(), move |books| act::approve(books, &person, id, shown, valid_for))
        .await??;
    has_leaf(request);
    app.decisions_changed();
    match &sealed.value {
        Approved::Given(decided) => ended(app, &tenant, &sealed, decided).await,
        Approved::Anew { reason } => Err(Problem::conflict(format!(
            "decision `{id}` is asked anew, since more stands in the way by now than you were shown ({reason}): \
             look at it again"
        ))),
        Approved::Withdrawn { reason } => {
            Err(Problem::conflict(format!("decision `{id}` was withdrawn: {reason}")))
        }
    }
}

/// Says no.
pub(super) async fn decline(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let id: DecisionId = path_id(&path, "decision")?;
    let mut members = body::object(&request, &mut payload).await?;
    let reason: Option<Label> = members.parsed("reason");
    let narrow = members.read("narrow", one_clause);
    members.finish("reason, narrow", Some(()))?;
    Ok(HttpResponse::Ok().json(give_decline(&app, &request, person, id, reason, narrow).await?))
}

/// Says no, for the wire and for the page.
pub(crate) async fn give_decline(
    app: &App,
    request: &HttpRequest,
    person: Person,
    id: DecisionId,
    reason: Option<Label>,
    narrow: Option<Clause>,
) -> Result<Value, Problem> {
    let tenant = person.tenant.clone();
    let act = move |books: &mut crate::committer::Books<'_>| {
        act::decline(books, &person, id, reason.as_ref().map(Label::as_str), narrow)
    };
    let sealed = app.committer.urgent(tenant.clone(), act).await??;
    has_leaf(request);
    app.decisions_changed();
    ended(app, &tenant, &sealed, &sealed.value).await
}

fn one_clause(value: Value) -> Result<Clause, Malformed> {
    let clauses = CredentialClauses::read(&Value::Array(vec![value])).map_err(|mut malformed| {
        for fault in &mut malformed.faults {
            let rest = fault.pointer.strip_prefix("/0").unwrap_or(&fault.pointer);
            fault.pointer = rest.to_owned();
        }
        malformed
    })?;
    clauses.0.into_iter().next().ok_or_else(|| Malformed::whole("a clause is expected"))
}

/// Says how an effect ended.
pub(super) async fn resolve(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let id: DecisionId = path_id(&path, "decision")?;
    let mut members = body::object(&request, &mut payload).await?;
    let status: Option<EffectStatus> = members.parsed_required("status");
    let reference: Option<Label> = members.parsed("reference");
    let status = members.finish("status, reference", status)?;
    Ok(HttpResponse::Ok().json(give_resolution(&app, &request, person, id, status, reference).await?))
}

/// Says how an effect ended, for the wire and for the page.
pub(crate) async fn give_resolution(
    app: &App,
    request: &HttpRequest,
    person: Person,
    id: DecisionId,
    status: EffectStatus,
    reference: Option<Label>,
) -> Result<Value, Problem> {
    let tenant = person.tenant.clone();
    let act = move |books: &mut crate::committer::Books<'_>| {
        act::resolve(books, &person, id, status, reference.as_ref().map(Label::as_str))
    };
    let sealed = app.committer.act(tenant.clone(), act).await??;
    has_leaf(request);
    app.decisions_changed();
    ended(app, &tenant, &sealed, &sealed.value).await
}

/// Takes a report on an effect.
pub(super) async fn outcome(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let by = request::reporter(&app, &request).await?;
    let tenant = match &by {
        Reporter::Agent(agent) => {
            agent.require_carried(Scope::ActionRequest)?;
            agent.tenant.clone()
        }
        Reporter::Point(point) => point.tenant.clone(),
    };
    let id: EffectId = path_id(&path, "effect")?;
    let mut members = body::object(&request, &mut payload).await?;
    let status: Option<EffectStatus> = members.parsed_required("status");
    let mut details = Map::new();
    for name in ["reference", "detail", "evidence"] {
        if let Some(value) = members.take(name) {
            details.insert(name.to_owned(), value);
        }
    }
    let status = members.finish("status, reference, detail, evidence", status)?;
    let report = Report { status, details: Value::Object(details) };
    let sealed =
        app.committer.act(tenant, move |books| act_effect::report(books, &by, id, &report)).await??;
    let reported = &sealed.value;
    if reported.stored.is_some() {
        has_leaf(&request);
        app.decisions_changed();
    }
    let mut answer = describe_effect(&reported.effect);
    let receipt = reported.stored.as_ref().and_then(|stored| super::receipt(&sealed, stored));
    super::insert(&mut answer, "receipt", receipt);
    Ok(HttpResponse::Ok().json(answer))
}

fn describe_effect(effect: &Effect) -> Value {
    json!({
        "id": effect.id,
        "intent": effect.intent,
        "status": effect.status.as_str(),
        "claimed_at": effect.claimed_at,
        "report_by": effect.report_by,
        "ended_at": effect.ended_at,
    })
}
