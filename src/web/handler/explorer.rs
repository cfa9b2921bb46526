//! The receipt explorer: public, and nothing that is pasted into it leaves the browser.

use super::reply::{html, problem_page};
use crate::evidence::receipt::Kind;
use crate::http::{Problem, path_id};
use crate::web::view::{ExplorerPage, Frame};
use crate::web::{EXPLORER, EXPLORER_PARTS, STATIC_CACHING};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};

/// As every page's, and stricter: the page sends nothing anywhere, not even a form.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'none'; \
    form-action 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";

/// The page. Whoever is signed in is not greeted: nobody's name belongs beside a stranger's receipt.
pub(super) async fn show(request: HttpRequest) -> HttpResponse {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    match html(StatusCode::OK, &ExplorerPage { frame: Frame::default(), kinds: kinds.join(" ") }) {
        Ok(mut response) => {
            let policy = HeaderValue::from_static(CONTENT_SECURITY_POLICY);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
        Err(problem) => problem_page(&request, &problem, Frame::default(), None),
    }
}

/// Its script.
pub(super) async fn script() -> HttpResponse {
    java_script(EXPLORER)
}

/// What its script is made of.
pub(super) async fn part(path: web::Path<String>) -> Result<HttpResponse, Problem> {
    let name: String = path_id(&path, "page")?;
    let part = EXPLORER_PARTS.iter().find(|(part, _)| *part == name);
    part.map(|(_, text)| java_script(text)).ok_or_else(|| Problem::not_found("page"))
}

fn java_script(text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/javascript; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, STATIC_CACHING))
        .body(text)
}
