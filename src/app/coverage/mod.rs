//! A provider's own list of effects held against the ledger: what it lists and no call let happen never passed the gate.
//!
//! Lines and effects are matched by the provider's reference, exactly, as it was reported with the outcome; otherwise,
//! where the list gives the idempotency key back, by that. Nothing is matched by amount or time: two alike would be
//! taken for each other.

mod list;

pub use list::{Columns, Listed, MOST_LINES, Malformed};

use crate::domain::{Amount, IntentPattern, TenantSlug, Timestamp};
use crate::storage::coverage::{self as ledger, Recorded};
use crate::storage::effect::EffectStatus;
use crate::storage::{AnyConnection, Readers, StoreError};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::BufRead;

/// How many effects are read at once.
const PAGE: i64 = 1000;
/// How much of each sort is named; all is counted.
const MOST_NAMED: usize = 1000;

/// What is held against what.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Whose ledger.
    pub tenant: TenantSlug,
    /// Effects of which intents.
    pub intent: IntentPattern,
    /// Lines and effects at or after.
    pub from: Option<Timestamp>,
    /// Lines and effects before.
    pub until: Option<Timestamp>,
    /// Which column holds what.
    pub columns: Columns,
}

/// So many of one sort, the first of them named.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    /// How many.
    pub count: u64,
    /// The first, as the wire shows them.
    pub items: Vec<Value>,
}

impl Named {
    fn add(&mut self, item: impl FnOnce() -> Value) {
        self.count = self.count.saturating_add(1);
        if self.items.len() < MOST_NAMED {
            self.items.push(item());
        }
    }

    fn to_json(&self) -> Value {
        json!({"count": self.count, "items": self.items})
    }
}

/// What holding a list against the ledger came to.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// Lines that could be read or not.
    pub lines: u64,
    /// Effects read from the ledger.
    pub effects: u64,
    /// Lines whose effect was allowed and is done, with the same amount.
    pub matched: u64,
    /// Lines without an effect: calls that never passed the gate.
    pub missing: Named,
    /// Lines whose effect the ledger does not know to be done.
    pub unsettled: Named,
    /// Lines whose amount is not the one that was allowed.
    pub differing: Named,
    /// Effects that were allowed, and that the list does not hold.
    pub never_done: Named,
    /// Lines that repeat a reference.
    pub duplicates: Named,
    /// Lines that cannot be read.
    pub malformed: Named,
    /// Lines outside the time that was asked for.
    pub outside: u64,
    /// Effects whose reference was erased: without keys they are matched with nothing.
    pub erased: u64,
}

impl Coverage {
    /// Whether list and ledger say the same.
    pub fn agrees(&self) -> bool {
        let differences = [
            &self.missing,
            &self.unsettled,
            &self.differing,
            &self.never_done,
            &self.duplicates,
            &self.malformed,
        ];
        differences.iter().all(|named| named.count == 0)
    }

    /// As the wire shows it.
    pub fn to_json(&self, asked: &Asked) -> Value {
        json!({
            "tenant": asked.tenant,
            "intent": asked.intent.to_string(),
            "from": asked.from,
            "until": asked.until,
            "agrees": self.agrees(),
            "lines": self.lines,
            "effects": self.effects,
            "matched": self.matched,
            "missing_receipt": self.missing.to_json(),
            "not_settled": self.unsettled.to_json(),
            "amounts_differ": self.differing.to_json(),
            "never_done": self.never_done.to_json(),
            "duplicates": self.duplicates.to_json(),
            "malformed": self.malformed.to_json(),
            "outside": self.outside,
            "erased": self.erased,
        })
    }
}

/// Why nothing was held against anything.
#[derive(Debug)]
pub enum CoverageError {
    /// The list as a whole cannot be read, and why.
    List(String),
    /// The ledger cannot.
    Store(StoreError),
}

impl From<StoreError> for CoverageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Holds a list against the ledger. The list is kept in memory, the ledger passes by.
pub fn coverage(
    readers: &Readers,
    asked: &Asked,
    list: impl BufRead,
    advance: &dyn Fn(u64),
) -> Result<Coverage, CoverageError> {
    let mut found = Coverage::default();
    let mut lines = Lines::default();
    let counted = list::read(list, &asked.columns, |line| lines.take(line, asked, &mut found));
    found.lines = counted.map_err(CoverageError::List)?;
    let mut after = None;
    loop {
        let mut connection = readers.get()?;
        let page = page(&mut connection, asked, after.as_deref())?;
        drop(connection);
        let Some(end) = page.last() else { break };
        after = Some(end.effect.id.to_string());
        advance(u64::try_from(page.len()).unwrap_or_default());
        for recorded in &page {
            lines.hold(recorded, asked, &mut found);
        }
    }
    lines.end(&mut found);
    Ok(found)
}

fn page(
    connection: &mut AnyConnection,
    asked: &Asked,
    after: Option<&str>,
) -> Result<Vec<Recorded>, StoreError> {
    ledger::page(connection, &asked.tenant, &asked.intent, after, PAGE)
}

