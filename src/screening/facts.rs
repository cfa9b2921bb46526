//! What replies state, held against what calls returned.

use super::count::{Count, Counts};
use super::stated::{Plain, values};
use crate::domain::{Duration, EffectId, Timestamp};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most places that a value is traced to.
const MOST_SOURCES: usize = 16;

/// What one call returned, as the caller hands it over.
#[derive(Clone)]
pub struct Record {
    /// The effect that returned it, where it was one.
    pub effect: Option<EffectId>,
    /// What was returned.
    pub fields: Value,
    /// When it was read.
    pub at: Option<Timestamp>,
    /// How long its source says it holds.
    pub fresh_for: Option<Duration>,
    /// The JSON Schema of what its source returns.
    pub schema: Option<Value>,
}

/// Records, ready to trace values to.
pub(super) struct Facts<'a> {
    records: Vec<(&'a Record, BTreeMap<String, BTreeSet<Plain>>)>,
    /// Where each value stands: the record, the field.
    places: BTreeMap<Plain, Vec<(usize, String)>>,
    now: Timestamp,
}

impl<'a> Facts<'a> {
    pub(super) fn new(records: &'a [Record], now: Timestamp) -> Self {
        let ready = |record: &'a Record| {
            let mut fields = BTreeMap::<_, BTreeSet<_>>::new();
            for (path, plain) in values(&record.fields) {
                fields.entry(path).or_default().extend(plain);
            }
            (record, fields)
        };
        let records: Vec<_> = records.iter().map(ready).collect();
        let mut places = BTreeMap::<Plain, Vec<(usize, String)>>::new();
        for (at, (_, fields)) in records.iter().enumerate() {
            for (path, plain) in
                fields.iter().flat_map(|(path, all)| all.iter().map(move |plain| (path, plain)))
            {
                let known = places.entry(plain.clone()).or_default();
                if known.len() < MOST_SOURCES {
                    known.push((at, path.clone()));
                }
            }
        }
        Self { records, places, now }
    }

    /// Whether any record holds the value; counts what is to be said of it.
    pub(super) fn trace(&self, value: &Plain, counts: &mut Counts) -> bool {
        let Some(places) = self.places.get(value) else {
            counts.add(Count::FactsUntraced);
            return false;
        };
        let known =
            places.iter().filter_map(|(at, path)| Some((*at, self.records.get(*at)?.0, path.as_str())));
        let sources: Vec<(usize, &Record, &str)> = known.collect();
        counts.add(Count::FactsTraced);
        if sources.iter().any(|(at, _, path)| self.is_contradicted(*at, path, value)) {
            counts.add(Count::FactsConflict);
        }
        // One source that still holds, or allows the value, is enough.
        if sources.iter().all(|(_, record, _)| self.is_stale(record)) {
            counts.add(Count::FactsStale);
        }
        if sources.iter().all(|(_, record, path)| is_out_of_range(record, path)) {
            counts.add(Count::FactsOutOfRange);
        }
        true
    }

    /// Whether an effect's own records hold the value.
    pub(super) fn returned(&self, effect: EffectId, value: &Plain, is_masked: bool) -> bool {
        let own = self.records.iter().filter(|(record, _)| record.effect == Some(effect));
        own.into_iter().any(|(_, fields)| fields.values().any(|plain| value.is_within(plain, is_masked)))
    }

    /// Whether another record of the same thing gives the field another value.
    fn is_contradicted(&self, at: usize, path: &str, value: &Plain) -> bool {
        let Some((_, own)) = self.records.get(at) else { return false };
        let others = self.records.iter().enumerate().filter(|(other, _)| *other != at);
        others.into_iter().any(|(_, (_, fields))| {
            fields.get(path).is_some_and(|plain| !plain.contains(value)) && is_same_thing(own, fields)
        })
    }

    fn is_stale(&self, record: &Record) -> bool {
        match (record.at, record.fresh_for) {
            (Some(at), Some(fresh_for)) => at.plus(fresh_for) < self.now,
            (Some(_), None) | (None, Some(_) | None) => false,
        }
    }
}

/// Whether two records agree on every id that both have.
fn is_same_thing(
    left: &BTreeMap<String, BTreeSet<Plain>>,
    right: &BTreeMap<String, BTreeSet<Plain>>,
) -> bool {
    let is_id =
        |path: &str| path.rsplit('/').next().is_some_and(|name| name == "id" || name.ends_with("_id"));
    left.iter()
        .filter(|(path, _)| is_id(path))
        .all(|(path, id)| right.get(path).is_none_or(|other| other == id))
}

/// Whether the value at `path` lies outside what the record's schema says of it.
fn is_out_of_range(record: &Record, path: &str) -> bool {
    let Some(mut schema) = record.schema.as_ref() else { return false };
    for name in path.split('/').skip(1) {
        let inside = schema.get("items").unwrap_or(schema);
        let Some(member) = inside.get("properties").and_then(|members| members.get(name)) else {
            return false;
        };
        schema = member;
    }
    let Some(value) = record.fields.pointer(path) else { return false };
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return true;
    }
    let Some(number) = value.as_f64() else { return false };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    bound("minimum").is_some_and(|least| number < least)
        || bound("maximum").is_some_and(|most| number > most)
        || bound("exclusiveMinimum").is_some_and(|least| number <= least)
        || bound("exclusiveMaximum").is_some_and(|most| number >= most)
}
