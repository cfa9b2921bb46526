//! Documents and requests of the shared fragment, few names and awkward ones, so that things meet.

use super::translate::Unnamed;
use super::{Case, clauses, name, policy, terms, uid};
use crate::engine::Unlisted;
use cedar_policy::{Entities, Entity};
use proptest::{collection, option, prelude::*, sample, strategy::Union};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};

const INTENTS: [&str; 7] =
    ["pay", "pay.refund", "pay.refund.full", "payments.refund", "pay_out.x", "mail.send", "refund"];
const PATTERNS: [&str; 9] = [
    "pay",
    "pay.refund",
    "pay.refund.full",
    "mail.send",
    "pay.*",
    "pay.refund.*",
    "payments.*",
    "mail.*",
    "*",
];
const NAMES: &[&str] = &["acct:1", "acct:2", "ACCT:1", "a@x.example", "a\"b", "a\\b", "*"];
const RESOURCES: &[&str] = &["order:1", "order:12", "order", "o*der", "o\\*", "é:1", "order:\"1\""];
const PREFIXES: &[&str] = &["order:1", "order:", "o", "o*", "o\\", "é", "order:\""];
const COUNTRIES: &[&str] = &["DE", "FR", "NO"];

/// What a request says, in both languages.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) described: Value,
    pub(super) context: Value,
    known: BTreeSet<&'static str>,
    country_fixed: Option<&'static str>,
}

impl Asked {
    /// Makes the standing one whose principal approved whom the request knows, and whose credential is fixed to
    /// its country.
    pub(super) fn surround(&self, case: &mut Case) {
        case.known = self.known.iter().map(|known| name(known)).collect();
        case.country_fixed = self.country_fixed.map(|country| country.parse().unwrap());
    }
}

/// Clauses as JSON, and what the mandate makes of what none of its own names.
#[derive(Clone, Debug)]
pub(super) struct Documents {
    pub(super) mandate: Vec<Value>,
    pub(super) unlisted: Unnamed,
    pub(super) policy: Option<Vec<Value>>,
    pub(super) credential: Option<Vec<Value>>,
}

impl Documents {
    pub(super) fn ours(&self) -> Case {
        let mut case = Case::new(terms(json!(self.mandate)));
        case.mandate.unlisted = match self.unlisted {
            Unnamed::Refuses => Unlisted::Refuse,
            Unnamed::Passes | Unnamed::Escalates => Unlisted::Escalate,
        };
        if let Some(general) = &self.policy {
            case.policy = policy(json!({"clauses": general}));
        }
        case.credentials = self.credential.iter().map(|own| clauses(json!(own))).collect();
        case
    }
}

/// Every intent below every pattern that names it.
pub(super) fn entities() -> Entities {
    let action = |intent: &str| {
        let prefixes = intent.match_indices('.').map(|(dot, _)| format!("{}.*", &intent[..dot]));
        let parents: HashSet<_> =
            prefixes.chain(["*".to_owned()]).map(|pattern| uid("Action", &pattern)).collect();
        Entity::new(uid("Action", intent), HashMap::new(), parents).unwrap()
    };
    Entities::from_entities(INTENTS.map(action), None).unwrap()
}

pub(super) fn documents() -> impl Strategy<Value = Documents> {
    let unlisted = sample::select(vec![Unnamed::Escalates, Unnamed::Refuses]);
    (clause_list(), unlisted, option::of(clause_list()), option::of(clause_list())).prop_map(
        |(mandate, unlisted, policy, credential)| Documents { mandate, unlisted, policy, credential },
    )
}

fn clause_list() -> impl Strategy<Value = Vec<Value>> {
    // Numbered so that the order of ids is neither that of writing nor that of numbers.
    collection::vec(clause(), 0..=6).prop_map(|mut clauses| {
        for (index, clause) in clauses.iter_mut().enumerate() {
            clause["id"] = json!(format!("M-{}", 17 * (index + 3) % 101));
        }
        clauses
    })
}

