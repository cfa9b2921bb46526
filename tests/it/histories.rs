//! Random histories of one tenant, on both databases and on a model of the service: the same answers, step by step.
//!
//! The model keeps its rows in vectors and asks the engine what the service asks it; what it cannot know (ids, hashes,
//! receipts) is not compared. Time does not pass by itself here: a leap moves what is written back, in the databases,
//! and the clock forward, in the model.

use crate::agent::Agent;
use crate::client::{Client, in_parallel};
use crate::database::Db;
use crate::documents::ACTING_SCOPES;
use crate::reference::{Event, LEAP, Reference, Told, terms};
use crate::server::{Server, TENANT, eventually};
use crate::shell::call::Call;
use crate::shell::world::{Decision, DecisionKind};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many histories one run tries, and how many steps the longest has.
const HISTORIES: u32 = 24;
const LONGEST: usize = 20;
/// How often a failing history may be tried shorter.
const MOST_TRIES_TO_SHRINK: u32 = 60;
/// Repeats one run: the seed that another printed, in hexadecimal.
const SEED: &str = "PROCURA_TEST_SEED";

/// One server with the people of one history.
struct Side<'a> {
    server: &'a Server,
    /// The principal, and who else says yes.
    people: [Client; 2],
    agent: Agent,
    /// By their place in the model; those about effects are looked up.
    decisions: Vec<Option<String>>,
    effects: Vec<String>,
}

impl<'a> Side<'a> {
    fn new(server: &'a Server, second: &Client) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let member = server.member(&format!("m{}@example.test", MADE.fetch_add(1, Ordering::Relaxed)));
        member.put_mandate(&terms().mandates[0]);
        let made = member.post("/v1/agents", &json!({"name": "runner", "kind": "acting"})).expect(201);
        let credential = json!({"label": "first", "scopes": ACTING_SCOPES, "clauses": terms().credential});
        let agent = Agent::with_credential(&member, made["id"].as_str().unwrap(), &credential);
        Self { server, people: [member, second.clone()], agent, decisions: Vec::new(), effects: Vec::new() }
    }

    /// Does what happens, and says what came of it; `reference` is the model afterwards.
    fn apply(&mut self, reference: &Reference, event: &Event) -> Told {
        let told = match event {
            Event::Ask(call) => self.ask(call, reference),
            Event::Put(document) => {
                let answer = self.people[0].put_mandate(&terms().mandates[*document]);
                let change = answer["change"].as_str().map(str::to_owned);
                Told { status: 200, change, ..Told::default() }
            }
            Event::Yes { person, decision } => {
                let id = self.decision(reference, *decision);
                Told { status: self.people[*person].approve(&id).status, ..Told::default() }
            }
            Event::No(decision) => {
                let path = format!("/v1/decisions/{}/decline", self.decision(reference, *decision));
                Told { status: self.people[0].post(&path, &json!({})).status, ..Told::default() }
            }
            Event::Report { effect, status } => {
                let path = format!("/v1/effects/{}/outcome", self.effects[*effect]);
                let reply = self.agent.post(&path, &json!({"status": status.as_str()}));
                Told { status: reply.status, ..Told::default() }
            }
            Event::Resolve { decision, status } => {
                let path = format!("/v1/decisions/{}/resolve", self.decision(reference, *decision));
                let reply = self.people[0].post(&path, &json!({"status": status.as_str()}));
                Told { status: reply.status, ..Told::default() }
            }
            Event::Revoke => {
                let path = format!("/v1/credentials/{}", self.agent.credential);
                Told { status: self.people[0].delete(&path).status, ..Told::default() }
            }
            Event::Leap => {
                self.leap();
                Told { status: 200, ..Told::default() }
            }
        };
        self.decisions.resize(reference.world.decisions.len(), None);
        told
    }

    fn ask(&mut self, call: &Call, reference: &Reference) -> Told {
        let mut body = terms().bodies[call.body].clone();
        if let Some(decision) = call.names {
            body["decision"] = json!(self.decision(reference, decision));
        }
        let reply = match call.key {
            Some(key) => self.agent.evaluate_once(&format!("k-{key}"), &body),
            None => self.agent.evaluate(&body),
        };
        if reference.opened {
            self.decisions.push(reply.json["decision"]["id"].as_str().map(str::to_owned));
        }
        if self.effects.len() < reference.world.effects.len() {
            self.effects.extend(reply.json["effect"]["id"].as_str().map(str::to_owned));
        }
        Told::by(&reply)
    }

