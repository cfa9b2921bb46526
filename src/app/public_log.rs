//! What anyone may fetch of a tenant's log: its signed head, its tiles, its witnesses' word. Hashes, nothing else.

use super::Roots;
use super::tree::{Tree, log_keys};
use crate::domain::{Hash, Malformed, TenantSlug};
use crate::evidence::merkle::{TileContent, TilePath};
use crate::evidence::note::{
    Checkpoint, Cosignature, VerifierKey, open_checkpoint, read_cosignatures, signatures_of, text_of,
};
use crate::evidence::receipt;
use crate::storage::witness::Witnessed;
use crate::storage::{self, AnyConnection, StoreError, tile};

/// The newest checkpoint, with what witnesses have signed of it so far; `None` where there is no such log.
pub fn checkpoint(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Option<String>, StoreError> {
    let Some(head) = storage::head::find(connection, tenant)? else { return Ok(None) };
    let signed = storage::witness::find(connection, tenant, head.size)?
        .filter(|signed| signed.checkpoint == head.checkpoint);
    Ok(Some(head.checkpoint + signed.as_ref().map_or("", |signed| &signed.lines)))
}

/// The newest checkpoint that a witness has signed, with all that witnesses signed of it.
pub fn witnessed(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Option<String>, StoreError> {
    Ok(storage::witness::newest(connection, tenant)?
        .map(|Witnessed { checkpoint, lines, .. }| checkpoint + &lines))
}

/// The bytes of a tile, if the log is long enough to have it (C2SP tlog-tiles).
///
/// What stands in a tile never changes, so that nothing is locked and the head is not looked at.
pub fn tile(
    connection: &mut AnyConnection,
    roots: &Roots,
    tenant: &TenantSlug,
    path: &TilePath,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some((first, until)) = path.places().filter(|(_, until)| i64::try_from(*until).is_ok()) else {
        return Ok(None);
    };
    let bytes = match path.content {
        TileContent::Entries => entries(connection, tenant, first, until)?,
        TileContent::Hashes { level } => {
            let hashes = hashes(connection, roots, tenant, path, u32::from(level))?;
            hashes.iter().map(|hash| hash.as_bytes().to_vec()).collect()
        }
    };
    let is_whole = bytes.len() == usize::from(path.width);
    Ok(is_whole.then(|| bytes.concat()))
}

/// The data of the leaves, each behind its length in two bytes.
fn entries(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    first: u64,
    until: u64,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let leaves = storage::receipt::leaves(connection, tenant, first, until)?;
    let entry = |(hash, auth): &(Hash, receipt::Auth)| {
        let data = receipt::leaf_data(hash, auth);
        let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
        [&length.to_be_bytes()[..], &data].concat()
    };
    Ok(leaves.iter().map(entry).collect())
}

/// The hashes of a tile, as many as there are of it.
fn hashes(
    connection: &mut AnyConnection,
    roots: &Roots,
    tenant: &TenantSlug,
    path: &TilePath,
    level: u32,
) -> Result<Vec<Hash>, StoreError> {
    let Some((first, until)) = path.places() else { return Ok(Vec::new()) };
    if path.is_full() {
        return Ok(tile::find(connection, tenant, level, path.index)?.unwrap_or_default());
    }
    if level > 0 {
        return roots.of_tile(connection, tenant, (level, path.index), u64::from(path.width));
    }
    let leaves = storage::receipt::leaves(connection, tenant, first, until)?;
    Ok(leaves.iter().map(|(hash, auth)| receipt::leaf(hash, auth)).collect())
}

/// A checkpoint of the log that somebody sent with the signatures of witnesses, all of it checked.
#[derive(Debug)]
pub struct Cosigned {
    /// How many leaves it has.
    pub size: u64,
    /// The log's own signed note, without the witnesses' lines.
    pub checkpoint: String,
    /// What witnesses signed of it.
    pub signed: Vec<Cosignature>,
}

/// Why a cosigned checkpoint is not taken.
#[derive(Debug)]
pub enum NotTaken {
    /// There is no such log.
    NoLog,
    /// It is not what is taken here.
    Malformed(Malformed),
    /// This log never stood there.
    Elsewhere(String),
}

/// Checks a checkpoint of the log that carries signatures of these witnesses: the log's own signature holds, it is one
/// that the log passed through, and at least one witness has signed it.
pub fn read_cosigned(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    note: &str,
    witnesses: &[VerifierKey],
) -> Result<Result<Cosigned, NotTaken>, StoreError> {
    let malformed = |detail: String| Ok(Err(NotTaken::Malformed(Malformed::whole(detail))));
    let Some(mut tree) = Tree::now(connection, tenant)? else { return Ok(Err(NotTaken::NoLog)) };
    let keys = log_keys(connection, tenant, tree.origin())?;
    let mut opened = Err(String::from("the log has no key"));
    for key in &keys {
        opened = open_checkpoint(note, key).map(|opened| (opened, key)).map_err(|error| error.to_string());
        if opened.is_ok() {
            break;
        }
    }
    let (Checkpoint { size, root, .. }, key) = match opened {
        Ok(opened) => opened,
        Err(why) => return malformed(why),
    };
    let (text, lines) = match (text_of(note), signatures_of(note)) {
        (Ok(text), Ok(lines)) => (text, lines),
        (Err(error), _) | (_, Err(error)) => return malformed(error.to_string()),
    };
    let signed = match read_cosignatures(text, lines, witnesses) {
        Ok(signed) if signed.is_empty() => {
            return malformed("no signature on it is from a witness that this service knows".into());
        }
        Ok(signed) => signed,
        Err(error) => return malformed(error.to_string()),
    };
    if size > tree.size() {
        let here = tree.size();
        return Ok(Err(NotTaken::Elsewhere(format!("it is of {size} leaves, the log has {here}"))));
    }
    let here = tree.root_at(connection, size)?;
    if here != root {
        let why = format!("its root at {size} leaves is {root}, the log's is {here}");
        return Ok(Err(NotTaken::Elsewhere(why)));
    }
    // Of all lines the one that is the log's own; lines under its name that no key of it made are left behind.
    let own =
        lines.lines().map(|line| format!("{text}\n{line}\n")).find(|note| open_checkpoint(note, key).is_ok());
    match own {
        Some(checkpoint) => Ok(Ok(Cosigned { size, checkpoint, signed })),
        None => malformed(format!("no signature is from the key of `{}`", key.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::merkle::{Frontier, TILE_WIDTH, complete_root, leaf_hash};
    use crate::storage::{Database, migrate};
    use tlog_tiles::{Tile, TileHashReader, TileReader, check_record, prove_record, tree_hash};

    /// Full tiles of a log of that many leaves, a multiple of 256, in a database of its own.
    fn with_full_tiles(leaves: &[Hash], test: impl FnOnce(&mut AnyConnection, &TenantSlug)) {
        let folder = std::env::temp_dir().join(format!("procura-tiles-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut connection = Database::Sqlite(folder.join("tables.db")).open_writer().unwrap();
        migrate(&mut connection).unwrap();
        let tenant: TenantSlug = "harbour".parse().unwrap();
        let (mut level, mut below) = (0, leaves.to_vec());
        while below.len() >= usize::from(TILE_WIDTH) {
            let (full, _) = below.as_chunks::<256>();
            for (number, hashes) in (0..).zip(full) {
                tile::insert(&mut connection, &tenant, level, number, hashes).unwrap();
            }
            (level, below) = (level + 1, full.iter().map(|hashes| complete_root(hashes)).collect());
        }
        test(&mut connection, &tenant);
        drop(connection);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// What is served, for an outside reader.
    struct Served<'a>(std::cell::RefCell<&'a mut AnyConnection>, Roots, &'a TenantSlug);

    impl TileReader for Served<'_> {
        fn height(&self) -> u8 {
            8
        }
        fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
            let read = |asked: &Tile| {
                let path = asked.path().replacen("tile/8/", "", 1).parse().unwrap();
                tile(&mut self.0.borrow_mut(), &self.1, self.2, &path)
                    .unwrap()
                    .unwrap_or_else(|| panic!("no {path}"))
            };
            Ok(tiles.iter().map(read).collect())
        }
        fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
    }

    #[test]
    fn an_outside_reader_follows_the_tiles_of_every_level() {
        // As the example of the standard, without the leaves that fill no tile: a full tile at level 1, one of width
        // 17 beside it, and one of width 1 at level 2.
        const SIZE: u64 = 273 * 256;
        let leaves: Vec<Hash> = (0..SIZE).map(|number| leaf_hash(&number.to_be_bytes())).collect();
        let mut frontier = Frontier::empty();
        for leaf in &leaves {
            frontier.push(*leaf);
        }
        with_full_tiles(&leaves, |connection, tenant| {
            // One after the other over what is known already, so that a tile grows, and is cut where less is asked.
            let roots = Roots::default();
            let mut length = |path: &str| {
                let bytes = tile(connection, &roots, tenant, &path.parse().unwrap()).unwrap();
                bytes.map(|bytes| bytes.len())
            };
            for (path, bytes) in [
                ("0/272", Some(8192)),
                ("1/000", Some(8192)),
                ("1/000.p/255", Some(255 * 32)),
                ("1/001.p/3", Some(3 * 32)),
                ("1/001.p/17", Some(17 * 32)),
                ("1/001.p/16", Some(16 * 32)),
                ("2/000.p/1", Some(32)),
                ("0/273", None),
                ("1/001", None),
                ("1/001.p/18", None),
                ("2/000", None),
                ("2/000.p/2", None),
                ("3/000.p/1", None),
            ] {
                assert_eq!(length(path), bytes, "{path}");
            }
            let served = Served(connection.into(), Roots::default(), tenant);
            let root = tlog_tiles::Hash(frontier.root().0);
            let reader = TileHashReader::new(SIZE, root, &served);
            assert_eq!(tree_hash(SIZE, &reader).unwrap(), root);
            for index in [0, 255, 65_535, 65_536, SIZE - 1] {
                let proof = prove_record(SIZE, index, &reader).unwrap();
                let leaf = tlog_tiles::Hash(leaves[usize::try_from(index).unwrap()].0);
                check_record(&proof, SIZE, root, index, leaf).unwrap();
            }
        });
    }
}
