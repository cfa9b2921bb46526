//! The seven scopes, and sets of them.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// One of the seven things a token may carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// Put an action to the gate.
    ActionRequest,
    /// Ask another member's agent.
    QuestionAsk,
    /// Answer another member's agent.
    QuestionAnswer,
    /// Read the live mandate.
    MandateRead,
    /// Write the mandate: people alone.
    MandateWrite,
    /// Read the agent's own decisions.
    DecisionRead,
    /// Read the agent's own calls.
    CallRead,
}

impl Scope {
    /// All seven, in the order they are written.
    pub const ALL: [Self; 7] = [
        Self::ActionRequest,
        Self::QuestionAsk,
        Self::QuestionAnswer,
        Self::MandateRead,
        Self::MandateWrite,
        Self::DecisionRead,
        Self::CallRead,
    ];

    /// The scope's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ActionRequest => "action:request",
            Self::QuestionAsk => "question:ask",
            Self::QuestionAnswer => "question:answer",
            Self::MandateRead => "mandate:read",
            Self::MandateWrite => "mandate:write",
            Self::DecisionRead => "decision:read",
            Self::CallRead => "call:read",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::ActionRequest => 1,
            Self::QuestionAsk => 2,
            Self::QuestionAnswer => 4,
            Self::MandateRead => 8,
            Self::MandateWrite => 16,
            Self::DecisionRead => 32,
            Self::CallRead => 64,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| {
            format!(
                "`{}` is not a scope: one of {}",
                text.escape_debug(),
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// A set of scopes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// No scope at all.
    pub const NONE: Self = Self(0);

    /// Whether `scope` is among them.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }
    /// The set with `scope` added.
    #[must_use]
    pub const fn with(self, scope: Scope) -> Self {
        Self(self.0 | scope.bit())
    }
    /// The set without `scope`.
    #[must_use]
    pub const fn without(self, scope: Scope) -> Self {
        Self(self.0 & !scope.bit())
    }
    /// What both sets hold.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// Whether `other` holds every scope of this set.
    pub const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
    /// Whether it holds no scope.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The scopes, in the order they are written.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
    /// Reads names separated by single spaces, as RFC 6749 §3.3 writes them; the empty text is no scope.
    pub fn from_space_separated(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::NONE);
        }
        text.split(' ').map(str::parse).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for Scopes {
    /// Names separated by single spaces (RFC 6749 §3.3).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, scope) in self.iter().enumerate() {
            if position > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope.as_str())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

impl Serialize for Scopes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Scope::as_str))
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(serde::de::Error::custom)
    }
}
