//! A copy of one credential's log, written piece by piece: as JSON Lines that verify offline, or as a table.

use super::App;
use super::tree::Tree;
use crate::actions::{Error, export as act};
use crate::committer::{Sealed, Unavailable, clock, entropy};
use crate::domain::{Chain, CredentialId, ExportId, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::erased::{self, Erased};
use crate::evidence::export::{Exporter, Header};
use crate::evidence::line::Line;
use crate::evidence::receipt::{Kind, Receipt};
use crate::evidence::subject::Subject;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{self, AnyConnection, StoreError};
use serde_json::{Value, json};
use std::str::FromStr;
use std::sync::Arc;
use tokio::runtime::Handle;

/// How many receipts are read at once, and then wait in memory for whoever takes the export.
const PAGE: i64 = 64;

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table (RFC 4180).
    Csv,
    /// A line a receipt, with everything it takes to verify it.
    JsonLines,
}

impl Format {
    /// The format's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "csv" => Ok(Self::Csv),
            "jsonl" => Ok(Self::JsonLines),
            other => Err(format!("`{}` is not a format: csv or jsonl", other.escape_debug())),
        }
    }
}

/// What is exported, and for whom.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Whose log.
    pub tenant: TenantSlug,
    /// Whose calls.
    pub credential: CredentialId,
    /// In which form.
    pub format: Format,
    /// At or after.
    pub from: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// The person who takes it; `None` for the console.
    pub taken_by: Option<PrincipalId>,
}

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The database failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The manifest could not be recorded.
    #[error("the export's manifest could not be recorded: {0}")]
    Manifest(String),
    /// Whoever wanted it is gone.
    #[error("nobody takes the export any more")]
    Gone,
}

impl From<Unavailable> for ExportError {
    fn from(why: Unavailable) -> Self {
        Self::Manifest(format!("{why:?}"))
    }
}

/// Where pieces go; `false` when nobody takes them any more.
pub type Sink<'a> = dyn FnMut(Vec<u8>) -> bool + 'a;

/// Writes the export piece by piece. Blocks; `runtime` records the manifest.
pub fn export(app: &App, asked: &Asked, runtime: &Handle, sink: &mut Sink<'_>) -> Result<u64, ExportError> {
    match asked.format {
        Format::JsonLines => json_lines(app, asked, runtime, sink),
        Format::Csv => table(app, asked, runtime, sink),
    }
}

/// Which receipts of the chain fall into the window: from the first `seq` to before the second.
fn window(connection: &mut AnyConnection, asked: &Asked, size: u64) -> Result<(u64, u64), StoreError> {
    let chain = Chain::Credential(asked.credential);
    let seq_at = |connection: &mut AnyConnection, at| {
        storage::receipt::first_seq_since(connection, &asked.tenant, &chain, at)
    };
    let from = match asked.from {
        Some(from) => seq_at(connection, from)?.unwrap_or(u64::MAX),
        None => 0,
    };
    let until = match asked.until {
        Some(until) => seq_at(connection, until)?.unwrap_or(u64::MAX),
        None => u64::MAX,
    };
    // What is appended while this runs is left out: it lies beyond the tree the paths lead to.
    let end = storage::receipt::chain_length_at(connection, &asked.tenant, &chain, size)?;
    Ok((from, until.min(end)))
}

