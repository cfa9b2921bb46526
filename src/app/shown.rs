//! What a server is shown before it starts: checkpoints that others hold, which its logs must have grown from.

use super::StartError;
use super::tree::{Tree, log_keys};
use crate::evidence::merkle;
use crate::evidence::note::{VerifierKey, open_note, parse_checkpoint, text_of};
use crate::storage::{self, AnyConnection, StoreError};

/// A checkpoint that somebody holds, and what it is called in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The file it was read from.
    pub name: String,
    /// The signed note.
    pub note: String,
}

/// Refuses a log that is shorter than the checkpoint, or did not grow from it: whatever was appended to such a log
/// would contradict what others hold. Refuses also a checkpoint that is of no log here, or not signed by it.
///
/// # Errors
/// [`StartError::Other`] with both sizes, or both roots; [`StartError::Store`] where the log cannot be read.
pub fn refuse_if_behind(connection: &mut AnyConnection, shown: &Shown) -> Result<(), StartError> {
    let name = &shown.name;
    let refused = |why: String| StartError::Other(format!("`{name}`: {why}"));
    let text = text_of(&shown.note).map_err(|error| refused(error.to_string()))?;
    let held = parse_checkpoint(text).map_err(|error| refused(error.to_string()))?;
    let tenants = storage::tenant::all(connection)?;
    let origin = held.origin.as_str();
    let Some(tenant) = tenants.iter().find(|tenant| tenant.origin == origin) else {
        let logs: Vec<_> = tenants.iter().map(|tenant| format!("`{}`", tenant.origin)).collect();
        return Err(refused(format!(
            "it is a checkpoint of `{}`, which is no log here: {}",
            origin.escape_debug(),
            logs.join(", ")
        )));
    };
    let keys: Vec<VerifierKey> = log_keys(connection, &tenant.slug, origin)?;
    open_note(&shown.note, &keys).map_err(|error| refused(error.to_string()))?;
    let missing = || StoreError::Corrupt { place: "heads", detail: format!("`{}` has none", tenant.slug) };
    let mut tree = Tree::now(connection, &tenant.slug)?.ok_or_else(missing)?;
    if held.size > tree.size() {
        return Err(refused(format!(
            "the log `{origin}` had {} leaves with root {} and has {} with root {} now: it lost its end, as a copy of \
             earlier data does",
            held.size,
            held.root,
            tree.size(),
            tree.root()
        )));
    }
    let here = tree.root_at(connection, held.size)?;
    if here != held.root {
        return Err(refused(format!(
            "the first {} leaves of the log `{origin}` had root {} and have root {here} now: it was rewritten, or went on \
             from a copy of earlier data",
            held.size, held.root
        )));
    }
    let path = tree.consistency(connection, held.size, tree.size())?;
    if held.size > 0 && !merkle::verify_consistency(held.size, tree.size(), &held.root, &tree.root(), &path) {
        return Err(refused(format!(
            "what is stored does not lead from its {} leaves with root {} to the {} with root {} that the log `{origin}` \
             has signed",
            held.size,
            held.root,
            tree.size(),
            tree.root()
        )));
    }
    Ok(())
}
