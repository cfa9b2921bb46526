//! The JSON Schema of an intent's arguments: closed, offline, and linear in time.

use super::node::{below, shown};
use crate::domain::Malformed;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The most bytes of one `pattern`, and of memory that it and its search may take.
const LONGEST_PATTERN_BYTES: usize = 256;
const LARGEST_PATTERN_BYTES: usize = 64 * 1024;
const LARGEST_SEARCH_BYTES: usize = 256 * 1024;
/// How many patterns one schema may amount to with every reference followed: each may read all of a call's texts.
const MOST_PATTERNS: usize = 32;
/// How many references one schema may hold.
const MOST_REFERENCES: usize = 32;
/// How many schemas one schema may amount to with every reference followed: what checking one value can cost.
const MOST_WORK: usize = 400;
/// How many faults of one instance are named; what lies beyond is left out.
const MOST_FAULTS: usize = 20;

/// Keywords whose subschemas speak about the same instance; `not` and `if` are left alone, since
/// closing what they test would turn a restriction into a permission.
const SAME_INSTANCE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_INSTANCE: [&str; 2] = ["then", "else"];
/// Keywords whose subschemas speak about members and entries.
const INSIDE_MAPS: [&str; 2] = ["properties", "patternProperties"];
const INSIDE: [&str; 4] = ["additionalProperties", "unevaluatedProperties", "items", "unevaluatedItems"];

/// Compiles a schema (draft 2020-12).
///
/// An object that the schema gives properties accepts no others, unless the schema itself says so with
/// `additionalProperties` or `unevaluatedProperties`; the outermost object is closed even without any.
/// `format` is not asserted; a `pattern` has neither look-around nor back-references; references lead
/// nowhere outside the schema.
pub(super) fn compile(schema: &Value) -> Result<Validator, Malformed> {
    if let Some(dialect) = schema.get("$schema")
        && dialect.as_str().map(|uri| uri.trim_end_matches('#')) != Some(DIALECT)
    {
        let detail = format!("`{}` is not the dialect read here: {DIALECT}", shown(dialect));
        return Err(Malformed::at("/$schema", detail));
    }
    let mut references = 0;
    check_references(schema, "", &mut references)?;
    if references > MOST_REFERENCES {
        return Err(Malformed::whole(format!("{references} references, {MOST_REFERENCES} are allowed")));
    }
    measure(schema, schema, &mut Vec::new(), &mut Work::default())?;
    let mut closed = schema.clone();
    close(&mut closed, schema, true);
    if let Some(object) = closed.as_object_mut()
        && !object.contains_key("additionalProperties")
    {
        object.entry("unevaluatedProperties").or_insert(json!(false));
    }
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(
            PatternOptions::regex().size_limit(LARGEST_PATTERN_BYTES).dfa_size_limit(LARGEST_SEARCH_BYTES),
        )
        .should_validate_formats(false)
        .offline()
        .build(&closed)
        .map_err(|error| {
            Malformed::at(error.instance_path().as_str(), format!("not a JSON Schema: {}", error.masked()))
        })
}

/// Checks an instance; every place where it does not fit is a fault.
pub(super) fn check(validator: &Validator, instance: &Value) -> Result<(), Malformed> {
    let mut faults = Vec::new();
    for error in validator.iter_errors(instance).take(MOST_FAULTS) {
        faults.extend(explain(&error).faults.into_iter().take(MOST_FAULTS));
    }
    faults.truncate(MOST_FAULTS);
    if faults.is_empty() { Ok(()) } else { Err(Malformed { faults }) }
}

fn explain(error: &ValidationError<'_>) -> Malformed {
    let place = error.instance_path().as_str();
    #[expect(clippy::wildcard_enum_match_arm, reason = "the library's kinds of error, not ours")]
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let faults = unexpected.iter().flat_map(|name| {
                let detail = format!("unknown member `{}`", name.escape_debug());
                Malformed::at(below(place, name), detail).faults
            });
            Malformed { faults: faults.collect() }
        }
        ValidationErrorKind::Required { property } => {
            Malformed::at(place, format!("member `{}` is missing", shown(property)))
        }
        kind => {
            let detail = format!(
                "`{}` does not meet `{}`: {}",
                shown(error.instance()),
                kind.keyword(),
                error.masked()
            );
            Malformed::at(place, detail)
        }
    }
}

/// What checking one value against a schema can cost.
#[derive(Default)]
struct Work {
    schemas: usize,
    patterns: usize,
}

impl Work {
    /// One more schema.
    fn schema(&mut self) -> Result<(), Malformed> {
        self.schemas += 1;
        if self.schemas > MOST_WORK {
            let detail = format!("more than {MOST_WORK} schemas with its references followed");
            return Err(Malformed::whole(detail));
        }
        Ok(())
    }

    /// The patterns of one more schema.
    fn patterns(&mut self, members: &Map<String, Value>) -> Result<(), Malformed> {
        let written = members.get("pattern").and_then(Value::as_str);
        let of_names = members.get("patternProperties").and_then(Value::as_object);
        for pattern in
            written.into_iter().chain(of_names.into_iter().flatten().map(|(name, _)| name.as_str()))
        {
            self.patterns += 1;
            if pattern.len() > LONGEST_PATTERN_BYTES {
                let (bytes, shown) = (pattern.len(), shown(&json!(pattern)));
                let detail =
                    format!("the pattern `{shown}` has {bytes} bytes, {LONGEST_PATTERN_BYTES} are allowed");
                return Err(Malformed::whole(detail));
            }
        }
        if self.patterns > MOST_PATTERNS {
            let detail = format!("more than {MOST_PATTERNS} patterns with its references followed");
            return Err(Malformed::whole(detail));
        }
        Ok(())
    }
}

