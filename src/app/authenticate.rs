//! Who is calling: a person by session, an agent by access token.

use super::App;
use crate::actions::caller::{AgentCaller, Person, Presented};
use crate::actions::{Error, session as sessions};
use crate::committer::{Life, clock};
use crate::crypto::keyring::KeyPurpose;
use crate::crypto::secret::{Secret, SecretKind};
use crate::crypto::token::{Claims, Rules, TokenError, TokenVerifier, Verified, VerifyingKeys};
use crate::crypto::{PublicKey, sha256};
use crate::domain::{KeyId, Scopes, TenantSlug, Timestamp};
use crate::engine::{MandateDocument, effective_scopes};
use crate::storage::access::Subject;
use crate::storage::credential::Credential;
use crate::storage::{self, AnyConnection, StoreError};
use base64::Engine;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

/// How often an unknown key id makes the keys be read again, at most.
const RELOAD_EVERY_MILLISECONDS: i64 = 5000;

/// Who is calling.
#[derive(Debug, Clone)]
pub enum Caller {
    /// A signed-in person.
    Person(Box<Person>),
    /// An agent whose credential is live.
    Agent(Box<AgentCaller>),
}

impl Caller {
    /// The tenant they belong to.
    pub fn tenant(&self) -> &TenantSlug {
        match self {
            Self::Person(person) => &person.tenant,
            Self::Agent(agent) => &agent.tenant,
        }
    }

    /// Against whom their calls are recorded.
    pub fn subject(&self) -> Subject {
        match self {
            Self::Person(person) => Subject::of_principal(person.id),
            Self::Agent(agent) => agent.subject(),
        }
    }
}

