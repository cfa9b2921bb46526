//! The tables, on SQLite and on PostgreSQL, from the same queries.
//!
//! Functions here take a connection and typed values, and read or write rows; they decide nothing. Guards
//! stand in the `WHERE` of a write, and its row count is the answer.

pub mod access;
pub mod agent;
pub mod approval;
pub mod authority;
pub mod backup;
pub mod behind;
pub mod book;
pub mod catalogue;
pub mod condition;
pub mod content;
pub mod course;
pub mod coverage;
pub mod credential;
mod database;
pub mod day;
pub mod decision;
mod directory;
pub mod effect;
pub mod enforcement_point;
mod error;
pub mod export;
pub mod exported;
pub mod head;
pub mod held;
pub mod idempotency;
pub mod key;
pub mod known;
pub mod lookup;
pub mod mandate;
mod migration;
pub mod outbox;
pub mod policy;
pub mod principal;
pub mod question;
pub mod queue;
mod read;
pub mod receipt;
pub mod retention;
pub mod round;
mod schema;
pub mod session;
pub mod tenant;
pub mod tile;
mod transaction;
mod turn;
pub mod whole;
pub mod witness;

pub use database::{AnyConnection, Database, Readers, empty_write_ahead_log, move_write_ahead_log};
pub use directory::DataDirectory;
pub use error::StoreError;
pub use migration::{Differs, differs, migrate};
pub use read::read_document;
pub use transaction::{Transaction, savepoint};
