//! Telling people: what mail says, and how it leaves.

pub mod compose;
pub mod digest;
