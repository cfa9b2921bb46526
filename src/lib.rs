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
//!  agents, tools,       people            operators
//!  enforcement points
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
//!             crypto ─┴─ screening                         ciphers and digests; personal data in texts
//!                   domain                                  the words as types
//! ```
//!
//! A layer uses what is below it, never what is above; `tests/tidy.rs` holds the tree to that.
//!
//! # In reading order
//!
//! 1. [`domain`] – ids, scopes, money, intents, times, strict JSON. Parsed once at the edge.
//! 2. [`engine`] – documents people write, the action to decide on, [`engine::decide`]; why it came out so,
//!    [`engine::explain`]; what is said of a document before it goes live, [`engine::admit_mandate`]. [`engine::step`]
//!    is the course of things after a verdict: what a repeated key, a yes, a report, a narrowing come to.
//! 3. [`evidence`] – canonical JSON, commitments, the Merkle log and its tiles, checkpoints and what witnesses sign of
//!    them, receipts, verification.
//! 4. [`storage`] – the tables. Guards stand in the `WHERE`; a row count is the answer. Receipts have one index, by their
//!    place; all else is found along [`storage::trail`]s, which are written a thousand receipts at a time.
//! 5. [`committer`] – batches. [`committer::Books`] is what an action sees.
//! 6. [`actions`] – the verbs. Start with [`actions::evaluate`]. Two only read: [`actions::again`] decides a recorded
//!    call again under the versions its receipt names, [`actions::preview`] puts a draft to the calls that were made.
//! 7. [`app::examine`] looks a whole log over, [`app::replay`] decides it again; [`app::backup`], [`app::restore`] and
//!    [`app::doctor`] rest on them. [`app::who`] tells from any trace of a call who allowed it.
//! 8. [`app`], [`http`], [`web`], [`notify`], [`cli`] – the service around them.
//!
//! # The path of one call
//!
//! ```text
//!  worker                              committer                                   worker
//!  ──────                              ─────────                                   ──────
//!  read body, strictly                 take all that waits as a batch
//!  verify token (cached claims)        begin; lock the tenants' heads
//!  submit ───────────────────────────▶ read standing (cached under the epoch)
//!                                      replay? derive facts, look into books, decide
//!                                      settle with approvals and queue, reserve
//!                                      link chain, append leaf
//!                                      …the other jobs of the batch…
//!                                      seal tree, sign checkpoint, write, commit
//!                                      ──────────────────────────────────────────▶ path for this leaf, answer
//! ```
//!
//! An enforcement point sends the same call for an agent, whose token it shows beside its own. Everything holds that
//! would hold for the agent, and its facts count for more than the agent's word. It also reports how effects ended.
//!
//! # A decision
//!
//! ```text
//!   open ──the last yes it takes──▶ approved ──the same call, once──▶ used
//!    │ │                               │ └──time──▶ expired
//!    │ └──decline──▶ declined          │
//!    ├──time──▶ expired                ▼
//!    └──narrowing, revocation──▶ withdrawn
//!
//!   open, about an effect ──a person says how it ended──▶ resolved
//! ```
//!
//! # An effect, and the books of limits
//!
//! ```text
//!   allow ──▶ claimed ──the agent's or an enforcement point's report──▶ done, failed
//!                └──time, or nobody can say──▶ unknown ──a person, or an enforcement point──▶ done, failed
//! ```
//!
//! What limits count stands in books ([`engine::Book`], [`storage::book`]; not to be confused with
//! [`committer::Books`]). The engine says which it wants to look into, and what an allow takes. `failed` and a withdrawn
//! answer give that back; `unknown` keeps it.
//!
//! # Invariants, mostly of what is absent
//!
//! * No decision is cached, anywhere. What is cached is what was *read*, under the tenant's authority epoch, and the
//!   epoch is read again under the head's lock in every batch.
//! * Nothing is answered before it is durable. A commit that fails is *unknown*: the connection is closed, the head
//!   verified, and what turns out to be in the log after all is withdrawn.
//! * [`domain`], [`engine`] and [`evidence`] read no clock, draw no random bytes and do no input or output.
//! * What an allow takes from the books, the use of an approval, the effect and the receipt are one transaction.
//! * What a repeated key, a yes, a report and a narrowing come to is said by [`engine::step`] alone. The service asks it on
//!   its database, `tests/model` on a model of it.
//! * Explanations and previews write nothing and decide with the gate's own functions.
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
pub mod screening;
pub mod storage;
pub mod web;
