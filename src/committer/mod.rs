//! One sequential writer a node: takes all that waits as a batch, runs it in one transaction, and answers after
//! the commit.
//!
//! ```text
//!  submit ──▶ queue ──▶ batch: begin · lock heads · run each job · seal trees · write · commit ──▶ answers
//!                 ▲                                     │ any failure of the store
//!                 └── urgent first                      ▼
//!                                   poisoned: connection closed, 503 for all, reopened and verified
//! ```
//!
//! The committer knows no verbs: a job is a closure over [`Books`], which reads standings and records receipts.
//! There is no timer: a batch is whatever arrived while the last one was committing.

mod access;
mod books;
pub mod clock;
pub mod entropy;
mod handle;
mod job;
mod keys;
mod log;
mod lookups;
mod outage;
mod queue;
mod standing;
mod thread;
mod trails;
mod writer;

pub use access::Access;
pub use books::{Books, Draft};
pub use handle::{Committer, Settings, Status};
pub use job::{Answered, JobError, Sealed, Unavailable};
pub use keys::TenantKeys;
pub use log::Seal;
pub use standing::{Life, LiveCatalogue, LiveMandate, LivePolicy, Standing, StandingCache};
