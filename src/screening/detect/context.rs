//! Numbers that only the words beside them make personal: nine digits beside "social security".

use super::national;
use super::reader::Reader;
use super::select::Selection;
use crate::screening::Class;
use std::ops::Range;

/// How far words count, in bytes before and after.
const BEFORE: usize = 64;
const AFTER: usize = 32;
/// Words beside a social security number, in lower case without accents.
const WORDS: [&str; 7] = [
    "ssn",
    "ssns",
    "social security",
    "socialsecurity",
    "social_security",
    "seguro social",
    "seguranca social",
];
/// The most groups in which nine digits are written.
const MOST_GROUPS: usize = 9;

/// Takes rows of nine digits beside the words of a social security number.
pub(super) fn take(reader: &mut Reader<'_>, selection: &mut Selection<'_>) {
    let mut at = 0;
    while at < selection.chain.groups.len() {
        reader.steps += 1;
        let (mut end, mut digits) = (at, 0);
        while selection.is_free_digits(end) && end - at < MOST_GROUPS {
            digits += selection.group(end).map_or(0, |group| group.length);
            end += 1;
        }
        let groups = at..end;
        if digits == 9
            && !selection.is_free_digits(end)
            && national::is_ssn(selection.chain.read(groups.clone()))
            && selection.stands_apart(&groups)
            && is_named(reader, &span(selection, &groups))
        {
            selection.take(groups, Class::NationalId, "ssn");
        }
        while selection.is_free_digits(end) {
            end += 1;
        }
        at = end.max(at + 1);
    }
}

fn span(selection: &Selection<'_>, groups: &Range<usize>) -> Range<usize> {
    let start = selection.group(groups.start).map_or(0, |group| group.span.start);
    start
        ..groups
            .end
            .checked_sub(1)
            .and_then(|last| selection.group(last))
            .map_or(start, |group| group.span.end)
}

/// Whether the words stand beside the number, in its sentence, with no other number between.
fn is_named(reader: &mut Reader<'_>, span: &Range<usize>) -> bool {
    reader.steps += 1;
    let text = reader.text;
    let start =
        (span.start.saturating_sub(BEFORE)..=span.start).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (span.end..=span.end + AFTER).rev().find(|at| *at <= text.len() && text.is_char_boundary(*at));
    let before = text.get(start..span.start).unwrap_or_default();
    let after = text.get(span.end..end.unwrap_or(span.end)).unwrap_or_default();
    let before = before.rsplit(ends_what_is_said).next().unwrap_or_default();
    let after = after.split(ends_what_is_said).next().unwrap_or_default();
    holds_a_word(before) || holds_a_word(after)
}

fn ends_what_is_said(character: char) -> bool {
    character.is_numeric()
        || matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}' | '.' | ';' | '!' | '?' | ',')
}

fn holds_a_word(text: &str) -> bool {
    let folded: String = text.to_lowercase().replace('ç', "c").replace("c\u{327}", "c");
    WORDS.iter().any(|word| {
        folded.match_indices(word).any(|(at, _)| {
            let before = folded.get(..at).and_then(|text| text.chars().next_back());
            let after = folded.get(at + word.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
    })
}
