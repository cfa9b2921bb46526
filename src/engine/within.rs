//! Whether a request is inside what the documents let requests say at all.

use super::action::Action;
use super::condition::Pass;
use super::decide::{Standing, facts};
use super::document::{Condition, Domain};
use super::node::Faults;
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
    let facts = facts(standing, action, now);
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
                    faults.add(condition.pointer(), detail);
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
    pub(super) const fn pointer(&self) -> &'static str {
        match self {
            Self::Amount(_) => "/amount",
            Self::Counterparty(_) => "/counterparty",
            Self::Country(_) => "/country",
            Self::Resource(_) => "/resource",
            Self::Untrusted(_) => "/untrusted",
        }
    }
}
