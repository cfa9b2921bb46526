//! How often who may do what.

use crate::domain::{CredentialId, Duration, TenantSlug, Timestamp};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

/// Calls a second that one credential may make.
const CALLS_A_SECOND: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// Failed sign-ins an account may have in a window.
const FAILURES_OF_ACCOUNT: u32 = 10;
/// Failed sign-ins an address may have in a window.
const FAILURES_OF_ADDRESS: u32 = 50;
/// How long failures count.
const WINDOW: Duration = Duration::minutes(15);
/// How many accounts and addresses are remembered; beyond it the oldest are forgotten.
const MOST_REMEMBERED: usize = 100_000;

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
}

/// Whose failures are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Failing {
    Account(TenantSlug, String),
    Address(IpAddr),
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
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = [
            (Failing::Account(tenant.clone(), email.to_owned()), FAILURES_OF_ACCOUNT),
            (Failing::Address(address), FAILURES_OF_ADDRESS),
        ];
        for (who, most) in limits {
            if let Some(found) = failures.get(&who)
                && found.count >= most
                && now < found.since.plus(WINDOW)
            {
                let wait = found.since.plus(WINDOW).since(now).whole_seconds();
                return Err(TooMany { retry_after_seconds: wait.max(1) });
            }
        }
        Ok(())
    }

    /// Counts a failed sign-in.
    pub fn sign_in_failed(&self, tenant: &TenantSlug, email: &str, address: IpAddr, now: Timestamp) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= MOST_REMEMBERED {
            failures.retain(|_, found| now < found.since.plus(WINDOW));
            if failures.len() >= MOST_REMEMBERED {
                failures.clear();
            }
        }
        for who in [Failing::Account(tenant.clone(), email.to_owned()), Failing::Address(address)] {
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

    /// Forgets credentials that have not called for a while.
    pub fn tidy(&self) {
        self.calls.retain_recent();
        self.calls.shrink_to_fit();
    }
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
}
