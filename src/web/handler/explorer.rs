//! The receipt explorer: public, and nothing that is pasted into it leaves the browser.

use super::reply::{html, problem_page};
use crate::web::view::{ExplorerPage, Frame};
use crate::web::{EXPLORER, STATIC_CACHING};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};

/// As every page's, and stricter: the page sends nothing anywhere, not even a form.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'none'; \
    form-action 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";

/// The page. Whoever is signed in is not greeted: nobody's name belongs beside a stranger's receipt.
pub(super) async fn show(request: HttpRequest) -> HttpResponse {
    match html(StatusCode::OK, &ExplorerPage { frame: Frame::default() }) {
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
    HttpResponse::Ok()
        .content_type("text/javascript; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, STATIC_CACHING))
        .body(EXPLORER)
}
