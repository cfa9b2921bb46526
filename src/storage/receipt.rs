//! Receipts: the leaves of each tenant's log, with the documents their hashes cover.

#![expect(clippy::ref_option_ref, reason = "what diesel derives borrows the row's options")]

use super::along::{self, Order, Sought};
use super::trail::Trail;
use super::{AnyConnection, StoreError, course, read, schema::receipts};
use crate::crypto::sha256;
use crate::domain::{
    AgentId, Chain, CredentialId, Duration, FactsFrom, Hash, Intent, Outcome, PrincipalId, ReceiptId,
    TenantSlug, Timestamp,
};
use crate::evidence::receipt::{Auth, Body, Kind};
use diesel::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A receipt as it is stored: everything but its path, which depends on the log's size.
#[derive(Debug, Clone)]
pub struct StoredReceipt {
    /// Its place in the tenant's log.
    pub log_index: u64,
    /// What is hashed.
    pub body: Body,
    /// The body's hash.
    pub hash: Hash,
    /// The tenant's authentication of it.
    pub auth: Auth,
    /// The intent, where the receipt is of a call of the gate; a copy for searching, which the input states too.
    pub intent: Option<Intent>,
    /// The input document in canonical form.
    pub input: String,
    /// The output document in canonical form.
    pub output: String,
    /// Salts and values of what the documents commit to, until erased.
    pub content: Option<String>,
    /// The place of the receipt that says when and why it was erased, once it is.
    pub erased_by: Option<u64>,
}

pub(super) type Row = (
    (
        String,
        i64,
        String,
        i64,
        String,
        Option<String>,
        Option<String>,
        Option<String>,
        Option<String>,
        Option<String>,
    ),
    (String, i64, Vec<u8>, Vec<u8>, Vec<u8>, String),
    (
        Option<i64>,
        Option<i64>,
        Option<i64>,
        String,
        Option<String>,
        String,
        String,
        Option<String>,
        Option<i64>,
    ),
);

#[rustfmt::skip]
pub(super) type Columns = (
    (receipts::tenant, receipts::log_index, receipts::id, receipts::at, receipts::kind, receipts::outcome,
     receipts::intent, receipts::principal, receipts::agent, receipts::credential),
    (receipts::chain, receipts::seq, receipts::prev, receipts::hash, receipts::auth, receipts::auth_key),
    (receipts::mandate_version, receipts::policy_version, receipts::catalogue_version, receipts::engine_version,
     receipts::facts_from, receipts::input, receipts::output, receipts::content, receipts::erased_by),
);

#[rustfmt::skip]
pub(super) const COLUMNS: Columns = (
    (receipts::tenant, receipts::log_index, receipts::id, receipts::at, receipts::kind, receipts::outcome,
     receipts::intent, receipts::principal, receipts::agent, receipts::credential),
    (receipts::chain, receipts::seq, receipts::prev, receipts::hash, receipts::auth, receipts::auth_key),
    (receipts::mandate_version, receipts::policy_version, receipts::catalogue_version, receipts::engine_version,
     receipts::facts_from, receipts::input, receipts::output, receipts::content, receipts::erased_by),
);

