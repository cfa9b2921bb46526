//! Signing in, once more before a widening, and out.

use super::reply::{self, fields, forged, html, problem_page, see_other};
use super::visit::{NoVisit, Visit};
use crate::actions::session as sessions;
use crate::app::App;
use crate::committer::entropy;
use crate::domain::TenantSlug;
use crate::http::{self, Problem, Query};
use crate::web::cookie::{self, Purpose, local_path};
use crate::web::form::Fields;
use crate::web::view::{Frame, Section, SignInPage};
use crate::web::{csrf, display};
use actix_web::http::StatusCode;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

/// How many characters the sign-in form's own token has.
const TOKEN_LENGTH: usize = 64;

/// The sign-in page; whoever is signed in goes on.
pub(super) async fn show(app: web::Data<App>, request: HttpRequest) -> HttpResponse {
    let query = match Query::read(&request, &["next"]) {
        Ok(query) => query,
        Err(problem) => return problem_page(&request, &problem, Frame::default(), None),
    };
    let next = query.text("next").and_then(local_path);
    match Visit::of(&app, &request).await {
        Ok(_) => see_other(next.unwrap_or("/queue")),
        Err(NoVisit::SignedOut) => {
            let typed = Typed { next: next.map(str::to_owned), ..Typed::default() };
            sign_in_page(&app, &request, StatusCode::OK, typed)
        }
        Err(NoVisit::Problem(problem)) => problem_page(&request, &problem, Frame::default(), None),
    }
}

/// What the sign-in form starts from.
#[derive(Debug, Default)]
struct Typed {
    fault: Option<String>,
    tenant: String,
    email: String,
    next: Option<String>,
    draft: Option<String>,
    is_step_up: bool,
}

/// The form with its token in a field and in a cookie, which only a page of ours can make agree.
fn sign_in_page(app: &App, request: &HttpRequest, status: StatusCode, typed: Typed) -> HttpResponse {
    let token = pre_session(app, request).unwrap_or_else(|| hex::encode(entropy::bytes::<32>()));
    let page = SignInPage {
        frame: Frame { fault: typed.fault.as_deref().map(display::line), ..Frame::default() },
        csrf: token.clone(),
        tenant: typed.tenant,
        email: typed.email,
        next: typed.next,
        draft: typed.draft,
        is_step_up: typed.is_step_up,
    };
    let mut response = match html(status, &page) {
        Ok(response) => response,
        Err(problem) => return problem_page(request, &problem, Frame::default(), None),
    };
    match response.add_cookie(&cookie::set(Purpose::SignIn, token, app.is_https)) {
        Ok(()) => response,
        Err(error) => {
            tracing::error!(%error, "the sign-in page's cookie could not be set");
            problem_page(request, &forged(), Frame::default(), None)
        }
    }
}

/// The token that an earlier sign-in page gave this browser.
fn pre_session(app: &App, request: &HttpRequest) -> Option<String> {
    cookie::find(request, Purpose::SignIn, app.is_https)
        .filter(|token| token.len() == TOKEN_LENGTH && token.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Signs in: always with a new session, and the one before it ends.
pub(super) async fn sign_in(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> HttpResponse {
    let sent = async {
        reply::check_origin(&app, &request)?;
        let sent = fields(&request, &mut payload).await?;
        let expected = pre_session(&app, &request).unwrap_or_default();
        let token = sent.one(csrf::FIELD).unwrap_or_default();
        if csrf::is_right(&expected, token) { Ok(sent) } else { Err(forged()) }
    };
    let sent = match sent.await {
        Ok(sent) => sent,
        Err(problem) => return problem_page(&request, &problem, Frame::default(), None),
    };
    match start(&app, &request, &sent).await {
        Ok(response) => response,
        Err(problem) => {
            http::note(&request, problem.note());
            let typed = Typed {
                fault: Some(problem.detail().to_owned()),
                tenant: sent.one("tenant").unwrap_or_default().to_owned(),
                email: sent.one("email").unwrap_or_default().to_owned(),
                next: next_of(&sent).map(str::to_owned),
                draft: sent.one("draft").ok().map(str::to_owned),
                is_step_up: sent.one("draft").is_ok(),
            };
            let mut response = sign_in_page(&app, &request, problem.status(), typed);
            if let Some(seconds) = problem.retry_after_seconds() {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            }
            response
        }
    }
}

fn next_of(sent: &Fields) -> Option<&str> {
    sent.one("next").ok().and_then(local_path)
}

async fn start(app: &App, request: &HttpRequest, sent: &Fields) -> Result<HttpResponse, Problem> {
    // A tenant that cannot exist is answered as one that does not.
    let tenant: TenantSlug = text(sent, "tenant").trim().parse().map_err(|_| Problem::sign_in_failed())?;
    let started =
        http::start_session(app, request, &tenant, text(sent, "email"), text(sent, "password")).await?;
    if let Some(earlier) = cookie::find(request, Purpose::Session, app.is_https)
        && let Ok(person) = app.person(&earlier).await
    {
        app.committer.urgent(person.tenant, move |books| sessions::end(books, person.session)).await??;
    }
    let token = started.token.expose().to_owned();
    let mut response = match sent.one("draft") {
        Ok(draft) => {
            let person = app.person(&token).await?;
            let visit = Visit::by(app, person).await?;
            match next_of(sent) {
                Some("/reply-rules") => super::reply_rules::draft(app, visit, draft).await?,
                Some(_) | None => super::mandate::draft(app, visit, draft).await?,
            }
        }
        Err(_) => see_other(next_of(sent).unwrap_or("/queue")),
    };
    let cookies =
        [cookie::set(Purpose::Session, token, app.is_https), cookie::remove(Purpose::SignIn, app.is_https)];
    for cookie in &cookies {
        response.add_cookie(cookie).map_err(|error| {
            tracing::error!(%error, "a session's cookie could not be set");
            Problem::sign_in_failed()
        })?;
    }
    Ok(response)
}

fn text<'a>(sent: &'a Fields, name: &'a str) -> &'a str {
    sent.one(name).unwrap_or_default()
}

/// Asks somebody signed in to do so once more; `draft` is the document to come back to.
pub(super) fn step_up(
    app: &App,
    request: &HttpRequest,
    visit: &Visit,
    problem: &Problem,
    section: Section,
    draft: Option<&str>,
) -> HttpResponse {
    http::note(request, problem.note());
    let typed = Typed {
        fault: None,
        tenant: visit.person.tenant.to_string(),
        email: visit.person.email.clone(),
        next: Some(section.path().to_owned()),
        draft: draft.map(str::to_owned),
        is_step_up: true,
    };
    sign_in_page(app, request, problem.status(), typed)
}

/// Signs out: the session ends here, not only in the browser.
pub(super) async fn sign_out(
    app: web::Data<App>,
    request: HttpRequest,
    payload: web::Payload,
) -> HttpResponse {
    reply::change(&app, &request, payload, Section::Queue, async |visit, _| {
        let digest = visit.person.session;
        let tenant = visit.person.tenant.clone();
        app.committer.urgent(tenant, move |books| sessions::end(books, digest)).await??;
        Ok(HttpResponse::SeeOther()
            .insert_header((header::LOCATION, "/sign-in"))
            .cookie(cookie::remove(Purpose::Session, app.is_https))
            .finish())
    })
    .await
}
