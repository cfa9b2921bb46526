//! Salted commitments: personal content stands beside a document, and only its hash stands in it.
//!
//! In the document: `{"commitment": "sha256:…"}`, SHA-256 of 16 salt bytes and the canonical value. Beside it,
//! in `content`, an object whose member names are JSON Pointers (RFC 6901) into the line, such as
//! `/input/counterparties`, each with `{"salt": "<32 hex digits>", "value": …}`. Erasing content removes that
//! entry; every hash still holds.

use super::{canonical, members::Members};
use crate::crypto::sha256_of_parts;
use crate::domain::{Hash, Malformed};
use serde_json::{Map, Value, json};
use std::{fmt, str::FromStr};

/// 16 random bytes that keep a short value from being guessed from its hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt")
    }
}

impl FromStr for Salt {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut bytes = [0u8; 16];
        hex::decode_to_slice(text, &mut bytes)
            .map_err(|_| format!("`{}` is not a salt: 32 lower-case hex digits", text.escape_debug()))?;
        Ok(Self(bytes))
    }
}

/// What opens a commitment.
#[derive(Clone, PartialEq, Debug)]
pub struct Opening {
    /// The salt it was made with.
    pub salt: Salt,
    /// The value.
    pub value: Value,
}

impl Opening {
    /// The hash it opens.
    pub fn commitment(&self) -> Hash {
        commit(&self.salt, &self.value)
    }

    /// What stands in `content`.
    pub fn to_json(&self) -> Value {
        json!({"salt": self.salt.to_string(), "value": self.value})
    }

    /// Reads an entry of `content`, strictly.
    pub fn from_json(entry: &Value) -> Result<Self, Malformed> {
        let mut members = Members::of(entry, "an opening")?;
        let opening = Self { salt: members.spelt("salt")?, value: members.required("value")?.clone() };
        members.end()?;
        Ok(opening)
    }
}

/// SHA-256 of the salt and the canonical value.
pub fn commit(salt: &Salt, value: &Value) -> Hash {
    let mut bytes = Vec::with_capacity(256);
    canonical::write(value, &mut bytes);
    commit_canonical(salt, &bytes)
}

/// SHA-256 of the salt and a value that is in canonical form.
pub fn commit_canonical(salt: &Salt, value: &[u8]) -> Hash {
    sha256_of_parts(&[&salt.0, value])
}

/// What stands in a document in place of a value.
pub fn placeholder(commitment: &Hash) -> Value {
    json!({"commitment": commitment.to_string()})
}

/// The hash of a placeholder: an object with the one member `commitment`.
pub fn committed(value: &Value) -> Option<Hash> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object.get("commitment")?.as_str()?.parse().ok()
}

/// An entry of `content` that opens nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The entry's pointer, as it stands there.
    pub pointer: String,
    /// What the document has there.
    pub expected: String,
    /// What the entry makes of it.
    pub found: String,
}

/// How many commitments the documents hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Commitments {
    /// With an opening that fits.
    pub opened: usize,
    /// Without one: erased, or never handed out.
    pub closed: usize,
}

/// Checks that every entry of `content` opens the commitment it points at, in `/input…` or `/output…`.
pub fn check_content(
    input: Option<&Value>,
    output: Option<&Value>,
    content: Option<&Value>,
) -> Result<Commitments, Mismatch> {
    let none = Map::new();
    let entries = match content {
        None => &none,
        Some(content) => content.as_object().ok_or_else(|| Mismatch {
            pointer: String::new(),
            expected: "an object of openings by pointer".into(),
            found: "another kind of value".into(),
        })?,
    };
    for (pointer, entry) in entries {
        let mismatch =
            |expected: String, found: String| Err(Mismatch { pointer: pointer.clone(), expected, found });
        let Some(commitment) = resolve(pointer, input, output).and_then(committed) else {
            return mismatch("a commitment at this place".into(), "none".into());
        };
        match Opening::from_json(entry) {
            Err(fault) => return mismatch("a salt and a value".into(), fault.to_string()),
            Ok(opening) if opening.commitment() != commitment => {
                return mismatch(commitment.to_string(), opening.commitment().to_string());
            }
            Ok(_) => {}
        }
    }
    let all = [input, output].into_iter().flatten().map(count).sum::<usize>();
    Ok(Commitments { opened: entries.len(), closed: all.saturating_sub(entries.len()) })
}

fn resolve<'a>(pointer: &str, input: Option<&'a Value>, output: Option<&'a Value>) -> Option<&'a Value> {
    let within = |document: Option<&'a Value>, rest: &str| document?.pointer(rest);
    if let Some(rest) = pointer.strip_prefix("/input") {
        within(input, rest)
    } else {
        within(output, pointer.strip_prefix("/output")?)
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Object(_) if committed(value).is_some() => 1,
        Value::Object(members) => members.values().map(count).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::sha256;

    fn opening(byte: u8, value: Value) -> Opening {
        Opening { salt: Salt([byte; 16]), value }
    }

    #[test]
    fn a_commitment_is_the_hash_of_salt_and_canonical_value() {
        let bytes = [&[9u8; 16][..], br#"{"a":1,"b":"x"}"#].concat();
        assert_eq!(commit(&Salt([9; 16]), &json!({"b": "x", "a": 1.0})), sha256(&bytes));
    }

    #[test]
    fn content_opens_what_it_points_at_and_erased_content_is_counted() {
        let (one, two) = (opening(1, json!(["acct:1"])), opening(2, json!({"deep": [1, null]})));
        let input = json!({"intent": "a.b", "counterparties": placeholder(&one.commitment()),
            "arguments": [{"x/y": placeholder(&two.commitment())}]});
        let output = json!({"detail": placeholder(&one.commitment())});
        let content = json!({"/input/counterparties": one.to_json(), "/input/arguments/0/x~1y": two.to_json(),
            "/output/detail": one.to_json()});
        let counted = check_content(Some(&input), Some(&output), Some(&content));
        assert_eq!(counted, Ok(Commitments { opened: 3, closed: 0 }));
        assert_eq!(
            check_content(Some(&input), Some(&output), None),
            Ok(Commitments { opened: 0, closed: 3 })
        );
    }

    #[test]
    fn an_entry_that_opens_nothing_is_named() {
        let right = opening(1, json!("x"));
        let input = json!({"who": placeholder(&right.commitment()), "plain": "x"});
        let entry = right.to_json();
        for (pointer, entry) in [
            ("/input/nobody", entry.clone()),
            ("/input/plain", entry.clone()),
            ("/who", entry.clone()),
            ("/input", entry.clone()),
            ("/inputs/who", entry.clone()),
            ("/output/who", entry.clone()),
            ("", entry.clone()),
            ("/input/who", json!({"salt": "01".repeat(16), "value": "y"})),
            ("/input/who", json!({"salt": "02".repeat(16), "value": "x"})),
            ("/input/who", json!({"salt": "01".repeat(15), "value": "x"})),
            ("/input/who", json!({"salt": "0A".repeat(16), "value": "x"})),
            ("/input/who", json!({"salt": "01".repeat(16)})),
            ("/input/who", json!({"salt": "01".repeat(16), "value": "x", "more": 1})),
            ("/input/who", json!("x")),
        ] {
            let mut content = Map::new();
            content.insert(pointer.to_owned(), entry);
            let said = check_content(Some(&input), None, Some(&Value::Object(content.clone()))).unwrap_err();
            assert_eq!(said.pointer, pointer, "{content:?}");
        }
        assert!(check_content(Some(&input), None, Some(&json!([]))).is_err());
    }
}
