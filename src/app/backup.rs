//! A copy of the database in one file, checked before it counts.

use super::examine::{Examined, Fault, examine};
use crate::committer::entropy;
use crate::crypto::keyring::MasterKey;
use crate::domain::TenantSlug;
use crate::storage::tenant::Tenant;
use crate::storage::{self, Database, StoreError, backup};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What every file of SQLite begins with.
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Why there is no copy, or why a file is none.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A file cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file is not to be replaced.
    #[error("`{}` is there already: name another file, or replace it with `--force`", .0.display())]
    Exists(PathBuf),
    /// The file is no backup.
    #[error("{0}")]
    NotABackup(String),
    /// The log in it does not hold.
    #[error("{0}")]
    Damaged(String),
}

/// A tenant's log in a file, looked over.
#[derive(Debug)]
pub struct Held {
    /// Whose.
    pub tenant: Tenant,
    /// What looking it over came to; it holds.
    pub log: Examined,
}

/// Copies the database into `target`, looks the copy over, and only then gives it its name.
///
/// `advance` hears of receipts as they are looked over.
///
/// # Errors
/// Nothing is at `target` then that was not there before.
pub fn take(
    from: &Database,
    master: Option<&MasterKey>,
    target: &Path,
    replace: bool,
    advance: &dyn Fn(u64),
) -> Result<Vec<Held>, BackupError> {
    if target.exists() && !replace {
        return Err(BackupError::Exists(target.to_owned()));
    }
    let part = Part::create(target, "part")?;
    backup::copy(from, &part.path)?;
    let held = look_over(&part.path, master, &BTreeMap::new(), advance)?;
    part.keep(target, replace)?;
    Ok(held)
}

/// Looks a file over: SQLite's own checks, its tables, and every tenant's log.
///
/// `sizes` are those whose roots are wanted, by tenant.
pub fn look_over(
    file: &Path,
    master: Option<&MasterKey>,
    sizes: &BTreeMap<TenantSlug, BTreeSet<u64>>,
    advance: &dyn Fn(u64),
) -> Result<Vec<Held>, BackupError> {
    let shown = file.display();
    let mut begins = [0; MAGIC.len()];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut begins));
    match read {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return Err(BackupError::File { path: file.to_owned(), error });
        }
        Ok(()) if begins == *MAGIC => {}
        Ok(()) | Err(_) => return Err(BackupError::NotABackup(format!("`{shown}` is no backup of Procura"))),
    }
    let mut connection = backup::open_file(file)?;
    let damage = backup::damage(&mut connection)?;
    if let Some(first) = damage.first() {
        return Err(BackupError::Damaged(format!("the file is damaged: {first}")));
    }
    if !backup::has_tables(&mut connection)? {
        return Err(BackupError::NotABackup(format!("`{shown}` holds no tables of Procura")));
    }
    if let Some(first) = backup::foreign(&mut connection)?.first() {
        return Err(BackupError::Damaged(first.what.clone()));
    }
    let none = BTreeSet::new();
    let mut held = Vec::new();
    for tenant in storage::tenant::all(&mut connection)? {
        let sizes = sizes.get(&tenant.slug).unwrap_or(&none);
        let log = examine(&mut connection, &tenant, master, sizes, advance)?;
        if let Some(first) = log.faults.first() {
            return Err(BackupError::Damaged(does_not_hold(&tenant.slug, first, log.found)));
        }
        held.push(Held { tenant, log });
    }
    Ok(held)
}

fn does_not_hold(tenant: &TenantSlug, first: &Fault, found: u64) -> String {
    let more = if found > 1 { format!(", and {} more faults", found - 1) } else { String::new() };
    format!("the log of `{tenant}` does not hold: {first}{more}")
}

/// Where a log's checkpoint is written, beside a backup.
pub fn checkpoint_file(target: &Path, tenant: &TenantSlug) -> PathBuf {
    beside(target, &format!(".{tenant}.checkpoint"))
}

/// A path with something behind its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// What SQLite lays down beside a database while it is open.
pub(super) const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file in the making, for its owner alone; removed unless it is kept.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) path: PathBuf,
}

impl Part {
    /// An empty file beside another, under a name that nobody else has.
    pub(super) fn create(beside_what: &Path, sort: &str) -> Result<Self, BackupError> {
        let unique = hex::encode(entropy::bytes::<8>());
        let path = beside(beside_what, &format!(".{sort}-{unique}"));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(_) => Ok(Self { path }),
            Err(error) => Err(BackupError::File { path, error }),
        }
    }

    /// Makes it durable and gives it its name.
    pub(super) fn keep(self, target: &Path, replace: bool) -> Result<(), BackupError> {
        let failed = |error| BackupError::File { path: target.to_owned(), error };
        File::open(&self.path).and_then(|file| file.sync_all()).map_err(failed)?;
        let linked = if replace { None } else { Some(fs::hard_link(&self.path, target)) };
        match linked {
            // The link refuses where somebody else was faster; the part goes when this is dropped.
            Some(Ok(())) => {}
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupError::Exists(target.to_owned()));
            }
            // There are file systems without links.
            Some(Err(_)) | None => fs::rename(&self.path, target).map_err(failed)?,
        }
        sync_folder(target).map_err(failed)
    }

    fn remove(&self) {
        // Not there, most of the time.
        drop(fs::remove_file(&self.path));
        for companion in COMPANIONS {
            drop(fs::remove_file(beside(&self.path, companion)));
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Makes a new name durable: it is so only once its folder is.
pub(super) fn sync_folder(of: &Path) -> io::Result<()> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}
