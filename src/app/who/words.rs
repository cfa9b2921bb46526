//! Says in one sentence who allowed what was found, or why nobody did.

use super::acts;
use super::case::{Call, Case, Matter, document};
use super::names::{Names, listed, spoken};
use crate::domain::{Outcome, PrincipalId, Timestamp};
use crate::storage::StoreError;
use crate::storage::decision::{Decision, DecisionStatus};
use crate::storage::receipt::StoredReceipt;
use serde_json::Value;

/// The sentence, and how it stands in one word.
pub(super) fn sentence(
    case: &Case,
    names: &mut Names<'_>,
    now: Timestamp,
) -> Result<(String, &'static str), StoreError> {
    let call = match &case.matter {
        Matter::Call(call) => call,
        Matter::Act => {
            let (who, says) = (acts::who(&case.about, names)?, acts::says(&case.about, names)?);
            return Ok((format!("{}: {who} {says}.", spoken(case.about.body.at)), "recorded"));
        }
    };
    let (mut sentence, standing) = match (&call.decision, call.deciding().body.outcome) {
        (Some(decision), _) => decided(call, decision, names, now)?,
        (None, Some(Outcome::Allow)) => (by_itself(call, names)?, "allowed"),
        (None, Some(Outcome::Escalate | Outcome::Refuse) | None) => (refused(call, names)?, "refused"),
    };
    if let Some(ending) = &call.ending {
        sentence = format!("{sentence}; {}", ending.says(names)?);
    }
    if let Some(at) = call.taken_back_at {
        sentence = format!("{sentence}; the answer came too late and was taken back on {}", spoken(at));
    }
    if let Some(at) = call.repeated {
        let first = call.deciding().body.id;
        sentence = format!(
            "{sentence}; asked again on {}, which repeats the record {first} and permits nothing anew",
            spoken(at)
        );
    }
    Ok((format!("{sentence}."), standing))
}

/// What a question put to a person came to.
fn decided(
    call: &Call,
    decision: &Decision,
    names: &mut Names<'_>,
    now: Timestamp,
) -> Result<(String, &'static str), StoreError> {
    let id = decision.id;
    let asked = asked(&call.asked, names)?;
    let reason = decision.reason.as_deref().filter(|reason| !reason.is_empty());
    let said = reason.map(|said| format!("; they said: {said}")).unwrap_or_default();
    let why_ended = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let ended = call.ended_at.map(|at| format!(" on {}", spoken(at))).unwrap_or_default();
    Ok(match decision.status_at(now) {
        DecisionStatus::Open => {
            let queue = names.person(decision.principal)?;
            let so_far = match said_yes(call, decision, names)? {
                Some(yeses) => format!("; {yeses} said yes, which is not enough"),
                None => String::new(),
            };
            let until = spoken(decision.expires_at);
            let why = why(&call.asked);
            (
                format!(
                    "Nobody has allowed this so far: {asked}, it waits in the queue of {queue} until {until}, as decision {id}{why}{so_far}"
                ),
                "waits",
            )
        }
        DecisionStatus::Approved => {
            let until = decision.approved_until.map(spoken).unwrap_or_default();
            (
                format!(
                    "{}; not used so far, and good until {until}",
                    yes(call, decision, &call.asked, names)?
                ),
                "allowed",
            )
        }
        DecisionStatus::Used => {
            let Some(used) = &call.used else {
                return Ok((yes(call, decision, &call.asked, names)?, "allowed"));
            };
            let by = caller(used, names)?;
            let at = spoken(used.body.at);
            (format!("{}; used once on {at} by {by}", yes(call, decision, used, names)?), "allowed")
        }
        DecisionStatus::Declined => {
            let who = match decision.decided_by {
                Some(person) => names.person(person)?,
                None => "somebody".into(),
            };
            let at = decision.decided_at.map(spoken).unwrap_or_default();
            (format!("{who} declined this on {at}: decision {id}, {asked}{said}"), "declined")
        }
        DecisionStatus::Expired => match said_yes(call, decision, names)? {
            Some(_) if decision.approved_until.is_some() => {
                let until = decision.approved_until.map(spoken).unwrap_or_default();
                (
                    format!(
                        "{}; nobody used it before it expired on {until}",
                        yes(call, decision, &call.asked, names)?
                    ),
                    "expired",
                )
            }
            Some(_) | None => {
                let until = spoken(decision.expires_at);
                (
                    format!("Nobody allowed this: decision {id}, {asked}, expired undecided on {until}"),
                    "expired",
                )
            }
        },
        DecisionStatus::Withdrawn => match said_yes(call, decision, names)? {
            Some(_) if decision.approved_until.is_some() => {
                let yes = yes(call, decision, &call.asked, names)?;
                (format!("{yes}; it was taken back{ended} before it was used{why_ended}"), "withdrawn")
            }
            Some(_) | None => (
                format!("Nobody allowed this: decision {id}, {asked}, was withdrawn{ended}{why_ended}"),
                "withdrawn",
            ),
        },
        DecisionStatus::Resolved => (by_itself(call, names)?, "allowed"),
    })
}

