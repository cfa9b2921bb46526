//! What is noted beside the log: the calls that a minute's leaf commits to, and the copies of the log that were taken.

use super::act::Act;
use crate::domain::{Duration, ExportId, Timestamp};
use crate::storage::access::Access;
use crate::storage::{self, StoreError, held};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Holds a minute and the calls of it that are listed against its leaf.
pub(super) fn minute(act: &mut Act<'_>) -> Result<(), StoreError> {
    let Some(from) = act.named::<Timestamp>("/input/minute") else { return Ok(()) };
    let (slug, chain) = (&act.tenant.slug, act.body.chain);
    let what = format!("the minute {from} of {chain}");
    let listed = act.content.get("/input/listed").and_then(|entry| entry.get("value")?.as_array()).cloned();
    match storage::access::find_minute(act.connection, slug, &chain, from.minute()) {
        Ok(Some(minute)) => {
            let place = act.ledger.place.map(|(place, ..)| place);
            let counts: Value = serde_json::from_str(&minute.counts).unwrap_or_default();
            let subject = minute.subject;
            let body = act.body;
            for (column, stands, said) in [
                ("access_minutes.log_index", json!(minute.log_index), json!(place)),
                ("access_minutes.principal", json!(subject.principal), json!(body.principal)),
                ("access_minutes.agent", json!(subject.agent), json!(body.agent)),
                ("access_minutes.credential", json!(subject.credential), json!(body.credential)),
            ] {
                act.says(column, &what, &stands, &said);
            }
            act.same("access_minutes.count", &what, "/output/count", &json!(minute.count));
            act.same("access_minutes.counts", &what, "/output/counts", &counts);
            if let Some(listed) = &listed {
                act.says("access_minutes.listed", &what, &json!(minute.listed), &json!(listed.len()));
            }
        }
        Ok(None) => act.ledger.say(format!("`access_minutes` holds no row for {what}")),
        Err(StoreError::Corrupt { place, detail }) => {
            act.ledger.say(format!("{what}: {place} cannot be read: {detail}"));
        }
        Err(error @ StoreError::Failed(_)) => return Err(error),
    }
    // Of erased calls nothing is left to hold rows against.
    match listed {
        Some(listed) => calls(act, from, &listed),
        None => Ok(()),
    }
}

fn calls(act: &mut Act<'_>, from: Timestamp, listed: &[Value]) -> Result<(), StoreError> {
    let rows = held::calls(
        act.connection,
        &act.tenant.slug,
        &act.body.chain,
        from,
        from.plus(Duration::minutes(1)),
    )?;
    let mut there: BTreeMap<String, Result<Access, StoreError>> = rows.into_iter().collect();
    for said in listed {
        let id = said.get("id").and_then(Value::as_str).unwrap_or_default();
        let what = format!("call {id}");
        match there.remove(id) {
            Some(Ok(row)) => {
                let member = |name: &str| said.get(name).cloned().unwrap_or_default();
                let (body, subject) = (act.body, row.subject);
                for (column, stands, said) in [
                    ("accesses.at", json!(row.at), member("at")),
                    ("accesses.method", json!(row.method), member("method")),
                    ("accesses.route", json!(row.route), member("route")),
                    ("accesses.status", json!(row.status), member("status")),
                    ("accesses.detail", json!(row.detail), member("detail")),
                    ("accesses.principal", json!(subject.principal), json!(body.principal)),
                    ("accesses.agent", json!(subject.agent), json!(body.agent)),
                    ("accesses.credential", json!(subject.credential), json!(body.credential)),
                ] {
                    act.says(column, &what, &stands, &said);
                }
            }
            Some(Err(error)) => act.ledger.say(format!("{what}: {error}")),
            None => act.ledger.say(format!("`accesses` does not hold {what} where its minute lists it")),
        }
    }
    for id in there.into_keys() {
        act.ledger.say(format!("`accesses` holds call {id}, and its minute does not list it"));
    }
    Ok(())
}

/// Holds what is kept of a copy that was taken against the receipt that states what is in it.
pub(super) fn export(act: &mut Act<'_>) -> Result<(), StoreError> {
    let Some(id) = act.named::<ExportId>("/input/export") else { return Ok(()) };
    let what = format!("export {id}");
    let slug = &act.tenant.slug;
    let row = match storage::export::find(act.connection, slug, id) {
        Ok(Some(row)) => row,
        Ok(None) => {
            act.ledger.say(format!("`exports` does not hold {what}"));
            return Ok(());
        }
        Err(StoreError::Corrupt { place, detail }) => {
            act.ledger.say(format!("{what}: {place} cannot be read: {detail}"));
            return Ok(());
        }
        Err(error @ StoreError::Failed(_)) => return Err(error),
    };
    let begun_at = storage::export::begun_at(act.connection, slug, id)?;
    let place = act.ledger.place.map(|(place, ..)| place);
    for (column, stands, said) in [
        ("exports.taken_by", json!(row.taken_by), json!(act.body.principal)),
        ("exports.log_index", json!(row.log_index), json!(place)),
        ("exports.begun_at", json!(begun_at), json!(row.header.at)),
    ] {
        act.says(column, &what, &stands, &said);
    }
    act.same("exports.format", &what, "/input/format", &json!(row.format));
    act.same("exports.header", &what, "/output/header", &json!(row.header.hash()));
    act.same("exports.lines", &what, "/output/lines", &json!(row.lines));
    if let Some(line) = row.last_line {
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        let stands = json!({
            "export": line.get("export"), "hash": line.pointer("/receipt/hash"),
            "input": line.get("input"), "output": line.get("output"),
        });
        let said = json!({
            "export": id, "hash": act.stored.hash,
            "input": act.line.get("input"), "output": act.line.get("output"),
        });
        if stands != said {
            act.ledger.say(format!("`exports.last_line` of {what} is not the line of its manifest"));
        }
    }
    Ok(())
}
