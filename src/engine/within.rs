//! Whether a request is inside what the documents let requests say at all.

use super::action::Action;
use super::condition::{Facts, Pass};
use super::decide::Standing;
use super::document::{Condition, Domain, EvidenceTest};
use super::node::{Faults, below};
use super::reason::Source;
use crate::domain::{Malformed, Timestamp};

/// Holds an action against the domains of policy and mandate, before any clause is read.
///
/// # Errors
/// Every fact that lies outside, with the request's member it stands in, what was found and what is allowed.
pub fn check_domains(standing: &Standing<'_>, action: &Action, now: Timestamp) -> Result<(), Malformed> {
    let (policy, mandate) = (&standing.policy.domains, &standing.mandate.domains);
    if policy.is_empty() && mandate.is_empty() {
        return Ok(());
    }
    let facts = Facts::new(standing, action, now);
    let mut faults = Faults::default();
    let mut check = |source: Source, domains: &[Domain]| {
        for domain in domains.iter().filter(|domain| domain.intent.matches(&action.intent)) {
            for condition in &domain.when {
                if let Err(reason) = facts.test(condition, Pass::Every) {
                    let detail = format!(
                        "outside the domain of `{}` in the {}: {reason}",
                        domain.intent,
                        source.as_str()
                    );
                    faults.add(&condition.pointer(), detail);
                }
            }
        }
    };
    check(Source::Policy, policy);
    check(Source::Mandate, mandate);
    faults.finish(Some(()))
}

impl Condition {
    /// The member of a request that the condition looks at.
    pub(super) fn pointer(&self) -> String {
        match self {
            Self::Amount(_) => "/amount".to_owned(),
            Self::Counterparty(_) => "/counterparty".to_owned(),
            Self::Country(_) => "/country".to_owned(),
            Self::Resource(_) => "/resource".to_owned(),
            Self::Untrusted(_) => "/untrusted".to_owned(),
            Self::Arguments(at, _) => format!("/arguments{at}"),
            Self::Facts(at, _) => format!("/facts{at}"),
            Self::Evidence(EvidenceTest::Confidence(_)) => "/evidence/confidence".to_owned(),
            Self::Evidence(_) => "/evidence/cites".to_owned(),
            Self::Labels(label, _) => below("/labels", label),
            // No member says when a request comes: that is the whole of it.
            Self::Hours(_) => String::new(),
            Self::Links(_) | Self::Contains(_) => "/arguments".to_owned(),
        }
    }
}
