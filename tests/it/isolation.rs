//! Tenants never meet: the routes of the OpenAPI document are walked with another tenant's ids.

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeSet;

both!(another_tenants_ids_are_not_found, every_route_of_the_document_is_walked_or_exempt);

/// The tenant whose ids are tried, and the tenant that tries them.
const OWNER: &str = "harbour";
const STRANGER: &str = "quay";

/// What a stranger must get.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// 404 for those who could use the route in their own tenant.
    NotFound,
    /// The answer to an id that never was, and nothing of the other tenant in it.
    AsIfItNeverWas,
}
use Expected::{AsIfItNeverWas, NotFound};

/// Routes that take an id from the caller: method, path as the document writes it, what stands in the body.
const WALKED: [(&str, &str, Expected); 32] = [
    ("GET", "/v1/questions", AsIfItNeverWas),
    ("GET", "/v1/questions/{}", NotFound),
    ("DELETE", "/v1/questions/{}", NotFound),
    ("POST", "/v1/questions/{}/answer", NotFound),
    ("DELETE", "/v1/agents/{}", NotFound),
    ("DELETE", "/v1/enforcement-points/{}", NotFound),
    ("GET", "/v1/enforcement-points", AsIfItNeverWas),
    ("POST", "/v1/agents/{}/credentials", NotFound),
    ("DELETE", "/v1/credentials/{}", NotFound),
    ("GET", "/v1/credentials/{}/calls", NotFound),
    ("GET", "/v1/credentials/{}/calls/export", NotFound),
    ("GET", "/v1/agents/{}/calls/export", NotFound),
    ("GET", "/v1/principals/{}/calls/export", NotFound),
    ("GET", "/v1/decisions/{}", NotFound),
    ("POST", "/v1/decisions/{}/approve", NotFound),
    ("POST", "/v1/decisions/{}/decline", NotFound),
    ("POST", "/v1/decisions/{}/resolve", NotFound),
    ("POST", "/v1/effects/{}/outcome", NotFound),
    ("GET", "/v1/receipts/{}", NotFound),
    ("GET", "/v1/receipts/{}/explain", NotFound),
    ("POST", "/v1/receipts/{}/erase", NotFound),
    ("POST", "/v1/who", NotFound),
    ("GET", "/v1/who/{}/file", NotFound),
    ("GET", "/v1/catalogue/{}", NotFound),
    ("GET", "/v1/calls", AsIfItNeverWas),
    ("POST", "/v1/gate/evaluate", AsIfItNeverWas),
    ("GET", "/v1/agents", AsIfItNeverWas),
    ("GET", "/v1/credentials", AsIfItNeverWas),
    ("GET", "/v1/decisions", AsIfItNeverWas),
    ("GET", "/v1/mandate/versions", AsIfItNeverWas),
    ("GET", "/v1/catalogue", AsIfItNeverWas),
    ("GET", "/v1/principals", AsIfItNeverWas),
];

