//! Mandates, policies and the catalogue.

use super::request::{self, Query, has_leaf, if_match, optional_if_match, path_id};
use super::{Problem, body};
use crate::actions::Error;
use crate::actions::caller::Person;
use crate::actions::mandate::Put;
use crate::actions::{catalogue as act_catalogue, mandate as act_mandate, policy as act_policy};
use crate::app::{App, Caller};
use crate::committer::{Books, Sealed};
use crate::domain::{Intent, Malformed, PrincipalId, Scope, TenantSlug};
use crate::engine::{
    Admission, CatalogueEntry, Change, MandateDocument, PolicyDocument, Warning, compare, compare_policies,
};
use crate::storage::StoreError;
use crate::storage::catalogue::{self, CatalogueVersion};
use crate::storage::mandate::{self, MandateVersion};
use crate::storage::policy::{self, PolicyVersion};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// Whose mandate the caller may read: their own, or the one they act under.
async fn mandate_reader(app: &App, request: &HttpRequest) -> Result<(Caller, PrincipalId), Problem> {
    let caller = request::caller(app, request).await?;
    let principal = match &caller {
        Caller::Person(person) => person.id,
        Caller::Agent(agent) => {
            agent.require(Scope::MandateRead)?;
            agent.principal
        }
    };
    Ok((caller, principal))
}

/// The live mandate.
pub(super) async fn get_mandate(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let (caller, principal) = mandate_reader(&app, &request).await?;
    let tenant = caller.tenant().clone();
    let live = app.read(move |connection| mandate::live(connection, &tenant, principal)).await?;
    let live = live.ok_or_else(|| Problem::not_found("mandate"))?;
    Ok(versioned(live.version, &describe_mandate(&live)?))
}

/// Puts a mandate live.
pub(super) async fn put_mandate(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let seen = if_match(&request)?;
    let document = MandateDocument::read(&body::document(&request, &mut payload).await?)?;
    let sealed = put_document(&app, &request, person, seen, document).await?;
    let put = &sealed.value;
    let receipt = super::receipt(&sealed, &put.stored);
    Ok(versioned(put.version, &was_put(put.version, put.change, &put.admission, receipt.as_ref())))
}

/// The answer to a document that was put live.
fn was_put(version: u64, change: Change, admission: &Admission, receipt: Option<&Value>) -> Value {
    json!({
        "version": version,
        "change": change.as_str(),
        "warnings": warnings(admission),
        "assumptions": admission.assumptions,
        "receipt": receipt,
    })
}

/// Warnings as the wire shows them.
pub(super) fn warnings(admission: &Admission) -> Vec<Value> {
    let each = |warning: &Warning| json!({"pointer": warning.pointer, "detail": warning.message});
    admission.warnings.iter().map(each).collect()
}

/// Puts a mandate live, for the wire and for the page.
pub(crate) async fn put_document(
    app: &App,
    request: &HttpRequest,
    person: Person,
    seen: u64,
    document: MandateDocument,
) -> Result<Sealed<Put>, Problem> {
    let (slug, id) = (person.tenant.clone(), person.id);
    let live = app.read(move |connection| mandate::live(connection, &slug, id)).await?;
    let live = live.map(|live| live.document);
    let is_urgent = narrows(live, MandateDocument::read, |live| compare(live, &document));
    let tenant = person.tenant.clone();
    put(app, request, tenant, is_urgent, move |books| act_mandate::put(books, &person, seen, &document)).await
}

/// Whether a document narrows the live one, as far as can be told before the batch, which decides it for good.
fn narrows<D>(
    live: Option<String>,
    read: impl FnOnce(&Value) -> Result<D, Malformed>,
    change: impl FnOnce(&D) -> Change,
) -> bool {
    live.and_then(|text| serde_json::from_str(&text).ok())
        .and_then(|value| read(&value).ok())
        .is_some_and(|live| matches!(change(&live), Change::Narrowed | Change::Mixed))
}

/// Puts a version live; a narrowing goes before everything that waits.
async fn put<T: Send + 'static>(
    app: &App,
    request: &HttpRequest,
    tenant: TenantSlug,
    is_urgent: bool,
    act: impl FnOnce(&mut Books<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<Sealed<T>, Problem> {
    let sealed = if is_urgent {
        app.committer.urgent(tenant, act).await??
    } else {
        app.committer.act(tenant, act).await??
    };
    has_leaf(request);
    app.decisions_changed();
    Ok(sealed)
}

/// Earlier versions, newest first.
pub(super) async fn mandate_versions(
    app: web::Data<App>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let (caller, principal) = mandate_reader(&app, &request).await?;
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, before) = (query.limit()?, query.version_cursor()?);
    let tenant = caller.tenant().clone();
    let versions =
        app.read(move |connection| mandate::page(connection, &tenant, principal, before, limit)).await?;
    let cursor = versions.last().map(|last| last.version.to_string());
    let items = versions.iter().map(describe_mandate).collect::<Result<Vec<_>, _>>()?;
    Ok(super::page(&items, cursor, limit))
}

