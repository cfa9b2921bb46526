//! The ledger as a provider's list is held against it: each effect with its reference and the amount that was allowed.

use super::effect::{self, Effect};
use super::schema::effects;
use super::{AnyConnection, StoreError, receipt};
use crate::domain::{Amount, IntentPattern, ReceiptId, TenantSlug};
use diesel::prelude::*;
use serde_json::Value;

/// An effect, and what a list may say of it too.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The effect.
    pub effect: Effect,
    /// The receipt of the call that was allowed.
    pub receipt: Option<ReceiptId>,
    /// The amount that was allowed.
    pub amount: Option<Amount>,
    /// The provider's reference, where one was reported and is not erased.
    pub reference: Option<String>,
    /// Whether what was reported was erased.
    pub is_erased: bool,
}

/// Effects of some intents beyond an id, by id.
pub fn page(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    intent: &IntentPattern,
    after: Option<&str>,
    limit: i64,
) -> Result<Vec<Recorded>, StoreError> {
    let mut query = effects::table
        .filter(effects::tenant.eq(tenant.as_str()))
        .order(effects::id)
        .limit(limit)
        .select(effect::COLUMNS)
        .into_boxed();
    if let Some(after) = after {
        query = query.filter(effects::id.gt(after.to_owned()));
    }
    query = match intent {
        IntentPattern::Any => query,
        IntentPattern::Exact(intent) => query.filter(effects::intent.eq(intent.as_str().to_owned())),
        IntentPattern::Below(prefix) => {
            // What follows the dot in ASCII is the slash.
            query.filter(
                effects::intent.gt(format!("{prefix}.")).and(effects::intent.lt(format!("{prefix}/"))),
            )
        }
    };
    let found: Vec<Effect> =
        query.load::<effect::Row>(connection)?.into_iter().map(effect::read_row).collect::<Result<_, _>>()?;
    let calls = receipt::find_many(connection, tenant, found.iter().map(|effect| effect.log_index))?;
    let with_call = |effect: Effect| {
        let call = calls.get(&effect.log_index);
        let reported: Option<Value> =
            effect.reported.as_deref().map(serde_json::from_str).transpose().map_err(|error| {
                StoreError::Corrupt { place: "effects.reported", detail: error.to_string() }
            })?;
        Ok(Recorded {
            receipt: call.map(|call| call.body.id),
            amount: call.map(|call| amount(&call.input)).transpose()?.flatten(),
            reference: reported.as_ref().and_then(reference),
            is_erased: reported.as_ref().is_some_and(|told| told.get("details").is_some_and(Value::is_null)),
            effect,
        })
    };
    found.into_iter().map(with_call).collect()
}

/// The reference in a report: an agent's or enforcement point's stands among its details, a person's by itself.
fn reference(reported: &Value) -> Option<String> {
    match reported.get("details").unwrap_or(reported).get("reference")? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The amount a call was decided on: derived where the catalogue derives it, otherwise described.
fn amount(input: &str) -> Result<Option<Amount>, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { place: "receipts.input", detail };
    let input: Value = serde_json::from_str(input).map_err(|error| corrupt(error.to_string()))?;
    let of = |name: &str| input.get(name).and_then(|facts| facts.get("amount"));
    let Some(amount) = of("facts").or_else(|| of("request")) else { return Ok(None) };
    let code = amount.get("currency").and_then(Value::as_str).unwrap_or_default();
    let currency = code.parse().map_err(corrupt)?;
    let value = amount.get("value").cloned().unwrap_or_default();
    Amount::from_json(&value, currency).map(Some).map_err(corrupt)
}
