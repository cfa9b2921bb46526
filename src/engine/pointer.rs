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
