//! `mandate:write` belongs to people alone: every path that takes scopes is tried for a way around it.

use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::small_refunds;
use crate::server::{Agent, Server};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proptest::collection::vec;
use proptest::sample::{select, subsequence};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeSet;

both!(no_path_gives_an_agent_mandate_write);

const SCOPES: [&str; 7] = [
    "action:request",
    "question:ask",
    "question:answer",
    "mandate:read",
    "mandate:write",
    "decision:read",
    "call:read",
];
/// Spellings that somebody might hope are read as the withheld scope, or as all scopes.
const NEAR: [&str; 8] = [
    "Mandate:Write",
    "mandate:write ",
    " mandate:write",
    "mandate:*",
    "*",
    "mandate:write,mandate:read",
    "mandate",
    "",
];
const KINDS: [&str; 3] = ["acting", "reading", "answering"];

/// What one try asks for.
#[derive(Debug)]
struct Wish {
    kind: &'static str,
    issued: Vec<&'static str>,
    derived: Vec<&'static str>,
    renewed: Vec<&'static str>,
    near: Vec<&'static str>,
}

fn no_path_gives_an_agent_mandate_write(db: Db) {
    let server = Server::start(db);
    let mut mandate = small_refunds();
    mandate["scopes"] = SCOPES.into_iter().filter(|scope| *scope != "mandate:write").collect();
    let member = server.member_with("m@example.test", &mandate);

    let mut widest = mandate.clone();
    widest["scopes"] = json!(SCOPES);
    let tag = member.get("/v1/mandate").header("etag").unwrap().to_owned();
    let refused = member.put("/v1/mandate", &[("if-match", &tag)], &widest);
    assert_eq!(refused.status, 422, "a mandate that hands mandate:write out: {}", refused.text);

    let set = || subsequence(SCOPES.to_vec(), 1..=SCOPES.len());
    let wishes = (select(KINDS.to_vec()), set(), set(), set(), vec(select(NEAR.to_vec()), 0..2))
        .prop_map(|(kind, issued, derived, renewed, near)| Wish { kind, issued, derived, renewed, near });
    let config = Config { cases: 16, max_shrink_iters: 16, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, random)
        .run(&wishes, |wish| {
            try_everything(&server, &member, &wish);
            Ok(())
        })
        .unwrap();
    let live = member.get("/v1/mandate").expect(200);
    assert_eq!(live["version"], 2, "nobody but the person wrote it");
}

fn try_everything(server: &Server, member: &Client, wish: &Wish) {
    let made = member.post("/v1/agents", &json!({"name": "hopeful", "kind": wish.kind})).expect(201);
    let id = made["id"].as_str().unwrap();
    let path = format!("/v1/agents/{id}/credentials");
    let near: Vec<_> = wish.issued.iter().chain(&wish.near).collect();
    let odd = member.post(&path, &json!({"label": "near", "scopes": near}));
    if wish.near.is_empty() {
        check_issued(&odd.json, odd.status, &wish.issued, &SCOPES);
    } else {
        assert_eq!(odd.status, 422, "scopes {near:?}: {}", odd.text);
    }
    let mut plain: Vec<_> = wish.issued.iter().copied().filter(|scope| *scope != "mandate:write").collect();
    if plain.is_empty() {
        plain.push("mandate:read");
    }
    let agent = Agent::with_credential(member, id, &json!({"label": "plain", "scopes": plain}));
    check_token(agent.token(), &plain);
    try_to_write(&agent);

    let child = agent.post("/v1/credentials/derive", &json!({"label": "child", "scopes": wish.derived}));
    if child.status == 201 {
        check_issued(&child.json, 201, &wish.derived, &plain);
        try_to_write(&agent.with_token(child.json["token"].as_str().unwrap()));
    } else if wish.derived.contains(&"mandate:write")
        && plain.contains(&"action:request")
        && wish.kind != "answering"
    {
        assert_eq!(child.status, 422, "{}", child.text);
        assert!(child.text.contains("scope-withheld"), "{}", child.text);
    } else {
        assert!(matches!(child.status, 403 | 422), "{}", child.text);
    }
    renew(server, &agent, &wish.renewed, &plain);
    tamper(&agent);
}

