//! One decision: looked at, approved, declined or resolved.

use super::decision_page::page;
use super::queue::own;
use super::reply::{change, done, html, read};
use super::visit::Visit;
use crate::app::App;
use crate::domain::{DecisionId, Duration, Hash, Intent, IntentPattern, Label, Malformed};
use crate::engine::{Clause, ClauseId, Effect};
use crate::http::{Problem, give_approval, give_decline, give_resolution, path_id};
use crate::storage::effect::EffectStatus;
use crate::web::form::Fields;
use crate::web::view::Section;
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;

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
        let given = given.await;
        let said = match given.as_ref().ok().and_then(|decided| decided.pointer("/approvals/more")?.as_u64())
        {
            None | Some(0) => "approved, for one time".to_owned(),
            Some(1) => "your yes is recorded, and the yes of 1 more person is needed".to_owned(),
            Some(more) => format!("your yes is recorded, and the yes of {more} more people is needed"),
        };
        answer(&app, visit, id, given, &said).await
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
                let (slug, person) = (visit.person.tenant.clone(), (visit.person.id, visit.person.roles));
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
        StatusCode::CONFLICT | StatusCode::FORBIDDEN | StatusCode::UNPROCESSABLE_ENTITY => {
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
        limits: Vec::new(),
        approvals: None,
        obligation: None,
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
