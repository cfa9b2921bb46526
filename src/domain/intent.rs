//! The dotted names of actions, and the patterns clauses match them with.

use super::Scope;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};

const LONGEST_BYTES: usize = 128;

fn is_intent(text: &str) -> bool {
    let segment = |segment: &str| {
        !segment.is_empty()
            && segment.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    !text.is_empty() && text.len() <= LONGEST_BYTES && text.split('.').all(segment)
}

/// The dotted name of an action, such as `payments.refund`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Intent(Arc<str>);

impl Intent {
    /// Asking another member's agent; decided under the asker's terms.
    pub const QUESTION_ASK: &str = "question.ask";
    /// Being asked; decided under the terms of whom the question is for.
    pub const QUESTION_RECEIVE: &str = "question.receive";
    /// Answering; decided under the answerer's terms.
    pub const QUESTION_ANSWER: &str = "question.answer";

    /// Whether the service decides on it by itself, so that nobody else may put it to the gate or catalogue it.
    pub fn is_reserved(&self) -> bool {
        self.as_str() == "question" || self.as_str().starts_with("question.")
    }

    /// The scope that it takes.
    pub fn scope(&self) -> Scope {
        match self.as_str() {
            Self::QUESTION_ASK => Scope::QuestionAsk,
            Self::QUESTION_RECEIVE | Self::QUESTION_ANSWER => Scope::QuestionAnswer,
            _ => Scope::ActionRequest,
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Intent {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if is_intent(text) {
            Ok(Self(text.into()))
        } else {
            Err(format!(
                "`{}` is not an intent: segments of a-z, 0-9 and _ joined by dots, at most {LONGEST_BYTES} bytes",
                text.chars().take(LONGEST_BYTES).collect::<String>().escape_debug()
            ))
        }
    }
}

impl<'de> Deserialize<'de> for Intent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a clause names: one intent, every intent below a prefix (`payments.*`), or all (`*`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum IntentPattern {
    /// This intent alone.
    Exact(Intent),
    /// Every intent that continues this one after a dot; not the prefix itself.
    Below(Intent),
    /// Every intent.
    Any,
}

impl IntentPattern {
    /// Whether the pattern names `intent`.
    pub fn matches(&self, intent: &Intent) -> bool {
        match self {
            Self::Exact(exact) => exact == intent,
            Self::Below(prefix) => {
                intent.as_str().strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with('.'))
            }
            Self::Any => true,
        }
    }

    /// Whether every intent that `other` names is named by this pattern too.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::Exact(one), Self::Exact(another)) => one == another,
            (Self::Below(_), Self::Exact(intent)) => self.matches(intent),
            (Self::Below(outer), Self::Below(inner)) => outer == inner || self.matches(inner),
            (Self::Exact(_), Self::Below(_) | Self::Any) | (Self::Below(_), Self::Any) => false,
        }
    }

    /// Whether some intent is named by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }
}

impl fmt::Display for IntentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(intent) => intent.fmt(f),
            Self::Below(prefix) => write!(f, "{prefix}.*"),
            Self::Any => f.write_str("*"),
        }
    }
}

impl FromStr for IntentPattern {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let parsed = match text.strip_suffix(".*") {
            Some(prefix) => prefix.parse().map(Self::Below),
            None => text.parse().map(Self::Exact),
        };
        parsed.map_err(|_| {
            format!(
                "`{}` is not an intent pattern: an intent, a prefix such as `payments.*`, or `*`",
                text.escape_debug()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> IntentPattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_prefix_names_what_lies_below_it_and_nothing_beside_it() {
        let below = pattern("payments.*");
        for (intent, named) in [
            ("payments.refund", true),
            ("payments.refund.partial", true),
            ("payments", false),
            ("payments2.refund", false),
        ] {
            assert_eq!(below.matches(&intent.parse().unwrap()), named, "{intent}");
        }
    }

    #[test]
    fn covering_is_inclusion_of_what_is_named() {
        assert!(pattern("*").covers(&pattern("a.*")));
        assert!(pattern("a.*").covers(&pattern("a.b.*")));
        assert!(pattern("a.*").covers(&pattern("a.b")));
        assert!(!pattern("a.*").covers(&pattern("a")));
        assert!(!pattern("a.b").covers(&pattern("a.*")));
        assert!(pattern("a.b").overlaps(&pattern("a.*")));
        assert!(!pattern("a.b").overlaps(&pattern("b.*")));
    }

    #[test]
    fn an_intent_is_lower_case_ascii_segments() {
        for wrong in
            ["", ".", "a.", ".a", "a..b", "A.b", "a-b", "a.b*", "á.b", "a b", "a.*", &"a".repeat(129)]
        {
            assert!(wrong.parse::<Intent>().is_err(), "{wrong}");
        }
        for right in ["a", "a.b_c.d9", &"a".repeat(128)] {
            assert!(right.parse::<Intent>().is_ok(), "{right}");
        }
    }
}
