//! What every response gets: a request id, headers that keep browsers strict, and a row of the call log.

use super::Problem;
use super::request::Attribution;
use crate::app::App;
use crate::committer::{Access, clock, entropy};
use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use std::borrow::Cow;

/// Nothing from elsewhere, no frames, no inline anything.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LONGEST_REQUEST_ID: usize = 128;

/// Wraps every request.
pub(super) async fn wrap(
    app: web::Data<App>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let given = request.headers().get(REQUEST_ID).filter(|id| is_request_id(id)).cloned();
    let id = given.or_else(|| HeaderValue::from_str(&hex::encode(entropy::bytes::<12>())).ok());
    if let Some(id) = &id {
        // Pages show the id they are answered under.
        request.headers_mut().insert(REQUEST_ID, id.clone());
    }
    let response = next.call(request).await?;
    list(&app, &response);
    let mut response = with_instance(response, id.as_ref());
    let headers = response.headers_mut();
    if let Some(id) = id {
        headers.insert(REQUEST_ID, id);
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let policy = HeaderValue::from_static(CONTENT_SECURITY_POLICY);
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if app.is_https {
        let year = HeaderValue::from_static("max-age=31536000; includeSubDomains");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    Ok(response)
}

/// A problem says which request it is about (RFC 9457 §3.1.5).
fn with_instance<B: MessageBody>(
    response: ServiceResponse<B>,
    id: Option<&HeaderValue>,
) -> ServiceResponse<EitherBody<B>> {
    let problem = response.response().error().and_then(|error| error.as_error::<Problem>());
    let Some(problem) = problem else { return response.map_into_left_body() };
    let instance = id.and_then(|id| id.to_str().ok()).map(|id| format!("/requests/{id}"));
    let answer = problem.respond(instance.as_deref());
    response.into_response(answer).map_into_right_body()
}

fn is_request_id(id: &HeaderValue) -> bool {
    id.len() <= LONGEST_REQUEST_ID && id.as_bytes().iter().all(u8::is_ascii_graphic)
}

/// The method's name; what is none of those that any route takes is not written down as it came.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Lists the call against whoever made it, unless it recorded a leaf.
fn list<B>(app: &App, response: &ServiceResponse<B>) {
    let request = response.request();
    let extensions = request.extensions();
    let Some(attribution) = extensions.get::<Attribution>().filter(|attribution| !attribution.has_leaf)
    else {
        return;
    };
    let problem =
        response.response().error().and_then(|error| error.as_error::<Problem>()).map(Problem::note);
    let notes: Vec<String> = attribution.note.clone().into_iter().chain(problem).collect();
    let detail = (!notes.is_empty()).then(|| notes.join(", "));
    app.committer.list(Access {
        tenant: attribution.tenant.clone(),
        subject: attribution.subject,
        at: clock::now(),
        method: Cow::Borrowed(method_name(request.method())),
        route: Cow::Owned(request.match_pattern().unwrap_or_else(|| "unknown".to_owned())),
        status: response.status().as_u16(),
        detail,
    });
}
