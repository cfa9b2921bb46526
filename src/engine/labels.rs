//! Labels of a call, such as its audience, and the levels that a policy declares for each.

use super::document::PolicyDocument;
use super::node::{Faults, Node, shown};
use super::request::Described;
use crate::domain::{Label, Malformed};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The most labels one policy may declare, and the most levels of one.
const MOST_LABELS: usize = 32;
const MOST_LEVELS: usize = 32;

/// Labels by name, each with its levels in ascending order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Labels(pub BTreeMap<String, Vec<String>>);

impl Labels {
    /// None declared.
    pub(super) const NONE: Self = Self(BTreeMap::new());

    /// Where a level stands among those of its label, if both are declared.
    pub(super) fn rank(&self, name: &str, level: &str) -> Option<usize> {
        self.0.get(name)?.iter().position(|declared| declared == level)
    }

    pub(super) fn to_json(&self) -> Value {
        json!(self.0)
    }

    /// `{name: [level, …]}`, the lowest level first.
    pub(super) fn read(node: &Node<'_>, faults: &mut Faults) -> Option<Self> {
        let members = node.open_object(faults)?;
        if !(1..=MOST_LABELS).contains(&members.object().len()) {
            let detail = format!("{} labels, 1 to {MOST_LABELS} are allowed", members.object().len());
            node.fault(faults, detail);
            return None;
        }
        let mut labels = BTreeMap::new();
        for (name, node) in members.iter() {
            if let Err(detail) = name.parse::<Label>() {
                node.fault(faults, detail);
            }
            if let Some(levels) = levels(&node, faults) {
                labels.insert(name.to_owned(), levels);
            }
        }
        Some(Self(labels))
    }
}

fn levels(node: &Node<'_>, faults: &mut Faults) -> Option<Vec<String>> {
    let mut levels = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in node.list(2..=MOST_LEVELS, faults)? {
        let Some(level) = entry.parse::<Label>(faults) else { continue };
        if !seen.insert(level.clone()) {
            entry.fault(faults, format!("`{}` stands twice", shown(entry.value())));
        }
        levels.push(level.as_str().to_owned());
    }
    Some(levels)
}

/// Checks the labels of a request against those that the policy declares; an undeclared label bounds nothing.
///
/// # Errors
/// Every declared label with a level that is not among its own.
pub fn check_labels(policy: &PolicyDocument, described: &Described) -> Result<(), Malformed> {
    let mut faults = Faults::default();
    for (name, level) in &described.labels {
        if let Some(levels) = policy.labels.0.get(name)
            && !levels.contains(level)
        {
            let pointer = super::node::below("/labels", name);
            faults.add(&pointer, format!("`{level}` found, allowed: {}", levels.join(", ")));
        }
    }
    faults.finish(Some(()))
}
