//! Which words of a chain are values, where several readings are possible.
//!
//! First what its form or its check digits make certain, then what fills all that is left, then what is told by the
//! number of its digits alone. A value that is found leaves the rest as its mask would: so looking again at a masked
//! text finds nothing new.

use super::chain::{Chain, Group, Join, Mark, Shape};
use super::further;
use super::reader::Reader;
use super::{Detection, checksum, context, iban, national, phone};
use crate::screening::{Class, Finding};
use std::ops::Range;

/// The most digits that a card's number has.
const LONGEST_CARD: usize = 19;
/// How often what is left is looked through again after something was found in it.
const MOST_ROUNDS: usize = 4;
const CARD: std::ops::RangeInclusive<usize> = 13..=LONGEST_CARD;

/// What is known of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It may belong to a value.
    Free,
    /// It belongs to one, or is what a mask left of one.
    Taken,
    /// It belongs to none: it is a number of another kind.
    Dead,
}

/// A chain and what is known of its words.
pub(super) struct Selection<'a> {
    pub(super) chain: &'a Chain,
    pub(super) states: &'a mut Vec<State>,
    pub(super) found: &'a mut Vec<Finding>,
}

/// Adds the values of a chain to `found`.
pub(super) fn select(
    reader: &mut Reader<'_>,
    chain: &Chain,
    states: &mut Vec<State>,
    detection: &Detection,
    found: &mut Vec<Finding>,
) {
    states.clear();
    states.resize(chain.groups.len(), State::Free);
    let mut selection = Selection { chain, states, found };
    selection.set_masks_aside(reader);
    selection.take_accounts(reader);
    phone::set_others_aside(reader, &mut selection);
    let mut plus = phone::international(&selection, chain.groups.len());
    // What was found leaves less, of which all may be a value.
    for _ in 0..MOST_ROUNDS {
        let before = selection.found.len();
        selection.take_nino(reader);
        let limit = selection.certain(reader, detection, &plus);
        if !std::mem::replace(&mut plus, 0..0).is_empty() {
            phone::take_international(&mut selection, limit);
        }
        // What fills all that is left goes before a form that cards seldom have.
        selection.fill_rests(reader);
        selection.take_all(reader, Selection::odd_card_at);
        selection.fill_rests(reader);
        context::take(reader, &mut selection);
        phone::take_national(reader, &mut selection);
        if selection.found.len() == before {
            break;
        }
    }
}

impl<'a> Selection<'a> {
    pub(super) fn group(&self, at: usize) -> Option<&Group> {
        self.chain.groups.get(at)
    }

    pub(super) fn state(&self, at: usize) -> Option<State> {
        self.states.get(at).copied()
    }

    pub(super) fn join(&self, at: usize) -> Option<Join> {
        self.group(at).map(|group| group.join)
    }

    /// Whether a word is digits that belong to nothing yet.
    pub(super) fn is_free_digits(&self, at: usize) -> bool {
        self.state(at) == Some(State::Free)
            && self.group(at).is_some_and(|group| group.shape == Shape::Digits)
    }

    /// Whether words may begin a value: nothing with digits hangs on them tightly.
    pub(super) fn stands_apart(&self, groups: &Range<usize>) -> bool {
        let tight = |at: usize| at > 0 && self.join(at).is_some_and(|join| !join.loose);
        let has_digits = |at: usize| {
            self.state(at) != Some(State::Taken)
                && self.group(at).is_some_and(|group| group.shape != Shape::Letters)
        };
        let left = tight(groups.start) && groups.start.checked_sub(1).is_some_and(has_digits);
        let right = tight(groups.end) && has_digits(groups.end);
        !left && !right
    }

    /// Whether only single separators stand between the words, no parentheses.
    pub(super) fn is_plain(join: Join) -> bool {
        join.open.is_none() && !join.close
    }

