//! Consistency proofs and tiles as files: what shows trees of one log to be of one history.

use super::report::Fault;
use crate::domain::{Hash, Malformed};
use crate::evidence::members::{Members, spelt};
use serde_json::Value;
use std::io::{BufRead, Read};

/// Hashes in a full tile (C2SP tlog-tiles).
const WIDTH: usize = 256;
const HASH_BYTES: usize = 32;

/// What `GET /log/{tenant}/consistency` answers (RFC 9162 §2.1.4), and where it stood.
pub(super) struct Proof {
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) origin: Option<String>,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) path: Vec<Hash>,
}

impl Proof {
    /// Reads it strictly.
    pub(super) fn from_json(value: &Value, file: &str, line: u64) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "a consistency proof")?;
        let origin = match members.optional("origin") {
            Some(_) => Some(members.text("origin")?.to_owned()),
            None => None,
        };
        let proof = Self {
            file: file.to_owned(),
            line,
            origin,
            from: members.number("from")?,
            to: members.number("to")?,
            path: members.list("path", spelt)?,
        };
        members.end()?;
        Ok(proof)
    }

    /// What is said of it where no two checkpoints were read that it could lead between.
    pub(super) fn unheld(&self) -> String {
        let Self { file, line, from, to, .. } = self;
        format!(
            "the consistency proof from {from} to {to} leaves in {file} line {line} is held against nothing: no \
             checkpoints of its log and of these sizes were read"
        )
    }
}

/// Where a file stands in a tree of tiles, as its path says: `…/tile/<level>/<number>[.p/<width>]`.
pub(super) struct TilePath {
    /// What stands before `tile/`.
    pub(super) base: String,
    tile_level: u32,
    number: u64,
    width: usize,
}

impl TilePath {
    /// Reads a file's path; `None` where it is not one of a tile (C2SP tlog-tiles, parameters L, N and W).
    pub(super) fn of(file: &str) -> Option<Self> {
        let mut parts: Vec<&str> = file.rsplit('/').collect();
        let mut width = WIDTH;
        if let Some(number) = parts.get(1).and_then(|part| part.strip_suffix(".p")) {
            width =
                parts.first().and_then(|text| decimal(text)).filter(|width| (1..WIDTH).contains(width))?;
            parts.remove(0);
            *parts.first_mut()? = number;
        }
        let end = parts.iter().position(|part| *part == "tile")?;
        let (level, groups) = parts.get(..end)?.split_last()?;
        let tile_level = decimal(level).filter(|level| *level < 64)?;
        let number = number(groups)?;
        let mut base = parts.get(end + 1..)?.iter().rev().copied().collect::<Vec<_>>().join("/");
        if parts.len() > end + 1 {
            base.push('/');
        }
        Some(Self { base, tile_level: u32::try_from(tile_level).ok()?, number, width })
    }
}

/// The number of a tile from its groups of three digits, the last one first; all but the last are marked with an x.
fn number(groups: &[&str]) -> Option<u64> {
    let (last, marked) = groups.split_first()?;
    let digits = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let unmarked: Option<Vec<&str>> = marked.iter().rev().map(|group| group.strip_prefix('x')).collect();
    let all: Vec<&str> = unmarked?.into_iter().chain([*last]).collect();
    let is_shortest = all.len() == 1 || all.first() != Some(&"000");
    let fits = all.len() <= 6 && is_shortest && all.iter().all(|group| digits(group));
    fits.then(|| all.concat().parse().ok()).flatten()
}

/// A decimal without leading zeros.
fn decimal(text: &str) -> Option<usize> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// A tile that was read.
pub(super) struct Tile {
    pub(super) file: String,
    pub(super) base: String,
    /// The level of its hashes: 0 for leaves, 8 for the roots of 256 leaves, and so on.
    pub(super) level: u32,
    /// The index of its first hash on that level.
    pub(super) first: u64,
    pub(super) hashes: Vec<Hash>,
}

impl Tile {
    /// Reads a tile, which must hold as many hashes as its path says.
    pub(super) fn read(file: &str, path: TilePath, reader: impl BufRead) -> Result<Self, Fault> {
        let expected = path.width * HASH_BYTES;
        let mut bytes = Vec::with_capacity(expected);
        let most = u64::try_from(expected).unwrap_or(u64::MAX).saturating_add(1);
        reader
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| Fault::unreadable(format!("cannot be read: {error}")))?;
        if bytes.len() != expected {
            let found = if bytes.len() > expected {
                format!("more than {expected}")
            } else {
                bytes.len().to_string()
            };
            let detail = format!("a tile of {} hashes has {expected} bytes", path.width);
            return Err(Fault::differs("tile", expected, found, detail));
        }
        let (hashes, _) = bytes.as_chunks::<HASH_BYTES>();
        Ok(Self {
            file: file.to_owned(),
            base: path.base,
            level: path.tile_level.saturating_mul(8),
            first: path.number.saturating_mul(256),
            hashes: hashes.iter().copied().map(Hash).collect(),
        })
    }
}
