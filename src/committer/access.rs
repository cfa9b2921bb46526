//! Calls that get a row of the call log instead of a leaf: listed up to a bound, counted exactly beyond it.

use super::books::Books;
use super::entropy;
use crate::domain::{CallId, TenantSlug, Timestamp};
use crate::storage::access::{self as rows, Minute, Subject};
use crate::storage::{self, StoreError, access::Access as Row};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How many calls of one chain are listed by themselves each minute; all are counted.
const LISTED_A_MINUTE: u64 = 100;

/// A call to be listed.
#[derive(Debug, Clone)]
pub struct Access {
    /// Whose tenant.
    pub tenant: TenantSlug,
    /// Against whom it stands.
    pub subject: Subject,
    /// When it came.
    pub at: Timestamp,
    /// The HTTP method.
    pub method: Cow<'static, str>,
    /// The route's pattern.
    pub route: Cow<'static, str>,
    /// The status it is answered with.
    pub status: u16,
    /// What was wrong, where something was.
    pub detail: Option<String>,
}

/// Method, route and status of a call.
type Kind = (String, String, u16);

#[derive(Debug, Default)]
struct Pending {
    listed: Vec<Access>,
    counts: BTreeMap<Kind, u64>,
}

/// How many calls wait in memory to be listed by themselves; while the log is down, the rest is counted alone.
const MOST_WAITING: usize = 20_000;

/// Calls that wait for the next batch, by tenant, subject and minute.
#[derive(Debug, Default)]
pub(super) struct PendingAccesses {
    minutes: BTreeMap<(TenantSlug, Subject, i64), Pending>,
    listed: usize,
}

impl PendingAccesses {
    pub(super) fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }

    pub(super) fn add(&mut self, access: Access) {
        let key = (access.tenant.clone(), access.subject, access.at.minute());
        let pending = self.minutes.entry(key).or_default();
        let kind = (access.method.to_string(), access.route.to_string(), access.status);
        *pending.counts.entry(kind).or_default() += 1;
        if self.listed < MOST_WAITING
            && u64::try_from(pending.listed.len()).is_ok_and(|listed| listed < LISTED_A_MINUTE)
        {
            self.listed += 1;
            pending.listed.push(access);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.listed += other.listed;
        for (key, pending) in other.minutes {
            let here = self.minutes.entry(key).or_default();
            for (kind, count) in pending.counts {
                *here.counts.entry(kind).or_default() += count;
            }
            here.listed.extend(pending.listed);
        }
    }

    pub(super) fn tenants(&self) -> impl Iterator<Item = &TenantSlug> {
        self.minutes.keys().map(|(tenant, _, _)| tenant)
    }

    /// Writes what waits for the tenant whose books these are.
    pub(super) fn write(&self, books: &mut Books<'_>) -> Result<(), StoreError> {
        let tenant = books.tenant().slug.clone();
        for ((_, subject, minute), pending) in self.minutes.iter().filter(|((of, _, _), _)| *of == tenant) {
            match write_minute(books, &tenant, *subject, *minute, pending) {
                // What cannot be read again concerns this chain alone: the batch of everyone goes on.
                Err(StoreError::Corrupt { place, detail }) => {
                    tracing::error!(place, detail, "calls could not be listed");
                    metrics::counter!("procura_unlisted_calls_total")
                        .increment(pending.counts.values().sum());
                }
                written => written?,
            }
        }
        Ok(())
    }
}

fn write_minute(
    books: &mut Books<'_>,
    tenant: &TenantSlug,
    subject: Subject,
    minute: i64,
    pending: &Pending,
) -> Result<(), StoreError> {
    let Some(subject) = complete(books, subject)? else {
        tracing::info!("a call with a credential that does not exist is not listed");
        return Ok(());
    };
    let connection = books.connection();
    let known = rows::find_minute(connection, tenant, &subject.chain, minute)?;
    if known.as_ref().is_some_and(|known| known.log_index.is_some()) {
        // The minute's leaf is written: what came late is counted with the present minute, or the next.
        let later = books.now().minute().max(minute.saturating_add(1));
        let late = Pending { listed: Vec::new(), counts: pending.counts.clone() };
        return write_minute(books, tenant, subject, later, &late);
    }
    let is_new = known.is_none();
    let mut state = known.unwrap_or(Minute {
        subject,
        minute,
        count: 0,
        listed: 0,
        counts: "[]".into(),
        log_index: None,
    });
    let room = LISTED_A_MINUTE.saturating_sub(state.listed);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    for access in pending.listed.iter().take(room) {
        rows::insert(connection, tenant, &row(access, subject))?;
        state.listed += 1;
    }
    let mut counts = read_counts(&state.counts)?;
    for (kind, count) in &pending.counts {
        *counts.entry(kind.clone()).or_default() += count;
        state.count += count;
    }
    state.counts = write_counts(&counts).to_string();
    if is_new {
        rows::insert_minute(connection, tenant, &state)
    } else {
        rows::update_minute(connection, tenant, &state)
    }
}

/// Fills in for whom a credential's agent acts; `None` where there is no such credential.
fn complete(books: &mut Books<'_>, subject: Subject) -> Result<Option<Subject>, StoreError> {
    match (subject.credential, subject.principal) {
        (Some(credential), None) => {
            let (connection, slug) = books.place();
            let found = storage::credential::find(connection, slug, credential)?;
            Ok(found.map(|found| Subject::of_credential(credential, found.agent, found.principal)))
        }
        (_, Some(_)) | (None, None) => Ok(Some(subject)),
    }
}

fn row(access: &Access, subject: Subject) -> Row {
    Row {
        id: CallId::new(access.at, entropy::bytes()),
        at: access.at,
        subject,
        method: access.method.to_string(),
        route: access.route.to_string(),
        status: access.status,
        detail: access.detail.clone(),
    }
}

fn read_counts(text: &str) -> Result<BTreeMap<Kind, u64>, StoreError> {
    let corrupt = || StoreError::Corrupt { place: "access_minutes.counts", detail: text.to_owned() };
    let entries: Vec<(String, String, u16, u64)> = serde_json::from_str(text).map_err(|_| corrupt())?;
    Ok(entries.into_iter().map(|(method, route, status, count)| ((method, route, status), count)).collect())
}

fn write_counts(counts: &BTreeMap<Kind, u64>) -> Value {
    counts.iter().map(|((method, route, status), count)| json!([method, route, status, count])).collect()
}
