//! References inside a catalogue entry's schema lead where they lead however they are spelt (RFC 6901 §6).

use crate::engine::{CatalogueEntry, derive, read_request};
use serde_json::{Value, json};

fn entry(schema: &Value) -> Result<CatalogueEntry, String> {
    let entry = json!({"title": "t", "effect": false, "arguments": schema});
    CatalogueEntry::read(&entry).map_err(|fault| fault.to_string())
}

fn accepts(schema: &Value, arguments: Value) -> bool {
    let described = read_request(&json!({"intent": "x", "arguments": arguments})).unwrap();
    derive(&entry(schema).unwrap(), &described).is_ok()
}

#[test]
fn a_percent_encoded_reference_into_itself_is_refused() {
    for spelt in ["#/$defs/n", "#/%24defs/n", "#/$%64efs/%6e", "#%2F$defs/n"] {
        let inside = json!({"properties": {"k": {"allOf": [{"$ref": spelt}, {"$ref": "#/$defs/n"}]}}});
        let schema = json!({"properties": {"a": {"$ref": spelt}}, "$defs": {"n": inside}});
        let refused = entry(&schema).unwrap_err();
        assert!(refused.contains("leads back into itself"), "{spelt}: {refused}");
    }
}

#[test]
fn what_a_percent_encoded_reference_names_is_closed_as_well() {
    let named = json!({"type": "object", "properties": {"k": {"type": "string"}}});
    for spelt in ["#/$defs/n", "#/%24defs/n"] {
        let schema = json!({"properties": {"a": {"$ref": spelt}}, "$defs": {"n": named}});
        assert!(accepts(&schema, json!({"a": {"k": "v"}})), "{spelt}");
        assert!(!accepts(&schema, json!({"a": {"k": "v", "evil": 1}})), "{spelt}");
    }
}

#[test]
fn a_reference_that_leads_nowhere_is_refused() {
    for spelt in ["#/$defs/missing", "#/%24defs/missing", "#/%ff"] {
        assert!(entry(&json!({"properties": {"a": {"$ref": spelt}}})).is_err(), "{spelt}");
    }
}
