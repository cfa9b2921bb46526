//! What can be done: one verb a file, each a short story over the books of one batch.

pub mod again;
pub mod agent;
pub mod answer;
pub mod caller;
pub mod catalogue;
pub mod credential;
pub mod decision;
pub mod effect;
pub mod enforcement_point;
pub mod erasure;
mod error;
pub mod evaluate;
mod evaluated;
pub mod export;
mod judge;
pub mod key;
pub mod lookup;
pub mod mandate;
pub mod policy;
pub mod preview;
pub mod principal;
pub mod question;
mod queue;
mod recording;
mod replay;
pub mod request;
pub mod restore;
pub mod retention;
pub mod session;
pub mod setup;
pub mod sweep;
mod tell;
mod withdraw;

pub use error::Error;
