//! The pages as they are read: signing in, what stands on them for whom, and the headers they come with.

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::server::{OPERATOR, PASSWORD, Server, TENANT};
use crate::visitor::Visitor;
use serde_json::{Value, json};

both!(
    a_person_signs_in_with_a_cookie_and_signing_out_ends_the_session,
    a_wrong_password_says_nothing_of_which_field_was_wrong,
    signing_in_leads_back_to_a_page_of_this_service_alone,
    each_sign_in_is_a_new_session_and_ends_the_one_before,
    over_tls_the_session_is_bound_to_its_host,
    another_persons_things_are_not_found,
    reading_a_page_changes_nothing_and_is_recorded,
    every_page_comes_with_strict_headers_and_holds_no_script,
    calls_are_narrowed_and_taken_away_from_the_page,
    whoever_failed_to_sign_in_is_not_called_you,
    a_queue_longer_than_a_page_is_read_to_its_end,
);

fn a_person_signs_in_with_a_cookie_and_signing_out_ends_the_session(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let mut visitor = Visitor::new(&server);
    let away = visitor.get("/queue");
    assert_eq!((away.status, away.header("location")), (303, Some("/sign-in?next=/queue")));
    let answer = visitor.sign_in("m@example.test", PASSWORD, None);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/queue")));
    let set: Vec<&str> =
        answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap()).collect();
    let session = set.iter().find(|set| set.starts_with("procura=pcs_")).unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(session.contains(attribute), "{session}");
    }
    assert!(!session.contains("Secure"), "this server is not reached over TLS: {session}");
    assert!(visitor.page("/queue").contains("Nothing waits for you."));
    let held = visitor.clone();
    let out = visitor.submit("/queue", "/sign-out", &[]);
    assert_eq!((out.status, out.header("location")), (303, Some("/sign-in")));
    assert!(!visitor.cookies.contains_key("procura"));
    assert_eq!(held.clone().get("/queue").status, 303, "the session ended, not only the cookie");
}

fn a_wrong_password_says_nothing_of_which_field_was_wrong(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let attempt = |tenant: &str, email: &str, password: &str| -> Reply {
        let mut visitor = Visitor::new(&server);
        let fields = [("tenant", tenant), ("email", email), ("password", password)];
        visitor.submit("/sign-in", "/sign-in", &fields)
    };
    for (tenant, email, password) in [
        (TENANT, "m@example.test", "not the password at all"),
        (TENANT, "nobody@example.test", PASSWORD),
        ("quay", "m@example.test", PASSWORD),
        ("No Such Tenant!", "m@example.test", PASSWORD),
    ] {
        let answer = attempt(tenant, email, password);
        assert_eq!(answer.status, 401, "{tenant} {email}");
        assert!(answer.text.contains("tenant, address or password is not right"), "{}", answer.text);
        assert!(answer.text.contains(email) && !answer.text.contains(password), "{}", answer.text);
        let set = answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
        assert!(!set.into_iter().any(|set| set.contains("pcs_")));
    }
}

fn signing_in_leads_back_to_a_page_of_this_service_alone(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    for (next, leads_to) in [
        ("/mandate", "/mandate"),
        ("/calls?outcome=refuse", "/calls?outcome=refuse"),
        ("//evil.example", "/queue"),
        ("/\\evil.example", "/queue"),
        ("https://evil.example", "/queue"),
        ("/\t/evil.example", "/queue"),
        ("mandate", "/queue"),
    ] {
        let answer = Visitor::new(&server).sign_in("m@example.test", PASSWORD, Some(next));
        assert_eq!((answer.status, answer.header("location")), (303, Some(leads_to)), "{next:?}");
    }
    let mut visitor = Visitor::new(&server);
    let page = visitor.page("/sign-in?next=/mandate");
    assert!(page.contains("name=\"next\" value=\"/mandate\""), "{page}");
    let page = visitor.page("/sign-in?next=//evil.example");
    assert!(!page.contains("evil"), "{page}");
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    assert_eq!(visitor.get("/sign-in?next=//evil.example").header("location"), Some("/queue"));
}

