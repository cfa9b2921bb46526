//! The request an agent puts to the gate, read strictly.

use super::node::{Faults, Members, Node, Vocabulary, shown};
use crate::domain::{Amount, Country, DecisionId, ExternalName, Intent, Label, Malformed, TenantSlug};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The most counterparties one action may name.
pub const MOST_COUNTERPARTIES: usize = 64;
/// The most things one request may cite as evidence.
pub(super) const MOST_CITES: usize = 64;
/// The most labels one request may carry.
const MOST_LABELS: usize = 32;
/// The most bytes an attachment may have, written as JSON.
const LARGEST_ATTACHMENT_BYTES: usize = 16 * 1024;
/// The most facts one request may state.
const MOST_FACTS: usize = 64;
/// The most bytes the facts may have, written as JSON.
const LARGEST_FACTS_BYTES: usize = 16 * 1024;
/// The most digits after the point of a confidence.
const MOST_CONFIDENCE_DIGITS: usize = 40;

const REQUEST: Vocabulary = Vocabulary {
    noun: "member",
    allowed: &[
        "tenant",
        "agent",
        "intent",
        "country",
        "amount",
        "counterparty",
        "resource",
        "arguments",
        "evidence",
        "untrusted",
        "labels",
        "attachment",
        "decision",
        "min_mandate_version",
        // Named here so that the message says who may send them; refused below.
        "subject_token",
        "facts",
    ],
};
const EVIDENCE: Vocabulary = Vocabulary { noun: "member", allowed: &["confidence", "cites"] };

/// An action as its caller describes it: each member checked on its own, none believed yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Described {
    /// The tenant the caller means, to be compared with its token's.
    pub tenant: Option<TenantSlug>,
    /// The agent the caller means, by name or id, to be compared with its token's.
    pub agent: Option<Label>,
    /// The action's name.
    pub intent: Intent,
    /// Where it takes effect.
    pub country: Option<Country>,
    /// What it moves.
    pub amount: Option<Amount>,
    /// Whom it concerns: at least one, none twice.
    pub counterparties: Option<Vec<ExternalName>>,
    /// What it acts on.
    pub resource: Option<ExternalName>,
    /// What the tool will be called with.
    pub arguments: Option<Arc<Map<String, Value>>>,
    /// What the caller rests it on.
    pub evidence: Option<Evidence>,
    /// Whether text that others wrote shaped the call; missing counts as yes.
    pub untrusted: Option<bool>,
    /// Levels that the tenant's policy declares.
    pub labels: BTreeMap<String, String>,
    /// What raised it, shown to the person who decides; an object of at most 16 KiB.
    pub attachment: Option<Map<String, Value>>,
    /// The approved decision it uses.
    pub decision: Option<DecisionId>,
    /// The oldest mandate version the caller accepts an answer under.
    pub min_mandate_version: Option<u64>,
    /// What an enforcement point states beside it: at most 64 members in 16 KiB, `owners` an object of texts.
    pub facts: Option<Map<String, Value>>,
}

/// What a caller rests an action on; its own word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// How sure it is.
    pub confidence: Option<Confidence>,
    /// What it cites, none twice.
    pub cites: Vec<ExternalName>,
}

/// A decimal from 0 to 1, compared exactly.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
// Without trailing zeros the order of the texts is the order of the numbers.
pub struct Confidence(String);

