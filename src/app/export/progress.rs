//! How far the exports are that this process writes at the moment.

use crate::domain::ExportId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How far each export is that is being written: places of the log behind it, and all it covers.
#[derive(Debug, Default)]
pub struct Progress(Mutex<HashMap<ExportId, (u64, u64)>>);

impl Progress {
    /// Shows an export from now on, until what this gives is dropped.
    pub(super) fn start(&self, export: ExportId, all: u64) -> Running<'_> {
        self.set(export, (0, all));
        Running { progress: self, export, all }
    }

    /// Places of the log behind it, and all it covers; `None` where it is not being written.
    pub fn of(&self, export: ExportId) -> Option<(u64, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&export).copied()
    }

    fn set(&self, export: ExportId, far: (u64, u64)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(export, far);
    }
}

/// An export that is being written.
pub(super) struct Running<'a> {
    progress: &'a Progress,
    export: ExportId,
    all: u64,
}

impl Running<'_> {
    /// So many places of the log are behind it.
    pub(super) fn reached(&self, done: u64) {
        self.progress.set(self.export, (done, self.all));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.progress.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.export);
    }
}
