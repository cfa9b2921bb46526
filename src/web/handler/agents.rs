//! A person's agents and their credentials: added, given, revoked, retired.

use super::decision::{optional, required};
use super::mandate::scopes;
use super::reply::{change, done, html, read};
use super::visit::Visit;
use crate::actions::credential::{self as act, Terms};
use crate::actions::{Error, agent as act_agent};
use crate::app::App;
use crate::committer::entropy;
use crate::crypto::secret::{Secret, SecretKind};
use crate::domain::{AgentId, AgentKind, CredentialId, Duration, Label, Malformed, Scope, Scopes};
use crate::engine::MandateDocument;
use crate::http::{Problem, has_leaf, path_id};
use crate::storage::agent::{self, Agent};
use crate::storage::credential::{self, Credential};
use crate::storage::mandate;
use crate::web::display;
use crate::web::form::Fields;
use crate::web::view::{
    AgentRow, AgentsPage, CredentialRow, IssuedPage, LIFETIMES, Section, Standing, choices,
};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use std::cmp::Reverse;

/// How many agents, and how many credentials, one page shows: the oldest.
const MOST_SHOWN: i64 = 1000;

/// All agents with their credentials.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Agents, async |visit| {
        html(StatusCode::OK, &page(&app, visit, "", None).await?)
    })
    .await
}

/// Registers an agent.
pub(super) async fn create(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::Agents, async |visit, fields| {
        let created = async {
            let name: Label = required(fields, "name")?;
            let kind: AgentKind = required(fields, "kind")?;
            let person = visit.person.clone();
            let tenant = person.tenant.clone();
            Ok(app
                .committer
                .act(tenant, move |books| act_agent::create(books, &person, name, kind))
                .await??)
        };
        match created.await {
            Ok(sealed) => {
                has_leaf(&request);
                let (agent, _) = &sealed.value;
                Ok(done(&app, visit, "/agents", &format!("{} is added. Give it a credential.", agent.name)))
            }
            Err(problem) => refused(&app, visit, fields.one("name").unwrap_or_default(), problem).await,
        }
    })
    .await
}

/// Gives an agent a credential and shows its secret, this once.
pub(super) async fn give(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::Agents, async |visit, fields| {
        let given = async {
            let agent: AgentId = path_id(&path, "agent")?;
            let secret = Secret::generate(SecretKind::Client, entropy::bytes());
            let terms = terms(fields, &secret)?;
            let person = visit.person.clone();
            let tenant = person.tenant.clone();
            let act =
                move |books: &mut crate::committer::Books<'_>| act::create(books, &person, agent, &terms);
            Ok((app.committer.act(tenant, act).await??, secret))
        };
        let (sealed, secret) = match given.await {
            Ok(given) => given,
            Err(problem) => return refused(&app, visit, "", problem).await,
        };
        has_leaf(&request);
        let credential = &sealed.value.credential;
        let (slug, agent) = (credential.tenant.clone(), credential.agent);
        let agent = app.read(move |connection| agent::find(connection, &slug, agent)).await?;
        let page = IssuedPage {
            frame: visit.frame(Section::Agents),
            agent: display::line(agent.as_ref().map_or("", |agent| agent.name.as_str())),
            label: display::line(credential.label.as_str()),
            id: credential.id.to_string(),
            token: sealed.value.token.clone(),
            client_secret: secret.expose().to_owned(),
            scopes: credential.scopes.iter().map(Scope::as_str).collect(),
            idle: sealed.value.idle.iter().map(Scope::as_str).collect(),
            expires: visit.when(credential.expires_at),
        };
        html(StatusCode::CREATED, &page)
    })
    .await
}

fn terms(fields: &Fields, secret: &Secret) -> Result<Terms, Malformed> {
    let lifetime = fields
        .one("expires_in")
        .ok()
        .and_then(|seconds| seconds.parse::<i64>().ok())
        .filter(|seconds| LIFETIMES.iter().any(|offered| offered.seconds() == *seconds))
        .ok_or_else(|| Malformed::at("/expires_in", "choose one of the lifetimes offered"))?;
    Ok(Terms {
        label: required(fields, "label")?,
        scopes: scopes(fields)?,
        lifetime: Some(Duration::seconds(lifetime)),
        clauses: None,
        country: None,
        purpose: optional(fields, "purpose")?,
        secret_digest: secret.digest(),
    })
}

