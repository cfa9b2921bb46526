//! How parts of a log are named when they are fetched (C2SP tlog-tiles): hashes and entries, 256 at a time.

use std::{fmt, str::FromStr};

/// How many hashes or entries a full tile holds.
pub const TILE_WIDTH: u16 = 256;
/// The highest level a name can state.
const HIGHEST_LEVEL: u8 = 63;
/// What stands between an index and the width of a tile that is not full.
const PARTIAL: &str = ".p";

/// What a tile holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TileContent {
    /// Hashes of one level: leaf hashes at 0, above it the roots of the full tiles of the level below.
    Hashes {
        /// The level, at most 63.
        level: u8,
    },
    /// The leaves' data.
    Entries,
}

/// The name of a tile, as it stands behind `tile/`: `0/x001/x234/067`, `1/000.p/17`, `entries/000`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TilePath {
    /// What it holds.
    pub content: TileContent,
    /// Its place among those of its level.
    pub index: u64,
    /// How many hashes or entries, 1 to 256; less than 256 where it is not full, or was not yet.
    pub width: u16,
}

impl TilePath {
    /// Whether it holds all that a tile can.
    pub fn is_full(&self) -> bool {
        self.width == TILE_WIDTH
    }

    /// The first place of its level that it covers, and the first it does not; `None` beyond any tree.
    pub fn places(&self) -> Option<(u64, u64)> {
        let first = self.index.checked_mul(u64::from(TILE_WIDTH))?;
        Some((first, first.checked_add(u64::from(self.width))?))
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            TileContent::Hashes { level } => write!(f, "{level}")?,
            TileContent::Entries => f.write_str("entries")?,
        }
        let (mut groups, mut rest) = (vec![self.index % 1000], self.index / 1000);
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for (place, group) in groups.iter().enumerate().rev() {
            let mark = if place == 0 { "" } else { "x" };
            write!(f, "/{mark}{group:03}")?;
        }
        if self.is_full() { Ok(()) } else { write!(f, "{PARTIAL}/{}", self.width) }
    }
}

impl FromStr for TilePath {
    type Err = String;

    /// Reads a name in its only spelling.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let shown: String = text.chars().take(80).collect();
            format!(
                "`{}` names no tile: `<level>/<index>` or `entries/<index>`, as `0/x001/x234/067` or `1/000.p/17`",
                shown.escape_debug()
            )
        };
        read(text).filter(|path| path.to_string() == text).ok_or_else(wrong)
    }
}

fn read(text: &str) -> Option<TilePath> {
    let (content, rest) = text.split_once('/')?;
    let content = match content {
        "entries" => TileContent::Entries,
        level => TileContent::Hashes { level: level.parse().ok().filter(|level| *level <= HIGHEST_LEVEL)? },
    };
    let (index, width) = match rest.split_once(&format!("{PARTIAL}/")) {
        Some((index, width)) => (index, width.parse().ok().filter(|width| (1..TILE_WIDTH).contains(width))?),
        None => (rest, TILE_WIDTH),
    };
    let mut number = 0u64;
    for group in index.split('/') {
        let group: u64 =
            group.strip_prefix('x').unwrap_or(group).parse().ok().filter(|group| *group < 1000)?;
        number = number.checked_mul(1000)?.checked_add(group)?;
    }
    Some(TilePath { content, index: number, width })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tile_is_named_as_the_standard_writes_it() {
        for (text, content, index, width) in [
            ("0/x001/x234/067", TileContent::Hashes { level: 0 }, 1_234_067, 256),
            ("0/000", TileContent::Hashes { level: 0 }, 0, 256),
            ("1/000.p/17", TileContent::Hashes { level: 1 }, 0, 17),
            ("63/x001/000.p/255", TileContent::Hashes { level: 63 }, 1000, 255),
            ("entries/x001/x234/067.p/1", TileContent::Entries, 1_234_067, 1),
        ] {
            let path: TilePath = text.parse().unwrap();
            assert_eq!(path, TilePath { content, index, width });
            assert_eq!(path.to_string(), text);
        }
    }

    #[test]
    fn another_spelling_names_nothing() {
        for wrong in [
            "",
            "0",
            "0/",
            "/000",
            "0/0",
            "0/00",
            "0/0000",
            "0/001/002",
            "0/x001/002/",
            "0/x000/001",
            "0/x001",
            "00/000",
            "+1/000",
            "64/000",
            "-1/000",
            "0/000.p",
            "0/000.p/",
            "0/000.p/0",
            "0/000.p/256",
            "0/000.p/017",
            "0/000.p/1.p/1",
            "0/000.p/1/2",
            "0/+01",
            "data/000",
            "entries",
            "Entries/000",
            "0/x018/x446/x744/x073/x709/x551/616",
            "0/x999/x999/x999/x999/x999/x999/999",
            "0/x1/000",
            "0//000",
        ] {
            assert!(wrong.parse::<TilePath>().is_err(), "{wrong}");
        }
        assert!("0/x018/x446/x744/x073/x709/x551/615".parse::<TilePath>().is_ok(), "the last there is");
    }

    proptest! {
        #[test]
        fn an_outside_implementation_names_every_tile_alike(level in 0u8..64, index: u64, width in 1u16..=256) {
            let path = TilePath { content: TileContent::Hashes { level }, index, width };
            let theirs = tlog_tiles::Tile::new(8, level, index, u32::from(width), false);
            prop_assert_eq!(format!("tile/8/{path}"), theirs.path());
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }
    }
}
