//! What an explanation says is what decided: its steps alone give the decision again.

use super::generate::*;
use super::*;
use crate::engine::document::Effect;
use crate::engine::explain::clause::{ClauseComesTo, ClauseStep, Met};
use crate::engine::explain::{ComesTo, Step, Subject};
use crate::engine::{Explanation, Reason, Shown, explain, looks};
use proptest::{collection, prelude::*};

/// The answer as the steps of an explanation make it, by the rules alone: their conditions and limits, not what they
/// say the clauses came to.
fn recomputed(explanation: &Explanation) -> Outcome {
    let mut effects = Vec::new();
    for step in &explanation.steps {
        match &step.subject {
            Subject::Domains(tested) => {
                if tested.iter().any(|(_, tested)| tested.result.is_err()) {
                    return Outcome::Refuse;
                }
            }
            Subject::Scopes | Subject::Validity | Subject::AgentKind => {
                if let ComesTo::Finds(_) = step.comes_to {
                    return Outcome::Refuse;
                }
            }
            Subject::Catalogue | Subject::Policy { .. } | Subject::Mandate | Subject::Credential(_) => {
                effects.extend(of_document(step));
            }
        }
    }
    effects.into_iter().max().unwrap_or(Outcome::Allow)
}

fn of_document(step: &Step) -> Vec<Outcome> {
    let conditions_hold = |clause: &ClauseStep| clause.conditions.iter().all(|tested| tested.result.is_ok());
    let acts =
        |effect: Effect| step.clauses.iter().any(|clause| clause.effect == effect && conditions_hold(clause));
    if acts(Effect::Refuse) {
        return vec![Outcome::Refuse];
    }
    let mut effects = Vec::new();
    if acts(Effect::Escalate) {
        effects.push(Outcome::Escalate);
    }
    let room = |clause: &ClauseStep| {
        clause.limits.iter().all(|limit| match &limit.met {
            Met::NotAsked | Met::Lacks(_) => false,
            Met::Looked(looks) => looks
                .iter()
                .all(|look| look.used.is_some_and(|used| used.saturating_add(look.asked) <= look.allowed)),
        })
    };
    let mut failed = Vec::new();
    for clause in &step.clauses {
        if let Effect::Allow { otherwise } = clause.effect {
            if conditions_hold(clause) && room(clause) {
                return effects;
            }
            failed.push(otherwise.outcome());
        }
    }
    if let ComesTo::Finds(findings) = &step.comes_to {
        let whole = |reason: &Reason| matches!(reason, Reason::Unlisted | Reason::Unregistered);
        effects
            .extend(findings.iter().filter(|finding| whole(&finding.reason)).map(|finding| finding.effect));
    }
    effects.extend(failed);
    effects
}

