//! Everything that decides about one credential, read together and kept while nothing of it changes.

use crate::domain::{
    CredentialId, ExternalName, Intent, PrincipalId, QuestionId, Scopes, TenantSlug, Timestamp,
};
use crate::engine::{
    self, Catalogue, CredentialClauses, CredentialTerms, MandateDocument, PolicyDocument, Used,
};
use crate::storage::{self, AnyConnection, StoreError, agent::Agent, credential::Credential, read_document};
use chrono_tz::Tz;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many credentials' standings one tenant keeps in memory.
const MOST_STANDINGS: usize = 20_000;

/// A principal's live mandate.
#[derive(Debug)]
pub struct LiveMandate {
    /// Its version.
    pub version: u64,
    /// Its terms.
    pub document: MandateDocument,
}

/// A tenant's live policy.
#[derive(Debug)]
pub struct LivePolicy {
    /// Its version.
    pub version: u64,
    /// Its rules.
    pub document: PolicyDocument,
}

/// A tenant's catalogue.
#[derive(Debug)]
pub struct LiveCatalogue {
    /// Its version.
    pub version: u64,
    /// Its entries.
    pub catalogue: Catalogue,
}

/// Everything that decides about one credential's calls, but for the time and the books.
#[derive(Debug)]
pub struct Standing {
    /// The credential.
    pub credential: Credential,
    /// What it was derived from, nearest first.
    pub ancestors: Vec<Credential>,
    /// The agent.
    pub agent: Agent,
    /// What credential and ancestors carry in common.
    pub scopes: Scopes,
    /// The credential's clauses, then its ancestors', each with whose it is.
    pub clauses: Vec<(CredentialId, CredentialClauses)>,
    /// The principal's live mandate.
    pub mandate: Arc<LiveMandate>,
    /// The tenant's live policy.
    pub policy: Arc<LivePolicy>,
    /// The tenant's catalogue.
    pub catalogue: Arc<LiveCatalogue>,
    /// Whom the principal approved before.
    pub known: Arc<HashSet<ExternalName>>,
    /// The tenant's zone.
    pub zone: Tz,
    /// The first question whose answer it, or a credential it comes from, fetched: what it asks counts as untrusted.
    pub tainted_by: Option<QuestionId>,
}

/// Whether a credential may be used at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It may.
    Live,
    /// It, or what it was derived from, ended by itself.
    Expired {
        /// When.
        at: Timestamp,
    },
    /// It, or what it was derived from, was revoked.
    Revoked {
        /// When.
        at: Timestamp,
    },
    /// Its agent is no more.
    Retired {
        /// Since when.
        at: Timestamp,
    },
}

impl Life {
    /// Whether a credential may be used at `now`: its agent is not retired, and nothing in its line, itself and its
    /// ancestors, is revoked or over.
    pub fn of<'a>(agent: &Agent, line: impl Iterator<Item = &'a Credential> + Clone, now: Timestamp) -> Self {
        if let Some(at) = agent.retired_at {
            return Self::Retired { at };
        }
        let revoked = line.clone().filter_map(|one| one.revoked.as_ref().map(|revoked| revoked.at)).min();
        if let Some(at) = revoked {
            return Self::Revoked { at };
        }
        match line.map(|one| one.expires_at).min() {
            Some(at) if at <= now => Self::Expired { at },
            Some(_) | None => Self::Live,
        }
    }
}

impl Standing {
    /// Whether the credential may be used at `now`.
    pub fn life(&self, now: Timestamp) -> Life {
        Life::of(&self.agent, std::iter::once(&self.credential).chain(&self.ancestors), now)
    }

    /// What the engine sees of it, for a token that carries `token_scopes`.
    pub fn view<'a>(
        &'a self,
        clauses: &'a [CredentialTerms<'a>],
        used: &'a Used,
        token_scopes: Scopes,
    ) -> engine::Standing<'a> {
        engine::Standing {
            scopes: self.scopes.intersection(token_scopes),
            principal: self.credential.principal,
            agent: self.agent.id,
            agent_kind: self.agent.kind,
            mandate: &self.mandate.document,
            policy: &self.policy.document,
            credentials: clauses,
            country_fixed: self.credential.country,
            known: &*self.known,
            used,
            zone: self.zone,
        }
    }

    /// The clauses of the credential and its ancestors, as the engine takes them.
    pub fn credential_terms(&self) -> Vec<CredentialTerms<'_>> {
        self.clauses.iter().map(|(id, clauses)| CredentialTerms { id: *id, clauses }).collect()
    }
}

/// What one tenant keeps between batches; good only under the authority epoch it was read at.
#[derive(Debug, Default)]
pub struct StandingCache {
    epoch: u64,
    standings: HashMap<CredentialId, Arc<Standing>>,
    mandates: HashMap<PrincipalId, Arc<LiveMandate>>,
    known: HashMap<PrincipalId, Arc<HashSet<ExternalName>>>,
    policy: Option<Arc<LivePolicy>>,
    catalogue: Option<Arc<LiveCatalogue>>,
    /// The catalogue as it was read under an earlier epoch.
    read_before: Option<Arc<LiveCatalogue>>,
}

