//! What the page of one decision shows: gathered from the decision, its receipt and what surrounds them.

use super::people::people;
use super::queue::{FLOOD, UNKNOWN, own, shown};
use super::visit::Visit;
use crate::actions::request::described_again;
use crate::actions::{reply_rules, screen};
use crate::app::App;
use crate::domain::{
    Amount, Country, Currency, DecisionId, ExternalName, FactsFrom, Label, TenantSlug, Timestamp,
};
use crate::engine::{Action, Clause, Described, MandateDocument, PolicyDocument};
use crate::http::{Problem, opened};
use crate::screening::Rules;
use crate::storage::agent::Agent;
use crate::storage::approval::Noted;
use crate::storage::credential::Credential;
use crate::storage::decision::{Decision, DecisionKind, DecisionStatus};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{
    AnyConnection, StoreError, agent, approval, credential, known, mandate, policy, principal, receipt,
};
use crate::web::display;
use crate::web::view::{Asked, ClauseLine, DecisionPage, Event, Section, Stage};
use serde_json::Value;
use std::collections::BTreeSet;

/// All that the page shows, as it is stored.
struct Found {
    decision: Decision,
    agent: Option<Agent>,
    credential: Option<Credential>,
    stored: Option<StoredReceipt>,
    /// The decision's own mandate, to tell its clauses' titles.
    mandate: Option<MandateDocument>,
    policy: Option<PolicyDocument>,
    /// Whom the person knows now.
    live: Option<MandateDocument>,
    approved: BTreeSet<ExternalName>,
    decided_by: Option<Label>,
    /// Whose queue it is in first.
    owner: Option<Label>,
    /// Every yes it has, if it takes more than its principal's.
    given: Vec<Noted>,
    used: Option<StoredReceipt>,
    /// What the attachment is screened under.
    rules: Rules,
}

fn find(connection: &mut AnyConnection, slug: &TenantSlug, decision: Decision) -> Result<Found, StoreError> {
    let stored = receipt::find(connection, slug, decision.log_index)?;
    let versions = stored.as_ref().map(|stored| (stored.body.mandate_version, stored.body.policy_version));
    let (mandate_version, policy_version) = versions.unwrap_or_default();
    let person = decision.principal;
    let mandate = match mandate_version {
        Some(version) => mandate::find(connection, slug, person, version)?.map(|found| found.document),
        None => None,
    };
    let policy = match policy_version {
        Some(version) => policy::find(connection, slug, version)?.map(|found| found.document),
        None => None,
    };
    let value = |text: String| serde_json::from_str::<Value>(&text).ok();
    let live = mandate::live(connection, slug, person)?.and_then(|live| value(live.document));
    let decided_by = match decision.decided_by {
        Some(id) => principal::find(connection, slug, id)?.map(|person| person.name),
        None => None,
    };
    let given = if decision.takes_others() {
        approval::of_decisions(connection, slug, [decision.id])?.remove(&decision.id)
    } else {
        None
    };
    let used = match decision.used_index {
        Some(index) => receipt::find(connection, slug, index)?,
        None => None,
    };
    Ok(Found {
        agent: agent::find(connection, slug, decision.agent)?,
        credential: credential::find(connection, slug, decision.credential)?,
        stored,
        mandate: mandate.and_then(value).and_then(|value| MandateDocument::read(&value).ok()),
        policy: policy.and_then(value).and_then(|value| PolicyDocument::read(&value).ok()),
        live: live.and_then(|value| MandateDocument::read(&value).ok()),
        approved: known::of_principal(connection, slug, person)?.into_iter().collect(),
        decided_by,
        owner: principal::find(connection, slug, person)?.map(|person| person.name),
        given: given.unwrap_or_default(),
        used,
        rules: reply_rules::live(connection, slug)?.0,
        decision,
    })
}

