//! The running service: what handlers share, who is calling, and what happens by itself.

mod authenticate;
mod authority;
mod background;
pub mod backup;
pub mod conversations;
pub mod coverage;
mod digest;
pub mod doctor;
mod ends;
pub mod examine;
pub mod export;
mod found_by;
mod limits;
mod lookup;
mod mailer;
mod places;
pub mod preview;
pub mod public_log;
mod record;
pub mod replay;
pub mod restore;
mod retention;
mod roots;
mod settings;
pub mod shown;
mod taken;
mod trailed;
pub mod tree;
mod verifiers;
pub mod who;
mod witness;
mod witnessed;

pub use authenticate::{Caller, CallerError, Presenter};
pub use background::Background;
pub use limits::{ExportPlace, Limits, TooMany};
pub use lookup::LookupError;
use places::Turns;
pub use places::{Place, Places};
pub use roots::Roots;
pub use settings::{DIGEST_AT, MailTransport, Settings, WITNESS_EVERY};
pub use shown::Shown;
pub use witness::Witness;

use crate::committer::{self, Committer, LiveCatalogue};
use crate::crypto::keyring::{KeyringError, MasterKey};
use crate::crypto::password::PasswordPool;
use crate::crypto::token_cache::TokenCache;
use crate::domain::{Links, TenantSlug};
use crate::evidence::note::VerifierKey;
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, DataDirectory, Readers, StoreError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;
use verifiers::Verifiers;

/// How many tokens' verified claims are kept.
const CACHED_TOKENS: usize = 20_000;
/// How many threads at once decide past calls again, whoever asks: each for one turn, then the next one's.
const MOST_TURNS: usize = 2;

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be used.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The master key cannot be used.
    #[error("{0}")]
    Key(#[from] KeyringError),
    /// Something else that the message names.
    #[error("{0}")]
    Other(String),
}

/// What all handlers share.
#[derive(Debug)]
pub struct App {
    /// Writes everything.
    pub committer: Committer,
    /// Reads.
    pub readers: Readers,
    /// Hashes passwords, two at a time.
    pub passwords: PasswordPool,
    /// How often who may do what.
    pub limits: Limits,
    /// Where pages are.
    pub links: Links,
    /// What is known of tiles that are not full.
    pub roots: Arc<Roots>,
    /// How far the exports are that are being written.
    pub exports: export::Progress,
    /// Whose word on checkpoints is taken.
    pub witnesses: Arc<[VerifierKey]>,
    /// What was said last in conversations.
    pub conversations: conversations::Conversations,
    /// Whether pages are reached over TLS, so that cookies may insist on it.
    pub is_https: bool,
    verifiers: RwLock<Verifiers>,
    tokens: TokenCache,
    turns: Turns,
    catalogues: RwLock<HashMap<TenantSlug, Arc<LiveCatalogue>>>,
    decisions: watch::Sender<u64>,
    erased: AtomicBool,
    retention_changed: AtomicBool,
    stopping: AtomicBool,
    _directory: DataDirectory,
}

