//! `POST /oauth/token`: renews the token of an agent, with credential id and secret, or of an enforcement point, with
//! its own (RFC 6749 §4.4). Its errors are OAuth's own, whatever went wrong.

use super::request;
use super::{Problem, body};
use crate::actions::{Error, credential as act, enforcement_point as act_point};
use crate::app::App;
use crate::crypto::secret::Secret;
use crate::domain::{CredentialId, EnforcementPointId, Hash, Scopes};
use crate::storage::access::Subject;
use crate::storage::{credential, enforcement_point};
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine;
use serde_json::json;

/// Answers with a new token, or why there is none.
pub(super) async fn token(
    app: web::Data<App>,
    request: HttpRequest,
    mut payload: web::Payload,
) -> HttpResponse {
    match renew(&app, &request, &mut payload).await {
        Ok(answer) => answer,
        Err(refused) => {
            request::note(&request, refused.error.to_owned());
            refused.respond()
        }
    }
}

async fn renew(
    app: &App,
    request: &HttpRequest,
    payload: &mut web::Payload,
) -> Result<HttpResponse, Refused> {
    let body = body::bytes(request, payload).await?;
    let asked = token_request(request, &body).ok_or_else(|| {
        Refused::new("invalid_request", "send grant_type, client_id and client_secret, each once")
    })?;
    if asked.grant_type != "client_credentials" {
        return Err(Refused::new("unsupported_grant_type", "client_credentials is taken"));
    }
    if let Ok(id) = asked.client_id.parse::<EnforcementPointId>() {
        return renew_point(app, request, id, &asked).await;
    }
    let id: CredentialId = asked.client_id.parse().map_err(|_| Refused::client())?;
    let found = app.read(move |connection| credential::find_anywhere(connection, id)).await;
    let found = found.map_err(Problem::from)?.ok_or_else(Refused::client)?;
    // A wrong secret is a call of the credential too: its owner sees that somebody guesses.
    request::attribute(
        request,
        &found.tenant,
        Subject::of_credential(found.id, found.agent, found.principal),
    );
    asked.prove(&found.secret_digest)?;
    app.limits.call(found.id).map_err(Problem::from)?;
    let scopes = asked.scope.as_deref().map(Scopes::from_space_separated).transpose();
    let scopes = scopes.map_err(|detail| Refused::new("invalid_scope", detail))?;
    let scopes = scopes.filter(|scopes| !scopes.is_empty());
    let renewed = app.committer.act(found.tenant, move |books| act::renew(books, id, scopes)).await;
    match renewed.map_err(Problem::from)? {
        Ok(sealed) => {
            let scope = sealed.value.scopes.to_string();
            Ok(renewed_token(&sealed.value.token, sealed.value.expires_in, Some(&scope)))
        }
        Err(Error::Dead(_) | Error::Unknown) => Err(Refused::client()),
        Err(Error::ScopeWithheld { .. }) => Err(Refused::new(
            "invalid_scope",
            "mandate:write belongs to people alone and is given to no agent",
        )),
        Err(Error::Malformed(malformed)) => Err(Refused::new("invalid_scope", malformed.to_string())),
        Err(other) => Err(Problem::from(other).into()),
    }
}

async fn renew_point(
    app: &App,
    request: &HttpRequest,
    id: EnforcementPointId,
    asked: &TokenRequest,
) -> Result<HttpResponse, Refused> {
    let found = app.read(move |connection| enforcement_point::find_anywhere(connection, id)).await;
    let found = found.map_err(Problem::from)?.ok_or_else(Refused::client)?;
    let point = app.point(&found.tenant, id).map_err(Problem::from)?;
    request::attribute_point(request, &point);
    asked.prove(&found.secret_digest)?;
    app.limits.point_call(id).map_err(Problem::from)?;
    if asked.scope.as_deref().is_some_and(|scope| !scope.is_empty()) {
        return Err(Refused::new("invalid_scope", "an enforcement point carries no scopes"));
    }
    let renewed = app.committer.act(found.tenant, move |books| act_point::renew(books, id)).await;
    match renewed.map_err(Problem::from)? {
        Ok(sealed) => Ok(renewed_token(&sealed.value.token, sealed.value.expires_in, None)),
        Err(Error::PointRevoked { .. } | Error::Unknown) => Err(Refused::client()),
        Err(other) => Err(Problem::from(other).into()),
    }
}

fn renewed_token(token: &str, expires_in: i64, scope: Option<&str>) -> HttpResponse {
    let mut answer = json!({"access_token": token, "token_type": "Bearer", "expires_in": expires_in});
    super::insert(&mut answer, "scope", scope.map(|scope| json!(scope)));
    HttpResponse::Ok().insert_header(("pragma", "no-cache")).json(answer)
}

/// Why there is no token (RFC 6749 §5.2).
struct Refused {
    status: StatusCode,
    error: &'static str,
    description: String,
    retry_after_seconds: Option<i64>,
}

impl Refused {
    fn new(error: &'static str, description: impl Into<String>) -> Self {
        let description = description.into();
        Self { status: StatusCode::BAD_REQUEST, error, description, retry_after_seconds: None }
    }

    /// The credential is unknown or over, or the secret is not its own: which of these is not said.
    fn client() -> Self {
        let refused = Self::new("invalid_client", "credential or secret is not right");
        Self { status: StatusCode::UNAUTHORIZED, ..refused }
    }

    fn respond(self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"procura\""));
        }
        if let Some(seconds) = self.retry_after_seconds {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        response.json(json!({"error": self.error, "error_description": self.description}))
    }
}

/// What goes wrong everywhere else too, in OAuth's words; `temporarily_unavailable` is borrowed from RFC 6749
/// §4.1.2.1, since §5.2 has no word for it.
impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        let status = problem.status();
        let passes = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        Self {
            status,
            error: if passes { "temporarily_unavailable" } else { "invalid_request" },
            description: problem.detail().to_owned(),
            retry_after_seconds: problem.retry_after_seconds(),
        }
    }
}

struct TokenRequest {
    grant_type: String,
    client_id: String,
    client_secret: String,
    scope: Option<String>,
}

impl TokenRequest {
    /// Refuses a secret that is not the one whose digest is stored.
    fn prove(&self, stored: &Hash) -> Result<(), Refused> {
        let secret = Secret::parse(&self.client_secret).map_err(|_| Refused::client())?;
        if secret.matches(stored) { Ok(()) } else { Err(Refused::client()) }
    }
}

/// The form's members, and id and secret from the `Authorization` header where they stand there; each once.
fn token_request(request: &HttpRequest, body: &[u8]) -> Option<TokenRequest> {
    let text = std::str::from_utf8(body).ok()?;
    let pairs: Vec<(String, String)> =
        web::Query::<Vec<(String, String)>>::from_query(text).ok()?.into_inner();
    let one = |name: &str| -> Result<Option<String>, ()> {
        let mut values = pairs.iter().filter(|(found, _)| found == name).map(|(_, value)| value.clone());
        let value = values.next();
        if values.next().is_some() { Err(()) } else { Ok(value) }
    };
    let basic = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Basic "))
        .and_then(|encoded| base64::engine::general_purpose::STANDARD.decode(encoded).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let (id, secret) = match &basic {
        Some(pair) => {
            let (id, secret) = pair.split_once(':')?;
            (Some(id.to_owned()), Some(secret.to_owned()))
        }
        None => (one("client_id").ok()?, one("client_secret").ok()?),
    };
    Some(TokenRequest {
        grant_type: one("grant_type").ok()??,
        client_id: id?,
        client_secret: secret?,
        scope: one("scope").ok()?,
    })
}
