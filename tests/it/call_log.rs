//! The call log: what has no leaf of its own is counted exactly, and found by whom it concerns.

use crate::agent::Agent;
use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, small_refunds};
use crate::log::{check_verifies, export, size};
use crate::outage::locked;
use crate::server::{Server, TENANT, eventually};
use serde_json::json;
use std::time::{Duration, Instant};

both!(
    a_flood_of_refused_calls_is_counted_exactly_and_does_not_grow_the_tree,
    calls_while_the_log_is_closed_are_counted_when_it_opens,
    calls_with_an_expired_or_revoked_token_stand_in_the_credentials_log,
    calls_are_found_by_what_they_were,
    one_credentials_calls_come_newest_first_page_after_page,
    a_person_sees_their_own_calls_and_compliance_the_tenants,
);

fn a_flood_of_refused_calls_is_counted_exactly_and_does_not_grow_the_tree(db: Db) {
    const FLOOD: usize = 1200;
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::of_kind(&member, "reader", "acting", &["mandate:read"]);
    let before = size(&server);
    in_parallel(6, |_| {
        for _ in 0..FLOOD / 6 {
            agent.evaluate(&refund("1.00")).expect_problem(403);
        }
    });
    let counted = format!(
        "SELECT COALESCE(SUM(count), 0) FROM access_minutes WHERE tenant = '{TENANT}' AND credential = '{}'",
        agent.credential
    );
    let mut connection = server.database().connect();
    eventually("each refused call is counted", || {
        connection.number(&counted) >= i64::try_from(FLOOD).unwrap()
    });
    assert_eq!(connection.number(&counted), i64::try_from(FLOOD).unwrap(), "counted exactly");
    let listed = connection.number(&format!(
        "SELECT COUNT(*) FROM accesses WHERE tenant = '{TENANT}' AND credential = '{}'",
        agent.credential
    ));
    assert!(listed > 0 && listed <= 300, "{listed} rows for a flood");
    let grown = size(&server) - before;
    assert!(grown <= 4, "the tree grew by {grown} leaves");
}

fn calls_while_the_log_is_closed_are_counted_when_it_opens(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "reader");
    let made = locked(server.database(), || {
        let since = Instant::now();
        let calls = in_parallel(4, |_| {
            let mut calls = 0;
            while calls < 60 || since.elapsed() < Duration::from_millis(1500) {
                agent.get("/v1/mandate").expect(200);
                calls += 1;
            }
            calls
        });
        calls.iter().sum::<i64>()
    });
    let sum = |column: &str| {
        let sql = format!(
            "SELECT COALESCE(SUM({column}), 0) FROM access_minutes WHERE credential = '{}'",
            agent.credential
        );
        server.database().connect().number(&sql)
    };
    eventually("each is counted", || sum("count") >= made);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(sum("count"), made, "counted exactly, also by batches that failed");
    let listed = format!("SELECT COUNT(*) FROM accesses WHERE credential = '{}'", agent.credential);
    let listed = server.database().connect().number(&listed);
    assert_eq!(listed, sum("listed"));
    assert!((100..=200).contains(&listed), "a hundred a minute are listed: {listed} of {made}");
}

fn calls_with_an_expired_or_revoked_token_stand_in_the_credentials_log(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let revoked = Agent::new(&member, "runner");
    let short = json!({"label": "short", "scopes": ACTING_SCOPES, "expires_in": 1});
    let expired = Agent::with_credential(&member, &revoked.id, &short);
    member.delete(&format!("/v1/credentials/{}", revoked.credential)).expect(200);
    std::thread::sleep(Duration::from_millis(1200));
    for dead in [&revoked, &expired] {
        dead.evaluate(&refund("1.00")).expect_problem(401);
        dead.get("/v1/mandate").expect_problem(401);
        eventually("both refused calls are listed", || {
            let calls = member.all(&format!("/v1/credentials/{}/calls", dead.credential));
            calls.iter().filter(|call| call["status"] == 401).count() == 2
        });
    }
}

