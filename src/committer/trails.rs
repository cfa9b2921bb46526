//! The trails of the log's end, gathered as receipts are sealed: a run is written with the batch that completes it.

use crate::domain::TenantSlug;
use crate::storage::head::Head;
use crate::storage::trail::{self, RUN, Run, Trail};
use crate::storage::{AnyConnection, StoreError};
use std::collections::VecDeque;

/// The run that is being filled, and those that are whole.
#[derive(Debug)]
pub(super) struct Trails {
    /// The place of the next receipt.
    next: u64,
    run: Run,
    whole: VecDeque<(u64, Run)>,
}

impl Trails {
    /// Gathers from a place of the log on, at which a run begins.
    pub(super) fn from(place: u64) -> Self {
        Self { next: place, run: Run::new(), whole: VecDeque::new() }
    }

    /// Takes the trails of the next receipt.
    pub(super) fn take(&mut self, trails: impl IntoIterator<Item = Trail>) {
        let place = u16::try_from(self.next % RUN).unwrap_or_default();
        for trail in trails {
            self.run.entry(trail).or_default().push(place);
        }
        self.next = self.next.saturating_add(1);
        if self.next.is_multiple_of(RUN) {
            let run = self.next / RUN - 1;
            self.whole.push_back((run, std::mem::take(&mut self.run)));
        }
    }

    /// Writes the runs that are whole, but for those that another node wrote.
    pub(super) fn write(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        head: &mut Head,
    ) -> Result<(), StoreError> {
        while let Some((run, trails)) = self.whole.pop_front() {
            let next = head.trailed / RUN;
            if run > next {
                let detail = format!("run {run} would follow, where {next} is next");
                return Err(StoreError::Corrupt { place: "heads.trailed", detail });
            }
            if run == next {
                trail::insert(connection, tenant, run, &trails)?;
                head.trailed = head.trailed.saturating_add(RUN);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Outcome;

    #[test]
    fn a_run_holds_the_places_of_its_receipts_from_the_place_it_begins_at() {
        let mut trails = Trails::from(RUN);
        for place in RUN..3 * RUN + 5 {
            let refused = place == RUN + 7 || place == 3 * RUN - 1;
            trails.take(refused.then_some(Trail::Outcome(Outcome::Refuse)));
        }
        let whole: Vec<_> = trails.whole.iter().map(|(run, trails)| (*run, trails.clone())).collect();
        let on = |place: u16| Run::from([(Trail::Outcome(Outcome::Refuse), vec![place])]);
        assert_eq!(whole, [(1, on(7)), (2, on(1023))]);
    }
}
