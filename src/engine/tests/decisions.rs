//! Worked examples of decisions; every expected value follows from the rules by hand.

use super::*;
use crate::domain::FactsFrom;
use crate::engine::{effective_scopes, permit_with_approval};
use Outcome::{Allow, Escalate, Refuse};

fn refunds() -> MandateDocument {
    terms(json!([
        {"id": "M-001", "intent": "payments.refund", "effect": "allow",
         "when": {"amount": {"at_most": {"value": "100.00", "currency": "EUR"}}, "country": {"in": ["DE", "NL"]}}},
        {"id": "M-002", "intent": "account.*", "effect": "refuse"},
        {"id": "M-003", "intent": "mail.send", "effect": "escalate"},
        {"id": "M-004", "intent": "payments.wire", "effect": "allow", "otherwise": "refuse",
         "when": {"counterparty": {"known": true}}}
    ]))
}

fn eur(value: &str) -> Value {
    json!({"value": value, "currency": "EUR"})
}

#[test]
fn a_mandate_answers_as_its_clauses_say() {
    let case = Case::new(refunds());
    for (request, outcome, named) in [
        (json!({"intent": "payments.refund", "amount": eur("100.00"), "country": "DE"}), Allow, "M-001"),
        (json!({"intent": "payments.refund", "amount": eur("100.01"), "country": "DE"}), Escalate, "M-001"),
        (json!({"intent": "payments.refund", "amount": eur("1"), "country": "FR"}), Escalate, "M-001"),
        (json!({"intent": "payments.refund", "amount": eur("1")}), Escalate, "M-001"),
        (json!({"intent": "payments.refund", "country": "DE"}), Escalate, "M-001"),
        (
            json!({"intent": "payments.refund", "amount": {"value": 1, "currency": "USD"}, "country": "DE"}),
            Escalate,
            "M-001",
        ),
        (json!({"intent": "account.close"}), Refuse, "M-002"),
        (json!({"intent": "account"}), Escalate, "mandate.unlisted"),
        (json!({"intent": "mail.send"}), Escalate, "M-003"),
        (json!({"intent": "payments.wire", "counterparty": "acct:1"}), Refuse, "M-004"),
        (json!({"intent": "calendar.read"}), Escalate, "mandate.unlisted"),
    ] {
        assert_eq!(case.answer(request.clone()), (outcome, named.to_owned()), "{request}");
    }
}

#[test]
fn a_reason_gives_both_values_and_names_nobody() {
    let case = Case::new(refunds());
    for (request, reason) in [
        (
            json!({"intent": "payments.refund", "amount": eur("1240"), "country": "DE"}),
            "above the ceiling: 1240.00 EUR asked, 100.00 EUR allowed",
        ),
        (
            json!({"intent": "payments.refund", "amount": {"value": 5, "currency": "JPY"}, "country": "DE"}),
            "in another currency: JPY asked, EUR allowed",
        ),
        (
            json!({"intent": "payments.refund", "amount": eur("1"), "country": "FR"}),
            "in another country: FR asked, DE, NL allowed",
        ),
        (
            json!({"intent": "payments.wire", "counterparty": "acct:1"}),
            "the counterparty is not known to the principal",
        ),
        (
            json!({"intent": "payments.wire", "counterparty": ["acct:1", "acct:2", "acct:3"]}),
            "3 of 3 counterparties are not known to the principal",
        ),
        (json!({"intent": "account.close"}), "forbidden by clause `M-002` of the mandate"),
        (json!({"intent": "calendar.read"}), "no clause names the intent"),
    ] {
        assert_eq!(case.decide(&action(request.clone())).reason(), reason, "{request}");
    }
}

