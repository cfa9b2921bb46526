//! What is said of documents before they go live.

use super::*;
use crate::engine::{Admission, Beside, Catalogue, CatalogueEntry, admit_mandate, admit_policy};
use std::sync::Arc;

/// Refunds that move money of a customer and cannot be taken back, mails that go to people, and a mere look.
fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    for (intent, entry) in [
        (
            "pay.refund",
            json!({"title": "refund", "effect": true, "irreversible": true, "arguments": {"type": "object"},
                "amount": "/amount", "currency": {"const": "EUR"}, "resource": "/order"}),
        ),
        (
            "mail.send",
            json!({"title": "mail", "effect": true, "arguments": {"type": "object"}, "counterparties": ["/to"],
                "country": "/country"}),
        ),
        ("look", json!({"title": "look", "effect": false, "arguments": {"type": "object"}})),
    ] {
        let entry = CatalogueEntry::read(&entry).unwrap();
        catalogue.entries.insert(intent.parse().unwrap(), Arc::new(entry));
    }
    catalogue
}

fn admit(clauses: Value) -> Admission {
    let catalogue = catalogue();
    admit_mandate(&terms(clauses), None, Beside { catalogue: Some(&catalogue), policy: None }, now())
}

fn errors(said: &Admission) -> Vec<String> {
    said.errors.iter().map(|fault| format!("{}: {}", fault.pointer, fault.detail)).collect()
}

fn warnings(said: &Admission) -> Vec<String> {
    said.warnings.iter().map(|warning| format!("{}: {}", warning.pointer, warning.message)).collect()
}

fn allow(intent: &str, members: Value) -> Value {
    let mut clause = json!({"id": "A", "intent": intent, "effect": "allow"});
    clause.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    clause
}

fn euros(value: u32) -> Value {
    json!({"value": value.to_string(), "currency": "EUR"})
}

#[test]
fn conditions_that_contradict_each_other_keep_a_mandate_out() {
    for (when, fact) in [
        (json!({"amount": {"at_least": euros(2), "at_most": euros(1)}}), "amount"),
        (json!({"resource": {"in": ["x"], "prefix": "order:"}}), "resource"),
        (json!({"evidence": {"cites": {"exactly": 1, "at_least": 2}}}), "evidence"),
    ] {
        for effect in ["allow", "escalate", "refuse"] {
            let said = admit(json!([{"id": "A", "intent": "pay.refund", "effect": effect, "when": when}]));
            let expected = format!("/clauses/0/when/{fact}: no {fact} can meet these conditions together");
            assert_eq!(errors(&said), [expected], "{effect} {when}");
            assert!(said.admitted().is_err());
        }
    }
    for (when, fact) in [
        (json!({"country": {"in": ["DE"], "not_in": ["DE", "FR"]}}), "country"),
        (json!({"counterparty": {"in": ["p"], "not_in": ["p"]}}), "counterparty"),
    ] {
        let said = admit(json!([allow("pay.refund", json!({"when": when}))]));
        let expected = format!("/clauses/0/when/{fact}: no {fact} can meet these conditions together");
        assert_eq!(errors(&said), [expected]);
        // Of several, one may be listed and another not excluded: a refusal still acts.
        let said = admit(json!([{"id": "A", "intent": "unknown", "effect": "refuse", "when": when}]));
        assert_eq!(errors(&said), [""; 0]);
        let warning = format!(
            "/clauses/0/when/{fact}: no single one can meet these conditions: it acts only where several do together"
        );
        assert!(warnings(&said).contains(&warning), "{:?}", warnings(&said));
    }
    let possible = json!({"resource": {"in": ["x", "order:1"], "prefix": "order:"}});
    assert_eq!(errors(&admit(json!([allow("pay.refund", json!({"when": possible}))]))), [""; 0]);
}

