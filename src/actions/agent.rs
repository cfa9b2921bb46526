//! Registers an agent, and retires one with every credential it has.

use super::Error;
use super::caller::Person;
use super::credential::revoke_line;
use super::withdraw;
use crate::committer::{Books, Draft};
use crate::domain::{AgentId, AgentKind, Chain, Label};
use crate::evidence::receipt::Kind;
use crate::storage::agent::{self, Agent};
use crate::storage::credential;
use crate::storage::receipt::StoredReceipt;
use serde_json::json;
use std::sync::Arc;

/// Registers an agent that acts for the person.
pub fn create(
    books: &mut Books<'_>,
    person: &Person,
    name: Label,
    kind: AgentKind,
) -> Result<(Agent, Arc<StoredReceipt>), Error> {
    person.require_session(books)?;
    let agent = Agent {
        tenant: books.slug().clone(),
        id: books.new_id(AgentId::new),
        principal: person.id,
        name,
        kind,
        created_at: books.now(),
        retired_at: None,
    };
    agent::insert(books.connection(), &agent)?;
    let input = json!({
        "kind": Kind::AgentCreate.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "name": agent.name,
        "agent_kind": agent.kind,
    });
    let mut draft =
        Draft::act(Kind::AgentCreate, Chain::Principal(person.id), input, json!({"id": agent.id}))
            .by(person.id);
    draft.agent = Some(agent.id);
    let stored = books.record(draft)?;
    Ok((agent, stored))
}

/// Retires one of the person's agents; its credentials end with it.
pub fn retire(books: &mut Books<'_>, person: &Person, id: AgentId) -> Result<Arc<StoredReceipt>, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    agent::find(connection, slug, id)?
        .filter(|agent| agent.principal == person.id)
        .ok_or(Error::NotFound("agent"))?;
    if !agent::retire(connection, slug, id, now)? {
        return Err(Error::Conflict(format!("agent `{id}` is retired already")));
    }
    let mut revoked = Vec::new();
    for credential in credential::of_agent(connection, slug, id)? {
        revoked.extend(revoke_line(books, &credential, &person.id.to_string())?);
    }
    books.authority_changed();
    let input = json!({
        "kind": Kind::AgentRetire.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "agent": id,
    });
    let output = json!({"revoked": revoked});
    let mut draft = Draft::act(Kind::AgentRetire, Chain::Principal(person.id), input, output).by(person.id);
    draft.agent = Some(id);
    let stored = books.record(draft)?;
    withdraw::after_revocation(books, person.id, &revoked)?;
    Ok(stored)
}
