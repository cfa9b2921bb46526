//! Idempotency keys: under one credential, one key has one answer.

use super::{AnyConnection, StoreError, read, schema::idempotency_keys as keys};
use crate::domain::{CredentialId, EffectId, Hash, TenantSlug, Timestamp};
use diesel::prelude::*;

/// What a key was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The described request it was used for, as its keyed hash.
    pub request_hash: Hash,
    /// The receipt that holds the answer.
    pub log_index: u64,
    /// The effect it let happen, if any.
    pub effect: Option<EffectId>,
    /// When.
    pub answered_at: Timestamp,
    /// Until when it is kept.
    pub expires_at: Timestamp,
}

pub(super) type Row = (Vec<u8>, i64, Option<String>, i64, i64);

type Columns = (keys::request_hash, keys::log_index, keys::effect, keys::answered_at, keys::expires_at);

pub(super) const COLUMNS: Columns =
    (keys::request_hash, keys::log_index, keys::effect, keys::answered_at, keys::expires_at);

pub(super) fn read_row(
    (request_hash, log_index, effect, answered_at, expires_at): Row,
) -> Result<Answered, StoreError> {
    Ok(Answered {
        request_hash: read::hash("idempotency_keys.request_hash", &request_hash)?,
        log_index: read::count("idempotency_keys.log_index", log_index)?,
        effect: read::optional_text("idempotency_keys.effect", effect.as_deref())?,
        answered_at: read::time(answered_at),
        expires_at: read::time(expires_at),
    })
}

/// The answer a key had.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credential: CredentialId,
    key: &str,
) -> Result<Option<Answered>, StoreError> {
    keys::table
        .find((tenant.as_str(), credential.to_string(), key))
        .select(COLUMNS)
        .get_result::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Keeps a key's answer, in place of an earlier one if there is one.
pub fn put(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credential: CredentialId,
    key: &str,
    answered: &Answered,
) -> Result<(), StoreError> {
    let values = (
        keys::request_hash.eq(answered.request_hash.as_bytes().to_vec()),
        keys::log_index.eq(read::stored_count(answered.log_index)),
        keys::effect.eq(answered.effect.map(|id| id.to_string())),
        keys::answered_at.eq(answered.answered_at.unix_milliseconds()),
        keys::expires_at.eq(answered.expires_at.unix_milliseconds()),
    );
    let place = keys::table.find((tenant.as_str(), credential.to_string(), key));
    if diesel::update(place).set(values.clone()).execute(connection)? == 0 {
        diesel::insert_into(keys::table)
            .values((
                (
                    keys::tenant.eq(tenant.as_str()),
                    keys::credential.eq(credential.to_string()),
                    keys::key.eq(key),
                ),
                values,
            ))
            .execute(connection)?;
    }
    Ok(())
}

/// Forgets whichever keys of a credential were answered by the receipt at that place, as its withdrawal does.
pub fn delete_answer(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credential: CredentialId,
    log_index: u64,
) -> Result<usize, StoreError> {
    Ok(diesel::delete(
        keys::table
            .filter(keys::tenant.eq(tenant.as_str()).and(keys::credential.eq(credential.to_string())))
            .filter(keys::log_index.eq(read::stored_count(log_index))),
    )
    .execute(connection)?)
}

/// Forgets keys whose time is over.
pub fn delete_expired(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let expired = keys::table
        .filter(keys::tenant.eq(tenant.as_str()))
        .filter(keys::expires_at.lt(now.unix_milliseconds()));
    Ok(diesel::delete(expired).execute(connection)?)
}
