//! From a JSON value to clauses: the part of reading that mandates, policies and credentials share.

use super::document::{Clause, ClauseId, Effect, Otherwise};
use super::node::{Faults, Node, Vocabulary};
use super::read::MOST_CLAUSES;
use super::read_condition::conditions;
use std::collections::BTreeSet;

const CLAUSE: Vocabulary = Vocabulary {
    noun: "member",
    allowed: &["id", "title", "intent", "effect", "when", "otherwise"],
    unsupported: &["limits", "obligation", "approvals"],
};

/// Reads a list of clauses; `ids` are those that stand elsewhere in the document, and grow.
pub(super) fn clauses(
    node: &Node<'_>,
    ids: &mut BTreeSet<ClauseId>,
    faults: &mut Faults,
) -> Option<Vec<Clause>> {
    let mut read = Vec::new();
    for entry in node.list(0..=MOST_CLAUSES, faults)? {
        let Some(clause) = clause(&entry, faults) else { continue };
        if !ids.insert(clause.id.clone()) {
            let pointer = format!("{}/id", entry.pointer());
            faults.add(&pointer, format!("`{}` already names a clause of this document", clause.id));
        }
        read.push(clause);
    }
    Some(read)
}

fn clause(node: &Node<'_>, faults: &mut Faults) -> Option<Clause> {
    const ALLOW: Effect = Effect::Allow { otherwise: Otherwise::Escalate };
    let members = node.object(&CLAUSE, faults)?;
    let id = members.required("id", faults).and_then(|node| node.parse(faults));
    let title = members.get("title").and_then(|node| node.parse(faults));
    let intent = members.required("intent", faults).and_then(|node| node.parse(faults));
    let effect = members.required("effect", faults).and_then(|node| {
        node.word(&[("allow", ALLOW), ("escalate", Effect::Escalate), ("refuse", Effect::Refuse)], faults)
    });
    let otherwise = members.get("otherwise").and_then(|node| {
        let words = [("escalate", Otherwise::Escalate), ("refuse", Otherwise::Refuse)];
        Some((node.word(&words, faults)?, node))
    });
    let effect = match (effect, otherwise) {
        (Some(Effect::Allow { .. }), Some((otherwise, _))) => Some(Effect::Allow { otherwise }),
        (Some(Effect::Escalate | Effect::Refuse), Some((_, node))) => {
            node.fault(faults, "`otherwise` stands only where `effect` is allow");
            None
        }
        (effect, None) | (effect @ None, Some(_)) => effect,
    };
    let allows = matches!(effect, Some(Effect::Allow { .. }));
    let when = members.get("when").and_then(|node| conditions(&node, allows, faults));
    Some(Clause { id: id?, title, intent: intent?, effect: effect?, when: when.unwrap_or_default() })
}