/// Writes every receipt of the window, in order, into pieces of a page each.
///
/// A page is read on a connection of its own, given back before the piece leaves: whoever takes the export slowly
/// keeps no connection from others.
fn each_receipt(
    app: &App,
    asked: &Asked,
    size: u64,
    sink: &mut Sink<'_>,
    mut write: impl FnMut(&mut AnyConnection, &StoredReceipt, &mut Vec<u8>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let chain = Chain::Credential(asked.credential);
    let (mut next, end) = window(&mut *app.readers.get()?, asked, size)?;
    while next < end {
        let mut piece = Vec::new();
        {
            let mut connection = app.readers.get()?;
            let page = storage::receipt::of_chain(&mut connection, &asked.tenant, &chain, next, PAGE)?;
            let Some(last) = page.last() else { break };
            next = last.body.seq.saturating_add(1);
            for stored in page.iter().filter(|stored| stored.body.seq < end) {
                write(&mut connection, stored, &mut piece)?;
            }
        }
        give(sink, piece)?;
    }
    Ok(())
}

fn give(sink: &mut Sink<'_>, piece: Vec<u8>) -> Result<(), ExportError> {
    if piece.is_empty() || sink(piece) { Ok(()) } else { Err(ExportError::Gone) }
}

fn json_lines(app: &App, asked: &Asked, runtime: &Handle, sink: &mut Sink<'_>) -> Result<u64, ExportError> {
    let mut tree = Tree::now(&mut *app.readers.get()?, &asked.tenant)?
        .ok_or_else(|| StoreError::Failed(format!("there is no tenant `{}`", asked.tenant)))?;
    let export = ExportId::new(clock::now(), entropy::bytes());
    let header = Header {
        export,
        tenant: asked.tenant.clone(),
        subject: Subject::Credential(asked.credential),
        from: asked.from,
        until: asked.until,
        at: clock::now(),
        origin: tree.origin().into(),
        key: tree.key().into(),
        size: tree.size(),
        root: tree.root(),
        checkpoint: tree.checkpoint().into(),
    };
    let mut first = Vec::new();
    let mut exporter = Exporter::begin(&header, &mut first);
    give(sink, first)?;
    let mut count = 0;
    each_receipt(app, asked, tree.size(), sink, |connection, stored, piece| {
        let receipt = tree.receipt(connection, stored)?;
        let documents = Documents::of(stored)?.with_erased(connection, stored, &mut tree)?;
        exporter.line(documents.line(receipt), piece);
        count += 1;
        Ok(())
    })?;
    let sealed = record(app, asked, export, exporter.manifest().to_json(), runtime)?;
    let receipt =
        sealed.receipt(&sealed.value).ok_or_else(|| ExportError::Manifest("it has no path".into()))?;
    let mut last = Vec::new();
    exporter.end(Documents::of(&sealed.value)?.line(receipt), &mut last);
    give(sink, last)?;
    Ok(count)
}

fn record(
    app: &App,
    asked: &Asked,
    export: ExportId,
    manifest: Value,
    runtime: &Handle,
) -> Result<Sealed<Arc<StoredReceipt>>, ExportError> {
    let (taken_by, credential, format) = (asked.taken_by, asked.credential, asked.format.as_str());
    let recorded = runtime.block_on(app.committer.act(asked.tenant.clone(), move |books| {
        act::record(books, taken_by, export, credential, format, manifest)
    }))?;
    recorded.map_err(|error: Error| ExportError::Manifest(format!("{error:?}")))
}

/// A stored receipt's documents, read.
struct Documents {
    input: Value,
    output: Value,
    content: Option<Value>,
    erased: Option<Erasing>,
}

/// The receipt that says when and why content was erased, with its documents.
struct Erasing {
    receipt: Receipt,
    input: Value,
    output: Value,
    reason: String,
}

impl Documents {
    fn of(stored: &StoredReceipt) -> Result<Self, StoreError> {
        let read = |place, text: &str| {
            serde_json::from_str(text)
                .map_err(|error| StoreError::Corrupt { place, detail: error.to_string() })
        };
        Ok(Self {
            input: read("receipts.input", &stored.input)?,
            output: read("receipts.output", &stored.output)?,
            content: stored.content.as_deref().map(|text| read("receipts.content", text)).transpose()?,
            erased: None,
        })
    }

    /// The same, and what says that the content was erased, if it was. What was erased while an export runs is said by
    /// a receipt that its tree does not hold yet: that one's path leads through a newer tree.
    fn with_erased(
        mut self,
        connection: &mut AnyConnection,
        stored: &StoredReceipt,
        tree: &mut Tree,
    ) -> Result<Self, StoreError> {
        let Some(place) = stored.erased_by else { return Ok(self) };
        let corrupt = |detail: String| StoreError::Corrupt { place: "receipts.erased_by", detail };
        let tenant = &stored.body.tenant;
        let by = storage::receipt::find(connection, tenant, place)?
            .filter(|by| by.body.kind == Kind::ContentErase)
            .ok_or_else(|| corrupt(format!("the receipt at {place} erases nothing")))?;
        let receipt = if place < tree.size() {
            tree.receipt(connection, &by)?
        } else {
            let newer = Tree::now(connection, tenant)?;
            newer.ok_or_else(|| corrupt("the log is gone".into()))?.receipt(connection, &by)?
        };
        let Self { input, output, .. } = Self::of(&by)?;
        let reason = erased::reason(&input).unwrap_or_default().to_owned();
        self.erased = Some(Erasing { receipt, input, output, reason });
        Ok(self)
    }

    fn line(&self, receipt: Receipt) -> Line<'_> {
        Line {
            export: None,
            receipt,
            input: &self.input,
            output: &self.output,
            content: self.content.as_ref(),
            erased: self.erased.as_ref().map(|by| {
                Box::new(Erased {
                    at: by.receipt.body.at,
                    reason: &by.reason,
                    receipt: by.receipt.clone(),
                    input: &by.input,
                    output: &by.output,
                })
            }),
        }
    }
}

