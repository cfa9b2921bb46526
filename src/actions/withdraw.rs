//! What a change of authority does to decisions that are not used yet.

use super::Error;
use super::evaluate::asked;
use super::judge::judge;
use super::question;
use super::request::{self, described_again};
use super::tell;
use crate::committer::{Books, Draft, Life};
use crate::domain::{Chain, CredentialId, Intent, PrincipalId, Scopes};
use crate::engine::step::{self, AfterChange};
use crate::engine::{Approvals, Verdict};
use crate::evidence::receipt::Kind;
use crate::storage::approval;
use crate::storage::decision::{self, Anew, Decision, DecisionKind, DecisionStatus, Turn};
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the gate would say now to the call behind a decision.
pub(super) enum Reconsidered {
    /// This.
    Verdict(Verdict),
    /// It cannot be asked again, and why.
    Gone(&'static str),
}

/// Asks the engine again about the call behind a decision, under what is live now.
pub(super) fn reconsider(books: &mut Books<'_>, decision: &Decision) -> Result<Reconsidered, Error> {
    reconsider_call(books, decision.credential, decision.log_index)
}

/// The same for the call that a receipt at a place of the log records.
pub(super) fn reconsider_call(
    books: &mut Books<'_>,
    credential: CredentialId,
    log_index: u64,
) -> Result<Reconsidered, Error> {
    let Some(standing) = books.standing(credential)? else {
        return Ok(Reconsidered::Gone("its credential is gone"));
    };
    if standing.life(books.now()) != Life::Live {
        return Ok(Reconsidered::Gone("its credential is no longer live"));
    }
    let Some(stored) = books.receipt(log_index)? else {
        return Ok(Reconsidered::Gone("its receipt is gone"));
    };
    let input: Value = read(&stored.input)?;
    let content = stored.content.as_deref().map(read).transpose()?;
    let Some(described) = described_again(&input, content.as_ref()) else {
        return Ok(Reconsidered::Gone("its content was erased"));
    };
    let entry = standing.catalogue.catalogue.get(&described.intent);
    let Ok(mut action) = request::action(entry, &described, request::enforcement_point(&input)) else {
        return Ok(Reconsidered::Gone("the catalogue no longer accepts its arguments"));
    };
    action.untrusted |= standing.tainted_by.is_some();
    let carried = input.get("scopes").and_then(Value::as_array).map(|names| {
        names.iter().filter_map(Value::as_str).filter_map(|name| name.parse().ok()).collect::<Scopes>()
    });
    match judge(books, &standing, carried.unwrap_or_default(), &action) {
        Ok(judged) => Ok(Reconsidered::Verdict(judged.verdict)),
        Err(Error::Malformed(_)) => Ok(Reconsidered::Gone("it is outside what requests may say now")),
        Err(error) => Err(error),
    }
}

fn read(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| {
        Error::Store(crate::storage::StoreError::Corrupt { place: "receipts", detail: error.to_string() })
    })
}

/// After a narrowed or mixed change: given approvals are taken back, open decisions only where the answer is now refuse.
pub(super) fn after_narrowing(
    books: &mut Books<'_>,
    principal: Option<PrincipalId>,
    reason: &'static str,
) -> Result<(), Error> {
    let (connection, slug) = books.place();
    let undecided = decision::undecided(connection, slug, principal)?;
    withdraw_where_due(books, &undecided, reason)?;
    question::after_narrowing(books, principal, reason)
}

/// After the catalogue says something else of an intent: what was shown, or approved, were facts read in another way,
/// so both the questions and the answers about it are taken back.
pub(super) fn after_catalogue_change(books: &mut Books<'_>, intent: &Intent) -> Result<(), Error> {
    let (connection, slug) = books.place();
    let mut undecided = decision::undecided(connection, slug, None)?;
    undecided.retain(|decision| decision.intent == *intent && decision.kind == DecisionKind::Action);
    for pending in &undecided {
        withdraw(books, pending, "the catalogue says something else of the intent")?;
    }
    Ok(())
}

fn withdraw_where_due(
    books: &mut Books<'_>,
    undecided: &[Decision],
    reason: &'static str,
) -> Result<(), Error> {
    for pending in undecided.iter().filter(|pending| pending.kind == DecisionKind::Action) {
        let asked = asked(books, pending, None)?;
        let now_says = match pending.status {
            DecisionStatus::Open => match reconsider(books, pending)? {
                Reconsidered::Verdict(verdict) => Some(verdict),
                Reconsidered::Gone(_) => None,
            },
            // Nothing else is asked again.
            DecisionStatus::Approved
            | DecisionStatus::Declined
            | DecisionStatus::Expired
            | DecisionStatus::Withdrawn
            | DecisionStatus::Used
            | DecisionStatus::Resolved => None,
        };
        match (step::after_narrowing(&asked, now_says.as_ref()), &now_says) {
            (AfterChange::Stays, Some(verdict)) => {
                let asking = ask_others(books, pending, verdict)?;
                tell_others(books, pending, &asking)?;
            }
            (AfterChange::Stays, None) => {}
            (AfterChange::Anew, Some(verdict)) => put_anew(books, pending, verdict, reason)?,
            (AfterChange::Withdrawn, _) | (AfterChange::Anew, None) => withdraw(books, pending, reason)?,
        }
    }
    Ok(())
}