/// The page of one decision of the visitor's, with what stood in the way of the last form.
pub(super) async fn page(
    app: &App,
    visit: &Visit,
    id: DecisionId,
    fault: Option<&str>,
) -> Result<DecisionPage, Problem> {
    let (slug, person) = (visit.person.tenant.clone(), (visit.person.id, visit.person.roles));
    let found = app
        .read(move |connection| {
            let Some(decision) = own(connection, &slug, person, id)? else { return Ok(None) };
            find(connection, &slug, decision).map(Some)
        })
        .await?
        .ok_or_else(|| Problem::not_found("decision"))?;
    let document = |text: Option<&str>| {
        text.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default()
    };
    let stored = found.stored.as_ref();
    let input = document(stored.map(|stored| stored.input.as_str()));
    let content = document(stored.and_then(|stored| stored.content.as_deref()));
    let decision = &found.decision;
    let status = decision.status_at(visit.now);
    let reasons = match decision.kind {
        DecisionKind::Action => decision.why.sentences.iter().map(|reason| display::line(reason)).collect(),
        DecisionKind::Effect => vec![display::line(UNKNOWN)],
        DecisionKind::Attention => vec![display::line(FLOOD)],
    };
    let (stage, ends) = stage(decision, status);
    let label = |label: Option<&Label>| display::line(label.map_or("", Label::as_str));
    let is_own = decision.principal == visit.person.id;
    Ok(DecisionPage {
        frame: visit.frame_with(Section::Queue, fault),
        id: decision.id.to_string(),
        agent: label(found.agent.as_ref().map(|agent| &agent.name)),
        owner: (!is_own).then(|| label(found.owner.as_ref())),
        agent_kind: found.agent.as_ref().map_or("unknown", |agent| agent.kind.as_str()),
        credential: label(found.credential.as_ref().map(|credential| &credential.label)),
        purpose: found
            .credential
            .as_ref()
            .and_then(|credential| credential.purpose.as_ref())
            .map(|purpose| display::line(purpose.as_str())),
        asked: asked(&found, &input, &content),
        intent: decision.intent.to_string(),
        reasons,
        clauses: clause_lines(&found),
        asks: decision.asks,
        obligations: decision.why.obligations.iter().map(|sentence| display::block(sentence)).collect(),
        people: (stage == Stage::Approve).then(|| people(visit, decision, &found.given)).flatten(),
        input_hash: decision.input_hash.to_string(),
        receipt: stored
            .filter(|_| is_own || visit.person.sees_tenant())
            .map(|stored| format!("/calls/receipts/{}.json", stored.body.id)),
        status: shown(status),
        opened: visit.when(decision.opened_at),
        ends: ends.map(|at| visit.when(at)),
        stage,
        history: history(visit, &found, status),
    })
}

/// What can be done with a decision that stands there, and until when.
fn stage(decision: &Decision, status: DecisionStatus) -> (Stage, Option<Timestamp>) {
    match status {
        DecisionStatus::Open => match decision.kind {
            DecisionKind::Action => (Stage::Approve, Some(decision.expires_at)),
            DecisionKind::Effect => (Stage::Resolve, None),
            DecisionKind::Attention => (Stage::Close, Some(decision.expires_at)),
        },
        DecisionStatus::Approved => (Stage::Closed, decision.approved_until),
        DecisionStatus::Declined
        | DecisionStatus::Expired
        | DecisionStatus::Withdrawn
        | DecisionStatus::Used
        | DecisionStatus::Resolved => (Stage::Closed, None),
    }
}

/// The clauses that ask, with their titles where the mandate or policy of that time has them.
fn clause_lines(found: &Found) -> Vec<ClauseLine> {
    let of_mandate = found.mandate.iter().flat_map(|document| &document.clauses);
    let of_policy = found.policy.iter().flat_map(|document| &document.rule_sets).flat_map(|set| &set.clauses);
    let clauses: Vec<&Clause> = of_mandate.chain(of_policy).collect();
    let names = found.decision.why.clauses.iter();
    names
        .map(|name| ClauseLine {
            id: name.clone(),
            title: clauses
                .iter()
                .find(|clause| clause.id.as_str() == *name)
                .and_then(|clause| clause.title.as_ref())
                .map(|title| display::line(title.as_str())),
        })
        .collect()
}

