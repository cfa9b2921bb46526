//! The call log and its receipts.

use super::Problem;
use super::request::{self, Query, path_id};
use crate::actions::Error;
use crate::app::export::line_json;
use crate::app::tree::Tree;
use crate::app::{App, Caller, who};
use crate::domain::{CredentialId, ReceiptId, Scope, TenantSlug};
use crate::storage::access::{self, Access};
use crate::storage::credential::{self, Credential};
use crate::storage::receipt::{self, Filter, StoredReceipt};
use crate::storage::{AnyConnection, StoreError};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// The calls the caller may see, newest first.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    let query = Query::read(
        &request,
        &[
            "credential",
            "agent",
            "principal",
            "kind",
            "outcome",
            "intent",
            "from",
            "until",
            "limit",
            "cursor",
        ],
    )?;
    let filter = filter(&caller, &query)?;
    page(&app, caller.tenant(), &filter, &query).await
}

/// The calls of one credential.
pub(super) async fn of_credential(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    let credential = readable_credential(&app, &caller, &path).await?;
    let query = Query::read(&request, &["kind", "outcome", "intent", "from", "until", "limit", "cursor"])?;
    let mut filter = filter(&caller, &query)?;
    filter.credential = Some(credential.id);
    filter.principal = None;
    page(&app, caller.tenant(), &filter, &query).await
}

/// What the query asks for, within what the caller may see: own calls, or for compliance the tenant's.
fn filter(caller: &Caller, query: &Query) -> Result<Filter, Problem> {
    let mut filter = Filter {
        principal: query.parsed("principal")?,
        agent: query.parsed("agent")?,
        credential: query.parsed("credential")?,
        kind: query.parsed("kind")?,
        outcome: query.parsed("outcome")?,
        intent: query.parsed("intent")?,
        from: query.time("from")?,
        until: query.time("until")?,
    };
    narrow_to(caller, &mut filter)?;
    Ok(filter)
}

/// Narrows a filter to what the caller may see.
pub(crate) fn narrow_to(caller: &Caller, filter: &mut Filter) -> Result<(), Problem> {
    match caller {
        Caller::Person(person) if person.sees_tenant() => {}
        Caller::Person(person) => {
            if filter.principal.is_some_and(|asked| asked != person.id) {
                return Err(Error::Forbidden("another person's calls need the role compliance".into()).into());
            }
            filter.principal = Some(person.id);
        }
        Caller::Agent(agent) => {
            agent.require(Scope::CallRead)?;
            filter.principal = None;
            filter.agent = Some(agent.presented.agent);
        }
    }
    Ok(())
}

/// A page of receipts and other calls together, newest first.
pub(crate) async fn page_of(
    app: &App,
    tenant: &TenantSlug,
    filter: &Filter,
    before: Option<String>,
    limit: i64,
) -> Result<(Vec<Value>, Option<String>), StoreError> {
    let (slug, filter) = (tenant.clone(), filter.clone());
    let (receipts, accesses) = app
        .read(move |connection| {
            let before = before.as_deref();
            let receipts = receipt::page(connection, &slug, &filter, before, limit)?;
            let accesses = access::page(connection, &slug, &filter, before, limit)?;
            Ok((receipts, accesses))
        })
        .await?;
    let mut rows: Vec<(String, Value)> = receipts
        .iter()
        .map(|stored| (tail(&stored.body.id.to_string()), describe_receipt(stored)))
        .chain(accesses.iter().map(|access| (tail(&access.id.to_string()), describe_access(access))))
        .collect();
    rows.sort_by(|(one, _), (other, _)| other.cmp(one));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() >= limit;
    rows.truncate(limit);
    let cursor = rows.last().filter(|_| more).map(|(tail, _)| tail.clone());
    Ok((rows.into_iter().map(|(_, row)| row).collect(), cursor))
}

