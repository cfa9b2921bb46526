//! The same decisions taken a second way: straight from the JSON of the documents, with nothing clever, so
//! that a mistake in the engine has to be made twice to go unseen.

use super::carried::{self, Dice, REACHED, TEXTS};
use super::generate::*;
use super::*;
use crate::domain::FactsFrom;
use proptest::prelude::*;

/// Whether a clause names the intent.
fn names(clause: &Value, intent: &str) -> bool {
    let pattern = clause["intent"].as_str().unwrap();
    pattern == "*"
        || pattern == intent
        || pattern.strip_suffix('*').is_some_and(|stem| stem.ends_with('.') && intent.starts_with(stem))
}

fn minor_units(amount: &Value) -> (i64, String) {
    let value: f64 = amount["value"].as_str().unwrap().parse().unwrap();
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the small world has amounts of 1, 2 and 3"
    )]
    let minor_units = (value * 100.0) as i64;
    (minor_units, amount["currency"].as_str().unwrap().to_owned())
}

/// Where a name leads in the small world.
fn reached(text: &str) -> Option<&'static str> {
    let found = REACHED.iter().find(|(name, _)| *name == text);
    found.map(|(_, host)| *host).filter(|host| *host != "-")
}

/// Whether a name leads into the domains; for a refusal also where nobody can tell where it leads.
fn leads(text: &str, domains: &Value, each: bool) -> bool {
    let unclear = REACHED.iter().any(|(name, host)| *name == text && *host == "-")
        || TEXTS.iter().any(|(known, links)| *known == text && !links.is_empty());
    reached(text).is_some_and(|host| is_within(host, domains)) || (unclear && !each)
}

fn is_within(host: &str, domains: &Value) -> bool {
    domains.as_array().unwrap().iter().any(|domain| {
        let domain = domain.as_str().unwrap();
        host == domain || host.ends_with(&format!(".{domain}"))
    })
}

/// Every name and text in a value.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Number(number) => into.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            into.push(name.clone());
            texts(value, into);
        }),
        Value::Null | Value::Bool(_) => {}
    }
}

