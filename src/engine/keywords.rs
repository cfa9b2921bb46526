//! What the keywords of a JSON Schema may say, so that a faulty one is named at its place with what is allowed.
//!
//! The library that compiles schemas finds the same, and says it of the whole document; but a misspelt keyword is none to
//! it, and says nothing.

use super::node::{Faults, Members, Node, shown};
use serde_json::{Value, json};

/// The kinds of value that `type` names (JSON Schema 2020-12, Validation §6.1.1).
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// The most entries of one list in a schema.
const MOST_ENTRIES: usize = 1024;

/// What a keyword says.
enum Shape {
    /// A schema: an object, true or false.
    Schema,
    /// A list of schemas, at least one.
    Schemas,
    /// An object whose members are schemas.
    SchemaMap,
    /// The kinds of value.
    Type,
    /// A list of texts.
    Texts,
    /// A list of any values.
    Values,
    /// An object whose members are lists of texts.
    TextsMap,
    /// A number.
    Number,
    /// A number above 0.
    Positive,
    /// A whole number, not below 0.
    Count,
    /// `true` or `false`.
    Truth,
    /// A text.
    Text,
}

/// The keywords of draft 2020-12 that say something, by what they say.
const KEYWORDS: [(Shape, &[&str]); 12] = [
    (
        Shape::Schema,
        &[
            "additionalProperties",
            "unevaluatedProperties",
            "items",
            "unevaluatedItems",
            "contains",
            "propertyNames",
            "not",
            "if",
            "then",
            "else",
        ],
    ),
    (Shape::Schemas, &["allOf", "anyOf", "oneOf", "prefixItems"]),
    (Shape::SchemaMap, &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]),
    (Shape::Type, &["type"]),
    (Shape::Texts, &["required"]),
    (Shape::Values, &["enum"]),
    (Shape::TextsMap, &["dependentRequired"]),
    (Shape::Number, &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
    (Shape::Positive, &["multipleOf"]),
    (
        Shape::Count,
        &[
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minContains",
            "maxContains",
            "minProperties",
            "maxProperties",
        ],
    ),
    (Shape::Truth, &["uniqueItems"]),
    (Shape::Text, &["$ref", "pattern", "format", "title", "description"]),
];
/// Keywords of draft 2020-12 that may say anything here: notes, and those that are looked over elsewhere.
const OTHERS: [&str; 15] = [
    "const",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "$schema",
    "$comment",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
];
/// How the names of notes of one's own begin.
const OWN_NOTE: &str = "x-";

/// What a keyword says, if it is one that says something.
fn shape(keyword: &str) -> Option<&'static Shape> {
    KEYWORDS.iter().find(|(_, names)| names.contains(&keyword)).map(|(shape, _)| shape)
}

/// Notes every member at and below a schema that is no keyword: it would bound nothing, whatever was meant by it.
pub(super) fn check_names(schema: &Node<'_>, faults: &mut Faults) {
    let Some(members) = schema.value().is_object().then(|| schema.open_object(faults)).flatten() else {
        return;
    };
    for (name, node) in members.iter() {
        match shape(name) {
            Some(Shape::Schema) => check_names(&node, faults),
            Some(Shape::Schemas) => {
                let entries = node.list(1..=MOST_ENTRIES, faults);
                entries.iter().flatten().for_each(|entry| check_names(entry, faults));
            }
            Some(Shape::SchemaMap) => {
                let members = node.open_object(faults);
                members.iter().flat_map(Members::iter).for_each(|(_, entry)| check_names(&entry, faults));
            }
            Some(
                Shape::Type
                | Shape::Texts
                | Shape::Values
                | Shape::TextsMap
                | Shape::Number
                | Shape::Positive
                | Shape::Count
                | Shape::Truth
                | Shape::Text,
            ) => {}
            None if OTHERS.contains(&name) || name.starts_with(OWN_NOTE) => {}
            None => node.fault(faults, unknown(name)),
        }
    }
}

