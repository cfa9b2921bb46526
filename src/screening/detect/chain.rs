//! Words that belong together around digits: `4111 1111 1111 1111`, `+44 (20) 7123 4567`, `GB29 NWBK 6016`.

use super::glyph::Glyph;
use super::reader::Reader;
use std::ops::Range;

/// The most characters of a word that are kept; a longer one is no part of any value.
const LONGEST_WORD: usize = 64;
/// The most letters before its first digit that a word is looked back through for.
const LONGEST_LETTERS: usize = 32;
/// The most words without a digit that may stand between two with.
const MOST_WORDS_BETWEEN: usize = 3;
/// The most characters between two words, runs of blanks counted once.
const LONGEST_JOIN: usize = 3;
/// The fewest digits before an `x` and the most after it that make those an extension.
const FEWEST_BEFORE_EXTENSION: usize = 4;
const LONGEST_EXTENSION: usize = 6;
/// Words for what stands between groups of digits, in upper case without accents.
const SPELT: [&[u8]; 12] = [
    b"DASH", b"HYPHEN", b"MINUS", b"DOT", b"POINT", b"PERIOD", b"SPACE", b"TRACO", b"HIFEN", b"MENOS",
    b"PONTO", b"ESPACO",
];

/// What one word is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Digits alone.
    Digits,
    /// No digits.
    Letters,
    /// Anything else.
    Mixed,
}

/// How a word hangs on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Join {
    /// A blank, a parenthesis or a word stands between them, so that they may be apart.
    pub(super) loose: bool,
    /// The one character between them.
    pub(super) mark: Mark,
    /// Where a parenthesis opens before the word.
    pub(super) open: Option<usize>,
    /// A parenthesis closes after the word before.
    pub(super) close: bool,
}

/// The character between two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Space,
    Dash,
    Dot,
    /// One of them spelt out.
    Spelt,
    /// Several different ones.
    Several,
}

/// One word of a chain.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Where it stands in the text.
    pub(super) span: Range<usize>,
    /// Where its characters stand among those of the chain.
    pub(super) read: Range<usize>,
    /// How many characters it has.
    pub(super) length: usize,
    pub(super) shape: Shape,
    /// How it hangs on the one before; the first hangs on nothing.
    pub(super) join: Join,
}

/// Words that hang together, and what stands around them.
#[derive(Default)]
pub(super) struct Chain {
    pub(super) groups: Vec<Group>,
    /// The digits and upper-case letters of all groups, as ASCII.
    pub(super) read: Vec<u8>,
    /// Where a plus stands before the first word.
    pub(super) plus: Option<usize>,
    /// The sign of a currency or percentage stands beside the first or last word.
    pub(super) unit_before: bool,
    pub(super) unit_after: bool,
    /// A hyphen hangs the first word on a letter.
    pub(super) hyphen_before: bool,
    /// Where to read on.
    pub(super) end: usize,
}

const START: Join = Join { loose: true, mark: Mark::Several, open: None, close: false };

impl Chain {
    /// The characters of some words in a row.
    pub(super) fn read(&self, groups: Range<usize>) -> &[u8] {
        let Some(groups) = self.groups.get(groups) else { return &[] };
        let (Some(first), Some(last)) = (groups.first(), groups.last()) else { return &[] };
        self.read.get(first.read.start..last.read.end).unwrap_or_default()
    }

    /// Reads the chain around the digit at `place`, into a chain that was used before, not going back past `floor`.
    pub(super) fn fill(&mut self, reader: &mut Reader<'_>, place: usize, floor: usize) {
        self.groups.clear();
        self.read.clear();
        let start = Self::start(reader, place, floor);
        self.look_before(reader, start, floor);
        let mut next = Some((START, start));
        let mut without_digits = 0;
        if let Some(open) = Self::opening(reader, start, floor) {
            next = Some((Join { open: Some(open), ..START }, start));
        }
        while let Some((join, at)) = next {
            if !self.push(reader, at, join) {
                break;
            }
            let has_digits = self.groups.last().is_some_and(|group| group.shape != Shape::Letters);
            without_digits = if has_digits { 0 } else { without_digits + 1 };
            if without_digits > MOST_WORDS_BETWEEN {
                break;
            }
            next = join_after(reader, self.end);
        }
        self.end_at_digits();
        self.take_spelt();
        self.look_after(reader);
    }

