//! The mandate: read, edited whole or in its scopes, and stopped.

use super::decision::required;
use super::reply::{change, done, html, read};
use super::session::step_up;
use super::visit::Visit;
use crate::actions::mandate::{self as act, Put};
use crate::app::App;
use crate::domain::{Malformed, Scope, Scopes};
use crate::engine::{MandateDocument, Notation, Unlisted, Validity, read_text};
use crate::http::{Problem, has_leaf, path_id, put_document};
use crate::storage::mandate::{self, MandateVersion};
use crate::web::display;
use crate::web::form::Fields;
use crate::web::view::{Editor, MandatePage, MandateVersionPage, Section, VersionRow};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;

/// How many versions the page lists.
const VERSIONS: i64 = 100;
/// Said above the page when the faults stand further down, beside the document.
pub(super) const NOT_SAVED: &str = "Not saved. What does not fit stands above your document.";
/// How many warnings a notice repeats.
const MOST_WARNINGS: usize = 3;

/// The live mandate.
pub(super) async fn show(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    read(&app, &request, Section::Mandate, async |visit| {
        html(StatusCode::OK, &page(&app, visit, None, None).await?)
    })
    .await
}

/// One version.
pub(super) async fn version(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> HttpResponse {
    read(&app, &request, Section::Mandate, async |visit| {
        let found = find(&app, visit, path_id(&path, "version")?).await?;
        let (value, document) = document(&found)?;
        let (scopes, refuses_unlisted, clauses, known) = MandatePage::parts(&document);
        let page = MandateVersionPage {
            frame: visit.frame(Section::Mandate),
            row: row(visit, &found),
            scopes,
            refuses_unlisted,
            clauses,
            known,
            document: display::block(&written(&value)),
        };
        html(StatusCode::OK, &page)
    })
    .await
}

/// Puts the whole document live.
pub(super) async fn save(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::Mandate, async |visit, fields| {
        let text = typed(fields)?;
        let put = async {
            let seen = version_of(fields)?;
            put_document(&app, &request, visit.person.clone(), seen, document_of(&text)?).await
        };
        let problem = match put.await {
            Ok(sealed) => return Ok(done(&app, visit, "/mandate", &said(&sealed.value))),
            Err(problem) => problem,
        };
        if problem.kind() == "step-up-required" {
            return Ok(step_up(&app, &request, visit, &problem, Section::Mandate, Some(&text)));
        }
        refused(&app, visit, Some(&text), problem).await
    })
    .await
}

/// Puts the live document live with other scopes, or another rule for what is unlisted.
pub(super) async fn save_terms(
    app: web::Data<App>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    change(&app, &request, payload, Section::Mandate, async |visit, fields| {
        let put = async {
            let seen = version_of(fields)?;
            let (_, mut terms) = document(&find(&app, visit, seen).await?)?;
            terms.scopes = scopes(fields)?;
            terms.unlisted = match fields.one("unlisted") {
                Ok("escalate") => Unlisted::Escalate,
                Ok("refuse") => Unlisted::Refuse,
                Ok(_) | Err(_) => {
                    return Err(Malformed::at("/unlisted", "send `escalate` or `refuse`").into());
                }
            };
            put_document(&app, &request, visit.person.clone(), seen, terms).await
        };
        match put.await {
            Ok(sealed) => Ok(done(&app, visit, "/mandate", &said(&sealed.value))),
            Err(problem) => refused(&app, visit, None, problem).await,
        }
    })
    .await
}

/// Takes every scope away, whatever version is live.
pub(super) async fn stop(app: web::Data<App>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    change(&app, &request, payload, Section::Mandate, async |visit, _| {
        let person = visit.person.clone();
        let tenant = person.tenant.clone();
        app.committer.urgent(tenant, move |books| act::stop(books, &person)).await??;
        has_leaf(&request);
        app.decisions_changed();
        Ok(done(&app, visit, "/mandate", "Stopped. From the next call on every agent of yours is refused."))
    })
    .await
}

/// The page again with a document to go on with, after signing in once more for it.
pub(super) async fn draft(app: &App, mut visit: Visit, text: &str) -> Result<HttpResponse, Problem> {
    visit.notice = Some("You are signed in. Your document is below: save it again.".to_owned());
    let text = text.replace("\r\n", "\n");
    html(StatusCode::OK, &page(app, &visit, Some(Editor::new(&text, None)), None).await?)
}

/// The scopes that were ticked.
pub(super) fn scopes(fields: &Fields) -> Result<Scopes, Malformed> {
    let mut scopes = Scopes::NONE;
    for name in fields.all("scope") {
        let scope: Scope = name.parse().map_err(|detail: String| Malformed::at("/scopes", detail))?;
        if scope == Scope::MandateWrite {
            return Err(Malformed::at("/scopes", "`mandate:write` belongs to people alone"));
        }
        scopes = scopes.with(scope);
    }
    Ok(scopes)
}

/// The document as it was typed.
pub(super) fn typed(fields: &Fields) -> Result<String, Malformed> {
    // Browsers end the lines of a text area with CR LF (HTML §4.10.11).
    Ok(fields.one("document").map_err(Malformed::whole)?.replace("\r\n", "\n"))
}

/// The mandate that was typed.
pub(super) fn document_of(text: &str) -> Result<MandateDocument, Malformed> {
    MandateDocument::read(&read_text(text.as_bytes(), Notation::of(text.as_bytes()))?)
}

