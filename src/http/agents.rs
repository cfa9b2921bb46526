//! Agents and their credentials.

use super::body::Plain;
use super::request::{self, Query, has_leaf, path_id};
use super::{Problem, body};
use crate::actions::credential::{self as act, Given, Terms};
use crate::actions::{Error, agent as act_agent};
use crate::app::App;
use crate::committer::{Sealed, entropy};
use crate::crypto::secret::{Secret, SecretKind};
use crate::domain::{AgentId, AgentKind, CredentialId, Duration, Label, Malformed, Scope, Scopes};
use crate::engine::CredentialClauses;
use crate::storage::agent::{self, Agent};
use crate::storage::credential::{self, Credential};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::cell::Cell;

/// The most scopes a list may name, so that a long one is refused before it is read.
const MOST_SCOPES: usize = 64;

/// Registers an agent.
pub(super) async fn create(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let mut members = body::object(&request, &mut payload).await?;
    let name: Option<Label> = members.parsed_required("name");
    let kind: Option<AgentKind> = members.parsed_required("kind");
    let (name, kind) = members.finish("name, kind", name.zip(kind))?;
    let tenant = person.tenant.clone();
    let sealed =
        app.committer.act(tenant, move |books| act_agent::create(books, &person, name, kind)).await??;
    has_leaf(&request);
    let (agent, stored) = &sealed.value;
    let mut answer = describe_agent(agent);
    super::insert(&mut answer, "receipt", super::receipt(&sealed, stored));
    Ok(HttpResponse::Created().json(answer))
}

/// Lists the person's agents.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, cursor) = (query.limit()?, query.id_cursor::<AgentId>()?);
    let agents = app
        .read(move |connection| agent::page(connection, &person.tenant, person.id, cursor.as_deref(), limit))
        .await?;
    let cursor = agents.last().map(|last| last.id.to_string());
    Ok(super::page(&agents.iter().map(describe_agent).collect::<Vec<_>>(), cursor, limit))
}

/// Retires an agent, and every credential with it.
pub(super) async fn retire(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let id: AgentId = path_id(&path, "agent")?;
    let tenant = person.tenant.clone();
    let sealed = app.committer.urgent(tenant, move |books| act_agent::retire(books, &person, id)).await??;
    has_leaf(&request);
    app.decisions_changed();
    Ok(super::recorded(&sealed))
}

fn describe_agent(agent: &Agent) -> Value {
    json!({
        "id": agent.id,
        "name": agent.name,
        "kind": agent.kind,
        "created_at": agent.created_at,
        "retired_at": agent.retired_at,
    })
}

/// Gives an agent a credential.
pub(super) async fn give(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let agent: AgentId = path_id(&path, "agent")?;
    let (terms, secret) = terms(body::object(&request, &mut payload).await?, true)?;
    let tenant = person.tenant.clone();
    let sealed = app.committer.act(tenant, move |books| act::create(books, &person, agent, &terms)).await??;
    has_leaf(&request);
    Ok(given(&sealed, &secret))
}

/// Derives a narrower credential for a sub-agent.
pub(super) async fn derive(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let caller = request::agent(&app, &request).await?;
    let (terms, secret) = terms(body::object(&request, &mut payload).await?, false)?;
    let tenant = caller.tenant.clone();
    let sealed = app.committer.act(tenant, move |books| act::derive(books, &caller, &terms)).await??;
    has_leaf(&request);
    Ok(given(&sealed, &secret))
}

/// Reads the terms of a credential to be made.
fn terms(mut members: body::Members, by_person: bool) -> Result<(Terms, Secret), Problem> {
    let label: Option<Label> = members.parsed_required("label");
    withheld(members.look("scopes"))?;
    let scopes = members.required("scopes", scopes);
    let seconds: Option<i64> = members.optional("expires_in");
    let clauses = members.read("clauses", |value| CredentialClauses::read(&value));
    // What a sub-agent's credential is for and where it acts is its parent's to say, and the person's before that.
    let (country, purpose) =
        if by_person { (members.parsed("country"), members.parsed("purpose")) } else { (None, None) };
    let allowed = if by_person {
        "label, scopes, expires_in, clauses, country, purpose"
    } else {
        "label, scopes, expires_in, clauses"
    };
    let (label, scopes) = members.finish(allowed, label.zip(scopes))?;
    let secret = Secret::generate(SecretKind::Client, entropy::bytes());
    let terms = Terms {
        label,
        scopes,
        lifetime: seconds.map(Duration::seconds),
        clauses,
        country,
        purpose,
        secret_digest: secret.digest(),
    };
    Ok((terms, secret))
}

