//! Writes the daily mail to everyone of a tenant, once a person and day, on whichever node comes first.

use super::App;
use super::background::tenants;
use crate::actions::Error;
use crate::committer::clock;
use crate::domain::{Links, TenantSlug, Timestamp};
use crate::notify::digest::{Day, Told, Waiting, digest};
use crate::storage::decision::DecisionStatus;
use crate::storage::outbox::{self, Mail};
use crate::storage::principal::Principal;
use crate::storage::queue::{self, Part, Whose};
use crate::storage::round::{self, Name, Round};
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, StoreError};
use chrono::NaiveTime;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration as Wait;

/// How often it is looked whether a tenant's day has come.
const TICK: Wait = Wait::from_secs(20);
/// How many people are written to in one go, so that the gate does not wait for all of them.
const MOST_AT_ONCE: i64 = 50;
/// How much of a queue one mail lists.
const MOST_LISTED: i64 = 20;

/// What everyone of a tenant is told alike on one day.
#[derive(Clone)]
struct Edition {
    tenant: Tenant,
    day: Day,
    before: Option<Round>,
    /// The log's length, and its signed head.
    size: u64,
    checkpoint: String,
    /// The places of the log that hold the day before.
    places: Range<u64>,
}

/// Writes what is due, again and again.
pub(super) async fn run(app: Arc<App>, at: NaiveTime) {
    loop {
        for tenant in tenants(&app).await.unwrap_or_default() {
            if let Err(error) = write_due(&app, &tenant, at, clock::now()).await {
                tracing::warn!(%error, tenant = tenant.as_str(), "the daily mail was not written; it is tried again");
            }
        }
        tokio::time::sleep(TICK).await;
    }
}

/// Writes the mails of the day that `now` lies in, if they are due and were not written.
///
/// A log that has not grown since the last mail has nothing new to hold anyone to: that day there is none.
async fn write_due(app: &App, tenant: &TenantSlug, at: NaiveTime, now: Timestamp) -> Result<(), StoreError> {
    let slug = tenant.clone();
    let edition = app.read(move |connection| due(connection, &slug, at, now)).await?;
    let Some(edition) = edition else { return Ok(()) };
    if edition.before.is_none_or(|before| before.size != edition.size) {
        let mut after = None;
        loop {
            let (this, links) = (edition.clone(), app.links.clone());
            let page = app
                .read(move |connection| {
                    let people = storage::principal::page(
                        connection,
                        &this.tenant.slug,
                        after.as_deref(),
                        MOST_AT_ONCE,
                    )?;
                    let write = |person: &Principal| write(connection, &this, person, &links, now);
                    people.iter().map(write).collect::<Result<Vec<_>, _>>().map(|mails| (mails, people))
                })
                .await?;
            let (mails, people) = page;
            post(app, tenant, mails).await?;
            match people.last() {
                Some(last) => after = Some(last.id.to_string()),
                None => break,
            }
        }
    }
    let (before, this) = (edition.before, Round { at: now, size: edition.size });
    let taken = app.committer.upkeep(tenant.clone(), move |books| {
        let (connection, slug) = books.place();
        round::take(connection, slug, Name::Digest, before, this).map_err(Error::from)
    });
    settled(taken.await)
}

/// What is told on the day that `now` lies in; `None` before its time, and once it was told.
fn due(
    connection: &mut AnyConnection,
    slug: &TenantSlug,
    at: NaiveTime,
    now: Timestamp,
) -> Result<Option<Edition>, StoreError> {
    let Some(tenant) = storage::tenant::find(connection, slug)? else { return Ok(None) };
    let Some(day) = Day::of(now, tenant.zone, at) else { return Ok(None) };
    let before = round::last(connection, slug, Name::Digest)?;
    let was_told = before.is_some_and(|before| before.at >= day.due);
    if now < day.due || was_told || tenant.created_at >= day.due {
        return Ok(None);
    }
    let Some(head) = storage::head::find(connection, slug)? else { return Ok(None) };
    let from = storage::day::first_place_since(connection, slug, head.size, day.from)?;
    let until = storage::day::first_place_since(connection, slug, head.size, day.until)?;
    let (size, checkpoint) = (head.size, head.checkpoint);
    Ok(Some(Edition { tenant, day, before, size, checkpoint, places: from..until }))
}

/// The mail to one person.
fn write(
    connection: &mut AnyConnection,
    edition: &Edition,
    person: &Principal,
    links: &Links,
    now: Timestamp,
) -> Result<Mail, StoreError> {
    let slug = &edition.tenant.slug;
    let answers = storage::day::answers(connection, slug, person.id, edition.places.clone())?;
    let part = Part { status: Some(DecisionStatus::Open), before: None };
    let open = queue::page(connection, slug, Whose::Person(person.id, person.roles), part, MOST_LISTED + 1)?;
    let mut waiting: Vec<Waiting> = open
        .iter()
        .filter(|decision| decision.expires_at > now)
        .map(|decision| Waiting {
            intent: decision.intent.as_str().to_owned(),
            expires_at: decision.expires_at,
            url: links.page(decision.id),
        })
        .collect();
    let listed = usize::try_from(MOST_LISTED).unwrap_or(usize::MAX);
    let more = waiting.len() > listed;
    waiting.truncate(listed);
    let queue_url = links.queue();
    let told =
        Told { answers, waiting: &waiting, more, checkpoint: &edition.checkpoint, queue_url: &queue_url };
    digest(&edition.tenant, person, &edition.day, &told)
}

/// Puts into the outbox what another node, or this one before a restart, did not put there.
async fn post(app: &App, tenant: &TenantSlug, mails: Vec<Mail>) -> Result<(), StoreError> {
    if mails.is_empty() {
        return Ok(());
    }
    let posted = app.committer.upkeep(tenant.clone(), move |books| {
        let now = books.now();
        let (connection, slug) = books.place();
        let written = outbox::written(connection, slug, mails.iter().map(|mail| mail.id.clone()))?;
        for mail in mails.iter().filter(|mail| !written.contains(&mail.id)) {
            outbox::insert(connection, mail, now)?;
        }
        Ok::<(), Error>(())
    });
    settled(posted.await)
}

/// Whether a job was done: what was not is tried again at the next look.
fn settled<T>(answered: crate::committer::Answered<T, Error>) -> Result<(), StoreError> {
    match answered {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(StoreError::Failed(format!("{error:?}"))),
        Err(why) => Err(StoreError::Failed(format!("{why:?}"))),
    }
}