impl Confidence {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let wrong = || format!("`{}` is not a decimal from 0 to 1, such as 0.93", shown(value));
        let text = match value {
            Value::String(text) => text.clone(),
            // The plain display of a double has all its digits and no exponent.
            Value::Number(number) => number.as_f64().map(|double| format!("{double}")).ok_or_else(wrong)?,
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(wrong()),
        };
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(wrong()),
            Some((whole, fraction)) => (whole, fraction),
            None => (text.as_str(), ""),
        };
        let significant = fraction.trim_end_matches('0');
        if fraction.len() > MOST_CONFIDENCE_DIGITS || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        match (whole, significant) {
            ("0" | "1", "") => Ok(Self(whole.to_owned())),
            ("0", digits) => Ok(Self(format!("0.{digits}"))),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads the request of an agent.
///
/// # Errors
/// Everything wrong with it, each with its JSON Pointer. An unknown member is refused by name, since a
/// misspelt `untrusted` must not be ignored. `subject_token` and `facts` are refused from an agent.
pub fn read_request(value: &Value) -> Result<Described, Malformed> {
    let mut faults = Faults::default();
    let described = request(&Node::root(value), &["subject_token", "facts"], &mut faults);
    faults.finish(described)
}

/// Reads the request of an enforcement point, which may state `facts`. Whoever takes it takes the `subject_token` out
/// before: that says who asks, not for what.
///
/// # Errors
/// As [`read_request`].
pub fn read_attested_request(value: &Value) -> Result<Described, Malformed> {
    let mut faults = Faults::default();
    let described = request(&Node::root(value), &["subject_token"], &mut faults);
    faults.finish(described)
}

fn request(node: &Node<'_>, withheld: &[&str], faults: &mut Faults) -> Option<Described> {
    let members = node.object(&REQUEST, faults)?;
    for name in withheld {
        if let Some(node) = members.get(name) {
            node.fault(faults, format!("only an enforcement point may state `{name}`"));
        }
    }
    let intent = members.required("intent", faults).and_then(|node| node.parse(faults));
    let described = Described {
        tenant: members.get("tenant").and_then(|node| node.parse(faults)),
        agent: members.get("agent").and_then(|node| node.parse(faults)),
        intent: intent?,
        country: members.get("country").and_then(|node| node.parse(faults)),
        amount: members.get("amount").and_then(|node| node.amount(faults)),
        counterparties: members.get("counterparty").and_then(|node| counterparties(&node, faults)),
        resource: members.get("resource").and_then(|node| node.parse(faults)),
        arguments: object(&members, "arguments", faults).map(Arc::new),
        evidence: members.get("evidence").and_then(|node| evidence(&node, faults)),
        untrusted: members.get("untrusted").and_then(|node| node.boolean(faults)),
        labels: members.get("labels").and_then(|node| labels(&node, faults)).unwrap_or_default(),
        attachment: attachment(&members, faults),
        decision: members.get("decision").and_then(|node| node.parse(faults)),
        min_mandate_version: members.get("min_mandate_version").and_then(|node| version(&node, faults)),
        facts: facts(&members, faults),
    };
    Some(described)
}

/// One name, or a list of them.
fn counterparties(node: &Node<'_>, faults: &mut Faults) -> Option<Vec<ExternalName>> {
    if node.value().is_array() {
        distinct(node, 1..=MOST_COUNTERPARTIES, faults)
    } else {
        Some(vec![node.parse(faults)?])
    }
}

/// Names in the order given, none twice.
fn distinct(
    node: &Node<'_>,
    length: std::ops::RangeInclusive<usize>,
    faults: &mut Faults,
) -> Option<Vec<ExternalName>> {
    let mut names: Vec<ExternalName> = Vec::new();
    for entry in node.list(length, faults)? {
        let Some(name) = entry.parse(faults) else { continue };
        if names.contains(&name) {
            entry.fault(faults, format!("`{name}` stands twice"));
        }
        names.push(name);
    }
    Some(names)
}

fn object(members: &Members<'_>, name: &str, faults: &mut Faults) -> Option<Map<String, Value>> {
    Some(members.get(name)?.open_object(faults)?.object().clone())
}

fn evidence(node: &Node<'_>, faults: &mut Faults) -> Option<Evidence> {
    let members = node.object(&EVIDENCE, faults)?;
    let confidence = members.get("confidence").and_then(|node| match Confidence::read(node.value()) {
        Ok(confidence) => Some(confidence),
        Err(detail) => {
            node.fault(faults, detail);
            None
        }
    });
    let cites = members.get("cites").and_then(|node| distinct(&node, 0..=MOST_CITES, faults));
    Some(Evidence { confidence, cites: cites.unwrap_or_default() })
}

fn labels(node: &Node<'_>, faults: &mut Faults) -> Option<BTreeMap<String, String>> {
    let members = node.open_object(faults)?;
    if members.object().len() > MOST_LABELS {
        node.fault(faults, format!("{} labels, {MOST_LABELS} are allowed", members.object().len()));
        return None;
    }
    let mut labels = BTreeMap::new();
    for (name, level) in members.iter() {
        if let Err(detail) = name.parse::<Label>() {
            level.fault(faults, detail);
        }
        if let Some(level) = level.parse::<Label>(faults) {
            labels.insert(name.to_owned(), level.as_str().to_owned());
        }
    }
    Some(labels)
}

fn attachment(members: &Members<'_>, faults: &mut Faults) -> Option<Map<String, Value>> {
    let node = members.get("attachment")?;
    let attachment = object(members, "attachment", faults)?;
    let bytes = node.value().to_string().len();
    if bytes > LARGEST_ATTACHMENT_BYTES {
        node.fault(faults, format!("{bytes} bytes, {LARGEST_ATTACHMENT_BYTES} are allowed"));
    }
    Some(attachment)
}

/// What is stated; whose a thing is stands under `owners`, so that each condition finds it at one place.
fn facts(members: &Members<'_>, faults: &mut Faults) -> Option<Map<String, Value>> {
    let node = members.get("facts")?;
    let facts = object(members, "facts", faults)?;
    if facts.len() > MOST_FACTS {
        node.fault(faults, format!("{} facts, {MOST_FACTS} are allowed", facts.len()));
    }
    let bytes = node.value().to_string().len();
    if bytes > LARGEST_FACTS_BYTES {
        node.fault(faults, format!("{bytes} bytes, {LARGEST_FACTS_BYTES} are allowed"));
    }
    if let Some(owners) = node.open_object(faults)?.get("owners") {
        for (_, owner) in owners.open_object(faults)?.iter() {
            owner.text(faults);
        }
    }
    Some(facts)
}

fn version(node: &Node<'_>, faults: &mut Faults) -> Option<u64> {
    let version = node.value().as_u64();
    if version.is_none() {
        node.fault(faults, format!("`{}` is not a version: a whole number", shown(node.value())));
    }
    version
}
