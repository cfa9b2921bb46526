//! `POST /v1/gate/evaluate`: the one call that decides before anything happens.

use super::request::{self, has_leaf};
use super::{Problem, body};
use crate::actions::Error;
use crate::actions::answer::Answer;
use crate::actions::caller::{PointCaller, Presented};
use crate::actions::evaluate::{Call, evaluate as decide};
use crate::actions::request::{Derived, Private};
use crate::app::{App, CallerError};
use crate::crypto::secret::SecretKind;
use crate::crypto::token::{Bearer, Claims};
use crate::domain::{Chain, Malformed, TenantSlug, json};
use crate::engine::{Described, read_attested_request, read_request};
use crate::evidence::receipt::Receipt;
use crate::storage::access::Subject;
use crate::storage::receipt::StoredReceipt;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// How many characters and parts arguments have at most that are checked at once, on the thread that answers.
const SHORT_ARGUMENTS: usize = 4096;
/// How long an idempotency key may be.
const LONGEST_KEY: usize = 255;

/// Answers a described action, of an agent or of an enforcement point that asks for one.
pub(super) async fn evaluate(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let bearer = presented(&app, &request).await?;
    let asked = match asked(&app, &request, &mut payload, &bearer).await {
        Ok(asked) => asked,
        Err(unreadable) => {
            // It never reaches the batch, which would say that the caller is dead: who may not ask is told that, and
            // not how to ask.
            request::live(&app, &request, &bearer).await?;
            return Err(unreadable);
        }
    };
    let (derived, described) = derive(&app, &asked.tenant, asked.described, asked.point.as_ref()).await;
    let tenant = asked.tenant;
    let catalogue = Arc::new(OnceLock::new());
    let call = Call {
        presented: asked.presented,
        enforcement_point: asked.point.as_ref().map(|point| point.id),
        private: Private::of(&described),
        described,
        derived,
        catalogue: catalogue.clone(),
        key: asked.key,
        links: app.links.clone(),
        posed: None,
    };
    let uses_decision = call.described.decision.is_some();
    let answered = app.committer.gate(tenant.clone(), move |books| decide(books, &call)).await?;
    if let Some(seen) = catalogue.get() {
        app.catalogue_seen(&tenant, seen.clone());
    }
    if let (Some(point), Err(Error::PointRevoked { .. })) = (&asked.point, &answered) {
        request::attribute_point(&request, point);
    }
    let sealed = answered?;
    has_leaf(&request);
    let answer = &sealed.value;
    let receipt = match sealed.receipt(&answer.stored) {
        Some(receipt) => receipt,
        None => stored_receipt(&app, &tenant, answer.stored.clone()).await?,
    };
    if uses_decision || receipt.body.outcome == Some(crate::domain::Outcome::Escalate) {
        app.decisions_changed();
    }
    Ok(respond(answer, &receipt))
}

/// What the call comes to by the catalogue as a batch saw it last, worked out before the batch, and away from the
/// threads that answer where its arguments are long; what it is, the batch says.
async fn derive(
    app: &App,
    tenant: &TenantSlug,
    described: Described,
    point: Option<&PointCaller>,
) -> (Option<Derived>, Described) {
    let seen = app.catalogue(tenant);
    let entry = seen.and_then(|seen| seen.catalogue.entries.get(&described.intent).cloned());
    let Some(entry) = entry else { return (None, described) };
    let point = point.map(|point| point.id);
    let is_long = described.arguments.as_ref().is_some_and(|arguments| {
        let mut room = SHORT_ARGUMENTS;
        !arguments.values().all(|value| fits(value, &mut room))
    });
    if !is_long {
        return (Some(Derived::by(entry, &described, point)), described);
    }
    let kept = described.clone();
    let derived = tokio::task::spawn_blocking(move || Derived::by(entry, &described, point)).await;
    (derived.ok(), kept)
}

