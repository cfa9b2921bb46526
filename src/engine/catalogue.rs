//! The intents a tenant knows: what their arguments look like, and where in them the facts stand.

use super::node::{Faults, Node, Vocabulary, shown};
use super::{keywords, pointer, published, schema};
use crate::domain::{Amount, Country, Currency, ExternalName, Intent, Label, Malformed};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// The most pointers an entry may give for counterparties.
const MOST_POINTERS: usize = 16;
/// The most bytes an entry's schema may have, written as JSON.
const LARGEST_SCHEMA_BYTES: usize = 32 * 1024;

const ENTRY: Vocabulary = Vocabulary {
    noun: "member",
    allowed: &[
        "title",
        "arguments",
        "effect",
        "irreversible",
        "outcome",
        "amount",
        "currency",
        "resource",
        "country",
        "counterparties",
    ],
};
const CONST: Vocabulary = Vocabulary { noun: "member", allowed: &["const"] };

/// The intents a tenant knows.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// By intent.
    pub entries: BTreeMap<Intent, Arc<CatalogueEntry>>,
}

impl Catalogue {
    /// What is known of `intent`.
    pub fn get(&self, intent: &Intent) -> Option<&CatalogueEntry> {
        self.entries.get(intent).map(Arc::as_ref)
    }
}

/// What is known of one intent.
#[derive(Clone, Debug)]
pub struct CatalogueEntry {
    /// What people call it.
    pub title: Label,
    /// Whether an allow lets something happen that must be reported on.
    pub effect: bool,
    /// Whether it cannot be taken back.
    pub irreversible: bool,
    /// Whose word on the ending releases a reservation.
    pub outcome: OutcomeFrom,
    /// Where in the arguments the facts stand.
    pub places: Places,
    schema: Value,
    validator: Validator,
}

/// Whose word on an effect's ending releases a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutcomeFrom {
    /// The agent's own.
    Agent,
    /// An enforcement point's or a person's.
    Attested,
}

/// Where in the arguments the facts stand.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Places {
    /// The amount, in major units of the currency.
    pub amount: Option<Place>,
    /// The currency; there is one wherever there is an amount.
    pub currency: Option<Place>,
    /// The resource.
    pub resource: Option<Place>,
    /// The country.
    pub country: Option<Place>,
    /// The counterparties: each place gives a name or a list of names, and all count.
    pub counterparties: Vec<Place>,
}

/// Where one fact stands.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// A JSON Pointer into the arguments (RFC 6901).
    Pointer(String),
    /// The same for every call.
    Const(Value),
}

impl CatalogueEntry {
    /// Reads an entry as an operator writes it.
    ///
    /// # Errors
    /// Everything wrong with it, each with its JSON Pointer; the schema of the arguments must itself be
    /// a valid JSON Schema of draft 2020-12 that refers to nothing outside itself.
    pub fn read(value: &Value) -> Result<Self, Malformed> {
        let mut faults = Faults::default();
        let entry = entry(&Node::root(value), &mut faults);
        let entry = faults.finish(entry)?;
        published::CATALOGUE.check(value)?;
        Ok(entry)
    }

    /// The entry as JSON, in the form that reads back as the same.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("title", json!(self.title));
        put("arguments", self.schema.clone());
        put("effect", json!(self.effect));
        if self.irreversible {
            put("irreversible", json!(true));
        }
        if self.outcome != default_outcome(self.irreversible) {
            put("outcome", json!(self.outcome.as_str()));
        }
        let places = &self.places;
        for (name, place) in [
            ("amount", &places.amount),
            ("currency", &places.currency),
            ("resource", &places.resource),
            ("country", &places.country),
        ] {
            if let Some(place) = place {
                put(name, place.to_json());
            }
        }
        if !places.counterparties.is_empty() {
            put("counterparties", places.counterparties.iter().map(Place::to_json).collect());
        }
        Value::Object(object)
    }

    /// Checks what an entry must hold beside before it is put: that every place it names may hold something at all, and
    /// that the schema of its arguments has no members that are no keywords.
    ///
    /// An entry that does not is read all the same, since it may have been put before that was checked: what it would
    /// derive is missing from every call, and what such a member was meant to bound is not bounded.
    ///
    /// # Errors
    /// Every pointer that leads nowhere in what the schema takes, and every member that is no keyword, with the nearest
    /// one that is.
    pub fn check_meant(&self) -> Result<(), Malformed> {
        let mut faults = Faults::default();
        let mut names = Faults::default();
        keywords::check_names(&Node::root(&self.schema), &mut names);
        if let Err(malformed) = names.finish(Some(())) {
            faults.add_all(malformed, "/arguments");
        }
        let places = &self.places;
        let single = [
            ("/amount", &places.amount),
            ("/currency", &places.currency),
            ("/resource", &places.resource),
            ("/country", &places.country),
        ];
        let single = single.into_iter().map(|(at, place)| (at.to_owned(), place.as_ref()));
        let listed = places.counterparties.iter().enumerate();
        let listed = listed.map(|(index, place)| (format!("/counterparties/{index}"), Some(place)));
        for (at, place) in single.chain(listed) {
            if let Some(Place::Pointer(pointer)) = place
                && !keywords::may_hold(&self.schema, pointer)
            {
                let shown = shown(&json!(pointer));
                faults.add(&at, format!("`{shown}` stands nowhere in what the schema of `arguments` takes"));
            }
        }
        faults.finish(Some(()))
    }

    /// Checks the arguments of a call; a fault's pointer begins with `/arguments`.
    pub(super) fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), Malformed> {
        schema::check(&self.validator, &Value::Object(arguments.clone()))
            .map_err(|malformed| malformed.under("/arguments"))
    }
}

