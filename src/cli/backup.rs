//! `procura backup`: the database in one file, beside a running server, and its heads beside that file.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::Place;
use super::progress::Progress;
use crate::app::backup::{BackupError, Held, checkpoint_file, take};
use crate::crypto::keyring::MasterKey;
use crate::domain::{Hash, TenantSlug};
use crate::storage::{self, DataDirectory, Database, StoreError};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Copies, looks the copy over, and says what it holds and what it does not.
pub(super) fn run(sources: &Sources, options: &arguments::Backup, form: Form) -> Result<u8, Failure> {
    let database = Place::database(sources, &options.place)?;
    let key_file = key_file(sources, &options.place)?;
    let master = match key_file.as_ref().filter(|file| file.exists()) {
        Some(file) => Some(MasterKey::read(file).map_err(|error| Failure::failed(error.to_string()))?),
        None => None,
    };
    let target = match &*options.file {
        "" => return Err(Failure::usage("`FILE`: `` is not a file")),
        file => PathBuf::from(file),
    };
    let force = sources.switch("force", options.force)?;
    let sizes = receipts(&database).map_err(|error| Failure::failed(format!("{database}: {error}")))?;
    let checkpoints = sizes.iter().map(|(tenant, _)| checkpoint_file(&target, tenant));
    if let Some(there) = checkpoints.into_iter().find(|file| !force && file.exists()) {
        return Err(failure(BackupError::Exists(there)));
    }
    let all = sizes.iter().fold(0_u64, |all, (_, size)| all.saturating_add(*size));
    let progress = Progress::of_items(all, "receipts looked over");
    let held = take(&database, master.as_ref(), &target, force, &|count| progress.count(count));
    drop(progress);
    let held = held.map_err(failure)?;
    let checkpoints = write_checkpoints(&target, &held, force)?;
    let bytes = fs::metadata(&target).map_or(0, |about| about.len());
    let key_file = key_file.unwrap_or_else(|| PathBuf::from("master.key"));
    if form == Form::Json {
        let tenants: Vec<Value> = held
            .iter()
            .zip(&checkpoints)
            .map(|(held, file)| {
                json!({"tenant": held.tenant.slug, "size": held.log.size, "root": held.log.root,
                    "checkpoint": held.log.checkpoint, "checkpoint_file": file.display().to_string()})
            })
            .collect();
        output::json(&json!({"file": target.display().to_string(), "bytes": bytes, "tenants": tenants,
            "authenticated": master.is_some(), "not_included": key_file.display().to_string()}))?;
        return Ok(0);
    }
    tell(&target, bytes, &held, &checkpoints)?;
    if master.is_none() {
        output::line(
            "receipts' authentication was not checked: that needs `--data-dir`, where master.key lies",
        )?;
    }
    output::line(format!(
        "NOT in it: {}, without which no restored server starts: keep a copy of it, in another place than this file",
        key_file.display()
    ))?;
    output::line(format!("next: procura restore {} --data-dir DIR", target.display()))?;
    Ok(0)
}

fn tell(target: &Path, bytes: u64, held: &[Held], checkpoints: &[PathBuf]) -> Result<(), Failure> {
    output::line(format!("{}: {bytes} bytes, read back and checked", target.display()))?;
    let rows: Vec<Vec<String>> = held
        .iter()
        .zip(checkpoints)
        .map(|(held, file)| {
            vec![
                held.tenant.slug.to_string(),
                held.log.size.to_string(),
                held.log.root.map(|root: Hash| root.to_string()).unwrap_or_default(),
                file.display().to_string(),
            ]
        })
        .collect();
    output::table(&["tenant", "receipts", "root", "checkpoint"], &rows)
}

/// Where the master key lies, if the options say.
fn key_file(sources: &Sources, place: &arguments::Place) -> Result<Option<PathBuf>, Failure> {
    let directory = sources.parse("data-dir", place.data_dir.as_deref(), super::place::directory)?;
    Ok(directory.map(|directory| DataDirectory::master_key_file(&directory)))
}

/// How many receipts each tenant's log has.
fn receipts(database: &Database) -> Result<Vec<(TenantSlug, u64)>, StoreError> {
    let readers = database.open_readers()?;
    let mut connection = readers.get()?;
    let mut sizes = Vec::new();
    for tenant in storage::tenant::all(&mut connection)? {
        let head = storage::head::find(&mut connection, &tenant.slug)?;
        sizes.push((tenant.slug, head.map_or(0, |head| head.size)));
    }
    Ok(sizes)
}

/// Writes each log's checkpoint beside the backup, as `procura restore --checkpoint` and `verify --checkpoint` take it.
fn write_checkpoints(target: &Path, held: &[Held], replace: bool) -> Result<Vec<PathBuf>, Failure> {
    held.iter()
        .map(|held| {
            let path = checkpoint_file(target, &held.tenant.slug);
            let write = || -> io::Result<()> {
                let mut options = OpenOptions::new();
                options.write(true).create(replace).truncate(replace).create_new(!replace).mode(0o600);
                let mut file = options.open(&path)?;
                file.write_all(held.log.checkpoint.as_bytes())?;
                file.sync_all()
            };
            write().map_err(|error| {
                Failure::failed(format!("`{}` cannot be written: {error}", path.display()))
            })?;
            Ok(path)
        })
        .collect()
}

/// An error of a backup with the status it ends with.
pub(super) fn failure(error: BackupError) -> Failure {
    match error {
        BackupError::NotABackup(why) => Failure::usage(why),
        BackupError::Exists(_) | BackupError::Store(_) | BackupError::File { .. } => {
            Failure::failed(error.to_string())
        }
        BackupError::Damaged(why) => Failure::failed(format!("{why}; nothing was written"))
            .with("`procura doctor` looks the database over"),
    }
}