/// Retires an agent, and every credential with it.
pub(super) async fn retire(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::Agents, async |visit, _| {
        let id: AgentId = path_id(&path, "agent")?;
        let person = visit.person.clone();
        let tenant = person.tenant.clone();
        let ended = app.committer.urgent(tenant, move |books| act_agent::retire(books, &person, id)).await?;
        ended_with(&app, &request, visit, ended.map(drop), "Retired, and every credential of it revoked.")
            .await
    })
    .await
}

/// Revokes a credential, and what was derived from it.
pub(super) async fn revoke(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::Agents, async |visit, _| {
        let id: CredentialId = path_id(&path, "credential")?;
        let person = visit.person.clone();
        let tenant = person.tenant.clone();
        let ended = app.committer.urgent(tenant, move |books| act::revoke(books, &person, id)).await?;
        ended_with(&app, &request, visit, ended.map(drop), "Revoked, with everything derived from it.").await
    })
    .await
}

async fn ended_with(
    app: &App,
    request: &HttpRequest,
    visit: &Visit,
    ended: Result<(), Error>,
    said: &str,
) -> Result<HttpResponse, Problem> {
    match ended {
        Ok(()) => {
            has_leaf(request);
            app.decisions_changed();
            Ok(done(app, visit, "/agents", said))
        }
        Err(error) => refused(app, visit, "", error.into()).await,
    }
}

/// The page again with what stood in the way.
async fn refused(app: &App, visit: &Visit, name: &str, problem: Problem) -> Result<HttpResponse, Problem> {
    match problem.status() {
        StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY => {
            html(problem.status(), &page(app, visit, name, Some(problem.detail())).await?)
        }
        _ => Err(problem),
    }
}

async fn page(app: &App, visit: &Visit, name: &str, fault: Option<&str>) -> Result<AgentsPage, Problem> {
    let (slug, id) = (visit.person.tenant.clone(), visit.person.id);
    let (mut agents, mut credentials, live) = app
        .read(move |connection| {
            Ok((
                agent::page(connection, &slug, id, None, MOST_SHOWN)?,
                credential::page(connection, &slug, id, None, MOST_SHOWN)?,
                mandate::live(connection, &slug, id)?,
            ))
        })
        .await?;
    let on = live
        .and_then(|live| serde_json::from_str(&live.document).ok())
        .and_then(|value: serde_json::Value| MandateDocument::read(&value).ok())
        .map_or(Scopes::NONE, |document| document.scopes);
    agents.sort_by_key(|agent| (agent.retired_at.is_some(), Reverse(agent.created_at)));
    credentials.sort_by_key(|credential| {
        (standing(credential, visit) != Standing::Live, Reverse(credential.created_at))
    });
    Ok(AgentsPage {
        frame: visit.frame_with(Section::Agents, fault),
        agents: agents.iter().map(|agent| agent_row(agent, &credentials, visit)).collect(),
        scopes: choices(on),
        name: name.to_owned(),
    })
}

fn agent_row(agent: &Agent, credentials: &[Credential], visit: &Visit) -> AgentRow {
    let own = credentials.iter().filter(|credential| credential.agent == agent.id);
    AgentRow {
        id: agent.id.to_string(),
        name: display::line(agent.name.as_str()),
        kind: agent.kind,
        created: visit.when(agent.created_at),
        retired: agent.retired_at.map(|at| visit.when(at)),
        credentials: own.map(|credential| credential_row(credential, visit)).collect(),
    }
}

fn credential_row(credential: &Credential, visit: &Visit) -> CredentialRow {
    let at = credential.revoked.as_ref().map_or(credential.expires_at, |revoked| revoked.at);
    CredentialRow {
        id: credential.id.to_string(),
        label: display::line(credential.label.as_str()),
        purpose: credential.purpose.as_ref().map(|purpose| display::line(purpose.as_str())),
        scopes: credential.scopes.iter().map(Scope::as_str).collect(),
        has_clauses: credential.clauses.is_some(),
        is_derived: credential.parent.is_some(),
        standing: standing(credential, visit),
        at: visit.when(at),
    }
}

fn standing(credential: &Credential, visit: &Visit) -> Standing {
    if credential.revoked.is_some() {
        Standing::Revoked
    } else if credential.expires_at <= visit.now {
        Standing::Expired
    } else {
        Standing::Live
    }
}
