//! Copies of the log to take away: of one credential, one agent, one person or the tenant, streamed, and gone on with
//! where they broke off.

use super::Problem;
use super::calls::readable_credential;
use super::request::{self, Query, path_id};
use crate::actions::Error;
use crate::actions::caller::Person;
use crate::app::export::{self, Asked, ExportError, Format};
use crate::app::{App, Caller, ExportPlace};
use crate::domain::{ExportId, Malformed, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::subject::Subject;
use crate::storage::export::Export;
use crate::storage::{agent, principal};
use actix_web::http::header;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;

/// How many pieces of an export wait for a slow reader.
const PIECES_AHEAD: usize = 4;
/// How long an export waits for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_mins(1);
/// The header that names the export, so that it can be gone on with.
const EXPORT: &str = "procura-export";
/// The parameter that says how many bytes are there already.
const AFTER: &str = "after";

/// What is wanted of a subject's log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// In which form.
    pub(crate) format: Format,
    /// At or after.
    pub(crate) from: Option<Timestamp>,
    /// Before.
    pub(crate) until: Option<Timestamp>,
}

/// A copy of the tenant's whole log.
pub(super) async fn of_tenant(app: web::Data<App>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    export(&app, &request, Ok(Subject::Tenant)).await
}

/// A copy of one credential's log.
pub(super) async fn of_credential(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    export(&app, &request, path_id(&path, "credential").map(Subject::Credential)).await
}

/// A copy of what concerns one agent.
pub(super) async fn of_agent(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    export(&app, &request, path_id(&path, "agent").map(Subject::Agent)).await
}

/// A copy of what concerns one person, or was done by them.
pub(super) async fn of_principal(
    app: web::Data<App>,
    request: HttpRequest,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    export(&app, &request, path_id(&path, "person").map(Subject::Principal)).await
}

/// Begins an export, or goes on with one: `export` names it, `after` says how many bytes of it are there already.
async fn export(
    app: &web::Data<App>,
    request: &HttpRequest,
    subject: Result<Subject, Problem>,
) -> Result<HttpResponse, Problem> {
    let Caller::Person(person) = request::caller(app, request).await? else {
        return Err(Error::Forbidden("only a signed-in person takes an export".into()).into());
    };
    let subject = subject_for(app, &person, subject?).await?;
    let query = Query::read(request, &["format", "from", "until", "export", AFTER])?;
    let after = query.number(AFTER, 0, 0, i64::MAX)?;
    let place = place(app, &person.tenant, Some(person.id))?;
    let Some(id) = query.parsed::<ExportId>("export")? else {
        if after > 0 {
            let detail = format!("parameter `{AFTER}`: is of an export that `export` names");
            return Err(Malformed::whole(detail).into());
        }
        let format = query.parsed("format")?.unwrap_or(Format::JsonLines);
        let wanted = Wanted { format, from: query.time("from")?, until: query.time("until")? };
        let begun = begin(app, &person, subject, wanted).await?;
        return streamed(app.clone().into_inner(), begun, 0, place).await;
    };
    if let Some(name) = ["format", "from", "until"].into_iter().find(|name| query.text(name).is_some()) {
        let detail = format!("parameter `{name}`: stands fixed since the export began, leave it out");
        return Err(Malformed::whole(detail).into());
    }
    let begun = kept(app, &person, id).await?;
    if begun.header.subject != subject {
        return Err(Problem::not_found("export"));
    }
    streamed(app.clone().into_inner(), begun, u64::try_from(after).unwrap_or(0), place).await
}

/// The subject, if this person may take its log: their own, with the role compliance everyone's.
pub(crate) async fn subject_for(app: &App, person: &Person, subject: Subject) -> Result<Subject, Problem> {
    let tenant = person.tenant.clone();
    let is_theirs = |owner: PrincipalId| person.sees_tenant() || owner == person.id;
    match subject {
        Subject::Tenant if person.sees_tenant() => {}
        Subject::Tenant => {
            return Err(Error::Forbidden("the tenant's calls need the role compliance".into()).into());
        }
        Subject::Credential(id) => {
            readable_credential(app, &Caller::Person(Box::new(person.clone())), &id.to_string()).await?;
        }
        Subject::Agent(id) => {
            let found = app.read(move |connection| agent::find(connection, &tenant, id)).await?;
            found.filter(|found| is_theirs(found.principal)).ok_or_else(|| Problem::not_found("agent"))?;
        }
        Subject::Principal(id) => {
            let found = app.read(move |connection| principal::find(connection, &tenant, id)).await?;
            found.filter(|found| is_theirs(found.id)).ok_or_else(|| Problem::not_found("person"))?;
        }
    }
    Ok(subject)
}

