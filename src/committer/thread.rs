//! The committer's thread: batch after batch, and what it does when the store fails.

use super::Settings;
use super::handle::Status;
use super::job::{End, TooLate, Unavailable};
use super::outage::Outage;
use super::queue::{Queue, Taken};
use super::writer::Writer;
use crate::storage::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many jobs one batch takes at most.
const MOST_A_BATCH: usize = 512;
/// How long to wait before the store is tried again.
const REOPEN_PAUSE: Duration = Duration::from_millis(200);

/// The thread's own state.
pub(super) struct Loop {
    pub(super) settings: Settings,
    pub(super) queue: Arc<Queue>,
    pub(super) status: Arc<Status>,
    pub(super) outage: Arc<Mutex<Outage>>,
    /// Answers that became durable after their window: withdrawn in the next batch.
    pub(super) late: Vec<TooLate>,
}

impl Loop {
    pub(super) fn run(mut self, mut writer: Writer) {
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
                let late = writer.still_there(&self.late)?;
                Ok((writer, late))
            });
            match opened {
                Ok((writer, late)) => {
                    self.late = late;
                    return Some(writer);
                }
                Err(error) => tracing::error!(%error, "the database cannot be opened again yet"),
            }
            if self.queue.is_closed() {
                return None;
            }
            std::thread::sleep(REOPEN_PAUSE);
        }
    }
}