pub(super) fn read_row((subject, link, documents): Row) -> Result<StoredReceipt, StoreError> {
    let (tenant, log_index, id, at, kind, outcome, intent, principal, agent, credential) = subject;
    let (chain, seq, prev, hash, auth, auth_key) = link;
    let (mandate, policy, catalogue, engine, facts_from, input, output, content, erased_by) = documents;
    let body = Body {
        id: read::text("receipts.id", &id)?,
        at: read::time(at),
        tenant: read::text("receipts.tenant", &tenant)?,
        principal: read::optional_text("receipts.principal", principal.as_deref())?,
        agent: read::optional_text("receipts.agent", agent.as_deref())?,
        credential: read::optional_text("receipts.credential", credential.as_deref())?,
        kind: read::text("receipts.kind", &kind)?,
        outcome: read::optional_text("receipts.outcome", outcome.as_deref())?,
        mandate_version: read::optional_count("receipts.mandate_version", mandate)?,
        policy_version: read::optional_count("receipts.policy_version", policy)?,
        catalogue_version: read::optional_count("receipts.catalogue_version", catalogue)?,
        engine_version: engine.into(),
        facts_from: read::optional_text("receipts.facts_from", facts_from.as_deref())?,
        input_hash: sha256(input.as_bytes()),
        output_hash: sha256(output.as_bytes()),
        chain: read::text("receipts.chain", &chain)?,
        seq: read::count("receipts.seq", seq)?,
        prev: read::hash("receipts.prev", &prev)?,
        auth_key: read::text("receipts.auth_key", &auth_key)?,
    };
    Ok(StoredReceipt {
        log_index: read::count("receipts.log_index", log_index)?,
        body,
        hash: read::hash("receipts.hash", &hash)?,
        auth: Auth(read::bytes("receipts.auth", &auth)?),
        intent: read::optional_text("receipts.intent", intent.as_deref())?,
        input,
        output,
        content,
        erased_by: read::optional_count("receipts.erased_by", erased_by)?,
    })
}

/// A receipt's columns as text and numbers, ready to be bound.
struct Bound<'a> {
    receipt: &'a StoredReceipt,
    id: String,
    principal: Option<String>,
    agent: Option<String>,
    credential: Option<String>,
    chain: String,
    auth_key: String,
}

impl<'a> Bound<'a> {
    fn new(receipt: &'a StoredReceipt) -> Self {
        let body = &receipt.body;
        Self {
            receipt,
            id: body.id.to_string(),
            principal: body.principal.map(|id| id.to_string()),
            agent: body.agent.map(|id| id.to_string()),
            credential: body.credential.map(|id| id.to_string()),
            chain: body.chain.to_string(),
            auth_key: body.auth_key.to_string(),
        }
    }
}

/// A row for the cached single-row insert; `None` is bound as NULL so that one statement serves every row.
#[derive(Insertable)]
#[diesel(table_name = receipts, treat_none_as_default_value = false)]
struct NewRow<'a> {
    tenant: &'a str,
    log_index: i64,
    id: &'a str,
    at: i64,
    kind: &'a str,
    outcome: Option<&'a str>,
    intent: Option<&'a str>,
    principal: Option<&'a str>,
    agent: Option<&'a str>,
    credential: Option<&'a str>,
    chain: &'a str,
    seq: i64,
    prev: &'a [u8],
    hash: &'a [u8],
    auth: &'a [u8],
    auth_key: &'a str,
    mandate_version: Option<i64>,
    policy_version: Option<i64>,
    catalogue_version: Option<i64>,
    engine_version: &'a str,
    facts_from: Option<&'a str>,
    input: &'a str,
    output: &'a str,
    content: Option<&'a str>,
}

impl<'a> From<&'a Bound<'a>> for NewRow<'a> {
    fn from(bound: &'a Bound<'a>) -> Self {
        let receipt = bound.receipt;
        let body = &receipt.body;
        Self {
            tenant: body.tenant.as_str(),
            log_index: read::stored_count(receipt.log_index),
            id: &bound.id,
            at: body.at.unix_milliseconds(),
            kind: body.kind.as_str(),
            outcome: body.outcome.map(Outcome::as_str),
            intent: receipt.intent.as_ref().map(Intent::as_str),
            principal: bound.principal.as_deref(),
            agent: bound.agent.as_deref(),
            credential: bound.credential.as_deref(),
            chain: &bound.chain,
            seq: read::stored_count(body.seq),
            prev: body.prev.as_bytes(),
            hash: receipt.hash.as_bytes(),
            auth: &receipt.auth.0,
            auth_key: &bound.auth_key,
            mandate_version: body.mandate_version.map(read::stored_count),
            policy_version: body.policy_version.map(read::stored_count),
            catalogue_version: body.catalogue_version.map(read::stored_count),
            engine_version: &body.engine_version,
            facts_from: body.facts_from.map(FactsFrom::as_str),
            input: &receipt.input,
            output: &receipt.output,
            content: receipt.content.as_deref(),
        }
    }
}

