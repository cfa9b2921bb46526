//! Books kept in memory, for what a document would have let through had it been live.

use super::limit::{Book, BookOwner, BookUse, Reservation};
use crate::domain::{PrincipalId, Timestamp};
use std::collections::HashMap;

/// The books of one tenant, empty at first. Calls are entered in the order of their times.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<Account, Vec<Entry>>,
    /// Where each call's reservations stand.
    taken: HashMap<u64, Vec<(Account, usize)>>,
}

/// Whose book it is: a mandate's book is one for each principal.
type Account = (Option<PrincipalId>, Book);

/// One reservation, and the sum of all up to it that were not given back.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Timestamp,
    amount: u64,
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
            self.taken.entry(log_index).or_default().push((account, entries.len()));
            entries.push(Entry { at, amount: *amount, total: before.saturating_add(u128::from(*amount)) });
        }
    }

    /// Gives back what a call took, if it took anything.
    pub fn release(&mut self, log_index: u64) {
        for (account, place) in self.taken.remove(&log_index).unwrap_or_default() {
            let entries = self
                .accounts
                .get_mut(&account)
                .into_iter()
                .flat_map(|entries| entries.iter_mut().skip(place));
            let mut given_back = 0;
            for (index, entry) in entries.enumerate() {
                if index == 0 {
                    given_back = u128::from(std::mem::take(&mut entry.amount));
                }
                entry.total = entry.total.saturating_sub(given_back);
            }
        }
    }
}