    pub(super) fn lengths<'s>(
        &'s self,
        groups: &Range<usize>,
    ) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone + use<'s, 'a> {
        self.chain.groups.get(groups.clone()).unwrap_or_default().iter().map(|group| group.length)
    }

    /// The marks between some words.
    pub(super) fn marks<'s>(
        &'s self,
        groups: &Range<usize>,
    ) -> impl Iterator<Item = Mark> + Clone + use<'s, 'a> {
        let inner = self.chain.groups.get(groups.start + 1..groups.end).unwrap_or_default();
        inner.iter().map(|group| group.join.mark)
    }

    /// Notes a value that some words are.
    pub(super) fn take(&mut self, groups: Range<usize>, class: Class, kind: &'static str) {
        let (Some(first), Some(last)) =
            (self.group(groups.start), groups.end.checked_sub(1).and_then(|last| self.group(last)))
        else {
            return;
        };
        let span = first.span.start..last.span.end;
        let mask = mask(class, self.chain.read(groups.clone()));
        self.take_span(groups, Finding { class, kind, span, mask });
    }

    pub(super) fn take_span(&mut self, groups: Range<usize>, finding: Finding) {
        self.set(groups, State::Taken);
        self.found.push(finding);
    }

    pub(super) fn set(&mut self, groups: Range<usize>, state: State) {
        if let Some(states) = self.states.get_mut(groups) {
            states.fill(state);
        }
    }

    /// The last four characters of a value that was masked are no value, nor the first of a masked address.
    fn set_masks_aside(&mut self, reader: &mut Reader<'_>) {
        let masked_before = self.group(0).is_some_and(|first| is_tail_of_mask(reader, first, self.chain));
        if masked_before {
            self.set(0..1, State::Taken);
        }
        let last = self.chain.groups.len().saturating_sub(1);
        if let Some(group) = self.group(last)
            && reader.text.get(group.span.end..).is_some_and(|rest| rest.starts_with("***@"))
        {
            self.set(last..last + 1, State::Dead);
        }
    }

    fn take_accounts(&mut self, reader: &mut Reader<'_>) {
        if self.chain.groups.iter().all(|group| group.shape == Shape::Digits) {
            return;
        }
        let mut at = 0;
        while at < self.chain.groups.len() {
            reader.steps += 1;
            at = match iban::at(self, at) {
                Some((groups, true)) => {
                    let end = groups.end;
                    self.take(groups, Class::Iban, "iban");
                    end
                }
                // Built like an account number, with check digits that do not hold: no part of it is anything else.
                Some((groups, false)) => {
                    self.set(groups, State::Dead);
                    at + 1
                }
                None => at + 1,
            };
        }
    }

    fn take_nino(&mut self, reader: &mut Reader<'_>) {
        if self.chain.groups.iter().all(|group| group.shape == Shape::Digits) {
            return;
        }
        let mut at = 0;
        while at < self.chain.groups.len() {
            reader.steps += 1;
            at = match national::nino(self, at, reader.text) {
                Some(groups) => {
                    let end = groups.end;
                    self.take(groups, Class::NationalId, "nino");
                    end
                }
                None => at + 1,
            };
        }
    }

    /// Takes what its form and check digits make certain; gives where the first of it begins that reaches out of the
    /// number behind a plus.
    fn certain(&mut self, reader: &mut Reader<'_>, detection: &Detection, plus: &Range<usize>) -> usize {
        let mut cut = plus.end;
        for pass in [Self::national_at, Self::further_at, Self::card_at] {
            self.take_all(reader, |selection, at, reader| {
                let (groups, class, kind) = pass(selection, at, detection, reader)?;
                if groups.end <= plus.end {
                    return None;
                }
                cut = cut.min(groups.start);
                Some((groups, class, kind))
            });
        }
        cut
    }

    /// Takes the values that are seen from each word on, and goes on behind them.
    fn take_all(
        &mut self,
        reader: &mut Reader<'_>,
        mut see: impl FnMut(&Self, usize, &mut Reader<'_>) -> Option<Value>,
    ) {
        let mut at = 0;
        while at < self.chain.groups.len() {
            reader.steps += 1;
            at = match see(self, at, reader) {
                Some((groups, class, kind)) => {
                    let end = groups.end;
                    self.take(groups, class, kind);
                    end
                }
                None => at + 1,
            };
        }
    }

    fn national_at(&self, at: usize, _: &Detection, _: &mut Reader<'_>) -> Option<Value> {
        national::certain(self, at)
    }

    fn further_at(&self, at: usize, detection: &Detection, reader: &mut Reader<'_>) -> Option<Value> {
        further::at(self, at, detection, reader)
    }

    fn card_at(&self, at: usize, _: &Detection, reader: &mut Reader<'_>) -> Option<Value> {
        self.card(at, reader, |lengths| {
            matches!(lengths, [_] | [4, 4, 4, 4] | [4, 4, 4, 4, 3] | [4, 6, 4 | 5])
        })
    }

    fn odd_card_at(&self, at: usize, reader: &mut Reader<'_>) -> Option<Value> {
        self.card(at, reader, |lengths| match lengths {
            [8, 8] | [6, 13] => true,
            [all @ .., last] => all.len() > 1 && all.iter().all(|length| *length == 4) && *last <= 5,
            [] => false,
        })
    }

    /// The longest card's number from a word on that is grouped as `is_grouped` wants it.
    fn card(
        &self,
        at: usize,
        reader: &mut Reader<'_>,
        is_grouped: impl Fn(&[usize]) -> bool,
    ) -> Option<Value> {
        let (mut end, mut digits, mut best) = (at, 0, None);
        let mut lengths = [0; LONGEST_CARD];
        while self.is_free_digits(end) && (end == at || self.join(end).is_some_and(Self::is_plain)) {
            reader.steps += 1;
            let length = self.group(end)?.length;
            digits += length;
            if digits > LONGEST_CARD {
                break;
            }
            *lengths.get_mut(end - at)? = length;
            end += 1;
            let groups = at..end;
            if CARD.contains(&digits)
                && lengths.get(..groups.len()).is_some_and(&is_grouped)
                && self.stands_apart(&groups)
                && checksum::luhn(self.chain.read(groups.clone()))
            {
                best = Some((groups, Class::Card, "card"));
            }
        }
        best
    }

    /// Takes what is left between values, other numbers and words where all of it is a card's number.
    fn fill_rests(&mut self, reader: &mut Reader<'_>) {
        let mut at = 0;
        while at < self.chain.groups.len() {
            reader.steps += 1;
            let (mut end, mut digits, mut plain) = (at, 0_usize, true);
            while self.is_free_digits(end) {
                digits += self.group(end).map_or(0, |group| group.length);
                plain &= end == at || self.join(end).is_some_and(Self::is_plain);
                end += 1;
            }
            let groups = at..end;
            if CARD.contains(&digits)
                && plain
                && !self.is_decimal(&groups)
                && self.stands_apart(&groups)
                && checksum::luhn(self.chain.read(groups.clone()))
            {
                self.take(groups, Class::Card, "card");
            }
            at = end.max(at) + 1;
        }
    }

    /// Whether it is two groups with a point between.
    pub(super) fn is_decimal(&self, groups: &Range<usize>) -> bool {
        groups.len() == 2 && self.marks(groups).eq([Mark::Dot])
    }
}

