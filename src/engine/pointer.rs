//! JSON Pointers into a call's arguments and facts (RFC 6901).

use serde_json::{Map, Value};
use std::{fmt, str::FromStr, sync::Arc};

/// The most bytes one pointer may have.
const LONGEST_BYTES: usize = 256;

/// A place below an object: begins with a slash, at most 256 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(Arc<str>);

impl Pointer {
    /// The pointer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Pointer {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match objection(text) {
            None => Ok(Self(text.into())),
            Some(why) => {
                let shown = text.chars().take(64).collect::<String>().escape_debug().to_string();
                Err(format!("`{shown}` is not a JSON Pointer: {why}"))
            }
        }
    }
}

/// RFC 6901 §3: begins with a slash, and a tilde is followed by 0 or 1. The empty pointer names the whole,
/// which is no fact.
pub(super) fn objection(pointer: &str) -> Option<&'static str> {
    if pointer.len() > LONGEST_BYTES {
        return Some("it is longer than 256 bytes");
    }
    if !pointer.starts_with('/') {
        return Some("it begins with `/`, such as `/amount`");
    }
    let tildes_fit = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if tildes_fit { None } else { Some("`~` stands only in `~0` and `~1`") }
}

/// RFC 6901 §4, from an object that is not yet a value of its own; a null counts as absent.
pub(super) fn lookup<'a>(object: &'a Map<String, Value>, pointer: &str) -> Option<&'a Value> {
    let rest = pointer.strip_prefix('/')?;
    let (first, rest) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let found = object.get(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)?;
    (!found.is_null()).then_some(found)
}

/// What may stand at a place, for a refusal: a list on the way stands for its entries, as one at the end does.
/// `None` is nothing there; where the way ends in a text, number or truth value before the place is reached, nobody
/// can tell what whoever reads the value makes of it.
pub(super) fn all_at<'a>(
    object: &'a Map<String, Value>,
    pointer: &str,
) -> Result<Vec<Option<&'a Value>>, Unclear> {
    let segments: Vec<String> =
        pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
    let Some((first, rest)) = segments.split_first() else { return Ok(vec![None]) };
    let mut found = Vec::new();
    follow(object.get(first), rest, &mut found)?;
    Ok(found)
}

/// The way to a place ends before it.
pub(super) struct Unclear;

fn follow<'a>(
    value: Option<&'a Value>,
    rest: &[String],
    found: &mut Vec<Option<&'a Value>>,
) -> Result<(), Unclear> {
    let value = value.filter(|value| !value.is_null());
    let (Some(value), Some((next, further))) = (value, rest.split_first()) else {
        found.push(value);
        return Ok(());
    };
    match value {
        Value::Object(members) => follow(members.get(next), further, found),
        Value::Array(items) => match next.parse::<usize>().ok().and_then(|place| items.get(place)) {
            Some(item) => follow(Some(item), further, found),
            None if items.is_empty() => {
                found.push(None);
                Ok(())
            }
            None => items.iter().try_for_each(|item| follow(Some(item), rest, found)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(Unclear),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_on_the_way_stands_for_its_entries() {
        let at = |value: Value| {
            let found = all_at(value.as_object().unwrap(), "/to/email").ok()?;
            Some(found.into_iter().map(|value| value.cloned().unwrap_or_default()).collect::<Vec<_>>())
        };
        for (value, found) in [
            (json!({"to": {"email": "a"}}), Some(vec![json!("a")])),
            (json!({"to": [{"email": "a"}, {"email": ["b"]}]}), Some(vec![json!("a"), json!(["b"])])),
            (json!({"to": [[{"email": "a"}], {"name": "b"}]}), Some(vec![json!("a"), Value::Null])),
            (json!({"to": []}), Some(vec![Value::Null])),
            (json!({"to": null}), Some(vec![Value::Null])),
            (json!({}), Some(vec![Value::Null])),
            (json!({"to": "a"}), None),
            (json!({"to": [7]}), None),
        ] {
            assert_eq!(at(value.clone()), found, "{value}");
        }
        let second = json!({"to": ["a", "b"]});
        let found = all_at(second.as_object().unwrap(), "/to/1").ok().unwrap();
        assert_eq!(found, [Some(&json!("b"))], "a place in a list is that place");
    }
}
