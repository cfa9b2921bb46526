//! Records that a log was restored from a backup, as the next leaf of what was restored.

use super::recording::{Content, put};
use super::{Error, withdraw};
use crate::committer::{Books, Draft};
use crate::domain::{Chain, Hash};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use crate::storage::session;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is recorded of a restoration.
#[derive(Debug, Clone)]
pub struct Restoration {
    /// The size of the log as it was restored.
    pub size: u64,
    /// Its root at that size.
    pub root: Hash,
    /// Heads that were known of this log, and where from: the database that was there, or a checkpoint.
    pub known: Vec<(u64, Hash, &'static str)>,
    /// Whether part of the log, as it was known, is lost, or may be.
    pub is_lossy: bool,
    /// Why that was accepted.
    pub reason: Option<String>,
    /// Who ran the command, as the operating system knows them.
    pub by: String,
}

/// Records it. Where part of the log is lost, nobody knows what was done in it: sessions end, and approvals that look
/// unused are taken back, since their use may be among what is lost.
pub fn record(books: &mut Books<'_>, restoration: Restoration) -> Result<Arc<StoredReceipt>, Error> {
    let Restoration { size, root, known, is_lossy, reason, by } = restoration;
    let mut content = Content::default();
    let known: Vec<Value> =
        known.iter().map(|(size, root, from)| json!({"size": size, "root": root, "from": from})).collect();
    let mut input = json!({
        "kind": Kind::LogRestore.as_str(),
        "tenant": books.slug(),
        "size": size,
        "root": root,
        "known": known,
        "by": content.commit("/input/by", json!(by)),
    });
    if let Some(reason) = reason {
        put(&mut input, "reason", content.commit("/input/reason", json!(reason)));
    }
    let chain = Chain::Tenant(books.tenant().id);
    let mut draft = Draft::act(Kind::LogRestore, chain, input, json!({"lossy": is_lossy}));
    draft.content = content.finish();
    let stored = books.record(draft)?;
    if is_lossy {
        let (connection, slug) = books.place();
        session::delete_all(connection, slug)?;
        withdraw::after_narrowing(books, None, "the log was restored from a backup")?;
    }
    books.authority_changed();
    Ok(stored)
}
