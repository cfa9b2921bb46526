//! `POST /v1/who`: who allowed this, in one sentence, with the receipts behind it and a file to hand over.

use super::request::{self, path_id};
use super::{Problem, body};
use crate::app::who::{self, Answer, Link, Sought, Told};
use crate::app::{App, Caller, LookupError, Place};
use crate::domain::{ReceiptId, Scope};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// Says who allowed what is asked about.
pub(super) async fn ask(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let caller = reader(&app, &request).await?;
    let mut members = body::object(&request, &mut payload).await?;
    let sought = members.required("q", |q| Sought::read(&q));
    let sought = members.finish("q", sought)?;
    Ok(HttpResponse::Ok().json(answer(&asked(&app, caller, sought).await?)))
}

/// Looks for what is asked about, for the wire and for the page; a problem where nothing is found.
pub(crate) async fn asked(app: &App, caller: Caller, sought: Sought) -> Result<Answer, Problem> {
    let place = place(app, &caller)?;
    let forms = sought.forms();
    who::ask(app, place, caller, sought).await?.map_err(|not_searched| {
        let unsure = match not_searched {
            0 => String::new(),
            many => {
                format!("; the oldest {many} receipts are not looked through yet: try again in a few minutes")
            }
        };
        Problem::not_found_because(format!(
            "nothing that you may see is known by that: it was looked for as {forms}{unsure}"
        ))
    })
}

fn place(app: &App, caller: &Caller) -> Result<Place, Problem> {
    let place = app.limits.questions.take(caller.tenant(), caller.subject().chain);
    place.map_err(|full| {
        Problem::too_many(full, "as many such questions are being looked into for you as may be")
    })
}

impl From<LookupError> for Problem {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Store(error) => error.into(),
            LookupError::Unavailable(why) => why.into(),
            LookupError::Refused(error) => error.into(),
        }
    }
}

fn answer(answer: &Answer) -> Value {
    let mut said = answer.told.first().map(told).unwrap_or_default();
    let matches = (answer.told.len() > 1).then(|| answer.told.iter().map(told).collect());
    super::insert(&mut said, "matches", matches);
    super::insert(&mut said, "more", answer.more.then(|| json!(true)));
    super::insert(&mut said, "not_searched", (answer.not_searched > 0).then(|| json!(answer.not_searched)));
    said
}

fn told(told: &Told) -> Value {
    let mut said = json!({
        "sentence": told.sentence,
        "standing": told.standing,
        "receipt": told.receipt,
        "at": told.at,
        "chain": told.chain.iter().map(link).collect::<Vec<_>>(),
        "file": format!("/v1/who/{}/file", told.receipt),
    });
    super::insert(&mut said, "decision", told.decision.map(|id| json!(id)));
    super::insert(&mut said, "effect", told.effect.map(|id| json!(id)));
    said
}

fn link(link: &Link) -> Value {
    json!({
        "id": link.id,
        "kind": link.kind.as_str(),
        "at": link.at,
        "who": link.who,
        "says": link.says,
    })
}

/// The receipts behind one, with their documents and fresh paths, as lines for `procura verify`.
pub(super) async fn file(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let caller = reader(&app, &request).await?;
    hand_over(&app, caller, &path).await
}

/// The file that [`file()`] answers, for the wire and for the page.
pub(crate) async fn hand_over(app: &App, caller: Caller, id: &str) -> Result<HttpResponse, Problem> {
    let place = place(app, &caller)?;
    let id: ReceiptId = path_id(id, "receipt")?;
    let lines = who::file(app, place, caller, id).await?.ok_or_else(|| Problem::not_found("receipt"))?;
    Ok(HttpResponse::Ok()
        .content_type("application/jsonl")
        .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"who-{id}.jsonl\"")))
        .body(lines))
}

async fn reader(app: &App, request: &HttpRequest) -> Result<Caller, Problem> {
    let caller = request::caller(app, request).await?;
    if let Caller::Agent(agent) = &caller {
        agent.require(Scope::CallRead)?;
    }
    Ok(caller)
}
