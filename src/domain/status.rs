//! Where decisions and effects stand.

use std::{fmt, str::FromStr};

/// What a decision is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionKind {
    /// An action outside the mandate, to approve or decline.
    Action,
    /// An effect nobody knows the end of, to resolve.
    Effect,
    /// An agent that asked for more attention than it may: to be seen, and closed.
    Attention,
}

impl DecisionKind {
    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Effect => "effect",
            Self::Attention => "attention",
        }
    }
}

impl FromStr for DecisionKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "action" => Ok(Self::Action),
            "effect" => Ok(Self::Effect),
            "attention" => Ok(Self::Attention),
            other => Err(format!("`{other}` is not a kind of decision")),
        }
    }
}

/// Where a decision stands; all but the first two are ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecisionStatus {
    /// A person has yet to decide.
    Open,
    /// A yes that is not used yet.
    Approved,
    /// A no.
    Declined,
    /// Nobody decided in time, or the yes was not used in time.
    Expired,
    /// Taken back: by a narrowing, a revocation, or because the answer would now be refuse.
    Withdrawn,
    /// The yes was used.
    Used,
    /// A person said how the effect ended.
    Resolved,
}

impl DecisionStatus {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Open,
        Self::Approved,
        Self::Declined,
        Self::Expired,
        Self::Withdrawn,
        Self::Used,
        Self::Resolved,
    ];

    /// The status's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Declined => "declined",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Used => "used",
            Self::Resolved => "resolved",
        }
    }
}

impl fmt::Display for DecisionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DecisionStatus {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            format!(
                "`{}` is not a status: one of {}",
                text.escape_debug(),
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// Where an effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EffectStatus {
    /// Allowed, and not reported on yet.
    Claimed,
    /// It happened.
    Done,
    /// It definitely did not happen.
    Failed,
    /// Nobody knows.
    Unknown,
}

impl EffectStatus {
    /// The status's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// Whether somebody said how it ended.
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Done | Self::Failed => true,
            Self::Claimed | Self::Unknown => false,
        }
    }
}

impl fmt::Display for EffectStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EffectStatus {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "claimed" => Ok(Self::Claimed),
            "done" => Ok(Self::Done),
            "failed" => Ok(Self::Failed),
            "unknown" => Ok(Self::Unknown),
            other => Err(format!("`{}` is not a status: done, failed or unknown", other.escape_debug())),
        }
    }
}

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuestionStatus {
    /// It waits for an answer.
    Open,
    /// An answer is there.
    Answered,
    /// Nobody answered in time.
    Expired,
    /// It was taken back.
    Withdrawn,
}

impl QuestionStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Open, Self::Answered, Self::Expired, Self::Withdrawn];

    /// The status's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl fmt::Display for QuestionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for QuestionStatus {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            let all = Self::ALL.map(Self::as_str).join(", ");
            format!("`{}` is not a status: one of {all}", text.escape_debug())
        })
    }
}
