//! How often who may do what.

use super::places::{Place, Places};
use crate::domain::{Chain, CredentialId, Duration, EnforcementPointId, PrincipalId, TenantSlug, Timestamp};
use governor::clock::{Clock, DefaultClock, QuantaInstant};
use governor::{DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls a second that one credential may make.
const CALLS_A_SECOND: NonZeroU32 = NonZeroU32::new(5000).unwrap();
/// Calls a second that one enforcement point may make: it asks for many credentials.
const POINT_CALLS_A_SECOND: NonZeroU32 = NonZeroU32::new(20_000).unwrap();
/// Cosigned checkpoints a minute that one address may hand in: a witness signs few, and each costs signature checks
/// and a batch. A loopback address is a proxy on this machine: it stands for everyone and is not counted.
const COSIGNATURES_OF_ADDRESS: NonZeroU32 = NonZeroU32::new(30).unwrap();
/// Cosigned checkpoints a minute that are taken for one tenant, from anywhere.
const COSIGNATURES_OF_TENANT: NonZeroU32 = NonZeroU32::new(120).unwrap();
/// Failed sign-ins an account may have in a window, from one address: a stranger elsewhere closes nobody's account.
const FAILURES_FROM_ADDRESS: u32 = 10;
/// Failed sign-ins an account may have in a window, from anywhere.
const FAILURES_OF_ACCOUNT: u32 = 100;
/// Failed sign-ins an address may have in a window, over all accounts. A loopback address is a proxy on this machine:
/// it stands for everyone and is not counted.
const FAILURES_OF_ADDRESS: u32 = 50;
/// How long failures count.
const WINDOW: Duration = Duration::minutes(15);
/// How many accounts and addresses are remembered. Beyond it those with the fewest failures are forgotten, but
/// none that is closed: a flood of other names opens nothing.
const MOST_REMEMBERED: usize = 100_000;

/// Exports that run at once: each reads much, and keeps a thread for as long as its client reads.
const MOST_EXPORTS: usize = 8;
/// The same of one person, who may read as slowly as they like, and of all people of a tenant.
const EXPORTS: (usize, usize) = (2, 6);
/// Previews of one person, and of all people of a tenant, that run at once: each decides many calls again.
const PREVIEWS: (usize, usize) = (1, 3);
/// Explanations for one caller, and for all callers of a tenant, that are made at once.
const EXPLANATIONS: (usize, usize) = (2, 8);
/// Questions of who allowed what, at once: of one caller, of a tenant.
const QUESTIONS: (usize, usize) = (2, 8);
/// Looks into public logs that run at once: anyone may ask, and they share the reading connections with the gate.
const MOST_LOOKS: usize = 4;
/// How long such a look waits for its turn.
const LOOK_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// When it is worth asking again for an export or a look, in seconds.
const RETRY_SECONDS: i64 = 5;

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
    point_calls: DefaultKeyedRateLimiter<EnforcementPointId>,
    cosigning_addresses: DefaultKeyedRateLimiter<IpAddr>,
    cosigned_tenants: DefaultKeyedRateLimiter<TenantSlug>,
    clock: DefaultClock,
    failures: Mutex<HashMap<Failing, Failures>>,
    exports: Arc<Semaphore>,
    exports_of: Places,
    /// Places for previews.
    pub previews: Places,
    /// Places for explanations.
    pub explanations: Places,
    /// Places for questions of who allowed what.
    pub questions: Places,
    looks: Arc<Semaphore>,
}

/// A place among the exports that run, until it is dropped.
#[derive(Debug)]
pub struct ExportPlace {
    _own: Option<Place>,
    _shared: OwnedSemaphorePermit,
}

/// Whose failures are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Failing {
    AccountFrom(TenantSlug, String, IpAddr),
    Account(TenantSlug, String),
    Address(IpAddr),
}

