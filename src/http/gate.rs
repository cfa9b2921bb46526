//! `POST /v1/gate/evaluate`: the one call that decides before anything happens.

use super::request::{self, has_leaf};
use super::{Problem, body};
use crate::actions::Error;
use crate::actions::answer::Answer;
use crate::actions::caller::Presented;
use crate::actions::evaluate::{Call, evaluate as decide};
use crate::app::{App, CallerError};
use crate::crypto::secret::SecretKind;
use crate::crypto::token::{Claims, Verified};
use crate::domain::{Chain, Malformed, TenantSlug, json};
use crate::engine::{Described, read_request};
use crate::evidence::receipt::Receipt;
use crate::storage::access::Subject;
use crate::storage::receipt::StoredReceipt;
use actix_web::{HttpRequest, HttpResponse, web};
use std::sync::Arc;

/// How long an idempotency key may be.
const LONGEST_KEY: usize = 255;

/// Answers an agent's described action.
pub(super) async fn evaluate(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let claims = presented(&app, &request).await?;
    let presented = Presented { credential: claims.client_id, agent: claims.sub, scopes: claims.scope };
    let tenant = claims.tenant.clone();
    app.limits.call(presented.credential)?;
    let (described, key) = match asked(&request, &mut payload).await {
        Ok(asked) => asked,
        Err(unreadable) => {
            // It never reaches the batch, which would say that the credential is dead: who may not ask is told
            // that, and not how to ask.
            request::live(&app, &request, &claims).await?;
            return Err(unreadable);
        }
    };
    let call = Call { presented, described, key, links: app.links.clone(), mail: app.mail.clone() };
    let uses_decision = call.described.decision.is_some();
    let sealed = app.committer.gate(tenant.clone(), move |books| decide(books, &call)).await??;
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

/// The described action, and under which key it is answered once.
async fn asked(
    request: &HttpRequest,
    payload: &mut web::Payload,
) -> Result<(Described, Option<String>), Problem> {
    let described = read_request(&body::value(request, payload).await?)?;
    Ok((described, idempotency_key(request)?))
}

fn respond(answer: &Answer, receipt: &Receipt) -> HttpResponse {
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
    let claims = presented(&app, &request).await?;
    app.limits.call(claims.client_id)?;
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
    let slug = tenant.clone();
    let receipt = app
        .read(move |connection| {
            let Some(mut tree) = crate::app::tree::Tree::now(connection, &slug)? else { return Ok(None) };
            tree.receipt(connection, &stored).map(Some)
        })
        .await?;
    receipt.ok_or_else(|| Problem::not_found("tenant"))
}

/// What the caller's token claims; whether its credential is live is read in the batch.
async fn presented(app: &App, request: &HttpRequest) -> Result<Arc<Verified<Claims>>, Problem> {
    let bearer = request::bearer(request).ok_or(CallerError::Missing)?;
    if bearer.starts_with(SecretKind::Session.prefix()) {
        request::person(app, request).await?;
        return Err(Error::Forbidden("only an agent puts actions to the gate".into()).into());
    }
    let claims = app.claims(bearer).inspect_err(|error| request::attribute_dead(request, error))?;
    // For whom the agent acts is filled in where the call is listed.
    let subject = Subject {
        chain: Chain::Credential(claims.client_id),
        principal: None,
        agent: Some(claims.sub),
        credential: Some(claims.client_id),
    };
    request::attribute(request, &claims.tenant, subject);
    Ok(claims)
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
