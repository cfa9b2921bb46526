//! The trails along which receipts are found, held against the receipts, run after run.

use crate::domain::TenantSlug;
use crate::storage::receipt::StoredReceipt;
use crate::storage::trail::{self, RUN, Trail, stands};
use crate::storage::{AnyConnection, StoreError};
use std::collections::BTreeMap;

/// The run of receipts that is gone over.
#[derive(Debug)]
pub(super) struct Trailed {
    /// How many receipts stand on trails, by the head.
    size: u64,
    /// How many places each run holds.
    counts: BTreeMap<u64, u64>,
    run: BTreeMap<String, Vec<u16>>,
    /// Whether every receipt of the run so far could be read.
    is_whole: bool,
}

impl Trailed {
    /// For a log of which so many receipts stand on trails.
    pub(super) fn new(
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        trailed: u64,
    ) -> Result<Self, StoreError> {
        let counts = trail::counts(connection, tenant)?;
        Ok(Self { size: trailed, counts, run: BTreeMap::new(), is_whole: true })
    }

    /// What is wrong with how many there are, whatever they hold.
    pub(super) fn misfits(&self, size: u64) -> Vec<String> {
        let mut said = Vec::new();
        if self.size > size || !self.size.is_multiple_of(RUN) {
            said.push(format!(
                "`heads.trailed` is {}, of a log of {size} receipts in runs of {RUN}",
                self.size
            ));
        }
        let beyond: Vec<u64> = self.counts.keys().copied().filter(|run| *run >= self.size / RUN).collect();
        if let Some(first) = beyond.first() {
            said.push(format!(
                "`trails` hold run {first}, and `heads.trailed` of {} says that it is not written",
                self.size
            ));
        }
        said
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
        let place = u16::try_from(stored.log_index % RUN).unwrap_or(u16::MAX);
        if place == 0 {
            (self.is_whole, self.run) = (true, BTreeMap::new());
        }
        for trail in Trail::of(stored) {
            self.run.entry(trail.to_string()).or_default().push(place);
        }
        let next = stored.log_index.saturating_add(1);
        if !next.is_multiple_of(RUN) || next > self.size {
            return Ok(None);
        }
        let (run, must) = (stored.log_index / RUN, std::mem::take(&mut self.run));
        if !std::mem::replace(&mut self.is_whole, true) {
            return Ok(None);
        }
        let expected: u64 = must.values().map(|places| u64::try_from(places.len()).unwrap_or(u64::MAX)).sum();
        let what = match stands(connection, tenant, run, must.keys().cloned()) {
            Ok(kept) => {
                let unlike = must.iter().find(|(trail, places)| kept.get(*trail) != Some(places));
                let count = self.counts.get(&run).copied().unwrap_or(0);
                match unlike {
                    Some((trail, _)) => format!("{trail} does not lead to its receipts"),
                    None if count != expected => {
                        format!("{count} places are on its trails, {expected} would be")
                    }
                    None => return Ok(None),
                }
            }
            Err(StoreError::Corrupt { place, detail }) => format!("{place}: {detail}"),
            Err(error @ StoreError::Failed(_)) => return Err(error),
        };
        Ok(Some(format!("`trails` of run {run} do not find its receipts: {what}")))
    }

    /// Where a receipt cannot be read, its run is not gone over.
    pub(super) fn skip(&mut self) {
        self.is_whole = false;
    }
}
