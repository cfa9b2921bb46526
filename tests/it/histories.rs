//! Random histories of one tenant, on both databases and on a model of the service: the same answers, step by step.
//!
//! The model keeps its rows in vectors and asks the engine what the service asks it; what it cannot know (ids, hashes,
//! receipts) is not compared. Time does not pass by itself here: a leap moves what is written back, in the databases,
//! and the clock forward, in the model.

use crate::agent::Agent;
use crate::client::{Client, Reply, in_parallel};
use crate::database::Db;
use crate::documents::ACTING_SCOPES;
use crate::server::{Server, TENANT, eventually};
use crate::shell::act::{Said, Taken};
use crate::shell::call::{Answer, Call};
use crate::shell::setting::{Setting, Terms, refund, refunds};
use crate::shell::world::{Decision, DecisionKind, World};
use procura::domain::{DecisionStatus, Duration, EffectStatus, Outcome, Scope, Timestamp};
use procura::engine::effective_scopes;
use procura::engine::step::{QueueUse, Word, Yes};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

/// How many histories one run tries, and how many steps the longest has.
const HISTORIES: u32 = 24;
const LONGEST: usize = 20;
/// How often a failing history may be tried shorter.
const MOST_TRIES_TO_SHRINK: u32 = 60;
/// Repeats one run: the seed that another printed, in hexadecimal.
const SEED: &str = "PROCURA_TEST_SEED";
/// Past every decision, approval and report.
const LEAP: Duration = Duration::hours(25);
/// The body that two people are asked about.
const PAYOUT: usize = 4;

static SETTING: LazyLock<Setting> = LazyLock::new(|| Setting::read(&terms()));

/// One thing that somebody does.
#[derive(Clone, Debug)]
enum Event {
    /// The agent asks.
    Ask(Call),
    /// The principal puts one of the documents live.
    Put(usize),
    /// The principal, or the second person, says yes.
    Yes { person: usize, decision: usize },
    /// The principal says no.
    No(usize),
    /// The agent reports.
    Report { effect: usize, status: EffectStatus },
    /// The principal says how an effect ended.
    Resolve { decision: usize, status: EffectStatus },
    /// The principal revokes the credential.
    Revoke,
    /// A day and an hour pass.
    Leap,
}

/// What came of it, as far as both sides can know it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Told {
    status: u16,
    outcome: Option<String>,
    /// Empty where the answer is an earlier one.
    clauses: Vec<String>,
    change: Option<String>,
    has_effect: bool,
    replayed: bool,
}

/// The model, and what it said to the last event.
#[derive(Clone, Debug)]
struct Reference {
    world: World,
    told: Told,
    /// Whether the last answer opened a decision.
    opened: bool,
}

fn mandate(ceiling: &str, refused: &[&str]) -> Value {
    let mut clauses = vec![
        json!({"id": "M-001", "intent": "payments.refund", "effect": "allow",
            "when": {"amount": {"at_most": {"value": ceiling, "currency": "EUR"}}},
            "limits": [{"total": {"value": "250.00", "currency": "EUR"}, "per": "30 hours"},
                {"count": 2, "per": "30 hours", "each": "resource"}]}),
        json!({"id": "M-002", "intent": "notes.write", "effect": "allow", "otherwise": "refuse",
            "limits": [{"count": 2, "per": "50 hours"}]}),
        json!({"id": "M-003", "intent": "payouts.send", "effect": "escalate",
            "approvals": {"count": 2, "roles": ["member", "compliance"]}}),
    ];
    for resource in refused {
        clauses.push(json!({"id": "M-900", "intent": "payments.*", "effect": "refuse",
            "when": {"resource": {"in": [resource]}}}));
    }
    json!({"scopes": ACTING_SCOPES, "unlisted": "escalate", "clauses": clauses})
}

fn terms() -> Terms {
    let mut stopped = mandate("100.00", &[]);
    stopped["scopes"] = json!([]);
    let payout = json!({"intent": "payouts.send", "arguments": {"amount": "500.00", "order": "order:9"}});
    Terms {
        mandates: vec![
            mandate("100.00", &[]),
            mandate("50.00", &[]),
            mandate("100.00", &["order:2"]),
            mandate("500.00", &[]),
            stopped,
        ],
        policy: json!({"clauses": []}),
        credential: json!([{"id": "C-001", "intent": "account.*", "effect": "refuse"}]),
        catalogue: vec![("payments.refund", refunds("agent")), ("payouts.send", refunds("attested"))],
        bodies: vec![
            refund("80.00", "order:1"),
            refund("90.00", "order:2"),
            refund("120.00", "order:1"),
            json!({"intent": "notes.write", "resource": "note:1"}),
            payout,
            json!({"intent": "account.close"}),
            json!({"intent": "unheard.of"}),
        ],
    }
}

impl ReferenceStateMachine for Reference {
    type State = Self;
    type Transition = Event;

