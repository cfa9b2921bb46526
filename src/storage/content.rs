//! What is kept beside receipts and can be erased: their content, and the rows that repeat it.

use super::schema::{
    accesses, decisions, effects, idempotency_keys as keys, known_counterparties as known, receipts,
};
use super::{AnyConnection, StoreError, read, receipt};
use crate::domain::{Chain, CredentialId, DecisionId, EffectId, Hash, Intent, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use diesel::prelude::*;

/// The kinds of receipt that record a request and what became of it; what others state is in force, or the service's
/// own account.
pub const OF_REQUESTS: [Kind; 7] = [
    Kind::GateEvaluate,
    Kind::QuestionAsk,
    Kind::QuestionAnswer,
    Kind::GateReplay,
    Kind::EffectOutcome,
    Kind::DecisionDecline,
    Kind::DecisionResolve,
];

/// Erases the content of the receipts at these places, under the receipt at `by`; how many had any.
pub fn erase(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    places: &[u64],
    by: u64,
) -> Result<usize, StoreError> {
    let places: Vec<i64> = places.iter().copied().map(read::stored_count).collect();
    Ok(diesel::update(
        receipts::table
            .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::log_index.eq_any(places)))
            .filter(receipts::content.is_not_null()),
    )
    .set((receipts::content.eq(None::<String>), receipts::erased_by.eq(Some(read::stored_count(by)))))
    .execute(connection)?)
}

/// Receipts of a chain about one intent from `from_seq` on, in order, whether erased or not.
pub fn of_chain(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    (chain, intent): (&Chain, &Intent),
    from_seq: u64,
    limit: i64,
) -> Result<Vec<StoredReceipt>, StoreError> {
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::chain.eq(chain.to_string())))
        .filter(receipts::seq.ge(read::stored_count(from_seq)).and(receipts::intent.eq(intent.as_str())))
        .order(receipts::seq)
        .limit(limit)
        .select(receipt::COLUMNS)
        .load::<receipt::Row>(connection)?
        .into_iter()
        .map(receipt::read_row)
        .collect()
}

/// Receipts of a chain that were recorded at an instant.
pub fn at_instant(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: &Chain,
    at: Timestamp,
) -> Result<Vec<StoredReceipt>, StoreError> {
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::chain.eq(chain.to_string())))
        .filter(receipts::at.eq(at.unix_milliseconds()))
        .order(receipts::seq)
        .select(receipt::COLUMNS)
        .load::<receipt::Row>(connection)?
        .into_iter()
        .map(receipt::read_row)
        .collect()
}

/// The first intent after `after`, by name, of which content is kept.
pub fn next_intent(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: &str,
) -> Result<Option<Intent>, StoreError> {
    let found: Option<String> = receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::content.is_not_null()))
        .filter(receipts::intent.gt(after).and(receipts::intent.is_not_null()))
        .order(receipts::intent)
        .select(receipts::intent)
        .first::<Option<String>>(connection)
        .optional()?
        .flatten();
    read::optional_text("receipts.intent", found.as_deref())
}

/// Where content of one intent is kept that is older than `before`: places and chains beyond the cursor, oldest first.
pub fn older_than(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    intent: &Intent,
    before: Timestamp,
    (cursor_at, cursor_index): (Timestamp, u64),
    limit: i64,
) -> Result<Vec<(u64, Timestamp, Chain)>, StoreError> {
    let cursor_at = cursor_at.unix_milliseconds();
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::content.is_not_null()))
        .filter(receipts::intent.eq(intent.as_str()).and(receipts::intent.is_not_null()))
        .filter(receipts::at.lt(before.unix_milliseconds()).and(receipts::at.ge(cursor_at)))
        .filter(receipts::at.gt(cursor_at).or(receipts::log_index.gt(read::stored_count(cursor_index))))
        .order((receipts::at, receipts::log_index))
        .limit(limit)
        .select((receipts::log_index, receipts::at, receipts::chain))
        .load::<(i64, i64, String)>(connection)?
        .into_iter()
        .map(|(index, at, chain)| {
            Ok((
                read::count("receipts.log_index", index)?,
                read::time(at),
                read::text("receipts.chain", &chain)?,
            ))
        })
        .collect()
}

/// Forgets what a decision's request hashed to, and what a person said of it.
pub fn forget_decision(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: DecisionId,
    said_by_person: bool,
) -> Result<(), StoreError> {
    let row = decisions::table.find((tenant.as_str(), id.to_string()));
    if said_by_person {
        diesel::update(row)
            .set((decisions::request_hash.eq(None::<Vec<u8>>), decisions::reason.eq(None::<String>)))
            .execute(connection)?;
    } else {
        diesel::update(row).set(decisions::request_hash.eq(None::<Vec<u8>>)).execute(connection)?;
    }
    Ok(())
}

/// Forgets the counterparties that a yes to a decision made known; whether there were any.
pub fn forget_known(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: DecisionId,
) -> Result<bool, StoreError> {
    let learnt =
        known::table.filter(known::tenant.eq(tenant.as_str()).and(known::decision.eq(id.to_string())));
    Ok(diesel::delete(learnt).execute(connection)? > 0)
}

/// Puts another text in the place of what was reported on an effect.
pub fn set_reported(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: EffectId,
    reported: &str,
) -> Result<(), StoreError> {
    diesel::update(effects::table.find((tenant.as_str(), id.to_string())))
        .set(effects::reported.eq(Some(reported)))
        .execute(connection)?;
    Ok(())
}

/// Forgets which request a key was used for, so that it answers none any more; the key itself stays used.
pub fn forget_key(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    credential: CredentialId,
    key: &str,
    log_index: u64,
) -> Result<(), StoreError> {
    diesel::update(
        keys::table
            .find((tenant.as_str(), credential.to_string(), key))
            .filter(keys::log_index.eq(read::stored_count(log_index))),
    )
    .set(keys::request_hash.eq(Hash::ZERO.as_bytes().to_vec()))
    .execute(connection)?;
    Ok(())
}

/// Forgets what was noted of the calls that one minute of a chain lists.
pub fn forget_access_details(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: &Chain,
    from: Timestamp,
    until: Timestamp,
) -> Result<(), StoreError> {
    diesel::update(
        accesses::table
            .filter(accesses::tenant.eq(tenant.as_str()).and(accesses::chain.eq(chain.to_string())))
            .filter(
                accesses::at.ge(from.unix_milliseconds()).and(accesses::at.lt(until.unix_milliseconds())),
            ),
    )
    .set(accesses::detail.eq(None::<String>))
    .execute(connection)?;
    Ok(())
}
