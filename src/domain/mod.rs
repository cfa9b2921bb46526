//! The words of the field as types: parsed once at the edge, held as values everywhere else.
//!
//! Nothing here reads a clock, a file or a network, and nothing here imports another layer.

mod agent;
mod country;
mod decimal;
mod hash;
mod id;
mod intent;
pub mod json;
mod links;
mod malformed;
mod money;
mod name;
mod outcome;
mod scope;
mod status;
mod tenant;
mod time;

pub use agent::{AgentKind, Role, Roles};
pub use country::Country;
pub use decimal::Decimal;
pub use hash::Hash;
pub use id::{
    AgentId, CallId, Chain, CredentialId, DecisionId, EffectId, EnforcementPointId, ExportId, KeyId,
    MandateId, PrincipalId, QuestionId, ReceiptId, TenantId,
};
pub use intent::{Intent, IntentPattern};
pub use links::Links;
pub use malformed::{Fault, Malformed};
pub use money::{Amount, Currency};
pub use name::{ExternalName, Label};
pub(crate) use name::{is_hidden, objection};
pub use outcome::{FactsFrom, Outcome};
pub use scope::{Scope, Scopes};
pub use status::{DecisionKind, DecisionStatus, EffectStatus, QuestionStatus};
pub use tenant::TenantSlug;
pub use time::{Duration, Timestamp};