    /// Where the first word begins: the letters before the digit, or a short word before those.
    fn start(reader: &mut Reader<'_>, place: usize, floor: usize) -> usize {
        let (start, letters) = word_before(reader, place, floor);
        if letters > 0 {
            return start;
        }
        let mut at = place;
        for _ in 0..2 {
            match reader.shown_before(at, floor) {
                Some((Glyph::Space | Glyph::Dash | Glyph::Dot, before)) => at = before,
                Some(_) | None => break,
            }
        }
        if at == place {
            return place;
        }
        let (word, letters) = word_before(reader, at, floor);
        let hangs = matches!(join_after(reader, at), Some((_, next)) if next == place);
        if hangs && (1..=2).contains(&letters) { word } else { place }
    }

    fn opening(reader: &mut Reader<'_>, start: usize, floor: usize) -> Option<usize> {
        match reader.shown_before(start, floor) {
            Some((Glyph::Open, open)) => Some(open),
            Some(_) | None => None,
        }
    }

    fn look_before(&mut self, reader: &mut Reader<'_>, start: usize, floor: usize) {
        let mut before = reader.shown_before(start, floor);
        if let Some((Glyph::Open, open)) = before {
            before = reader.shown_before(open, floor);
        }
        self.plus = match before {
            Some((Glyph::Plus, plus)) => Some(plus),
            Some(_) | None => None,
        };
        self.unit_before = matches!(before, Some((Glyph::Unit, _)));
        self.hyphen_before = match before {
            Some((Glyph::Dash, dash)) => {
                matches!(reader.shown_before(dash, floor), Some((Glyph::Letter(_), _)))
            }
            Some(_) | None => false,
        };
    }

    fn look_after(&mut self, reader: &mut Reader<'_>) {
        self.unit_after = matches!(reader.shown_at(self.end), Some((Glyph::Unit, ..)));
    }

    /// Reads one word; false if there is none.
    fn push(&mut self, reader: &mut Reader<'_>, start: usize, join: Join) -> bool {
        let from = self.read.len();
        let (mut length, mut digits, mut end) = (0_usize, 0_usize, start);
        // Where an `x` stands after digits, as before an extension.
        let mut cross = None;
        let mut at = start;
        while let Some((glyph, next)) = reader.at(at) {
            let character = match glyph {
                Glyph::Digit(digit) => {
                    digits += 1;
                    digit
                }
                Glyph::Letter(letter) => {
                    if letter == b'X' && digits == length && digits >= FEWEST_BEFORE_EXTENSION {
                        cross = Some((end, length));
                    }
                    letter
                }
                Glyph::Mark => {
                    end = if length == 0 { end } else { next };
                    at = next;
                    continue;
                }
                Glyph::Hidden => {
                    at = next;
                    continue;
                }
                Glyph::Ideograph
                | Glyph::Space
                | Glyph::Newline
                | Glyph::Dash
                | Glyph::Dot
                | Glyph::Open
                | Glyph::Close
                | Glyph::Plus
                | Glyph::At
                | Glyph::Star
                | Glyph::Unit
                | Glyph::Other => break,
            };
            length += 1;
            if length <= LONGEST_WORD {
                self.read.push(character);
            }
            if digits == 0 && length > LONGEST_LETTERS + 1 {
                break;
            }
            (at, end) = (next, next);
        }
        if length == 0 {
            return false;
        }
        if let Some((before, number)) = cross
            && digits == length - 1
            && (1..=LONGEST_EXTENSION).contains(&(digits - number))
        {
            (end, length, digits) = (before, number, number);
            self.read.truncate(from + number);
        }
        let shape = match digits {
            0 => Shape::Letters,
            _ if digits == length => Shape::Digits,
            _ => Shape::Mixed,
        };
        self.groups.push(Group { span: start..end, read: from..self.read.len(), length, shape, join });
        self.end = end;
        true
    }