impl StandingCache {
    /// Forgets everything read under another epoch.
    pub(super) fn at_epoch(&mut self, epoch: u64) -> &mut Self {
        if self.epoch != epoch {
            // What takes long to read is kept aside: it is good again if its own version is still the live one.
            *self = Self {
                epoch,
                read_before: self.catalogue.take().or_else(|| self.read_before.take()),
                ..Self::default()
            };
        }
        self
    }

    /// The standing of a credential; `None` if the tenant has no such credential.
    pub fn standing(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        zone: Tz,
        id: CredentialId,
    ) -> Result<Option<Arc<Standing>>, StoreError> {
        if let Some(standing) = self.standings.get(&id) {
            return Ok(Some(standing.clone()));
        }
        let Some(credential) = storage::credential::find(connection, tenant, id)? else { return Ok(None) };
        let standing = Arc::new(self.read(connection, tenant, zone, credential)?);
        if self.standings.len() >= MOST_STANDINGS {
            self.standings.clear();
            self.mandates.clear();
            self.known.clear();
        }
        self.standings.insert(id, standing.clone());
        Ok(Some(standing))
    }

    fn read(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        zone: Tz,
        credential: Credential,
    ) -> Result<Standing, StoreError> {
        let missing =
            |what: &str| StoreError::Corrupt { place: "credentials", detail: format!("{what} is missing") };
        let agent = storage::agent::find(connection, tenant, credential.agent)?
            .ok_or_else(|| missing("the agent"))?;
        let ancestors = storage::credential::ancestors(connection, tenant, &credential)?;
        let line = || std::iter::once(&credential).chain(&ancestors);
        let scopes = line().fold(credential.scopes, |scopes, one| scopes.intersection(one.scopes));
        let clauses = line()
            .filter_map(|one| Some((one.id, one.clauses.as_deref()?)))
            .map(|(id, text)| Ok((id, read_document("credentials.clauses", text, CredentialClauses::read)?)))
            .collect::<Result<_, StoreError>>()?;
        let ids: Vec<CredentialId> = line().map(|one| one.id).collect();
        let tainted_by = storage::question::first_fetched(connection, tenant, &ids)?;
        Ok(Standing {
            tainted_by,
            zone,
            scopes,
            clauses,
            mandate: self.mandate(connection, tenant, credential.principal)?,
            policy: self.policy(connection, tenant)?,
            catalogue: self.catalogue(connection, tenant)?,
            known: self.known(connection, tenant, credential.principal)?,
            agent,
            credential,
            ancestors,
        })
    }

    /// The live mandate of a principal.
    pub fn mandate(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        principal: PrincipalId,
    ) -> Result<Arc<LiveMandate>, StoreError> {
        if let Some(mandate) = self.mandates.get(&principal) {
            return Ok(mandate.clone());
        }
        let stored = storage::mandate::live(connection, tenant, principal)?.ok_or_else(|| {
            StoreError::Corrupt { place: "mandates", detail: format!("{principal} has none") }
        })?;
        let document = read_document("mandates.document", &stored.document, MandateDocument::read)?;
        let mandate = Arc::new(LiveMandate { version: stored.version, document });
        self.mandates.insert(principal, mandate.clone());
        Ok(mandate)
    }

    /// The tenant's live policy.
    pub fn policy(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
    ) -> Result<Arc<LivePolicy>, StoreError> {
        if let Some(policy) = &self.policy {
            return Ok(policy.clone());
        }
        let stored = storage::policy::live(connection, tenant)?.ok_or_else(|| StoreError::Corrupt {
            place: "policies",
            detail: format!("`{tenant}` has none"),
        })?;
        let document = read_document("policies.document", &stored.document, PolicyDocument::read)?;
        let policy = Arc::new(LivePolicy { version: stored.version, document });
        self.policy = Some(policy.clone());
        Ok(policy)
    }

    /// The tenant's catalogue.
    pub fn catalogue(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
    ) -> Result<Arc<LiveCatalogue>, StoreError> {
        if let Some(catalogue) = &self.catalogue {
            return Ok(catalogue.clone());
        }
        let version = storage::catalogue::version(connection, tenant)?;
        if let Some(same) = self.read_before.take().filter(|before| before.version == version) {
            self.catalogue = Some(same.clone());
            return Ok(same);
        }
        let mut catalogue = Catalogue::default();
        for stored in storage::catalogue::live(connection, tenant)? {
            let entry = read_document("catalogue.document", &stored.document, engine::CatalogueEntry::read)?;
            let intent: Intent = stored.intent;
            catalogue.entries.insert(intent, Arc::new(entry));
        }
        let catalogue = Arc::new(LiveCatalogue { version, catalogue });
        self.catalogue = Some(catalogue.clone());
        Ok(catalogue)
    }

    pub(super) fn known(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        principal: PrincipalId,
    ) -> Result<Arc<HashSet<ExternalName>>, StoreError> {
        if let Some(known) = self.known.get(&principal) {
            return Ok(known.clone());
        }
        let names = storage::known::of_principal(connection, tenant, principal)?;
        let known = Arc::new(names.into_iter().collect::<HashSet<_>>());
        self.known.insert(principal, known.clone());
        Ok(known)
    }
}
