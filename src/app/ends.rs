//! Where a log ends, by everything in the database that says so: its head, its checkpoint, its right edge, its rows.

use super::examine::log_keys;
use crate::evidence::merkle::Frontier;
use crate::evidence::note::open_checkpoint;
use crate::storage::tenant::Tenant;
use crate::storage::whole::{self, Extent};
use crate::storage::{self, AnyConnection, StoreError};

/// What disagrees about where the log ends; nothing, where all say the same.
pub(super) fn disagreements(
    connection: &mut AnyConnection,
    tenant: &Tenant,
) -> Result<Vec<String>, StoreError> {
    let slug = &tenant.slug;
    // The head is read last: whatever stands in the rows by then, it covers.
    let extent = whole::extent(connection, slug)?;
    let Some(head) = storage::head::find(connection, slug)? else {
        return Ok(vec![format!("the log has no head, and {} receipts", extent.count)]);
    };
    let mut said: Vec<String> = beyond(extent, head.size).into_iter().collect();
    if extent.count == head.size && extent.linked != head.size {
        said.push(format!("its chains come to {} receipts, {} stand there", extent.linked, extent.count));
    }
    let keys = log_keys(&storage::key::of_tenant(connection, slug)?, tenant);
    match keys.iter().find_map(|key| open_checkpoint(&head.checkpoint, key).ok()) {
        None => said.push("no log key of the tenant signed the head's checkpoint".to_owned()),
        Some(signed) if signed.size != head.size => {
            said.push(format!("the checkpoint is of {} receipts, the head of {}", signed.size, head.size));
        }
        Some(_) => {}
    }
    let edge = Frontier::from_bytes(&head.frontier).ok().map(|edge| edge.size());
    if edge != Some(head.size) {
        let edge = edge.map_or_else(|| "cannot be read".to_owned(), |size| format!("is of {size} receipts"));
        said.push(format!("the right edge that is kept {edge}, the head is of {}", head.size));
    }
    Ok(said)
}

/// Receipts that the head does not cover.
pub(super) fn beyond(extent: Extent, size: u64) -> Option<String> {
    let last = extent.end.saturating_sub(1);
    (extent.end > size).then(|| format!("receipts lie beyond the head of {size}, up to index {last}"))
}
