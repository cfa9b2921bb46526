//! Everything that is not an answer, as problem details (RFC 9457): the one place where errors become responses.

use crate::actions::Error;
use crate::actions::again::Undecidable;
use crate::app::{CallerError, TooMany};
use crate::committer::{Life, Unavailable};
use crate::crypto::password::Busy;
use crate::domain::{Fault, Malformed, Outcome};
use crate::storage::StoreError;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};
use serde_json::{Map, Value, json};
use std::fmt;

/// A problem, ready to be sent.
#[derive(Debug)]
pub struct Problem(Box<Details>);

#[derive(Debug)]
struct Details {
    status: StatusCode,
    kind: &'static str,
    title: &'static str,
    detail: String,
    errors: Vec<Fault>,
    members: Map<String, Value>,
    retry_after_seconds: Option<i64>,
    challenge: Option<String>,
    allow: Option<String>,
}

impl Problem {
    /// A problem of a kind: its name in `type`, and its title, which is the same for every instance.
    pub fn new(
        status: StatusCode,
        kind: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self(Box::new(Details {
            status,
            kind,
            title,
            detail: detail.into(),
            errors: Vec::new(),
            members: Map::new(),
            retry_after_seconds: None,
            challenge: None,
            allow: None,
        }))
    }

    /// There is no such thing, or not for this caller.
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", format!("there is no such {what}"))
    }

    /// Nothing was found, and what was looked for.
    pub fn not_found_because(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    /// What was sent could not be read at all.
    pub fn unreadable(malformed: Malformed) -> Self {
        Self::malformed(StatusCode::BAD_REQUEST, malformed)
    }

    /// A body of another media type than the endpoint takes.
    pub fn media_type(found: &str, allowed: &str) -> Self {
        let detail = format!("`{}` was sent, {allowed} is taken", found.escape_debug());
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "Media type not taken", detail)
    }

    /// A conflict with what is there.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", "Conflict with what is there", detail)
    }

    /// What there is too much of, and when to try again.
    pub fn too_many(limit: TooMany, what: &str) -> Self {
        let seconds = limit.retry_after_seconds;
        let detail = format!("{what}: try again in {seconds} s");
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many tries", detail);
        problem.0.retry_after_seconds = Some(seconds);
        problem
    }

    fn malformed(status: StatusCode, malformed: Malformed) -> Self {
        let mut problem = Self::new(status, "malformed", "The request does not fit", malformed.to_string());
        problem.0.errors = malformed.faults;
        problem
    }

    fn unauthorized(detail: impl Into<String>) -> Self {
        let mut problem =
            Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "No valid credential was presented", detail);
        problem.0.challenge = Some("Bearer realm=\"procura\", error=\"invalid_token\"".into());
        problem
    }

    /// Adds a member to the problem.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.0.members.insert(name.to_owned(), value);
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// What `type` names.
    pub fn kind(&self) -> &'static str {
        self.0.kind
    }

    /// The title, the same for every problem of the kind.
    pub fn title(&self) -> &'static str {
        self.0.title
    }

    /// What is wrong, for the person.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Whole seconds until it is worth trying again.
    pub fn retry_after_seconds(&self) -> Option<i64> {
        self.0.retry_after_seconds
    }

    /// The methods the path takes, where the one used is not among them.
    pub fn allow(&self) -> Option<&str> {
        self.0.allow.as_deref()
    }

    /// What is wrong, place by place.
    pub fn errors(&self) -> &[Fault] {
        &self.0.errors
    }

    /// What the call log keeps of it: the kind and the places, never the values.
    pub fn note(&self) -> String {
        /// How many places are kept, and how much of each: callers choose how long they are.
        const PLACES: usize = 8;
        const CHARACTERS: usize = 40;
        let shorten = |pointer: &str| pointer.chars().take(CHARACTERS).collect::<String>();
        let places: Vec<String> = self
            .0
            .errors
            .iter()
            .map(|fault| fault.pointer.as_str())
            .filter(|pointer| !pointer.is_empty())
            .take(PLACES)
            .map(shorten)
            .collect();
        if places.is_empty() {
            self.0.kind.to_owned()
        } else {
            format!("{}: {}", self.0.kind, places.join(" "))
        }
    }

    /// The problem as JSON.
    pub fn to_json(&self) -> Value {
        let mut object = self.0.members.clone();
        object.insert("type".into(), json!(format!("/problems/{}", self.0.kind)));
        object.insert("title".into(), json!(self.0.title));
        object.insert("status".into(), json!(self.0.status.as_u16()));
        object.insert("detail".into(), json!(self.0.detail));
        if !self.0.errors.is_empty() {
            let errors: Vec<Value> = self
                .0
                .errors
                .iter()
                .map(|fault| json!({"pointer": fault.pointer, "detail": fault.detail}))
                .collect();
            object.insert("errors".into(), Value::Array(errors));
        }
        Value::Object(object)
    }
}

