//! A whole log looked over: every receipt, link, leaf and tile against the head that was signed.

use super::found_by::FoundBy;
use super::trailed::Trailed;
use super::{authority, ends, record, witnessed};
use crate::crypto::keyring::{KeyName, KeyPurpose, MasterKey};
use crate::crypto::{AuthKey, PublicKey};
use crate::domain::{Chain, Hash, KeyId, ReceiptId, Timestamp};
use crate::evidence::erased;
use crate::evidence::merkle::{self, Frontier};
use crate::evidence::note::{VerifierKey, open_checkpoint};
use crate::evidence::receipt::{self, Kind};
use crate::storage::head::{self, Head};
use crate::storage::key::StoredKey;
use crate::storage::receipt::StoredReceipt;
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, StoreError, tile, whole};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many receipts are read at once.
const PAGE: u64 = 512;
/// How many faults are kept, those nearest to the beginning; all are counted.
const MOST_NAMED: usize = 20;

/// How a commitment begins in a document in canonical form.
const COMMITMENT: &str = "{\"commitment\":";

/// What looking a log over came to.
#[derive(Debug, Default)]
pub struct Examined {
    /// How many receipts the head says there are.
    pub size: u64,
    /// The root that the receipts come to.
    pub root: Option<Hash>,
    /// The signed head.
    pub checkpoint: String,
    /// How many chains the receipts are linked in.
    pub chains: u64,
    /// How many rows give authority, each by a receipt.
    pub rows: u64,
    /// The roots of the sizes that were asked for, as far as the log reaches.
    pub roots: BTreeMap<u64, Hash>,
    /// The first of what does not hold.
    pub faults: Vec<Fault>,
    /// How much does not hold in all.
    pub found: u64,
}

/// Something that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What of the log.
    pub part: Part,
    /// The place in the log, where it is at one.
    pub place: Option<u64>,
    /// The receipt there, if it can be read.
    pub receipt: Option<ReceiptId>,
    /// What is wrong.
    pub what: String,
}

/// A part of a log that is looked over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Each receipt by itself: its hash, its authentication.
    Receipts,
    /// The links between them.
    Chains,
    /// The tree over them: root, right edge, tiles.
    Tree,
    /// The head and its signature.
    Head,
    /// The rows that decide now, against the receipts that put them there.
    Authority,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = self.place {
            write!(f, "index {place}: ")?;
        }
        if let Some(receipt) = self.receipt {
            write!(f, "{receipt}: ")?;
        }
        f.write_str(&self.what)
    }
}

/// The tenant's keys that authenticate receipts, opened; a key that does not open is left out.
pub fn auth_keys(stored: &[StoredKey], master: &MasterKey) -> HashMap<KeyId, AuthKey> {
    let of_auth = stored.iter().filter(|key| key.purpose == KeyPurpose::Auth.as_str());
    of_auth
        .filter_map(|key| {
            let name = KeyName { tenant: &key.tenant, key: key.id, purpose: KeyPurpose::Auth };
            let plain = master.unwrap(&key.wrapped, &name).ok()?;
            let bytes = <&[u8; 32]>::try_from(plain.as_slice()).ok()?;
            Some((key.id, AuthKey::from_bytes(bytes)))
        })
        .collect()
}

/// The tenant's key of what the service finds again by a hash, opened.
pub fn lookup_key(stored: &[StoredKey], master: &MasterKey) -> Option<AuthKey> {
    let of_lookup = stored.iter().rfind(|key| key.purpose == KeyPurpose::Lookup.as_str())?;
    let name = KeyName { tenant: &of_lookup.tenant, key: of_lookup.id, purpose: KeyPurpose::Lookup };
    let plain = master.unwrap(&of_lookup.wrapped, &name).ok()?;
    <&[u8; 32]>::try_from(plain.as_slice()).ok().map(AuthKey::from_bytes)
}

/// The tenant's keys of checkpoints, as those who verify take them.
pub fn log_keys(stored: &[StoredKey], tenant: &Tenant) -> Vec<VerifierKey> {
    let of_log = stored.iter().filter(|key| key.purpose == KeyPurpose::Log.as_str());
    of_log
        .filter_map(|key| {
            let public = <[u8; 32]>::try_from(key.public.as_deref()?).ok()?;
            VerifierKey::new(&tenant.origin, PublicKey(public)).ok()
        })
        .collect()
}