async fn page(
    app: &App,
    tenant: &TenantSlug,
    filter: &Filter,
    query: &Query,
) -> Result<HttpResponse, Problem> {
    let (items, next) = page_of(app, tenant, filter, query.call_cursor()?, query.limit()?).await?;
    Ok(HttpResponse::Ok().json(json!({"items": items, "next_cursor": next})))
}

/// What follows an id's prefix: ids of all kinds sort by time in it.
fn tail(id: &str) -> String {
    id.split_once('_').map_or_else(String::new, |(_, tail)| tail.to_owned())
}

fn describe_receipt(stored: &StoredReceipt) -> Value {
    let body = &stored.body;
    let output: Value = serde_json::from_str(&stored.output).unwrap_or_default();
    let mut call = json!({
        "id": body.id,
        "at": body.at,
        "kind": body.kind.as_str(),
        "outcome": body.outcome,
        "intent": stored.intent,
        "principal": body.principal,
        "agent": body.agent,
        "credential": body.credential,
        "mandate_version": body.mandate_version,
        "policy_version": body.policy_version,
        "receipt": body.id,
        "log_index": stored.log_index,
        "chain": body.chain,
        "seq": body.seq,
        "hash": stored.hash,
        "output": output,
    });
    for name in ["reason", "clauses"] {
        let value = output.get(name).cloned();
        super::insert(&mut call, name, value);
    }
    call
}

fn describe_access(access: &Access) -> Value {
    json!({
        "id": access.id,
        "at": access.at,
        "kind": "access",
        "principal": access.subject.principal,
        "agent": access.subject.agent,
        "credential": access.subject.credential,
        "method": access.method,
        "route": access.route,
        "status": access.status,
        "detail": access.detail,
    })
}

/// A credential whose log the caller may read.
pub(super) async fn readable_credential(app: &App, caller: &Caller, id: &str) -> Result<Credential, Problem> {
    let id: CredentialId = path_id(id, "credential")?;
    let tenant = caller.tenant().clone();
    let found = app.read(move |connection| credential::find(connection, &tenant, id)).await?;
    let readable = found.filter(|found| match caller {
        Caller::Person(person) => person.sees_tenant() || found.principal == person.id,
        Caller::Agent(agent) => found.agent == agent.presented.agent,
    });
    let readable = readable.ok_or_else(|| Problem::not_found("credential"))?;
    if let Caller::Agent(agent) = caller {
        agent.require(Scope::CallRead)?;
    }
    Ok(readable)
}

/// A receipt with its documents and a fresh path.
pub(super) async fn receipt(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let caller = request::caller(&app, &request).await?;
    if let Caller::Agent(agent) = &caller {
        agent.require(Scope::CallRead)?;
    }
    Ok(HttpResponse::Ok().content_type("application/json").body(receipt_line(&app, caller, &path).await?))
}

/// A receipt with its documents and a fresh path as JSON, if the caller may read it.
pub(crate) async fn receipt_line(app: &App, caller: Caller, id: &str) -> Result<Vec<u8>, Problem> {
    let id: ReceiptId = path_id(id, "receipt")?;
    let tenant = caller.tenant().clone();
    let roots = app.roots.clone();
    let found = app
        .read(move |connection| {
            let Some(stored) = readable(connection, &caller, id)? else { return Ok(None) };
            let Some(tree) = Tree::now(connection, &tenant)? else { return Ok(None) };
            let receipt = tree.knowing(&roots).receipt(connection, &stored)?;
            line_json(&stored, receipt).map(Some)
        })
        .await?;
    found.ok_or_else(|| Problem::not_found("receipt"))
}

/// A receipt, if the caller may read it: their own, for compliance the tenant's.
pub(super) fn readable(
    connection: &mut AnyConnection,
    caller: &Caller,
    id: ReceiptId,
) -> Result<Option<StoredReceipt>, StoreError> {
    let stored = receipt::find(connection, caller.tenant(), id.log_index())?;
    Ok(stored.filter(|stored| stored.body.id == id && who::reads(caller, stored)))
}
