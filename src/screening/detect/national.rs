//! The national ids that are always looked for: of the United States, the United Kingdom and Brazil.

use super::chain::{Mark, Shape};
use super::checksum;
use super::select::{Selection, State, Value};
use crate::screening::Class;
use std::ops::Range;

/// Pairs of letters that no national insurance number begins with, beside those with letters that are not given out.
const NOT_GIVEN: [&[u8; 2]; 7] = [b"BG", b"GB", b"KN", b"NK", b"NT", b"TN", b"ZZ"];

/// A CPF, or a social security number that is written with hyphens, dots or words for them.
pub(super) fn certain(selection: &Selection<'_>, at: usize) -> Option<Value> {
    cpf(selection, at).or_else(|| {
        let groups = ssn(selection, at)?;
        let spaced = selection.marks(&groups).any(|mark| mark == Mark::Space);
        (!spaced).then_some((groups, Class::NationalId, "ssn"))
    })
}

/// Three, two and four digits with the same between them, as a social security number that could have been given out.
pub(super) fn ssn(selection: &Selection<'_>, at: usize) -> Option<Range<usize>> {
    let groups = at..at + 3;
    let mut marks = selection.marks(&groups);
    let same = marks.next().is_some_and(|first| first != Mark::Several && marks.all(|mark| mark == first));
    let fits = has_lengths(selection, &groups, &[3, 2, 4])
        && same
        && is_ssn(selection.chain.read(groups.clone()))
        && selection.stands_apart(&groups);
    fits.then_some(groups)
}

/// Whether nine digits could have been given out as a social security number.
pub(super) fn is_ssn(digits: &[u8]) -> bool {
    digits.len() == 9
        && !matches!(digits, [b'0', b'0', b'0', ..] | [b'6', b'6', b'6', ..] | [b'9', ..])
        && !matches!(digits, [_, _, _, b'0', b'0', ..] | [.., b'0', b'0', b'0', b'0'])
}

fn cpf(selection: &Selection<'_>, at: usize) -> Option<Value> {
    let groups = if has_lengths(selection, &(at..at + 1), &[11]) { at..at + 1 } else { at..at + 4 };
    let shaped = groups.len() == 1 || is_shaped_as_cpf(selection, &groups);
    let fits =
        shaped && selection.stands_apart(&groups) && checksum::cpf(selection.chain.read(groups.clone()));
    fits.then_some((groups, Class::NationalId, "cpf"))
}

/// Whether digits stand as three, three, three and two.
pub(super) fn is_shaped_as_cpf(selection: &Selection<'_>, groups: &Range<usize>) -> bool {
    has_lengths(selection, groups, &[3, 3, 3, 2])
}

/// Whether free groups of digits have these lengths, with plain separators between.
fn has_lengths(selection: &Selection<'_>, groups: &Range<usize>, lengths: &[usize]) -> bool {
    groups.len() == lengths.len()
        && selection.lengths(groups).eq(lengths.iter().copied())
        && groups.clone().all(|at| {
            selection.is_free_digits(at)
                && (at == groups.start || selection.join(at).is_some_and(Selection::is_plain))
        })
}

/// The words from `at` that are a national insurance number.
pub(super) fn nino(selection: &Selection<'_>, at: usize, text: &str) -> Option<Range<usize>> {
    let (mut end, mut read) = (at, 0);
    while read < 9 {
        let group = selection.group(end)?;
        let hangs = end == at || Selection::is_plain(group.join);
        if selection.state(end) != Some(State::Free) || !hangs || !matches!(read, 0 | 2 | 4 | 6 | 8) {
            return None;
        }
        read += group.length;
        end += 1;
    }
    let groups = at..end;
    let &[first, second, ref digits @ .., last] = selection.chain.read(groups.clone()) else { return None };
    let given = first.is_ascii_uppercase()
        && second.is_ascii_uppercase()
        && !b"DFIQUV".contains(&first)
        && !b"DFIOQUV".contains(&second)
        && !NOT_GIVEN.iter().any(|pair| **pair == [first, second]);
    let fits = read == 9
        && given
        && digits.len() == 6
        && digits.iter().all(u8::is_ascii_digit)
        && matches!(last, b'A'..=b'D')
        && selection.stands_apart(&groups)
        && !is_a_sentence(selection, &groups, text);
    fits.then_some(groups)
}

/// Whether it reads as in `up to 123456 a day`: a small word, a number, an article.
fn is_a_sentence(selection: &Selection<'_>, groups: &Range<usize>, text: &str) -> bool {
    let is_lower = |at: usize| {
        selection.group(at).filter(|group| group.shape == Shape::Letters).is_some_and(|group| {
            text.get(group.span.clone()).is_some_and(|word| word.chars().all(char::is_lowercase))
        })
    };
    groups.len() == 3
        && is_lower(groups.start)
        && is_lower(groups.end - 1)
        && selection.chain.read(groups.clone()).last() == Some(&b'A')
}
