//! What handlers read of a request besides its body: who calls, preconditions, paging.

use super::Problem;
use crate::actions::Error;
use crate::actions::caller::{AgentCaller, Operator, Person, PointCaller};
use crate::actions::effect::Reporter;
use crate::app::{App, Caller, CallerError, Presenter};
use crate::crypto::token::Bearer;
use crate::domain::{AgentKind, CallId, Malformed, TenantSlug, Timestamp};
use crate::storage::access::Subject;
use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

/// Against whom a call is listed, unless it has a leaf of its own.
#[derive(Debug, Clone)]
pub(super) struct Attribution {
    /// Whose tenant.
    pub tenant: TenantSlug,
    /// Whose call.
    pub subject: Subject,
    /// Whether the call recorded a leaf.
    pub has_leaf: bool,
    /// What does not show in the response's own problem.
    pub note: Option<String>,
}

/// Says whose call this is.
pub(crate) fn attribute(request: &HttpRequest, tenant: &TenantSlug, subject: Subject) {
    request.extensions_mut().insert(Attribution {
        tenant: tenant.clone(),
        subject,
        has_leaf: false,
        note: None,
    });
}

/// Says that the call recorded a leaf of its own.
pub(crate) fn has_leaf(request: &HttpRequest) {
    if let Some(attribution) = request.extensions_mut().get_mut::<Attribution>() {
        attribution.has_leaf = true;
    }
}

/// Says something about the call that does not show in the response's own problem, after what was said before.
pub(crate) fn note(request: &HttpRequest, note: String) {
    if let Some(attribution) = request.extensions_mut().get_mut::<Attribution>() {
        attribution.note = Some(match attribution.note.take() {
            Some(before) => format!("{before}, {note}"),
            None => note,
        });
    }
}

/// The bearer token of a request.
pub(super) fn bearer(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Says that this is a call of an enforcement point: it stands in the tenant's chain, with the point's id in its note.
pub(super) fn attribute_point(request: &HttpRequest, point: &PointCaller) {
    attribute(request, &point.tenant, point.subject());
    note(request, point.id.to_string());
}

/// Whoever presents a token; the call is recorded against them, also where they are dead.
pub(super) async fn presenter(app: &App, request: &HttpRequest) -> Result<Presenter, Problem> {
    match app.presenter(bearer(request)).await {
        Ok(Presenter::Caller(caller)) => {
            attribute(request, caller.tenant(), caller.subject());
            if let Caller::Agent(agent) = &caller {
                app.limits.call(agent.presented.credential)?;
                confine(request, agent.kind)?;
            }
            Ok(Presenter::Caller(caller))
        }
        Ok(Presenter::Point(point)) => {
            attribute_point(request, &point);
            app.limits.point_call(point.id)?;
            Ok(Presenter::Point(point))
        }
        Err(error) => {
            attribute_dead(request, &error);
            Err(error.into())
        }
    }
}

/// What an answering agent may call beside the gate, which refuses it everything: nothing else, whatever its scopes say.
const OF_ANSWERING: [(&str, &str); 3] = [
    ("GET", "/v1/questions"),
    ("GET", "/v1/questions/{question}"),
    ("POST", "/v1/questions/{question}/answer"),
];

/// Refuses an answering agent whatever is not in its table.
fn confine(request: &HttpRequest, kind: AgentKind) -> Result<(), Problem> {
    let pattern = request.match_pattern();
    let is_listed = || {
        OF_ANSWERING
            .iter()
            .any(|(method, path)| *method == request.method().as_str() && pattern.as_deref() == Some(*path))
    };
    match kind {
        AgentKind::Acting | AgentKind::Reading => Ok(()),
        AgentKind::Answering if is_listed() => Ok(()),
        AgentKind::Answering => {
            let detail =
                "an answering agent reads the questions put to it and answers them, and nothing else";
            Err(Error::Forbidden(detail.into()).into())
        }
    }
}

/// A person or an agent; an enforcement point is refused.
pub(super) async fn caller(app: &App, request: &HttpRequest) -> Result<Caller, Problem> {
    match presenter(app, request).await? {
        Presenter::Caller(caller) => Ok(caller),
        Presenter::Point(_) => {
            let detail = "an enforcement point may only put actions to the gate and report on effects";
            Err(Error::Forbidden(detail.into()).into())
        }
    }
}

/// Says whose call this is where their token, or they themselves, are dead.
pub(super) fn attribute_dead(request: &HttpRequest, error: &CallerError) {
    match error {
        CallerError::Dead { tenant, subject, .. } => attribute(request, tenant, *subject),
        CallerError::DeadPoint { point, .. } => attribute_point(request, point),
        CallerError::Missing | CallerError::Unattributable(_) | CallerError::Store(_) => {}
    }
}

/// Refuses a verified token whose credential, or enforcement point, is not live now.
pub(super) async fn live(app: &App, request: &HttpRequest, bearer: &Bearer) -> Result<(), Problem> {
    match bearer {
        Bearer::Agent(claims) => {
            let agent = app.agent(claims).await.inspect_err(|error| attribute_dead(request, error))?;
            attribute(request, &agent.tenant, agent.subject());
        }
        Bearer::Point(claims) => {
            app.live_point(claims).await.inspect_err(|error| attribute_dead(request, error))?;
        }
    }
    Ok(())
}

/// A person; an agent is refused.
pub(super) async fn person(app: &App, request: &HttpRequest) -> Result<Person, Problem> {
    match caller(app, request).await? {
        Caller::Person(person) => Ok(*person),
        Caller::Agent(_) => Err(Error::Forbidden("only a signed-in person may do this".into()).into()),
    }
}

/// An operator.
pub(super) async fn operator(app: &App, request: &HttpRequest) -> Result<Operator, Problem> {
    Ok(person(app, request).await?.operator()?)
}

/// Who may report on effects: an agent or an enforcement point; a person is refused.
pub(super) async fn reporter(app: &App, request: &HttpRequest) -> Result<Reporter, Problem> {
    match presenter(app, request).await? {
        Presenter::Point(point) => Ok(Reporter::Point(point)),
        Presenter::Caller(Caller::Agent(agent)) => Ok(Reporter::Agent(agent)),
        Presenter::Caller(Caller::Person(_)) => {
            Err(Error::Forbidden("only an agent or an enforcement point may do this".into()).into())
        }
    }
}

/// An agent; a person is refused.
pub(super) async fn agent(app: &App, request: &HttpRequest) -> Result<AgentCaller, Problem> {
    match caller(app, request).await? {
        Caller::Agent(agent) => Ok(*agent),
        Caller::Person(_) => Err(Error::Forbidden("only an agent may do this".into()).into()),
    }
}

/// The version named by `If-Match: "n"`; 428 without one.
pub(super) fn if_match(request: &HttpRequest) -> Result<u64, Problem> {
    optional_if_match(request)?.ok_or_else(|| {
        Problem::new(
            actix_web::http::StatusCode::PRECONDITION_REQUIRED,
            "precondition-required",
            "Say which version you saw",
            "send If-Match with the version you read, such as If-Match: \"3\"",
        )
    })
}

/// The version named by `If-Match`, if there is one.
pub(super) fn optional_if_match(request: &HttpRequest) -> Result<Option<u64>, Problem> {
    let Some(value) = request.headers().get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    let version =
        text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).and_then(|digits| digits.parse().ok());
    version.map(Some).ok_or_else(|| {
        let detail = format!("If-Match `{}` is not a version in quotes, such as \"3\"", text.escape_debug());
        Malformed::whole(detail).into()
    })
}

