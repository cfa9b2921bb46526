//! Conditions on what a call carries and when it comes, one by one.

use super::*;
use crate::engine::check_labels;
use Outcome::{Allow, Escalate, Refuse};

/// A request with the facts that an enforcement point states beside it.
fn call(mut request: Value, facts: Value) -> Action {
    request["intent"] = json!("pay");
    let mut action = action(request);
    action.facts = facts.as_object().cloned();
    action
}

/// What an allowance under this condition answers, and why.
fn allowing(when: Value, action: &Action) -> (Outcome, String) {
    let case = Case::new(terms(json!([{"id": "A", "intent": "pay", "effect": "allow", "when": when}])));
    let case =
        Case { policy: policy(json!({"labels": {"audience": ["internal", "customer", "public"]}})), ..case };
    let verdict = case.decide(action);
    let reason = if verdict.outcome == Allow { String::new() } else { verdict.reason() };
    (verdict.outcome, reason)
}

/// Whether a refusal under this condition acts.
fn refusing(when: Value, action: &Action) -> bool {
    let clauses = json!([
        {"id": "A", "intent": "pay", "effect": "allow"},
        {"id": "R", "intent": "pay", "effect": "refuse", "when": when}
    ]);
    let case = Case::new(terms(clauses));
    let case =
        Case { policy: policy(json!({"labels": {"audience": ["internal", "customer", "public"]}})), ..case };
    case.decide(action).outcome == Refuse
}

/// Each line: a condition, a request, facts, whether a refusal acts, and why an allowance fails; empty where it holds.
fn check(lines: Vec<(Value, Value, Value, bool, &str)>) {
    for (when, request, facts, acts, reason) in lines {
        let action = call(request.clone(), facts.clone());
        let outcome = if reason.is_empty() { Allow } else { Escalate };
        assert_eq!(
            allowing(when.clone(), &action),
            (outcome, reason.to_owned()),
            "allowing {when} {request} {facts}"
        );
        assert_eq!(refusing(when.clone(), &action), acts, "refusing {when} {request} {facts}");
    }
}

#[test]
fn an_amount_has_a_floor() {
    let floor = || json!({"amount": {"at_least": {"value": "10", "currency": "EUR"}}});
    let amount = |value: &str, currency: &str| json!({"amount": {"value": value, "currency": currency}});
    check(vec![
        (floor(), amount("10.00", "EUR"), Value::Null, true, ""),
        (
            floor(),
            amount("9.99", "EUR"),
            Value::Null,
            false,
            "below the floor: 9.99 EUR asked, at least 10.00 EUR allowed",
        ),
        // What is there and cannot be compared is not missing: a refusal acts on it.
        (floor(), amount("10", "USD"), Value::Null, true, "in another currency: USD asked, EUR allowed"),
        (floor(), json!({}), Value::Null, false, "no amount is given, at least 10.00 EUR allowed"),
    ]);
}

#[test]
fn counterparties_are_known_by_the_host_they_are_reached_at() {
    let within = || json!({"counterparty": {"domain": ["example.com"]}});
    let to = |names: Value| json!({"counterparty": names});
    check(vec![
        (within(), to(json!("ann@mail.example.com")), Value::Null, true, ""),
        (within(), to(json!(["mailto:ann@example.com", "https://example.com/"])), Value::Null, true, ""),
        (
            within(),
            to(json!(["ann@example.com", "bob@evil.test"])),
            Value::Null,
            true,
            "1 of 2 counterparties is outside the domains allowed",
        ),
        (
            within(),
            to(json!("ann@example.com@evil.test")),
            Value::Null,
            // Nobody can tell where it leads, so it may lead there.
            true,
            "the counterparty is outside the domains allowed",
        ),
        (
            within(),
            to(json!("acct:cus_91")),
            Value::Null,
            false,
            "the counterparty is outside the domains allowed",
        ),
        (within(), json!({}), Value::Null, false, "no counterparty is named"),
    ]);
}

