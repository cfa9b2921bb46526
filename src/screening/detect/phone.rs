//! Telephone numbers: told by how many digits they have, and so only where nothing else explains the digits.

use super::chain::{Mark, Shape};
use super::national;
use super::reader::Reader;
use super::select::{Selection, State, mask};
use crate::screening::{Class, Finding};
use std::ops::Range;

/// How many digits an international number has, and how many a national one has.
const INTERNATIONAL: std::ops::RangeInclusive<usize> = 8..=15;
const NATIONAL: std::ops::RangeInclusive<usize> = 10..=11;
/// The most groups in which a national number is written.
const MOST_GROUPS: usize = 6;
/// The fewest and the most digits that numbers of some countries have with the country's code: where so many are
/// written, what follows is another number.
#[rustfmt::skip]
const PLANS: [(&[u8], usize, usize); 18] = [
    (b"1", 11, 11), (b"7", 11, 11), (b"31", 11, 11), (b"32", 10, 11), (b"33", 11, 11), (b"34", 11, 11),
    (b"351", 12, 12), (b"41", 11, 11), (b"44", 12, 12), (b"45", 10, 10), (b"47", 10, 10), (b"48", 11, 11),
    (b"52", 12, 13), (b"55", 12, 13), (b"61", 11, 11), (b"81", 11, 12), (b"86", 12, 13), (b"91", 12, 12),
];
/// The groups of a Brazilian payment slip's line.
const PAYMENT_SLIP: [usize; 8] = [5, 5, 5, 6, 5, 6, 1, 14];

/// Sets aside numbers of other kinds: network addresses, times of day, payment slips.
pub(super) fn set_others_aside(reader: &mut Reader<'_>, selection: &mut Selection<'_>) {
    for at in 0..selection.chain.groups.len() {
        reader.steps += 1;
        let address = at..at + 4;
        if selection.lengths(&address).len() == 4
            && selection.marks(&address).all(|mark| mark == Mark::Dot)
            && address.clone().all(|part| is_byte(selection, part))
        {
            selection.set(address, State::Dead);
        }
        let slip = at..at + PAYMENT_SLIP.len();
        if selection.lengths(&slip).eq(PAYMENT_SLIP) {
            selection.set(slip, State::Dead);
        }
    }
    let (Some(first), Some(last)) = (
        selection.chain.groups.first(),
        selection.chain.groups.iter().rposition(|group| group.span.end == selection.chain.end),
    ) else {
        return;
    };
    let text = reader.text.as_bytes();
    let byte = |place: Option<usize>| place.and_then(|place| text.get(place)).copied();
    let is_digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
    let start = first.span.start;
    if first.length == 2 && byte(start.checked_sub(1)) == Some(b':') && is_digit(byte(start.checked_sub(2))) {
        selection.set(0..1, State::Dead);
    }
    // As the hour in `08:00`; the minutes are set aside above, with the chain that they begin.
    let end = selection.chain.end;
    let minutes = [1, 2].map(|after| is_digit(byte(Some(end + after))));
    if selection.group(last).is_some_and(|last| last.length <= 2)
        && byte(Some(end)) == Some(b':')
        && minutes == [true, true]
        && !byte(Some(end + 3)).is_some_and(|after| after.is_ascii_alphanumeric())
    {
        selection.set(last..last + 1, State::Dead);
    }
}

fn is_byte(selection: &Selection<'_>, at: usize) -> bool {
    selection.is_free_digits(at)
        && std::str::from_utf8(selection.chain.read(at..at + 1))
            .is_ok_and(|digits| digits.parse::<u8>().is_ok())
}