#[test]
fn a_condition_holds_for_every_counterparty_of_an_allowance() {
    let mut case = Case::new(terms(json!([
        {"id": "A", "intent": "mail.send", "effect": "allow", "when": {"counterparty": {"in": ["a@x.de", "b@x.de"]}}}
    ])));
    let ask = |names: Value| json!({"intent": "mail.send", "counterparty": names});
    assert_eq!(case.answer(ask(json!("a@x.de"))).0, Allow);
    assert_eq!(case.answer(ask(json!(["a@x.de", "b@x.de"]))).0, Allow);
    assert_eq!(case.answer(ask(json!(["a@x.de", "c@x.de"]))).0, Escalate);
    assert_eq!(case.answer(json!({"intent": "mail.send"})).0, Escalate, "nobody is not everybody");
    case.mandate = terms(json!([
        {"id": "A", "intent": "mail.send", "effect": "allow"},
        {"id": "R", "intent": "mail.send", "effect": "refuse", "when": {"counterparty": {"in": ["c@x.de"]}}}
    ]));
    assert_eq!(
        case.answer(ask(json!(["a@x.de", "c@x.de"]))),
        (Refuse, "R".to_owned()),
        "one suffices to refuse"
    );
    assert_eq!(case.answer(ask(json!(["a@x.de"]))).0, Allow);
    assert_eq!(
        case.answer(json!({"intent": "mail.send"})).0,
        Allow,
        "a refusal does not act on a missing fact"
    );
}

#[test]
fn known_is_approved_before_or_listed_up_to_its_bound() {
    let mut case = Case::new(mandate(json!({
        "scopes": ["action:request"],
        "counterparties": [
            {"id": "acct:1", "aliases": ["Shop"]},
            {"id": "acct:2", "at_most": {"value": "50.00", "currency": "EUR"}}
        ],
        "clauses": [{"id": "A", "intent": "pay", "effect": "allow", "when": {"counterparty": {"known": true}}}]
    })));
    case.known.insert(name("acct:9"));
    for (request, outcome) in [
        (json!({"intent": "pay", "counterparty": "acct:1"}), Allow),
        (json!({"intent": "pay", "counterparty": "Shop"}), Allow),
        (json!({"intent": "pay", "counterparty": "shop"}), Escalate),
        (json!({"intent": "pay", "counterparty": "acct:9"}), Allow),
        (json!({"intent": "pay", "counterparty": "acct:2", "amount": eur("50.00")}), Allow),
        (json!({"intent": "pay", "counterparty": "acct:2", "amount": eur("50.01")}), Escalate),
        (
            json!({"intent": "pay", "counterparty": "acct:2", "amount": {"value": 1, "currency": "USD"}}),
            Escalate,
        ),
        (json!({"intent": "pay", "counterparty": "acct:2"}), Escalate),
        (json!({"intent": "pay", "counterparty": ["acct:1", "acct:9"]}), Allow),
        (json!({"intent": "pay", "counterparty": ["acct:1", "acct:3"]}), Escalate),
    ] {
        assert_eq!(case.answer(request.clone()).0, outcome, "{request}");
    }
    let above = case.decide(&action(json!({"intent": "pay", "counterparty": "acct:2", "amount": eur("60")})));
    assert_eq!(
        above.reason(),
        "above what the counterparty is known for: 60.00 EUR asked, 50.00 EUR allowed"
    );
}

#[test]
fn one_passing_allowance_suffices_and_the_smallest_id_is_named() {
    let case = Case::new(terms(json!([
        {"id": "B", "intent": "pay", "effect": "allow"},
        {"id": "A", "intent": "pay", "effect": "allow", "otherwise": "refuse", "when": {"untrusted": false}},
        {"id": "C", "intent": "*", "effect": "allow"}
    ])));
    assert_eq!(case.answer(json!({"intent": "pay"})), (Allow, "B".to_owned()));
    assert_eq!(case.answer(json!({"intent": "pay", "untrusted": false})), (Allow, "A".to_owned()));
    let failing = Case::new(terms(json!([
        {"id": "B", "intent": "pay", "effect": "allow", "when": {"resource": {"prefix": "order:"}}},
        {"id": "A", "intent": "pay", "effect": "allow", "otherwise": "refuse", "when": {"untrusted": false}}
    ])));
    assert_eq!(failing.answer(json!({"intent": "pay", "resource": "x"})), (Refuse, "A".to_owned()));
    assert_eq!(failing.answer(json!({"intent": "pay", "resource": "order:1"})), (Allow, "B".to_owned()));
}

