//! What happens by itself: decisions expire, effects become unknown, minutes are closed, mail leaves, witnesses are
//! asked, lookups are written behind the log's end, and the write-ahead log is moved into the database.

use super::mailer::Mailer;
use super::{App, Settings, digest, lookup, retention, witness};
use crate::actions::{Error, question, sweep};
use crate::committer::{Books, clock};
use crate::domain::{Duration, TenantSlug, Timestamp};
use crate::storage::{self, Database, StoreError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration as Wait;
use tokio::task::JoinHandle;

/// How long nothing is looked at when nothing is due.
const TICK: Wait = Wait::from_secs(5);
/// How often what is over is forgotten.
const TIDY_EVERY: Duration = Duration::minutes(10);
/// How often what the rules of retention no longer keep is looked for.
const RETAIN_EVERY: Duration = Duration::hours(1);
/// How much is swept in one go.
const MOST_AT_ONCE: i64 = 200;
/// After how many new receipts, or batches, the write-ahead log is moved.
const CHECKPOINT_AFTER: u64 = 2000;
/// How often that is looked at.
const CHECKPOINT_TICK: Wait = Wait::from_millis(250);

/// Tasks that end when this is stopped.
#[derive(Debug)]
pub struct Background(Vec<JoinHandle<()>>);

impl Background {
    /// Starts what happens by itself.
    pub fn start(app: &Arc<App>, settings: &Settings) -> Result<Self, String> {
        let mut tasks =
            vec![tokio::spawn(sweep_always(app.clone())), tokio::spawn(lookup::write_always(app.clone()))];
        if let Some(transport) = &settings.mail {
            let mailer = Mailer::new(transport, &settings.mail_from)?;
            tasks.push(tokio::spawn(mailer.run(app.clone())));
            if let Some(at) = settings.digest_at {
                tasks.push(tokio::spawn(digest::run(app.clone(), at)));
            }
        }
        if !settings.witnesses.is_empty() {
            let asking = witness::run(app.clone(), settings.witnesses.clone(), settings.witness_every);
            tasks.push(tokio::spawn(asking));
        }
        if let Database::Sqlite(_) = settings.database {
            tasks.push(tokio::spawn(move_log_always(app.clone(), settings.database.clone())));
        }
        Ok(Self(tasks))
    }

    /// Ends them.
    pub fn stop(self) {
        for task in self.0 {
            task.abort();
        }
    }
}

async fn sweep_always(app: Arc<App>) {
    let mut tidied = clock::now();
    let mut retained: Option<Timestamp> = None;
    loop {
        match sweep_once(&app).await {
            Ok(more) if more => continue,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "what is due could not be swept; it is tried again"),
        }
        let now = clock::now();
        if now.since(tidied) >= TIDY_EVERY {
            tidied = now;
            app.limits.tidy();
            for tenant in tenants(&app).await.unwrap_or_default() {
                run(&app, tenant, |books| sweep::tidy(books).map(|()| false)).await;
            }
        }
        let is_changed = app.retention_changed.swap(false, Ordering::AcqRel);
        if is_changed || retained.is_none_or(|retained| now.since(retained) >= RETAIN_EVERY) {
            retained = Some(now);
            for tenant in tenants(&app).await.unwrap_or_default() {
                if let Err(error) = retention::sweep(&app, &tenant).await {
                    tracing::warn!(%error, "what is due to be erased could not be found; it is tried again");
                }
            }
        }
        tokio::time::sleep(pause(&app, now).await).await;
    }
}

/// Until the next thing is due, and never longer than a tick: another node may have opened something.
async fn pause(app: &App, now: Timestamp) -> Wait {
    let next = app
        .read(|connection| {
            let decision = storage::decision::next_due(connection)?;
            let effect = storage::effect::next_due(connection)?;
            let question = storage::question::next_due(connection)?;
            Ok(decision.into_iter().chain(effect).chain(question).min())
        })
        .await;
    match next {
        Ok(Some(due)) => {
            let wait = due.since(now).whole_milliseconds().max(20);
            Wait::from_millis(u64::try_from(wait).unwrap_or(0)).min(TICK)
        }
        Ok(None) | Err(_) => TICK,
    }
}

