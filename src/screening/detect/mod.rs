//! Finding the values of every class in one pass over a text.

use super::Finding;
use std::ops::Range;

/// What is looked for beyond the values that are always found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {}

/// The values in a text, in order, never overlapping.
pub fn detect(text: &str, detection: &Detection) -> Vec<Finding> {
    let _ = (text, detection);
    Vec::new()
}

/// The text without some parts of it, in order and apart from each other, joined so that nothing that was apart
/// becomes a value: where it would, a line ends instead.
pub fn without(text: &str, parts: &[Range<usize>], detection: &Detection) -> String {
    let _ = detection;
    let mut kept = String::with_capacity(text.len());
    let mut rest = 0;
    for part in parts {
        kept.push_str(text.get(rest..part.start).unwrap_or_default());
        rest = part.end;
    }
    kept.push_str(text.get(rest..).unwrap_or_default());
    kept
}
