//! Limits: where periods begin, what they leave room for, and what an allow takes.

use super::*;
use crate::engine::{Book, BookUse, Change, Period, compare, looks, permit_with_approval};
use chrono_tz::{Tz, UTC};

fn period(text: &str) -> Period {
    text.parse().unwrap()
}

fn begins(text: &str, now: &str, zone: Tz) -> String {
    period(text).since(at(now), zone).to_string()
}

#[test]
fn a_period_of_the_calendar_begins_at_the_zone_s_own_edge() {
    for (per, now, zone, since) in [
        // 2026-11-30 is a Monday; Berlin is one hour ahead of UTC in winter and two in summer.
        ("hour", "2026-11-30T12:34:56.789Z", UTC, "2026-11-30T12:00:00Z"),
        ("day", "2026-11-30T12:00:00Z", UTC, "2026-11-30T00:00:00Z"),
        ("day", "2026-11-30T22:59:59.999Z", Tz::Europe__Berlin, "2026-11-29T23:00:00Z"),
        ("day", "2026-11-30T23:00:00Z", Tz::Europe__Berlin, "2026-11-30T23:00:00Z"),
        ("week", "2026-11-30T12:00:00Z", UTC, "2026-11-30T00:00:00Z"),
        ("week", "2026-11-29T23:59:59.999Z", UTC, "2026-11-23T00:00:00Z"),
        ("week", "2026-11-29T23:00:00Z", Tz::Europe__Berlin, "2026-11-29T23:00:00Z"),
        ("month", "2026-11-30T22:59:59.999Z", Tz::Europe__Berlin, "2026-10-31T23:00:00Z"),
        ("month", "2026-11-30T23:00:00Z", Tz::Europe__Berlin, "2026-11-30T23:00:00Z"),
        // The day on which Berlin's clocks go back has 25 hours; its midnight is still summer time.
        ("day", "2026-10-25T22:59:59Z", Tz::Europe__Berlin, "2026-10-24T22:00:00Z"),
        // Kathmandu is 5:45 ahead: its hours begin at a quarter past in UTC.
        ("hour", "2026-11-30T12:34:56Z", Tz::Asia__Kathmandu, "2026-11-30T12:15:00Z"),
        // Beirut's clocks skip the midnight of 2026-03-29: the day begins at one o'clock, 22:00 UTC.
        ("day", "2026-03-29T10:00:00Z", Tz::Asia__Beirut, "2026-03-28T22:00:00Z"),
        // Two o'clock comes twice in Berlin on 2026-10-25, and each is an hour of its own.
        ("hour", "2026-10-25T00:30:00Z", Tz::Europe__Berlin, "2026-10-25T00:00:00Z"),
        ("hour", "2026-10-25T01:30:00Z", Tz::Europe__Berlin, "2026-10-25T01:00:00Z"),
    ] {
        assert_eq!(begins(per, now, zone), at(since).to_string(), "{per} at {now} in {zone}");
    }
}

#[test]
fn a_rolling_period_forgets_what_is_as_old_as_it_is_long() {
    let now = at("2026-11-30T12:00:00Z");
    assert_eq!(period("30 days").since(now, UTC), at("2026-10-31T12:00:00.001Z"));
    assert_eq!(period("2 hours").since(now, Tz::Europe__Berlin), at("2026-11-30T10:00:00.001Z"));
}

#[test]
fn a_period_is_written_as_it_is_read_and_nothing_else_is_one() {
    for text in ["hour", "day", "week", "month", "30 days", "8784 hours", "366 days", "1 days"] {
        assert_eq!(period(text).to_string(), text);
    }
    for text in
        ["", "year", "0 days", "367 days", "8785 hours", "30 day", "030 days", "+3 days", "3  days", "Day"]
    {
        assert!(text.parse::<Period>().is_err(), "{text}");
    }
}

/// A mandate of one allowance with these limits.
fn limited(limits: Value) -> MandateDocument {
    terms(json!([{"id": "M-1", "intent": "payments.refund", "effect": "allow", "limits": limits}]))
}

fn refund(value: &str) -> Action {
    action(json!({
        "intent": "payments.refund", "amount": {"value": value, "currency": "EUR"},
        "counterparty": ["acct:1", "acct:2"], "resource": "order:7",
    }))
}

