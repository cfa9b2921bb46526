//! `procura export`: one credential's calls as a file, and a receipt in the log that says it was taken.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::Place;
use super::progress::Progress;
use super::values;
use crate::app::export::{Asked, ExportError, Format, export};
use crate::app::{App, Settings};
use crate::domain::{CredentialId, Timestamp};
use crate::storage::{self, DataDirectory};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Exports as the options ask; the file is there whole or not at all.
pub(super) fn run(sources: &Sources, options: &arguments::Export, form: Form) -> Result<u8, Failure> {
    let place = Place::existing(sources, &options.place)?;
    let credential: CredentialId =
        sources.required("credential", options.credential.as_deref(), str::parse)?;
    let format: Format = sources.required("format", options.format.as_deref(), str::parse)?;
    let from: Option<Timestamp> = sources.parse("from", options.from.as_deref(), str::parse)?;
    let until: Option<Timestamp> = sources.parse("until", options.until.as_deref(), str::parse)?;
    if let (Some(from), Some(until)) = (from, until)
        && from >= until
    {
        return Err(Failure::usage(format!("`--until`: `{until}` is not after `--from`, which is `{from}`")));
    }
    let out = sources.required("out", options.out.as_deref(), |text| match text {
        "" => Err("`` is not a file".to_owned()),
        text => Ok(PathBuf::from(text)),
    })?;
    let app = open(&place, credential)?;
    let lines = write(&app, credential, (format, from, until), &out);
    app.committer.stop();
    let lines = lines?;
    let shown = out.display();
    match form {
        Form::Json => {
            output::json(&json!({"out": shown.to_string(), "lines": lines, "format": format.as_str()}))?;
        }
        Form::Text => {
            output::line(format!("{shown}: {lines} calls of {credential}"))?;
            if format == Format::JsonLines {
                output::line(format!("next: procura verify {shown}"))?;
            }
        }
    }
    Ok(0)
}

/// Opens the service's data for this process alone.
fn open(place: &Place, credential: CredentialId) -> Result<std::sync::Arc<App>, Failure> {
    // A lock that is taken means a server that can answer instead.
    drop(DataDirectory::lock(&place.data_dir, &place.database).map_err(|why| {
        Failure::failed(format!(
            "{why}: ask the server, with `GET /v1/credentials/{credential}/calls/export`"
        ))
    })?);
    let settings = Settings::plain(values::DEFAULT_LISTEN, place.data_dir.clone(), place.database.clone());
    App::start(&settings).map_err(|error| Failure::failed(error.to_string()))
}

type Window = (Format, Option<Timestamp>, Option<Timestamp>);

fn write(app: &App, credential: CredentialId, window: Window, out: &Path) -> Result<u64, Failure> {
    let failed = |error: storage::StoreError| Failure::failed(error.to_string());
    let found = storage::credential::find_anywhere(&mut *app.readers.get().map_err(failed)?, credential)
        .map_err(failed)?;
    let found = found.ok_or_else(|| Failure::failed(format!("there is no credential `{credential}`")))?;
    let (format, from, until) = window;
    let asked = Asked { tenant: found.tenant, credential, format, from, until, taken_by: None };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let unwritten =
        |error: &io::Error| Failure::failed(format!("`{}` cannot be written: {error}", out.display()));
    let mut target = Target::create(out).map_err(|error| unwritten(&error))?;
    let progress = Progress::of_bytes(None);
    let mut disk_error = None;
    let exported = export(app, &asked, runtime.handle(), &mut |piece| {
        progress.advance(piece.len());
        target.file.write_all(&piece).map_err(|error| disk_error = Some(error)).is_ok()
    });
    drop(progress);
    match (exported, disk_error) {
        (_, Some(error)) => Err(unwritten(&error)),
        (Ok(lines), None) => target.keep(out).map(|()| lines).map_err(|error| unwritten(&error)),
        (Err(error @ (ExportError::Store(_) | ExportError::Manifest(_) | ExportError::Gone)), None) => {
            Err(Failure::failed(error.to_string()))
        }
    }
}

/// A file beside its final place, for its owner alone, removed unless it is kept.
struct Target {
    file: File,
    path: PathBuf,
}

impl Target {
    fn create(out: &Path) -> io::Result<Self> {
        let mut name = out.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok(Self { file, path })
    }

    fn keep(self, out: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, out)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Gone already where it was kept.
        drop(fs::remove_file(&self.path));
    }
}