#[test]
fn a_resource_belongs_to_whom_an_enforcement_point_says() {
    let principals = || json!({"resource": {"owner": "principal"}});
    let theirs = || json!({"resource": {"owner": "counterparty"}});
    let request = || json!({"resource": "order:4412", "counterparty": ["acct:cus_91", "acct:cus_92"]});
    let owned_by = |owner: &str| json!({"owners": {"order:4412": owner}});
    let me = principal().to_string();
    let unknown = "nobody who may say so has said whose the resource is";
    check(vec![
        (principals(), request(), owned_by("principal"), true, ""),
        (principals(), request(), owned_by(&me), true, ""),
        (
            principals(),
            request(),
            owned_by("acct:cus_91"),
            false,
            "the resource does not belong to the principal",
        ),
        (theirs(), request(), owned_by("acct:cus_92"), true, ""),
        (
            theirs(),
            request(),
            owned_by("acct:cus_93"),
            false,
            "the resource does not belong to the counterparty",
        ),
        (
            theirs(),
            request(),
            owned_by("principal"),
            false,
            "the resource does not belong to the counterparty",
        ),
        (
            theirs(),
            json!({"resource": "order:4412", "counterparty": "principal"}),
            owned_by("principal"),
            false,
            "the resource does not belong to the counterparty",
        ),
        (principals(), request(), json!({"owners": {"order:4413": "principal"}}), false, unknown),
        (principals(), request(), Value::Null, false, unknown),
        (principals(), json!({}), owned_by("principal"), false, "no resource is named"),
    ]);
}

#[test]
fn an_argument_passes_its_tests() {
    let at = |tests: Value| json!({"arguments": {"/order/total": tests}});
    let given = |value: Value| json!({"arguments": {"order": {"total": value}}});
    let outside = |test: &str| format!("the argument `/order/total` does not pass the test `{test}`");
    let (missing, none) = ("the argument `/order/total` is missing", "no arguments are given");
    check(vec![
        (at(json!({"at_most": "100"})), given(json!(100.0)), Value::Null, true, ""),
        (at(json!({"at_most": 100})), given(json!("100.00")), Value::Null, true, ""),
        (
            at(json!({"at_most": "100"})),
            given(json!(100.01)),
            Value::Null,
            false,
            "the argument `/order/total` is too high: 100.01 asked, 100 allowed",
        ),
        (
            at(json!({"at_least": 1})),
            given(json!([1, 0.5])),
            Value::Null,
            true,
            "the argument `/order/total` is too low: 0.5 asked, at least 1 allowed",
        ),
        (at(json!({"at_most": "100"})), given(json!("a hundred")), Value::Null, true, &outside("at_most")),
        (at(json!({"at_least": "1000"})), given(json!("1 000")), Value::Null, true, &outside("at_least")),
        (at(json!({"at_least": 1})), given(json!({"value": 0})), Value::Null, true, &outside("at_least")),
        (at(json!({"equals": 1})), given(json!(1.0)), Value::Null, true, ""),
        (at(json!({"equals": 1})), given(json!("1")), Value::Null, true, &outside("equals")),
        (at(json!({"equals": 1})), given(json!("2")), Value::Null, false, &outside("equals")),
        (at(json!({"not_in": ["a"]})), given(json!({"b": "a"})), Value::Null, true, &outside("not_in")),
        (at(json!({"in": ["a", "b"]})), given(json!(["a", "b"])), Value::Null, true, ""),
        (at(json!({"in": ["a", "b"]})), given(json!(["a", "c"])), Value::Null, true, &outside("in")),
        (at(json!({"in": ["a", "b"]})), given(json!([])), Value::Null, false, &outside("in")),
        (at(json!({"not_in": ["a"]})), given(json!(["b", null])), Value::Null, true, &outside("not_in")),
        (at(json!({"domain": ["example.com"]})), given(json!("ann@example.com")), Value::Null, true, ""),
        (
            at(json!({"domain": ["evil.test"]})),
            given(json!("Ann <ann@evil.test>")),
            Value::Null,
            true,
            &outside("domain"),
        ),
        (
            at(json!({"domain": ["evil.test"]})),
            given(json!("ann@evil.test.")),
            Value::Null,
            true,
            &outside("domain"),
        ),
        (
            at(json!({"domain": ["evil.test"]})),
            given(json!("order:4412")),
            Value::Null,
            false,
            &outside("domain"),
        ),
        (at(json!({"prefix": "INV-"})), given(json!("inv-1")), Value::Null, false, &outside("prefix")),
        (
            at(json!({"matches": "INV-[0-9]+"})),
            given(json!("INV-1\n")),
            Value::Null,
            false,
            &outside("matches"),
        ),
        (at(json!({"each": {"at_most": 5}})), given(json!([1, 5])), Value::Null, true, ""),
        (
            at(json!({"each": {"prefix": "a"}})),
            given(json!(["b", "ab"])),
            Value::Null,
            true,
            &outside("each"),
        ),
        (at(json!({"each": {"at_most": 5}})), given(json!(5)), Value::Null, true, &outside("each")),
        (at(json!({"exists": false})), given(Value::Null), Value::Null, true, ""),
        (
            at(json!({"exists": false})),
            given(json!(5)),
            Value::Null,
            false,
            "the argument `/order/total` is given, and none is allowed",
        ),
        (at(json!({"exists": true})), given(Value::Null), Value::Null, false, missing),
        (at(json!({"not_in": ["a"]})), json!({"arguments": {}}), Value::Null, false, missing),
        (at(json!({"exists": false})), json!({}), Value::Null, false, none),
    ]);
}