fn each_sign_in_is_a_new_session_and_ends_the_one_before(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let mut visitor = Visitor::new(&server);
    visitor.cookies.insert("procura".into(), "pcs_chosen-by-somebody-else".into());
    visitor.sign_in("m@example.test", PASSWORD, None);
    let first = visitor.clone();
    assert_ne!(first.cookies["procura"], "pcs_chosen-by-somebody-else");
    let page = Visitor::new(&server).get("/sign-in");
    let token = crate::visitor::hidden(&page.text, "csrf");
    visitor.cookies.insert("procura-sign-in".into(), token.clone());
    let fields = [("csrf", &*token), ("tenant", TENANT), ("email", "m@example.test"), ("password", PASSWORD)];
    assert_eq!(visitor.post("/sign-in", &[], &fields).status, 303);
    assert_ne!(visitor.cookies["procura"], first.cookies["procura"]);
    assert_eq!(first.clone().get("/queue").status, 303, "the earlier session is over");
    assert_eq!(visitor.get("/queue").status, 200);
}

fn over_tls_the_session_is_bound_to_its_host(db: Db) {
    let public = "https://procura.example";
    let mut server = Server::set_up(db, &[TENANT]).option("--public-url", public);
    server.serve();
    server.member("m@example.test");
    let mut visitor = Visitor::new(&server);
    let page = visitor.get("/sign-in");
    assert!(page.header("strict-transport-security").unwrap().contains("includeSubDomains"));
    let token = crate::visitor::hidden(&page.text, "csrf");
    let fields = [("csrf", &*token), ("tenant", TENANT), ("email", "m@example.test"), ("password", PASSWORD)];
    assert_eq!(visitor.post("/sign-in", &[("origin", "http://procura.example")], &fields).status, 403);
    let answer = visitor.post("/sign-in", &[("origin", public)], &fields);
    assert_eq!(answer.status, 303, "{}", answer.text);
    let mut set = answer.headers.get_all("set-cookie").iter().map(|set| set.to_str().unwrap());
    let session = set.find(|set| set.starts_with("__Host-procura=pcs_")).unwrap();
    for attribute in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(session.contains(attribute), "{session}");
    }
    assert_eq!(visitor.get("/queue").status, 200);
    let plain = visitor.cookies.remove("__Host-procura").unwrap();
    visitor.cookies.insert("procura".into(), plain);
    assert_eq!(visitor.get("/queue").status, 303, "the plain name counts for nothing here");
}

/// A member with an agent, one call that waits, and its receipt.
#[track_caller]
fn asked(server: &Server, email: &str) -> (Client, Agent, Value) {
    let member = server.member_with(email, &small_refunds());
    let agent = Agent::new(&member, "runner");
    let answer = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    (member, agent, answer)
}

fn another_persons_things_are_not_found(db: Db) {
    let server = Server::start(db);
    let (owner, agent, answer) = asked(&server, "m@example.test");
    server.member("stranger@example.test");
    let mut stranger = Visitor::signed_in(&server, "stranger@example.test");
    let decision = answer["decision"]["id"].as_str().unwrap();
    let receipt = answer["receipt"]["id"].as_str().unwrap();
    for path in [
        format!("/queue/{decision}"),
        format!("/calls/receipts/{receipt}.json"),
        format!("/calls/export?credential={}&format=csv", agent.credential),
        "/queue/dec_nonsense".to_owned(),
        "/mandate/versions/99".to_owned(),
        "/no/such/page".to_owned(),
    ] {
        let reply = stranger.get(&path);
        assert_eq!(reply.status, 404, "{path}: {}", reply.text);
        assert!(reply.text.contains("Not found") && reply.text.contains("stranger"), "{path}");
    }
    let token = crate::visitor::hidden(&stranger.page("/queue"), "csrf");
    let mut post = |path: &str, fields: &[(&str, &str)]| {
        let mut all = vec![("csrf", &*token)];
        all.extend(fields);
        stranger.post(path, &[], &all).status
    };
    let hash = owner.get(&format!("/v1/decisions/{decision}")).expect(200)["input_hash"].clone();
    let approve = [("input_hash", hash.as_str().unwrap())];
    assert_eq!(post(&format!("/queue/{decision}/approve"), &approve), 404);
    assert_eq!(post(&format!("/queue/{decision}/decline"), &[("narrow", "refuse")]), 404);
    assert_eq!(post(&format!("/credentials/{}/revoke", agent.credential), &[]), 404);
    assert_eq!(post(&format!("/agents/{}/retire", agent.id), &[]), 404);
    let give = [("label", "mine"), ("scope", "action:request"), ("expires_in", "3600")];
    assert_eq!(post(&format!("/agents/{}/credentials", agent.id), &give), 404);
    let shown = owner.get(&format!("/v1/decisions/{decision}")).expect(200);
    assert_eq!(shown["status"], "open");
    agent.evaluate(&refund("5.00")).expect_outcome("allow");
}

