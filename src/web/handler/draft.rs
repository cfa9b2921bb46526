//! A draft of the mandate looked over, and put to past calls, before it is saved.

use super::mandate::{document_of, page, refused, typed};
use super::reply::{change, html};
use super::visit::Visit;
use crate::actions::preview::{Changed, Preview, Proposal, WouldBe};
use crate::app::App;
use crate::domain::Outcome;
use crate::http::rehearse;
use crate::web::display;
use crate::web::view::{Answer, ChangedRow, DraftCheck, Editor, FaultLine, Section, Sum, Tone};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

/// How many changed answers the page lists.
const MOST_ROWS: usize = 25;

/// Says what the document that was typed would do. Nothing is saved.
pub(super) async fn check(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::Mandate, async |visit, fields| {
        let text = typed(fields)?;
        let looked_over = async {
            let proposal = Proposal::Mandate(visit.person.id, document_of(&text)?);
            rehearse(&app, &visit.person, proposal, None).await
        };
        match looked_over.await {
            Ok(preview) => {
                let mut shown = page(&app, visit, Some(Editor::new(&text, None)), None).await?;
                shown.check = Some(said(visit, &preview));
                html(StatusCode::OK, &shown)
            }
            Err(problem) => refused(&app, visit, Some(&text), problem).await,
        }
    })
    .await
}

fn said(visit: &Visit, preview: &Preview) -> DraftCheck {
    let admission = &preview.admission;
    let warnings = admission.warnings.iter();
    let left_out = preview.left_out;
    let left_out = [
        (left_out.erased, "whose content is erased"),
        (left_out.refused_by_service, "that the service refused for reasons of its own"),
        (left_out.undecidable, "whose arguments the catalogue no longer takes"),
        (left_out.beyond_window, "that are older, or more than are tried"),
    ];
    DraftCheck {
        change: preview.change.as_str(),
        errors: admission.errors.iter().map(|fault| FaultLine::new(&fault.pointer, &fault.detail)).collect(),
        warnings: warnings.map(|warning| FaultLine::new(&warning.pointer, &warning.message)).collect(),
        assumptions: admission.assumptions.iter().map(|sentence| display::line(sentence)).collect(),
        days: preview.until.since(preview.from).whole_seconds() / 86_400,
        considered: preview.considered,
        changes: preview.changes(),
        sums: preview
            .summary
            .iter()
            .map(|((was, would_be), count)| Sum {
                count: *count,
                was: answer(WouldBe::Answered(*was)),
                would_be: answer(*would_be),
            })
            .collect(),
        rows: preview.changed.iter().rev().take(MOST_ROWS).map(|changed| row(visit, changed)).collect(),
        left_out: left_out.into_iter().filter(|(count, _)| *count > 0).collect(),
    }
}

fn row(visit: &Visit, changed: &Changed) -> ChangedRow {
    ChangedRow {
        at: visit.when(changed.at),
        intent: changed.intent.to_string(),
        was: answer(WouldBe::Answered(changed.was)),
        would_be: answer(changed.would_be),
        clauses: changed.clauses.join(", "),
        receipt: format!("/calls/receipts/{}.json", changed.receipt),
    }
}

const fn answer(answer: WouldBe) -> Answer {
    let tone = match answer {
        WouldBe::Answered(Outcome::Allow) => Tone::Good,
        WouldBe::Answered(Outcome::Escalate) => Tone::Waiting,
        WouldBe::Answered(Outcome::Refuse) | WouldBe::Malformed => Tone::Bad,
    };
    Answer { word: answer.as_str(), tone }
}