/// Whether a value has no more parts and characters than there is room for, which it takes.
fn fits(value: &Value, room: &mut usize) -> bool {
    let taken = match value {
        Value::String(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => 8,
    };
    let Some(left) = room.checked_sub(taken) else { return false };
    *room = left;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, room)),
        Value::Object(members) => members.values().all(|member| fits(member, room)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// What is asked, for which agent, and by whom.
struct Asked {
    tenant: TenantSlug,
    presented: Presented,
    /// The enforcement point that asks for the agent, if one does.
    point: Option<PointCaller>,
    described: Described,
    /// Under which key it is answered once.
    key: Option<String>,
}

async fn asked(
    app: &App,
    request: &HttpRequest,
    payload: &mut web::Payload,
    bearer: &Bearer,
) -> Result<Asked, Problem> {
    let mut body = body::value(request, payload).await?;
    let (presented, point, described) = match bearer {
        Bearer::Agent(claims) => (Presented::from(&***claims), None, read_request(&body)?),
        Bearer::Point(claims) => {
            let point = app.point(&claims.tenant, claims.point)?;
            let agent = subject(app, request, &point, &mut body)?;
            app.limits.call(agent.credential)?;
            (agent, Some(point), read_attested_request(&body)?)
        }
    };
    let key = idempotency_key(request)?;
    Ok(Asked { tenant: bearer.tenant().clone(), presented, point, described, key })
}

/// The agent for whom an enforcement point asks, by its own token, which is taken out of the body. The token is
/// verified as if the agent had called; where it is none of this tenant's, the body does not fit.
fn subject(
    app: &App,
    request: &HttpRequest,
    point: &PointCaller,
    body: &mut Value,
) -> Result<Presented, Problem> {
    let wrong = |detail: &str| Problem::from(Malformed::at("/subject_token", detail));
    let elsewhere = "the token is no agent's of this tenant";
    let token = match body.as_object_mut().and_then(|members| members.remove("subject_token")) {
        Some(Value::String(token)) => token,
        None => {
            return Err(wrong("member `subject_token` is missing: the token of the agent that is asked for"));
        }
        Some(_) => return Err(wrong("a text is expected: the token of the agent that is asked for")),
    };
    let claims = match app.bearer(&token) {
        Ok(Bearer::Agent(claims)) if claims.tenant == point.tenant => claims,
        Ok(Bearer::Agent(_) | Bearer::Point(_)) => return Err(wrong(elsewhere)),
        Err(CallerError::Dead { tenant, subject, detail }) if tenant == point.tenant => {
            request::attribute(request, &tenant, subject);
            request::note(request, point.id.to_string());
            return Err(CallerError::Dead { tenant, subject, detail }.into());
        }
        Err(CallerError::Unattributable(detail)) => return Err(wrong(&detail)),
        Err(CallerError::Store(error)) => return Err(error.into()),
        Err(CallerError::Missing | CallerError::Dead { .. } | CallerError::DeadPoint { .. }) => {
            return Err(wrong(elsewhere));
        }
    };
    attribute_agent(request, &claims);
    request::note(request, point.id.to_string());
    Ok(Presented::from(&**claims))
}

pub(super) fn respond(answer: &Answer, receipt: &Receipt) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if answer.is_replay {
        response.insert_header(("idempotency-replayed", "true"));
    }
    response.content_type("application/json").body(answer.to_json(receipt))
}

/// The same work without a committer, for the benchmark: body, token and an answer of the same size.
pub(super) async fn bare(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
    answer: web::Data<BareAnswer>,
) -> Result<HttpResponse, Problem> {
    presented(&app, &request).await?;
    let described = read_request(&body::value(&request, &mut payload).await?)?;
    std::hint::black_box(&described);
    Ok(HttpResponse::Ok().content_type("application/json").body(answer.0.clone()))
}

/// What the benchmark's bare handler answers.
#[derive(Debug)]
pub(super) struct BareAnswer(pub(super) web::Bytes);

/// A receipt of the log with its path at the log's size of now.
pub(super) async fn stored_receipt(
    app: &App,
    tenant: &TenantSlug,
    stored: Arc<StoredReceipt>,
) -> Result<Receipt, Problem> {
    let (slug, roots) = (tenant.clone(), app.roots.clone());
    let receipt = app
        .read(move |connection| {
            let Some(tree) = crate::app::tree::Tree::now(connection, &slug)? else { return Ok(None) };
            tree.knowing(&roots).receipt(connection, &stored).map(Some)
        })
        .await?;
    receipt.ok_or_else(|| Problem::not_found("tenant"))
}

/// Whose token the caller's is, and what it claims; whether they are live is read in the batch.
async fn presented(app: &App, request: &HttpRequest) -> Result<Bearer, Problem> {
    let token = request::bearer(request).ok_or(CallerError::Missing)?;
    if token.starts_with(SecretKind::Session.prefix()) {
        request::person(app, request).await?;
        let detail = "only an agent, or an enforcement point for one, puts actions to the gate";
        return Err(Error::Forbidden(detail.into()).into());
    }
    let bearer = app.bearer(token).inspect_err(|error| request::attribute_dead(request, error))?;
    match &bearer {
        Bearer::Agent(claims) => {
            attribute_agent(request, claims);
            app.limits.call(claims.client_id)?;
        }
        Bearer::Point(claims) => {
            request::attribute_point(request, &app.point(&claims.tenant, claims.point)?);
            app.limits.point_call(claims.point)?;
        }
    }
    Ok(bearer)
}

/// Says that this is a call of the agent with these claims; for whom it acts is filled in where the call is listed.
fn attribute_agent(request: &HttpRequest, claims: &Claims) {
    let subject = Subject {
        chain: Chain::Credential(claims.client_id),
        principal: None,
        agent: Some(claims.sub),
        credential: Some(claims.client_id),
    };
    request::attribute(request, &claims.tenant, subject);
}

/// The `Idempotency-Key`, as a quoted string (RFC 9651 §3.3.3) or bare.
pub(super) fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, Problem> {
    let mut values = request.headers().get_all("idempotency-key");
    let Some(value) = values.next() else { return Ok(None) };
    let wrong = |why: &str| Problem::from(Malformed::whole(format!("the header Idempotency-Key {why}")));
    if values.next().is_some() {
        return Err(wrong("stands twice"));
    }
    let text = value.to_str().map_err(|_| wrong("holds characters other than ASCII"))?.trim();
    let key = match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').ok_or_else(|| wrong("lacks its closing quote"))?,
        None => text,
    };
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(wrong(&format!("has {} characters, 1 to {LONGEST_KEY} are allowed", key.len())));
    }
    if !key.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\') {
        return Err(wrong("holds control characters, quotes or backslashes"));
    }
    Ok(Some(key.to_owned()))
}

/// Reads the bytes of an answer for the bare handler.
pub(super) fn bare_answer(size: usize) -> BareAnswer {
    let filler = "x".repeat(size.saturating_sub(16).min(json::LARGEST_BODY_BYTES));
    BareAnswer(web::Bytes::from(format!("{{\"filler\":\"{filler}\"}}")))
}
