//! At most two hashes at a time on threads of their own, so that sign-ins never slow a decision.

use super::{Busy, dummy_verify, hash, verify};
use std::{
    fmt, io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};
use tokio::sync::oneshot;
use zeroize::Zeroizing;

/// Each takes 19 MiB and a core while it hashes.
const THREADS: usize = 2;
/// How many may wait: about a second's work.
const QUEUE: usize = 32;

/// Hashes and verifies passwords; says [`Busy`] at once, before any work, when its queue is full.
///
/// The threads end when the pool is dropped and what waits is done.
pub struct PasswordPool {
    queue: SyncSender<Job>,
}

impl PasswordPool {
    /// Starts the threads.
    pub fn start() -> io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 1..=THREADS {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new().name(format!("password-{number}")).spawn(move || work(&waiting))?;
        }
        Ok(Self { queue })
    }

    /// As [`hash`], on a thread of the pool.
    pub async fn hash(&self, password: &str, salt: [u8; 16]) -> Result<String, Busy> {
        let (reply, answer) = oneshot::channel();
        self.enter(Job::Hash { password: Zeroizing::new(password.to_owned()), salt, reply })?;
        answer.await.map_err(|_| Busy)?
    }

    /// As [`verify`], on a thread of the pool; without a hash, for an account that does not
    /// exist, it takes as long and says no.
    pub async fn verify(&self, password: &str, phc: Option<&str>) -> Result<bool, Busy> {
        let (reply, answer) = oneshot::channel();
        let password = Zeroizing::new(password.to_owned());
        self.enter(Job::Verify { password, phc: phc.map(str::to_owned), reply })?;
        answer.await.map_err(|_| Busy)?
    }

    fn enter(&self, job: Job) -> Result<(), Busy> {
        self.queue.try_send(job).map_err(|_| Busy)
    }
}

impl fmt::Debug for PasswordPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordPool")
    }
}

enum Job {
    Hash { password: Zeroizing<String>, salt: [u8; 16], reply: oneshot::Sender<Result<String, Busy>> },
    Verify { password: Zeroizing<String>, phc: Option<String>, reply: oneshot::Sender<Result<bool, Busy>> },
}

impl Job {
    /// Whoever asked may have gone; then the work is not worth doing, and the answer to nobody is dropped.
    fn run(self) {
        match self {
            Self::Hash { password, salt, reply } => {
                if !reply.is_closed() {
                    let _ = reply.send(hash(&password, &salt));
                }
            }
            Self::Verify { password, phc, reply } => {
                if !reply.is_closed() {
                    let answer = phc.map_or_else(|| dummy_verify(&password), |phc| verify(&password, &phc));
                    let _ = reply.send(answer);
                }
            }
        }
    }
}

fn work(waiting: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is let go before the work begins, so that the other thread takes the next job.
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(job) => job.run(),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    const PASSWORD: &str = "Zk4-harbour-quill-93-ember";

    fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn what_it_hashes_it_verifies() {
        let pool = PasswordPool::start().unwrap();
        on_a_runtime(async {
            let phc = pool.hash(PASSWORD, [7; 16]).await.unwrap();
            assert_eq!(pool.verify(PASSWORD, Some(&phc)).await, Ok(true));
            assert_eq!(pool.verify("another", Some(&phc)).await, Ok(false));
            assert_eq!(pool.verify(PASSWORD, None).await, Ok(false), "an account that does not exist");
        });
    }

    /// Nobody takes from the queue here, so its size alone decides.
    #[test]
    fn a_full_queue_is_busy_before_anything_is_hashed() {
        let (queue, waiting) = sync_channel(QUEUE);
        let pool = PasswordPool { queue };
        let mut answers = Vec::new();
        for _ in 0..QUEUE {
            let (reply, answer) = oneshot::channel();
            pool.enter(Job::Hash { password: Zeroizing::new(PASSWORD.into()), salt: [0; 16], reply })
                .unwrap();
            answers.push(answer);
        }
        on_a_runtime(async {
            assert_eq!(pool.hash(PASSWORD, [0; 16]).await, Err(Busy));
            assert_eq!(pool.verify(PASSWORD, None).await, Err(Busy));
        });
        assert_eq!(waiting.try_iter().count(), QUEUE);
    }

    #[test]
    fn a_flood_gets_answers_for_those_who_fit_and_busy_for_the_rest() {
        let pool = PasswordPool::start().unwrap();
        let answers = on_a_runtime(join_all((0..60).map(|_| pool.verify(PASSWORD, Some("not a hash")))));
        let served = answers.iter().filter(|answer| **answer == Ok(false)).count();
        let busy = answers.iter().filter(|answer| **answer == Err(Busy)).count();
        assert_eq!(served + busy, 60);
        assert!(served >= QUEUE, "{served}");
    }

    #[test]
    fn nobody_hashes_for_those_who_have_gone() {
        let begun = std::time::Instant::now();
        dummy_verify(PASSWORD).unwrap();
        let one_hash = begun.elapsed();
        let begun = std::time::Instant::now();
        for _ in 0..QUEUE {
            let (reply, answer) = oneshot::channel();
            drop(answer);
            Job::Verify { password: Zeroizing::new(PASSWORD.into()), phc: None, reply }.run();
            let (reply, answer) = oneshot::channel();
            drop(answer);
            Job::Hash { password: Zeroizing::new(PASSWORD.into()), salt: [0; 16], reply }.run();
        }
        assert!(begun.elapsed() < one_hash, "64 jobs in less than the time of one hash");
    }

    #[test]
    fn the_threads_end_with_the_pool() {
        let (queue, waiting) = sync_channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| Arc::clone(&waiting))
            .map(|waiting| thread::spawn(move || work(&waiting)))
            .collect();
        drop(PasswordPool { queue });
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
