//! Whose receipts an export holds: a credential's, an agent's, a person's, or all of a tenant.

use super::{members::Members, receipt::Body};
use crate::domain::{AgentId, Chain, CredentialId, Malformed, PrincipalId, TenantSlug};
use serde_json::{Value, json};
use std::fmt;

/// Whose receipts an export holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// One credential's calls.
    Credential(CredentialId),
    /// What concerns one agent.
    Agent(AgentId),
    /// What concerns one person, or was done by them.
    Principal(PrincipalId),
    /// The whole log.
    Tenant,
}

impl Subject {
    /// What kind of subject it is, as headers name it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Credential(_) => "credential",
            Self::Agent(_) => "agent",
            Self::Principal(_) => "principal",
            Self::Tenant => "tenant",
        }
    }

    /// As it stands in a header: an object of one member.
    pub fn to_json(&self, tenant: &TenantSlug) -> Value {
        match self {
            Self::Credential(id) => json!({ "credential": id }),
            Self::Agent(id) => json!({ "agent": id }),
            Self::Principal(id) => json!({ "principal": id }),
            Self::Tenant => json!({ "tenant": tenant }),
        }
    }

    /// Reads it strictly: exactly one of the four members, a tenant only the header's own.
    pub(super) fn from_json(value: &Value, tenant: &TenantSlug) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "a subject")?;
        let named = [
            members.optional_spelt("credential")?.map(Self::Credential),
            members.optional_spelt("agent")?.map(Self::Agent),
            members.optional_spelt("principal")?.map(Self::Principal),
        ];
        let whole: Option<TenantSlug> = members.optional_spelt("tenant")?;
        if let Some(other) = whole.as_ref().filter(|found| *found != tenant) {
            return Err(Malformed::at("/tenant", format!("`{other}` found, the export is of `{tenant}`")));
        }
        members.end()?;
        let mut all = named.into_iter().flatten().chain(whole.map(|_| Self::Tenant));
        match (all.next(), all.next()) {
            (Some(subject), None) => Ok(subject),
            (Some(_), Some(_)) => Err(Malformed::whole("more than one subject, an export has one")),
            (None, _) => Err(Malformed::whole("no subject: one of credential, agent, principal, tenant")),
        }
    }

    /// Whether a receipt belongs into an export of it.
    pub fn covers(&self, body: &Body) -> bool {
        match self {
            Self::Credential(id) => body.credential == Some(*id) || body.chain == Chain::Credential(*id),
            Self::Agent(id) => body.agent == Some(*id),
            Self::Principal(id) => body.principal == Some(*id) || body.chain == Chain::Principal(*id),
            Self::Tenant => true,
        }
    }

    /// Whether an export of it holds a chain without gaps. Of the chains of others it holds what concerns its subject.
    pub fn holds_whole(&self, chain: Chain) -> bool {
        match (self, chain) {
            (Self::Tenant, _) | (_, Chain::Credential(_)) => true,
            (Self::Principal(id), Chain::Principal(of)) => *id == of,
            (Self::Credential(_) | Self::Agent(_), Chain::Principal(_)) | (_, Chain::Tenant(_)) => false,
        }
    }

    /// What a receipt's body says in place of the subject.
    pub(super) fn found_in(&self, body: &Body) -> String {
        let named = match self {
            Self::Credential(_) => body.credential.map(|id| id.to_string()),
            Self::Agent(_) => body.agent.map(|id| id.to_string()),
            Self::Principal(_) => body.principal.map(|id| id.to_string()),
            Self::Tenant => Some(body.tenant.to_string()),
        };
        named.unwrap_or_else(|| "absent".to_owned())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential(id) => id.fmt(f),
            Self::Agent(id) => id.fmt(f),
            Self::Principal(id) => id.fmt(f),
            Self::Tenant => f.write_str("the tenant"),
        }
    }
}
