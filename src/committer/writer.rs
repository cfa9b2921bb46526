//! One batch in one transaction, on the one connection that writes.

use super::Settings;
use super::books::{Books, Draft};
use super::clock;
use super::job::TooLate;
use super::keys::TenantKeys;
use super::log::{Seal, TenantLog};
use super::outage::Gap;
use super::queue::Taken;
use super::standing::StandingCache;
use crate::crypto::keyring::MasterKey;
use crate::domain::{Chain, Outcome, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::{self, AnyConnection, StoreError, Transaction};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What a committed batch leaves for its answers.
pub(super) struct Seals {
    pub(super) by_tenant: HashMap<TenantSlug, Arc<Seal>>,
    pub(super) receipts: u64,
}

/// The writing connection and what is kept between batches; thrown away whole when the store fails.
pub(super) struct Writer {
    connection: AnyConnection,
    master: MasterKey,
    logs: HashMap<TenantSlug, TenantLog>,
    caches: HashMap<TenantSlug, StandingCache>,
    /// Receipts of a batch whose commit failed.
    pub(super) doubtful: Vec<TooLate>,
}

impl Writer {
    pub(super) fn open(settings: &Settings) -> Result<Self, StoreError> {
        Ok(Self {
            connection: settings.database.open_writer()?,
            master: settings.master.clone(),
            logs: HashMap::new(),
            caches: HashMap::new(),
            doubtful: Vec::new(),
        })
    }

    /// Holds every tenant's head against its newest receipt and its own signature.
    pub(super) fn verify_all(&mut self) -> Result<(), StoreError> {
        for tenant in storage::tenant::all(&mut self.connection)? {
            let keys = TenantKeys::load(&mut self.connection, &tenant.slug, &self.master)?
                .ok_or_else(|| StoreError::Failed(format!("`{}` is gone", tenant.slug)))?;
            super::log::verify_head(&mut self.connection, &keys)?;
        }
        self.try_to_write()
    }

    /// A database that can be read may still be locked, full or read-only: the log is open only if it can be written.
    fn try_to_write(&mut self) -> Result<(), StoreError> {
        let Some(tenant) = storage::tenant::all(&mut self.connection)?.into_iter().next() else {
            return Ok(());
        };
        let transaction = Transaction::begin(&mut self.connection)?;
        storage::head::lock(&mut self.connection, &tenant.slug)?;
        storage::head::touch(&mut self.connection, &tenant.slug)?;
        transaction.commit(&mut self.connection)
    }

    /// Of receipts whose commit nobody knew of, those that are in the log after all.
    pub(super) fn still_there(&mut self, late: Vec<TooLate>) -> Result<Vec<TooLate>, StoreError> {
        let mut there = Vec::new();
        for mut one in late {
            let mut kept = Vec::new();
            for stored in one.receipts {
                let found = storage::receipt::find(&mut self.connection, &one.tenant, stored.log_index)?;
                if found.is_some_and(|found| found.body.id == stored.body.id) {
                    kept.push(stored);
                }
            }
            one.receipts = kept;
            if !one.receipts.is_empty() {
                there.push(one);
            }
        }
        Ok(there)
    }

    pub(super) fn commit(
        &mut self,
        taken: &mut Taken,
        late: &[TooLate],
        gaps: &BTreeMap<TenantSlug, Gap>,
    ) -> Result<Seals, StoreError> {
        let tenants: BTreeSet<TenantSlug> = taken
            .jobs
            .iter()
            .map(|job| job.tenant())
            .chain(taken.accesses.tenants())
            .chain(late.iter().map(|late| &late.tenant))
            .chain(gaps.keys())
            .cloned()
            .collect();
        let transaction = Transaction::begin(&mut self.connection)?;
        // Heads are locked in one order on every node, so that two batches never wait for each other.
        let mut clock = clock::now();
        for tenant in &tenants {
            self.lock(tenant)?;
        }
        if let Some(time) = storage::head::database_time(&mut self.connection)? {
            clock = time;
        }
        for tenant in &tenants {
            self.for_tenant(tenant, clock, |books| {
                record_gap(books, gaps)?;
                withdraw(books, late)?;
                taken.accesses.write(books)
            })?;
        }
        for job in &mut taken.jobs {
            let tenant = job.tenant().clone();
            self.for_tenant(&tenant, clock, |books| job.run(books))?;
        }
        let mut seals = Seals { by_tenant: HashMap::new(), receipts: 0 };
        for tenant in &tenants {
            let Some(log) = self.logs.get_mut(tenant) else { continue };
            let count = u64::try_from(log.pending.len()).unwrap_or(u64::MAX);
            if let Some(seal) = log.seal(&mut self.connection, tenant)? {
                seals.receipts = seals.receipts.saturating_add(count);
                seals.by_tenant.insert(tenant.clone(), seal);
            }
        }
        if let Err(error) = transaction.commit(&mut self.connection) {
            self.doubtful = tenants
                .iter()
                .filter_map(|tenant| {
                    let receipts = self.logs.get(tenant)?.pending.clone();
                    Some(TooLate { tenant: tenant.clone(), receipts })
                })
                .collect();
            return Err(error);
        }
        Ok(seals)
    }

    fn lock(&mut self, tenant: &TenantSlug) -> Result<(), StoreError> {
        let Some(head) = storage::head::lock(&mut self.connection, tenant)? else { return Ok(()) };
        if let Some(log) = self.logs.get_mut(tenant) {
            return log.begin(head);
        }
        if let Some(keys) = TenantKeys::load(&mut self.connection, tenant, &self.master)? {
            self.logs.insert(tenant.clone(), TenantLog::open(Arc::new(keys), head)?);
        }
        Ok(())
    }

    /// Opens a tenant's books; a tenant that does not exist has none, and its jobs are left unanswered.
    fn for_tenant(
        &mut self,
        tenant: &TenantSlug,
        clock: Timestamp,
        action: impl FnOnce(&mut Books<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let Some(log) = self.logs.get_mut(tenant) else { return Ok(()) };
        let cache = self.caches.entry(tenant.clone()).or_default();
        action(&mut Books::new(&mut self.connection, log, cache, clock))
    }
}

/// Records that calls went without a record, once recording works again.
fn record_gap(books: &mut Books<'_>, gaps: &BTreeMap<TenantSlug, Gap>) -> Result<(), StoreError> {
    let slug = books.slug().clone();
    let Some(gap) = gaps.get(&slug) else { return Ok(()) };
    let input = json!({"kind": Kind::LogGap.as_str(), "tenant": slug});
    let output = json!({"from": gap.from, "until": gap.until, "calls": gap.calls});
    let chain = Chain::Tenant(books.tenant().id);
    books.record(Draft::act(Kind::LogGap, chain, input, output)).map(|_| ())
}

/// Takes back allows that became durable after their caller had been refused.
fn withdraw(books: &mut Books<'_>, late: &[TooLate]) -> Result<(), StoreError> {
    let slug = books.slug().clone();
    for stored in late.iter().filter(|late| late.tenant == slug).flat_map(|late| &late.receipts) {
        if stored.body.outcome != Some(Outcome::Allow) {
            continue;
        }
        let Some(credential) = stored.body.credential else { continue };
        let input = json!({"kind": Kind::GateWithdrawn.as_str(), "tenant": slug, "receipt": stored.body.id});
        let output = json!({"withdrawn": stored.body.id});
        let mut draft = Draft::act(Kind::GateWithdrawn, stored.body.chain, input, output);
        draft.principal = stored.body.principal;
        draft.agent = stored.body.agent;
        draft.credential = Some(credential);
        books.record(draft)?;
        let (connection, slug) = books.place();
        storage::idempotency::delete_answer(connection, slug, credential, stored.log_index)?;
        storage::effect::withdraw(connection, slug, stored.log_index, stored.body.at)?;
        storage::decision::give_back(connection, slug, stored.log_index)?;
    }
    Ok(())
}
