//! Every order of events in a small tenant, tried one after another, against what the service promises.
//!
//! **What is covered.** Three clients whose calls are sent, lost and sent again, two of them under one idempotency
//! key; a mandate that its principal narrows at any moment, in two ways; a revocation; two people who say yes or no to
//! whatever was ever in the queue; agents that report and people who resolve; a leap of time past every deadline; two
//! crashes. They meet in every order there is within the bounds of four courses, and after each event nine promises are
//! read from the log and the rows. Every answer, yes, narrowing and report is the engine's own: the model calls the
//! functions that the service calls, on real documents. Five mechanisms are then taken away, one at a time, and each
//! time a promise must break.
//!
//! **What is not.** A transaction is one event: that the database makes it so is what the tests on both databases are
//! about, and so is what the service writes beside the rows here (receipts, chains, the tree). The committer's batch is
//! a row of such events, with nothing between them; the model lets more happen. A node that crashes is one that starts
//! again. Policy and catalogue stay as they are, enforcement points speak in one course alone, numbers are small: two
//! calls sent with every disturbance, three with few.

#[cfg(test)]
mod course;
#[cfg(test)]
mod mutant;
#[cfg(test)]
mod promise;
#[cfg(test)]
#[path = "../shell/mod.rs"]
mod shell;
#[cfg(test)]
mod tests;
