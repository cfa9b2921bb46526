//! An explanation as JSON for programs; its words are [`super::text`]'s.

use super::clause::{ClauseComesTo, ClauseStep, LimitStep, Look, Met, Tested};
use super::words;
use super::{ComesTo, Explanation, Step, Subject};
use crate::domain::Outcome;
use crate::engine::reason::{Finding, Source};
use serde_json::{Map, Value, json};

/// Which documents' terms the reader may read; of others an explanation says no more than the answer did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The tenant's policy.
    pub policy: bool,
    /// The principal's mandate, and what narrows the credential.
    pub mandate: bool,
}

impl Shown {
    /// Everything.
    pub const ALL: Self = Self { policy: true, mandate: true };

    const fn shows(self, source: Source) -> bool {
        match source {
            Source::Service => true,
            Source::Policy => self.policy,
            Source::Mandate | Source::Credential => self.mandate,
        }
    }
}

impl Explanation {
    /// What was asked, for which instant, every step, and what it came to. It names no counterparty and no
    /// resource beyond those that stand in the documents' own terms.
    pub fn to_json(&self, shown: Shown) -> Value {
        let outcome = self.verdict.as_ref().map_or(Outcome::Refuse, |verdict| verdict.outcome);
        let mut steps: Vec<Value> = self.steps.iter().map(|step| step.to_json(shown, outcome)).collect();
        steps.extend(self.added().map(|(name, finding)| {
            json!({"step": name, "comes_to": finding.effect, "findings": [of_finding(finding)]})
        }));
        let mut object = Map::new();
        object.insert("asked".into(), self.asked());
        object.insert("at".into(), json!(self.at));
        object.insert("steps".into(), Value::Array(steps));
        match &self.verdict {
            Ok(verdict) => {
                object.insert("outcome".into(), json!(verdict.outcome));
                object.insert("clauses".into(), json!(verdict.clauses()));
                object.insert("reason".into(), json!(verdict.reason()));
            }
            Err(malformed) => {
                let errors = malformed.faults.iter();
                let errors =
                    errors.map(|fault| json!({"pointer": fault.pointer, "detail": fault.detail})).collect();
                object.insert("outcome".into(), json!(Outcome::Refuse));
                object.insert("errors".into(), errors);
            }
        }
        Value::Object(object)
    }

    fn asked(&self) -> Value {
        let action = &self.action;
        let mut asked = json!({
            "intent": action.intent,
            "registered": action.registered,
            "facts_from": action.facts_from,
            "counterparties": action.counterparties.len(),
            "resource": action.resource.is_some(),
            "untrusted": action.untrusted,
        });
        if let Some(members) = asked.as_object_mut() {
            if let Some(amount) = action.amount {
                members.insert("amount".into(), amount.to_json());
            }
            if let Some(country) = action.country {
                members.insert("country".into(), json!(country));
            }
        }
        asked
    }
}

impl Subject {
    /// What it is called.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Domains(_) => "domains",
            Self::Scopes => "scopes",
            Self::Validity => "validity",
            Self::AgentKind => "agent kind",
            Self::Catalogue => "catalogue",
            Self::Policy { .. } => "policy",
            Self::Mandate => "mandate",
            Self::Credential(_) => "credential",
        }
    }

    const fn source(&self) -> Source {
        match self {
            Self::Domains(_) | Self::Scopes | Self::Validity | Self::AgentKind | Self::Catalogue => {
                Source::Service
            }
            Self::Policy { .. } => Source::Policy,
            Self::Mandate => Source::Mandate,
            Self::Credential(_) => Source::Credential,
        }
    }
}

impl ComesTo {
    /// The word for it in answers.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::NotReached => "not_reached",
            Self::Passes => "pass",
            Self::Finds(findings) => {
                let strictest = findings.iter().map(|finding| finding.effect).max();
                strictest.map_or("pass", Outcome::as_str)
            }
            Self::Outside(_) => "malformed",
        }
    }
}

