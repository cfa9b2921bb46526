//! The mandates and actions that most tests begin with.

use serde_json::{Value, json};

/// Refunds up to 100 EUR, accounts never, everything else to the person.
pub(crate) fn small_refunds() -> Value {
    refunds_up_to("100.00")
}

/// As [`small_refunds`] with another ceiling.
pub(crate) fn refunds_up_to(ceiling: &str) -> Value {
    json!({
        "scopes": ["action:request", "mandate:read", "decision:read", "call:read"],
        "unlisted": "escalate",
        "clauses": [
            {"id": "M-001", "title": "small refunds", "intent": "payments.refund", "effect": "allow",
             "when": {"amount": {"at_most": {"value": ceiling, "currency": "EUR"}}}},
            {"id": "M-002", "title": "never touch accounts", "intent": "account.*", "effect": "refuse"},
        ],
    })
}

/// As [`small_refunds`] without the refunds: they go to the person.
pub(crate) fn no_refunds() -> Value {
    let mut document = small_refunds();
    document["clauses"].as_array_mut().unwrap().remove(0);
    document
}

/// A refund of so many euros.
pub(crate) fn refund(euros: &str) -> Value {
    json!({"intent": "payments.refund", "amount": {"value": euros, "currency": "EUR"}, "resource": "order:1"})
}

/// An action with one more member, or another value for one.
pub(crate) fn with(action: &Value, member: &str, value: impl Into<Value>) -> Value {
    let mut changed = action.clone();
    changed[member] = value.into();
    changed
}

/// What an agent that acts usually carries.
pub(crate) const ACTING_SCOPES: [&str; 4] = ["action:request", "mandate:read", "decision:read", "call:read"];
