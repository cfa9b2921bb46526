//! Places for work that takes long: so many for one asker and for all of a tenant, and turns for everybody's.
//!
//! Nobody is turned away because of another tenant's work: what all tenants' work shares are turns, taken in the
//! order of asking, each of them short.

use super::TooMany;
use crate::domain::{Chain, TenantSlug};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

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
}
