//! What a receipt's documents say of a call, beside the versions: read back as the gate wrote them.

use super::Undecidable;
use crate::actions::request::{counterparties, described_again, enforcement_point};
use crate::domain::{
    AgentKind, DecisionId, DecisionStatus, EnforcementPointId, ExternalName, PrincipalId, QuestionId, Role,
    Scopes, Timestamp,
};
use crate::engine::step::{Asked, Given, Load, Reachable, Same};
use crate::engine::{Described, Grounds};
use crate::storage::receipt::StoredReceipt;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A recorded call.
#[derive(Debug)]
pub(in crate::actions) struct Recorded {
    pub(in crate::actions) described: Described,
    /// The enforcement point that asked for the agent, if one did.
    pub(in crate::actions) enforcement_point: Option<EnforcementPointId>,
    pub(in crate::actions) agent_kind: AgentKind,
    pub(in crate::actions) scopes: Scopes,
    /// What each look into the books showed, in the engine's order.
    pub(in crate::actions) used: Vec<u64>,
    /// Which of its counterparties the principal had approved before.
    pub(in crate::actions) known: BTreeSet<ExternalName>,
    /// The decision the call named.
    pub(in crate::actions) decision: Option<DecisionId>,
    /// How that stood.
    pub(in crate::actions) asked: Option<Asked>,
    /// The same ask that waited, where it was looked for and found.
    pub(in crate::actions) same: Option<Same<()>>,
    /// How much the agent asked already; nothing where nobody looked.
    pub(in crate::actions) load: Load,
    /// Whether what it asked of counted as untrusted, whatever it said.
    pub(in crate::actions) tainted: bool,
    /// Whether a question reached whom it was for.
    pub(in crate::actions) reach: Option<Reachable>,
    pub(in crate::actions) output: Value,
}

/// The members of the input document that decide.
#[derive(Deserialize)]
struct Input {
    agent_kind: AgentKind,
    scopes: Scopes,
    #[serde(default)]
    used: Vec<Value>,
    #[serde(default)]
    known: Vec<usize>,
    decision: Option<DecisionId>,
    principal: PrincipalId,
    asked: Option<InputAsked>,
    queue: Option<InputQueue>,
    tainted_by: Option<QuestionId>,
    reach: Option<String>,
}

#[derive(Deserialize)]
struct InputAsked {
    status: String,
    same_request: bool,
    expires_at: Timestamp,
    approved_until: Option<Timestamp>,
    given: Vec<InputGiven>,
    shown: Value,
}

#[derive(Deserialize)]
struct InputGiven {
    by: PrincipalId,
    roles: Vec<String>,
}

#[derive(Deserialize, Default)]
struct InputQueue {
    same: Option<InputSame>,
    #[serde(default)]
    open: u64,
    #[serde(default)]
    recent: u64,
}

#[derive(Deserialize)]
struct InputSame {
    approved: bool,
    shown: Value,
}

impl Recorded {
    pub(in crate::actions) fn read(stored: &StoredReceipt) -> Result<Self, Undecidable> {
        let input: Value = document("input", &stored.input)?;
        let content: Option<Value> =
            stored.content.as_deref().map(|content| document("content", content)).transpose()?;
        let described = described_again(&input, content.as_ref()).ok_or(Undecidable::Erased)?;
        let enforcement_point = enforcement_point(&input);
        let counterparties = counterparties(&described, content.as_ref());
        let input = Input::deserialize(&input).map_err(|error| unreadable("input", &error))?;
        let principal = input.principal;
        let asked = input.asked.map(|asked| asked.read(principal)).transpose()?;
        let queue = input.queue.unwrap_or_default();
        let same = queue
            .same
            .map(|same| Ok(Same { known_by: (), is_approved: same.approved, shown: grounds(&same.shown)? }));
        let known = input.known.iter().filter_map(|place| counterparties.get(*place).cloned());
        let reach = match input.reach.as_deref() {
            None => None,
            Some(word) => Some(Reachable::of(word).ok_or_else(|| unreadable("input", &"`reach`"))?),
        };
        Ok(Self {
            tainted: input.tainted_by.is_some(),
            reach,
            described,
            enforcement_point,
            agent_kind: input.agent_kind,
            scopes: input.scopes,
            // What is too large for JSON's numbers is a book beyond all counting.
            used: input.used.iter().map(|used| used.as_u64().unwrap_or(u64::MAX)).collect(),
            known: known.collect(),
            decision: input.decision,
            asked,
            same: same.transpose()?,
            load: Load { open: queue.open, recent: queue.recent },
            output: document("output", &stored.output)?,
        })
    }
}

impl InputAsked {
    fn read(self, principal: PrincipalId) -> Result<Asked, Undecidable> {
        let status: DecisionStatus =
            self.status.parse().map_err(|error: String| unreadable("input", &error))?;
        let roles =
            |names: &[String]| names.iter().map(|name| name.parse::<Role>()).collect::<Result<_, String>>();
        let given = self
            .given
            .into_iter()
            .map(|given| Ok(Given { by: given.by, roles: roles(&given.roles)? }))
            .collect::<Result<_, String>>()
            .map_err(|error| unreadable("input", &error))?;
        Ok(Asked {
            status,
            same_request: self.same_request,
            expires_at: self.expires_at,
            approved_until: self.approved_until,
            principal,
            given,
            shown: grounds(&self.shown)?,
        })
    }
}

fn grounds(shown: &Value) -> Result<Grounds, Undecidable> {
    Grounds::from_json(shown).ok_or_else(|| unreadable("input", &"`shown` is not a list of texts"))
}

fn document(name: &str, text: &str) -> Result<Value, Undecidable> {
    serde_json::from_str(text).map_err(|error| unreadable(name, &error))
}

fn unreadable(name: &str, error: &impl std::fmt::Display) -> Undecidable {
    Undecidable::Incomplete(format!("its {name} document cannot be read: {error}"))
}