fn calls_are_found_by_what_they_were(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let (one, two) = (Agent::new(&member, "one"), Agent::new(&member, "two"));
    for euros in ["1.00", "2.00", "500.00"] {
        one.evaluate(&refund(euros)).expect(200);
    }
    two.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");
    let count = |query: &str| {
        let calls = member.all(&format!("/v1/calls?{query}"));
        calls.iter().filter(|call| call["kind"] == "gate.evaluate").count()
    };
    assert_eq!(count(""), 4);
    assert_eq!(count(&format!("credential={}", one.credential)), 3);
    assert_eq!(count(&format!("agent={}", two.id)), 1);
    assert_eq!(count("outcome=allow"), 2);
    assert_eq!(count("outcome=refuse"), 1);
    assert_eq!(count("intent=payments.refund"), 3);
    assert_eq!(count("outcome=allow&intent=account.close"), 0);
    assert_eq!(count("from=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z"), 0);
    assert_eq!(count("from=2020-01-01T00:00:00Z"), 4);
    let misspelt = member.get("/v1/calls?outcom=allow");
    assert!(matches!(misspelt.status, 400 | 422), "{}", misspelt.text);
    let wrong = member.get("/v1/calls?outcome=perhaps");
    assert!(matches!(wrong.status, 400 | 422), "{}", wrong.text);
}

fn one_credentials_calls_come_newest_first_page_after_page(db: Db) {
    const CALLS: u64 = 150;
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let (agent, other) = (Agent::new(&member, "runner"), Agent::new(&member, "other"));
    in_parallel(6, |_| {
        for _ in 0..CALLS / 6 {
            agent.evaluate(&refund("1.00")).expect(200);
        }
        other.evaluate(&refund("1.00")).expect(200);
    });
    let path = format!("/v1/credentials/{}/calls?kind=gate.evaluate&limit=40", agent.credential);
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = member.get(&format!("{path}{cursor}")).expect(200);
        found.extend(page["items"].as_array().unwrap().iter().map(|call| call["seq"].as_u64().unwrap()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, (0..CALLS).rev().collect::<Vec<_>>());
    check_verifies(&export(&member, &agent.credential));
    let table = member.get(&format!("/v1/credentials/{}/calls/export?format=csv", agent.credential));
    let seq: Vec<u64> = table
        .text
        .lines()
        .skip(1)
        // The last row is the manifest's.
        .filter(|line| !line.contains("end of export"))
        .map(|line| line.split(',').nth_back(3).and_then(|cell| cell.parse().ok()).unwrap())
        .collect();
    assert!(table.text.starts_with("at,receipt,kind,"), "{}", table.text);
    assert_eq!(seq, (0..CALLS).collect::<Vec<_>>(), "a row a receipt, in the chain's order");
}

fn a_person_sees_their_own_calls_and_compliance_the_tenants(db: Db) {
    let server = Server::start(db);
    let mine = server.member_with("m@example.test", &small_refunds());
    let theirs = server.member_with("n@example.test", &small_refunds());
    let agent = Agent::new(&mine, "runner");
    let receipt = agent.evaluate(&refund("1.00")).expect_outcome("allow")["receipt"]["id"].clone();
    let path = format!("/v1/receipts/{}", receipt.as_str().unwrap());
    let calls = format!("/v1/credentials/{}/calls", agent.credential);
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    for allowed in [&mine, &compliance] {
        allowed.get(&path).expect(200);
        assert!(!allowed.all(&calls).is_empty());
        check_verifies(&export(allowed, &agent.credential));
    }
    assert_eq!(theirs.get(&path).status, 404);
    assert_eq!(theirs.get(&calls).status, 404);
    assert_eq!(theirs.get(&format!("{calls}/export?format=jsonl")).status, 404);
    assert!(theirs.all("/v1/calls").iter().all(|call| call["credential"] != *agent.credential));
}
