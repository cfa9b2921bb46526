//! A draft put to the calls that were made, in slices that keep no connection and no thread from others for long.

use super::{App, Place};
use crate::actions::preview::{Preview, Proposal, Rehearsal};
use crate::committer::clock;
use crate::domain::{Duration, TenantSlug, Timestamp};
use crate::storage::StoreError;

/// How long one preview may take; what it has not come to by then is left out.
const PATIENCE: Duration = Duration::seconds(20);
/// How long one turn of it may take: the call that is being decided then is the last one of the turn.
const TURN: Duration = Duration::milliseconds(200);

impl App {
    /// What a draft would have done since an instant; `None` if there is no such tenant. The place is kept until the
    /// last turn has ended: one that goes on after its caller hung up is the last.
    pub async fn preview(
        &self,
        place: Place,
        tenant: TenantSlug,
        proposal: Proposal,
        since: Timestamp,
    ) -> Result<Option<Preview>, StoreError> {
        let start = clock::now();
        let first = move |connection: &mut _| Rehearsal::begin(connection, &tenant, proposal, since, start);
        let (mut place, begun) = self.read_in(place, first).await?;
        let Some(mut rehearsal) = begun else { return Ok(None) };
        loop {
            let readers = self.readers.clone();
            let turn = move || {
                let turn = clock::now();
                let is_over = || {
                    let now = clock::now();
                    now.since(turn) > TURN || now.since(start) > PATIENCE
                };
                let more = rehearsal.slice(&mut *readers.get()?, is_over)?;
                Ok((rehearsal, more))
            };
            let more;
            (place, (rehearsal, more)) = self.in_turn_in(place, turn).await?;
            if !more || clock::now().since(start) > PATIENCE {
                return Ok(Some(rehearsal.finish()));
            }
        }
    }
}
