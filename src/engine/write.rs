//! From a document to the JSON that reads back as the same: defaults left out, sets in order.

use super::document::{
    Applies, Approvals, Clause, CredentialClauses, Domain, Effect, KnownCounterparty, MandateDocument,
    Otherwise, PolicyDocument, RuleSet, Unlisted, Unregistered, Validity,
};
use super::limit::{Bound, Limit};
use super::write_condition::conditions;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

impl MandateDocument {
    /// The document as JSON, in the one form that equal documents share.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        put(&mut object, "scopes", json!(self.scopes));
        if let Some(valid) = &self.valid {
            put(&mut object, "valid", validity(valid));
        }
        match self.unlisted {
            Unlisted::Escalate => {}
            Unlisted::Refuse => put(&mut object, "unlisted", json!("refuse")),
        }
        if !self.counterparties.is_empty() {
            put(&mut object, "counterparties", self.counterparties.iter().map(known).collect());
        }
        if !self.domains.is_empty() {
            put(&mut object, "domains", domains(&self.domains));
        }
        put(&mut object, "clauses", clauses(&self.clauses));
        Value::Object(object)
    }
}

impl PolicyDocument {
    /// The document as JSON, always in the form with `rule_sets`.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        match self.unregistered {
            Unregistered::Described => {}
            Unregistered::Escalate => put(&mut object, "unregistered", json!("escalate")),
            Unregistered::Refuse => put(&mut object, "unregistered", json!("refuse")),
        }
        if !self.domains.is_empty() {
            put(&mut object, "domains", domains(&self.domains));
        }
        if !self.labels.0.is_empty() {
            put(&mut object, "labels", self.labels.to_json());
        }
        put(&mut object, "rule_sets", self.rule_sets.iter().map(rule_set).collect());
        Value::Object(object)
    }
}

impl CredentialClauses {
    /// The clauses as a JSON list.
    pub fn to_json(&self) -> Value {
        clauses(&self.0)
    }
}

fn put(object: &mut Map<String, Value>, name: &str, value: Value) {
    object.insert(name.to_owned(), value);
}

fn validity(valid: &Validity) -> Value {
    let mut object = Map::new();
    if let Some(from) = valid.from {
        put(&mut object, "from", json!(from));
    }
    if let Some(until) = valid.until {
        put(&mut object, "until", json!(until));
    }
    Value::Object(object)
}

fn known(counterparty: &KnownCounterparty) -> Value {
    let mut object = Map::new();
    put(&mut object, "id", json!(counterparty.id));
    if !counterparty.aliases.is_empty() {
        put(&mut object, "aliases", json!(counterparty.aliases));
    }
    if let Some(most) = counterparty.at_most {
        put(&mut object, "at_most", most.to_json());
    }
    Value::Object(object)
}

fn rule_set(set: &RuleSet) -> Value {
    let mut object = Map::new();
    if set.applies != Applies::default() {
        let mut applies = Map::new();
        if let Some(agent) = set.applies.agent {
            put(&mut applies, "agent", json!(agent));
        }
        if let Some(country) = set.applies.country {
            put(&mut applies, "country", json!(country));
        }
        put(&mut object, "applies", Value::Object(applies));
    }
    put(&mut object, "clauses", clauses(&set.clauses));
    Value::Object(object)
}

fn clauses(clauses: &[Clause]) -> Value {
    clauses.iter().map(clause).collect()
}

/// One clause as documents write it.
pub(super) fn clause(clause: &Clause) -> Value {
    let mut object = Map::new();
    put(&mut object, "id", json!(clause.id.as_str()));
    if let Some(title) = &clause.title {
        put(&mut object, "title", json!(title));
    }
    put(&mut object, "intent", json!(clause.intent.to_string()));
    if clause.effect == (Effect::Allow { otherwise: Otherwise::Refuse }) {
        put(&mut object, "otherwise", json!("refuse"));
    }
    put(&mut object, "effect", json!(clause.effect.as_str()));
    if !clause.when.is_empty() {
        put(&mut object, "when", conditions(&clause.when));
    }
    if !clause.limits.is_empty() {
        put(&mut object, "limits", clause.limits.iter().map(limit).collect());
    }
    if let Some(approvals) = &clause.approvals {
        put(&mut object, "approvals", approvals.to_json());
    }
    if let Some(obligation) = &clause.obligation {
        put(&mut object, "obligation", json!(obligation.as_str()));
    }
    Value::Object(object)
}

/// One limit as documents write it.
pub(super) fn limit(limit: &Limit) -> Value {
    let mut object = Map::new();
    match limit.bound {
        Bound::Total { most, per } => {
            put(&mut object, "total", most.to_json());
            put(&mut object, "per", json!(per.to_string()));
        }
        Bound::Count { most, per } => {
            put(&mut object, "count", json!(most));
            put(&mut object, "per", json!(per.to_string()));
        }
        Bound::Once => {}
    }
    if let Some(each) = limit.each {
        let name = if limit.bound == Bound::Once { "once_per" } else { "each" };
        put(&mut object, name, json!(each.as_str()));
    }
    if let Some(pool) = &limit.pool {
        put(&mut object, "pool", json!(pool.as_str()));
    }
    Value::Object(object)
}

fn domains(domains: &[Domain]) -> Value {
    let by_pattern = domains.iter().map(|domain| (domain.intent.to_string(), conditions(&domain.when)));
    Value::Object(by_pattern.collect())
}

impl Approvals {
    /// What [`Approvals::to_json`] wrote.
    pub fn from_json(value: &Value) -> Option<Self> {
        let count = u8::try_from(value.get("count")?.as_u64()?).ok()?;
        let roles = match value.get("roles") {
            Some(roles) => {
                roles.as_array()?.iter().map(|role| role.as_str()?.parse().ok()).collect::<Option<_>>()?
            }
            None => BTreeSet::new(),
        };
        let others = value.get("others").is_some_and(|others| *others == Value::Bool(true));
        Some(Self { count, roles, others })
    }

    /// As documents, decisions and answers write it.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        put(&mut object, "count", json!(self.count));
        if !self.roles.is_empty() {
            put(&mut object, "roles", self.roles.iter().map(|role| json!(role.as_str())).collect());
        }
        if self.others {
            put(&mut object, "others", json!(true));
        }
        Value::Object(object)
    }
}
