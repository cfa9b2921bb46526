//! Where the pages are that answers and mail link to.

use super::{DecisionId, DecisionStatus, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

/// Where pages are, for links in answers and mail.
#[derive(Debug, Clone)]
pub struct Links {
    base: Arc<str>,
}

impl Links {
    /// Links below the service's public address.
    pub fn below(base: &str) -> Self {
        Self { base: base.trim_end_matches('/').into() }
    }

    /// The public address, without a trailing slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The page of whoever's queue is looked at.
    pub fn queue(&self) -> String {
        format!("{}/queue", self.base)
    }

    /// The page that shows a decision.
    pub fn page(&self, id: DecisionId) -> String {
        format!("{}/queue/{id}", self.base)
    }

    /// A decision as answers mention it.
    pub fn decision(&self, id: DecisionId, status: DecisionStatus, expires_at: Timestamp) -> Value {
        json!({"id": id, "status": status.as_str(), "expires_at": expires_at, "url": self.page(id)})
    }
}
