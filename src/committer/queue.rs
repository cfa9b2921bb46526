//! What waits for the next batch: urgent jobs first, then the others in order, and calls to be listed.

use super::access::PendingAccesses;
use super::job::Job;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

/// How many jobs may wait.
const NORMAL_PLACES: usize = 4096;
/// Places kept for what must never wait behind others: narrowing, declining, revoking.
const URGENT_PLACES: usize = 256;

/// In which order a job is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Urgent,
    Normal,
}

/// What one batch takes.
pub(super) struct Taken {
    pub(super) jobs: Vec<Box<dyn Job>>,
    pub(super) accesses: PendingAccesses,
}

#[derive(Default)]
struct Waiting {
    urgent: VecDeque<Box<dyn Job>>,
    normal: VecDeque<Box<dyn Job>>,
    accesses: PendingAccesses,
    closed: bool,
}

impl Waiting {
    /// The urgent first, then the others in their order, and every call to be listed.
    fn take(&mut self, most: usize) -> Taken {
        let urgent = self.urgent.len().min(most);
        let mut jobs: Vec<Box<dyn Job>> = self.urgent.drain(..urgent).collect();
        let normal = self.normal.len().min(most.saturating_sub(urgent));
        jobs.extend(self.normal.drain(..normal));
        Taken { jobs, accesses: std::mem::take(&mut self.accesses) }
    }
}

/// A bounded queue with one taker.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

impl Queue {
    /// Adds a job; gives it back when there is no place or the queue is closed.
    pub(super) fn push(&self, lane: Lane, job: Box<dyn Job>) -> Result<(), Box<dyn Job>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (places, most) = match lane {
            Lane::Urgent => (&mut waiting.urgent, URGENT_PLACES),
            Lane::Normal => (&mut waiting.normal, NORMAL_PLACES),
        };
        if places.len() >= most {
            return Err(job);
        }
        places.push_back(job);
        if waiting.closed {
            let refused = match lane {
                Lane::Urgent => waiting.urgent.pop_back(),
                Lane::Normal => waiting.normal.pop_back(),
            };
            return refused.map_or(Ok(()), Err);
        }
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    /// Adds a call to the lists; never refused, since what does not fit is counted.
    pub(super) fn list(&self, add: impl FnOnce(&mut PendingAccesses)) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut waiting.accesses);
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Puts accesses back that a failed batch took.
    pub(super) fn put_back(&self, accesses: PendingAccesses) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.accesses.merge(accesses);
    }

    /// Waits until something is there and takes at most `most` jobs; `None` once closed and empty.
    pub(super) fn take(&self, most: usize) -> Option<Taken> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.urgent.is_empty() && waiting.normal.is_empty() && waiting.accesses.is_empty() {
            if waiting.closed {
                return None;
            }
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        Some(waiting.take(most))
    }

    /// Takes what is there, at most `most` jobs, without waiting.
    pub(super) fn take_now(&self, most: usize) -> Taken {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take(most)
    }

    /// Takes no more; what waits is still taken.
    pub(super) fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.arrived.notify_all();
    }

    /// Whether it takes no more.
    pub(super) fn is_closed(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).closed
    }

    /// How many jobs wait.
    pub(super) fn length(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.urgent.len() + waiting.normal.len()
    }
}
