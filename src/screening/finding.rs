//! One value of personal data in a text, and what is shown in its place.

use super::Class;
use super::detect::{Detection, detect};
use std::collections::BTreeSet;
use std::{fmt, ops::Range};

/// Where a text holds a value; the value itself is not kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Finding {
    /// The class it belongs to.
    pub class: Class,
    /// Which kind of the class it is, as `ssn`, `nino` or `cpf`; the class's name where there is one kind.
    pub kind: &'static str,
    /// Where it stands, in bytes of the text.
    pub span: Range<usize>,
    /// What is shown in its place.
    pub mask: String,
}

/// Masks show no value, so a finding may stand in a log; of a mail address the mask keeps the domain, and is left out.
impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}) at {}..{}", self.class, self.kind, self.span.start, self.span.end)
    }
}

/// How many times a masked text is looked at again: what a mask leaves beside it may be a value only then.
const MOST_ROUNDS: usize = 8;

/// The text with every finding replaced by its mask, and with it what is a value only then.
///
/// Findings that do not lie in the text, in order and apart from each other, are passed over. What was a value before and
/// is none of the findings stays.
pub fn masked(text: &str, findings: &[Finding]) -> String {
    let mut shown = masked_once(text, findings);
    if findings.is_empty() {
        return shown;
    }
    let value = |text: &str, finding: &Finding| text.get(finding.span.clone()).map(str::to_owned);
    let known: BTreeSet<_> = detect(text, &Detection::default())
        .iter()
        .map(|finding| (finding.class.as_str(), value(text, finding)))
        .collect();
    for _ in 0..MOST_ROUNDS {
        let mut left = detect(&shown, &Detection::default());
        left.retain(|finding| !known.contains(&(finding.class.as_str(), value(&shown, finding))));
        if left.is_empty() {
            break;
        }
        shown = masked_once(&shown, &left);
    }
    shown
}

fn masked_once(text: &str, findings: &[Finding]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = 0;
    for finding in findings {
        if let Some(before) = text.get(rest..finding.span.start)
            && text.is_char_boundary(finding.span.end)
            && finding.span.end >= finding.span.start
        {
            shown.push_str(before);
            shown.push_str(&finding.mask);
            rest = finding.span.end;
        }
    }
    shown.push_str(text.get(rest..).unwrap_or_default());
    shown
}