/// Some words, and what they are.
pub(super) type Value = (Range<usize>, Class, &'static str);

/// What is shown in place of a value, by its digits and upper-case letters.
pub(super) fn mask(class: Class, read: &[u8]) -> String {
    let text = |bytes: &[u8]| -> String { bytes.iter().map(|byte| char::from(*byte)).collect() };
    let last = text(read.get(read.len().saturating_sub(4)..).unwrap_or_default());
    match class {
        Class::Card => format!("**** {last}"),
        Class::Iban => format!("{}** **** {last}", text(read.get(..2).unwrap_or_default())),
        Class::Email | Class::NationalId | Class::Phone => format!("***{last}"),
    }
}

/// Whether the first word of a chain is what a mask leaves of a value.
fn is_tail_of_mask(reader: &Reader<'_>, first: &Group, chain: &Chain) -> bool {
    let Some(before) = reader.text.get(..first.span.start) else { return false };
    if first.length != 4 {
        return false;
    }
    if before.ends_with("**** ") {
        return true;
    }
    // Three stars on both sides of cards in groups make them bold and slanted.
    let emphasised = !before.ends_with("****")
        && chain.groups.len() == 4
        && chain.groups.iter().all(|group| group.length == 4)
        && chain
            .groups
            .last()
            .and_then(|last| reader.text.get(last.span.end..))
            .is_some_and(|rest| rest.starts_with("***"));
    before.ends_with("***") && !emphasised
}
