//! What decides now, held against the receipts that put it there: documents, people, agents, credentials, keys, what
//! people said, and what came of calls. A row that says otherwise than its receipt was changed behind the log's back, and
//! so was one that no receipt knows.
//!
//! ```text
//!  receipts, in order ─▶ act      rows that an act put there, each looked up by its key
//!                     └▶ course   what decisions and effects came to
//!  rows, in order     ─▶ rows, questions, counts, against the course and the receipts that they name
//! ```

mod act;
mod counts;
mod course;
mod noted;
mod questions;
mod rows;

use crate::crypto::AuthKey;
use crate::domain::{CredentialId, ReceiptId, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::authority::{Authority, all};
use crate::storage::tenant::Tenant;
use crate::storage::{AnyConnection, StoreError, whole};
use act::Act;
use course::Course;
use rows::Rows;
use std::collections::{HashMap, HashSet};

/// How many receipts are read at once.
const PAGE: i64 = 256;
/// How often rows are read again that are not as the receipts say: beside a server, a row may be newer than the receipts
/// that were read.
const MOST_ROUNDS: usize = 3;

/// Acts that put something there, or take it away, and calls that something came of.
const KINDS: [Kind; 28] = [
    Kind::TenantSetup,
    Kind::PrincipalCreate,
    Kind::PrincipalPassword,
    Kind::MandatePut,
    Kind::PolicyPut,
    Kind::CataloguePut,
    Kind::RetentionPut,
    Kind::KeyRotate,
    Kind::AgentCreate,
    Kind::AgentRetire,
    Kind::CredentialCreate,
    Kind::CredentialDerive,
    Kind::CredentialRevoke,
    Kind::EnforcementPointCreate,
    Kind::EnforcementPointRevoke,
    Kind::GateEvaluate,
    Kind::QuestionAsk,
    Kind::QuestionAnswer,
    Kind::GateWithdrawn,
    Kind::EffectOutcome,
    Kind::DecisionApprove,
    Kind::DecisionRenew,
    Kind::DecisionDecline,
    Kind::DecisionExpire,
    Kind::DecisionWithdraw,
    Kind::DecisionResolve,
    Kind::AccessMinute,
    Kind::Export,
];

/// A receipt's place, id and time.
type Place = (u64, ReceiptId, Timestamp);

/// A row that is not as its receipt says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unlike {
    /// The receipt's place, id and time, where there is one.
    pub(super) receipt: Option<Place>,
    /// What is so.
    pub(super) what: String,
}

/// What holding the rows against their receipts came to.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// How many rows there are that give authority.
    pub(super) rows: u64,
    /// Those that are not as their receipts say.
    pub(super) unlike: Vec<Unlike>,
}

/// Holds every row of a tenant that decides against the receipts. It may run beside a server: rows are listed before the
/// receipts are read, so that each of them has one by then. Without the lookup key what is kept under it is left out.
///
/// # Errors
/// The database failed. What stands in it is never an error: it is found.
pub(super) fn look_over(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    lookup: Option<&AuthKey>,
) -> Result<Held, StoreError> {
    let slug = &tenant.slug;
    let standing = all(connection, slug)?;
    let mut ledger = Ledger::default();
    ledger.read(connection, tenant, lookup)?;
    let rows = u64::try_from(standing.len()).unwrap_or(u64::MAX);
    let mut unknown: Vec<Authority> = standing.into_iter().filter(|row| !ledger.knows(row)).collect();
    if !unknown.is_empty() {
        // A yes that was taken back while the receipts were read has no receipt that stands any more, and no row either.
        let now: HashSet<Authority> = all(connection, slug)?.into_iter().collect();
        unknown.retain(|row| now.contains(row));
    }
    for row in unknown {
        ledger.say(format!("no receipt says that {row} was put there"));
    }
    let mut beside = Rows::hold(connection, tenant, lookup, &ledger)?;
    for _ in 1..MOST_ROUNDS {
        if beside.is_empty() {
            break;
        }
        ledger.read(connection, tenant, lookup)?;
        let again = Rows::hold(connection, tenant, lookup, &ledger)?;
        beside.retain(|one| again.contains(one));
    }
    ledger.unlike.extend(beside);
    Ok(Held { rows, unlike: ledger.unlike })
}

/// What a person's password was last recorded as.
#[derive(Debug)]
struct Password {
    receipt: Option<Place>,
    /// The seal of its hash; none in a log that was begun before seals were recorded.
    seal: Option<String>,
    is_their_own: bool,
}

/// What the receipts so far put there.
#[derive(Debug, Default)]
struct Ledger {
    /// The place of the next receipt.
    next: u64,
    put: HashSet<Authority>,
    /// Whose yes each decision has, and at which places of the log.
    given: HashMap<String, HashMap<String, Place>>,
    passwords: HashMap<String, Password>,
    /// How many ancestors each credential has.
    depths: HashMap<CredentialId, u64>,
    /// Answers whose keys were not found to lead to them: the place of each, whose key, and the key.
    keys: Vec<(Place, CredentialId, String)>,
    course: Course,
    place: Option<Place>,
    unlike: Vec<Unlike>,
}

impl Ledger {
    /// Goes on to the end of the log.
    fn read(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &Tenant,
        lookup: Option<&AuthKey>,
    ) -> Result<(), StoreError> {
        loop {
            let page = whole::page_of_kinds(connection, &tenant.slug, &KINDS, self.next, PAGE)?;
            let Some((last, _)) = page.last() else { break };
            self.next = last.saturating_add(1);
            for (place, stored) in page {
                // One that cannot be read is found where the log is looked over.
                let Ok(stored) = stored else { continue };
                self.place = Some((place, stored.body.id, stored.body.at));
                Act::of(connection, tenant, lookup, self, &stored).hold()?;
            }
        }
        self.place = None;
        Ok(())
    }

    fn say(&mut self, what: String) {
        self.unlike.push(Unlike { receipt: self.place, what });
    }

    fn knows(&self, row: &Authority) -> bool {
        match row {
            Authority::Yes(decision, by) => {
                self.given.get(decision).is_some_and(|given| given.contains_key(by))
            }
            Authority::Known(_, decision) => self.put.contains(&Authority::Approved(decision.clone())),
            Authority::Mandate(..)
            | Authority::Policy(_)
            | Authority::Catalogue(_)
            | Authority::Retention(_)
            | Authority::Principal(_)
            | Authority::Agent(_)
            | Authority::Credential(_)
            | Authority::EnforcementPoint(_)
            | Authority::Key(_)
            | Authority::Ended(_)
            | Authority::Approved(_) => self.put.contains(row),
        }
    }
}

/// The row that something names, or a word on why it is not there to be held.
fn found<T>(
    ledger: &mut Ledger,
    named: Authority,
    found: Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    let why = match found {
        Ok(Some(row)) => {
            ledger.put.insert(named);
            return Ok(Some(row));
        }
        Ok(None) => format!("{named} is not there"),
        Err(StoreError::Corrupt { place, detail }) => format!("{named}: {place} cannot be read: {detail}"),
        Err(error @ StoreError::Failed(_)) => return Err(error),
    };
    ledger.put.insert(named);
    ledger.say(why);
    Ok(None)
}
