//! The committer's thread: batch after batch, and what it does when the store fails.

use super::access::Access;
use super::books::{Books, Draft};
use super::clock;
use super::job::{Answered, End, JobError, Task, Ticket, TooLate, Unavailable, Window};
use super::keys::TenantKeys;
use super::log::{Seal, TenantLog};
use super::outage::{Gap, Outage};
use super::queue::{Lane, Queue, Taken};
use super::standing::StandingCache;
use crate::crypto::keyring::MasterKey;
use crate::domain::{Chain, Outcome, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::{self, AnyConnection, Database, StoreError, Transaction};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// How many jobs one batch takes at most.
const MOST_A_BATCH: usize = 512;
/// How long an answer of the gate may take before the caller is refused for want of a record.
const GATE_WINDOW: Duration = Duration::from_secs(2);
/// How long an act of authority may take before its caller is told that nobody knows.
const ACT_WINDOW: Duration = Duration::from_secs(10);
/// How long to wait before the store is tried again.
const REOPEN_PAUSE: Duration = Duration::from_millis(200);

/// What the committer needs to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the tables are.
    pub database: Database,
    /// Opens the tenants' keys.
    pub master: MasterKey,
    /// Where an outage is noted.
    pub outage_file: PathBuf,
}

/// How the committer fares, for health checks and metrics.
#[derive(Debug, Default)]
pub struct Status {
    down: AtomicBool,
    batches: AtomicU64,
    receipts: AtomicU64,
    unrecorded: AtomicU64,
}

impl Status {
    /// Whether the log can be written.
    pub fn is_up(&self) -> bool {
        !self.down.load(Ordering::Acquire)
    }
    /// Batches committed.
    pub fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }
    /// Receipts committed.
    pub fn receipts(&self) -> u64 {
        self.receipts.load(Ordering::Relaxed)
    }
    /// Calls answered with 503 because they could not be recorded.
    pub fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }
}

/// The handle through which everything is written. Cheap to clone; the thread ends after [`Committer::stop`].
#[derive(Clone)]
pub struct Committer {
    queue: Arc<Queue>,
    status: Arc<Status>,
    outage: Arc<Mutex<Outage>>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Committer")
    }
}

impl Committer {
    /// Opens the database, verifies each tenant's head and starts the thread.
    pub fn start(settings: Settings) -> Result<Self, StoreError> {
        let outage = Outage::open(&settings.outage_file)
            .map_err(|error| StoreError::Failed(format!("`{}`: {error}", settings.outage_file.display())))?;
        let committer = Self {
            queue: Arc::default(),
            status: Arc::default(),
            outage: Arc::new(Mutex::new(outage)),
            thread: Arc::default(),
        };
        let mut writer = Writer::open(&settings)?;
        writer.verify_all()?;
        let (queue, status, outage) =
            (committer.queue.clone(), committer.status.clone(), committer.outage.clone());
        let thread = std::thread::Builder::new()
            .name("committer".into())
            .spawn(move || Loop { settings, queue, status, outage, late: Vec::new() }.run(writer))
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        *committer.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(committer)
    }