fn unknown(name: &str) -> String {
    let known = KEYWORDS.iter().flat_map(|(_, names)| names.iter().copied()).chain(["const", "default"]);
    let nearest = known.map(|known| (strsim::damerau_levenshtein(name, known), known)).min();
    let shown = shown(&json!(name));
    // Farther than half of it is another word.
    match nearest.filter(|(distance, _)| distance.saturating_mul(2) <= name.chars().count()) {
        Some((_, nearest)) => format!("unknown keyword `{shown}`, the nearest one is `{nearest}`"),
        None => format!(
            "unknown keyword `{shown}`, which bounds nothing: a note stands in `$comment`, or under a name that begins \
             with `{OWN_NOTE}`"
        ),
    }
}

/// Notes every keyword at and below a schema that says what it may not.
pub(super) fn check(schema: &Node<'_>, faults: &mut Faults) {
    if schema.value().is_boolean() {
        return;
    }
    if !schema.value().is_object() {
        schema.unexpected::<()>("a schema: an object, true or false", faults);
        return;
    }
    for (name, node) in schema.open_object(faults).iter().flat_map(Members::iter) {
        if let Some(shape) = shape(name) {
            said(&node, shape, faults);
        }
    }
}

fn said(node: &Node<'_>, shape: &Shape, faults: &mut Faults) {
    match shape {
        Shape::Schema => check(node, faults),
        Shape::Schemas => {
            let entries = node.list(1..=MOST_ENTRIES, faults);
            entries.iter().flatten().for_each(|entry| check(entry, faults));
        }
        Shape::SchemaMap => {
            let members = node.open_object(faults);
            members.iter().flat_map(Members::iter).for_each(|(_, entry)| check(&entry, faults));
        }
        Shape::Type => kinds(node, faults),
        Shape::Texts => texts(node, faults),
        Shape::Values => {
            node.list(0..=MOST_ENTRIES, faults);
        }
        Shape::TextsMap => {
            let members = node.open_object(faults);
            members.iter().flat_map(Members::iter).for_each(|(_, entry)| texts(&entry, faults));
        }
        Shape::Number if !node.value().is_number() => {
            node.unexpected::<()>("a number", faults);
        }
        Shape::Positive if node.value().as_f64().is_none_or(|number| number <= 0.0) => {
            node.unexpected::<()>("a number above 0", faults);
        }
        // A whole number may be written with a fraction of nothing.
        Shape::Count if !is_count(node.value()) => {
            node.unexpected::<()>("a whole number, 0 or more", faults);
        }
        Shape::Truth => {
            node.boolean(faults);
        }
        Shape::Text => {
            node.text(faults);
        }
        Shape::Number | Shape::Positive | Shape::Count => {}
    }
}

fn kinds(node: &Node<'_>, faults: &mut Faults) {
    let words = TYPES.map(|name| (name, ()));
    if node.value().is_array() {
        let entries = node.list(1..=TYPES.len(), faults);
        for entry in entries.iter().flatten() {
            entry.word(&words, faults);
        }
    } else {
        node.word(&words, faults);
    }
}

fn texts(node: &Node<'_>, faults: &mut Faults) {
    for entry in node.list(0..=MOST_ENTRIES, faults).iter().flatten() {
        entry.text(faults);
    }
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

/// Whether a JSON Pointer may lead somewhere in what a schema takes; what cannot be told may.
///
/// Closed is what the schema closes itself, and what it gives properties without saying anything of others.
pub(super) fn may_hold(schema: &Value, pointer: &str) -> bool {
    let tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    let mut at = schema;
    for token in tokens {
        let Some(members) = at.as_object() else { return at != &Value::Bool(false) };
        if ELSEWHERE.iter().any(|keyword| members.contains_key(*keyword)) {
            return true;
        }
        let named = members.get("properties").and_then(Value::as_object);
        let kind = members.get("type").and_then(Value::as_str);
        if let Some(below) = named.and_then(|named| named.get(&token)) {
            at = below;
            continue;
        }
        match (kind, members.get("additionalProperties").or_else(|| members.get("unevaluatedProperties"))) {
            (Some("array"), _) => return token.parse::<usize>().is_ok(),
            (Some("string" | "number" | "integer" | "boolean" | "null"), _)
            | (_, Some(Value::Bool(false))) => return false,
            (_, None) if named.is_some() => return false,
            (_, Some(_) | None) => return true,
        }
    }
    true
}

/// Keywords by which a member may be allowed at another place than under `properties`.
const ELSEWHERE: [&str; 11] = [
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "patternProperties",
    "dependentSchemas",
    "$dynamicRef",
    "prefixItems",
];