/// Looks a tenant's log over, from the first receipt to its head of now; in constant memory but for one entry a chain, a
/// decision, an effect and a row that gives authority. Without the master key the receipts' authentication is left out, and
/// so is what rows keep under the tenant's own hashes.
///
/// `sizes` are those whose roots are wanted; `advance` hears of receipts as they are done.
///
/// # Errors
/// The database failed. What stands in it is never an error: it is a fault.
pub fn examine(
    connection: &mut AnyConnection,
    tenant: &Tenant,
    master: Option<&MasterKey>,
    sizes: &BTreeSet<u64>,
    advance: &dyn Fn(u64),
) -> Result<Examined, StoreError> {
    let mut examined = Examined::default();
    let Some(head) = head::find(connection, &tenant.slug)? else {
        examined.fault(Part::Head, None, "there is none".into());
        return Ok(examined);
    };
    let keys = storage::key::of_tenant(connection, &tenant.slug)?;
    let lookup = master.and_then(|master| lookup_key(&keys, master));
    let mut sizes = sizes.clone();
    sizes.extend(witnessed::sizes(connection, tenant)?);
    let sizes = &sizes;
    let mut walk = Walk {
        tenant,
        auth: master.map(|master| auth_keys(&keys, master)),
        found_by: lookup.clone().map(FoundBy::new),
        trailed: Trailed::new(connection, &tenant.slug, head.trailed)?,
        lookup,
        tree: Frontier::default(),
        tiles: Vec::new(),
        ends: HashMap::new(),
        last_at: None,
        examined: Examined { size: head.size, checkpoint: head.checkpoint.clone(), ..examined },
    };
    walk.note_root(sizes);
    let mut next = 0;
    // Whatever the head says of its length: beyond the last row there is one gap.
    let end = whole::extent(connection, &tenant.slug)?.end.min(head.size);
    while next < end {
        let until = next.saturating_add(PAGE).min(end);
        let mut expected = next;
        let page = whole::page(connection, &tenant.slug, next, until)?;
        if page.is_empty() {
            // Rows may have been moved far away: what lies between is one gap.
            let to = whole::next_place(connection, &tenant.slug, until)?.map_or(end, |place| place.min(end));
            walk.examined.missing(next..to);
            next = to;
            continue;
        }
        for (place, stored) in page {
            walk.examined.missing(expected..place);
            expected = place.saturating_add(1);
            match stored {
                Ok(stored) => walk.receipt(connection, place, &stored, sizes)?,
                Err(StoreError::Corrupt { place: column, detail }) => {
                    let why = format!("{column} cannot be read: {detail}");
                    walk.examined.fault(Part::Receipts, Some((place, None)), why);
                    if let Some(found_by) = &mut walk.found_by {
                        found_by.skip();
                    }
                    walk.trailed.skip();
                }
                Err(error @ StoreError::Failed(_)) => return Err(error),
            }
        }
        walk.examined.missing(expected..until);
        advance(until.saturating_sub(next));
        next = until;
    }
    walk.examined.missing(end..head.size);
    for why in walk.trailed.misfits(head.size) {
        walk.examined.fault(Part::Head, None, why);
    }
    walk.head(connection, &head, &log_keys(&keys, tenant))?;
    walk.authority(connection)?;
    Ok(walk.end())
}

/// Where the look over a log stands.
struct Walk<'a> {
    tenant: &'a Tenant,
    auth: Option<HashMap<KeyId, AuthKey>>,
    lookup: Option<AuthKey>,
    found_by: Option<FoundBy>,
    trailed: Trailed,
    tree: Frontier,
    /// For each level, the hashes of the tile that is not full yet, and the number of that tile.
    tiles: Vec<(u64, Vec<Hash>)>,
    /// Where each chain ends so far: the next `seq`, and the last hash.
    ends: HashMap<Chain, (u64, Hash)>,
    last_at: Option<Timestamp>,
    examined: Examined,
}