/// A receipt as `GET /v1/receipts/{id}` answers it, with its path in a tree.
pub fn line_json(
    connection: &mut AnyConnection,
    stored: &StoredReceipt,
    tree: &mut Tree,
) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let receipt = tree.receipt(connection, stored)?;
    Documents::of(stored)?.with_erased(connection, stored, tree)?.line(receipt).write_json(&mut bytes);
    Ok(bytes)
}

const COLUMNS: [&str; 17] = [
    "at",
    "receipt",
    "kind",
    "outcome",
    "intent",
    "amount",
    "currency",
    "reason",
    "clauses",
    "mandate_version",
    "policy_version",
    "principal",
    "agent",
    "credential",
    "seq",
    "log_index",
    "hash",
];

fn table(app: &App, asked: &Asked, runtime: &Handle, sink: &mut Sink<'_>) -> Result<u64, ExportError> {
    let head = storage::head::find(&mut *app.readers.get()?, &asked.tenant)?;
    give(sink, record_of(COLUMNS)?)?;
    let (mut count, mut first, mut last) = (0u64, None, None);
    each_receipt(app, asked, head.map_or(0, |head| head.size), sink, |_, stored, piece| {
        piece.extend(record_of(row(stored)?.map(|cell| defuse(&cell)))?);
        count += 1;
        first = first.or(Some(stored.hash));
        last = Some(stored.hash);
        Ok(())
    })?;
    let export = ExportId::new(clock::now(), entropy::bytes());
    let manifest = json!({"export": export, "lines": count, "first": first, "last": last});
    record(app, asked, export, manifest, runtime)?;
    Ok(count)
}

/// One record of a table, with its line's end.
fn record_of(cells: [impl AsRef<[u8]>; 17]) -> Result<Vec<u8>, StoreError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(cells).map_err(|error| StoreError::Failed(error.to_string()))?;
    writer.into_inner().map_err(|error| StoreError::Failed(error.to_string()))
}

fn row(stored: &StoredReceipt) -> Result<[String; 17], StoreError> {
    let body = &stored.body;
    let documents = Documents::of(stored)?;
    let output =
        |name: &str| documents.output.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let clauses = documents
        .output
        .get("clauses")
        .and_then(Value::as_array)
        .map(|clauses| clauses.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
    let facts = documents.input.get("facts").or_else(|| documents.input.get("request"));
    let amount = facts.and_then(|facts| facts.get("amount"));
    let of_amount = |name: &str| {
        amount.and_then(|amount| amount.get(name)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let version = |version: Option<u64>| version.map(|version| version.to_string()).unwrap_or_default();
    Ok([
        body.at.to_string(),
        body.id.to_string(),
        body.kind.as_str().to_owned(),
        body.outcome.map(|outcome| outcome.as_str().to_owned()).unwrap_or_default(),
        stored.intent.as_ref().map(ToString::to_string).unwrap_or_default(),
        of_amount("value"),
        of_amount("currency"),
        output("reason"),
        clauses.unwrap_or_default(),
        version(body.mandate_version),
        version(body.policy_version),
        body.principal.map(|id| id.to_string()).unwrap_or_default(),
        body.agent.map(|id| id.to_string()).unwrap_or_default(),
        body.credential.map(|id| id.to_string()).unwrap_or_default(),
        body.seq.to_string(),
        stored.log_index.to_string(),
        stored.hash.to_string(),
    ])
}

/// A cell that no spreadsheet takes for a formula: what begins like one gets an apostrophe before it.
fn defuse(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\0']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::defuse;

    #[test]
    fn no_cell_is_a_formula() {
        for (cell, written) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-5", "'-5"),
            ("+5", "'+5"),
            ("\tx", "'\tx"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(defuse(cell), written);
        }
    }
}