impl OutcomeFrom {
    /// The word for it in catalogues.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Attested => "attested",
        }
    }
}

impl Place {
    fn to_json(&self) -> Value {
        match self {
            Self::Pointer(pointer) => json!(pointer),
            Self::Const(value) => json!({"const": value}),
        }
    }
}

const fn default_outcome(irreversible: bool) -> OutcomeFrom {
    if irreversible { OutcomeFrom::Attested } else { OutcomeFrom::Agent }
}

fn entry(node: &Node<'_>, faults: &mut Faults) -> Option<CatalogueEntry> {
    let members = node.object(&ENTRY, faults)?;
    let title = members.required("title", faults).and_then(|node| node.parse(faults));
    let effect = members.required("effect", faults).and_then(|node| node.boolean(faults));
    let irreversible = members.get("irreversible").and_then(|node| node.boolean(faults)).unwrap_or(false);
    if irreversible && effect == Some(false) {
        node.fault(faults, "`irreversible: true` needs `effect: true`");
    }
    let outcome = members.get("outcome").and_then(|node| {
        node.word(&[("agent", OutcomeFrom::Agent), ("attested", OutcomeFrom::Attested)], faults)
    });
    let mut one = |name| members.get(name).and_then(|node: Node<'_>| place(&node, faults));
    let (amount, currency, resource, country) =
        (one("amount"), one("currency"), one("resource"), one("country"));
    let counterparties = members.get("counterparties").and_then(|node| {
        let list = node.list(1..=MOST_POINTERS, faults)?;
        Some(list.iter().filter_map(|node| place(node, faults)).collect())
    });
    if let (Some(amount), None) = (members.get("amount"), members.get("currency")) {
        amount.fault(faults, "an amount without `currency`: say where the currency stands, or what it is");
    }
    let places =
        Places { amount, currency, resource, country, counterparties: counterparties.unwrap_or_default() };
    constants(&places, faults);
    let arguments = members.required("arguments", faults).and_then(|node| {
        let validator = arguments_schema(&node, faults)?;
        Some((node.value().clone(), validator))
    });
    let (schema, validator) = arguments?;
    Some(CatalogueEntry {
        title: title?,
        effect: effect?,
        irreversible,
        outcome: outcome.unwrap_or(default_outcome(irreversible)),
        places,
        schema,
        validator,
    })
}

fn arguments_schema(node: &Node<'_>, faults: &mut Faults) -> Option<Validator> {
    node.open_object(faults)?;
    let bytes = node.value().to_string().len();
    if bytes > LARGEST_SCHEMA_BYTES {
        node.fault(faults, format!("{bytes} bytes, {LARGEST_SCHEMA_BYTES} are allowed"));
        return None;
    }
    let mut found = Faults::default();
    keywords::check(node, &mut found);
    if let Err(malformed) = found.finish(Some(())) {
        faults.add_all(malformed, "");
        return None;
    }
    match schema::compile(node.value()) {
        Ok(validator) => Some(validator),
        Err(malformed) => {
            faults.add_all(malformed, node.pointer());
            None
        }
    }
}

fn place(node: &Node<'_>, faults: &mut Faults) -> Option<Place> {
    if let Some(written) = node.value().as_str() {
        if let Some(why) = pointer::objection(written) {
            node.fault(faults, format!("`{}` is not a JSON Pointer: {why}", shown(node.value())));
            return None;
        }
        return Some(Place::Pointer(written.to_owned()));
    }
    if !node.value().is_object() {
        let detail = format!("`{}` found, a JSON Pointer or {{\"const\": …}} expected", shown(node.value()));
        node.fault(faults, detail);
        return None;
    }
    let constant = node.object(&CONST, faults)?.required("const", faults)?;
    Some(Place::Const(constant.value().clone()))
}

/// What is the same for every call is checked once, here.
fn constants(places: &Places, faults: &mut Faults) {
    fn check<T>(
        name: &str,
        place: Option<&Place>,
        faults: &mut Faults,
        read: impl Fn(&Value) -> Result<T, String>,
    ) {
        if let Some(Place::Const(value)) = place
            && let Err(detail) = read(value)
        {
            faults.add(&format!("/{name}/const"), detail);
        }
    }
    check("currency", places.currency.as_ref(), faults, text::<Currency>);
    check("country", places.country.as_ref(), faults, text::<Country>);
    check("resource", places.resource.as_ref(), faults, text::<ExternalName>);
    for (index, place) in places.counterparties.iter().enumerate() {
        check(&format!("counterparties/{index}"), Some(place), faults, text::<ExternalName>);
    }
    if let Some(Place::Const(currency)) = &places.currency
        && let Ok(currency) = text::<Currency>(currency)
    {
        check("amount", places.amount.as_ref(), faults, |value| Amount::from_json(value, currency));
    }
}

/// What a JSON text says, in a type that knows what it accepts.
pub(super) fn text<T: std::str::FromStr<Err = String>>(value: &Value) -> Result<T, String> {
    match value.as_str() {
        Some(text) => text.parse(),
        None => Err(format!("`{}` found, a text expected", shown(value))),
    }
}
