//! A stand-in for whatever moves the money: it counts what it moved, whatever its caller was told.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a tool makes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// It does it and says so.
    Does,
    /// It does it, and the answer is lost.
    DoesAndIsNotHeard,
    /// It says no: nothing moves.
    Rejects,
    /// The call never arrives.
    IsNotReached,
}

impl Behaviour {
    /// As a scenario names it.
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "does" => Self::Does,
            "does_and_is_not_heard" => Self::DoesAndIsNotHeard,
            "rejects" => Self::Rejects,
            "is_not_reached" => Self::IsNotReached,
            other => panic!("no tool behaves as `{other}`"),
        }
    }
}

/// What moved.
#[derive(Debug, Default)]
pub(crate) struct Tool {
    seen: BTreeSet<String>,
    moved: BTreeMap<String, i64>,
}

impl Tool {
    /// Calls the tool under a key; one that knows its keys does nothing for the second time.
    pub(crate) fn call(&mut self, key: &str, amount: &Value, behaviour: Behaviour, knows_keys: bool) {
        match behaviour {
            Behaviour::Rejects | Behaviour::IsNotReached => return,
            Behaviour::Does | Behaviour::DoesAndIsNotHeard => {}
        }
        let is_new = self.seen.insert(key.to_owned());
        if amount.is_null() || (knows_keys && !is_new) {
            return;
        }
        let currency = amount["currency"].as_str().unwrap();
        *self.moved.entry(currency.to_owned()).or_default() += minor_units(&amount["value"], currency);
    }

    /// How much, by currency, in minor units.
    pub(crate) fn moved(&self) -> &BTreeMap<String, i64> {
        &self.moved
    }
}

/// Digits after the point by ISO 4217, of the currencies that the scenarios use.
fn minor_units(value: &Value, currency: &str) -> i64 {
    let digits = match currency {
        "EUR" | "USD" => 2,
        "JPY" => 0,
        "BHD" => 3,
        other => panic!("the scenarios use no {other}"),
    };
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    assert!(fraction.len() <= digits, "{text} {currency}");
    format!("{whole}{fraction:0<digits$}").parse().unwrap()
}