/// Begins an export for a person.
pub(crate) async fn begin(
    app: &App,
    person: &Person,
    subject: Subject,
    wanted: Wanted,
) -> Result<Export, Problem> {
    let Wanted { format, from, until } = wanted;
    if let (Some(from), Some(until)) = (from, until)
        && from >= until
    {
        let detail = format!("parameter `until`: `{until}` is not after `from`, which is `{from}`");
        return Err(Malformed::whole(detail).into());
    }
    let asked =
        Asked { tenant: person.tenant.clone(), subject, format, from, until, taken_by: Some(person.id) };
    export::begin(app, asked).await.map_err(Problem::from)
}

/// An export that this person began, as long as it is kept.
pub(crate) async fn kept(app: &App, person: &Person, id: ExportId) -> Result<Export, Problem> {
    let (tenant, person) = (person.tenant.clone(), person.id);
    let found = app.read(move |connection| export::find(connection, &tenant, id, Some(person))).await?;
    found.ok_or_else(|| Problem::not_found("export"))
}

fn place(app: &App, tenant: &TenantSlug, person: Option<PrincipalId>) -> Result<ExportPlace, Problem> {
    app.limits
        .export(tenant, person)
        .map_err(|full| Problem::too_many(full, "as many exports run as may run at once"))
}

/// An export as a file to keep, without the bytes that are there already.
pub(crate) async fn answer(app: Arc<App>, begun: Export, after: u64) -> Result<HttpResponse, Problem> {
    let place = place(&app, &begun.header.tenant, begun.taken_by)?;
    streamed(app, begun, after, place).await
}

async fn streamed(
    app: Arc<App>,
    begun: Export,
    after: u64,
    place: ExportPlace,
) -> Result<HttpResponse, Problem> {
    // What was written to its end once, or in part, is to be the same again.
    let is_continued = after > 0 || begun.log_index.is_some();
    if is_continued {
        let known = begun.clone();
        app.read(move |connection| Ok(export::require_unerased(connection, &known))).await??;
    }
    let format: Format = begun.format.parse().map_err(Malformed::whole)?;
    let name = match begun.header.subject {
        Subject::Tenant => begun.header.tenant.to_string(),
        Subject::Credential(_) | Subject::Agent(_) | Subject::Principal(_) => {
            begun.header.subject.to_string()
        }
    };
    let disposition = format!("attachment; filename=\"{name}.{}\"", format.as_str());
    Ok(HttpResponse::Ok()
        .content_type(format.media_type())
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .insert_header((EXPORT, begun.header.export.to_string()))
        .streaming(stream(app, begun, (is_continued, after), place)))
}

/// Runs the export on a thread that blocks; a failure breaks the body off, so that the copy is seen to be cut.
fn stream(app: Arc<App>, begun: Export, (is_continued, after): (bool, u64), place: ExportPlace) -> Pieces {
    let (sender, receiver) = mpsc::channel(PIECES_AHEAD);
    let is_whole = Arc::new(AtomicBool::new(false));
    let (whole, runtime) = (is_whole.clone(), tokio::runtime::Handle::current());
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut skipped = after;
        let mut sink = |mut piece: Vec<u8>| {
            let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            let skip = skipped.min(length);
            skipped = skipped.saturating_sub(length);
            piece.drain(..usize::try_from(skip).unwrap_or(piece.len()));
            if piece.is_empty() {
                return !sender.is_closed();
            }
            runtime.block_on(sender.send_timeout(Bytes::from(piece), PATIENCE)).is_ok()
        };
        let written = export::write(&app, &begun, is_continued, &runtime, &mut sink);
        match written {
            Ok(_) if skipped == 0 => whole.store(true, Ordering::Release),
            Ok(_) => {
                tracing::warn!(export = %begun.header.export, "an export is shorter than what is there of it");
            }
            Err(error) => tracing::warn!(%error, export = %begun.header.export, "an export ended early"),
        }
    });
    Pieces { receiver, is_whole }
}

/// An export's pieces as a stream, which ends in an error unless the export says that it is whole.
struct Pieces {
    receiver: mpsc::Receiver<Bytes>,
    is_whole: Arc<AtomicBool>,
}

impl futures_util::Stream for Pieces {
    type Item = Result<Bytes, std::io::Error>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = std::task::ready!(self.receiver.poll_recv(context));
        let is_cut = piece.is_none() && !self.is_whole.load(Ordering::Acquire);
        Poll::Ready(if is_cut {
            Some(Err(std::io::Error::other("the export ended early")))
        } else {
            piece.map(Ok)
        })
    }
}

impl From<ExportError> for Problem {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::NotThere(what) => Self::not_found(what),
            ExportError::Unrecorded(why) => why.into(),
            ExportError::Refused(error) => error.into(),
            ExportError::Unwritten(detail) => Malformed::whole(detail).into(),
            ExportError::Erased => Self::conflict(error.to_string()),
            ExportError::Gone => Self::not_found("export"),
        }
    }
}
