//! Who is calling: a person by session, an agent or an enforcement point by access token.

use super::App;
use crate::actions::caller::{AgentCaller, Person, PointCaller, Presented};
use crate::actions::{Error, session as sessions};
use crate::committer::{Life, clock};
use crate::crypto::secret::{Secret, SecretKind};
use crate::crypto::sha256;
use crate::crypto::token::{Bearer, Claims, PointClaims, TokenError, Verified};
use crate::domain::{AgentKind, Chain, EnforcementPointId, Scopes, TenantSlug};
use crate::engine::{MandateDocument, effective_scopes};
use crate::storage::access::Subject;
use crate::storage::credential::Credential;
use crate::storage::{self, AnyConnection, StoreError};
use base64::Engine;

/// Whoever presents a token.
#[derive(Debug, Clone)]
pub enum Presenter {
    /// A person or an agent.
    Caller(Caller),
    /// An enforcement point that is not revoked.
    Point(Box<PointCaller>),
}

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
    /// The token is a genuine enforcement point's, and it, or itself, is no longer good.
    DeadPoint {
        /// Whose token.
        point: Box<PointCaller>,
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

impl App {
    /// Who presents this bearer token; an agent's credential, or an enforcement point, is looked up as it is now.
    pub async fn presenter(&self, bearer: Option<&str>) -> Result<Presenter, CallerError> {
        let bearer = bearer.ok_or(CallerError::Missing)?;
        if bearer.starts_with(SecretKind::Session.prefix()) {
            let person = self.person(bearer).await?;
            return Ok(Presenter::Caller(Caller::Person(Box::new(person))));
        }
        match self.bearer(bearer)? {
            Bearer::Agent(claims) => {
                let agent = self.agent(&claims).await?;
                Ok(Presenter::Caller(Caller::Agent(Box::new(agent))))
            }
            Bearer::Point(claims) => {
                self.live_point(&claims).await.map(|point| Presenter::Point(Box::new(point)))
            }
        }
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

    /// Whose a genuine, timely token is, and what it claims. Whether it still counts is for the batch,
    /// [`App::agent`] or [`App::live_point`] to say.
    pub fn bearer(&self, token: &str) -> Result<Bearer, CallerError> {
        let now = clock::now();
        let digest = sha256(token.as_bytes());
        let unattributable = |error: &dyn std::fmt::Display| CallerError::Unattributable(error.to_string());
        let kid =
            key_id(token).ok_or_else(|| unattributable(&"the token is not a JWT that names its key"))?;
        let (verifier, epoch) =
            self.verifier(&kid, now)?.ok_or_else(|| unattributable(&"the token's key is unknown"))?;
        if let Some(bearer) = self.tokens.get(&digest, epoch, now) {
            return Ok(bearer);
        }
        let genuine = verifier.verify(token, now).map_err(|error| self.dead_token(&error))?;
        let bearer = genuine.bearer().map_err(|error| unattributable(&error))?;
        self.tokens.put(digest, epoch, bearer.clone());
        Ok(bearer)
    }

    /// A genuine token out of its hour is recorded against whose it is; anything else against nobody.
    fn dead_token(&self, error: &TokenError) -> CallerError {
        let detail = error.to_string();
        let Some(genuine) = error.attributable() else { return CallerError::Unattributable(detail) };
        if let Ok(claims) = genuine.typed() {
            let subject = Subject {
                chain: Chain::Credential(claims.client_id),
                principal: None,
                agent: Some(claims.sub),
                credential: Some(claims.client_id),
            };
            return CallerError::Dead { tenant: claims.tenant, subject, detail };
        }
        match genuine.point().map(|claims| self.point(&claims.tenant, claims.point)) {
            Ok(Ok(point)) => CallerError::DeadPoint { point: Box::new(point), detail },
            Ok(Err(error)) => error,
            Err(_) => CallerError::Unattributable(detail),
        }
    }

    /// An enforcement point by its tenant and id, revoked or not.
    pub fn point(&self, tenant: &TenantSlug, id: EnforcementPointId) -> Result<PointCaller, CallerError> {
        let unknown = || CallerError::Unattributable(format!("the tenant of `{id}` is unknown"));
        let tenant_id = self.tenant_id(tenant).ok_or_else(unknown)?;
        Ok(PointCaller { tenant: tenant.clone(), tenant_id, id })
    }

    /// The enforcement point behind verified claims, if it is not revoked at this moment.
    pub async fn live_point(&self, claims: &Verified<PointClaims>) -> Result<PointCaller, CallerError> {
        let point = self.point(&claims.tenant, claims.point)?;
        let (tenant, id) = (point.tenant.clone(), point.id);
        let found = self
            .read(move |connection| storage::enforcement_point::find(connection, &tenant, id))
            .await?
            .ok_or_else(|| CallerError::Unattributable("the token's enforcement point is unknown".into()))?;
        match found.revoked {
            None => Ok(point),
            Some(revoked) => {
                let detail = format!("enforcement point `{id}` was revoked at {}", revoked.at);
                Err(CallerError::DeadPoint { point: Box::new(point), detail })
            }
        }
    }

    /// The agent behind verified claims, if its credential is live at this moment.
    pub async fn agent(&self, claims: &Verified<Claims>) -> Result<AgentCaller, CallerError> {
        let presented = Presented::from(&**claims);
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
        Ok(AgentCaller {
            tenant,
            presented,
            principal: found.credential.principal,
            scopes: found.scopes,
            kind: found.kind,
        })
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
    kind: AgentKind,
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
    let ancestors = storage::credential::ancestors(connection, tenant, &credential)?;
    let all = || std::iter::once(&credential).chain(&ancestors);
    let life = Life::of(&agent, all(), clock::now());
    let carried = all().fold(presented.scopes, |scopes, one| scopes.intersection(one.scopes));
    let mandate = storage::mandate::live(connection, tenant, credential.principal)?;
    let mandate = mandate.ok_or_else(|| {
        let detail = format!("{} has none", credential.principal);
        StoreError::Corrupt { place: "mandates", detail }
    })?;
    let document = storage::read_document("mandates.document", &mandate.document, MandateDocument::read)?;
    Ok(Some(Found { kind: agent.kind, credential, life, scopes: effective_scopes(carried, &document) }))
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
            CallerError::Missing
            | CallerError::Unattributable(_)
            | CallerError::Dead { .. }
            | CallerError::DeadPoint { .. } => Self::Unknown,
        }
    }
}
