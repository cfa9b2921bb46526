//! Every link in the texts of a call's arguments, and where each leads as a browser would follow it.
//!
//! What may be a link counts as one: the schemes, `//host`, addresses of mail, and anything with a dot that could be
//! a host, whatever dots, widths and invisible characters it is written with. A link that leads to no host that a
//! reader could tell from its text leads nowhere, which is inside no domain.

use super::reach::{CONTAINED, Host, HostDomains, REACHING};
use crate::domain::is_hidden;
use serde_json::{Map, Value};
use unicode_general_category::{GeneralCategory as Category, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// Schemes that need no slashes to open something; those of [`REACHING`] and [`CONTAINED`] need a character.
///
/// Beside those of browsers they are the ones registered for opening something by a name or number alone: mail and
/// messages, calls, payments, places, files of others, and programs on the reader's machine.
#[rustfmt::skip]
const OPENING: [&str; 41] = [
    "bitcoin", "bitcoincash", "blob", "callto", "data", "ed2k", "ethereum", "facetime", "facetime-audio",
    "ftp", "geo", "http", "https", "imap", "itms", "itms-apps", "jabber", "javascript", "lightning",
    "litecoin", "livescript", "magnet", "mailto", "maps", "market", "monero", "msteams", "payto", "sip",
    "sips", "skype", "sms", "smsto", "spotify", "tel", "upi", "vbscript", "view-source", "webcal", "whatsapp",
    "xmpp",
];
/// Schemes whose text runs, blanks or not.
const RUNNING: [&str; 3] = ["javascript", "livescript", "vbscript"];
/// The most characters before the first `/` that are read as an authority.
const LONGEST_AUTHORITY: usize = 512;

/// Where one link leads; `None` is nowhere.
pub(super) type Link = Option<Host>;

/// The links in the names and texts of an object, at any depth.
pub(super) fn links_in(object: &Map<String, Value>) -> Vec<Link> {
    let mut found = Vec::new();
    for (name, value) in object {
        links(name, &mut found);
        links_below(value, &mut found);
    }
    found
}

fn links_below(value: &Value, found: &mut Vec<Link>) {
    match value {
        Value::String(text) => links(text, found),
        Value::Array(items) => items.iter().for_each(|item| links_below(item, found)),
        Value::Object(object) => found.extend(links_in(object)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a text that should lead to one host leads into the domains, or leads somewhere that nobody can tell: what a
/// refusal must act on, or dressing a host up would walk around it.
pub(super) fn may_lead_into(text: &str, domains: &HostDomains) -> bool {
    if let Some(host) = Host::of(text) {
        return domains.hold(&host);
    }
    let mut found = Vec::new();
    links(text, &mut found);
    !found.is_empty()
}

/// The links of one text, as it stands and as HTML would show it.
fn links(text: &str, found: &mut Vec<Link>) {
    if !text.contains([':', '@', '\\', '/', '&']) && !text.chars().any(may_be_dot) {
        return;
    }
    scan(text, found);
    if text.contains('&') {
        let shown = without_references(text);
        if shown != text {
            scan(&shown, found);
        }
    }
}

fn may_be_dot(character: char) -> bool {
    character == '.' || !character.is_ascii()
}

/// One character as it would be taken up, and what was done to it.
#[derive(Clone, Copy)]
struct Glyph {
    character: char,
    /// It only looks like this character: a link with it leads nowhere.
    odd: bool,
    /// Something invisible stood before it.
    gap: bool,
}

impl Glyph {
    fn is_slash(self) -> bool {
        matches!(self.character, '/' | '\\')
    }

    /// Whether it ends a link wherever it stands.
    fn is_delimiter(self) -> bool {
        self.character.is_whitespace()
            || matches!(
                self.character,
                '<' | '>' | '"' | '\'' | '`' | '{' | '}' | '|' | '^' | '(' | ')' | '[' | ']' | ',' | ';'
            )
    }

    fn is_of_host(self) -> bool {
        self.character.is_alphanumeric()
            || matches!(self.character, '-' | '_' | '.')
            || matches!(
                get_general_category(self.character),
                Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark
            )
    }
}

/// A text in compatibility form, without what does not show, every kind of full stop a dot.
fn glyphs(text: &str) -> Vec<Glyph> {
    let mut read = Vec::with_capacity(text.len());
    let mut gap = false;
    for given in text.chars() {
        if is_hidden(given) && !given.is_whitespace() {
            gap = true;
            continue;
        }
        for character in std::iter::once(given).nfkc() {
            let character = if matches!(character, '。' | '｡') { '.' } else { character };
            let odd = !given.is_ascii() && character.is_ascii_punctuation() && character != '.';
            read.push(Glyph { character, odd, gap });
            gap = false;
        }
    }
    read
}

fn scan(text: &str, found: &mut Vec<Link>) {
    let glyphs = glyphs(text);
    let mut was_link = false;
    let mut pieces = glyphs.split_inclusive(|glyph| glyph.is_delimiter());
    let mut piece = pieces.next();
    while let Some(whole) = piece {
        let (body, ended_by) = match whole.split_last() {
            Some((last, body)) if last.is_delimiter() => (body, Some(last.character)),
            _ => (whole, None),
        };
        let body = without_closing(body);
        // What follows a link at once, past a quote or bracket, may be read as part of it.
        let glued = body.first().is_some_and(|first| first.character == '.')
            || body.iter().any(|glyph| glyph.character == '@');
        if was_link && glued {
            found.push(None);
        }
        let is_link = scan_piece(body, found);
        let goes_on = ended_by.is_some_and(|delimiter| !delimiter.is_whitespace());
        was_link = goes_on && (is_link || (was_link && body.is_empty()));
        piece = pieces.next();
    }
}

/// Punctuation after a link belongs to the sentence.
fn without_closing(mut body: &[Glyph]) -> &[Glyph] {
    while let Some((last, rest)) = body.split_last() {
        let closes = matches!(last.character, '.' | '!' | '?' | '*' | '_' | '~')
            || matches!(
                get_general_category(last.character),
                Category::FinalPunctuation | Category::InitialPunctuation
            );
        if !closes {
            break;
        }
        body = rest;
    }
    body
}

/// Finds what stands in a piece without blanks, and says whether the piece ends inside a link.
fn scan_piece(piece: &[Glyph], found: &mut Vec<Link>) -> bool {
    let mut in_link = false;
    let mut index = 0;
    while let Some(glyph) = piece.get(index) {
        let opened = match glyph.character {
            ':' => scheme_before(piece, index),
            '/' | '\\' if is_relative(piece, index) => Some((index, String::new())),
            _ => None,
        };
        if let Some((from, scheme)) = opened {
            if !in_link {
                scan_bare(piece.get(..from).unwrap_or_default(), found);
            }
            in_link = true;
            found.push(resolve(piece.get(from..).unwrap_or_default(), &scheme));
            // The slashes are this link's; the next one begins after them.
            index += piece.iter().skip(index + 1).take_while(|glyph| glyph.is_slash()).count();
        }
        index += 1;
    }
    in_link || scan_bare(piece, found)
}

/// Whether the colon at `index` ends a scheme that opens a link: where it begins, and the scheme in lower case.
fn scheme_before(piece: &[Glyph], index: usize) -> Option<(usize, String)> {
    let before = piece.get(..index)?;
    let of_scheme = |glyph: &&Glyph| {
        glyph.character.is_ascii_alphanumeric() || matches!(glyph.character, '+' | '-' | '.')
    };
    let run = before.iter().rev().take(64).take_while(of_scheme).count();
    let word = before.get(index - run..)?;
    let leading = word.iter().take_while(|glyph| !glyph.character.is_ascii_alphabetic()).count();
    let word = word.get(leading..)?;
    let scheme: String = word.iter().map(|glyph| glyph.character.to_ascii_lowercase()).collect();
    let next = piece.get(index + 1);
    let has_slash = next.is_some_and(|next| next.is_slash());
    let known = scheme.rsplit(['.', '+']).next().filter(|scheme| OPENING.contains(scheme));
    match known {
        Some(known) if next.is_some() || RUNNING.contains(&known) => {
            Some((index - known.len(), known.to_owned()))
        }
        Some(_) | None => (has_slash && !scheme.is_empty()).then_some((index - word.len(), scheme)),
    }
}

/// Whether two slashes at `index` begin an address, as `//host` does: not inside a path, and not by themselves.
fn is_relative(piece: &[Glyph], index: usize) -> bool {
    let at = |index: usize| piece.get(index).copied();
    let begins = index.checked_sub(1).and_then(at).is_none_or(|before| {
        !before.character.is_alphanumeric() && !before.is_slash() && before.character != ':'
    });
    begins && at(index + 1).is_some_and(Glyph::is_slash) && at(index + 2).is_some()
}

/// Where a link with a scheme, or with slashes alone, leads.
fn resolve(link: &[Glyph], scheme: &str) -> Link {
    let after = if scheme.is_empty() { link } else { link.get(scheme.len() + 1..)? };
    if CONTAINED.contains(&scheme) || matches!(scheme, "tel" | "sms") {
        return None;
    }
    let slashes = after.iter().take_while(|glyph| glyph.is_slash()).count();
    let authority = after.get(slashes..)?;
    let length = authority
        .iter()
        .take(LONGEST_AUTHORITY + 1)
        .take_while(|glyph| !matches!(glyph.character, '/' | '?' | '#'))
        .count();
    let end = link.len() - authority.len() + length;
    // What ends it may be no slash at all: `example.com／.evil.test` is one name to some.
    let ends_oddly = authority.get(length).is_some_and(|glyph| glyph.odd || glyph.gap);
    if length > LONGEST_AUTHORITY || ends_oddly || is_disguised(link.get(..end)?) {
        return None;
    }
    let text: String = authority.iter().take(length).map(|glyph| glyph.character).collect();
    if scheme == "mailto" {
        let query = authority.get(length..)?;
        if query.len() > LONGEST_AUTHORITY {
            return None;
        }
        let plain = query.iter().all(|glyph| !matches!(glyph.character, '@' | '%'));
        return if plain && slashes == 0 { Host::of(&format!("mailto:{text}")) } else { None };
    }
    let plain_slashes = after.iter().take(slashes).all(|glyph| glyph.character == '/');
    let reaches = scheme.is_empty() || REACHING.contains(&scheme) || slashes == 2;
    if plain_slashes && reaches { Host::of_authority(&text) } else { None }
}

/// Whether it holds what only looks like it, or something invisible.
fn is_disguised(link: &[Glyph]) -> bool {
    link.iter().any(|glyph| glyph.odd) || link.iter().skip(1).any(|glyph| glyph.gap)
}

/// Finds mail addresses and hosts that stand by themselves; says whether there was one.
fn scan_bare(piece: &[Glyph], found: &mut Vec<Link>) -> bool {
    let before = found.len();
    let inner = piece.len().checked_sub(1).and_then(|last| piece.get(1..last)).unwrap_or_default();
    if inner.iter().any(|glyph| glyph.character == '@') {
        let text: String = piece.iter().map(|glyph| glyph.character).collect();
        found.push(if is_disguised(piece) { None } else { Host::of(&text) });
        return true;
    }
    let mut index = 0;
    while index < piece.len() {
        let rest = piece.get(index..).unwrap_or_default();
        let run = rest.iter().take_while(|glyph| glyph.is_of_host()).count();
        let host = rest.get(..run).unwrap_or_default();
        // A symbol may be a label of its own: `i❤.ws`.
        let after_symbol = index.checked_sub(1).and_then(|index| piece.get(index));
        if host.first().is_some_and(|first| first.character == '.')
            && after_symbol.is_some_and(|before| !before.character.is_ascii())
        {
            found.push(None);
        }
        for part in dotted(host) {
            let text: String = part.iter().map(|glyph| glyph.character).collect();
            if may_be_host(&text) {
                let ends_oddly = rest.get(run).is_some_and(|glyph| glyph.odd || glyph.gap);
                found.push(if ends_oddly || is_disguised(part) { None } else { Host::named(&text) });
            }
        }
        if found.len() > before && opens_path(rest.get(run..).unwrap_or_default()) {
            return true;
        }
        index += run.max(1);
    }
    found.len() > before
}

/// A run of host characters at its ellipses, each part without what only surrounds it.
fn dotted(run: &[Glyph]) -> Vec<&[Glyph]> {
    let mut parts = Vec::new();
    let mut from = 0;
    for index in 1..=run.len() {
        let dots = |index: usize| run.get(index).is_some_and(|glyph| glyph.character == '.');
        if index == run.len() || (dots(index) && dots(index - 1)) {
            parts.push(run.get(from..index).unwrap_or_default());
            from = index;
        }
    }
    let surrounds = |glyph: &Glyph| matches!(glyph.character, '.' | '-' | '_');
    let trimmed = |part: &'_ [Glyph]| {
        let start = part.iter().take_while(|glyph| surrounds(glyph)).count();
        let end = part.iter().rev().take_while(|glyph| surrounds(glyph)).count();
        (start, part.len().saturating_sub(end))
    };
    parts
        .into_iter()
        .filter_map(|part| {
            let (start, end) = trimmed(part);
            part.get(start..end).filter(|part| !part.is_empty())
        })
        .collect()
}

/// Two labels or more, the last of letters (or encoded), or an address of four numbers.
fn may_be_host(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    let [.., last] = labels.as_slice() else { return false };
    let of_letters = last.chars().count() >= 2 && !last.chars().any(char::is_numeric);
    let is_number = |label: &&str| label.parse::<u8>().is_ok();
    labels.len() >= 2
        && (of_letters
            || last.to_ascii_lowercase().starts_with("xn--")
            || labels.first().is_some_and(|first| first.eq_ignore_ascii_case("www"))
            || (labels.len() == 4 && labels.iter().all(is_number)))
}

/// Whether a path follows, perhaps after a port: what stands in it leads nowhere else.
fn opens_path(rest: &[Glyph]) -> bool {
    let port = match rest.split_first() {
        Some((first, after)) if first.character == ':' => {
            1 + after.iter().take_while(|glyph| glyph.character.is_ascii_digit()).count()
        }
        Some(_) | None => 0,
    };
    rest.get(port).is_some_and(|glyph| matches!(glyph.character, '/' | '?' | '#'))
}

/// The text with HTML's character references read: numeric ones, and the named ones that make up links.
fn without_references(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        shown.push_str(before);
        let (character, remaining) = reference(after).unwrap_or(('&', after));
        shown.push(character);
        rest = remaining;
    }
    shown.push_str(rest);
    shown
}

/// The character that a reference stands for, and what follows it (HTML §13.2.5.72 and following).
fn reference(after: &str) -> Option<(char, &str)> {
    const NAMED: [(&str, char); 14] = [
        ("period;", '.'),
        ("colon;", ':'),
        ("sol;", '/'),
        ("bsol;", '\\'),
        ("commat;", '@'),
        ("hyphen;", '-'),
        ("dash;", '-'),
        ("lowbar;", '_'),
        ("num;", '#'),
        ("quest;", '?'),
        ("shy;", '\u{ad}'),
        ("Tab;", '\t'),
        ("NewLine;", '\n'),
        ("amp;", '&'),
    ];
    if let Some(number) = after.strip_prefix('#') {
        let (radix, digits) = number.strip_prefix(['x', 'X']).map_or((10, number), |hex| (16, hex));
        let length = digits.find(|digit: char| !digit.is_digit(radix)).unwrap_or(digits.len());
        let (digits, rest) = digits.split_at(length);
        let character = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
        return Some((character, rest.strip_prefix(';').unwrap_or(rest)));
    }
    NAMED.iter().find_map(|(name, character)| Some((*character, after.strip_prefix(name)?)))
}
