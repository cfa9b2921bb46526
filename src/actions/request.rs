//! The described request between its edges: its keyed hash, its place in the input document, and the way back.

use super::recording::Content;
use crate::crypto::{AuthKey, hmac_sha256};
use crate::domain::{Amount, EnforcementPointId, ExternalName, FactsFrom, Hash, Malformed};
use crate::engine::{self, Action, CatalogueEntry, Described, read_attested_request};
use crate::evidence::canonical;
use crate::evidence::document::Document;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The request in one normal form, without `decision`: what two requests are compared by.
///
/// Amounts are in minor units, so that `24` and `"24.00"` are the same request.
pub(super) fn comparable(described: &Described, private: &Private) -> Document {
    let mut document = plain_members(described);
    if let Some(amount) = described.amount {
        let mut units = Document::default();
        units.plain("minor_units", amount.minor_units());
        units.plain("currency", amount.currency());
        document.document("amount", units);
    }
    if let Some(tenant) = &described.tenant {
        document.text("tenant", tenant.as_str());
    }
    if let Some(agent) = &described.agent {
        document.text("agent", agent.as_str());
    }
    if let Some(version) = described.min_mandate_version {
        document.number("min_mandate_version", version);
    }
    for (name, _, value) in &private.0 {
        document.member(name, |out| out.extend_from_slice(value));
    }
    document
}

/// The request hash: HMAC-SHA-256 of the comparable form under the tenant's lookup key.
pub(super) fn request_hash(key: &AuthKey, described: &Described, private: &Private) -> Hash {
    Hash(hmac_sha256(key, &comparable(described, private).to_vec()))
}

/// The request as the input document holds it: what can name a person as commitments, the rest plainly.
pub(super) fn document(described: &Described, private: &Private, content: &mut Content) -> Document {
    let mut document = plain_members(described);
    if let Some(amount) = described.amount {
        document.document("amount", amount_document(amount));
    }
    for (name, pointer, value) in &private.0 {
        content.put(&mut document, name, pointer, value.clone());
    }
    document
}

/// An amount as documents hold it.
fn amount_document(amount: Amount) -> Document {
    let mut document = Document::default();
    document.plain("value", amount.major_units());
    document.plain("currency", amount.currency());
    document
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
    if described.intent.is_reserved() {
        // The service itself says whom a question is from and for.
        return Ok(Action {
            registered: true,
            facts_from: FactsFrom::Derived,
            ..Action::described(described)
        });
    }
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
pub(super) fn facts(action: &Action, content: &mut Content) -> Option<Document> {
    match action.facts_from {
        FactsFrom::Described | FactsFrom::Attested => return None,
        FactsFrom::Derived => {}
    }
    let mut facts = Document::default();
    if let Some(amount) = action.amount {
        facts.document("amount", amount_document(amount));
    }
    if let Some(country) = action.country {
        facts.plain("country", country);
    }
    if let Some(resource) = &action.resource {
        content.put(&mut facts, "resource", "/input/facts/resource", canonical::to_vec(&json!(resource)));
    }
    if !action.counterparties.is_empty() {
        let names = canonical::to_vec(&json!(action.counterparties));
        content.put(&mut facts, "counterparties", "/input/facts/counterparties", names);
    }
    Some(facts)
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

fn plain_members(described: &Described) -> Document {
    let mut document = Document::with_room(1024);
    document.text("intent", described.intent.as_str());
    document.flag("untrusted", described.untrusted.unwrap_or(true));
    if let Some(country) = described.country {
        document.plain("country", country);
    }
    if !described.labels.is_empty() {
        document.value("labels", &json!(described.labels));
    }
    document
}

/// The members that can name or describe a person, in canonical form: name, place below the input document, value.
/// Made before the batch, which hashes them, and commits to them.
#[derive(Debug)]
pub struct Private(Vec<(&'static str, &'static str, Vec<u8>)>);

impl Private {
    /// Those of a request.
    pub fn of(described: &Described) -> Self {
        let object = |members: &Map<String, Value>| {
            let mut out = Vec::with_capacity(256);
            canonical::write_object(members, &mut out);
            out
        };
        let evidence = described.evidence.as_ref().map(|evidence| {
            let mut document = Document::default();
            if let Some(confidence) = &evidence.confidence {
                document.text("confidence", &confidence.to_string());
            }
            document.value("cites", &json!(evidence.cites));
            document.to_vec()
        });
        let names = described.counterparties.as_ref().map(|names| canonical::to_vec(&json!(names)));
        let resource = described.resource.as_ref().map(|name| canonical::to_vec(&json!(name)));
        let members = [
            ("counterparty", "/input/request/counterparty", names),
            ("resource", "/input/request/resource", resource),
            ("arguments", "/input/request/arguments", described.arguments.as_deref().map(object)),
            ("evidence", "/input/request/evidence", evidence),
            ("attachment", "/input/request/attachment", described.attachment.as_ref().map(object)),
            ("facts", "/input/request/facts", described.facts.as_ref().map(object)),
        ];
        let present = |(name, pointer, value): (_, _, Option<Vec<u8>>)| Some((name, pointer, value?));
        Self(members.into_iter().filter_map(present).collect())
    }
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
