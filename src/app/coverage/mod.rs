//! A provider's own list of effects held against the ledger: what it lists and no call let happen never passed the gate.
//!
//! Lines and effects are matched by the provider's reference, exactly, as it was reported with the outcome; otherwise,
//! where the list gives the idempotency key back, by that. Nothing is matched by amount or time: two alike would be
//! taken for each other.

mod list;
mod table;

pub use list::{Columns, Listed, MOST_LINES, Malformed};
pub use table::table;

use crate::domain::{Amount, IntentPattern, TenantSlug, Timestamp};
use crate::storage::coverage::{self as ledger, Recorded};
use crate::storage::effect::EffectStatus;
use crate::storage::{AnyConnection, Readers, StoreError};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::BufRead;

/// How many effects are read at once.
const PAGE: i64 = 1000;
/// How much of each sort is named unless more is asked for; all is counted.
pub const MOST_NAMED: usize = 1000;

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
    /// How much of each sort is named.
    pub most_named: usize,
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
    fn add(&mut self, asked: &Asked, item: impl FnOnce() -> Value) {
        self.count = self.count.saturating_add(1);
        if self.items.len() < asked.most_named {
            self.items.push(item());
        }
    }

    /// How many are counted and not named.
    pub fn more(&self) -> u64 {
        self.count.saturating_sub(u64::try_from(self.items.len()).unwrap_or(u64::MAX))
    }

    fn to_json(&self) -> Value {
        json!({"count": self.count, "items": self.items})
    }
}

/// What lines, or effects, have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Listed, and no call let it happen.
    MissingReceipt,
    /// Listed with another amount than was allowed.
    AmountsDiffer,
    /// Allowed, and not listed.
    NeverDone,
    /// Listed, and not known to be done.
    NotSettled,
    /// Listed before.
    Duplicates,
    /// Not to be read.
    Malformed,
    /// Allowed, done and listed alike.
    Matched,
}

impl Sort {
    /// Its name, as the wire has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MissingReceipt => "missing_receipt",
            Self::AmountsDiffer => "amounts_differ",
            Self::NeverDone => "never_done",
            Self::NotSettled => "not_settled",
            Self::Duplicates => "duplicates",
            Self::Malformed => "malformed",
            Self::Matched => "matched",
        }
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
    pub matched: Named,
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

    /// Every sort of line and effect: differences first.
    pub fn sorts(&self) -> [(Sort, &Named); 7] {
        [
            (Sort::MissingReceipt, &self.missing),
            (Sort::AmountsDiffer, &self.differing),
            (Sort::NeverDone, &self.never_done),
            (Sort::NotSettled, &self.unsettled),
            (Sort::Duplicates, &self.duplicates),
            (Sort::Malformed, &self.malformed),
            (Sort::Matched, &self.matched),
        ]
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
            "matched": self.matched.count,
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
    lines.end(asked, &mut found);
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
                found.malformed.add(asked, || json!({"line": line, "detail": detail}));
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
                .add(asked, || json!({"line": listed.line, "reference": listed.reference, "first": first}));
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
                found.never_done.add(asked, || described(recorded));
            }
            return;
        };
        *is_held = true;
        match (differs(listed, recorded.amount), effect.status) {
            (Some(why), _) => found.differing.add(asked, || with_line(recorded, listed, Some(why))),
            (None, EffectStatus::Done) => found.matched.add(asked, || with_line(recorded, listed, None)),
            (None, EffectStatus::Claimed | EffectStatus::Unknown | EffectStatus::Failed) => {
                found.unsettled.add(asked, || with_line(recorded, listed, None));
            }
        }
    }

    /// What nothing in the ledger answers to.
    fn end(self, asked: &Asked, found: &mut Coverage) {
        for (listed, _) in self.listed.iter().filter(|(_, is_held)| !is_held) {
            found.missing.add(asked, || {
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
