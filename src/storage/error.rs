//! What can go wrong between the service and its database.

use std::fmt;

/// A failure of the store; never a rule's refusal.
#[derive(Debug)]
pub enum StoreError {
    /// The database did not do what it was asked; nothing is known about the open transaction.
    Failed(String),
    /// A stored value cannot be read back: named by table and column.
    Corrupt {
        /// Where it stands, as `table.column`.
        place: &'static str,
        /// What is wrong with it.
        detail: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(detail) => write!(f, "the database failed: {detail}"),
            Self::Corrupt { place, detail } => write!(f, "{place} cannot be read: {detail}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<diesel::result::Error> for StoreError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<diesel::ConnectionError> for StoreError {
    fn from(error: diesel::ConnectionError) -> Self {
        Self::Failed(error.to_string())
    }
}