#[test]
fn limits_that_no_call_can_meet_keep_a_mandate_out() {
    let dollars = json!({"value": "500", "currency": "USD"});
    for (intent, members, why) in [
        (
            "pay.refund",
            json!({"when": {"amount": {"at_most": euros(100)}}, "limits": [{"total": dollars, "per": "day"}]}),
            "the clause bounds amounts in EUR, the total is in USD",
        ),
        (
            "unknown",
            json!({"limits": [{"total": euros(500), "per": "day"}, {"total": dollars, "per": "day"}]}),
            "another total of the clause is in EUR, this one in USD",
        ),
        (
            "look",
            json!({"limits": [{"once_per": "resource"}]}),
            "the catalogue derives no resource for `look`",
        ),
        (
            "look",
            json!({"limits": [{"count": 1, "per": "day", "each": "resource"}]}),
            "the catalogue derives no resource for `look`",
        ),
        (
            "pay.refund",
            json!({"limits": [{"count": 2, "per": "day", "each": "counterparty"}]}),
            "the catalogue derives no counterparty for `pay.refund`",
        ),
        (
            "mail.send",
            json!({"limits": [{"total": euros(5), "per": "day"}]}),
            "the catalogue derives no amount for `mail.send`",
        ),
        (
            "pay.refund",
            json!({"limits": [{"total": dollars, "per": "day"}]}),
            "amounts of `pay.refund` are in EUR, the total is in USD",
        ),
    ] {
        let said = admit(json!([allow(intent, members.clone())]));
        let place = members["limits"].as_array().unwrap().len() - 1;
        let expected = format!("/clauses/0/limits/{place}: no call can meet this limit: {why}");
        assert_eq!(errors(&said), [expected], "{intent} {members}");
    }
    let met = json!({"limits": [{"once_per": "resource"}, {"total": euros(5), "per": "day"}, {"count": 1, "per": "day"}]});
    assert_eq!(errors(&admit(json!([allow("pay.refund", met.clone())]))), [""; 0]);
    // Of what the catalogue does not know, or where there is none, nothing is derived and nothing known.
    assert_eq!(errors(&admit(json!([allow("unknown", met.clone())]))), [""; 0]);
    let alone = admit_mandate(&terms(json!([allow("look", met)])), None, Beside::default(), now());
    assert_eq!(errors(&alone), [""; 0]);
}

#[test]
fn what_is_live_already_can_still_be_narrowed() {
    let catalogue = catalogue();
    let beside = Beside { catalogue: Some(&catalogue), policy: None };
    let hopeless = allow("look", json!({"limits": [{"once_per": "resource"}]}));
    let live = terms(json!([hopeless]));
    let narrower = terms(json!([{"id": "R", "intent": "pay.*", "effect": "refuse"}, hopeless]));
    let said = admit_mandate(&narrower, Some(&live), beside, now());
    assert_eq!(errors(&said), [""; 0]);
    assert!(
        warnings(&said).contains(
            &"/clauses/1/limits/0: no call can meet this limit: the catalogue derives no resource for `look`; the \
              live version says so already"
                .to_owned()
        ),
        "{:?}",
        warnings(&said)
    );
    let mut changed = hopeless.clone();
    changed["limits"] = json!([{"count": 1, "per": "day", "each": "resource"}]);
    assert_eq!(admit_mandate(&terms(json!([changed])), Some(&live), beside, now()).errors.len(), 1);
}

#[test]
fn clauses_that_nothing_reaches_are_named() {
    let said = admit(json!([
        {"id": "R", "intent": "pay.*", "effect": "refuse"},
        {"id": "E", "intent": "pay.refund", "effect": "escalate"},
        {"id": "S", "intent": "pay.refund", "effect": "refuse"},
        {"id": "T", "intent": "pay.*", "effect": "refuse"},
        {"id": "C", "intent": "look", "effect": "refuse", "when": {"resource": {"in": ["x"]}}},
        allow("mail.send", json!({"when": {"amount": {"at_most": euros(1)}}})),
    ]));
    assert_eq!(
        warnings(&said),
        [
            "/clauses/4/when/resource: it does not act on an action without resource",
            "/clauses/1: it never acts: clause `R` refuses all it names",
            "/clauses/2: it never acts: clause `R` refuses all it names",
            "/clauses/3: it never acts: clause `R` refuses all it names",
            "/clauses/4/when/resource: it never acts: the catalogue derives no resource for `look`",
            "/clauses/5/when/amount: it can never allow anything: the catalogue derives no amount for `mail.send`",
            "/clauses: no clause can ever allow anything",
        ]
    );
}