impl Failing {
    /// How many failures close it.
    const fn most(&self) -> u32 {
        match self {
            Self::AccountFrom(..) => FAILURES_FROM_ADDRESS,
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

fn place_among(all: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, TooMany> {
    all.clone().try_acquire_owned().map_err(|_| TooMany { retry_after_seconds: RETRY_SECONDS })
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: RateLimiter::keyed(Quota::per_second(CALLS_A_SECOND)),
            point_calls: RateLimiter::keyed(Quota::per_second(POINT_CALLS_A_SECOND)),
            cosigning_addresses: RateLimiter::keyed(Quota::per_minute(COSIGNATURES_OF_ADDRESS)),
            cosigned_tenants: RateLimiter::keyed(Quota::per_minute(COSIGNATURES_OF_TENANT)),
            clock: DefaultClock::default(),
            failures: Mutex::default(),
            exports: Arc::new(Semaphore::new(MOST_EXPORTS)),
            exports_of: Places::new(EXPORTS.0, EXPORTS.1),
            previews: Places::new(PREVIEWS.0, PREVIEWS.1),
            explanations: Places::new(EXPLANATIONS.0, EXPLANATIONS.1),
            questions: Places::new(QUESTIONS.0, QUESTIONS.1),
            looks: Arc::new(Semaphore::new(MOST_LOOKS)),
        }
    }
}

impl Limits {
    /// Counts a call of a credential.
    pub fn call(&self, credential: CredentialId) -> Result<(), TooMany> {
        self.calls.check_key(&credential).map_err(|until| self.too_many(&until))
    }

    /// Counts a call of an enforcement point.
    pub fn point_call(&self, point: EnforcementPointId) -> Result<(), TooMany> {
        self.point_calls.check_key(&point).map_err(|until| self.too_many(&until))
    }

    /// Counts a cosigned checkpoint that an address hands in.
    pub fn cosigning(&self, address: IpAddr) -> Result<(), TooMany> {
        let network = network(address);
        if network.is_loopback() {
            return Ok(());
        }
        self.cosigning_addresses.check_key(&network).map_err(|until| self.too_many(&until))
    }

    /// Counts a cosigned checkpoint that is handed in to a tenant which is there, once its address was counted: one
    /// alone does not use up what is taken for a tenant.
    pub fn cosigned(&self, tenant: &TenantSlug) -> Result<(), TooMany> {
        self.cosigned_tenants.check_key(tenant).map_err(|until| self.too_many(&until))
    }

    fn too_many(&self, until: &NotUntil<QuantaInstant>) -> TooMany {
        let wait = until.wait_time_from(self.clock.now()).as_secs();
        TooMany { retry_after_seconds: i64::try_from(wait).unwrap_or(1).max(1) }
    }

    /// Counts a try to sign in as if it failed, before the password is looked at, so that many at once cannot pass
    /// together; [`Limits::signed_in`] takes it back.
    pub fn try_sign_in(
        &self,
        tenant: &TenantSlug,
        email: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), TooMany> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = make_room(&mut failures, now);
        let counted = counted(tenant, email, address);
        for who in &counted {
            let end = match failures.get(who) {
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
        for who in counted {
            let found = failures.entry(who).or_insert(Failures { count: 0, since: now });
            if found.since.plus(WINDOW) <= now {
                *found = Failures { count: 0, since: now };
            }
            found.count = found.count.saturating_add(1);
        }
        Ok(())
    }

    /// Forgets an account's failures from this address, and this try of the address: the right password was given.
    pub fn signed_in(&self, tenant: &TenantSlug, email: &str, address: IpAddr) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        for who in counted(tenant, email, address) {
            match who {
                Failing::AccountFrom(..) => {
                    failures.remove(&who);
                }
                Failing::Account(..) | Failing::Address(_) => {
                    if let Some(found) = failures.get_mut(&who) {
                        found.count = found.count.saturating_sub(1);
                    }
                }
            }
        }
    }

    /// A place among the exports that run at once, kept until it is dropped.
    pub fn export(&self, tenant: &TenantSlug, person: Option<PrincipalId>) -> Result<ExportPlace, TooMany> {
        let own = person.map(|person| self.exports_of.take(tenant, Chain::Principal(person))).transpose()?;
        Ok(ExportPlace { _own: own, _shared: place_among(&self.exports)? })
    }

    /// A place among the looks into public logs that run at once, kept until it is dropped; waits for its turn.
    pub async fn look(&self) -> Result<OwnedSemaphorePermit, TooMany> {
        let turn = tokio::time::timeout(LOOK_PATIENCE, self.looks.clone().acquire_owned()).await;
        turn.ok().and_then(Result::ok).ok_or(TooMany { retry_after_seconds: RETRY_SECONDS })
    }

    /// Forgets who has not called for a while.
    pub fn tidy(&self) {
        self.calls.retain_recent();
        self.calls.shrink_to_fit();
        self.point_calls.retain_recent();
        self.point_calls.shrink_to_fit();
        self.cosigning_addresses.retain_recent();
        self.cosigning_addresses.shrink_to_fit();
        self.cosigned_tenants.retain_recent();
        self.cosigned_tenants.shrink_to_fit();
    }
}

/// What a try of an account from an address counts against.
fn counted(tenant: &TenantSlug, email: &str, address: IpAddr) -> Vec<Failing> {
    /// Longer ones are no addresses: they share a counter.
    const LONGEST_EMAIL: usize = 254;
    let email: String = email.chars().take(LONGEST_EMAIL).collect();
    let network = network(address);
    let mut counted = vec![
        Failing::AccountFrom(tenant.clone(), email.clone(), network),
        Failing::Account(tenant.clone(), email),
    ];
    if !network.is_loopback() {
        counted.push(Failing::Address(network));
    }
    counted
}

/// Whoever has one IPv6 address has the /64 it lies in.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            let prefix = u128::from(v6) & !u128::from(u64::MAX);
            IpAddr::from(prefix.to_be_bytes())
        }
        IpAddr::V4(_) | IpAddr::V6(_) => address.to_canonical(),
    }
}

