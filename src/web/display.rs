//! Makes any text inert and honest: nothing in it runs, hides, reorders or passes for something else.

use crate::domain::ExternalName;
use serde_json::Value;
use std::fmt::{self, Write};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_security::{MixedScript, RestrictionLevel, RestrictionLevelDetection, skeleton};

/// Text longer than this many characters is shown with its length.
const LONG_CHARACTERS: usize = 280;
/// More combining marks in a row than this pile up over other lines (UTS 39 §5.4).
const MOST_MARKS: usize = 4;
/// More line breaks in a row than this are shown as a number, so that nothing is pushed out of sight.
const MOST_BREAKS: usize = 3;
/// More blanks in a row than this are shown as a number; the deepest JSON we show indents by less.
const MOST_BLANKS: usize = 80;

/// Text from outside as HTML that shows all it is, followed by what a reader should know about it.
///
/// Only this file makes one, so a template can write it without escaping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    html: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.html)
    }
}

impl askama::filters::HtmlSafe for Shown {}

/// Text on one line: a name, a reason, an identifier. Line breaks are shown as escapes.
pub fn line(text: &str) -> Shown {
    show(text, Shape::Line, false)
}

/// Text of several lines, such as a message: `\n` breaks the line, every other control is an escape.
pub fn block(text: &str) -> Shown {
    show(text, Shape::Block, false)
}

/// A counterparty or resource; flagged as well where its scripts mix over several words.
pub fn name(name: &ExternalName) -> Shown {
    show(name.as_str(), Shape::Line, name.is_mixed_script())
}

/// JSON, indented, as text.
pub fn json(value: &Value) -> Shown {
    show(&format!("{value:#}"), Shape::Code, false)
}

/// The same characters for places that hold no markup, such as an attribute, a text area or a title: what
/// does not show is written `\u{202E}`, line breaks stay. The template still escapes it.
pub fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text, Shape::Block) {
        match piece {
            Piece::Plain(character) => out.push(character),
            Piece::Break(count) => out.extend(std::iter::repeat_n('\n', count)),
            Piece::Blanks(count) => out.extend(std::iter::repeat_n(' ', count)),
            Piece::Escaped(character) => out.push_str(&escape(character)),
        }
    }
    out
}

/// Whether [`inert`] has to change anything.
pub fn hides_something(text: &str) -> bool {
    inert(text) != text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Line,
    Block,
    Code,
}

/// One unit of what is shown.
enum Piece {
    Plain(char),
    Escaped(char),
    Break(usize),
    Blanks(usize),
}

/// What there is to say about a text.
#[derive(Default)]
struct Findings {
    escaped: usize,
    mixed: bool,
    look_alike: bool,
}

fn show(text: &str, shape: Shape, mixed: bool) -> Shown {
    let mut findings = Findings { mixed, ..Findings::default() };
    let mut html = String::with_capacity(text.len() + 32);
    html.push_str(match shape {
        Shape::Line => "<bdi class=\"said\">",
        Shape::Block => "<bdi class=\"said block\">",
        Shape::Code => "<bdi class=\"said block code\">",
    });
    write_pieces(&mut html, text, shape, &mut findings);
    html.push_str("</bdi>");
    write_flags(&mut html, text, &findings);
    Shown { html }
}

/// Writes the text; words whose letters mislead are marked where they stand.
fn write_pieces(html: &mut String, text: &str, shape: Shape, findings: &mut Findings) {
    let mut word = Word::default();
    for piece in pieces(text, shape) {
        match piece {
            Piece::Plain(character) => {
                word.text.push(character);
                push_escaped(&mut word.html, character);
            }
            Piece::Escaped(character) => {
                findings.escaped += 1;
                word.html.push_str("<span class=\"escape\">");
                word.html.push_str(&escape(character));
                word.html.push_str("</span>");
            }
            Piece::Break(count) => {
                std::mem::take(&mut word).write(html, findings);
                write_break(html, count);
            }
            Piece::Blanks(count) => {
                std::mem::take(&mut word).write(html, findings);
                write_blanks(html, count);
            }
        }
    }
    word.write(html, findings);
}

/// A word as it was written and as it is shown.
#[derive(Default)]
struct Word {
    text: String,
    html: String,
}

impl Word {
    fn write(self, html: &mut String, findings: &mut Findings) {
        match suspicion(&self.text) {
            Suspicion::None => return html.push_str(&self.html),
            Suspicion::Mixed => findings.mixed = true,
            Suspicion::LookAlike => findings.look_alike = true,
        }
        html.push_str("<mark>");
        html.push_str(&self.html);
        html.push_str("</mark>");
    }
}

fn write_break(html: &mut String, count: usize) {
    if count <= MOST_BREAKS {
        html.extend(std::iter::repeat_n("<br>", count));
    } else {
        let empty = count - 1;
        let _ = write!(html, "<br><span class=\"escape\">{empty} empty lines</span><br>");
    }
}