fn is_inside(at: Option<Timestamp>, asked: &Asked) -> bool {
    at.is_none_or(|at| asked.from.is_none_or(|from| at >= from) && asked.until.is_none_or(|until| at < until))
}

/// The list, by what its lines are known by.
#[derive(Default)]
struct Lines {
    listed: Vec<(Listed, bool)>,
    by_reference: HashMap<String, usize>,
    by_key: HashMap<String, usize>,
}

impl Lines {
    fn take(&mut self, line: Result<Listed, Malformed>, asked: &Asked, found: &mut Coverage) {
        let listed = match line {
            Ok(listed) => listed,
            Err(Malformed { line, detail }) => {
                found.malformed.add(|| json!({"line": line, "detail": detail}));
                return;
            }
        };
        if !is_inside(listed.at, asked) {
            found.outside = found.outside.saturating_add(1);
            return;
        }
        if let Some((first, _)) =
            self.by_reference.get(&listed.reference).and_then(|first| self.listed.get(*first))
        {
            let first = first.line;
            found
                .duplicates
                .add(|| json!({"line": listed.line, "reference": listed.reference, "first": first}));
            return;
        }
        let place = self.listed.len();
        self.by_reference.insert(listed.reference.clone(), place);
        if let Some(key) = &listed.key {
            self.by_key.entry(key.clone()).or_insert(place);
        }
        self.listed.push((listed, false));
    }

    /// Holds one effect against the line that lists it, if one does.
    fn hold(&mut self, recorded: &Recorded, asked: &Asked, found: &mut Coverage) {
        found.effects = found.effects.saturating_add(1);
        let effect = &recorded.effect;
        found.erased = found.erased.saturating_add(u64::from(recorded.is_erased));
        let reference = recorded.reference.as_deref();
        let by_reference = reference.and_then(|reference| self.by_reference.get(reference));
        let place = by_reference.or_else(|| self.by_key.get(&effect.idempotency_key)).copied();
        let line = place.and_then(|place| self.listed.get_mut(place)).filter(|(_, is_held)| !is_held);
        let Some((listed, is_held)) = line else {
            if is_inside(Some(effect.claimed_at), asked) && effect.status != EffectStatus::Failed {
                found.never_done.add(|| described(recorded));
            }
            return;
        };
        *is_held = true;
        match (differs(listed, recorded.amount), effect.status) {
            (Some(why), _) => found.differing.add(|| with_line(recorded, listed, Some(why))),
            (None, EffectStatus::Done) => found.matched = found.matched.saturating_add(1),
            (None, EffectStatus::Claimed | EffectStatus::Unknown | EffectStatus::Failed) => {
                found.unsettled.add(|| with_line(recorded, listed, None));
            }
        }
    }

    /// What nothing in the ledger answers to.
    fn end(self, found: &mut Coverage) {
        for (listed, _) in self.listed.iter().filter(|(_, is_held)| !is_held) {
            found.missing.add(|| {
                json!({
                    "line": listed.line,
                    "reference": listed.reference,
                    "amount": listed_amount(listed),
                    "at": listed.at,
                })
            });
        }
    }
}

/// Why a listed amount is not the one that was allowed, if it is not. A list without amounts says nothing of them.
fn differs(listed: &Listed, allowed: Option<Amount>) -> Option<String> {
    let (value, currency) = listed.amount.as_ref()?;
    let Some(allowed) = allowed else { return Some("no amount was allowed".into()) };
    match Amount::parse(value, currency.unwrap_or_else(|| allowed.currency())) {
        Ok(amount) if amount == allowed => None,
        Ok(amount) => Some(format!(
            "{} {} is listed, {} {} was allowed",
            amount.major_units(),
            amount.currency().code(),
            allowed.major_units(),
            allowed.currency().code()
        )),
        Err(why) => Some(why),
    }
}

fn listed_amount(listed: &Listed) -> Value {
    listed.amount.as_ref().map_or(
        Value::Null,
        |(value, currency)| json!({"value": value, "currency": currency.map(crate::domain::Currency::code)}),
    )
}

fn described(recorded: &Recorded) -> Value {
    let effect = &recorded.effect;
    json!({
        "effect": effect.id,
        "receipt": recorded.receipt,
        "intent": effect.intent,
        "status": effect.status.as_str(),
        "reference": recorded.reference,
        "amount": recorded.amount.map(Amount::to_json),
        "claimed_at": effect.claimed_at,
    })
}

fn with_line(recorded: &Recorded, listed: &Listed, detail: Option<String>) -> Value {
    let mut described = described(recorded);
    if let Some(members) = described.as_object_mut() {
        members.insert("line".into(), json!(listed.line));
        members.insert("listed".into(), listed_amount(listed));
        members.insert("reference".into(), json!(listed.reference));
        if let Some(detail) = detail {
            members.insert("detail".into(), json!(detail));
        }
    }
    described
}
