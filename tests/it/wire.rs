//! Below the routes: headers that every answer carries, bytes that are no clean request, sizes at their bounds.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::server::{Server, TENANT, eventually};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

both!(
    every_answer_carries_the_strict_headers,
    a_token_is_known_by_its_own_keys_name_and_by_nothing_else,
    a_request_hidden_in_another_is_not_answered,
    a_body_is_taken_up_to_its_bound_and_not_beyond,
);

fn every_answer_carries_the_strict_headers(db: Db) {
    let mut server = Server::start(db);
    let client = server.client();
    let document = client.get("/openapi.json").expect(200);
    let mut replies = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.replace(['{', '}'], "x");
        for method in item.as_object().unwrap().keys().filter(|name| *name != "parameters") {
            let body = matches!(&**method, "post" | "put").then_some(b"{".as_slice());
            let method = method.to_uppercase();
            replies.push((format!("{method} {path}"), client.send(&method, &path, &[], body)));
        }
        replies.push((format!("PATCH {path}"), client.send("PATCH", &path, &[], Some(b"{}"))));
        let preflight = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
        replies.push((format!("OPTIONS {path}"), client.send("OPTIONS", &path, &preflight, None)));
    }
    replies.push(("nowhere".into(), client.get("/no/such/place")));
    replies.push(("an odd path".into(), client.get("/v1/%2e%2e/%00/..%2f")));
    let statuses: std::collections::BTreeSet<_> = replies.iter().map(|(_, reply)| reply.status).collect();
    for status in [200, 400, 401, 404, 405] {
        assert!(statuses.contains(&status), "no answer is {status}: {statuses:?}");
    }
    assert!(statuses.iter().all(|status| *status < 500), "{statuses:?}");
    for (place, reply) in &replies {
        let policy = reply.header("content-security-policy").unwrap_or_default();
        for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{place}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{place}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{place}: {name}");
        }
        assert!(reply.header("x-request-id").is_some(), "{place}");
        assert!(reply.header("cache-control").is_some(), "{place}");
        for name in [
            "access-control-allow-origin",
            "server",
            "x-powered-by",
            "set-cookie",
            "strict-transport-security",
        ] {
            assert_eq!(reply.header(name), None, "{place}: {name}");
        }
        // The token endpoint answers as RFC 6749 §5.2 says.
        if reply.status >= 400 && place != "POST /oauth/token" {
            reply.expect_problem(reply.status);
        }
    }
    assert!(server.terminate().success());
    let mut server = server.option("--public-url", "https://procura.example");
    server.serve();
    let secure = server.client().get("/healthz");
    let strict = secure.header("strict-transport-security").unwrap_or_default().to_owned();
    assert!(strict.contains("max-age=31536000") && strict.contains("includeSubDomains"), "{strict}");
}

fn a_token_is_known_by_its_own_keys_name_and_by_nothing_else(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let parts: Vec<_> = agent.token().split('.').collect();
    let header: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(parts[0]).unwrap()).unwrap();
    let key = server.client().get("/.well-known/jwks.json").expect(200)["keys"][0].clone();
    assert_eq!(header["kid"], key["kid"], "the key that signs tokens is published");
    let kid = header["kid"].as_str().unwrap();
    let forged = [
        with(&header, "kid", "' OR '1'='1"),
        with(&header, "kid", "../../../../dev/null"),
        with(&header, "kid", format!("{kid}\u{0}")),
        with(&header, "kid", kid.to_uppercase()),
        with(&header, "kid", format!(" {kid}")),
        with(&header, "kid", "k".repeat(10 * 1024)),
        with(&header, "kid", ""),
        with(&header, "kid", json!([kid])),
        with(&header, "kid", json!({"$ne": null})),
        with(&header, "kid", Value::Null),
        with(&header, "jku", "http://127.0.0.1:9/keys"),
        with(&header, "x5u", "http://127.0.0.1:9/chain"),
        with(&header, "jwk", key),
        with(&with(&header, "crit", json!(["x"])), "x", 1),
        with(&with(&header, "crit", json!(["b64"])), "b64", false),
    ];
    for forged in forged {
        let header = BASE64_URL_SAFE_NO_PAD.encode(forged.to_string());
        let impostor = agent.with_token(&format!("{header}.{}.{}", parts[1], parts[2]));
        impostor.get("/v1/mandate").expect_problem(401);
        let refused = impostor.evaluate(&refund("1.00"));
        refused.expect_problem(401);
        assert!(refused.text.len() < 2000, "what was sent is not sent back: {}", refused.text.len());
    }
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
}

/// Sends bytes over a connection of their own; all that comes back until the server ends it or falls silent.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.base().trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
    // The server may end the connection before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answered = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        answered.extend_from_slice(&piece[..length]);
    }
    String::from_utf8_lossy(&answered).into_owned()
}