/// No agent is ever given the right to write mandates, whatever else is asked for.
fn withheld(scopes: Option<&Value>) -> Result<(), Error> {
    let names = scopes.and_then(Value::as_array).into_iter().flatten().take(MOST_SCOPES);
    let place = names.enumerate().find(|(_, name)| **name == Scope::MandateWrite.as_str());
    match place {
        Some((position, _)) => Err(Error::ScopeWithheld { pointer: format!("/scopes/{position}") }),
        None => Ok(()),
    }
}

/// Reads a list of scopes, each at its own place.
fn scopes(value: Value) -> Result<Scopes, Malformed> {
    let names: Vec<Value> = Plain::of(value)?;
    if names.len() > MOST_SCOPES {
        return Err(Malformed::whole(format!("{} scopes are named, {MOST_SCOPES} may be", names.len())));
    }
    let seen = Cell::new(Scopes::NONE);
    body::each(names, |name| {
        let scope: Scope = body::parse(name)?;
        if seen.get().contains(scope) {
            return Err(Malformed::whole(format!("`{scope}` stands twice")));
        }
        seen.set(seen.get().with(scope));
        Ok(())
    })?;
    Ok(seen.get())
}

/// A credential just made, with the secret that is shown this once.
fn given(sealed: &Sealed<Given>, secret: &Secret) -> HttpResponse {
    let given = &sealed.value;
    HttpResponse::Created().json(json!({
        "id": given.credential.id,
        "agent": given.credential.agent,
        "parent": given.credential.parent,
        "label": given.credential.label,
        "token": given.token,
        "token_type": "Bearer",
        "client_secret": secret.expose(),
        "scopes": given.credential.scopes,
        "expires_at": given.token_expires_at,
        "credential_expires_at": given.credential.expires_at,
        "warnings": given.idle.iter().map(idle).collect::<Vec<_>>(),
        "receipt": super::receipt(sealed, &given.stored),
    }))
}

/// A scope that does nothing yet.
fn idle(scope: Scope) -> Value {
    json!({"pointer": "/scopes", "detail": format!("the live mandate has no `{scope}`: it does nothing until it has")})
}

/// Lists the person's credentials.
pub(super) async fn list_credentials(
    app: web::Data<App>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let query = Query::read(&request, &["limit", "cursor"])?;
    let (limit, cursor) = (query.limit()?, query.id_cursor::<CredentialId>()?);
    let credentials = app
        .read(move |connection| {
            credential::page(connection, &person.tenant, person.id, cursor.as_deref(), limit)
        })
        .await?;
    let cursor = credentials.last().map(|last| last.id.to_string());
    Ok(super::page(&credentials.iter().map(describe).collect::<Vec<_>>(), cursor, limit))
}

/// Revokes a credential, and its children with it.
pub(super) async fn revoke(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let person = request::person(&app, &request).await?;
    let id: CredentialId = path_id(&path, "credential")?;
    let tenant = person.tenant.clone();
    let sealed = app.committer.urgent(tenant, move |books| act::revoke(books, &person, id)).await??;
    has_leaf(&request);
    app.decisions_changed();
    Ok(super::recorded(&sealed))
}

fn describe(credential: &Credential) -> Value {
    json!({
        "id": credential.id,
        "agent": credential.agent,
        "parent": credential.parent,
        "label": credential.label,
        "scopes": credential.scopes,
        "clauses": credential.clauses.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok()),
        "country": credential.country,
        "purpose": credential.purpose,
        "created_at": credential.created_at,
        "expires_at": credential.expires_at,
        "revoked_at": credential.revoked.as_ref().map(|revoked| revoked.at),
    })
}
