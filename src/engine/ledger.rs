//! Books kept in memory, for what a document would have let through had it been live.

use super::book::{Book, BookOwner, BookUse, Reservation};
use crate::domain::{PrincipalId, Timestamp};
use std::collections::HashMap;

/// The books of one tenant, empty at first. Calls are entered in the order of their times.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<Account, Vec<Entry>>,
    /// Where each call's reservations stand.
    taken: HashMap<u64, Taken>,
}

/// What one call took, and whether it was given back.
#[derive(Debug, Default)]
struct Taken {
    reservations: Vec<(Account, usize, u64)>,
    is_released: bool,
}

/// Whose book it is: a mandate's book is one for each principal.
type Account = (Option<PrincipalId>, Book);

/// One reservation, and the sum of all up to it that were not given back.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Timestamp,
    total: u128,
}

fn account(principal: PrincipalId, book: &Book) -> Account {
    let whose = match book.owner {
        BookOwner::Mandate => Some(principal),
        BookOwner::Policy | BookOwner::Credential(_) => None,
    };
    (whose, book.clone())
}

impl Ledger {
    /// What a look shows to a call for `principal`.
    pub fn used(&self, principal: PrincipalId, look: &BookUse) -> u64 {
        let Some(entries) = self.accounts.get(&account(principal, &look.book)) else { return 0 };
        let total = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.total);
        let before = look.since.map_or(0, |since| {
            let first = entries.partition_point(|entry| entry.at < since);
            total(first.checked_sub(1).and_then(|last| entries.get(last)))
        });
        u64::try_from(total(entries.last()).saturating_sub(before)).unwrap_or(u64::MAX)
    }

    /// Takes what the call at `log_index` reserves.
    pub fn take(
        &mut self,
        principal: PrincipalId,
        reservations: &[Reservation],
        log_index: u64,
        at: Timestamp,
    ) {
        for Reservation { book, amount } in reservations {
            let account = account(principal, book);
            let entries = self.accounts.entry(account.clone()).or_default();
            let before = entries.last().map_or(0, |last| last.total);
            let taken = self.taken.entry(log_index).or_default();
            taken.reservations.push((account, entries.len(), *amount));
            entries.push(Entry { at, total: before.saturating_add(u128::from(*amount)) });
        }
    }

    /// Gives back what a call took, if it took anything and has not given it back.
    pub fn release(&mut self, log_index: u64) {
        self.turn(log_index, true, u128::saturating_sub);
    }

    /// Takes again what a call gave back, in the windows of its time.
    pub fn take_again(&mut self, log_index: u64) {
        self.turn(log_index, false, u128::saturating_add);
    }

    fn turn(&mut self, log_index: u64, is_released: bool, of: impl Fn(u128, u128) -> u128) {
        let Some(taken) = self.taken.get_mut(&log_index) else { return };
        if std::mem::replace(&mut taken.is_released, is_released) == is_released {
            return;
        }
        for (account, place, amount) in &taken.reservations {
            let entries = self.accounts.get_mut(account).into_iter().flatten().skip(*place);
            entries.for_each(|entry| entry.total = of(entry.total, u128::from(*amount)));
        }
    }
}