impl Step {
    /// Of a document that the reader may not read, what came to `outcome` alone.
    fn to_json(&self, shown: Shown, outcome: Outcome) -> Value {
        let mut object = Map::new();
        object.insert("step".into(), json!(self.subject.name()));
        let is_shown = shown.shows(self.subject.source());
        self.about(shown, is_shown, &mut object);
        if self.has_clauses() {
            let found = |step: &&ClauseStep| match step.comes_to {
                ClauseComesTo::Found(effect, _) => is_shown || effect == outcome,
                ClauseComesTo::Passes
                | ClauseComesTo::DoesNotAct
                | ClauseComesTo::Outranked
                | ClauseComesTo::Yields { .. } => is_shown,
            };
            let clauses: Vec<&ClauseStep> = self.clauses.iter().filter(found).collect();
            if is_shown {
                object.insert("elsewhere".into(), json!(self.elsewhere));
            } else {
                object.insert("withheld".into(), json!(true));
            }
            object.insert("clauses".into(), clauses.iter().map(|step| step.to_json(is_shown)).collect());
        }
        object.insert("comes_to".into(), json!(self.comes_to.as_str()));
        if let ComesTo::Finds(findings) = &self.comes_to {
            let findings = findings.iter().filter(|finding| is_shown || finding.effect == outcome);
            object.insert("findings".into(), findings.map(of_finding).collect());
        }
        Value::Object(object)
    }

    fn has_clauses(&self) -> bool {
        self.subject.source() != Source::Service && self.comes_to != ComesTo::NotReached
    }

    fn about(&self, shown: Shown, is_shown: bool, object: &mut Map<String, Value>) {
        match &self.subject {
            Subject::Domains(tested) => {
                let tested = tested.iter().filter(|(source, _)| shown.shows(*source));
                let tested: Vec<Value> = tested
                    .map(|(source, tested)| {
                        let mut value = tested.to_json();
                        if let Some(members) = value.as_object_mut() {
                            members.insert("source".into(), json!(source.as_str()));
                        }
                        value
                    })
                    .collect();
                object.insert("conditions".into(), Value::Array(tested));
            }
            Subject::Policy { applies, certain } if is_shown => {
                object.insert("because".into(), json!(words::rule_set(*applies, certain)));
            }
            Subject::Credential(id) => {
                object.insert("credential".into(), json!(id));
            }
            Subject::Scopes
            | Subject::Validity
            | Subject::AgentKind
            | Subject::Catalogue
            | Subject::Policy { .. }
            | Subject::Mandate => {}
        }
    }
}

fn of_finding(finding: &Finding) -> Value {
    json!({
        "clause": finding.clause.to_string(),
        "effect": finding.effect,
        "code": finding.reason.code(),
        "reason": finding.to_string(),
    })
}

impl ClauseStep {
    fn to_json(&self, is_shown: bool) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("clause", json!(self.id.as_str()));
        put("effect", json!(self.effect.as_str()));
        if is_shown {
            if let Some(title) = &self.title {
                put("title", json!(title));
            }
            put("conditions", self.conditions.iter().map(Tested::to_json).collect());
            put("limits", self.limits.iter().map(LimitStep::to_json).collect());
        }
        let word = match &self.comes_to {
            ClauseComesTo::Found(outcome, reason) => {
                put("code", json!(reason.code()));
                put("reason", json!(reason.to_string()));
                outcome.as_str()
            }
            ClauseComesTo::Passes => "pass",
            ClauseComesTo::DoesNotAct => "does_not_act",
            ClauseComesTo::Outranked => "outranked",
            ClauseComesTo::Yields { to, holds } => {
                put("yields_to", json!(to.as_str()));
                put("holds", json!(holds));
                "yields"
            }
        };
        put("comes_to", json!(word));
        Value::Object(object)
    }
}

impl Tested {
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("condition".into(), self.written.clone());
        object.insert("says".into(), json!(self.says));
        result(&self.result, &mut object);
        Value::Object(object)
    }
}

fn result(result: &Result<(), super::Reason>, object: &mut Map<String, Value>) {
    object.insert("holds".into(), json!(result.is_ok()));
    if let Err(reason) = result {
        object.insert("code".into(), json!(reason.code()));
        object.insert("reason".into(), json!(reason.to_string()));
    }
}

impl LimitStep {
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("limit".into(), self.written.clone());
        object.insert("says".into(), json!(self.says));
        match &self.met {
            Met::NotAsked => {}
            Met::Lacks(reason) => result(&Err(reason.clone()), &mut object),
            Met::Looked(looks) => {
                object.insert("holds".into(), json!(looks.iter().all(|look| look.result.is_ok())));
                object.insert("books".into(), looks.iter().map(Look::to_json).collect());
            }
        }
        Value::Object(object)
    }
}

impl Look {
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        if let Some(since) = self.since {
            object.insert("since".into(), json!(since));
        }
        let numbers = [("used", self.used), ("asked", Some(self.asked)), ("allowed", Some(self.allowed))];
        for (name, number) in numbers {
            if let Some(number) = number {
                object.insert(name.into(), json!(words::counted(self.counts, number)));
            }
        }
        result(&self.result, &mut object);
        Value::Object(object)
    }
}
