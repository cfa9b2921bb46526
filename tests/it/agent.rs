//! Agents as the tests use them: made by a person, calling with the token of one credential.

use crate::client::Client;
use crate::documents::ACTING_SCOPES;
use serde_json::{Value, json};
use std::ops::Deref;

/// An agent with one credential; calls go out with its token.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    client: Client,
    /// The agent's id.
    pub(crate) id: String,
    /// The credential's id.
    pub(crate) credential: String,
    /// The credential's secret.
    pub(crate) secret: String,
}

impl Agent {
    /// An acting agent with the usual scopes.
    #[track_caller]
    pub(crate) fn new(person: &Client, name: &str) -> Self {
        Self::of_kind(person, name, "acting", &ACTING_SCOPES)
    }

    /// An agent of a kind, with scopes.
    #[track_caller]
    pub(crate) fn of_kind(person: &Client, name: &str, kind: &str, scopes: &[&str]) -> Self {
        let id = person.post("/v1/agents", &json!({"name": name, "kind": kind})).expect(201)["id"].clone();
        Self::with_credential(person, id.as_str().unwrap(), &json!({"label": "first", "scopes": scopes}))
    }

    /// A further credential of an agent.
    #[track_caller]
    pub(crate) fn with_credential(person: &Client, id: &str, credential: &Value) -> Self {
        let made = person.post(&format!("/v1/agents/{id}/credentials"), credential).expect(201);
        Self::from_answer(person, id, &made)
    }

    /// A credential that this one derives.
    #[track_caller]
    pub(crate) fn derive(&self, credential: &Value) -> Self {
        let made = self.post("/v1/credentials/derive", credential).expect(201);
        Self::from_answer(&self.client, &self.id, &made)
    }

    fn from_answer(client: &Client, id: &str, made: &Value) -> Self {
        let text = |member: &str| {
            made[member].as_str().unwrap_or_else(|| panic!("no `{member}`: {made}")).to_owned()
        };
        Self {
            client: client.with_token(&text("token")),
            id: id.to_owned(),
            credential: text("id"),
            secret: text("client_secret"),
        }
    }

    /// The caller that its calls go out with.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// The same agent at another node.
    pub(crate) fn at(&self, base: &str) -> Self {
        Self { client: self.client.at(base), ..self.clone() }
    }
}

impl Deref for Agent {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}
