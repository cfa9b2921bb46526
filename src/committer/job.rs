//! One piece of work of a batch, and the way its answer comes back.

use super::books::Books;
use super::log::Seal;
use crate::domain::TenantSlug;
use crate::evidence::receipt::Receipt;
use crate::storage::{StoreError, receipt::StoredReceipt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::sync::oneshot;

/// Why nothing was recorded and therefore nothing answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// The log cannot be written at the moment.
    LogDown,
    /// The window passed before the record was durable.
    TooLate,
    /// Too much is waiting.
    Overloaded,
    /// The service is stopping.
    Stopping,
}

/// An error of a job: a rule's refusal, or the store's failure, which fails the whole batch.
pub trait JobError: Send + From<StoreError> + 'static {
    /// The store's failure, if it is one.
    fn store_failure(&self) -> Option<&StoreError>;
}

/// What a job gave, with what seals the receipts it recorded.
#[derive(Debug)]
pub struct Sealed<T> {
    /// What the job returned.
    pub value: T,
    seal: Option<Arc<Seal>>,
}

impl<T> Sealed<T> {
    /// The complete receipt of something this job recorded; `None` for receipts of other batches.
    pub fn receipt(&self, stored: &StoredReceipt) -> Option<Receipt> {
        self.seal.as_ref()?.receipt(stored)
    }
}

/// A job's answer: what it gave, or the rule that refused it.
pub type Answered<T, E> = Result<Result<Sealed<T>, E>, Unavailable>;

/// Who is first: the answer, or the end of the window.
const WAITING: u8 = 0;
const ANSWERED: u8 = 1;
const MISSED: u8 = 2;

/// Shared between a job and whoever waits for it.
#[derive(Debug, Default)]
pub(super) struct Ticket(AtomicU8);

impl Ticket {
    /// The waiter gives up; `false` if the answer is already on its way.
    pub(super) fn give_up(&self) -> bool {
        self.0.compare_exchange(WAITING, MISSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn answer(&self) -> bool {
        self.0.compare_exchange(WAITING, ANSWERED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn is_missed(&self) -> bool {
        self.0.load(Ordering::Acquire) == MISSED
    }
}

/// How a batch ended for its jobs.
pub(super) enum End<'a> {
    /// Durable; with the seals of the tenants that recorded something.
    Committed(&'a dyn Fn(&TenantSlug) -> Option<Arc<Seal>>),
    /// Not known to be durable.
    Failed(Unavailable),
}

/// A job whose types the committer does not know.
pub(super) trait Job: Send {
    fn tenant(&self) -> &TenantSlug;
    /// Runs inside the batch. An error is the store's; a rule's refusal is kept as the job's own answer.
    fn run(&mut self, books: &mut Books<'_>) -> Result<(), StoreError>;
    /// Answers. What was durably allowed but came too late is returned, to be withdrawn.
    fn finish(self: Box<Self>, end: &End<'_>) -> Option<TooLate>;
}

/// Receipts whose answer missed its window.
pub(super) struct TooLate {
    pub(super) tenant: TenantSlug,
    pub(super) receipts: Vec<Arc<StoredReceipt>>,
}

/// Whether a job that came too late is withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    /// An answer of the gate: worthless after its window.
    Gate,
    /// An act of authority: it stands, whether or not the caller still listens.
    Act,
    /// What the service does by itself.
    Upkeep,
}

pub(super) struct Task<F, T, E> {
    pub(super) tenant: TenantSlug,
    pub(super) window: Window,
    pub(super) action: Option<F>,
    pub(super) outcome: Option<Result<T, E>>,
    pub(super) recorded: Vec<Arc<StoredReceipt>>,
    pub(super) ticket: Arc<Ticket>,
    pub(super) reply: oneshot::Sender<Answered<T, E>>,
}

impl<F, T, E> Job for Task<F, T, E>
where
    F: FnOnce(&mut Books<'_>) -> Result<T, E> + Send,
    T: Send,
    E: JobError,
{
    fn tenant(&self) -> &TenantSlug {
        &self.tenant
    }

    fn run(&mut self, books: &mut Books<'_>) -> Result<(), StoreError> {
        let Some(action) = self.action.take() else { return Ok(()) };
        if self.ticket.is_missed() {
            return Ok(());
        }
        let outcome = match self.window {
            // The hot path checks everything before its first write, so it needs no savepoint.
            Window::Gate => action(books),
            Window::Act | Window::Upkeep => books.savepoint(action),
        };
        self.recorded = books.take_recorded();
        match outcome.as_ref().err().and_then(JobError::store_failure) {
            Some(StoreError::Failed(detail)) => return Err(StoreError::Failed(detail.clone())),
            // A row that cannot be read concerns this job alone, as long as it has written nothing.
            Some(StoreError::Corrupt { place, detail }) if !self.recorded.is_empty() => {
                return Err(StoreError::Corrupt { place, detail: detail.clone() });
            }
            Some(StoreError::Corrupt { .. }) | None => {}
        }
        self.outcome = Some(outcome);
        Ok(())
    }

    fn finish(self: Box<Self>, end: &End<'_>) -> Option<TooLate> {
        let in_time = self.ticket.answer();
        let answer = match end {
            End::Failed(why) => Err(*why),
            End::Committed(seals) => match self.outcome {
                None => Err(Unavailable::TooLate),
                Some(outcome) => Ok(outcome.map(|value| Sealed { value, seal: seals(&self.tenant) })),
            },
        };
        let durable = answer.is_ok();
        // A receiver that is gone means a caller that hung up: the record stands and a retry finds it.
        drop(self.reply.send(answer));
        (durable && !in_time && self.window == Window::Gate && !self.recorded.is_empty())
            .then_some(TooLate { tenant: self.tenant, receipts: self.recorded })
    }
}