/// A case with limits on its allowances, and books that hold something.
fn limited(mandate: MandateDocument, limits: &[u8], action: &Action, held: &[u64]) -> Case {
    let mut mandate = mandate.to_json();
    let kinds = [
        json!([{"count": 2, "per": "day"}]),
        json!([{"total": {"value": "4", "currency": "EUR"}, "per": "30 days", "each": "counterparty"}]),
        json!([{"once_per": "resource"}, {"count": 3, "per": "hour", "pool": "all"}]),
    ];
    for (clause, limit) in mandate["clauses"].as_array_mut().unwrap().iter_mut().zip(limits) {
        if let Some(kind) = kinds.get(usize::from(*limit)).filter(|_| clause["effect"] == "allow") {
            clause["limits"] = kind.clone();
        }
    }
    let mut case = Case::new(super::mandate(mandate));
    let asked = case.standing(|standing| looks(standing, action, now()));
    for (look, held) in asked.iter().zip(held.iter().cycle()) {
        case.used.note(look, *held);
    }
    case
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_steps_alone_give_the_answer_again(
        mandate in mandates(),
        (policy, _) in policy_pairs(),
        (own, parents) in clause_lists(),
        action in actions(),
        limits in collection::vec(0..5u8, 5),
        held in collection::vec(prop_oneof![3 => 0..4u64, 1 => Just(200), 1 => Just(400)], 1..6),
        kind in 0..8u8,
        line in 0..3usize,
    ) {
        let mut case = limited(mandate, &limits, &action, &held);
        case.policy = policy;
        case.credentials = [own, parents].into_iter().take(line).map(clauses).collect();
        case.kind = match kind {
            0 => AgentKind::Answering,
            1 => AgentKind::Reading,
            _ => AgentKind::Acting,
        };
        let asked = case.standing(|standing| looks(standing, &action, now()));
        for (look, held) in asked.iter().zip(held.iter().cycle()) {
            case.used.note(look, *held);
        }
        let decided = case.decide(&action);
        let explained = case.standing(|standing| explain(standing, &action, now()));
        let verdict = explained.verdict.as_ref().unwrap();
        prop_assert_eq!(verdict, &decided);
        let mut again = recomputed(&explained);
        if case.kind == AgentKind::Reading {
            again = again.max(Outcome::Escalate);
        }
        prop_assert_eq!(again, decided.outcome, "{:#?}", explained);
        // What the clauses are said to have come to is what was found of them.
        for step in explained.steps.iter().filter(|step| !step.clauses.is_empty()) {
            let said = step.clauses.iter().filter(|clause| matches!(clause.comes_to, ClauseComesTo::Found(..)));
            let found = match &step.comes_to {
                ComesTo::Finds(findings) => {
                    let of_clauses = findings.iter().filter(|finding| finding.reason != Reason::Unlisted);
                    of_clauses.map(|finding| &finding.clause).collect::<BTreeSet<_>>().len()
                }
                ComesTo::NotReached | ComesTo::Passes | ComesTo::Outside(_) => 0,
            };
            prop_assert_eq!(said.count(), found);
        }
    }
}

fn ceiling() -> Case {
    let mut case = Case::new(mandate(json!({
        "scopes": ["action:request"],
        "clauses": [
            {"id": "M-001", "title": "Small refunds", "intent": "payments.refund", "effect": "allow",
             "when": {"amount": {"at_most": {"value": "100.00", "currency": "EUR"}}, "counterparty": {"in": ["mrs-jones"]}},
             "limits": [{"total": {"value": "500.00", "currency": "EUR"}, "per": "day"}]},
            {"id": "M-002", "intent": "account.*", "effect": "refuse"},
        ],
    })));
    let asks = action(json!({
        "intent": "payments.refund", "amount": {"value": "24.00", "currency": "EUR"}, "counterparty": "mrs-jones",
    }));
    for look in case.standing(|standing| looks(standing, &asks, now())) {
        case.used.note(&look, 49_000);
    }
    case
}

fn lines(case: &Case, request: Value) -> Vec<String> {
    case.standing(|standing| explain(standing, &action(request), case.now)).lines()
}

#[test]
fn a_limit_says_what_was_used_since_when_and_what_is_allowed() {
    let request = json!({
        "intent": "payments.refund", "amount": {"value": "24.00", "currency": "EUR"}, "counterparty": "mrs-jones",
    });
    assert_eq!(
        lines(&ceiling(), request),
        [
            "asked       payments.refund, 24.00 EUR, 1 counterparty, may be shaped by others' text, facts described",
            "at          2026-11-30T12:00:00.000Z",
            "domains     passes",
            "scopes      passes",
            "validity    passes",
            "agent kind  passes",
            "catalogue   passes",
            "policy      no rule set is for this agent and country: nothing to say",
            "mandate     escalate",
            "  M-001 allow (Small refunds): does not hold, so escalate",
            "    holds  amount at most 100.00 EUR",
            "    holds  counterparty in a list of 1",
            "    fails  at most 500.00 EUR per day: 490.00 EUR used since 2026-11-30T00:00:00.000Z, 24.00 EUR asked, \
             500.00 EUR allowed",
            "  1 other clause names other intents",
            "answer      escalate: above the total per day: 24.00 EUR asked, 490.00 EUR used, 500.00 EUR allowed",
        ]
    );
}