/// Decides with books in which every look shows `used`.
fn with_books(case: &mut Case, action: &Action, used: u64) -> Verdict {
    let asked: Vec<BookUse> = case.standing(|standing| looks(standing, action, case.now));
    case.used = Used::default();
    for look in &asked {
        case.used.note(look, used);
    }
    case.decide(action)
}

#[test]
fn a_total_has_room_up_to_its_last_minor_unit() {
    let mut case =
        Case::new(limited(json!([{"total": {"value": "500.00", "currency": "EUR"}, "per": "day"}])));
    assert_eq!(with_books(&mut case, &refund("100.00"), 40_000).outcome, Outcome::Allow);
    let over = with_books(&mut case, &refund("100.00"), 40_001);
    assert_eq!(over.outcome, Outcome::Escalate);
    assert_eq!(
        over.reason(),
        "above the total per day: 100.00 EUR asked, 400.01 EUR used, 500.00 EUR allowed"
    );
    assert_eq!(
        with_books(&mut case, &refund("0.01"), u64::MAX).outcome,
        Outcome::Escalate,
        "overflow is no room"
    );
}

#[test]
fn a_count_has_room_for_as_many_as_it_says() {
    let mut case = Case::new(limited(json!([{"count": 20, "per": "hour"}])));
    assert_eq!(with_books(&mut case, &refund("1.00"), 19).outcome, Outcome::Allow);
    let over = with_books(&mut case, &refund("1.00"), 20);
    assert_eq!(
        (over.outcome, over.reason()),
        (Outcome::Escalate, "used 20 times, 20 per hour allowed".to_owned())
    );
}

#[test]
fn once_is_once() {
    let mut case = Case::new(limited(json!([{"once_per": "resource"}])));
    assert_eq!(with_books(&mut case, &refund("1.00"), 0).outcome, Outcome::Allow);
    let again = with_books(&mut case, &refund("1.00"), 1);
    assert_eq!(again.reason(), "used for this resource before, once is allowed");
    let nothing_named = action(json!({"intent": "payments.refund"}));
    assert_eq!(
        with_books(&mut case, &nothing_named, 0).outcome,
        Outcome::Escalate,
        "no resource, nothing to count by"
    );
}

#[test]
fn books_that_nobody_read_are_used_up() {
    let case = Case::new(limited(json!([{"count": 20, "per": "hour"}])));
    assert_eq!(case.decide(&refund("1.00")).outcome, Outcome::Escalate);
}

#[test]
fn a_failed_limit_gives_the_otherwise_of_its_clause() {
    let mut case = Case::new(terms(json!([
        {"id": "M-1", "intent": "*", "effect": "allow", "otherwise": "refuse", "limits": [{"count": 1, "per": "day"}]},
    ])));
    assert_eq!(with_books(&mut case, &refund("1.00"), 1).outcome, Outcome::Refuse);
}

fn books(action: &Action, mandate: MandateDocument) -> Vec<(String, u64)> {
    let mut case = Case::new(mandate);
    let verdict = with_books(&mut case, action, 0);
    assert_eq!(verdict.outcome, Outcome::Allow);
    verdict.reservations.iter().map(|one| (one.book.to_string(), one.amount)).collect()
}

#[test]
fn an_allow_takes_its_amount_and_its_count_from_every_book_once() {
    let taken = books(
        &refund("12.34"),
        limited(json!([
            {"total": {"value": "500.00", "currency": "EUR"}, "per": "day"},
            {"total": {"value": "2300.00", "currency": "EUR"}, "per": "30 days"},
            {"total": {"value": "2300.00", "currency": "EUR"}, "per": "30 days", "pool": "payments"},
            {"total": {"value": "120.00", "currency": "EUR"}, "per": "day", "each": "counterparty"},
            {"count": 20, "per": "hour"},
            {"once_per": "resource"},
        ])),
    );
    let expected = [
        // The day and the 30 days look at the same book.
        ("mandate/clause/M-1/EUR", 1234),
        ("mandate/pool/payments/EUR", 1234),
        ("mandate/clause/M-1/EUR/counterparty/acct:1", 1234),
        ("mandate/clause/M-1/EUR/counterparty/acct:2", 1234),
        ("mandate/clause/M-1/uses", 1),
        ("mandate/clause/M-1/uses/resource/order:7", 1),
    ];
    assert_eq!(taken, expected.map(|(book, amount)| (book.to_owned(), amount)));
}

