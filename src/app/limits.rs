//! How often who may do what.

use crate::domain::{CredentialId, Duration, TenantSlug, Timestamp};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls a second that one credential may make.
const CALLS_A_SECOND: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// Failed sign-ins an account may have in a window.
const FAILURES_OF_ACCOUNT: u32 = 10;
/// Failed sign-ins an address may have in a window.
const FAILURES_OF_ADDRESS: u32 = 50;
/// How long failures count.
const WINDOW: Duration = Duration::minutes(15);
/// How many accounts and addresses are remembered. Beyond it those with the fewest failures are forgotten, but
/// none that is closed: a flood of other names opens nothing.
const MOST_REMEMBERED: usize = 100_000;

/// Exports that run at once: each reads much, and keeps a thread for as long as its client reads.
const MOST_EXPORTS: usize = 2;
/// When it is worth asking again for an export, in seconds.
const RETRY_EXPORT_SECONDS: i64 = 5;

/// What was done too often, and when it may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// Whole seconds until it is worth trying again, at least 1.
    pub retry_after_seconds: i64,
}

/// Counts what is limited.
#[derive(Debug)]
pub struct Limits {
    calls: DefaultKeyedRateLimiter<CredentialId>,
    clock: DefaultClock,
    failures: Mutex<HashMap<Failing, Failures>>,
    exports: Arc<Semaphore>,
}

/// Whose failures are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Failing {
    Account(TenantSlug, String),
    Address(IpAddr),
}

impl Failing {
    /// How many failures close it.
    const fn most(&self) -> u32 {
        match self {
            Self::Account(..) => FAILURES_OF_ACCOUNT,
            Self::Address(_) => FAILURES_OF_ADDRESS,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    since: Timestamp,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: RateLimiter::keyed(Quota::per_second(CALLS_A_SECOND)),
            clock: DefaultClock::default(),
            failures: Mutex::default(),
            exports: Arc::new(Semaphore::new(MOST_EXPORTS)),
        }
    }
}

impl Limits {
    /// Counts a call of a credential.
    pub fn call(&self, credential: CredentialId) -> Result<(), TooMany> {
        self.calls.check_key(&credential).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now()).as_secs();
            TooMany { retry_after_seconds: i64::try_from(wait).unwrap_or(1).max(1) }
        })
    }

    /// Whether an account or address may try to sign in: failures count, successes do not.
    pub fn may_sign_in(
        &self,
        tenant: &TenantSlug,
        email: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), TooMany> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = make_room(&mut failures, now);
        for who in [Failing::Account(tenant.clone(), email.to_owned()), Failing::Address(address)] {
            let end = match failures.get(&who) {
                Some(found) if found.count >= who.most() => found.since.plus(WINDOW),
                Some(_) => continue,
                None if has_room => continue,
                // Its failure could not be counted.
                None => now.plus(WINDOW),
            };
            if now < end {
                return Err(TooMany { retry_after_seconds: end.since(now).whole_seconds().max(1) });
            }
        }
        Ok(())
    }

    /// Counts a failed sign-in.
    pub fn sign_in_failed(&self, tenant: &TenantSlug, email: &str, address: IpAddr, now: Timestamp) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = make_room(&mut failures, now);
        for who in [Failing::Account(tenant.clone(), email.to_owned()), Failing::Address(address)] {
            if !has_room && !failures.contains_key(&who) {
                continue;
            }
            let found = failures.entry(who).or_insert(Failures { count: 0, since: now });
            if found.since.plus(WINDOW) <= now {
                *found = Failures { count: 0, since: now };
            }
            found.count = found.count.saturating_add(1);
        }
    }

    /// Forgets an account's failures: the right password was given.
    pub fn signed_in(&self, tenant: &TenantSlug, email: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.remove(&Failing::Account(tenant.clone(), email.to_owned()));
    }

    /// A place among the exports that run at once, kept until it is dropped.
    pub fn export(&self) -> Result<OwnedSemaphorePermit, TooMany> {
        let place = self.exports.clone().try_acquire_owned();
        place.map_err(|_| TooMany { retry_after_seconds: RETRY_EXPORT_SECONDS })
    }

    /// Forgets credentials that have not called for a while.
    pub fn tidy(&self) {
        self.calls.retain_recent();
        self.calls.shrink_to_fit();
    }
}