#[test]
fn no_line_names_whom_or_what_the_action_is_about() {
    let request = json!({
        "intent": "payments.refund", "amount": {"value": "240.00", "currency": "EUR"},
        "counterparty": ["mrs-jones", "mr-smith"], "resource": "order:7",
    });
    let lines = lines(&ceiling(), request).join("\n");
    for name in ["jones", "smith", "order:7"] {
        assert!(!lines.contains(name), "{lines}");
    }
    assert!(
        lines
            .contains("fails  counterparty in a list of 1: 1 of 2 counterparties is not among those allowed")
    );
}

#[test]
fn nothing_after_a_refusal_at_the_door_is_looked_at() {
    let mut case = ceiling();
    case.kind = AgentKind::Answering;
    let said = lines(&case, json!({"intent": "payments.refund"}));
    assert_eq!(
        &said[2..],
        [
            "domains     passes",
            "scopes      passes",
            "validity    passes",
            "agent kind  refuse: the agent answers questions and has no actions",
            "catalogue   not reached",
            "policy      no rule set is for this agent and country: not reached",
            "mandate     not reached",
            "answer      refuse: the agent answers questions and has no actions",
        ]
    );
}

#[test]
fn what_the_service_adds_at_the_end_stands_before_the_answer() {
    let mut case = Case::new(terms(json!([{"id": "A", "intent": "*", "effect": "allow"}])));
    case.kind = AgentKind::Reading;
    let said = lines(&case, json!({"intent": "payments.refund"}));
    let reads = "the agent reads what others write, so a person says yes first";
    assert_eq!(
        said[said.len() - 2..],
        [format!("agent kind  escalate: {reads}"), format!("answer      escalate: {reads}")]
    );
}

#[test]
fn a_request_outside_a_domain_goes_no_further() {
    let mut case = ceiling();
    case.mandate = mandate(json!({
        "scopes": ["action:request"],
        "domains": {"payments.refund": {"amount": {"at_most": {"value": "500.00", "currency": "EUR"}}}},
        "clauses": [{"id": "A", "intent": "*", "effect": "allow"}],
    }));
    let request = json!({"intent": "payments.refund", "amount": {"value": "501.00", "currency": "EUR"}});
    let said = lines(&case, request.clone());
    assert_eq!(said[2], "domains     the request may not be made at all");
    assert_eq!(
        said[3],
        "  fails  amount at most 500.00 EUR: above the ceiling: 501.00 EUR asked, 500.00 EUR allowed of the mandate"
    );
    assert_eq!(said[4], "scopes      not reached");
    let explained = case.standing(|standing| explain(standing, &action(request), case.now));
    assert_eq!(explained.to_json(Shown::ALL)["errors"][0]["pointer"], "/amount");
}

#[test]
fn terms_the_reader_may_not_read_are_held_back_but_for_what_the_answer_says() {
    let request = json!({"intent": "payments.refund", "amount": {"value": "240.00", "currency": "EUR"}, "counterparty": "mrs-jones"});
    let case = ceiling();
    let explained = case.standing(|standing| explain(standing, &action(request), case.now));
    let mandate = |shown| {
        let json = explained.to_json(shown);
        json["steps"].as_array().unwrap().iter().find(|step| step["step"] == "mandate").unwrap().clone()
    };
    let open = mandate(Shown::ALL);
    assert_eq!(open["clauses"][0]["conditions"][0]["condition"]["amount"]["at_most"]["value"], "100.00");
    assert_eq!(open["clauses"][0]["conditions"][1]["holds"], true);
    let held_back = mandate(Shown { policy: true, mandate: false });
    assert_eq!(held_back["withheld"], true);
    assert_eq!(
        held_back["clauses"],
        json!([{
            "clause": "M-001", "effect": "allow", "comes_to": "escalate", "code": "amount-above",
            "reason": "above the ceiling: 240.00 EUR asked, 100.00 EUR allowed",
        }])
    );
}
