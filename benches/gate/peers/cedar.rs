//! The benchmark's mandate in Cedar, and a server that does no more than ask `cedar-policy`.

use crate::Failure;
use crate::question::Refund;
use actix_web::{App, HttpResponse, HttpServer, rt, web};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityId, EntityTypeName, EntityUid, PolicySet, Request,
    RestrictedExpression,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::str::FromStr;

/// Where the server is asked.
pub(super) const PATH: &str = "/evaluate";

/// Twenty policies, by name, as the mandate has clauses. Cedar answers yes or no: what the mandate escalates, it forbids.
pub(super) fn policies() -> Vec<(String, String)> {
    let of = |number: u32, head: &str, when: &str| {
        let name = format!("M-{number:03}");
        let when = if when.is_empty() { String::new() } else { format!(" when {{ {when} }}") };
        (name.clone(), format!("@id(\"{name}\")\n{head}, resource){when};"))
    };
    let mut policies = vec![
        of(1, "forbid (principal, action in Action::\"account\"", ""),
        of(2, "forbid (principal, action == Action::\"payments.payout\"", ""),
        of(
            3,
            "forbid (principal, action in Action::\"payments\"",
            "[\"KP\", \"IR\"].contains(context.country)",
        ),
        of(4, "forbid (principal, action in Action::\"payments\"", "context.reference like \"legacy:*\""),
    ];
    for number in DESKS {
        let head = format!("permit (principal, action == Action::\"desk{number}.task\"");
        policies.push(of(number, &head, "context.currency == \"EUR\" && context.minor_units <= 1000"));
    }
    policies.push(of(
        20,
        "permit (principal, action == Action::\"payments.refund\"",
        "context.currency == \"EUR\" && context.minor_units <= 10000 && \
         [\"DE\", \"NL\", \"AT\"].contains(context.country) && context.reference like \"order:*\" && \
         !context.untrusted",
    ));
    policies
}

const DESKS: std::ops::Range<u32> = 5..20;

/// Every action and the area it lies in.
fn actions() -> Vec<(String, String)> {
    let action = |name: &str, area: &str| (format!("{area}.{name}"), area.to_owned());
    let mut actions =
        vec![action("close", "account"), action("payout", "payments"), action("refund", "payments")];
    actions.extend(DESKS.map(|number| action("task", &format!("desk{number}"))));
    actions
}

/// The actions as entities, in Cedar's JSON.
pub(super) fn entities() -> Value {
    let entity = |(name, area): (String, String)| {
        json!({"uid": {"type": "Action", "id": name}, "attrs": {},
            "parents": [{"type": "Action", "id": area}]})
    };
    actions().into_iter().map(entity).collect()
}

/// A schema for servers that want one: principals have these attributes, requests these facts.
pub(super) fn schema(principal: &str, facts: &str) -> String {
    let context = format!(
        "{{ {facts} minor_units: Long, currency: String, country: String, reference: String, untrusted: Bool }}"
    );
    let applies = format!("appliesTo {{ principal: [Principal], resource: [Resource], context: {context} }}");
    let mut lines = vec![format!("entity Principal {principal};"), "entity Resource;".to_owned()];
    let mut areas: Vec<String> = actions().into_iter().map(|(_, area)| area).collect();
    areas.dedup();
    lines.extend(areas.into_iter().map(|area| format!("action \"{area}\";")));
    let action = |(name, area): (String, String)| format!("action \"{name}\" in [\"{area}\"] {applies};");
    lines.extend(actions().into_iter().map(action));
    lines.join("\n")
}

/// What the policies look at.
pub(super) fn context(refund: &Refund) -> Value {
    json!({"minor_units": refund.minor_units, "currency": "EUR", "country": refund.country,
        "reference": refund.resource, "untrusted": refund.untrusted})
}

/// One request, in the server's words.
#[derive(Debug, Deserialize)]
struct Asked {
    action: String,
    minor_units: i64,
    currency: String,
    country: String,
    reference: String,
    untrusted: bool,
}

/// What every request is held against.
struct Authority {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    principal: EntityUid,
    action: EntityTypeName,
    resource: EntityTypeName,
}

impl Authority {
    fn new() -> Result<Self, Failure> {
        let text: String = policies().into_iter().map(|(_, policy)| policy + "\n").collect();
        Ok(Self {
            authorizer: Authorizer::new(),
            policies: PolicySet::from_str(&text)?,
            entities: Entities::from_json_value(entities(), None)?,
            principal: EntityUid::from_str("Principal::\"runner\"")?,
            action: EntityTypeName::from_str("Action")?,
            resource: EntityTypeName::from_str("Resource")?,
        })
    }

    fn decide(&self, asked: Asked) -> Result<Decision, Failure> {
        let action = EntityUid::from_type_name_and_id(self.action.clone(), EntityId::new(asked.action));
        let resource =
            EntityUid::from_type_name_and_id(self.resource.clone(), EntityId::new(&asked.reference));
        let context = Context::from_pairs([
            ("minor_units".to_owned(), RestrictedExpression::new_long(asked.minor_units)),
            ("currency".to_owned(), RestrictedExpression::new_string(asked.currency)),
            ("country".to_owned(), RestrictedExpression::new_string(asked.country)),
            ("reference".to_owned(), RestrictedExpression::new_string(asked.reference)),
            ("untrusted".to_owned(), RestrictedExpression::new_bool(asked.untrusted)),
        ])?;
        let request = Request::new(self.principal.clone(), action, resource, context, None)?;
        Ok(self.authorizer.is_authorized(&request, &self.policies, &self.entities).decision())
    }
}

/// Serves until it is killed.
pub(crate) fn serve(address: SocketAddr) -> Result<(), Failure> {
    let authority = web::Data::new(Authority::new()?);
    let app = move || App::new().app_data(authority.clone()).route(PATH, web::post().to(evaluate));
    rt::System::new().block_on(HttpServer::new(app).bind(address)?.run())?;
    Ok(())
}

async fn evaluate(authority: web::Data<Authority>, asked: web::Json<Asked>) -> HttpResponse {
    match authority.decide(asked.into_inner()) {
        Ok(decision) => HttpResponse::Ok().json(json!({"decision": decision == Decision::Allow})),
        Err(failure) => HttpResponse::BadRequest().body(failure.to_string()),
    }
}
