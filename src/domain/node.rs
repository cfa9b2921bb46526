//! Reading a JSON value member by member, collecting everything that is wrong instead of stopping at the first.

use super::{Amount, Currency, Fault, Malformed};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, ops::RangeInclusive, str::FromStr};

/// More faults than anyone reads; what lies beyond is left out.
const MOST_FAULTS: usize = 100;
/// How much of a wrong text is shown.
const SHOWN_CHARACTERS: usize = 64;

/// What was found wrong so far.
#[derive(Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Notes one thing wrong at `pointer`.
    pub(crate) fn add(&mut self, pointer: &str, detail: impl Into<String>) {
        if self.0.len() < MOST_FAULTS {
            self.0.push(Fault { pointer: pointer.to_owned(), detail: detail.into() });
        }
    }

    /// Notes what another reader found at and below `pointer`.
    pub(crate) fn add_all(&mut self, malformed: Malformed, pointer: &str) {
        for fault in malformed.under(pointer).faults {
            self.add(&fault.pointer, fault.detail);
        }
    }

    /// What was read, if nothing was wrong with it.
    pub(crate) fn finish<T>(self, read: Option<T>) -> Result<T, Malformed> {
        match read {
            Some(read) if self.0.is_empty() => Ok(read),
            None if self.0.is_empty() => Err(Malformed::whole("cannot be read")),
            Some(_) | None => Err(Malformed { faults: self.0 }),
        }
    }
}

/// The members one kind of object may have.
pub(crate) struct Vocabulary {
    /// What such a member is called in messages: `member`, `condition`.
    pub noun: &'static str,
    /// Those that are read.
    pub allowed: &'static [&'static str],
}

/// One value of a document and where it stands.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    pointer: String,
}

impl<'a> Node<'a> {
    /// The whole document.
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { value, pointer: String::new() }
    }

    /// The value itself.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// Where it stands, as RFC 6901 writes it.
    pub(crate) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Notes that something is wrong here.
    pub(crate) fn fault(&self, faults: &mut Faults, detail: impl Into<String>) {
        faults.add(&self.pointer, detail);
    }

    /// The object here, if it is one; every member outside `vocabulary` is a fault.
    pub(crate) fn object(&self, vocabulary: &Vocabulary, faults: &mut Faults) -> Option<Members<'a>> {
        let members = self.open_object(faults)?;
        for name in members.iter().map(|(name, _)| name).filter(|name| !vocabulary.allowed.contains(name)) {
            let noun = vocabulary.noun;
            let shown = shorten(name);
            let detail = format!("unknown {noun} `{shown}`, allowed: {}", vocabulary.allowed.join(", "));
            faults.add(&below(&self.pointer, name), detail);
        }
        Some(members)
    }

    /// The object here, whatever its members are called.
    pub(crate) fn open_object(&self, faults: &mut Faults) -> Option<Members<'a>> {
        match self.value.as_object() {
            Some(object) => Some(Members { object, pointer: self.pointer.clone() }),
            None => self.unexpected("an object", faults),
        }
    }

    /// The entries of the list here, if there are as many as `length` says.
    pub(crate) fn list(&self, length: RangeInclusive<usize>, faults: &mut Faults) -> Option<Vec<Node<'a>>> {
        let Some(items) = self.value.as_array() else { return self.unexpected("a list", faults) };
        if !length.contains(&items.len()) {
            let detail =
                format!("{} entries, {} to {} are allowed", items.len(), length.start(), length.end());
            self.fault(faults, detail);
            return None;
        }
        let entry = |(index, value)| Node { value, pointer: format!("{}/{index}", self.pointer) };
        Some(items.iter().enumerate().map(entry).collect())
    }

    /// The entries of the list here, each read from its text and none standing twice.
    pub(crate) fn set<T>(&self, length: RangeInclusive<usize>, faults: &mut Faults) -> Option<BTreeSet<T>>
    where
        T: FromStr<Err = String> + Ord,
    {
        let mut set = BTreeSet::new();
        for entry in self.list(length, faults)? {
            if let Some(read) = entry.parse::<T>(faults)
                && !set.insert(read)
            {
                entry.fault(faults, format!("`{}` stands twice", shown(entry.value)));
            }
        }
        Some(set)
    }

    /// The text here.
    pub(crate) fn text(&self, faults: &mut Faults) -> Option<&'a str> {
        match self.value.as_str() {
            Some(text) => Some(text),
            None => self.unexpected("a text", faults),
        }
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self, faults: &mut Faults) -> Option<bool> {
        match self.value.as_bool() {
            Some(truth) => Some(truth),
            None => self.unexpected("true or false", faults),
        }
    }

    /// What the text here says, in a type that knows what it accepts.
    pub(crate) fn parse<T: FromStr<Err = String>>(&self, faults: &mut Faults) -> Option<T> {
        match self.text(faults)?.parse() {
            Ok(read) => Some(read),
            Err(detail) => {
                self.fault(faults, detail);
                None
            }
        }
    }

    /// One of several words, each standing for a value.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)], faults: &mut Faults) -> Option<T> {
        let found = self.value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.fault(faults, format!("`{}` found, allowed: {}", shown(self.value), allowed.join(", ")));
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// `{value, currency}`, the value a decimal in major units.
    pub(crate) fn amount(&self, faults: &mut Faults) -> Option<Amount> {
        const AMOUNT: Vocabulary = Vocabulary { noun: "member", allowed: &["value", "currency"] };
        let members = self.object(&AMOUNT, faults)?;
        let value = members.required("value", faults);
        let currency = members.required("currency", faults).and_then(|node| node.parse::<Currency>(faults));
        let (value, currency) = (value?, currency?);
        match Amount::from_json(value.value, currency) {
            Ok(amount) => Some(amount),
            Err(detail) => {
                value.fault(faults, detail);
                None
            }
        }
    }

    /// Notes that something else stands here than is expected.
    pub(crate) fn unexpected<T>(&self, expected: &str, faults: &mut Faults) -> Option<T> {
        self.fault(faults, format!("{} found, {expected} expected", found(self.value)));
        None
    }
}