#[test]
fn a_missing_untrusted_is_true() {
    let case = Case::new(terms(json!([
        {"id": "A", "intent": "pay", "effect": "allow", "when": {"untrusted": false}},
        {"id": "E", "intent": "note", "effect": "escalate", "when": {"untrusted": true}}
    ])));
    assert_eq!(case.answer(json!({"intent": "pay"})).0, Escalate);
    assert_eq!(case.answer(json!({"intent": "pay", "untrusted": true})).0, Escalate);
    assert_eq!(case.answer(json!({"intent": "pay", "untrusted": false})).0, Allow);
    assert_eq!(case.answer(json!({"intent": "note"})), (Escalate, "E".to_owned()));
}

#[test]
fn an_escalation_that_acts_is_not_unlisted_as_well() {
    let case = Case::new(mandate(json!({
        "scopes": ["action:request"], "unlisted": "refuse",
        "clauses": [{"id": "E", "intent": "wire", "effect": "escalate", "when": {"untrusted": true}}]
    })));
    assert_eq!(case.answer(json!({"intent": "wire"})), (Escalate, "E".to_owned()));
    assert_eq!(
        case.answer(json!({"intent": "wire", "untrusted": false})),
        (Refuse, "mandate.unlisted".to_owned())
    );
}

#[test]
fn what_stops_a_standing_stops_every_action() {
    let everything = || terms(json!([{"id": "A", "intent": "*", "effect": "allow"}]));
    let ask = json!({"intent": "pay"});
    let mut case = Case::new(everything());
    assert_eq!(case.answer(ask.clone()), (Allow, "A".to_owned()));
    case.mandate.scopes = Scopes::NONE.with(Scope::MandateRead);
    assert_eq!(case.answer(ask.clone()), (Refuse, "mandate.scopes".to_owned()));
    case = Case::new(everything());
    case.scopes = Scopes::NONE;
    assert_eq!(case.answer(ask.clone()), (Refuse, "credential.scopes".to_owned()));
    case.scopes = Scopes::NONE.with(Scope::ActionRequest).with(Scope::MandateWrite);
    assert_eq!(case.answer(ask.clone()), (Refuse, "credential.scopes".to_owned()), "people alone");
    case = Case::new(everything());
    case.kind = AgentKind::Answering;
    assert_eq!(case.answer(ask), (Refuse, "agent.kind".to_owned()));
}

#[test]
fn an_agent_holds_what_token_and_mandate_share_and_never_mandate_write() {
    let mut mandate = terms(json!([]));
    let everything: Scopes = Scope::ALL.into_iter().collect();
    mandate.scopes = everything;
    let held = effective_scopes(everything, &mandate);
    for scope in Scope::ALL {
        assert_eq!(held.contains(scope), scope != Scope::MandateWrite, "{scope}");
    }
    mandate.scopes = Scopes::NONE.with(Scope::MandateRead).with(Scope::CallRead);
    let carried = Scopes::NONE.with(Scope::MandateRead).with(Scope::ActionRequest);
    assert_eq!(effective_scopes(carried, &mandate), Scopes::NONE.with(Scope::MandateRead));
}

#[test]
fn validity_includes_its_start_and_excludes_its_end() {
    let mut case = Case::new(mandate(json!({
        "scopes": ["action:request"],
        "valid": {"from": "2026-11-01T00:00:00Z", "until": "2027-02-01T00:00:00+01:00"},
        "clauses": [{"id": "A", "intent": "*", "effect": "allow"}]
    })));
    for (instant, outcome, named) in [
        ("2026-10-31T23:59:59.999Z", Refuse, "mandate.not_yet_valid"),
        ("2026-11-01T00:00:00Z", Allow, "A"),
        ("2027-01-31T22:59:59.999Z", Allow, "A"),
        ("2027-01-31T23:00:00Z", Refuse, "mandate.expired"),
    ] {
        case.now = at(instant);
        assert_eq!(case.answer(json!({"intent": "pay"})), (outcome, named.to_owned()), "{instant}");
    }
}