/// All tenants.
pub(super) async fn tenants(app: &App) -> Result<Vec<TenantSlug>, StoreError> {
    app.read(|connection| {
        Ok(storage::tenant::all(connection)?.into_iter().map(|tenant| tenant.slug).collect())
    })
    .await
}

/// Sweeps what is due; `true` if more may be.
async fn sweep_once(app: &Arc<App>) -> Result<bool, StoreError> {
    let now = clock::now();
    let (decisions, effects, questions, minutes) = app
        .read(move |connection| {
            Ok((
                storage::decision::due(connection, now, MOST_AT_ONCE)?,
                storage::effect::due(connection, now, MOST_AT_ONCE)?,
                storage::question::due(connection, now, MOST_AT_ONCE)?,
                storage::access::tenants_with_open_minutes(connection, now.minute())?,
            ))
        })
        .await?;
    let (mut turned, mut more) = (false, false);
    for (tenant, id) in decisions {
        turned |= run(app, tenant, move |books| sweep::expire(books, id)).await;
    }
    for (tenant, id) in effects {
        turned |= run(app, tenant, move |books| sweep::overdue(books, id)).await;
    }
    for (tenant, id) in questions {
        turned |= run(app, tenant, move |books| question::expire(books, id)).await;
    }
    for tenant in minutes {
        more |= run(app, tenant, move |books| sweep::close_minutes(books, now.minute())).await;
    }
    if turned {
        app.decisions_changed();
    }
    Ok(turned || more)
}

/// Runs one thing that is due; `true` if it changed something, or says that more is left.
async fn run(
    app: &App,
    tenant: TenantSlug,
    action: impl FnOnce(&mut Books<'_>) -> Result<bool, Error> + Send + 'static,
) -> bool {
    match app.committer.upkeep(tenant, action).await {
        Ok(Ok(sealed)) => sealed.value,
        Ok(Err(error)) => {
            tracing::warn!(?error, "something due was refused");
            false
        }
        Err(why) => {
            tracing::warn!(?why, "something due could not be recorded; it is tried again");
            false
        }
    }
}

/// Moves the write-ahead log into the database on a thread of its own, so that no batch waits for it.
async fn move_log_always(app: Arc<App>, database: Database) {
    let mut moved_at = (0, 0);
    let mut connection = None;
    loop {
        tokio::time::sleep(CHECKPOINT_TICK).await;
        let status = app.committer.status();
        let now = (status.receipts(), status.batches());
        let due = now.0.saturating_sub(moved_at.0) >= CHECKPOINT_AFTER
            || now.1.saturating_sub(moved_at.1) >= CHECKPOINT_AFTER;
        let is_erased = app.erased.swap(false, Ordering::AcqRel);
        if !due && !is_erased {
            continue;
        }
        let (database, taken) = (database.clone(), connection.take());
        let moved = tokio::task::spawn_blocking(move || -> Result<_, StoreError> {
            let mut writer = match taken {
                Some(writer) => writer,
                None => database.open_writer()?,
            };
            let is_empty = if is_erased {
                storage::empty_write_ahead_log(&mut writer)?
            } else {
                storage::move_write_ahead_log(&mut writer)?;
                true
            };
            Ok((writer, is_empty))
        })
        .await;
        if is_erased && !matches!(moved, Ok(Ok((_, true)))) {
            app.content_erased();
        }
        match moved {
            Ok(Ok((writer, _))) => {
                connection = Some(writer);
                moved_at = now;
            }
            Ok(Err(error)) => tracing::warn!(%error, "the write-ahead log was not moved; it is tried again"),
            Err(error) => tracing::warn!(%error, "moving the write-ahead log ended early"),
        }
    }
}
