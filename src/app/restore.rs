//! A backup put in the place of the database: held against every head that is known of its logs, recorded in them, and
//! only then given the name. What was there is kept.

mod known;

use super::backup::{BackupError, COMPANIONS, Held, MAGIC, Part, beside, look_over, sync_folder};
use super::examine::examine;
use super::tree::Tree;
use crate::actions::restore::{Restoration, record};
use crate::committer::{self, Committer, clock};
use crate::crypto::keyring::{KeyName, KeyPurpose, KeyringError, MasterKey};
use crate::domain::{Hash, TenantSlug, Timestamp};
use crate::storage::key::StoredKey;
use crate::storage::{self, AnyConnection, DataDirectory, Database, StoreError, backup, whole};
use known::{DATABASE, Here, Known, known_elsewhere, known_here};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What is to be restored, and what is known of its logs.
#[derive(Debug)]
pub struct Plan {
    /// Where the keys lie.
    pub data_dir: PathBuf,
    /// What is put in place.
    pub database: Database,
    /// The backup.
    pub file: PathBuf,
    /// Checkpoints from elsewhere: where each was read from, and its text.
    pub checkpoints: Vec<(String, String)>,
    /// Why the loss of part of a log is accepted, if it is.
    pub accept_loss: Option<String>,
}

/// Why nothing was restored; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The backup, or a file beside it.
    #[error("{0}")]
    Backup(#[from] BackupError),
    /// The master key cannot be used.
    #[error("{0}")]
    Key(#[from] KeyringError),
    /// What was asked does not fit what is there.
    #[error("{0}")]
    Unfit(String),
    /// Something that the message names.
    #[error("{0}")]
    Other(String),
    /// Part of a log would be lost.
    #[error("part of a log would be lost")]
    Loss(Lost),
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Backup(error.into())
    }
}

/// What the backup does not hold of what is known.
#[derive(Debug, Clone, Default)]
pub struct Lost {
    /// Of each log.
    pub logs: Vec<Loss>,
    /// Why the database that is there cannot say how far its logs went, where it cannot.
    pub unreadable: Option<String>,
    /// Logs of which nobody knows how far they went, and why.
    pub unknown: Vec<(TenantSlug, String)>,
}

impl Lost {
    /// Whether nothing is, as far as anybody knows.
    pub fn is_nothing(&self) -> bool {
        self.logs.is_empty() && self.unreadable.is_none() && self.unknown.is_empty()
    }

    /// Whether a tenant's log may be among it.
    fn concerns(&self, tenant: &TenantSlug) -> bool {
        self.unreadable.is_some()
            || self.logs.iter().any(|loss| loss.tenant == *tenant)
            || self.unknown.iter().any(|(unknown, _)| unknown == tenant)
    }
}

/// What the backup does not hold of one log.
#[derive(Debug, Clone)]
pub struct Loss {
    /// Whose log.
    pub tenant: TenantSlug,
    /// A head that is known of it: how many receipts, and their root.
    pub known: (u64, Hash),
    /// Where that is known from.
    pub from: String,
    /// How the backup differs.
    pub how: How,
}

/// How a backup differs from a known head.
#[derive(Debug, Clone)]
pub enum How {
    /// It ends before.
    Behind {
        /// How many receipts it holds.
        size: u64,
        /// What was recorded after its end, by kind, where that can still be read.
        acts: BTreeMap<String, u64>,
    },
    /// It holds another log: the roots of one size differ.
    Forked {
        /// The size at which both have a root.
        size: u64,
        /// That of the backup.
        root: Hash,
    },
    /// It does not hold the tenant at all.
    Gone,
}

/// What was restored.
#[derive(Debug)]
pub struct Restored {
    /// Each log as it is now: the record of this is its last receipt.
    pub logs: Vec<(TenantSlug, u64, Hash)>,
    /// What was lost, as accepted.
    pub lost: Lost,
    /// Where what was there is kept.
    pub kept: Option<String>,
    /// Whether anything may have been done after the backup: sessions were ended then, unused approvals taken back.
    pub is_lossy: bool,
}

