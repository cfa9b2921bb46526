//! One decision: looked at, approved, declined or resolved.

use super::queue::{UNKNOWN, own, shown};
use super::reply::{change, done, html, read};
use super::visit::Visit;
use crate::actions::request::described_again;
use crate::app::App;
use crate::domain::{
    Amount, Country, Currency, DecisionId, Duration, ExternalName, FactsFrom, Hash, Intent, IntentPattern,
    Label, Malformed, TenantSlug,
};
use crate::engine::{Action, Clause, ClauseId, Described, Effect, MandateDocument, PolicyDocument};
use crate::http::{Problem, give_approval, give_decline, give_resolution, opened, path_id, status_at};
use crate::storage::agent::Agent;
use crate::storage::credential::Credential;
use crate::storage::decision::{Decision, DecisionKind, DecisionStatus};
use crate::storage::effect::EffectStatus;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{
    AnyConnection, StoreError, agent, credential, known, mandate, policy, principal, receipt,
};
use crate::web::display;
use crate::web::form::Fields;
use crate::web::view::{Asked, ClauseLine, DecisionPage, Event, Section, Stage};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;
use std::collections::BTreeSet;

/// The page of one decision.
pub(super) async fn show(app: web::Data<App>, request: HttpRequest, path: web::Path<String>) -> HttpResponse {
    read(&app, &request, Section::Queue, async |visit| {
        html(StatusCode::OK, &page(&app, visit, path_id(&path, "decision")?, None).await?)
    })
    .await
}

/// Gives the person's yes to what the page showed.
pub(super) async fn approve(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::Queue, async |visit, fields| {
        let id: DecisionId = path_id(&path, "decision")?;
        let given = async {
            let shown: Hash = required(fields, "input_hash")?;
            let seconds =
                optional::<Seconds>(fields, "valid_for")?.map(|seconds| Duration::seconds(seconds.0));
            give_approval(&app, &request, visit.person.clone(), id, shown, seconds).await
        };
        answer(&app, visit, id, given.await, "approved, for one time").await
    })
    .await
}

/// Says no; with the box ticked, to everything of that name from now on.
pub(super) async fn decline(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::Queue, async |visit, fields| {
        let id: DecisionId = path_id(&path, "decision")?;
        let mut said = "declined".to_owned();
        let given = async {
            let reason: Option<Label> = optional(fields, "reason")?;
            let clause = if optional::<Refuse>(fields, "narrow")?.is_some() {
                let (slug, person) = (visit.person.tenant.clone(), visit.person.id);
                let found = app.read(move |connection| own(connection, &slug, person, id)).await?;
                let intent = found.ok_or_else(|| Problem::not_found("decision"))?.intent;
                said = format!("declined, and your mandate now refuses every {intent}");
                Some(refusal_of(intent, id)?)
            } else {
                None
            };
            give_decline(&app, &request, visit.person.clone(), id, reason, clause).await
        };
        let given = given.await;
        answer(&app, visit, id, given, &said).await
    })
    .await
}

/// Says how an effect ended.
pub(super) async fn resolve(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::Queue, async |visit, fields| {
        let id: DecisionId = path_id(&path, "decision")?;
        let given = async {
            let status: EffectStatus = required(fields, "status")?;
            let reference: Option<Label> = optional(fields, "reference")?;
            give_resolution(&app, &request, visit.person.clone(), id, status, reference).await
        };
        answer(&app, visit, id, given.await, "its end is recorded").await
    })
    .await
}

/// Back to the queue, or the decision again with what stood in the way.
async fn answer(
    app: &App,
    visit: &Visit,
    id: DecisionId,
    given: Result<Value, Problem>,
    said: &str,
) -> Result<HttpResponse, Problem> {
    let problem = match given {
        Ok(decided) => {
            let intent = decided.get("intent").and_then(Value::as_str).unwrap_or("it");
            return Ok(done(app, visit, "/queue", &format!("{intent}: {said}")));
        }
        Err(problem) => problem,
    };
    match problem.status() {
        StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY => {
            html(problem.status(), &page(app, visit, id, Some(problem.detail())).await?)
        }
        _ => Err(problem),
    }
}

/// The clause that refuses one intent from now on, named after the decision that raised it.
fn refusal_of(intent: Intent, id: DecisionId) -> Result<Clause, Malformed> {
    let tail: String = id.to_string().chars().skip_while(|letter| *letter != '_').skip(1).collect();
    let named = |detail: String| Malformed::at("/narrow", detail);
    Ok(Clause {
        id: format!("declined-{tail}").parse::<ClauseId>().map_err(named)?,
        title: Some("Declined in the queue".parse::<Label>().map_err(named)?),
        intent: IntentPattern::Exact(intent),
        effect: Effect::Refuse,
        when: Vec::new(),
    })
}

