//! Reading what was sent: within a size and a time, of the media type the endpoint takes.

use super::Problem;
use crate::domain::{Malformed, json};
use crate::engine::{Notation, read_text};
use actix_web::http::{StatusCode, header};
use actix_web::web::{BytesMut, Payload};
use actix_web::{HttpMessage, HttpRequest};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::time::Duration;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bytes of a body of at most [`json::LARGEST_BODY_BYTES`].
pub(super) async fn bytes(request: &HttpRequest, payload: &mut Payload) -> Result<BytesMut, Problem> {
    bytes_up_to(request, payload, json::LARGEST_BODY_BYTES).await
}

/// The bytes of a body of at most `most`, within [`PATIENCE`].
pub(crate) async fn bytes_up_to(
    request: &HttpRequest,
    payload: &mut Payload,
    most: usize,
) -> Result<BytesMut, Problem> {
    let read = async {
        let mut body = BytesMut::new();
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|error| {
                Problem::unreadable(Malformed::whole(format!("the body broke off: {error}")))
            })?;
            if body.len().saturating_add(chunk.len()) > most {
                return Err(too_large(request, most));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap_or_else(|_| {
        Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            "The body took too long",
            format!("the body did not arrive within {} s", PATIENCE.as_secs()),
        ))
    })
}

/// Says how much was sent where the request says it itself: the rest of such a body is not read.
fn too_large(request: &HttpRequest, most: usize) -> Problem {
    let sent = request.headers().get(header::CONTENT_LENGTH);
    let sent: Option<u64> = sent.and_then(|sent| sent.to_str().ok()?.parse().ok());
    let sent = sent.map_or_else(|| format!("more than {most}"), |sent| sent.to_string());
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-large",
        "The body is too large",
        format!("{sent} bytes were sent, {most} are taken"),
    )
}

/// The media type a body was sent as, without parameters, in lower case.
fn media_type(request: &HttpRequest) -> String {
    request.content_type().trim().to_ascii_lowercase()
}

/// A JSON body.
pub(super) async fn value(request: &HttpRequest, payload: &mut Payload) -> Result<Value, Problem> {
    let found = media_type(request);
    if found != "application/json" && !found.ends_with("+json") {
        return Err(Problem::media_type(&found, "application/json"));
    }
    json::parse(&bytes(request, payload).await?).map_err(Problem::unreadable)
}

/// A JSON object with its members.
pub(super) async fn object(request: &HttpRequest, payload: &mut Payload) -> Result<Members, Problem> {
    Members::of(value(request, payload).await?)
}

/// A document of at most [`json::LARGEST_DOCUMENT_BYTES`] in JSON or YAML, by its media type; without one, by its
/// first character.
pub(super) async fn document(request: &HttpRequest, payload: &mut Payload) -> Result<Value, Problem> {
    let found = media_type(request);
    let bytes = bytes_up_to(request, payload, json::LARGEST_DOCUMENT_BYTES).await?;
    let notation = match found.as_str() {
        "application/json" => Notation::Json,
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Notation::Yaml,
        "" | "text/plain" | "application/octet-stream" => Notation::of(&bytes),
        other if other.ends_with("+json") => Notation::Json,
        other if other.ends_with("+yaml") => Notation::Yaml,
        other => return Err(Problem::media_type(other, "application/json or application/yaml")),
    };
    read_text(&bytes, notation).map_err(Problem::unreadable)
}

/// The members of a body, taken one by one; what is left in the end is unknown.
#[derive(Debug)]
pub(super) struct Members(Map<String, Value>);

impl Members {
    /// The members of an object.
    pub(super) fn of(value: Value) -> Result<Self, Problem> {
        match value {
            Value::Object(object) => Ok(Self(object)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(Malformed::whole("an object is expected").into())
            }
        }
    }

    /// A member as it is, if it is there and not null.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// A member that reads as `T`.
    pub(super) fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Malformed> {
        self.take(name)
            .map(|value| {
                serde_json::from_value(value)
                    .map_err(|error| Malformed::at(format!("/{name}"), error.to_string()))
            })
            .transpose()
    }

    /// A member that must be there.
    pub(super) fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Malformed> {
        self.optional(name)?.ok_or_else(|| Malformed::whole(format!("member `{name}` is missing")))
    }

    /// A text member, parsed by the type's own grammar.
    pub(super) fn parsed<T: std::str::FromStr<Err = String>>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, Malformed> {
        let Some(text) = self.optional::<String>(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|detail: String| Malformed::at(format!("/{name}"), detail))
    }

    /// A text member that must be there, parsed by the type's own grammar.
    pub(super) fn parsed_required<T: std::str::FromStr<Err = String>>(
        &mut self,
        name: &str,
    ) -> Result<T, Malformed> {
        self.parsed(name)?.ok_or_else(|| Malformed::whole(format!("member `{name}` is missing")))
    }

    /// Refuses what nobody took, by name.
    pub(super) fn finish(self, allowed: &str) -> Result<(), Malformed> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let shown: String = name.chars().take(64).collect();
                let detail = format!("unknown member `{}`, allowed: {allowed}", shown.escape_debug());
                Err(Malformed::at(format!("/{}", name.replace('~', "~0").replace('/', "~1")), detail))
            }
        }
    }
}
