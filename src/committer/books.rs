//! What an action sees of its batch: the tenant's standings, the connection, and the log to record in.

use super::entropy;
use super::log::{Mark, TenantLog};
use super::standing::{LiveCatalogue, LiveMandate, LivePolicy, Standing, StandingCache};
use crate::crypto::AuthKey;
use crate::domain::{
    AgentId, Chain, CredentialId, ExternalName, FactsFrom, Hash, Intent, Links, Outcome, PrincipalId,
    ReceiptId, TenantSlug, Timestamp,
};
use crate::engine::ENGINE_VERSION;
use crate::evidence::document::Canonical;
use crate::evidence::receipt::{self, Body, Kind};
use crate::storage::decision::Decision;
use crate::storage::receipt::StoredReceipt;
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, StoreError};
use std::collections::HashSet;
use std::sync::Arc;

/// What an action wants recorded.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The chain it continues.
    pub chain: Chain,
    /// What happened.
    pub kind: Kind,
    /// For whom, or by whom.
    pub principal: Option<PrincipalId>,
    /// By which agent.
    pub agent: Option<AgentId>,
    /// With which credential.
    pub credential: Option<CredentialId>,
    /// The gate's answer.
    pub outcome: Option<Outcome>,
    /// What was asked for.
    pub intent: Option<Intent>,
    /// The mandate's version that decided, or that was put live.
    pub mandate_version: Option<u64>,
    /// The policy's version that decided, or that was put live.
    pub policy_version: Option<u64>,
    /// The catalogue's version that decided, or that was put live.
    pub catalogue_version: Option<u64>,
    /// Whose word the facts were.
    pub facts_from: Option<FactsFrom>,
    /// The input document.
    pub input: Canonical,
    /// The output document.
    pub output: Canonical,
    /// Salts and values of what they commit to.
    pub content: Option<Canonical>,
    /// Keyed hashes it is found by, beside its own hashes.
    pub found_by: Vec<Hash>,
}

impl Draft {
    /// An act that names no versions: `kind` in `chain`, with its documents.
    pub fn act(kind: Kind, chain: Chain, input: impl Into<Canonical>, output: impl Into<Canonical>) -> Self {
        Self {
            chain,
            kind,
            principal: None,
            agent: None,
            credential: None,
            outcome: None,
            intent: None,
            mandate_version: None,
            policy_version: None,
            catalogue_version: None,
            facts_from: None,
            input: input.into(),
            output: output.into(),
            content: None,
            found_by: Vec::new(),
        }
    }

    /// The same, done by a person.
    #[must_use]
    pub fn by(mut self, principal: PrincipalId) -> Self {
        self.principal = Some(principal);
        self
    }
}

/// The books of one tenant, inside one batch.
pub struct Books<'a> {
    connection: &'a mut AnyConnection,
    log: &'a mut TenantLog,
    cache: &'a mut StandingCache,
    mailed_links: Option<&'a Links>,
    clock: Timestamp,
    recorded: Vec<Arc<StoredReceipt>>,
}

impl<'a> Books<'a> {
    pub(super) fn new(
        connection: &'a mut AnyConnection,
        log: &'a mut TenantLog,
        cache: &'a mut StandingCache,
        mailed_links: Option<&'a Links>,
        clock: Timestamp,
    ) -> Self {
        Self { connection, log, cache, mailed_links, clock, recorded: Vec::new() }
    }

    /// The tenant.
    pub fn tenant(&self) -> &Tenant {
        &self.log.keys.tenant
    }

    /// The tenant's name.
    pub fn slug(&self) -> &TenantSlug {
        &self.log.keys.tenant.slug
    }

    /// The batch's time: never before the newest receipt's.
    pub fn now(&self) -> Timestamp {
        self.clock.max(self.log.head.last_at)
    }

    /// The connection, inside the batch's transaction.
    pub fn connection(&mut self) -> &mut AnyConnection {
        self.connection
    }