impl Walk<'_> {
    fn receipt(
        &mut self,
        connection: &mut AnyConnection,
        place: u64,
        stored: &StoredReceipt,
        sizes: &BTreeSet<u64>,
    ) -> Result<(), StoreError> {
        let body = &stored.body;
        let at = Some((place, Some(body.id)));
        let hash = body.hash();
        if hash != stored.hash {
            let why = format!("it was changed: its hash is {hash}, {} was recorded", stored.hash);
            self.examined.fault(Part::Receipts, at, why);
        }
        if body.id.log_index() != place {
            self.examined.fault(Part::Receipts, at, format!("its id is of index {}", body.id.log_index()));
        }
        if let Some(why) = content_fault(connection, stored)? {
            self.examined.fault(Part::Receipts, at, why);
        } else if let Some(changed) = record::changed(connection, stored)? {
            let record::Changed { field, expected, found } = changed;
            let why = format!("{field} was changed: it is {found}, {expected} was recorded");
            self.examined.fault(Part::Receipts, at, why);
        }
        if let Some(keys) = &self.auth {
            let why = match keys.get(&body.auth_key) {
                None => Some(format!("its key {} does not open", body.auth_key)),
                Some(key) => (receipt::authenticate(key, &stored.hash) != stored.auth)
                    .then(|| "it is not authenticated by the tenant's key".to_owned()),
            };
            if let Some(why) = why {
                self.examined.fault(Part::Receipts, at, why);
            }
        }
        if self.last_at.is_some_and(|last| body.at < last) {
            self.examined.fault(Part::Chains, at, "it is older than the one before it".into());
        }
        self.last_at = Some(body.at);
        let (seq, prev) = self.ends.get(&body.chain).copied().unwrap_or((0, Chain::START));
        if (body.seq, body.prev) != (seq, prev) {
            let chain = body.chain;
            let why = format!("the chain {chain} breaks: seq {} stands where {seq} is next", body.seq);
            self.examined.fault(Part::Chains, at, why);
        }
        self.ends.insert(body.chain, (body.seq.saturating_add(1), stored.hash));
        let leaf = receipt::leaf(&stored.hash, &stored.auth);
        self.tree.push(leaf);
        self.note_root(sizes);
        if let Some(found_by) = &mut self.found_by
            && let Some(why) = found_by.take(connection, &self.tenant.slug, stored)?
        {
            self.examined.fault(Part::Tree, None, why);
        }
        if let Some(why) = self.trailed.take(connection, &self.tenant.slug, stored)? {
            self.examined.fault(Part::Receipts, None, why);
        }
        self.tile(connection, 0, leaf)
    }

    fn note_root(&mut self, sizes: &BTreeSet<u64>) {
        if sizes.contains(&self.tree.size()) {
            self.examined.roots.insert(self.tree.size(), self.tree.root());
        }
    }

    /// Takes a hash into the tile of its level; a tile that is full is held against the stored one.
    fn tile(&mut self, connection: &mut AnyConnection, level: u32, hash: Hash) -> Result<(), StoreError> {
        let index = usize::try_from(level).unwrap_or(usize::MAX);
        if self.tiles.len() <= index {
            self.tiles.resize_with(index.saturating_add(1), Default::default);
        }
        let Some((number, hashes)) = self.tiles.get_mut(index) else { return Ok(()) };
        hashes.push(hash);
        if u64::try_from(hashes.len()).is_ok_and(|length| length < tile::WIDTH) {
            return Ok(());
        }
        let (full, number_of_it) = (std::mem::take(hashes), *number);
        *number = number.saturating_add(1);
        let stored = match tile::find(connection, &self.tenant.slug, level, number_of_it) {
            Ok(stored) => stored,
            Err(StoreError::Corrupt { .. }) => Some(Vec::new()),
            Err(error @ StoreError::Failed(_)) => return Err(error),
        };
        let named = format!("tile {level}/{number_of_it}");
        match stored {
            None => self.examined.fault(Part::Tree, None, format!("{named} is missing")),
            Some(stored) if stored != full => {
                self.examined.fault(
                    Part::Tree,
                    None,
                    format!("{named} holds other hashes than its receipts"),
                );
            }
            Some(_) => {}
        }
        self.tile(connection, level.saturating_add(1), merkle::complete_root(&full))
    }

    /// Holds the head against what was read.
    fn head(
        &mut self,
        connection: &mut AnyConnection,
        head: &Head,
        keys: &[VerifierKey],
    ) -> Result<(), StoreError> {
        match keys.iter().find_map(|key| open_checkpoint(&head.checkpoint, key).ok()) {
            None => {
                self.examined.fault(
                    Part::Head,
                    None,
                    "no log key of the tenant signed the checkpoint".into(),
                );
            }
            Some(signed) => {
                if signed.size != head.size {
                    let why =
                        format!("the checkpoint is of {} receipts, the head of {}", signed.size, head.size);
                    self.examined.fault(Part::Head, None, why);
                }
                let root = self.tree.root();
                if signed.root != root {
                    let why = format!("the receipts come to the root {root}, {} is signed", signed.root);
                    self.examined.fault(Part::Tree, None, why);
                }
            }
        }
        if head.frontier != self.tree.to_bytes() {
            self.examined.fault(
                Part::Tree,
                None,
                "the right edge that is kept is not that of the receipts".into(),
            );
        }
        if self.last_at.is_some_and(|last| last != head.last_at) {
            let why = format!("it is of {}, the newest receipt is of another time", head.last_at);
            self.examined.fault(Part::Head, None, why);
        }
        for why in witnessed::faults(connection, self.tenant, keys, &self.examined.roots)? {
            self.examined.fault(Part::Head, None, why);
        }
        // A log that is being written has moved its head too.
        let extent = whole::extent(connection, &self.tenant.slug)?;
        let now = head::find(connection, &self.tenant.slug)?.map_or(0, |now| now.size);
        if let Some(why) = ends::beyond(extent, now) {
            self.examined.fault(Part::Head, None, why);
        }
        Ok(())
    }

    /// Holds the rows that decide now against the receipts that put them there.
    fn authority(&mut self, connection: &mut AnyConnection) -> Result<(), StoreError> {
        let held = authority::look_over(connection, self.tenant, self.lookup.as_ref())?;
        self.examined.rows = held.rows;
        for unlike in held.unlike {
            let at = unlike.receipt.map(|(place, id, _)| (place, Some(id)));
            self.examined.fault(Part::Authority, at, unlike.what);
        }
        Ok(())
    }

    fn end(mut self) -> Examined {
        self.examined.chains = u64::try_from(self.ends.len()).unwrap_or(u64::MAX);
        self.examined.root = Some(self.tree.root());
        self.examined
    }
}

