//! `procura export`: a part of the log as a file, and a receipt in the log that says it was taken.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::Place;
use super::progress::Progress;
use super::resume::{self, Grown};
use super::values;
use crate::app::export::{self, Asked, ExportError, Format};
use crate::app::{App, Settings};
use crate::domain::{TenantSlug, Timestamp};
use crate::evidence::subject::Subject;
use crate::storage::export::Export;
use crate::storage::{self, AnyConnection, DataDirectory, StoreError};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Exports as the options ask. The file has its name once it is whole; until then `.part` stands behind it.
pub(super) fn run(sources: &Sources, options: &arguments::Export, form: Form) -> Result<u8, Failure> {
    let place = Place::existing(sources, &options.place)?;
    let force = sources.switch("force", options.force)?;
    let resumed = sources.parse("resume", options.resume.as_deref(), file)?;
    let done = match resumed {
        Some(path) => {
            let out = resume::whole_name(&path);
            if out != path {
                resume::require_free(&out, force).map_err(Failure::usage)?;
            }
            with_app(&place, "", |app, runtime| go_on(app, runtime, &path))
        }
        None => begin(sources, options, &place, force),
    }?;
    let Done { lines, begun, out } = done;
    let (shown, subject) = (out.display(), begun.header.subject);
    match form {
        Form::Json => {
            output::json(&json!({"out": shown.to_string(), "lines": lines, "format": begun.format,
                "export": begun.header.export}))?;
        }
        Form::Text => {
            output::line(format!("{shown}: {lines} calls of {subject}"))?;
            if begun.format == Format::JsonLines.as_str() {
                output::line(format!("next: procura verify {shown}"))?;
            }
        }
    }
    Ok(0)
}

/// What was written, and where.
struct Done {
    lines: u64,
    begun: Export,
    out: PathBuf,
}

/// The command line where something is typed there, otherwise the environment and the file: what is typed stands alone.
struct Either<'a> {
    sources: &'a Sources,
    is_typed: bool,
}

impl Either<'_> {
    fn parse<T: FromStr<Err = String>>(
        &self,
        option: &str,
        typed: Option<&str>,
    ) -> Result<Option<T>, Failure> {
        if self.is_typed && typed.is_none() {
            return Ok(None);
        }
        self.sources.parse(option, typed, str::parse)
    }
}

/// What of the log is named.
enum Named {
    Part(Subject),
    Tenant(TenantSlug),
}

impl Named {
    /// Exactly one of the four.
    fn read(sources: &Sources, options: &arguments::Export) -> Result<Self, Failure> {
        let given = [&options.credential, &options.agent, &options.principal, &options.tenant];
        let sources = Either { sources, is_typed: given.iter().any(|one| one.is_some()) };
        let credential = sources.parse("credential", options.credential.as_deref())?;
        let agent = sources.parse("agent", options.agent.as_deref())?;
        let principal = sources.parse("principal", options.principal.as_deref())?;
        let tenant = sources.parse("tenant", options.tenant.as_deref())?;
        let mut named = [
            credential.map(|id| Self::Part(Subject::Credential(id))),
            agent.map(|id| Self::Part(Subject::Agent(id))),
            principal.map(|id| Self::Part(Subject::Principal(id))),
            tenant.map(Self::Tenant),
        ]
        .into_iter()
        .flatten();
        match (named.next(), named.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(Failure::usage(
                "whose calls? `--credential`, `--agent`, `--principal` or `--tenant` is needed".to_owned(),
            )),
            (Some(_), Some(_)) => Err(Failure::usage(
                "more than one of `--credential`, `--agent`, `--principal`, `--tenant`: an export has one"
                    .to_owned(),
            )),
        }
    }

    /// Where the server answers the same.
    fn path(&self) -> String {
        match self {
            Self::Part(Subject::Credential(id)) => format!("/v1/credentials/{id}/calls/export"),
            Self::Part(Subject::Agent(id)) => format!("/v1/agents/{id}/calls/export"),
            Self::Part(Subject::Principal(id)) => format!("/v1/principals/{id}/calls/export"),
            Self::Part(Subject::Tenant) | Self::Tenant(_) => "/v1/calls/export".to_owned(),
        }
    }

    /// The tenant and the subject, if it is there.
    fn find(&self, connection: &mut AnyConnection) -> Result<Option<(TenantSlug, Subject)>, StoreError> {
        for tenant in storage::tenant::all(connection)? {
            let slug = tenant.slug;
            let (is_there, subject) = match self {
                Self::Tenant(named) => (*named == slug, Subject::Tenant),
                Self::Part(subject) => (has(connection, &slug, *subject)?, *subject),
            };
            if is_there {
                return Ok(Some((slug, subject)));
            }
        }
        Ok(None)
    }

    fn missing(&self) -> Failure {
        Failure::failed(match self {
            Self::Part(subject) => format!("there is no {} `{subject}`", subject.kind()),
            Self::Tenant(slug) => format!("there is no tenant `{slug}`"),
        })
    }
}

fn has(connection: &mut AnyConnection, tenant: &TenantSlug, subject: Subject) -> Result<bool, StoreError> {
    Ok(match subject {
        Subject::Credential(id) => storage::credential::find(connection, tenant, id)?.is_some(),
        Subject::Agent(id) => storage::agent::find(connection, tenant, id)?.is_some(),
        Subject::Principal(id) => storage::principal::find(connection, tenant, id)?.is_some(),
        Subject::Tenant => true,
    })
}

fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("`` is not a file".to_owned()),
        text => Ok(PathBuf::from(text)),
    }
}

fn begin(
    sources: &Sources,
    options: &arguments::Export,
    place: &Place,
    force: bool,
) -> Result<Done, Failure> {
    let named = Named::read(sources, options)?;
    let format: Format = sources.required("format", options.format.as_deref(), str::parse)?;
    let from: Option<Timestamp> = sources.parse("from", options.from.as_deref(), str::parse)?;
    let until: Option<Timestamp> = sources.parse("until", options.until.as_deref(), str::parse)?;
    if let (Some(from), Some(until)) = (from, until)
        && from >= until
    {
        return Err(Failure::usage(format!("`--until`: `{until}` is not after `--from`, which is `{from}`")));
    }
    let out = sources.required("out", options.out.as_deref(), file)?;
    resume::require_free(&out, force).map_err(Failure::usage)?;
    let part = resume::part_name(&out);
    if part.exists() && !force {
        let shown = part.display();
        return Err(Failure::usage(format!(
            "`{shown}` is there already: `procura export --resume {shown}` goes on with it, `--force` begins anew"
        )));
    }
    with_app(place, &named.path(), |app, runtime| {
        let found = named
            .find(&mut *app.readers.get().map_err(|error| failed(&error))?)
            .map_err(|error| failed(&error))?;
        let (tenant, subject) = found.ok_or_else(|| named.missing())?;
        let asked = Asked { tenant, subject, format, from, until, taken_by: None };
        let begun = runtime
            .block_on(export::begin(app, asked))
            .map_err(|error| Failure::failed(error.to_string()))?;
        let grown = Grown::create(&out).map_err(|error| Failure::failed(resume::unwritten(&out, &error)))?;
        write(app, runtime, (begun, false), grown, out)
    })
}

/// Goes on with a file that broke off.
fn go_on(app: &App, runtime: &Runtime, path: &Path) -> Result<Done, Failure> {
    let id = resume::export_of(path).map_err(Failure::failed)?;
    let mut connection = app.readers.get().map_err(|error| failed(&error))?;
    let mut found = None;
    for tenant in storage::tenant::all(&mut connection).map_err(|error| failed(&error))? {
        found = storage::export::find(&mut connection, &tenant.slug, id).map_err(|error| failed(&error))?;
        if found.is_some() {
            break;
        }
    }
    let begun = found.filter(|found| export::is_kept(found, crate::committer::clock::now()));
    let begun = begun.ok_or_else(|| {
        Failure::failed(format!("export `{id}` was not begun here in the last 24 hours: start over"))
    })?;
    export::require_unerased(&mut connection, &begun)
        .map_err(|error| Failure::failed(format!("export `{id}`: {error}")))?;
    drop(connection);
    let grown = Grown::open(path).map_err(|error| Failure::failed(resume::unwritten(path, &error)))?;
    let out = resume::whole_name(path);
    write(app, runtime, (begun, true), grown, out)
}

fn failed(error: &StoreError) -> Failure {
    Failure::failed(error.to_string())
}

/// Opens the service's data for this process alone, for as long as something is done with it.
fn with_app<T>(
    place: &Place,
    path: &str,
    act: impl FnOnce(&App, &Runtime) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // A lock that is taken means a server that can answer instead.
    drop(DataDirectory::lock(&place.data_dir, &place.database).map_err(|why| {
        Failure::failed(if path.is_empty() {
            format!("{why}: ask the server, with `export` and `after` at the path the export came from")
        } else {
            format!("{why}: ask the server, with `GET {path}`")
        })
    })?);
    let settings = Settings::plain(values::DEFAULT_LISTEN, place.data_dir.clone(), place.database.clone());
    let app: Arc<App> = App::start(&settings).map_err(|error| Failure::failed(error.to_string()))?;
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Failure::failed(error.to_string()))
        .and_then(|runtime| act(&app, &runtime));
    app.committer.stop();
    done
}

fn write(
    app: &App,
    runtime: &Runtime,
    (begun, is_continued): (Export, bool),
    mut grown: Grown,
    out: PathBuf,
) -> Result<Done, Failure> {
    let progress = Progress::of_bytes(None);
    let mut fault = None;
    let exported = export::write(app, &begun, is_continued, runtime.handle(), &mut |piece| {
        progress.advance(piece.len());
        grown.take(&piece).map_err(|why| fault = Some(why)).is_ok()
    });
    drop(progress);
    let kept = match (exported, fault) {
        (Err(error @ ExportError::Erased), _) => return Err(Failure::failed(error.to_string())),
        (_, Some(why)) => Err(why),
        (Ok(lines), None) => grown.keep(&out).map(|()| lines),
        (Err(error), None) => Err(error.to_string()),
    };
    match kept {
        Ok(lines) => Ok(Done { lines, begun, out }),
        Err(why) => {
            let part = grown.path().display();
            Err(Failure::failed(format!("{why}; `procura export --resume {part}` goes on from there")))
        }
    }
}
