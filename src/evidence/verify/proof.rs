//! Proofs as files: what shows two trees of one log to be of one history, and what shows a leaf to be in one.

use super::report::{Fault, Site};
use crate::domain::{Hash, Malformed};
use crate::evidence::members::{Members, spelt};
use crate::evidence::note::{Checkpoint, LogProof};
use serde_json::Value;
use std::sync::Arc;

/// What `GET /log/{tenant}/consistency` answers (RFC 9162 §2.1.4), and where it stood.
pub(super) struct Proof {
    pub(super) site: Arc<Site>,
    pub(super) origin: Option<String>,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) path: Vec<Hash>,
}

impl Proof {
    /// Reads it strictly.
    pub(super) fn from_json(value: &Value, site: &Site) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "a consistency proof")?;
        let origin = match members.optional("origin") {
            Some(_) => Some(members.text("origin")?.to_owned()),
            None => None,
        };
        let proof = Self {
            site: Arc::new(site.clone()),
            origin,
            from: members.number("from")?,
            to: members.number("to")?,
            path: members.list("path", spelt)?,
        };
        members.end()?;
        Ok(proof)
    }

    /// What is said of it where no two checkpoints were read that it could lead between.
    pub(super) fn unheld(&self) -> String {
        let Self { site, from, to, .. } = self;
        format!(
            "the consistency proof from {from} to {to} leaves in {site} is held against nothing: no checkpoints of its \
             log and of these sizes were read"
        )
    }
}

/// What `GET /log/{tenant}/proof` answers (C2SP tlog-proof), and where it stood.
pub(super) struct LeafProof {
    pub(super) site: Arc<Site>,
    pub(super) proof: LogProof,
}

impl LeafProof {
    /// Whether a file's text is meant to be one, which its first line says.
    pub(super) fn is_meant(text: &str) -> bool {
        text.starts_with("c2sp.org/tlog-proof@")
    }

    /// Reads its form; its checkpoint is opened once the keys are known.
    pub(super) fn read(text: &str, site: Site) -> Result<Self, Fault> {
        let proof = LogProof::parse(text).map_err(|error| Fault::new("proof", error.to_string()))?;
        Ok(Self { site: Arc::new(site), proof })
    }

    /// Puts the opened checkpoint in the place of its text.
    pub(super) fn opened(self, checkpoint: Checkpoint) -> OpenedProof {
        OpenedProof { site: self.site, index: self.proof.index, path: self.proof.path, checkpoint }
    }
}

/// A leaf's proof whose checkpoint holds.
pub(super) struct OpenedProof {
    pub(super) site: Arc<Site>,
    pub(super) index: u64,
    pub(super) path: Vec<Hash>,
    pub(super) checkpoint: Checkpoint,
}

impl OpenedProof {
    /// What is said of it where the leaf it is about is not known: it shows that some leaf is there, not which.
    pub(super) fn unheld(&self) -> String {
        let Self { site, index, .. } = self;
        format!(
            "the inclusion proof of leaf {index} in {site} is held against nothing: no receipt, tile or entry bundle \
             with that leaf was read"
        )
    }
}
