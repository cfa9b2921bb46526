//! A text taken apart into sentences, and put together from what is left of them.

use super::{Finding, sentences};
use std::ops::Range;

/// How much of a text is looked at to see whether its last sentence has ended, in bytes.
const TAIL_BYTES: usize = 400;

/// What becomes of a sentence.
pub(super) enum Fate {
    /// It stays, with these parts of the text shown otherwise.
    Kept(Vec<(Range<usize>, String)>),
    /// It goes.
    Removed,
    /// This is said instead.
    Replaced(String),
}

/// Sentences so joined that no finding goes over the end of one.
pub(super) fn united(sentences: &[Range<usize>], found: &[Finding]) -> Vec<Range<usize>> {
    let mut united: Vec<Range<usize>> = Vec::with_capacity(sentences.len());
    let mut found = found.iter().peekable();
    for sentence in sentences {
        while found.next_if(|finding| finding.span.end <= sentence.start).is_some() {}
        let is_cut = found.peek().is_some_and(|finding| finding.span.start < sentence.start);
        match united.last_mut() {
            Some(last) if is_cut => last.end = sentence.end,
            Some(_) | None => united.push(sentence.clone()),
        }
    }
    united
}

/// What is left of a text. Of the blanks on both sides of what goes, those with more line ends stay.
pub(super) fn joined(text: &str, sentences: &[Range<usize>], fates: &[Fate]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut said: Vec<&str> = Vec::new();
    let mut gap: Option<&str> = None;
    let mut before = 0;
    for (sentence, fate) in sentences.iter().zip(fates) {
        let here = text.get(before..sentence.start).unwrap_or_default();
        gap = Some(match gap {
            Some(waiting) if line_ends(waiting) >= line_ends(here) => waiting,
            Some(_) | None => here,
        });
        before = sentence.end;
        let instead = match fate {
            Fate::Removed => continue,
            Fate::Replaced(instead) if said.contains(&instead.as_str()) => continue,
            Fate::Replaced(instead) => {
                said.push(instead);
                instead.clone()
            }
            Fate::Kept(masked) => shown(text, sentence, masked),
        };
        let blanks = gap.take().unwrap_or_default();
        if !out.is_empty() || sentence.start == blanks.len() {
            out.push_str(blanks);
        }
        out.push_str(&instead);
    }
    if gap.is_none() {
        out.push_str(text.get(before..).unwrap_or_default());
    }
    out
}

/// Puts a sentence at the end of a text: after a blank if one has ended there, else on a line of its own.
pub(super) fn append(text: &mut String, sentence: &str) {
    text.truncate(text.trim_end().len());
    if text.is_empty() {
        text.push_str(sentence);
        return;
    }
    let mut start = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let mut tail = text.get(start..).unwrap_or_default().to_owned();
    let own = tail.len() + 1;
    tail.push(' ');
    tail.push_str(sentence);
    let is_apart = sentences(&tail).iter().any(|found| found.start == own);
    text.push(if is_apart && text.ends_with(['.', '!', '?', '…', ')', '"', '”', '。']) {
        ' '
    } else {
        '\n'
    });
    text.push_str(sentence);
}

fn shown(text: &str, sentence: &Range<usize>, masked: &[(Range<usize>, String)]) -> String {
    let mut shown = String::with_capacity(sentence.len());
    let mut rest = sentence.start;
    for (span, mask) in masked {
        shown.push_str(text.get(rest..span.start).unwrap_or_default());
        shown.push_str(mask);
        rest = span.end;
    }
    shown.push_str(text.get(rest..sentence.end).unwrap_or_default());
    shown
}

fn line_ends(blanks: &str) -> usize {
    blanks.matches('\n').count()
}
