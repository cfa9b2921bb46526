//! What receipts are found by, gathered as they are recorded: a full run is written with the batch that completes it.
//!
//! What is not gathered here, after a start, a refusal or an erasure, is read from the log again by whoever writes
//! lookups in the background.

use crate::domain::TenantSlug;
use crate::storage::lookup::{self, Key, RUN};
use crate::storage::{AnyConnection, StoreError};
use std::collections::VecDeque;

/// How many full runs wait at most: about 4 MiB.
const MOST_FULL: usize = 64;

/// The run that is being filled.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    /// The places gathered without a gap: from here, to before there.
    from: u64,
    next: u64,
    entries: Vec<(Key, u16)>,
    /// Runs that are full, the oldest first; they wait for those before them that are not written yet.
    full: VecDeque<(u64, Vec<(Key, u16)>)>,
    /// Whether one became full since it was looked which is next.
    is_due: bool,
}

impl Lookups {
    /// Takes what the next receipt of the log is found by.
    pub(super) fn take(&mut self, log_index: u64, keys: impl IntoIterator<Item = Key>) {
        let place = log_index % RUN;
        if log_index != self.next || place == 0 {
            self.entries.clear();
            self.from = log_index;
        }
        self.next = log_index.saturating_add(1);
        let place = u16::try_from(place).unwrap_or_default();
        self.entries.extend(keys.into_iter().map(|key| (key, place)));
        if self.next.is_multiple_of(RUN) && self.from.is_multiple_of(RUN) {
            self.full.push_back((log_index / RUN, std::mem::take(&mut self.entries)));
            self.is_due = true;
            if self.full.len() > MOST_FULL {
                self.full.pop_front();
            }
        }
    }

    /// Forgets what was gathered: some of it did not happen, or is not to be found any more.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Writes the runs that are full, up to the first that is missing.
    pub(super) fn write(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
    ) -> Result<(), StoreError> {
        if !std::mem::take(&mut self.is_due) {
            return Ok(());
        }
        let mut next = lookup::next_run(connection, tenant)?;
        while let Some((run, _)) = self.full.front()
            && *run <= next
        {
            let Some((run, entries)) = self.full.pop_front() else { break };
            if run == next {
                lookup::insert(connection, tenant, run, entries)?;
                next = next.saturating_add(1);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Hash;

    fn key(place: u64) -> Key {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&place.to_be_bytes());
        Key::of(&Hash(bytes))
    }

    fn filled(places: impl Iterator<Item = u64>) -> Lookups {
        let mut lookups = Lookups::default();
        places.for_each(|place| lookups.take(place, [key(place)]));
        lookups
    }

    #[test]
    fn a_run_is_full_once_all_of_it_was_gathered() {
        let whole = filled(0..2 * RUN + 5);
        assert_eq!(whole.full.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [0, 1]);
        let (_, second) = &whole.full[1];
        assert_eq!(second.len(), 1024);
        assert_eq!((second[0], second[1023]), ((key(RUN), 0), (key(2 * RUN - 1), 1023)));
        assert!(filled(1..RUN).full.is_empty(), "its beginning is missing");
        let with_gap = filled((0..RUN).filter(|place| *place != 77));
        assert!(with_gap.full.is_empty(), "one in it is missing");
        let mut forgotten = filled(0..RUN - 1);
        forgotten.forget();
        forgotten.take(RUN - 1, [key(RUN - 1)]);
        assert!(forgotten.full.is_empty(), "what went before was forgotten");
    }
}