/// Restores, or says why not.
///
/// # Errors
/// Nothing was changed then.
pub fn restore(plan: &Plan, advance: &dyn Fn(u64)) -> Result<Restored, RestoreError> {
    let _directory = DataDirectory::lock(&plan.data_dir, &plan.database).map_err(RestoreError::Other)?;
    let master = MasterKey::read(&DataDirectory::master_key_file(&plan.data_dir))?;
    let part = working_copy(plan)?;
    require_same_master(&part.path, &master)?;
    let mut lost = Lost::default();
    let mut known = match known_here(&plan.database)? {
        Here::Heads { heads, doubtful } => {
            lost.unknown = doubtful;
            heads
        }
        Here::Unreadable(why) => {
            lost.unreadable = Some(why);
            Vec::new()
        }
    };
    known.extend(known_elsewhere(plan, &part.path)?);
    let mut sizes: BTreeMap<TenantSlug, BTreeSet<u64>> = BTreeMap::new();
    for head in &known {
        sizes.entry(head.tenant.clone()).or_default().insert(head.size);
    }
    let held = look_over(&part.path, Some(&master), &sizes, advance)?;
    if held.is_empty() {
        return Err(RestoreError::Unfit(format!("`{}` holds no tenant", plan.file.display())));
    }
    for head in &known {
        lost.logs.extend(compare(plan, head, &held)?);
    }
    if lost.unreadable.is_none() {
        lost.unknown.extend(unknown_ends(plan, &held, &known, &lost));
    }
    if !lost.is_nothing() && plan.accept_loss.is_none() {
        return Err(RestoreError::Loss(lost));
    }
    let is_lossy = write_down(plan, &part, &master, &held, &known, &lost)?;
    backup::settle(&part.path)?;
    let logs = heads_of(&part.path)?;
    let kept = put_in_place(plan, part, &logs)?;
    Ok(Restored {
        logs: logs.into_iter().map(|(slug, size, root, _)| (slug, size, root)).collect(),
        lost,
        kept,
        is_lossy,
    })
}

/// Logs of the backup of which neither the database that is there nor a checkpoint says how far they went.
fn unknown_ends(plan: &Plan, held: &[Held], known: &[Known], lost: &Lost) -> Vec<(TenantSlug, String)> {
    let slugs = held.iter().map(|held| &held.tenant.slug);
    let unknown = slugs.filter(|slug| {
        let is_named = lost.unknown.iter().any(|(tenant, _)| tenant == *slug);
        !is_named && known.iter().all(|known| known.tenant != **slug)
    });
    let why = || format!("{} does not hold it", plan.database);
    unknown.map(|slug| (slug.clone(), why())).collect()
}

/// The backup as a file that may be written, beside where it will stand, with the tables of this version.
fn working_copy(plan: &Plan) -> Result<Part, RestoreError> {
    let target = match &plan.database {
        Database::Sqlite(file) => file.clone(),
        Database::Postgres(_) => DataDirectory::database_file(&plan.data_dir),
    };
    let unread = |error| BackupError::File { path: plan.file.clone(), error };
    let mut from = File::open(&plan.file).map_err(unread)?;
    let part = Part::create(&target, "restoring")?;
    let copied =
        OpenOptions::new().write(true).open(&part.path).and_then(|mut to| io::copy(&mut from, &mut to));
    copied.map_err(|error| BackupError::File { path: part.path.clone(), error })?;
    // Before anything is written to it, it is held to be what it should be.
    if !matches!(fs::metadata(&part.path), Ok(about) if about.len() > 0) {
        return Err(BackupError::NotABackup(format!("`{}` is empty", plan.file.display())).into());
    }
    match tables_of(&part.path) {
        Ok(None) => {}
        Ok(Some(newer)) => {
            return Err(RestoreError::Unfit(format!(
                "`{}` was written by a newer version of Procura, with tables this one does not know ({newer})",
                plan.file.display()
            )));
        }
        Err(_) => {
            let shown = plan.file.display();
            return Err(match missing_bytes(&part.path) {
                Some((there, whole)) => BackupError::Damaged(format!(
                    "the file was cut short: it has {there} bytes and says that it has {whole}"
                )),
                None => BackupError::NotABackup(format!("`{shown}` is no backup of Procura")),
            }
            .into());
        }
    }
    if let Some(first) = backup::acting_in(&part.path)?.first() {
        return Err(BackupError::Damaged(first.what.clone()).into());
    }
    let file = Database::Sqlite(part.path.clone());
    storage::migrate(&mut file.open_writer()?)?;
    backup::settle(&part.path)?;
    Ok(part)
}

