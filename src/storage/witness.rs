//! Checkpoints that outside witnesses have cosigned.

use super::schema::{cosignatures, witnessed_checkpoints as checkpoints};
use super::{AnyConnection, StoreError, read};
use crate::domain::{TenantSlug, Timestamp};
use crate::evidence::note::{Cosignature, VerifierKey};
use diesel::prelude::*;
use std::collections::BTreeMap;

/// How many cosigned checkpoints of a tenant are kept; the newest shows all that older ones did.
const MOST_KEPT: i64 = 1000;

/// A checkpoint with what witnesses signed of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    /// How many leaves it has.
    pub size: u64,
    /// The log's own signed note.
    pub checkpoint: String,
    /// Signature lines of witnesses, each with its newline.
    pub lines: String,
}

/// The name under which a witness's signatures are kept: its key's, which no other key has.
fn name_of(witness: &VerifierKey) -> String {
    witness.to_string()
}

/// Keeps what witnesses signed of a checkpoint of `size` leaves, in place of what the same witnesses signed of it
/// before by their own clocks: what is handed in again once there is newer leaves that as it is. What was signed of
/// another checkpoint of that size goes: a log restored from a copy signs that size anew.
pub fn keep(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    size: u64,
    checkpoint: &str,
    signed: &[Cosignature],
) -> Result<(), StoreError> {
    let stored = read::stored_count(size);
    let place = checkpoints::table.find((tenant.as_str(), stored));
    let known = place.select(checkpoints::checkpoint).first::<String>(connection).optional()?;
    if known.as_deref() != Some(checkpoint) {
        forget(connection, tenant, stored, stored)?;
        diesel::insert_into(checkpoints::table)
            .values((
                checkpoints::tenant.eq(tenant.as_str()),
                checkpoints::size.eq(stored),
                checkpoints::checkpoint.eq(checkpoint),
            ))
            .execute(connection)?;
    }
    for cosignature in signed {
        let witness = name_of(&cosignature.witness);
        let at = cosignature.at.unix_milliseconds();
        let place = cosignatures::table.find((tenant.as_str(), stored, &witness));
        diesel::delete(place.filter(cosignatures::at.lt(at))).execute(connection)?;
        let kept: i64 = place.count().get_result(connection)?;
        if kept > 0 {
            continue;
        }
        diesel::insert_into(cosignatures::table)
            .values((
                cosignatures::tenant.eq(tenant.as_str()),
                cosignatures::size.eq(stored),
                cosignatures::witness.eq(&witness),
                cosignatures::at.eq(at),
                cosignatures::line.eq(&cosignature.line),
            ))
            .execute(connection)?;
    }
    forget_older(connection, tenant)
}

fn forget_older(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<(), StoreError> {
    let oldest_kept = checkpoints::table
        .filter(checkpoints::tenant.eq(tenant.as_str()))
        .order(checkpoints::size.desc())
        .offset(MOST_KEPT - 1)
        .select(checkpoints::size)
        .first::<i64>(connection)
        .optional()?;
    match oldest_kept {
        Some(oldest) => forget(connection, tenant, 0, oldest - 1),
        None => Ok(()),
    }
}

/// Forgets the cosigned checkpoints of these sizes, both included.
fn forget(connection: &mut AnyConnection, tenant: &TenantSlug, from: i64, to: i64) -> Result<(), StoreError> {
    diesel::delete(
        cosignatures::table
            .filter(cosignatures::tenant.eq(tenant.as_str()).and(cosignatures::size.between(from, to))),
    )
    .execute(connection)?;
    diesel::delete(
        checkpoints::table
            .filter(checkpoints::tenant.eq(tenant.as_str()).and(checkpoints::size.between(from, to))),
    )
    .execute(connection)?;
    Ok(())
}

/// What is kept of the checkpoint of that size, if any witness has signed one.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    size: u64,
) -> Result<Option<Witnessed>, StoreError> {
    let found = checkpoints::table
        .find((tenant.as_str(), read::stored_count(size)))
        .select((checkpoints::size, checkpoints::checkpoint))
        .first::<(i64, String)>(connection)
        .optional()?;
    found.map(|found| with_lines(connection, tenant, found)).transpose()
}

/// The newest checkpoint that any witness has signed.
pub fn newest(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Option<Witnessed>, StoreError> {
    let found = checkpoints::table
        .filter(checkpoints::tenant.eq(tenant.as_str()))
        .order(checkpoints::size.desc())
        .select((checkpoints::size, checkpoints::checkpoint))
        .first::<(i64, String)>(connection)
        .optional()?;
    found.map(|found| with_lines(connection, tenant, found)).transpose()
}

fn with_lines(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    (size, checkpoint): (i64, String),
) -> Result<Witnessed, StoreError> {
    let lines = cosignatures::table
        .filter(cosignatures::tenant.eq(tenant.as_str()).and(cosignatures::size.eq(size)))
        .order(cosignatures::witness)
        .select(cosignatures::line)
        .load::<String>(connection)?;
    let lines = lines.into_iter().map(|line| line + "\n").collect();
    Ok(Witnessed { size: read::count("witnessed_checkpoints.size", size)?, checkpoint, lines })
}

/// A checkpoint as it is kept, with what is kept of its signatures.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Of how many leaves it is said to be.
    pub size: i64,
    /// The signed note; none where there are signatures alone.
    pub checkpoint: Option<String>,
    /// Which witness signed when, and its line.
    pub signed: Vec<(String, Timestamp, String)>,
}

/// Everything that is kept, as far as it can be read; no more than `MOST_KEPT` are.
pub fn kept(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Vec<Kept>, StoreError> {
    let notes: Vec<(i64, String)> = checkpoints::table
        .filter(checkpoints::tenant.eq(tenant.as_str()))
        .select((checkpoints::size, checkpoints::checkpoint))
        .load(connection)?;
    let lines: Vec<(i64, String, i64, String)> = cosignatures::table
        .filter(cosignatures::tenant.eq(tenant.as_str()))
        .select((cosignatures::size, cosignatures::witness, cosignatures::at, cosignatures::line))
        .load(connection)?;
    let mut kept: BTreeMap<i64, Kept> = BTreeMap::new();
    for (size, note) in notes {
        kept.insert(size, Kept { size, checkpoint: Some(note), signed: Vec::new() });
    }
    for (size, witness, at, line) in lines {
        let of_size = kept.entry(size).or_insert_with(|| Kept { size, ..Kept::default() });
        of_size.signed.push((witness, read::time(at), line));
    }
    Ok(kept.into_values().collect())
}

/// Up to where a witness has signed the log, as far as is known here: 0 where it never did.
pub fn seen_by(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    witness: &VerifierKey,
) -> Result<u64, StoreError> {
    let size: Option<i64> = cosignatures::table
        .filter(cosignatures::tenant.eq(tenant.as_str()).and(cosignatures::witness.eq(name_of(witness))))
        .select(diesel::dsl::max(cosignatures::size))
        .first(connection)?;
    Ok(read::optional_count("cosignatures.size", size)?.unwrap_or(0))
}