/// The members of one object.
pub(crate) struct Members<'a> {
    object: &'a Map<String, Value>,
    pointer: String,
}

impl<'a> Members<'a> {
    /// The member of that name.
    pub(crate) fn get(&self, name: &str) -> Option<Node<'a>> {
        let value = self.object.get(name)?;
        Some(Node { value, pointer: below(&self.pointer, name) })
    }

    /// The member of that name; its absence is a fault.
    pub(crate) fn required(&self, name: &str, faults: &mut Faults) -> Option<Node<'a>> {
        let found = self.get(name);
        if found.is_none() {
            faults.add(&self.pointer, format!("member `{name}` is missing"));
        }
        found
    }

    /// Every member with its name, in the order of the names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        let mut members: Vec<_> = self.object.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        let node = |(name, value): (&'a String, &'a Value)| {
            (name.as_str(), Node { value, pointer: below(&self.pointer, name) })
        };
        members.into_iter().map(node).collect::<Vec<_>>().into_iter()
    }

    /// The members as they stand.
    pub(crate) fn object(&self) -> &'a Map<String, Value> {
        self.object
    }
}

/// The pointer to a member of what `pointer` names (RFC 6901 §3).
pub(crate) fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A wrong value as a message shows it: short, on one line, nothing hidden in it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shorten(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) => "[…]".to_owned(),
        Value::Object(_) => "{…}".to_owned(),
    }
}

/// What stands where something else is expected: a text is called one, since `"3"` looks like 3 otherwise.
pub(crate) fn found(value: &Value) -> String {
    let what = if value.is_string() { "the text " } else { "" };
    format!("{what}`{}`", shown(value))
}

fn shorten(text: &str) -> String {
    let mut short: String =
        text.chars().take(SHOWN_CHARACTERS).collect::<String>().escape_debug().to_string();
    if text.chars().nth(SHOWN_CHARACTERS).is_some() {
        short.push('…');
    }
    short
}
