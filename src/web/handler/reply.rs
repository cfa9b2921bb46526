//! The way of every request to a page: who asks, whether the form is ours, the page, and what is shown when it fails.

use super::multipart;
use super::visit::{NoVisit, Visit};
use crate::app::App;
use crate::domain::json::LARGEST_DOCUMENT_BYTES;
use crate::http::{self, Problem};
use crate::web::cookie::{self, Purpose};
use crate::web::form::Fields;
use crate::web::view::{Frame, ProblemPage, Section};
use crate::web::{csrf, display};
use actix_web::http::{StatusCode, header};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, web};
use askama::Template;

/// The largest form: the largest document with every byte escaped (`%0A`), and room for the fields beside it.
const LARGEST_FORM_BYTES: usize = 3 * LARGEST_DOCUMENT_BYTES + 4096;
/// The longest notice that a cookie carries, in characters.
const LONGEST_NOTICE: usize = 600;

/// Answers a request to read a page.
pub(super) async fn read(
    app: &App,
    request: &HttpRequest,
    section: Section,
    page: impl AsyncFnOnce(&Visit) -> Result<HttpResponse, Problem>,
) -> HttpResponse {
    let visit = match Visit::of(app, request).await {
        Ok(visit) => visit,
        Err(why) => return no_visit(request, why, local_target(request)),
    };
    let mut response = match page(&visit).await {
        Ok(response) => response,
        Err(problem) => problem_page(request, &problem, visit.frame(section), Some(section)),
    };
    if visit.notice.is_some() {
        let removal = cookie::remove(Purpose::Notice, app.is_https);
        if let Err(error) = response.add_cookie(&removal) {
            tracing::error!(%error, "a cookie could not be removed");
        }
    }
    response
}

/// What somebody is told who may not send a form at all, which is asked before any of it is read.
pub(super) type TurnAway = fn(&HttpRequest, &Visit) -> Option<HttpResponse>;

/// Answers a form: nothing happens unless it was sent by a page of ours, in the session it was made for.
pub(super) async fn change(
    app: &App,
    request: &HttpRequest,
    payload: web::Payload,
    section: Section,
    act: impl AsyncFnOnce(&Visit, &Fields) -> Result<HttpResponse, Problem>,
) -> HttpResponse {
    let read = async |mut payload: web::Payload| fields(request, &mut payload).await;
    answer(app, request, payload, section, (|_, _| None, read), act).await
}

/// The same for a form that brings a file along, or may; nothing of it is read where it may not be sent.
pub(super) async fn upload(
    app: &App,
    request: &HttpRequest,
    payload: web::Payload,
    section: Section,
    (most_bytes, turn_away): (usize, TurnAway),
    act: impl AsyncFnOnce(&Visit, &Fields) -> Result<HttpResponse, Problem>,
) -> HttpResponse {
    let read = async |mut payload: web::Payload| {
        if multipart::is_one(request) {
            multipart::fields(request, &mut payload, most_bytes).await
        } else {
            fields(request, &mut payload).await
        }
    };
    answer(app, request, payload, section, (turn_away, read), act).await
}

async fn answer(
    app: &App,
    request: &HttpRequest,
    payload: web::Payload,
    section: Section,
    (turn_away, read): (TurnAway, impl AsyncFnOnce(web::Payload) -> Result<Fields, Problem>),
    act: impl AsyncFnOnce(&Visit, &Fields) -> Result<HttpResponse, Problem>,
) -> HttpResponse {
    if let Err(problem) = check_origin(app, request) {
        return problem_page(request, &problem, Frame::default(), Some(section));
    }
    let visit = match Visit::of(app, request).await {
        Ok(visit) => visit,
        Err(why) => return no_visit(request, why, Some(section.path().to_owned())),
    };
    if let Some(response) = turn_away(request, &visit) {
        return response;
    }
    let done = async {
        let fields = read(payload).await?;
        if !csrf::is_right(&visit.csrf(), fields.one(csrf::FIELD).unwrap_or_default()) {
            return Err(forged());
        }
        act(&visit, &fields).await
    };
    match done.await {
        Ok(response) => response,
        Err(problem) if problem.kind() == "step-up-required" => {
            super::session::step_up(app, request, &visit, &problem, section, None)
        }
        Err(problem) => problem_page(request, &problem, visit.frame(section), Some(section)),
    }
}

/// Refuses what a browser says was sent by another site's page.
pub(super) fn check_origin(app: &App, request: &HttpRequest) -> Result<(), Problem> {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if csrf::comes_from_here(request.headers(), host, app.links.base()) { Ok(()) } else { Err(forged()) }
}

