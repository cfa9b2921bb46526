//! What a call took from the books of limits, against what it comes to when it is decided again.

use crate::actions::again::{Redecided, book_key};
use crate::crypto::AuthKey;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError, held};

/// What a book is called where no key is at hand to tell which it is.
const SOME_BOOK: &str = "some book";

/// What of the rows is not what the call took; nothing where they are.
///
/// # Errors
/// The database failed.
pub(super) fn held(
    connection: &mut AnyConnection,
    lookup: Option<&AuthKey>,
    stored: &StoredReceipt,
    redecided: &Redecided,
) -> Result<Option<String>, StoreError> {
    let Some(principal) = stored.body.principal.filter(|_| redecided.same) else { return Ok(None) };
    let name = |book: String| if lookup.is_some() { book } else { SOME_BOOK.to_owned() };
    let decided = redecided.taken.iter().map(|taken| {
        let book = lookup.map(|lookup| book_key(lookup, principal, &taken.book)).unwrap_or_default();
        (name(book), i64::try_from(taken.amount).unwrap_or(i64::MAX))
    });
    let mut decided: Vec<(String, i64)> = decided.collect();
    decided.sort();
    let mut stands = || {
        let rows = held::taken_by(connection, &stored.body.tenant, stored.log_index)?;
        let mut rows: Vec<_> = rows.into_iter().map(|row| (name(row.book), row.amount)).collect();
        rows.sort();
        Ok::<_, StoreError>(rows)
    };
    // Beside a server, a row may be moved aside while it is looked for.
    let mut found = stands()?;
    if found != decided {
        found = stands()?;
    }
    let shown = |taken: &[(String, i64)]| {
        let each: Vec<String> = taken.iter().map(|(book, amount)| format!("{amount} from {book}")).collect();
        if each.is_empty() { "nothing".to_owned() } else { each.join(", ") }
    };
    Ok((found != decided)
        .then(|| format!("`books` say that it took {}, it took {}", shown(&found), shown(&decided))))
}