/// The groups of the number behind a plus, or two noughts in its place, that end at `limit` at most.
pub(super) fn international(selection: &Selection<'_>, limit: usize) -> Range<usize> {
    let read = selection.chain.read(0..selection.chain.groups.len().min(3));
    let skipped = match (selection.chain.plus, read) {
        (Some(_), _) => 0,
        (None, [b'0', b'0', b'1'..=b'9', ..]) => 2,
        (None, _) => return 0..0,
    };
    let country = read.get(skipped..).unwrap_or_default();
    let plan = PLANS
        .iter()
        .find(|(code, ..)| country.starts_with(code))
        .map_or(16..=16, |(_, least, most)| *least..=*most);
    let (mut digits, mut noughts, mut planned, mut best, mut any) = (0_usize, 0_usize, 0, 0, 0);
    for at in 0..limit {
        if !selection.is_free_digits(at) {
            break;
        }
        let Some(group) = selection.group(at) else { break };
        digits += group.length;
        let counted = digits.saturating_sub(skipped);
        if counted > *INTERNATIONAL.end() {
            break;
        }
        // As in `+44 (0)20`: not dialled from abroad, and in no plan's count.
        noughts += usize::from(group.join.open.is_some() && selection.chain.read(at..at + 1) == b"0");
        if INTERNATIONAL.contains(&counted) && selection.stands_apart(&(0..at + 1)) {
            any = at + 1;
            if plan.contains(&(counted.saturating_sub(noughts))) {
                planned = at + 1;
            }
            if group.length > 1 || !group.join.loose {
                best = at + 1;
            }
        }
    }
    0..[planned, best, any].into_iter().find(|end| *end > 0).unwrap_or(0)
}

/// Takes the number behind a plus, as far as it reaches before `limit`.
pub(super) fn take_international(selection: &mut Selection<'_>, limit: usize) {
    let groups = international(selection, limit);
    if !groups.is_empty() {
        take(selection, groups, selection.chain.plus);
    }
}

/// Takes national numbers, and social security numbers with blanks, where they and nothing else fill a row of groups,
/// or where they are held together more tightly than what is around them.
pub(super) fn take_national(reader: &mut Reader<'_>, selection: &mut Selection<'_>) {
    let count = selection.chain.groups.len();
    let windows: Vec<Vec<Window>> = (0..count).map(|at| windows(reader, selection, at)).collect();
    let mut filled_before = vec![false; count + 1];
    let mut filled_after = vec![false; count + 1];
    for at in 0..=count {
        let clear = at
            .checked_sub(1)
            .is_none_or(|before| !selection.is_free_digits(before) && !is_reference(selection, before));
        if clear && let Some(filled) = filled_before.get_mut(at) {
            *filled = true;
        }
        if filled_before.get(at) == Some(&true) {
            for window in windows.get(at).into_iter().flatten() {
                if let Some(filled) = filled_before.get_mut(window.groups.end) {
                    *filled = true;
                }
            }
        }
    }
    for at in (0..=count).rev() {
        let ends = windows
            .get(at)
            .into_iter()
            .flatten()
            .any(|window| filled_after.get(window.groups.end) == Some(&true));
        if let Some(filled) = filled_after.get_mut(at) {
            *filled = ends || !selection.is_free_digits(at);
        }
    }
    let mut at = 0;
    while at < count {
        let fills = |window: &&Window| {
            filled_before.get(window.groups.start) == Some(&true)
                && filled_after.get(window.groups.end) == Some(&true)
        };
        let here = windows.get(at).map(Vec::as_slice).unwrap_or_default();
        let chosen = here.iter().rfind(fills).or_else(|| here.iter().rfind(|window| window.holds_together));
        at = match chosen {
            Some(window) => {
                let groups = window.groups.clone();
                if window.is_ssn {
                    selection.take(groups, Class::NationalId, "ssn");
                } else {
                    let open = selection.join(at).and_then(|join| join.open);
                    let closes = selection.join(at + 1).is_some_and(|join| join.close) && groups.len() > 1;
                    take(selection, groups, open.filter(|_| closes));
                }
                window.groups.end
            }
            None => at + 1,
        };
    }
}

/// Groups that could be one number.
struct Window {
    groups: Range<usize>,
    holds_together: bool,
    is_ssn: bool,
}