/// The query's members; each may stand once.
#[derive(Debug)]
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    /// Reads the query string; unknown or repeated members are refused by name.
    pub(crate) fn read(request: &HttpRequest, allowed: &[&str]) -> Result<Self, Problem> {
        let pairs: Vec<(String, String)> =
            actix_web::web::Query::<Vec<(String, String)>>::from_query(request.query_string())
                .map_err(|error| Problem::unreadable(Malformed::whole(format!("the query: {error}"))))?
                .into_inner();
        let mut members = HashMap::new();
        for (name, value) in pairs {
            let shown: String = name.chars().take(64).collect();
            if !allowed.contains(&name.as_str()) {
                let detail =
                    format!("unknown parameter `{}`, allowed: {}", shown.escape_debug(), allowed.join(", "));
                return Err(Malformed::whole(detail).into());
            }
            if members.insert(name, value).is_some() {
                return Err(
                    Malformed::whole(format!("parameter `{}` stands twice", shown.escape_debug())).into()
                );
            }
        }
        Ok(Self(members))
    }

    /// A parameter as text, if it is there and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A parameter, parsed by its type's own grammar.
    pub(crate) fn parsed<T: std::str::FromStr<Err = String>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Malformed> {
        self.text(name)
            .map(|text| {
                text.parse().map_err(|detail| Malformed::whole(format!("parameter `{name}`: {detail}")))
            })
            .transpose()
    }

    /// A parameter that is a whole number within bounds.
    pub(crate) fn number(&self, name: &str, usual: i64, least: i64, most: i64) -> Result<i64, Malformed> {
        let Some(text) = self.text(name) else { return Ok(usual) };
        text.parse::<i64>().ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            Malformed::whole(format!(
                "parameter `{name}`: `{}` is not a number from {least} to {most}",
                text.escape_debug()
            ))
        })
    }

    /// `limit`: how many entries a page has.
    pub(crate) fn limit(&self) -> Result<i64, Malformed> {
        self.number("limit", 50, 1, 500)
    }

    /// `cursor` of a list of versions: the one before which the page begins.
    pub(crate) fn version_cursor(&self) -> Result<Option<u64>, Malformed> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        text.parse().map(Some).map_err(|_| wrong_cursor(text))
    }

    /// `cursor` of a list of calls: the 26 digits and letters behind an id's prefix, so that one cursor serves ids
    /// of several kinds.
    pub(crate) fn call_cursor(&self) -> Result<Option<String>, Malformed> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        let id: Result<CallId, _> = format!("{}{text}", CallId::PREFIX).parse();
        id.map(|_| Some(text.to_owned())).map_err(|_| wrong_cursor(text))
    }

    /// `cursor` of a list of things that have ids of one kind.
    pub(crate) fn id_cursor<T: std::str::FromStr<Err = String> + std::fmt::Display>(
        &self,
    ) -> Result<Option<String>, Malformed> {
        Ok(self.parsed::<T>("cursor")?.map(|id| id.to_string()))
    }

    /// A time.
    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Malformed> {
        self.parsed(name)
    }
}

fn wrong_cursor(text: &str) -> Malformed {
    let shown: String = text.chars().take(64).collect();
    Malformed::whole(format!(
        "parameter `cursor`: `{}` is not a `next_cursor` of this list",
        shown.escape_debug()
    ))
}

/// Where a request comes from, as the connection says.
pub(super) fn address(request: &HttpRequest) -> IpAddr {
    request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip())
}

/// An id in a path; what does not parse is not there.
pub(crate) fn path_id<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| Problem::not_found(what))
}
