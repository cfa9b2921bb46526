//! What never changes in one course of the world: documents, people, and what calls may say.

use procura::domain::{AgentId, AgentKind, CredentialId, PrincipalId, Role, Roles, Scope, Scopes, Timestamp};
use procura::engine::step::Given;
use procura::engine::{
    Action, Catalogue, CatalogueEntry, CredentialClauses, MandateDocument, OutcomeFrom, PolicyDocument,
    derive, read_request,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the people of one course write, as they write it.
pub(crate) struct Terms {
    /// The versions of the mandate that may be put live; the first one is live from the start.
    pub(crate) mandates: Vec<Value>,
    /// The tenant's policy.
    pub(crate) policy: Value,
    /// The credential's own clauses.
    pub(crate) credential: Value,
    /// The intents the tenant knows.
    pub(crate) catalogue: Vec<(&'static str, Value)>,
    /// What calls may say.
    pub(crate) bodies: Vec<Value>,
}

/// The same, read.
pub(crate) struct Setting {
    pub(crate) mandates: Vec<MandateDocument>,
    pub(crate) policy: PolicyDocument,
    pub(crate) credential: CredentialClauses,
    pub(crate) bodies: Vec<Body>,
    pub(crate) scopes: Scopes,
    pub(crate) agent: AgentId,
    pub(crate) agent_kind: AgentKind,
    pub(crate) credential_id: CredentialId,
    /// The principal, then the others who may see the queue.
    pub(crate) people: Vec<Given>,
}

/// One thing that calls may ask for.
pub(crate) struct Body {
    pub(crate) action: Action,
    /// Whether the tenant knows the intent and it has an effect; and whose word on its ending counts.
    pub(crate) effect: Option<OutcomeFrom>,
}

impl Setting {
    /// Reads what people wrote. There are two of them: the principal, and one who holds `compliance`.
    pub(crate) fn read(terms: &Terms) -> Self {
        let entries = terms
            .catalogue
            .iter()
            .map(|(intent, entry)| (intent.parse().unwrap(), Arc::new(CatalogueEntry::read(entry).unwrap())));
        let catalogue = Catalogue { entries: entries.collect() };
        let start = Timestamp::from_unix_milliseconds(0);
        let person = |tail, role| Given {
            by: PrincipalId::new(start, [tail; 10]),
            roles: [role].into_iter().collect::<Roles>(),
        };
        Self {
            mandates: terms.mandates.iter().map(|text| MandateDocument::read(text).unwrap()).collect(),
            policy: PolicyDocument::read(&terms.policy).unwrap(),
            credential: CredentialClauses::read(&terms.credential).unwrap(),
            bodies: terms.bodies.iter().map(|body| Body::read(&catalogue, body)).collect(),
            scopes: Scopes::NONE.with(Scope::ActionRequest),
            agent: AgentId::new(start, [1; 10]),
            agent_kind: AgentKind::Acting,
            credential_id: CredentialId::new(start, [1; 10]),
            people: vec![person(1, Role::Member), person(2, Role::Compliance)],
        }
    }
}

impl Body {
    fn read(catalogue: &Catalogue, body: &Value) -> Self {
        let described = read_request(body).unwrap();
        let entry = catalogue.get(&described.intent);
        let action = match entry {
            Some(entry) => derive(entry, &described).unwrap(),
            None => Action::described(&described),
        };
        Self { action, effect: entry.filter(|entry| entry.effect).map(|entry| entry.outcome) }
    }
}

/// A refund of so many euros for an order, whose facts stand in its arguments.
pub(crate) fn refund(euros: &str, order: &str) -> Value {
    json!({"intent": "payments.refund", "arguments": {"amount": euros, "order": order}})
}

/// What a tenant knows of refunds; `outcome` is whose word on the ending counts.
pub(crate) fn refunds(outcome: &str) -> Value {
    json!({
        "title": "refund",
        "effect": true,
        "outcome": outcome,
        "amount": "/amount",
        "currency": {"const": "EUR"},
        "resource": "/order",
        "arguments": {
            "type": "object",
            "properties": {"amount": {"type": "string"}, "order": {"type": "string"}},
        },
    })
}
