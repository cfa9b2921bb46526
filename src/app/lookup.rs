//! Writes down behind the log's end where what stands: a run of receipts at a time, so that no call of the gate waits.

use super::App;
use crate::actions::{Error, lookup as act};
use crate::committer::Unavailable;
use crate::crypto::AuthKey;
use crate::domain::TenantSlug;
use crate::storage::lookup::{Key, RUN, next_run};
use crate::storage::{self, StoreError, behind};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether a run is full: soon after a start, so that those that the committer gathered meanwhile
/// can follow the one whose beginning it did not see.
const TICK: Duration = Duration::from_secs(1);
/// How long the log is left alone after a run was written: whoever calls the gate comes first.
const REST: Duration = Duration::from_secs(1);
/// The same, where more than so many receipts wait to be written down.
const SHORT_REST: Duration = Duration::from_millis(30);
const LONG_BACKLOG: u64 = 32_768;

/// Why no lookup key is to be had, or no run was written.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The database failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The committer takes nothing now.
    #[error("the log cannot be written: {0:?}")]
    Unavailable(Unavailable),
    /// The committer refused.
    #[error("it was refused: {0:?}")]
    Refused(Error),
}

impl From<Unavailable> for LookupError {
    fn from(why: Unavailable) -> Self {
        Self::Unavailable(why)
    }
}

impl From<Error> for LookupError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// The key that hashes a tenant's requests and references. The committer alone holds it, so it is asked.
pub(super) async fn key(app: &App, tenant: &TenantSlug) -> Result<AuthKey, LookupError> {
    let asked =
        app.committer.upkeep(tenant.clone(), |books| Ok::<_, Error>(books.lookup_key().clone())).await??;
    Ok(asked.value)
}

/// Keeps every tenant's lookups close behind its log.
pub(super) async fn write_always(app: Arc<App>) {
    let mut keys = HashMap::new();
    loop {
        let mut longest = None;
        let tenants = app.read(storage::tenant::all).await.unwrap_or_default();
        for tenant in tenants {
            match write_one(&app, &tenant.slug, &mut keys).await {
                Ok(left) => longest = longest.max(left),
                Err(error) => tracing::debug!(%error, "lookups were not written; it is tried again"),
            }
        }
        let rest = match longest {
            None => TICK,
            Some(left) if left < LONG_BACKLOG => REST,
            Some(_) => SHORT_REST,
        };
        tokio::time::sleep(rest).await;
    }
}

/// Writes the next run of a tenant's lookups, if it is full; how many receipts are still left then.
async fn write_one(
    app: &App,
    tenant: &TenantSlug,
    keys: &mut HashMap<TenantSlug, AuthKey>,
) -> Result<Option<u64>, LookupError> {
    let slug = tenant.clone();
    let due = app
        .read(move |connection| {
            let run = next_run(connection, &slug)?;
            let size = storage::head::find(connection, &slug)?.map_or(0, |head| head.size);
            let end = run.saturating_add(1).saturating_mul(RUN);
            Ok(size.checked_sub(end).map(|left| (run, left)))
        })
        .await?;
    let Some((run, left)) = due else { return Ok(None) };
    let key = match keys.get(tenant) {
        Some(key) => key.clone(),
        None => keys.entry(tenant.clone()).or_insert(key(app, tenant).await?).clone(),
    };
    let slug = tenant.clone();
    let entries = app
        .read(move |connection| {
            let first = run.saturating_mul(RUN);
            let receipts = behind::stretch(connection, &slug, first, first.saturating_add(RUN))?;
            let entries = receipts.iter().flat_map(|stored| {
                let place = u16::try_from(stored.log_index.saturating_sub(first)).unwrap_or_default();
                act::keys_of(&key, stored).into_iter().map(move |key| (key, place))
            });
            Ok(entries.collect::<Vec<(Key, u16)>>())
        })
        .await?;
    app.committer.upkeep(tenant.clone(), move |books| act::write(books, run, entries)).await??;
    Ok(Some(left))
}