/// Makes room for an account and an address; `false` when everything remembered is closed.
fn make_room(failures: &mut HashMap<Failing, Failures>, now: Timestamp) -> bool {
    let has_room = |failures: &HashMap<Failing, Failures>| failures.len() + 2 <= MOST_REMEMBERED;
    if has_room(failures) {
        return true;
    }
    failures.retain(|_, found| now < found.since.plus(WINDOW));
    if has_room(failures) {
        return true;
    }
    let mut open: Vec<_> = failures
        .iter()
        .filter(|(who, found)| found.count < who.most())
        .map(|(who, found)| (found.count, found.since, who.clone()))
        .collect();
    open.sort_unstable_by_key(|(count, since, _)| (*count, *since));
    for (_, _, who) in open.iter().take(MOST_REMEMBERED / 2) {
        failures.remove(who);
    }
    has_room(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_account_and_by_address() {
        let limits = Limits::default();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let (here, there) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let now = Timestamp::from_unix_seconds(1_000_000);
        for _ in 0..FAILURES_OF_ACCOUNT {
            assert!(limits.may_sign_in(&tenant, "a@example.test", here, now).is_ok());
            limits.sign_in_failed(&tenant, "a@example.test", here, now);
        }
        assert!(
            limits.may_sign_in(&tenant, "a@example.test", there, now).is_err(),
            "the account is closed everywhere"
        );
        assert!(limits.may_sign_in(&tenant, "b@example.test", here, now).is_ok(), "other accounts are not");
        assert!(
            limits.may_sign_in(&tenant, "a@example.test", there, now.plus(WINDOW)).is_ok(),
            "for a while"
        );
        for number in 0..FAILURES_OF_ADDRESS {
            limits.sign_in_failed(&tenant, &format!("{number}@example.test"), there, now);
        }
        assert!(
            limits.may_sign_in(&tenant, "new@example.test", there, now).is_err(),
            "one address is closed for all"
        );
    }

    /// An address of its own for every 40 failures, so that no address is closed.
    fn fail_often(limits: &Limits, tenant: &TenantSlug, names: usize, each: u32, now: Timestamp) {
        for number in 0..names {
            let address = IpAddr::from(u32::try_from(0x0a00_0000 + number * 10 / 40).unwrap().to_be_bytes());
            for _ in 0..each {
                limits.sign_in_failed(tenant, &format!("{number}@flood.test"), address, now);
            }
        }
    }

    #[test]
    fn a_flood_of_names_opens_no_account_that_is_closed() {
        let limits = Limits::default();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let (here, there) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let now = Timestamp::from_unix_seconds(1_000_000);
        for _ in 0..FAILURES_OF_ACCOUNT {
            limits.sign_in_failed(&tenant, "a@example.test", here, now);
        }
        for _ in 1..FAILURES_OF_ACCOUNT {
            limits.sign_in_failed(&tenant, "b@example.test", here, now);
        }
        fail_often(&limits, &tenant, MOST_REMEMBERED + 10, 1, now.plus(Duration::seconds(1)));
        assert!(limits.failures.lock().unwrap().len() <= MOST_REMEMBERED, "the bound holds");
        let later = now.plus(Duration::seconds(2));
        assert!(limits.may_sign_in(&tenant, "a@example.test", there, later).is_err(), "still closed");
        limits.sign_in_failed(&tenant, "b@example.test", here, later);
        assert!(
            limits.may_sign_in(&tenant, "b@example.test", there, later).is_err(),
            "its failures still count"
        );
        assert!(limits.may_sign_in(&tenant, "new@example.test", there, later).is_ok(), "others may try");
    }

    #[test]
    fn when_everything_remembered_is_closed_nobody_new_may_guess_uncounted() {
        let limits = Limits::default();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let now = Timestamp::from_unix_seconds(1_000_000);
        let closed = Failures { count: FAILURES_OF_ACCOUNT, since: now };
        let names = (0..MOST_REMEMBERED).map(|number| Failing::Account(tenant.clone(), number.to_string()));
        limits.failures.lock().unwrap().extend(names.map(|who| (who, closed)));
        let here = IpAddr::from([127, 0, 0, 1]);
        limits.sign_in_failed(&tenant, "new@example.test", here, now);
        assert_eq!(limits.failures.lock().unwrap().len(), MOST_REMEMBERED, "the bound holds");
        assert!(limits.may_sign_in(&tenant, "new@example.test", here, now).is_err());
        assert!(
            limits.may_sign_in(&tenant, "new@example.test", here, now.plus(WINDOW)).is_ok(),
            "for a while"
        );
    }

    #[test]
    fn a_third_export_waits_until_one_of_two_has_ended() {
        let limits = Limits::default();
        let (first, _second) = (limits.export().unwrap(), limits.export().unwrap());
        assert!(limits.export().unwrap_err().retry_after_seconds > 0);
        drop(first);
        assert!(limits.export().is_ok());
    }
}