fn reading_a_page_changes_nothing_and_is_recorded(db: Db) {
    let server = Server::start(db);
    let (member, _, answer) = asked(&server, "m@example.test");
    let decision = answer["decision"]["id"].as_str().unwrap();
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    let page = visitor.page(&format!("/queue/{decision}"));
    assert!(page.contains("5000.00 EUR") && page.contains("small refunds"), "{page}");
    for path in ["approve", "decline", "resolve"].map(|verb| format!("/queue/{decision}/{verb}")) {
        let reply = visitor.get(&path);
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{path}");
        assert!(reply.header("content-type").unwrap().starts_with("text/html"));
    }
    for path in ["/mandate/stop", "/sign-out"] {
        assert_eq!(visitor.get(path).status, 405, "{path}");
    }
    let head = visitor.send("HEAD", "/queue", &[], None);
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(member.get(&format!("/v1/decisions/{decision}")).expect(200)["status"], "open");
    crate::server::eventually("the view is in the call log", || {
        let calls = member.all("/v1/calls");
        calls.iter().any(|call| call["method"] == "GET" && call["route"] == "/queue/{decision}")
    });
}

fn every_page_comes_with_strict_headers_and_holds_no_script(db: Db) {
    let server = Server::start(db);
    let (_, agent, answer) = asked(&server, "m@example.test");
    let decision = format!("/queue/{}", answer["decision"]["id"].as_str().unwrap());
    let calls = format!("/calls?credential={}", agent.credential);
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    let mut nobody = Visitor::new(&server);
    let mut replies = vec![nobody.get("/sign-in"), nobody.get("/no/such/page"), nobody.get("/queue")];
    for path in
        ["/queue", &decision, "/mandate", "/mandate/versions/1", "/agents", "/calls", &calls, "/no/such/page"]
    {
        replies.push(visitor.get(path));
    }
    replies.push(visitor.get("/calls?from=yesterday"));
    replies.push(visitor.get("/queue?surprise=1"));
    replies.push(visitor.post("/mandate/stop", &[], &[]));
    for reply in &replies {
        let header = |name: &str| reply.header(name).unwrap_or_else(|| panic!("no `{name}`: {}", reply.text));
        let policy = header("content-security-policy");
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(directive), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(header("cache-control"), "no-store");
        let page = reply.text.to_ascii_lowercase();
        for inline in ["<script", "<style", " style=", " onclick=", " onload=", " onerror=", "javascript:"] {
            assert!(!page.contains(inline), "{inline}: {page}");
        }
    }
    let sheet = nobody.get("/static/procura.css");
    assert_eq!(sheet.status, 200);
    assert!(sheet.header("content-type").unwrap().starts_with("text/css"));
}

