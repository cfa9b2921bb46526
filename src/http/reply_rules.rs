//! The reply rules, in versions, and what a draft of them would change.

use super::Problem;
use super::body::{self, Members};
use super::preview;
use super::request::{self, Query, has_leaf, if_match, path_id};
use super::terms::versioned;
use crate::actions::caller::{Operator, Person};
use crate::actions::preview::USUAL_WINDOW;
use crate::actions::preview_rules::{self, Made, Preview};
use crate::actions::reply_rules as act;
use crate::app::App;
use crate::committer::{Sealed, clock};
use crate::domain::Timestamp;
use crate::screening::Rules;
use crate::storage::receipt::StoredReceipt;
use crate::storage::reply_rules::{self, RulesVersion};
use crate::storage::{StoreError, read_document};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::sync::Arc;

/// The live rules; version 0 and the defaults where nobody put any.
pub(super) async fn get(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let live = app.read(move |connection| reply_rules::live(connection, &person.tenant)).await?;
    let Some(live) = live else {
        let answer =
            json!({"version": 0, "rules": Rules::default().to_json(), "live_since": null, "author": null});
        return Ok(versioned(0, &answer));
    };
    Ok(versioned(live.version, &describe(&live)?))
}

/// Puts rules live.
pub(super) async fn put(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let seen = if_match(&request)?;
    let rules = Rules::read(&body::document(&request, &mut payload).await?)?;
    let sealed = put_rules(&app, &request, operator, seen, rules).await?;
    let (version, stored) = &sealed.value;
    Ok(versioned(*version, &json!({"version": version, "receipt": super::receipt(&sealed, stored)})))
}

/// Puts rules live, for the wire and for the page.
pub(crate) async fn put_rules(
    app: &App,
    request: &HttpRequest,
    operator: Operator,
    seen: u64,
    rules: Rules,
) -> Result<Sealed<(u64, Arc<StoredReceipt>)>, Problem> {
    let tenant = operator.person().tenant.clone();
    let sealed = app.committer.act(tenant, move |books| act::put(books, &operator, seen, &rules)).await??;
    has_leaf(request);
    Ok(sealed)
}

/// Versions, newest first.
pub(super) async fn versions(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, before) = (query.limit()?, query.version_cursor()?);
    let versions =
        app.read(move |connection| reply_rules::page(connection, &person.tenant, before, limit)).await?;
    let cursor = versions.last().map(|last| last.version.to_string());
    let items = versions.iter().map(describe).collect::<Result<Vec<_>, _>>()?;
    Ok(super::page(&items, cursor, limit))
}

/// One version.
pub(super) async fn version(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let version = path_id(&path, "version")?;
    let found = app.read(move |connection| reply_rules::find(connection, &person.tenant, version)).await?;
    Ok(HttpResponse::Ok().json(describe(&found.ok_or_else(|| Problem::not_found("version"))?)?))
}

/// What a draft would have made of the texts that are kept, beside what the live rules make of them.
pub(super) async fn preview(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let mut members = Members::of(body::document(&request, &mut payload).await?)?;
    let draft = members.required("rules", |value| Rules::read(&value));
    let since: Option<Timestamp> = members.parsed("since");
    let draft = members.finish("rules, since", draft)?;
    let preview = rehearse(&app, operator.person(), draft, since).await?;
    let mut answer = json!({"considered": preview.considered, "changes": preview.changes});
    // Which texts of other people change would tell what stands in them, draft by draft.
    if operator.person().sees_tenant()
        && let Some(answer) = answer.as_object_mut()
    {
        let changed = preview.changed.iter().map(|changed| {
            json!({"receipt": changed.receipt, "at": changed.at, "was": made(&changed.was), "would_be": made(&changed.would_be)})
        });
        answer.insert("changed".into(), changed.collect());
    }
    Ok(HttpResponse::Ok().json(answer))
}

/// Puts a draft to the texts that are kept, for the wire and for the page; since [`USUAL_WINDOW`] ago, if not said.
pub(crate) async fn rehearse(
    app: &App,
    person: &Person,
    draft: Rules,
    since: Option<Timestamp>,
) -> Result<Preview, Problem> {
    let place = preview::place_for(app, person)?;
    let since = since.unwrap_or_else(|| clock::now().minus(USUAL_WINDOW));
    let tenant = person.tenant.clone();
    let look = move |connection: &mut _| preview_rules::preview(connection, &tenant, &draft, since);
    Ok(app.read_in(place, look).await?.1)
}

fn made(made: &Made) -> Value {
    json!({"withheld": made.withheld, "masked": made.masked, "answered": made.answered})
}

fn describe(version: &RulesVersion) -> Result<Value, StoreError> {
    Ok(json!({
        "version": version.version,
        "rules": read_document("reply_rules.document", &version.document, |rules| Ok(rules.clone()))?,
        "live_since": version.live_since,
        "author": version.author,
    }))
}
