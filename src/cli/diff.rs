//! `procura mandate diff`: what a new version of a mandate or a policy says otherwise than the old one, and whether it
//! is narrower.

use super::arguments::MandateDiff;
use super::config::Sources;
use super::mandate::document;
use super::output::{self, Failure, Form};
use crate::domain::Malformed;
use crate::engine::{Change, MandateDocument, PolicyDocument, compare, compare_policies};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What a policy may say at its top and a mandate may not.
const OF_POLICIES: [&str; 4] = ["rule_sets", "labels", "unregistered", "applies"];

/// Says what changed, clause by clause and member by member: always 0.
pub(super) fn run(sources: &Sources, options: &MandateDiff, form: Form) -> Result<u8, Failure> {
    let value = |name: &str| document(name, |value| Ok(value.clone()));
    let files = [(&options.old, value(&options.old)?), (&options.new, value(&options.new)?)];
    let policies = sources.switch("policy", options.policy)? || files.iter().any(|(_, file)| is_policy(file));
    let [old, new] = &files;
    let (change, parts) = if policies {
        let (old, new) = (read(old, PolicyDocument::read)?, read(new, PolicyDocument::read)?);
        (compare_policies(&old, &new), policy_parts(&old.to_json(), &new.to_json()))
    } else {
        let (old, new) = (read(old, MandateDocument::read)?, read(new, MandateDocument::read)?);
        (compare(&old, &new), parts(THE_REST, &old.to_json(), &new.to_json()))
    };
    if form == Form::Json {
        let parts: Vec<Value> = parts.iter().map(Part::to_json).collect();
        output::json(&json!({"change": change.as_str(), "parts": parts}))?;
        return Ok(0);
    }
    output::line(format!("{}: {}", change.as_str(), meaning(change)))?;
    parts.iter().flat_map(Part::lines).try_for_each(output::line)?;
    Ok(0)
}

/// Whether a document says what only a policy may say.
pub(super) fn is_policy(document: &Value) -> bool {
    OF_POLICIES.iter().any(|member| document.get(member).is_some())
}

fn read<T>(
    (name, value): &(&String, Value),
    read: impl FnOnce(&Value) -> Result<T, Malformed>,
) -> Result<T, Failure> {
    read(value).map_err(|malformed| Failure::usage(format!("`{name}`: {malformed}")))
}

/// What a kind of change says, in words.
const fn meaning(change: Change) -> &'static str {
    match change {
        Change::Unchanged => "every action is answered as before",
        Change::Narrowed => "no action is answered less strictly than before",
        Change::Widened => "some actions may be answered less strictly than before, none more strictly",
        Change::Mixed => "some actions may be answered less strictly than before, others more strictly",
    }
}

/// What stands in no clause of a mandate, and in none of a policy.
const THE_REST: &str = "the mandate itself";
const THE_POLICY: &str = "the policy itself";

/// A clause, or all the rest of the document, where the versions differ.
struct Part {
    /// The rule set the clause stands in, where it is not the general one of a policy, or the one clauses of a mandate.
    rule_set: Option<String>,
    /// The clause's id; `None` is the rest.
    clause: Option<String>,
    /// What the rest is called.
    rest: &'static str,
    change: &'static str,
    members: Vec<Difference>,
}

/// A member where the versions differ, with what each says.
struct Difference {
    place: String,
    old: Option<Value>,
    new: Option<Value>,
}

/// What differs: the document itself, then its clauses in the old version's order, then the new ones.
fn parts(called: &'static str, old: &Value, new: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    let rest = differences(&without(old, "clauses"), &without(new, "clauses"));
    if !rest.is_empty() {
        parts.push(Part { rule_set: None, clause: None, rest: called, change: "changed", members: rest });
    }
    let (before, after) = (clauses(old), clauses(new));
    for (id, clause) in &before {
        let (change, other) = match after.iter().find(|(other, _)| other == id) {
            Some((_, other)) => ("changed", (*other).clone()),
            None => ("removed", Value::Null),
        };
        push(&mut parts, id, change, clause, &other);
    }
    for (id, clause) in after.iter().filter(|(id, _)| before.iter().all(|(other, _)| other != id)) {
        push(&mut parts, id, "added", &Value::Null, clause);
    }
    parts
}

fn push(parts: &mut Vec<Part>, id: &str, change: &'static str, old: &Value, new: &Value) {
    let mut members = differences(old, new);
    // The id is what the part is called.
    members.retain(|member| member.place != "id");
    if !members.is_empty() {
        parts.push(Part { rule_set: None, clause: Some(id.to_owned()), rest: THE_REST, change, members });
    }
}