/// The version that the form was made for.
fn version_of(fields: &Fields) -> Result<u64, Malformed> {
    required::<Version>(fields, "version").map(|version| version.0)
}

/// A version's number as a form sends it.
pub(super) struct Version(pub(super) u64);

impl std::str::FromStr for Version {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{}` is not a version", text.escape_debug()))
    }
}

/// What a change came to.
fn said(put: &Put) -> String {
    let mut said = format!("Version {} is live: {}", put.version, put.change.as_str());
    for warning in put.admission.warnings.iter().take(MOST_WARNINGS) {
        said.push_str("; mind ");
        if !warning.pointer.is_empty() {
            said.push_str(&warning.pointer);
            said.push_str(": ");
        }
        said.push_str(&warning.message);
    }
    said
}

/// The page again with what was typed, and what stood in the way.
pub(super) async fn refused(
    app: &App,
    visit: &Visit,
    text: Option<&str>,
    problem: Problem,
) -> Result<HttpResponse, Problem> {
    let is_of_document = !problem.errors().is_empty();
    match problem.status() {
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => {}
        _ => return Err(problem),
    }
    let (editor, fault) = match text {
        Some(text) if is_of_document => {
            let malformed = Malformed { faults: problem.errors().to_vec() };
            (Some(Editor::new(text, Some(&malformed))), Some(NOT_SAVED))
        }
        Some(text) => (Some(Editor::new(text, None)), Some(problem.detail())),
        None => (None, Some(problem.detail())),
    };
    html(problem.status(), &page(app, visit, editor, fault).await?)
}

async fn find(app: &App, visit: &Visit, version: u64) -> Result<MandateVersion, Problem> {
    let (slug, id) = (visit.person.tenant.clone(), visit.person.id);
    let found = app.read(move |connection| mandate::find(connection, &slug, id, version)).await?;
    found.ok_or_else(|| Problem::not_found("version"))
}

pub(super) async fn page(
    app: &App,
    visit: &Visit,
    editor: Option<Editor>,
    fault: Option<&str>,
) -> Result<MandatePage, Problem> {
    let (slug, id) = (visit.person.tenant.clone(), visit.person.id);
    let versions = app.read(move |connection| mandate::page(connection, &slug, id, None, VERSIONS)).await?;
    let live = versions.first().ok_or_else(|| Problem::not_found("mandate"))?;
    let (value, document) = document(live)?;
    let (scopes, refuses_unlisted, clauses, known) = MandatePage::parts(&document);
    let valid = document.valid.map(|Validity { from, until }| {
        (from.map(|from| visit.when(from)), until.map(|until| visit.when(until)))
    });
    Ok(MandatePage {
        frame: visit.frame_with(Section::Mandate, fault),
        version: live.version,
        live_since: visit.when(live.live_since),
        valid,
        scopes,
        refuses_unlisted,
        clauses,
        known,
        editor: editor.unwrap_or_else(|| Editor::new(&written(&value), None)),
        check: None,
        versions: versions.iter().map(|version| row(visit, version)).collect(),
    })
}

fn row(visit: &Visit, version: &MandateVersion) -> VersionRow {
    VersionRow {
        version: version.version,
        change: if version.version == 1 { "first".to_owned() } else { version.change.clone() },
        live_since: visit.when(version.live_since),
    }
}

/// A stored document as JSON and as a type.
fn document(version: &MandateVersion) -> Result<(Value, MandateDocument), Problem> {
    let corrupt = |detail: String| crate::storage::StoreError::Corrupt { place: "mandates.document", detail };
    let value: Value = serde_json::from_str(&version.document).map_err(|error| corrupt(error.to_string()))?;
    let document = MandateDocument::read(&value).map_err(|malformed| corrupt(malformed.to_string()))?;
    Ok((value, document))
}

/// A document as people edit it: YAML where that reads back as the same, otherwise JSON.
pub(super) fn written(value: &Value) -> String {
    serde_saphyr::to_string(value)
        .ok()
        .filter(|text| read_text(text.as_bytes(), Notation::Yaml).is_ok_and(|again| again == *value))
        .unwrap_or_else(|| format!("{value:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_is_edited_as_yaml_that_reads_back_as_the_same() {
        let value = json!({
            "scopes": ["action:request"],
            "clauses": [{"id": "M-001", "intent": "a.b", "effect": "allow", "title": "no: \"quoted\" #5",
                "when": {"amount": {"at_most": {"value": "100.00", "currency": "EUR"}}, "country": {"in": ["NO"]}}}],
        });
        let text = written(&value);
        assert!(text.contains("scopes:"), "{text}");
        assert_eq!(read_text(text.as_bytes(), Notation::of(text.as_bytes())), Ok(value));
    }

    #[test]
    fn no_box_gives_an_agent_the_mandate() {
        let fields = |scope: &str| Fields::new(vec![("scope".to_owned(), scope.to_owned())]);
        assert!(scopes(&fields("mandate:write")).is_err());
        assert!(scopes(&fields("everything")).is_err());
        assert_eq!(scopes(&fields("mandate:read")), Ok(Scopes::NONE.with(Scope::MandateRead)));
        assert_eq!(scopes(&Fields::default()), Ok(Scopes::NONE));
    }
}
