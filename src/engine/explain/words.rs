//! Conditions and limits in words that name nobody.

use super::super::book::Counted;
use super::super::document::Applies;
use super::super::limit::{Bound, Limit};
use crate::domain::{Amount, Country};
use crate::screening::Class;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A single condition, from the JSON in which documents write it: `amount at most 100.00 EUR`.
///
/// Texts that can name a person or a thing are counted or passed over, as in every sentence of an answer.
pub(super) fn condition(written: &Value) -> String {
    let mut words = Vec::new();
    for (fact, tests) in written.as_object().into_iter().flatten() {
        words.push(fact.clone());
        say(tests, fact == "country", &mut words);
    }
    words.join(" ")
}

/// Words for a value below a fact; `plain` says that its texts name nobody.
fn say(value: &Value, plain: bool, words: &mut Vec<String>) {
    match value {
        Value::Object(members) => match amount(members) {
            Some(amount) => words.push(amount),
            None => object(members, plain, words),
        },
        Value::Array(entries) => words.push(list(entries, plain)),
        Value::Bool(true) => words.push("yes".into()),
        Value::Bool(false) => words.push("no".into()),
        Value::String(text) => words.push(text.clone()),
        Value::Number(number) => words.push(number.to_string()),
        Value::Null => {}
    }
}

fn object(members: &Map<String, Value>, plain: bool, words: &mut Vec<String>) {
    for (position, (name, value)) in members.iter().enumerate() {
        if position > 0 {
            words.push("and".into());
        }
        // Pointers are places, not words; they stay as they are.
        words.push(if name.starts_with('/') { name.clone() } else { name.replace('_', " ") });
        match (name.as_str(), value) {
            ("equals" | "literal", Value::String(_)) => words.push("a given text".into()),
            ("domain" | "days", Value::Array(entries)) => words.push(list(entries, true)),
            ("contains", Value::Object(tests)) => contains(tests, words),
            _ => say(value, plain, words),
        }
    }
}

/// The classes of personal data by name, the protected values by their number.
fn contains(tests: &Map<String, Value>, words: &mut Vec<String>) {
    for (name, entries) in tests {
        words.push(name.replace('_', " "));
        let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_class = |entry: &&Value| entry.as_str().is_some_and(|name| name.parse::<Class>().is_ok());
        let classes: Vec<Value> = entries.iter().filter(is_class).cloned().collect();
        let others = entries.len() - classes.len();
        if !classes.is_empty() {
            words.push(list(&classes, true));
        }
        match (classes.is_empty(), others) {
            (false, 0) => {}
            (false, others) => words.push(format!("and a list of {others}")),
            (true, others) => words.push(format!("a list of {others}")),
        }
    }
}

fn list(entries: &[Value], plain: bool) -> String {
    let texts: Option<Vec<&str>> = entries.iter().map(Value::as_str).collect();
    match texts {
        Some(texts) if plain => texts.join(", "),
        Some(_) | None => format!("a list of {}", entries.len()),
    }
}

fn amount(members: &Map<String, Value>) -> Option<String> {
    let (value, currency) = (members.get("value")?.as_str()?, members.get("currency")?.as_str()?);
    (members.len() == 2).then(|| format!("{value} {currency}"))
}

/// A limit: `at most 500.00 EUR per day for each counterparty`.
pub(super) fn limit(limit: &Limit) -> String {
    let mut words = match limit.bound {
        Bound::Total { most, per } => format!("at most {most} per {per}"),
        Bound::Count { most, per } => format!("at most {most} times per {per}"),
        Bound::Once => "once".to_owned(),
    };
    if let Some(each) = limit.each {
        words.push_str(if limit.bound == Bound::Once { " per " } else { " for each " });
        words.push_str(each.as_str());
    }
    if let Some(pool) = &limit.pool {
        words.push_str(" in pool ");
        words.push_str(pool.as_str());
    }
    words
}

/// For whom a rule set is, and why it is the one that counts.
pub(super) fn rule_set(applies: Option<Applies>, certain: &BTreeSet<Country>) -> String {
    let Some(applies) = applies else {
        return "no rule set is for this agent and country".to_owned();
    };
    let whom = match (applies.agent, applies.country) {
        (Some(_), Some(country)) => format!("for this agent in {country}"),
        (Some(_), None) => "for this agent".to_owned(),
        (None, Some(country)) => format!("for {country}"),
        (None, None) => "for everyone".to_owned(),
    };
    match (applies.country, certain.is_empty()) {
        (Some(_), true) => format!("{whom}, since the country is the agent's word alone"),
        (Some(_) | None, _) => whom,
    }
}

/// A number of minor units, or of uses, for a person.
pub(super) fn counted(counts: Counted, number: u64) -> String {
    match counts {
        Counted::Uses => number.to_string(),
        Counted::Amounts(currency) => {
            let written = |units| {
                Amount::from_minor_units(units, currency).map(Amount::major_units).unwrap_or_default()
            };
            let digits = match i64::try_from(number) {
                // No amount is nothing; it is written as the smallest one is.
                Ok(0) => written(1).replace('1', "0"),
                Ok(units) => written(units),
                Err(_) => format!("{number} minor units of"),
            };
            format!("{digits} {}", currency.code())
        }
    }
}