impl Problem {
    /// The response, about the request that `instance` names.
    pub fn respond(&self, instance: Option<&str>) -> HttpResponse {
        let mut response = HttpResponse::build(self.0.status);
        if let Some(challenge) = &self.0.challenge {
            response.insert_header((header::WWW_AUTHENTICATE, challenge.as_str()));
        }
        if let Some(allow) = &self.0.allow {
            response.insert_header((header::ALLOW, allow.as_str()));
        }
        if let Some(seconds) = self.0.retry_after_seconds {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        let mut body = self.to_json();
        super::insert(&mut body, "instance", instance.map(|instance| json!(instance)));
        response.content_type("application/problem+json").body(body.to_string())
    }

    /// The path takes other methods.
    pub fn method_not_allowed(detail: String, allowed: String) -> Self {
        let mut problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", "Method not taken", detail);
        problem.0.allow = Some(allowed);
        problem
    }

    /// The caller failed to sign in; what was wrong is not said.
    pub fn sign_in_failed() -> Self {
        let detail = "tenant, address or password is not right";
        let mut problem = Self::new(StatusCode::UNAUTHORIZED, "sign-in-failed", "Not signed in", detail);
        problem.0.challenge = Some("Bearer realm=\"procura\"".into());
        problem
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.0.status
    }

    fn error_response(&self) -> HttpResponse {
        self.respond(None)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Malformed(malformed) => Self::malformed(StatusCode::UNPROCESSABLE_ENTITY, malformed),
            Error::NotFound(what) => Self::not_found(what),
            Error::Forbidden(detail) => Self::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail),
            Error::InsufficientScope(scope) => {
                let detail = format!("this needs the scope `{scope}`, which the caller does not have");
                let mut problem = Self::new(
                    StatusCode::FORBIDDEN,
                    "insufficient-scope",
                    "The scope does not reach",
                    detail,
                );
                problem.0.challenge = Some(format!(
                    "Bearer realm=\"procura\", error=\"insufficient_scope\", scope=\"{scope}\""
                ));
                problem
            }
            Error::ScopeWithheld { pointer } => {
                let detail = "`mandate:write` belongs to people alone and is given to no agent";
                let mut problem = Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "scope-withheld",
                    "A scope no agent is given",
                    detail,
                );
                problem.0.errors = vec![Fault { pointer, detail: detail.to_owned() }];
                problem
            }
            Error::Dead(life) => Self::unauthorized(match life {
                Life::Expired { at } => format!("the credential expired at {at}"),
                Life::Revoked { at } => format!("the credential was revoked at {at}"),
                Life::Retired { at } => format!("the agent was retired at {at}"),
                Life::Live => "the credential cannot be used".to_owned(),
            }),
            Error::PointRevoked { id, at } => {
                Self::unauthorized(format!("enforcement point `{id}` was revoked at {at}"))
            }
            Error::Unknown => Self::unauthorized("the token's credential is unknown"),
            Error::SignedOut => Self::unauthorized("the session is over: sign in again"),
            Error::StepUp { act } => {
                let detail = format!("{act} needs a sign-in of the last 5 minutes: sign in again");
                Self::new(StatusCode::FORBIDDEN, "step-up-required", "A fresh sign-in is needed", detail)
            }
            Error::Conflict(detail) => Self::conflict(detail),
            Error::Stale { live } => Self::new(
                StatusCode::PRECONDITION_FAILED,
                "stale",
                "Another version is live",
                format!("version {live} is live: read it and decide again"),
            )
            .with("live_version", json!(live)),
            Error::KeyReused { first_used } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency-key-reused",
                "The idempotency key was used for another request",
                format!("this Idempotency-Key was used at {first_used} for another request"),
            ),
            Error::MandateTooOld { live, asked } => Self::new(
                StatusCode::CONFLICT,
                "mandate-too-old",
                "The live mandate is older than asked for",
                format!("mandate version {live} is live, at least {asked} was asked for"),
            )
            .with("live_version", json!(live)),
            Error::Store(error) => error.into(),
        }
    }
}

