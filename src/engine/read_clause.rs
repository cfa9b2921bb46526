//! From a JSON value to clauses: the part of reading that mandates, policies and credentials share.

use super::document::{Approvals, Clause, ClauseId, Domain, Effect, MOST_APPROVALS, Otherwise};
use super::node::{Faults, Node, Vocabulary, found};
use super::read::MOST_CLAUSES;
use super::read_condition::conditions;
use super::read_limit::limits;
use crate::domain::{IntentPattern, Role};
use std::collections::BTreeSet;

const CLAUSE: Vocabulary = Vocabulary {
    noun: "member",
    allowed: &["id", "title", "intent", "effect", "when", "limits", "otherwise", "approvals", "obligation"],
};
const APPROVALS: Vocabulary = Vocabulary { noun: "member", allowed: &["count", "roles", "others"] };

/// Who writes the clauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    /// A person, for their mandate or a credential.
    Person,
    /// The tenant's operator, for its policy.
    Tenant,
}

/// Reads a list of clauses; `ids` are those that stand elsewhere in the document, and grow.
pub(super) fn clauses(
    node: &Node<'_>,
    whose: Whose,
    ids: &mut BTreeSet<ClauseId>,
    faults: &mut Faults,
) -> Option<Vec<Clause>> {
    let mut read = Vec::new();
    for entry in node.list(0..=MOST_CLAUSES, faults)? {
        let Some(clause) = clause(&entry, whose, faults) else { continue };
        if !ids.insert(clause.id.clone()) {
            let pointer = format!("{}/id", entry.pointer());
            faults.add(&pointer, format!("`{}` already names a clause of this document", clause.id));
        }
        read.push(clause);
    }
    Some(read)
}

fn clause(node: &Node<'_>, whose: Whose, faults: &mut Faults) -> Option<Clause> {
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
    let limits = members.get("limits").and_then(|node| {
        if effect.is_some() && !allows {
            node.fault(faults, "`limits` stand only where `effect` is allow");
            return None;
        }
        limits(&node, faults)
    });
    let approvals = members.get("approvals").and_then(|node| {
        match effect {
            Some(Effect::Refuse) => {
                node.fault(faults, "`approvals` stands only where a person may say yes: `effect` is refuse");
                return None;
            }
            Some(Effect::Allow { otherwise: Otherwise::Refuse }) => {
                node.fault(
                    faults,
                    "`approvals` stands only where a person may say yes: `otherwise` is refuse",
                );
                return None;
            }
            Some(Effect::Allow { otherwise: Otherwise::Escalate } | Effect::Escalate) | None => {}
        }
        approvals(&node, faults)
    });
    let obligation = members.get("obligation").and_then(|node| {
        let stands = matches!(effect, Some(Effect::Escalate) | None) && whose == Whose::Tenant;
        if !stands {
            node.fault(faults, "`obligation` stands only in a policy's clauses whose `effect` is escalate");
            return None;
        }
        node.parse(faults)
    });
    Some(Clause {
        id: id?,
        title,
        intent: intent?,
        effect: effect?,
        when: when.unwrap_or_default(),
        limits: limits.unwrap_or_default(),
        approvals,
        obligation,
    })
}

fn approvals(node: &Node<'_>, faults: &mut Faults) -> Option<Approvals> {
    let members = node.object(&APPROVALS, faults)?;
    let count = members.get("count").map(|node| (node.value().as_u64(), node));
    let count = match count {
        None => 1,
        Some((Some(number), _)) if (1..=u64::from(MOST_APPROVALS)).contains(&number) => {
            u8::try_from(number).unwrap_or(MOST_APPROVALS)
        }
        Some((_, node)) => {
            let detail =
                format!("{} found, a whole number from 1 to {MOST_APPROVALS} expected", found(node.value()));
            node.fault(faults, detail);
            return None;
        }
    };
    let roles = match members.get("roles") {
        Some(node) => node.set::<Role>(1..=Role::ALL.len(), faults)?,
        None => BTreeSet::new(),
    };
    if count > 1 && roles.is_empty() {
        let detail = format!(
            "{count} people are asked for and no `roles` say who: without, the principal's yes alone counts"
        );
        node.fault(faults, detail);
        return None;
    }
    let others = match members.get("others") {
        Some(node) => node.boolean(faults)?,
        None => false,
    };
    if others && roles.is_empty() {
        node.fault(faults, "`others` leaves the principal out, and no `roles` say who else counts");
        return None;
    }
    // One yes of the principal is what every escalation asks for.
    let approvals = Approvals { count, roles, others };
    (approvals != Approvals::own()).then_some(approvals)
}

/// Reads what requests may say at all: conditions by intent pattern.
pub(super) fn domains(node: &Node<'_>, faults: &mut Faults) -> Option<Vec<Domain>> {
    let members = node.open_object(faults)?;
    if members.object().len() > MOST_CLAUSES {
        node.fault(faults, format!("{} domains, {MOST_CLAUSES} are allowed", members.object().len()));
        return None;
    }
    let mut read = Vec::new();
    for (pattern, node) in members.iter() {
        let intent = match pattern.parse::<IntentPattern>() {
            Ok(intent) => intent,
            Err(detail) => {
                node.fault(faults, detail);
                continue;
            }
        };
        let when = conditions(&node, true, faults).unwrap_or_default();
        if node.value().as_object().is_some_and(serde_json::Map::is_empty) {
            node.fault(faults, "it bounds nothing: name a condition");
        }
        read.push(Domain { intent, when });
    }
    Some(read)
}
