//! Who allowed this? What the search box on every page asks, and the file to hand over.

use super::reply::{change, html, read, see_other};
use super::visit::Visit;
use crate::app::who::{Answer, Link, Sought, Told};
use crate::app::{App, Caller};
use crate::http::{Problem, asked, hand_over};
use crate::web::display;
use crate::web::view::{LinkRow, Section, Tone, WhoMatch, WhoPage};
use crate::web::when::When;
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

/// The empty search page.
pub(super) async fn show(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Calls, async |visit| {
        html(StatusCode::OK, &WhoPage::asking(visit.frame(Section::Calls), String::new()))
    })
    .await
}

/// Looks for what was typed or pasted. It may name a person, so it comes as a form and stands in no address.
pub(super) async fn ask(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::Calls, async |visit, fields| {
        let q = fields.one("q").unwrap_or_default().to_owned();
        if q.trim().is_empty() {
            return Ok(see_other("/who"));
        }
        let found = match Sought::read_text(&q) {
            Ok(sought) => asked(&app, caller(visit), sought).await,
            Err(malformed) => Err(malformed.into()),
        };
        match found {
            Ok(answer) => html(StatusCode::OK, &page(visit, &answer, q)),
            Err(problem)
                if matches!(problem.status(), StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY) =>
            {
                let frame = visit.frame_with(Section::Calls, Some(problem.detail()));
                html(problem.status(), &WhoPage::asking(frame, q))
            }
            Err(problem) => Err(problem),
        }
    })
    .await
}

/// The receipts behind one, to keep or hand over.
pub(super) async fn file(app: web::Data<App>, request: HttpRequest, path: web::Path<String>) -> HttpResponse {
    read(&app, &request, Section::Calls, async |visit| -> Result<HttpResponse, Problem> {
        hand_over(&app, caller(visit), &path).await
    })
    .await
}

fn caller(visit: &Visit) -> Caller {
    Caller::Person(Box::new(visit.person.clone()))
}

fn page(visit: &Visit, answer: &Answer, q: String) -> WhoPage {
    WhoPage {
        matches: answer.told.iter().map(|told| one(visit, told)).collect(),
        more: answer.more,
        not_searched: answer.not_searched,
        ..WhoPage::asking(visit.frame(Section::Calls), q)
    }
}

fn one(visit: &Visit, told: &Told) -> WhoMatch {
    let mut parts = told.sentence.split_inclusive("; ").map(|part| display::line(part.trim_end()));
    WhoMatch {
        sentence: parts.next().unwrap_or_default(),
        rest: parts.collect(),
        standing: told.standing,
        tone: tone(told.standing),
        receipt: format!("/calls/receipts/{}.json", told.receipt),
        file: format!("/who/{}/file", told.receipt),
        decision: told.decision.map(|id| format!("/queue/{id}")),
        chain: told.chain.iter().map(|link| row(visit, link)).collect(),
    }
}

fn row(visit: &Visit, link: &Link) -> LinkRow {
    LinkRow {
        at: When::to_the_second(link.at, visit.now, visit.zone),
        who: display::line(&link.who),
        says: display::line(&link.says),
        kind: link.kind.as_str(),
        id: link.id.to_string(),
    }
}

fn tone(standing: &str) -> Tone {
    match standing {
        "allowed" => Tone::Good,
        "waits" => Tone::Waiting,
        "refused" | "declined" => Tone::Bad,
        _ => Tone::Quiet,
    }
}