    /// The connection and the tenant's name, for calls that need both.
    pub fn place(&mut self) -> (&mut AnyConnection, &TenantSlug) {
        (self.connection, &self.log.keys.tenant.slug)
    }

    /// Hashes described requests.
    pub fn lookup_key(&self) -> &AuthKey {
        &self.log.keys.lookup
    }

    /// The tenant's keys.
    pub fn keys(&self) -> &super::TenantKeys {
        &self.log.keys
    }

    /// Where mail leads people; `None` where none is written.
    pub fn mailed_links(&self) -> Option<&'a Links> {
        self.mailed_links
    }

    /// Makes an id of this moment.
    pub fn new_id<I>(&self, make: impl FnOnce(Timestamp, [u8; 10]) -> I) -> I {
        make(self.now(), entropy::bytes())
    }

    /// The place in the log that the next receipt takes.
    pub fn next_index(&self) -> u64 {
        self.log.next_index()
    }

    /// Whether no decision about an action of this agent waits.
    pub fn is_quiet(&mut self, agent: AgentId) -> Result<bool, StoreError> {
        self.log.is_quiet(self.connection, agent)
    }

    /// Puts a decision into the queue.
    pub fn open_decision(&mut self, decision: &Decision) -> Result<(), StoreError> {
        self.log.may_wait(Some(decision.agent));
        storage::decision::insert(self.connection, &self.log.keys.tenant.slug, decision)
    }

    /// Gives back the yes that the call at a place of the log used.
    pub(super) fn give_back_yes(&mut self, log_index: u64, still_stands: bool) -> Result<(), StoreError> {
        self.log.may_wait(None);
        storage::decision::give_back(self.connection, &self.log.keys.tenant.slug, log_index, still_stands)?;
        Ok(())
    }

    /// Says that something recorded is not to be found any more as it was.
    pub fn forget_lookups(&mut self) {
        self.log.forget_lookups();
    }

    /// What decides about a credential; `None` if the tenant has no such credential.
    pub fn standing(&mut self, id: CredentialId) -> Result<Option<Arc<Standing>>, StoreError> {
        let epoch = self.log.head.authority_epoch;
        self.cache.at_epoch(epoch).standing(
            self.connection,
            &self.log.keys.tenant.slug,
            self.log.keys.tenant.zone,
            id,
        )
    }

    /// A principal's live mandate.
    pub fn mandate(&mut self, principal: PrincipalId) -> Result<Arc<LiveMandate>, StoreError> {
        let epoch = self.log.head.authority_epoch;
        self.cache.at_epoch(epoch).mandate(self.connection, &self.log.keys.tenant.slug, principal)
    }

    /// Whom a principal approved before.
    pub fn known(&mut self, principal: PrincipalId) -> Result<Arc<HashSet<ExternalName>>, StoreError> {
        let epoch = self.log.head.authority_epoch;
        self.cache.at_epoch(epoch).known(self.connection, &self.log.keys.tenant.slug, principal)
    }

    /// The tenant's live policy.
    pub fn policy(&mut self) -> Result<Arc<LivePolicy>, StoreError> {
        let epoch = self.log.head.authority_epoch;
        self.cache.at_epoch(epoch).policy(self.connection, &self.log.keys.tenant.slug)
    }

    /// The tenant's catalogue.
    pub fn catalogue(&mut self) -> Result<Arc<LiveCatalogue>, StoreError> {
        let epoch = self.log.head.authority_epoch;
        self.cache.at_epoch(epoch).catalogue(self.connection, &self.log.keys.tenant.slug)
    }

    /// Says that something that decides has changed: whatever was read before is read again, on every node.
    pub fn authority_changed(&mut self) {
        self.log.head.authority_epoch = self.log.head.authority_epoch.saturating_add(1);
    }

    /// Records one leaf and gives its receipt, complete but for its path.
    pub fn record(&mut self, draft: Draft) -> Result<Arc<StoredReceipt>, StoreError> {
        let at = self.now();
        let log_index = self.log.next_index();
        let slug = self.log.keys.tenant.slug.clone();
        let end = self.log.end_of(self.connection, &slug, draft.chain)?;
        let (input, output) = (draft.input.into_bytes(), draft.output.into_bytes());
        debug_assert!(is_canonical(&input) && is_canonical(&output), "{:?}", String::from_utf8_lossy(&input));
        let body = Body {
            id: ReceiptId::at_index(at, log_index, entropy::bytes()),
            at,
            tenant: slug,
            principal: draft.principal,
            agent: draft.agent,
            credential: draft.credential,
            kind: draft.kind,
            outcome: draft.outcome,
            mandate_version: draft.mandate_version,
            policy_version: draft.policy_version,
            catalogue_version: draft.catalogue_version,
            engine_version: ENGINE_VERSION.into(),
            facts_from: draft.facts_from,
            input_hash: crate::crypto::sha256(&input),
            output_hash: crate::crypto::sha256(&output),
            chain: draft.chain,
            seq: end.next_seq,
            prev: end.last,
            auth_key: self.log.keys.auth_id,
        };
        let hash = body.hash();
        let stored = Arc::new(StoredReceipt {
            log_index,
            auth: receipt::authenticate(&self.log.keys.auth, &hash),
            hash,
            body,
            intent: draft.intent,
            input: into_text(input)?,
            output: into_text(output)?,
            content: draft.content.map(|content| into_text(content.into_bytes())).transpose()?,
            erased_by: None,
        });
        self.log.append(stored.clone(), &draft.found_by);
        self.recorded.push(stored.clone());
        Ok(stored)
    }

    /// A receipt of the log, whether already committed or of this batch.
    pub fn receipt(&mut self, log_index: u64) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        if let Some(pending) = self.log.pending.iter().find(|stored| stored.log_index == log_index) {
            return Ok(Some(pending.clone()));
        }
        let (connection, slug) = (&mut *self.connection, &self.log.keys.tenant.slug);
        Ok(storage::receipt::find(connection, slug, log_index)?.map(Arc::new))
    }

    /// What this batch has recorded so far: rows that are not written yet.
    pub fn pending(&self) -> &[Arc<StoredReceipt>] {
        &self.log.pending
    }

    /// Runs an action so that nothing of it stays if a rule refuses it.
    pub(super) fn savepoint<T, E: From<StoreError>>(
        &mut self,
        action: impl FnOnce(&mut Books<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mark: Mark = self.log.mark();
        let (log, cache, recorded) = (&mut *self.log, &mut *self.cache, &mut self.recorded);
        let (mailed_links, clock) = (self.mailed_links, self.clock);
        let outcome = storage::savepoint(self.connection, |connection| {
            let mut inner = Books { connection, log, cache, mailed_links, clock, recorded: Vec::new() };
            let value = action(&mut inner)?;
            recorded.append(&mut inner.recorded);
            Ok(value)
        });
        if outcome.is_err() && self.log.go_back(mark) {
            // What was read after the change is of a change that did not happen.
            *self.cache = StandingCache::default();
        }
        outcome
    }

    pub(super) fn take_recorded(&mut self) -> Vec<Arc<StoredReceipt>> {
        std::mem::take(&mut self.recorded)
    }
}

impl std::fmt::Debug for Books<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Books of {}", self.log.keys.tenant.slug)
    }
}

/// Whether a document is in the one form that is hashed; looked at where the service is tested.
fn is_canonical(document: &[u8]) -> bool {
    let read: Result<serde_json::Value, _> = serde_json::from_slice(document);
    read.is_ok_and(|value| crate::evidence::canonical::to_vec(&value) == document)
}

fn into_text(canonical: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(canonical).map_err(|_| StoreError::Failed("a canonical form is not UTF-8".into()))
}
