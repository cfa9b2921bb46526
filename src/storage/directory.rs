//! The data directory: what lies in it, and that one server at a time uses it.

use super::Database;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A data directory that this process alone holds until it is dropped.
#[derive(Debug)]
pub struct DataDirectory {
    _locks: Vec<File>,
}

impl DataDirectory {
    /// Takes the directory and, where that is a file, the database, which may lie elsewhere and be named by others too;
    /// the error names what another process has.
    pub fn lock(path: &Path, database: &Database) -> Result<Self, String> {
        if !path.is_dir() {
            return Err(format!("`{}` is not a directory", path.display()));
        }
        let mut locks = vec![lock(&path.join("lock"), path)?];
        if let Database::Sqlite(file) = database {
            locks.push(lock(&lock_file(file), file)?);
        }
        Ok(Self { _locks: locks })
    }

    /// Where the embedded database lies.
    pub fn database_file(directory: &Path) -> PathBuf {
        directory.join("procura.db")
    }

    /// The key that wraps all other keys.
    pub fn master_key_file(directory: &Path) -> PathBuf {
        directory.join("master.key")
    }

    /// Where an outage of the log is noted while the log cannot be written.
    pub fn outage_file(directory: &Path) -> PathBuf {
        directory.join("outage")
    }
}

/// Takes the lock that lies in `file`, for as long as what this gives is kept.
fn lock(file: &Path, of: &Path) -> Result<File, String> {
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(file)
        .map_err(|error| format!("`{}` cannot be opened: {error}", file.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(format!("`{}` is in use by another procura", of.display())),
        Err(TryLockError::Error(error)) => Err(format!("`{}` cannot be locked: {error}", file.display())),
    }
}

/// The lock beside a database's file, whichever link leads to it. It is not the file itself: SQLite loses its own locks
/// on a file that this process closes a second time.
fn lock_file(database: &Path) -> PathBuf {
    // A file that is not there yet lies where its folder does.
    let folder = || Some(database.parent()?.canonicalize().ok()?.join(database.file_name()?));
    let file = database.canonicalize().ok().or_else(folder);
    let mut name = file.unwrap_or_else(|| database.to_owned()).into_os_string();
    name.push(".lock");
    PathBuf::from(name)
}
