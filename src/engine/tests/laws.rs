//! Laws that hold for every document and action of a small world.

use super::generate::*;
use super::*;
use crate::engine::document::{AmountTest, Condition, Effect};
use crate::engine::{CatalogueEntry, Change, Notation, clauses_within, compare, compare_policies, read_text};
use proptest::{collection, prelude::*};

/// How many actions each pair of documents is tried on.
const TRIES: usize = 60;

fn tried() -> impl Strategy<Value = Vec<(Action, (BTreeSet<ExternalName>, Timestamp))>> {
    collection::vec((actions(), surroundings()), TRIES)
}

fn around(mandate: &MandateDocument, known: &BTreeSet<ExternalName>, now: Timestamp) -> Case {
    Case { known: known.clone(), now, ..Case::new(mandate.clone()) }
}

/// Whether the two answers are as a change says.
fn agrees(change: Change, before: Outcome, after: Outcome) -> bool {
    match change {
        Change::Unchanged => after == before,
        Change::Narrowed => after >= before,
        Change::Widened => after <= before,
        Change::Mixed => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_narrower_mandate_answers_nothing_more_leniently((old, new) in mandate_pairs(), tries in tried()) {
        let change = compare(&old, &new);
        for (action, (known, now)) in tries {
            let before = around(&old, &known, now).decide(&action).outcome;
            let after = around(&new, &known, now).decide(&action).outcome;
            prop_assert!(agrees(change, before, after), "{change:?}, yet {before} became {after}: {action:?} {known:?}");
        }
    }

    #[test]
    fn a_narrower_policy_answers_nothing_more_leniently((old, new) in policy_pairs(), tries in tried()) {
        let change = compare_policies(&old, &new);
        let everything = terms(json!([{"id": "A", "intent": "*", "effect": "allow"}]));
        for (action, (known, now)) in tries {
            let mut case = around(&everything, &known, now);
            case.policy = old.clone();
            let before = case.decide(&action).outcome;
            case.policy = new.clone();
            let after = case.decide(&action).outcome;
            prop_assert!(agrees(change, before, after), "{change:?}, yet {before} became {after}: {action:?} {known:?}");
        }
    }

    #[test]
    fn a_child_within_its_parent_adds_nothing((parent, child) in clause_lists(), tries in tried()) {
        let (parent, child) = (clauses(parent), clauses(child));
        let within = clauses_within(&child, &parent);
        let everything = terms(json!([{"id": "A", "intent": "*", "effect": "allow"}]));
        for (action, (known, now)) in tries {
            let mut case = around(&everything, &known, now);
            case.credentials = vec![parent.clone()];
            let of_parent = case.decide(&action).outcome;
            case.credentials = vec![child.clone()];
            let of_child = case.decide(&action).outcome;
            prop_assert!(!within || of_child >= of_parent, "{of_parent} became {of_child}: {action:?} {known:?}");
            case.credentials.push(parent.clone());
            prop_assert_eq!(case.decide(&action).outcome, of_child.max(of_parent), "the strictest of a line wins");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_refusal_dominates(mandate in mandates(), tries in tried()) {
        for (action, (known, now)) in tries.into_iter().take(20) {
            let mut forbidding = mandate.clone();
            let refusal = json!([{"id": "NO", "intent": action.intent.as_str(), "effect": "refuse"}]);
            forbidding.clauses.extend(clauses(refusal).0);
            prop_assert_eq!(around(&forbidding, &known, now).decide(&action).outcome, Outcome::Refuse);
        }
    }

    #[test]
    fn the_order_of_clauses_means_nothing(mandate in mandates(), turn in 0..5usize, tries in tried()) {
        let mut turned = mandate.clone();
        turned.clauses.reverse();
        let middle = turn.min(turned.clauses.len());
        turned.clauses.rotate_left(middle);
        prop_assert_eq!(compare(&mandate, &turned), Change::Unchanged);
        for (action, (known, now)) in tries.into_iter().take(20) {
            prop_assert_eq!(
                around(&mandate, &known, now).decide(&action),
                around(&turned, &known, now).decide(&action)
            );
        }
    }

    #[test]
    fn removing_an_allowance_lets_nothing_through(mandate in mandates(), which: prop::sample::Index, tries in tried()) {
        let mut fewer = mandate.clone();
        if !fewer.clauses.is_empty() {
            let index = which.index(fewer.clauses.len());
            if fewer.clauses[index].is_allowance() {
                fewer.clauses.remove(index);
            }
        }
        for (action, (known, now)) in tries {
            let before = around(&mandate, &known, now).decide(&action).outcome;
            let after = around(&fewer, &known, now).decide(&action).outcome;
            prop_assert!(after != Outcome::Allow || before == Outcome::Allow);
        }
    }

    #[test]
    fn lowering_a_ceiling_never_loosens(mandate in mandates(), tries in tried()) {
        let mut lower = mandate.clone();
        for clause in lower.clauses.iter_mut().filter(|clause| matches!(clause.effect, Effect::Allow { .. })) {
            for condition in &mut clause.when {
                if let Condition::Amount(AmountTest::AtMost(most)) = condition {
                    let less = (most.minor_units() - 100).max(1);
                    *most = crate::domain::Amount::from_minor_units(less, most.currency()).unwrap();
                }
            }
        }
        prop_assert!(!compare(&mandate, &lower).may_widen(), "{:?}", compare(&mandate, &lower));
        for (action, (known, now)) in tries {
            let before = around(&mandate, &known, now).decide(&action).outcome;
            prop_assert!(around(&lower, &known, now).decide(&action).outcome >= before);
        }
    }

    #[test]
    fn an_approval_turns_escalations_into_allows_and_nothing_else(mandate in mandates(), action in actions()) {
        let verdict = Case::new(mandate).decide(&action);
        let approved = crate::engine::permit_with_approval(verdict.clone());
        let expected = if verdict.outcome == Outcome::Escalate { Outcome::Allow } else { verdict.outcome };
        prop_assert_eq!(approved.outcome, expected);
        prop_assert_eq!(approved.clauses(), verdict.clauses());
    }

    #[test]
    fn an_answer_always_names_what_decided_it(mandate in mandates(), action in actions(), reading: bool) {
        let mut case = Case::new(mandate);
        case.kind = if reading { AgentKind::Reading } else { AgentKind::Acting };
        let verdict = case.decide(&action);
        prop_assert!(!verdict.clauses().is_empty());
        prop_assert!(!verdict.reason().is_empty());
        prop_assert!(!reading || verdict.outcome != Outcome::Allow);
    }

    #[test]
    fn a_document_reads_back_as_it_was_written((mandate, _) in mandate_pairs(), (policy, _) in policy_pairs()) {
        let written = mandate.to_json();
        prop_assert_eq!(&MandateDocument::read(&written).unwrap(), &mandate);
        prop_assert_eq!(mandate.to_json(), written);
        prop_assert_eq!(&PolicyDocument::read(&policy.to_json()).unwrap(), &policy);
        let credential = CredentialClauses(mandate.clauses);
        prop_assert_eq!(&CredentialClauses::read(&credential.to_json()).unwrap(), &credential);
    }

    #[test]
    fn nothing_anyone_writes_makes_a_reader_panic(value in any_json(), schema in any_json()) {
        let _ = MandateDocument::read(&value);
        let _ = PolicyDocument::read(&value);
        let _ = CredentialClauses::read(&value);
        let _ = read_request(&value);
        let _ = CatalogueEntry::read(&json!({"title": "t", "effect": true, "arguments": schema, "resource": value}));
    }

    #[test]
    fn nothing_anyone_types_makes_the_text_reader_panic(
        text in "([a-z0-9:.,#&*!|>'\"\\[\\]{}?%@`~-]|: |\n|\n  |- |\\PC){0,60}",
        bytes: Vec<u8>,
    ) {
        for text in [text.as_bytes(), &bytes] {
            let _ = read_text(text, Notation::Yaml);
            let _ = read_text(text, Notation::Json);
        }
    }

    /// What the reader accepts meets the published schema: the readers' own checks come first, so a fault
    /// found only by the schema means that the two have drifted apart.
    #[test]
    fn readers_and_schemas_agree(
        (mandate, _) in mandate_pairs(),
        (policy, _) in policy_pairs(),
        path in collection::vec(0..8usize, 1..7),
        by in any_json(),
    ) {
        let drifted = |malformed: &Malformed| malformed.faults.iter().any(|fault| fault.detail.starts_with("against"));
        let mut value = mandate.to_json();
        replace(&mut value, &path, by.clone());
        if let Err(malformed) = MandateDocument::read(&value) {
            prop_assert!(!drifted(&malformed), "{}: {}", malformed, value);
        }
        let mut value = policy.to_json();
        replace(&mut value, &path, by);
        if let Err(malformed) = PolicyDocument::read(&value) {
            prop_assert!(!drifted(&malformed), "{}: {}", malformed, value);
        }
    }
}

/// The laws above say nothing if the pairs never compare as narrower.
#[test]
fn the_small_world_holds_every_kind_of_change() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut mandates = std::collections::HashMap::new();
    let mut policies = std::collections::HashMap::new();
    let mut within = 0;
    for _ in 0..1000 {
        let (old, new) = mandate_pairs().new_tree(&mut runner).unwrap().current();
        *mandates.entry(compare(&old, &new)).or_insert(0) += 1;
        let (old, new) = policy_pairs().new_tree(&mut runner).unwrap().current();
        *policies.entry(compare_policies(&old, &new)).or_insert(0) += 1;
        let (parent, child) = clause_lists().new_tree(&mut runner).unwrap().current();
        within += usize::from(clauses_within(&clauses(child), &clauses(parent)));
    }
    for change in [Change::Unchanged, Change::Narrowed, Change::Widened, Change::Mixed] {
        assert!(mandates.get(&change).is_some_and(|count| *count >= 50), "{change:?} in {mandates:?}");
        assert!(policies.get(&change).is_some_and(|count| *count >= 20), "{change:?} in {policies:?}");
    }
    assert!((100..1000).contains(&within), "{within}");
}
