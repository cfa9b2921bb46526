//! The OpenAPI document, from the table of routes; `schema/openapi.json` is this, checked in.

use super::Problem;
use super::request::path_id;
use super::routes::{ROUTES, Route, Who};
use actix_web::{HttpResponse, web};
use serde_json::{Map, Value, json};

/// What kinds of problem there are and what each means.
const PROBLEMS: &[(&str, &str)] = &[
    (
        "malformed",
        "What was sent does not fit; `errors` names each place, what was found and what is allowed.",
    ),
    ("unauthorized", "No valid credential was presented: it is missing, unknown, expired or revoked."),
    ("sign-in-failed", "Tenant, address or password is not right."),
    ("forbidden", "The caller is known and may not do this."),
    ("insufficient-scope", "The token does not carry the scope that this needs."),
    ("scope-withheld", "`mandate:write` belongs to people alone and is given to no agent."),
    ("step-up-required", "This needs a sign-in of the last five minutes: sign in again and repeat it."),
    ("not-found", "There is no such thing, or not for this caller."),
    ("method", "The path exists, but not for this method."),
    ("conflict", "What is there now does not allow it."),
    (
        "undecidable",
        "The receipt records nothing that can be decided again: it is of something else than a call, or its content was erased.",
    ),
    ("mandate-too-old", "The live mandate is older than `min_mandate_version` asks for."),
    ("stale", "Another version is live than the one named in If-Match."),
    ("precondition-required", "Send If-Match with the version you read."),
    ("idempotency-key-reused", "This Idempotency-Key was used for another request."),
    ("media-type", "The body's media type is not taken here."),
    ("too-large", "The body is larger than 64 KiB."),
    ("too-slow", "The body did not arrive in time."),
    ("too-many", "Too many tries, or too many at once: wait as long as Retry-After says."),
    (
        "log-unavailable",
        "The call could not be recorded, and without a record there is no answer: treat it as a refusal.",
    ),
    ("unreadable", "Something stored cannot be read; the service's log says what."),
    ("unavailable", "The service cannot answer now: try again."),
];

/// Serves the document.
pub(super) async fn serve() -> HttpResponse {
    HttpResponse::Ok().json(document())
}

/// Says what a kind of problem means.
pub(super) async fn problem(path: web::Path<String>) -> Result<HttpResponse, Problem> {
    let kind: String = path_id(&path, "kind of problem")?;
    let (name, meaning) = PROBLEMS
        .iter()
        .find(|(name, _)| *name == kind)
        .ok_or_else(|| Problem::not_found("kind of problem"))?;
    Ok(HttpResponse::Ok().json(json!({"type": format!("/problems/{name}"), "meaning": meaning})))
}

/// The document.
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(documented(route.path)).or_insert_with(|| json!({}));
        super::insert(path, route.method, Some(operation(route)));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Procura",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Mandate and credential authorisation for agents that act for people.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "person": {"type": "http", "scheme": "bearer", "description": "A session token from POST /v1/session."},
                "agent": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "An agent's access token (RFC 9068)."},
                "enforcement_point": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "An enforcement point's access token (RFC 9068)."},
            },
            "schemas": schemas(),
        },
    })
}

