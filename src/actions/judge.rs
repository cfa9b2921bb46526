//! The engine asked inside a batch: with the books it wants to look into, and what an allow takes from them.

use super::Error;
use crate::committer::{Books, Standing};
use crate::crypto::{AuthKey, hmac_sha256};
use crate::domain::{ExternalName, PrincipalId, Scopes};
use crate::engine::{self, Action, Book, BookOwner, Reservation, Used, Verdict, check_domains};
use crate::evidence::document::Document;
use crate::storage::book;
use serde_json::json;
use std::collections::HashSet;

/// A verdict, and what it rests on beside the documents: with it, the same answer can be decided again.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// What each look into the books showed, in the order in which the engine asked.
    pub(super) used: Vec<u64>,
    /// Which of the counterparties the principal had approved before, by their place in the list.
    pub(super) known: Vec<usize>,
}

/// Decides on an action under what is live.
///
/// # Errors
/// What lies outside the domains of policy and mandate is malformed.
pub(super) fn judge(
    books: &mut Books<'_>,
    standing: &Standing,
    carried: Scopes,
    action: &Action,
) -> Result<Judged, Error> {
    let terms = standing.credential_terms();
    let nothing = Used::default();
    judge_as(books, &standing.view(&terms, &nothing, carried), &standing.known, action)
}

/// The same for a standing that is no credential's; `unread` has looked into no book yet.
///
/// # Errors
/// Those of [`judge`].
pub(super) fn judge_as(
    books: &mut Books<'_>,
    unread: &engine::Standing<'_>,
    approved_before: &HashSet<ExternalName>,
    action: &Action,
) -> Result<Judged, Error> {
    let now = books.now();
    check_domains(unread, action, now)?;
    let mut used = Vec::new();
    let (verdict, _) = engine::decide_reading(unread, action, now, |look| {
        let key = book_key(books.lookup_key(), unread.principal, &look.book);
        let (connection, slug) = books.place();
        let amount = book::used(connection, slug, &key, look.since)?;
        used.push(amount);
        Ok::<_, Error>(amount)
    })?;
    let names = action.counterparties.iter().enumerate();
    let known = names.filter(|(_, name)| approved_before.contains(*name)).map(|(place, _)| place).collect();
    Ok(Judged { verdict, used, known })
}

impl Judged {
    /// What the input document says of it.
    pub(super) fn write(&self, input: &mut Document) {
        if !self.used.is_empty() {
            input.value("used", &json!(self.used));
        }
        if !self.known.is_empty() {
            input.value("known", &json!(self.known));
        }
    }
}

/// Takes from the books what an allow reserves.
pub(super) fn reserve(
    books: &mut Books<'_>,
    principal: PrincipalId,
    reservations: &[Reservation],
    log_index: u64,
) -> Result<(), Error> {
    let now = books.now();
    for reservation in reservations {
        let key = book_key(books.lookup_key(), principal, &reservation.book);
        let (connection, slug) = books.place();
        book::reserve(connection, slug, &key, reservation.amount, log_index, now)?;
    }
    Ok(())
}

/// The key a book is stored under. It tells nothing of whom the book is for.
pub fn book_key(lookup: &AuthKey, principal: PrincipalId, of: &Book) -> String {
    let line = match of.owner {
        BookOwner::Policy | BookOwner::Credential(_) => format!("procura-book-v1 {of}"),
        BookOwner::Mandate => format!("procura-book-v1 {principal} {of}"),
    };
    let digest = hmac_sha256(lookup, line.as_bytes());
    // Half of it is more than any two books could meet in, and keeps the rows short.
    hex::encode(digest.get(..16).unwrap_or(&digest))
}
