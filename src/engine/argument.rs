//! Tests of one value in a call's arguments, or among the facts that an enforcement point states.

use super::condition::Pass;
use super::links::may_lead_into;
use super::reach::HostDomains;
use crate::domain::Decimal;
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

/// The most bytes of a pattern, and of memory that it and its search may take.
const LONGEST_PATTERN_BYTES: usize = 256;
const LARGEST_PATTERN_BYTES: usize = 64 * 1024;
const LARGEST_SEARCH_BYTES: usize = 256 * 1024;
/// What a pattern of up to so many bytes costs a character.
const WEIGHTS: [(usize, usize); 2] = [(4 * 1024, 16), (16 * 1024, 64)];
/// What one beyond those costs.
const HEAVIEST: usize = 256;

/// A text, a number or a truth value: what values are compared with. Numbers are compared exactly and are never
/// equal to a text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scalar {
    /// `true` or `false`.
    Truth(bool),
    /// A number.
    Number(Decimal),
    /// A text, compared byte by byte.
    Text(Arc<str>),
}

impl Scalar {
    /// The value, unless it is null, a list or an object.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(truth) => Some(Self::Truth(*truth)),
            Value::Number(_) => Decimal::of(value).map(Self::Number),
            Value::String(text) => Some(Self::Text(text.as_str().into())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Truth(truth) => json!(truth),
            Self::Number(number) => {
                number.to_number().map_or_else(|| json!(number.to_string()), Value::Number)
            }
            Self::Text(text) => json!(text),
        }
    }

    /// The number that it is, or that it plainly writes as a text.
    fn number(&self) -> Option<Decimal> {
        match self {
            Self::Truth(_) => None,
            Self::Number(number) => Some(number.clone()),
            Self::Text(text) => text.parse().ok(),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Truth(_) | Self::Number(_) => None,
            Self::Text(text) => Some(text),
        }
    }

    /// Whether one is a text that plainly writes the other: whether a tool takes them for the same, nobody can tell.
    fn is_spelling_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(text), Self::Number(number)) | (Self::Number(number), Self::Text(text)) => {
                text.parse::<Decimal>().is_ok_and(|written| written == *number)
            }
            (Self::Text(text), Self::Truth(truth)) | (Self::Truth(truth), Self::Text(text)) => {
                &**text == if *truth { "true" } else { "false" }
            }
            (Self::Text(_), Self::Text(_))
            | (Self::Number(_) | Self::Truth(_), Self::Number(_) | Self::Truth(_)) => false,
        }
    }
}

/// A regular expression that a whole text has to match, in time linear in the text.
#[derive(Clone)]
pub struct Pattern {
    text: Arc<str>,
    regex: Regex,
    /// What one character of a text costs it at worst: the search falls back to following every state of the
    /// pattern where its cache does not hold what the text makes of it.
    weight: usize,
}

impl Pattern {
    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl FromStr for Pattern {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let shown = || text.chars().take(64).collect::<String>().escape_debug().to_string();
        if text.is_empty() || text.len() > LONGEST_PATTERN_BYTES {
            return Err(format!(
                "`{}` has {} bytes, 1 to {LONGEST_PATTERN_BYTES} are allowed",
                shown(),
                text.len()
            ));
        }
        let sized = |text: &str, bytes: usize| {
            RegexBuilder::new(text).size_limit(bytes).dfa_size_limit(LARGEST_SEARCH_BYTES).build().map_err(
                |error| {
                    let said = error.to_string();
                    let last =
                        said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_lowercase();
                    format!("`{}` is not a pattern that can be matched: {last}", shown())
                },
            )
        };
        // By itself first: `a)|(b` is a pattern only once something is put around it.
        let compile = |text: &str| sized(text, LARGEST_PATTERN_BYTES);
        compile(text)?;
        let whole = format!(r"\A(?:{text})\z");
        let regex = compile(&whole)?;
        let weight = WEIGHTS.into_iter().find(|(bytes, _)| sized(&whole, *bytes).is_ok());
        Ok(Self { text: text.into(), regex, weight: weight.map_or(HEAVIEST, |(_, weight)| weight) })
    }
}

