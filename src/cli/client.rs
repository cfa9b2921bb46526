//! Speaks to the server as anyone's program would: JSON over HTTP.

use super::output::Failure;
use serde_json::Value;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Method, Request};

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// A client of one server.
pub(super) struct Client {
    agent: Agent,
    base: String,
}

/// What came back.
pub(super) struct Answer {
    /// The status.
    pub(super) status: u16,
    /// The body as text.
    pub(super) text: String,
    /// The body as JSON; null where it is not.
    pub(super) body: Value,
    /// The version of what was read or written.
    pub(super) etag: Option<String>,
}

/// One call.
pub(super) struct Call<'a> {
    method: Method,
    path: &'a str,
    token: Option<&'a str>,
    if_match: Option<&'a str>,
    body: Option<&'a Value>,
}

impl<'a> Call<'a> {
    /// Reads.
    pub(super) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, token: None, if_match: None, body: None }
    }

    /// Sends a body.
    pub(super) fn post(path: &'a str, body: &'a Value) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(path) }
    }

    /// Replaces what is there.
    pub(super) fn put(path: &'a str, body: &'a Value) -> Self {
        Self { method: Method::PUT, ..Self::post(path, body) }
    }

    /// As the holder of a token.
    pub(super) fn by(self, token: &'a str) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Only if this version is still there.
    pub(super) fn if_match(self, etag: &'a str) -> Self {
        Self { if_match: Some(etag), ..self }
    }
}

impl Client {
    /// A client of the server at `base`.
    pub(super) fn new(base: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            // What goes to this machine goes there directly, whatever the environment says of proxies.
            .proxy(None)
            .build();
        Self { agent: config.new_agent(), base: base.to_owned() }
    }

    /// Makes one call; every status is an answer.
    pub(super) fn call(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::failed(format!("{} {}: no answer: {error}", call.method, call.path))
        };
        let mut request = Request::builder().method(&call.method).uri(format!("{}{}", self.base, call.path));
        if let Some(token) = call.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(etag) = call.if_match {
            request = request.header("if-match", etag);
        }
        let sent = match call.body {
            Some(body) => {
                let request = request.header("content-type", "application/json").body(body.to_string());
                self.agent.run(request.map_err(|error| failed(&error))?)
            }
            None => self.agent.run(request.body(()).map_err(|error| failed(&error))?),
        };
        let mut response = sent.map_err(|error| failed(&error))?;
        let etag = response.headers().get("etag").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let text = response.body_mut().read_to_string().map_err(|error| failed(&error))?;
        let body = serde_json::from_str(&text).unwrap_or_default();
        Ok(Answer { status: response.status().as_u16(), text, body, etag })
    }
}
