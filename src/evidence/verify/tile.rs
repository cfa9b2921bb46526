//! Tiles and entry bundles as files: the hashes of a log, and the data of its leaves, 256 at a time (C2SP tlog-tiles).

use super::report::{Fault, Site};
use crate::domain::Hash;
use crate::evidence::merkle::{self, TileContent, leaf_hash};
use std::io::{BufRead, Read};
use std::sync::Arc;

const HASH_BYTES: usize = 32;
/// Before each entry stands its length.
const LENGTH_BYTES: usize = 2;
/// A number of more than six groups of three digits is beyond any log.
const NUMBERS: u64 = 1_000_000_000_000_000_000;

/// Where a file stands in a tree of tiles, as its path says: `…/tile/<level>/<number>[.p/<width>]`, or
/// `…/tile/entries/<number>[.p/<width>]`.
pub(super) struct TilePath {
    /// What stands before `tile/`.
    base: String,
    tile: merkle::TilePath,
}

impl TilePath {
    /// Reads a file's path; `None` where it is not one of a tile or an entry bundle.
    pub(super) fn of(file: &str) -> Option<Self> {
        let (base, name) = match file.rsplit_once("/tile/") {
            Some((base, name)) => (format!("{base}/"), name),
            None => (String::new(), file.strip_prefix("tile/")?),
        };
        let tile: merkle::TilePath = name.parse().ok()?;
        (tile.index < NUMBERS).then_some(Self { base, tile })
    }
}

/// A tile or an entry bundle that was read.
pub(super) struct Tile {
    pub(super) site: Arc<Site>,
    /// What stands before `tile/` in its path.
    pub(super) base: String,
    /// The level of its hashes: 0 for leaves, 8 for the roots of 256 leaves, and so on.
    pub(super) level: u32,
    /// The index of its first hash on that level.
    pub(super) first: u64,
    pub(super) hashes: Vec<Hash>,
    /// What it is: `tile` or `entries`.
    pub(super) field: &'static str,
}

impl Tile {
    /// Reads one, which must hold as many hashes or entries as its path says.
    pub(super) fn read(path: TilePath, site: Site, reader: impl BufRead) -> Result<Self, Fault> {
        let width = usize::from(path.tile.width);
        let (level, field) = match path.tile.content {
            TileContent::Hashes { level } => (u32::from(level).saturating_mul(8), "tile"),
            TileContent::Entries => (0, "entries"),
        };
        let beyond = || Fault::new(field, "its name is of a place beyond any tree");
        let (first, _) = path.tile.places().ok_or_else(beyond)?;
        let hashes = match path.tile.content {
            TileContent::Hashes { .. } => hashes(width, reader)?,
            TileContent::Entries => entries(width, reader)?,
        };
        Ok(Self { site: Arc::new(site), base: path.base, level, first, hashes, field })
    }

    /// Whether it is an entry bundle.
    pub(super) fn is_bundle(&self) -> bool {
        self.field == "entries"
    }
}

fn hashes(width: usize, reader: impl BufRead) -> Result<Vec<Hash>, Fault> {
    let expected = width * HASH_BYTES;
    let bytes = read_up_to(expected, reader)?;
    if bytes.len() != expected {
        let found =
            if bytes.len() > expected { format!("more than {expected}") } else { bytes.len().to_string() };
        let detail = format!("a tile of {width} hashes has {expected} bytes");
        return Err(Fault::differs("tile", expected, found, detail));
    }
    let (hashes, _) = bytes.as_chunks::<HASH_BYTES>();
    Ok(hashes.iter().copied().map(Hash).collect())
}

/// The leaf hashes of a bundle: entries, each behind its length in two bytes, one after the other.
fn entries(width: usize, reader: impl BufRead) -> Result<Vec<Hash>, Fault> {
    let bytes = read_up_to(width * (LENGTH_BYTES + usize::from(u16::MAX)), reader)?;
    let mut rest = &bytes[..];
    let mut hashes = Vec::with_capacity(width);
    // One more than there should be shows that there are too many.
    while hashes.len() <= width
        && let Some((entry, after)) = next_entry(rest)
    {
        hashes.push(leaf_hash(entry));
        rest = after;
    }
    let detail =
        format!("a bundle of {width} entries holds each behind its length in two bytes, and nothing else");
    if !rest.is_empty() {
        let found = format!("{} and {} bytes more", hashes.len(), rest.len());
        return Err(Fault::differs("entries", width, found, detail));
    }
    if hashes.len() == width {
        Ok(hashes)
    } else {
        Err(Fault::differs("entries", width, hashes.len(), detail))
    }
}

fn next_entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// So many bytes and perhaps one more, which shows that there are too many.
fn read_up_to(most: usize, reader: impl BufRead) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    reader
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::unreadable(format!("cannot be read: {error}")))?;
    Ok(bytes)
}