fn write_blanks(html: &mut String, count: usize) {
    if count <= MOST_BLANKS {
        html.extend(std::iter::repeat_n(' ', count));
    } else {
        let _ = write!(html, " <span class=\"escape\">{count} blanks</span> ");
    }
}

/// What a reader should know, in words, after the text.
fn write_flags(html: &mut String, text: &str, findings: &Findings) {
    let characters = text.chars().count();
    let mut flag = |said: String| {
        let _ = write!(html, " <span class=\"flag\">{said}</span>");
    };
    match findings.escaped {
        0 => {}
        1 => flag("1 character that would not show".to_owned()),
        many => flag(format!("{many} characters that would not show")),
    }
    if findings.mixed {
        flag("mixed or unusual letters in one word".to_owned());
    }
    if findings.look_alike {
        flag("letters that look like Latin ones".to_owned());
    }
    if text.chars().any(is_right_to_left) {
        flag("reads from right to left".to_owned());
    }
    if characters > LONG_CHARACTERS {
        flag(format!("{characters} characters, all of them shown"));
    }
}

/// Cuts a text into what is shown as it is, what is shown as an escape, and runs of breaks and blanks.
fn pieces(text: &str, shape: Shape) -> Vec<Piece> {
    let mut out = Vec::with_capacity(text.len());
    let mut marks = 0usize;
    // A mark with nothing visible before it would sit on our own markup.
    let mut has_base = false;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character == '\n' && shape != Shape::Line {
            let mut count = 1;
            while rest.next_if_eq(&'\n').is_some() {
                count += 1;
            }
            out.push(Piece::Break(count));
            has_base = false;
        } else if character == ' ' {
            let mut count = 1;
            while rest.next_if_eq(&' ').is_some() {
                count += 1;
            }
            let ends_line = matches!(rest.peek(), None | Some('\n'));
            let begins_text = out.is_empty() && shape == Shape::Line;
            if ends_line || begins_text {
                out.extend(std::iter::repeat_n((), count).map(|()| Piece::Escaped(' ')));
            } else {
                out.push(Piece::Blanks(count));
            }
            has_base = false;
        } else if is_mark(character) && !is_hidden(character) {
            marks += 1;
            let fits = has_base && marks <= MOST_MARKS;
            out.push(if fits { Piece::Plain(character) } else { Piece::Escaped(character) });
            continue;
        } else if is_hidden(character) || (character == '\\' && opens_escape(&mut rest)) {
            out.push(Piece::Escaped(character));
            has_base = false;
        } else {
            out.push(Piece::Plain(character));
            has_base = true;
        }
        marks = 0;
    }
    out
}

/// Whether what follows a backslash would read as one of our own escapes; then the backslash becomes one.
fn opens_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    rest.clone().take(2).eq("u{".chars())
}

fn escape(character: char) -> String {
    format!("\\u{{{:X}}}", u32::from(character))
}

fn push_escaped(html: &mut String, character: char) {
    match character {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        '"' => html.push_str("&quot;"),
        '\'' => html.push_str("&#39;"),
        other => html.push(other),
    }
}

/// Characters that show as nothing, as any blank but the ordinary one, or that steer what is around them.
fn is_hidden(character: char) -> bool {
    let by_category = matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::Unassigned
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
    );
    // Letters, marks and a symbol by category, drawn as nothing all the same.
    let drawn_as_nothing = matches!(character,
        '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{2800}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}' | '\u{16FE4}' | '\u{E0000}'..='\u{E0FFF}');
    (by_category && character != ' ') || drawn_as_nothing
}

fn is_mark(character: char) -> bool {
    matches!(
        get_general_category(character),
        GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark | GeneralCategory::SpacingMark
    )
}

/// Letters of the blocks that Unicode sets aside for scripts written from right to left.
const fn is_right_to_left(character: char) -> bool {
    matches!(character,
        '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}

enum Suspicion {
    None,
    Mixed,
    LookAlike,
}

/// Whether the letters and digits of one word mislead: scripts that do not belong together, letters outside
/// ordinary use (UTS 39 §5.2), or a word of another script that reads as Latin (UTS 39 §4).
fn suspicion(word: &str) -> Suspicion {
    if word.is_ascii() {
        return Suspicion::None;
    }
    let is_counted = |c: &char| {
        !is_hidden(*c)
            && (c.is_alphabetic()
                || get_general_category(*c) == GeneralCategory::DecimalNumber
                || is_mark(*c))
    };
    let letters: String = word.chars().filter(is_counted).collect();
    if letters.is_ascii() {
        return Suspicion::None;
    }
    if !letters.check_restriction_level(RestrictionLevel::HighlyRestrictive) {
        return Suspicion::Mixed;
    }
    let is_latin = format!("{letters}a").is_single_script();
    if !is_latin && skeleton(&letters).all(|c| c.is_ascii()) {
        return Suspicion::LookAlike;
    }
    Suspicion::None
}

#[cfg(test)]
#[path = "display_tests.rs"]
mod tests;