#[test]
fn of_several_passing_allowances_the_smallest_id_alone_reserves() {
    let two = json!([
        {"id": "B", "intent": "*", "effect": "allow", "limits": [{"count": 5, "per": "day"}]},
        {"id": "A", "intent": "*", "effect": "allow", "limits": [{"count": 5, "per": "day"}]},
    ]);
    assert_eq!(books(&refund("1.00"), terms(two)), [("mandate/clause/A/uses".to_owned(), 1)]);
}

#[test]
fn a_child_counts_in_the_books_of_every_ancestor() {
    let mut case = Case::new(terms(json!([{"id": "M", "intent": "*", "effect": "allow"}])));
    let own = json!([{"id": "C", "intent": "*", "effect": "allow", "limits": [{"count": 5, "per": "day"}]}]);
    case.credentials = vec![clauses(own.clone()), clauses(own)];
    let taken = with_books(&mut case, &refund("1.00"), 0).reservations;
    let owners: Vec<String> = taken.iter().map(|one| one.book.to_string()).collect();
    assert_eq!(owners, [1, 2].map(|place| format!("{}/clause/C/uses", credential(place))));
    // The parent's book alone has no room.
    let parent = |book: &Book| book.to_string().starts_with(&credential(2).to_string());
    let asked = case.standing(|standing| looks(standing, &refund("1.00"), case.now));
    case.used = Used::default();
    for look in &asked {
        case.used.note(look, if parent(&look.book) { 5 } else { 0 });
    }
    assert_eq!(case.decide(&refund("1.00")).outcome, Outcome::Escalate);
}

#[test]
fn what_a_person_lets_through_counts_in_the_books_it_was_too_much_for() {
    let mut case = Case::new(limited(json!([{"total": {"value": "5.00", "currency": "EUR"}, "per": "day"}])));
    let verdict = permit_with_approval(with_books(&mut case, &refund("6.00"), 0));
    assert_eq!(verdict.outcome, Outcome::Allow);
    assert_eq!(verdict.reservations.iter().map(|one| one.amount).collect::<Vec<_>>(), [600]);
}

#[test]
fn a_counterparty_counts_once_whatever_the_mandate_calls_it_and_by_its_own_name_for_the_tenant() {
    let each = json!([{"count": 5, "per": "day", "each": "counterparty"}]);
    let mut case = Case::new(mandate(json!({
        "scopes": ["action:request"],
        "counterparties": [{"id": "boat hire", "aliases": ["acct:1", "acct:2"]}],
        "clauses": [{"id": "M", "intent": "*", "effect": "allow", "limits": each}],
    })));
    case.policy = policy(json!({"clauses": [{"id": "P", "intent": "*", "effect": "allow", "limits": each}]}));
    let taken = with_books(&mut case, &refund("1.00"), 0).reservations;
    assert_eq!(
        taken.iter().map(|one| one.book.to_string()).collect::<Vec<_>>(),
        [
            "policy/clause/P/uses/counterparty/acct:1",
            "policy/clause/P/uses/counterparty/acct:2",
            "mandate/clause/M/uses/counterparty/boat hire",
        ]
    );
}

#[test]
fn another_name_for_a_counterparty_is_no_narrowing_since_its_limits_would_begin_anew() {
    let listing = |counterparties: Value| {
        mandate(json!({
            "scopes": ["action:request"], "counterparties": counterparties,
            "clauses": [{"id": "M", "intent": "*", "effect": "allow",
                "limits": [{"count": 1, "per": "day", "each": "counterparty"}]}],
        }))
    };
    let listed = listing(json!([{"id": "member:jonas", "aliases": ["jonas@x.example"]}]));
    assert_eq!(compare(&listed, &listing(json!([]))), Change::Mixed);
    assert_eq!(
        compare(&listed, &listing(json!([{"id": "jonas@x.example", "aliases": ["member:jonas"]}]))),
        Change::Mixed
    );
    let plain = listing(json!([{"id": "member:jonas"}]));
    assert_eq!(compare(&plain, &listing(json!([]))), Change::Narrowed);
}

