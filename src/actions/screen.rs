//! Screens a text under a tenant's reply rules and against its ledger. It writes nothing and keeps nothing of the text.

use super::{Error, reply_rules};
use crate::domain::{EffectId, Intent, Malformed, PrincipalId, TenantSlug, Timestamp};
use crate::engine::CatalogueEntry;
use crate::screening::{self, Audience, Effect, Language, Record, Reply, Rules, Screened, Tail};
use crate::storage::{AnyConnection, StoreError, catalogue, effect, read_document, receipt};
use serde_json::{Map, Value};

/// Where a request's content stands among what a receipt keeps.
const REQUEST: &str = "/input/request/";
/// The content that a tool was not sent: it says what raised the call.
const NOT_SENT: [&str; 2] = ["/input/request/attachment", "/input/request/evidence"];

/// A text to screen.
pub struct Asked {
    /// What it is.
    pub direction: Direction,
    /// The text.
    pub text: String,
    /// Rules to screen it under; the tenant's live ones, if not said.
    pub rules: Option<Rules>,
    /// The conversation it belongs to, where it may go on with what was said before.
    pub conversation: Option<String>,
    /// Its language; the rules' own, if not said.
    pub language: Option<Language>,
}

/// Which way a text goes.
pub enum Direction {
    /// To an agent.
    Turn,
    /// From an agent, with what its turn came to.
    Reply {
        /// The writes of the turn; without them, nothing is said of what the reply claims.
        effects: Option<Vec<EffectId>>,
        /// The tags of the passages it cites.
        cites: Vec<String>,
        /// Who is shown it.
        audience: Audience,
        /// What the calls of the turn returned.
        records: Option<Vec<Record>>,
    },
}

/// Screens a text for somebody who acts for `principal`; `before` says what was said before a turn.
///
/// # Errors
/// An effect that is not one of theirs.
pub fn screen(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    asked: &Asked,
    before: impl FnOnce(&Rules) -> Tail,
    now: Timestamp,
) -> Result<Screened, Error> {
    let live = match &asked.rules {
        Some(_) => None,
        None => Some(reply_rules::live(connection, tenant)?.0),
    };
    let Some(rules) = asked.rules.as_ref().or(live.as_ref()) else { return Err(Error::NotFound("rules")) };
    let language = asked.language.or(rules.language).unwrap_or_default();
    match &asked.direction {
        Direction::Turn => Ok(screening::turn_after(&before(rules), &asked.text, rules, language)),
        Direction::Reply { effects, cites, audience, records } => {
            let effects = match effects {
                Some(ids) => Some(ledger(connection, tenant, principal, ids)?),
                None => None,
            };
            let writes = if effects.is_some() { writes(connection, tenant)? } else { Vec::new() };
            let reply = Reply {
                text: &asked.text,
                language,
                audience: *audience,
                effects: effects.as_deref(),
                writes: &writes,
                cites,
                records: records.as_deref(),
                now,
            };
            Ok(reply.screen(rules))
        }
    }
}

/// An attachment as a person or an agent reads it: others wrote it, so that every text of it is screened as a turn.
/// What is hashed and stored stays as it was sent.
pub fn shown_attachment(attachment: &Map<String, Value>, rules: &Rules) -> Map<String, Value> {
    attachment.iter().map(|(name, value)| (name.clone(), shown(value, rules))).collect()
}

fn shown(value: &Value, rules: &Rules) -> Value {
    match value {
        Value::String(text) => {
            let language = rules.language.unwrap_or_default();
            let screened = screening::turn(text, rules, language);
            Value::String(if screened.withheld { language.not_shown().to_owned() } else { screened.text })
        }
        Value::Array(items) => items.iter().map(|item| shown(item, rules)).collect(),
        Value::Object(members) => Value::Object(shown_attachment(members, rules)),
        // A number may be a card's as well as a text may.
        Value::Number(number) => {
            let written = Value::String(number.to_string());
            let screened = shown(&written, rules);
            if screened == written { value.clone() } else { screened }
        }
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

/// The effects of those ids, all of which are `principal`'s.
fn ledger(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: PrincipalId,
    ids: &[EffectId],
) -> Result<Vec<Effect>, Error> {
    let mut ledger = Vec::with_capacity(ids.len());
    for (at, id) in ids.iter().enumerate() {
        let found = effect::find(connection, tenant, *id)?.filter(|effect| effect.principal == principal);
        let Some(found) = found else {
            return Err(Malformed::at(format!("/effects/{at}"), "no effect of yours has this id").into());
        };
        let allow = receipt::find(connection, tenant, found.log_index)?;
        let sent = allow.map_or(Ok(Value::Null), |allow| sent(&allow.input, allow.content.as_deref()))?;
        ledger.push(Effect { id: *id, intent: found.intent, status: found.status, sent });
    }
    Ok(ledger)
}

/// What the tool of an allowed call was sent, as far as it is kept.
fn sent(input: &str, content: Option<&str>) -> Result<Value, StoreError> {
    let parse = |place: &'static str, text: &str| {
        serde_json::from_str::<Value>(text)
            .map_err(|error| StoreError::Corrupt { place, detail: error.to_string() })
    };
    let input = parse("receipts.input", input)?;
    let mut sent = Map::new();
    for (name, value) in input.get("request").and_then(Value::as_object).into_iter().flatten() {
        if value.get("commitment").is_none() {
            sent.insert(name.clone(), value.clone());
        }
    }
    let content = content.map_or(Ok(Value::Null), |content| parse("receipts.content", content))?;
    for (pointer, kept) in content.as_object().into_iter().flatten() {
        if let Some(name) = pointer.strip_prefix(REQUEST)
            && !NOT_SENT.contains(&pointer.as_str())
            && let Some(value) = kept.get("value")
        {
            sent.insert(name.to_owned(), value.clone());
        }
    }
    Ok(Value::Object(sent))
}

/// Every intent of the catalogue that has an effect.
fn writes(connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<Vec<Intent>, StoreError> {
    let mut writes = Vec::new();
    for entry in catalogue::live(connection, tenant)? {
        let read = |value: &Value| CatalogueEntry::read(value);
        if read_document("catalogue.document", &entry.document, read)?.effect {
            writes.push(entry.intent);
        }
    }
    Ok(writes)
}