/// Makes room for all that one try counts against; `false` when everything remembered is closed.
fn make_room(failures: &mut HashMap<Failing, Failures>, now: Timestamp) -> bool {
    let has_room = |failures: &HashMap<Failing, Failures>| failures.len() + 3 <= MOST_REMEMBERED;
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
        let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let now = Timestamp::from_unix_seconds(1_000_000);
        let fails = |email: &str, address| limits.try_sign_in(&tenant, email, address, now).is_ok();
        for _ in 0..FAILURES_FROM_ADDRESS {
            assert!(fails("a@example.test", here));
        }
        assert!(!fails("a@example.test", here), "closed for this address");
        assert!(fails("a@example.test", there), "and not for its owner elsewhere");
        assert!(fails("b@example.test", here), "nor are other accounts");
        let later = now.plus(WINDOW);
        assert!(limits.try_sign_in(&tenant, "a@example.test", here, later).is_ok(), "for a while");
        for number in 0..FAILURES_OF_ADDRESS {
            fails(&format!("{number}@example.test"), there);
        }
        assert!(!fails("new@example.test", there), "one address is closed for all");
        let proxy = IpAddr::from([127, 0, 0, 1]);
        for number in 0..FAILURES_OF_ADDRESS {
            fails(&format!("x{number}@example.test"), proxy);
        }
        assert!(fails("new@example.test", proxy), "a proxy stands for everyone");
    }

    #[test]
    fn the_right_password_takes_its_own_try_back() {
        let limits = Limits::default();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let here = IpAddr::from([192, 0, 2, 1]);
        let now = Timestamp::from_unix_seconds(1_000_000);
        for _ in 0..3 * FAILURES_OF_ADDRESS {
            assert!(limits.try_sign_in(&tenant, "a@example.test", here, now).is_ok());
            limits.signed_in(&tenant, "a@example.test", here);
        }
    }

    #[test]
    fn an_account_is_closed_everywhere_after_many_failures() {
        let limits = Limits::default();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let now = Timestamp::from_unix_seconds(1_000_000);
        let from = |host: u32| IpAddr::from(0x0a00_0000_u32.saturating_add(host).to_be_bytes());
        for host in 0..FAILURES_OF_ACCOUNT {
            assert!(limits.try_sign_in(&tenant, "a@example.test", from(host), now).is_ok(), "{host}");
        }
        assert!(limits.try_sign_in(&tenant, "a@example.test", from(FAILURES_OF_ACCOUNT), now).is_err());
    }

    #[test]
    fn cosignatures_are_limited_by_address_and_by_tenant() {
        let limits = Limits::default();
        let (harbour, quay): (TenantSlug, TenantSlug) = ("harbour".parse().unwrap(), "quay".parse().unwrap());
        let from = |host: u8| IpAddr::from([192, 0, 2, host]);
        for _ in 0..COSIGNATURES_OF_ADDRESS.get() {
            limits.cosigning(from(1)).unwrap();
        }
        let full = limits.cosigning(from(1)).unwrap_err();
        assert!((1..=60).contains(&full.retry_after_seconds), "{full:?}");
        limits.cosigning(from(2)).unwrap();
        for _ in 0..COSIGNATURES_OF_TENANT.get() {
            limits.cosigning(IpAddr::from([127, 0, 0, 1])).expect("a proxy stands for everyone");
            limits.cosigned(&harbour).unwrap();
        }
        assert!(limits.cosigned(&harbour).is_err());
        limits.cosigned(&quay).expect("another tenant's are not used up");
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let one: IpAddr = "2001:db8:1:2:3::4".parse().unwrap();
        let other: IpAddr = "2001:db8:1:2:ffff::1".parse().unwrap();
        assert_eq!(network(one), network(other));
        assert_ne!(network(one), network("2001:db8:1:3::1".parse().unwrap()));
    }

    #[test]
    fn a_flood_of_names_opens_no_account_that_is_closed() {
        let limits = Limits::default();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let (here, proxy) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([127, 0, 0, 1]));
        let now = Timestamp::from_unix_seconds(1_000_000);
        for _ in 0..FAILURES_FROM_ADDRESS {
            limits.try_sign_in(&tenant, "a@example.test", here, now).unwrap();
        }
        for number in 0..MOST_REMEMBERED {
            let _ = limits.try_sign_in(&tenant, &format!("{number}@example.test"), proxy, now);
        }
        assert!(limits.failures.lock().unwrap().len() <= MOST_REMEMBERED);
        assert!(limits.try_sign_in(&tenant, "a@example.test", here, now).is_err(), "still closed");
        assert!(limits.try_sign_in(&tenant, "new@example.test", proxy, now).is_ok(), "others may try");
    }

    #[test]
    fn looks_into_public_logs_take_turns() {
        let soon = std::time::Duration::from_millis(20);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let limits = Limits::default();
            let mut running = Vec::new();
            for _ in 0..MOST_LOOKS {
                running.push(limits.look().await.unwrap());
            }
            assert!(
                tokio::time::timeout(soon, limits.look()).await.is_err(),
                "it waits while all places are taken"
            );
            drop(running.pop());
            assert!(tokio::time::timeout(soon, limits.look()).await.unwrap().is_ok(), "and is next");
        });
    }

    #[test]
    fn exports_have_places_of_a_person_of_a_tenant_and_of_all() {
        let limits = Limits::default();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let person = |number| Some(PrincipalId::new(Timestamp::from_unix_seconds(1), [number; 10]));
        let slow: Vec<_> = (0..2).map(|_| limits.export(&tenant, person(1)).unwrap()).collect();
        assert!(limits.export(&tenant, person(1)).unwrap_err().retry_after_seconds > 0);
        let others: Vec<_> =
            (2..4).flat_map(|one| [one, one]).map(|one| limits.export(&tenant, person(one))).collect();
        assert!(others.iter().all(Result::is_ok), "who reads slowly takes nothing from others");
        assert!(limits.export(&tenant, person(4)).is_err(), "six of a tenant");
        let quay: TenantSlug = "quay".parse().unwrap();
        let theirs: Vec<_> = (0..2).map(|_| limits.export(&quay, person(9)).unwrap()).collect();
        assert!(limits.export(&quay, person(8)).is_err(), "eight in all");
        drop((slow, theirs));
        assert!(limits.export(&tenant, person(4)).is_ok());
    }
}
