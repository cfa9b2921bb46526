//! What a yes is good against: the reasons that were shown, whatever their figures.

use super::*;
use crate::domain::{DecisionStatus, Duration, Roles};
use crate::engine::step::{self, AfterChange, Asked, Given, Load, QueueUse, Same, Yes};
use crate::engine::{Grounds, decide_reading};
use std::convert::Infallible;

/// A refund of 150 EUR to a customer, where 100 EUR to known ones are allowed, so many times a day.
fn verdict(ceiling: &str, known: bool, used: u64) -> Verdict {
    let mut case = Case::new(terms(json!([{
        "id": "M-1", "intent": "pay", "effect": "allow",
        "when": {"amount": {"at_most": {"value": ceiling, "currency": "EUR"}}, "counterparty": {"known": true}},
        "limits": [{"count": 2, "per": "day"}],
    }])));
    if known {
        case.known = [name("ann")].into();
    }
    let action = action(json!({
        "intent": "pay", "amount": {"value": "150", "currency": "EUR"}, "counterparty": "ann",
    }));
    case.standing(|standing| {
        let Ok((verdict, _)) = decide_reading(standing, &action, now(), |_| Ok::<_, Infallible>(used));
        verdict
    })
}

fn person() -> Given {
    Given { by: principal(), roles: Roles::default() }
}

fn asked(status: DecisionStatus, shown: Grounds) -> Asked {
    Asked {
        status,
        same_request: true,
        expires_at: now().plus(Duration::hours(24)),
        approved_until: Some(now().plus(Duration::minutes(15))),
        principal: principal(),
        given: Vec::new(),
        shown,
    }
}

/// A queue in which the same waits.
struct Waiting(Option<Same<u8>>);

impl step::Queue<u8> for Waiting {
    type Error = Infallible;

    fn same(&mut self) -> Result<Option<Same<u8>>, Infallible> {
        Ok(self.0.take())
    }

    fn load(&mut self) -> Result<Load, Infallible> {
        Ok(Load::default())
    }
}

#[test]
fn a_clause_is_named_with_everything_in_its_way() {
    let grounds = |verdict: &Verdict| verdict.grounds().to_json();
    assert_eq!(grounds(&verdict("100", true, 0)), json!(["mandate M-1 amount-above"]));
    assert_eq!(
        grounds(&verdict("100", false, 2)),
        json!([
            "mandate M-1 amount-above",
            "mandate M-1 count-reached: count per day 0",
            "mandate M-1 counterparty-unknown",
        ])
    );
    assert_eq!(grounds(&verdict("200", true, 0)), json!([]), "an allow has nothing in its way");
    let why = verdict("100", true, 2).why();
    assert_eq!(
        why.sentences,
        ["above the ceiling: 150.00 EUR asked, 100.00 EUR allowed", "used 2 times, 2 per day allowed"]
    );
    assert_eq!(crate::engine::Why::from_json(&why.to_json()), Some(why));
}

#[test]
fn figures_are_no_reasons() {
    let shown = verdict("100", true, 2).grounds();
    assert!(shown.cover(&verdict("120", true, 5).grounds()));
    assert!(!verdict("100", true, 0).grounds().cover(&shown));
}

#[test]
fn a_yes_to_other_reasons_is_none() {
    let (before, after) = (verdict("100", true, 0), verdict("100", true, 2));
    let shown = before.grounds();
    let open = asked(DecisionStatus::Open, shown.clone());
    assert_eq!(step::approve(&open, &before, person(), now()), Yes::Completes);
    assert_eq!(step::approve(&open, &after, person(), now()), Yes::Anew);
    let approved = Asked { given: vec![person()], ..asked(DecisionStatus::Approved, shown) };
    let named = |verdict: Verdict| {
        let Ok(settled) = step::settle(verdict, Some((&approved, 1)), now(), &mut Waiting(None));
        (settled.queue, settled.clauses)
    };
    assert_eq!(named(before).0, QueueUse::Uses);
    assert_eq!(named(after), (QueueUse::None, vec!["approval.outgrown".to_owned()]));
}

#[test]
fn asking_again_merges_only_what_is_shown() {
    let (before, after, allowed) =
        (verdict("100", true, 0), verdict("100", true, 2), verdict("200", true, 0));
    let queue = |is_approved, verdict: &Verdict| {
        let shown = before.grounds();
        let mut waiting = Waiting(Some(Same { known_by: 7, is_approved, shown }));
        let Ok(settled) = step::settle(verdict.clone(), None, now(), &mut waiting);
        settled.queue
    };
    assert_eq!(queue(false, &before), QueueUse::Again(7));
    assert_eq!(queue(false, &after), QueueUse::Anew(7));
    assert_eq!(queue(true, &before), QueueUse::Again(7));
    assert_eq!(queue(true, &after), QueueUse::Open, "a yes to other reasons stands for itself");
    for is_approved in [false, true] {
        assert_eq!(queue(is_approved, &allowed), QueueUse::Closes(7));
    }
}