#[test]
fn a_reading_agent_needs_a_yes_and_may_use_one() {
    let mut case = Case::new(refunds());
    case.kind = AgentKind::Reading;
    let verdict =
        case.decide(&action(json!({"intent": "payments.refund", "amount": eur("1"), "country": "DE"})));
    assert_eq!((verdict.outcome, verdict.clauses()), (Escalate, vec!["agent.kind".to_owned()]));
    let approved = permit_with_approval(verdict);
    assert_eq!((approved.outcome, approved.clauses()), (Allow, vec!["agent.kind".to_owned()]));
    assert_eq!(case.answer(json!({"intent": "account.close"})), (Refuse, "M-002".to_owned()));
}

#[test]
fn an_approval_never_overrides_a_refusal() {
    let case = Case::new(refunds());
    let refused = case.decide(&action(json!({"intent": "account.close"})));
    assert_eq!(permit_with_approval(refused.clone()), refused);
    let allowed =
        case.decide(&action(json!({"intent": "payments.refund", "amount": eur("1"), "country": "DE"})));
    assert_eq!(permit_with_approval(allowed.clone()), allowed);
}

#[test]
fn a_policy_never_allows_by_itself() {
    let mut case = Case::new(terms(json!([{"id": "M", "intent": "pay", "effect": "allow"}])));
    case.policy = policy(json!({"clauses": [
        {"id": "P-1", "intent": "*", "effect": "allow", "when": {"amount": {"at_most": {"value": "10", "currency": "EUR"}}}},
        {"id": "P-2", "intent": "vote", "effect": "refuse"},
        {"id": "P-3", "intent": "trade", "effect": "allow"}
    ]}));
    assert_eq!(case.answer(json!({"intent": "pay", "amount": eur("10")})), (Allow, "M".to_owned()));
    assert_eq!(case.answer(json!({"intent": "pay", "amount": eur("11")})), (Escalate, "P-1".to_owned()));
    assert_eq!(case.answer(json!({"intent": "vote"})), (Refuse, "P-2".to_owned()));
    assert_eq!(case.answer(json!({"intent": "trade"})), (Escalate, "mandate.unlisted".to_owned()));
}

#[test]
fn unregistered_intents_fare_as_the_policy_says() {
    let mut case = Case::new(terms(json!([{"id": "M", "intent": "*", "effect": "allow"}])));
    for (word, answer) in [
        ("described", (Allow, "M")),
        ("escalate", (Escalate, "policy.unregistered")),
        ("refuse", (Refuse, "policy.unregistered")),
    ] {
        case.policy = policy(json!({"unregistered": word}));
        let mut asked = action(json!({"intent": "pay"}));
        let verdict = case.decide(&asked);
        assert_eq!((verdict.outcome, verdict.clauses().join(" ")), (answer.0, answer.1.to_owned()));
        asked.registered = true;
        assert_eq!(case.decide(&asked).outcome, Allow, "a registered intent is not concerned");
    }
}

#[test]
fn the_most_specific_rule_set_alone_is_used() {
    let set = |applies: Value, id: &str| json!({"applies": applies, "clauses": [{"id": id, "intent": "*", "effect": "escalate"}]});
    let me = agent().to_string();
    let mut case = Case::new(terms(json!([{"id": "M", "intent": "*", "effect": "allow"}])));
    let general = set(json!({}), "GENERAL");
    let country = set(json!({"country": "DE"}), "COUNTRY");
    let mine = set(json!({"agent": me}), "AGENT");
    let both = set(json!({"agent": me, "country": "DE"}), "BOTH");
    let mut derived = action(json!({"intent": "pay", "country": "DE"}));
    derived.facts_from = FactsFrom::Derived;
    for (sets, named) in [
        (vec![&general, &country, &mine, &both], "BOTH"),
        (vec![&general, &country, &mine], "AGENT"),
        (vec![&general, &country], "COUNTRY"),
        (vec![&general], "GENERAL"),
    ] {
        case.policy = policy(json!({"rule_sets": sets}));
        assert_eq!(case.decide(&derived).clauses().join(" "), named);
    }
    case.policy = policy(json!({"rule_sets": [set(json!({"country": "FR"}), "FRANCE")]}));
    assert_eq!(case.decide(&derived).outcome, Allow, "a set for another country says nothing");
}

