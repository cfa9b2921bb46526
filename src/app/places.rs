//! Places for work that takes long: so many for one asker and for all of a tenant, and turns for everybody's.
//!
//! Nobody is turned away because of another tenant's work: what all tenants' work shares are turns, taken in the
//! order of asking, each of them short. Places and turns are the work's, not the caller's: whoever hangs up and asks
//! again waits until what was begun for them has ended.

use super::TooMany;
use crate::domain::{Chain, TenantSlug};
use crate::storage::StoreError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// When it is worth asking again, in seconds.
const RETRY_SECONDS: i64 = 5;

/// How much of one sort of work goes on, and for whom.
#[derive(Debug, Clone)]
pub struct Places {
    most_of_one: usize,
    most_of_tenant: usize,
    taken: Arc<Mutex<HashMap<Whose, usize>>>,
}

/// One asker's places, or all of a tenant's.
type Whose = (TenantSlug, Option<Chain>);

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    all: Places,
    whose: [Whose; 2],
}

impl Places {
    /// So many for one asker, and so many for all askers of a tenant.
    pub(super) fn new(most_of_one: usize, most_of_tenant: usize) -> Self {
        Self { most_of_one, most_of_tenant, taken: Arc::default() }
    }

    /// A place for somebody of a tenant.
    ///
    /// # Errors
    /// All that they, or that their tenant, may have are taken.
    pub fn take(&self, tenant: &TenantSlug, asker: Chain) -> Result<Place, TooMany> {
        let whose = [(tenant.clone(), Some(asker)), (tenant.clone(), None)];
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |(whose, most): (&Whose, usize)| taken.get(whose).is_none_or(|count| *count < most);
        if !whose.iter().zip([self.most_of_one, self.most_of_tenant]).all(is_free) {
            return Err(TooMany { retry_after_seconds: RETRY_SECONDS });
        }
        for one in &whose {
            *taken.entry(one.clone()).or_default() += 1;
        }
        drop(taken);
        Ok(Place { all: self.clone(), whose })
    }
}

impl Place {
    /// Works on something and gives the place back with what came of it: a thread that works keeps it.
    pub(super) fn hold<T, E>(self, work: impl FnOnce() -> Result<T, E>) -> Result<(Self, T), E> {
        work().map(|done| (self, done))
    }
}

/// Turns at work that blocks, had in the order of asking.
#[derive(Debug)]
pub(super) struct Turns(Arc<Semaphore>);

impl Turns {
    /// So many at once.
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Works for one turn on a thread that may block. Whoever goes away while it waits gives the turn up; from then on
    /// it lasts as long as the work.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let ended = |error: &dyn std::fmt::Display| StoreError::Failed(format!("work ended early: {error}"));
        let turn = self.0.clone().acquire_owned().await.map_err(|error| ended(&error))?;
        let worked = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        worked.await.unwrap_or_else(|error| Err(ended(&error)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.all.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &self.whose {
            if let Some(count) = taken.get_mut(one) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    taken.remove(one);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{PrincipalId, Timestamp};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn one_asker_has_one_place_a_tenant_two_and_no_tenant_takes_anothers() {
        let places = Places::new(1, 2);
        let (harbour, quay): (TenantSlug, TenantSlug) = ("harbour".parse().unwrap(), "quay".parse().unwrap());
        let person =
            |number| Chain::Principal(PrincipalId::new(Timestamp::from_unix_milliseconds(0), [number; 10]));
        let first = places.take(&harbour, person(1)).unwrap();
        assert!(places.take(&harbour, person(1)).is_err(), "a second one of the same person");
        let _second = places.take(&harbour, person(2)).unwrap();
        assert!(places.take(&harbour, person(3)).is_err(), "a third one of the tenant");
        let _elsewhere = places.take(&quay, person(1)).unwrap();
        drop(first);
        let _third = places.take(&harbour, person(3)).unwrap();
        assert!(places.take(&harbour, person(1)).is_err());
    }

    #[test]
    fn places_that_were_given_back_leave_nothing() {
        let places = Places::new(1, 2);
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let person = PrincipalId::new(Timestamp::from_unix_milliseconds(0), [1; 10]);
        drop(places.take(&tenant, Chain::Principal(person)).unwrap());
        assert!(places.taken.lock().unwrap().is_empty());
    }

    /// Somebody's only place, and a look whether it is free.
    fn only_place() -> (Place, impl Fn() -> bool) {
        let places = Places::new(1, 1);
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let person = Chain::Principal(PrincipalId::new(Timestamp::from_unix_milliseconds(0), [1; 10]));
        let place = places.take(&tenant, person).unwrap();
        (place, move || places.take(&tenant, person).is_ok())
    }

    #[test]
    fn a_caller_who_hangs_up_leaves_place_and_turn_to_the_work() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (turns, (place, is_free)) = (Turns::new(1), only_place());
        let (begun, has_begun) = mpsc::channel();
        let (end, may_end) = mpsc::channel::<()>();
        let work = move || {
            begun.send(()).unwrap();
            may_end.recv().unwrap();
            Ok::<_, StoreError>(())
        };
        runtime.block_on(async {
            let asked = turns.work(move || place.hold(work));
            // The caller is gone by the time the work has begun.
            assert!(tokio::time::timeout(Duration::from_millis(50), asked).await.is_err());
            has_begun.recv().unwrap();
            assert!(!is_free(), "the work goes on in its place");
            let next = turns.work(|| Ok(()));
            assert!(tokio::time::timeout(Duration::from_millis(50), next).await.is_err(), "and in its turn");
            end.send(()).unwrap();
            turns.work(|| Ok(())).await.unwrap();
            assert!(is_free(), "both are free once it has ended");
        });
    }

    #[test]
    fn a_caller_who_hangs_up_before_their_turn_leaves_nothing() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (turns, (place, is_free)) = (Turns::new(1), only_place());
        runtime.block_on(async {
            let _running = turns.0.clone().acquire_owned().await.unwrap();
            let asked = turns.work(move || place.hold(|| Ok(())));
            assert!(tokio::time::timeout(Duration::from_millis(20), asked).await.is_err());
            assert!(is_free());
        });
    }
}
