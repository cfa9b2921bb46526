//! What decides now, held against the receipts that put it there: documents, people, agents, credentials, and what
//! people said. A row that says otherwise than its receipt was changed behind the log's back, and so was one that no
//! receipt knows.

mod act;

use crate::domain::{ReceiptId, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::authority::{Authority, all};
use crate::storage::tenant::Tenant;
use crate::storage::{AnyConnection, StoreError, whole};
use act::Act;
use std::collections::{HashMap, HashSet};

/// How many receipts are read at once.
const PAGE: i64 = 256;

/// Acts that put something there, or take it away.
const ACTS: [Kind; 18] = [
    Kind::TenantSetup,
    Kind::PrincipalCreate,
    Kind::MandatePut,
    Kind::PolicyPut,
    Kind::CataloguePut,
    Kind::AgentCreate,
    Kind::AgentRetire,
    Kind::CredentialCreate,
    Kind::CredentialDerive,
    Kind::CredentialRevoke,
    Kind::EnforcementPointCreate,
    Kind::EnforcementPointRevoke,
    Kind::DecisionApprove,
    Kind::DecisionRenew,
    Kind::DecisionDecline,
    Kind::DecisionExpire,
    Kind::DecisionWithdraw,
    Kind::DecisionResolve,
];

/// A row that is not as its receipt says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unlike {
    /// The receipt's place, id and time, where there is one.
    pub(super) receipt: Option<(u64, ReceiptId, Timestamp)>,
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

/// Holds every row of a tenant that gives authority against the receipts. It may run beside a server: rows are listed
/// before the receipts are read, so that each of them has one by then.
///
/// # Errors
/// The database failed. What stands in it is never an error: it is found.
pub(super) fn look_over(connection: &mut AnyConnection, tenant: &Tenant) -> Result<Held, StoreError> {
    let slug = &tenant.slug;
    let standing = all(connection, slug)?;
    let mut ledger = Ledger::default();
    let mut next = 0;
    loop {
        let page = whole::page_of_kinds(connection, slug, &ACTS, next, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        next = last.saturating_add(1);
        for (place, stored) in page {
            // One that cannot be read is found where the log is looked over.
            let Ok(stored) = stored else { continue };
            ledger.place = Some((place, stored.body.id, stored.body.at));
            Act::of(connection, tenant, &mut ledger, &stored).hold()?;
        }
    }
    ledger.place = None;
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
    Ok(Held { rows, unlike: ledger.unlike })
}

/// What the receipts so far put there.
#[derive(Debug, Default)]
struct Ledger {
    put: HashSet<Authority>,
    /// Whose yes each decision has.
    given: HashMap<String, HashSet<String>>,
    place: Option<(u64, ReceiptId, Timestamp)>,
    unlike: Vec<Unlike>,
}

impl Ledger {
    fn say(&mut self, what: String) {
        self.unlike.push(Unlike { receipt: self.place, what });
    }

    fn knows(&self, row: &Authority) -> bool {
        match row {
            Authority::Yes(decision, by) => self.given.get(decision).is_some_and(|given| given.contains(by)),
            Authority::Known(_, decision) => self.put.contains(&Authority::Approved(decision.clone())),
            Authority::Mandate(..)
            | Authority::Policy(_)
            | Authority::Catalogue(_)
            | Authority::Principal(_)
            | Authority::Agent(_)
            | Authority::Credential(_)
            | Authority::EnforcementPoint(_)
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
