//! The one HTTP client of the tests: an address, perhaps a token, and answers as values.

use serde_json::{Value, json};
use std::time::Duration;
use ureq::http::{HeaderMap, Request};

/// Somebody who calls the server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    base: String,
    token: Option<String>,
    agent: ureq::Agent,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body as it came.
    pub(crate) bytes: Vec<u8>,
    /// The body as text.
    pub(crate) text: String,
    /// The body as JSON, null if it is none.
    pub(crate) json: Value,
}

impl Client {
    /// A caller without a token.
    pub(crate) fn new(base: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(Duration::from_mins(1)))
            .build();
        Self { base: base.to_owned(), token: None, agent: config.new_agent() }
    }

    /// The same caller with a token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same caller at another server.
    pub(crate) fn at(&self, base: &str) -> Self {
        Self { token: self.token.clone(), ..Self::new(base) }
    }

    /// The address it calls.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The token it carries.
    pub(crate) fn token(&self) -> &str {
        self.token.as_deref().unwrap()
    }

    /// GET.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None)
    }

    /// POST of JSON.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[], Some(body.to_string().as_bytes()))
    }

    /// PUT of JSON with further headers.
    #[track_caller]
    pub(crate) fn put(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        self.send("PUT", path, headers, Some(body.to_string().as_bytes()))
    }

    /// DELETE.
    #[track_caller]
    pub(crate) fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], None)
    }

    /// Any request; a body is JSON unless a header says otherwise.
    #[track_caller]
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Reply {
        match self.try_send(method, path, headers, body) {
            Ok(reply) => reply,
            Err(error) => panic!("{method} {path} got no answer: {error}"),
        }
    }

    /// Any request, where the server may be gone.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Reply, ureq::Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = match body {
            Some(body) => self.agent.run(request.body(body)?)?,
            None => self.agent.run(request.body(())?)?,
        };
        let (parts, mut body) = response.into_parts();
        let bytes = body.with_config().limit(1 << 30).read_to_vec()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, bytes, text, json })
    }

    /// Puts an action to the gate.
    #[track_caller]
    pub(crate) fn evaluate(&self, action: &Value) -> Reply {
        self.post("/v1/gate/evaluate", action)
    }

    /// Puts an action to the gate under an idempotency key.
    #[track_caller]
    pub(crate) fn evaluate_once(&self, key: &str, action: &Value) -> Reply {
        let body = action.to_string();
        self.send("POST", "/v1/gate/evaluate", &[("idempotency-key", key)], Some(body.as_bytes()))
    }

    /// Puts an action to a gate that may be gone.
    pub(crate) fn try_evaluate(&self, action: &Value) -> Result<Reply, ureq::Error> {
        self.try_send("POST", "/v1/gate/evaluate", &[], Some(action.to_string().as_bytes()))
    }

    /// Writes the caller's mandate over the live one; the answer, which must be a success.
    #[track_caller]
    pub(crate) fn put_mandate(&self, document: &Value) -> Value {
        self.put_over("/v1/mandate", document)
    }

    /// Writes a versioned document over the live one.
    #[track_caller]
    pub(crate) fn put_over(&self, path: &str, document: &Value) -> Value {
        let live = self.get(path);
        let tag =
            live.header("etag").unwrap_or_else(|| panic!("{path} has no ETag: {}", live.text)).to_owned();
        self.put(path, &[("if-match", &tag)], document).expect(200)
    }

    /// Approves a decision as it is shown now.
    #[track_caller]
    pub(crate) fn approve(&self, decision: &str) -> Reply {
        let shown = self.get(&format!("/v1/decisions/{decision}")).expect(200);
        self.post(&format!("/v1/decisions/{decision}/approve"), &json!({"input_hash": shown["input_hash"]}))
    }

    /// All items of a list, page after page.
    #[track_caller]
    pub(crate) fn all(&self, path: &str) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let mut items = Vec::new();
        let mut cursor = None::<String>;
        loop {
            let page = match &cursor {
                None => self.get(&format!("{path}{separator}limit=100")),
                Some(cursor) => self.get(&format!("{path}{separator}limit=100&cursor={cursor}")),
            }
            .expect(200);
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return items,
            }
        }
    }
}

impl Reply {
    /// The JSON of an answer that must have this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "answered: {}", self.text);
        self.json.clone()
    }

    /// The JSON of an answer of the gate that must have this outcome.
    #[track_caller]
    pub(crate) fn expect_outcome(&self, outcome: &str) -> Value {
        let answer = self.expect(200);
        assert_eq!(answer["outcome"], outcome, "answered: {}", self.text);
        answer
    }

    /// The problem details of an answer that must have this status; each has what RFC 9457 names.
    #[track_caller]
    pub(crate) fn expect_problem(&self, status: u16) -> Value {
        let problem = self.expect(status);
        let kind = self.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/problem+json"), "content type `{kind}`: {}", self.text);
        for member in ["type", "title", "detail", "instance"] {
            assert!(problem[member].is_string(), "no `{member}` in {}", self.text);
        }
        assert_eq!(problem["status"], status, "the body's status: {}", self.text);
        problem
    }

    /// A header, if it is there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether the answer names this clause.
    pub(crate) fn names(&self, clause: &str) -> bool {
        self.json["clauses"].as_array().is_some_and(|clauses| clauses.iter().any(|named| named == clause))
    }
}

/// Runs the same thing `count` times at once; the results in order.
pub(crate) fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count).map(|index| scope.spawn(move || work(index))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