#[test]
fn what_takes_too_much_reading_is_refused_and_says_so() {
    let clauses: Vec<Value> = (0..50)
        .map(|number| {
            json!({"id": format!("R{number}"), "intent": "*", "effect": "refuse",
                "when": {"arguments": {"/t": {"matches": "[ab]*a[ab]{150}c"}}}})
        })
        .chain([json!({"id": "A", "intent": "*", "effect": "allow"})])
        .collect();
    let case = Case::new(terms(json!(clauses)));
    let asked = |length: usize| action(json!({"intent": "a.x", "arguments": {"t": "ab".repeat(length)}}));
    assert_eq!(case.decide(&asked(20)).outcome, Outcome::Allow);
    let worn = case.decide(&asked(20_000));
    assert_eq!((worn.outcome, worn.clauses()), (Outcome::Refuse, vec!["limits.work".to_owned()]));
    let listed: Vec<Value> = (0..200)
        .map(|number| {
            json!({"id": format!("R{number}"), "intent": "*", "effect": "refuse",
                "when": {"arguments": {"/t": {"domain": ["evil.test"]}}}})
        })
        .chain([json!({"id": "A", "intent": "*", "effect": "allow"})])
        .collect();
    let many = action(json!({"intent": "a.x", "arguments": {"t": vec!["a.b"; 8000]}}));
    assert_eq!(Case::new(terms(json!(listed))).decide(&many).clauses(), ["limits.work"]);
}

#[test]
fn a_refusal_takes_nothing() {
    let mut case = Case::new(terms(json!([
        {"id": "A", "intent": "*", "effect": "allow", "limits": [{"count": 5, "per": "day"}]},
        {"id": "R", "intent": "payments.refund", "effect": "refuse"},
    ])));
    assert_eq!(with_books(&mut case, &refund("1.00"), 0).reservations, []);
}

#[test]
fn limits_that_mean_nothing_are_faults() {
    for (limit, fault) in [
        (json!({}), "none of them found, one of total, count, once_per expected"),
        (json!({"count": 1, "once_per": "resource", "per": "day"}), "count and once_per found, one of"),
        (json!({"count": 0, "per": "day"}), "`0` found, a whole number from 1 to"),
        (json!({"count": 1}), "member `per` is missing"),
        (json!({"count": 1, "per": "fortnight"}), "`fortnight` is not a period"),
        (json!({"once_per": "resource", "per": "day"}), "`per` does not stand beside `once_per`"),
        (
            json!({"count": 1, "per": "day", "each": "agent"}),
            "`agent` found, allowed: counterparty, resource",
        ),
    ] {
        let document = json!([{"id": "A", "intent": "*", "effect": "allow", "limits": [limit]}]);
        let found = faults(CredentialClauses::read(&document)).join("\n");
        assert!(found.contains(fault), "{limit}: {found}");
    }
    let refusal =
        json!([{"id": "A", "intent": "*", "effect": "refuse", "limits": [{"count": 1, "per": "day"}]}]);
    assert_eq!(
        faults(CredentialClauses::read(&refusal)),
        ["/0/limits: `limits` stand only where `effect` is allow"]
    );
}

