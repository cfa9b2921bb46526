//! From the text of a document, JSON or YAML, to a JSON value; strict in both.

use super::node::below;
use crate::domain::{Malformed, json};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{
    DuplicateKeyPolicy, Error as YamlError, MergeKeyPolicy, NonFiniteFloatPolicy, Options, Spanned, budget,
    budget::BudgetBreach, options,
};
use std::fmt;

/// How a document is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// RFC 8259.
    Json,
    /// YAML 1.2, without anchors, aliases, merge keys and tags of one's own.
    Yaml,
}

impl Notation {
    /// JSON where the text opens with a brace or bracket, otherwise YAML.
    pub fn of(text: &[u8]) -> Self {
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[') => Self::Json,
            Some(_) | None => Self::Yaml,
        }
    }
}

/// Reads a document of at most 256 KiB, nested at most 32 deep.
///
/// In YAML, `yes` and `no` are texts, `NO` is Norway, and a bare number must be written as JSON would,
/// since it may be money: every digit counts, `0x10` and `1_000` are refused.
///
/// # Errors
/// What stands twice, what is no document of that notation, and numbers that would lose digits.
pub fn read_text(text: &[u8], notation: Notation) -> Result<Value, Malformed> {
    match notation {
        Notation::Json => json::parse_up_to(text, json::LARGEST_DOCUMENT_BYTES),
        Notation::Yaml => yaml(text),
    }
}

fn yaml(bytes: &[u8]) -> Result<Value, Malformed> {
    let largest = json::LARGEST_DOCUMENT_BYTES;
    if bytes.len() > largest {
        return Err(Malformed::whole(format!("{} bytes, {largest} are allowed", bytes.len())));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Malformed::whole("not YAML: the text is not UTF-8"))?;
    let written: Spanned<Written> =
        serde_saphyr::from_str_with_options(text, strict()).map_err(|error| not_yaml(&error, text))?;
    resolve(written, text, "")
}

fn strict() -> Options {
    options! {
        budget: budget! {
            max_depth: json::DEEPEST,
            max_anchors: 0,
            max_aliases: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_nodes: json::LARGEST_DOCUMENT_BYTES,
            max_total_scalar_bytes: json::LARGEST_DOCUMENT_BYTES,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

/// What is wrong in our words where the library speaks of its own settings, and in its words elsewhere.
fn not_yaml(error: &YamlError, text: &str) -> Malformed {
    let place = error.location().map_or(String::new(), |location| {
        format!("line {}, column {}: ", location.line(), location.column())
    });
    #[expect(clippy::wildcard_enum_match_arm, reason = "the library's kinds of error, not ours")]
    let what = match error {
        YamlError::DuplicateMappingKey { key: Some(key), .. } => {
            format!("member `{}` stands twice", key.escape_debug())
        }
        YamlError::DuplicateMappingKey { key: None, .. } => "a member stands twice".to_owned(),
        YamlError::MergeKeyNotAllowed { .. } => "merge keys (`<<`) are not allowed".to_owned(),
        YamlError::Budget { breach: BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. }, .. } => {
            "anchors (`&`) and aliases (`*`) are not allowed: quote the text if it is one".to_owned()
        }
        YamlError::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("nested deeper than {}", json::DEEPEST)
        }
        YamlError::Budget { breach: BudgetBreach::Documents { .. }, .. }
        | YamlError::MultipleDocuments { .. } => "a second document begins, one is allowed".to_owned(),
        YamlError::Budget { .. } => "it is larger than any document that is read".to_owned(),
        other => {
            let said = other.to_string();
            let first = said.lines().next().unwrap_or_default();
            let plain = first.rsplit_once(" at line ").map_or(first, |(before, _)| before);
            if error.location().is_some_and(|location| holds_sign(text, location.line())) {
                format!("{plain} (a text that begins with `*`, `&` or `!` needs quotes)")
            } else {
                plain.to_owned()
            }
        }
    };
    Malformed::whole(format!("not YAML: {place}{what}"))
}

/// Whether a word of a line begins with what YAML reads as a sign of its own; lines count from 1.
fn holds_sign(text: &str, line: u64) -> bool {
    let line = usize::try_from(line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?));
    let begins = |word: &str| word.starts_with(['*', '&', '!']);
    line.is_some_and(|line| line.split(|c: char| c.is_whitespace() || "[]{},".contains(c)).any(begins))
}

/// What YAML says a node is; numbers stay where they are written.
enum Written {
    Null,
    Truth(bool),
    Number,
    Text(String),
    List(Vec<Spanned<Written>>),
    Object(Vec<(String, Spanned<Written>)>),
}

fn resolve(node: Spanned<Written>, text: &str, pointer: &str) -> Result<Value, Malformed> {
    match node.value {
        Written::Null => Ok(Value::Null),
        Written::Truth(truth) => Ok(Value::Bool(truth)),
        Written::Text(text) => Ok(Value::String(text)),
        Written::Number => {
            let span = node.defined.span();
            let digits = span
                .byte_offset()
                .zip(span.byte_len())
                .and_then(|(start, length)| {
                    let start = usize::try_from(start).ok()?;
                    text.get(start..start.checked_add(usize::try_from(length).ok()?)?)
                })
                .unwrap_or_default()
                .trim();
            if let Ok(Value::Number(number)) = json::parse(digits.as_bytes()) {
                return Ok(Value::Number(number));
            }
            let shown: String = digits.chars().take(40).collect();
            let shown = shown.escape_debug();
            let detail = format!("`{shown}` is not a number as JSON writes it with all its digits: quote it");
            Err(Malformed::at(pointer, detail))
        }
        Written::List(items) => {
            let items = items.into_iter().enumerate();
            items.map(|(index, item)| resolve(item, text, &format!("{pointer}/{index}"))).collect()
        }
        Written::Object(members) => {
            let mut object = Map::new();
            for (name, value) in members {
                let place = below(pointer, &name);
                let value = resolve(value, text, &place)?;
                if object.insert(name, value).is_some() {
                    return Err(Malformed::at(place, "this member stands twice"));
                }
            }
            Ok(Value::Object(object))
        }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML node")
    }
    fn visit_unit<E>(self) -> Result<Written, E> {
        Ok(Written::Null)
    }
    fn visit_none<E>(self) -> Result<Written, E> {
        Ok(Written::Null)
    }
    fn visit_bool<E>(self, truth: bool) -> Result<Written, E> {
        Ok(Written::Truth(truth))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Written, E> {
        Ok(Written::Number)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Written, E> {
        Ok(Written::Number)
    }
    fn visit_i128<E>(self, _: i128) -> Result<Written, E> {
        Ok(Written::Number)
    }
    fn visit_u128<E>(self, _: u128) -> Result<Written, E> {
        Ok(Written::Number)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Written, E> {
        Ok(Written::Number)
    }
    fn visit_str<E>(self, text: &str) -> Result<Written, E> {
        Ok(Written::Text(text.to_owned()))
    }
    fn visit_string<E>(self, text: String) -> Result<Written, E> {
        Ok(Written::Text(text))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Written, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Written::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Written, A::Error> {
        let mut object = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            object.push((name, members.next_value()?));
        }
        Ok(Written::Object(object))
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Written, D::Error> {
        de::Deserialize::deserialize(deserializer)
    }
}
