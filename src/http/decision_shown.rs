//! How the wire shows a decision: where it stands, whose yes it has and takes, and the call behind it.

use super::Problem;
use crate::actions::{reply_rules, screen};
use crate::app::App;
use crate::committer::clock;
use crate::domain::TenantSlug;
use crate::engine::Approvals;
use crate::engine::step;
use crate::screening::Rules;
use crate::storage::approval::{self, Noted};
use crate::storage::decision::Decision;
use crate::storage::receipt::{self, StoredReceipt};
use crate::storage::{AnyConnection, StoreError};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A decision with what is shown beside it.
pub(super) struct Shown {
    pub(super) decision: Decision,
    /// The call behind it.
    stored: Option<StoredReceipt>,
    /// Every yes it has, if it takes more than its principal's.
    given: Vec<Noted>,
    /// What the attachment is screened under.
    rules: Arc<Rules>,
}

/// One decision as the wire shows it.
pub(super) async fn shown(app: &App, tenant: &TenantSlug, decision: Decision) -> Result<Value, Problem> {
    let slug = tenant.clone();
    let shown = app.read(move |connection| Shown::all(connection, &slug, vec![decision])).await?;
    Ok(shown.first().map_or(Value::Null, |one| one.to_json(app)))
}

impl Shown {
    /// Reads what is shown beside decisions: three queries, however many they are.
    pub(super) fn all(
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        decisions: Vec<Decision>,
    ) -> Result<Vec<Self>, StoreError> {
        let receipts = receipt::find_many(connection, tenant, decisions.iter().map(|one| one.log_index))?;
        let shared = decisions.iter().filter(|one| one.takes_others()).map(|one| one.id);
        let mut given = approval::of_decisions(connection, tenant, shared)?;
        let rules = Arc::new(reply_rules::live(connection, tenant)?.0);
        let shown = decisions.into_iter().map(|decision| Self {
            rules: rules.clone(),
            stored: receipts.get(&decision.log_index).cloned(),
            given: given.remove(&decision.id).unwrap_or_default(),
            decision,
        });
        Ok(shown.collect())
    }

    /// The decision's JSON, with the call behind it while its content exists.
    pub(super) fn to_json(&self, app: &App) -> Value {
        let found = &self.decision;
        let mut members = Map::new();
        let status = found.status_at(clock::now());
        for (name, value) in [
            ("id", json!(found.id)),
            ("kind", json!(found.kind.as_str())),
            ("status", json!(status.as_str())),
            ("intent", json!(found.intent)),
            ("principal", json!(found.principal)),
            ("agent", json!(found.agent)),
            ("credential", json!(found.credential)),
            ("input_hash", json!(found.input_hash)),
            ("opened_at", json!(found.opened_at)),
            ("expires_at", json!(found.expires_at)),
            ("decided_at", json!(found.decided_at)),
            ("decided_by", json!(found.decided_by)),
            ("approved_until", json!(found.approved_until)),
            ("reason", json!(found.reason)),
            ("effect", json!(found.effect)),
            ("url", json!(app.links.page(found.id))),
            ("asks", json!((found.asks > 1).then_some(found.asks))),
            ("approvals", json!(self.approvals())),
        ] {
            if !value.is_null() {
                members.insert(name.to_owned(), value);
            }
        }
        if let Some(stored) = &self.stored {
            members.insert("receipt".into(), json!(stored.body.id));
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
            let input = read(&stored.input);
            let content = stored.content.as_deref().map(read).unwrap_or_default();
            let mut asked = opened(&input, &content);
            if let Some(Value::Object(attachment)) = asked.pointer_mut("/request/attachment") {
                *attachment = screen::shown_attachment(attachment, &self.rules);
            }
            members.insert("asked".into(), asked);
        }
        let why = &found.why;
        if !why.sentences.is_empty() {
            members.insert("escalated_reason".into(), json!(why.reason()));
            members.insert("escalated_clauses".into(), json!(why.clauses));
        }
        if !why.obligations.is_empty() {
            members.insert("obligations".into(), json!(why.obligations));
        }
        Value::Object(members)
    }

    /// Whose yes it takes and has; nothing where its principal's alone is asked for.
    fn approvals(&self) -> Option<Value> {
        if !self.decision.takes_others() {
            return None;
        }
        let asked_for = self.decision.asked_for();
        let given = self.given.iter().map(|noted| noted.given).collect();
        let more = step::more(&asked_for, &self.decision.asked(given));
        let given: Vec<Value> = (self.given.iter())
            .map(|noted| json!({"by": noted.given.by, "roles": noted.given.roles}))
            .collect();
        let asked_for: Vec<Value> = asked_for.iter().map(Approvals::to_json).collect();
        Some(json!({"asked_for": asked_for, "given": given, "more": more}))
    }
}

/// The request behind a decision, with what its commitments open to.
pub(crate) fn opened(input: &Value, content: &Value) -> Value {
    let mut asked = Map::new();
    for part in ["request", "facts"] {
        let Some(members) = input.get(part).and_then(Value::as_object) else { continue };
        let mut shown = Map::new();
        for (name, value) in members {
            let opening = content.get(format!("/input/{part}/{name}")).and_then(|entry| entry.get("value"));
            match (value.get("commitment"), opening) {
                (Some(_), Some(opening)) => shown.insert(name.clone(), opening.clone()),
                (Some(_), None) => shown.insert(name.clone(), json!({"erased": true})),
                (None, _) => shown.insert(name.clone(), value.clone()),
            };
        }
        asked.insert(part.to_owned(), Value::Object(shown));
    }
    Value::Object(asked)
}
