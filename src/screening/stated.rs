//! The values that a sentence states: amounts, numbers, dates, addresses, anything with a digit in it.

use super::{Finding, Language};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// The longest word that is looked at as a value, in bytes.
const LONGEST_VALUE_BYTES: usize = 128;
/// From how many letters on a value that stands inside another is no accident.
const LONG_ENOUGH: usize = 8;
/// The most values that are looked into rather than looked up.
const MOST_LOOKED_INTO: usize = 256;
/// The deepest object or list whose values are looked at.
const DEEPEST: usize = 16;

/// A value as it is compared: a number in its plain form, or letters and digits alone in capitals.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Plain(String);

impl Plain {
    /// The form of what is written in a text of that language.
    pub(super) fn of(written: &str, language: Language) -> Self {
        let written: String = written.nfkc().collect();
        let bare = written.trim_matches(|mark: char| !mark.is_alphanumeric());
        let unit_end = bare.find(|letter: char| letter.is_ascii_digit()).unwrap_or_default();
        let (unit, amount) = bare.split_at(unit_end);
        let is_unit =
            unit.chars().all(|mark| !mark.is_alphanumeric()) || ["R$", "US$"].contains(&unit.trim());
        match number(amount, language) {
            Some(number) if is_unit => Self(number),
            Some(_) | None => Self(
                bare.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_uppercase).collect(),
            ),
        }
    }
}

impl Plain {
    /// Whether what a call was sent holds this value: as one of its values, or within one where it is long enough to
    /// be no accident.
    pub(super) fn is_within(&self, sent: &BTreeSet<Self>, is_masked: bool) -> bool {
        let is_few = sent.len() <= MOST_LOOKED_INTO;
        if is_masked {
            return is_few && sent.iter().any(|value| value.0.ends_with(&self.0));
        }
        sent.contains(self)
            || is_few && self.0.len() >= LONG_ENOUGH && sent.iter().any(|value| value.0.contains(&self.0))
    }
}

/// A value that a sentence states.
pub(super) struct Stated {
    /// Where, in bytes of the text.
    pub span: Range<usize>,
    /// What it says.
    pub plain: Plain,
    /// Whether all but its end is masked.
    pub is_masked: bool,
}

/// The values a sentence states. What stands in one of `found` is one value, whatever blanks it has.
pub(super) fn stated(
    text: &str,
    sentence: &Range<usize>,
    found: &[Finding],
    language: Language,
) -> Vec<Stated> {
    let said = text.get(sentence.clone()).unwrap_or_default();
    let mut values: Vec<Stated> = Vec::new();
    let inside =
        found.iter().filter(|found| sentence.start <= found.span.start && found.span.end <= sentence.end);
    for found in inside {
        let value = text.get(found.span.clone()).unwrap_or_default();
        let bare: String = value.chars().filter(|letter| letter.is_alphanumeric()).collect();
        values.push(Stated { span: found.span.clone(), plain: Plain::of(&bare, language), is_masked: false });
    }
    let mut personal =
        values.iter().map(|value| value.span.clone()).collect::<Vec<_>>().into_iter().peekable();
    let mut at = 0;
    for (position, piece) in said.split_whitespace().enumerate() {
        let start = said.get(at..).and_then(|rest| rest.find(piece)).map_or(at, |place| at + place);
        at = start + piece.len();
        let begin = sentence.start + start;
        let span = begin..begin + piece.len();
        let is_list_number = position == 0 && piece.len() <= 4 && piece.ends_with(['.', ')']);
        while personal.next_if(|known| known.end <= span.start).is_some() {}
        let is_personal = personal.peek().is_some_and(|known| known.start < span.end);
        let is_masked =
            piece.contains("**") || said.get(..start).is_some_and(|before| before.trim_end().ends_with("**"));
        if piece.len() <= LONGEST_VALUE_BYTES
            && piece.contains(char::is_numeric)
            && !is_list_number
            && !is_personal
            && !piece.contains("***@")
        {
            values.push(Stated { span, plain: Plain::of(piece, language), is_masked });
        }
    }
    values
}

/// Every value below `value`, with the names on the way to it: whole, and word by word.
pub(super) fn values(value: &Value) -> Vec<(String, BTreeSet<Plain>)> {
    let mut found = Vec::new();
    collect(value, &mut String::new(), 0, &mut found);
    found
}

fn collect(value: &Value, path: &mut String, depth: usize, found: &mut Vec<(String, BTreeSet<Plain>)>) {
    if depth > DEEPEST {
        return;
    }
    let length = path.len();
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            found.push((path.clone(), BTreeSet::from([Plain::of(&number.to_string(), Language::English)])));
        }
        Value::String(text) => {
            let words = text.split(|mark: char| mark.is_whitespace() || matches!(mark, ':' | '/' | 'T'));
            let all = words.chain([text.as_str()]).filter(|word| word.contains(char::is_alphanumeric));
            found.push((path.clone(), all.map(|word| Plain::of(word, Language::English)).collect()));
        }
        Value::Array(items) => {
            for item in items {
                collect(item, path, depth + 1, found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                path.push('/');
                path.push_str(name);
                collect(member, path, depth + 1, found);
                path.truncate(length);
            }
        }
    }
}

/// A number without separators and without the zeros that say nothing; none if it is not one.
fn number(text: &str, language: Language) -> Option<String> {
    let text = text.trim_end_matches(|mark: char| !mark.is_ascii_digit());
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',') {
        return None;
    }
    let (point, thousands) = match language {
        Language::English => ('.', ','),
        Language::BrazilianPortuguese => (',', '.'),
    };
    let is_grouped = |whole: &str| {
        let mut groups = whole.split(thousands);
        groups.next().is_some_and(|first| first.len() <= 3) && groups.all(|group| group.len() == 3)
    };
    let (whole, fraction) = match text.split_once(point) {
        Some((whole, fraction)) => (whole, fraction),
        // Some write the other language's point.
        None if !is_grouped(text) && text.contains(thousands) => text.split_once(thousands)?,
        None => (text, ""),
    };
    if fraction.contains(['.', ',']) || whole.contains(thousands) && !is_grouped(whole) {
        return None;
    }
    let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_same_however_it_is_written() {
        let plain = |text: &str, language| Plain::of(text, language).0;
        for (text, language, number) in [
            ("12.50", Language::English, "12.5"),
            ("£12.5,", Language::English, "12.5"),
            ("1,012.50", Language::English, "1012.5"),
            ("12,50", Language::English, "12.5"),
            ("R$12,50", Language::BrazilianPortuguese, "12.5"),
            ("1.012,50", Language::BrazilianPortuguese, "1012.5"),
            ("50%", Language::English, "50"),
            ("#4412.", Language::English, "4412"),
            ("ord-44/12", Language::English, "ORD4412"),
            ("2026-12-01", Language::English, "20261201"),
        ] {
            assert_eq!(plain(text, language), number, "{text}");
        }
    }
}
