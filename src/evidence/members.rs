//! Objects read strictly, member by member: what is missing, mistyped or left over is named.

use crate::domain::Malformed;
use serde_json::{Map, Value};
use std::{fmt::Display, str::FromStr};

/// The largest whole number that a double holds together with both its neighbours.
const LARGEST_EXACT: u64 = (1 << 53) - 1;

/// The members of one object that were not asked for yet.
pub(crate) struct Members<'a> {
    object: &'a Map<String, Value>,
    asked: Vec<&'static str>,
}

impl<'a> Members<'a> {
    /// Starts on `value`, which must be an object; `what` says what it stands for.
    pub(crate) fn of(value: &'a Value, what: &str) -> Result<Self, Malformed> {
        value
            .as_object()
            .map(|object| Self { object, asked: Vec::new() })
            .ok_or_else(|| Malformed::whole(format!("{} found, {what} is an object", kind_of(value))))
    }

    /// A member that may be missing.
    pub(crate) fn optional(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.push(name);
        self.object.get(name)
    }

    /// A member that must stand.
    pub(crate) fn required(&mut self, name: &'static str) -> Result<&'a Value, Malformed> {
        self.optional(name).ok_or_else(|| Malformed::at(pointer(name), "missing"))
    }

    /// Text that must stand.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<&'a str, Malformed> {
        let value = self.required(name)?;
        text(value).map_err(|fault| fault.under(&pointer(name)))
    }

    /// Text in the one spelling its type writes.
    pub(crate) fn spelt<T>(&mut self, name: &'static str) -> Result<T, Malformed>
    where
        T: FromStr + Display,
        T::Err: Display,
    {
        let value = self.required(name)?;
        spelt(value).map_err(|fault| fault.under(&pointer(name)))
    }

    /// As [`spelt`](Self::spelt), for a member that may be missing.
    pub(crate) fn optional_spelt<T>(&mut self, name: &'static str) -> Result<Option<T>, Malformed>
    where
        T: FromStr + Display,
        T::Err: Display,
    {
        self.optional(name).map(spelt).transpose().map_err(|fault| fault.under(&pointer(name)))
    }

    /// A member that must stand and may be null.
    pub(crate) fn nullable_spelt<T>(&mut self, name: &'static str) -> Result<Option<T>, Malformed>
    where
        T: FromStr + Display,
        T::Err: Display,
    {
        let value = self.required(name)?;
        if value.is_null() { Ok(None) } else { self.spelt(name).map(Some) }
    }

    /// A whole number that a double holds exactly.
    pub(crate) fn number(&mut self, name: &'static str) -> Result<u64, Malformed> {
        let value = self.required(name)?;
        number(value).map_err(|fault| fault.under(&pointer(name)))
    }

    /// As [`number`](Self::number), for a member that may be missing.
    pub(crate) fn optional_number(&mut self, name: &'static str) -> Result<Option<u64>, Malformed> {
        self.optional(name).map(number).transpose().map_err(|fault| fault.under(&pointer(name)))
    }

    /// One of a fixed set of names.
    pub(crate) fn optional_one_of<T: Copy>(
        &mut self,
        name: &'static str,
        all: &[T],
        name_of: fn(T) -> &'static str,
    ) -> Result<Option<T>, Malformed> {
        let Some(value) = self.optional(name) else { return Ok(None) };
        let found = text(value).map_err(|fault| fault.under(&pointer(name)))?;
        all.iter().copied().find(|one| name_of(*one) == found).map(Some).ok_or_else(|| {
            let names: Vec<_> = all.iter().copied().map(name_of).collect();
            Malformed::at(
                pointer(name),
                format!("`{}` found, one of {} allowed", found.escape_debug(), names.join(", ")),
            )
        })
    }

    /// A list, each item read by `read`.
    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&'a Value) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let value = self.required(name)?;
        let items = value.as_array().ok_or_else(|| {
            Malformed::at(pointer(name), format!("{} found, a list expected", kind_of(value)))
        })?;
        let place = |position: usize| format!("{}/{position}", pointer(name));
        items
            .iter()
            .enumerate()
            .map(|(position, item)| read(item).map_err(|fault| fault.under(&place(position))))
            .collect()
    }

    /// Ends the reading: a member nobody asked for is refused by name.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        match self.object.keys().find(|name| !self.asked.contains(&name.as_str())) {
            Some(name) => Err(Malformed::at(pointer(name), "unknown member")),
            None => Ok(()),
        }
    }
}

/// Text in the one spelling its type writes.
pub(crate) fn spelt<T>(value: &Value) -> Result<T, Malformed>
where
    T: FromStr + Display,
    T::Err: Display,
{
    let found = text(value)?;
    let parsed: T = found.parse().map_err(|error: T::Err| Malformed::whole(error.to_string()))?;
    let written = parsed.to_string();
    if written == found {
        Ok(parsed)
    } else {
        Err(Malformed::whole(format!("`{}` found, it is written `{written}`", found.escape_debug())))
    }
}

fn text(value: &Value) -> Result<&str, Malformed> {
    value.as_str().ok_or_else(|| Malformed::whole(format!("{} found, text expected", kind_of(value))))
}

fn number(value: &Value) -> Result<u64, Malformed> {
    value.as_u64().filter(|number| *number <= LARGEST_EXACT).ok_or_else(|| {
        Malformed::whole(format!("{} found, a whole number from 0 to {LARGEST_EXACT} expected", shown(value)))
    })
}

/// One member as a JSON Pointer (RFC 6901 §3).
pub(crate) fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("`{number}`"),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            kind_of(value).to_owned()
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
