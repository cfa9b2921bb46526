//! A clause of a mandate as a sentence.

use super::bounds;
use super::condition::half_sentence;
use crate::domain::Label;
use crate::engine::{Clause, Effect, Otherwise};
use crate::web::display::{self, Shown};

/// A clause ready to be read.
#[derive(Debug, Clone)]
pub struct ClauseSentence {
    /// Its id.
    pub id: String,
    /// What it is for, in its author's words.
    pub title: Option<Shown>,
    /// What it does.
    pub verb: Verb,
    /// Which intents it names.
    pub intent: String,
    /// When: each condition as a half-sentence, all of which must hold.
    pub conditions: Vec<Shown>,
    /// How much and how often an allowance may be used, each a half-sentence.
    pub limits: Vec<String>,
    /// What becomes of it when a condition or limit fails, for an allowance that has some.
    pub otherwise: Option<&'static str>,
    /// Whose yes it takes when it asks, where that is not the principal's own.
    pub people: Option<String>,
}

/// What a clause does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Allows.
    Allow,
    /// Asks the person.
    Ask,
    /// Refuses.
    Refuse,
}

impl Verb {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Allow => "Allow",
            Self::Ask => "Ask me about",
            Self::Refuse => "Refuse",
        }
    }

    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Allow => "good",
            Self::Ask => "waiting",
            Self::Refuse => "bad",
        }
    }
}

/// Puts a clause into words.
pub fn sentence(clause: &Clause) -> ClauseSentence {
    let (verb, otherwise) = match clause.effect {
        Effect::Allow { otherwise: Otherwise::Escalate } => (Verb::Allow, Some("otherwise ask me")),
        Effect::Allow { otherwise: Otherwise::Refuse } => (Verb::Allow, Some("otherwise refuse")),
        Effect::Escalate => (Verb::Ask, None),
        Effect::Refuse => (Verb::Refuse, None),
    };
    ClauseSentence {
        id: clause.id.to_string(),
        title: clause.title.as_ref().map(Label::as_str).map(display::line),
        verb,
        intent: clause.intent.to_string(),
        conditions: (clause.when.iter())
            .map(|condition| display::line(&half_sentence(condition, clause.is_allowance())))
            .collect(),
        limits: clause.limits.iter().map(bounds::limit).collect(),
        otherwise: otherwise.filter(|_| !clause.is_unconditional()),
        people: clause.approvals.as_ref().map(bounds::people),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MandateDocument;
    use serde_json::json;

    fn only(clause: &serde_json::Value) -> ClauseSentence {
        let document = json!({"scopes": [], "clauses": [clause]});
        sentence(&MandateDocument::read(&document).unwrap().clauses[0])
    }

    #[test]
    fn a_clause_reads_as_a_sentence() {
        let clause = only(&json!({
            "id": "M-001", "title": "Small refunds", "intent": "payments.refund", "effect": "allow",
            "when": {
                "amount": {"at_most": {"value": "100.00", "currency": "EUR"}},
                "counterparty": {"known": true},
                "country": {"in": ["DE", "NL", "FR"]},
                "untrusted": false
            }
        }));
        assert_eq!((clause.verb, clause.intent.as_str()), (Verb::Allow, "payments.refund"));
        assert_eq!(clause.otherwise, Some("otherwise ask me"));
        let said: Vec<String> = clause.conditions.iter().map(ToString::to_string).collect();
        for half in [
            "the amount is at most 100.00 EUR",
            "I know the counterparty",
            "the country is DE, FR or NL",
            "no text that others wrote shaped the call",
        ] {
            assert!(said.iter().any(|html| html.contains(half)), "{half} in {said:?}");
        }
    }

    #[test]
    fn a_refusal_has_no_otherwise() {
        let clause = only(&json!({"id": "M-002", "intent": "account.*", "effect": "refuse"}));
        assert_eq!((clause.verb, clause.otherwise), (Verb::Refuse, None));
        assert!(clause.conditions.is_empty());
    }
}
