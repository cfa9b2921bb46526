//! Screening what a person said, before anyone reads it.

use super::count::{Count, Counts};
use super::fold::Folded;
use super::wording::Phrases;
use super::{Action, Language, Rules, Tail, detect, masked};
use std::ops::Range;

/// What screening made of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screened {
    /// The text as it may be read; empty where it is withheld.
    pub text: String,
    /// Whether the whole text is held back.
    pub withheld: bool,
    /// What to say instead of asking anyone for a reply.
    pub say: Option<String>,
    /// What was found in the text that came in.
    pub findings: Vec<Noted>,
    /// What happened, counted.
    pub counts: Counts,
}

/// Something found in a text, without the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// A class of personal data, or the rule that a sentence met.
    pub class: &'static str,
    /// Where it stands, in bytes of the text that came in.
    pub span: Range<usize>,
    /// What became of it.
    pub action: Done,
    /// What is shown in its place, where something is masked.
    pub mask: Option<String>,
}

/// What became of something found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Masked.
    Redact,
    /// The turn was held back, or the sentence removed.
    Withhold,
    /// Left as it is.
    Allow,
    /// The sentence was removed.
    Remove,
    /// Something else is said instead.
    Replace,
    /// Left as it is, for a reader who should look at it.
    Highlight,
}

impl Done {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Redact => "redact",
            Self::Withhold => "withhold",
            Self::Allow => "allow",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Highlight => "highlight",
        }
    }
}

impl From<Action> for Done {
    fn from(action: Action) -> Self {
        match action {
            Action::Redact => Self::Redact,
            Action::Withhold => Self::Withhold,
            Action::Allow => Self::Allow,
        }
    }
}

/// Screens a turn: what a person said, or anything that others wrote and someone is about to read.
pub fn turn(text: &str, rules: &Rules, language: Language) -> Screened {
    turn_after(&Tail::new(), text, rules, language)
}

/// Screens a turn that goes on with what was said before: a value that it completes counts with the part of it here.
pub fn turn_after(before: &Tail, text: &str, rules: &Rules, language: Language) -> Screened {
    let mut counts = Counts::default();
    let mut noted = Vec::new();
    let detection = rules.detection();
    let mut found = detect(text, &detection);
    for completion in before.completions(text, &detection) {
        let part = completion.finding;
        found.retain(|other| other.span.end <= part.span.start || other.span.start >= part.span.end);
        found.push(part);
    }
    found.sort_by_key(|finding| finding.span.start);
    for finding in &found {
        let action = rules.personal_data.of(finding.class);
        counts.add(Count::Detected(finding.class));
        if action == Action::Redact {
            counts.add(Count::Redacted);
        }
        let mask = (action == Action::Redact).then(|| finding.mask.clone());
        let (class, span) = (finding.class.as_str(), finding.span.clone());
        noted.push(Noted { class, span, action: action.into(), mask });
    }
    if noted.iter().any(|noted| noted.action == Done::Withhold) {
        counts.add(Count::Withheld);
        let say = Some(language.withheld().to_owned());
        return Screened { text: String::new(), withheld: true, say, findings: noted, counts };
    }
    found.retain(|finding| rules.personal_data.of(finding.class) == Action::Redact);
    let say = asked(text, rules, language).map(|(say, span)| {
        counts.add(Count::ExactReply);
        noted.push(Noted { class: "reply_exactly", span, action: Done::Replace, mask: None });
        say.to_owned()
    });
    noted.sort_by_key(|noted| noted.span.start);
    Screened { text: masked(text, &found), withheld: false, say, findings: noted, counts }
}

/// The reply that the first rule gives whose topic the turn asks about, and the words that ask.
fn asked<'a>(text: &str, rules: &'a Rules, language: Language) -> Option<(&'a str, Range<usize>)> {
    let folded = Folded::of(text, language);
    rules.reply_exactly.iter().find_map(|rule| {
        let words = rule.asked_by();
        let phrases = Phrases::new(words.iter().map(String::as_str), language);
        let (_, span) = phrases.find(&folded).next()?;
        Some((rule.say.as_str(), span))
    })
}
