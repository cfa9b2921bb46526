//! Account numbers of the form of ISO 13616.

use super::chain::Shape;
use super::checksum;
use super::registry::{Place, structure};
use super::select::{Selection, State};
use std::ops::Range;

/// The words from `at` that are built as an account number, and whether it is one.
///
/// Written as one word or in groups of four it is told by its country's length and its check digits. In any other
/// grouping its letters and digits must also stand where the country has them.
pub(super) fn at(selection: &Selection<'_>, at: usize) -> Option<(Range<usize>, bool)> {
    let start = selection.chain.read(at..(at + 2).min(selection.chain.groups.len()));
    let &[first, second, tens, ones, ..] = start else { return None };
    if !(first.is_ascii_uppercase()
        && second.is_ascii_uppercase()
        && tens.is_ascii_digit()
        && ones.is_ascii_digit())
    {
        return None;
    }
    let structure = structure(&[first, second])?;
    let length = 4 + structure.iter().map(|(places, _)| places).sum::<usize>();
    let (mut end, mut read) = (at, 0);
    while read < length {
        let group = selection.group(end)?;
        let hangs = end == at || Selection::is_plain(group.join);
        if selection.state(end) != Some(State::Free) || !hangs {
            return None;
        }
        read += group.length;
        end += 1;
    }
    let groups = at..end;
    if read != length {
        return None;
    }
    let number = selection.chain.read(groups.clone());
    let printed = is_printed(selection, &groups);
    let holds = checksum::mod_97_10(number) && (printed || fits(number, structure));
    match (holds, printed) {
        (true, _) => Some((groups, true)),
        (false, true) => Some((groups, false)),
        (false, false) => None,
    }
}

fn is_printed(selection: &Selection<'_>, groups: &Range<usize>) -> bool {
    let begins =
        selection.group(groups.start).is_some_and(|group| group.length >= 4 && group.shape == Shape::Mixed);
    let mut lengths = selection.lengths(groups).rev();
    let last = lengths.next().unwrap_or(0);
    begins && (groups.len() == 1 || last <= 4 && lengths.all(|length| length == 4))
}

fn fits(number: &[u8], structure: &[(usize, Place)]) -> bool {
    let mut places = number.iter().skip(4);
    structure.iter().all(|(length, place)| {
        places.by_ref().take(*length).all(|character| match place {
            Place::N => character.is_ascii_digit(),
            Place::A => character.is_ascii_uppercase(),
            Place::C => character.is_ascii_digit() || character.is_ascii_uppercase(),
        })
    })
}
