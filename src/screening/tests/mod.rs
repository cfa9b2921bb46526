//! Screening as a whole: the cases that others may try too, the shop's conversation, and what holds of every text.

mod corpus;
mod laws;
mod outcomes;
mod rules;
mod shop;

use super::{Audience, Effect, Language, Record, Reply, Rules, Screened};
use crate::domain::{EffectId, EffectStatus, Intent, Timestamp};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_unix_seconds(1_796_000_000);

fn rules(value: &Value) -> Rules {
    Rules::read(value).unwrap()
}

fn effect(intent: &str, status: EffectStatus, sent: Value) -> Effect {
    let id = EffectId::new(NOW, [7; 10]);
    Effect { id, intent: intent.parse().unwrap(), status, sent }
}

/// A reply, with what the tests vary.
struct Given<'a> {
    text: &'a str,
    effects: Option<&'a [Effect]>,
    records: Option<&'a [Record]>,
    cites: &'a [String],
    audience: Audience,
    language: Language,
}

impl<'a> Given<'a> {
    fn text(text: &'a str) -> Self {
        Self {
            text,
            effects: None,
            records: None,
            cites: &[],
            audience: Audience::Customer,
            language: Language::English,
        }
    }

    fn screen(&self, rules: &Rules) -> Screened {
        let writes: Vec<Intent> =
            ["payments.refund", "team.notify"].map(|intent| intent.parse().unwrap()).into();
        let reply = Reply {
            text: self.text,
            language: self.language,
            audience: self.audience,
            effects: self.effects,
            writes: &writes,
            cites: self.cites,
            records: self.records,
            now: NOW,
        };
        reply.screen(rules)
    }
}

/// What was counted, by name.
fn counted(screened: &Screened) -> Value {
    Value::Object(
        screened.counts.iter().map(|(count, times)| (count.as_str().to_owned(), json!(times))).collect(),
    )
}
