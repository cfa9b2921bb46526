//! The queue: what waits, and what has ended.

use super::people::{in_short, people};
use super::reply::{html, read, see_other};
use super::visit::Visit;
use crate::app::App;
use crate::domain::{AgentId, DecisionId, PrincipalId, Roles, TenantSlug};
use crate::http::{Problem, Query};
use crate::storage::decision::{self, Decision, DecisionKind, DecisionStatus};
use crate::storage::queue::{self, Part, Whose};
use crate::storage::{AnyConnection, StoreError, agent, principal, receipt};
use crate::web::display;
use crate::web::view::{EndedRow, OpenRow, QueuePage, Section, Status, Tone};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// How many decisions one page looks at.
const PAGE: i64 = 50;

/// The way in.
pub(super) async fn home() -> HttpResponse {
    see_other("/queue")
}

/// The queue; with a cursor, what ended longer ago.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Queue, async |visit| {
        let query = Query::read(&request, &["cursor"])?;
        let page = page(&app, visit, query.id_cursor::<DecisionId>()?).await?;
        html(StatusCode::OK, &page)
    })
    .await
}

async fn page(app: &App, visit: &Visit, cursor: Option<String>) -> Result<QueuePage, Problem> {
    let waiting = if cursor.is_none() { visit.open.clone() } else { Vec::new() };
    let (slug, id, roles) = (visit.person.tenant.clone(), visit.person.id, visit.person.roles);
    let (open, ended) = app
        .read(move |connection| {
            let open = lines(connection, &slug, id, waiting)?;
            let part = Part { status: None, before: cursor.as_deref() };
            let page = queue::page(connection, &slug, Whose::Person(id, roles), part, PAGE)?;
            Ok((open, lines(connection, &slug, id, page)?))
        })
        .await?;
    let is_full = i64::try_from(ended.len()).is_ok_and(|count| count == PAGE);
    let older = ended.last().filter(|_| is_full).map(|line| format!("/queue?cursor={}", line.decision.id));
    let ended = ended
        .into_iter()
        .filter_map(|line| {
            let status = line.decision.status_at(visit.now);
            (status != DecisionStatus::Open).then(|| EndedRow {
                id: line.decision.id.to_string(),
                agent: display::line(&line.agent),
                owner: line.owner.as_deref().map(display::line),
                intent: line.decision.intent.to_string(),
                amount: line.amount,
                status: shown(status),
                asked: visit.when(line.decision.opened_at),
            })
        })
        .collect();
    let open = open.into_iter().map(|line| open_row(visit, line)).collect();
    Ok(QueuePage { frame: visit.frame(Section::Queue), open, ended, older })
}

fn open_row(visit: &Visit, line: Line) -> OpenRow {
    let decision = &line.decision;
    let given = visit.given.get(&decision.id).map_or(&[][..], Vec::as_slice);
    let about = match decision.kind {
        DecisionKind::Action => None,
        DecisionKind::Effect => Some("nobody knows how this ended"),
        DecisionKind::Attention => Some("asks too much"),
    };
    let badge = match (decision.kind, decision.asks) {
        (DecisionKind::Effect, _) | (_, 0 | 1) => None,
        (DecisionKind::Action, asks) => Some(format!("asked {asks} times")),
        (DecisionKind::Attention, asks) => Some(format!("{asks} refused or put off")),
    };
    let expires = match decision.kind {
        DecisionKind::Action | DecisionKind::Attention => Some(visit.when(decision.expires_at)),
        DecisionKind::Effect => None,
    };
    OpenRow {
        id: decision.id.to_string(),
        about,
        badge,
        people: people(visit, decision, given).as_ref().map(in_short),
        agent: display::line(&line.agent),
        owner: line.owner.as_deref().map(display::line),
        intent: decision.intent.to_string(),
        amount: line.amount,
        reason: display::line(&line.reason),
        expires,
    }
}

/// A decision with what its line says beside it.
struct Line {
    decision: Decision,
    agent: String,
    /// Whose agent it is, where it is not the reader's.
    owner: Option<String>,
    amount: Option<String>,
    reason: String,
}

fn lines(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    reader: PrincipalId,
    decisions: Vec<Decision>,
) -> Result<Vec<Line>, StoreError> {
    let receipts = receipt::find_many(connection, tenant, decisions.iter().map(|one| one.log_index))?;
    let mut names: HashMap<AgentId, String> = HashMap::new();
    let mut owners: HashMap<PrincipalId, String> = HashMap::new();
    for decision in &decisions {
        if let Entry::Vacant(unknown) = names.entry(decision.agent) {
            let agent = agent::find(connection, tenant, decision.agent)?;
            unknown.insert(agent.map(|agent| agent.name.to_string()).unwrap_or_default());
        }
        if decision.principal != reader
            && let Entry::Vacant(unknown) = owners.entry(decision.principal)
        {
            let owner = principal::find(connection, tenant, decision.principal)?;
            unknown.insert(owner.map(|owner| owner.name.to_string()).unwrap_or_default());
        }
    }
    let lines = decisions
        .into_iter()
        .map(|decision| {
            let stored = receipts.get(&decision.log_index);
            let document = |text: Option<&str>| {
                text.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default()
            };
            let input = document(stored.map(|stored| stored.input.as_str()));
            let reason = match decision.kind {
                DecisionKind::Action => decision.why.reason(),
                DecisionKind::Effect => UNKNOWN.to_owned(),
                DecisionKind::Attention => FLOOD.to_owned(),
            };
            Line {
                agent: names.get(&decision.agent).cloned().unwrap_or_default(),
                owner: owners.get(&decision.principal).cloned(),
                amount: amount(&input),
                reason,
                decision,
            }
        })
        .collect();
    Ok(lines)
}

/// Why an effect waits for a person.
pub(super) const UNKNOWN: &str = "it was allowed, and whoever carried it out could not say how it ended";

/// What an item says that an agent is told no for asking too much.
pub(super) const FLOOD: &str = "it asks for more decisions than one agent may: what else it asks for is refused, and how \
                                effects ended that it knows nothing of is asked later, until some are decided or an \
                                hour has passed";

/// What a call moves, by its facts where the gate has them from elsewhere than the description.
fn amount(input: &Value) -> Option<String> {
    let amount = input.get("facts").or_else(|| input.get("request"))?.get("amount")?;
    Some(format!("{} {}", amount.get("value")?.as_str()?, amount.get("currency")?.as_str()?))
}

/// A status in a word and a colour.
pub(super) const fn shown(status: DecisionStatus) -> Status {
    let tone = match status {
        DecisionStatus::Open | DecisionStatus::Approved => Tone::Waiting,
        DecisionStatus::Used | DecisionStatus::Resolved => Tone::Good,
        DecisionStatus::Declined => Tone::Bad,
        DecisionStatus::Expired | DecisionStatus::Withdrawn => Tone::Quiet,
    };
    Status { word: status.as_str(), tone }
}

/// The decision of that id, if it stands in this person's queue.
pub(super) fn own(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    (person, roles): (PrincipalId, Roles),
    id: DecisionId,
) -> Result<Option<Decision>, StoreError> {
    Ok(decision::find(connection, tenant, id)?.filter(|found| found.is_seen_by(person, roles)))
}