#[test]
fn domains_that_leave_a_clause_nothing_are_named() {
    let document = |at_most: Value| {
        mandate(json!({"scopes": ["action:request"],
            "domains": {"pay.*": {"amount": {"at_most": euros(500)}, "country": {"in": ["DE"]}}},
            "clauses": [allow("pay.refund", json!({"when": at_most}))]}))
    };
    let said =
        |document: &MandateDocument| warnings(&admit_mandate(document, None, Beside::default(), now()));
    assert_eq!(said(&document(json!({"country": {"in": ["DE", "FR"]}}))), [""; 0]);
    let unreached =
        "/clauses/0: it can never allow anything: nothing inside the domain of `pay.*` meets its conditions";
    for outside in [
        json!({"country": {"in": ["FR"]}}),
        json!({"amount": {"at_most": {"value": "1", "currency": "USD"}}}),
        json!({"country": {"not_in": ["DE", "FR"]}}),
    ] {
        assert_eq!(said(&document(outside))[0], unreached);
    }
}

#[test]
fn a_policy_that_stands_before_a_mandate_is_named() {
    let catalogue = catalogue();
    let said = |document: Value, rules: Value| {
        let policy = policy(rules);
        let beside = Beside { catalogue: Some(&catalogue), policy: Some(&policy) };
        warnings(&admit_mandate(&terms(json!([document])), None, beside, now()))
    };
    let refusing = json!({"clauses": [{"id": "P", "intent": "mail.*", "effect": "refuse"}]});
    let stopped = "/clauses/0: it can never allow anything: clause `P` of the policy refuses all it names";
    assert_eq!(said(allow("mail.send", json!({})), refusing.clone())[0], stopped);
    assert_eq!(said(allow("look", json!({})), refusing), [""; 0]);
    let for_some = json!({"rule_sets": [
        {"clauses": [{"id": "P", "intent": "mail.*", "effect": "refuse"}]},
        {"applies": {"country": "DE"}, "clauses": []},
    ]});
    assert_eq!(said(allow("mail.send", json!({})), for_some), [""; 0]);
    let unknown = said(allow("unknown", json!({})), json!({"unregistered": "refuse", "clauses": []}));
    let expected =
        "/clauses/0: it can never allow anything: the policy refuses what the catalogue does not know";
    assert_eq!(unknown[0], expected);
}

#[test]
fn allowances_on_what_nobody_knows_are_named() {
    let said = |intent: &str| warnings(&admit(json!([allow(intent, json!({}))])));
    assert_eq!(
        said("mail.draft"),
        ["/clauses/0/intent: the catalogue does not know `mail.draft`: every fact of it is the agent's word"]
    );
    assert_eq!(
        said("files.*"),
        [
            "/clauses/0/intent: the catalogue knows no intent of `files.*`: every fact of them is the agent's word"
        ]
    );
    assert_eq!(said("mail.*"), [""; 0]);
    assert_eq!(said("look"), [""; 0]);
}

#[test]
fn what_cannot_be_taken_back_is_warned_of_without_once_per() {
    let warning =
        "/clauses/0: `pay.refund` cannot be taken back, and no `once_per` keeps it from happening twice";
    let said = |clauses: Value| warnings(&admit(clauses));
    assert_eq!(said(json!([allow("pay.*", json!({}))])), [warning]);
    assert_eq!(
        said(json!([allow("pay.refund", json!({"limits": [{"count": 1, "per": "day"}]}))])),
        [warning]
    );
    assert_eq!(said(json!([allow("pay.refund", json!({"limits": [{"once_per": "resource"}]}))])), [""; 0]);
    let refused = json!({"id": "R", "intent": "pay.refund", "effect": "refuse"});
    assert_eq!(said(json!([allow("pay.*", json!({})), refused])), [""; 0]);
}

