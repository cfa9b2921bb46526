//! A whole log decided again: every recorded answer of the gate, from what its receipt names, over several threads.

use super::examine::{content_fault, lookup_key};
use super::{authority, ends, record, taken};
use crate::actions::again::{Again, NotAgain, Redecided, Undecidable};
use crate::crypto::AuthKey;
use crate::crypto::keyring::MasterKey;
use crate::domain::{Outcome, ReceiptId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use crate::storage::tenant::Tenant;
use crate::storage::whole::{self, Place};
use crate::storage::{self, AnyConnection, Readers, StoreError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many receipts a thread takes at once.
const PAGE: u64 = 256;
/// How many threads work at most: each holds a connection.
const MOST_THREADS: usize = 8;
/// How many findings are kept, those nearest to the beginning; all are counted.
const MOST_NAMED: usize = 20;

/// What deciding a log again came to.
#[derive(Debug, Default)]
pub struct Replay {
    /// The first place that was looked at.
    pub from: u64,
    /// The place after the last.
    pub until: u64,
    /// Calls that were decided again.
    pub decided: u64,
    /// Answers that were given again under their key; each is held against the first.
    pub repeats: u64,
    /// Receipts that record no answer of the gate.
    pub others: u64,
    /// Calls whose content was erased: nobody can decide them any more.
    pub erased: u64,
    /// Calls that were answered under other rules than this program holds, by the version of those.
    pub other_rules: BTreeMap<String, u64>,
    /// What does not come out as it was recorded, by place, and where several are at one by their number; the first
    /// of them.
    pub findings: BTreeMap<(u64, u64), Finding>,
    /// How many there are in all.
    pub found: u64,
}

/// Something that does not come out as it was recorded.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The receipt, where there is one to read.
    pub receipt: Option<(ReceiptId, Timestamp)>,
    /// What is so.
    pub what: Difference,
}

/// What differs.
#[derive(Debug, PartialEq, Eq)]
pub enum Difference {
    /// Another answer comes out.
    Answer {
        /// As it was recorded.
        recorded: Answer,
        /// As it comes out.
        again: Answer,
    },
    /// The record itself was changed: its hash no longer covers what stands there.
    Changed {
        /// The member that does not hold.
        field: String,
        /// What the record says.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// There is no receipt at this place.
    Missing,
    /// What stands there, or what it names, cannot be read, or is not there.
    Unreadable(String),
    /// A row that decides now is not as its receipt says, or none put it there.
    Authority(String),
    /// What is said of where the log ends disagrees.
    End(String),
}

/// An answer of the gate, as far as it is decided.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The outcome.
    pub outcome: String,
    /// The clauses that decided.
    pub clauses: Vec<String>,
    /// The sentence for a person.
    pub reason: String,
}

/// Decides the tenant's log again, from a place to its head of now. `advance` hears of receipts as they are done. Without
/// the master key, what rows keep under the tenant's own hashes is held by its amount alone.
///
/// # Errors
/// The database failed. What stands in it is never an error: it is found.
pub fn replay(
    readers: &Readers,
    tenant: &Tenant,
    master: Option<&MasterKey>,
    from: u64,
    advance: &(dyn Fn(u64) + Sync),
) -> Result<Replay, StoreError> {
    let size = storage::head::find(&mut *readers.get()?, &tenant.slug)?.map_or(0, |head| head.size);
    let keys = storage::key::of_tenant(&mut *readers.get()?, &tenant.slug)?;
    let lookup = master.and_then(|master| lookup_key(&keys, master));
    let from = from.min(size);
    // Whatever the head says of the log's length: beyond the last row there is one gap.
    let end = storage::whole::extent(&mut *readers.get()?, &tenant.slug)?.end.min(size);
    let next = AtomicU64::new(from);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let parts: Vec<Result<Replay, StoreError>> = std::thread::scope(|scope| {
        let work = || {
            let part = work(readers, (tenant, lookup.as_ref()), &next, end, advance);
            if part.is_err() {
                // Nothing the others still find would be told.
                next.store(u64::MAX, Ordering::Relaxed);
            }
            part
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = || Err(StoreError::Failed("a thread ended early".into()));
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| ended())).collect()
    });
    let mut whole = Replay { from, until: size, ..Replay::default() };
    for part in parts {
        whole.add(part?);
    }
    whole.missing(end.max(from)..size);
    whole.look_beside(&mut *readers.get()?, tenant, lookup.as_ref())?;
    Ok(whole)
}

