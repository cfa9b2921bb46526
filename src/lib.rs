//! Procura: mandate and credential authorisation for agents that act for people.
//!
//! A person writes down what may be done in their name (the *mandate*). Agents present credentials. Every tool
//! call is put to the *gate*, which answers **allow**, **escalate** or **refuse** before anything happens, hands
//! out a receipt that anyone can check offline, and sends what lies outside the mandate to the person's queue.
//! It exists to answer one question, before and after the fact: *who allowed this?*
//!
//! # From above
//!
//! ```text
//!  agents, tools        people            operators
//!       │ HTTP            │ pages, mail       │ commands
//!       ▼                 ▼                   ▼
//!  ┌─ http ─────────┐ ┌─ web ─────────┐ ┌─ cli ─────────┐   parse, authenticate, answer
//!  └───────┬────────┘ └──────┬────────┘ └──────┬────────┘
//!          └───────── app ───┴─────────────────┘            who is calling; what happens by itself
//!                      │
//!                   actions                                 one verb a file, over the books of one batch
//!                      │
//!                  committer ── one thread a node           batch: lock heads · decide · chain · grow · sign · commit
//!                      │
//!                   storage                                 SQLite or PostgreSQL, the same queries
//!                      │
//!          evidence ───┴─── engine                          pure: what is decided, what proves it
//!                   crypto
//!                   domain                                  the words as types
//! ```
//!
//! A layer uses what is below it, never what is above; `tests/tidy.rs` holds the tree to that.
//!
//! # In reading order
//!
//! 1. [`domain`] – ids, scopes, money, intents, times, strict JSON. Parsed once at the edge.
//! 2. [`engine`] – documents people write, the action to decide on, [`engine::decide`].
//! 3. [`evidence`] – canonical JSON, commitments, the Merkle log, checkpoints, receipts, verification.
//! 4. [`storage`] – the tables. Guards stand in the `WHERE`; a row count is the answer.
//! 5. [`committer`] – batches. [`committer::Books`] is what an action sees.
//! 6. [`actions`] – the verbs. Start with [`actions::evaluate`].
//! 7. [`app`], [`http`], [`web`], [`notify`], [`cli`] – the service around them.
//!
//! # The path of one call
//!
//! ```text
//!  worker                              committer                                   worker
//!  ──────                              ─────────                                   ──────
//!  read body, strictly                 take all that waits as a batch
//!  verify token (cached claims)        begin; lock the tenants' heads
//!  submit ───────────────────────────▶ read standing (cached under the epoch)
//!                                      replay? derive facts, decide, use approval
//!                                      link chain, append leaf
//!                                      …the other jobs of the batch…
//!                                      seal tree, sign checkpoint, write, commit
//!                                      ──────────────────────────────────────────▶ path for this leaf, answer
//! ```
//!
//! # A decision
//!
//! ```text
//!   open ──approve──▶ approved ──the same call, once──▶ used
//!    │ │                 │ └──time──▶ expired
//!    │ └──decline──▶ declined
//!    ├──time──▶ expired
//!    └──narrowing, revocation──▶ withdrawn ◀── approved
//! ```
//!
//! # Invariants, mostly of what is absent
//!
//! * No decision is cached, anywhere. What is cached is what was *read*, under the tenant's authority epoch, and the
//!   epoch is read again under the head's lock in every batch.
//! * Nothing is answered before it is durable. A commit that fails is *unknown*: the connection is closed, the head
//!   verified, and what turns out to be in the log after all is withdrawn.
//! * [`domain`], [`engine`] and [`evidence`] read no clock, draw no random bytes and do no input or output.
//! * There is no path by which an agent gets `mandate:write`: it is refused where credentials are made, where tokens
//!   are renewed, where mandates are read, and by the engine if it were there all the same.
//! * No GET changes anything. No mail can approve.
//! * Money has no floats; amounts are minor units and arithmetic that overflows refuses.
//! * Personal content stands beside a receipt, never in it: what is hashed holds salted commitments.
//! * Every key of every table starts with the tenant, except those that are secrets' digests.

pub mod actions;
pub mod app;
pub mod cli;
pub mod committer;
pub mod crypto;
pub mod domain;
pub mod engine;
pub mod evidence;
pub mod http;
pub mod notify;
pub mod storage;
pub mod web;