/// What was asked, from the receipt's documents; nothing once they are erased.
fn asked(found: &Found, input: &Value, content: &Value) -> Option<Asked> {
    let stored = found.stored.as_ref()?;
    let mut described = described_again(input, Some(content))?;
    described.attachment = described.attachment.map(|sent| screen::shown_attachment(&sent, &found.rules));
    let facts_from = stored.body.facts_from.unwrap_or(FactsFrom::Described);
    let action = decided_on(&described, facts_from, opened(input, content).get("facts"));
    let is_known = |name: &ExternalName| {
        let listed = found.live.iter().flat_map(|document| &document.counterparties);
        found.approved.contains(name)
            || listed.filter(|known| known.is_called(name)).any(|known| {
                known.at_most.is_none_or(|most| {
                    action.amount.is_some_and(|amount| {
                        amount.currency() == most.currency() && amount.minor_units() <= most.minor_units()
                    })
                })
            })
    };
    Some(Asked::new(&described, &action, is_known))
}

/// The facts that the gate decided on: its own where it recorded some, otherwise the described ones.
fn decided_on(described: &Described, facts_from: FactsFrom, facts: Option<&Value>) -> Action {
    let action = Action::described(described);
    let Some(facts) = facts else { return Action { facts_from, ..action } };
    let text = |name: &str| facts.get(name).and_then(Value::as_str);
    let amount = facts.get("amount").and_then(|amount| {
        let currency: Currency = amount.get("currency")?.as_str()?.parse().ok()?;
        Amount::from_json(amount.get("value")?, currency).ok()
    });
    let names = facts.get("counterparties").and_then(Value::as_array);
    Action {
        amount,
        counterparties: names.into_iter().flatten().filter_map(|name| name.as_str()?.parse().ok()).collect(),
        resource: text("resource").and_then(|name| name.parse().ok()),
        country: text("country").and_then(|country| country.parse::<Country>().ok()),
        facts_from,
        ..action
    }
}

/// What happened to a decision, oldest first.
fn history(visit: &Visit, found: &Found, status: DecisionStatus) -> Vec<Event> {
    let decision = &found.decision;
    let event = |at, what: &str| Event { at, what: what.to_owned(), by: None, said: None };
    let said = decision.reason.as_deref().map(display::line);
    let mut events = vec![event(Some(visit.when(decision.opened_at)), "opened")];
    events.extend(found.given.iter().map(|noted| Event {
        by: Some(display::line(noted.name.as_str())),
        ..event(Some(visit.when(noted.at)), "yes said")
    }));
    if let Some(at) = decision.decided_at {
        let (what, reason) = match decision.status {
            DecisionStatus::Declined => ("declined", said.clone()),
            DecisionStatus::Resolved => ("resolved", said.clone()),
            DecisionStatus::Open
            | DecisionStatus::Approved
            | DecisionStatus::Expired
            | DecisionStatus::Withdrawn
            | DecisionStatus::Used => ("approved", None),
        };
        let by = found.decided_by.as_ref().map(|name| display::line(name.as_str()));
        events.push(Event { by, said: reason, ..event(Some(visit.when(at)), what) });
    }
    match status {
        DecisionStatus::Open
        | DecisionStatus::Approved
        | DecisionStatus::Declined
        | DecisionStatus::Resolved => {}
        DecisionStatus::Used => {
            events.push(event(found.used.as_ref().map(|used| visit.when(used.body.at)), "used"));
        }
        DecisionStatus::Expired => {
            let at = decision.approved_until.unwrap_or(decision.expires_at);
            events.push(event(Some(visit.when(at)), "expired"));
        }
        DecisionStatus::Withdrawn => events.push(Event { said, ..event(None, "withdrawn") }),
    }
    events
}