/// Puts an open decision anew, under a receipt of its own that says what is shown from now on: that receipt's input
/// hash is what a yes confirms. Whoever said yes is asked again.
pub(super) fn put_anew(
    books: &mut Books<'_>,
    pending: &Decision,
    verdict: &Verdict,
    reason: &str,
) -> Result<(), Error> {
    let why = verdict.why();
    let input = json!({
        "kind": Kind::DecisionRenew.as_str(),
        "tenant": books.slug(),
        "principal": pending.principal,
        "credential": pending.credential,
        "decision": pending.id,
        "was_shown": pending.input_hash,
        "why": why.to_json(),
    });
    let output = json!({
        "status": DecisionStatus::Open.as_str(),
        "reason": reason,
        "approvals": listed(&asked_of(verdict)),
    });
    let stored = record(books, pending, Kind::DecisionRenew, input, output)?;
    let anew = Anew { log_index: pending.log_index, input_hash: stored.body.input_hash, why: &why };
    let (connection, slug) = books.place();
    decision::put_anew(connection, slug, pending.id, anew)?;
    let given = approval::of_decision(connection, slug, pending.id)?;
    approval::forget(connection, slug, pending.id)?;
    let asking = ask_others(books, pending, verdict)?;
    tell_others(books, pending, &asking)?;
    tell::again(books, &asking, &given)
}

/// Whose yes it takes by this verdict.
pub(super) fn asked_of(verdict: &Verdict) -> BTreeSet<Approvals> {
    let mut approvals = verdict.approvals();
    if approvals.is_empty() {
        // It would now be allowed, and the yes may still be used: the principal's is enough.
        approvals.insert(Approvals::own());
    }
    approvals
}

/// Whose yes it takes, as receipts list it; the principal's alone goes without saying.
pub(super) fn listed(approvals: &BTreeSet<Approvals>) -> Value {
    if approvals.iter().all(|one| *one == Approvals::own()) {
        return json!([]);
    }
    approvals.iter().map(Approvals::to_json).collect()
}

/// Puts an open decision before those whose yes it takes now, if that has changed; the decision as it asks now.
pub(super) fn ask_others(
    books: &mut Books<'_>,
    pending: &Decision,
    verdict: &Verdict,
) -> Result<Decision, Error> {
    let approvals = asked_of(verdict);
    if approvals != pending.asked_for() {
        let (connection, slug) = books.place();
        decision::ask_for(connection, slug, pending.id, &approvals)?;
    }
    Ok(Decision { approvals, ..pending.clone() })
}

/// Tells those by mail whom a decision asks now and did not ask before.
pub(super) fn tell_others(books: &mut Books<'_>, pending: &Decision, asking: &Decision) -> Result<(), Error> {
    if asking.approvals == pending.asked_for() {
        return Ok(());
    }
    tell::opened(books, asking)
}

/// After a revocation: whatever these credentials asked and did not use is taken back.
pub(super) fn after_revocation(
    books: &mut Books<'_>,
    principal: PrincipalId,
    revoked: &[CredentialId],
) -> Result<(), Error> {
    let (connection, slug) = books.place();
    for pending in decision::undecided(connection, slug, Some(principal))? {
        if pending.kind == DecisionKind::Action && revoked.contains(&pending.credential) {
            withdraw(books, &pending, "its credential was revoked")?;
        }
    }
    question::after_revocation(books, principal, revoked)
}

/// Takes back one decision, with a receipt in its credential's chain.
pub(super) fn withdraw(
    books: &mut Books<'_>,
    decision: &Decision,
    reason: &'static str,
) -> Result<(), Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    if !decision::turn(connection, slug, decision.id, decision.status, &Turn::Withdrawn { reason }, now)? {
        return Ok(());
    }
    end(books, decision, Kind::DecisionWithdraw, DecisionStatus::Withdrawn, reason)
}

/// Records what became of a decision without a person.
pub(super) fn end(
    books: &mut Books<'_>,
    decision: &Decision,
    kind: Kind,
    status: DecisionStatus,
    reason: &str,
) -> Result<(), Error> {
    let input = json!({
        "kind": kind.as_str(),
        "tenant": books.slug(),
        "principal": decision.principal,
        "credential": decision.credential,
        "decision": decision.id,
        "was": decision.status.as_str(),
    });
    let output = json!({"status": status.as_str(), "reason": reason});
    record(books, decision, kind, input, output).map(|_| ())
}

/// Records in the chain of the credential that asked.
fn record(
    books: &mut Books<'_>,
    decision: &Decision,
    kind: Kind,
    input: Value,
    output: Value,
) -> Result<Arc<StoredReceipt>, Error> {
    let mut draft =
        Draft::act(kind, Chain::Credential(decision.credential), input, output).by(decision.principal);
    draft.agent = Some(decision.agent);
    draft.credential = Some(decision.credential);
    Ok(books.record(draft)?)
}