fn windows(reader: &mut Reader<'_>, selection: &Selection<'_>, at: usize) -> Vec<Window> {
    let mut windows = Vec::new();
    let (mut end, mut digits) = (at, 0);
    while selection.is_free_digits(end) && end - at < MOST_GROUPS {
        reader.steps += 1;
        digits += selection.group(end).map_or(0, |group| group.length);
        end += 1;
        let groups = at..end;
        if digits > *NATIONAL.end() {
            break;
        }
        if digits == 9 && national::ssn(selection, at) == Some(groups.clone()) {
            windows.push(Window { groups, holds_together: false, is_ssn: true });
        } else if NATIONAL.contains(&digits) && may_be_national(selection, &groups) {
            let loose = (at + 1..end)
                .filter_map(|inner| selection.join(inner))
                .any(|join| join.loose && join.open.is_none() && !join.close);
            let opens = selection.join(at).is_some_and(|join| join.open.is_some());
            windows.push(Window { groups, holds_together: !loose || opens, is_ssn: false });
        }
    }
    windows
}

fn may_be_national(selection: &Selection<'_>, groups: &Range<usize>) -> bool {
    let lengths: Vec<usize> = selection.lengths(groups).collect();
    let read = selection.chain.read(groups.clone());
    let dotted = selection.marks(groups).any(|mark| mark == Mark::Dot);
    let tight = |at: usize| selection.join(at).is_some_and(|join| !join.loose);
    let first_alone = lengths.first() == Some(&1) && matches!(read, [b'0' | b'1' | b'8', ..]);
    let alone = lengths.iter().filter(|length| **length == 1).count();
    let second_alone = lengths.get(1) == Some(&1) && !dotted;
    let last = selection.group(groups.end - 1);
    let amount = groups.start == 0 && selection.chain.unit_before
        || last.is_some_and(|last| last.span.end == selection.chain.end) && selection.chain.unit_after;
    let code = groups.len() == 1
        && (groups.start == 0 && selection.chain.hyphen_before
            || groups.start > 0 && tight(groups.start)
            || groups.end < selection.chain.groups.len() && tight(groups.end));
    let date = matches!(lengths.as_slice(), [4, 2, 2, ..])
        && matches!(read, [b'1', b'9', ..] | [b'2', b'0', ..])
        || matches!(lengths.as_slice(), [2, 2, 4, ..])
            && matches!(read, [_, _, _, _, b'1', b'9', ..] | [_, _, _, _, b'2', b'0', ..]);
    (alone == 0 || alone == 1 && (first_alone || second_alone))
        && lengths.last().is_some_and(|last| *last > 1)
        && selection.stands_apart(groups)
        && has_its_parentheses(selection, groups)
        && !selection.is_decimal(groups)
        && !national::is_shaped_as_cpf(selection, groups)
        && !(amount || code || date)
}

/// Whether every parenthesis that opens in a number closes in it.
fn has_its_parentheses(selection: &Selection<'_>, groups: &Range<usize>) -> bool {
    let joins = |at: usize| selection.join(at);
    groups.clone().all(|at| {
        let opens = joins(at).is_some_and(|join| join.open.is_some());
        let closes = joins(at + 1).is_some_and(|join| join.close);
        let first = at == groups.start;
        let last = at + 1 == groups.end;
        (opens && closes && !last) || (!opens && (!closes || last)) || (opens && !closes && first)
    })
}

/// Whether a word is built like the beginning of an account number.
fn is_reference(selection: &Selection<'_>, at: usize) -> bool {
    let read = selection.chain.read(at..at + 1);
    selection.group(at).is_some_and(|group| group.shape == Shape::Mixed && group.length == 4)
        && matches!(read, [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9'])
}

/// Notes a telephone number, which may begin with a sign before its first digit.
fn take(selection: &mut Selection<'_>, groups: Range<usize>, sign: Option<usize>) {
    let (Some(first), Some(last)) =
        (selection.group(groups.start), groups.end.checked_sub(1).and_then(|last| selection.group(last)))
    else {
        return;
    };
    let span = sign.unwrap_or(first.span.start)..last.span.end;
    let mask = mask(Class::Phone, selection.chain.read(groups.clone()));
    selection.take_span(groups, Finding { class: Class::Phone, kind: "phone", span, mask });
}
