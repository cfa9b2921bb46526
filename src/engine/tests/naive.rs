//! The same decisions taken a second way: straight from the JSON of the documents, with nothing clever, so
//! that a mistake in the engine has to be made twice to go unseen.

use super::generate::*;
use super::*;
use crate::domain::FactsFrom;
use proptest::{collection, prelude::*};

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

struct World<'a> {
    case: &'a Case,
    mandate: Value,
    action: &'a Action,
}

impl World<'_> {
    fn at_most(&self, most: &Value) -> bool {
        let (most, currency) = minor_units(most);
        self.action
            .amount
            .is_some_and(|amount| amount.currency().code() == currency && amount.minor_units() <= most)
    }

    fn knows(&self, name: &ExternalName) -> bool {
        let listed = self.mandate["counterparties"].as_array().cloned().unwrap_or_default();
        self.case.known.contains(name)
            || listed.iter().any(|entry| {
                let aliases = entry["aliases"].as_array().cloned().unwrap_or_default();
                let called =
                    entry["id"] == name.as_str() || aliases.iter().any(|alias| *alias == name.as_str());
                called && (entry["at_most"].is_null() || self.at_most(&entry["at_most"]))
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
            if fact == "untrusted" {
                return *tests == self.action.untrusted;
            }
            tests.as_object().unwrap().iter().all(|(test, value)| {
                let listed = |name: &str| {
                    value.as_array().unwrap().iter().any(|entry| entry == name) == (test == "in")
                };
                match fact.as_str() {
                    "amount" => self.at_most(value),
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

    fn policy(&self, policy: &Value) -> Outcome {
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
        let of_credentials =
            self.case.credentials.iter().map(|clauses| self.credential(&clauses.to_json())).max();
        self.document(&self.mandate["clauses"], unlisted)
            .max(self.policy(&self.case.policy.to_json()))
            .max(of_credentials.unwrap_or(Outcome::Allow))
            .max(of_kind)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn two_ways_of_deciding_agree(
        mandate in mandates(),
        (policy, _) in policy_pairs(),
        (own, inherited) in clause_lists(),
        kind in prop::sample::select(vec![AgentKind::Acting, AgentKind::Acting, AgentKind::Reading, AgentKind::Answering]),
        fixed in prop::sample::select(vec![None, None, Some("DE"), Some("FR")]),
        credentials in 0..3usize,
        tries in collection::vec((actions(), surroundings()), 30),
    ) {
        let mut case = Case::new(mandate);
        case.policy = policy;
        case.kind = kind;
        case.country_fixed = fixed.map(|country| country.parse().unwrap());
        case.credentials = [clauses(own), clauses(inherited)].into_iter().take(credentials).collect();
        for (action, (known, now)) in tries {
            (case.known, case.now) = (known, now);
            let world = World { case: &case, mandate: case.mandate.to_json(), action: &action };
            prop_assert_eq!(case.decide(&action).outcome, world.decide(), "{:?}", action);
        }
    }
}
