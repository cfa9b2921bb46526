//! What each page shows, prepared for display: one struct a template, plain fields, no decisions.
//!
//! A `String` field is escaped by the template and holds only what the service or the signed-in person wrote;
//! whatever an agent or a third party wrote is [`Shown`](crate::web::display::Shown).

mod agents;
mod bounds;
mod calls;
mod clause;
mod condition;
mod coverage;
mod decision;
mod draft;
mod explorer;
mod exports;
mod frame;
mod mandate;
mod people;
mod problem;
mod queue;
mod reply_rules;
mod scope;
mod sign_in;
#[cfg(test)]
mod tests;
mod who;

pub use agents::{AgentRow, AgentsPage, CredentialRow, IssuedPage, LIFETIMES, Lifetime, Standing};
pub use calls::{CallRow, CallsPage, Choice, Filter};
pub use clause::{ClauseSentence, Verb, sentence};
pub use coverage::{
    Answer as CoverageAnswer, CoveragePage, List as CoverageList, Row as CoverageRow, Typed as TypedCoverage,
};
pub use decision::{
    Asked, Attachment, ClauseLine, Counterparty, DecisionPage, Event, Evidence, Stage, Status, VALIDITIES,
};
pub use draft::{Answer, ChangedRow, DraftCheck, Sum};
pub use explorer::ExplorerPage;
pub use exports::{ExportRow, ExportsPage, Stage as ExportStage, Typed as TypedExport};
pub use frame::{Frame, Section, Tone, Visitor};
pub use mandate::{Editor, FaultLine, KnownLine, MandatePage, MandateVersionPage, VersionRow};
pub use people::{Mine, Needed, People, YesLine};
pub use problem::ProblemPage;
pub use queue::{EndedRow, OpenRow, QueuePage};
pub use reply_rules::{ClassChoice, ReplyRulesPage, Tried, TriedRow};
pub use scope::{ScopeChoice, choices};
pub use sign_in::SignInPage;
pub use who::{LinkRow, WhoMatch, WhoPage};