/// Routes that take no id of anything that belongs to a tenant, and why.
const EXEMPT: [(&str, &str); 35] = [
    ("POST", "/v1/questions"),          // names somebody of the caller's tenant
    ("GET", "/v1/retention"),           // the caller's tenant's
    ("PUT", "/v1/retention"),           // the caller's tenant's
    ("POST", "/v1/coverage"),           // the caller's tenant's ledger
    ("POST", "/v1/session"),            // names the tenant and proves a password of it
    ("DELETE", "/v1/session"),          // the caller's own
    ("PUT", "/v1/session/password"),    // the caller's own
    ("POST", "/v1/principals"),         // makes a person of the caller's tenant
    ("GET", "/v1/mandate"),             // the caller's own
    ("PUT", "/v1/mandate"),             // the caller's own
    ("GET", "/v1/mandate/versions/{}"), // a number, of the caller's own
    ("POST", "/v1/mandate/preview"),    // the caller's own calls
    ("POST", "/v1/policy/preview"),     // the caller's tenant's calls
    ("GET", "/v1/policy"),              // the caller's tenant's
    ("PUT", "/v1/policy"),              // the caller's tenant's
    ("GET", "/v1/policy/versions"),     // the caller's tenant's
    ("GET", "/v1/policy/versions/{}"),  // a number, of the caller's tenant's
    ("PUT", "/v1/catalogue/{}"),        // writes the caller's tenant's, whatever others have under that name
    ("GET", "/v1/calls/export"),        // the caller's tenant's
    ("POST", "/v1/agents"),             // makes one of the caller's
    ("POST", "/v1/enforcement-points"), // makes one of the caller's tenant
    ("POST", "/v1/credentials/derive"), // from the one presented
    ("POST", "/oauth/token"),           // proves the credential's own secret
    ("GET", "/log/{}/checkpoint"),      // public
    ("GET", "/log/{}/witnessed"),       // public
    ("POST", "/log/{}/cosignature"), // taken from anyone, where the log's own signature and a witness's hold
    ("GET", "/log/{}/tile/{}"),      // public: hashes
    ("GET", "/log/{}/consistency"),  // public: hashes
    ("GET", "/log/{}/proof"),        // public: hashes
    ("GET", "/healthz"),             // nobody's
    ("GET", "/readyz"),              // nobody's
    ("GET", "/metrics"),             // sums over all tenants
    ("GET", "/openapi.json"),        // nobody's
    ("GET", "/.well-known/jwks.json"), // public keys
    ("GET", "/problems/{}"),         // nobody's
];

/// What a path of the document may be asked.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "patch", "head", "options", "trace"];

/// What the owner has that somebody might ask for.
struct Owned {
    agent: String,
    credential: String,
    decision: String,
    effect: String,
    receipt: String,
    intent: String,
    point: String,
    token: String,
    question: String,
}

impl Owned {
    /// Ids of the same form that were never given to anything.
    fn never() -> Self {
        let id = |prefix: &str| format!("{prefix}_01j00000000000000000000000");
        Self {
            agent: id("agt"),
            credential: id("crd"),
            decision: id("dec"),
            effect: id("eff"),
            receipt: id("rcpt"),
            intent: "never.heard.of".into(),
            point: id("enf"),
            token: "never.a.token".into(),
            question: id("qst"),
        }
    }

    fn texts(&self) -> [&str; 9] {
        [
            &self.agent,
            &self.credential,
            &self.decision,
            &self.effect,
            &self.receipt,
            &self.intent,
            &self.point,
            &self.token,
            &self.question,
        ]
    }
}

/// The owner's things, one of each kind.
fn own(server: &Server) -> Owned {
    let entry = json!({"title": "owned", "effect": true, "arguments": {"type": "object", "properties": {}}});
    let operator = server.sign_in(OWNER, crate::server::OPERATOR);
    operator.put("/v1/catalogue/owned.act", &[], &entry).expect(200);
    let point = operator.post("/v1/enforcement-points", &json!({"name": "owned"})).expect(201);
    let person = server.person(OWNER, "m@example.test", &["member"]);
    let mut mandate = small_refunds();
    mandate["clauses"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "M-9", "intent": "owned.act", "effect": "allow"}));
    for intent in ["question.ask", "question.receive"] {
        let clause = json!({"id": intent.replace('.', "-"), "intent": intent, "effect": "allow"});
        mandate["clauses"].as_array_mut().unwrap().push(clause);
    }
    mandate["scopes"] = json!(["action:request", "question:ask", "question:answer", "decision:read"]);
    person.put_mandate(&mandate);
    let asks = Agent::of_kind(&person, "asks", "acting", &["question:ask"]);
    let asked = asks.post("/v1/questions", &json!({"to": "m@example.test", "text": "?"}));
    let asked = asked.expect_outcome("allow");
    let agent = Agent::new(&person, "owned");
    let allowed = agent.evaluate(&json!({"intent": "owned.act", "arguments": {}})).expect_outcome("allow");
    let escalated = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Owned {
        agent: agent.id.clone(),
        credential: agent.credential.clone(),
        decision: text(&escalated["decision"]["id"]),
        effect: text(&allowed["effect"]["id"]),
        receipt: text(&allowed["receipt"]["id"]),
        intent: "owned.act".into(),
        point: text(&point["id"]),
        token: agent.token().to_owned(),
        question: text(&asked["question"]["id"]),
    }
}

