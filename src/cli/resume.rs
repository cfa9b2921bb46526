//! A file that an export is written into, from its beginning or from where it broke off.

use crate::domain::ExportId;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What stands behind the name of a file that is not whole yet.
const PART: &str = ".part";
/// The longest line that is looked at for the export's id.
const LONGEST_LINE: u64 = 64 * 1024;

/// That a file cannot be written.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("`{}` cannot be written: {error}", path.display())
}

/// How an Apache Parquet file begins. The column with the export's id comes first, and is not compressed.
const PARQUET: &[u8] = b"PAR1";
/// How many characters an export's id has.
const ID: usize = 30;

/// The export that a file is the beginning of: its header names it, a row of the table, or the first column.
pub(super) fn export_of(path: &Path) -> Result<ExportId, String> {
    let shown = path.display();
    let unreadable = |error: io::Error| format!("`{shown}` cannot be read: {error}");
    let mut lines = BufReader::new(File::open(path).map_err(unreadable)?.take(2 * LONGEST_LINE));
    let mut first = Vec::new();
    if lines.fill_buf().map_err(unreadable)?.starts_with(PARQUET) {
        lines.read_to_end(&mut first).map_err(unreadable)?;
        let named = first.windows(ID).find_map(|id| std::str::from_utf8(id).ok()?.parse().ok());
        return named.ok_or_else(|| format!("`{shown}` ends before it names its export: start over"));
    }
    lines.read_until(b'\n', &mut first).map_err(unreadable)?;
    let header = serde_json::from_slice::<serde_json::Value>(&first).ok();
    let named = header.as_ref().and_then(|header| header.get("export")?.as_str()?.parse().ok());
    if let Some(id) = named.filter(|_| first.ends_with(b"\n")) {
        return Ok(id);
    }
    let mut rows = csv::Reader::from_reader(first.chain(lines));
    let column = rows.headers().ok().and_then(|names| names.iter().position(|name| name == "export"));
    let row = rows.records().next().and_then(Result::ok);
    let named = row.zip(column).and_then(|(row, column)| row.get(column)?.parse().ok());
    named.ok_or_else(|| {
        format!("`{shown}` is not the beginning of an export as JSONL, CSV or Parquet: start over")
    })
}

/// That nothing is lost: a file that is there is replaced only where that is wanted.
pub(super) fn require_free(path: &Path, force: bool) -> Result<(), String> {
    if force || !path.exists() {
        return Ok(());
    }
    let shown = path.display();
    Err(format!("`{shown}` is there already: name another file, or replace it with `--force`"))
}

/// The name of a file until it is whole.
pub(super) fn part_name(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(PART);
    PathBuf::from(name)
}

/// The name a file has once it is whole.
pub(super) fn whole_name(path: &Path) -> PathBuf {
    let name = path.to_string_lossy();
    name.strip_suffix(PART).filter(|rest| !rest.is_empty()).map_or_else(|| path.to_owned(), PathBuf::from)
}

/// A file for its owner alone that grows until it is whole.
pub(super) struct Grown {
    file: File,
    path: PathBuf,
    /// How many bytes were there before, up to the end of the last whole line where the form has lines: they are held
    /// against the export's own.
    there: u64,
    /// How many bytes of the export went by.
    passed: u64,
}

impl Grown {
    /// A new file beside its final place, neither of which is there yet.
    pub(super) fn create(out: &Path) -> io::Result<Self> {
        let path = part_name(out);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok(Self { file, path, there: 0, passed: 0 })
    }

    /// A file that is there, without its last line where that is not whole.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let there = if has_lines(&mut file)? { end_of_last_line(&mut file)? } else { file.metadata()?.len() };
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { file, path: path.to_owned(), there, passed: 0 })
    }

    /// Takes the next bytes of the export: those that are there already are compared, the others written.
    pub(super) fn take(&mut self, piece: &[u8]) -> Result<(), String> {
        let left = self.there.saturating_sub(self.passed);
        let compared = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let (known, new) = piece.split_at_checked(compared).unwrap_or((piece, &[]));
        let mut found = vec![0; known.len()];
        self.file.read_exact(&mut found).map_err(|error| unwritten(&self.path, &error))?;
        if let Some(place) = found.iter().zip(known).position(|(one, other)| one != other) {
            let byte = self.passed.saturating_add(u64::try_from(place).unwrap_or(u64::MAX));
            let shown = self.path.display();
            return Err(format!("`{shown}` is not the beginning of the export: byte {byte} differs"));
        }
        self.file.write_all(new).map_err(|error| unwritten(&self.path, &error))?;
        self.passed = self.passed.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Gives the file its name.
    pub(super) fn keep(&mut self, out: &Path) -> Result<(), String> {
        if self.passed < self.there {
            let (shown, passed) = (self.path.display(), self.passed);
            return Err(format!("`{shown}` is longer than the export, which has {passed} bytes"));
        }
        let kept = self
            .file
            .set_len(self.passed)
            .and_then(|()| self.file.sync_all())
            .and_then(|()| fs::rename(&self.path, out));
        kept.map_err(|error| unwritten(out, &error))
    }

    /// Where it is until it is whole.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a file is of a form that has lines, as all but Parquet do.
fn has_lines(file: &mut File) -> io::Result<bool> {
    let mut start = Vec::new();
    Read::by_ref(file).take(4).read_to_end(&mut start)?;
    Ok(start != PARQUET)
}

/// Where the last line that has an end ends.
fn end_of_last_line(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        Read::by_ref(file).take(end - start).read_to_end(&mut bytes)?;
        if let Some(place) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start.saturating_add(u64::try_from(place).unwrap_or(0)).saturating_add(1));
        }
        end = start;
    }
    Ok(0)
}
