//! The service without its database, its clock and its wire: rows in vectors, and one function a transaction.
//!
//! Every turn is taken by the functions of the engine that the service itself calls: [`decide`](procura::engine::decide)
//! and [`looks`](procura::engine::looks) on a real standing, and the steps of [`procura::engine::step`]. What is here
//! is only what the service does around them: which rows a transaction reads, and what it writes.

pub(crate) mod act;
pub(crate) mod call;
pub(crate) mod setting;
pub(crate) mod world;
