//! What is erased by itself, of which intents and at which age: rules that an operator puts live.

use super::Error;
use super::caller::Operator;
use crate::committer::{Books, Draft};
use crate::domain::{Chain, Intent, IntentPattern, Malformed};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use crate::storage::retention::{self, RetentionVersion};
use crate::storage::{AnyConnection, StoreError, read_document};
use serde_json::{Value, json};
use std::sync::Arc;

/// The most rules a tenant has.
const MOST_RULES: usize = 100;
/// The longest that content is kept by a rule, in days.
const LONGEST_DAYS: u32 = 36_500;

/// For how long the content of requests is kept, by intent; what no rule names is kept for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules(Vec<(IntentPattern, u32)>);

impl Rules {
    /// Reads `{"rules": [{"intent": "payments.*", "after": "400 days"}, …]}`.
    ///
    /// # Errors
    /// What does not fit, by its place.
    pub fn read(value: &Value) -> Result<Self, Malformed> {
        let members =
            value.as_object().ok_or_else(|| Malformed::whole("an object with `rules` is expected"))?;
        if let Some(unknown) = members.keys().find(|name| *name != "rules") {
            return Err(Malformed::at(
                format!("/{}", unknown.escape_debug()),
                "unknown member: `rules` is allowed",
            ));
        }
        let listed = members.get("rules").and_then(Value::as_array);
        let listed = listed.ok_or_else(|| Malformed::at("/rules", "a list of rules is expected"))?;
        if listed.len() > MOST_RULES {
            return Err(Malformed::at("/rules", format!("{} found, {MOST_RULES} are allowed", listed.len())));
        }
        let mut rules: Vec<(IntentPattern, u32)> = Vec::new();
        for (place, rule) in listed.iter().enumerate() {
            let rule = read_rule(rule).map_err(|fault| fault.under(&format!("/rules/{place}")))?;
            if rules.iter().any(|(there, _)| *there == rule.0) {
                let detail = format!("`{}` has a rule already", rule.0);
                return Err(Malformed::at(format!("/rules/{place}/intent"), detail));
            }
            rules.push(rule);
        }
        Ok(Self(rules))
    }

    /// As [`read`](Self::read) takes them.
    pub fn to_json(&self) -> Value {
        let rule = |(pattern, days): &(IntentPattern, u32)| json!({"intent": pattern.to_string(), "after": format!("{days} days")});
        json!({"rules": self.0.iter().map(rule).collect::<Vec<_>>()})
    }

    /// The rule for an intent: of those that name it, the narrowest.
    pub fn of(&self, intent: &Intent) -> Option<&(IntentPattern, u32)> {
        let named = self.0.iter().filter(|(pattern, _)| pattern.matches(intent));
        named.reduce(|narrowest, rule| if narrowest.0.covers(&rule.0) { rule } else { narrowest })
    }

    /// Whether nothing is ever erased by itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn read_rule(value: &Value) -> Result<(IntentPattern, u32), Malformed> {
    let members = value
        .as_object()
        .ok_or_else(|| Malformed::whole("an object with `intent` and `after` is expected"))?;
    if let Some(unknown) = members.keys().find(|name| !matches!(name.as_str(), "intent" | "after")) {
        return Err(Malformed::at(format!("/{}", unknown.escape_debug()), "unknown member"));
    }
    let text = |name: &str| {
        let text = members.get(name).and_then(Value::as_str);
        text.ok_or_else(|| Malformed::at(format!("/{name}"), "a text is expected"))
    };
    let intent = text("intent")?.parse().map_err(|why: String| Malformed::at("/intent", why))?;
    let after = text("after")?;
    let days = after.strip_suffix(" days").or_else(|| after.strip_suffix(" day"));
    let days =
        days.filter(|days| days.bytes().all(|byte| byte.is_ascii_digit())).and_then(|days| days.parse().ok());
    let days = days.filter(|days| (1..=LONGEST_DAYS).contains(days)).ok_or_else(|| {
        let shown: String = after.chars().take(40).collect();
        let detail =
            format!("`{}` found, 1 to {LONGEST_DAYS} days expected, as `400 days`", shown.escape_debug());
        Malformed::at("/after", detail)
    })?;
    Ok((intent, days))
}