/// Appends receipts.
///
/// The two databases differ here for speed alone: a cached single-row statement is fastest on SQLite, one
/// statement over arrays on PostgreSQL.
pub fn insert(connection: &mut AnyConnection, rows: &[Arc<StoredReceipt>]) -> Result<(), StoreError> {
    match connection {
        AnyConnection::Sqlite(sqlite) => {
            for row in rows {
                diesel::insert_into(receipts::table)
                    .values(NewRow::from(&Bound::new(row)))
                    .execute(sqlite)?;
            }
        }
        AnyConnection::Postgres(postgres) => {
            if !rows.is_empty() {
                insert_arrays(postgres, rows)?;
            }
        }
    }
    Ok(())
}

fn insert_arrays(postgres: &mut diesel::PgConnection, rows: &[Arc<StoredReceipt>]) -> Result<(), StoreError> {
    use diesel::sql_types::{Array, BigInt, Binary, Nullable, Text};
    let bound: Vec<Bound<'_>> = rows.iter().map(|row| Bound::new(row)).collect();
    let rows: Vec<NewRow<'_>> = bound.iter().map(NewRow::from).collect();
    macro_rules! column {
        ($name:ident) => {
            rows.iter().map(|row| row.$name).collect::<Vec<_>>()
        };
    }
    diesel::sql_query(
        "INSERT INTO receipts (tenant, log_index, id, at, kind, outcome, intent, principal, agent, credential, \
         chain, seq, prev, hash, auth, auth_key, mandate_version, policy_version, catalogue_version, \
         engine_version, facts_from, input, output, content) \
         SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
         $20, $21, $22, $23, $24)",
    )
    .bind::<Array<Text>, _>(column!(tenant))
    .bind::<Array<BigInt>, _>(column!(log_index))
    .bind::<Array<Text>, _>(column!(id))
    .bind::<Array<BigInt>, _>(column!(at))
    .bind::<Array<Text>, _>(column!(kind))
    .bind::<Array<Nullable<Text>>, _>(column!(outcome))
    .bind::<Array<Nullable<Text>>, _>(column!(intent))
    .bind::<Array<Nullable<Text>>, _>(column!(principal))
    .bind::<Array<Nullable<Text>>, _>(column!(agent))
    .bind::<Array<Nullable<Text>>, _>(column!(credential))
    .bind::<Array<Text>, _>(column!(chain))
    .bind::<Array<BigInt>, _>(column!(seq))
    .bind::<Array<Binary>, _>(column!(prev))
    .bind::<Array<Binary>, _>(column!(hash))
    .bind::<Array<Binary>, _>(column!(auth))
    .bind::<Array<Text>, _>(column!(auth_key))
    .bind::<Array<Nullable<BigInt>>, _>(column!(mandate_version))
    .bind::<Array<Nullable<BigInt>>, _>(column!(policy_version))
    .bind::<Array<Nullable<BigInt>>, _>(column!(catalogue_version))
    .bind::<Array<Text>, _>(column!(engine_version))
    .bind::<Array<Nullable<Text>>, _>(column!(facts_from))
    .bind::<Array<Text>, _>(column!(input))
    .bind::<Array<Text>, _>(column!(output))
    .bind::<Array<Nullable<Text>>, _>(column!(content))
    .execute(postgres)?;
    Ok(())
}

/// The receipt at a place of the log.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    log_index: u64,
) -> Result<Option<StoredReceipt>, StoreError> {
    receipts::table
        .find((tenant.as_str(), read::stored_count(log_index)))
        .select(COLUMNS)
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// The receipts at several places of the log, by place; places that hold none are left out.
pub fn find_many(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    log_indices: impl IntoIterator<Item = u64>,
) -> Result<HashMap<u64, StoredReceipt>, StoreError> {
    let places: Vec<i64> = log_indices.into_iter().map(read::stored_count).collect();
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()).and(receipts::log_index.eq_any(places)))
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(|row| read_row(row).map(|stored| (stored.log_index, stored)))
        .collect()
}

