//! Values that no call may carry: compared by their letters and digits alone, whatever surrounds them.

use crate::domain::Decimal;
use crate::screening::{Class, Detection, detect};
use serde_json::{Map, Value};
use std::{cmp::Ordering, collections::BTreeSet};
use unicode_normalization::UnicodeNormalization;

/// The fewest letters and digits a protected literal has; fewer would be found everywhere.
const FEWEST: usize = 4;
/// The most bytes of a protected literal.
const LONGEST_BYTES: usize = 256;

/// What no argument may contain: values of some classes of personal data, and values that are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// The classes.
    pub classes: BTreeSet<Class>,
    /// The values.
    pub literals: BTreeSet<Literal>,
}

impl Protected {
    /// How many entries it has.
    pub(super) fn len(&self) -> usize {
        self.classes.len() + self.literals.len()
    }

    /// Whether arguments free of this are free of the other.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let has = |outer: &Literal| self.literals.iter().any(|inner| outer.folded.contains(&inner.folded));
        other.classes.is_subset(&self.classes) && other.literals.iter().all(has)
    }
}

/// One entry of a list of what is protected.
pub(super) enum Entry {
    /// A class of personal data.
    Class(Class),
    /// A value.
    Literal(Literal),
}

impl Entry {
    /// Reads a text as a clause lists it: the name of a class is the class.
    pub(super) fn plain(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(class) => Ok(Self::Class(class)),
            Err(_) => Literal::quoted(text).map(Self::Literal),
        }
    }
}
/// One protected value.
#[derive(Clone, Debug)]
pub struct Literal {
    text: String,
    folded: String,
}

impl Literal {
    /// The value as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Reads a value that may also be spelt like the name of a class.
    pub(super) fn quoted(text: &str) -> Result<Self, String> {
        let shown = || text.chars().take(64).collect::<String>().escape_debug().to_string();
        let folded = fold(text);
        if text.len() > LONGEST_BYTES {
            return Err(format!("`{}` has {} bytes, {LONGEST_BYTES} are allowed", shown(), text.len()));
        }
        if folded.chars().count() < FEWEST {
            return Err(format!("`{}` has fewer than {FEWEST} letters and digits", shown()));
        }
        Ok(Self { text: text.to_owned(), folded })
    }

    /// Whether it could be meant as the name of a class of personal data.
    pub(super) fn looks_like_a_class(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }

    /// Whether it has to be written as `{literal: …}`.
    pub(super) fn is_spelt_like_a_class(&self) -> bool {
        self.text.parse::<Class>().is_ok()
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Literal {}

impl PartialOrd for Literal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Literal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

/// The names, texts and numbers in an object, at any depth, as letters and digits; those too short to contain any
/// value are left out.
pub(super) fn texts_in(object: &Map<String, Value>) -> Vec<String> {
    let mut texts = Vec::new();
    each_text(object, &mut |text| {
        let folded = fold(text);
        if folded.len() >= FEWEST {
            texts.push(folded);
        }
    });
    texts
}

fn each_text(object: &Map<String, Value>, see: &mut impl FnMut(&str)) {
    for (name, value) in object {
        see(name);
        each_text_below(value, see);
    }
}

fn each_text_below(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        // With all its digits: a card number is one however a program writes it.
        Value::Number(number) => {
            see(&Decimal::of(value).map_or_else(|| number.to_string(), |decimal| decimal.to_string()));
        }
        Value::Array(items) => items.iter().for_each(|item| each_text_below(item, see)),
        Value::Object(object) => each_text(object, see),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Whether one of the texts contains one of the values.
pub(super) fn found(texts: &[String], literals: &BTreeSet<Literal>) -> bool {
    literals.iter().any(|literal| texts.iter().any(|text| text.contains(&literal.folded)))
}

/// The classes of personal data of which the names, texts and numbers in an object hold a value.
pub(super) fn classes_in(object: &Map<String, Value>) -> BTreeSet<Class> {
    let mut classes = BTreeSet::new();
    each_text(object, &mut |text| {
        classes.extend(detect(text, &Detection::default()).into_iter().map(|finding| finding.class));
    });
    classes
}

/// How many bytes the names, texts and numbers in an object have.
pub(super) fn length_of(object: &Map<String, Value>) -> usize {
    let mut length = 0_usize;
    each_text(object, &mut |text| length = length.saturating_add(text.len()));
    length
}

/// Letters and digits in compatibility form, without case: `ß` and `SS`, `ﬁ` and `FI` are the same.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
    }
    let folded: String = text.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.nfkc().filter(|character| character.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_found(literal: &str, arguments: &Value) -> bool {
        let literals = BTreeSet::from([Literal::quoted(literal).unwrap()]);
        found(&texts_in(arguments.as_object().unwrap()), &literals)
    }

    #[test]
    fn a_value_is_found_however_it_is_written() {
        for arguments in [
            json!({"text": "pay DE89370400440532013000 now"}),
            json!({"text": "de89 3704 0044 0532 0130 00"}),
            json!({"text": "DE89-3704.0044/0532 0130_00"}),
            json!({"text": "ＤＥ８９３７０４００４４０５３２０１３０００"}),
            json!({"text": "DE89\u{200b}370400440532\u{ad}013000"}),
            json!({"deep": [[{"DE89370400440532013000": 1}]]}),
        ] {
            assert!(is_found("DE89 3704 0044 0532 0130 00", &arguments), "{arguments}");
        }
        assert!(is_found("4111 1111 1111 1111", &json!({"card": 4_111_111_111_111_111_i64})));
        assert!(is_found("41111111111111110000", &json!({"card": 41_111_111_111_111_110_000_f64})));
        assert!(is_found("Straße", &json!({"text": "STRASSE"})));
        assert!(is_found("ΟΔΟΣ", &json!({"text": "οδος"})), "the final sigma is a sigma");
        assert!(!is_found(
            "DE89 3704 0044 0532 0130 00",
            &json!({"text": "DE89370400440532013001", "a": true, "b": null})
        ));
        assert!(!is_found("1234", &json!({"a": "12", "b": "34"})));
    }

    #[test]
    fn a_value_too_short_to_mean_anything_is_refused() {
        assert_eq!(Literal::quoted("a-1-b").unwrap_err(), "`a-1-b` has fewer than 4 letters and digits");
        assert!(Literal::quoted("a1b2").is_ok());
        assert!(Literal::quoted(&"x".repeat(257)).unwrap_err().contains("257 bytes, 256 are allowed"));
    }

    #[test]
    fn a_class_is_not_taken_for_a_value() {
        assert!(matches!(Entry::plain("iban"), Ok(Entry::Class(Class::Iban))));
        assert!(matches!(Entry::plain("IBAN"), Ok(Entry::Literal(_))));
        assert!(Literal::quoted("iban").unwrap().is_spelt_like_a_class());
        assert!(Literal::quoted("passport_number").unwrap().looks_like_a_class());
        assert!(!Literal::quoted("Project Falcon").unwrap().looks_like_a_class());
    }

    #[test]
    fn classes_are_found_in_names_texts_and_numbers() {
        let classes = |arguments: Value| classes_in(arguments.as_object().unwrap());
        assert_eq!(classes(json!({"deep": [{"note": "card 4111 1111 1111 1111"}]})), [Class::Card].into());
        assert_eq!(classes(json!({"pan": 4_111_111_111_111_111_u64})), [Class::Card].into());
        assert_eq!(classes(json!({"jane@example.com": 1})), [Class::Email].into());
        assert_eq!(classes(json!({"card": "4111 1111 1111 1112"})), [].into());
    }
}
