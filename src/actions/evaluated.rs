//! What the receipt of an evaluated call says: its two documents, and the draft around them.

use super::evaluate::Call;
use super::judge::Judged;
use super::question::{self, Posed, Reach};
use super::recording::Content;
use super::request;
use crate::committer::{Books, Draft, Standing};
use crate::domain::{Chain, Hash, Outcome};
use crate::engine::step::{Asked, Settled};
use crate::engine::{Action, Approvals};
use crate::evidence::canonical;
use crate::evidence::document::{Canonical, Document};
use crate::evidence::receipt::Kind;
use crate::storage::decision::Decision;
use crate::storage::effect::Effect;
use serde_json::{Value, json};

/// Everything that an answer was made of.
pub(super) struct Evaluated<'a> {
    pub(super) call: &'a Call,
    pub(super) standing: &'a Standing,
    pub(super) action: &'a Action,
    pub(super) judged: Judged,
    pub(super) settled: Settled<Decision>,
    /// How the decision that it names stood and what the queue looked like, where that was looked at: members of the
    /// input document.
    pub(super) course: Vec<(&'static str, Value)>,
    pub(super) request_hash: Hash,
    /// Whether a question that was asked reaches whom it is for.
    pub(super) reach: Option<Reach>,
}

/// What the call is recorded as.
pub(super) fn kind(call: &Call) -> Kind {
    match &call.posed {
        None => Kind::GateEvaluate,
        Some(Posed::Ask(_)) => Kind::QuestionAsk,
        Some(Posed::Answer(_)) => Kind::QuestionAnswer,
    }
}

/// A draft that names the standing's people and versions.
pub(super) fn draft(
    standing: &Standing,
    kind: Kind,
    input: impl Into<Canonical>,
    output: impl Into<Canonical>,
) -> Draft {
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
pub(super) fn input(books: &Books<'_>, evaluated: &Evaluated<'_>, content: &mut Content) -> Document {
    let Evaluated { call, standing, action, judged, course, .. } = evaluated;
    let mut input = Document::with_room(2048);
    input.plain("kind", kind(call));
    if let Some(id) = standing.tainted_by {
        input.plain("tainted_by", id);
    }
    input.plain("tenant", books.slug());
    input.plain("principal", standing.credential.principal);
    input.plain("agent", standing.agent.id);
    input.plain("agent_kind", standing.agent.kind);
    input.plain("credential", standing.credential.id);
    input.list("scopes", standing.scopes.intersection(call.presented.scopes).iter());
    input.document("request", request::document(&call.described, &call.private, content));
    if let Some(facts) = request::facts(action, content) {
        input.document("facts", facts);
    }
    if let Some(point) = call.enforcement_point {
        input.plain("enforcement_point", point);
    }
    judged.write(&mut input);
    if let Some(decision) = call.described.decision {
        input.plain("decision", decision);
    }
    for (name, value) in course {
        input.value(name, value);
    }
    if let Some(version) = call.described.min_mandate_version {
        input.number("min_mandate_version", version);
    }
    if let Some(key) = &call.key {
        content.put(&mut input, "idempotency_key", "/input/idempotency_key", canonical::to_vec(&json!(key)));
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
pub(super) fn output(
    evaluated: &Evaluated<'_>,
    decision: Option<&Value>,
    claimed: Option<&Effect>,
) -> Document {
    let Evaluated { standing, settled, .. } = evaluated;
    let mut output = Document::with_room(512);
    output.plain("outcome", settled.outcome);
    output.text("reason", &settled.reason);
    output.value("clauses", &json!(settled.clauses));
    output.number("mandate_version", standing.mandate.version);
    output.number("policy_version", standing.policy.version);
    if let Some(decision) = decision {
        output.value("decision", decision);
    }
    if settled.outcome == Outcome::Escalate {
        let obligations = settled.verdict.obligations();
        if !obligations.is_empty() {
            output.value("obligations", &json!(obligations));
        }
        let approvals = settled.verdict.approvals();
        if approvals.iter().any(|approvals| *approvals != Approvals::own()) {
            output.value("approvals", &approvals.iter().map(Approvals::to_json).collect());
        }
    }
    if let Some(question) = question::answered(evaluated) {
        output.value("question", &question);
    }
    if let Some(effect) = claimed {
        let mut claim = Document::default();
        claim.plain("id", effect.id);
        claim.text("idempotency_key", &effect.idempotency_key);
        claim.plain("report_by", effect.report_by);
        output.document("effect", claim);
    }
    output
}