/// Which receipts of a chain, from a place of the log on, repeat earlier answers and allow: ids and input documents.
pub fn replays_since(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: Chain,
    from: u64,
    limit: usize,
) -> Result<Vec<(ReceiptId, String)>, StoreError> {
    let sought = Sought {
        trails: vec![Trail::Chain(chain), Trail::Outcome(Outcome::Allow)],
        kinds: vec![Kind::GateReplay],
        span: from..u64::MAX,
    };
    let found = along::receipts(connection, tenant, &sought, Order::Rising, limit)?;
    Ok(found.into_iter().map(|stored| (stored.body.id, stored.input)).collect())
}

/// Hash and authentication of the leaves in `from..until`, in order.
pub fn leaves(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    from: u64,
    until: u64,
) -> Result<Vec<(Hash, Auth)>, StoreError> {
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(
            receipts::log_index
                .ge(read::stored_count(from))
                .and(receipts::log_index.lt(read::stored_count(until))),
        )
        .order(receipts::log_index)
        .select((receipts::hash, receipts::auth))
        .load::<(Vec<u8>, Vec<u8>)>(connection)?
        .into_iter()
        .map(|(hash, auth)| {
            Ok((read::hash("receipts.hash", &hash)?, Auth(read::bytes("receipts.auth", &auth)?)))
        })
        .collect()
}

/// What a list of calls is narrowed to; whatever is `None` does not narrow.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// One person's.
    pub principal: Option<PrincipalId>,
    /// One agent's.
    pub agent: Option<AgentId>,
    /// One credential's.
    pub credential: Option<CredentialId>,
    /// Of one kind.
    pub kind: Option<Kind>,
    /// With one outcome.
    pub outcome: Option<Outcome>,
    /// Of one intent.
    pub intent: Option<Intent>,
    /// At or after.
    pub from: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
}

impl Filter {
    fn trails(&self) -> Vec<Trail> {
        [
            self.credential.map(|id| Trail::Chain(Chain::Credential(id))),
            self.agent.map(Trail::Agent),
            self.principal.map(Trail::Principal),
            self.intent.clone().map(Trail::Intent),
            self.kind.map(Trail::Kind),
            self.outcome.map(Trail::Outcome),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Receipts that fit the filter and whose id sorts below `before`, newest first.
///
/// `before` is the 26 characters behind an id's prefix, so that one cursor serves receipts and other calls.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    filter: &Filter,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<StoredReceipt>, StoreError> {
    let before: Option<ReceiptId> =
        before.and_then(|tail| format!("{}{tail}", ReceiptId::PREFIX).parse().ok());
    let mut span = span_of(connection, tenant, filter, before)?;
    let limit = usize::try_from(limit).unwrap_or(0);
    let trails = filter.trails();
    let mut page = Vec::new();
    while page.len() < limit && !span.is_empty() {
        let sought = Sought { trails: trails.clone(), kinds: Vec::new(), span: span.clone() };
        let found = along::receipts(connection, tenant, &sought, Order::Falling, limit)?;
        let Some(last) = found.last() else { break };
        let is_last = found.len() < limit;
        span.end = last.log_index;
        page.extend(found.into_iter().filter(|stored| before.is_none_or(|before| stored.body.id < before)));
        if is_last {
            break;
        }
    }
    page.truncate(limit);
    Ok(page)
}

/// The part of the log in which what fits the filter's times stands, up to the instant of the cursor.
fn span_of(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    filter: &Filter,
    before: Option<ReceiptId>,
) -> Result<Range<u64>, StoreError> {
    let mut until = filter.until;
    if let Some(before) = before {
        let after_instant = before.made_at().plus(Duration::milliseconds(1));
        until = Some(until.map_or(after_instant, |until| until.min(after_instant)));
    }
    let start = match filter.from {
        Some(from) => course::places_since(connection, tenant, from)?.0,
        None => 0,
    };
    let end = match until {
        Some(until) => course::places_since(connection, tenant, until)?.0,
        None => u64::MAX,
    };
    Ok(start..end)
}