/// Why nobody is calling, as far as the service can tell.
#[derive(Debug)]
pub enum CallerError {
    /// No bearer token was sent.
    Missing,
    /// The token says nothing that can be believed: counted, and recorded against nobody.
    Unattributable(String),
    /// The token is genuine, but its credential, or itself, is no longer good.
    Dead {
        /// Whose tenant.
        tenant: TenantSlug,
        /// Against whom the call is recorded.
        subject: Subject,
        /// What is wrong.
        detail: String,
    },
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for CallerError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The keys that verify tokens, by the id a token names.
#[derive(Debug)]
pub(super) struct Verifiers {
    by_key: HashMap<String, Arc<TokenVerifier>>,
    epoch: u64,
    loaded_at: Timestamp,
}

impl Verifiers {
    /// Reads every tenant's token keys, retired ones too: what they signed may still be in use.
    pub(super) fn load(connection: &mut AnyConnection) -> Result<Self, StoreError> {
        let mut by_key = HashMap::new();
        for tenant in storage::tenant::all(connection)? {
            let stored = storage::key::of_tenant(connection, &tenant.slug)?;
            let mut keys = VerifyingKeys::new();
            let mut ids = Vec::new();
            for key in stored.iter().filter(|key| key.purpose == KeyPurpose::Token.as_str()) {
                keys.insert(key.id, tenant.slug.clone(), &public(key.id, key.public.as_deref())?);
                ids.push(key.id);
            }
            let rules = Rules::of_access_tokens(tenant.issuer.clone(), tenant.issuer.clone());
            let verifier = Arc::new(TokenVerifier::new(rules, keys));
            by_key.extend(ids.iter().map(|id| (id.to_string(), verifier.clone())));
        }
        Ok(Self { by_key, epoch: 0, loaded_at: clock::now() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

fn public(id: KeyId, stored: Option<&[u8]>) -> Result<PublicKey, StoreError> {
    let bytes = stored.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    bytes.map(PublicKey).ok_or_else(|| StoreError::Corrupt { place: "keys.public", detail: id.to_string() })
}

impl App {
    /// Who presents this bearer token; an agent's credential is looked up as it is now.
    pub async fn caller(&self, bearer: Option<&str>) -> Result<Caller, CallerError> {
        let bearer = bearer.ok_or(CallerError::Missing)?;
        if bearer.starts_with(SecretKind::Session.prefix()) {
            return self.person(bearer).await.map(|person| Caller::Person(Box::new(person)));
        }
        let claims = self.claims(bearer)?;
        self.agent(&claims).await.map(|agent| Caller::Agent(Box::new(agent)))
    }

    /// The person whose session this token is.
    pub async fn person(&self, token: &str) -> Result<Person, CallerError> {
        let unknown = || CallerError::Unattributable("the session is unknown or over".into());
        let secret = Secret::parse(token).map_err(|_| unknown())?;
        if secret.kind() != SecretKind::Session {
            return Err(unknown());
        }
        let digest = secret.digest();
        let now = clock::now();
        let found = self
            .read(move |connection| {
                let Some(session) = storage::session::find(connection, digest)? else { return Ok(None) };
                let person = storage::principal::find(connection, &session.tenant, session.principal)?;
                Ok(person.map(|person| (session, person)))
            })
            .await?;
        let (session, person) = found.ok_or_else(unknown)?;
        if !sessions::is_live(&session, now) {
            let detail = "the session is over: sign in again".to_owned();
            let subject = Subject::of_principal(person.id);
            return Err(CallerError::Dead { tenant: session.tenant, subject, detail });
        }
        if sessions::wants_touch(&session, now) {
            // The request does not wait for the note, and goes on without it.
            let (committer, tenant) = (self.committer.clone(), session.tenant.clone());
            tokio::spawn(async move {
                drop(committer.upkeep(tenant, move |books| sessions::touch(books, digest)).await);
            });
        }
        Ok(Person {
            tenant: session.tenant,
            id: person.id,
            name: person.name,
            email: person.email,
            roles: person.roles,
            session: digest,
            signed_in_at: session.signed_in_at,
            password_set_by: person.password_set_by,
        })
    }

    /// What a genuine, timely token claims. Whether it still counts is for the batch, or [`App::agent`], to say.
    pub fn claims(&self, token: &str) -> Result<Arc<Verified<Claims>>, CallerError> {
        let now = clock::now();
        let digest = sha256(token.as_bytes());
        let unattributable = |error: &dyn std::fmt::Display| CallerError::Unattributable(error.to_string());
        let kid =
            key_id(token).ok_or_else(|| unattributable(&"the token is not a JWT that names its key"))?;
        let (verifier, epoch) =
            self.verifier(&kid, now)?.ok_or_else(|| unattributable(&"the token's key is unknown"))?;
        if let Some(claims) = self.tokens.get(&digest, epoch, now) {
            return Ok(claims);
        }
        let genuine = verifier.verify(token, now).map_err(|error| dead_token(&error))?;
        let claims = Arc::new(genuine.typed().map_err(|error| unattributable(&error))?);
        self.tokens.put(digest, epoch, claims.clone());
        Ok(claims)
    }

    fn verifier(&self, kid: &str, now: Timestamp) -> Result<Option<(Arc<TokenVerifier>, u64)>, CallerError> {
        let loaded_at = {
            let verifiers = self.verifiers.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(verifier) = verifiers.by_key.get(kid) {
                return Ok(Some((verifier.clone(), verifiers.epoch)));
            }
            verifiers.loaded_at
        };
        if now.since(loaded_at).whole_milliseconds() < RELOAD_EVERY_MILLISECONDS {
            return Ok(None);
        }
        // Whoever comes first marks the time, so that one caller reads and nobody waits under the lock.
        {
            let mut verifiers = self.verifiers.write().unwrap_or_else(PoisonError::into_inner);
            if now.since(verifiers.loaded_at).whole_milliseconds() < RELOAD_EVERY_MILLISECONDS {
                return Ok(None);
            }
            verifiers.loaded_at = now;
        }
        let loaded = Verifiers::load(&mut *self.readers.get()?)?;
        let mut verifiers = self.verifiers.write().unwrap_or_else(PoisonError::into_inner);
        // Another epoch voids every cached token: only another set of keys is worth that.
        let same = loaded.by_key.len() == verifiers.by_key.len()
            && loaded.by_key.keys().all(|key| verifiers.by_key.contains_key(key));
        let epoch = verifiers.epoch.saturating_add(u64::from(!same));
        *verifiers = Verifiers { epoch, ..loaded };
        Ok(verifiers.by_key.get(kid).map(|verifier| (verifier.clone(), verifiers.epoch)))
    }

    /// The agent behind verified claims, if its credential is live at this moment.
    pub async fn agent(&self, claims: &Verified<Claims>) -> Result<AgentCaller, CallerError> {
        let presented = Presented { credential: claims.client_id, agent: claims.sub, scopes: claims.scope };
        let tenant = claims.tenant.clone();
        let slug = tenant.clone();
        let found = self.read(move |connection| live_credential(connection, &slug, presented)).await?;
        let found =
            found.ok_or_else(|| CallerError::Unattributable("the token's credential is unknown".into()))?;
        let subject =
            Subject::of_credential(presented.credential, presented.agent, found.credential.principal);
        if let Some(detail) = describe(found.life, &found.credential) {
            return Err(CallerError::Dead { tenant, subject, detail });
        }
        Ok(AgentCaller { tenant, presented, principal: found.credential.principal, scopes: found.scopes })
    }
}

/// Why a credential cannot be used, if it cannot.
fn describe(life: Life, credential: &Credential) -> Option<String> {
    let id = credential.id;
    match life {
        Life::Live => None,
        Life::Expired { at } => Some(format!("credential `{id}` expired at {at}")),
        Life::Revoked { at } => Some(format!("credential `{id}` was revoked at {at}")),
        Life::Retired { at } => Some(format!("the agent of credential `{id}` was retired at {at}")),
    }
}

struct Found {
    credential: Credential,
    life: Life,
    scopes: Scopes,
}

fn live_credential(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    presented: Presented,
) -> Result<Option<Found>, StoreError> {
    let Some(credential) = storage::credential::find(connection, tenant, presented.credential)? else {
        return Ok(None);
    };
    let Some(agent) = storage::agent::find(connection, tenant, credential.agent)? else { return Ok(None) };
    if agent.id != presented.agent {
        return Ok(None);
    }
    let mut ancestry = vec![credential.clone()];
    while let Some(parent) = ancestry.last().and_then(|last| last.parent) {
        match storage::credential::find(connection, tenant, parent)? {
            Some(ancestor) => ancestry.push(ancestor),
            None => return Ok(None),
        }
    }
    let life = Life::of(&agent, ancestry.iter(), clock::now());
    let carried = ancestry.iter().fold(presented.scopes, |scopes, one| scopes.intersection(one.scopes));
    let mandate = storage::mandate::live(connection, tenant, credential.principal)?;
    let document = mandate
        .and_then(|mandate| serde_json::from_str(&mandate.document).ok())
        .and_then(|value| MandateDocument::read(&value).ok())
        .ok_or_else(|| StoreError::Corrupt {
            place: "mandates.document",
            detail: credential.principal.to_string(),
        })?;
    Ok(Some(Found { credential, life, scopes: effective_scopes(carried, &document) }))
}

/// A genuine token out of its hour is recorded against its credential; anything else against nobody.
fn dead_token(error: &TokenError) -> CallerError {
    let Some(Ok(claims)) = error.attributable().map(crate::crypto::token::RawClaims::typed) else {
        return CallerError::Unattributable(error.to_string());
    };
    let subject = Subject {
        chain: crate::domain::Chain::Credential(claims.client_id),
        principal: None,
        agent: Some(claims.sub),
        credential: Some(claims.client_id),
    };
    CallerError::Dead { tenant: claims.tenant, subject, detail: error.to_string() }
}

/// The key id a token names, read without believing it.
fn key_id(token: &str) -> Option<String> {
    const LONGEST_HEADER: usize = 1024;
    let (header, _) = token.split_once('.')?;
    if header.len() > LONGEST_HEADER {
        return None;
    }
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(header).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    Some(header.get("kid")?.as_str()?.to_owned())
}

impl From<CallerError> for Error {
    fn from(error: CallerError) -> Self {
        match error {
            CallerError::Store(error) => Self::Store(error),
            CallerError::Missing | CallerError::Unattributable(_) | CallerError::Dead { .. } => Self::Unknown,
        }
    }
}