/// The seven who try: what each is, and whether they may use a route at all in their own tenant.
fn strangers(server: &Server) -> Vec<(&'static str, Client)> {
    let member = server.person(STRANGER, "s@example.test", &["member"]);
    member.put_mandate(&small_refunds());
    let agent = |kind: &str| Agent::of_kind(&member, kind, kind, &crate::documents::ACTING_SCOPES).client();
    let operator = server.sign_in(STRANGER, crate::server::OPERATOR);
    let point = operator.post("/v1/enforcement-points", &json!({"name": "stranger"})).expect(201);
    vec![
        ("enforcement point", operator.with_token(point["token"].as_str().unwrap())),
        ("member", member.clone()),
        ("compliance", server.person(STRANGER, "c@example.test", &["compliance"])),
        ("operator", operator),
        ("acting agent", agent("acting")),
        ("reading agent", agent("reading")),
        ("answering agent", agent("answering")),
    ]
}

/// Calls a route with ids of somebody's things.
fn call(client: &Client, method: &str, route: &str, things: &Owned) -> Vec<Reply> {
    let id = match route {
        route if route.starts_with("/v1/agents") => &things.agent,
        route if route.starts_with("/v1/credentials") => &things.credential,
        route if route.starts_with("/v1/decisions") => &things.decision,
        route if route.starts_with("/v1/questions") => &things.question,
        route if route.starts_with("/v1/effects") => &things.effect,
        route if route.starts_with("/v1/catalogue") => &things.intent,
        route if route.starts_with("/v1/enforcement-points") => &things.point,
        _ => &things.receipt,
    };
    let path = route.replacen("{}", id, 1);
    let hash = format!("sha256:{}", "0".repeat(64));
    match (method, route) {
        ("POST", "/v1/agents/{}/credentials") => {
            vec![client.post(&path, &json!({"label": "x", "scopes": ["mandate:read"]}))]
        }
        ("POST", "/v1/decisions/{}/approve") => vec![client.post(&path, &json!({"input_hash": hash}))],
        ("POST", "/v1/decisions/{}/resolve" | "/v1/effects/{}/outcome") => {
            vec![client.post(&path, &json!({"status": "done"}))]
        }
        ("POST", "/v1/questions/{}/answer") => vec![client.post(&path, &json!({"text": "x"}))],
        ("POST", "/v1/receipts/{}/erase") => vec![client.post(&path, &json!({"reason": "x"}))],
        ("POST", "/v1/gate/evaluate") => vec![
            client.post(&path, &with(&refund("5000.00"), "decision", &*things.decision)),
            client.post(&path, &with(&refund("1.00"), "agent", &*things.agent)),
            client.post(&path, &with(&refund("1.00"), "subject_token", &*things.token)),
        ],
        ("POST", "/v1/who") => {
            let asked = things.texts().into_iter().filter(|text| text.contains('_'));
            asked.map(|id| client.post(&path, &json!({"q": id}))).collect()
        }
        ("GET", "/v1/calls") => ["credential", "agent"]
            .iter()
            .zip([&things.credential, &things.agent])
            .map(|(name, id)| client.get(&format!("{path}?{name}={id}")))
            .collect(),
        (
            "GET",
            "/v1/credentials/{}/calls/export"
            | "/v1/agents/{}/calls/export"
            | "/v1/principals/{}/calls/export",
        ) => ["jsonl", "csv"].iter().map(|format| client.get(&format!("{path}?format={format}"))).collect(),
        ("POST", _) => vec![client.post(&path, &json!({}))],
        _ => vec![client.send(method, &path, &[], None)],
    }
}

