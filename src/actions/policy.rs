//! Puts a version of the tenant's policy live.

use super::Error;
use super::caller::Operator;
use super::recording::Content;
use super::withdraw;
use crate::committer::{Books, Draft};
use crate::domain::Chain;
use crate::engine::{Admission, Change, PolicyDocument, admit_policy, compare_policies};
use crate::evidence::receipt::Kind;
use crate::storage::policy::{self, PolicyVersion};
use crate::storage::receipt::StoredReceipt;
use serde_json::json;
use std::sync::Arc;

/// A version that was put live.
#[derive(Debug)]
pub struct Put {
    /// Its number.
    pub version: u64,
    /// How it compares with the one before.
    pub change: Change,
    /// What the operator should know about it, and what it takes for granted.
    pub admission: Admission,
    /// The act's receipt, which names the operator.
    pub stored: Arc<StoredReceipt>,
}

/// Puts `document` live as the next version, if `seen` is still the live one and nothing keeps it out. Widening needs
/// a fresh sign-in.
pub fn put(
    books: &mut Books<'_>,
    operator: &Operator,
    seen: u64,
    document: &PolicyDocument,
) -> Result<Put, Error> {
    operator.person().require_session(books)?;
    let live = books.policy()?;
    if live.version != seen {
        return Err(Error::Stale { live: live.version });
    }
    let now = books.now();
    let person = operator.person();
    let change = compare_policies(&live.document, document);
    match change {
        Change::Widened | Change::Mixed => person.require_fresh(now, "widening a policy")?,
        Change::Narrowed | Change::Unchanged => {}
    }
    let catalogue = books.catalogue()?;
    let admission = admit_policy(document, Some(&live.document), Some(&catalogue.catalogue));
    admission.admitted()?;
    let version = live.version.saturating_add(1);
    let written = document.to_json();
    let row = PolicyVersion {
        version,
        document: written.to_string(),
        change: change.as_str().to_owned(),
        live_since: now,
        author: person.id,
    };
    let (connection, slug) = books.place();
    policy::insert(connection, slug, &row)?;
    books.authority_changed();
    let mut content = Content::default();
    let input = json!({
        "kind": Kind::PolicyPut.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "replaces": live.version,
        "document": content.commit("/input/document", written),
    });
    let output = json!({
        "version": version,
        "change": change.as_str(),
        "warnings": content.commit("/output/warnings", admission.warnings_json()),
        "assumptions": content.commit("/output/assumptions", json!(admission.assumptions)),
    });
    let mut draft = Draft::act(Kind::PolicyPut, Chain::Principal(person.id), input, output).by(person.id);
    draft.policy_version = Some(version);
    draft.content = content.finish();
    let stored = books.record(draft)?;
    match change {
        Change::Narrowed | Change::Mixed => {
            withdraw::after_narrowing(books, None, "the policy was narrowed")?;
        }
        Change::Widened | Change::Unchanged => {}
    }
    Ok(Put { version, change, admission, stored })
}
