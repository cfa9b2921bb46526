//! The versions of documents that receipts name, each read once.

use super::{NotAgain, Undecidable};
use crate::domain::{Country, CredentialId, Intent, PrincipalId, TenantSlug};
use crate::engine::{CatalogueEntry, CredentialClauses, MandateDocument, PolicyDocument};
use crate::storage::{self, AnyConnection, StoreError, read_document};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// How many documents of one sort are kept.
const MOST_KEPT: usize = 10_000;

/// The documents of one tenant, by version.
#[derive(Debug)]
pub(super) struct Documents {
    tenant: TenantSlug,
    mandates: HashMap<(PrincipalId, u64), Arc<MandateDocument>>,
    policies: HashMap<u64, Arc<PolicyDocument>>,
    /// What the catalogue of a version says of an intent.
    entries: HashMap<(Intent, u64), Option<Arc<CatalogueEntry>>>,
    lines: HashMap<CredentialId, Line>,
}

/// What a credential and its ancestors say; it never changes.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The credential's clauses, then its ancestors', each with whose it is.
    pub(super) clauses: Arc<Vec<(CredentialId, CredentialClauses)>>,
    /// The country the credential is fixed to.
    pub(super) country: Option<Country>,
}

impl Documents {
    pub(super) fn new(tenant: TenantSlug) -> Self {
        Self {
            tenant,
            mandates: HashMap::new(),
            policies: HashMap::new(),
            entries: HashMap::new(),
            lines: HashMap::new(),
        }
    }

    pub(super) fn mandate(
        &mut self,
        connection: &mut AnyConnection,
        principal: PrincipalId,
        version: u64,
    ) -> Result<Arc<MandateDocument>, NotAgain> {
        kept(&mut self.mandates, (principal, version), || {
            let found = storage::mandate::find(connection, &self.tenant, principal, version)?;
            let found = found.ok_or_else(|| missing(&format!("version {version} of the mandate")))?;
            Ok(Arc::new(read_document("mandates.document", &found.document, MandateDocument::read)?))
        })
    }

    pub(super) fn policy(
        &mut self,
        connection: &mut AnyConnection,
        version: u64,
    ) -> Result<Arc<PolicyDocument>, NotAgain> {
        kept(&mut self.policies, version, || {
            let found = storage::policy::find(connection, &self.tenant, version)?;
            let found = found.ok_or_else(|| missing(&format!("version {version} of the policy")))?;
            Ok(Arc::new(read_document("policies.document", &found.document, PolicyDocument::read)?))
        })
    }

    /// What the catalogue of a version says of an intent, if it knows it.
    pub(super) fn entry(
        &mut self,
        connection: &mut AnyConnection,
        intent: &Intent,
        version: u64,
    ) -> Result<Option<Arc<CatalogueEntry>>, NotAgain> {
        kept(&mut self.entries, (intent.clone(), version), || {
            let found = storage::catalogue::at_version(connection, &self.tenant, intent, version)?;
            let entry =
                found.map(|found| read_document("catalogue.document", &found.document, CatalogueEntry::read));
            Ok(entry.transpose()?.map(Arc::new))
        })
    }

    pub(super) fn line(
        &mut self,
        connection: &mut AnyConnection,
        id: CredentialId,
    ) -> Result<Line, NotAgain> {
        kept(&mut self.lines, id, || {
            let found = storage::credential::find(connection, &self.tenant, id)?;
            let found = found.ok_or_else(|| missing("its credential"))?;
            let ancestors = storage::credential::ancestors(connection, &self.tenant, &found);
            let ancestors = ancestors.map_err(|error| match error {
                StoreError::Corrupt { detail, .. } => Undecidable::Incomplete(detail).into(),
                failed @ StoreError::Failed(_) => NotAgain::Store(failed),
            })?;
            let mut clauses = Vec::new();
            for one in std::iter::once(&found).chain(&ancestors) {
                if let Some(text) = &one.clauses {
                    let read = read_document("credentials.clauses", text, CredentialClauses::read)?;
                    clauses.push((one.id, read));
                }
            }
            Ok(Line { clauses: Arc::new(clauses), country: found.country })
        })
    }
}

fn missing(what: &str) -> Undecidable {
    Undecidable::Incomplete(format!("{what} is not there"))
}

/// What is kept under a key, or else read and kept.
fn kept<K: Hash + Eq, V: Clone>(
    kept: &mut HashMap<K, V>,
    key: K,
    read: impl FnOnce() -> Result<V, NotAgain>,
) -> Result<V, NotAgain> {
    if let Some(value) = kept.get(&key) {
        return Ok(value.clone());
    }
    let value = read()?;
    if kept.len() >= MOST_KEPT {
        kept.clear();
    }
    kept.insert(key, value.clone());
    Ok(value)
}
