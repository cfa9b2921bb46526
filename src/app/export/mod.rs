//! A copy of a part of the log, written piece by piece: as JSON Lines that verify offline, as CSV or as Parquet.
//!
//! ```text
//!  begin ──▶ a row in `exports`: whose, from, until, and the signed head of the log at this instant
//!  write ──▶ begin · page · page · … · manifest    each page read, its connection released, then sent
//!               │                        └ a receipt of kind `export`, recorded once however often this is written
//!               └ the same bytes each time: what broke off is written again up to there, and goes on
//! ```
//!
//! They are the same until content in it is erased: from then on what broke off, or is there already, is not gone on with.

mod columns;
mod erasing;
mod form;
mod lines;
mod progress;
mod table;

pub use form::Format;
pub use progress::Progress;
pub(super) use table::defuse;

use super::App;
use super::tree::Tree;
use crate::actions::Error;
use crate::actions::export::{self as act, Manifest, RESUMED_FOR};
use crate::committer::{Answered, Unavailable, clock, entropy};
use crate::domain::{AgentId, ExportId, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::export::Header;
use crate::evidence::line::Line;
use crate::evidence::receipt::Receipt;
use crate::evidence::subject::Subject;
use crate::storage::export::{self, Export};
use crate::storage::exported::{self, Whose};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{self, AnyConnection, StoreError};
use form::Form;
use serde_json::Value;
use std::sync::Arc;
use tokio::runtime::Handle;

/// How many receipts are read at once, and then wait in memory for whoever takes the export.
const PAGE: usize = 128;

/// What is to be exported, and for whom.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Whose log.
    pub tenant: TenantSlug,
    /// Whose receipts.
    pub subject: Subject,
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
    /// There is nothing of that name to export.
    #[error("there is no {0} of that id")]
    NotThere(&'static str),
    /// Its beginning or its manifest could not be recorded.
    #[error("the export could not be recorded: {0:?}")]
    Unrecorded(Unavailable),
    /// A rule refused to record it.
    #[error("the export was not recorded: {0:?}")]
    Refused(Error),
    /// It could not be written in its form.
    #[error("the export could not be written: {0}")]
    Unwritten(String),
    /// What is there of it says what was erased since it began.
    #[error("content in it was erased since it began; begin another export")]
    Erased,
    /// Whoever wanted it is gone.
    #[error("nobody takes the export any more")]
    Gone,
}

fn answered<T>(answered: Answered<T, Error>) -> Result<crate::committer::Sealed<T>, ExportError> {
    answered.map_err(ExportError::Unrecorded)?.map_err(ExportError::Refused)
}

/// Where pieces go; `false` when nobody takes them any more.
pub type Sink<'a> = dyn FnMut(Vec<u8>) -> bool + 'a;

/// Fixes what an export holds: whose receipts, and how long the log is at this instant.
pub async fn begin(app: &App, asked: Asked) -> Result<Export, ExportError> {
    let (tenant, subject) = (asked.tenant.clone(), asked.subject);
    let (tree, _) = app
        .read(move |connection| Ok((Tree::now(connection, &tenant)?, whose(connection, &tenant, subject)?)))
        .await?;
    let tree = tree.ok_or(ExportError::NotThere("tenant"))?;
    let at = clock::now();
    let header = Header {
        export: ExportId::new(at, entropy::bytes()),
        tenant: asked.tenant.clone(),
        subject,
        from: asked.from,
        until: asked.until,
        at,
        origin: tree.origin().into(),
        key: tree.key().into(),
        size: tree.size(),
        root: tree.root(),
        checkpoint: tree.checkpoint().into(),
    };
    let begun = Export {
        header,
        format: asked.format.as_str().to_owned(),
        taken_by: asked.taken_by,
        log_index: None,
        lines: None,
        last_line: None,
    };
    let row = begun.clone();
    answered(app.committer.act(asked.tenant, move |books| act::begin(books, &row)).await)?;
    Ok(begun)
}

/// An export that was begun by this person, or at the console, not so long ago that it is over.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: ExportId,
    taken_by: Option<PrincipalId>,
) -> Result<Option<Export>, StoreError> {
    let found = export::find(connection, tenant, id)?;
    Ok(found.filter(|found| found.taken_by == taken_by && is_kept(found, clock::now())))
}