/// Takes page after page until none is left.
fn work(
    readers: &Readers,
    (tenant, lookup): (&Tenant, Option<&AuthKey>),
    next: &AtomicU64,
    size: u64,
    advance: &(dyn Fn(u64) + Sync),
) -> Result<Replay, StoreError> {
    let mut again = (Again::new(tenant), lookup);
    let mut part = Replay::default();
    let mut connection = readers.get()?;
    loop {
        let from = next.fetch_add(PAGE, Ordering::Relaxed);
        if from >= size {
            return Ok(part);
        }
        let until = from.saturating_add(PAGE).min(size);
        let mut expected = from;
        let page = whole::page(&mut connection, &tenant.slug, from, until)?;
        if page.is_empty() {
            // Rows may have been moved far away: what lies between is one gap, which one thread tells of.
            let to = whole::next_place(&mut connection, &tenant.slug, until)?.map_or(size, |at| at.min(size));
            if next.compare_exchange(until, to, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                part.missing(until..to);
            }
        }
        for (place, stored) in page {
            part.missing(expected..place);
            expected = place.saturating_add(1);
            part.look(&mut connection, tenant, &mut again, (place, stored))?;
        }
        part.missing(expected..until);
        advance(until.saturating_sub(from));
    }
}

impl Replay {
    fn look(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &Tenant,
        again: &mut (Again, Option<&AuthKey>),
        (place, stored): Place,
    ) -> Result<(), StoreError> {
        let stored = match stored {
            Ok(stored) => stored,
            Err(StoreError::Corrupt { place: column, detail }) => {
                let why = format!("{column} cannot be read: {detail}");
                self.find(place, None, Difference::Unreadable(why));
                return Ok(());
            }
            Err(error @ StoreError::Failed(_)) => return Err(error),
        };
        if let Some(changed) = changed(connection, tenant, place, &stored)? {
            self.find(place, Some(&stored), changed);
            return Ok(());
        }
        let kind = stored.body.kind;
        if kind.is_decided() {
            return self.decide(connection, again, &stored);
        }
        if kind == Kind::GateReplay {
            return self.repeat(connection, &tenant.slug, &stored);
        }
        self.others = self.others.saturating_add(1);
        Ok(())
    }

    /// A call that was decided.
    fn decide(
        &mut self,
        connection: &mut AnyConnection,
        (again, lookup): &mut (Again, Option<&AuthKey>),
        stored: &StoredReceipt,
    ) -> Result<(), StoreError> {
        let why = match again.decide(connection, stored) {
            Ok(redecided) => {
                self.decided = self.decided.saturating_add(1);
                if let Some(why) = taken::held(connection, *lookup, stored, &redecided)? {
                    self.find(stored.log_index, Some(stored), Difference::Authority(why));
                }
                if !redecided.same || stored.body.outcome != Some(redecided.outcome) {
                    self.find(stored.log_index, Some(stored), other_answer(stored, redecided));
                }
                return Ok(());
            }
            Err(NotAgain::Undecidable(why)) => why,
            Err(NotAgain::Store(StoreError::Corrupt { place, detail })) => {
                Undecidable::Incomplete(format!("{place} cannot be read: {detail}"))
            }
            Err(NotAgain::Store(error @ StoreError::Failed(_))) => return Err(error),
        };
        match why {
            Undecidable::Erased => self.erased = self.erased.saturating_add(1),
            Undecidable::OtherRules(version) => {
                let count = self.other_rules.entry(version).or_default();
                *count = count.saturating_add(1);
            }
            // Nothing that a call was decided by is ever deleted: what is not there was taken away.
            Undecidable::NotACall(_) | Undecidable::Incomplete(_) => {
                self.find(stored.log_index, Some(stored), Difference::Unreadable(why.to_string()));
            }
        }
        Ok(())
    }

    /// An answer under a key that had been answered: the first again, or a refusal.
    fn repeat(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        stored: &StoredReceipt,
    ) -> Result<(), StoreError> {
        self.repeats = self.repeats.saturating_add(1);
        let output: Value = serde_json::from_str(&stored.output).unwrap_or_default();
        let Some(first) = output.get("replayed").and_then(Value::as_str) else {
            // One that gave nothing again can only have refused.
            if stored.body.outcome != Some(Outcome::Refuse) {
                let again = Answer::of(Outcome::Refuse, Vec::new(), String::new());
                let what = Difference::Answer { recorded: recorded(stored), again };
                self.find(stored.log_index, Some(stored), what);
            }
            return Ok(());
        };
        let place = first.parse::<ReceiptId>().ok().map(|id| id.log_index());
        let found = match place.filter(|place| *place < stored.log_index) {
            Some(place) => storage::receipt::find(connection, tenant, place)?,
            None => None,
        };
        let found = found.filter(|found| {
            found.body.id.to_string() == first && found.body.credential == stored.body.credential
        });
        let said = |outcome: Option<Outcome>| outcome.map_or("none", Outcome::as_str).to_owned();
        let expected =
            found.map_or_else(|| "a receipt before it".to_owned(), |found| said(found.body.outcome));
        let what = said(stored.body.outcome);
        if expected != what {
            let field = format!("the outcome of {first}, which it gives again");
            self.find(stored.log_index, Some(stored), Difference::Changed { field, expected, found: what });
        }
        Ok(())
    }

