//! What a document takes for granted: whose word its facts are, and who must keep theirs.

use super::limits::entry_of;
use crate::domain::IntentPattern;
use crate::engine::catalogue::Catalogue;
use crate::engine::compare::unconditional_refusal;
use crate::engine::document::{
    Clause, Condition, Domain, EvidenceTest, MandateDocument, PolicyDocument, ResourceTest,
};

/// The most assumptions that are spelt out.
const MOST_SPELT_OUT: usize = 50;

/// What a mandate takes for granted.
pub(super) fn mandate(document: &MandateDocument, catalogue: Option<&Catalogue>) -> Vec<String> {
    let mut found = Assumed::default();
    for intent in
        catalogue.into_iter().flat_map(|catalogue| &catalogue.entries).filter_map(|(intent, entry)| {
            let pattern = IntentPattern::Exact(intent.clone());
            let allows = |clause: &Clause| clause.is_allowance() && clause.intent.matches(intent);
            let is_allowed = entry.effect
                && document.clauses.iter().any(allows)
                && unconditional_refusal(&document.clauses, &pattern).is_none();
            is_allowed.then_some(intent)
        })
    {
        found.add(format!("the provider honours the idempotency key of `{intent}`"));
    }
    found.conditions(&document.clauses, &document.domains, catalogue);
    found.finish()
}

/// What a policy takes for granted.
pub(super) fn policy(document: &PolicyDocument, catalogue: Option<&Catalogue>) -> Vec<String> {
    let mut found = Assumed::default();
    for set in &document.rule_sets {
        found.conditions(&set.clauses, &[], catalogue);
    }
    found.conditions(&[], &document.domains, catalogue);
    found.finish()
}

#[derive(Default)]
struct Assumed(Vec<String>);

impl Assumed {
    fn add(&mut self, sentence: String) {
        if !self.0.contains(&sentence) {
            self.0.push(sentence);
        }
    }

    fn finish(mut self) -> Vec<String> {
        let more = self.0.len().saturating_sub(MOST_SPELT_OUT);
        if more > 0 {
            self.0.truncate(MOST_SPELT_OUT);
            self.0.push(format!("and {more} more"));
        }
        self.0
    }

    fn conditions(&mut self, clauses: &[Clause], domains: &[Domain], catalogue: Option<&Catalogue>) {
        for clause in clauses {
            let derives_country =
                entry_of(clause, catalogue).is_some_and(|entry| entry.places.country.is_some());
            self.of(&clause.intent, &clause.when, derives_country);
        }
        for domain in domains {
            self.of(&domain.intent, &domain.when, false);
        }
    }

    fn enforced(&mut self, intent: &IntentPattern) {
        self.add(format!("an enforcement point stands before every tool of `{intent}`"));
    }

    fn of(&mut self, intent: &IntentPattern, when: &[Condition], derives_country: bool) {
        for condition in when {
            match condition {
                Condition::Country(_) if derives_country => {}
                Condition::Country(_) => self.add(format!(
                    "the country of `{intent}` is the agent's word, unless the credential fixes it"
                )),
                Condition::Untrusted(_) => self.add("`untrusted` is the caller's word".to_owned()),
                Condition::Labels(..) => self.add("`labels` are the caller's word".to_owned()),
                Condition::Evidence(EvidenceTest::CitesOwnedBy(_)) => {
                    self.add("`evidence` is the caller's word".to_owned());
                    self.enforced(intent);
                }
                Condition::Evidence(_) => self.add("`evidence` is the caller's word".to_owned()),
                Condition::Facts(..) | Condition::Resource(ResourceTest::OwnedBy(_)) => self.enforced(intent),
                Condition::Amount(_)
                | Condition::Counterparty(_)
                | Condition::Resource(_)
                | Condition::Arguments(..)
                | Condition::Hours(_)
                | Condition::Links(_)
                | Condition::Contains(_) => {}
            }
        }
    }
}
