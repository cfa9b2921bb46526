//! Signing in and out, and what guessing gets.

use crate::agent::Agent;
use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::server::{OPERATOR, PASSWORD, Server, TENANT, eventually};
use serde_json::json;

both!(
    a_wrong_password_and_an_unknown_person_look_the_same,
    guessing_is_slowed_down_and_the_person_is_told_for_how_long,
    a_session_that_was_ended_is_worth_nothing,
    a_session_survives_a_restart_and_an_agents_token_is_none,
    the_api_never_reads_the_cookie,
    only_an_operator_makes_people,
    two_hundred_sign_ins_at_once_do_not_stop_the_gate,
);

fn a_wrong_password_and_an_unknown_person_look_the_same(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let try_it = |tenant: &str, email: &str, password: &str| {
        server.client().post("/v1/session", &json!({"tenant": tenant, "email": email, "password": password}))
    };
    let wrong = try_it(TENANT, "m@example.test", "not-the-password-at-all");
    let unknown = try_it(TENANT, "nobody@example.test", PASSWORD);
    let elsewhere = try_it("quay", "m@example.test", PASSWORD);
    for answer in [&wrong, &unknown, &elsewhere] {
        let problem = answer.expect_problem(401);
        assert_eq!(problem["detail"], wrong.json["detail"], "nothing tells which of the three was wrong");
        assert!(answer.header("www-authenticate").is_some());
    }
    let missing = server.client().post("/v1/session", &json!({"tenant": TENANT, "email": OPERATOR}));
    missing.expect_problem(422);
}

fn guessing_is_slowed_down_and_the_person_is_told_for_how_long(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let people = server.operator().all("/v1/principals");
    let person = people.iter().find(|person| person["email"] == "m@example.test").unwrap()["id"].clone();
    let person = person.as_str().unwrap();
    let guess = json!({"tenant": TENANT, "email": "m@example.test", "password": "not-the-password-at-all"});
    let limited =
        (0..40).map(|_| server.client().post("/v1/session", &guess)).find(|reply| reply.status != 401);
    let limited = limited.expect("forty wrong passwords were all tried");
    limited.expect_problem(429);
    let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!(wait > 0);
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    eventually("the limited try stands in the call log", || {
        let calls = compliance.all("/v1/calls");
        let tries =
            calls.iter().filter(|call| call["route"] == "/v1/session" && call["principal"] == *person);
        let mut statuses: Vec<_> = tries.map(|call| call["status"].as_u64().unwrap()).collect();
        statuses.sort_unstable();
        statuses == [[200].as_slice(), &[401; 10], &[429]].concat()
    });
    for spelling in ["M@EXAMPLE.TEST", " m@example.test"] {
        let mut guess = guess.clone();
        guess["email"] = json!(spelling);
        let status = server.client().post("/v1/session", &guess).status;
        assert!(matches!(status, 429 | 422), "`{spelling}` is counted apart: {status}");
    }
}

fn a_session_that_was_ended_is_worth_nothing(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let other = server.sign_in(TENANT, "m@example.test");
    member.get("/v1/mandate").expect(200);
    let ended = member.delete("/v1/session");
    assert!(matches!(ended.status, 200 | 204), "{}", ended.text);
    member.get("/v1/mandate").expect_problem(401);
    other.get("/v1/mandate").expect(200);
    member.with_token("pcs_made-up").get("/v1/mandate").expect_problem(401);
}

fn a_session_survives_a_restart_and_an_agents_token_is_none(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    server.kill();
    server.serve();
    member.get("/v1/mandate").expect(200);
    let made = agent.post("/v1/agents", &json!({"name": "self-made", "kind": "acting"}));
    assert!(matches!(made.status, 401 | 403), "an agent made an agent: {}", made.text);
    let ended = agent.delete("/v1/session");
    assert!(matches!(ended.status, 401 | 403), "{}", ended.text);
}

fn the_api_never_reads_the_cookie(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    for name in ["session", "__Host-session", "__Host-procura", "procura"] {
        let cookie = format!("{name}={}", member.token());
        let answer = server.client().send("GET", "/v1/mandate", &[("cookie", &cookie)], None);
        assert_eq!(answer.status, 401, "{}", answer.text);
    }
}

fn only_an_operator_makes_people(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    let body = json!({"email": "x@example.test", "name": "x", "roles": ["operator"], "password": PASSWORD});
    for caller in [&member, &compliance] {
        caller.post("/v1/principals", &body).expect_problem(403);
    }
    assert_eq!(server.client().post("/v1/principals", &body).status, 401);
    server.operator().post("/v1/principals", &body).expect(201);
    let again = server.operator().post("/v1/principals", &body);
    assert!(matches!(again.status, 409 | 422), "the same person twice: {}", again.text);
}

fn two_hundred_sign_ins_at_once_do_not_stop_the_gate(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let session = json!({"tenant": TENANT, "email": "m@example.test", "password": PASSWORD});
    std::thread::scope(|scope| {
        let signing =
            scope.spawn(|| in_parallel(200, |_| server.client().post("/v1/session", &session).status));
        let mut answered = 0;
        while !signing.is_finished() || answered == 0 {
            agent.evaluate(&refund("1.00")).expect_outcome("allow");
            answered += 1;
        }
        let statuses = signing.join().unwrap();
        let signed_in = statuses.iter().filter(|status| **status == 200).count();
        let busy = statuses.iter().filter(|status| **status == 429).count();
        assert_eq!(signed_in + busy, 200, "{statuses:?}");
        assert!(signed_in > 0 && busy > 0, "{signed_in} signed in, {busy} were told to wait");
    });
    server.sign_in(TENANT, "m@example.test").get("/v1/mandate").expect(200);
}