#[test]
fn lower_limits_are_narrower_and_others_are_not() {
    let day = json!({"total": {"value": "500.00", "currency": "EUR"}, "per": "day"});
    for (old, new, change) in [
        (json!([day]), json!([day]), Change::Unchanged),
        (
            json!([day]),
            json!([{"total": {"value": "499.99", "currency": "EUR"}, "per": "day"}]),
            Change::Narrowed,
        ),
        (
            json!([day]),
            json!([{"total": {"value": "500.00", "currency": "EUR"}, "per": "month"}]),
            Change::Narrowed,
        ),
        (
            json!([day]),
            json!([{"total": {"value": "500.00", "currency": "EUR"}, "per": "2 days"}]),
            Change::Narrowed,
        ),
        // A week may begin within a month, and a day of 25 hours is longer than 24.
        (
            json!([day]),
            json!([{"total": {"value": "500.00", "currency": "EUR"}, "per": "1 days"}]),
            Change::Mixed,
        ),
        (json!([day]), json!([day, {"count": 1, "per": "day"}]), Change::Narrowed),
        (
            json!([day]),
            json!([{"total": {"value": "500.00", "currency": "USD"}, "per": "day"}]),
            Change::Mixed,
        ),
        (
            json!([day]),
            json!([{"total": {"value": "5.00", "currency": "EUR"}, "per": "day", "each": "resource"}]),
            Change::Mixed,
        ),
        (
            json!([{"count": 3, "per": "day", "each": "resource"}]),
            json!([{"once_per": "resource"}]),
            Change::Narrowed,
        ),
    ] {
        assert_eq!(compare(&limited(old.clone()), &limited(new.clone())), change, "{old} to {new}");
    }
    let bare = terms(json!([{"id": "M-1", "intent": "payments.refund", "effect": "allow"}]));
    let limited = limited(json!([day]));
    assert_eq!(compare(&bare, &limited), Change::Narrowed);
    assert_eq!(compare(&limited, &bare), Change::Widened);
    // Under another id the count would begin anew.
    let mut renamed = limited.clone();
    renamed.clauses[0].id = "M-2".parse().unwrap();
    assert_eq!(compare(&limited, &renamed), Change::Mixed);
}

#[test]
fn whose_yes_is_asked_for_changes_in_no_provable_direction() {
    let asking = |approvals: Value| {
        terms(json!([{"id": "E", "intent": "*", "effect": "escalate", "approvals": approvals}]))
    };
    let one = terms(json!([{"id": "E", "intent": "*", "effect": "escalate"}]));
    let two = asking(json!({"count": 2, "roles": ["compliance", "operator"]}));
    assert_eq!(compare(&one, &two), Change::Mixed);
    assert_eq!(
        compare(&two, &asking(json!({"count": 3, "roles": ["compliance", "operator"]}))),
        Change::Mixed
    );
    assert_eq!(compare(&two, &two.clone()), Change::Unchanged);
    assert_eq!(
        compare(&one, &asking(json!({"count": 1}))),
        Change::Unchanged,
        "the principal's own yes is the rule"
    );
}

#[test]
fn nobody_and_nobody_in_particular_are_rejected_when_written() {
    for (approvals, fault) in [
        (json!({"count": 0}), "/0/approvals/count: `0` found, a whole number from 1 to 10 expected"),
        (
            json!({"count": 11, "roles": ["member"]}),
            "/0/approvals/count: `11` found, a whole number from 1 to 10 expected",
        ),
        (
            json!({"count": 2}),
            "/0/approvals: 2 people are asked for and no `roles` say who: without, the principal's yes alone counts",
        ),
        (json!({"roles": []}), "/0/approvals/roles: 0 entries, 1 to 3 are allowed"),
    ] {
        let document = json!([{"id": "A", "intent": "*", "effect": "escalate", "approvals": approvals}]);
        assert_eq!(faults(CredentialClauses::read(&document)), [fault]);
    }
}

#[test]
fn what_requests_may_say_is_checked_before_any_clause() {
    let mandate = mandate(json!({
        "scopes": ["action:request"],
        "domains": {"payments.*": {"amount": {"at_most": {"value": "500.00", "currency": "EUR"}}}},
        "clauses": [{"id": "A", "intent": "*", "effect": "allow"}],
    }));
    let case = Case::new(mandate.clone());
    let check =
        |action: &Action| case.standing(|standing| crate::engine::check_domains(standing, action, case.now));
    assert_eq!(check(&refund("500.00")), Ok(()));
    assert_eq!(check(&action(json!({"intent": "mail.send"}))), Ok(()), "another intent has no bound");
    assert_eq!(
        faults(check(&refund("500.01"))),
        [
            "/amount: outside the domain of `payments.*` in the mandate: above the ceiling: 500.01 EUR asked, 500.00 EUR allowed"
        ]
    );
    assert_eq!(
        faults(check(&action(json!({"intent": "payments.refund"})))),
        [
            "/amount: outside the domain of `payments.*` in the mandate: no amount is given, 500.00 EUR allowed"
        ]
    );
    let mut unbounded = mandate.clone();
    unbounded.domains.clear();
    assert_eq!(compare(&mandate, &unbounded), Change::Widened);
    assert_eq!(compare(&unbounded, &mandate), Change::Narrowed);
}
