//! The call log: narrowed to what is asked, with its receipts and exports to take away.

use super::reply::{html, query_value, read};
use super::visit::Visit;
use crate::app::export::Format;
use crate::app::{App, Caller};
use crate::domain::{AgentId, CredentialId, Malformed, Outcome, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::subject::Subject;
use crate::http::{
    Problem, Query, Wanted, begin_export, export_answer, narrow_to, page_of, receipt_line, subject_for,
};
use crate::storage::receipt::Filter as Asked;
use crate::storage::{AnyConnection, StoreError, agent, credential, principal};
use crate::web::display::{self, Shown};
use crate::web::view::{CallRow, CallsPage, Choice, Filter, Section, Tone};
use crate::web::when::{When, read_local};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;
use std::collections::HashMap;

/// How many calls one page shows.
const PAGE: i64 = 50;
/// How many credentials there are to choose from.
const MOST_CHOICES: i64 = 500;
/// Where people sign in: on the wire and on the page.
const SIGN_IN: [&str; 2] = ["/v1/session", "/sign-in"];
/// What the list of calls is narrowed by.
const FILTERS: [&str; 5] = ["credential", "outcome", "intent", "from", "until"];

/// The calls, newest first.
pub(super) async fn list(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Calls, async |visit| {
        let query = Query::read(&request, &["credential", "outcome", "intent", "from", "until", "cursor"])?;
        let typed = typed(&app, visit, &query).await?;
        let asked = match asked(visit, &query) {
            Ok(asked) => asked,
            Err(malformed) => {
                let page = CallsPage {
                    frame: visit.frame_with(Section::Calls, Some(&malformed.to_string())),
                    filter: typed,
                    calls: Vec::new(),
                    older: None,
                    exports: None,
                };
                return html(StatusCode::UNPROCESSABLE_ENTITY, &page);
            }
        };
        html(StatusCode::OK, &page(&app, visit, &query, typed, asked).await?)
    })
    .await
}

/// One receipt with its documents and a fresh path, to keep.
pub(super) async fn receipt(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    read(&app, &request, Section::Calls, async |visit| {
        let line = receipt_line(&app, caller(visit), &path).await?;
        Ok(HttpResponse::Ok().content_type("application/json").body(line))
    })
    .await
}

/// A copy of one credential's log, to keep.
pub(super) async fn export(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Calls, async |visit| {
        let query = Query::read(&request, &["credential", "format", "from", "until"])?;
        let credential = query.parsed("credential")?.ok_or_else(|| Problem::not_found("credential"))?;
        let format = query.parsed("format")?.unwrap_or(Format::JsonLines);
        let wanted = Wanted { format, from: query.time("from")?, until: query.time("until")? };
        let subject = subject_for(&app, &visit.person, Subject::Credential(credential)).await?;
        let begun = begin_export(&app, &visit.person, subject, wanted).await?;
        export_answer(app.clone().into_inner(), begun, 0).await
    })
    .await
}

fn caller(visit: &Visit) -> Caller {
    Caller::Person(Box::new(visit.person.clone()))
}

/// The filter as the page shows it again.
async fn typed(app: &App, visit: &Visit, query: &Query) -> Result<Filter, Problem> {
    let (slug, id) = (visit.person.tenant.clone(), visit.person.id);
    let own = app.read(move |connection| credential::page(connection, &slug, id, None, MOST_CHOICES)).await?;
    let chosen = query.text("credential").unwrap_or_default();
    let mut credentials: Vec<Choice> = own
        .iter()
        .map(|credential| choice(credential.id.to_string(), credential.label.to_string(), chosen))
        .collect();
    if !chosen.is_empty() && !credentials.iter().any(|choice| choice.is_chosen) {
        credentials.push(choice(chosen.to_owned(), chosen.to_owned(), chosen));
    }
    let text = |name: &str| query.text(name).unwrap_or_default().to_owned();
    Ok(Filter {
        credentials,
        outcome: query.parsed("outcome").unwrap_or_default(),
        intent: text("intent"),
        from: text("from"),
        until: text("until"),
        zone: visit.zone.name().to_owned(),
    })
}

fn choice(value: String, says: String, chosen: &str) -> Choice {
    Choice { is_chosen: value == chosen, value, says }
}

/// The filter as the log is asked.
fn asked(visit: &Visit, query: &Query) -> Result<Asked, Malformed> {
    let local = |name: &str| -> Result<Option<Timestamp>, Malformed> {
        query.text(name).map(|text| read_local(text, visit.zone)).transpose().map_err(Malformed::whole)
    };
    Ok(Asked {
        credential: query.parsed("credential")?,
        outcome: query.parsed("outcome")?,
        intent: query.parsed("intent")?,
        from: local("from")?,
        until: local("until")?,
        ..Asked::default()
    })
}

async fn page(
    app: &App,
    visit: &Visit,
    query: &Query,
    typed: Filter,
    mut asked: Asked,
) -> Result<CallsPage, Problem> {
    narrow_to(&caller(visit), &mut asked)?;
    let tenant = &visit.person.tenant;
    let (rows, next) = page_of(app, tenant, &asked, query.call_cursor()?, PAGE).await?;
    let slug = tenant.clone();
    let (rows, names) = app
        .read(move |connection| {
            let names = Names::of(connection, &slug, &rows)?;
            Ok((rows, names))
        })
        .await?;
    let older = next.map(|cursor| format!("/calls?{}cursor={}", repeated(query), query_value(&cursor)));
    let exports = asked.credential.map(|credential| {
        let span: String = [("from", asked.from), ("until", asked.until)]
            .iter()
            .filter_map(|(name, at)| at.map(|at| format!("&{name}={}", query_value(&at.to_string()))))
            .collect();
        let path = |format: &str| format!("/calls/export?credential={credential}&format={format}{span}");
        (path("csv"), path("jsonl"))
    });
    Ok(CallsPage {
        frame: visit.frame(Section::Calls),
        filter: typed,
        calls: rows.iter().map(|row| call_row(row, &names, visit)).collect(),
        older,
        exports,
    })
}

