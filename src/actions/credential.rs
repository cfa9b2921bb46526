//! Gives, derives, renews and revokes credentials. Nothing here ever adds to what a parent or mandate allows.

use super::Error;
use super::caller::{AgentCaller, Person};
use super::recording::{Content, put};
use super::withdraw;
use crate::committer::{Books, Draft, Life};
use crate::crypto::seal;
use crate::crypto::token::Claims;
use crate::domain::{
    AgentId, AgentKind, Chain, Country, CredentialId, Duration, Hash, Label, Malformed, Scope, Scopes,
    Timestamp,
};
use crate::engine::{CredentialClauses, effective_scopes};
use crate::evidence::receipt::Kind;
use crate::storage::agent;
use crate::storage::credential::{self, Credential, Revoked};
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::sync::Arc;

/// How long a token lives unless asked otherwise.
pub const TOKEN_LIFETIME: Duration = Duration::hours(24);
/// How long a credential and a token live at most.
pub const LONGEST_LIFETIME: Duration = Duration::days(90);
/// How long a renewed token lives.
pub const RENEWED_LIFETIME: Duration = Duration::minutes(10);
/// How many live children one credential may have.
pub const MOST_CHILDREN: u64 = 16;
/// How many ancestors a credential may have.
pub const DEEPEST: u64 = 4;

/// The terms of a credential to be made.
#[derive(Debug)]
pub struct Terms {
    /// What people call it.
    pub label: Label,
    /// What it carries.
    pub scopes: Scopes,
    /// How long it and its first token live, in whole seconds; `None` for the usual.
    pub lifetime: Option<Duration>,
    /// Its own narrower clauses.
    pub clauses: Option<CredentialClauses>,
    /// The country it is fixed to.
    pub country: Option<Country>,
    /// What it is for.
    pub purpose: Option<Label>,
    /// SHA-256 of the secret that renews its token.
    pub secret_digest: Hash,
}

/// A credential just made, with its first token.
#[derive(Debug)]
pub struct Given {
    /// The credential.
    pub credential: Credential,
    /// Its first token.
    pub token: String,
    /// When that token ends.
    pub token_expires_at: Timestamp,
    /// Which of its scopes the live mandate does not have, so that they do nothing until it does.
    pub idle: Scopes,
    /// The act's receipt.
    pub stored: Arc<StoredReceipt>,
}

/// Gives one of the person's agents a credential.
pub fn create(books: &mut Books<'_>, person: &Person, agent: AgentId, terms: &Terms) -> Result<Given, Error> {
    person.require_session(books)?;
    withhold(terms.scopes)?;
    let now = books.now();
    let (connection, slug) = books.place();
    let agent = agent::find(connection, slug, agent)?
        .filter(|agent| agent.principal == person.id)
        .ok_or(Error::NotFound("agent"))?;
    if agent.retired_at.is_some() {
        return Err(Error::Conflict(format!("agent `{}` is retired", agent.id)));
    }
    let lifetime = lifetime(terms.lifetime)?;
    let expires_at = now.plus(lifetime.unwrap_or(LONGEST_LIFETIME));
    let credential = row(books, terms, agent.id, person.id, expires_at);
    credential::insert(books.connection(), &credential)?;
    books.authority_changed();
    let mut content = Content::default();
    let input = input(books, Kind::CredentialCreate, &credential, terms, &mut content);
    let output = json!({"id": credential.id, "expires_at": credential.expires_at});
    let mut draft =
        Draft::act(Kind::CredentialCreate, Chain::Principal(person.id), input, output).by(person.id);
    draft.agent = Some(agent.id);
    draft.credential = Some(credential.id);
    draft.content = content.finish();
    let stored = books.record(draft)?;
    let token_lifetime = lifetime.unwrap_or(TOKEN_LIFETIME);
    let (token, token_expires_at) = token(books, &credential, credential.scopes, token_lifetime)?;
    let mandate = books.mandate(person.id)?;
    let idle = credential.scopes.iter().filter(|scope| !mandate.document.scopes.contains(*scope)).collect();
    Ok(Given { credential, token, token_expires_at, idle, stored })
}

