//! From a JSON value to a document, or to the list of all that is wrong with it.

use super::document::{
    Applies, ClauseId, CredentialClauses, KnownCounterparty, MandateDocument, PolicyDocument, RuleSet,
    Unlisted, Unregistered, Validity,
};
use super::labels::Labels;
use super::node::{Faults, Members, Node, Vocabulary};
use super::read_clause::{Whose, clauses, domains};
use super::{published, weight};
use crate::domain::{Malformed, Scope, Scopes, Timestamp};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most clauses one document may hold.
pub const MOST_CLAUSES: usize = 1000;
/// The most entries a list inside a clause or a list of counterparties may hold.
pub const MOST_ENTRIES: usize = 1000;
/// The most rule sets one policy may hold.
pub const MOST_RULE_SETS: usize = 200;

const MANDATE: Vocabulary = Vocabulary {
    noun: "member",
    allowed: &["scopes", "valid", "unlisted", "counterparties", "domains", "clauses"],
};
const POLICY: Vocabulary = Vocabulary {
    noun: "member",
    allowed: &["unregistered", "domains", "labels", "rule_sets", "applies", "clauses"],
};
const RULE_SET: Vocabulary = Vocabulary { noun: "member", allowed: &["applies", "clauses"] };
const APPLIES: Vocabulary = Vocabulary { noun: "member", allowed: &["agent", "country"] };
const VALID: Vocabulary = Vocabulary { noun: "member", allowed: &["from", "until"] };
const KNOWN: Vocabulary = Vocabulary { noun: "member", allowed: &["id", "aliases", "at_most"] };

impl MandateDocument {
    /// Reads a mandate as people write it.
    ///
    /// # Errors
    /// Everything wrong with it, each with its JSON Pointer; parts of the language that this version does
    /// not evaluate are refused by name.
    pub fn read(value: &Value) -> Result<Self, Malformed> {
        let mut faults = Faults::default();
        let document = mandate(&Node::root(value), &mut faults);
        if let Some(document) = &document {
            weight::check(document.clauses.iter(), &document.domains, "/clauses", &mut faults);
        }
        let document = faults.finish(document)?;
        published::MANDATE.check(value)?;
        Ok(document)
    }
}

impl PolicyDocument {
    /// Reads a policy: `{unregistered?, rule_sets: [{applies?, clauses}]}`, or the short form
    /// `{unregistered?, applies?, clauses}` for one set.
    ///
    /// # Errors
    /// Everything wrong with it, each with its JSON Pointer.
    pub fn read(value: &Value) -> Result<Self, Malformed> {
        let mut faults = Faults::default();
        let document = policy(&Node::root(value), &mut faults);
        if let Some(document) = &document {
            // Several sets may speak to one action, where nobody can say in which country it takes effect.
            let clauses = document.rule_sets.iter().flat_map(|set| &set.clauses);
            weight::check(clauses, &document.domains, "", &mut faults);
        }
        let document = faults.finish(document)?;
        published::POLICY.check(value)?;
        Ok(document)
    }
}

impl CredentialClauses {
    /// Reads a list of clauses.
    ///
    /// # Errors
    /// Everything wrong with it, each with its JSON Pointer.
    pub fn read(value: &Value) -> Result<Self, Malformed> {
        let mut faults = Faults::default();
        let clauses = clauses(&Node::root(value), Whose::Person, &mut BTreeSet::new(), &mut faults);
        weight::check(clauses.iter().flatten(), &[], "", &mut faults);
        let clauses = faults.finish(clauses)?;
        published::CLAUSES.check(value)?;
        Ok(Self(clauses))
    }
}

fn mandate(node: &Node<'_>, faults: &mut Faults) -> Option<MandateDocument> {
    let members = node.object(&MANDATE, faults)?;
    let scopes = members.required("scopes", faults).and_then(|node| scopes(&node, faults));
    let valid = members.get("valid").and_then(|node| validity(&node, faults));
    let unlisted = members.get("unlisted").and_then(|node| {
        node.word(&[("escalate", Unlisted::Escalate), ("refuse", Unlisted::Refuse)], faults)
    });
    let counterparties = members.get("counterparties").and_then(|node| counterparties(&node, faults));
    let domains = members.get("domains").and_then(|node| domains(&node, faults));
    let clauses =
        members.get("clauses").and_then(|node| clauses(&node, Whose::Person, &mut BTreeSet::new(), faults));
    Some(MandateDocument {
        scopes: scopes?,
        valid,
        unlisted: unlisted.unwrap_or_default(),
        counterparties: counterparties.unwrap_or_default(),
        domains: domains.unwrap_or_default(),
        clauses: clauses.unwrap_or_default(),
    })
}

