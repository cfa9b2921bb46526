//! Signs a person in and out. Neither changes what anyone may do, so neither has a leaf of its own.

use super::Error;
use crate::committer::Books;
use crate::domain::{Duration, Hash, PrincipalId, Timestamp};
use crate::storage::session::{self, Session};

/// How long a session lasts unused.
pub const IDLE: Duration = Duration::minutes(30);
/// How long a session lasts at most.
pub const LONGEST: Duration = Duration::hours(12);
/// How exactly the last use is noted.
const NOTED_EVERY: Duration = Duration::minutes(1);

/// Starts a session for a person whose password was right.
pub fn start(books: &mut Books<'_>, principal: PrincipalId, digest: Hash) -> Result<Session, Error> {
    let now = books.now();
    let tenant = books.slug().clone();
    let started = Session { tenant, digest, principal, signed_in_at: now, last_used_at: now };
    session::insert(books.connection(), &started)?;
    Ok(started)
}

/// Ends a session.
pub fn end(books: &mut Books<'_>, digest: Hash) -> Result<bool, Error> {
    Ok(session::delete(books.connection(), digest)?)
}

/// Notes that a session is in use.
pub fn touch(books: &mut Books<'_>, digest: Hash) -> Result<(), Error> {
    let now = books.now();
    Ok(session::touch(books.connection(), digest, now)?)
}

/// When a session ends unless it is used again.
pub fn expires_at(session: &Session) -> Timestamp {
    session.last_used_at.plus(IDLE).min(session.signed_in_at.plus(LONGEST))
}

/// Whether a session can still be used.
pub fn is_live(session: &Session, now: Timestamp) -> bool {
    now < expires_at(session)
}

/// Whether its last use should be noted again.
pub fn wants_touch(session: &Session, now: Timestamp) -> bool {
    now.since(session.last_used_at) >= NOTED_EVERY
}
