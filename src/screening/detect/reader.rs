//! Reads a text forwards and backwards, character by character, and counts its steps.

use super::glyph::Glyph;

/// A text and how much of it was read so far, in characters, each time counted that it was read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) steps: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, steps: 0 }
    }

    /// The character at a place and where the next one begins.
    pub(super) fn at(&mut self, place: usize) -> Option<(Glyph, usize)> {
        self.steps += 1;
        let byte = *self.text.as_bytes().get(place)?;
        if byte.is_ascii() {
            return Some((Glyph::of(char::from(byte)), place + 1));
        }
        let character = self.text.get(place..)?.chars().next()?;
        Some((Glyph::of(character), place + character.len_utf8()))
    }

    /// The character before a place and where it begins.
    pub(super) fn before(&mut self, place: usize) -> Option<(Glyph, usize)> {
        self.steps += 1;
        let start = place.checked_sub(1)?;
        let byte = *self.text.as_bytes().get(start)?;
        if byte.is_ascii() {
            return Some((Glyph::of(char::from(byte)), start));
        }
        let character = self.text.get(..place)?.chars().next_back()?;
        Some((Glyph::of(character), place - character.len_utf8()))
    }

    /// The first character at or after a place that shows, where it stands and where the next one begins.
    pub(super) fn shown_at(&mut self, mut place: usize) -> Option<(Glyph, usize, usize)> {
        loop {
            let (glyph, next) = self.at(place)?;
            if !glyph.is_passed_over() {
                return Some((glyph, place, next));
            }
            place = next;
        }
    }

    /// The last character before a place, not before `floor`, that shows, and where it stands.
    pub(super) fn shown_before(&mut self, mut place: usize, floor: usize) -> Option<(Glyph, usize)> {
        loop {
            let (glyph, start) = self.before(place).filter(|(_, start)| *start >= floor)?;
            if !glyph.is_passed_over() {
                return Some((glyph, start));
            }
            place = start;
        }
    }
}
