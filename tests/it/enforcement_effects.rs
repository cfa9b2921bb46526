//! What an enforcement point says of how effects ended.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::enforcement::{Point, effect, pay, paying};
use crate::log::{check_verifies, check_whole, export};
use crate::server::{OPERATOR, Server, TENANT, eventually};
use serde_json::{Value, json};

both!(
    what_a_point_was_let_do_the_agent_does_not_release,
    an_attested_failure_releases_what_an_agents_own_word_does_not,
    a_point_settles_what_nobody_reported_on,
    a_point_reports_on_every_effect_of_its_tenant,
    a_word_against_the_agent_s_is_a_question_to_the_person,
    what_two_points_tell_differently_is_a_question_to_the_person,
    what_was_given_back_and_happened_after_all_counts_in_its_own_time,
);

fn what_a_point_was_let_do_the_agent_does_not_release(db: Db) {
    let server = Server::start(db);
    let (_, agent, point) = paying(&server);
    let entry = json!({"title": "pay", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let report = |effect: &str| {
        let said = agent.post(&format!("/v1/effects/{effect}/outcome"), &json!({"status": "failed"}));
        said.expect(200)["status"].clone()
    };
    assert_eq!(report(&effect(&agent.evaluate(&pay()))), "failed", "its own it may");
    let claimed = effect(&point.evaluate(&agent, &pay()));
    assert_eq!(report(&claimed), "unknown");
    assert_eq!(point.report(&claimed, &json!({"status": "done"})).expect(200)["status"], "done");
}

fn an_attested_failure_releases_what_an_agents_own_word_does_not(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = paying(&server);
    let failed = json!({"status": "failed", "reference": "re_1"});
    let claimed = effect(&agent.evaluate(&pay()));
    let told = point.report(&claimed, &failed).expect(200);
    assert_eq!(told["status"], "failed", "{told}");
    let input = member.get(&format!("/v1/receipts/{}", told["receipt"]["id"].as_str().unwrap())).expect(200);
    assert_eq!(input["input"]["enforcement_point"], point.id, "{input}");
    assert!(member.all("/v1/decisions?status=open").is_empty());

    // The agent's own word makes a question of it, the point's answers the question.
    let claimed = effect(&point.evaluate(&agent, &pay()));
    let path = format!("/v1/effects/{claimed}/outcome");
    assert_eq!(agent.post(&path, &failed).expect(200)["status"], "unknown");
    let open = member.all("/v1/decisions?status=open");
    assert_eq!((open.len(), &open[0]["effect"]), (1, &json!(claimed)));
    let told = point.report(&claimed, &failed).expect(200);
    assert_eq!(told["status"], "failed", "the same words, said by another: {told}");
    let decision = member.get(&format!("/v1/decisions/{}", open[0]["id"].as_str().unwrap())).expect(200);
    assert_eq!(decision["status"], "withdrawn", "{decision}");
    assert_eq!(decision["reason"], "the enforcement point reported it", "{decision}");
    let again = point.report(&claimed, &failed).expect(200);
    assert_eq!((&again["status"], &again["receipt"]), (&json!("failed"), &Value::Null), "{again}");
    point.report(&claimed, &json!({"status": "done"})).expect_problem(409);
    point.report(&claimed, &json!({"status": "unknown"})).expect_problem(409);
    agent.post(&path, &failed).expect_problem(409);
    let resolve = format!("/v1/decisions/{}/resolve", open[0]["id"].as_str().unwrap());
    member.post(&resolve, &json!({"status": "done"})).expect_problem(409);

    check_verifies(&export(&member, &agent.credential));
    check_whole(server.database());
}

fn a_point_settles_what_nobody_reported_on(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = paying(&server);
    let open = || member.all("/v1/decisions?status=open").len();
    let overdue = || {
        let claimed = effect(&agent.evaluate(&pay()));
        let late = "report_by = report_by - 90000000, due_at = due_at - 90000000";
        server.database().connect().execute(&format!("UPDATE effects SET {late} WHERE id = '{claimed}'"));
        eventually("nobody knows", || open() == 1);
        claimed
    };
    for status in ["done", "failed"] {
        let claimed = overdue();
        let late = agent.post(&format!("/v1/effects/{claimed}/outcome"), &json!({"status": status}));
        let problem = late.expect_problem(409);
        let report_by = format!("SELECT CAST(report_by AS TEXT) AS text FROM effects WHERE id = '{claimed}'");
        let report_by = server.database().connect().texts(&report_by)[0].parse::<i64>().unwrap();
        let report_by =
            chrono::DateTime::from_timestamp_millis(report_by).unwrap().format("%Y-%m-%dT%H:%M:%S");
        assert!(problem["detail"].as_str().unwrap().contains(&report_by.to_string()), "{problem}");
        assert_eq!(point.report(&claimed, &json!({"status": status})).expect(200)["status"], status);
        assert_eq!(open(), 0, "nobody is asked any more");
    }
    // A point that does not know either leaves the question open, and may know later.
    let claimed = overdue();
    point.report(&claimed, &json!({"status": "unknown"})).expect_problem(409);
    assert_eq!(open(), 1);
    let claimed = effect(&agent.evaluate(&pay()));
    assert_eq!(point.report(&claimed, &json!({"status": "unknown"})).expect(200)["status"], "unknown");
    assert_eq!(open(), 2);
    assert_eq!(point.report(&claimed, &json!({"status": "done"})).expect(200)["status"], "done");
    assert_eq!(open(), 1);
}

fn a_point_reports_on_every_effect_of_its_tenant(db: Db) {
    let mut server = Server::set_up(db, &[TENANT, "quay"]);
    server.serve();
    let (member, agent, point) = paying(&server);
    let other = Agent::new(&member, "other");
    let stranger = Point::new(&server.sign_in("quay", OPERATOR), "till");
    for agent in [&agent, &other] {
        let claimed = effect(&agent.evaluate(&pay()));
        stranger.report(&claimed, &json!({"status": "done"})).expect_problem(404);
        assert_eq!(point.report(&claimed, &json!({"status": "done"})).expect(200)["status"], "done");
    }
    let claimed = effect(&agent.evaluate(&pay()));
    other.post(&format!("/v1/effects/{claimed}/outcome"), &json!({"status": "done"})).expect_problem(404);
    member.post(&format!("/v1/effects/{claimed}/outcome"), &json!({"status": "done"})).expect_problem(403);
    point.report(&claimed, &json!({"status": "perhaps"})).expect_problem(422);
    point.report("eff_01j00000000000000000000000", &json!({"status": "done"})).expect_problem(404);
    // The agent may be gone: what its tool did is reported all the same.
    member.delete(&format!("/v1/agents/{}", agent.id)).expect(200);
    assert_eq!(point.report(&claimed, &json!({"status": "done"})).expect(200)["status"], "done");
}

fn a_word_against_the_agent_s_is_a_question_to_the_person(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = paying(&server);
    let entry = json!({"title": "pay", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let open = || member.all("/v1/decisions?status=open");
    for (told, found, ends) in
        [("done", "failed", "failed"), ("failed", "done", "done"), ("done", "failed", "done")]
    {
        let claimed = effect(&agent.evaluate(&pay()));
        let path = format!("/v1/effects/{claimed}/outcome");
        let (said, against) =
            (json!({"status": told, "reference": "a"}), json!({"status": found, "reference": "p"}));
        agent.post(&path, &said).expect(200);
        let disputed = point.report(&claimed, &against).expect(200);
        assert_eq!(disputed["status"], "unknown", "{disputed}");
        let receipt =
            member.get(&format!("/v1/receipts/{}", disputed["receipt"]["id"].as_str().unwrap())).expect(200);
        assert_eq!(
            (&receipt["input"]["said"], &receipt["input"]["contradicts"], &receipt["output"]["status"]),
            (&json!(found), &json!(told), &json!("unknown")),
            "{receipt}"
        );
        // Both have said their word: the same again is known, any other comes too late.
        assert_eq!(point.report(&claimed, &against).expect(200)["receipt"], Value::Null);
        point.report(&claimed, &json!({"status": told})).expect_problem(409);
        point.report(&claimed, &json!({"status": "unknown"})).expect_problem(409);
        agent.post(&path, &said).expect_problem(409);
        let items = open();
        assert_eq!((items.len(), &items[0]["effect"]), (1, &json!(claimed)), "{items:?}");
        let resolve = format!("/v1/decisions/{}/resolve", items[0]["id"].as_str().unwrap());
        member.post(&resolve, &json!({"status": ends})).expect(200);
        assert!(open().is_empty());
        // What a person ended stays.
        point.report(&claimed, &json!({"status": told})).expect_problem(409);
        point.report(&claimed, &json!({"status": found})).expect_problem(409);
    }
    // What a point ended neither it nor the agent contradicts.
    let claimed = effect(&agent.evaluate(&pay()));
    point.report(&claimed, &json!({"status": "done"})).expect(200);
    agent.post(&format!("/v1/effects/{claimed}/outcome"), &json!({"status": "failed"})).expect_problem(409);
    point.report(&claimed, &json!({"status": "failed"})).expect_problem(409);
    check_verifies(&export(&member, &agent.credential));
    check_whole(server.database());
}

fn what_two_points_tell_differently_is_a_question_to_the_person(db: Db) {
    let server = Server::start(db);
    let (member, agent, till) = paying(&server);
    let entry = json!({"title": "pay", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let once = json!({"id": "A", "intent": "pay.out", "effect": "allow", "otherwise": "refuse",
        "limits": [{"count": 1, "per": "30 days"}]});
    member.put_mandate(&json!({"scopes": ["action:request"], "clauses": [once]}));
    let bank = Point::new(&server.operator(), "bank");
    let open = || member.all("/v1/decisions?status=open");
    let resolve = |ends: &str| {
        let items = open();
        assert_eq!((items.len(), &items[0]["kind"]), (1, &json!("effect")), "{items:?}");
        let path = format!("/v1/decisions/{}/resolve", items[0]["id"].as_str().unwrap());
        member.post(&path, &json!({"status": ends})).expect(200);
    };
    for (told, found) in [("failed", "done"), ("done", "failed")] {
        let claimed = effect(&agent.evaluate(&pay()));
        let (said, against) = (json!({"status": told}), json!({"status": found}));
        till.report(&claimed, &said).expect(200);
        assert_eq!(bank.report(&claimed, &said).expect(200)["receipt"], Value::Null, "the same by another");
        let disputed = bank.report(&claimed, &against).expect(200);
        assert_eq!(disputed["status"], "unknown", "{disputed}");
        let receipt =
            member.get(&format!("/v1/receipts/{}", disputed["receipt"]["id"].as_str().unwrap())).expect(200);
        assert_eq!(
            (&receipt["input"]["enforcement_point"], &receipt["input"]["contradicts"]),
            (&json!(bank.id), &json!(told)),
            "{receipt}"
        );
        let next = agent.evaluate(&pay()).expect_outcome("refuse");
        assert_eq!(next["clauses"], json!(["A"]), "it has its place in the limit, again or still: {next}");
        // Both have said their word: the same again is known, any other comes too late, from whichever point.
        assert_eq!(bank.report(&claimed, &against).expect(200)["receipt"], Value::Null);
        for point in [&till, &bank] {
            point.report(&claimed, &said).expect_problem(409);
            point.report(&claimed, &json!({"status": "unknown"})).expect_problem(409);
        }
        till.report(&claimed, &against).expect_problem(409);
        resolve("failed");
        till.report(&claimed, &json!({"status": "done"})).expect_problem(409);
        bank.report(&claimed, &json!({"status": "done"})).expect_problem(409);
    }
    check_verifies(&export(&member, &agent.credential));
    check_whole(server.database());
}

fn what_was_given_back_and_happened_after_all_counts_in_its_own_time(db: Db) {
    let server = Server::start(db);
    let (member, agent, point) = paying(&server);
    let entry = json!({"title": "pay", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let clause = |limits: Value| json!({"id": "A", "intent": "pay.out", "effect": "allow", "limits": limits});
    let per = |count: u8, hours: &str| json!({"count": count, "per": hours});
    member.put_mandate(&json!({
        "scopes": ["action:request"], "clauses": [clause(json!([per(3, "30 days"), per(2, "2 hours")]))],
    }));
    let ask = || agent.evaluate(&pay());
    let failed = |claimed: &str| {
        agent.post(&format!("/v1/effects/{claimed}/outcome"), &json!({"status": "failed"})).expect(200);
    };
    // Given back at the end of its book, and with another one after it.
    let first = effect(&ask());
    failed(&first);
    let second = effect(&ask());
    let third = effect(&ask());
    ask().expect_outcome("escalate");
    failed(&second);
    for claimed in [&first, &second] {
        assert_eq!(point.report(claimed, &json!({"status": "done"})).expect(200)["status"], "unknown");
    }
    ask().expect_outcome("escalate");
    // Three hours later those three stand in no window of two hours, and in that of thirty days all of them.
    for table in ["books", "books_forgotten"] {
        server.database().connect().execute(&format!("UPDATE {table} SET at = at - 10800000"));
    }
    let over = ask().expect_outcome("escalate");
    assert!(over["reason"].as_str().unwrap().contains("used 3 times, 3 per 30 days"), "{over}");
    let question = |claimed: &str| {
        let items = member.all("/v1/decisions?status=open");
        let item = items.into_iter().find(|item| item["effect"] == claimed).unwrap();
        format!("/v1/decisions/{}/resolve", item["id"].as_str().unwrap())
    };
    member.post(&question(&first), &json!({"status": "failed"})).expect(200);
    let fourth = effect(&ask());
    ask().expect_outcome("escalate");
    for claimed in [&third, &fourth] {
        point.report(claimed, &json!({"status": "done"})).expect(200);
    }
    member.post(&question(&second), &json!({"status": "done"})).expect(200);
    ask().expect_outcome("escalate");
    check_whole(server.database());
}
