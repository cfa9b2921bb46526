//! The three answers of the gate, and where its facts came from.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What the gate answers; there is no fourth. Ordered from the most to the least permissive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The action may happen, once.
    Allow,
    /// A person decides.
    Escalate,
    /// The action does not happen.
    Refuse,
}

impl Outcome {
    /// The outcome's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Escalate => "escalate",
            Self::Refuse => "refuse",
        }
    }
}

impl FromStr for Outcome {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "allow" => Ok(Self::Allow),
            "escalate" => Ok(Self::Escalate),
            "refuse" => Ok(Self::Refuse),
            other => Err(format!("`{}` is not an outcome: allow, escalate or refuse", other.escape_debug())),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose word the facts of a request are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactsFrom {
    /// The caller described them.
    Described,
    /// The gate read them from the arguments the tool will execute.
    Derived,
    /// An enforcement point stated them.
    Attested,
}

impl FactsFrom {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Described => "described",
            Self::Derived => "derived",
            Self::Attested => "attested",
        }
    }
}

impl FromStr for FactsFrom {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "described" => Ok(Self::Described),
            "derived" => Ok(Self::Derived),
            "attested" => Ok(Self::Attested),
            other => Err(format!("`{}` is not described, derived or attested", other.escape_debug())),
        }
    }
}
