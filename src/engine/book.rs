//! Books: what was used, as limits look at it.
//!
//! A *book* counts one thing for one clause or pool: amounts in one currency, or uses, for everyone or for one
//! counterparty or resource. Several limits may look at one book through different windows. The engine says
//! which books to look at ([`BookUse`]) and what an allow takes from them ([`Reservation`]); whoever keeps the
//! books reads and writes them in the transaction of the answer.

use super::document::ClauseId;
use super::limit::Each;
use crate::domain::{CredentialId, Currency, ExternalName, Timestamp};
use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

/// The most books one action may count in.
pub const MOST_BOOKS: usize = 256;

/// Whose book it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BookOwner {
    /// The tenant's: all its principals together.
    Policy,
    /// The principal's: all their agents together.
    Mandate,
    /// A credential's, with all that were derived from it.
    Credential(CredentialId),
}

/// Under which name a book counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BookName {
    /// One clause's.
    Clause(ClauseId),
    /// All clauses of the document that name the pool.
    Pool(ClauseId),
}

/// What a book counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    /// Minor units of a currency.
    Amounts(Currency),
    /// Uses.
    Uses,
}

/// One book.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Book {
    /// Whose it is.
    pub owner: BookOwner,
    /// What counts in it.
    pub name: BookName,
    /// For which counterparty or resource alone.
    pub each: Option<(Each, ExternalName)>,
    /// What it counts.
    pub counts: Counted,
}

impl fmt::Display for Book {
    /// In one line that no other book shares.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.owner {
            BookOwner::Policy => f.write_str("policy")?,
            BookOwner::Mandate => f.write_str("mandate")?,
            BookOwner::Credential(id) => id.fmt(f)?,
        }
        match &self.name {
            BookName::Clause(id) => write!(f, "/clause/{id}")?,
            BookName::Pool(name) => write!(f, "/pool/{name}")?,
        }
        match self.counts {
            Counted::Amounts(currency) => write!(f, "/{}", currency.code())?,
            Counted::Uses => f.write_str("/uses")?,
        }
        match &self.each {
            Some((each, name)) => write!(f, "/{}/{name}", each.as_str()),
            None => Ok(()),
        }
    }
}

/// A look into a book: what was used since an instant, or ever.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BookUse {
    /// The book.
    pub book: Book,
    /// The first instant that counts; `None` is ever.
    pub since: Option<Timestamp>,
}

/// What one allow takes from one book: minor units, or one use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The book.
    pub book: Book,
    /// How much.
    pub amount: u64,
}

/// What the books said, by the line of the book and the first instant that counts. What is not in here counts
/// as used up.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Used(BTreeMap<(String, Option<Timestamp>), u64>);

impl Used {
    /// Notes what a look into a book showed.
    pub fn note(&mut self, look: &BookUse, used: u64) {
        self.0.insert((look.book.to_string(), look.since), used);
    }

    /// What a look showed; everything, if nobody looked.
    pub(super) fn of(&self, look: &BookUse) -> u64 {
        self.noted(look).unwrap_or(u64::MAX)
    }

    /// What a look showed, if anybody looked.
    pub(super) fn noted(&self, look: &BookUse) -> Option<u64> {
        self.0.get(&(look.book.to_string(), look.since)).copied()
    }
}

/// Looks to take, none twice, in the order in which they were asked for.
///
/// Beyond [`MOST_BOOKS`] no more are taken: an action that needs them is refused for it.
#[derive(Default)]
pub(super) struct Looks {
    in_order: Vec<BookUse>,
    seen: HashSet<BookUse>,
}

impl Looks {
    pub(super) fn add(&mut self, look: BookUse) {
        if self.in_order.len() < MOST_BOOKS && self.seen.insert(look.clone()) {
            self.in_order.push(look);
        }
    }

    pub(super) fn finish(self) -> Vec<BookUse> {
        self.in_order
    }
}

/// What an allow takes, once from each book; one more than [`MOST_BOOKS`] are kept, to show that there are too many.
#[derive(Default)]
pub(super) struct Reservations {
    in_order: Vec<Reservation>,
    seen: HashSet<Book>,
}

impl Reservations {
    pub(super) fn add(&mut self, reservation: Reservation) {
        if self.in_order.len() <= MOST_BOOKS && self.seen.insert(reservation.book.clone()) {
            self.in_order.push(reservation);
        }
    }

    pub(super) fn finish(self) -> Vec<Reservation> {
        self.in_order
    }
}