    /// The id of a decision of the model.
    fn decision(&mut self, reference: &Reference, decision: usize) -> String {
        if let Some(id) = &self.decisions[decision] {
            return id.clone();
        }
        let DecisionKind::Effect(effect) = reference.world.decisions[decision].kind else {
            panic!("the answer named no decision");
        };
        let about = |item: &Value| item["effect"] == *self.effects[effect];
        let item = self.people[0].all("/v1/decisions").into_iter().find(about);
        let id = item.expect("an uncertain effect is in the queue")["id"].as_str().unwrap().to_owned();
        self.decisions[decision] = Some(id.clone());
        id
    }

    /// Moves what is written back, and waits until what is due was seen to.
    fn leap(&self) {
        let by = LEAP.whole_milliseconds();
        let mut connection = self.server.database().connect();
        for (table, columns) in [
            ("decisions", &["opened_at", "expires_at", "due_at", "decided_at", "approved_until"][..]),
            ("effects", &["claimed_at", "report_by", "due_at", "ended_at"]),
            ("idempotency_keys", &["answered_at", "expires_at"]),
            ("books", &["at", "released_at"]),
            ("books_forgotten", &["at"]),
        ] {
            let set: Vec<_> = columns.iter().map(|column| format!("{column} = {column} - {by}")).collect();
            connection.execute(&format!("UPDATE {table} SET {}", set.join(", ")));
        }
        let clock = "SELECT COALESCE(MAX(last_at), 0) FROM heads";
        let now = connection.number(clock);
        eventually("what is due was seen to", || {
            let due = |table: &str| format!("(SELECT COUNT(*) FROM {table} WHERE due_at <= {now})");
            connection.number(&format!("SELECT {} + {}", due("decisions"), due("effects"))) == 0
        });
    }

    /// Where everything stands, in the order of the model.
    fn stands(&mut self, reference: &Reference) -> Vec<String> {
        let queue = self.people[0].all("/v1/decisions");
        let status = |id: &str| {
            let item = queue.iter().find(|item| item["id"] == *id).expect("it is in the queue");
            item["status"].as_str().unwrap().to_owned()
        };
        (0..reference.world.decisions.len())
            .map(|decision| status(&self.decision(reference, decision)))
            .collect()
    }
}

/// A server on which histories are tried, and the second person there.
fn prepare(db: Db) -> (Server, Client) {
    let server = Server::start(db);
    let operator = server.operator();
    for (intent, entry) in terms().catalogue {
        operator.put(&format!("/v1/catalogue/{intent}"), &[], &entry).expect(200);
    }
    let second = server.person(TENANT, "second@example.test", &["compliance"]);
    (server, second)
}

fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    let number = match std::env::var(SEED) {
        Ok(text) => u64::from_str_radix(&text, 16).unwrap(),
        Err(_) => rand::random(),
    };
    eprintln!("{SEED}={number:016x}");
    seed[..8].copy_from_slice(&number.to_be_bytes());
    seed
}

#[test]
fn both_databases_answer_as_the_model_does() {
    let servers = in_parallel(2, |index| prepare([Db::Sqlite, Db::Postgres][index]));
    let config = Config {
        cases: HISTORIES,
        max_shrink_iters: MOST_TRIES_TO_SHRINK,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed()));
    let histories = Reference::sequential_strategy(LONGEST / 2..=LONGEST);
    let tally = Mutex::new(BTreeMap::new());
    let tried = runner.run(&histories, |(mut reference, events, seen)| {
        let mut sides: Vec<Side<'_>> =
            servers.iter().map(|(server, second)| Side::new(server, second)).collect();
        for event in &events {
            if let Some(seen) = &seen {
                seen.fetch_add(1, Ordering::SeqCst);
            }
            reference = Reference::apply(reference, event);
            reference.told.count(event, &mut tally.lock().unwrap());
            for (side, db) in sides.iter_mut().zip(["SQLite", "PostgreSQL"]) {
                let told = side.apply(&reference, event);
                prop_assert_eq!(&told, &reference.told, "{} to {:?} after {:?}", db, event, &events);
            }
        }
        let stand = |row: &Decision| row.status.as_str().to_owned();
        let expected: Vec<String> = reference.world.decisions.iter().map(stand).collect();
        for side in &mut sides {
            prop_assert_eq!(&side.stands(&reference), &expected, "the queue after {:?}", &events);
        }
        Ok(())
    });
    if let Err(error) = tried {
        panic!("{error}");
    }
    eprintln!("{:?}", tally.into_inner().unwrap());
}
