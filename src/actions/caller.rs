//! Who acts. A permission is a type here: an argument of type [`Operator`] is the check.

use super::Error;
use crate::committer::Books;
use crate::crypto::token::Claims;
use crate::domain::Duration;
use crate::domain::{
    AgentId, AgentKind, Chain, CredentialId, EnforcementPointId, Hash, Label, PrincipalId, Role, Roles,
    Scope, Scopes, TenantId, TenantSlug, Timestamp,
};
use crate::storage::access::Subject;
use crate::storage::principal::PasswordSetBy;
use crate::storage::session;

/// How long after signing in a person may widen, approve above a threshold, or enrol.
pub const FRESH: Duration = Duration::minutes(5);

/// A signed-in person.
#[derive(Debug, Clone)]
pub struct Person {
    /// Their tenant.
    pub tenant: TenantSlug,
    /// Their id.
    pub id: PrincipalId,
    /// What they are called.
    pub name: Label,
    /// Where mail reaches them.
    pub email: String,
    /// What they may do.
    pub roles: Roles,
    /// The digest of their session's token.
    pub session: Hash,
    /// When they signed in.
    pub signed_in_at: Timestamp,
    /// Who chose their password.
    pub password_set_by: Option<PasswordSetBy>,
}

impl Person {
    /// Whether they signed in just now.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.signed_in_at.plus(FRESH)
    }

    /// Refuses an act that needs a fresh sign-in.
    pub fn require_fresh(&self, now: Timestamp, act: &'static str) -> Result<(), Error> {
        if self.is_fresh(now) { Ok(()) } else { Err(Error::StepUp { act }) }
    }

    /// Refuses an act whose session ended while it waited: signing out and changing the password come first.
    pub fn require_session(&self, books: &mut Books<'_>) -> Result<(), Error> {
        match session::find(books.connection(), self.session)? {
            Some(session) if session.principal == self.id => Ok(()),
            Some(_) | None => Err(Error::SignedOut),
        }
    }

    /// The person as operator.
    pub fn operator(self) -> Result<Operator, Error> {
        if self.roles.contains(Role::Operator) {
            Ok(Operator(self))
        } else {
            Err(Error::Forbidden("this needs the role operator".into()))
        }
    }

    /// Whose log entries the person may see: their own, or with the role compliance the tenant's.
    pub fn sees_tenant(&self) -> bool {
        self.roles.contains(Role::Compliance)
    }
}

/// A signed-in person who holds the role operator.
#[derive(Debug, Clone)]
pub struct Operator(Person);

impl Operator {
    /// The person.
    pub fn person(&self) -> &Person {
        &self.0
    }
}

/// What a verified token of an agent says; whether it still holds is read in the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presented {
    /// The credential.
    pub credential: CredentialId,
    /// The agent, by the token.
    pub agent: AgentId,
    /// The scopes the token carries.
    pub scopes: Scopes,
}

impl From<&Claims> for Presented {
    fn from(claims: &Claims) -> Self {
        Self { credential: claims.client_id, agent: claims.sub, scopes: claims.scope }
    }
}

/// An agent whose credential was live when it was looked up.
#[derive(Debug, Clone)]
pub struct AgentCaller {
    /// Its tenant.
    pub tenant: TenantSlug,
    /// What it presented.
    pub presented: Presented,
    /// For whom it acts.
    pub principal: PrincipalId,
    /// Token scopes ∩ credential ∩ ancestors ∩ live mandate.
    pub scopes: Scopes,
    /// What the agent is for.
    pub kind: AgentKind,
}

impl AgentCaller {
    /// Refuses a caller without the scope.
    pub fn require(&self, scope: Scope) -> Result<(), Error> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(Error::InsufficientScope(scope)) }
    }

    /// Refuses a caller whose token never carried the scope; whether the mandate has switched it off meanwhile does not
    /// matter, as for saying how something ended that was let happen before.
    pub fn require_carried(&self, scope: Scope) -> Result<(), Error> {
        if self.presented.scopes.contains(scope) { Ok(()) } else { Err(Error::InsufficientScope(scope)) }
    }

    /// Against whom its calls are recorded.
    pub fn subject(&self) -> Subject {
        Subject::of_credential(self.presented.credential, self.presented.agent, self.principal)
    }
}

/// An enforcement point whose token was verified; whether it is revoked is read where it counts.
#[derive(Debug, Clone)]
pub struct PointCaller {
    /// Its tenant.
    pub tenant: TenantSlug,
    /// The tenant's own id, which names the chain that its calls are recorded in.
    pub tenant_id: TenantId,
    /// Its id.
    pub id: EnforcementPointId,
}

impl PointCaller {
    /// Against whom its calls are recorded, where they are no agent's: the tenant.
    pub fn subject(&self) -> Subject {
        Subject { chain: Chain::Tenant(self.tenant_id), principal: None, agent: None, credential: None }
    }
}
