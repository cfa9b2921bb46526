//! What witnesses signed of a log, as it is kept: held against the log's own key, its tree and the witnesses' keys.

use crate::domain::Hash;
use crate::evidence::note::{VerifierKey, open_checkpoint, read_cosignatures, text_of};
use crate::storage::tenant::Tenant;
use crate::storage::witness::{self, Kept};
use crate::storage::{AnyConnection, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// The sizes of the checkpoints that are kept.
///
/// # Errors
/// The database failed.
pub(super) fn sizes(connection: &mut AnyConnection, tenant: &Tenant) -> Result<BTreeSet<u64>, StoreError> {
    let kept = witness::kept(connection, &tenant.slug)?;
    Ok(kept.iter().filter_map(|kept| u64::try_from(kept.size).ok()).collect())
}

/// What of them does not hold. `roots` are those of the log at their sizes, as far as it was read.
///
/// # Errors
/// The database failed.
pub(super) fn faults(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    keys: &[VerifierKey],
    roots: &BTreeMap<u64, Hash>,
) -> Result<Vec<String>, StoreError> {
    let kept = witness::kept(connection, &tenant.slug)?;
    Ok(kept.iter().flat_map(|kept| faults_of(kept, keys, roots)).collect())
}

fn faults_of(kept: &Kept, keys: &[VerifierKey], roots: &BTreeMap<u64, Hash>) -> Vec<String> {
    let what = format!("the checkpoint of {} receipts that witnesses signed", kept.size);
    let mut faults = Vec::new();
    let signed = kept
        .checkpoint
        .as_deref()
        .and_then(|note| keys.iter().find_map(|key| open_checkpoint(note, key).ok()));
    match signed {
        None => faults.push(format!("`witnessed_checkpoints` holds none of the log's own as {what}")),
        Some(signed) if i64::try_from(signed.size) != Ok(kept.size) => {
            faults.push(format!("{what} is of {} receipts", signed.size));
        }
        Some(signed) if roots.get(&signed.size).is_some_and(|root| *root != signed.root) => {
            faults.push(format!("{what} is of another tree than the log's"));
        }
        Some(_) => {}
    }
    if kept.signed.is_empty() {
        faults.push(format!("`cosignatures` holds nothing that any witness signed of {what}"));
    }
    let text = kept.checkpoint.as_deref().and_then(|note| text_of(note).ok()).unwrap_or_default();
    for (witness, at, line) in &kept.signed {
        let found = witness.parse::<VerifierKey>().ok().and_then(|key| {
            let lines = format!("{line}\n");
            read_cosignatures(text, &lines, std::slice::from_ref(&key)).ok()?.into_iter().next()
        });
        if found.is_none_or(|found| found.at != *at || found.line != *line) {
            faults
                .push(format!("`cosignatures` holds a line of `{witness}` that it did not sign so: {what}"));
        }
    }
    faults
}
