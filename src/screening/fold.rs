//! Texts and phrases brought to one form in which they are compared, with the way back to where each letter stood.

use super::Language;
use caseless::Caseless;
use std::ops::Range;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Parts what is never one phrase: paragraphs, and lines that are no continuation of the one before.
const WALL: char = '\u{1}';

/// A text in the form in which phrases are looked for.
///
/// Case is folded fully (Unicode §3.13), letters are decomposed, what does not show is left out, and every run of
/// blanks, hyphens and marks of emphasis is one blank. In Portuguese, accents are left out too.
pub(super) struct Folded {
    /// The text in that form.
    pub text: String,
    /// For every byte of it, where in the source the character began that it comes from.
    origins: Vec<usize>,
    /// How long the source is.
    source_bytes: usize,
}

impl Folded {
    /// Brings `source` to that form.
    pub(super) fn of(source: &str, language: Language) -> Self {
        let mut folded = Self {
            text: String::with_capacity(source.len()),
            origins: Vec::with_capacity(source.len()),
            source_bytes: source.len(),
        };
        let accents_count = language.accents_count();
        for (at, character) in source.char_indices() {
            if character.is_ascii() {
                folded.ascii(source, at, character);
            } else if is_invisible(character) {
            } else if character.is_whitespace() {
                let is_wall = matches!(character, '\u{2028}' | '\u{2029}' | '\u{85}');
                folded.blank(if is_wall { WALL } else { ' ' }, at);
            } else {
                let decomposed = std::iter::once(character).nfkd().default_case_fold().nfkd();
                for character in decomposed.filter(|letter| accents_count || !is_combining_mark(*letter)) {
                    match alike(character) {
                        ' ' => folded.blank(' ', at),
                        other => folded.push(other, at),
                    }
                }
            }
        }
        folded
    }

    /// What stands at `found` here, in the source.
    pub(super) fn in_source(&self, found: Range<usize>) -> Range<usize> {
        let place = |at: usize| self.origins.get(at).copied().unwrap_or(self.source_bytes);
        place(found.start)..place(found.end)
    }

    /// Whether what stands at `found` is made of whole words: no letter, digit or accent goes on before or after it.
    pub(super) fn is_whole(&self, found: &Range<usize>) -> bool {
        let (Some(before), Some(inside), Some(after)) =
            (self.text.get(..found.start), self.text.get(found.clone()), self.text.get(found.end..))
        else {
            return false;
        };
        let joins = |left: Option<char>, right: Option<char>| {
            left.is_some_and(|left| left.is_alphanumeric() || is_combining_mark(left))
                && right.is_some_and(|right| right.is_alphanumeric() || is_combining_mark(right))
        };
        !joins(before.chars().next_back(), inside.chars().next())
            && !joins(inside.chars().next_back(), after.chars().next())
            && !after.chars().next().is_some_and(is_combining_mark)
    }

    fn ascii(&mut self, source: &str, at: usize, character: char) {
        match character {
            '\n' | '\r' => self.blank(if goes_on(source, at) { ' ' } else { WALL }, at),
            '-' | '_' | '*' | '~' | '`' | ' ' | '\t' | '\u{b}' | '\u{c}' => self.blank(' ', at),
            control if control.is_ascii_control() => {}
            other => self.push(other.to_ascii_lowercase(), at),
        }
    }

    /// One blank for a whole run of them; a wall among them stays one.
    fn blank(&mut self, blank: char, at: usize) {
        match self.text.chars().next_back() {
            Some(WALL) => {}
            Some(' ') if blank == ' ' => {}
            Some(' ') => {
                self.text.pop();
                self.text.push(blank);
            }
            Some(_) | None => self.push(blank, at),
        }
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        self.origins.resize(self.text.len(), at);
    }
}

/// Whether the line after the break at `at` goes on with the sentence: it begins with a small letter.
fn goes_on(source: &str, at: usize) -> bool {
    let after = source.get(at..).unwrap_or_default();
    let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix(['\n', '\r'])).unwrap_or(after);
    after.trim_start_matches([' ', '\t']).starts_with(char::is_lowercase)
}

/// Quotes, apostrophes and hyphens that people type for one another.
fn alike(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{02BC}' | '\u{00B4}' | '\u{2032}' => '\'',
        '\u{201C}' | '\u{201D}' => '"',
        '\u{2010}' | '\u{2011}' | '-' | '_' | '*' | '~' | '`' => ' ',
        blank if blank.is_whitespace() => ' ',
        other => other,
    }
}

fn is_invisible(character: char) -> bool {
    crate::domain::is_hidden(character) && !character.is_whitespace()
}