/// The filters of a query again, each ended by `&`.
fn repeated(query: &Query) -> String {
    FILTERS
        .iter()
        .filter_map(|name| query.text(name).map(|text| format!("{name}={}&", query_value(text))))
        .collect()
}

/// What the people, agents and credentials of a page of calls are called.
#[derive(Default)]
struct Names {
    agents: HashMap<String, String>,
    credentials: HashMap<String, String>,
    people: HashMap<String, String>,
}

impl Names {
    fn of(connection: &mut AnyConnection, tenant: &TenantSlug, rows: &[Value]) -> Result<Self, StoreError> {
        let mut names = Self::default();
        for row in rows {
            if let Some(id) = text(row, "agent").filter(|id| !names.agents.contains_key(*id)) {
                let found = match id.parse::<AgentId>() {
                    Ok(agent) => agent::find(connection, tenant, agent)?,
                    Err(_) => None,
                };
                let name = found.map_or_else(|| id.to_owned(), |agent| agent.name.to_string());
                names.agents.insert(id.to_owned(), name);
            }
            if let Some(id) = text(row, "credential").filter(|id| !names.credentials.contains_key(*id)) {
                let found = match id.parse::<CredentialId>() {
                    Ok(credential) => credential::find(connection, tenant, credential)?,
                    Err(_) => None,
                };
                let label = found.map_or_else(|| id.to_owned(), |credential| credential.label.to_string());
                names.credentials.insert(id.to_owned(), label);
            }
            if let Some(id) = text(row, "principal").filter(|id| !names.people.contains_key(*id)) {
                let found = match id.parse::<PrincipalId>() {
                    Ok(person) => principal::find(connection, tenant, person)?,
                    Err(_) => None,
                };
                let name = found.map_or_else(|| id.to_owned(), |person| person.name.to_string());
                names.people.insert(id.to_owned(), name);
            }
        }
        Ok(names)
    }
}

fn call_row(row: &Value, names: &Names, visit: &Visit) -> CallRow {
    let outcome: Option<Outcome> = text(row, "outcome").and_then(|outcome| outcome.parse().ok());
    let status = row.get("status").and_then(Value::as_u64);
    let (answer, tone) = match (outcome, status) {
        (Some(outcome), _) => (outcome.as_str().to_owned(), outcome_tone(outcome)),
        (None, Some(status)) => (status.to_string(), if status < 400 { Tone::Quiet } else { Tone::Bad }),
        (None, None) => ("recorded".to_owned(), Tone::Quiet),
    };
    let what = match (text(row, "method"), text(row, "route")) {
        (Some(method), Some(route)) => format!("{method} {route}"),
        _ => text(row, "kind").unwrap_or_default().to_owned(),
    };
    let is_gate = text(row, "kind").is_some_and(|kind| kind.starts_with("gate."));
    let intent = text(row, "intent").filter(|_| is_gate);
    let at = text(row, "at").and_then(|at| at.parse().ok()).unwrap_or(visit.now);
    // What stands in a person's chain that person did, also where it is about an agent.
    let by_person =
        text(row, "agent").is_none() || text(row, "chain").is_some_and(|chain| chain.starts_with("prn_"));
    let is_own = text(row, "principal").is_none_or(|id| id == visit.person.id.to_string());
    let (agent, credential) = match (by_person, is_own) {
        // Whoever tried did not show that they are this person.
        _ if is_failed_sign_in(row) => (Some(display::line("somebody, not signed in")), None),
        (true, true) => (None, None),
        (true, false) => (named(row, "principal", &names.people), None),
        (false, _) => (named(row, "agent", &names.agents), named(row, "credential", &names.credentials)),
    };
    CallRow {
        at: When::to_the_second(at, visit.now, visit.zone),
        agent,
        credential,
        what: intent.map_or(what, str::to_owned),
        answer,
        tone,
        reason: text(row, "reason").or_else(|| text(row, "detail")).map(display::line),
        receipt: text(row, "receipt").map(|id| format!("/calls/receipts/{id}.json")),
    }
}

fn is_failed_sign_in(row: &Value) -> bool {
    let failed = row.get("status").and_then(Value::as_u64).is_some_and(|status| status >= 400);
    failed
        && text(row, "method") == Some("POST")
        && text(row, "route").is_some_and(|route| SIGN_IN.contains(&route))
}

const fn outcome_tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Allow => Tone::Good,
        Outcome::Escalate => Tone::Waiting,
        Outcome::Refuse => Tone::Bad,
    }
}

fn named(row: &Value, member: &str, names: &HashMap<String, String>) -> Option<Shown> {
    text(row, member).and_then(|id| names.get(id)).map(|name| display::line(name))
}

fn text<'a>(row: &'a Value, member: &str) -> Option<&'a str> {
    row.get(member).and_then(Value::as_str)
}