/// How many bytes a database file has, and how many its header says (SQLite's file format §1.3), where that is more.
fn missing_bytes(file: &Path) -> Option<(u64, u64)> {
    let mut header = [0; 32];
    let mut opened = File::open(file).ok()?;
    opened.read_exact(&mut header).ok()?;
    let there = opened.metadata().ok()?.len();
    let page = match u16::from_be_bytes(header.get(16..18)?.try_into().ok()?) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u32::from_be_bytes(header.get(28..32)?.try_into().ok()?);
    let whole = page.saturating_mul(u64::from(pages));
    (header.starts_with(MAGIC.as_slice()) && there < whole).then_some((there, whole))
}

/// That the master key is the one that the backup's keys are wrapped with: it opens one of each tenant at least. A key
/// that does not open beside others is the row's fault, not the file's, and is named where the log is looked over.
fn require_same_master(file: &Path, master: &MasterKey) -> Result<(), RestoreError> {
    let mut connection = backup::open_file(file)?;
    for tenant in storage::tenant::all(&mut connection)? {
        let keys = storage::key::of_tenant(&mut connection, &tenant.slug)?;
        let opens = |key: &StoredKey| {
            let purpose = KeyPurpose::ALL.into_iter().find(|purpose| purpose.as_str() == key.purpose);
            purpose.is_some_and(|purpose| {
                let name = KeyName { tenant: &key.tenant, key: key.id, purpose };
                master.unwrap(&key.wrapped, &name).is_ok()
            })
        };
        if !keys.is_empty() && !keys.iter().any(opens) {
            return Err(RestoreError::Other(format!(
                "the master.key in the data directory is not the one that the backup was made under: it opens none of the \
                 keys of `{}`; nothing was changed",
                tenant.slug
            )));
        }
    }
    Ok(())
}

/// A migration that the file has been through and this version does not know, if there is one.
fn tables_of(file: &Path) -> Result<Option<String>, StoreError> {
    let mut connection = backup::open_file(file)?;
    Ok(storage::differs(&mut connection)?.unknown.into_iter().next())
}

/// What the backup lacks of a head that is known.
fn compare(plan: &Plan, known: &Known, held: &[Held]) -> Result<Option<Loss>, RestoreError> {
    let loss = |how| {
        let (tenant, from) = (known.tenant.clone(), known.from.clone());
        Some(Loss { tenant, known: (known.size, known.root), from, how })
    };
    let Some(held) = held.iter().find(|held| held.tenant.slug == known.tenant) else {
        return Ok(loss(How::Gone));
    };
    if let Some(root) = held.log.roots.get(&known.size) {
        let (size, root) = (known.size, *root);
        return Ok(if root == known.root { None } else { loss(How::Forked { size, root }) });
    }
    let size = held.log.size;
    let mut acts = BTreeMap::new();
    if known.sort == DATABASE {
        // The log that is there says what would be lost, and whether the backup is of this log at all.
        let readers = plan.database.open_readers()?;
        let mut connection = readers.get()?;
        let here = examine(&mut connection, &held.tenant, None, &BTreeSet::from([size]), &|_| {})?;
        let root = held.log.root.unwrap_or(known.root);
        if here.roots.get(&size).is_some_and(|here| *here != root) {
            return Ok(loss(How::Forked { size, root }));
        }
        acts = whole::kinds_since(&mut connection, &known.tenant, size)?;
    }
    Ok(loss(How::Behind { size, acts }))
}

