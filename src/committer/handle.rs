//! The handle through which everything is written, and what it promises its callers about time.

use super::access::Access;
use super::books::Books;
use super::clock;
use super::job::{Answered, JobError, Task, Ticket, Unavailable, Window};
use super::outage::Outage;
use super::queue::{Lane, Queue};
use super::thread::Loop;
use super::writer::Writer;
use crate::crypto::keyring::MasterKey;
use crate::domain::{Links, TenantSlug};
use crate::storage::{Database, StoreError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long an answer of the gate may take before the caller is refused for want of a record.
const GATE_WINDOW: Duration = Duration::from_secs(2);
/// How long an act of authority may take before its caller is told that nobody knows.
const ACT_WINDOW: Duration = Duration::from_secs(10);

/// What the committer needs to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the tables are.
    pub database: Database,
    /// Opens the tenants' keys.
    pub master: MasterKey,
    /// Where an outage is noted.
    pub outage_file: PathBuf,
    /// Where mail leads people; `None` where none is written.
    pub mailed_links: Option<Links>,
}

/// How the committer fares, for health checks and metrics.
#[derive(Debug, Default)]
pub struct Status {
    pub(super) down: AtomicBool,
    pub(super) batches: AtomicU64,
    pub(super) receipts: AtomicU64,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::Error;
    use crate::actions::setup::{Founding, found};
    use crate::storage;
    use std::sync::mpsc;

    /// How many jobs may wait that are not urgent.
    const PLACES: usize = 4096;

    /// A committer of one tenant in a folder of its own.
    fn start(folder: &std::path::Path) -> (Committer, TenantSlug) {
        std::fs::create_dir_all(folder).unwrap();
        let (master, slug) = (MasterKey::create(&folder.join("master.key"), [7; 32]).unwrap(), "harbour");
        let tenant: TenantSlug = slug.parse().unwrap();
        let database = Database::Sqlite(folder.join("procura.db"));
        let mut connection = database.open_writer().unwrap();
        storage::migrate(&mut connection).unwrap();
        let (origin, issuer) = ("harbour/log/harbour".to_owned(), "urn:procura:harbour".to_owned());
        let founding = Founding { slug: tenant.clone(), zone: chrono_tz::UTC, origin, issuer };
        found(&mut connection, &founding, &master).unwrap();
        let outage_file = folder.join("outage");
        let committer =
            Committer::start(Settings { database, master, outage_file, mailed_links: None }).unwrap();
        (committer, tenant)
    }

    #[test]
    fn where_too_much_waits_a_call_is_refused_at_once_and_what_is_urgent_is_not() {
        let folder = std::env::temp_dir().join(format!("procura-overload-{}", std::process::id()));
        let (committer, tenant) = start(&folder);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        runtime.block_on(async {
            let nothing = |_: &mut Books<'_>| Ok::<_, Error>(());
            let (stuck, of) = (committer.clone(), tenant.clone());
            let stuck = tokio::spawn(async move {
                let hold = move |_: &mut Books<'_>| {
                    begun.send(()).unwrap();
                    released.recv().unwrap();
                    Ok::<_, Error>(())
                };
                stuck.act(of, hold).await
            });
            tokio::task::yield_now().await;
            has_begun.recv().unwrap();
            let wait = || {
                let (committer, tenant) = (committer.clone(), tenant.clone());
                tokio::spawn(async move { committer.act(tenant, nothing).await })
            };
            let mut waiting: Vec<_> = (0..PLACES).map(|_| wait()).collect();
            while committer.waiting() < PLACES {
                tokio::task::yield_now().await;
            }
            for _ in 0..2 {
                let refused = committer.gate(tenant.clone(), nothing).await;
                assert!(matches!(refused, Err(Unavailable::Overloaded)), "{refused:?}");
                let refused = committer.act(tenant.clone(), nothing).await;
                assert!(matches!(refused, Err(Unavailable::Overloaded)), "{refused:?}");
            }
            assert_eq!(committer.status().unrecorded(), 4, "what was refused is owed to the log");
            let (urgent, of) = (committer.clone(), tenant.clone());
            waiting.push(tokio::spawn(async move { urgent.urgent(of, nothing).await }));
            while committer.waiting() <= PLACES {
                tokio::task::yield_now().await;
            }
            release.send(()).unwrap();
            waiting.push(stuck);
            for answer in waiting {
                assert!(matches!(answer.await, Ok(Ok(Ok(_)))), "what waited is answered");
            }
        });
        committer.stop();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
