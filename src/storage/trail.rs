//! Trails: where in the log the receipts of one chain, person, agent, intent, kind or outcome stand, a run at a time.
//!
//! An index on columns that come in random order writes a page a receipt. A run of a trail is written with the receipt
//! that makes the run whole. What stands behind the last whole run is looked through, so that nothing is ever missed.

use super::head::{self, Head};
use super::receipt::StoredReceipt;
use super::schema::{receipts, trails};
use super::{AnyConnection, StoreError, Transaction, read};
use crate::domain::{AgentId, Chain, Hash, Intent, Outcome, PrincipalId, TenantSlug};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// How many receipts one run holds.
pub const RUN: u64 = 1024;
/// How many receipts are read at once where runs are made from the log.
const STEPS_AT_ONCE: u64 = 16 * RUN;

/// What receipts have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trail {
    /// One chain.
    Chain(Chain),
    /// One agent.
    Agent(AgentId),
    /// One person, in whose name it was, or who did it.
    Principal(PrincipalId),
    /// One intent.
    Intent(Intent),
    /// One kind.
    Kind(Kind),
    /// One outcome.
    Outcome(Outcome),
}

impl fmt::Display for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain(chain) => write!(f, "chain {chain}"),
            Self::Agent(id) => write!(f, "agent {id}"),
            Self::Principal(id) => write!(f, "principal {id}"),
            Self::Intent(intent) => write!(f, "intent {intent}"),
            Self::Kind(kind) => write!(f, "kind {kind}"),
            Self::Outcome(outcome) => write!(f, "outcome {outcome}"),
        }
    }
}

impl Trail {
    /// The trails on which a receipt stands.
    pub fn of(stored: &StoredReceipt) -> impl Iterator<Item = Self> {
        let body = &stored.body;
        [
            Some(Self::Chain(body.chain)),
            body.agent.map(Self::Agent),
            body.principal.map(Self::Principal),
            stored.intent.clone().map(Self::Intent),
            Some(Self::Kind(body.kind)),
            body.outcome.map(Self::Outcome),
        ]
        .into_iter()
        .flatten()
    }
}

/// The trails of one run: for each the places in the run, rising.
pub type Run = HashMap<Trail, Vec<u16>>;

/// What is needed of a receipt to go on after it.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its place in the log.
    pub log_index: u64,
    /// Its chain.
    pub chain: Chain,
    /// Its number there.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
    /// The trails it stands on.
    pub trails: Vec<Trail>,
}

/// The steps at `from..until`, in order.
pub fn steps(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    from: u64,
    until: u64,
) -> Result<Vec<Step>, StoreError> {
    type Columns = (
        (i64, String, i64, Vec<u8>),
        (Option<String>, Option<String>, Option<String>, String, Option<String>),
    );
    let rows: Vec<Columns> = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(receipts::log_index.ge(read::stored_count(from)))
        .filter(receipts::log_index.lt(read::stored_count(until)))
        .order(receipts::log_index)
        .select((
            (receipts::log_index, receipts::chain, receipts::seq, receipts::hash),
            (receipts::agent, receipts::principal, receipts::intent, receipts::kind, receipts::outcome),
        ))
        .load(connection)?;
    rows.into_iter()
        .map(|((log_index, chain, seq, hash), (agent, principal, intent, kind, outcome))| {
            let chain = read::text("receipts.chain", &chain)?;
            let trails = [
                Some(Trail::Chain(chain)),
                read::optional_text("receipts.agent", agent.as_deref())?.map(Trail::Agent),
                read::optional_text("receipts.principal", principal.as_deref())?.map(Trail::Principal),
                read::optional_text("receipts.intent", intent.as_deref())?.map(Trail::Intent),
                Some(Trail::Kind(read::text("receipts.kind", &kind)?)),
                read::optional_text("receipts.outcome", outcome.as_deref())?.map(Trail::Outcome),
            ];
            Ok(Step {
                log_index: read::count("receipts.log_index", log_index)?,
                chain,
                seq: read::count("receipts.seq", seq)?,
                hash: read::hash("receipts.hash", &hash)?,
                trails: trails.into_iter().flatten().collect(),
            })
        })
        .collect()
}

/// Writes a run.
///
/// The two databases differ here for speed alone, as where receipts are inserted.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    run: u64,
    trails: &Run,
) -> Result<(), StoreError> {
    let mut rows: Vec<(String, Vec<u8>)> =
        trails.iter().map(|(trail, places)| (trail.to_string(), written(places))).collect();
    rows.sort_unstable();
    let run = read::stored_count(run);
    match connection {
        AnyConnection::Sqlite(sqlite) => {
            for (trail, places) in &rows {
                diesel::insert_into(trails::table)
                    .values((
                        trails::tenant.eq(tenant.as_str()),
                        trails::trail.eq(trail),
                        trails::run.eq(run),
                        trails::places.eq(places),
                    ))
                    .execute(sqlite)?;
            }
        }
        AnyConnection::Postgres(postgres) => {
            use diesel::sql_types::{Array, BigInt, Binary, Text};
            let (names, places): (Vec<String>, Vec<Vec<u8>>) = rows.into_iter().unzip();
            diesel::sql_query(
                "INSERT INTO trails (tenant, trail, run, places) SELECT $1, trail, $2, places \
                 FROM unnest($3, $4) AS rows (trail, places)",
            )
            .bind::<Text, _>(tenant.as_str())
            .bind::<BigInt, _>(run)
            .bind::<Array<Text>, _>(names)
            .bind::<Array<Binary>, _>(places)
            .execute(postgres)?;
        }
    }
    Ok(())
}

fn written(places: &[u16]) -> Vec<u8> {
    places.iter().flat_map(|place| place.to_be_bytes()).collect()
}

