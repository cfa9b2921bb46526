//! Who allowed this? From a receipt's id, a hash, a reference or a request to one sentence and what stands behind it.
//!
//! `sought` reads what is asked for, `find` looks for it, `case` gathers the receipts behind it, and `words`
//! says it. Nothing here writes.

mod acts;
mod case;
mod effect;
mod find;
mod names;
mod sought;
mod words;

pub use sought::Sought;

use self::case::Case;
use self::names::Names;
use super::lookup::{self, LookupError};
use super::tree::Tree;
use super::{App, Caller, Place, export};
use crate::committer::clock;
use crate::domain::{DecisionId, EffectId, ReceiptId, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::{self, StoredReceipt};
use crate::storage::{AnyConnection, StoreError};
use std::sync::Arc;

/// How many matches are told of.
pub const MOST_MATCHES: usize = 20;

/// What there is to say of one match.
#[derive(Debug, Clone)]
pub struct Told {
    /// The receipt it is about.
    pub receipt: ReceiptId,
    /// When that was recorded.
    pub at: Timestamp,
    /// Who allowed it, in one sentence.
    pub sentence: String,
    /// How it stands: `allowed`, `waits`, `refused`, `declined`, `expired`, `withdrawn` or `recorded`.
    pub standing: &'static str,
    /// The decision it hangs on, if any.
    pub decision: Option<DecisionId>,
    /// The effect it let happen, if any.
    pub effect: Option<EffectId>,
    /// The receipts behind it, in the order they were recorded.
    pub chain: Vec<Link>,
}

/// A receipt behind a match.
#[derive(Debug, Clone)]
pub struct Link {
    /// Its id.
    pub id: ReceiptId,
    /// What it records.
    pub kind: Kind,
    /// When.
    pub at: Timestamp,
    /// Who did it, or asked.
    pub who: String,
    /// What was done, in one line.
    pub says: String,
}

/// Everything that was found, the newest first.
#[derive(Debug)]
pub struct Answer {
    /// What there is to say of each match; never empty.
    pub told: Vec<Told>,
    /// Whether there are more than are told of.
    pub more: bool,
    /// How many receipts, the oldest, could not be looked through yet.
    pub not_searched: u64,
}

/// Whether a caller may read a receipt: their own, for compliance the tenant's.
pub fn reads(caller: &Caller, stored: &StoredReceipt) -> bool {
    match caller {
        Caller::Person(person) => person.sees_tenant() || stored.body.principal == Some(person.id),
        Caller::Agent(agent) => stored.body.agent == Some(agent.presented.agent),
    }
}

/// Looks for what is sought, among what the caller may see. `Err` of the inner result is how many receipts could not
/// be looked through, where nothing was found.
pub async fn ask(
    app: &App,
    place: Place,
    caller: Caller,
    sought: Sought,
) -> Result<Result<Answer, u64>, LookupError> {
    let key = if sought.needs_key() { Some(lookup::key(app, caller.tenant()).await?) } else { None };
    let now = clock::now();
    let answered = app.read_in(place, move |connection| {
        let matches = find::find(connection, &caller, &sought, key.as_ref())?;
        let mut told = Vec::new();
        for found in matches.found {
            let case = Case::gather(connection, caller.tenant(), found)?;
            let one = tell(connection, &caller, &case, now)?;
            if !told.iter().any(|before: &Told| before.receipt == one.receipt) {
                told.push(one);
            }
        }
        Ok(if told.is_empty() {
            Err(matches.not_searched)
        } else {
            Ok(Answer { told, more: matches.more, not_searched: matches.not_searched })
        })
    });
    let (_, answered) = answered.await?;
    Ok(answered)
}

fn tell(
    connection: &mut AnyConnection,
    caller: &Caller,
    case: &Case,
    now: Timestamp,
) -> Result<Told, StoreError> {
    let mut names = Names::new(connection, caller.tenant());
    let chain = case.chain.iter().map(|stored| {
        let (who, says) = (acts::who(stored, &mut names)?, acts::says(stored, &mut names)?);
        Ok(Link { id: stored.body.id, kind: stored.body.kind, at: stored.body.at, who, says })
    });
    let chain = chain.collect::<Result<_, StoreError>>()?;
    let (sentence, standing) = words::sentence(case, &mut names, now)?;
    Ok(Told {
        receipt: case.about.body.id,
        at: case.about.body.at,
        sentence,
        standing,
        decision: case.decision_id(),
        effect: case.effect_id(),
        chain,
    })
}

/// The receipts behind one, as a file of lines that `procura verify` takes; `None` where the caller may not read it.
///
/// Content comes along where the caller may read the receipt itself; of another's act the documents stand alone, which
/// commit to theirs.
pub async fn file(
    app: &App,
    place: Place,
    caller: Caller,
    id: ReceiptId,
) -> Result<Option<Vec<u8>>, StoreError> {
    let read = app.read_in(place, move |connection| {
        let found = receipt::find(connection, caller.tenant(), id.log_index())?;
        let Some(stored) = found.filter(|stored| stored.body.id == id && reads(&caller, stored)) else {
            return Ok(None);
        };
        let case = Case::gather(connection, caller.tenant(), find::Found::Receipt(Arc::new(stored)))?;
        let Some(mut tree) = Tree::now(connection, caller.tenant())? else { return Ok(None) };
        let mut lines = Vec::new();
        for stored in &case.chain {
            let mut shown = StoredReceipt::clone(stored);
            shown.content = shown.content.filter(|_| reads(&caller, stored));
            lines.extend(export::line_json(connection, &shown, &mut tree)?);
            lines.push(b'\n');
        }
        Ok(Some(lines))
    });
    let (_, lines) = read.await?;
    Ok(lines)
}
