//! The model that random histories are told by, and what may happen in one.

use crate::client::Reply;
use crate::documents::ACTING_SCOPES;
use crate::shell::act::Heard;
use crate::shell::call::{Answer, Call};
use crate::shell::setting::{Setting, Terms, refund, refunds};
use crate::shell::world::{Decision, DecisionKind, Entry, World};
use procura::domain::{DecisionStatus, Duration, EffectStatus, Outcome, Timestamp};
use procura::engine::step::{QueueUse, Said, Word, Yes};
use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Past every decision, approval and report.
pub(crate) const LEAP: Duration = Duration::hours(25);
/// The body that two people are asked about.
const PAYOUT: usize = 4;

pub(crate) static SETTING: LazyLock<Setting> = LazyLock::new(|| Setting::read(&terms()));

/// One thing that somebody does.
#[derive(Clone, Debug)]
pub(crate) enum Event {
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
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) outcome: Option<String>,
    /// Empty where the answer is an earlier one.
    pub(crate) clauses: Vec<String>,
    pub(crate) change: Option<String>,
    pub(crate) has_effect: bool,
    pub(crate) replayed: bool,
}

/// The model, and what it said to the last event.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) world: World,
    pub(crate) told: Told,
    /// Whether the last answer opened a decision.
    pub(crate) opened: bool,
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

pub(crate) fn terms() -> Terms {
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
            (0..bodies, names).prop_flat_map(|(body, names)| call(body, names))
        };
        let mut events = vec![
            (20, ask(Just(None).boxed()).boxed()),
            (4, (0..SETTING.mandates.len()).prop_map(Event::Put).boxed()),
            (1, Just(Event::Leap).boxed()),
        ];
        if !world.revoked && world.log.len() > 8 {
            events.push((1, Just(Event::Revoke).boxed()));
        }
        let actions: Vec<(usize, usize)> = world.decisions.iter().enumerate().filter_map(action).collect();
        let status = |wanted: DecisionStatus| {
            let rows = actions.iter().copied();
            rows.filter(|(decision, _)| world.decisions[*decision].status == wanted).collect::<Vec<_>>()
        };
        let uses = |of: Vec<(usize, usize)>| {
            prop::sample::select(of).prop_flat_map(|(decision, body)| call(body, Some(decision)))
        };
        let says_yes = |of: Vec<(usize, usize)>| {
            (0..2_usize, prop::sample::select(of))
                .prop_map(|(person, (decision, _))| Event::Yes { person, decision })
        };
        let open = status(DecisionStatus::Open);
        if !open.is_empty() {
            events.push((14, says_yes(open).boxed()));
        }
        let approved = status(DecisionStatus::Approved);
        if !approved.is_empty() {
            events.push((14, uses(approved).boxed()));
        }
        if !actions.is_empty() {
            let some = prop::sample::select(actions.clone()).prop_map(|(decision, _)| decision);
            events.extend([
                (5, uses(actions.clone()).boxed()),
                (2, ask(some.clone().prop_map(Some).boxed()).boxed()),
                (3, says_yes(actions).boxed()),
                (3, some.prop_map(Event::No).boxed()),
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
        let ok = |taken: Heard| match taken {
            Heard::Taken | Heard::Before => 200,
            Heard::Conflict => 409,
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
                    Yes::AlreadyGiven | Yes::Anew | Yes::Withdraws | Yes::Over(_) => 409,
                };
                Told { status, ..Told::default() }
            }
            Event::No(decision) => {
                let asked = world.asked(&SETTING, *decision, None);
                Told { status: ok(Setting::no(world, *decision, &asked)), ..Told::default() }
            }
            Event::Report { .. } if world.revoked => Told { status: 401, ..Told::default() },
            // Whoever switched the scope off did not stop the agent from saying how things ended.
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
                    (_, DecisionKind::Effect(_) | DecisionKind::Action { .. }) => Heard::Conflict,
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

/// The place of the last answer in the log; what it ended stands after it.
fn last_answer(world: &World) -> Option<usize> {
    world.log.iter().rposition(|entry| matches!(entry, Entry::Answered { .. }))
}

/// A call, mostly under the key that others like it use.
fn call(body: usize, names: Option<usize>) -> impl Strategy<Value = Event> {
    let key = prop_oneof![2 => Just(None), 3 => Just(Some(body)), 1 => (0..7_usize).prop_map(Some)];
    key.prop_map(move |key| Event::Ask(Call { body, key, names }))
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
                has_effect: world
                    .effects
                    .last()
                    .is_some_and(|effect| Some(effect.place) == last_answer(world)),
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
    pub(crate) fn count(&self, event: &Event, tally: &mut BTreeMap<String, usize>) {
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
    pub(crate) fn by(reply: &Reply) -> Self {
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
