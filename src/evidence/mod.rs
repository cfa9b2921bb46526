//! What makes a record believable without its keeper: canonical bytes, the Merkle log, signed checkpoints,
//! receipts, exports, and their verification.
//!
//! Pure: no clock, no randomness, no database. Times, ids and salts are arguments.

pub mod canonical;
pub mod commitment;
pub mod document;
pub mod erased;
pub mod export;
pub mod line;
mod members;
pub mod merkle;
pub mod note;
mod object_writer;
pub mod receipt;
pub mod subject;
pub mod verify;
pub mod written;
