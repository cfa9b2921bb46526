//! What the gate does to the queue: opens a decision, uses a yes, says that an agent asks too much.

use super::Error;
use super::evaluate::{Call, DECISION_LIFETIME};
use super::tell;
use crate::committer::{Books, Standing};
use crate::crypto::hmac_sha256;
use crate::domain::{AgentId, DecisionId, Duration, Hash};
use crate::engine::step::Load;
use crate::engine::{Approvals, Verdict};
use crate::storage::approval;
use crate::storage::book;
use crate::storage::decision::{self, Anew, Decision, DecisionKind, DecisionStatus, Turn};
use crate::storage::receipt::StoredReceipt;
use std::collections::BTreeSet;

/// Opens an item in the principal's queue, and in those of the people whose yes it takes, and tells them by mail.
pub(super) fn open(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    stored: &StoredReceipt,
    (id, kind): (DecisionId, DecisionKind),
    (request_hash, verdict): (Option<Hash>, Option<&Verdict>),
) -> Result<(), Error> {
    let now = books.now();
    let opened = Decision {
        id,
        principal: standing.credential.principal,
        agent: standing.agent.id,
        credential: standing.credential.id,
        kind,
        status: DecisionStatus::Open,
        intent: call.described.intent.clone(),
        log_index: stored.log_index,
        input_hash: stored.body.input_hash,
        request_hash,
        effect: None,
        opened_at: now,
        expires_at: now.plus(DECISION_LIFETIME),
        decided_at: None,
        decided_by: None,
        approved_until: None,
        reason: None,
        used_index: None,
        asks: 1,
        approvals: verdict.map(Verdict::approvals).unwrap_or_default(),
        why: verdict.map(Verdict::why).unwrap_or_default(),
    };
    books.open_decision(&opened)?;
    tell::opened(books, &opened)
}

/// How much of its principal's attention an agent takes.
pub(super) fn load(books: &mut Books<'_>, agent: AgentId) -> Result<Load, Error> {
    let since = books.now().minus(Duration::hours(1));
    let renewals = renewals(books, agent);
    let (connection, slug) = books.place();
    let (open, opened) = decision::count_of_agent(connection, slug, agent, since)?;
    let renewed = book::used(connection, slug, &renewals, Some(since))?;
    Ok(Load { open, recent: opened.saturating_add(renewed) })
}

/// The key of the book that counts what an agent had put anew.
fn renewals(books: &Books<'_>, agent: AgentId) -> String {
    let digest = hmac_sha256(books.lookup_key(), format!("procura-renewals-v1 {agent}").as_bytes());
    hex::encode(digest.get(..16).unwrap_or(&digest))
}

/// Counts one more ask of what waits, and puts it before whoever's yes it takes by now.
pub(super) fn ask_again(
    books: &mut Books<'_>,
    call: &Call,
    same: &Decision,
    approvals: BTreeSet<Approvals>,
) -> Result<(), Error> {
    count_ask(books, call, same)?;
    let (connection, slug) = books.place();
    if same.status == DecisionStatus::Open && same.asked_for() != approvals {
        decision::ask_for(connection, slug, same.id, &approvals)?;
        tell::opened(books, &Decision { approvals, ..same.clone() })?;
    }
    Ok(())
}

/// Counts one more ask of what waits and stays as it is. Asking after a decision by its name is no new ask.
pub(super) fn count_ask(books: &mut Books<'_>, call: &Call, same: &Decision) -> Result<(), Error> {
    let (connection, slug) = books.place();
    match call.described.decision {
        None => Ok(decision::asked_again(connection, slug, same.id)?),
        Some(_) => Ok(()),
    }
}

/// Puts what waits anew, with the call that asks it again: more stands in the way than was shown. Whoever said yes
/// is asked again, and told so. It takes of the agent's budget.
pub(super) fn ask_anew(
    books: &mut Books<'_>,
    call: &Call,
    same: &Decision,
    verdict: &Verdict,
    stored: &StoredReceipt,
) -> Result<(), Error> {
    let why = verdict.why();
    let anew = Anew { log_index: stored.log_index, input_hash: stored.body.input_hash, why: &why };
    let (renewals, now) = (renewals(books, same.agent), books.now());
    let (connection, slug) = books.place();
    decision::put_anew(connection, slug, same.id, anew)?;
    let given = approval::of_decision(connection, slug, same.id)?;
    approval::forget(connection, slug, same.id)?;
    book::reserve(connection, slug, &renewals, 1, stored.log_index, now)?;
    let approvals = verdict.approvals();
    ask_again(books, call, same, approvals.clone())?;
    tell::again(books, &Decision { approvals, ..same.clone() }, &given)
}

/// Says in one item that the agent asks more than it may, and counts what was refused for it.
pub(super) fn say_flood(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    stored: &StoredReceipt,
) -> Result<(), Error> {
    if is_said_already(books, standing.agent.id)? {
        return Ok(());
    }
    let id = books.new_id(DecisionId::new);
    open(books, call, standing, stored, (id, DecisionKind::Attention), (None, None))
}

/// Counts what an agent asked beyond what it may on the item that says so; `false` where none does.
pub(super) fn is_said_already(books: &mut Books<'_>, agent: AgentId) -> Result<bool, Error> {
    let now = books.now();
    let (connection, slug) = books.place();
    match decision::open_attention(connection, slug, agent)? {
        Some(there) if now < there.expires_at => {
            decision::asked_again(connection, slug, there.id)?;
            Ok(true)
        }
        Some(_) | None => Ok(false),
    }
}

/// Uses the yes of a decision for one call.
pub(super) fn use_approval(
    books: &mut Books<'_>,
    id: DecisionId,
    stored: &StoredReceipt,
) -> Result<(), Error> {
    let now = books.now();
    let turn = Turn::Used { log_index: stored.log_index };
    let (connection, slug) = books.place();
    if decision::turn(connection, slug, id, DecisionStatus::Approved, &turn, now)? {
        Ok(())
    } else {
        // It was approved when this batch read it, and nothing else writes.
        Err(Error::Store(crate::storage::StoreError::Failed(
            "an approval changed inside its transaction".into(),
        )))
    }
}
