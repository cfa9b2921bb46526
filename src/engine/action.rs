//! What the gate decides on: the facts of one action, derived from the arguments wherever the intent is known.

use super::catalogue::{CatalogueEntry, Place, text};
use super::node::{Faults, shown};
use super::pointer::lookup;
use super::request::{Described, Evidence, MOST_COUNTERPARTIES};
use crate::domain::{Amount, Country, Currency, ExternalName, FactsFrom, Intent, Malformed};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    sync::Arc,
};

/// The facts of one action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// Its name.
    pub intent: Intent,
    /// What it moves.
    pub amount: Option<Amount>,
    /// Whom it concerns; empty is nobody, which no bound on counterparties accepts.
    pub counterparties: Vec<ExternalName>,
    /// What it acts on.
    pub resource: Option<ExternalName>,
    /// Where it takes effect.
    pub country: Option<Country>,
    /// Whether text that others wrote may have shaped it, on the caller's word; yes unless said otherwise.
    pub untrusted: bool,
    /// What the tool will be called with.
    pub arguments: Option<Arc<Map<String, Value>>>,
    /// What the caller rests it on, on its word.
    pub evidence: Option<Evidence>,
    /// The levels of its labels, on the caller's word.
    pub labels: BTreeMap<String, String>,
    /// What an enforcement point states; under `owners`, whose each resource is.
    pub facts: Option<Map<String, Value>>,
    /// Whether the catalogue knows the intent.
    pub registered: bool,
    /// Whose word the facts are.
    pub facts_from: FactsFrom,
}

impl Action {
    /// The action as its caller describes it, for an intent that the catalogue does not know.
    pub fn described(described: &Described) -> Self {
        Self {
            intent: described.intent.clone(),
            amount: described.amount,
            counterparties: described.counterparties.clone().unwrap_or_default(),
            resource: described.resource.clone(),
            country: described.country,
            untrusted: described.untrusted.unwrap_or(true),
            arguments: described.arguments.clone(),
            evidence: described.evidence.clone(),
            labels: described.labels.clone(),
            facts: described.facts.clone(),
            registered: false,
            facts_from: FactsFrom::Described,
        }
    }
}

/// The action that the arguments make, for an intent that the catalogue knows.
///
/// # Errors
/// Missing arguments, arguments outside their schema (pointers begin with `/arguments`), facts that cannot
/// be read where they stand, and every described member that says otherwise than the arguments.
pub fn derive(entry: &CatalogueEntry, described: &Described) -> Result<Action, Malformed> {
    let Some(arguments) = &described.arguments else {
        let detail = format!(
            "member `arguments` is missing: the catalogue reads the facts of `{}` from them",
            described.intent
        );
        return Err(Malformed::at("/arguments", detail));
    };
    entry.check_arguments(arguments)?;
    let mut faults = Faults::default();
    let arguments = Arguments(arguments);
    let places = &entry.places;
    let action = Action {
        intent: described.intent.clone(),
        amount: amount(&arguments, entry, &mut faults),
        counterparties: counterparties(&arguments, &places.counterparties, &mut faults),
        resource: arguments.one(places.resource.as_ref(), &mut faults),
        country: arguments.one(places.country.as_ref(), &mut faults),
        untrusted: described.untrusted.unwrap_or(true),
        arguments: described.arguments.clone(),
        evidence: described.evidence.clone(),
        labels: described.labels.clone(),
        facts: described.facts.clone(),
        registered: true,
        facts_from: FactsFrom::Derived,
    };
    let action = faults.finish(Some(action))?;
    let mut faults = Faults::default();
    contradiction("/amount", described.amount.as_ref(), action.amount.as_ref(), &mut faults);
    contradiction("/resource", described.resource.as_ref(), action.resource.as_ref(), &mut faults);
    contradiction("/country", described.country.as_ref(), action.country.as_ref(), &mut faults);
    if let Some(names) = &described.counterparties {
        counterparty_contradiction(names, &action.counterparties, &mut faults);
    }
    faults.finish(Some(action))
}

/// The arguments a tool will be called with; a null counts as absent.
struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// What stands at a place, and where that is in the request.
    fn at(&self, place: Option<&'a Place>) -> Option<(&'a Value, String)> {
        match place? {
            Place::Const(value) => Some((value, "/arguments".to_owned())),
            Place::Pointer(pointer) => {
                let value = lookup(self.0, pointer)?;
                Some((value, format!("/arguments{pointer}")))
            }
        }
    }

    fn one<T: std::str::FromStr<Err = String>>(
        &self,
        place: Option<&'a Place>,
        faults: &mut Faults,
    ) -> Option<T> {
        let (value, pointer) = self.at(place)?;
        keep(text(value), &pointer, faults)
    }
}

fn keep<T>(read: Result<T, String>, pointer: &str, faults: &mut Faults) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(detail) => {
            faults.add(pointer, detail);
            None
        }
    }
}

fn amount(arguments: &Arguments<'_>, entry: &CatalogueEntry, faults: &mut Faults) -> Option<Amount> {
    let (value, pointer) = arguments.at(entry.places.amount.as_ref())?;
    let Some((currency, currency_pointer)) = arguments.at(entry.places.currency.as_ref()) else {
        faults.add(&pointer, format!("`{}` has no currency: the arguments name none", shown(value)));
        return None;
    };
    let currency = keep(text::<Currency>(currency), &currency_pointer, faults)?;
    keep(Amount::from_json(value, currency), &pointer, faults)
}

/// All names at all places, in their order, none twice.
fn counterparties(arguments: &Arguments<'_>, places: &[Place], faults: &mut Faults) -> Vec<ExternalName> {
    let mut names: Vec<ExternalName> = Vec::new();
    let mut seen = BTreeSet::new();
    for (value, pointer) in places.iter().filter_map(|place| arguments.at(Some(place))) {
        let entries: Vec<(&Value, String)> = match value.as_array() {
            Some(list) => {
                list.iter().enumerate().map(|(index, entry)| (entry, format!("{pointer}/{index}"))).collect()
            }
            None => vec![(value, pointer)],
        };
        for (entry, pointer) in entries {
            if let Some(name) = keep(text::<ExternalName>(entry), &pointer, faults)
                && seen.insert(name.clone())
            {
                names.push(name);
            }
        }
    }
    if names.len() > MOST_COUNTERPARTIES {
        let detail = format!("{} counterparties, {MOST_COUNTERPARTIES} are allowed", names.len());
        faults.add("/arguments", detail);
    }
    names
}

fn contradiction<T: PartialEq + Display>(
    pointer: &str,
    described: Option<&T>,
    derived: Option<&T>,
    faults: &mut Faults,
) {
    let Some(described) = described.filter(|described| Some(*described) != derived) else { return };
    let detail = match derived {
        Some(derived) => format!("`{described}` is described, the arguments say `{derived}`"),
        None => format!("`{described}` is described, the arguments say nothing of it"),
    };
    faults.add(pointer, detail);
}

/// Described counterparties are all of them, or a contradiction: what is left out counts too.
fn counterparty_contradiction(described: &[ExternalName], derived: &[ExternalName], faults: &mut Faults) {
    let quoted = |names: BTreeSet<&ExternalName>| {
        if names.is_empty() {
            return "nothing of it".to_owned();
        }
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let (described, derived): (BTreeSet<_>, BTreeSet<_>) =
        (described.iter().collect(), derived.iter().collect());
    if described != derived {
        let detail = format!("{} described, the arguments say {}", quoted(described), quoted(derived));
        faults.add("/counterparty", detail);
    }
}
