//! What people, agents and credentials are called, each looked up once.

use crate::domain::{AgentId, CredentialId, PrincipalId, TenantSlug, Timestamp};
use crate::storage::{AnyConnection, StoreError, agent, credential, principal};
use chrono::{DateTime, Utc};
use std::collections::HashMap;

/// Names of one tenant.
pub(super) struct Names<'a> {
    pub(super) connection: &'a mut AnyConnection,
    pub(super) tenant: &'a TenantSlug,
    people: HashMap<PrincipalId, String>,
    agents: HashMap<AgentId, String>,
    credentials: HashMap<CredentialId, String>,
}

impl<'a> Names<'a> {
    pub(super) fn new(connection: &'a mut AnyConnection, tenant: &'a TenantSlug) -> Self {
        Self {
            connection,
            tenant,
            people: HashMap::new(),
            agents: HashMap::new(),
            credentials: HashMap::new(),
        }
    }

    /// A person's name.
    pub(super) fn person(&mut self, id: PrincipalId) -> Result<String, StoreError> {
        if let Some(name) = self.people.get(&id) {
            return Ok(name.clone());
        }
        let found = principal::find(self.connection, self.tenant, id)?;
        let name = found.map_or_else(|| id.to_string(), |person| person.name.to_string());
        self.people.insert(id, name.clone());
        Ok(name)
    }

    /// `agent "renewals"`.
    pub(super) fn agent(&mut self, id: AgentId) -> Result<String, StoreError> {
        if let Some(name) = self.agents.get(&id) {
            return Ok(name.clone());
        }
        let found = agent::find(self.connection, self.tenant, id)?;
        let name = found.map_or_else(|| format!("agent {id}"), |agent| format!("agent \"{}\"", agent.name));
        self.agents.insert(id, name.clone());
        Ok(name)
    }

    /// `credential "runner" of agent "renewals"`.
    pub(super) fn credential(&mut self, id: CredentialId) -> Result<String, StoreError> {
        if let Some(name) = self.credentials.get(&id) {
            return Ok(name.clone());
        }
        let name = match credential::find(self.connection, self.tenant, id)? {
            Some(found) => format!("credential \"{}\" of {}", found.label, self.agent(found.agent)?),
            None => format!("credential {id}"),
        };
        self.credentials.insert(id, name.clone());
        Ok(name)
    }
}

/// `Marta`, `Marta and Jan`, `Marta, Jan and Eva`.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// `30 November 2026 at 10:02 UTC`.
pub(super) fn spoken(at: Timestamp) -> String {
    DateTime::<Utc>::from_timestamp_millis(at.unix_milliseconds())
        .map_or_else(|| at.to_string(), |at| at.format("%-d %B %Y at %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_times_read_as_people_write_them() {
        let names = |all: &[&str]| listed(&all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["Marta"]), "Marta");
        assert_eq!(names(&["Marta", "Jan"]), "Marta and Jan");
        assert_eq!(names(&["Marta", "Jan", "Eva"]), "Marta, Jan and Eva");
        assert_eq!(spoken("2026-11-30T10:02:59Z".parse().unwrap()), "30 November 2026 at 10:02 UTC");
        assert_eq!(spoken("2026-11-03T09:05:00+01:00".parse().unwrap()), "3 November 2026 at 08:05 UTC");
    }
}
