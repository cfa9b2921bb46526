//! The courses that are tried, and what each mechanism is good for.

use crate::course::{Bounds, Course, Reports, Service, Step};
use crate::mutant::Mutant;
use crate::promise::{LIMIT, NARROWING, ONE_OUTCOME, RECORD, YES};
use crate::shell::setting::{Setting, Terms, refund, refunds};
use serde_json::{Value, json};
use stateright::{Checker, HasDiscoveries, Model};
use std::time::{Duration, Instant};

/// How many different states a run must at least go through, so that a bound set too low is seen.
const FEWEST_STATES: usize = 500_000;

/// As much as each mechanism needs to show what it is for.
const SMALL: Bounds = Bounds { sends: 3, crashes: 1, leaps: true, revoked: false, reports: Reports::Agent };

/// Refunds up to a ceiling and 150 EUR a day; beyond that, two people are asked.
fn mandate(ceiling: &str, further: &[Value]) -> Value {
    let mut clauses = vec![json!({
        "id": "M-001",
        "intent": "payments.refund",
        "effect": "allow",
        "when": {"amount": {"at_most": {"value": ceiling, "currency": "EUR"}}},
        "limits": [{"total": {"value": "150.00", "currency": "EUR"}, "per": "day"}],
        "otherwise": "escalate",
        "approvals": {"count": 2, "roles": ["member", "compliance"]},
    })];
    clauses.extend(further.iter().cloned());
    json!({"scopes": ["action:request"], "unlisted": "refuse", "clauses": clauses})
}

/// What the people of every course wrote. No yes lets more than 170 EUR a day through.
fn setting(bodies: &[(&str, &str)], outcome: &str) -> Setting {
    let refusing = json!({"id": "M-002", "intent": "payments.refund", "effect": "refuse",
        "when": {"resource": {"in": ["order:2"]}}});
    Setting::read(&Terms {
        mandates: vec![mandate("100.00", &[]), mandate("100.00", &[refusing]), mandate("50.00", &[])],
        policy: json!({"clauses": []}),
        credential: json!([{
            "id": "C-001",
            "intent": "payments.refund",
            "effect": "allow",
            "limits": [{"total": {"value": "170.00", "currency": "EUR"}, "per": "day"}],
            "otherwise": "refuse",
        }]),
        catalogue: vec![("payments.refund", refunds(outcome))],
        bodies: bodies.iter().map(|(euros, order)| refund(euros, order)).collect(),
    })
}

/// Two deliveries under one key, and a third call that fits the day's limit only without them.
fn one_key(bounds: Bounds) -> Course {
    let calls = vec![(0, Some(0)), (0, Some(0)), (1, None)];
    Course { setting: setting(&[("80.00", "order:1"), ("90.00", "order:2")], "agent"), calls, bounds }
}

/// A third call that two people must say yes to, and whose ending an agent alone cannot say.
fn a_yes(bounds: Bounds) -> Course {
    let calls = vec![(0, Some(0)), (0, Some(0)), (1, Some(1))];
    Course { setting: setting(&[("80.00", "order:1"), ("120.00", "order:2")], "attested"), calls, bounds }
}

/// One key for two requests.
fn a_key_reused(bounds: Bounds) -> Course {
    let calls = vec![(0, Some(0)), (1, Some(0)), (2, None)];
    Course {
        setting: setting(&[("80.00", "order:1"), ("120.00", "order:2"), ("90.00", "order:2")], "agent"),
        calls,
        bounds,
    }
}

#[test]
fn every_order_of_events_keeps_every_promise() {
    let since = Instant::now();
    let courses = vec![
        // Every disturbance, with few calls; and every call, with few disturbances.
        one_key(Bounds { sends: 2, crashes: 2, leaps: true, revoked: false, reports: Reports::Agent }),
        one_key(Bounds {
            sends: 2,
            crashes: 0,
            leaps: false,
            revoked: false,
            reports: Reports::AgentThenPoints,
        }),
        a_yes(Bounds { sends: 2, crashes: 2, leaps: true, revoked: false, reports: Reports::Agent }),
        one_key(Bounds { sends: 3, crashes: 0, leaps: false, revoked: false, reports: Reports::None }),
        a_key_reused(Bounds { sends: 2, crashes: 1, leaps: false, revoked: true, reports: Reports::None }),
    ];
    let service = Service { courses, mutant: None };
    let checker = service.checker().threads(2).spawn_dfs().join();
    let states = checker.unique_state_count();
    eprintln!("{states} states, {} transitions, {:?}", checker.state_count(), since.elapsed());
    checker.assert_properties();
    assert!(states >= FEWEST_STATES, "{states} different states, {FEWEST_STATES} expected");
}

/// Takes a mechanism away, and shows the shortest course on which the promise breaks.
#[track_caller]
fn breaks(mutant: Mutant, promise: &'static str, course: Course) {
    let service = Service { courses: vec![course], mutant: Some(mutant) };
    let found = HasDiscoveries::AllOf([promise].into());
    let checker =
        service.checker().finish_when(found).timeout(Duration::from_mins(5)).threads(2).spawn_bfs().join();
    let Some(path) = checker.discovery(promise) else {
        panic!("without it, `{promise}` still held in {} states", checker.unique_state_count());
    };
    let steps: Vec<Step> = path.into_actions();
    eprintln!("{mutant:?} breaks `{promise}` in {} steps: {steps:?}", steps.len());
}

#[test]
fn a_version_read_before_the_transaction_lets_an_allow_follow_a_narrowing() {
    breaks(Mutant::StaleVersionRead, NARROWING, one_key(SMALL));
}

#[test]
fn a_yes_that_is_not_weighed_again_is_given_to_what_is_refused() {
    breaks(Mutant::NoRecheckAtApproval, YES, a_yes(SMALL));
}

#[test]
fn acts_that_go_by_what_was_shown_decide_twice() {
    breaks(Mutant::NoCompareAndSet, ONE_OUTCOME, a_yes(SMALL));
}

#[test]
fn an_answer_told_before_its_record_is_seen_without_one() {
    breaks(Mutant::AnswerBeforeRecord, RECORD, one_key(SMALL));
}

#[test]
fn reservations_written_later_let_two_calls_into_the_last_place() {
    breaks(Mutant::ReservationOutsideTransaction, LIMIT, one_key(SMALL));
}