/// What differs between two policies: what stands in no rule set, then rule set by rule set, each known by whom it is
/// for.
fn policy_parts(old: &Value, new: &Value) -> Vec<Part> {
    let mut found = parts(THE_POLICY, &without(old, "rule_sets"), &without(new, "rule_sets"));
    let sets = |document: &Value| -> Vec<Value> {
        document.get("rule_sets").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let applies = |set: &Value| set.get("applies").cloned().unwrap_or_else(|| json!({}));
    let (before, after) = (sets(old), sets(new));
    let added = after.iter().filter(|set| before.iter().all(|other| applies(other) != applies(set)));
    for set in before.iter().chain(added) {
        let whom = applies(set);
        let of = |sets: &[Value]| {
            let set = sets.iter().find(|set| applies(set) == whom);
            json!({"clauses": set.and_then(|set| set.get("clauses"))})
        };
        let name = whom.as_object().filter(|members| !members.is_empty()).map(|members| {
            let parts = members.iter().map(|(name, value)| format!("{name} {}", plain(value)));
            parts.collect::<Vec<_>>().join(", ")
        });
        let inside = parts(THE_POLICY, &of(&before), &of(&after));
        found.extend(inside.into_iter().map(|part| Part { rule_set: name.clone(), ..part }));
    }
    found
}

fn without(document: &Value, left_out: &str) -> Value {
    let members = document.as_object().into_iter().flatten().filter(|(name, _)| *name != left_out);
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn clauses(document: &Value) -> Vec<(&str, &Value)> {
    let clauses = document.get("clauses").and_then(Value::as_array).into_iter().flatten();
    clauses.filter_map(|clause| Some((clause.get("id")?.as_str()?, clause))).collect()
}

/// The leaves of both versions that are not the same, in the order of their places.
fn differences(old: &Value, new: &Value) -> Vec<Difference> {
    let (mut before, mut after) = (Map::new(), Map::new());
    leaves("", old, &mut before);
    leaves("", new, &mut after);
    let mut places: Vec<&String> = before.keys().collect();
    let seen: BTreeSet<&String> = before.keys().collect();
    places.extend(after.keys().filter(|place| !seen.contains(place)));
    places
        .into_iter()
        .filter(|place| before.get(*place) != after.get(*place))
        .map(|place| Difference {
            place: place.clone(),
            old: before.get(place).cloned(),
            new: after.get(place).cloned(),
        })
        .collect()
}

/// Every value that is one thing to a person: an amount, a list of texts, a number. Things in a list are placed by
/// their ids where they have some, otherwise by their numbers.
fn leaves(place: &str, value: &Value, into: &mut Map<String, Value>) {
    // The pointer to the whole of something is the empty text, which nobody would see.
    let shown = |name: &str| if name.is_empty() { "\"\"".to_owned() } else { name.to_owned() };
    let below = |name: &str| if place.is_empty() { shown(name) } else { format!("{place} {}", shown(name)) };
    match value {
        Value::Null => {}
        // A document in which nothing else stands says nothing.
        Value::Object(members) if members.is_empty() && place.is_empty() => {}
        Value::Object(members) if !is_amount(members) && !members.is_empty() => {
            for (name, member) in members {
                leaves(&below(name), member, into);
            }
        }
        Value::Array(entries) if entries.iter().any(Value::is_object) => {
            for (position, entry) in entries.iter().enumerate() {
                let id = entry.get("id").and_then(Value::as_str).map(str::to_owned);
                let name = id.unwrap_or_else(|| position.saturating_add(1).to_string());
                leaves(&below(&name), entry, into);
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            into.insert(place.to_owned(), value.clone());
        }
    }
}

fn is_amount(members: &Map<String, Value>) -> bool {
    members.len() == 2 && members.contains_key("value") && members.contains_key("currency")
}

impl Part {
    fn to_json(&self) -> Value {
        let members: Vec<Value> = self.members.iter().map(Difference::to_json).collect();
        let mut part = json!({"clause": self.clause, "change": self.change, "members": members});
        if let (Some(name), Some(object)) = (&self.rule_set, part.as_object_mut()) {
            object.insert("rule_set".to_owned(), json!(name));
        }
        part
    }

    fn lines(&self) -> Vec<String> {
        let name = self.clause.as_deref().unwrap_or(self.rest);
        let place = self.rule_set.as_ref().map(|set| format!(" (for {set})")).unwrap_or_default();
        let mut lines = vec![format!("{name}{place} {}", self.change)];
        lines.extend(self.members.iter().map(Difference::line));
        lines
    }
}

impl Difference {
    fn to_json(&self) -> Value {
        json!({"member": self.place, "old": self.old, "new": self.new})
    }

    fn line(&self) -> String {
        let words = match (&self.old, &self.new) {
            (Some(old), Some(new)) => format!("{}, now {}", plain(old), plain(new)),
            (Some(old), None) => format!("no longer {}", plain(old)),
            (None, Some(new)) => format!("now {}", plain(new)),
            (None, None) => String::new(),
        };
        format!("  {}: {words}", self.place)
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Array(entries) if entries.is_empty() => "none".to_owned(),
        Value::Array(entries) => entries.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        Value::Object(members) if is_amount(members) => {
            let part = |name: &str| members.get(name).map(plain).unwrap_or_default();
            format!("{} {}", part("value"), part("currency"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
