//! `procura coverage`: a provider's own list of effects held against the ledger. Works beside a running server.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::Place;
use super::progress::Progress;
use crate::app::coverage::{Asked, Columns, Coverage, CoverageError, MOST_NAMED, coverage};
use crate::domain::{IntentPattern, TenantSlug, Timestamp};
use crate::storage::{self, Readers, StoreError};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// How much of each sort is listed for a person.
const MOST_SHOWN: usize = 20;

/// Compares: 0 where list and ledger say the same, 1 where they do not, 2 where one of them cannot be read.
pub(super) fn run(sources: &Sources, options: &arguments::Coverage, form: Form) -> Result<u8, Failure> {
    let database = Place::database(sources, &options.place).map_err(Failure::into_unreadable)?;
    let text = |name: &str, typed: Option<&str>| sources.parse(name, typed, |text| Ok(text.to_owned()));
    let columns = Columns {
        reference: text("reference", options.reference.as_deref())?,
        amount: text("amount", options.amount.as_deref())?,
        currency: text("currency", options.currency.as_deref())?,
        time: text("time", options.time.as_deref())?,
        key: text("key-column", options.key_column.as_deref())?,
    };
    let intent: Option<IntentPattern> = sources.parse("intent", options.intent.as_deref(), str::parse)?;
    let from: Option<Timestamp> = sources.parse("from", options.from.as_deref(), str::parse)?;
    let until: Option<Timestamp> = sources.parse("until", options.until.as_deref(), str::parse)?;
    if let (Some(from), Some(until)) = (from, until)
        && from >= until
    {
        return Err(Failure::usage(format!("`--until`: `{until}` is not after `--from`, which is `{from}`")));
    }
    let named: Option<TenantSlug> = sources.parse("tenant", options.tenant.as_deref(), str::parse)?;
    let unreadable = |error: StoreError| Failure::usage(format!("{database}: {error}"));
    let readers = database.open_readers().map_err(unreadable)?;
    let tenant = tenant(&readers, named).map_err(unreadable)?.map_err(Failure::usage)?;
    let asked = Asked {
        tenant,
        intent: intent.unwrap_or(IntentPattern::Any),
        from,
        until,
        columns,
        most_named: MOST_NAMED,
    };
    let list = open(&options.file)?;
    let progress = Progress::of_unknown("effects read");
    let found = coverage(&readers, &asked, list, &|more| progress.count(more));
    drop(progress);
    let found = found.map_err(|error| match error {
        CoverageError::List(why) => Failure::usage(format!("`{}`: {why}", options.file)),
        CoverageError::Store(error) => unreadable(error),
    })?;
    match form {
        Form::Json => output::json(&found.to_json(&asked))?,
        Form::Text => tell(&found)?,
    }
    Ok(u8::from(!found.agrees()))
}

fn open(file: &str) -> Result<Box<dyn BufRead>, Failure> {
    if file == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(file).map_err(|error| Failure::usage(format!("`{file}`: {error}")))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// The tenant that is named, or the only one.
fn tenant(readers: &Readers, named: Option<TenantSlug>) -> Result<Result<TenantSlug, String>, StoreError> {
    let tenants = storage::tenant::all(&mut *readers.get()?)?;
    let mut slugs = tenants.into_iter().map(|tenant| tenant.slug);
    Ok(match (named, slugs.len()) {
        (Some(named), _) if slugs.any(|slug| slug == named) => Ok(named),
        (Some(named), _) => Err(format!("`--tenant`: there is no tenant `{named}`")),
        (None, 1) => slugs.next().ok_or_else(String::new),
        (None, count) => Err(format!("`--tenant`: {count} tenants are set up, one has to be named")),
    })
}

fn tell(found: &Coverage) -> Result<(), Failure> {
    let line = |count: u64, what: &str| output::line(format!("{count:>8}  {what}"));
    line(found.lines, "lines in the list")?;
    line(found.matched.count, "matched: allowed, done, the same amount")?;
    for (named, what) in [
        (&found.missing, "without a receipt: these calls never passed the gate"),
        (&found.unsettled, "in the list, but not known to be done"),
        (&found.differing, "with another amount than was allowed"),
        (&found.never_done, "allowed, but not in the list"),
        (&found.duplicates, "repeat a reference"),
        (&found.malformed, "cannot be read"),
    ] {
        line(named.count, what)?;
        for item in named.items.iter().take(MOST_SHOWN) {
            output::line(format!("            {}", told(item)))?;
        }
        let left = named.items.len().saturating_sub(MOST_SHOWN);
        if left > 0 {
            output::line(format!("            and {left} more: --json names them"))?;
        }
    }
    for (count, what) in [
        (found.outside, "outside the time that was asked for"),
        (found.erased, "effects whose reference was erased: only a key can match them"),
    ] {
        if count > 0 {
            line(count, what)?;
        }
    }
    output::line(if found.agrees() { "list and ledger agree" } else { "list and ledger differ" })
}

/// What is known of one item, in the order that a person looks for it.
fn told(item: &Value) -> String {
    let text = |name: &str| match item.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(amount @ Value::Object(_)) => {
            let part = |name: &str| amount.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            Some(format!("{} {}", part("value"), part("currency")).trim_end().to_owned())
        }
        Some(Value::Null | Value::Bool(_) | Value::Array(_)) | None => None,
    };
    ["line", "reference", "amount", "at", "effect", "status", "receipt", "claimed_at", "first", "detail"]
        .iter()
        .filter_map(|name| {
            let text = text(name)?;
            Some(if matches!(*name, "line" | "first") { format!("line {text}") } else { text })
        })
        .collect::<Vec<_>>()
        .join("  ")
}
