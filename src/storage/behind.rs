//! What stands behind a receipt: the acts of one instant, and what a decision or an effect came to.

use super::along::{self, Order, Sought};
use super::receipt::{COLUMNS, Row, StoredReceipt, read_row};
use super::schema::{decision_approvals, decisions, effects, receipts};
use super::trail::Trail;
use super::{AnyConnection, StoreError, course, read};
use crate::domain::{AgentId, Chain, DecisionId, EffectId, PrincipalId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use diesel::prelude::*;

/// How many acts of one kind one instant may hold; a batch holds fewer.
const MOST_OF_AN_INSTANT: usize = 1024;
/// How far along the log it is looked for what became of a call: runs of trails, not receipts, are read.
const FARTHEST: u64 = 4_194_304;
/// How many turns of decisions are looked at.
const MOST_TURNS: usize = 2048;

/// The receipts of one kind that were recorded at an instant.
pub fn at_instant(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    kind: Kind,
    at: Timestamp,
) -> Result<Vec<StoredReceipt>, StoreError> {
    let span = course::instant(connection, tenant, at)?;
    let sought = Sought { trails: Vec::new(), kinds: vec![kind], span };
    along::receipts(connection, tenant, &sought, Order::Rising, MOST_OF_AN_INSTANT)
}

/// The receipts at `from..until`, in order.
pub fn stretch(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    from: u64,
    until: u64,
) -> Result<Vec<StoredReceipt>, StoreError> {
    receipts::table
        .filter(receipts::tenant.eq(tenant.as_str()))
        .filter(
            receipts::log_index
                .ge(read::stored_count(from))
                .and(receipts::log_index.lt(read::stored_count(until))),
        )
        .order(receipts::log_index)
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// What became, in a credential's chain after a place of the log, of decisions and of answers that were taken back.
pub fn turns_after(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    chain: Chain,
    place: u64,
) -> Result<Vec<StoredReceipt>, StoreError> {
    let sought = Sought {
        trails: vec![Trail::Chain(chain)],
        kinds: vec![Kind::DecisionRenew, Kind::DecisionExpire, Kind::DecisionWithdraw, Kind::GateWithdrawn],
        span: place.saturating_add(1)..place.saturating_add(FARTHEST),
    };
    along::receipts(connection, tenant, &sought, Order::Rising, MOST_TURNS)
}

/// The effect that the call at a place of the log let happen.
pub fn effect_of(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    log_index: u64,
) -> Result<Option<EffectId>, StoreError> {
    let id: Option<String> = effects::table
        .filter(effects::tenant.eq(tenant.as_str()))
        .filter(effects::log_index.eq(read::stored_count(log_index)))
        .select(effects::id)
        .first(connection)
        .optional()?;
    read::optional_text("effects.id", id.as_deref())
}

/// The decision that asks, or asked, how an effect ended; it was opened after `since`.
pub fn question_about(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    agent: AgentId,
    effect: EffectId,
    since: Timestamp,
) -> Result<Option<DecisionId>, StoreError> {
    let id: Option<String> = decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()).and(decisions::agent.eq(agent.to_string())))
        .filter(decisions::id.ge(DecisionId::new(since, [0; 10]).to_string()))
        .filter(decisions::effect.eq(effect.to_string()))
        .order(decisions::id)
        .select(decisions::id)
        .first(connection)
        .optional()?;
    read::optional_text("decisions.id", id.as_deref())
}

/// Whose yes a decision has, and since when, the first one first.
pub fn yeses(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decision: DecisionId,
) -> Result<Vec<(PrincipalId, Timestamp)>, StoreError> {
    decision_approvals::table
        .filter(
            decision_approvals::tenant
                .eq(tenant.as_str())
                .and(decision_approvals::decision.eq(decision.to_string())),
        )
        .order((decision_approvals::at, decision_approvals::principal))
        .select((decision_approvals::principal, decision_approvals::at))
        .load::<(String, i64)>(connection)?
        .into_iter()
        .map(|(by, at)| Ok((read::text("decision_approvals.principal", &by)?, read::time(at))))
        .collect()
}
