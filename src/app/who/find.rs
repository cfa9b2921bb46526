//! Looks for what is sought: by place, by id, or by a hash, in the lookups and in the log's newest receipts.

use super::{MOST_MATCHES, Sought, reads};
use crate::actions::lookup as by;
use crate::app::Caller;
use crate::crypto::AuthKey;
use crate::domain::Hash;
use crate::storage::lookup::{self, Key, RUN};
use crate::storage::receipt::{self, StoredReceipt};
use crate::storage::{AnyConnection, StoreError, agent, behind, credential, decision, effect, head};
use std::sync::Arc;

/// How many receipts of the log's end are looked through at once, and how many at most.
const PAGE: u64 = 512;
const LONGEST_END: u64 = 65_536;
/// How many receipts that the lookups name are read for one question.
const MOST_CANDIDATES: usize = 8192;
/// How many of them at once.
const AT_ONCE: usize = 64;

/// One thing that was found.
#[derive(Debug)]
pub(super) enum Found {
    /// A receipt.
    Receipt(Arc<StoredReceipt>),
    /// A decision.
    Decision(Box<decision::Decision>),
    /// An effect.
    Effect(Box<effect::Effect>),
    /// A credential.
    Credential(Box<credential::Credential>),
    /// An agent.
    Agent(Box<agent::Agent>),
}

/// All that was found, the newest first.
#[derive(Debug, Default)]
pub(super) struct Matches {
    pub(super) found: Vec<Found>,
    pub(super) more: bool,
    pub(super) not_searched: u64,
}

impl Matches {
    fn one(found: Option<Found>) -> Self {
        Self { found: found.into_iter().collect(), ..Self::default() }
    }
}

/// Looks for what is sought among what the caller may see; `key` is there where it is looked for by a keyed hash.
pub(super) fn find(
    connection: &mut AnyConnection,
    caller: &Caller,
    sought: &Sought,
    key: Option<&AuthKey>,
) -> Result<Matches, StoreError> {
    let tenant = caller.tenant();
    Ok(Matches::one(match (sought, key) {
        (Sought::Receipt(id), _) => receipt::find(connection, tenant, id.log_index())?
            .filter(|stored| stored.body.id == *id && reads(caller, stored))
            .map(|stored| Found::Receipt(Arc::new(stored))),
        (Sought::Decision(id), _) => decision::find(connection, tenant, *id)?
            .filter(|found| match caller {
                Caller::Person(person) => person.sees_tenant() || found.is_seen_by(person.id, person.roles),
                Caller::Agent(agent) => found.agent == agent.presented.agent,
            })
            .map(|found| Found::Decision(Box::new(found))),
        (Sought::Effect(id), _) => effect::find(connection, tenant, *id)?
            .filter(|found| match caller {
                Caller::Person(person) => person.sees_tenant() || found.principal == person.id,
                Caller::Agent(agent) => found.agent == agent.presented.agent,
            })
            .map(|found| Found::Effect(Box::new(found))),
        (Sought::Credential(id), _) => credential::find(connection, tenant, *id)?
            .filter(|found| match caller {
                Caller::Person(person) => person.sees_tenant() || found.principal == person.id,
                Caller::Agent(agent) => found.agent == agent.presented.agent,
            })
            .map(|found| Found::Credential(Box::new(found))),
        (Sought::Agent(id), _) => agent::find(connection, tenant, *id)?
            .filter(|found| match caller {
                Caller::Person(person) => person.sees_tenant() || found.principal == person.id,
                Caller::Agent(agent) => found.id == agent.presented.agent,
            })
            .map(|found| Found::Agent(Box::new(found))),
        (Sought::Hash(hash), _) => {
            return search(connection, caller, *hash, &|stored| by::hashes_of(stored).contains(hash));
        }
        (Sought::Request(described), Some(key)) => {
            let hash = by::of_request(key, described);
            return search(connection, caller, hash, &|stored| by::request_of(key, stored) == Some(hash));
        }
        (Sought::Reference(text), Some(key)) => {
            let hash = by::of_reference(key, text);
            return search(connection, caller, hash, &|stored| by::references_of(stored).contains(text));
        }
        (Sought::Request(_) | Sought::Reference(_), None) => None,
    }))
}

/// Looks through the log's end first, then through what the lookups name; what is found is always checked.
fn search(
    connection: &mut AnyConnection,
    caller: &Caller,
    hash: Hash,
    is_it: &dyn Fn(&StoredReceipt) -> bool,
) -> Result<Matches, StoreError> {
    let tenant = caller.tenant();
    let mut matches = Matches::default();
    let is_full = |matches: &mut Matches, stored: StoredReceipt| {
        if reads(caller, &stored) && is_it(&stored) {
            matches.more = matches.found.len() == MOST_MATCHES;
            if !matches.more {
                matches.found.push(Found::Receipt(Arc::new(stored)));
            }
        }
        matches.more
    };
    let run = lookup::next_run(connection, tenant)?;
    let begin = run.saturating_mul(RUN);
    let mut until = head::find(connection, tenant)?.map_or(0, |head| head.size);
    let last = begin.max(until.saturating_sub(LONGEST_END));
    while until > last {
        let from = last.max(until.saturating_sub(PAGE));
        for stored in behind::stretch(connection, tenant, from, until)?.into_iter().rev() {
            if is_full(&mut matches, stored) {
                return Ok(matches);
            }
        }
        until = from;
    }
    matches.not_searched = until.saturating_sub(begin);
    let (mut below, mut looked) = (Some(run), 0);
    while let Some(run) = below {
        let (places, next) = lookup::find(connection, tenant, Key::of(&hash), run)?;
        below = next;
        for places in places.chunks(AT_ONCE) {
            let mut candidates: Vec<_> =
                receipt::find_many(connection, tenant, places.iter().copied())?.into_values().collect();
            candidates.sort_by_key(|stored| std::cmp::Reverse(stored.log_index));
            for stored in candidates {
                if is_full(&mut matches, stored) {
                    return Ok(matches);
                }
            }
            looked += places.len();
            if looked >= MOST_CANDIDATES {
                let run = below.unwrap_or_default();
                matches.not_searched = matches.not_searched.saturating_add(run.saturating_mul(RUN));
                return Ok(matches);
            }
        }
    }
    Ok(matches)
}
