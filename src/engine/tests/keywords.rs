//! Members of an entry's schema that are no keywords, and what is said of them.

use super::*;
use crate::engine::CatalogueEntry;

fn entry(arguments: Value) -> CatalogueEntry {
    let entry = json!({"title": "t", "effect": false, "arguments": arguments});
    CatalogueEntry::read(&entry).expect("it was put before that was checked")
}

fn named(arguments: Value) -> Vec<String> {
    let refused = entry(arguments).check_meant().err().map(|malformed| malformed.faults).unwrap_or_default();
    refused.into_iter().map(|fault| format!("{}: {}", fault.pointer, fault.detail)).collect()
}

#[test]
fn a_misspelt_keyword_is_named_with_the_nearest_one() {
    for (misspelt, nearest) in [
        ("maxmum", "maximum"),
        ("Maximum", "maximum"),
        ("maxLenght", "maxLength"),
        ("max_length", "maxLength"),
        ("additionalproperties", "additionalProperties"),
        ("propertees", "properties"),
        ("require", "required"),
        ("patern", "pattern"),
        ("$defs ", "$defs"),
    ] {
        let detail = format!("unknown keyword `{misspelt}`, the nearest one is `{nearest}`");
        assert_eq!(named(json!({misspelt: 5})), [format!("/arguments/{misspelt}: {detail}")]);
    }
}

#[test]
fn a_misspelt_keyword_is_found_wherever_a_schema_stands() {
    let wrong = json!({"maxmum": 5});
    let around: [(&str, Value); 11] = [
        ("/properties/a", json!({"properties": {"a": wrong}})),
        ("/properties/maximum", json!({"properties": {"maximum": wrong}})),
        ("/patternProperties/^a", json!({"patternProperties": {"^a": wrong}})),
        ("/$defs/a", json!({"$defs": {"a": wrong}})),
        ("/dependentSchemas/a", json!({"dependentSchemas": {"a": wrong}})),
        ("/additionalProperties", json!({"additionalProperties": wrong})),
        ("/items", json!({"items": wrong})),
        ("/not", json!({"not": wrong})),
        ("/then", json!({"if": true, "then": wrong})),
        ("/prefixItems/1", json!({"prefixItems": [true, wrong]})),
        ("/anyOf/0/allOf/0", json!({"anyOf": [{"allOf": [wrong]}]})),
    ];
    for (place, schema) in around {
        let found = named(schema);
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("/arguments{place}/maxmum: ")),
            "{found:?}"
        );
    }
}

#[test]
fn another_dialects_keyword_and_a_word_of_ones_own_are_no_keywords() {
    for (name, value) in [
        ("dependencies", json!({})),
        ("$recursiveRef", json!("#")),
        ("limit", json!(5)),
        ("X-note", json!("n")),
        ("f", json!(1)),
    ] {
        let found = named(json!({name: value}));
        assert!(found.len() == 1 && found[0].contains(&format!("unknown keyword `{name}`")), "{found:?}");
    }
    assert!(named(json!({"limit": 5}))[0].contains("a note stands in `$comment`"));
}

#[test]
fn every_keyword_a_note_and_a_property_of_any_name_may_stand() {
    let notes = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "c", "x-owner": {"maxmum": 5},
        "title": "t", "description": "d", "default": {"maxmum": 5}, "examples": [{"maxmum": 5}], "deprecated": false,
        "readOnly": false, "writeOnly": false,
    });
    let objects = json!({
        "type": "object", "required": [], "minProperties": 0, "maxProperties": 9, "dependentRequired": {},
        "dependentSchemas": {}, "propertyNames": true, "additionalProperties": false, "unevaluatedProperties": false,
        "patternProperties": {}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": true},
    });
    let applied = json!({
        "allOf": [true], "anyOf": [true], "oneOf": [true], "not": false, "if": true, "then": true, "else": true,
    });
    let number = json!({"type": "integer", "minimum": 0, "maximum": 5, "exclusiveMinimum": -1, "exclusiveMaximum": 6,
        "multipleOf": 1});
    let text = json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "a", "format": "date",
        "contentEncoding": "base64", "contentMediaType": "text/plain", "contentSchema": {}});
    let list = json!({"type": "array", "minItems": 0, "maxItems": 9, "uniqueItems": true, "contains": true,
        "minContains": 0, "maxContains": 9, "prefixItems": [true], "items": true, "unevaluatedItems": false});
    let values = json!({"enum": [{"maxmum": 5}], "const": {"maxmum": 5}});
    for schema in [notes, objects, applied, number, text, list, values] {
        assert_eq!(named(schema.clone()), Vec::<String>::new());
        assert_eq!(named(json!({"properties": {"maxmum": schema}})), Vec::<String>::new());
    }
}

#[test]
fn places_and_keywords_are_named_together() {
    let entry = json!({"title": "t", "effect": false, "resource": "/oder",
        "arguments": {"properties": {"order": {"maxmum": 5}}}});
    let faults = CatalogueEntry::read(&entry).unwrap().check_meant().unwrap_err().faults;
    let places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(places, ["/arguments/properties/order/maxmum", "/resource"]);
}