#[test]
fn facts_come_from_an_enforcement_point_or_not_at_all() {
    let when = || json!({"facts": {"/amount_ratio": {"at_most": "1.2"}}});
    check(vec![
        (when(), json!({}), json!({"amount_ratio": 1.2}), true, ""),
        (
            when(),
            json!({}),
            json!({"amount_ratio": "1.21"}),
            false,
            "the fact `/amount_ratio` is too high: 1.21 asked, 1.2 allowed",
        ),
        (when(), json!({}), json!({"ratio": 1}), false, "the fact `/amount_ratio` is missing"),
        (
            when(),
            json!({"arguments": {"amount_ratio": 1}}),
            Value::Null,
            false,
            "no enforcement point states any facts",
        ),
    ]);
}

#[test]
fn evidence_has_a_measure_and_owners() {
    let sure = || json!({"evidence": {"confidence": {"at_least": "0.8"}}});
    let cites = |tests: Value| json!({"evidence": {"cites": tests}});
    let evidence =
        |confidence: Value, cites: Value| json!({"evidence": {"confidence": confidence, "cites": cites}});
    let with = |mut request: Value| {
        request["counterparty"] = json!("acct:1");
        request
    };
    let owners = || json!({"owners": {"order:1": "acct:1", "order:2": "acct:2"}});
    let nobody = |part: usize, of: usize| {
        format!("{part} of {of} cited things are not known to belong to the counterparty")
    };
    check(vec![
        (sure(), evidence(json!(0.80), json!([])), Value::Null, true, ""),
        (
            sure(),
            evidence(json!("0.79999"), json!([])),
            Value::Null,
            false,
            "the caller is not sure enough: 0.79999 given, at least 0.8 allowed",
        ),
        (
            sure(),
            json!({"evidence": {"cites": []}}),
            Value::Null,
            false,
            "the caller does not say how sure it is, at least 0.8 allowed",
        ),
        (sure(), json!({}), Value::Null, false, "the caller gives no evidence"),
        (cites(json!({"exactly": 1})), evidence(json!(1), json!(["a"])), Value::Null, true, ""),
        (
            cites(json!({"exactly": 1})),
            evidence(json!(1), json!(["a", "b"])),
            Value::Null,
            false,
            "the caller cites 2 things, exactly 1 allowed",
        ),
        (
            cites(json!({"at_least": 2})),
            evidence(json!(1), json!(["a"])),
            Value::Null,
            false,
            "the caller cites 1 things, at least 2 allowed",
        ),
        (
            cites(json!({"owner": "counterparty"})),
            with(evidence(json!(1), json!(["order:1"]))),
            owners(),
            true,
            "",
        ),
        (
            cites(json!({"owner": "counterparty"})),
            with(evidence(json!(1), json!(["order:1", "order:2"]))),
            owners(),
            true,
            &nobody(1, 2),
        ),
        (
            cites(json!({"owner": "counterparty"})),
            with(evidence(json!(1), json!(["order:1", "order:3"]))),
            owners(),
            true,
            &nobody(1, 2),
        ),
        (
            cites(json!({"owner": "counterparty"})),
            with(evidence(json!(1), json!([]))),
            owners(),
            false,
            &nobody(0, 0),
        ),
        (
            cites(json!({"owner": "counterparty"})),
            with(evidence(json!(1), json!(["order:1"]))),
            Value::Null,
            false,
            &nobody(1, 1),
        ),
    ]);
}