/// The form is not one of ours, or of another session.
pub(super) fn forged() -> Problem {
    let detail = "the form was not sent by this service's own page in this session: nothing was changed, open the \
                  page again";
    Problem::new(StatusCode::FORBIDDEN, "forged-form", "This form is not taken", detail)
}

/// The fields of a form.
pub(super) async fn fields(request: &HttpRequest, payload: &mut web::Payload) -> Result<Fields, Problem> {
    const FORM: &str = "application/x-www-form-urlencoded";
    if request.content_type() != FORM {
        return Err(Problem::media_type(request.content_type(), FORM));
    }
    let body = http::bytes_up_to(request, payload, LARGEST_FORM_BYTES).await?;
    let unreadable = || {
        Problem::unreadable(crate::domain::Malformed::whole(
            "the form is not written as a browser writes one",
        ))
    };
    let text = std::str::from_utf8(&body).map_err(|_| unreadable())?;
    let pairs = web::Query::<Vec<(String, String)>>::from_query(text).map_err(|_| unreadable())?;
    Ok(Fields::new(pairs.into_inner()))
}

/// A page.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Result<HttpResponse, Problem> {
    match page.render() {
        Ok(body) => Ok(HttpResponse::build(status).content_type("text/html; charset=utf-8").body(body)),
        Err(error) => {
            tracing::error!(%error, "a page could not be written");
            let detail = "the page could not be written";
            Err(Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "Something is broken here",
                detail,
            ))
        }
    }
}

/// On to another page.
pub(super) fn see_other(path: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, path)).finish()
}

/// On to another page, which says what was done.
pub(super) fn done(app: &App, visit: &Visit, path: &str, sentence: &str) -> HttpResponse {
    let sentence: String = sentence.chars().take(LONGEST_NOTICE).collect();
    let sealed = csrf::seal(&visit.person.session, &sentence);
    HttpResponse::SeeOther()
        .insert_header((header::LOCATION, path))
        .cookie(cookie::set(Purpose::Notice, sealed, app.is_https))
        .finish()
}

/// A problem as a page, for whoever is signed in or nobody.
pub(super) async fn problem_to_anyone(app: &App, request: &HttpRequest, problem: &Problem) -> HttpResponse {
    let frame = match Visit::of(app, request).await {
        Ok(visit) => Frame { section: None, ..visit.frame(Section::Queue) },
        Err(NoVisit::SignedOut | NoVisit::Problem(_)) => Frame::default(),
    };
    problem_page(request, problem, frame, Some(Section::Queue))
}

/// A problem as a page.
pub(super) fn problem_page(
    request: &HttpRequest,
    problem: &Problem,
    frame: Frame,
    onward: Option<Section>,
) -> HttpResponse {
    http::note(request, problem.note());
    let says = match onward {
        Some(Section::Queue) => "To your queue",
        Some(Section::Mandate) => "To your mandate",
        Some(Section::Agents) => "To your agents",
        Some(Section::Calls) => "To your calls",
        Some(Section::Coverage) => "To the coverage",
        Some(Section::ReplyRules) => "To the reply rules",
        None => "Sign in",
    };
    let page = ProblemPage {
        frame,
        status: problem.status().as_u16(),
        title: problem.title().to_owned(),
        detail: Some(display::line(problem.detail())),
        request_id: request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned),
        onward: Some((onward.map_or("/sign-in", Section::path).to_owned(), says)),
    };
    let mut response = html(problem.status(), &page).unwrap_or_else(|problem| problem.respond(None));
    if let Some(seconds) = problem.retry_after_seconds() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    if let Some(allow) = problem.allow().and_then(|allow| header::HeaderValue::from_str(allow).ok()) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Somebody who is not signed in goes to the sign-in page and comes back to `next`.
fn no_visit(request: &HttpRequest, why: NoVisit, next: Option<String>) -> HttpResponse {
    match why {
        NoVisit::SignedOut => {
            http::note(request, "signed-out".to_owned());
            match next {
                Some(next) => see_other(&format!("/sign-in?next={}", query_value(&next))),
                None => see_other("/sign-in"),
            }
        }
        NoVisit::Problem(problem) => problem_page(request, &problem, Frame::default(), None),
    }
}

/// Where the request was going, if a sign-in may lead back there.
fn local_target(request: &HttpRequest) -> Option<String> {
    let target = request.uri().path_and_query()?.as_str();
    cookie::local_path(target).map(str::to_owned)
}

/// A value as a query holds it: all but unreserved characters and `/` escaped (RFC 3986 §2.3, §3.4).
pub(super) fn query_value(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::query_value;

    #[test]
    fn what_a_query_value_holds_cannot_end_it() {
        assert_eq!(query_value("/calls?a=b&c=d#e"), "/calls%3Fa%3Db%26c%3Dd%23e");
        assert_eq!(query_value("é +"), "%C3%A9%20%2B");
    }
}
