//! Books in memory.

use super::*;
use crate::domain::{Duration, PrincipalId};
use crate::engine::{Book, BookName, BookOwner, BookUse, Counted, Ledger, Reservation};

fn principal(place: u8) -> PrincipalId {
    PrincipalId::new(Timestamp::from_unix_milliseconds(0), [place; 10])
}

fn book(owner: BookOwner) -> Book {
    Book { owner, name: BookName::Clause("A".parse().unwrap()), each: None, counts: Counted::Uses }
}

#[test]
fn a_window_counts_what_was_taken_in_it_and_not_given_back() {
    let own = book(BookOwner::Mandate);
    let mut ledger = Ledger::default();
    let hour = |hour: i64| now().plus(Duration::hours(hour));
    for (index, amount) in [(1, 10), (2, 20), (3, 40)] {
        let taken = [Reservation { book: own.clone(), amount }];
        ledger.take(principal(1), &taken, index, hour(i64::try_from(index).unwrap()));
    }
    let used = |ledger: &Ledger, since: Option<i64>| {
        ledger.used(principal(1), &BookUse { book: own.clone(), since: since.map(hour) })
    };
    assert_eq!(
        [None, Some(1), Some(2), Some(3), Some(4)].map(|since| used(&ledger, since)),
        [70, 70, 60, 40, 0]
    );
    ledger.release(2);
    assert_eq!(
        [None, Some(1), Some(2), Some(3), Some(4)].map(|since| used(&ledger, since)),
        [50, 50, 40, 40, 0]
    );
    ledger.release(2);
    ledger.release(9);
    assert_eq!(used(&ledger, None), 50, "what was given back is not given back again");
    let taken = [Reservation { book: own.clone(), amount: 80 }];
    ledger.take(principal(1), &taken, 4, hour(4));
    ledger.take_again(2);
    ledger.take_again(2);
    ledger.take_again(9);
    assert_eq!(
        [None, Some(1), Some(2), Some(3), Some(4)].map(|since| used(&ledger, since)),
        [150, 150, 140, 120, 80],
        "what is taken again counts in its own time, and once"
    );
}

#[test]
fn a_mandates_books_are_its_principals_and_a_policys_are_everyones() {
    let mut ledger = Ledger::default();
    for owner in [BookOwner::Mandate, BookOwner::Policy, BookOwner::Credential(credential(1))] {
        ledger.take(principal(1), &[Reservation { book: book(owner), amount: 1 }], 1, now());
    }
    let seen = |owner| ledger.used(principal(2), &BookUse { book: book(owner), since: None });
    assert_eq!(seen(BookOwner::Mandate), 0);
    assert_eq!(seen(BookOwner::Policy), 1);
    assert_eq!(seen(BookOwner::Credential(credential(1))), 1);
    assert_eq!(seen(BookOwner::Credential(credential(2))), 0);
}
