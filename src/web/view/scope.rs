//! Scopes as boxes to tick.

use crate::domain::{Scope, Scopes};

/// One scope that an agent may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeChoice {
    /// Its name on the wire, which the box sends.
    pub name: &'static str,
    /// What it lets an agent do.
    pub says: &'static str,
    /// Whether the box is ticked.
    pub is_chosen: bool,
}

/// A box for each scope but `mandate:write`, which belongs to people alone.
pub fn choices(chosen: Scopes) -> Vec<ScopeChoice> {
    Scope::ALL
        .into_iter()
        .filter_map(|scope| {
            let says = match scope {
                Scope::ActionRequest => "put actions to the gate",
                Scope::QuestionAsk => "ask other members' agents",
                Scope::QuestionAnswer => "answer other members' agents",
                Scope::MandateRead => "read your mandate",
                Scope::MandateWrite => return None,
                Scope::DecisionRead => "read how its own decisions stand",
                Scope::CallRead => "read its own calls",
            };
            Some(ScopeChoice { name: scope.as_str(), says, is_chosen: chosen.contains(scope) })
        })
        .collect()
}
