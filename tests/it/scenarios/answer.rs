//! What an answer is, and how a request is changed.

use crate::client::Reply;
use serde_json::{Value, json};

/// What kind of answer it is.
pub(crate) fn kind_of(reply: &Reply) -> &str {
    match reply.status {
        200 if reply.header("idempotency-replayed").is_some() => "replayed",
        200 => reply.json["outcome"].as_str().unwrap(),
        400 | 413 | 422 => "malformed",
        401 | 403 | 409 => "turned_away",
        status => panic!("{status}: {}", reply.text),
    }
}

/// Whether a fault of the answer stands at or below a pointer.
pub(crate) fn points_to(reply: &Reply, pointer: &str) -> bool {
    reply.json["errors"].as_array().is_some_and(|faults| {
        faults.iter().filter_map(|fault| fault["pointer"].as_str()).any(|found| found.starts_with(pointer))
    })
}

/// Changes a value as RFC 7396 says.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let members = target.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