/// What is wrong with a receipt's content: it opens other commitments than its documents hold, or is gone without a
/// receipt that says so.
pub(super) fn content_fault(
    connection: &mut AnyConnection,
    stored: &StoredReceipt,
) -> Result<Option<String>, StoreError> {
    let Some(place) = stored.erased_by else {
        let commits = stored.input.contains(COMMITMENT) || stored.output.contains(COMMITMENT);
        let is_gone = stored.content.is_none() && commits;
        return Ok(is_gone.then(|| "its content is gone, and no receipt says that it was erased".to_owned()));
    };
    if stored.content.is_some() {
        return Ok(Some("it has content, and is said to be erased".to_owned()));
    }
    let by = storage::receipt::find(connection, &stored.body.tenant, place)?;
    let says_so = by.is_some_and(|by| {
        let input = serde_json::from_str(&by.input).unwrap_or_default();
        by.body.kind == Kind::ContentErase && erased::lists(&input, stored.body.id)
    });
    Ok((!says_so).then(|| format!("the receipt at {place} does not say that its content was erased")))
}

impl Examined {
    /// Whether all holds.
    pub fn holds(&self) -> bool {
        self.found == 0
    }

    fn missing(&mut self, places: std::ops::Range<u64>) {
        let all = places.end.saturating_sub(places.start);
        for place in places.take(MOST_NAMED) {
            self.fault(Part::Receipts, Some((place, None)), "there is no receipt".into());
        }
        let named = u64::try_from(MOST_NAMED).unwrap_or(u64::MAX);
        self.found = self.found.saturating_add(all.saturating_sub(named));
    }

    fn fault(&mut self, part: Part, place: Option<(u64, Option<ReceiptId>)>, what: String) {
        self.found = self.found.saturating_add(1);
        // What is said of the head says the most, and is said last.
        let most = match part {
            Part::Receipts | Part::Chains => MOST_NAMED,
            Part::Tree | Part::Head => MOST_NAMED.saturating_mul(2),
            Part::Authority => MOST_NAMED.saturating_mul(3),
        };
        if self.faults.len() < most {
            let (place, receipt) = place.map_or((None, None), |(place, receipt)| (Some(place), receipt));
            self.faults.push(Fault { part, place, receipt, what });
        }
    }
}
