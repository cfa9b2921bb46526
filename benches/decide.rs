//! How long one decision takes, by how much the mandate says: the engine alone, without storage or HTTP.
//!
//! Beside the mandate stands a policy of twenty clauses, as a tenant would have one. A figure is one call of
//! [`procura::engine::decide()`] on facts that are already read, the verdict's own memory included; where there are
//! limits, with the question which books to look into and their answer, but not the looking.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up stops")]

use divan::{Bencher, black_box};
use procura::domain::{AgentId, AgentKind, ExternalName, PrincipalId, Scope, Scopes, Timestamp};
use procura::engine::{
    Action, CredentialClauses, MandateDocument, PolicyDocument, Standing, Used, decide, looks, read_request,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many clauses the mandate has.
const SIZES: [usize; 5] = [1, 20, 50, 200, 1000];
/// How many areas the intents lie in, and how many intents each has.
const AREAS: usize = 8;
const VERBS: usize = 5;

fn main() {
    divan::main();
}

/// Forty intents, every eighth clause on a whole area, conditions on every fact.
#[divan::bench(args = SIZES)]
fn a_usual_mandate(bencher: Bencher<'_, '_>, size: usize) {
    measure(bencher, &World::of((0..size).map(usual), anywhere));
}

/// The same, and each allowance bounds the sum of a day and how often each counterparty gets something in a month.
#[divan::bench(args = SIZES)]
fn a_usual_mandate_with_limits(bencher: Bencher<'_, '_>, size: usize) {
    let limited = |index| {
        let mut clause = usual(index);
        let members = clause.as_object_mut().unwrap();
        if members.get("effect") == Some(&json!("allow")) {
            let limits = json!([
                {"total": {"value": "1000.00", "currency": "EUR"}, "per": "day"},
                {"count": 30, "per": "month", "each": "counterparty"}
            ]);
            members.insert("limits".to_owned(), limits);
        }
        clause
    };
    let world = World::of((0..size).map(limited), anywhere);
    let mut actions = world.actions.iter().cycle();
    bencher.bench_local(|| {
        let action = black_box(actions.next().unwrap());
        let mut used = Used::default();
        for look in looks(&world.standing(&used), action, now()) {
            used.note(&look, 1);
        }
        decide(&world.standing(&used), action, now())
    });
}

/// Every clause names the intent, holds, and the last one decides.
#[divan::bench(args = SIZES)]
fn one_intent_and_all_hold(bencher: Bencher<'_, '_>, size: usize) {
    measure(bencher, &World::of((0..size).map(|index| on_one_intent(index, "10000.00")), |_| intent(0, 0)));
}

/// Every clause names the intent and fails, and each says why.
#[divan::bench(args = SIZES)]
fn one_intent_and_all_fail(bencher: Bencher<'_, '_>, size: usize) {
    measure(bencher, &World::of((0..size).map(|index| on_one_intent(index, "0.01")), |_| intent(0, 0)));
}

/// Every clause forbids something else.
#[divan::bench(args = SIZES)]
fn one_intent_and_no_refusal_acts(bencher: Bencher<'_, '_>, size: usize) {
    let refusal = |index| {
        json!({"id": format!("R-{index}"), "intent": intent(0, 0), "effect": "refuse",
            "when": {"counterparty": {"in": [format!("acct:blocked-{index}")]}}})
    };
    measure(bencher, &World::of((0..size).map(refusal), |_| intent(0, 0)));
}

/// What is decided on, and under what.
struct World {
    mandate: MandateDocument,
    policy: PolicyDocument,
    known: BTreeSet<ExternalName>,
    actions: Vec<Action>,
}

impl World {
    fn of(clauses: impl Iterator<Item = Value>, asked: impl Fn(usize) -> String) -> Self {
        // Read in parts, since one document may hold fewer clauses than are measured.
        let clauses: Vec<Value> = clauses.collect();
        let mut mandate = MandateDocument::read(&json!({"scopes": ["action:request"]})).unwrap();
        for part in clauses.chunks(100) {
            mandate.clauses.extend(CredentialClauses::read(&json!(part)).unwrap().0);
        }
        let ceilings: Vec<Value> = (0..20).map(ceiling).collect();
        let policy = PolicyDocument::read(&json!({"clauses": ceilings})).unwrap();
        let known = (0..100).map(|index| format!("acct:{index}").parse().unwrap()).collect();
        let actions = (0..AREAS * VERBS).map(|index| action(index, &asked(index))).collect();
        Self { mandate, policy, known, actions }
    }

    fn standing<'a>(&'a self, used: &'a Used) -> Standing<'a> {
        Standing {
            scopes: Scopes::NONE.with(Scope::ActionRequest),
            principal: PrincipalId::new(Timestamp::from_unix_seconds(0), [1; 10]),
            agent: AgentId::new(Timestamp::from_unix_seconds(0), [1; 10]),
            agent_kind: AgentKind::Acting,
            mandate: &self.mandate,
            policy: &self.policy,
            credentials: &[],
            country_fixed: None,
            known: &self.known,
            used,
            zone: chrono_tz::Europe::Berlin,
        }
    }
}

fn measure(bencher: Bencher<'_, '_>, world: &World) {
    let used = Used::default();
    let standing = world.standing(&used);
    // Another action each time, so that no branch is predicted from the call before.
    let mut actions = world.actions.iter().cycle();
    bencher.bench_local(move || decide(black_box(&standing), black_box(actions.next().unwrap()), now()));
}

fn now() -> Timestamp {
    Timestamp::from_unix_seconds(1_800_000_000)
}

fn anywhere(index: usize) -> String {
    intent(index, index / AREAS)
}

fn intent(area: usize, verb: usize) -> String {
    format!("area_{}.verb_{}", area % AREAS, verb % VERBS)
}

fn usual(index: usize) -> Value {
    let (area, verb) = (index, index / AREAS);
    let intent = if index % 8 == 7 { format!("area_{}.*", area % AREAS) } else { intent(area, verb) };
    let ceiling = json!({"value": format!("{}.00", 50 + index % 100), "currency": "EUR"});
    let (effect, when) = match index % 7 {
        0 => ("allow", json!({"amount": {"at_most": ceiling}, "country": {"in": ["DE", "NL", "FR"]}})),
        1 => ("allow", json!({"amount": {"at_most": ceiling}, "counterparty": {"known": true}})),
        2 => ("allow", json!({"resource": {"prefix": "order:"}, "untrusted": false})),
        3 => ("allow", json!({"counterparty": {"in": ["acct:1", "acct:2", "acct:3"]}})),
        4 => ("escalate", json!({"untrusted": true, "country": {"not_in": ["DE", "NL"]}})),
        5 => ("refuse", json!({"counterparty": {"in": ["acct:blocked-1", "acct:blocked-2"]}})),
        _ => ("allow", json!({"resource": {"not_in": ["order:1"]}, "amount": {"at_most": ceiling}})),
    };
    json!({"id": format!("M-{index}"), "intent": intent, "effect": effect, "when": when})
}

/// Counted down, so that the clause that is named is the last one looked at.
fn on_one_intent(index: usize, ceiling: &str) -> Value {
    json!({"id": format!("M-{:04}", 9999 - index), "intent": intent(0, 0), "effect": "allow", "when": {
        "country": {"in": ["DE", "NL", "FR"]},
        "counterparty": {"known": true},
        "amount": {"at_most": {"value": ceiling, "currency": "EUR"}}
    }})
}

fn ceiling(index: usize) -> Value {
    let effect = if index % 5 == 4 { "escalate" } else { "allow" };
    json!({"id": format!("P-{index}"), "intent": intent(index, index / AREAS), "effect": effect,
        "when": {"amount": {"at_most": {"value": format!("{}00.00", 1 + index), "currency": "EUR"}}}})
}

fn action(index: usize, intent: &str) -> Action {
    let request = json!({
        "intent": intent,
        "amount": {"value": format!("{}.50", 20 + index), "currency": "EUR"},
        "counterparty": [format!("acct:{index}"), format!("acct:{}", index + 1)],
        "resource": format!("order:{index}"),
        "country": if index.is_multiple_of(3) { "FR" } else { "DE" },
        "untrusted": index.is_multiple_of(4)
    });
    Action::described(&read_request(&request).unwrap())
}
