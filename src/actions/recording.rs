//! The documents receipts hash: what stands in them plainly, and what only as a salted commitment.

use crate::committer::entropy;
use crate::evidence::commitment::{Opening, Salt};
use serde_json::{Map, Value, json};

/// Collects what documents commit to.
#[derive(Debug, Default)]
pub(super) struct Content(Map<String, Value>);

impl Content {
    /// Commits to `value`, which stands at `pointer` (below `/input` or `/output`), and gives what stands there instead.
    pub(super) fn commit(&mut self, pointer: &str, value: Value) -> Value {
        let opening = Opening { salt: Salt(entropy::bytes()), value };
        let commitment = json!({"commitment": opening.commitment()});
        self.0.insert(pointer.to_owned(), opening.to_json());
        commitment
    }

    /// The salts and values, if there are any.
    pub(super) fn finish(self) -> Option<Value> {
        (!self.0.is_empty()).then_some(Value::Object(self.0))
    }
}

/// Adds a member to a document; documents are objects.
pub(super) fn put(document: &mut Value, name: &str, value: Value) {
    if let Some(members) = document.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}