    /// What follows the last word with a digit is read on for itself, but is kept: an account number may end in it.
    fn end_at_digits(&mut self) {
        if let Some(group) = self.groups.iter().rfind(|group| group.shape != Shape::Letters) {
            self.end = group.span.end;
        }
    }

    /// Takes words that are spelt separators for what they say.
    fn take_spelt(&mut self) {
        let is_spelt = |group: &Group| {
            let read = self.read.get(group.read.clone()).unwrap_or_default();
            group.shape == Shape::Letters && group.join.loose && SPELT.iter().any(|word| is_word(read, word))
        };
        if !self.groups.iter().any(is_spelt) {
            return;
        }
        let (groups, read) = (std::mem::take(&mut self.groups), std::mem::take(&mut self.read));
        let mut waiting: Option<Group> = None;
        let mut after_digits = false;
        let mut keep = |group: Group| {
            let from = self.read.len();
            self.read.extend_from_slice(read.get(group.read.clone()).unwrap_or_default());
            self.groups.push(Group { read: from..self.read.len(), ..group });
        };
        for mut group in groups {
            let word = read.get(group.read.clone()).unwrap_or_default();
            let spelt = group.shape == Shape::Letters && group.join.loose;
            let mut may_go_on = group.shape != Shape::Letters;
            if let Some(word) = waiting.take() {
                if group.join.loose {
                    group.join = Join { loose: true, mark: Mark::Spelt, open: None, close: false };
                    may_go_on = true;
                } else {
                    keep(word);
                }
            }
            if spelt && after_digits && SPELT.iter().any(|spelt| is_word(word, spelt)) {
                waiting = Some(group);
            } else {
                keep(group);
            }
            after_digits = may_go_on;
        }
        if let Some(word) = waiting {
            keep(word);
        }
    }
}

/// Whether some letters are a word; letters with marks stand as 0 and are any letter.
fn is_word(read: &[u8], word: &[u8]) -> bool {
    read.len() == word.len() && read.iter().zip(word).all(|(read, letter)| *read == 0 || read == letter)
}

/// Where the word that ends at a place begins, and how many characters it has there, none a digit.
fn word_before(reader: &mut Reader<'_>, place: usize, floor: usize) -> (usize, usize) {
    let (mut start, mut letters) = (place, 0);
    while letters <= LONGEST_LETTERS {
        match reader.shown_before(start, floor) {
            Some((Glyph::Letter(_), before)) => (start, letters) = (before, letters + 1),
            Some(_) | None => break,
        }
    }
    (start, letters)
}

/// What hangs another word on the one that ends at a place, and where that one begins.
fn join_after(reader: &mut Reader<'_>, place: usize) -> Option<(Join, usize)> {
    let mut join = Join { loose: false, mark: Mark::Several, open: None, close: false };
    let (mut at, mut count, mut last) = (place, 0, Glyph::Other);
    loop {
        let (glyph, start, next) = reader.shown_at(at)?;
        match glyph {
            Glyph::Digit(_) | Glyph::Letter(_) if count > 0 => return Some((join, start)),
            // A sentence ends.
            Glyph::Space if last == Glyph::Dot && count == 1 => return None,
            Glyph::Space if last == Glyph::Space => {
                at = next;
                continue;
            }
            Glyph::Space => join.loose = true,
            Glyph::Dash | Glyph::Dot => {}
            Glyph::Open if join.open.is_none() => join = Join { loose: true, open: Some(start), ..join },
            Glyph::Close if count == 0 => join = Join { loose: true, close: true, ..join },
            Glyph::Digit(_)
            | Glyph::Letter(_)
            | Glyph::Ideograph
            | Glyph::Mark
            | Glyph::Hidden
            | Glyph::Newline
            | Glyph::Open
            | Glyph::Close
            | Glyph::Plus
            | Glyph::At
            | Glyph::Star
            | Glyph::Unit
            | Glyph::Other => return None,
        }
        count += 1;
        if count > LONGEST_JOIN {
            return None;
        }
        join.mark = match (count, glyph) {
            (1, Glyph::Space) => Mark::Space,
            (1, Glyph::Dash) => Mark::Dash,
            (1, Glyph::Dot) => Mark::Dot,
            _ => Mark::Several,
        };
        (at, last) = (next, glyph);
    }
}
