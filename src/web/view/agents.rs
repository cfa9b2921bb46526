//! A person's agents, what they present, and the one page that shows a secret.

use super::{Frame, ScopeChoice, Tone};
use crate::domain::{AgentKind, Duration};
use crate::web::{display::Shown, when::When};
use askama::Template;

/// A lifetime to choose for a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// How long.
    pub length: Duration,
    /// The same in words.
    pub says: &'static str,
    /// Whether it is chosen to begin with.
    pub is_default: bool,
}

impl Lifetime {
    /// In seconds, as the form sends it.
    pub const fn seconds(&self) -> i64 {
        self.length.whole_seconds()
    }
}

/// The lifetimes a form offers; a credential lives 90 days at most.
pub const LIFETIMES: [Lifetime; 4] = [
    Lifetime { length: Duration::hours(1), says: "1 hour", is_default: false },
    Lifetime { length: Duration::hours(24), says: "24 hours", is_default: true },
    Lifetime { length: Duration::days(7), says: "7 days", is_default: false },
    Lifetime { length: Duration::days(90), says: "90 days", is_default: false },
];

/// All agents of a person with their credentials.
#[derive(Debug, Clone, Template)]
#[template(path = "agents.html")]
pub struct AgentsPage {
    /// The frame.
    pub frame: Frame,
    /// The agents, those in use first.
    pub agents: Vec<AgentRow>,
    /// The scopes a new credential may carry, ticked as its form opens.
    pub scopes: Vec<ScopeChoice>,
    /// What was typed as a new agent's name, to start from.
    pub name: String,
}

impl AgentsPage {
    fn lifetimes(&self) -> &'static [Lifetime] {
        if self.agents.iter().any(|agent| agent.retired.is_none()) { &LIFETIMES } else { &[] }
    }
}

/// An agent.
#[derive(Debug, Clone)]
pub struct AgentRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Shown,
    /// Its kind.
    pub kind: AgentKind,
    /// When it was registered.
    pub created: When,
    /// Since when it is retired.
    pub retired: Option<When>,
    /// Its credentials, live ones first.
    pub credentials: Vec<CredentialRow>,
}

impl AgentRow {
    const fn explains(&self) -> &'static str {
        match self.kind {
            AgentKind::Acting => "may be allowed actions",
            AgentKind::Reading => "reads what others write, so every action needs your yes",
            AgentKind::Answering => "answers questions, every action is refused",
        }
    }
}

/// A credential.
#[derive(Debug, Clone)]
pub struct CredentialRow {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub label: Shown,
    /// What it is for.
    pub purpose: Option<Shown>,
    /// What it carries.
    pub scopes: Vec<&'static str>,
    /// Whether it has clauses of its own, which only narrow.
    pub has_clauses: bool,
    /// Whether another credential was its source.
    pub is_derived: bool,
    /// How it stands.
    pub standing: Standing,
    /// When it ends, ended or was revoked.
    pub at: When,
}

/// How a credential stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It counts until its end.
    Live,
    /// Its end has come.
    Expired,
    /// Someone revoked it, or one it comes from.
    Revoked,
}

impl Standing {
    const fn is_live(self) -> bool {
        match self {
            Self::Live => true,
            Self::Expired | Self::Revoked => false,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Live => Tone::Good,
            Self::Expired => Tone::Quiet,
            Self::Revoked => Tone::Bad,
        }
    }

    /// What the time beside it means.
    const fn at_word(self) -> &'static str {
        match self {
            Self::Live => "until",
            Self::Expired | Self::Revoked => "since",
        }
    }
}

/// The page that shows a new credential's token and secret, once.
#[derive(Clone, Template)]
#[template(path = "issued.html")]
pub struct IssuedPage {
    /// The frame.
    pub frame: Frame,
    /// The agent's name.
    pub agent: Shown,
    /// What the credential is called.
    pub label: Shown,
    /// The credential's id, with which the secret goes.
    pub id: String,
    /// The first access token.
    pub token: String,
    /// The secret that renews it.
    pub client_secret: String,
    /// What it carries.
    pub scopes: Vec<&'static str>,
    /// What of that the live mandate does not have.
    pub idle: Vec<&'static str>,
    /// When it ends.
    pub expires: When,
}

impl std::fmt::Debug for IssuedPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedPage").field("id", &self.id).finish_non_exhaustive()
    }
}
