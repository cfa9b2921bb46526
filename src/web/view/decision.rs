//! One decision: what was asked in typed fields, what raised it, why it waits, and what can be done.

use super::{Frame, Needed, People, Tone};
use crate::domain::ExternalName;
use crate::engine::{Action, Described};
use crate::web::display::{self, Shown};
use crate::web::when::When;
use askama::Template;
use serde_json::{Map, Value};

/// How long a yes may hold, in seconds as the form sends it, and in words; the first is the default.
pub const VALIDITIES: [(u32, &str); 2] = [(900, "15 minutes"), (3600, "1 hour")];

/// The page of one decision.
#[derive(Debug, Clone, Template)]
#[template(path = "decision.html")]
pub struct DecisionPage {
    /// The frame; its fault says why the last form did nothing.
    pub frame: Frame,
    /// The decision's id.
    pub id: String,
    /// The agent's name.
    pub agent: Shown,
    /// Whose agent it is, where it is not the reader's.
    pub owner: Option<Shown>,
    /// The agent's kind.
    pub agent_kind: &'static str,
    /// What the credential is called.
    pub credential: Shown,
    /// What the credential is for, in the person's words.
    pub purpose: Option<Shown>,
    /// What was asked; nothing once its content is erased.
    pub asked: Option<Asked>,
    /// The intent, which outlives the content.
    pub intent: String,
    /// Why it was not simply allowed: every reason.
    pub reasons: Vec<Shown>,
    /// The clauses that decided so.
    pub clauses: Vec<ClauseLine>,
    /// How often the same was asked while it waited, the first time included.
    pub asks: u64,
    /// What must hold, in the words of the policy, for whoever decides.
    pub obligations: Vec<Shown>,
    /// Whose yes it takes, while it waits for one and takes more than its principal's.
    pub people: Option<People>,
    /// The input hash in full: what a yes is bound to.
    pub input_hash: String,
    /// The receipt of the call, as an absolute path; nothing where the reader may not see it.
    pub receipt: Option<String>,
    /// How it stands.
    pub status: Status,
    /// When it was opened.
    pub opened: When,
    /// When it ends undecided, or when the yes does; nothing once it has ended, and for an effect.
    pub ends: Option<When>,
    /// Which forms are offered.
    pub stage: Stage,
    /// What happened to it, oldest first.
    pub history: Vec<Event>,
}

impl DecisionPage {
    fn may_say_yes(&self) -> bool {
        self.people.as_ref().is_none_or(People::may_say_yes)
    }

    fn validities(&self) -> &'static [(u32, &'static str)] {
        match self.stage {
            Stage::Approve => &VALIDITIES,
            Stage::Resolve | Stage::Close | Stage::Closed => &[],
        }
    }
}

/// Which forms a decision's page offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// An open action: approve or decline.
    Approve,
    /// An open effect: done or failed.
    Resolve,
    /// An open item that an agent asks too much: seen.
    Close,
    /// None: it is no longer open.
    Closed,
}

impl Stage {
    fn is_approve(self) -> bool {
        self == Self::Approve
    }

    fn is_resolve(self) -> bool {
        self == Self::Resolve
    }

    fn is_close(self) -> bool {
        self == Self::Close
    }
}

/// A status in a word and a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The word.
    pub word: &'static str,
    /// The colour.
    pub tone: Tone,
}

/// What was asked, field by field.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// What it moves, such as `1240.00 EUR`.
    pub amount: Option<String>,
    /// Whom it concerns.
    pub counterparties: Vec<Counterparty>,
    /// What it acts on.
    pub resource: Option<Shown>,
    /// Where it takes effect.
    pub country: Option<String>,
    /// Whether text that others wrote may have shaped it, on the caller's word.
    pub untrusted: bool,
    /// Whose word the fields above are: `described`, `derived` or `attested`.
    pub facts_from: &'static str,
    /// Labels and their levels.
    pub labels: Vec<(Shown, Shown)>,
    /// What the caller rests it on.
    pub evidence: Option<Evidence>,
    /// What the tool will be called with.
    pub arguments: Option<Shown>,
    /// What raised it.
    pub attachment: Option<Attachment>,
}

/// Someone an action concerns.
#[derive(Debug, Clone)]
pub struct Counterparty {
    /// The name, flagged where its letters mislead.
    pub name: Shown,
    /// Whether the person approved it before or lists it.
    pub is_known: bool,
}

/// The caller's own word for why it is right.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// How sure it says it is, from 0 to 1.
    pub confidence: Option<String>,
    /// What it cites.
    pub cites: Vec<Shown>,
}

/// What raised an action.
#[derive(Debug, Clone, Default)]
pub struct Attachment {
    /// What it is, such as a message.
    pub kind: Option<Shown>,
    /// Who is said to have written it.
    pub from: Option<Shown>,
    /// Its text.
    pub text: Option<Shown>,
    /// Its other members.
    pub rest: Option<Shown>,
}

/// A clause that decided.
#[derive(Debug, Clone)]
pub struct ClauseLine {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub title: Option<Shown>,
}

/// Something that happened to a decision.
#[derive(Debug, Clone)]
pub struct Event {
    /// When, where that was written down.
    pub at: Option<When>,
    /// What, such as `approved`.
    pub what: String,
    /// Who did it.
    pub by: Option<Shown>,
    /// What they said.
    pub said: Option<Shown>,
}

impl Asked {
    /// The fields of a request as the gate decided on it: facts it derived or was attested come before what
    /// the caller described. `is_known` says whether the person knows a counterparty.
    pub fn new(described: &Described, action: &Action, is_known: impl Fn(&ExternalName) -> bool) -> Self {
        Self {
            amount: action.amount.map(|amount| amount.to_string()),
            counterparties: action
                .counterparties
                .iter()
                .map(|name| Counterparty { name: display::name(name), is_known: is_known(name) })
                .collect(),
            resource: action.resource.as_ref().map(display::name),
            country: action.country.map(|country| country.as_str().to_owned()),
            untrusted: action.untrusted,
            facts_from: action.facts_from.as_str(),
            labels: described
                .labels
                .iter()
                .map(|(name, level)| (display::line(name), display::line(level)))
                .collect(),
            evidence: described.evidence.as_ref().map(|evidence| Evidence {
                confidence: evidence.confidence.as_ref().map(ToString::to_string),
                cites: evidence.cites.iter().map(display::name).collect(),
            }),
            arguments: described
                .arguments
                .as_ref()
                .map(|arguments| display::json(&Value::Object(arguments.as_ref().clone()))),
            attachment: described.attachment.as_ref().map(Attachment::new),
        }
    }
}

impl Attachment {
    /// Its `kind`, `from` and `text` where they are texts, all else as JSON.
    pub fn new(members: &Map<String, Value>) -> Self {
        let mut rest = members.clone();
        let mut take = |name: &str| match members.get(name) {
            Some(Value::String(text)) => {
                rest.remove(name);
                Some(text.as_str())
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))
            | None => None,
        };
        let (kind, from, text) = (take("kind"), take("from"), take("text"));
        Self {
            kind: kind.map(display::line),
            from: from.map(display::line),
            text: text.map(display::block),
            rest: (!rest.is_empty()).then(|| display::json(&Value::Object(rest))),
        }
    }
}
