//! Puts a version of the tenant's reply rules live.

use super::Error;
use super::caller::Operator;
use crate::committer::{Books, Draft};
use crate::domain::{Chain, TenantSlug};
use crate::evidence::receipt::Kind;
use crate::screening::Rules;
use crate::storage::receipt::StoredReceipt;
use crate::storage::reply_rules::{self, RulesVersion};
use crate::storage::{AnyConnection, StoreError, read_document};
use serde_json::json;
use std::sync::Arc;

/// The live rules, and their version; the defaults and none where nobody put any.
pub fn live(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
) -> Result<(Rules, Option<RulesVersion>), StoreError> {
    let Some(live) = reply_rules::live(connection, tenant)? else { return Ok((Rules::default(), None)) };
    let rules = read_document("reply_rules.document", &live.document, Rules::read)?;
    Ok((rules, Some(live)))
}

/// Puts rules live as the next version, if `seen` is still the live one; they need a fresh sign-in, since they may let
/// through what was held back.
pub fn put(
    books: &mut Books<'_>,
    operator: &Operator,
    seen: u64,
    rules: &Rules,
) -> Result<(u64, Arc<StoredReceipt>), Error> {
    let person = operator.person();
    person.require_session(books)?;
    person.require_fresh(books.now(), "changing the reply rules")?;
    let (connection, slug) = books.place();
    let live = reply_rules::live(connection, slug)?.map_or(0, |live| live.version);
    if live != seen {
        return Err(Error::Stale { live });
    }
    let version = live.saturating_add(1);
    let row = RulesVersion {
        version,
        document: rules.to_json().to_string(),
        live_since: books.now(),
        author: person.id,
    };
    let (connection, slug) = books.place();
    reply_rules::insert(connection, slug, &row)?;
    let input = json!({
        "kind": Kind::ReplyRulesPut.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "replaces": live,
        "rules": rules.to_json(),
    });
    let draft =
        Draft::act(Kind::ReplyRulesPut, Chain::Principal(person.id), input, json!({"version": version}));
    Ok((version, books.record(draft.by(person.id))?))
}
