//! Values that no call may carry: compared by their letters and digits alone, whatever surrounds them.

use crate::domain::Decimal;
use serde_json::{Map, Value};
use std::{cmp::Ordering, collections::BTreeSet};
use unicode_normalization::UnicodeNormalization;

/// The fewest letters and digits a protected literal has; fewer would be found everywhere.
const FEWEST: usize = 4;
/// The most bytes of a protected literal.
const LONGEST_BYTES: usize = 256;
/// The classes of personal data that a clause may name once texts are screened for them.
const CLASSES: [&str; 5] = ["card", "email", "iban", "national_id", "phone"];

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

    /// Reads a value as a clause lists it.
    pub(super) fn plain(text: &str) -> Result<Self, String> {
        if CLASSES.contains(&text) {
            return Err(format!(
                "the class of personal data `{text}` is not supported yet; the value itself is written \
                 {{\"literal\": \"{text}\"}}"
            ));
        }
        Self::quoted(text)
    }

    /// Whether it could be meant as the name of a class of personal data.
    pub(super) fn looks_like_a_class(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }

    /// Whether it has to be written as `{literal: …}`.
    pub(super) fn is_spelt_like_a_class(&self) -> bool {
        CLASSES.contains(&self.text.as_str())
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
    for (name, value) in object {
        collect(name, &mut texts);
        collect_below(value, &mut texts);
    }
    texts
}

fn collect_below(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => collect(text, texts),
        // With all its digits: a card number is one however a program writes it.
        Value::Number(number) => {
            let digits = Decimal::of(value).map_or_else(|| number.to_string(), |decimal| decimal.to_string());
            collect(&digits, texts);
        }
        Value::Array(items) => items.iter().for_each(|item| collect_below(item, texts)),
        Value::Object(object) => texts.extend(texts_in(object)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn collect(text: &str, texts: &mut Vec<String>) {
    let folded = fold(text);
    if folded.len() >= FEWEST {
        texts.push(folded);
    }
}

/// Whether one of the texts contains one of the values.
pub(super) fn found(texts: &[String], literals: &BTreeSet<Literal>) -> bool {
    literals.iter().any(|literal| texts.iter().any(|text| text.contains(&literal.folded)))
}

/// Whether a text free of the `inner` values is free of the `outer` ones.
pub(super) fn within(inner: &BTreeSet<Literal>, outer: &BTreeSet<Literal>) -> bool {
    outer.iter().all(|outer| inner.iter().any(|inner| outer.folded.contains(&inner.folded)))
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
        let literals = BTreeSet::from([Literal::plain(literal).unwrap()]);
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
        assert_eq!(Literal::plain("a-1-b").unwrap_err(), "`a-1-b` has fewer than 4 letters and digits");
        assert!(Literal::plain("a1b2").is_ok());
        assert!(Literal::plain(&"x".repeat(257)).unwrap_err().contains("257 bytes, 256 are allowed"));
    }

    #[test]
    fn a_class_is_not_taken_for_a_value() {
        assert!(
            Literal::plain("iban")
                .unwrap_err()
                .starts_with("the class of personal data `iban` is not supported yet")
        );
        assert!(Literal::quoted("iban").is_ok());
        assert!(Literal::plain("passport_number").unwrap().looks_like_a_class());
        assert!(!Literal::plain("Project Falcon").unwrap().looks_like_a_class());
    }
}