    fn init_state() -> BoxedStrategy<Self> {
        let now = "2026-11-30T10:00:00Z".parse::<Timestamp>().unwrap();
        Just(Self { world: World::new(now), told: Told::default(), opened: false }).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Event> {
        let world = &state.world;
        let bodies = SETTING.bodies.len();
        let ask = |names: BoxedStrategy<Option<usize>>| {
            let key = prop_oneof![2 => Just(None), 3 => (0..3_usize).prop_map(Some)];
            (0..bodies, key, names).prop_map(|(body, key, names)| Event::Ask(Call { body, key, names }))
        };
        let mut events = vec![
            (24, ask(Just(None).boxed()).boxed()),
            (6, (0..SETTING.mandates.len()).prop_map(Event::Put).boxed()),
            (1, Just(Event::Leap).boxed()),
        ];
        if !world.revoked && world.log.len() > 8 {
            events.push((1, Just(Event::Revoke).boxed()));
        }
        let actions: Vec<(usize, usize)> = world.decisions.iter().enumerate().filter_map(action).collect();
        if !actions.is_empty() {
            let key = prop_oneof![1 => Just(None), 1 => (0..3_usize).prop_map(Some)];
            let right = (prop::sample::select(actions.clone()), key)
                .prop_map(|((decision, body), key)| Event::Ask(Call { body, key, names: Some(decision) }));
            let some = prop::sample::select(actions);
            let any_body = some.clone().prop_map(|(decision, _)| Some(decision)).boxed();
            let yes = (0..2_usize, some.clone())
                .prop_map(|(person, (decision, _))| Event::Yes { person, decision });
            events.extend([
                (10, right.boxed()),
                (2, ask(any_body).boxed()),
                (14, yes.boxed()),
                (3, some.prop_map(|(decision, _)| Event::No(decision)).boxed()),
            ]);
        }
        if !world.effects.is_empty() {
            let endings = [EffectStatus::Done, EffectStatus::Failed, EffectStatus::Unknown];
            let report = (0..world.effects.len(), prop::sample::select(endings.to_vec()))
                .prop_map(|(effect, status)| Event::Report { effect, status });
            events.push((10, report.boxed()));
        }
        let doubts: Vec<usize> = (0..world.decisions.len())
            .filter(|decision| matches!(world.decisions[*decision].kind, DecisionKind::Effect(_)))
            .collect();
        if !doubts.is_empty() {
            let endings = vec![EffectStatus::Done, EffectStatus::Failed];
            let resolve = (prop::sample::select(doubts), prop::sample::select(endings))
                .prop_map(|(decision, status)| Event::Resolve { decision, status });
            events.push((6, resolve.boxed()));
        }
        prop::strategy::Union::new_weighted(events).boxed()
    }

    fn preconditions(state: &Self, event: &Event) -> bool {
        let world = &state.world;
        let kind = |decision: usize| world.decisions.get(decision).map(|row| row.kind);
        match event {
            Event::Ask(call) => {
                call.names.is_none_or(|decision| matches!(kind(decision), Some(DecisionKind::Action { .. })))
            }
            // The second person sees only what asks for their yes.
            Event::Yes { person, decision } => match kind(*decision) {
                Some(DecisionKind::Action { body }) => *person == 0 || body == PAYOUT,
                Some(DecisionKind::Effect(_)) | None => false,
            },
            Event::No(decision) => matches!(kind(*decision), Some(DecisionKind::Action { .. })),
            Event::Report { effect, .. } => *effect < world.effects.len(),
            Event::Resolve { decision, .. } => matches!(kind(*decision), Some(DecisionKind::Effect(_))),
            Event::Revoke => !world.revoked,
            Event::Put(_) | Event::Leap => true,
        }
    }

    fn apply(mut state: Self, event: &Event) -> Self {
        let world = &mut state.world;
        state.opened = false;
        let ok = |taken: Taken| match taken {
            Taken::Taken | Taken::Before => 200,
            Taken::Conflict => 409,
        };
        state.told = match event {
            Event::Ask(call) => {
                let (answer, _) = SETTING.commit(world, *call);
                state.opened = matches!(&answer, Answer::Decided(decided) if decided.queue == QueueUse::Open);
                Told::of(world, &answer)
            }
            Event::Put(document) => {
                let change = SETTING.put(world, *document);
                Told { status: 200, change: Some(change.as_str().to_owned()), ..Told::default() }
            }
            Event::Yes { person, decision } => {
                let asked = world.asked(&SETTING, *decision, None);
                let verdict = SETTING.weigh(world, *decision).unwrap();
                let status = match SETTING.yes(world, *decision, *person, &asked, &verdict) {
                    Yes::Completes | Yes::Counts { .. } => 200,
                    Yes::DoesNotCount => 403,
                    Yes::AlreadyGiven | Yes::Withdraws | Yes::Over(_) => 409,
                };
                Told { status, ..Told::default() }
            }
            Event::No(decision) => {
                let asked = world.asked(&SETTING, *decision, None);
                Told { status: ok(Setting::no(world, *decision, &asked)), ..Told::default() }
            }
            Event::Report { .. } if world.revoked => Told { status: 401, ..Told::default() },
            // Whoever switched the scope off stopped its reports too.
            Event::Report { .. } if is_stopped(world) => Told { status: 403, ..Told::default() },
            Event::Report { effect, status } => {
                let said = Said { word: Word::Agent, status: *status };
                Told { status: ok(SETTING.report(world, *effect, said)), ..Told::default() }
            }
            Event::Resolve { decision, status } => {
                let said = Said { word: Word::Person, status: *status };
                let taken = match (world.decisions[*decision].status, world.decisions[*decision].kind) {
                    (DecisionStatus::Open, DecisionKind::Effect(effect)) => {
                        SETTING.report(world, effect, said)
                    }
                    (_, DecisionKind::Effect(_) | DecisionKind::Action { .. }) => Taken::Conflict,
                };
                Told { status: ok(taken), ..Told::default() }
            }
            Event::Revoke => {
                Setting::revoke(world);
                Told { status: 200, ..Told::default() }
            }
            Event::Leap => {
                world.now = world.now.plus(LEAP);
                for decision in 0..world.decisions.len() {
                    if matches!(world.decisions[decision].kind, DecisionKind::Action { .. }) {
                        SETTING.expire(world, decision);
                    }
                }
                for effect in 0..world.effects.len() {
                    SETTING.overdue(world, effect);
                }
                Told { status: 200, ..Told::default() }
            }
        };
        state
    }
}

/// Whether the live mandate stops the agent altogether.
fn is_stopped(world: &World) -> bool {
    let live = &SETTING.mandates[world.mandate[world.version() - 1]];
    !effective_scopes(SETTING.scopes, live).contains(Scope::ActionRequest)
}

fn action((place, row): (usize, &Decision)) -> Option<(usize, usize)> {
    match row.kind {
        DecisionKind::Action { body } => Some((place, body)),
        DecisionKind::Effect(_) => None,
    }
}

impl Told {
    /// What the model answers.
    fn of(world: &World, answer: &Answer) -> Self {
        let outcome = |outcome: Outcome| Some(outcome.as_str().to_owned());
        match answer {
            Answer::Decided(decided) => Self {
                status: 200,
                outcome: outcome(decided.outcome),
                clauses: decided.clauses.clone(),
                has_effect: world.effects.last().is_some_and(|effect| effect.place + 1 == world.log.len()),
                ..Self::default()
            },
            Answer::Again { first } => Self {
                status: 200,
                outcome: world.answered(*first).0.and_then(outcome),
                has_effect: world.effects.iter().any(|effect| effect.place == *first),
                replayed: true,
                ..Self::default()
            },
            Answer::NotAgain { clause, .. } => Self {
                status: 200,
                outcome: outcome(Outcome::Refuse),
                clauses: vec![(*clause).to_owned()],
                has_effect: *clause == "effect.unsettled",
                ..Self::default()
            },
            Answer::KeyReused => Self { status: 422, ..Self::default() },
            Answer::Dead => Self { status: 401, ..Self::default() },
        }
    }