    /// Answers of the gate: refused if they are not durable within the window.
    pub async fn gate<T, E: JobError>(
        &self,
        tenant: TenantSlug,
        action: impl FnOnce(&mut Books<'_>) -> Result<T, E> + Send + 'static,
    ) -> Answered<T, E>
    where
        T: Send + 'static,
    {
        self.submit(Lane::Normal, Window::Gate, tenant, action).await
    }

    /// Acts of authority that may wait their turn.
    pub async fn act<T, E: JobError>(
        &self,
        tenant: TenantSlug,
        action: impl FnOnce(&mut Books<'_>) -> Result<T, E> + Send + 'static,
    ) -> Answered<T, E>
    where
        T: Send + 'static,
    {
        self.submit(Lane::Normal, Window::Act, tenant, action).await
    }

    /// Acts that narrow, decline, revoke or stop: first in the next batch, with places of their own.
    pub async fn urgent<T, E: JobError>(
        &self,
        tenant: TenantSlug,
        action: impl FnOnce(&mut Books<'_>) -> Result<T, E> + Send + 'static,
    ) -> Answered<T, E>
    where
        T: Send + 'static,
    {
        self.submit(Lane::Urgent, Window::Act, tenant, action).await
    }

    /// What the service does by itself: nobody waits for it, so it leaves no gap.
    pub async fn upkeep<T, E: JobError>(
        &self,
        tenant: TenantSlug,
        action: impl FnOnce(&mut Books<'_>) -> Result<T, E> + Send + 'static,
    ) -> Answered<T, E>
    where
        T: Send + 'static,
    {
        self.submit(Lane::Normal, Window::Upkeep, tenant, action).await
    }

    async fn submit<T, E: JobError>(
        &self,
        lane: Lane,
        window: Window,
        tenant: TenantSlug,
        action: impl FnOnce(&mut Books<'_>) -> Result<T, E> + Send + 'static,
    ) -> Answered<T, E>
    where
        T: Send + 'static,
    {
        if !self.status.is_up() {
            self.unrecorded(&tenant, window);
            return Err(Unavailable::LogDown);
        }
        let (reply, mut answer) = oneshot::channel();
        let ticket = Arc::new(Ticket::default());
        let task = Task {
            tenant: tenant.clone(),
            window,
            action: Some(action),
            outcome: None,
            recorded: Vec::new(),
            ticket: ticket.clone(),
            reply,
        };
        if self.queue.push(lane, Box::new(task)).is_err() {
            if self.queue.is_closed() {
                return Err(Unavailable::Stopping);
            }
            self.unrecorded(&tenant, window);
            return Err(Unavailable::Overloaded);
        }
        let patience = match window {
            Window::Gate => GATE_WINDOW,
            Window::Act | Window::Upkeep => ACT_WINDOW,
        };
        let answered = match tokio::time::timeout(patience, &mut answer).await {
            Ok(answered) => answered,
            Err(_) if ticket.give_up() => Ok(Err(Unavailable::TooLate)),
            // The answer was on its way when the window closed.
            Err(_) => answer.await,
        };
        let answered = answered.unwrap_or(Err(Unavailable::LogDown));
        if let Err(Unavailable::LogDown | Unavailable::TooLate) = &answered {
            self.unrecorded(&tenant, window);
        }
        answered
    }

    /// Lists a call that has no leaf of its own.
    pub fn list(&self, access: Access) {
        self.queue.list(|pending| pending.add(access));
    }

    /// How it fares.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// How many jobs wait.
    pub fn waiting(&self) -> usize {
        self.queue.length()
    }

    /// Answers what waits, takes no more, and ends the thread. Blocks until it has ended.
    pub fn stop(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the committer ended in a panic");
        }
    }

    fn unrecorded(&self, tenant: &TenantSlug, window: Window) {
        if window == Window::Upkeep {
            return;
        }
        self.status.unrecorded.fetch_add(1, Ordering::Relaxed);
        self.outage.lock().unwrap_or_else(PoisonError::into_inner).add(tenant, clock::now(), 1);
    }
}

/// The thread's own state.
struct Loop {
    settings: Settings,
    queue: Arc<Queue>,
    status: Arc<Status>,
    outage: Arc<Mutex<Outage>>,
    /// Answers that became durable after their window: withdrawn in the next batch.
    late: Vec<TooLate>,
}

impl Loop {
    fn run(mut self, mut writer: Writer) {
        while let Some(taken) = self.next() {
            // A panic is a failure of the batch like any other: its jobs' callers are refused.
            let ran = catch_unwind(AssertUnwindSafe(|| self.batch(&mut writer, taken)));
            let Err(error) = ran.unwrap_or_else(|_| Err(StoreError::Failed("a job panicked".into()))) else {
                continue;
            };
            tracing::error!(%error, "a batch failed; the log is closed until the database is verified again");
            self.status.down.store(true, Ordering::Release);
            drop(writer);
            match self.reopen() {
                Some(reopened) => writer = reopened,
                None => return,
            }
            self.status.down.store(false, Ordering::Release);
            tracing::info!("the log is open again");
        }
    }

    /// The next batch: at once where something is owed to the log, otherwise when something arrives.
    fn next(&self) -> Option<Taken> {
        let owes = !self.late.is_empty() || !self.outage().is_over();
        if owes { Some(self.queue.take_now(MOST_A_BATCH)) } else { self.queue.take(MOST_A_BATCH) }
    }

    fn outage(&self) -> MutexGuard<'_, Outage> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one batch; whatever fails fails all of it.
    fn batch(&mut self, writer: &mut Writer, mut taken: Taken) -> Result<(), StoreError> {
        let gaps = self.outage().gaps();
        match writer.commit(&mut taken, &self.late, &gaps) {
            Ok(seals) => {
                if !gaps.is_empty() {
                    self.outage().recorded(&gaps);
                }
                self.late.clear();
                self.status.batches.fetch_add(1, Ordering::Relaxed);
                self.status.receipts.fetch_add(seals.receipts, Ordering::Relaxed);
                let end = End::Committed(&|tenant| seals.by_tenant.get(tenant).cloned());
                self.late.extend(taken.jobs.into_iter().filter_map(|job| job.finish(&end)));
                Ok(())
            }
            Err(error) => {
                for job in taken.jobs {
                    job.finish(&End::Failed(Unavailable::LogDown));
                }
                self.queue.put_back(taken.accesses);
                // Whether the batch is durable is not known: what turns out to be must not stand as answered.
                self.late.append(&mut writer.doubtful);
                Err(error)
            }
        }
    }

    /// Tries until the store is there again and verified; answers what arrives meanwhile with 503.
    fn reopen(&mut self) -> Option<Writer> {
        loop {
            let taken = self.queue.take_now(usize::MAX);
            for job in taken.jobs {
                job.finish(&End::Failed(Unavailable::LogDown));
            }
            self.queue.put_back(taken.accesses);
            let opened = Writer::open(&self.settings).and_then(|mut writer| {
                writer.verify_all()?;
                self.late = writer.still_there(std::mem::take(&mut self.late))?;
                Ok(writer)
            });
            match opened {
                Ok(writer) => return Some(writer),
                Err(error) => tracing::error!(%error, "the database cannot be opened again yet"),
            }
            if self.queue.is_closed() {
                return None;
            }
            std::thread::sleep(REOPEN_PAUSE);
        }
    }
}

/// What a committed batch leaves for its answers.
struct Seals {
    by_tenant: HashMap<TenantSlug, Arc<Seal>>,
    receipts: u64,
}

/// The writing connection and what is kept between batches; thrown away whole when the store fails.
struct Writer {
    connection: AnyConnection,
    master: MasterKey,
    logs: HashMap<TenantSlug, TenantLog>,
    caches: HashMap<TenantSlug, StandingCache>,
    /// Receipts of a batch whose commit failed.
    doubtful: Vec<TooLate>,
}

impl Writer {
    fn open(settings: &Settings) -> Result<Self, StoreError> {
        Ok(Self {
            connection: settings.database.open_writer()?,
            master: settings.master.clone(),
            logs: HashMap::new(),
            caches: HashMap::new(),
            doubtful: Vec::new(),
        })
    }

    /// Holds every tenant's head against its newest receipt and its own signature.
    fn verify_all(&mut self) -> Result<(), StoreError> {
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
    fn still_there(&mut self, late: Vec<TooLate>) -> Result<Vec<TooLate>, StoreError> {
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

    fn commit(
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
