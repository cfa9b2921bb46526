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
use crate::domain::{Chain, Links, Outcome, ReceiptId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{self, AnyConnection, StoreError, Transaction};
use serde_json::json;
use std::collections::hash_map::Entry;
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
    mailed_links: Option<Links>,
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
            mailed_links: settings.mailed_links.clone(),
            logs: HashMap::new(),
            caches: HashMap::new(),
            doubtful: Vec::new(),
        })
    }

    /// Holds every tenant's head against its newest receipt and its own signature, under the head's lock: on another
    /// node the log goes on meanwhile. Writing the head back shows that the database can be written: one that can be
    /// read may still be locked, full or read-only.
    pub(super) fn verify_all(&mut self) -> Result<(), StoreError> {
        storage::trail::catch_up(&mut self.connection)?;
        for tenant in storage::tenant::all(&mut self.connection)? {
            let keys = TenantKeys::load(&mut self.connection, &tenant.slug, &self.master)?
                .ok_or_else(|| StoreError::Failed(format!("`{}` is gone", tenant.slug)))?;
            let transaction = Transaction::begin(&mut self.connection)?;
            let head = super::log::verify_head(&mut self.connection, &keys)?;
            storage::head::update(&mut self.connection, &tenant.slug, &head)?;
            // What batches will go on from is read once, so that what is missing of it is named here.
            TenantLog::open(&mut self.connection, Arc::new(keys), head)?;
            transaction.commit(&mut self.connection)?;
        }
        Ok(())
    }

    /// Of receipts whose commit nobody knew of, those that are in the log after all.
    pub(super) fn still_there(&mut self, late: &[TooLate]) -> Result<Vec<TooLate>, StoreError> {
        let mut there = Vec::new();
        for one in late {
            let mut receipts = Vec::new();
            for stored in &one.receipts {
                let found = storage::receipt::find(&mut self.connection, &one.tenant, stored.log_index)?;
                if found.is_some_and(|found| found.body.id == stored.body.id) {
                    receipts.push(stored.clone());
                }
            }
            if !receipts.is_empty() {
                there.push(TooLate { tenant: one.tenant.clone(), receipts });
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
            return log.begin(&mut self.connection, head);
        }
        if let Some(keys) = TenantKeys::load(&mut self.connection, tenant, &self.master)? {
            let log = TenantLog::open(&mut self.connection, Arc::new(keys), head)?;
            self.logs.insert(tenant.clone(), log);
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
        action(&mut Books::new(&mut self.connection, log, cache, self.mailed_links.as_ref(), clock))
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
    let late: Vec<_> =
        late.iter().filter(|late| late.tenant == slug).flat_map(|late| &late.receipts).collect();
    let mut replays = Replays::new();
    for stored in &late {
        let Some(credential) = stored.body.credential else { continue };
        if stored.body.kind != Kind::GateEvaluate
            || stored.body.outcome != Some(Outcome::Allow)
            || was_repeated(books, stored, &late, &mut replays)?
        {
            continue;
        }
        let input = json!({"kind": Kind::GateWithdrawn.as_str(), "tenant": slug, "receipt": stored.body.id});
        let output = json!({"withdrawn": stored.body.id});
        let mut draft = Draft::act(Kind::GateWithdrawn, stored.body.chain, input, output);
        draft.principal = stored.body.principal;
        draft.agent = stored.body.agent;
        draft.credential = Some(credential);
        books.record(draft)?;
        let still_stands = match books.standing(credential) {
            Ok(standing) => standing.is_some_and(|standing| {
                stored.body.mandate_version == Some(standing.mandate.version)
                    && stored.body.policy_version == Some(standing.policy.version)
            }),
            Err(StoreError::Corrupt { .. }) => false,
            Err(error) => return Err(error),
        };
        let now = books.now();
        let (connection, slug) = books.place();
        storage::idempotency::delete_answer(connection, slug, credential, stored.log_index)?;
        storage::effect::withdraw(connection, slug, stored.log_index, now)?;
        storage::book::release(connection, slug, stored.log_index, now)?;
        books.give_back_yes(stored.log_index, still_stands)?;
    }
    Ok(())
}

/// The replays of each chain that took answers from what came too late, read once a chain.
type Replays = HashMap<Chain, Vec<(ReceiptId, String)>>;

/// Whether the same answer was given again under its key, in time: then a caller holds it, and it stands.
fn was_repeated(
    books: &mut Books<'_>,
    stored: &StoredReceipt,
    late: &[&Arc<StoredReceipt>],
    replays: &mut Replays,
) -> Result<bool, StoreError> {
    /// How many replays of a chain are looked at: more than the batches that one window spans can hold.
    const LOOKED_AT: usize = 5000;
    let chain = stored.body.chain;
    if let Entry::Vacant(place) = replays.entry(chain) {
        let of_chain = late.iter().filter(|one| one.body.chain == chain);
        let first = of_chain.map(|one| one.log_index).min().unwrap_or(stored.log_index);
        let (connection, slug) = books.place();
        let found = storage::receipt::replays_since(connection, slug, chain, first, LOOKED_AT)?;
        place.insert(found);
    }
    let first = stored.body.id.to_string();
    Ok(replays.get(&chain).is_some_and(|found| {
        let in_time = |id: &ReceiptId| !late.iter().any(|late| late.body.id == *id);
        found.iter().any(|(id, input)| input.contains(&first) && in_time(id))
    }))
}
