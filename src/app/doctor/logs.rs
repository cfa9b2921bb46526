//! The logs: every receipt, link and leaf against the signed head.

use super::super::examine::{Examined, Part, examine};
use super::Finding;
use crate::crypto::keyring::MasterKey;
use crate::storage::tenant::Tenant;
use crate::storage::{AnyConnection, StoreError};
use std::collections::BTreeSet;

/// What to do about a log that does not hold.
const ADVICE: &str = "stop the server, keep this database as it is, and compare with the last backup: somebody or \
     something wrote to it beside Procura";

/// Looks one tenant's log over.
pub(super) fn look_over(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    master: Option<&MasterKey>,
    found: &mut dyn FnMut(Finding),
    advance: &dyn Fn(u64),
) -> Result<(), StoreError> {
    let log = examine(connection, tenant, master, &BTreeSet::new(), advance)?;
    let slug = &tenant.slug;
    let size = log.size;
    let authenticated = if master.is_some() { " and authenticated" } else { "" };
    for (name, part, well) in [
        ("receipts", Part::Receipts, format!("{size}, each unchanged{authenticated}")),
        ("chains", Part::Chains, format!("{}, each linked without a gap", log.chains)),
        ("tree", Part::Tree, "the receipts come to the signed root".to_owned()),
        ("checkpoint", Part::Head, format!("signed by the log's key at {size} receipts")),
        (
            "authority",
            Part::Authority,
            format!(
                "{} documents, credentials, people, keys and approvals, each as a receipt put it there, and what came of \
                 calls as receipts tell it",
                log.rows
            ),
        ),
    ] {
        tell(name, &log, part, slug.as_str(), &well, found);
    }
    Ok(())
}

/// Says of a part that it is well, or names each fault; the first with what to do.
fn tell(
    name: &'static str,
    log: &Examined,
    part: Part,
    slug: &str,
    well: &str,
    found: &mut dyn FnMut(Finding),
) {
    let mut faults = log.faults.iter().filter(|fault| fault.part == part);
    let Some(first) = faults.next() else {
        return found(Finding::ok(name, format!("{slug}: {well}")));
    };
    let more = match faults.clone().count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    found(Finding::fail(name, format!("{slug}: {first}{more}: {ADVICE}")));
    for fault in faults {
        found(Finding::fail(name, format!("{slug}: {fault}")));
    }
}
