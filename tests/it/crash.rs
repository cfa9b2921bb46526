//! `kill -9` at any moment: what was answered is there, and verifies.

use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::log::{check_verifies, check_whole, export, lines};
use crate::server::{Agent, Server, TENANT};
use serde_json::Value;
use std::time::Duration;

both!(every_answered_receipt_survives_kill_nine);

const KILLS: u64 = 20;
const CALLERS: usize = 6;

fn every_answered_receipt_survives_kill_nine(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agents: Vec<_> =
        (0..CALLERS).map(|number| Agent::new(&member, &format!("runner {number}"))).collect();
    let mut held: Vec<Value> = Vec::new();
    for round in 0..KILLS {
        let answered = std::thread::scope(|scope| {
            let callers = scope.spawn(|| in_parallel(CALLERS, |caller| call_until_gone(&agents[caller])));
            // A different moment of the batch each time.
            std::thread::sleep(Duration::from_millis(60 + 17 * (round * 7 % KILLS)));
            server.kill();
            callers.join().unwrap()
        });
        held.extend(answered.concat());
        server.serve();
    }
    assert!(held.len() > 200, "only {} calls were answered in {KILLS} rounds", held.len());
    let member = server.sign_in(TENANT, "m@example.test");
    for agent in &agents {
        let text = export(&member, &agent.credential);
        check_verifies(&text);
        for receipt in held.iter().filter(|receipt| receipt["credential"] == *agent.credential) {
            let hash = receipt["hash"].as_str().unwrap();
            assert!(text.contains(hash), "the answered receipt {} is gone", receipt["id"]);
        }
    }
    check_verifies(&lines(&held));
    check_whole(server.database());
    let one = held.last().unwrap()["id"].as_str().unwrap();
    member.get(&format!("/v1/receipts/{one}")).expect(200);
}

/// Calls as fast as it can; the receipts of the calls that were answered.
fn call_until_gone(agent: &Agent) -> Vec<Value> {
    let mut receipts = Vec::new();
    while let Ok(reply) = agent.try_evaluate(&refund("1.00")) {
        if reply.status == 200 {
            receipts.push(reply.json["receipt"].clone());
        }
    }
    receipts
}
