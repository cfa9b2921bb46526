//! The described request between its edges: its keyed hash, its place in the input document, and the way back.

use super::recording::Content;
use crate::crypto::{AuthKey, hmac_sha256};
use crate::domain::{EnforcementPointId, ExternalName, FactsFrom, Hash, Malformed};
use crate::engine::{self, Action, CatalogueEntry, Described, read_attested_request};
use crate::evidence::canonical;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The request as JSON in one normal form, without `decision`: what two requests are compared by.
///
/// Amounts are in minor units, so that `24` and `"24.00"` are the same request.
pub(super) fn comparable(described: &Described) -> Value {
    let mut members = plain_members(described);
    if let Some(amount) = described.amount {
        members.insert(
            "amount".into(),
            json!({"minor_units": amount.minor_units().to_string(), "currency": amount.currency().code()}),
        );
    }
    let named = [
        ("tenant", described.tenant.as_ref().map(|tenant| json!(tenant))),
        ("agent", described.agent.as_ref().map(|agent| json!(agent))),
        ("min_mandate_version", described.min_mandate_version.map(|version| json!(version))),
    ];
    let named = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
    for (name, value) in named.chain(private_members(described)) {
        members.insert(name.into(), value);
    }
    Value::Object(members)
}

/// The request hash: HMAC-SHA-256 of the comparable form under the tenant's lookup key.
pub(super) fn request_hash(key: &AuthKey, described: &Described) -> Hash {
    Hash(hmac_sha256(key, &canonical::to_vec(&comparable(described))))
}

/// The request as the input document holds it: what can name a person as commitments, the rest plainly.
pub(super) fn document(described: &Described, content: &mut Content) -> Value {
    let mut members = plain_members(described);
    if let Some(amount) = described.amount {
        members.insert("amount".into(), amount.to_json());
    }
    for (name, value) in private_members(described) {
        members.insert(name.into(), content.commit(&format!("/input/request/{name}"), value));
    }
    Value::Object(members)
}

/// The facts to decide on: derived from the arguments where the catalogue has an entry for the intent; otherwise as they
/// are described, where an enforcement point's word counts for more than an agent's.
///
/// # Errors
/// Those of [`engine::derive`].
pub(super) fn action(
    entry: Option<&CatalogueEntry>,
    described: &Described,
    point: Option<EnforcementPointId>,
) -> Result<Action, Malformed> {
    if let Some(entry) = entry {
        return engine::derive(entry, described);
    }
    let facts_from = if point.is_some() { FactsFrom::Attested } else { FactsFrom::Described };
    Ok(Action { facts_from, ..Action::described(described) })
}

/// What a call asks for, derived before its batch: checking arguments against a large schema keeps nobody else waiting.
#[derive(Debug)]
pub struct Derived {
    /// What it was derived by.
    pub entry: Arc<CatalogueEntry>,
    /// What came of it.
    pub action: Result<Action, Malformed>,
}

impl Derived {
    /// Derives what a request asks for.
    pub fn by(entry: Arc<CatalogueEntry>, described: &Described, point: Option<EnforcementPointId>) -> Self {
        let action = action(Some(&entry), described, point);
        Self { entry, action }
    }
}

/// The facts to decide on, as [`action`] gives them; what was derived before counts if it was by the very entry that is
/// live now.
///
/// # Errors
/// Those of [`action`].
pub(super) fn live_action(
    entry: Option<&Arc<CatalogueEntry>>,
    described: &Described,
    point: Option<EnforcementPointId>,
    derived: Option<&Derived>,
) -> Result<Action, Malformed> {
    match (entry, derived) {
        (Some(live), Some(before)) if Arc::ptr_eq(live, &before.entry) => before.action.clone(),
        (entry, _) => action(entry.map(Arc::as_ref), described, point),
    }
}

/// The enforcement point that asked, from the input document of a receipt.
pub(super) fn enforcement_point(input: &Value) -> Option<EnforcementPointId> {
    input.get("enforcement_point")?.as_str()?.parse().ok()
}

