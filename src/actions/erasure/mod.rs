//! Erases the content of a request: what was asked with it and what became of it, wherever it stands. Receipts stay, and
//! say from then on when, why and by which receipt their content was erased.

mod family;
mod rows;

pub use family::Family;

use super::caller::Operator;
use super::{Error, retention, withdraw};
use crate::committer::{Books, Draft};
use crate::domain::{
    Chain, DecisionId, Duration, Intent, IntentPattern, Label, PrincipalId, ReceiptId, Timestamp,
};
use crate::evidence::receipt::Kind;
use crate::storage::content;
use crate::storage::decision::{self, DecisionKind, DecisionStatus};
use crate::storage::receipt::StoredReceipt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Of how many receipts one act erases the content.
const MOST_AT_ONCE: usize = 2000;

/// What was erased by one act.
#[derive(Debug)]
pub struct Erased {
    /// When.
    pub at: Timestamp,
    /// The receipts whose content is gone.
    pub receipts: Vec<ReceiptId>,
    /// The receipt that says so.
    pub stored: Arc<StoredReceipt>,
    /// Whether more of the same content is kept, for the next act.
    pub more: bool,
}

/// On what ground content is erased.
enum Ground<'a> {
    /// An operator did, for this reason.
    Asked { by: PrincipalId, reason: &'a Label },
    /// It was older than a rule keeps it.
    Rule { pattern: &'a IntentPattern, days: u32 },
}

/// Erases what a family of receipts holds, as an operator who signed in just now. What is open about it is taken back;
/// counterparties that a yes to it made known are known no more.
///
/// # Errors
/// The same is asked at this moment, or nothing is left to erase.
pub fn erase(
    books: &mut Books<'_>,
    operator: &Operator,
    family: &Family,
    reason: &Label,
) -> Result<Erased, Error> {
    let person = operator.person();
    person.require_session(books)?;
    person.require_fresh(books.now(), "erasing content")?;
    let mut family = family.clone();
    family.catch_up(books)?;
    let (mut held, more) = (Vec::new(), family.places().len() > MOST_AT_ONCE);
    for place in family.places().iter().take(MOST_AT_ONCE) {
        held.extend(books.receipt(*place)?.filter(|stored| stored.content.is_some()));
    }
    if held.is_empty() {
        return Err(Error::Conflict(match family.erased_at() {
            Some(at) => format!("the content of this request was erased at {at}, and none came after"),
            None => "the receipt holds no content".into(),
        }));
    }
    take_back(books, family.decisions())?;
    let mut is_less_known = false;
    for id in family.decisions() {
        let (connection, slug) = books.place();
        is_less_known |= content::forget_known(connection, slug, *id)?;
    }
    if is_less_known {
        books.authority_changed();
    }
    let ground = Ground::Asked { by: person.id, reason };
    let mut erased = record(books, family.chain(), &held, &ground)?;
    erased.more = more;
    Ok(erased)
}

/// Erases what the live rules no longer keep of these receipts of one chain, all about one intent; `None` where all of it still has to be kept: while
/// a decision about it waits, its effect has no ending, or its key still answers.
pub fn erase_due(
    books: &mut Books<'_>,
    chain: Chain,
    intent: &Intent,
    places: &[u64],
) -> Result<Option<Erased>, Error> {
    let (connection, slug) = books.place();
    let (rules, _) = retention::live(connection, slug)?;
    let Some((pattern, days)) = rules.of(intent) else { return Ok(None) };
    let before = books.now().minus(Duration::days(i64::from(*days)));
    let mut due = Vec::new();
    for place in places {
        let found = books.receipt(*place)?.filter(|stored| {
            stored.content.is_some() && stored.intent.as_ref() == Some(intent) && stored.body.at < before
        });
        let Some(stored) = found else { continue };
        if !rows::is_needed(books, &stored)? {
            due.push(stored);
        }
    }
    if due.is_empty() {
        return Ok(None);
    }
    record(books, chain, &due, &Ground::Rule { pattern, days: *days }).map(Some)
}

/// Takes back what is open about content that goes; how an effect ended is still asked.
fn take_back(books: &mut Books<'_>, decisions: &BTreeSet<DecisionId>) -> Result<(), Error> {
    for id in decisions {
        let (connection, slug) = books.place();
        let found = decision::find(connection, slug, *id)?;
        let waiting = found.filter(|found| {
            found.kind == DecisionKind::Action
                && matches!(found.status, DecisionStatus::Open | DecisionStatus::Approved)
        });
        if let Some(waiting) = waiting {
            withdraw::withdraw(books, &waiting, "its content was erased")?;
        }
    }
    Ok(())
}

/// Erases, in rows and receipts, and records it in the chain of the calls it is of.
fn record(
    books: &mut Books<'_>,
    chain: Chain,
    held: &[Arc<StoredReceipt>],
    ground: &Ground<'_>,
) -> Result<Erased, Error> {
    for stored in held {
        rows::forget(books, stored)?;
    }
    let ids: Vec<ReceiptId> = held.iter().map(|stored| stored.body.id).collect();
    let input = input(books, &ids, ground);
    let mut draft = Draft::act(Kind::ContentErase, chain, input, json!({"erased": ids.len()}));
    if let Some(first) = held.iter().find(|stored| stored.body.chain == chain) {
        draft.principal = first.body.principal;
        draft.agent = first.body.agent;
        draft.credential = first.body.credential;
    }
    let stored = books.record(draft)?;
    let places: Vec<u64> = held.iter().map(|stored| stored.log_index).collect();
    let (connection, slug) = books.place();
    content::erase(connection, slug, &places, stored.log_index)?;
    Ok(Erased { at: stored.body.at, receipts: ids, stored, more: false })
}

fn input(books: &Books<'_>, ids: &[ReceiptId], ground: &Ground<'_>) -> Value {
    let (kind, tenant) = (Kind::ContentErase.as_str(), books.slug());
    match ground {
        Ground::Asked { by, reason } => {
            json!({"kind": kind, "tenant": tenant, "receipts": ids, "reason": reason, "by": by})
        }
        Ground::Rule { pattern, days } => {
            let reason = format!("`{pattern}` is kept for {days} days");
            let rule = json!({"intent": pattern.to_string(), "days": days});
            json!({"kind": kind, "tenant": tenant, "receipts": ids, "reason": reason, "rule": rule})
        }
    }
}