#[test]
fn after_a_narrowing_an_open_question_shows_what_is_in_the_way_by_then() {
    let (before, after) = (verdict("100", true, 0), verdict("100", false, 0));
    let open = asked(DecisionStatus::Open, before.grounds());
    assert_eq!(step::after_narrowing(&open, Some(&before)), AfterChange::Stays);
    assert_eq!(step::after_narrowing(&open, Some(&after)), AfterChange::Anew);
    let half = Asked { given: vec![person()], ..open.clone() };
    assert_eq!(step::after_narrowing(&half, Some(&before)), AfterChange::Anew);
    assert_eq!(step::after_narrowing(&open, None), AfterChange::Withdrawn);
}

/// What stands in the way of a payment to two people, of which so much is used by the line of each book.
fn grounds_of(case: &Case, full: &[&str]) -> Grounds {
    let action = action(json!({
        "intent": "pay", "amount": {"value": "150", "currency": "EUR"}, "counterparty": ["ann", "bob"],
        "resource": "order:1", "arguments": {"a": 9, "b": 9},
    }));
    case.standing(|standing| {
        let used = |look: &crate::engine::BookUse| {
            let line = format!("{} {:?}", look.book, look.since);
            Ok::<_, Infallible>(if full.iter().any(|part| line.contains(part)) { 1_000_000 } else { 0 })
        };
        let Ok((verdict, _)) = decide_reading(standing, &action, now(), used);
        verdict.grounds()
    })
}

#[test]
fn one_limit_is_not_another() {
    let case = Case::new(terms(json!([{"id": "M-1", "intent": "pay", "effect": "allow", "limits": [
        {"total": {"value": "9000", "currency": "EUR"}, "per": "day", "each": "counterparty"},
        {"total": {"value": "9000", "currency": "EUR"}, "per": "month", "pool": "all"},
        {"count": 5, "per": "day", "pool": "some"},
        {"count": 5, "per": "hour", "pool": "other"},
        {"once_per": "resource"},
    ]}])));
    let full = [
        "/EUR/counterparty/ann",
        "/EUR/counterparty/bob",
        "pool/all",
        "pool/some",
        "pool/other",
        "/uses/resource",
    ];
    let each: Vec<Grounds> = full.iter().map(|part| grounds_of(&case, &[part])).collect();
    for (place, one) in each.iter().enumerate() {
        for (other_place, other) in each.iter().enumerate() {
            assert_eq!(one.cover(other), place == other_place, "{one:?} {other:?}");
        }
        assert!(grounds_of(&case, &full).cover(one));
    }
    assert!(!format!("{each:?}").contains("ann"), "nobody is named");
}

#[test]
fn one_condition_is_not_another_of_its_kind() {
    let when = |when: Value| {
        grounds_of(
            &Case::new(terms(json!([{"id": "M-1", "intent": "pay", "effect": "allow", "when": when}]))),
            &[],
        )
    };
    let (a, b) = (
        when(json!({"arguments": {"/a": {"at_most": 5}}})),
        when(json!({"arguments": {"/b": {"at_most": 5}}})),
    );
    assert!(!a.cover(&b) && !b.cover(&a));
    let (equals, listed) = (
        when(json!({"arguments": {"/a": {"equals": 5}}})),
        when(json!({"arguments": {"/a": {"in": [5, 6]}}})),
    );
    assert!(!equals.cover(&listed));
}

#[test]
fn a_child_s_clause_is_not_its_parent_s_of_the_same_name() {
    let mut case = Case::new(terms(json!([{"id": "M-1", "intent": "pay", "effect": "allow"}])));
    let limited = || {
        clauses(
            json!([{"id": "C-1", "intent": "pay", "effect": "allow", "limits": [{"count": 1, "per": "day"}]}]),
        )
    };
    case.credentials = vec![limited(), limited()];
    let lines = case
        .standing(|standing| standing.credentials.iter().map(|own| own.id.to_string()).collect::<Vec<_>>());
    let (child, parent) = (grounds_of(&case, &[&lines[0]]), grounds_of(&case, &[&lines[1]]));
    assert!(!child.cover(&parent) && !parent.cover(&child), "{child:?} {parent:?}");
}