fn another_tenants_ids_are_not_found(db: Db) {
    let mut server = Server::set_up(db, &[OWNER, STRANGER]);
    server.serve();
    let (owned, never) = (own(&server), Owned::never());
    for (who, client) in strangers(&server) {
        for (method, route, expected) in WALKED {
            let found = call(&client, method, route, &owned);
            let absent = call(&client, method, route, &never);
            for (found, absent) in found.iter().zip(&absent) {
                let place = format!("{who}: {method} {route}");
                assert_eq!(
                    (found.status, &found.json["type"], &found.json["title"]),
                    (absent.status, &absent.json["type"], &absent.json["title"]),
                    "{place} tells another tenant's id from one that never was: {}",
                    found.text
                );
                match expected {
                    NotFound => {
                        // 403 tells only that the caller may not use the route, whatever the id.
                        assert!(
                            matches!(found.status, 404 | 403),
                            "{place}: {} {}",
                            found.status,
                            found.text
                        );
                        let may_use = may_use(who, method, route);
                        assert!(!may_use || found.status == 404, "{place}: {} {}", found.status, found.text);
                    }
                    AsIfItNeverWas => {
                        let echoed = route == "/v1/gate/evaluate" && found.status != 200;
                        let leaked = owned.texts().into_iter().find(|text| found.text.contains(text));
                        assert!(echoed || leaked.is_none(), "{place} shows {leaked:?}: {}", found.text);
                    }
                }
            }
        }
    }
    let person = server.sign_in(OWNER, "m@example.test");
    person.get(&format!("/v1/decisions/{}", owned.decision)).expect(200);
    assert_eq!(
        person.get(&format!("/v1/decisions/{}", owned.decision)).json["status"],
        "open",
        "nobody touched it"
    );
    person.get(&format!("/v1/receipts/{}", owned.receipt)).expect(200);
}

/// Whether a caller of that sort could use the route on things of their own.
fn may_use(who: &str, method: &str, route: &str) -> bool {
    let (is_agent, is_point) = (who.ends_with("agent"), who.ends_with("point"));
    match (method, route) {
        ("POST", "/v1/effects/{}/outcome") => (is_agent && who != "answering agent") || is_point,
        ("POST", "/v1/questions/{}/answer") => false,
        (_, "/v1/questions/{}") => !is_agent && !is_point,
        _ if who == "answering agent" => false,
        _ if is_point => false,
        (_, "/v1/enforcement-points/{}" | "/v1/receipts/{}/erase") => who == "operator",
        ("POST", "/v1/who")
        | (
            "GET",
            "/v1/decisions/{}"
            | "/v1/receipts/{}"
            | "/v1/receipts/{}/explain"
            | "/v1/who/{}/file"
            | "/v1/credentials/{}/calls"
            | "/v1/catalogue/{}",
        ) => true,
        _ => !is_agent,
    }
}

fn every_route_of_the_document_is_walked_or_exempt(db: Db) {
    let server = Server::start(db);
    let document = server.client().get("/openapi.json").expect(200);
    let listed: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            METHODS
                .iter()
                .filter(|method| item[**method].is_object())
                .map(|method| (method.to_uppercase(), plain(path)))
        })
        .collect();
    let known: BTreeSet<(String, String)> = WALKED
        .iter()
        .map(|(method, path, _)| (*method, *path))
        .chain(EXEMPT)
        .map(|(method, path)| (method.to_owned(), path.to_owned()))
        .collect();
    let unknown: Vec<_> = listed.difference(&known).collect();
    assert!(unknown.is_empty(), "neither walked nor exempt: {unknown:?}");
    let gone: Vec<_> = known.difference(&listed).collect();
    assert!(gone.is_empty(), "walked or exempt, but not in the document: {gone:?}");
}

/// A path with the names of its parameters left out.
fn plain(path: &str) -> String {
    let mut plain = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        plain.push_str(before);
        plain.push_str("{}");
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    plain + rest
}
