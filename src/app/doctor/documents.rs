//! The documents that are live: what would be said of them if they were put live now.

use super::Finding;
use crate::committer::StandingCache;
use crate::domain::Timestamp;
use crate::engine::{Admission, Beside, admit_mandate, admit_policy};
use crate::storage::tenant::Tenant;
use crate::storage::{AnyConnection, StoreError, condition};

/// How many people's mandates are read at once.
const PAGE: i64 = 200;

/// Counts warnings and errors of the live policy and of every live mandate.
pub(super) fn look_over(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    now: Timestamp,
    found: &mut dyn FnMut(Finding),
) -> Result<(), StoreError> {
    let slug = &tenant.slug;
    let mut standings = StandingCache::default();
    let catalogue = standings.catalogue(connection, slug)?;
    let policy = match standings.policy(connection, slug) {
        Ok(policy) => policy,
        Err(StoreError::Corrupt { place, detail }) => {
            found(Finding::fail(
                "policy",
                format!("{slug}: {place} cannot be read: {detail}: the gate answers nobody"),
            ));
            return Ok(());
        }
        Err(error @ StoreError::Failed(_)) => return Err(error),
    };
    let said = admit_policy(&policy.document, None, Some(&catalogue.catalogue));
    found(match first_of(&said) {
        Some(first) => Finding::warn(
            "policy",
            format!("{slug}: version {}: {} warnings, the first: {first}", policy.version, count(&said)),
        ),
        None => Finding::ok("policy", format!("{slug}: version {}, nothing to say", policy.version)),
    });
    let beside = Beside { catalogue: Some(&catalogue.catalogue), policy: Some(&policy.document) };
    let (mut people, mut stopped, mut with, mut warnings) = (0_u64, 0_u64, 0_u64, 0_usize);
    let mut example = None;
    let mut after = None;
    loop {
        let page = condition::principals_with_mandates(connection, slug, after, PAGE)?;
        let Some(last) = page.last().copied() else { break };
        after = Some(last);
        for principal in page {
            people = people.saturating_add(1);
            let live = match standings.mandate(connection, slug, principal) {
                Ok(live) => live,
                Err(StoreError::Corrupt { place, detail }) => {
                    let says = format!(
                        "{slug}: {place} of {principal} cannot be read: {detail}: their agents get no answer"
                    );
                    found(Finding::fail("mandates", says));
                    continue;
                }
                Err(error @ StoreError::Failed(_)) => return Err(error),
            };
            if live.document.scopes.is_empty() {
                // New, or stopped on purpose: that nothing is allowed is what it says.
                stopped = stopped.saturating_add(1);
                continue;
            }
            let said = admit_mandate(&live.document, None, beside, now);
            if let Some(first) = first_of(&said) {
                with = with.saturating_add(1);
                warnings = warnings.saturating_add(count(&said));
                example = example.or_else(|| Some(format!("{principal} version {}: {first}", live.version)));
            }
        }
    }
    found(match example {
        Some(example) => Finding::warn(
            "mandates",
            format!("{slug}: {warnings} warnings in {with} of {people} live mandates, such as {example}"),
        ),
        None => Finding::ok(
            "mandates",
            format!("{slug}: {people} live, {stopped} of them without scopes, nothing to say"),
        ),
    });
    Ok(())
}

fn count(said: &Admission) -> usize {
    said.errors.len().saturating_add(said.warnings.len())
}

fn first_of(said: &Admission) -> Option<String> {
    let error = said.errors.first().map(|fault| format!("{}: {}", fault.pointer, fault.detail));
    error.or_else(|| said.warnings.first().map(|warning| format!("{}: {}", warning.pointer, warning.message)))
}
