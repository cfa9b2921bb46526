//! The engine: what a standing says to one action at one instant, and why.
//!
//! Pure: no clock, no randomness, no input or output. Read it in this order: [`MandateDocument`] and its
//! neighbours are what people write; [`read_text`] and the `read` functions get there from text; an
//! [`Action`] is what is decided on; [`decide()`] decides; a [`Finding`] says why.
//!
//! ```text
//! text ── read_text ──▶ value ── read ──▶ MandateDocument, PolicyDocument, CredentialClauses ─┐
//!                                                                                             ├─ decide ─▶ Verdict
//! request ── read_request ──▶ Described ── derive, or Action::described ──▶ Action ───────────┘
//! ```
//!
//! Three things hold throughout. What the language defines and this version does not evaluate is refused
//! when it is written. Where nothing says yes, the answer is not yes. And the order of clauses never
//! matters.

mod action;
mod admission;
mod argument;
mod book;
mod catalogue;
mod check;
mod compare;
mod condition;
mod decide;
mod document;
mod explain;
mod hours;
mod implies;
mod keywords;
mod labels;
mod ledger;
mod limit;
mod links;
mod node;
mod pointer;
mod protected;
mod published;
mod reach;
mod read;
mod read_clause;
mod read_condition;
mod read_limit;
mod reason;
mod request;
mod schema;
pub mod step;
mod terms;
#[cfg(test)]
mod tests;
mod text;
mod unmet;
mod weight;
mod why;
mod within;
mod write;
mod write_condition;

pub use action::{Action, derive};
pub use admission::{Admission, Beside, admit_mandate, admit_policy};
pub use argument::{ArgumentTest, Pattern, Scalar};
pub use book::{Book, BookName, BookOwner, BookUse, Counted, MOST_BOOKS, Reservation, Used};
pub use catalogue::{Catalogue, CatalogueEntry, OutcomeFrom, Place, Places};
pub use check::Warning;
pub use compare::{Change, clauses_within, compare, compare_clauses, compare_policies};
pub use condition::KnownCounterparties;
pub use decide::{
    CredentialTerms, Standing, Verdict, decide, decide_reading, effective_scopes, looks, permit_with_approval,
};
pub use document::{
    AmountTest, Applies, Approvals, Clause, ClauseId, Condition, CounterpartyTest, CountryTest,
    CredentialClauses, Domain, Effect, EvidenceTest, KnownCounterparty, LabelTest, MOST_APPROVALS,
    MandateDocument, Obligation, Otherwise, Owner, PolicyDocument, ResourceTest, RuleSet, Unlisted,
    Unregistered, Validity,
};
pub use explain::{Explanation, Shown, explain};
pub use hours::{DaysOfWeek, Hours, Minute};
pub use labels::{Labels, check_labels};
pub use ledger::Ledger;
pub use limit::{Bound, Each, Limit, Period};
pub use pointer::Pointer;
pub use protected::Literal;
pub use reach::{HostDomain, HostDomains};
pub use read::{MOST_CLAUSES, MOST_ENTRIES, MOST_RULE_SETS};
pub use reason::{ClauseRef, Finding, Reason, ServiceClause, Share, Source};
pub use request::{
    Confidence, Described, Evidence, MOST_COUNTERPARTIES, read_attested_request, read_request,
};
pub use text::{Notation, read_text};
pub use unmet::{Part, Unmet};
pub use weight::{MOST_LIMITS_TOGETHER, MOST_LITERALS, MOST_TEXT_CONDITIONS};
pub use why::{Ground, Grounds, Why};
pub use within::check_domains;

/// The version of these rules that receipts name. It changes whenever some action could be answered
/// otherwise than before, so that a recorded answer is decided again under the rules it was given under.
pub const ENGINE_VERSION: &str = "4";