/// Follows every reference: one that leads back into what it stands in would make the work of checking a value grow
/// with the value's own nesting, without bound.
fn measure<'a>(
    schema: &'a Value,
    root: &'a Value,
    inside: &mut Vec<&'a Value>,
    work: &mut Work,
) -> Result<(), Malformed> {
    work.schema()?;
    match schema {
        Value::Object(members) => {
            work.patterns(members)?;
            if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                let wrong =
                    |why: &str| Malformed::whole(format!("the reference `{}` {why}", target.escape_debug()));
                let pointed = pointed(target, root).ok_or_else(|| wrong("leads nowhere"))?;
                if inside.iter().any(|outer| std::ptr::eq(*outer, pointed)) {
                    return Err(wrong("leads back into itself"));
                }
                inside.push(pointed);
                measure(pointed, root, inside, work)?;
                inside.pop();
            }
            // Definitions cost nothing where nothing refers to them.
            let followed =
                members.iter().filter(|(name, _)| !matches!(name.as_str(), "$defs" | "definitions"));
            followed
                .map(|(_, member)| member)
                .try_for_each(|member| measure_below(member, root, inside, work))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            measure_below(schema, root, inside, work)
        }
    }
}

/// Schemas stand in objects and in lists of them; texts and numbers are no work of their own.
fn measure_below<'a>(
    value: &'a Value,
    root: &'a Value,
    inside: &mut Vec<&'a Value>,
    work: &mut Work,
) -> Result<(), Malformed> {
    match value {
        Value::Object(_) => measure(value, root, inside, work),
        Value::Array(items) => items.iter().try_for_each(|item| measure_below(item, root, inside, work)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// What a reference leads to, however its pointer is spelt: as a fragment it may be percent-encoded (RFC 6901 §6).
fn pointed<'a>(target: &str, root: &'a Value) -> Option<&'a Value> {
    let pointer = percent_decode_str(target.strip_prefix('#')?).decode_utf8().ok()?;
    root.pointer(&pointer)
}

/// Counts references, and refuses those that lead outside the schema.
fn check_references(schema: &Value, pointer: &str, count: &mut usize) -> Result<(), Malformed> {
    match schema {
        Value::Object(members) => members.iter().try_for_each(|(name, value)| {
            let place = below(pointer, name);
            match (name.as_str(), value.as_str()) {
                ("$ref", Some(target)) if !target.starts_with('#') => {
                    Err(Malformed::at(place, format!("`{}` leads outside the schema", shown(value))))
                }
                ("$ref", Some(_)) => {
                    *count += 1;
                    Ok(())
                }
                ("$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor", Some(_)) => {
                    Err(Malformed::at(place, format!("`{name}` is not read here: refer by `#/…`")))
                }
                _ => check_references(value, &place, count),
            }
        }),
        Value::Array(items) => (items.iter().enumerate())
            .try_for_each(|(index, item)| check_references(item, &format!("{pointer}/{index}"), count)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Closes every object below `schema`, and `schema` itself where it speaks for a whole instance.
fn close(schema: &mut Value, whole: &Value, speaks_for_instance: bool) {
    let names_properties = names_properties(schema, whole, &mut BTreeSet::new());
    let Some(object) = schema.as_object_mut() else { return };
    let says = object.contains_key("additionalProperties") || object.contains_key("unevaluatedProperties");
    for keyword in SAME_INSTANCE_LISTS {
        let subschemas = object.get_mut(keyword).and_then(Value::as_array_mut);
        subschemas.into_iter().flatten().for_each(|subschema| close(subschema, whole, false));
    }
    for keyword in ["$defs", "dependentSchemas"] {
        let subschemas = object.get_mut(keyword).and_then(Value::as_object_mut);
        subschemas.into_iter().flatten().for_each(|(_, subschema)| close(subschema, whole, false));
    }
    for keyword in INSIDE_MAPS {
        let subschemas = object.get_mut(keyword).and_then(Value::as_object_mut);
        subschemas.into_iter().flatten().for_each(|(_, subschema)| close(subschema, whole, true));
    }
    for keyword in SAME_INSTANCE {
        object.get_mut(keyword).into_iter().for_each(|subschema| close(subschema, whole, false));
    }
    for keyword in INSIDE {
        object.get_mut(keyword).into_iter().for_each(|subschema| close(subschema, whole, true));
    }
    let prefix = object.get_mut("prefixItems").and_then(Value::as_array_mut);
    prefix.into_iter().flatten().for_each(|subschema| close(subschema, whole, true));
    if speaks_for_instance && names_properties && !says {
        object.insert("unevaluatedProperties".to_owned(), json!(false));
    }
}

/// Whether a schema names properties of its instance, itself or through what it applies to the same one.
fn names_properties<'a>(schema: &'a Value, whole: &'a Value, followed: &mut BTreeSet<&'a str>) -> bool {
    let Some(object) = schema.as_object() else { return false };
    if object.contains_key("properties") || object.contains_key("patternProperties") {
        return true;
    }
    let lists = SAME_INSTANCE_LISTS.iter().filter_map(|keyword| object.get(*keyword)?.as_array()).flatten();
    let singles = SAME_INSTANCE.iter().filter_map(|keyword| object.get(*keyword));
    let dependent = object.get("dependentSchemas").and_then(Value::as_object);
    let dependent = dependent.into_iter().flat_map(|subschemas| subschemas.values());
    let target = object
        .get("$ref")
        .and_then(Value::as_str)
        .filter(|reference| followed.insert(reference))
        .and_then(|reference| pointed(reference, whole));
    lists
        .chain(singles)
        .chain(dependent)
        .chain(target)
        .any(|subschema| names_properties(subschema, whole, followed))
}
