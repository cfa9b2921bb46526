//! Bodies that do not fit: named, recorded, never repaired, never an escape from the record.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::small_refunds;
use crate::server::{Server, eventually};
use serde_json::json;

both!(
    a_malformed_body_is_named_and_recorded,
    a_cursor_that_no_list_gave_is_refused,
    everything_wrong_with_a_small_body_is_said_at_once,
);

/// Each body with what the answer must name: a pointer, or words of the detail.
const BODIES: [(&str, &str); 39] = [
    ("", ""),
    ("{", ""),
    ("[]", ""),
    ("null", ""),
    ("\"payments.refund\"", ""),
    ("{\"intent\":\"a.b\"} {}", ""),
    ("{}", "intent"),
    (r#"{"intent":1}"#, "/intent"),
    (r#"{"intent":""}"#, "/intent"),
    (r#"{"intent":"A.b"}"#, "/intent"),
    (r#"{"intent":"a..b"}"#, "/intent"),
    (r#"{"intent":"a.*"}"#, "/intent"),
    (r#"{"intent":"a.b","intent":"c.d"}"#, "intent"),
    (r#"{"intent":"a.b","arguments":{"x":1,"x":2}}"#, "x"),
    (r#"{"intent":"a.b","untrustd":true}"#, "/untrustd"),
    (r#"{"intent":"a.b","untrusted":"no"}"#, "/untrusted"),
    (r#"{"intent":"a.b","amount":{"value":NaN,"currency":"EUR"}}"#, ""),
    (r#"{"intent":"a.b","amount":{"value":1e400,"currency":"EUR"}}"#, ""),
    (r#"{"intent":"a.b","amount":{"value":9007199254740993,"currency":"EUR"}}"#, "9007199254740993"),
    (r#"{"intent":"a.b","amount":{"value":"1.001","currency":"EUR"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":{"value":"1.5","currency":"JPY"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":{"value":"0","currency":"EUR"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":{"value":"-1","currency":"EUR"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":{"value":"1e3","currency":"EUR"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":{"value":"99999999999999999999","currency":"EUR"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":{"value":"1","currency":"EURO"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":{"value":"1"}}"#, "/amount"),
    (r#"{"intent":"a.b","amount":"1"}"#, "/amount"),
    (r#"{"intent":"a.b","country":"de"}"#, "/country"),
    (r#"{"intent":"a.b","country":"XX"}"#, "/country"),
    ("{\"intent\":\"a.b\",\"resource\":\"cafe\u{301}\"}", "/resource"),
    ("{\"intent\":\"a.b\",\"resource\":\"a\u{202e}b\"}", "/resource"),
    (r#"{"intent":"a.b","counterparty":["x","x"]}"#, "/counterparty"),
    (r#"{"intent":"a.b","decision":"dec_1"}"#, "/decision"),
    (r#"{"intent":"a.b","min_mandate_version":-1}"#, "/min_mandate_version"),
    (r#"{"intent":"a.b","facts":{"writable":true}}"#, "/facts"),
    (r#"{"intent":"a.b","subject_token":"x"}"#, "/subject_token"),
    (r#"{"intent":"a.b","evidence":{"confidence":2}}"#, "/evidence"),
    (r#"{"intent":"a.b","tenant":"Harbour"}"#, "/tenant"),
];

fn a_malformed_body_is_named_and_recorded(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let mut bodies: Vec<(Vec<u8>, &str)> =
        BODIES.iter().map(|(body, named)| (body.as_bytes().to_vec(), *named)).collect();
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    bodies.push((format!(r#"{{"intent":"a.b","arguments":{{"x":{deep}}}}}"#).into_bytes(), ""));
    bodies.push((b"{\"intent\":\"a.b\",\"resource\":\"\xff\"}".to_vec(), ""));
    bodies
        .push((format!(r#"{{"intent":"a.b","resource":"{}"}}"#, "x".repeat(257)).into_bytes(), "/resource"));
    for (body, named) in &bodies {
        let shown = String::from_utf8_lossy(body);
        let answer = agent.send("POST", "/v1/gate/evaluate", &[], Some(body));
        assert!(matches!(answer.status, 400 | 422), "{shown}: {} {}", answer.status, answer.text);
        let problem = answer.expect_problem(answer.status);
        assert!(problem.to_string().contains(named), "`{named}` is not named for {shown}: {problem}");
    }
    let large = format!(r#"{{"intent":"a.b","arguments":{{"x":"{}"}}}}"#, "y".repeat(70_000));
    let answer = agent.send("POST", "/v1/gate/evaluate", &[], Some(large.as_bytes()));
    let problem = answer.expect_problem(413);
    let said = format!("{} bytes were sent, 65536 are taken", large.len());
    assert_eq!(problem["detail"], said, "both sizes are named");
    let plain = [("content-type", "text/plain")];
    let answer = agent.send("POST", "/v1/gate/evaluate", &plain, Some(br#"{"intent":"a.b"}"#));
    assert!(matches!(answer.status, 400 | 415 | 422), "{}", answer.text);
    eventually("each is listed among the credential's calls", || {
        let calls = agent.all(&format!("/v1/credentials/{}/calls", agent.credential));
        calls.iter().filter(|call| matches!(call["status"].as_u64(), Some(400 | 413 | 415 | 422))).count()
            == bodies.len() + 2
    });
}

fn a_cursor_that_no_list_gave_is_refused(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let calls = format!("/v1/credentials/{}/calls", agent.credential);
    for path in ["/v1/calls", &calls, "/v1/decisions", "/v1/agents", "/v1/credentials"] {
        for wrong in
            ["%00", "1", "x", "-1", "%C3%A9", "0123456789abcdefghjkmnpq%00s", "zzzzzzzzzzzzzzzzzzzzzzzzzz"]
        {
            let refused = member.get(&format!("{path}?cursor={wrong}"));
            let problem = refused.expect_problem(422);
            assert!(problem["detail"].as_str().unwrap().contains("cursor"), "{problem}");
        }
    }
    server.operator().get("/v1/principals?cursor=%00").expect_problem(422);
    for path in ["/v1/mandate/versions", "/v1/policy/versions"] {
        for wrong in ["%00", "x", "-1", "1.5", "99999999999999999999999"] {
            member.get(&format!("{path}?cursor={wrong}")).expect_problem(422);
        }
    }
}

fn everything_wrong_with_a_small_body_is_said_at_once(db: Db) {
    let server = Server::start(db);
    let (member, operator) = (server.member_with("m@example.test", &small_refunds()), server.operator());
    let agent = Agent::new(&member, "runner");
    let credentials = format!("/v1/agents/{}/credentials", agent.id);
    for (by, path, body, expected) in [
        (
            &member,
            "/v1/agents",
            json!({"name": 5, "kind": "sleeping", "colour": "red"}),
            vec![
                ("/name", "a number found, a text expected"),
                ("/kind", "sleeping"),
                ("/colour", "unknown member"),
            ],
        ),
        (
            &member,
            credentials.as_str(),
            json!({"scopes": ["action:request", "action:request", "all"], "expires_in": "3600", "country": "Germany",
                "clauses": [{"id": "C", "intent": "a", "effect": "permit"}]}),
            vec![
                ("", "`label` is missing"),
                ("/scopes/1", "stands twice"),
                ("/scopes/2", "all"),
                ("/expires_in", "a text found, a whole number expected"),
                ("/clauses/0/effect", "permit"),
                ("/country", "Germany"),
            ],
        ),
        (
            &operator,
            "/v1/principals",
            json!({"email": "nowhere", "name": "", "roles": ["king", "member"]}),
            vec![
                ("/email", "not a mail address"),
                ("/name", ""),
                ("/roles/0", "king"),
                ("", "`password` is missing"),
            ],
        ),
        (
            &member,
            "/v1/session",
            json!({"tenant": "No Tenant", "password": ["x"], "otp": "1"}),
            vec![
                ("/tenant", ""),
                ("", "`email` is missing"),
                ("/password", "a list found, a text expected"),
                ("/otp", "no second factor"),
            ],
        ),
        (
            &member,
            "/v1/mandate/preview",
            json!({"since": "2999-01-01T00:00:00Z", "until": 1}),
            vec![("", "`mandate` is missing"), ("/since", "not past"), ("/until", "unknown member")],
        ),
    ] {
        let problem = by.post(path, &body).expect_problem(422);
        let faults = problem["errors"].as_array().unwrap();
        assert_eq!(faults.len(), expected.len(), "{path}: {problem}");
        for (fault, (pointer, detail)) in faults.iter().zip(expected) {
            assert_eq!(fault["pointer"], pointer, "{path}: {problem}");
            assert!(fault["detail"].as_str().unwrap().contains(detail), "{path} {detail}: {problem}");
        }
    }
    // Whoever asks for the right to write mandates is told that first, whatever else is wrong.
    let body = json!({"scopes": ["all", "mandate:write"], "colour": 1});
    let problem = member.post(&credentials, &body).expect_problem(422);
    assert!(problem["type"].as_str().unwrap().ends_with("/scope-withheld"), "{problem}");
}