impl App {
    /// Takes the data directory, brings the tables up to date and starts the committer.
    pub fn start(settings: &Settings) -> Result<Arc<Self>, StartError> {
        let directory =
            DataDirectory::lock(&settings.data_dir, &settings.database).map_err(StartError::Other)?;
        let key_file = DataDirectory::master_key_file(&settings.data_dir);
        if !key_file.exists() {
            let shown = settings.data_dir.display();
            return Err(StartError::Other(format!(
                "`{shown}` is not set up: there is no `master.key`. A new service is made by `procura setup --data-dir \
                 {shown} …`; for one that was there, copy its `master.key` to `{shown}`"
            )));
        }
        let master = MasterKey::read(&key_file)?;
        let mut writer = settings.database.open_writer()?;
        storage::migrate(&mut writer)?;
        for shown in &settings.shown {
            shown::refuse_if_behind(&mut writer, shown)?;
        }
        drop(writer);
        let links = Links::below(&settings.base_url());
        let committer = Committer::start(committer::Settings {
            database: settings.database.clone(),
            master,
            outage_file: DataDirectory::outage_file(&settings.data_dir),
            mailed_links: settings.mail.is_some().then(|| links.clone()),
        })?;
        let readers = settings.database.open_readers()?;
        let verifiers = Verifiers::load(&mut *readers.get()?)?;
        if verifiers.is_empty() {
            committer.stop();
            return Err(StartError::Other("no tenant is set up in this database: a new service is made by `procura setup`, one that was lost is brought \
                 back by `procura restore FILE`"
                    .into()));
        }
        Ok(Arc::new(Self {
            committer,
            readers,
            passwords: PasswordPool::start().map_err(|error| StartError::Other(error.to_string()))?,
            limits: Limits::default(),
            links,
            roots: Arc::default(),
            exports: export::Progress::default(),
            witnesses: settings.witnesses.iter().map(|witness| witness.key.clone()).collect(),
            conversations: conversations::Conversations::default(),
            is_https: settings.base_url().starts_with("https://"),
            verifiers: RwLock::new(verifiers),
            tokens: TokenCache::new(if settings.bench_verify { 0 } else { CACHED_TOKENS }),
            turns: Turns::new(MOST_TURNS),
            catalogues: RwLock::default(),
            decisions: watch::Sender::new(0),
            erased: AtomicBool::new(true),
            retention_changed: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            _directory: directory,
        }))
    }

    /// Runs a reading query away from the threads that answer.
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut AnyConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.readers.clone();
        let read = tokio::task::spawn_blocking(move || query(&mut *readers.get()?)).await;
        read.unwrap_or_else(|error| Err(StoreError::Failed(format!("a query ended early: {error}"))))
    }

    /// Runs a reading query away from the threads that answer, in a place that is its own until it has ended, also
    /// where whoever asked is gone by then.
    pub async fn read_in<T: Send + 'static>(
        &self,
        place: Place,
        query: impl FnOnce(&mut AnyConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<(Place, T), StoreError> {
        self.read(move |connection| place.hold(|| query(connection))).await
    }

    /// Works on something for one turn, away from the threads that answer; turns are had in the order of asking, and
    /// last as long as the work, also where whoever asked is gone by then.
    pub async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.turns.work(work).await
    }

    /// The same, in a place that is the work's own until it has ended.
    pub async fn in_turn_in<T: Send + 'static>(
        &self,
        place: Place,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<(Place, T), StoreError> {
        self.turns.work(move || place.hold(work)).await
    }

    /// A tenant's catalogue as a batch saw it last. It may not be live any more: what is derived by it counts only
    /// where the batch finds the same entry.
    pub fn catalogue(&self, tenant: &TenantSlug) -> Option<Arc<LiveCatalogue>> {
        self.catalogues.read().unwrap_or_else(PoisonError::into_inner).get(tenant).cloned()
    }

    /// Keeps a catalogue that a batch saw.
    pub fn catalogue_seen(&self, tenant: &TenantSlug, seen: Arc<LiveCatalogue>) {
        let is_kept = self.catalogue(tenant).is_some_and(|kept| Arc::ptr_eq(&kept, &seen));
        if !is_kept {
            self.catalogues.write().unwrap_or_else(PoisonError::into_inner).insert(tenant.clone(), seen);
        }
    }

    /// Says that some decision may have changed, to those who wait for one.
    pub fn decisions_changed(&self) {
        self.decisions.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Wakes whenever some decision may have changed.
    pub fn watch_decisions(&self) -> watch::Receiver<u64> {
        self.decisions.subscribe()
    }

    /// Says that content was erased: copies of it that the database keeps for itself are to go too.
    pub fn content_erased(&self) {
        self.erased.store(true, Ordering::Release);
    }

    /// Says that other rules say what is kept for how long.
    pub fn retention_changed(&self) {
        self.retention_changed.store(true, Ordering::Release);
    }

    /// Says that the service is about to stop: whoever waits is answered with what is there now.
    pub fn stop_waiting(&self) {
        self.stopping.store(true, Ordering::Release);
        self.decisions_changed();
    }

    /// Whether the service is about to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// The tenant of that name.
    pub async fn tenant(&self, slug: &TenantSlug) -> Result<Option<Tenant>, StoreError> {
        let slug = slug.clone();
        self.read(move |connection| storage::tenant::find(connection, &slug)).await
    }
}
