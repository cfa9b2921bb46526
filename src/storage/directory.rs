//! The data directory: what lies in it, and that one server at a time uses it.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A data directory that this process alone holds until it is dropped.
#[derive(Debug)]
pub struct DataDirectory {
    _lock: File,
}

impl DataDirectory {
    /// Takes the directory; the error names it when another process has it.
    pub fn lock(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        if !path.is_dir() {
            return Err(format!("`{shown}` is not a directory"));
        }
        let file = path.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&file)
            .map_err(|error| format!("`{}` cannot be opened: {error}", file.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(format!("`{shown}` is in use by another procura")),
            Err(TryLockError::Error(error)) => Err(format!("`{}` cannot be locked: {error}", file.display())),
        }
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