fn calls_are_narrowed_and_taken_away_from_the_page(db: Db) {
    let server = Server::start(db);
    let (member, agent, answer) = asked(&server, "m@example.test");
    agent.evaluate(&refund("5.00")).expect_outcome("allow");
    agent.evaluate(&serde_json::json!({"intent": "account.close"})).expect_outcome("refuse");
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    let refused = visitor.page("/calls?outcome=refuse");
    assert!(refused.contains("account.close") && !refused.contains("<code>payments.refund"), "{refused}");
    let empty = visitor.page("/calls?intent=payments.refund&until=2020-01-01T00%3A00");
    assert!(empty.contains("No calls here."), "{empty}");
    let wrong = visitor.get("/calls?from=yesterday&intent=payments.refund");
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("is not a day and time") && wrong.text.contains("value=\"payments.refund\""));
    let one = visitor.page(&format!("/calls?credential={}&from=2020-01-01T00%3A00", agent.credential));
    let export = one.split("href=\"").find(|link| link.contains("format=jsonl")).unwrap();
    let export = export.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    assert!(export.contains("from=2020-01-01T00%3A00%3A00.000Z"), "{export}");
    let copy = visitor.get(&export);
    assert_eq!(copy.status, 200, "{}", copy.text);
    assert!(copy.header("content-disposition").unwrap().starts_with("attachment"));
    let file = server.folder().write("copy.jsonl", &copy.text);
    let verified = crate::server::procura(&["verify"]).arg(file).output().unwrap();
    assert!(verified.status.success(), "{}", crate::server::said(&verified));
    let csv = visitor.get(&export.replace("jsonl", "csv"));
    assert!(csv.text.contains("account.close"), "{}", csv.text);
    let id = answer["receipt"]["id"].as_str().unwrap();
    let receipt = visitor.get(&format!("/calls/receipts/{id}.json"));
    let same = member.get(&format!("/v1/receipts/{id}")).expect(200);
    assert_eq!(receipt.expect(200)["receipt"]["hash"], same["receipt"]["hash"]);
    assert!(receipt.json["receipt"]["hash"].is_string(), "{}", receipt.text);
}

fn a_queue_longer_than_a_page_is_read_to_its_end(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    for euros in 1000..1055 {
        let answer = agent.evaluate(&refund(&format!("{euros}.00"))).expect_outcome("escalate");
        let id = answer["decision"]["id"].as_str().unwrap();
        member.post(&format!("/v1/decisions/{id}/decline"), &serde_json::json!({})).expect(200);
    }
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    let first = visitor.page("/queue");
    assert!(first.contains("1054.00 EUR") && !first.contains("1004.00 EUR"));
    let older = first.split("href=\"").find(|link| link.starts_with("/queue?cursor=")).unwrap();
    let second = visitor.page(older.split('"').next().unwrap());
    assert!(second.contains("1004.00 EUR") && second.contains("1000.00 EUR"), "{second}");
    assert!(!second.contains("/queue?cursor="), "the end");
    assert!(
        server.sign_in(TENANT, OPERATOR).get("/v1/decisions").expect(200)["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

fn whoever_failed_to_sign_in_is_not_called_you(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let mut stranger = Visitor::new(&server);
    let fields = [("tenant", TENANT), ("email", "m@example.test"), ("password", "not the password at all")];
    assert_eq!(stranger.submit("/sign-in", "/sign-in", &fields).status, 401);
    let wrong = json!({"tenant": TENANT, "email": "m@example.test", "password": "nor is this one"});
    server.client().post("/v1/session", &wrong).expect_problem(401);
    let mut visitor = Visitor::signed_in(&server, "m@example.test");
    crate::server::eventually("the calls are recorded", || {
        let page = visitor.page("/calls");
        ["POST /sign-in", "POST /v1/session"].iter().all(|call| {
            page.split("<tr>")
                .any(|row| row.contains(call) && row.contains(">401<") && row.contains("not signed in"))
        })
    });
    let page = visitor.page("/calls");
    let failed = page.split("<tr>").filter(|row| row.contains(">401<"));
    assert!(failed.into_iter().all(|row| !row.contains(">you<")), "{page}");
    assert!(page.contains(">you<"), "what they did themselves stays theirs: {page}");
}