#[test]
fn a_country_on_the_agents_word_selects_no_rule_set() {
    let mut case = Case::new(terms(json!([{"id": "M", "intent": "*", "effect": "allow"}])));
    case.policy = policy(json!({"rule_sets": [
        {"clauses": [{"id": "GENERAL", "intent": "*", "effect": "escalate"}]},
        {"applies": {"country": "DE"}, "clauses": []},
        {"applies": {"country": "FR"}, "clauses": [{"id": "FRANCE", "intent": "*", "effect": "refuse"}]}
    ]}));
    let mut asked = action(json!({"intent": "pay", "country": "DE"}));
    let answer = |case: &Case, asked: &Action| {
        let verdict = case.decide(asked);
        (verdict.outcome, verdict.clauses().join(" "))
    };
    assert_eq!(answer(&case, &asked), (Refuse, "FRANCE".to_owned()), "the strictest of all that could apply");
    asked.facts_from = FactsFrom::Attested;
    assert_eq!(answer(&case, &asked), (Allow, "M".to_owned()));
    asked.facts_from = FactsFrom::Described;
    case.country_fixed = Some("DE".parse().unwrap());
    assert_eq!(answer(&case, &asked), (Allow, "M".to_owned()), "the credential fixes it");
    case.country_fixed = None;
    asked.country = None;
    asked.facts_from = FactsFrom::Derived;
    assert_eq!(answer(&case, &asked), (Refuse, "FRANCE".to_owned()), "missing counts as anywhere");
}

#[test]
fn a_described_country_other_than_the_fixed_one_satisfies_no_allowance() {
    let mut case = Case::new(terms(json!([
        {"id": "A", "intent": "pay", "effect": "allow", "when": {"country": {"in": ["DE"]}}},
        {"id": "R", "intent": "mail", "effect": "refuse", "when": {"country": {"in": ["FR"]}}}
    ])));
    case.country_fixed = Some("FR".parse().unwrap());
    assert_eq!(case.answer(json!({"intent": "pay", "country": "DE"})).0, Escalate);
    assert_eq!(case.answer(json!({"intent": "mail", "country": "DE"})), (Refuse, "R".to_owned()));
}

#[test]
fn a_credentials_clauses_restrict_and_where_they_allow_they_must_allow() {
    let mut case = Case::new(terms(json!([{"id": "M", "intent": "*", "effect": "allow"}])));
    case.credentials =
        vec![clauses(json!([{"id": "C", "intent": "vote", "effect": "refuse"}])), clauses(json!([]))];
    assert_eq!(
        case.answer(json!({"intent": "pay"})),
        (Allow, "M".to_owned()),
        "without an allowance they only restrict"
    );
    assert_eq!(case.answer(json!({"intent": "vote"})), (Refuse, "C".to_owned()));
    case.credentials.push(clauses(json!([
        {"id": "K", "intent": "pay", "effect": "allow", "when": {"amount": {"at_most": {"value": "5", "currency": "EUR"}}}}
    ])));
    assert_eq!(case.answer(json!({"intent": "pay", "amount": eur("5")})), (Allow, "M K".to_owned()));
    assert_eq!(case.answer(json!({"intent": "pay", "amount": eur("6")})), (Escalate, "K".to_owned()));
    assert_eq!(case.answer(json!({"intent": "mail"})), (Escalate, "credential.unlisted".to_owned()));
}

#[test]
fn every_refusal_is_named_wherever_it_stands() {
    let mut case = Case::new(terms(json!([
        {"id": "M-2", "intent": "*", "effect": "refuse"}, {"id": "M-1", "intent": "pay", "effect": "refuse"},
        {"id": "M-0", "intent": "pay", "effect": "allow"}
    ])));
    case.policy = policy(json!({"clauses": [{"id": "P-9", "intent": "pay", "effect": "refuse"}]}));
    assert_eq!(case.answer(json!({"intent": "pay"})), (Refuse, "P-9 M-1 M-2".to_owned()));
}

#[test]
fn a_new_principal_starts_with_everything_refused() {
    let case = Case::new(MandateDocument::initial());
    assert_eq!(case.answer(json!({"intent": "pay"})), (Refuse, "mandate.scopes".to_owned()));
}