impl From<Undecidable> for Problem {
    fn from(why: Undecidable) -> Self {
        let title = "Nothing to decide again";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "undecidable", title, why.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the database failed a request");
        if let StoreError::Corrupt { .. } = error {
            let detail = "something stored cannot be read; the operator finds it in the service's log";
            return Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "unreadable",
                "Something stored cannot be read",
                detail,
            );
        }
        unavailable(
            "unavailable",
            "The service cannot answer now",
            "the database did not answer: try again",
            1,
        )
    }
}

impl From<Unavailable> for Problem {
    fn from(why: Unavailable) -> Self {
        let (detail, wait) = match why {
            Unavailable::LogDown => ("the log cannot be written, and without a record there is no answer", 1),
            Unavailable::TooLate => {
                ("the record was not durable in time, and without a record there is no answer", 1)
            }
            Unavailable::Overloaded => ("too many calls are waiting to be recorded", 1),
            Unavailable::Stopping => ("the service is stopping", 2),
        };
        unavailable("log-unavailable", "Nothing can be recorded now", detail, wait)
            .with("outcome", json!(Outcome::Refuse))
    }
}

fn unavailable(kind: &'static str, title: &'static str, detail: &str, wait: i64) -> Problem {
    let mut problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, kind, title, detail);
    problem.0.retry_after_seconds = Some(wait);
    problem
}

impl From<TooMany> for Problem {
    fn from(limit: TooMany) -> Self {
        Self::too_many(limit, "too many tries")
    }
}

impl From<Busy> for Problem {
    fn from(_: Busy) -> Self {
        TooMany { retry_after_seconds: 1 }.into()
    }
}

impl From<Malformed> for Problem {
    fn from(malformed: Malformed) -> Self {
        Error::Malformed(malformed).into()
    }
}

impl From<CallerError> for Problem {
    fn from(error: CallerError) -> Self {
        match error {
            CallerError::Missing => {
                let mut problem = Self::unauthorized("no bearer token was sent");
                problem.0.challenge = Some("Bearer realm=\"procura\"".into());
                problem
            }
            CallerError::Unattributable(detail) => {
                tracing::info!(reason = detail, "a token that says nothing was refused");
                metrics::counter!("procura_unattributable_tokens_total").increment(1);
                Self::unauthorized(detail)
            }
            CallerError::Dead { detail, .. } | CallerError::DeadPoint { detail, .. } => {
                Self::unauthorized(detail)
            }
            CallerError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_refused_for_want_of_a_record_hears_when_to_come_again() {
        for why in
            [Unavailable::LogDown, Unavailable::TooLate, Unavailable::Overloaded, Unavailable::Stopping]
        {
            let response = Problem::from(why).respond(None);
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "{why:?}");
            let wait = response.headers().get(header::RETRY_AFTER).unwrap().to_str().unwrap();
            assert!((1..=10).contains(&wait.parse::<u32>().unwrap()), "{why:?}: {wait}");
        }
    }
}
