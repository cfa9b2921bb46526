//! The reply rules, for operators: read, edited in a form or whole, and tried on a text.

use super::decision::required;
use super::mandate::{NOT_SAVED, Version, typed, written};
use super::reply::{change, done, html, problem_page, read};
use super::session::step_up;
use super::visit::Visit;
use crate::actions::caller::Operator;
use crate::actions::reply_rules::live;
use crate::actions::screen::{Asked, Direction, screen};
use crate::app::App;
use crate::domain::{Malformed, Timestamp};
use crate::engine::{Notation, read_text};
use crate::http::{Problem, put_rules, rehearse_rules};
use crate::screening::{Action, Audience, Class, Rules, Tail};
use crate::storage::reply_rules::{self, RulesVersion};
use crate::web::display;
use crate::web::form::Fields;
use crate::web::view::{ClassChoice, Editor, ReplyRulesPage, Section, Tried, TriedRow};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};

/// How many versions the page lists.
const VERSIONS: i64 = 100;
/// The longest text that a draft is tried on, in bytes.
const LONGEST_TRIED_BYTES: usize = 16 * 1024;
/// What people call the classes, in the order of the form.
const CLASSES: [(Class, &str); 5] = [
    (Class::Card, "Payment cards"),
    (Class::Iban, "Bank accounts"),
    (Class::NationalId, "National ids"),
    (Class::Email, "Mail addresses"),
    (Class::Phone, "Telephone numbers"),
];

/// The live rules.
pub(super) async fn show(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::ReplyRules, async |visit| {
        if let Err(problem) = operator(visit) {
            let frame = visit.frame(Section::Queue);
            return Ok(problem_page(&request, &problem, frame, Some(Section::Queue)));
        }
        html(StatusCode::OK, &page(&app, visit, Drafted::default(), None).await?)
    })
    .await
}

/// Puts the whole document live.
pub(super) async fn save(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::ReplyRules, async |visit, fields| {
        let operator = operator(visit)?;
        let text = typed(fields)?;
        let put = async {
            let seen = required::<Version>(fields, "version")?.0;
            put_rules(&app, &request, operator, seen, rules_of(&text)?).await
        };
        match put.await {
            Ok(sealed) => {
                Ok(done(&app, visit, "/reply-rules", &format!("Version {} is live.", sealed.value.0)))
            }
            Err(problem) => refused(&app, &request, visit, Some(Drafted::of(fields, &text)), problem).await,
        }
    })
    .await
}

/// Puts the live rules live with other classes, phrases and offers.
pub(super) async fn save_terms(
    app: web::Data<App>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::ReplyRules, async |visit, fields| {
        let operator = operator(visit)?;
        let put = async {
            let seen = required::<Version>(fields, "version")?.0;
            let tenant = visit.person.tenant.clone();
            let (rules, _) = app.read(move |connection| live(connection, &tenant)).await?;
            put_rules(&app, &request, operator, seen, with_terms(&rules, fields)?).await
        };
        match put.await {
            Ok(sealed) => {
                Ok(done(&app, visit, "/reply-rules", &format!("Version {} is live.", sealed.value.0)))
            }
            Err(problem) => refused(&app, &request, visit, None, problem).await,
        }
    })
    .await
}

/// Says what the document that was typed would do. Nothing is saved.
pub(super) async fn check(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::ReplyRules, async |visit, fields| {
        operator(visit)?;
        let text = typed(fields)?;
        let drafted = Drafted::of(fields, &text);
        let tried = async {
            let rules = rules_of(&text)?;
            if drafted.tried_on.len() > LONGEST_TRIED_BYTES {
                let detail =
                    format!("the text has {} bytes, {LONGEST_TRIED_BYTES} are tried", drafted.tried_on.len());
                return Err(Malformed::whole(detail).into());
            }
            tried(&app, visit, rules, &drafted).await
        };
        match tried.await {
            Ok(tried) => {
                let mut shown = page(&app, visit, drafted, None).await?;
                shown.tried = Some(tried);
                html(StatusCode::OK, &shown)
            }
            Err(problem) => refused(&app, &request, visit, Some(drafted), problem).await,
        }
    })
    .await
}

/// The page again with a document to go on with, after signing in once more for it.
pub(super) async fn draft(app: &App, mut visit: Visit, text: &str) -> Result<HttpResponse, Problem> {
    operator(&visit)?;
    visit.notice = Some("You are signed in. Your document is below: save it again.".to_owned());
    let editor = Editor::new(&text.replace("\r\n", "\n"), None);
    let drafted = Drafted { editor: Some(editor), ..Drafted::default() };
    html(StatusCode::OK, &page(app, &visit, drafted, None).await?)
}

fn operator(visit: &Visit) -> Result<Operator, Problem> {
    Ok(visit.person.clone().operator()?)
}

/// What was typed.
#[derive(Default)]
struct Drafted {
    text: String,
    editor: Option<Editor>,
    tried_on: String,
    is_reply: bool,
}

impl Drafted {
    fn of(fields: &Fields, text: &str) -> Self {
        Self {
            text: text.to_owned(),
            editor: Some(Editor::new(text, None)),
            tried_on: fields.one("text").unwrap_or_default().replace("\r\n", "\n"),
            is_reply: fields.one("direction") == Ok("reply"),
        }
    }
}