    /// Counts what was tried, so that a run shows what it was about.
    fn count(&self, event: &Event, tally: &mut BTreeMap<String, usize>) {
        let tried = match event {
            Event::Ask(Call { names: Some(_), .. }) => "ask with a decision",
            Event::Ask(Call { names: None, .. }) => "ask",
            Event::Put(_) => "put",
            Event::Yes { .. } => "yes",
            Event::No(_) => "no",
            Event::Report { .. } => "report",
            Event::Resolve { .. } => "resolve",
            Event::Revoke => "revoke",
            Event::Leap => "leap",
        };
        let said = self.outcome.clone().unwrap_or_else(|| self.status.to_string());
        let replayed = if self.replayed { " again" } else { "" };
        *tally.entry(format!("{tried}: {said}{replayed}")).or_default() += 1;
    }

    /// What a server answered to a call.
    fn by(reply: &Reply) -> Self {
        let replayed = reply.header("idempotency-replayed") == Some("true");
        let clauses = reply.json["clauses"].as_array().filter(|_| !replayed);
        let clause = |clause: &Value| clause.as_str().unwrap().to_owned();
        Self {
            status: reply.status,
            outcome: reply.json["outcome"].as_str().filter(|_| reply.status == 200).map(str::to_owned),
            clauses: clauses.map(|clauses| clauses.iter().map(clause).collect()).unwrap_or_default(),
            change: None,
            has_effect: reply.json["effect"]["id"].is_string(),
            replayed,
        }
    }
}

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
