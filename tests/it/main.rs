//! Drives the built binary over HTTP, on both databases, as its callers would.
//!
//! One module a feature. [`server`] starts and kills the binary, [`client`] speaks to it, [`agent`] makes those that
//! call, [`witness`] is an outside witness of the log, [`database`] says on which database, [`documents`] holds the mandates that most tests begin with. [`visitor`]
//! is a person at the pages, [`browser`] a real one.
//!
//! [`histories`] plays random events to the binary and holds its answers against the model of `tests/model`, which
//! [`reference`] moves.
//!
//! [`scenarios`] plays the stories that stand as YAML in `tests/vectors/scenarios`, [`evasion`] puts the requests of
//! `tests/vectors/evasion` to the gate: both are there to be read, and added to, by people who read no Rust.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod agent;
#[cfg(test)]
mod anew;
#[cfg(test)]
mod approval;
#[cfg(test)]
mod attention;
#[cfg(test)]
mod attention_effects;
#[cfg(test)]
mod authority;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod call_log;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod client;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod coverage_page;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod credential;
#[cfg(test)]
mod database;
#[cfg(test)]
mod digest;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod doubt;
#[cfg(test)]
mod enforcement;
#[cfg(test)]
mod enforcement_effects;
#[cfg(test)]
mod erasure;
#[cfg(test)]
mod evasion;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod explain;
#[cfg(test)]
mod explorer;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod exports_erased;
#[cfg(test)]
mod exports_parquet;
#[cfg(test)]
mod files;
#[cfg(test)]
mod four_eyes;
#[cfg(test)]
mod four_eyes_pages;
#[cfg(test)]
mod four_eyes_turns;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod hours;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod log;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod malformed;
#[cfg(test)]
mod mandate;
#[cfg(test)]
mod names;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod page;
#[cfg(test)]
mod page_forms;
#[cfg(test)]
mod page_in_browser;
#[cfg(test)]
mod preview;
#[cfg(test)]
mod process;
#[cfg(test)]
mod public_log;
mod questions;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod scope;
#[cfg(test)]
mod server;
#[cfg(test)]
mod session;
#[cfg(test)]
#[path = "../shell/mod.rs"]
#[cfg(test)]
mod shell;
#[cfg(test)]
mod shown;
#[cfg(test)]
mod tamper;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod verify_log;
#[cfg(test)]
mod visitor;
#[cfg(test)]
mod who;
#[cfg(test)]
mod wire;
#[cfg(test)]
mod witness;
#[cfg(test)]
mod witnesses;
#[cfg(test)]
mod writers;