/// One version.
pub(super) async fn mandate_version(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let (caller, principal) = mandate_reader(&app, &request).await?;
    let version = path_id(&path, "version")?;
    let tenant = caller.tenant().clone();
    let found = app.read(move |connection| mandate::find(connection, &tenant, principal, version)).await?;
    Ok(HttpResponse::Ok().json(describe_mandate(&found.ok_or_else(|| Problem::not_found("version"))?)?))
}

fn describe_mandate(version: &MandateVersion) -> Result<Value, StoreError> {
    Ok(json!({
        "id": version.id,
        "version": version.version,
        "mandate": document("mandates.document", &version.document)?,
        "change": version.change,
        "live_since": version.live_since,
        "author": version.author,
    }))
}

/// The live policy.
pub(super) async fn get_policy(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let live = app.read(move |connection| policy::live(connection, &person.tenant)).await?;
    let live = live.ok_or_else(|| Problem::not_found("policy"))?;
    Ok(versioned(live.version, &describe_policy(&live)?))
}

/// Puts a policy live.
pub(super) async fn put_policy(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let seen = if_match(&request)?;
    let document = PolicyDocument::read(&body::document(&request, &mut payload).await?)?;
    let tenant = operator.person().tenant.clone();
    let slug = tenant.clone();
    let live = app.read(move |connection| policy::live(connection, &slug)).await?;
    let live = live.map(|live| live.document);
    let is_urgent = narrows(live, PolicyDocument::read, |live| compare_policies(live, &document));
    let act = move |books: &mut Books<'_>| act_policy::put(books, &operator, seen, &document);
    let sealed = put(&app, &request, tenant, is_urgent, act).await?;
    let put = &sealed.value;
    let receipt = super::receipt(&sealed, &put.stored);
    Ok(versioned(put.version, &was_put(put.version, put.change, &put.admission, receipt.as_ref())))
}

/// Earlier policies, newest first.
pub(super) async fn policy_versions(
    app: web::Data<App>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, before) = (query.limit()?, query.version_cursor()?);
    let versions =
        app.read(move |connection| policy::page(connection, &person.tenant, before, limit)).await?;
    let cursor = versions.last().map(|last| last.version.to_string());
    let items = versions.iter().map(describe_policy).collect::<Result<Vec<_>, _>>()?;
    Ok(super::page(&items, cursor, limit))
}

/// One version.
pub(super) async fn policy_version(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let version = path_id(&path, "version")?;
    let found = app.read(move |connection| policy::find(connection, &person.tenant, version)).await?;
    Ok(HttpResponse::Ok().json(describe_policy(&found.ok_or_else(|| Problem::not_found("version"))?)?))
}

fn describe_policy(version: &PolicyVersion) -> Result<Value, StoreError> {
    Ok(json!({
        "version": version.version,
        "policy": document("policies.document", &version.document)?,
        "change": version.change,
        "live_since": version.live_since,
        "author": version.author,
    }))
}

/// The whole catalogue.
pub(super) async fn get_catalogue(
    app: web::Data<App>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    let tenant = caller.tenant().clone();
    let (version, entries) = app
        .read(move |connection| {
            Ok((catalogue::version(connection, &tenant)?, catalogue::live(connection, &tenant)?))
        })
        .await?;
    let items = entries.iter().map(describe_entry).collect::<Result<Vec<_>, _>>()?;
    Ok(versioned(version, &json!({"version": version, "items": items})))
}

/// One intent's entry.
pub(super) async fn get_entry(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    let intent: Intent = path_id(&path, "intent")?;
    let tenant = caller.tenant().clone();
    let found = app.read(move |connection| catalogue::find(connection, &tenant, &intent)).await?;
    Ok(HttpResponse::Ok().json(describe_entry(&found.ok_or_else(|| Problem::not_found("intent"))?)?))
}

/// Registers an intent.
pub(super) async fn put_entry(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let operator = request::operator(&app, &request).await?;
    let seen = optional_if_match(&request)?;
    let intent: Intent = path.parse().map_err(|detail: String| Malformed::whole(detail))?;
    let entry = CatalogueEntry::read(&body::document(&request, &mut payload).await?)?;
    entry.check_meant()?;
    let tenant = operator.person().tenant.clone();
    let act = move |books: &mut Books<'_>| act_catalogue::put(books, &operator, &intent, &entry, seen);
    let sealed = app.committer.act(tenant, act).await??;
    has_leaf(&request);
    let put = &sealed.value;
    let receipt = super::receipt(&sealed, &put.stored);
    Ok(versioned(put.version, &json!({"version": put.version, "receipt": receipt})))
}

fn describe_entry(entry: &CatalogueVersion) -> Result<Value, StoreError> {
    Ok(json!({
        "intent": entry.intent,
        "version": entry.version,
        "entry": document("catalogue.document", &entry.document)?,
        "live_since": entry.live_since,
        "author": entry.author,
    }))
}

fn document(place: &'static str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt { place, detail: error.to_string() })
}

/// An answer about a version, with that version as its entity tag.
pub(super) fn versioned(version: u64, answer: &Value) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::ETAG, format!("\"{version}\""))).json(answer)
}
