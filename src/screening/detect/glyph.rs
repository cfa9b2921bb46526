//! One character as a reader of numbers takes it.

use crate::domain::is_hidden;
use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::char::decompose_compatible;

/// The zero of every script that has digits; nine more follow it.
#[rustfmt::skip]
const ZEROS: [u32; 75] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
    0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0, 0x11136, 0x111D0,
    0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0, 0x11C50,
    0x11D50, 0x11DA0, 0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC,
    0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950, 0x1FBF0,
];

/// What a character is to a reader of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Glyph {
    /// A digit of any script, as ASCII.
    Digit(u8),
    /// A letter of a script that puts blanks between words: in upper case if it is a Latin letter without marks,
    /// whatever its width, else 0.
    Letter(u8),
    /// A letter of a script without blanks between words: what stands beside it stands alone.
    Ideograph,
    /// A mark on the character before it.
    Mark,
    /// Nothing that shows.
    Hidden,
    /// A blank of any width.
    Space,
    /// The end of a line.
    Newline,
    /// A hyphen or dash.
    Dash,
    /// A full stop or a dot in the middle.
    Dot,
    /// An opening parenthesis.
    Open,
    /// A closing parenthesis.
    Close,
    /// A plus.
    Plus,
    /// An at sign.
    At,
    /// An asterisk.
    Star,
    /// The sign of a currency or of a percentage.
    Unit,
    /// Anything else.
    Other,
}

impl Glyph {
    /// What a character is.
    pub(super) fn of(character: char) -> Self {
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => Self::of_ascii(byte),
            Ok(_) | Err(_) => Self::of_unicode(character),
        }
    }

    /// Whether it may stand inside a word and changes nothing.
    pub(super) fn is_passed_over(self) -> bool {
        matches!(self, Self::Hidden | Self::Mark)
    }

    const fn of_ascii(byte: u8) -> Self {
        match byte {
            b'0'..=b'9' => Self::Digit(byte),
            b'A'..=b'Z' | b'a'..=b'z' => Self::Letter(byte.to_ascii_uppercase()),
            b' ' | b'\t' => Self::Space,
            b'\n' | b'\r' | 0x0B | 0x0C => Self::Newline,
            b'-' => Self::Dash,
            b'.' => Self::Dot,
            b'(' => Self::Open,
            b')' => Self::Close,
            b'+' => Self::Plus,
            b'@' => Self::At,
            b'*' => Self::Star,
            b'$' | b'%' => Self::Unit,
            0..=0x1F | 0x7F => Self::Hidden,
            _ => Self::Other,
        }
    }

    fn of_unicode(character: char) -> Self {
        if let Some(digit) = digit(character) {
            return Self::Digit(digit);
        }
        match character {
            '\u{A0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200A}'
            | '\u{202F}'
            | '\u{205F}'
            | '\u{2800}'
            | '\u{3000}' => Self::Space,
            '\u{85}' | '\u{2028}' | '\u{2029}' => Self::Newline,
            '\u{2D7}' | '\u{207B}' | '\u{208B}' | '\u{2212}' | '\u{2796}' => Self::Dash,
            '\u{B7}' | '\u{2024}' | '\u{2027}' | '\u{3002}' | '\u{30FB}' | '\u{FE52}' | '\u{FF0E}'
            | '\u{FF61}' | '\u{FF65}' => Self::Dot,
            '\u{FF08}' | '\u{FE59}' | '\u{207D}' | '\u{208D}' => Self::Open,
            '\u{FF09}' | '\u{FE5A}' | '\u{207E}' | '\u{208E}' => Self::Close,
            '\u{FF0B}' | '\u{FE62}' | '\u{2795}' | '\u{207A}' | '\u{208A}' => Self::Plus,
            '\u{FF20}' | '\u{FE6B}' => Self::At,
            '\u{FF0A}' | '\u{FE61}' | '\u{2217}' => Self::Star,
            '\u{FF05}' | '\u{FE6A}' | '\u{2030}' => Self::Unit,
            // Stand for "number" beside a number.
            'ª' | 'º' => Self::Other,
            _ if is_hidden(character) => Self::Hidden,
            _ if is_of_script_without_blanks(character) => Self::Ideograph,
            _ => Self::of_category(character),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Unicode's categories, of which most are nothing here"
    )]
    fn of_category(character: char) -> Self {
        match get_general_category(character) {
            Category::DashPunctuation => Self::Dash,
            Category::CurrencySymbol => Self::Unit,
            Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => Self::Mark,
            Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter => Self::Letter(plain_letter(character)),
            _ => Self::Other,
        }
    }
}

/// The value of a digit outside ASCII, as an ASCII digit.
fn digit(character: char) -> Option<u8> {
    let code = u32::from(character);
    let after = ZEROS.partition_point(|zero| *zero <= code);
    let zero = ZEROS.get(after.checked_sub(1)?)?;
    u8::try_from(code - zero).ok().filter(|value| *value < 10).map(|value| b'0' + value)
}

/// The Latin letter that a character is in another form, in upper case; 0 for others and letters with marks.
fn plain_letter(character: char) -> u8 {
    let (mut letter, mut count) = (0, 0);
    decompose_compatible(character, |part| {
        letter = u8::try_from(part).ok().filter(u8::is_ascii_alphabetic).unwrap_or(0).to_ascii_uppercase();
        count += 1;
    });
    if count == 1 { letter } else { 0 }
}

fn is_of_script_without_blanks(character: char) -> bool {
    matches!(character,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{19E0}'..='\u{19FF}'
        | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{3035}'
        | '\u{3040}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{A000}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9F}' | '\u{1B000}'..='\u{1B16F}'
        | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_of_every_script_is_read() {
        for character in ('\u{80}'..=char::MAX).filter(|character| !is_hidden(*character)) {
            let is_digit = get_general_category(character) == Category::DecimalNumber;
            assert!(
                !is_digit || matches!(Glyph::of(character), Glyph::Digit(_)),
                "U+{:04X}",
                u32::from(character)
            );
        }
        for (text, value) in [("٣", b'3'), ("９", b'9'), ("𝟘", b'0'), ("𝟿", b'9'), ("๗", b'7')] {
            assert_eq!(text.chars().map(Glyph::of).collect::<Vec<_>>(), [Glyph::Digit(value)]);
        }
        assert!(ZEROS.is_sorted());
    }

    #[test]
    fn a_letter_is_taken_in_any_width_and_case() {
        assert_eq!(Glyph::of('ｇ'), Glyph::Letter(b'G'));
        assert_eq!(Glyph::of('𝐁'), Glyph::Letter(b'B'));
        assert_eq!(Glyph::of('é'), Glyph::Letter(0));
        assert_eq!(Glyph::of('是'), Glyph::Ideograph);
        assert_eq!(Glyph::of('\u{200B}'), Glyph::Hidden);
        assert_eq!(Glyph::of('\u{AD}'), Glyph::Hidden);
    }
}
