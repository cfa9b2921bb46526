//! What is noted while the log cannot be written: since when, and how many calls got no record.
//!
//! The note lies in a file of fixed size outside the database, so that a full disk does not stop it.

use crate::domain::{TenantSlug, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file's size; a note of more tenants than fit keeps the busiest, and the rest in memory alone.
const FILE_BYTES: usize = 16 * 1024;

/// One tenant's calls without a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gap {
    /// The first of them.
    pub(super) from: Timestamp,
    /// The last of them.
    pub(super) until: Timestamp,
    /// How many.
    pub(super) calls: u64,
}

/// The gaps that are not recorded in the log yet.
#[derive(Debug, Default)]
pub(super) struct Outage {
    file: Option<File>,
    gaps: BTreeMap<TenantSlug, Gap>,
    saved_at: Option<Timestamp>,
}

impl Outage {
    /// Opens, or lays down, the note; what an earlier process left in it is still to be recorded.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        if text.len() != FILE_BYTES {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&vec![b' '; FILE_BYTES])?;
            file.sync_all()?;
        }
        let gaps = serde_json::from_str(text.trim()).unwrap_or_default();
        Ok(Self { file: Some(file), gaps, saved_at: None })
    }

    /// Notes calls that got no record; the file is written at most once a second.
    pub(super) fn add(&mut self, tenant: &TenantSlug, at: Timestamp, calls: u64) {
        let gap = self.gaps.entry(tenant.clone()).or_insert(Gap { from: at, until: at, calls: 0 });
        gap.until = gap.until.max(at);
        gap.calls = gap.calls.saturating_add(calls);
        if self.saved_at.is_none_or(|saved| at.since(saved).whole_milliseconds() >= 1000) {
            self.saved_at = Some(at);
            if let Err(error) = self.save() {
                tracing::error!(%error, "the note of the outage cannot be written");
            }
        }
    }

    /// The gaps to record.
    pub(super) fn gaps(&self) -> BTreeMap<TenantSlug, Gap> {
        self.gaps.clone()
    }

    /// Whether nothing is left to record.
    pub(super) fn is_over(&self) -> bool {
        self.gaps.is_empty()
    }

    /// Forgets what is now in the log; what was added meanwhile stays.
    pub(super) fn recorded(&mut self, recorded: &BTreeMap<TenantSlug, Gap>) {
        for (tenant, in_log) in recorded {
            if let Some(gap) = self.gaps.get_mut(tenant) {
                gap.calls = gap.calls.saturating_sub(in_log.calls);
                gap.from = in_log.until;
            }
        }
        self.gaps.retain(|_, gap| gap.calls > 0);
        self.saved_at = None;
        if let Err(error) = self.save() {
            tracing::error!(%error, "the note of the outage cannot be cleared");
        }
    }

    fn save(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut text = if self.gaps.is_empty() { String::new() } else { serde_json::to_string(&self.gaps)? };
        if text.len() > FILE_BYTES {
            // One note of this size is kept whole rather than cut: the busiest tenants.
            let mut kept: Vec<_> = self.gaps.iter().collect();
            kept.sort_by_key(|(_, gap)| std::cmp::Reverse(gap.calls));
            while text.len() > FILE_BYTES {
                kept.pop();
                text = serde_json::to_string(&kept.iter().copied().collect::<BTreeMap<_, _>>())?;
            }
        }
        let mut bytes = text.into_bytes();
        bytes.resize(FILE_BYTES, b' ');
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&bytes)?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_process_noted_the_next_one_finds() {
        let folder = std::env::temp_dir().join(format!("procura-outage-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("outage");
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let at = Timestamp::from_unix_seconds;
        let mut outage = Outage::open(&path).unwrap();
        outage.add(&tenant, at(10), 1);
        outage.add(&tenant, at(12), 2);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), u64::try_from(FILE_BYTES).unwrap());
        let mut next = Outage::open(&path).unwrap();
        let noted = next.gaps();
        assert_eq!(noted.get(&tenant), Some(&Gap { from: at(10), until: at(12), calls: 3 }));
        next.add(&tenant, at(13), 1);
        next.recorded(&noted);
        assert_eq!(
            next.gaps().get(&tenant),
            Some(&Gap { from: at(12), until: at(13), calls: 1 }),
            "added meanwhile"
        );
        next.recorded(&next.gaps());
        assert!(Outage::open(&path).unwrap().is_over());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