/// `Marta Silva allowed this on …, under mandate version 4, by approving decision … shown as …`.
fn yes(
    call: &Call,
    decision: &Decision,
    deciding: &StoredReceipt,
    names: &mut Names<'_>,
) -> Result<String, StoreError> {
    let given = given(call, decision);
    let is_own = given.is_empty() || given.iter().any(|(by, _)| *by == decision.principal);
    let for_whom = if is_own { String::new() } else { format!(" for {}", names.person(decision.principal)?) };
    let allowed = if let [(by, at)] = given[..] {
        format!("{} allowed this{for_whom} on {}", names.person(by)?, spoken(at))
    } else {
        let people = said_yes(call, decision, names)?.unwrap_or_else(|| "Somebody".into());
        format!("{people} allowed this{for_whom}")
    };
    let version = deciding.body.mandate_version.map(|version| format!(", under mandate version {version},"));
    Ok(format!(
        "{allowed}{} by approving decision {} shown as {}",
        version.unwrap_or_default(),
        decision.id,
        decision.input_hash
    ))
}

/// Whose yes it has, and since when.
fn given(call: &Call, decision: &Decision) -> Vec<(PrincipalId, Timestamp)> {
    match (decision.decided_by, decision.decided_at) {
        (Some(by), Some(at)) if call.yeses.is_empty() && decision.approved_until.is_some() => vec![(by, at)],
        _ => call.yeses.clone(),
    }
}

/// Whoever said yes, each with the day and time; `None` where nobody did.
fn said_yes(call: &Call, decision: &Decision, names: &mut Names<'_>) -> Result<Option<String>, StoreError> {
    let given = given(call, decision);
    let said = given.iter().map(|(by, at)| Ok(format!("{} (on {})", names.person(*by)?, spoken(*at))));
    let said = said.collect::<Result<Vec<_>, StoreError>>()?;
    Ok((!said.is_empty()).then(|| listed(&said)))
}

/// What the mandate allowed without asking anybody.
fn by_itself(call: &Call, names: &mut Names<'_>) -> Result<String, StoreError> {
    let stored = call.deciding();
    let whose = match stored.body.principal {
        Some(person) => names.person(person)?,
        None => "nobody".into(),
    };
    let version = stored.body.mandate_version.unwrap_or_default();
    let put = match call.mandate {
        Some((author, since)) => {
            format!(", which {} put live on {}", names.person(author)?, spoken(since))
        }
        None => String::new(),
    };
    let (at, by) = (spoken(stored.body.at), caller(stored, names)?);
    let clauses = clauses(stored).map(|clauses| format!("{clauses} of ")).unwrap_or_default();
    Ok(format!(
        "The mandate of {whose} allowed this on {at} without asking anybody, by {clauses}version {version}{put}; asked by {by}"
    ))
}

fn refused(call: &Call, names: &mut Names<'_>) -> Result<String, StoreError> {
    let stored = call.deciding();
    let (at, by) = (spoken(stored.body.at), caller(stored, names)?);
    let clauses = clauses(stored).map(|clauses| format!(" by {clauses}")).unwrap_or_default();
    let version =
        |name: &str, version: Option<u64>| version.map(|version| format!("{name} version {version}"));
    let body = &stored.body;
    let versions: Vec<String> =
        [version("mandate", body.mandate_version), version("policy", body.policy_version)]
            .into_iter()
            .flatten()
            .collect();
    let under = if versions.is_empty() { String::new() } else { format!(" under {}", listed(&versions)) };
    Ok(format!("Nobody allowed this: it was refused on {at}{clauses}{under}{}; asked by {by}", why(stored)))
}

/// `asked on … by credential "runner" of agent "renewals"`.
fn asked(stored: &StoredReceipt, names: &mut Names<'_>) -> Result<String, StoreError> {
    Ok(format!("asked on {} by {}", spoken(stored.body.at), caller(stored, names)?))
}

fn caller(stored: &StoredReceipt, names: &mut Names<'_>) -> Result<String, StoreError> {
    match (stored.body.credential, stored.body.agent) {
        (Some(credential), _) => names.credential(credential),
        (None, Some(agent)) => names.agent(agent),
        (None, None) => Ok("nobody known".into()),
    }
}

/// `clause M-001`, `clauses M-001 and RF-003`.
fn clauses(stored: &StoredReceipt) -> Option<String> {
    let output = document(&stored.output);
    let ids: Vec<String> =
        output.get("clauses")?.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    match ids.len() {
        0 => None,
        1 => Some(format!("clause {}", listed(&ids))),
        _ => Some(format!("clauses {}", listed(&ids))),
    }
}

/// The recorded reason, in brackets; it names no counterparty.
fn why(stored: &StoredReceipt) -> String {
    let output = document(&stored.output);
    let reason = output.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
    reason.map(|reason| format!(" ({reason})")).unwrap_or_default()
}