/// Records the restoration as the next leaf of every log in the copy; whether any of them may have lost something. That
/// none did is known where the database that was there ended as the backup does.
fn write_down(
    plan: &Plan,
    part: &Part,
    master: &MasterKey,
    held: &[Held],
    known: &[Known],
    lost: &Lost,
) -> Result<bool, RestoreError> {
    let other = |error: &dyn std::fmt::Display| RestoreError::Other(error.to_string());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|error| other(&error))?;
    // The note of an outage stays for the server's next start: this copy may yet be thrown away.
    let outage = Part::create(&part.path, "outage")?;
    let committer = Committer::start(committer::Settings {
        database: Database::Sqlite(part.path.clone()),
        master: master.clone(),
        outage_file: outage.path.clone(),
        mailed_links: None,
    })?;
    let by = user_of(&part.path);
    let written: Result<Vec<bool>, RestoreError> = held
        .iter()
        .map(|held| {
            let slug = held.tenant.slug.clone();
            let of_log = known.iter().filter(|known| known.tenant == slug);
            let ended_so = |known: &Known| known.sort == DATABASE && known.size == held.log.size;
            let is_lossy = lost.concerns(&slug) || !of_log.clone().any(ended_so);
            let restoration = Restoration {
                size: held.log.size,
                root: held.log.root.unwrap_or(crate::domain::Chain::START),
                known: of_log.map(|known| (known.size, known.root, known.sort)).collect(),
                is_lossy,
                // Why one log lost something is not for another tenant to read.
                reason: plan.accept_loss.clone().filter(|_| is_lossy),
                by: by.clone(),
            };
            let acted = runtime.block_on(committer.act(slug.clone(), |books| record(books, restoration)));
            match acted {
                Ok(Ok(_)) => Ok(is_lossy),
                Ok(Err(error)) => {
                    Err(RestoreError::Other(format!("`{slug}`: it was not recorded: {error:?}")))
                }
                Err(why) => Err(RestoreError::Other(format!("`{slug}`: it was not recorded: {why:?}"))),
            }
        })
        .collect();
    committer.stop();
    written.map(|logs| logs.contains(&true))
}

/// Who owns what this process makes, by name where the system tells it.
fn user_of(file: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let Ok(about) = fs::metadata(file) else { return "unknown".to_owned() };
    let uid = about.uid().to_string();
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    name.map_or_else(|| format!("uid {uid}"), |name| format!("{name} (uid {uid})"))
}

type HeadOf = (TenantSlug, u64, Hash, String);

fn heads_of(file: &Path) -> Result<Vec<HeadOf>, StoreError> {
    let mut connection = backup::open_file(file)?;
    let mut heads = Vec::new();
    for tenant in storage::tenant::all(&mut connection)? {
        if let Some(tree) = Tree::now(&mut connection, &tenant.slug)? {
            heads.push((tenant.slug, tree.size(), tree.root(), tree.checkpoint().to_owned()));
        }
    }
    Ok(heads)
}

/// Gives the copy the name, and says where what was there is kept.
fn put_in_place(plan: &Plan, part: Part, logs: &[HeadOf]) -> Result<Option<String>, RestoreError> {
    let stamp = stamp(clock::now());
    match &plan.database {
        Database::Sqlite(file) => {
            let kept = move_aside(file, &stamp)?;
            part.keep(file, true)?;
            Ok(kept.map(|kept| kept.display().to_string()))
        }
        Database::Postgres(_) => {
            let aside = format!("before_restore_{}", stamp.to_lowercase());
            backup::load(&part.path, &plan.database, &aside, |connection| check_loaded(connection, logs))?;
            Ok(Some(format!("the schema {aside} of {}", plan.database)))
        }
    }
}

/// Keeps a database under another name, with what lies beside it.
fn move_aside(file: &Path, stamp: &str) -> Result<Option<PathBuf>, RestoreError> {
    let failed = |error| BackupError::File { path: file.to_owned(), error };
    let kept = beside(file, &format!(".before-restore-{stamp}"));
    for companion in COMPANIONS {
        let from = beside(file, companion);
        if from.exists() {
            fs::rename(&from, beside(&kept, companion)).map_err(failed)?;
        }
    }
    if !file.exists() {
        return Ok(None);
    }
    // A second name first, so that the first one is never without a database.
    fs::hard_link(file, &kept).or_else(|_| fs::rename(file, &kept)).map_err(failed)?;
    sync_folder(file).map_err(failed)?;
    Ok(Some(kept))
}

/// Whether PostgreSQL holds what the copy does, before that counts.
fn check_loaded(connection: &mut AnyConnection, logs: &[HeadOf]) -> Result<(), StoreError> {
    for (tenant, size, _, checkpoint) in logs {
        let head = storage::head::find(connection, tenant)?;
        let is_same = head.is_some_and(|head| head.size == *size && head.checkpoint == *checkpoint);
        let count = whole::count(connection, tenant)?;
        if !is_same || count != *size {
            return Err(StoreError::Failed(format!(
                "`{tenant}` was not loaded whole: {count} of {size} receipts"
            )));
        }
    }
    Ok(())
}

/// A time as it may stand in names.
fn stamp(at: Timestamp) -> String {
    at.to_string().chars().filter(char::is_ascii_alphanumeric).collect()
}
