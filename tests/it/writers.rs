//! Several writers of one log: servers on one PostgreSQL database, or callers of one server.

use crate::agent::Agent;
use crate::client::in_parallel;
use crate::database::Db;
use crate::documents::{refund, refunds_up_to, small_refunds};
use crate::log::{check_verifies, check_whole, export, lines};
use crate::server::Server;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};

crate::database::both!(
    the_same_log_from_four_concurrent_writers_has_no_fork,
    no_answer_uses_a_mandate_older_than_a_narrowing_already_answered,
);

const WRITERS: usize = 4;
const CALLS: usize = 40;

/// The servers that write: four on PostgreSQL, one on SQLite, which has room for one.
fn nodes(db: Db) -> (Server, Vec<Server>) {
    let first = Server::start(db);
    let more = match db {
        Db::Sqlite => Vec::new(),
        Db::Postgres => (1..WRITERS).map(|_| first.another_node()).collect(),
    };
    (first, more)
}

fn bases(first: &Server, more: &[Server]) -> Vec<String> {
    let all: Vec<_> = std::iter::once(first).chain(more).map(Server::base).collect();
    (0..WRITERS).map(|writer| all[writer % all.len()].clone()).collect()
}

fn the_same_log_from_four_concurrent_writers_has_no_fork(db: Db) {
    let (first, more) = nodes(db);
    let member = first.member_with("m@example.test", &small_refunds());
    let shared = Agent::new(&member, "shared");
    let own: Vec<_> = (0..WRITERS).map(|writer| Agent::new(&member, &format!("own {writer}"))).collect();
    let bases = bases(&first, &more);
    // Two callers a writer: one on a chain that all writers extend, one on a chain of its own.
    let answered = in_parallel(WRITERS * 2, |worker| {
        let writer = worker % WRITERS;
        let agent = if worker < WRITERS { &shared } else { &own[writer] }.at(&bases[writer]);
        (0..CALLS)
            .map(|call| {
                let answer = agent.evaluate(&refund(&format!("{}.00", call + 1))).expect_outcome("allow");
                answer["receipt"].clone()
            })
            .collect::<Vec<Value>>()
    })
    .concat();

    let places: BTreeSet<_> =
        answered.iter().map(|receipt| receipt["merkle"]["index"].as_u64().unwrap()).collect();
    assert_eq!(places.len(), answered.len(), "two answers were given one place in the log");
    let links: BTreeSet<_> =
        answered.iter().map(|receipt| (receipt["chain"].to_string(), receipt["seq"].as_u64())).collect();
    assert_eq!(links.len(), answered.len(), "two answers were given one place in a chain");
    let mut roots = BTreeMap::new();
    for receipt in &answered {
        let merkle = &receipt["merkle"];
        let known = roots.entry(merkle["size"].as_u64()).or_insert(&merkle["root"]);
        assert_eq!(*known, &merkle["root"], "two heads of one size");
    }
    check_verifies(&lines(&answered));
    let length = check_whole(first.database());
    assert!(length >= answered.len());
    for agent in own.iter().chain([&shared]) {
        let text = export(&member, &agent.credential);
        check_verifies(&text);
        for receipt in answered.iter().filter(|receipt| receipt["chain"] == *agent.credential) {
            assert!(
                text.contains(receipt["hash"].as_str().unwrap()),
                "{} is not in the export",
                receipt["id"]
            );
        }
    }
}

/// Ends the others when its holder ends, however that is.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn no_answer_uses_a_mandate_older_than_a_narrowing_already_answered(db: Db) {
    let (first, more) = nodes(db);
    let member = first.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let bases = bases(&first, &more);
    let live = AtomicU64::new(2);
    let done = AtomicBool::new(false);
    let counts = in_parallel(WRITERS + 1, |worker| {
        if worker == WRITERS {
            let _stop = Stop(&done);
            for ceiling in (50..70).rev() {
                let written = member
                    .at(&bases[ceiling % WRITERS])
                    .put_mandate(&refunds_up_to(&format!("{ceiling}.00")));
                live.store(written["version"].as_u64().unwrap(), SeqCst);
            }
            return 0;
        }
        let agent = agent.at(&bases[worker]);
        let mut calls = 0;
        while !done.load(SeqCst) {
            let least = live.load(SeqCst);
            let answer = agent
                .evaluate(&json!({"intent": "payments.refund", "amount": {"value": 40, "currency": "EUR"}}));
            let used = answer.expect_outcome("allow")["receipt"]["mandate_version"].as_u64().unwrap();
            assert!(used >= least, "version {used} was used after version {least} had been answered");
            calls += 1;
        }
        calls
    });
    assert!(counts.iter().sum::<i32>() > 20, "hardly anything ran beside the narrowings: {counts:?}");
    check_whole(first.database());
}