fn links(text: &str) -> Vec<&'static str> {
    match TEXTS.iter().find(|(known, _)| *known == text) {
        Some((_, links)) => links.to_vec(),
        None if text == "https://b.test" => vec!["b.test"],
        None => reached(text).into_iter().collect(),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text.starts_with(|first: char| first.is_ascii_digit()) => text.parse().ok(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

fn flat(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |items| items.iter().flat_map(flat).collect())
}

/// Whether one test of one value holds; `each` says whether a list needs all its entries to pass.
fn value_passes(test: &str, bound: &Value, value: Option<&Value>, each: bool) -> bool {
    let value = value.filter(|value| !value.is_null());
    if test == "exists" {
        return *bound == value.is_some();
    }
    let Some(value) = value else { return false };
    if test == "each" {
        let passes = |item| all_pass(bound, Some(item), each);
        return match value.as_array() {
            Some(items) if each => !items.is_empty() && items.iter().all(passes),
            Some(items) => items.iter().any(passes),
            None => !each && passes(value),
        };
    }
    // Yes, no, or nobody can tell: that counts for a refusal and not for an allowance.
    let found = |value: &&Value| {
        if value.is_object() {
            return None;
        }
        let twins = |entry: &Value| spelt(entry) == spelt(value) && entry.is_string() != value.is_string();
        let written = value.as_str();
        match test {
            "equals" => (!twins(bound)).then(|| same(bound, value)),
            "in" | "not_in" => {
                let listed = bound.as_array().unwrap();
                let is_in = listed.iter().any(|entry| same(entry, value));
                (is_in || !listed.iter().any(twins)).then_some(is_in == (test == "in"))
            }
            "at_most" => number(value).map(|found| found <= number(bound).unwrap()),
            "at_least" => number(value).map(|found| found >= number(bound).unwrap()),
            "domain" => written.map(|text| leads(text, bound, each)),
            "prefix" => written.map(|text| text.starts_with(bound.as_str().unwrap())),
            "matches" if bound == "x+" => {
                written.map(|text| !text.is_empty() && text.replace('x', "").is_empty())
            }
            "matches" => written.map(|text| text.len() == 2 && text.starts_with('x')),
            other => panic!("{other}"),
        }
    };
    let passes = |value: &&Value| !value.is_null() && found(value).unwrap_or(!each);
    let values = flat(value);
    if each { !values.is_empty() && values.iter().all(passes) } else { values.iter().any(passes) }
}

/// A value as a text would write it, numbers alike however they are written.
fn spelt(value: &Value) -> String {
    match number(value) {
        Some(number) => number.to_string(),
        None => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

fn all_pass(tests: &Value, value: Option<&Value>, each: bool) -> bool {
    tests.as_object().unwrap().iter().all(|(test, bound)| value_passes(test, bound, value, each))
}

fn is_in_hours(hours: &Value, now: Timestamp) -> bool {
    let zone: chrono_tz::Tz = hours["zone"].as_str().unwrap().parse().unwrap();
    let local =
        chrono::DateTime::from_timestamp_millis(now.unix_milliseconds()).unwrap().with_timezone(&zone);
    let name = |ago: u64| {
        let date = local.date_naive() - chrono::Days::new(ago);
        date.format("%a").to_string().to_lowercase()
    };
    let on = |day: String| hours["days"].as_array().is_none_or(|days| days.contains(&json!(day)));
    let clock = local.format("%H:%M").to_string();
    match (hours["from"].as_str(), hours["until"].as_str()) {
        (Some(from), Some(until)) if from < until => on(name(0)) && *from <= *clock && *clock < *until,
        (Some(from), Some(until)) => (on(name(0)) && *from <= *clock) || (on(name(1)) && *clock < *until),
        _ => on(name(0)),
    }
}

/// The documents as JSON, and the rest of what decides.
struct World<'a> {
    case: &'a Case,
    mandate: &'a Value,
    policy: &'a Value,
    credentials: &'a [Value],
    action: &'a Action,
}

impl World<'_> {
    fn at_most(&self, most: &Value, each: bool) -> bool {
        let (most, currency) = minor_units(most);
        self.action.amount.is_some_and(|amount| {
            if amount.currency().code() == currency { amount.minor_units() <= most } else { !each }
        })
    }

    fn knows(&self, name: &ExternalName) -> bool {
        let listed = self.mandate["counterparties"].as_array().cloned().unwrap_or_default();
        self.case.known.contains(name)
            || listed.iter().any(|entry| {
                let aliases = entry["aliases"].as_array().cloned().unwrap_or_default();
                let called =
                    entry["id"] == name.as_str() || aliases.iter().any(|alias| *alias == name.as_str());
                called && (entry["at_most"].is_null() || self.at_most(&entry["at_most"], true))
            })
    }

    /// Whether every condition holds: of each value for an allowance, of some value otherwise.
    fn holds(&self, clause: &Value) -> bool {
        let each = clause["effect"] == "allow";
        let over = |passes: Vec<bool>| {
            !passes.is_empty() && if each { passes.iter().all(|pass| *pass) } else { passes.contains(&true) }
        };
        let Some(when) = clause["when"].as_object() else { return true };
        when.iter().all(|(fact, tests)| {
            match fact.as_str() {
                "untrusted" => return *tests == self.action.untrusted,
                "hours" => return is_in_hours(tests, self.case.now),
                "arguments" | "facts" | "evidence" | "labels" | "links" | "contains" => {
                    return self.carries(fact, tests, each);
                }
                _ => {}
            }
            tests.as_object().unwrap().iter().all(|(test, value)| {
                let listed = |name: &str| {
                    value.as_array().unwrap().iter().any(|entry| entry == name) == (test == "in")
                };
                match fact.as_str() {
                    "amount" if test == "at_least" => {
                        let (least, currency) = minor_units(value);
                        self.action.amount.is_some_and(|amount| {
                            if amount.currency().code() == currency {
                                amount.minor_units() >= least
                            } else {
                                !each
                            }
                        })
                    }
                    "amount" => self.at_most(value, each),
                    "counterparty" if test == "domain" => {
                        let names = self.action.counterparties.iter();
                        over(names.map(|name| leads(name.as_str(), value, each)).collect())
                    }
                    "resource" if test == "owner" => {
                        self.action.resource.as_ref().is_some_and(|resource| self.owns(value, resource))
                    }
                    "counterparty" if test == "known" => over(
                        self.action.counterparties.iter().map(|name| *value == self.knows(name)).collect(),
                    ),
                    "counterparty" => {
                        over(self.action.counterparties.iter().map(|name| listed(name.as_str())).collect())
                    }
                    "country" => {
                        let countries = self.action.country.into_iter().chain(self.case.country_fixed);
                        over(countries.map(|country| listed(country.as_str())).collect())
                    }
                    "resource" => self.action.resource.as_ref().is_some_and(|resource| {
                        if test == "prefix" {
                            resource.as_str().starts_with(value.as_str().unwrap())
                        } else {
                            listed(resource.as_str())
                        }
                    }),
                    other => panic!("{other}"),
                }
            })
        })
    }

    fn owns(&self, owner: &Value, thing: &ExternalName) -> bool {
        let stated = self.action.facts.as_ref().and_then(|facts| facts["owners"][thing.as_str()].as_str());
        stated.is_some_and(|stated| {
            if owner == "principal" {
                stated == "principal" || stated == principal().to_string()
            } else {
                stated != "principal" && self.action.counterparties.iter().any(|name| name.as_str() == stated)
            }
        })
    }

    /// Whether what the call carries passes the tests of one member of `when`.
    fn carries(&self, fact: &str, tests: &Value, each: bool) -> bool {
        let arguments = self.action.arguments.as_deref();
        let values = |of: Option<&serde_json::Map<String, Value>>| {
            of.is_some_and(|members| {
                tests.as_object().unwrap().iter().all(|(place, tests)| {
                    all_pass(tests, members.get(place.strip_prefix('/').unwrap()), each)
                })
            })
        };
        let mut found = Vec::new();
        if let Some(arguments) = arguments {
            texts(&Value::Object(arguments.clone()), &mut found);
        }
        match fact {
            "arguments" => values(arguments),
            "facts" => values(self.action.facts.as_ref()),
            "evidence" => self.evidence(tests, each),
            "labels" => tests.as_object().unwrap().iter().all(|(label, tests)| {
                let declared = self.policy["labels"][label].as_array().cloned().unwrap_or_default();
                let rank = |level: &Value| declared.iter().position(|declared| declared == level);
                let Some(level) = self.action.labels.get(label) else { return false };
                let given = rank(&json!(level));
                tests.as_object().unwrap().iter().all(|(test, level)| match (given, rank(level)) {
                    (Some(given), Some(bound)) if test == "at_most" => given <= bound,
                    (Some(given), Some(bound)) => given >= bound,
                    _ => !each,
                })
            }),
            "links" => {
                let links: Vec<&str> = found.iter().flat_map(|text| links(text)).collect();
                let inside = |link: &&str| is_within(link, &tests["domain"]);
                let unclear = |link: &&str| *link == "-";
                arguments.is_some()
                    && if each {
                        links.iter().all(inside)
                    } else {
                        links.iter().any(|link| inside(link) || unclear(link))
                    }
            }
            "contains" => {
                let plain = |text: &str| {
                    text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect::<String>()
                };
                let protected = tests["not_in"].as_array().unwrap();
                // What the texts that calls carry hold of two classes.
                let holds = |text: &str, value: &str| match value {
                    "card" => text.contains("4111 1111 1111 1111"),
                    "email" => regex::Regex::new("[a-z]+@([a-z]+[.])+[a-z]+").unwrap().is_match(text),
                    value => plain(text).contains(&plain(value)),
                };
                let is_free =
                    |text: &String| !protected.iter().any(|value| holds(text, value.as_str().unwrap()));
                arguments.is_some() && found.iter().all(is_free)
            }
            other => panic!("{other}"),
        }
    }

    fn evidence(&self, tests: &Value, each: bool) -> bool {
        let Some(evidence) = &self.action.evidence else { return false };
        let count = evidence.cites.len();
        let sure = tests["confidence"]["at_least"].as_str().is_none_or(|least| {
            let least: f64 = least.parse().unwrap();
            evidence.confidence.as_ref().is_some_and(|sure| sure.to_string().parse::<f64>().unwrap() >= least)
        });
        let cites = &tests["cites"];
        let owned = cites["owner"].is_null() || {
            let owned = evidence.cites.iter().filter(|thing| self.owns(&cites["owner"], thing)).count();
            owned > 0 && (owned == count || !each)
        };
        let is = |found: usize, bound: &Value| bound.as_u64() == u64::try_from(found).ok();
        let enough = cites["at_least"].as_u64().is_none_or(|least| u64::try_from(count).unwrap() >= least);
        sure && owned && enough && (cites["exactly"].is_null() || is(count, &cites["exactly"]))
    }

    fn document(&self, clauses: &Value, unlisted: Outcome) -> Outcome {
        let named: Vec<&Value> = (clauses.as_array().unwrap().iter())
            .filter(|clause| names(clause, self.action.intent.as_str()))
            .collect();
        let acts = |effect: &str| named.iter().any(|clause| clause["effect"] == effect && self.holds(clause));
        let allowances: Vec<&&Value> = named.iter().filter(|clause| clause["effect"] == "allow").collect();
        if acts("refuse") {
            return Outcome::Refuse;
        }
        let otherwise = if allowances.iter().any(|clause| self.holds(clause)) {
            Outcome::Allow
        } else if allowances.iter().any(|clause| clause["otherwise"] == "refuse") {
            Outcome::Refuse
        } else if !allowances.is_empty() {
            Outcome::Escalate
        } else if acts("escalate") {
            Outcome::Allow
        } else {
            unlisted
        };
        if acts("escalate") { otherwise.max(Outcome::Escalate) } else { otherwise }
    }

    fn tenant(&self, policy: &Value) -> Outcome {
        let me = agent().to_string();
        let sure: Vec<&str> = [
            self.action.country.filter(|_| self.action.facts_from != FactsFrom::Described),
            self.case.country_fixed,
        ]
        .into_iter()
        .flatten()
        .map(Country::as_str)
        .collect();
        let countries = if sure.is_empty() { vec!["DE", "FR", "none of them"] } else { sure };
        let strictest = countries.into_iter().map(|country| {
            let fits = |set: &&Value| {
                let (agent, land) = (&set["applies"]["agent"], &set["applies"]["country"]);
                (agent.is_null() || *agent == me) && (land.is_null() || *land == country)
            };
            let weight = |set: &&Value| {
                2 * u8::from(set["applies"]["agent"].is_string())
                    + u8::from(set["applies"]["country"].is_string())
            };
            let chosen = policy["rule_sets"].as_array().unwrap().iter().filter(fits).max_by_key(weight);
            chosen.map_or(Outcome::Allow, |set| self.document(&set["clauses"], Outcome::Allow))
        });
        let unregistered = match policy["unregistered"].as_str() {
            Some("escalate") if !self.action.registered => Outcome::Escalate,
            Some("refuse") if !self.action.registered => Outcome::Refuse,
            Some(_) | None => Outcome::Allow,
        };
        strictest.max().unwrap().max(unregistered)
    }

    fn credential(&self, clauses: &Value) -> Outcome {
        let allows = clauses.as_array().unwrap().iter().any(|clause| clause["effect"] == "allow");
        self.document(clauses, if allows { Outcome::Escalate } else { Outcome::Allow })
    }

    fn decide(&self) -> Outcome {
        let carries =
            |scopes: &Value| scopes.as_array().unwrap().iter().any(|scope| scope == "action:request");
        let valid = &self.mandate["valid"];
        let instant = |member: &str| valid[member].as_str().map(at);
        if !carries(&self.mandate["scopes"])
            || self.case.kind == AgentKind::Answering
            || instant("from").is_some_and(|from| self.case.now < from)
            || instant("until").is_some_and(|until| until <= self.case.now)
        {
            return Outcome::Refuse;
        }
        let unlisted = if self.mandate["unlisted"] == "refuse" { Outcome::Refuse } else { Outcome::Escalate };
        let of_kind = if self.case.kind == AgentKind::Reading { Outcome::Escalate } else { Outcome::Allow };
        let of_credentials = self.credentials.iter().map(|clauses| self.credential(clauses)).max();
        self.document(&self.mandate["clauses"], unlisted)
            .max(self.tenant(self.policy))
            .max(of_credentials.unwrap_or(Outcome::Allow))
            .max(of_kind)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// A thousand standings, a hundred actions each.
    #[test]
    fn two_ways_of_deciding_agree(
        mandate in mandates(),
        (policy, _) in policy_pairs(),
        (own, inherited) in clause_lists(),
        kind in prop::sample::select(vec![AgentKind::Acting, AgentKind::Acting, AgentKind::Reading, AgentKind::Answering]),
        fixed in prop::sample::select(vec![None, None, Some("DE"), Some("FR")]),
        credentials in 0..3usize,
        seed: u64,
    ) {
        let mut case = Case::new(mandate);
        case.policy = policy;
        case.kind = kind;
        case.country_fixed = fixed.map(|country| country.parse().unwrap());
        case.credentials = [clauses(own), clauses(inherited)].into_iter().take(credentials).collect();
        let (mandate, policy) = (case.mandate.to_json(), case.policy.to_json());
        let credentials: Vec<Value> = case.credentials.iter().map(CredentialClauses::to_json).collect();
        let mut dice = Dice(seed);
        for _ in 0..100 {
            let action = carried::action(&mut dice);
            case.known = if dice.once_in(2) { [name("p"), name("ann@x.a.example")].into() } else { [name("r")].into() };
            case.now = carried::instant(&mut dice);
            let world = World { case: &case, mandate: &mandate, policy: &policy, credentials: &credentials, action: &action };
            prop_assert_eq!(case.decide(&action).outcome, world.decide(), "{:?} at {}", action, case.now);
        }
    }
}
