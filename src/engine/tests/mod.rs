//! What the engine promises, as examples and as laws.

#![expect(clippy::needless_pass_by_value, reason = "`json!` literals read best as arguments")]

mod admission;
mod arguments;
mod carried;
mod cedar;
mod checks;
mod comparisons;
mod condition_documents;
mod conditions;
mod decisions;
mod derivations;
mod documents;
mod explanations;
mod generate;
mod grounds;
mod keywords;
mod laws;
mod ledger;
mod limit_laws;
mod limits;
mod links;
mod naive;
mod references;

use super::{
    Action, CredentialClauses, CredentialTerms, Described, KnownCounterparties, MandateDocument,
    PolicyDocument, Standing, Used, Verdict, decide, read_request,
};
use crate::domain::{
    AgentId, AgentKind, Country, CredentialId, ExternalName, Malformed, Outcome, PrincipalId, Scope, Scopes,
    Timestamp,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn mandate(value: Value) -> MandateDocument {
    MandateDocument::read(&value).unwrap()
}

/// A mandate that lets agents ask, with these clauses.
fn terms(clauses: Value) -> MandateDocument {
    mandate(json!({"scopes": ["action:request"], "clauses": clauses}))
}

fn policy(value: Value) -> PolicyDocument {
    PolicyDocument::read(&value).unwrap()
}

fn clauses(value: Value) -> CredentialClauses {
    CredentialClauses::read(&value).unwrap()
}

fn described(value: Value) -> Described {
    read_request(&value).unwrap()
}

fn action(value: Value) -> Action {
    Action::described(&described(value))
}

fn name(text: &str) -> ExternalName {
    text.parse().unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-11-30T12:00:00Z")
}

fn agent() -> AgentId {
    AgentId::new(Timestamp::from_unix_milliseconds(0), [1; 10])
}

fn principal() -> PrincipalId {
    PrincipalId::new(Timestamp::from_unix_milliseconds(0), [2; 10])
}

/// The credential at a place of the line, the own one first.
fn credential(place: u8) -> CredentialId {
    CredentialId::new(Timestamp::from_unix_milliseconds(0), [place; 10])
}

/// What is wrong, as `pointer: detail` lines.
fn faults<T: std::fmt::Debug>(read: Result<T, Malformed>) -> Vec<String> {
    let line = |fault: crate::domain::Fault| format!("{}: {}", fault.pointer, fault.detail);
    read.unwrap_err().faults.into_iter().map(line).collect()
}

/// A standing to change in the one respect a test is about.
struct Case {
    scopes: Scopes,
    kind: AgentKind,
    mandate: MandateDocument,
    policy: PolicyDocument,
    credentials: Vec<CredentialClauses>,
    country_fixed: Option<Country>,
    known: BTreeSet<ExternalName>,
    used: Used,
    zone: chrono_tz::Tz,
    now: Timestamp,
}

impl Case {
    fn new(mandate: MandateDocument) -> Self {
        Self {
            scopes: Scopes::NONE.with(Scope::ActionRequest),
            kind: AgentKind::Acting,
            mandate,
            policy: PolicyDocument::empty(),
            credentials: Vec::new(),
            country_fixed: None,
            known: BTreeSet::new(),
            used: Used::default(),
            zone: chrono_tz::UTC,
            now: now(),
        }
    }

    fn decide(&self, action: &Action) -> Verdict {
        self.standing(|standing| decide(standing, action, self.now))
    }

    fn standing<T>(&self, with: impl FnOnce(&Standing<'_>) -> T) -> T {
        let line = self.credentials.iter().zip(1..);
        let credentials: Vec<CredentialTerms<'_>> =
            line.map(|(clauses, place)| CredentialTerms { id: credential(place), clauses }).collect();
        let known: &dyn KnownCounterparties = &self.known;
        let standing = Standing {
            scopes: self.scopes,
            principal: principal(),
            agent: agent(),
            agent_kind: self.kind,
            mandate: &self.mandate,
            policy: &self.policy,
            credentials: &credentials,
            country_fixed: self.country_fixed,
            known,
            used: &self.used,
            zone: self.zone,
        };
        with(&standing)
    }

    /// Outcome and clauses, as tables write them.
    fn answer(&self, request: Value) -> (Outcome, String) {
        let verdict = self.decide(&action(request));
        (verdict.outcome, verdict.clauses().join(" "))
    }
}
