//! A catalogue from a file: as `GET /v1/catalogue` answers it, or as an object of intents with their entries.

use crate::domain::{Intent, Malformed};
use crate::engine::{Catalogue, CatalogueEntry};
use serde_json::Value;
use std::sync::Arc;

/// Reads a catalogue in either form. What the service answers was put there; what stands in a file of its own is held to
/// what it would be held to when it is put.
pub(super) fn read(value: &Value) -> Result<Catalogue, Malformed> {
    let mut catalogue = Catalogue::default();
    let mut add = |intent: &str, entry: &Value, pointer: String, is_put: bool| {
        let intent: Intent = intent.parse().map_err(|detail: String| Malformed::at(&pointer, detail))?;
        let entry = CatalogueEntry::read(entry)
            .and_then(|entry| if is_put { Ok(entry) } else { entry.check_meant().map(|()| entry) })
            .map_err(|malformed| malformed.under(&pointer))?;
        catalogue.entries.insert(intent, Arc::new(entry));
        Ok::<_, Malformed>(())
    };
    if let Some(items) = value.get("items").and_then(Value::as_array) {
        for (index, item) in items.iter().enumerate() {
            let intent = item.get("intent").and_then(Value::as_str).unwrap_or_default();
            add(intent, item.get("entry").unwrap_or(&Value::Null), format!("/items/{index}/entry"), true)?;
        }
        return Ok(catalogue);
    }
    let Some(members) = value.as_object() else {
        return Err(Malformed::whole("not a catalogue: an object of intents with their entries"));
    };
    for (intent, entry) in members {
        add(intent, entry, format!("/{intent}"), false)?;
    }
    Ok(catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_forms_hold_the_same_entries() {
        let entry = json!({"title": "Refund", "effect": true, "arguments": {"type": "object"}});
        let listed = json!({"version": 3, "items": [{"intent": "pay.refund", "version": 3, "entry": entry}]});
        for value in [listed, json!({"pay.refund": entry})] {
            let found = read(&value).unwrap();
            let names: Vec<&str> = found.entries.keys().map(Intent::as_str).collect();
            assert_eq!(names, ["pay.refund"], "{value}");
        }
        for wrong in
            [json!([]), json!({"Pay": entry}), json!({"pay": {"title": "x"}}), json!({"items": [{}]})]
        {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_misspelt_keyword_is_named_unless_it_was_put_before() {
        let arguments = json!({"properties": {"nights": {"type": "integer", "maxmum": 5}}});
        let entry = json!({"title": "Book", "effect": false, "arguments": arguments});
        let refused = read(&json!({"stay.book": entry})).unwrap_err();
        assert_eq!(refused.faults[0].pointer, "/stay.book/arguments/properties/nights/maxmum");
        assert!(read(&json!({"items": [{"intent": "stay.book", "entry": entry}]})).is_ok());
    }
}