#[test]
fn labels_have_the_order_that_the_policy_declares() {
    let most = |level: &str| json!({"labels": {"audience": {"at_most": level}}});
    let least = |level: &str| json!({"labels": {"audience": {"at_least": level}}});
    let given = |level: &str| json!({"labels": {"audience": level}});
    let undeclared = "the policy does not declare what the clause says of the label `audience`";
    check(vec![
        (most("customer"), given("internal"), Value::Null, true, ""),
        (most("customer"), given("customer"), Value::Null, true, ""),
        (
            most("customer"),
            given("public"),
            Value::Null,
            false,
            "the label `audience` is too high: public given, at most customer allowed",
        ),
        (
            least("customer"),
            given("internal"),
            Value::Null,
            false,
            "the label `audience` is too low: internal given, at least customer allowed",
        ),
        (most("friends"), given("internal"), Value::Null, true, undeclared),
        (most("friends"), json!({}), Value::Null, false, undeclared),
        (most("customer"), json!({}), Value::Null, false, "the label `audience` is not given"),
    ]);
    let policy = policy(json!({"labels": {"audience": ["internal", "customer", "public"]}}));
    let checked =
        |labels: Value| check_labels(&policy, &described(json!({"intent": "pay", "labels": labels})));
    assert!(
        checked(json!({"audience": "public", "mood": "good"})).is_ok(),
        "an undeclared label bounds nothing"
    );
    assert_eq!(
        faults(checked(json!({"audience": "friends"}))),
        ["/labels/audience: `friends` found, allowed: internal, customer, public"]
    );
}

#[test]
fn hours_hold_when_it_is_time() {
    let office = json!({"hours": {"days": ["mon", "tue", "wed", "thu", "fri"], "from": "08:00", "until": "18:00", "zone": "Europe/Berlin"}});
    let mut case = Case::new(terms(json!([{"id": "A", "intent": "pay", "effect": "allow", "when": office}])));
    let action = action(json!({"intent": "pay"}));
    case.now = at("2026-11-30T16:59:59.999Z");
    assert_eq!(case.decide(&action).outcome, Allow);
    case.now = at("2026-11-30T17:00:00Z");
    let verdict = case.decide(&action);
    assert_eq!(verdict.outcome, Escalate);
    assert_eq!(
        verdict.reason(),
        "outside the hours: it is Mon 18:00 in Europe/Berlin, allowed mon, tue, wed, thu, fri 08:00 to 18:00 in Europe/Berlin"
    );
}

#[test]
fn links_lead_where_the_clause_says() {
    let when = || json!({"links": {"domain": ["example.com"]}});
    let text = |text: &str| json!({"arguments": {"to": "ann", "body": [text]}});
    let outside = "a link leads outside the domains allowed";
    check(vec![
        (when(), text("see https://example.com/a and help.example.com."), Value::Null, true, ""),
        (when(), text("no link here"), Value::Null, false, ""),
        (when(), text("https://example.com and https://evil.test"), Value::Null, true, outside),
        (when(), text("https://example.com@evil.test"), Value::Null, true, outside),
        (when(), text("data:text/html,x"), Value::Null, true, outside),
        (when(), json!({"arguments": {"https://evil.test": 1}}), Value::Null, false, outside),
        (when(), json!({}), Value::Null, false, "no arguments are given"),
    ]);
}