/// Whether an export may be fetched again, or gone on with.
pub fn is_kept(begun: &Export, now: Timestamp) -> bool {
    now < begun.header.at.plus(RESUMED_FOR)
}

/// Refuses to go on with an export of whose content some was erased since it began.
pub fn require_unerased(connection: &mut AnyConnection, begun: &Export) -> Result<(), ExportError> {
    let header = &begun.header;
    let whose = whose(connection, &header.tenant, header.subject)?;
    let span = span(connection, header)?;
    if exported::is_erased_since(connection, &header.tenant, whose, span, header.size)? {
        Err(ExportError::Erased)
    } else {
        Ok(())
    }
}

/// Along which index a subject's receipts are found.
fn whose(connection: &mut AnyConnection, tenant: &TenantSlug, subject: Subject) -> Result<Whose, StoreError> {
    Ok(match subject {
        Subject::Credential(id) => Whose::Credential(id),
        Subject::Agent(id) => Whose::Agent(id, owner(connection, tenant, id)?),
        Subject::Principal(id) => Whose::Principal(id),
        Subject::Tenant => Whose::Everyone,
    })
}

fn owner(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: AgentId,
) -> Result<PrincipalId, StoreError> {
    let found = storage::agent::find(connection, tenant, id)?;
    found.map(|agent| agent.principal).ok_or_else(|| StoreError::Failed(format!("there is no agent `{id}`")))
}

/// Which places of the log an export covers: from the first to before the second.
fn span(connection: &mut AnyConnection, header: &Header) -> Result<(u64, u64), StoreError> {
    let (tenant, size) = (&header.tenant, header.size);
    let mut place = |at| exported::first_since(connection, tenant, at, size);
    let first = header.from.map_or(Ok(0), &mut place)?;
    let end = header.until.map_or(Ok(size), &mut place)?;
    Ok((first, end))
}

/// Writes an export from its beginning, piece by piece, the same bytes each time. Blocks; `runtime` records the
/// manifest. Gives how many receipts it holds.
///
/// A page is read on a connection of its own, given back before the piece leaves: whoever takes the export slowly
/// keeps no connection from others. Where the export is gone on with, its manifest is recorded only if it fits what was
/// written before.
pub fn write(
    app: &App,
    begun: &Export,
    is_continued: bool,
    runtime: &Handle,
    sink: &mut Sink<'_>,
) -> Result<u64, ExportError> {
    let header = &begun.header;
    let format: Format = begun.format.parse().map_err(ExportError::Unwritten)?;
    let mut form: Box<dyn Form> = match format {
        Format::Csv => Box::new(table::Table::begin(header)?),
        Format::Parquet => Box::new(columns::Columns::begin(header)?),
        Format::JsonLines => Box::new(lines::Lines::begin(header)),
    };
    let (whose, (first, end)) = {
        let mut connection = app.readers.get()?;
        (whose(&mut connection, &header.tenant, header.subject)?, span(&mut connection, header)?)
    };
    let shown = app.exports.start(header.export, end.saturating_sub(first));
    let (mut next, mut lines) = (first, 0u64);
    loop {
        let page = {
            let mut connection = app.readers.get()?;
            let page = exported::page(&mut connection, &header.tenant, whose, next..end, PAGE)?;
            for stored in &page {
                form.row(&mut connection, stored)?;
            }
            page
        };
        give(sink, form.take())?;
        lines = lines.saturating_add(u64::try_from(page.len()).unwrap_or(0));
        let Some(last) = page.last() else { break };
        shown.reached(last.log_index.saturating_add(1).saturating_sub(first));
        next = last.log_index.saturating_add(1);
    }
    if is_continued {
        // What was erased after its page was read was erased after this.
        require_unerased(&mut *app.readers.get()?, begun)?;
    }
    let manifest = record(app, begun, lines, form.manifest()?, runtime)?;
    let line = match format {
        Format::JsonLines | Format::Parquet => Some(last_line(app, begun, &manifest, runtime)?),
        Format::Csv => None,
    };
    form.end(&manifest.stored, line.as_deref())?;
    give(sink, form.take())?;
    Ok(lines)
}