#[test]
fn pools_whose_members_never_count_together_are_named() {
    let clause = |id: &str, intent: &str, limit: Value| json!({"id": id, "intent": intent, "effect": "allow", "limits": [limit]});
    let of = |clauses: Value| {
        let said = admit_mandate(&terms(clauses), None, Beside::default(), now());
        assert!(said.errors.is_empty(), "{said:?}");
        warnings(&said)
    };
    let total = json!({"total": euros(5), "per": "day", "pool": "spend"});
    let month = json!({"total": euros(9), "per": "month", "pool": "spend"});
    let count = json!({"count": 5, "per": "day", "pool": "spend"});
    let each = json!({"total": euros(5), "per": "day", "pool": "spend", "each": "resource"});
    assert_eq!(of(json!([clause("A", "x", total.clone()), clause("B", "y", month)])), [""; 0]);
    assert_eq!(
        of(json!([clause("A", "x", total.clone())])),
        ["/clauses/0/limits/0/pool: no other clause names the pool `spend`"]
    );
    for (other, counts) in [(count, "uses"), (each, "amounts in EUR for each resource")] {
        let expected = format!(
            "/clauses/1/limits/0/pool: it never counts together with clause `A`: in the pool `spend` that one counts \
             amounts in EUR, this one {counts}"
        );
        assert_eq!(of(json!([clause("A", "x", total.clone()), clause("B", "y", other)])), [expected]);
    }
}

#[test]
fn what_a_mandate_takes_for_granted_is_said() {
    let said = admit(json!([
        allow("*", json!({"when": {"country": {"in": ["DE"]}, "untrusted": false}})),
        {"id": "B", "intent": "mail.send", "effect": "refuse", "when": {"country": {"in": ["FR"]}}},
    ]));
    assert_eq!(
        said.assumptions,
        [
            "the provider honours the idempotency key of `mail.send`",
            "the provider honours the idempotency key of `pay.refund`",
            "the country of `*` is the agent's word, unless the credential fixes it",
            "`untrusted` is the caller's word",
        ]
    );
    assert_eq!(admit(json!([allow("look", json!({}))])).assumptions, [""; 0]);
    let enforced = "an enforcement point stands before every tool of `look`";
    let evidence = "`evidence` is the caller's word";
    for (when, sentences) in [
        (json!({"facts": {"/writable": {"equals": true}}}), vec![enforced]),
        (json!({"resource": {"owner": "principal"}}), vec![enforced]),
        (json!({"evidence": {"confidence": {"at_least": "0.8"}}}), vec![evidence]),
        (json!({"evidence": {"cites": {"at_least": 1, "owner": "counterparty"}}}), vec![evidence, enforced]),
        (json!({"labels": {"audience": {"at_most": "customer"}}}), vec!["`labels` are the caller's word"]),
    ] {
        assert_eq!(admit(json!([allow("look", json!({"when": when}))])).assumptions, sentences);
    }
}

#[test]
fn a_policy_is_looked_over_rule_set_by_rule_set() {
    let catalogue = catalogue();
    let document = policy(json!({
        "domains": {"pay.*": {"country": {"in": ["DE"], "not_in": ["DE"]}}},
        "rule_sets": [
            {"clauses": [{"id": "P", "intent": "look", "effect": "allow", "limits": [{"once_per": "resource"}]}]},
            {"applies": {"country": "DE"}, "clauses": [
                {"id": "Q", "intent": "unknown", "effect": "allow", "when": {"country": {"in": ["DE"]}}}]},
        ],
    }));
    let said = admit_policy(&document, None, Some(&catalogue));
    assert_eq!(
        errors(&said),
        [
            "/domains/pay.*/country: no country can meet these conditions together",
            "/rule_sets/0/clauses/0/limits/0: no call can meet this limit: the catalogue derives no resource for `look`",
        ]
    );
    assert_eq!(
        warnings(&said),
        [
            "/rule_sets/1/clauses/0/intent: the catalogue does not know `unknown`: every fact of it is the agent's word"
        ]
    );
    assert!(said.assumptions.contains(
        &"the country of `unknown` is the agent's word, unless the credential fixes it".to_owned()
    ));
    let again = admit_policy(&document, Some(&document), Some(&catalogue));
    assert_eq!(errors(&again), [""; 0]);
    assert_eq!(again.warnings.len(), 3);
}
