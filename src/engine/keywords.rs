//! What the keywords of a JSON Schema may say, so that a faulty one is named at its place with what is allowed.
//!
//! The library that compiles schemas finds the same, and says it of the whole document.

use super::node::{Faults, Members, Node};
use serde_json::Value;

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

/// What a keyword says, if it is one of draft 2020-12; other members say nothing.
fn shape(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "additionalProperties"
        | "unevaluatedProperties"
        | "items"
        | "unevaluatedItems"
        | "contains"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else" => Shape::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Shape::Schemas,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Shape::SchemaMap,
        "type" => Shape::Type,
        "required" => Shape::Texts,
        "enum" => Shape::Values,
        "dependentRequired" => Shape::TextsMap,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Shape::Number,
        "multipleOf" => Shape::Positive,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => Shape::Count,
        "uniqueItems" => Shape::Truth,
        "$ref" | "pattern" | "format" | "title" | "description" => Shape::Text,
        _ => return None,
    })
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
            said(&node, &shape, faults);
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
