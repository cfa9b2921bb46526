//! What the receipt of an evaluated call says: its two documents, and the draft around them.

use super::evaluate::Call;
use super::judge::Judged;
use super::recording::{Content, put};
use super::request;
use crate::committer::{Books, Draft, Standing};
use crate::domain::{Chain, Hash, Outcome};
use crate::engine::step::{Asked, Settled};
use crate::engine::{Action, Approvals};
use crate::evidence::receipt::Kind;
use crate::storage::decision::Decision;
use crate::storage::effect::Effect;
use serde_json::{Map, Value, json};

/// Everything that an answer was made of.
pub(super) struct Evaluated<'a> {
    pub(super) call: &'a Call,
    pub(super) standing: &'a Standing,
    pub(super) action: &'a Action,
    pub(super) judged: Judged,
    pub(super) settled: Settled<Decision>,
    /// How the decision that it names stood and what the queue looked like, where that was looked at: members of the
    /// input document.
    pub(super) course: Map<String, Value>,
    pub(super) request_hash: Hash,
}

/// A draft that names the standing's people and versions.
pub(super) fn draft(standing: &Standing, kind: Kind, input: Value, output: Value) -> Draft {
    let credential = &standing.credential;
    let mut draft = Draft::act(kind, Chain::Credential(credential.id), input, output);
    draft.principal = Some(credential.principal);
    draft.agent = Some(credential.agent);
    draft.credential = Some(credential.id);
    draft.mandate_version = Some(standing.mandate.version);
    draft.policy_version = Some(standing.policy.version);
    draft.catalogue_version = Some(standing.catalogue.version);
    draft
}

/// What was asked, and what it was decided on: enough to decide it again.
pub(super) fn input(books: &Books<'_>, evaluated: &Evaluated<'_>, content: &mut Content) -> Value {
    let Evaluated { call, standing, action, judged, course, .. } = evaluated;
    let mut input = json!({
        "kind": Kind::GateEvaluate.as_str(),
        "tenant": books.slug(),
        "principal": standing.credential.principal,
        "agent": standing.agent.id,
        "agent_kind": standing.agent.kind,
        "credential": standing.credential.id,
        "scopes": standing.scopes.intersection(call.presented.scopes),
        "request": request::document(&call.described, content),
    });
    if let Some(facts) = request::facts(action, content) {
        put(&mut input, "facts", facts);
    }
    if let Some(point) = call.enforcement_point {
        put(&mut input, "enforcement_point", json!(point));
    }
    judged.write(&mut input);
    if let Some(decision) = call.described.decision {
        put(&mut input, "decision", json!(decision));
    }
    for (name, value) in course {
        put(&mut input, name, value.clone());
    }
    if let Some(version) = call.described.min_mandate_version {
        put(&mut input, "min_mandate_version", json!(version));
    }
    if let Some(key) = &call.key {
        let commitment = content.commit("/input/idempotency_key", json!(key));
        put(&mut input, "idempotency_key", commitment);
    }
    input
}

/// What the input document says of the decision a call names.
pub(super) fn decision_state(asked: &Asked) -> Value {
    let given: Vec<Value> =
        asked.given.iter().map(|given| json!({"by": given.by, "roles": given.roles})).collect();
    json!({
        "status": asked.status.as_str(),
        "same_request": asked.same_request,
        "expires_at": asked.expires_at,
        "approved_until": asked.approved_until,
        "given": given,
        "shown": asked.shown.to_json(),
    })
}

/// The answer, but for its receipt.
pub(super) fn output(evaluated: &Evaluated<'_>, decision: Option<Value>, claimed: Option<&Effect>) -> Value {
    let Evaluated { standing, settled, .. } = evaluated;
    let mut output = json!({
        "outcome": settled.outcome,
        "reason": settled.reason,
        "clauses": settled.clauses,
        "mandate_version": standing.mandate.version,
        "policy_version": standing.policy.version,
    });
    if let Some(decision) = decision {
        put(&mut output, "decision", decision);
    }
    if settled.outcome == Outcome::Escalate {
        let obligations = settled.verdict.obligations();
        if !obligations.is_empty() {
            put(&mut output, "obligations", json!(obligations));
        }
        let approvals = settled.verdict.approvals();
        if approvals.iter().any(|approvals| *approvals != Approvals::own()) {
            put(&mut output, "approvals", approvals.iter().map(Approvals::to_json).collect());
        }
    }
    if let Some(effect) = claimed {
        let value = json!({"id": effect.id, "idempotency_key": effect.idempotency_key, "report_by": effect.report_by});
        put(&mut output, "effect", value);
    }
    output
}