/// Derives a narrower credential for a sub-agent from the one the caller presents.
pub fn derive(books: &mut Books<'_>, caller: &AgentCaller, terms: &Terms) -> Result<Given, Error> {
    withhold(terms.scopes)?;
    let now = books.now();
    let standing = books.standing(caller.presented.credential)?.ok_or(Error::Unknown)?;
    if standing.life(now) != Life::Live {
        return Err(Error::Dead(standing.life(now)));
    }
    let carried =
        effective_scopes(standing.scopes.intersection(caller.presented.scopes), &standing.mandate.document);
    if !carried.contains(Scope::ActionRequest) {
        return Err(Error::InsufficientScope(Scope::ActionRequest));
    }
    if standing.agent.kind == AgentKind::Answering {
        return Err(Error::Forbidden("an answering agent derives no credentials".into()));
    }
    if !terms.scopes.is_subset_of(carried) {
        let detail = format!("`{}` is more than the parent carries: `{carried}`", terms.scopes);
        return Err(Malformed::at("/scopes", detail).into());
    }
    let asking = terms.clauses.iter().flat_map(|clauses| clauses.0.iter().enumerate());
    if let Some((place, _)) = asking.clone().find(|(_, clause)| clause.approvals.is_some()) {
        // Else an agent would say who decides on what it asks, and whose queue it stands in.
        let detail = "only people say whose yes is asked for";
        return Err(Malformed::at(format!("/clauses/{place}/approvals"), detail).into());
    }
    let parent = &standing.credential;
    if parent.depth >= DEEPEST {
        return Err(Error::Conflict(format!(
            "a credential may have {DEEPEST} ancestors, this would be one more"
        )));
    }
    let (connection, slug) = books.place();
    let live = credential::count_live_children(connection, slug, parent.id, now)?;
    if live >= MOST_CHILDREN {
        return Err(Error::Conflict(format!("{live} children are live, {MOST_CHILDREN} may be")));
    }
    let ends = std::iter::once(parent).chain(&standing.ancestors).map(|one| one.expires_at).min();
    let latest = ends.unwrap_or(parent.expires_at);
    let asked = lifetime(terms.lifetime)?;
    let expires_at = match asked {
        Some(lifetime) if latest < now.plus(lifetime) => {
            let left = latest.since(now).whole_seconds();
            let detail = format!("{} seconds asked, the parent ends in {left}", lifetime.whole_seconds());
            return Err(Malformed::at("/expires_in", detail).into());
        }
        Some(lifetime) => now.plus(lifetime),
        None => latest,
    };
    let mut credential = row(books, terms, parent.agent, parent.principal, expires_at);
    credential.parent = Some(parent.id);
    credential.depth = parent.depth.saturating_add(1);
    // A child never chooses where it acts: that would widen what its parent was fixed to.
    credential.country = parent.country;
    credential::insert(books.connection(), &credential)?;
    books.authority_changed();
    let mut content = Content::default();
    let mut input = input(books, Kind::CredentialDerive, &credential, terms, &mut content);
    put(&mut input, "parent", json!(parent.id));
    let output = json!({"id": credential.id, "expires_at": credential.expires_at});
    let mut draft =
        Draft::act(Kind::CredentialDerive, Chain::Credential(parent.id), input, output).by(parent.principal);
    draft.agent = Some(parent.agent);
    draft.credential = Some(parent.id);
    draft.content = content.finish();
    let stored = books.record(draft)?;
    let token_lifetime = asked.unwrap_or(TOKEN_LIFETIME);
    let (token, token_expires_at) = token(books, &credential, credential.scopes, token_lifetime)?;
    // A child has none that its parent, and so the mandate, does not have.
    Ok(Given { credential, token, token_expires_at, idle: Scopes::NONE, stored })
}

/// A new token for a credential whose secret was right.
#[derive(Debug)]
pub struct Renewed {
    /// The token.
    pub token: String,
    /// What it carries.
    pub scopes: Scopes,
    /// How many seconds it lives.
    pub expires_in: i64,
    /// Against whom the call is recorded.
    pub credential: Credential,
}

/// Renews a credential's token, with the scopes asked for or all it has.
pub fn renew(books: &mut Books<'_>, id: CredentialId, asked: Option<Scopes>) -> Result<Renewed, Error> {
    let standing = books.standing(id)?.ok_or(Error::Unknown)?;
    let life = standing.life(books.now());
    if life != Life::Live {
        return Err(Error::Dead(life));
    }
    let scopes = asked.unwrap_or(standing.scopes);
    withhold(scopes)?;
    if !scopes.is_subset_of(standing.scopes) {
        let detail = format!("`{scopes}` is more than the credential carries: `{}`", standing.scopes);
        return Err(Malformed::at("/scope", detail).into());
    }
    let (token, expires_at) = token(books, &standing.credential, scopes, RENEWED_LIFETIME)?;
    let expires_in = expires_at.unix_seconds().saturating_sub(books.now().unix_seconds());
    Ok(Renewed { token, scopes, expires_in, credential: standing.credential.clone() })
}