fn scopes(node: &Node<'_>, faults: &mut Faults) -> Option<Scopes> {
    let scopes: Scopes = node.set::<Scope>(0..=Scope::ALL.len(), faults)?.into_iter().collect();
    if scopes.contains(Scope::MandateWrite) {
        node.fault(faults, "`mandate:write` belongs to people alone: no mandate gives it to an agent");
        return None;
    }
    Some(scopes)
}

fn validity(node: &Node<'_>, faults: &mut Faults) -> Option<Validity> {
    let members = node.object(&VALID, faults)?;
    let mut time = |name| members.get(name).and_then(|node: Node<'_>| node.parse::<Timestamp>(faults));
    let (from, until) = (time("from"), time("until"));
    match (members.get("from"), members.get("until")) {
        (None, None) => node.fault(faults, "neither `from` nor `until` is given"),
        (Some(_), None) | (None, Some(_)) => {}
        (Some(_), Some(end)) => {
            if let (Some(from), Some(until)) = (from, until)
                && from >= until
            {
                end.fault(faults, format!("`{until}` is not after `from`, which is `{from}`"));
            }
        }
    }
    Some(Validity { from, until })
}

fn counterparties(node: &Node<'_>, faults: &mut Faults) -> Option<Vec<KnownCounterparty>> {
    let mut names = BTreeSet::new();
    let mut known = Vec::new();
    for entry in node.list(0..=MOST_ENTRIES, faults)? {
        let Some(counterparty) = known_counterparty(&entry, faults) else { continue };
        for name in counterparty.aliases.iter().chain([&counterparty.id]) {
            if !names.insert(name.clone()) {
                entry.fault(faults, format!("`{name}` already names a counterparty of this list"));
            }
        }
        known.push(counterparty);
    }
    Some(known)
}

fn known_counterparty(node: &Node<'_>, faults: &mut Faults) -> Option<KnownCounterparty> {
    let members = node.object(&KNOWN, faults)?;
    let id = members.required("id", faults).and_then(|node| node.parse(faults));
    let aliases = members.get("aliases").and_then(|node| node.set(0..=MOST_ENTRIES, faults));
    let at_most = members.get("at_most").and_then(|node| node.amount(faults));
    Some(KnownCounterparty { id: id?, aliases: aliases.unwrap_or_default(), at_most })
}

fn policy(node: &Node<'_>, faults: &mut Faults) -> Option<PolicyDocument> {
    let members = node.object(&POLICY, faults)?;
    let unregistered = members.get("unregistered").and_then(|node| {
        let words = [
            ("described", Unregistered::Described),
            ("escalate", Unregistered::Escalate),
            ("refuse", Unregistered::Refuse),
        ];
        node.word(&words, faults)
    });
    let domains = members.get("domains").and_then(|node| domains(&node, faults)).unwrap_or_default();
    let labels = members.get("labels").and_then(|node| Labels::read(&node, faults));
    let short = members.get("applies").is_some() || members.get("clauses").is_some();
    let mut ids = BTreeSet::new();
    let rule_sets = match members.get("rule_sets") {
        Some(list) if short => {
            list.fault(
                faults,
                "`rule_sets` stands beside `applies` or `clauses`: write one form or the other",
            );
            return None;
        }
        Some(list) => {
            let mut sets: Vec<RuleSet> = Vec::new();
            for entry in list.list(0..=MOST_RULE_SETS, faults)? {
                let Some(members) = entry.object(&RULE_SET, faults) else { continue };
                let Some(set) = rule_set(&members, &mut ids, faults) else { continue };
                if sets.iter().any(|other| other.applies == set.applies) {
                    entry.fault(faults, "another rule set applies to the same agent and country");
                }
                sets.push(set);
            }
            sets
        }
        None if short => rule_set(&members, &mut ids, faults).into_iter().collect(),
        None => Vec::new(),
    };
    Some(PolicyDocument {
        unregistered: unregistered.unwrap_or_default(),
        domains,
        labels: labels.unwrap_or_default(),
        rule_sets,
    })
}

fn rule_set(members: &Members<'_>, ids: &mut BTreeSet<ClauseId>, faults: &mut Faults) -> Option<RuleSet> {
    let applies = members.get("applies").and_then(|node| {
        let members = node.object(&APPLIES, faults)?;
        let agent = members.get("agent").and_then(|node| node.parse(faults));
        let country = members.get("country").and_then(|node| node.parse(faults));
        Some(Applies { agent, country })
    });
    let clauses =
        members.required("clauses", faults).and_then(|node| clauses(&node, Whose::Tenant, ids, faults));
    Some(RuleSet { applies: applies.unwrap_or_default(), clauses: clauses? })
}