fn rules_of(text: &str) -> Result<Rules, Malformed> {
    Rules::read(&read_text(text.as_bytes(), Notation::of(text.as_bytes()))?)
}

/// Rules with what the form says; read again, so that it is held to what holds for a document.
fn with_terms(rules: &Rules, fields: &Fields) -> Result<Rules, Malformed> {
    let mut rules = rules.clone();
    for (class, _) in CLASSES {
        let chosen = fields.one(class.as_str()).map_err(Malformed::whole)?;
        let action = Action::ALL.into_iter().find(|(name, _)| *name == chosen);
        let (_, action) = action.ok_or_else(|| {
            Malformed::at(format!("/personal_data/{class}"), "send `redact`, `withhold` or `allow`")
        })?;
        rules.personal_data.set(class, action);
    }
    let lines = |name: &'static str| -> Result<Vec<String>, Malformed> {
        let lines = fields.one(name).map_err(Malformed::whole)?.lines().map(str::trim);
        Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
    };
    rules.never_say = lines("never_say")?;
    rules.offer_markers = lines("markers")?;
    rules.offers_allowed = lines("allowed")?;
    Rules::read(&rules.to_json())
}

async fn tried(app: &App, visit: &Visit, rules: Rules, drafted: &Drafted) -> Result<Tried, Problem> {
    let preview = rehearse_rules(app, &visit.person, rules.clone(), None).await?;
    let direction = if drafted.is_reply {
        Direction::Reply { effects: None, cites: Vec::new(), audience: Audience::Customer, records: None }
    } else {
        Direction::Turn
    };
    let asked = Asked {
        direction,
        text: drafted.tried_on.clone(),
        rules: Some(rules),
        conversation: None,
        language: None,
    };
    let (tenant, id, now): (_, _, Timestamp) = (visit.person.tenant.clone(), visit.person.id, visit.now);
    let screened = app
        .read(move |connection| Ok(screen(connection, &tenant, id, &asked, |_| Tail::new(), now)))
        .await??;
    Ok(Tried {
        text: (!screened.text.is_empty()).then(|| display::block(&screened.text)),
        withheld: screened.withheld,
        say: screened.say.as_deref().map(display::block),
        rows: screened
            .findings
            .iter()
            .map(|noted| TriedRow {
                class: noted.class,
                action: noted.action.as_str(),
                mask: noted.mask.as_deref().map(display::line),
            })
            .collect(),
        considered: preview.considered,
        changes: preview.changes,
    })
}

/// The page again with what was typed, and what stood in the way.
async fn refused(
    app: &App,
    request: &HttpRequest,
    visit: &Visit,
    drafted: Option<Drafted>,
    problem: Problem,
) -> Result<HttpResponse, Problem> {
    if problem.kind() == "step-up-required" {
        let text = drafted.as_ref().map(|drafted| drafted.text.as_str());
        return Ok(step_up(app, request, visit, &problem, Section::ReplyRules, text));
    }
    match problem.status() {
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => {}
        _ => return Err(problem),
    }
    let is_of_document = drafted.is_some() && !problem.errors().is_empty();
    let mut drafted = drafted.unwrap_or_default();
    if is_of_document {
        let malformed = Malformed { faults: problem.errors().to_vec() };
        drafted.editor = Some(Editor::new(&drafted.text, Some(&malformed)));
    }
    let fault = if is_of_document { NOT_SAVED } else { problem.detail() };
    html(problem.status(), &page(app, visit, drafted, Some(fault)).await?)
}

async fn page(
    app: &App,
    visit: &Visit,
    drafted: Drafted,
    fault: Option<&str>,
) -> Result<ReplyRulesPage, Problem> {
    let slug = visit.person.tenant.clone();
    let (rules, versions) = app
        .read(move |connection| {
            let (rules, _) = live(connection, &slug)?;
            Ok((rules, reply_rules::page(connection, &slug, None, VERSIONS)?))
        })
        .await?;
    let newest: Option<&RulesVersion> = versions.first();
    let class = |(class, title): (Class, &'static str)| ClassChoice {
        name: class.as_str(),
        title,
        action: rules.personal_data.of(class).as_str(),
        actions: Action::ALL.map(|(name, _)| name),
    };
    let document: Value = if newest.is_none() { json!({"personal_data": {}}) } else { rules.to_json() };
    Ok(ReplyRulesPage {
        frame: visit.frame_with(Section::ReplyRules, fault),
        version: newest.map_or(0, |live| live.version),
        live_since: newest.map(|live| visit.when(live.live_since)),
        classes: CLASSES.map(class).into(),
        never_say: display::inert(&rules.never_say.join("\n")),
        markers: display::inert(&rules.offer_markers.join("\n")),
        allowed: display::inert(&rules.offers_allowed.join("\n")),
        others: (rules.must_accompany.len(), rules.reply_exactly.len()),
        editor: drafted.editor.unwrap_or_else(|| Editor::new(&written(&document), None)),
        text: display::inert(&drafted.tried_on),
        is_reply: drafted.is_reply,
        tried: None,
        versions: versions.iter().map(|version| (version.version, visit.when(version.live_since))).collect(),
    })
}