/// Revokes one of the person's credentials and everything derived from it.
pub fn revoke(books: &mut Books<'_>, person: &Person, id: CredentialId) -> Result<Arc<StoredReceipt>, Error> {
    let (connection, slug) = books.place();
    let credential = credential::find(connection, slug, id)?
        .filter(|credential| credential.principal == person.id)
        .ok_or(Error::NotFound("credential"))?;
    if credential.revoked.is_some() {
        return Err(Error::Conflict(format!("credential `{id}` is revoked already")));
    }
    let revoked = revoke_line(books, &credential, &person.id.to_string())?;
    books.authority_changed();
    let input = json!({
        "kind": Kind::CredentialRevoke.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "credential": id,
    });
    let output = json!({"revoked": revoked});
    let mut draft =
        Draft::act(Kind::CredentialRevoke, Chain::Principal(person.id), input, output).by(person.id);
    draft.agent = Some(credential.agent);
    draft.credential = Some(id);
    let stored = books.record(draft)?;
    withdraw::after_revocation(books, person.id, &revoked)?;
    Ok(stored)
}

/// Revokes a credential and its descendants; gives those that were not revoked before.
pub(super) fn revoke_line(
    books: &mut Books<'_>,
    credential: &Credential,
    by: &str,
) -> Result<Vec<CredentialId>, Error> {
    let revoked = Revoked { at: books.now(), by: by.to_owned() };
    let (connection, slug) = books.place();
    let mut done = Vec::new();
    let mut waiting = vec![credential.id];
    while let Some(id) = waiting.pop() {
        if credential::revoke(connection, slug, id, &revoked)? {
            done.push(id);
        }
        waiting.extend(credential::children(connection, slug, id)?.into_iter().map(|child| child.id));
    }
    Ok(done)
}

/// `mandate:write` belongs to people alone.
pub fn withhold(scopes: Scopes) -> Result<(), Error> {
    if scopes.contains(Scope::MandateWrite) {
        return Err(Error::ScopeWithheld { pointer: "/scopes".into() });
    }
    if scopes.is_empty() {
        return Err(Malformed::at("/scopes", "no scope is asked for, at least one is needed").into());
    }
    Ok(())
}

/// The lifetime asked for, within bounds.
fn lifetime(asked: Option<Duration>) -> Result<Option<Duration>, Error> {
    match asked {
        Some(lifetime) if lifetime.whole_seconds() < 1 || lifetime > LONGEST_LIFETIME => {
            let detail = format!(
                "{} seconds asked, 1 to {} are allowed",
                lifetime.whole_seconds(),
                LONGEST_LIFETIME.whole_seconds()
            );
            Err(Malformed::at("/expires_in", detail).into())
        }
        other => Ok(other),
    }
}

fn row(
    books: &Books<'_>,
    terms: &Terms,
    agent: AgentId,
    principal: crate::domain::PrincipalId,
    expires_at: Timestamp,
) -> Credential {
    Credential {
        tenant: books.slug().clone(),
        id: books.new_id(CredentialId::new),
        agent,
        principal,
        parent: None,
        depth: 0,
        label: terms.label.clone(),
        scopes: terms.scopes,
        clauses: terms.clauses.as_ref().map(|clauses| clauses.to_json().to_string()),
        country: terms.country,
        purpose: terms.purpose.clone(),
        secret_digest: terms.secret_digest,
        created_at: books.now(),
        expires_at,
        revoked: None,
    }
}

fn input(
    books: &Books<'_>,
    kind: Kind,
    credential: &Credential,
    terms: &Terms,
    content: &mut Content,
) -> Value {
    let mut input = json!({
        "kind": kind.as_str(),
        "tenant": books.slug(),
        "principal": credential.principal,
        "agent": credential.agent,
        "label": credential.label,
        "scopes": credential.scopes,
        "secret": seal(books.lookup_key(), credential.secret_digest.as_bytes()),
    });
    if let Some(clauses) = &terms.clauses {
        put(&mut input, "clauses", content.commit("/input/clauses", clauses.to_json()));
    }
    if let Some(country) = credential.country {
        put(&mut input, "country", json!(country));
    }
    if let Some(purpose) = &credential.purpose {
        put(&mut input, "purpose", content.commit("/input/purpose", json!(purpose)));
    }
    input
}

/// Signs a token that ends no later than the credential.
fn token(
    books: &Books<'_>,
    credential: &Credential,
    scopes: Scopes,
    lifetime: Duration,
) -> Result<(String, Timestamp), Error> {
    let now = books.now();
    let expires_at = now.plus(lifetime).min(credential.expires_at);
    let issuer = &books.tenant().issuer;
    let claims = Claims {
        iss: issuer.clone(),
        aud: issuer.clone(),
        sub: credential.agent,
        client_id: credential.id,
        tenant: books.slug().clone(),
        scope: scopes,
        iat: now.unix_seconds(),
        nbf: now.unix_seconds(),
        exp: expires_at.unix_seconds(),
        jti: books.new_id(crate::domain::CallId::new).to_string(),
    };
    let token = books.keys().token.sign(&claims).map_err(|error| {
        Error::Store(crate::storage::StoreError::Failed(format!("no token can be signed: {error}")))
    })?;
    Ok((token, Timestamp::from_unix_seconds(claims.exp)))
}
