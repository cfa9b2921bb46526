//! What the gate does to the queue: opens a decision, uses a yes, says that an agent asks too much.

use super::Error;
use super::evaluate::{Call, DECISION_LIFETIME};
use crate::committer::{Books, Standing};
use crate::domain::{DecisionId, Hash};
use crate::engine::Approvals;
use crate::notify::compose;
use crate::storage::decision::{self, Decision, DecisionKind, DecisionStatus, Turn};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{outbox, principal};
use std::collections::BTreeSet;

/// Opens an item in the principal's queue, and tells them by mail.
pub(super) fn open(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    stored: &StoredReceipt,
    (id, kind): (DecisionId, DecisionKind),
    request_hash: Option<Hash>,
    approvals: BTreeSet<Approvals>,
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
        approvals,
    };
    let (connection, slug) = books.place();
    decision::insert(connection, slug, &opened)?;
    if call.mail.enabled
        && let Some(person) = principal::find(connection, slug, opened.principal)?
    {
        let mail =
            compose::decision_opened(slug, &person, &opened, &call.links.page(id)).map_err(Error::Store)?;
        outbox::insert(connection, &mail, now)?;
    }
    Ok(())
}

/// Says in one item that the agent asks more than it may, and counts what was refused for it.
pub(super) fn say_flood(
    books: &mut Books<'_>,
    call: &Call,
    standing: &Standing,
    stored: &StoredReceipt,
) -> Result<(), Error> {
    let (connection, slug) = books.place();
    match decision::open_attention(connection, slug, standing.agent.id)? {
        Some(there) => Ok(decision::asked_again(connection, slug, there.id)?),
        None => {
            let id = books.new_id(DecisionId::new);
            open(books, call, standing, stored, (id, DecisionKind::Attention), None, BTreeSet::new())
        }
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