pub(super) fn read_places(bytes: &[u8]) -> Result<Vec<u16>, StoreError> {
    let (places, rest) = bytes.as_chunks::<2>();
    let places: Vec<u16> = places.iter().map(|place| u16::from_be_bytes(*place)).collect();
    let rises = places.is_sorted_by(|one, next| one < next);
    if rest.is_empty() && rises && places.last().is_none_or(|last| u64::from(*last) < RUN) {
        Ok(places)
    } else {
        Err(StoreError::Corrupt { place: "trails.places", detail: "they are not in their order".into() })
    }
}

/// Everything that stands in a run.
pub fn stands(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    run: u64,
    names: impl IntoIterator<Item = String>,
) -> Result<BTreeMap<String, Vec<u16>>, StoreError> {
    let names: Vec<String> = names.into_iter().collect();
    let rows: Vec<(String, Vec<u8>)> = trails::table
        .filter(trails::tenant.eq(tenant.as_str()).and(trails::run.eq(read::stored_count(run))))
        .filter(trails::trail.eq_any(names))
        .select((trails::trail, trails::places))
        .load(connection)?;
    rows.into_iter().map(|(trail, places)| Ok((trail, read_places(&places)?))).collect()
}

/// How many places stand on the trails of each run, over all trails.
pub fn counts(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<BTreeMap<u64, u64>, StoreError> {
    #[derive(QueryableByName)]
    struct Count {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        run: i64,
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        bytes: i64,
    }
    let parameter = match connection {
        AnyConnection::Sqlite(_) => "?",
        AnyConnection::Postgres(_) => "$1",
    };
    let rows: Vec<Count> = diesel::sql_query(format!(
        "SELECT run, CAST(SUM(LENGTH(places)) AS BIGINT) AS bytes FROM trails WHERE tenant = {parameter} GROUP BY run"
    ))
    .bind::<diesel::sql_types::Text, _>(tenant.as_str())
    .load(connection)?;
    rows.into_iter()
        .map(|Count { run, bytes }| {
            Ok((read::count("trails.run", run)?, read::count("trails.places", bytes)? / 2))
        })
        .collect()
}

/// Where a chain ends among the receipts that stand on trails: its highest number and that receipt's hash.
pub fn last_of_chain(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: Chain,
) -> Result<Option<(u64, Hash)>, StoreError> {
    // Without a limit on SQLite, which reads one row at a time and would plan a statement again whenever its limit is bound.
    let trail = Trail::Chain(chain).to_string();
    let of_chain = trails::table
        .filter(trails::tenant.eq(tenant.as_str()).and(trails::trail.eq(trail)))
        .order(trails::run.desc())
        .select((trails::run, trails::places));
    let newest = match connection {
        AnyConnection::Sqlite(sqlite) => of_chain.get_result::<(i64, Vec<u8>)>(sqlite).optional()?,
        AnyConnection::Postgres(postgres) => of_chain.limit(1).get_result(postgres).optional()?,
    };
    let Some((run, places)) = newest else { return Ok(None) };
    let (run, places) = (read::count("trails.run", run)?, read_places(&places)?);
    let corrupt = |detail: String| StoreError::Corrupt { place: "trails", detail };
    let last = places.last().ok_or_else(|| corrupt(format!("run {run} of chain {chain} is empty")))?;
    let place = run.saturating_mul(RUN).saturating_add(u64::from(*last));
    let (found, seq, hash) = receipts::table
        .find((tenant.as_str(), read::stored_count(place)))
        .select((receipts::chain, receipts::seq, receipts::hash))
        .get_result::<(String, i64, Vec<u8>)>(connection)
        .optional()?
        .ok_or_else(|| corrupt(format!("nothing stands at place {place}, where chain {chain} is said to")))?;
    if found != chain.to_string() {
        return Err(corrupt(format!("another chain stands at place {place}, where {chain} is said to")));
    }
    Ok(Some((read::count("receipts.seq", seq)?, read::hash("receipts.hash", &hash)?)))
}

/// Writes the runs of every tenant that are whole and not written, as after an older version wrote the log.
///
/// # Errors
/// The database failed; what was written until then stays.
pub fn catch_up(connection: &mut AnyConnection) -> Result<(), StoreError> {
    for tenant in super::tenant::all(connection)? {
        let slug = &tenant.slug;
        loop {
            let transaction = Transaction::begin(connection)?;
            let head = head::lock(connection, slug)?;
            let Some(head) = head.filter(|head| head.size.saturating_sub(head.trailed) >= RUN) else {
                transaction.roll_back(connection)?;
                break;
            };
            if !write_next(connection, slug, head)? {
                transaction.roll_back(connection)?;
                break;
            }
            transaction.commit(connection)?;
        }
    }
    Ok(())
}

/// Writes the next runs from the log; `false` where receipts of them are missing, which others will name.
fn write_next(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    mut head: Head,
) -> Result<bool, StoreError> {
    let until = (head.size / RUN * RUN).min(head.trailed.saturating_add(STEPS_AT_ONCE));
    let steps = steps(connection, tenant, head.trailed, until)?;
    if u64::try_from(steps.len()).ok() != until.checked_sub(head.trailed) {
        return Ok(false);
    }
    let mut runs: BTreeMap<u64, Run> = BTreeMap::new();
    for step in steps {
        let run = runs.entry(step.log_index / RUN).or_default();
        let place = u16::try_from(step.log_index % RUN).unwrap_or_default();
        step.trails.into_iter().for_each(|trail| run.entry(trail).or_default().push(place));
    }
    for (run, trails) in runs {
        insert(connection, tenant, run, &trails)?;
    }
    head.trailed = until;
    head::update(connection, tenant, &head)?;
    tracing::info!(%tenant, receipts = until, "receipts are found along their trails");
    Ok(true)
}
