//! What an agent is for, and what a person may do in their tenant.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What an agent is for; fixed when it is registered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// May be allowed actions.
    Acting,
    /// Takes in text that others wrote: escalates at best, unless a person said yes.
    Reading,
    /// Answers other members' questions and has no tools: every action is refused.
    Answering,
}

impl AgentKind {
    /// The kind's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acting => "acting",
            Self::Reading => "reading",
            Self::Answering => "answering",
        }
    }
}

impl fmt::Display for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AgentKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "acting" => Ok(Self::Acting),
            "reading" => Ok(Self::Reading),
            "answering" => Ok(Self::Answering),
            other => Err(format!(
                "`{}` is not a kind of agent: acting, reading or answering",
                other.escape_debug()
            )),
        }
    }
}

/// What a person may do in their tenant; several may be held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Has a mandate, agents and a queue.
    Member,
    /// Reads the tenant's log and exports it.
    Compliance,
    /// Puts policies and the catalogue live, and registers people.
    Operator,
}

impl Role {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Member, Self::Compliance, Self::Operator];

    /// The role's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Compliance => "compliance",
            Self::Operator => "operator",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Member => 1,
            Self::Compliance => 2,
            Self::Operator => 4,
        }
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| format!("`{}` is not a role: member, compliance or operator", text.escape_debug()))
    }
}

/// A set of roles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Roles(u8);

impl Roles {
    /// Whether `role` is among them.
    pub const fn contains(self, role: Role) -> bool {
        self.0 & role.bit() != 0
    }
    /// Whether it holds none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The roles, in the order they are written.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.contains(*role))
    }
    /// Reads names separated by single spaces, as they are stored.
    pub fn from_space_separated(text: &str) -> Result<Self, String> {
        text.split(' ').filter(|name| !name.is_empty()).map(str::parse).collect()
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        Self(roles.into_iter().fold(0, |bits, role| bits | role.bit()))
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iter().map(Role::as_str).collect::<Vec<_>>().join(" "))
    }
}

impl Serialize for Roles {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Role::as_str))
    }
}