/// The live rules, and their version; none and 0 where nobody put any.
pub fn live(
    connection: &mut AnyConnection,
    tenant: &crate::domain::TenantSlug,
) -> Result<(Rules, Option<RetentionVersion>), StoreError> {
    let Some(live) = retention::live(connection, tenant)? else { return Ok((Rules::default(), None)) };
    let rules = read_document("retention.document", &live.document, Rules::read)?;
    Ok((rules, Some(live)))
}

/// Puts rules live as the next version, if `seen` is still the live one; they need a fresh sign-in, since what they
/// erase does not come back.
pub fn put(
    books: &mut Books<'_>,
    operator: &Operator,
    seen: u64,
    rules: &Rules,
) -> Result<(u64, Arc<StoredReceipt>), Error> {
    let person = operator.person();
    person.require_session(books)?;
    person.require_fresh(books.now(), "changing what is erased by itself")?;
    let (connection, slug) = books.place();
    let (_, live) = live(connection, slug)?;
    let live = live.map_or(0, |live| live.version);
    if live != seen {
        return Err(Error::Stale { live });
    }
    let version = live.saturating_add(1);
    let row = RetentionVersion {
        version,
        document: rules.to_json().to_string(),
        live_since: books.now(),
        author: person.id,
    };
    let (connection, slug) = books.place();
    retention::insert(connection, slug, &row)?;
    let input = json!({
        "kind": Kind::RetentionPut.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "replaces": live,
        "retention": rules.to_json(),
    });
    let draft =
        Draft::act(Kind::RetentionPut, Chain::Principal(person.id), input, json!({"version": version}));
    Ok((version, books.record(draft.by(person.id))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_rule_that_names_an_intent_counts() {
        let rules = Rules::read(&json!({"rules": [
            {"intent": "*", "after": "30 days"},
            {"intent": "payments.refund", "after": "400 days"},
            {"intent": "payments.*", "after": "100 days"},
        ]}))
        .unwrap();
        let days = |intent: &str| rules.of(&intent.parse().unwrap()).map(|(_, days)| *days);
        assert_eq!(days("payments.refund"), Some(400));
        assert_eq!(days("payments.charge"), Some(100));
        assert_eq!(days("mail.send"), Some(30));
        assert_eq!(Rules::read(&rules.to_json()).unwrap(), rules);
        assert!(Rules::default().of(&"mail.send".parse().unwrap()).is_none());
    }

    #[test]
    fn what_is_no_rule_is_named_by_its_place() {
        for (rules, place) in [
            (json!({"rules": [{"intent": "a", "after": "0 days"}]}), "/rules/0/after"),
            (json!({"rules": [{"intent": "a", "after": "+5 days"}]}), "/rules/0/after"),
            (json!({"rules": [{"intent": "a", "after": "36501 days"}]}), "/rules/0/after"),
            (json!({"rules": [{"intent": "a", "after": 5}]}), "/rules/0/after"),
            (json!({"rules": [{"intent": "A!", "after": "5 days"}]}), "/rules/0/intent"),
            (json!({"rules": [{"intent": "a", "after": "5 days", "on": true}]}), "/rules/0/on"),
            (json!({"rules": {}}), "/rules"),
            (json!({"rule": []}), "/rule"),
        ] {
            let said = Rules::read(&rules).unwrap_err();
            assert_eq!(said.faults.first().map(|fault| fault.pointer.as_str()), Some(place), "{rules}");
        }
        let twice =
            json!({"rules": [{"intent": "a.*", "after": "5 days"}, {"intent": "a.*", "after": "6 days"}]});
        assert!(Rules::read(&twice).is_err());
    }
}
