//! What decides, by name: every row that gives somebody authority, so that each can be asked for its receipt.

use super::schema::{
    agents, catalogue, credentials, decision_approvals, decisions, enforcement_points, keys,
    known_counterparties, mandates, policies, principals, reply_rules, retention,
};
use super::{AnyConnection, StoreError};
use crate::domain::{DecisionStatus, TenantSlug};
use diesel::prelude::*;
use std::fmt;

/// A row that gives authority, by its key as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Authority {
    /// A version of a person's mandate.
    Mandate(String, i64),
    /// A version of the policy.
    Policy(i64),
    /// A version of the catalogue.
    Catalogue(i64),
    /// A version of the rules of retention.
    Retention(i64),
    /// A version of the reply rules.
    ReplyRules(i64),
    /// A person.
    Principal(String),
    /// An agent.
    Agent(String),
    /// A credential.
    Credential(String),
    /// An enforcement point.
    EnforcementPoint(String),
    /// A key of the tenant.
    Key(String),
    /// That an agent is retired, a key too, or a credential or enforcement point revoked: by its id.
    Ended(String),
    /// A decision that was approved.
    Approved(String),
    /// One person's yes to a decision: the decision, the person.
    Yes(String, String),
    /// A counterparty that a person knows, by the decision it was learnt from.
    Known(String, String),
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mandate(principal, version) => write!(f, "version {version} of the mandate of {principal}"),
            Self::Policy(version) => write!(f, "version {version} of the policy"),
            Self::Catalogue(version) => write!(f, "version {version} of the catalogue"),
            Self::Retention(version) => write!(f, "version {version} of the rules of retention"),
            Self::ReplyRules(version) => write!(f, "version {version} of the reply rules"),
            Self::Principal(id) => write!(f, "person {id}"),
            Self::Agent(id) => write!(f, "agent {id}"),
            Self::Credential(id) => write!(f, "credential {id}"),
            Self::EnforcementPoint(id) => write!(f, "enforcement point {id}"),
            Self::Key(id) => write!(f, "key {id}"),
            Self::Ended(id) => write!(f, "the end of {id}"),
            Self::Approved(id) => write!(f, "the approval of decision {id}"),
            Self::Yes(decision, principal) => write!(f, "the yes of {principal} to decision {decision}"),
            Self::Known(principal, decision) => {
                write!(f, "a counterparty that {principal} knows from decision {decision}")
            }
        }
    }
}

/// Every row of a tenant that gives authority.
pub fn all(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Vec<Authority>, StoreError> {
    let tenant = tenant.as_str();
    let mut all = Vec::new();
    let versions: Vec<(String, i64)> = mandates::table
        .filter(mandates::tenant.eq(tenant))
        .select((mandates::principal, mandates::version))
        .load(connection)?;
    all.extend(versions.into_iter().map(|(principal, version)| Authority::Mandate(principal, version)));
    macro_rules! ended {
        ($table:ident, $ended:ident) => {
            let ended: Vec<String> = $table::table
                .filter($table::tenant.eq(tenant).and($table::$ended.is_not_null()))
                .select($table::id)
                .load(connection)?;
            all.extend(ended.into_iter().map(Authority::Ended));
        };
    }
    macro_rules! keys {
        ($table:ident, $key:ident, $sort:ident) => {
            let keys =
                $table::table.filter($table::tenant.eq(tenant)).select($table::$key).load(connection)?;
            all.extend(keys.into_iter().map(Authority::$sort));
        };
    }
    keys!(policies, version, Policy);
    keys!(catalogue, version, Catalogue);
    keys!(principals, id, Principal);
    keys!(agents, id, Agent);
    keys!(credentials, id, Credential);
    keys!(enforcement_points, id, EnforcementPoint);
    keys!(retention, version, Retention);
    keys!(reply_rules, version, ReplyRules);
    keys!(keys, id, Key);
    ended!(agents, retired_at);
    ended!(credentials, revoked_at);
    ended!(enforcement_points, revoked_at);
    ended!(keys, retired_at);
    let good = [DecisionStatus::Approved.as_str(), DecisionStatus::Used.as_str()];
    let approved: Vec<String> = decisions::table
        .filter(decisions::tenant.eq(tenant))
        .filter(decisions::status.eq_any(good).or(decisions::approved_until.is_not_null()))
        .select(decisions::id)
        .load(connection)?;
    all.extend(approved.into_iter().map(Authority::Approved));
    let given: Vec<(String, String)> = decision_approvals::table
        .filter(decision_approvals::tenant.eq(tenant))
        .select((decision_approvals::decision, decision_approvals::principal))
        .load(connection)?;
    all.extend(given.into_iter().map(|(decision, principal)| Authority::Yes(decision, principal)));
    let known: Vec<(String, String)> = known_counterparties::table
        .filter(known_counterparties::tenant.eq(tenant))
        .select((known_counterparties::principal, known_counterparties::decision))
        .load(connection)?;
    all.extend(known.into_iter().map(|(principal, decision)| Authority::Known(principal, decision)));
    Ok(all)
}
