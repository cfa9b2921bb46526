//! The condition of a database and of what waits in it: what is asked when somebody looks it over.

use super::schema::{decisions, effects, mandates, outbox};
use super::{AnyConnection, StoreError, read};
use crate::domain::{DecisionStatus, PrincipalId, TenantSlug, Timestamp};
use crate::storage::effect::EffectStatus;
use diesel::prelude::*;
use diesel::sql_query;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}

/// The database's version.
pub fn version(connection: &mut AnyConnection) -> Result<String, StoreError> {
    Ok(match connection {
        AnyConnection::Sqlite(sqlite) => {
            let found: Line = sql_query("SELECT sqlite_version() AS line").get_result(sqlite)?;
            format!("SQLite {}", found.line)
        }
        AnyConnection::Postgres(postgres) => {
            let found: Line =
                sql_query("SELECT current_setting('server_version') AS line").get_result(postgres)?;
            format!("PostgreSQL {}", found.line)
        }
    })
}

/// A setting of the database by its name, as it is in force on this connection.
pub fn setting(connection: &mut AnyConnection, name: &'static str) -> Result<String, StoreError> {
    let found: Line = match connection {
        AnyConnection::Sqlite(sqlite) => {
            sql_query(format!("SELECT CAST({name} AS TEXT) AS line FROM pragma_{name}")).get_result(sqlite)?
        }
        AnyConnection::Postgres(postgres) => {
            sql_query(format!("SELECT current_setting('{name}') AS line")).get_result(postgres)?
        }
    };
    Ok(found.line)
}

/// Effects whose ending nobody knows: how many, and when the oldest was to be reported on.
pub fn unknown_effects(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
) -> Result<(u64, Option<Timestamp>), StoreError> {
    let (count, oldest): (i64, Option<i64>) = effects::table
        .filter(effects::tenant.eq(tenant.as_str()))
        .filter(effects::status.eq(EffectStatus::Unknown.as_str()))
        .select((diesel::dsl::count_star(), diesel::dsl::min(effects::report_by)))
        .first(connection)?;
    Ok((read::count("effects", count)?, read::optional_time(oldest)))
}

/// What should have happened by itself before `then` and did not: effects that are still claimed, decisions that are
/// still undecided.
pub fn overdue(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    then: Timestamp,
) -> Result<(u64, u64), StoreError> {
    let claimed: i64 = effects::table
        .filter(effects::tenant.eq(tenant.as_str()))
        .filter(effects::status.eq(EffectStatus::Claimed.as_str()))
        .filter(effects::report_by.lt(then.unix_milliseconds()))
        .count()
        .get_result(connection)?;
    let undecided: i64 = decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()))
        .filter(decisions::status.eq_any([DecisionStatus::Open.as_str(), DecisionStatus::Approved.as_str()]))
        .filter(decisions::due_at.lt(then.unix_milliseconds()))
        .count()
        .get_result(connection)?;
    Ok((read::count("effects", claimed)?, read::count("decisions", undecided)?))
}

/// Mail that is not sent: how much was given up, how much is tried again after a failure, and what failed last.
pub fn unsent_mail(connection: &mut AnyConnection) -> Result<(u64, u64, Option<String>), StoreError> {
    let unsent = || outbox::table.filter(outbox::sent_at.is_null()).filter(outbox::attempts.gt(0));
    let given_up: i64 = unsent().filter(outbox::due_at.is_null()).count().get_result(connection)?;
    let retried: i64 = unsent().filter(outbox::due_at.is_not_null()).count().get_result(connection)?;
    let why = unsent()
        .filter(outbox::failure.is_not_null())
        .order(outbox::created_at.desc())
        .select(outbox::failure)
        .first::<Option<String>>(connection)
        .optional()?;
    Ok((read::count("outbox", given_up)?, read::count("outbox", retried)?, why.flatten()))
}

/// Whose mandates there are, in order, beyond the one named.
pub fn principals_with_mandates(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    after: Option<PrincipalId>,
    limit: i64,
) -> Result<Vec<PrincipalId>, StoreError> {
    let after = after.map(|id| id.to_string()).unwrap_or_default();
    mandates::table
        .filter(mandates::tenant.eq(tenant.as_str()).and(mandates::principal.gt(after)))
        .order(mandates::principal)
        .limit(limit)
        .select(mandates::principal)
        .distinct()
        .load::<String>(connection)?
        .iter()
        .map(|principal| read::text("mandates.principal", principal))
        .collect()
}