/// A path without what a parameter may match, which the document has no place for.
fn documented(path: &str) -> String {
    path.split('/')
        .map(|segment| match segment.split_once(':') {
            Some((name, _)) => format!("{name}}}"),
            None => segment.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("/")
}

fn operation(route: &Route) -> Value {
    let path = documented(route.path);
    let mut parameters: Vec<Value> = path
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(
        route.query.iter().map(
            |name| json!({"name": name, "in": "query", "required": false, "schema": {"type": "string"}}),
        ),
    );
    let security = match route.who {
        Who::Anyone => json!([]),
        Who::Person | Who::Operator => json!([{"person": []}]),
        Who::Agent => json!([{"agent": []}]),
        Who::Program => json!([{"agent": []}, {"enforcement_point": []}]),
        Who::Either => json!([{"person": []}, {"agent": []}]),
    };
    let name: String = path
        .split('/')
        .map(|segment| segment.trim_matches(['{', '}', '.']).replace(['-', '.'], "_"))
        .filter(|segment| !segment.is_empty())
        .collect::<Vec<_>>()
        .join("_");
    let mut operation = json!({
        "operationId": format!("{}_{name}", route.method),
        "summary": route.summary,
        "security": security,
        "parameters": parameters,
        "responses": {
            route.status.to_string(): {"description": "Done"},
            "default": {
                "description": "A problem (RFC 9457)",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
    });
    let media_type = match route.path {
        "/oauth/token" => "application/x-www-form-urlencoded",
        "/log/{tenant}/cosignature" => "text/plain",
        _ => "application/json",
    };
    let body = route.body.map(|schema| {
        json!({
            "required": true,
            "content": {media_type: {"schema": {"$ref": format!("#/components/schemas/{schema}")}}},
        })
    });
    super::insert(&mut operation, "requestBody", body);
    operation
}

fn object(required: &[&str], properties: &Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn schemas() -> Value {
    let text = || json!({"type": "string"});
    let scopes = || json!({"type": "array", "items": {"type": "string", "enum": crate::domain::Scope::ALL.map(crate::domain::Scope::as_str)}});
    let moment = || json!({"type": "string", "format": "date-time"});
    let seconds = || json!({"type": "integer", "minimum": 1});
    let amount =
        object(&["value", "currency"], &json!({"value": {"type": ["string", "number"]}, "currency": text()}));
    json!({
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": {"type": "string", "format": "uri-reference"},
                "title": text(),
                "status": {"type": "integer"},
                "detail": text(),
                "errors": {"type": "array", "items": object(&["pointer", "detail"], &json!({"pointer": text(), "detail": text()}))},
            },
        },
        "SignIn": object(&["tenant", "email", "password"], &json!({"tenant": text(), "email": text(), "password": text()})),
        "ChangePassword": object(&["old", "new"], &json!({"old": text(), "new": text()})),
        "NewPrincipal": object(&["email", "name", "roles", "password"], &json!({
            "email": text(),
            "name": text(),
            "roles": {"type": "array", "items": {"type": "string", "enum": crate::domain::Role::ALL.map(crate::domain::Role::as_str)}},
            "password": text(),
        })),
        "Mandate": {"type": "object", "description": "As schema/mandate.schema.json says; JSON or YAML."},
        "Policy": {"type": "object", "description": "As schema/policy.schema.json says; JSON or YAML."},
        "MandatePreview": object(&["mandate"], &json!({"mandate": {"$ref": "#/components/schemas/Mandate"}, "since": moment()})),
        "PolicyPreview": object(&["policy"], &json!({"policy": {"$ref": "#/components/schemas/Policy"}, "since": moment()})),
        "CatalogueEntry": {"type": "object", "description": "As schema/catalogue.schema.json says; JSON or YAML."},
        "NewAgent": object(&["name", "kind"], &json!({"name": text(), "kind": {"type": "string", "enum": ["acting", "reading", "answering"]}})),
        "NewCredential": object(&["label", "scopes"], &json!({
            "label": text(), "scopes": scopes(), "expires_in": seconds(),
            "clauses": {"type": "array", "items": {"type": "object"}}, "country": text(), "purpose": text(),
        })),
        "DerivedCredential": object(&["label", "scopes"], &json!({
            "label": text(), "scopes": scopes(), "expires_in": seconds(),
            "clauses": {"type": "array", "items": {"type": "object"}},
        })),
        "NewEnforcementPoint": object(&["name"], &json!({"name": text()})),
        "TokenRequest": {
            "type": "object",
            "required": ["grant_type"],
            "properties": {
                "grant_type": {"const": "client_credentials"},
                "client_id": text(), "client_secret": text(), "scope": text(),
            },
        },
        "Evaluate": object(&["intent"], &json!({
            "tenant": text(), "agent": text(), "intent": text(), "country": text(), "amount": amount,
            "counterparty": {"oneOf": [text(), {"type": "array", "items": text(), "minItems": 1}]},
            "resource": text(), "arguments": {"type": "object"},
            "evidence": {"type": "object"}, "untrusted": {"type": "boolean"}, "labels": {"type": "object"},
            "attachment": {"type": "object"}, "decision": text(), "min_mandate_version": {"type": "integer", "minimum": 0},
            "subject_token": {"type": "string", "description": "From an enforcement point, and from nobody else: the token of the agent it asks for."},
            "facts": {
                "type": "object", "maxProperties": 64,
                "description": "From an enforcement point, and from nobody else: what the agent cannot know or must not state; at most 16 KiB.",
                "properties": {"owners": {"type": "object", "additionalProperties": text()}},
            },
        })),
        "EffectReport": object(&["status"], &json!({
            "status": {"type": "string", "enum": ["done", "failed", "unknown"]},
            "reference": {}, "detail": {}, "evidence": {},
        })),
        "Approve": object(&["input_hash"], &json!({"input_hash": text(), "valid_for": seconds()})),
        "Ask": object(&["to", "text"], &json!({
            "to": {"type": "string", "description": "A person's id or e-mail, or an answering agent's id or name."},
            "text": text(), "about": text(), "expires_in": seconds(), "decision": text(),
        })),
        "Answer": object(&["text"], &json!({"text": text(), "decision": text()})),
        "Decline": object(&[], &json!({"reason": text(), "narrow": {"type": "object"}})),
        "WhoAsked": object(&["q"], &json!({"q": {
            "oneOf": [text(), {"type": "object"}],
            "description": "The id of a receipt, decision, effect, credential or agent; a hash; a provider's reference; or a request's body.",
        }})),
        "CosignedCheckpoint": {
            "type": "string",
            "description": "A checkpoint of the log as a C2SP signed note: the log's own signature, and that of at least one witness.",
        },
        "Retention": object(&["rules"], &json!({"rules": {
            "type": "array", "maxItems": 100,
            "items": object(&["intent", "after"], &json!({
                "intent": {"type": "string", "description": "An intent, a prefix such as `payments.*`, or `*`; of the rules that name an intent the narrowest counts."},
                "after": {"type": "string", "description": "Whole days, as `400 days`."},
            })),
        }})),
        "ProviderList": {
            "type": "string",
            "description": "At most 4 MiB: CSV with a heading, or one JSON object a line. The query says which column holds what.",
        },
        "Erase": object(&["reason"], &json!({"reason": text()})),
        "Resolve": object(&["status"], &json!({"status": {"type": "string", "enum": ["done", "failed"]}, "reference": text()})),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_checked_in_is_the_one_served() {
        let written = serde_json::to_string_pretty(&document()).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/openapi.json");
        if std::env::var_os("PROCURA_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &written).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            written,
            "run it again with PROCURA_WRITE_SCHEMA=1"
        );
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_and_every_reference_leads_somewhere() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str));
                    members.values().for_each(|member| references(member, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > ROUTES.len());
        for reference in found {
            assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
        }
        let names: std::collections::BTreeSet<String> =
            ROUTES.iter().map(|route| operation(route)["operationId"].to_string()).collect();
        assert_eq!(names.len(), ROUTES.len());
    }

    #[test]
    fn every_kind_of_problem_is_explained() {
        let source =
            [include_str!("problem.rs"), include_str!("body.rs"), include_str!("request.rs")].concat();
        let kinds = PROBLEMS.iter().filter(|(kind, _)| source.contains(&format!("\"{kind}\""))).count();
        assert_eq!(kinds, PROBLEMS.len(), "a kind is explained that does not occur");
    }
}