/// Whole seconds as a form sends them.
struct Seconds(i64);

impl std::str::FromStr for Seconds {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{}` is not a number of seconds", text.escape_debug()))
    }
}

/// The one way in which the page narrows.
struct Refuse;

impl std::str::FromStr for Refuse {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "refuse" { Ok(Self) } else { Err(format!("`{}` is not `refuse`", text.escape_debug())) }
    }
}

/// A field that must be there, by its type's own grammar.
pub(super) fn required<T: std::str::FromStr<Err = String>>(
    fields: &Fields,
    name: &str,
) -> Result<T, Malformed> {
    fields.one(name).and_then(str::parse).map_err(|detail| Malformed::at(format!("/{name}"), detail))
}

/// A field that may be left empty, by its type's own grammar.
pub(super) fn optional<T: std::str::FromStr<Err = String>>(
    fields: &Fields,
    name: &str,
) -> Result<Option<T>, Malformed> {
    let parsed = fields.optional(name).and_then(|found| found.map(str::parse).transpose());
    parsed.map_err(|detail| Malformed::at(format!("/{name}"), detail))
}

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
    used: Option<StoredReceipt>,
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
        used,
        decision,
    })
}

async fn page(
    app: &App,
    visit: &Visit,
    id: DecisionId,
    fault: Option<&str>,
) -> Result<DecisionPage, Problem> {
    let (slug, person) = (visit.person.tenant.clone(), visit.person.id);
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
    let output = document(stored.map(|stored| stored.output.as_str()));
    let content = document(stored.and_then(|stored| stored.content.as_deref()));
    let decision = &found.decision;
    let status = status_at(decision, visit.now);
    let (reason, clauses) = match decision.kind {
        DecisionKind::Action => {
            let reason = output.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
            (reason, clause_lines(&found, &output))
        }
        DecisionKind::Effect => (UNKNOWN.to_owned(), Vec::new()),
    };
    let (stage, ends) = match status {
        DecisionStatus::Open => match decision.kind {
            DecisionKind::Action => (Stage::Approve, Some(decision.expires_at)),
            DecisionKind::Effect => (Stage::Resolve, None),
        },
        DecisionStatus::Approved => (Stage::Closed, decision.approved_until),
        DecisionStatus::Declined
        | DecisionStatus::Expired
        | DecisionStatus::Withdrawn
        | DecisionStatus::Used
        | DecisionStatus::Resolved => (Stage::Closed, None),
    };
    let label = |label: Option<&Label>| display::line(label.map_or("", Label::as_str));
    Ok(DecisionPage {
        frame: visit.frame_with(Section::Queue, fault),
        id: decision.id.to_string(),
        agent: label(found.agent.as_ref().map(|agent| &agent.name)),
        agent_kind: found.agent.as_ref().map_or("unknown", |agent| agent.kind.as_str()),
        credential: label(found.credential.as_ref().map(|credential| &credential.label)),
        purpose: found
            .credential
            .as_ref()
            .and_then(|credential| credential.purpose.as_ref())
            .map(|purpose| display::line(purpose.as_str())),
        asked: asked(&found, &input, &content),
        intent: decision.intent.to_string(),
        reason: display::line(&reason),
        clauses,
        input_hash: decision.input_hash.to_string(),
        receipt: stored.map_or_else(String::new, |stored| format!("/calls/receipts/{}.json", stored.body.id)),
        status: shown(status),
        opened: visit.when(decision.opened_at),
        ends: ends.map(|at| visit.when(at)),
        stage,
        history: history(visit, &found, status),
    })
}

/// The clauses that the answer names, with their titles where the mandate or policy of that time has them.
fn clause_lines(found: &Found, output: &Value) -> Vec<ClauseLine> {
    let names =
        output.get("clauses").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let of_mandate = found.mandate.iter().flat_map(|document| &document.clauses);
    let of_policy = found.policy.iter().flat_map(|document| &document.rule_sets).flat_map(|set| &set.clauses);
    let clauses: Vec<&Clause> = of_mandate.chain(of_policy).collect();
    names
        .map(|name| ClauseLine {
            id: name.to_owned(),
            title: clauses
                .iter()
                .find(|clause| clause.id.as_str() == name)
                .and_then(|clause| clause.title.as_ref())
                .map(|title| display::line(title.as_str())),
        })
        .collect()
}

/// What was asked, from the receipt's documents; nothing once they are erased.
fn asked(found: &Found, input: &Value, content: &Value) -> Option<Asked> {
    let stored = found.stored.as_ref()?;
    let described = described_again(input, Some(content))?;
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
