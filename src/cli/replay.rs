//! `procura replay`: decides the log again and names what does not come out as it was recorded. Works beside a running
//! server.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form, diagnose};
use super::place::{self, Place};
use super::progress::Progress;
use crate::app::replay::{Difference, Finding, Replay, replay};
use crate::crypto::keyring::MasterKey;
use crate::domain::{TenantSlug, Timestamp};
use crate::storage::tenant::Tenant;
use crate::storage::{self, DataDirectory, Readers, StoreError};
use serde_json::{Value, json};

/// Decides again what the options ask: 0 where all comes out as it was recorded, 1 where something does not, 2 where
/// the log cannot be read.
pub(super) fn run(sources: &Sources, options: &arguments::Replay, form: Form) -> Result<u8, Failure> {
    let database = Place::database(sources, &options.place).map_err(Failure::into_unreadable)?;
    let tenant: Option<TenantSlug> = sources.parse("tenant", options.tenant.as_deref(), str::parse)?;
    let from = sources.parse("from", options.from.as_deref(), |text| {
        text.parse::<u64>().map_err(|_| {
            format!("`{}` is not a place in the log: a count of receipts, from 0", text.escape_debug())
        })
    })?;
    let unreadable = |error: StoreError| Failure::usage(format!("{database}: {error}"));
    let readers = database.open_readers().map_err(unreadable)?;
    // With it more is held; whoever has the database alone decides again without.
    let data_dir = sources.parse("data-dir", options.place.data_dir.as_deref(), place::directory)?;
    let master =
        data_dir.and_then(|data_dir| MasterKey::read(&DataDirectory::master_key_file(&data_dir)).ok());
    let tenants = tenants(&readers, tenant.as_ref()).map_err(unreadable)?;
    if tenants.is_empty() {
        return Err(Failure::usage(match tenant {
            Some(tenant) => format!("`--tenant`: there is no tenant `{tenant}`"),
            None => "no tenant is set up yet: `procura setup` makes one".to_owned(),
        }));
    }
    if let (Some(from), Some((tenant, size))) = (from, tenants.iter().max_by_key(|(_, size)| *size))
        && from > *size
    {
        let slug = &tenant.slug;
        return Err(Failure::usage(format!("`--from`: the log of `{slug}` has {size} receipts, not {from}")));
    }
    let from = from.unwrap_or(0);
    let all = tenants.iter().map(|(_, size)| size.saturating_sub(from)).sum();
    let progress = Progress::of_items(all, "receipts");
    let mut replays = Vec::new();
    for (tenant, _) in tenants {
        let decided = replay(&readers, &tenant, master.as_ref(), from, &|count| progress.count(count));
        let decided = decided.map_err(unreadable)?;
        replays.push((tenant.slug, decided));
    }
    drop(progress);
    let found: u64 = replays.iter().map(|(_, replay)| replay.found).sum();
    match form {
        Form::Json => {
            let verdict = if found == 0 { "same" } else { "diverged" };
            let tenants: Vec<Value> =
                replays.iter().map(|(tenant, replay)| as_json(tenant, replay)).collect();
            output::json(&json!({"verdict": verdict, "findings": found, "tenants": tenants}))?;
        }
        Form::Text => tell(&replays, found)?,
    }
    Ok(u8::from(found > 0))
}

/// The tenants whose logs are decided again, each with how long its log is.
fn tenants(readers: &Readers, named: Option<&TenantSlug>) -> Result<Vec<(Tenant, u64)>, StoreError> {
    let mut connection = readers.get()?;
    let mut tenants = Vec::new();
    for tenant in storage::tenant::all(&mut connection)? {
        if named.is_none_or(|named| *named == tenant.slug) {
            let size = storage::head::find(&mut connection, &tenant.slug)?.map_or(0, |head| head.size);
            tenants.push((tenant, size));
        }
    }
    Ok(tenants)
}

fn tell(replays: &[(TenantSlug, Replay)], found: u64) -> Result<(), Failure> {
    for (tenant, replay) in replays {
        let Replay { from, until, decided, repeats, others, erased, other_rules, .. } = replay;
        output::line(format!(
            "{tenant}: receipts {from} to {until}: {decided} calls decided again, {repeats} answers given again, \
             {others} records of something else"
        ))?;
        if *erased > 0 {
            output::line(format!("{tenant}: {erased} undecidable: their content was erased"))?;
        }
        for (version, count) in other_rules {
            output::line(format!(
                "{tenant}: {count} undecidable here: answered under version {version} of the rules"
            ))?;
        }
    }
    if found == 0 {
        return output::line("all come out as they were recorded");
    }
    let mut named = 0_u64;
    for (tenant, replay) in replays {
        for ((place, _), finding) in &replay.findings {
            named = named.saturating_add(1);
            diagnose(&format!("{tenant}, index {place}: {}", sentence(finding)));
        }
    }
    if named < found {
        diagnose(&format!("and {} more", found.saturating_sub(named)));
    }
    Ok(())
}

/// One finding as a sentence.
fn sentence(finding: &Finding) -> String {
    let whose = finding.receipt.map(|(id, at)| format!("{id} of {at}: ")).unwrap_or_default();
    match &finding.what {
        Difference::Answer { recorded, again } => {
            format!("{whose}recorded as {recorded}; comes out as {again}")
        }
        Difference::Changed { field, expected, found } => {
            format!("{whose}the record was changed: {field} (expected {expected}, found {found})")
        }
        Difference::Missing => "there is no receipt".to_owned(),
        Difference::Unreadable(why) | Difference::Authority(why) | Difference::End(why) => {
            format!("{whose}{why}")
        }
    }
}

fn as_json(tenant: &TenantSlug, replay: &Replay) -> Value {
    let findings: Vec<Value> = replay
        .findings
        .iter()
        .map(|((place, _), finding)| {
            let receipt = finding.receipt.map(|(id, _)| id);
            let at: Option<Timestamp> = finding.receipt.map(|(_, at)| at);
            let mut said = json!({"log_index": place, "receipt": receipt, "at": at});
            let (what, more) = match &finding.what {
                Difference::Answer { recorded, again } => {
                    ("answer", json!({"recorded": recorded.to_json(), "again": again.to_json()}))
                }
                Difference::Changed { field, expected, found } => {
                    ("changed", json!({"field": field, "expected": expected, "found": found}))
                }
                Difference::Missing => ("missing", json!({})),
                Difference::Unreadable(why) => ("unreadable", json!({"detail": why})),
                Difference::Authority(why) => ("authority", json!({"detail": why})),
                Difference::End(why) => ("end", json!({"detail": why})),
            };
            if let (Some(said), Value::Object(more)) = (said.as_object_mut(), more) {
                said.insert("what".into(), json!(what));
                said.extend(more);
            }
            said
        })
        .collect();
    json!({"tenant": tenant, "from": replay.from, "until": replay.until, "decided": replay.decided,
        "repeats": replay.repeats, "others": replay.others,
        "undecidable": {"erased": replay.erased, "other_rules": replay.other_rules},
        "findings": findings, "found": replay.found})
}
