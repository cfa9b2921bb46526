//! Erasing the content of a request, and what is erased by itself.

use super::Problem;
use super::body;
use super::request::{self, has_leaf, if_match, path_id};
use super::terms::versioned;
use crate::actions::erasure::{self, Family};
use crate::actions::retention::{self, Rules};
use crate::app::App;
use crate::domain::{Label, ReceiptId};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

/// Erases what a receipt's request holds, wherever it stands; one receipt for each so many.
pub(super) async fn erase(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let id: ReceiptId = path_id(&path, "receipt")?;
    let mut members = body::object(&request, &mut payload).await?;
    let reason: Option<Label> = members.parsed_required("reason");
    let reason = members.finish("reason", reason)?;
    let tenant = operator.person().tenant.clone();
    let (mut erased, mut receipts, mut at) = (Vec::new(), Vec::new(), None);
    loop {
        let slug = tenant.clone();
        let family = app.read(move |connection| Ok(Family::of(connection, &slug, id))).await??;
        let (operator, why) = (operator.clone(), reason.clone());
        let sealed = app
            .committer
            .act(tenant.clone(), move |books| erasure::erase(books, &operator, &family, &why))
            .await??;
        has_leaf(&request);
        app.content_erased();
        app.decisions_changed();
        let done = &sealed.value;
        at = at.or(Some(done.at));
        erased.extend(done.receipts.iter().copied());
        receipts.extend(super::receipt(&sealed, &done.stored));
        if !done.more {
            break;
        }
    }
    Ok(HttpResponse::Ok().json(json!({"at": at, "reason": reason, "erased": erased, "receipts": receipts})))
}

/// The live rules of retention.
pub(super) async fn get_retention(
    app: web::Data<App>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let (rules, live) = app.read(move |connection| retention::live(connection, &person.tenant)).await?;
    let version = live.as_ref().map_or(0, |live| live.version);
    let answer = json!({
        "version": version,
        "retention": rules.to_json(),
        "live_since": live.as_ref().map(|live| live.live_since),
        "author": live.as_ref().map(|live| live.author),
    });
    Ok(versioned(version, &answer))
}

/// Puts rules of retention live.
pub(super) async fn put_retention(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let seen = if_match(&request)?;
    let rules = Rules::read(&body::document(&request, &mut payload).await?)?;
    let tenant = operator.person().tenant.clone();
    let sealed =
        app.committer.act(tenant, move |books| retention::put(books, &operator, seen, &rules)).await??;
    has_leaf(&request);
    app.retention_changed();
    let (version, stored) = &sealed.value;
    Ok(versioned(*version, &json!({"version": version, "receipt": super::receipt(&sealed, stored)})))
}