fn a_request_hidden_in_another_is_not_answered(db: Db) {
    let server = Server::start(db);
    let hidden = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    let plain = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n{hidden}");
    assert_eq!(
        raw(&server, plain.as_bytes()).matches("HTTP/1.1 200").count(),
        2,
        "pipelining itself is fine"
    );
    let length = hidden.len();
    for (how, framing, body) in [
        (
            "length before chunks",
            format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
            "0\r\n\r\n",
        ),
        (
            "chunks before length",
            format!("Transfer-Encoding: chunked\r\nContent-Length: {length}"),
            "0\r\n\r\n",
        ),
        ("length 0 and chunks", "Content-Length: 0\r\nTransfer-Encoding: chunked".to_owned(), ""),
        ("two lengths", format!("Content-Length: 0\r\nContent-Length: {length}"), ""),
        ("two lengths in one", format!("Content-Length: 0, {length}"), ""),
        ("a length with a sign", "Content-Length: +0".to_owned(), ""),
        ("a negative length", "Content-Length: -1".to_owned(), ""),
        ("a length in hex", "Content-Length: 0x0".to_owned(), ""),
        ("a huge length", "Content-Length: 99999999999999999999".to_owned(), ""),
        ("chunks by another name", "Transfer-Encoding: xchunked".to_owned(), "0\r\n\r\n"),
        ("chunks twice", "Transfer-Encoding: chunked, chunked".to_owned(), "0\r\n\r\n"),
        ("chunks, then another coding", "Transfer-Encoding: chunked, identity".to_owned(), "0\r\n\r\n"),
        ("a blank before the colon", "Content-Length : 0".to_owned(), ""),
        ("a folded header", "X-A: 1\r\n Content-Length: 0".to_owned(), ""),
        ("a bad chunk size", "Transfer-Encoding: chunked".to_owned(), "zz\r\n\r\n"),
        ("a chunk size that wraps", "Transfer-Encoding: chunked".to_owned(), "10000000000000000\r\n\r\n"),
    ] {
        let text = format!(
            "POST /v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{framing}\r\n\r\n{body}{hidden}"
        );
        let answered = raw(&server, text.as_bytes());
        assert!(!answered.contains("\"openapi\""), "{how}: the hidden request was answered: {answered}");
        assert!(!answered.contains("HTTP/1.1 5"), "{how}: {answered}");
    }
    for (how, text) in [
        ("no version", "GET /healthz\r\n\r\n"),
        ("not HTTP", "\u{16}\u{3}\u{1}\u{2}\u{0}hello\r\n\r\n"),
        ("a header without a colon", "GET /healthz HTTP/1.1\r\nHost x\r\n\r\n"),
        ("a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: x\u{0}y\r\n\r\n"),
    ] {
        let answered = raw(&server, text.as_bytes());
        assert!(!answered.contains("HTTP/1.1 200") && !answered.contains("HTTP/1.1 5"), "{how}: {answered}");
    }
    let endless = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "y".repeat(200_000));
    assert!(!raw(&server, endless.as_bytes()).contains("HTTP/1.1 200"), "a head without end");
    server.client().get("/readyz").expect(200);
}

fn a_body_is_taken_up_to_its_bound_and_not_beyond(db: Db) {
    const LARGEST: usize = 64 * 1024;
    const DEEPEST: usize = 32;
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let sized = |size: usize| {
        let frame = r#"{"intent":"payments.refund","arguments":{"note":""}}"#.len();
        format!(r#"{{"intent":"payments.refund","arguments":{{"note":"{}"}}}}"#, "x".repeat(size - frame))
    };
    // The object and its `arguments` are two levels themselves.
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
        format!(r#"{{"intent":"payments.refund","arguments":{{"note":{open}{close}}}}}"#)
    };
    let send = |body: &str| agent.send("POST", "/v1/gate/evaluate", &[], Some(body.as_bytes()));
    assert_eq!(sized(LARGEST).len(), LARGEST);
    send(&sized(LARGEST)).expect(200);
    send(&sized(LARGEST + 1)).expect_problem(413);
    send(&deep(DEEPEST)).expect(200);
    assert!(matches!(send(&deep(DEEPEST + 1)).status, 400 | 422));
    let scopes = vec!["mandate:read"; 65];
    let path = format!("/v1/agents/{}/credentials", agent.id);
    member.post(&path, &json!({"label": "many", "scopes": scopes})).expect_problem(422);
    eventually("both are in the call log", || {
        let calls = agent.all(&format!("/v1/credentials/{}/calls", agent.credential));
        calls.iter().filter(|call| call["status"] == 413).count() == 1
    });
    assert_eq!(server.client().get(&format!("/log/{TENANT}/checkpoint")).status, 200);
}
