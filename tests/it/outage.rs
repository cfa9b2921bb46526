//! No record, no answer: what callers get while the log cannot be written, and what the log says afterwards.

use crate::agent::Agent;
use crate::client::{Reply, in_parallel};
use crate::credential::renew;
use crate::database::{Db, Store, both};
use crate::documents::{refund, small_refunds};
use crate::log::{check_verifies, check_whole, export};
use crate::server::{Server, TENANT, eventually};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

both!(
    a_locked_database_refuses_and_the_gap_is_recorded,
    a_gap_is_recorded_by_the_next_process_after_a_crash,
    a_token_that_cannot_be_renewed_now_is_refused_in_the_words_of_oauth,
);

/// Holds the lock that every batch needs, until told to stop.
pub(crate) fn locked<T>(store: &Store, during: impl FnOnce() -> T) -> T {
    let (lock, unlock) = match store {
        Store::Sqlite(_) => ("BEGIN EXCLUSIVE", "ROLLBACK"),
        Store::Postgres { .. } => ("BEGIN; LOCK TABLE heads IN EXCLUSIVE MODE", "ROLLBACK"),
    };
    std::thread::scope(|scope| {
        let (release, released) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        scope.spawn(move || {
            let mut connection = store.connect();
            connection.execute(lock);
            begun.send(()).unwrap();
            let _ = released.recv();
            connection.execute(unlock);
        });
        has_begun.recv().unwrap();
        let result = during();
        drop(release);
        result
    })
}

/// The answer while nothing can be recorded.
#[track_caller]
pub(crate) fn check_refused(reply: &Reply) {
    let problem = reply.expect_problem(503);
    assert_eq!(problem["outcome"], "refuse", "{problem}");
    assert!(problem["type"].as_str().unwrap().ends_with("log-unavailable"), "{problem}");
    assert!(reply.header("retry-after").is_some(), "{problem}");
    assert!(problem["receipt"].is_null());
}

/// How many calls the log says went without a record.
pub(crate) fn recorded_gap(store: &Store) -> u64 {
    let sql = format!("SELECT output AS text FROM receipts WHERE tenant = '{TENANT}' AND kind = 'log.gap'");
    let outputs = store.connect().texts(&sql);
    outputs
        .iter()
        .map(|output| serde_json::from_str::<Value>(output).unwrap()["calls"].as_u64().unwrap())
        .sum()
}

fn a_locked_database_refuses_and_the_gap_is_recorded(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let (refused, slowest) = locked(server.database(), || {
        let since = Instant::now();
        let is_over = AtomicBool::new(false);
        let answers = in_parallel(4, |_| {
            let mut refused = 0;
            let mut slowest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                check_refused(&agent.evaluate(&refund("2.00")));
                slowest = slowest.max(asked.elapsed());
                refused += 1;
                std::thread::sleep(Duration::from_millis(50));
                if since.elapsed() > Duration::from_secs(4) {
                    is_over.store(true, Ordering::Relaxed);
                }
            }
            (refused, slowest)
        });
        let slowest = answers.iter().map(|(_, slowest)| *slowest).max().unwrap();
        (answers.iter().map(|(refused, _)| refused).sum::<u64>(), slowest)
    });
    assert!(refused > 4, "{refused}");
    assert!(slowest < Duration::from_secs(4), "the gate's window is 2 s, a caller waited {slowest:?}");
    eventually("readiness is back", || server.client().get("/readyz").status == 200);
    agent.evaluate(&refund("3.00")).expect_outcome("allow");
    eventually("the gap is in the log", || recorded_gap(server.database()) >= refused);
    assert_eq!(recorded_gap(server.database()), refused, "each refused call is counted, and no other");
    let found = server.database().connect().number(&format!(
        "SELECT COUNT(*) FROM receipts WHERE tenant = '{TENANT}' AND kind = 'gate.evaluate' AND outcome = 'allow'"
    ));
    assert!(found >= 2);
    check_verifies(&export(&member, &agent.credential));
    check_whole(server.database());
}

fn a_gap_is_recorded_by_the_next_process_after_a_crash(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let store = server.database();
    locked(store, || {
        check_refused(&agent.evaluate(&refund("2.00")));
        std::thread::sleep(Duration::from_millis(1200));
        check_refused(&agent.evaluate(&refund("2.00")));
    });
    server.kill();
    server.serve();
    eventually("the gate answers again", || agent.evaluate(&refund("3.00")).status == 200);
    eventually("the gap is in the log", || recorded_gap(server.database()) >= 1);
    check_whole(server.database());
}

fn a_token_that_cannot_be_renewed_now_is_refused_in_the_words_of_oauth(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let refused = locked(server.database(), || renew(&server.client(), &agent.credential, &agent.secret));
    let error = refused.expect(503);
    assert_eq!(error["error"], "temporarily_unavailable", "{error}");
    assert!(error["error_description"].is_string(), "{error}");
    assert!(refused.header("retry-after").is_some(), "{error}");
    eventually("it is renewed again", || {
        renew(&server.client(), &agent.credential, &agent.secret).status == 200
    });
}