/// A test of one value: it passes, it does not, or it cannot be compared.
///
/// A list stands for its entries. An allowance holds where there is one and every one passes; a refusal or escalation
/// acts where one passes or cannot be compared, as an object cannot be, a text under a bound of numbers, a number under
/// a test of texts, or `"7"` beside 7: where nobody can tell, it acts. Null is nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgumentTest {
    /// This.
    Equals(Scalar),
    /// One of these.
    In(BTreeSet<Scalar>),
    /// A text, a number or a truth value, and none of these nor another spelling of one.
    NotIn(BTreeSet<Scalar>),
    /// A number, or a text that plainly writes one, and no more than this.
    AtMost(Decimal),
    /// A number, or a text that plainly writes one, and no less than this.
    AtLeast(Decimal),
    /// A text that leads to a host in one of these.
    Domain(HostDomains),
    /// A text that begins so.
    Prefix(Arc<str>),
    /// A text that matches as a whole.
    Matches(Pattern),
    /// There is a value, or there is none.
    Exists(bool),
    /// A list with at least one entry, of which each passes all of these; for a refusal also a single value.
    Each(Vec<ArgumentTest>),
}

impl ArgumentTest {
    /// Its name in documents.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Equals(_) => "equals",
            Self::In(_) => "in",
            Self::NotIn(_) => "not_in",
            Self::AtMost(_) => "at_most",
            Self::AtLeast(_) => "at_least",
            Self::Domain(_) => "domain",
            Self::Prefix(_) => "prefix",
            Self::Matches(_) => "matches",
            Self::Exists(_) => "exists",
            Self::Each(_) => "each",
        }
    }

    /// What putting a value to this test costs, in comparisons of a character or so.
    pub(super) fn cost(&self, value: Option<&Value>) -> usize {
        const SCALAR: usize = 8;
        const HOST: usize = 64;
        let Some(value) = value else { return SCALAR };
        if let Self::Each(tests) = self {
            let of_item =
                |item| tests.iter().map(|test| test.cost(Some(item))).fold(0, usize::saturating_add);
            return items(value).iter().map(of_item).fold(SCALAR, usize::saturating_add);
        }
        let entries = entries(value);
        let length: usize = entries.iter().filter_map(|entry| entry.as_str()).map(str::len).sum();
        let (each, character) = match self {
            Self::Domain(_) => (HOST, 1),
            Self::Matches(pattern) => (SCALAR, pattern.weight),
            Self::Equals(_)
            | Self::In(_)
            | Self::NotIn(_)
            | Self::AtMost(_)
            | Self::AtLeast(_)
            | Self::Prefix(_)
            | Self::Exists(_)
            | Self::Each(_) => (SCALAR, 1),
        };
        entries.len().saturating_mul(each).saturating_add(length.saturating_mul(character))
    }

    /// Whether a value passes; null is none.
    pub(super) fn holds(&self, value: Option<&Value>, pass: Pass) -> bool {
        let value = value.filter(|value| !value.is_null());
        match (self, value) {
            (Self::Exists(expected), _) => value.is_some() == *expected,
            (_, None) => false,
            (Self::Each(tests), Some(value)) => {
                let passes = |item| tests.iter().all(|test| test.holds(Some(item), pass));
                match pass {
                    Pass::Every => {
                        value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(passes))
                    }
                    // One entry that a refusal is about is enough, whatever stands beside it, and so is the entry alone.
                    Pass::Any => items(value).iter().any(passes),
                }
            }
            (_, Some(value)) => {
                let mut entries = entries(value).into_iter().peekable();
                match pass {
                    Pass::Every => entries.peek().is_some() && entries.all(|entry| self.takes(entry, pass)),
                    Pass::Any => entries.any(|entry| self.takes(entry, pass)),
                }
            }
        }
    }

    /// Whether one entry passes, where a refusal also takes what cannot be compared.
    fn takes(&self, entry: &Value, pass: Pass) -> bool {
        let unclear = !entry.is_null() && pass == Pass::Any;
        Scalar::of(entry).map_or(unclear, |scalar| self.accepts(&scalar, pass))
    }

    /// Whether one text, number or truth value passes by itself.
    fn accepts(&self, scalar: &Scalar, pass: Pass) -> bool {
        self.answers(scalar).unwrap_or(match pass {
            Pass::Every => false,
            Pass::Any => true,
        })
    }

    /// Whether one text, number or truth value passes; `None` where it cannot be compared.
    fn answers(&self, scalar: &Scalar) -> Option<bool> {
        let among = |listed: &BTreeSet<Scalar>| {
            let unclear = !listed.contains(scalar) && listed.iter().any(|entry| entry.is_spelling_of(scalar));
            (!unclear).then(|| listed.contains(scalar))
        };
        match self {
            Self::Equals(expected) => (!expected.is_spelling_of(scalar)).then(|| scalar == expected),
            Self::In(listed) => among(listed),
            Self::NotIn(excluded) => among(excluded).map(|listed| !listed),
            Self::AtMost(most) => scalar.number().map(|number| number <= *most),
            Self::AtLeast(least) => scalar.number().map(|number| number >= *least),
            Self::Domain(domains) => {
                let text = scalar.text()?;
                match (domains.reach(text), may_lead_into(text, domains)) {
                    (true, _) => Some(true),
                    (false, true) => None,
                    (false, false) => Some(false),
                }
            }
            Self::Prefix(prefix) => scalar.text().map(|text| text.starts_with(&**prefix)),
            Self::Matches(pattern) => scalar.text().map(|text| pattern.regex.is_match(text)),
            Self::Exists(_) | Self::Each(_) => Some(false),
        }
    }

    /// The first number that fails a bound, to be named beside it.
    pub(super) fn failing_number(&self, value: &Value) -> Option<Decimal> {
        entries(value)
            .into_iter()
            .filter_map(Scalar::of)
            .filter(|scalar| !self.accepts(scalar, Pass::Every))
            .find_map(|scalar| scalar.number())
    }

    /// Whether every value that passes `self` passes `test`, and every one that may pass `self` may pass `test`,
    /// whichever way lists are read.
    pub(super) fn implies(&self, test: &Self) -> bool {
        match (self, test) {
            (premise, Self::Exists(true)) => *premise != Self::Exists(false),
            (premise, Self::Exists(false)) => *premise == Self::Exists(false),
            (Self::Each(inner), Self::Each(outer)) => {
                outer.iter().all(|test| inner.iter().any(|premise| premise.implies(test)))
            }
            (Self::Each(inner), test) => inner.iter().any(|premise| premise.implies(test)),
            (Self::Exists(_), _) | (_, Self::Each(_)) => false,
            (Self::Equals(value), test) => test.accepts(value, Pass::Every),
            (Self::In(listed), test) => listed.iter().all(|value| test.accepts(value, Pass::Every)),
            (premise, Self::NotIn(excluded)) => {
                // What a refusal by `premise` takes because it cannot be compared, this one has to take too.
                !excluded.iter().any(|value| premise.accepts(value, Pass::Any))
            }
            (Self::AtMost(inner), Self::AtMost(outer)) => inner <= outer,
            (Self::AtLeast(inner), Self::AtLeast(outer)) => inner >= outer,
            (Self::Domain(inner), Self::Domain(outer)) => inner.within(outer),
            (Self::Prefix(inner), Self::Prefix(outer)) => inner.starts_with(&**outer),
            (Self::Matches(inner), Self::Matches(outer)) => inner == outer,
            (
                Self::NotIn(_)
                | Self::AtMost(_)
                | Self::AtLeast(_)
                | Self::Domain(_)
                | Self::Prefix(_)
                | Self::Matches(_),
                _,
            ) => false,
        }
    }

    /// Whether it is plain that no single value passes both; what cannot be compared passes neither.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        let none_of =
            |listed: &BTreeSet<Scalar>| !listed.iter().any(|value| other.accepts(value, Pass::Every));
        match (self, other) {
            (Self::Exists(false), other) => *other != Self::Exists(false),
            (_, Self::Exists(_) | Self::Each(_)) | (Self::Each(_) | Self::Exists(true), _) => false,
            (Self::Equals(value), other) => !other.accepts(value, Pass::Every),
            (Self::In(listed), _) => none_of(listed),
            (Self::AtLeast(least), Self::AtMost(most)) => least > most,
            (
                Self::NotIn(_)
                | Self::AtMost(_)
                | Self::AtLeast(_)
                | Self::Domain(_)
                | Self::Prefix(_)
                | Self::Matches(_),
                _,
            ) => false,
        }
    }
}

/// The entries of a list, or a single value as if it stood in one.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// A value, or the entries of a list at any depth.
fn entries(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(entries).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => vec![value],
    }
}