fn give(sink: &mut Sink<'_>, piece: Vec<u8>) -> Result<(), ExportError> {
    if piece.is_empty() || sink(piece) { Ok(()) } else { Err(ExportError::Gone) }
}

/// The manifest's receipt, and its path where it was recorded just now.
struct Ending {
    stored: Arc<StoredReceipt>,
    receipt: Option<Receipt>,
}

fn record(
    app: &App,
    begun: &Export,
    lines: u64,
    manifest: Value,
    runtime: &Handle,
) -> Result<Ending, ExportError> {
    let (tenant, row) = (begun.header.tenant.clone(), begun.clone());
    let written = manifest.clone();
    let recording = app.committer.act(tenant.clone(), move |books| act::record(books, &row, lines, manifest));
    let sealed = answered(runtime.block_on(recording))?;
    match &sealed.value {
        Manifest::Now(stored) => Ok(Ending { stored: stored.clone(), receipt: sealed.receipt(stored) }),
        Manifest::Before(log_index) => {
            let stored = storage::receipt::find(&mut *app.readers.get()?, &tenant, *log_index)?;
            let stored = stored.ok_or_else(|| StoreError::Corrupt {
                place: "exports.log_index",
                detail: format!("nothing stands at place {log_index} of the log of `{tenant}`"),
            })?;
            // Nothing else makes other bytes of the same export.
            if form::Documents::of(&stored)?.output != written {
                return Err(ExportError::Erased);
            }
            Ok(Ending { stored: Arc::new(stored), receipt: None })
        }
    }
}

/// The manifest's line: the one that was handed out before, otherwise with the path it has now.
fn last_line(app: &App, begun: &Export, ending: &Ending, runtime: &Handle) -> Result<String, ExportError> {
    let (tenant, id) = (&begun.header.tenant, begun.header.export);
    let stored = &*ending.stored;
    let receipt = if let Some(receipt) = &ending.receipt {
        receipt.clone()
    } else {
        let mut connection = app.readers.get()?;
        if let Some(line) = export::find(&mut connection, tenant, id)?.and_then(|found| found.last_line) {
            return Ok(line);
        }
        let tree = Tree::now(&mut connection, tenant)?.ok_or(ExportError::NotThere("tenant"))?;
        tree.knowing(&app.roots).receipt(&mut connection, stored)?
    };
    let line = lines::last(id, &receipt, stored)?;
    let row = begun.clone();
    let keeping = app.committer.act(tenant.clone(), move |books| act::keep_last_line(books, &row, &line));
    Ok(answered(runtime.block_on(keeping))?.value)
}

/// A receipt as `GET /v1/receipts/{id}` answers it, with its path in a tree.
pub fn line_json(
    connection: &mut AnyConnection,
    stored: &StoredReceipt,
    tree: &mut Tree,
) -> Result<Vec<u8>, StoreError> {
    let receipt = tree.receipt(connection, stored)?;
    let erasing = erasing::Erasing::of(connection, stored, tree)?;
    let documents = form::Documents::of(stored)?;
    let mut bytes = Vec::new();
    let line = Line {
        export: None,
        receipt,
        input: &documents.input,
        output: &documents.output,
        content: documents.content.as_ref(),
        erased: erasing.as_ref().map(|erasing| Box::new(erasing.erased())),
    };
    line.write_json(&mut bytes);
    Ok(bytes)
}