    fn missing(&mut self, places: std::ops::Range<u64>) {
        let all = places.end.saturating_sub(places.start);
        for place in places.take(MOST_NAMED) {
            self.find(place, None, Difference::Missing);
        }
        let named = u64::try_from(MOST_NAMED).unwrap_or(u64::MAX);
        self.found = self.found.saturating_add(all.saturating_sub(named));
    }

    /// What decides now, and where the log ends: whatever was decided by it would come out the same and be wrong.
    fn look_beside(
        &mut self,
        connection: &mut AnyConnection,
        tenant: &Tenant,
        lookup: Option<&AuthKey>,
    ) -> Result<(), StoreError> {
        for unlike in authority::look_over(connection, tenant, lookup)?.unlike {
            self.found = self.found.saturating_add(1);
            let place = unlike.receipt.map_or(self.until, |(place, ..)| place);
            let receipt = unlike.receipt.map(|(_, id, at)| (id, at));
            self.keep(place, Finding { receipt, what: Difference::Authority(unlike.what) });
        }
        for why in ends::disagreements(connection, tenant)? {
            self.find(self.until, None, Difference::End(why));
        }
        Ok(())
    }

    fn find(&mut self, place: u64, stored: Option<&StoredReceipt>, what: Difference) {
        let receipt = stored.map(|stored| (stored.body.id, stored.body.at));
        self.found = self.found.saturating_add(1);
        self.keep(place, Finding { receipt, what });
    }

    fn keep(&mut self, place: u64, finding: Finding) {
        let there = self.findings.range((place, 0)..=(place, u64::MAX)).next_back();
        let number = there.map_or(0, |((_, number), _)| number.saturating_add(1));
        self.findings.insert((place, number), finding);
        if self.findings.len() > MOST_NAMED {
            self.findings.pop_last();
        }
    }

    fn add(&mut self, other: Self) {
        self.decided = self.decided.saturating_add(other.decided);
        self.repeats = self.repeats.saturating_add(other.repeats);
        self.others = self.others.saturating_add(other.others);
        self.erased = self.erased.saturating_add(other.erased);
        self.found = self.found.saturating_add(other.found);
        for (version, count) in other.other_rules {
            let all = self.other_rules.entry(version).or_default();
            *all = all.saturating_add(count);
        }
        for ((place, _), finding) in other.findings {
            self.keep(place, finding);
        }
    }
}

/// What of a record its own hashes do not cover: deciding on it would say nothing about the call that was made.
fn changed(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    place: u64,
    stored: &StoredReceipt,
) -> Result<Option<Difference>, StoreError> {
    let changed = |field: &str, expected: String, found: String| {
        Ok(Some(Difference::Changed { field: field.to_owned(), expected, found }))
    };
    let hash = stored.body.hash();
    if hash != stored.hash {
        return changed("hash", stored.hash.to_string(), hash.to_string());
    }
    if stored.body.tenant != tenant.slug || stored.body.id.log_index() != place {
        return changed(
            "id",
            format!("a receipt of `{}` at {place}", tenant.slug),
            stored.body.id.to_string(),
        );
    }
    if stored.erased_by.is_some()
        && let Some(why) = content_fault(connection, stored)?
    {
        return changed("content", "erased by the receipt that it names".into(), why);
    }
    let beside = record::changed(connection, stored)?;
    Ok(beside.map(|record::Changed { field, expected, found }| Difference::Changed {
        field,
        expected,
        found,
    }))
}

fn other_answer(stored: &StoredReceipt, again: Redecided) -> Difference {
    let again = Answer::of(again.outcome, again.clauses, again.reason);
    Difference::Answer { recorded: recorded(stored), again }
}

/// The answer as its output document has it; the outcome as the receipt itself has it.
fn recorded(stored: &StoredReceipt) -> Answer {
    let output: Value = serde_json::from_str(&stored.output).unwrap_or_default();
    let clauses = output
        .get("clauses")
        .and_then(Value::as_array)
        .map(|clauses| clauses.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>());
    let reason = output.get("reason").and_then(Value::as_str).unwrap_or_default();
    Answer {
        outcome: stored.body.outcome.map_or("none", Outcome::as_str).to_owned(),
        clauses: clauses.unwrap_or_default(),
        reason: reason.to_owned(),
    }
}

impl Answer {
    fn of(outcome: Outcome, clauses: Vec<String>, reason: String) -> Self {
        Self { outcome: outcome.as_str().to_owned(), clauses, reason }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"outcome": self.outcome, "clauses": self.clauses, "reason": self.reason})
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} by {}", self.outcome, self.clauses.join(", "))?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, " ({})", self.reason) }
    }
}
