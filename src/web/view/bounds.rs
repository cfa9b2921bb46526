//! How often a clause may be used, and whose yes it asks for, in words.

use crate::domain::Role;
use crate::engine::{Approvals, Bound, Each, Limit, Period};

/// A limit as a half-sentence, such as `at most 500.00 EUR per day for each counterparty`.
pub(super) fn limit(limit: &Limit) -> String {
    let each = limit.each.map(Each::as_str);
    let mut text = match (limit.bound, each) {
        (Bound::Total { most, per }, _) => format!("at most {most} {}", rate(per)),
        (Bound::Count { most, per }, _) => format!("at most {most} times {}", rate(per)),
        (Bound::Once, each) => return format!("once for each {}", each.unwrap_or("call")),
    };
    if let Some(each) = each {
        text.push_str(" for each ");
        text.push_str(each);
    }
    if let Some(pool) = &limit.pool {
        text.push_str(", together with whatever else counts in ");
        text.push_str(pool.as_str());
    }
    text
}

fn rate(per: Period) -> String {
    match per {
        Period::Hour | Period::Day | Period::Week | Period::Month => format!("per {per}"),
        Period::Hours(_) | Period::Days(_) => format!("within {per}"),
    }
}

/// Whose yes an escalation asks for, such as `2 people with the role compliance`.
pub(super) fn people(approvals: &Approvals) -> String {
    let roles = approvals.roles.iter().copied().map(Role::as_str).collect::<Vec<_>>().join(" or ");
    match (approvals.count, roles.is_empty()) {
        (_, true) => "the principal".to_owned(),
        (1, false) => format!("somebody with the role {roles}"),
        (count, false) => format!("{count} people with the role {roles}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MandateDocument;
    use serde_json::json;

    #[test]
    fn limits_and_people_are_read_as_a_person_would_say_them() {
        let document = MandateDocument::read(&json!({"scopes": [], "clauses": [{
            "id": "M-1", "intent": "a.b", "effect": "allow",
            "limits": [
                {"total": {"value": "500.00", "currency": "EUR"}, "per": "day"},
                {"total": {"value": "2300.00", "currency": "EUR"}, "per": "30 days", "pool": "payments"},
                {"count": 20, "per": "hour", "each": "counterparty"},
                {"once_per": "resource"},
            ],
            "approvals": {"count": 2, "roles": ["compliance", "operator"]},
        }]}))
        .unwrap();
        let clause = &document.clauses[0];
        assert_eq!(
            clause.limits.iter().map(limit).collect::<Vec<_>>(),
            [
                "at most 500.00 EUR per day",
                "at most 2300.00 EUR within 30 days, together with whatever else counts in payments",
                "at most 20 times per hour for each counterparty",
                "once for each resource",
            ]
        );
        assert_eq!(
            people(clause.approvals.as_ref().unwrap()),
            "2 people with the role compliance or operator"
        );
    }
}
