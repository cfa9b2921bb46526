//! Reading what was sent: within a size and a time, of the media type the endpoint takes.

use super::Problem;
use crate::domain::{Fault, Malformed, json};
use crate::engine::{Notation, read_text};
use actix_web::http::{StatusCode, header};
use actix_web::web::{BytesMut, Payload};
use actix_web::{HttpMessage, HttpRequest};
use futures_util::StreamExt;
use serde_json::{Map, Value};
use std::str::FromStr;
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

/// More faults of one body than anyone reads; what lies beyond is left out.
const MOST_FAULTS: usize = 100;

/// The members of a body, taken one by one: everything wrong with them is said at once, and what is left in the end is
/// unknown.
#[derive(Debug)]
pub(super) struct Members {
    left: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Members {
    /// The members of an object.
    pub(super) fn of(value: Value) -> Result<Self, Problem> {
        match value {
            Value::Object(left) => Ok(Self { left, faults: Vec::new() }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(Malformed::whole("an object is expected").into())
            }
        }
    }

    /// A member as it is, if it is there and not null.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// A member as it stands.
    pub(super) fn look(&self, name: &str) -> Option<&Value> {
        self.left.get(name)
    }

    /// Notes what is wrong.
    pub(super) fn fault(&mut self, malformed: Malformed) {
        self.faults.extend(malformed.faults);
    }

    /// What `read` makes of a member, if it is there; what it finds wrong is placed below the member's name.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Value) -> Result<T, Malformed>,
    ) -> Option<T> {
        let value = self.take(name)?;
        match read(value) {
            Ok(read) => Some(read),
            Err(malformed) => {
                self.fault(malformed.under(&pointer(name)));
                None
            }
        }
    }

    /// A member of a plain kind.
    pub(super) fn optional<T: Plain>(&mut self, name: &str) -> Option<T> {
        self.read(name, T::of)
    }

    /// A member that must be there, as `read` reads it.
    pub(super) fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Value) -> Result<T, Malformed>,
    ) -> Option<T> {
        if self.left.get(name).is_none_or(Value::is_null) {
            self.fault(Malformed::whole(format!("member `{name}` is missing")));
        }
        self.read(name, read)
    }

    /// A text member, parsed by the type's own grammar.
    pub(super) fn parsed<T: FromStr<Err = String>>(&mut self, name: &str) -> Option<T> {
        self.read(name, parse)
    }

    /// A text member that must be there, parsed by the type's own grammar.
    pub(super) fn parsed_required<T: FromStr<Err = String>>(&mut self, name: &str) -> Option<T> {
        self.required(name, parse)
    }

    /// What was read, if nothing was wrong with it; what nobody took is refused by name.
    pub(super) fn finish<T>(mut self, allowed: &str, read: Option<T>) -> Result<T, Malformed> {
        for name in self.left.keys() {
            let shown: String = name.chars().take(64).collect();
            let detail = format!("unknown member `{}`, allowed: {allowed}", shown.escape_debug());
            self.faults.push(Fault { pointer: pointer(name), detail });
        }
        self.faults.truncate(MOST_FAULTS);
        match read {
            Some(read) if self.faults.is_empty() => Ok(read),
            None if self.faults.is_empty() => Err(Malformed::whole("the body cannot be read")),
            Some(_) | None => Err(Malformed { faults: self.faults }),
        }
    }
}

/// A text, a whole number, or a list of texts.
pub(super) trait Plain: Sized {
    /// The value, or what is found in its place.
    fn of(value: Value) -> Result<Self, Malformed>;
}

impl Plain for String {
    fn of(value: Value) -> Result<Self, Malformed> {
        match value {
            Value::String(text) => Ok(text),
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(unexpected(&other, "a text"))
            }
        }
    }
}

impl Plain for i64 {
    fn of(value: Value) -> Result<Self, Malformed> {
        value.as_i64().ok_or_else(|| unexpected(&value, "a whole number"))
    }
}

impl Plain for Vec<Value> {
    fn of(value: Value) -> Result<Self, Malformed> {
        match value {
            Value::Array(items) => Ok(items),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_)) => Err(unexpected(&other, "a list")),
        }
    }
}

/// The entries of a list, each read by `read`; everything wrong with any of them.
pub(super) fn each<T>(
    items: Vec<Value>,
    read: impl Fn(Value) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut faults = Vec::new();
    let mut entries = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        match read(item) {
            Ok(entry) => entries.push(entry),
            Err(malformed) => faults.extend(malformed.under(&format!("/{index}")).faults),
        }
    }
    if faults.is_empty() { Ok(entries) } else { Err(Malformed { faults }) }
}

/// What a text says, in a type that knows what it accepts.
pub(super) fn parse<T: FromStr<Err = String>>(value: Value) -> Result<T, Malformed> {
    String::of(value)?.parse().map_err(|detail: String| Malformed::whole(detail))
}

/// What was found instead, by its kind alone: it may be a password.
fn unexpected(found: &Value, expected: &str) -> Malformed {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Malformed::whole(format!("{kind} found, {expected} expected"))
}

/// The pointer to a member of the body (RFC 6901 §3).
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Label;
    use serde_json::json;

    fn read(body: Value) -> Result<((Label, i64), Vec<Label>), String> {
        let mut members = Members::of(body).unwrap();
        let name = members.parsed_required::<Label>("name");
        let count = members.required("count", i64::of);
        let tags = members.required("tags", |value| each(Plain::of(value)?, parse));
        members.finish("name, count, tags", name.zip(count).zip(tags)).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_wrong_with_a_body_is_said_at_once() {
        let error = read(json!({"count": "3", "tags": ["a", 5, null], "colour": 1, "a/b": 2})).unwrap_err();
        assert_eq!(
            error,
            "member `name` is missing; /count: a text found, a whole number expected; \
             /tags/1: a number found, a text expected; /tags/2: null found, a text expected; \
             /a~1b: unknown member `a/b`, allowed: name, count, tags; \
             /colour: unknown member `colour`, allowed: name, count, tags"
        );
        let ((name, count), tags) = read(json!({"name": "n", "count": 3, "tags": ["a"]})).unwrap();
        assert_eq!((name.as_str(), count, tags.len()), ("n", 3, 1));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_kind_and_never_shown() {
        let mut members = Members::of(json!({"password": ["hunter2"]})).unwrap();
        let password = members.required("password", String::of);
        let error = members.finish("password", password).unwrap_err().to_string();
        assert_eq!(error, "/password: a list found, a text expected");
    }
}
