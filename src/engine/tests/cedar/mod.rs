//! The engine beside Cedar: what both can say, both must answer alike.
//!
//! [Cedar](https://www.cedarpolicy.com) is another policy language with another evaluator, written by others and
//! modelled in Lean. Its fragment that this language shares:
//!
//! * intents exactly, below a prefix, and all, as actions in a hierarchy;
//! * an amount at most so much of one currency, as a long;
//! * counterparties and countries in and not in a list, with `containsAll` where every one must pass and
//!   `containsAny` where one suffices, and counterparties known by approval;
//! * resources in and not in a list, and by the beginning of their name, with `like`;
//! * `untrusted`, and facts that are missing, with `has`;
//! * allowances, escalations and refusals, of which a refusal wins; `otherwise`; `unlisted`;
//! * the strictest of a mandate, a policy's general rule set and a credential's clauses.
//!
//! Beyond it lie limits, periods and patterns, which Cedar does not evaluate, and rule sets, where it has no like.
//! Nothing here is shared with the engine: document and request go to it as JSON, to Cedar as its own text and context.

mod translate;
mod worlds;

use super::*;
use crate::engine::{ClauseRef, Source};
use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicyId, PolicySet, Request};
use proptest::prelude::*;
use translate::{Translated, Unnamed};

/// Documents, and requests to each: 100,000 cases.
const DOCUMENTS: u32 = 1000;
const REQUESTS: usize = 100;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(DOCUMENTS))]

    #[test]
    fn cedar_answers_every_request_alike(
        documents in worlds::documents(),
        requests in proptest::collection::vec(worlds::request(), REQUESTS),
    ) {
        let mut ours = documents.ours();
        let mut oracles = vec![(Source::Mandate, Oracle::of(&documents.mandate, documents.unlisted))];
        if let Some(clauses) = &documents.policy {
            oracles.push((Source::Policy, Oracle::of(clauses, Unnamed::Passes)));
        }
        if let Some(clauses) = &documents.credential {
            oracles.push((Source::Credential, Oracle::of(clauses, Unnamed::of_credential(clauses))));
        }
        let entities = worlds::entities();
        for request in requests {
            request.surround(&mut ours);
            let verdict = ours.decide(&action(request.described.clone()));
            let asked = asked(&request);
            let mut strictest = Outcome::Allow;
            for (source, oracle) in &oracles {
                let (outcome, named) = oracle.answer(&asked, &entities);
                strictest = strictest.max(outcome);
                let Some(named) = named else { continue };
                // A policy that passes has nothing to name.
                let named = if (*source, outcome) == (Source::Policy, Outcome::Allow) { vec![] } else { named };
                prop_assert_eq!(named_by(&verdict, *source), named, "{:?} of {:?}: {:?}", request, source, verdict);
            }
            prop_assert_eq!(verdict.outcome, strictest, "{:?}: {:?}", request, verdict);
        }
    }
}

/// The written clauses of one document that the verdict names, in order.
fn named_by(verdict: &Verdict, source: Source) -> Vec<String> {
    let mut named: Vec<String> = verdict
        .findings
        .iter()
        .filter(|finding| finding.source == source)
        .filter_map(|finding| match &finding.clause {
            ClauseRef::Written(id) => Some(id.to_string()),
            ClauseRef::Service(_) => None,
        })
        .collect();
    named.sort();
    named
}

fn uid(kind: &str, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.parse().unwrap(), cedar_policy::EntityId::new(id))
}

fn asked(request: &worlds::Asked) -> Request {
    let context = Context::from_json_value(request.context.clone(), None).unwrap();
    let intent = request.described["intent"].as_str().unwrap();
    Request::new(uid("Agent", "a"), uid("Action", intent), uid("Tool", "t"), context, None).unwrap()
}

/// One document as Cedar sees it: two questions, each a set of policies.
struct Oracle {
    allowed: PolicySet,
    not_refused: PolicySet,
}

impl Oracle {
    fn of(clauses: &[Value], unnamed: Unnamed) -> Self {
        let Translated { allowed, not_refused } = translate::document(clauses, unnamed);
        Self { allowed: parsed(allowed), not_refused: parsed(not_refused) }
    }

    /// The outcome, and where Cedar says which policies decided: the refusals, or the first allowance.
    fn answer(&self, request: &Request, entities: &Entities) -> (Outcome, Option<Vec<String>>) {
        let (not_refused, forbidding) = ask(&self.not_refused, request, entities);
        let (allowed, permitting) = ask(&self.allowed, request, entities);
        match (allowed, not_refused) {
            (Decision::Allow, Decision::Allow) => {
                (Outcome::Allow, Some(permitting.into_iter().take(1).collect()))
            }
            (Decision::Deny, Decision::Allow) => (Outcome::Escalate, None),
            (Decision::Deny, Decision::Deny) => {
                (Outcome::Refuse, (!forbidding.is_empty()).then_some(forbidding))
            }
            (Decision::Allow, Decision::Deny) => panic!("allowed and refused at once: {request:?}"),
        }
    }
}

fn parsed(policies: Vec<(String, String)>) -> PolicySet {
    let mut set = PolicySet::new();
    for (id, text) in policies {
        let policy = cedar_policy::Policy::parse(Some(PolicyId::new(id)), &text);
        set.add(policy.unwrap_or_else(|error| panic!("{error}: {text}"))).unwrap();
    }
    set
}

/// The decision and the clauses that determined it, in order; policies that stand for no clause left out.
fn ask(set: &PolicySet, request: &Request, entities: &Entities) -> (Decision, Vec<String>) {
    let response = Authorizer::new().is_authorized(request, set, entities);
    // A policy whose evaluation fails is skipped, which would pass unnoticed.
    let errors: Vec<_> = response.diagnostics().errors().collect();
    assert!(errors.is_empty(), "{errors:?}");
    let clauses = response.diagnostics().reason().map(ToString::to_string);
    let mut clauses: Vec<String> = clauses.filter(|id| !id.starts_with(translate::NO_CLAUSE)).collect();
    clauses.sort();
    (response.decision(), clauses)
}