/// A credential that was given out carries what was asked, within what may be given.
fn check_issued(answer: &Value, status: u16, asked: &[&str], allowed: &[&str]) {
    if asked.contains(&"mandate:write") {
        assert_eq!(status, 422, "{answer}");
        assert!(answer["type"].as_str().is_some_and(|kind| kind.ends_with("/scope-withheld")), "{answer}");
        return;
    }
    assert_eq!(status, 201, "{answer}");
    let given: BTreeSet<_> =
        answer["scopes"].as_array().unwrap().iter().map(|scope| scope.as_str().unwrap()).collect();
    assert_eq!(given, asked.iter().copied().collect(), "{answer}");
    assert!(given.iter().all(|scope| allowed.contains(scope)), "{answer}");
    check_token(answer["token"].as_str().unwrap(), allowed);
}

/// The claims of a token, wherever they carry scopes.
fn check_token(token: &str, allowed: &[&str]) {
    let claims = token.split('.').nth(1).and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let text = claims.to_string();
    for scope in SCOPES.iter().filter(|scope| !allowed.contains(scope) || **scope == "mandate:write") {
        assert!(!text.contains(scope), "`{scope}` stands in a token that may carry {allowed:?}: {text}");
    }
}

fn try_to_write(agent: &Client) {
    for tag in ["\"2\"", "*"] {
        let tried = agent.put("/v1/mandate", &[("if-match", tag)], &small_refunds());
        assert!(matches!(tried.status, 401 | 403), "an agent wrote the mandate: {}", tried.text);
    }
}

fn renew(server: &Server, agent: &Agent, wished: &[&str], allowed: &[&str]) {
    let mut form = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}",
        agent.credential, agent.secret
    );
    if !wished.is_empty() {
        form.push_str("&scope=");
        form.push_str(&wished.join("%20").replace(':', "%3A"));
    }
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let renewed = server.client().send("POST", "/oauth/token", &headers, Some(form.as_bytes()));
    if renewed.status == 200 {
        let given = renewed.json["scope"].as_str().unwrap_or_default();
        let given: Vec<_> = given.split(' ').filter(|scope| !scope.is_empty()).collect();
        assert!(
            given.iter().all(|scope| allowed.contains(scope) && *scope != "mandate:write"),
            "{}",
            renewed.text
        );
        let token = renewed.json["access_token"].as_str().unwrap();
        check_token(token, allowed);
        try_to_write(&agent.with_token(token));
    } else {
        assert_eq!(renewed.status, 400, "{}", renewed.text);
        assert_eq!(renewed.json["error"], "invalid_scope", "{}", renewed.text);
    }
}

/// Tokens whose claims or header somebody changed are worth nothing.
fn tamper(agent: &Agent) {
    let parts: Vec<_> = agent.token().split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("not a JWT: {}", agent.token()) };
    let read = |part: &str| -> Value {
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    let write = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let mut wider = read(claims);
    for member in ["scope", "scopes", "scp"] {
        if wider[member].is_array() {
            wider[member].as_array_mut().unwrap().push(json!("mandate:write"));
        } else {
            wider[member] = json!(SCOPES.join(" "));
        }
    }
    let unsigned = json!({"alg": "none", "typ": "JWT"});
    let symmetric = json!({"alg": "HS256", "typ": read(header)["typ"], "kid": read(header)["kid"]});
    for forged in [
        format!("{header}.{}.{signature}", write(&wider)),
        format!("{}.{}.", write(&unsigned), write(&wider)),
        format!("{}.{claims}.", write(&unsigned)),
        format!("{}.{}.{signature}", write(&symmetric), write(&wider)),
        format!("{header}.{claims}."),
        format!("{header}.{claims}"),
    ] {
        let forger = agent.with_token(&forged);
        assert_eq!(forger.get("/v1/mandate").status, 401, "{forged}");
        assert_eq!(
            forger.put("/v1/mandate", &[("if-match", "\"2\"")], &small_refunds()).status,
            401,
            "{forged}"
        );
    }
}