fn clause() -> impl Strategy<Value = Value> {
    let effect = prop_oneof![6 => Just("allow"), 2 => Just("escalate"), 1 => Just("refuse")];
    (sample::select(PATTERNS.to_vec()), effect, any::<bool>(), collection::vec(condition(), 0..=3)).prop_map(
        |(intent, effect, hard, conditions)| {
            let mut when = json!({});
            for (fact, test, bound) in conditions {
                match test {
                    "" => when[fact] = bound,
                    // The language lets no allowance rest on a counterparty that is unknown.
                    "known" if effect == "allow" => when[fact][test] = json!(true),
                    _ => when[fact][test] = bound,
                }
            }
            let mut clause = json!({"intent": intent, "effect": effect, "when": when});
            if effect == "allow" && hard {
                clause["otherwise"] = json!("refuse");
            }
            clause
        },
    )
}

/// A fact, the test of it, and the bound.
fn condition() -> impl Strategy<Value = (&'static str, &'static str, Value)> {
    let among = |fact: &'static str, test: &'static str, of: &'static [&'static str]| {
        sample::subsequence(of, 1..=of.len()).prop_map(move |names| (fact, test, json!(names))).boxed()
    };
    Union::new_weighted(vec![
        (4, amount().prop_map(|amount| ("amount", "at_most", amount)).boxed()),
        (2, among("counterparty", "in", NAMES)),
        (2, among("counterparty", "not_in", NAMES)),
        (2, any::<bool>().prop_map(|known| ("counterparty", "known", json!(known))).boxed()),
        (1, among("country", "in", COUNTRIES)),
        (1, among("country", "not_in", COUNTRIES)),
        (1, among("resource", "in", RESOURCES)),
        (1, among("resource", "not_in", RESOURCES)),
        (2, sample::select(PREFIXES).prop_map(|prefix| ("resource", "prefix", json!(prefix))).boxed()),
        (2, any::<bool>().prop_map(|untrusted| ("untrusted", "", json!(untrusted))).boxed()),
    ])
}

fn amount() -> impl Strategy<Value = Value> {
    // Where a float, or a comparison of texts, would go wrong.
    let units = sample::select(vec![1i64, 99, 100, 101, 999, 1000, 9_007_199_254_740_993, i64::MAX]);
    (units, prop_oneof![4 => Just("EUR"), 1 => Just("USD")]).prop_map(|(units, currency)| {
        json!({"value": format!("{}.{:02}", units / 100, units % 100), "currency": currency})
    })
}

pub(super) fn request() -> impl Strategy<Value = Asked> {
    (
        sample::select(INTENTS.to_vec()),
        option::weighted(0.8, amount()),
        option::weighted(0.8, sample::subsequence(NAMES, 1..=3).prop_shuffle()),
        option::weighted(0.7, sample::select(COUNTRIES)),
        option::weighted(0.2, sample::select(COUNTRIES)),
        option::weighted(0.8, sample::select(RESOURCES)),
        option::of(any::<bool>()),
        sample::subsequence(NAMES, 0..=NAMES.len()),
    )
        .prop_map(
            |(intent, amount, counterparties, country, country_fixed, resource, untrusted, known)| {
                let mut described = json!({"intent": intent});
                // A call that does not say is untrusted.
                let mut context = json!({"untrusted": untrusted.unwrap_or(true), "known": known});
                if let Some(untrusted) = untrusted {
                    described["untrusted"] = json!(untrusted);
                }
                if let Some(amount) = amount {
                    let units: i64 = amount["value"].as_str().unwrap().replace('.', "").parse().unwrap();
                    context["amount"] = json!({"minor_units": units, "currency": amount["currency"]});
                    described["amount"] = amount;
                }
                if let Some(names) = counterparties {
                    described["counterparty"] = json!(names);
                    context["counterparty"] = json!(names);
                }
                if let Some(country) = country {
                    described["country"] = json!(country);
                }
                let countries: BTreeSet<_> = country.into_iter().chain(country_fixed).collect();
                if !countries.is_empty() {
                    context["country"] = json!(countries);
                }
                if let Some(resource) = resource {
                    described["resource"] = json!(resource);
                    context["resource"] = json!(resource);
                }
                Asked { described, context, known: known.into_iter().collect(), country_fixed }
            },
        )
}
