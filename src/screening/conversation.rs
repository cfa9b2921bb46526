//! Values that are split over the messages of one conversation: `4111 1111` in one, `1111 1111` in the next.
//!
//! What is kept between messages is the end of the last ones, short of any whole value: the digits at the very end that
//! a next message could go on with. The caller holds it in memory, by conversation, and drops it when the conversation
//! rests.

use super::{Detection, Finding, detect};
use std::{fmt, ops::Range};

/// The most characters of what came before that are kept: a value is told by at most so many.
const LONGEST_TAIL: usize = 40;

/// The end of what was said before, as far as a value could go on from it; no value stands in it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tail(String);

/// Never shows what is kept.
impl fmt::Debug for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tail({} bytes)", self.0.len())
    }
}

/// A value that a message completes, as the part of it that stands in the message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The value: its span is the part in the new message.
    pub finding: Finding,
}

impl Tail {
    /// Nothing was said before.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is kept, so that the conversation need not be remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values that a message completes, begun in what was said before it, by the part that stands in the message.
    pub fn completions(&self, message: &str, detection: &Detection) -> Vec<Completion> {
        if self.is_empty() {
            return Vec::new();
        }
        let (start, end) = lead(message);
        let begun = self.0.len() + 1;
        let joined = format!("{} {}", self.0, message.get(start..end).unwrap_or_default());
        let reaches = |finding: &Finding| finding.span.start < begun && finding.span.end > begun;
        let part = |finding: Finding| {
            let span = start..finding.span.end - begun + start;
            Completion { finding: Finding { span, ..finding } }
        };
        detect(&joined, detection).into_iter().filter(reaches).map(part).collect()
    }

    /// What is kept after a message: its end, with what was kept before where the message has nothing else.
    #[must_use]
    pub fn after(&self, message: &str, detection: &Detection) -> Self {
        let joined = if self.is_empty() { message.to_owned() } else { format!("{} {message}", self.0) };
        let kept = joined.get(tail(&joined)).unwrap_or_default();
        let found = detect(kept, detection);
        let rest = found.last().map_or(0, |finding| finding.span.end);
        Self(kept.get(rest..).unwrap_or_default().trim().trim_end_matches(['.', '-', ' ']).to_owned())
    }
}

/// The part of a message that can go on with what was said before: up to the first word without a digit.
fn lead(message: &str) -> (usize, usize) {
    let start = message.len() - message.trim_start().len();
    let end = message
        .char_indices()
        .map(|(at, character)| at + character.len_utf8())
        .take_while(|at| *at <= start + 4 * LONGEST_TAIL);
    (start, end.last().unwrap_or(start))
}

/// The end of a text that could be the beginning of a value: numbers and what stands between them, and the short words
/// in capitals that account numbers begin with.
fn tail(text: &str) -> Range<usize> {
    let mut start = text.len();
    let mut counted = 0;
    let mut last_digit = text.len();
    for (at, character) in text.char_indices().rev() {
        let is_digit = character.is_numeric();
        let goes_on = is_digit
            || character.is_uppercase()
            || matches!(character, ' ' | '-' | '.' | '+' | '(' | ')' | '\u{A0}' | '\u{200B}'..='\u{200D}' | '\u{2010}'..='\u{2015}');
        counted += 1;
        if !goes_on || counted > LONGEST_TAIL {
            break;
        }
        if is_digit || character == '+' || character == '(' || character.is_uppercase() {
            start = at;
        }
        if is_digit {
            last_digit = at;
        }
    }
    if last_digit == text.len() { text.len()..text.len() } else { start..text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screening::Class;

    fn said(messages: &[&str]) -> Tail {
        messages.iter().fold(Tail::new(), |tail, message| tail.after(message, &Detection::default()))
    }

    #[test]
    fn a_value_split_over_messages_is_found_in_the_one_that_completes_it() {
        for (before, message, class, part) in [
            (&["the first half is 4242 4242"][..], "4242 4242 is the rest", Class::Card, "4242 4242"),
            (&["4242", "4242", "4242"], "4242", Class::Card, "4242"),
            (&["mine is 42424242"], "42424242", Class::Card, "42424242"),
            (&["GB29 NWBK 6016"], "1331 9268 19, please", Class::Iban, "1331 9268 19"),
            (&["it begins 390.533."], "447-05", Class::NationalId, "447-05"),
            (&["call +1 415"], "555 0132", Class::Phone, "555 0132"),
        ] {
            let tail = said(before);
            let found = tail.completions(message, &Detection::default());
            assert_eq!(found.len(), 1, "{before:?} {message}");
            assert_eq!(found[0].finding.class, class);
            assert_eq!(&message[found[0].finding.span.clone()], part);
        }
    }

    #[test]
    fn what_only_stands_near_is_not_put_together() {
        let tail = said(&["order 4242 4242 is on its way"]);
        assert!(tail.is_empty());
        let tail = said(&["the first half is 4242 4242"]);
        assert!(tail.completions("and how much is it? 4242 4242", &Detection::default()).is_empty());
        assert!(tail.completions("4242 4243", &Detection::default()).is_empty());
        assert!(said(&["4242 4242", "what else?"]).is_empty());
    }

    #[test]
    fn what_is_kept_is_short_and_holds_no_value() {
        for message in ["my card is 4242 4242 4242 4242", "536-90-4399", "+1 415 555 0132"] {
            assert!(said(&[message]).is_empty(), "{message}");
        }
        let tail = said(&["1234 5678 ".repeat(100).as_str()]);
        assert!(tail.0.chars().count() <= LONGEST_TAIL);
        assert!(!format!("{tail:?}").contains("1234"));
    }
}
