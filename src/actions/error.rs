//! Why an act was refused by a rule; each has one place in the wire format.

use crate::committer::{JobError, Life};
use crate::domain::{EnforcementPointId, Malformed, Scope, Timestamp};
use crate::storage::StoreError;

/// A rule's refusal, or the store's failure.
#[derive(Debug)]
pub enum Error {
    /// What was sent does not fit: 422.
    Malformed(Malformed),
    /// There is no such thing, or not for this caller: 404.
    NotFound(&'static str),
    /// This caller may not: 403.
    Forbidden(String),
    /// The token never carried the scope this needs: 403 `insufficient_scope`.
    InsufficientScope(Scope),
    /// A scope no agent is ever given was asked for: 422 `scope-withheld`.
    ScopeWithheld {
        /// Where in the body it was asked for.
        pointer: String,
    },
    /// The credential is no longer, or not, good: 401.
    Dead(Life),
    /// The enforcement point is revoked: 401.
    PointRevoked {
        /// Which.
        id: EnforcementPointId,
        /// Since when.
        at: Timestamp,
    },
    /// The token belongs to nothing here: 401.
    Unknown,
    /// The session ended while the act waited: 401.
    SignedOut,
    /// A fresh sign-in is needed: 403 `step-up-required`.
    StepUp {
        /// What needs it.
        act: &'static str,
    },
    /// What is there now does not allow it: 409.
    Conflict(String),
    /// The version the caller saw is no longer live: 412.
    Stale {
        /// The version that is live.
        live: u64,
    },
    /// The idempotency key was used for another request: 422.
    KeyReused {
        /// When it was first used.
        first_used: Timestamp,
    },
    /// The live mandate is older than the caller accepts: 409.
    MandateTooOld {
        /// The live version.
        live: u64,
        /// The version asked for.
        asked: u64,
    },
    /// The database failed: 503.
    Store(StoreError),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl JobError for Error {
    fn store_failure(&self) -> Option<&StoreError> {
        if let Self::Store(error) = self { Some(error) } else { None }
    }
}
