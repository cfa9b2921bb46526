//! What receipts are found by again, as it is kept behind the log's end: held against the receipts, run after run.

use crate::actions::lookup::{hashes_of, keys_of};
use crate::crypto::AuthKey;
use crate::domain::TenantSlug;
use crate::storage::lookup::{Key, RUN, stands};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError};
use std::collections::BTreeSet;

/// The run of receipts that is gone over.
#[derive(Debug)]
pub(super) struct FoundBy {
    lookup: AuthKey,
    /// What must be in it.
    must: BTreeSet<(Key, u16)>,
    /// What may be in it too: of content that was erased before or after the run was written.
    may: BTreeSet<(Key, u16)>,
}

impl FoundBy {
    pub(super) fn new(lookup: AuthKey) -> Self {
        Self { lookup, must: BTreeSet::new(), may: BTreeSet::new() }
    }

    /// Takes one more receipt, the next of the log; with the last of a run, says what of the run that is kept is not so.
    ///
    /// # Errors
    /// The database failed.
    pub(super) fn take(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        stored: &StoredReceipt,
    ) -> Result<Option<String>, StoreError> {
        let run = stored.log_index / RUN;
        let place = u16::try_from(stored.log_index % RUN).unwrap_or(u16::MAX);
        let all = keys_of(&self.lookup, stored).into_iter().map(|key| (key, place));
        if stored.erased_by.is_some() {
            self.may.extend(all);
            self.must.extend(hashes_of(stored).map(|hash| (Key::of(&hash), place)));
        } else {
            self.must.extend(all);
        }
        if stored.log_index % RUN + 1 != RUN {
            return Ok(None);
        }
        let (must, may) = (std::mem::take(&mut self.must), std::mem::take(&mut self.may));
        let what = match stands(connection, tenant, run) {
            // It is written some time after its last receipt.
            Ok(None) => return Ok(None),
            Ok(Some(kept)) => {
                let lost = must.difference(&kept).count();
                let more = kept.iter().filter(|one| !must.contains(one) && !may.contains(one)).count();
                if lost == 0 && more == 0 {
                    return Ok(None);
                }
                format!("{lost} entries are missing and {more} are of nothing in it")
            }
            Err(StoreError::Corrupt { place, detail }) => format!("{place}: {detail}"),
            Err(error @ StoreError::Failed(_)) => return Err(error),
        };
        Ok(Some(format!("`lookups` of run {run} do not find its receipts: {what}")))
    }

    /// Where a receipt cannot be read, its run is not gone over.
    pub(super) fn skip(&mut self) {
        self.must.clear();
        self.may.clear();
    }
}