#[test]
fn protected_values_stay_inside() {
    let when = || json!({"contains": {"not_in": ["Project Falcon", "4111 1111 1111 1111"]}});
    let text = |value: Value| json!({"arguments": {"body": {"text": [value]}}});
    let found = "the arguments contain a protected value";
    check(vec![
        (when(), text(json!("all is well")), Value::Null, true, ""),
        (when(), text(json!("PROJECT-FALCON")), Value::Null, false, found),
        (when(), text(json!(4_111_111_111_111_111_u64)), Value::Null, false, found),
        (when(), json!({"arguments": {"project falcon": 1}}), Value::Null, false, found),
        (when(), json!({}), Value::Null, false, "no arguments are given"),
    ]);
}

#[test]
fn classes_of_personal_data_stay_inside() {
    let when = || json!({"contains": {"not_in": ["card", "iban", {"literal": "card"}]}});
    let text = |value: Value| json!({"arguments": {"body": {"text": [value]}}});
    let card = "the arguments contain personal data of the class `card`";
    let iban = "the arguments contain personal data of the class `iban`";
    check(vec![
        (when(), text(json!("it is 4111 1111 1111 1112")), Value::Null, true, ""),
        (when(), text(json!("it is 4111-1111-1111-1111")), Value::Null, false, card),
        (when(), text(json!(4_111_111_111_111_111_u64)), Value::Null, false, card),
        (when(), text(json!("GB29 NWBK 6016 1331 9268 19")), Value::Null, false, iban),
        (when(), text(json!("jane@example.com")), Value::Null, true, ""),
        (when(), text(json!("by CARD")), Value::Null, false, "the arguments contain a protected value"),
        (when(), json!({}), Value::Null, false, "no arguments are given"),
    ]);
}

#[test]
fn a_refusal_of_a_member_acts_through_lists_and_where_the_way_ends_early() {
    let refuses = |arguments: Value| {
        let case = Case::new(terms(json!([
            {"id": "R", "intent": "mail", "effect": "refuse", "when": {"arguments": {"/to/email": {"equals": "evil@x.example"}}}},
            {"id": "A", "intent": "mail", "effect": "allow"},
        ])));
        case.decide(&action(json!({"intent": "mail", "arguments": arguments}))).outcome == Outcome::Refuse
    };
    for (arguments, refused) in [
        (json!({"to": {"email": "evil@x.example"}}), true),
        (json!({"to": [{"email": "evil@x.example"}]}), true),
        (json!({"to": [{"email": "ann@x.example"}, [{"email": ["evil@x.example"]}]]}), true),
        (json!({"to": "evil@x.example"}), true),
        (json!({"to": ["evil@x.example"]}), true),
        (json!({"to": [{"email": "ann@x.example"}]}), false),
        (json!({"to": {"name": "evil"}}), false),
        (json!({"to": []}), false),
        (json!({"to": null}), false),
        (json!({}), false),
    ] {
        assert_eq!(refuses(arguments.clone()), refused, "{arguments}");
    }
    // An allowance takes only what stands where it says.
    let allowed = Case::new(terms(json!([{"id": "A", "intent": "mail", "effect": "allow",
        "when": {"arguments": {"/to/email": {"equals": "ann@x.example"}}}}])));
    let said =
        |arguments: Value| allowed.decide(&action(json!({"intent": "mail", "arguments": arguments}))).outcome;
    assert_eq!(said(json!({"to": {"email": "ann@x.example"}})), Outcome::Allow);
    for elsewhere in [json!({"to": [{"email": "ann@x.example"}]}), json!({"to": "ann@x.example"})] {
        assert_eq!(said(elsewhere.clone()), Outcome::Escalate, "{elsewhere}");
    }
}
