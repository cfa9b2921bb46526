//! Addresses of mail: `name@domain`.

use super::glyph::Glyph;
use super::reader::Reader;
use crate::screening::{Class, Finding};
use unicode_segmentation::UnicodeSegmentation;

/// The most characters of a name in quotes.
const LONGEST_QUOTED: usize = 66;
/// What may stand in a name beside letters, digits, dots and hyphens; no asterisk, which masks and emphasis are made of.
const IN_NAME: &[u8] = b"!#$%&'+/=?^_`{|}~";

/// The address whose at sign stands at `at`, its name not beginning before `floor`.
pub(super) fn around(reader: &mut Reader<'_>, at: usize, floor: usize) -> Option<Finding> {
    let (_, after) = reader.at(at)?;
    let (start, shown) = name(reader, at, floor)?;
    let end = domain(reader, after)?;
    let text = reader.text;
    let first = text.get(shown..at)?.graphemes(true).find(|part| part.chars().any(|one| !is_hidden(one)))?;
    let mask = format!("{first}***@{}", text.get(after..end)?);
    Some(Finding { class: Class::Email, kind: "email", span: start..end, mask })
}

/// Adds an address behind others; one whose name is the end of the last one's domain makes that longer.
pub(super) fn add(address: Finding, addresses: &mut Vec<Finding>) {
    match addresses.last_mut() {
        Some(last) if address.span.start < last.span.end => {
            let shown = last.mask.split_inclusive("***@").next().unwrap_or_default();
            let domain = address.mask.split_once("***@").map_or("", |(_, domain)| domain);
            last.mask = format!("{shown}{domain}");
            last.span.end = address.span.end;
        }
        Some(_) | None => addresses.push(address),
    }
}

fn is_hidden(character: char) -> bool {
    Glyph::of(character).is_passed_over()
}

/// Where a name that ends at the sign begins, and where what is shown of it does.
fn name(reader: &mut Reader<'_>, at: usize, floor: usize) -> Option<(usize, usize)> {
    if reader.text.get(floor..at)?.ends_with('"') {
        let start = quoted(reader, at - 1, floor)?;
        return Some((start, start + 1));
    }
    let (mut place, mut start) = (at, None);
    let mut scripts = Scripts::default();
    while let Some((glyph, before)) = reader.before(place).filter(|(_, before)| *before >= floor) {
        match glyph {
            Glyph::Letter(_) | Glyph::Digit(_) | Glyph::Ideograph => {
                // What stands before a name in a script without blanks does not belong to it.
                if scripts.changes(glyph) {
                    break;
                }
                start = Some(before);
            }
            Glyph::Mark | Glyph::Hidden | Glyph::Dot | Glyph::Dash | Glyph::Plus => {}
            Glyph::Unit | Glyph::Other => match reader.text.as_bytes().get(before) {
                Some(b'_') => start = Some(before),
                Some(byte) if IN_NAME.contains(byte) => {}
                Some(_) | None => break,
            },
            Glyph::Space | Glyph::Newline | Glyph::Open | Glyph::Close | Glyph::At | Glyph::Star => break,
        }
        place = before;
    }
    let start = after_address(reader.text, start?, place, at);
    let is_mask = is_tail_of_mask(reader.text, start, at) || reader.text.get(start..at)?.is_empty();
    (!is_mask).then_some((start, start))
}

/// Where a name in quotes begins whose closing quote stands at `close`.
fn quoted(reader: &mut Reader<'_>, close: usize, floor: usize) -> Option<usize> {
    let mut place = close;
    for _ in 0..LONGEST_QUOTED {
        let (glyph, before) = reader.before(place).filter(|(_, before)| *before >= floor)?;
        if glyph == Glyph::Newline {
            return None;
        }
        if reader.text.get(before..place) == Some("\"") {
            return (place < close).then_some(before);
        }
        place = before;
    }
    None
}

/// Where a name begins in the address of a page, behind its path or the name of a parameter.
fn after_address(text: &str, start: usize, reached: usize, at: usize) -> usize {
    let Some(name) = text.get(start..at) else { return start };
    let is_page = text.get(..start).is_some_and(|before| before.ends_with("://"))
        || reached < start && text.get(reached..start).is_some_and(|before| before.starts_with("//"));
    let is_query = name.contains('?') || name.contains('&') && name.contains('=');
    if !is_page && !is_query {
        return start;
    }
    let cut = name.rfind(|character| matches!(character, '?' | '&' | '=') || is_page && character == '/');
    cut.map_or(start, |cut| start + cut + 1)
}

fn is_tail_of_mask(text: &str, start: usize, at: usize) -> bool {
    let (Some(before), Some(name)) = (text.get(..start), text.get(start..at)) else { return false };
    name.chars().count() == 4
        && name.chars().any(|character| character.is_ascii_digit())
        && (before.ends_with("***") || before.ends_with("**** "))
}

/// Where the domain that begins at a place ends: two labels at least, the last of letters.
fn domain(reader: &mut Reader<'_>, start: usize) -> Option<usize> {
    let (mut place, mut labels, mut good) = (start, 0, None);
    let mut label = Label::default();
    loop {
        let read = reader.at(place);
        match read {
            Some((glyph @ (Glyph::Letter(_) | Glyph::Digit(_) | Glyph::Ideograph), next)) => {
                if glyph == Glyph::Ideograph && !label.switched && labels > 0 && label.is_top() {
                    good = Some(label.end);
                    label.switched = true;
                }
                label.add(reader.text.get(place..next)?, glyph, next);
                place = next;
            }
            Some((Glyph::Mark | Glyph::Hidden, next)) => place = next,
            Some((Glyph::Dash, next)) if label.length > 0 && next == place + 1 => {
                if labels > 0 && label.is_top() {
                    good = Some(label.end);
                }
                label.add("-", Glyph::Dash, label.end);
                place = next;
            }
            other => {
                if labels > 0 && label.is_top() {
                    good = Some(label.end);
                }
                let Some((Glyph::Dot, next)) = other else { return good };
                if label.length == 0 || label.last == Some(Glyph::Dash) {
                    return good;
                }
                labels += 1;
                label = Label::default();
                place = next;
            }
        }
    }
}

/// What was read of one label of a domain.
#[derive(Default)]
struct Label {
    length: usize,
    end: usize,
    last: Option<Glyph>,
    /// The first four characters, to know one that stands for other scripts.
    head: [u8; 4],
    others: bool,
    switched: bool,
}

impl Label {
    fn add(&mut self, text: &str, glyph: Glyph, end: usize) {
        if let (Some(place), [byte]) = (self.head.get_mut(self.length), text.as_bytes()) {
            *place = byte.to_ascii_lowercase();
        }
        self.others |= matches!(glyph, Glyph::Digit(_) | Glyph::Dash);
        self.length += 1;
        self.last = Some(glyph);
        self.end = end;
    }

    /// Whether it may be the last of a domain.
    fn is_top(&self) -> bool {
        let is_encoded = self.head == *b"xn--" && self.length > 4 && self.last != Some(Glyph::Dash);
        self.length > 1 && !self.switched && (!self.others || is_encoded)
    }
}

/// Which scripts a name is written in, read from its end.
#[derive(Default)]
struct Scripts {
    with_blanks: bool,
    without: bool,
}

impl Scripts {
    /// Whether a script without blanks begins where the name was in another so far.
    fn changes(&mut self, glyph: Glyph) -> bool {
        let ideograph = glyph == Glyph::Ideograph;
        let changes = ideograph && self.with_blanks && !self.without;
        self.without |= ideograph;
        self.with_blanks |= !ideograph;
        changes
    }
}