/// The facts that the gate derived itself, where they are not the described ones.
pub(super) fn facts(action: &Action, content: &mut Content) -> Option<Value> {
    match action.facts_from {
        FactsFrom::Described | FactsFrom::Attested => return None,
        FactsFrom::Derived => {}
    }
    let mut members = Map::new();
    if let Some(amount) = action.amount {
        members.insert("amount".into(), amount.to_json());
    }
    if let Some(country) = action.country {
        members.insert("country".into(), json!(country));
    }
    if let Some(resource) = &action.resource {
        members.insert("resource".into(), content.commit("/input/facts/resource", json!(resource)));
    }
    if !action.counterparties.is_empty() {
        let names = content.commit("/input/facts/counterparties", json!(action.counterparties));
        members.insert("counterparties".into(), names);
    }
    Some(Value::Object(members))
}

/// The request again, from the documents of its receipt; `None` once its content is erased.
pub fn described_again(input: &Value, content: Option<&Value>) -> Option<Described> {
    let mut request = input.get("request")?.as_object()?.clone();
    for (name, value) in &mut request {
        if value.get("commitment").is_some() {
            let opened = content?.get(format!("/input/request/{name}"))?.get("value")?;
            *value = opened.clone();
        }
    }
    read_attested_request(&Value::Object(request)).ok()
}

/// Whom a recorded call concerned, in the order that its receipt counts them in: as the gate derived them, or else as
/// they were described.
pub(super) fn counterparties(described: &Described, content: Option<&Value>) -> Vec<ExternalName> {
    let derived = content.and_then(|content| content.get("/input/facts/counterparties")?.get("value"));
    match derived.and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).filter_map(|name| name.parse().ok()).collect(),
        None => described.counterparties.clone().unwrap_or_default(),
    }
}

fn plain_members(described: &Described) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("intent".into(), json!(described.intent));
    members.insert("untrusted".into(), json!(described.untrusted.unwrap_or(true)));
    if let Some(country) = described.country {
        members.insert("country".into(), json!(country));
    }
    if !described.labels.is_empty() {
        members.insert("labels".into(), json!(described.labels));
    }
    members
}

/// The members that can name or describe a person.
fn private_members(described: &Described) -> impl Iterator<Item = (&'static str, Value)> {
    let evidence = described.evidence.as_ref().map(|evidence| {
        let mut members = Map::new();
        if let Some(confidence) = &evidence.confidence {
            members.insert("confidence".into(), json!(confidence.to_string()));
        }
        members.insert("cites".into(), json!(evidence.cites));
        Value::Object(members)
    });
    [
        ("counterparty", described.counterparties.as_ref().map(|names| json!(names))),
        ("resource", described.resource.as_ref().map(|name| json!(name))),
        ("arguments", described.arguments.as_deref().cloned().map(Value::Object)),
        ("evidence", evidence),
        ("attachment", described.attachment.clone().map(Value::Object)),
        ("facts", described.facts.clone().map(Value::Object)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::read_request;

    fn entry(title: &str) -> Arc<CatalogueEntry> {
        let entry = json!({"title": title, "effect": false, "resource": "/order", "arguments": {
            "type": "object", "properties": {"order": {"type": "string"}},
        }});
        Arc::new(CatalogueEntry::read(&entry).unwrap())
    }

    #[test]
    fn what_was_derived_before_the_batch_counts_by_the_live_entry_alone() {
        let live = entry("live");
        let described = read_request(&json!({"intent": "pay", "arguments": {"order": "order:1"}})).unwrap();
        let other = read_request(&json!({"intent": "pay", "arguments": {"order": "order:2"}})).unwrap();
        let resource = |derived: Option<&Derived>| {
            let action = live_action(Some(&live), &described, None, derived).unwrap();
            action.resource.unwrap().as_str().to_owned()
        };
        // Another request stands in for work that was not done again.
        assert_eq!(resource(Some(&Derived::by(live.clone(), &other, None))), "order:2");
        assert_eq!(resource(Some(&Derived::by(entry("as it was"), &other, None))), "order:1");
        assert_eq!(resource(None), "order:1");
        let wrong = read_request(&json!({"intent": "pay", "arguments": {"order": 1}})).unwrap();
        let derived = Derived::by(live.clone(), &wrong, None);
        assert!(live_action(Some(&live), &described, None, Some(&derived)).is_err());
    }
}
