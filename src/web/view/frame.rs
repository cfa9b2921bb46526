//! What surrounds every page: who is signed in, where they are, and what just happened.

use crate::web::display::Shown;

/// The frame of a page.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Who is signed in; without one there is no menu.
    pub visitor: Option<Visitor>,
    /// Which entry of the menu the page belongs to.
    pub section: Option<Section>,
    /// What the last form did, in a sentence.
    pub notice: Option<Shown>,
    /// Why the last form did nothing, in a sentence.
    pub fault: Option<Shown>,
}

impl Frame {
    /// The frame of a page for someone signed in.
    pub fn of(visitor: Visitor, section: Section) -> Self {
        Self { visitor: Some(visitor), section: Some(section), notice: None, fault: None }
    }

    /// What every form sends back in its hidden field; empty where nobody is signed in.
    pub fn csrf(&self) -> &str {
        self.visitor.as_ref().map_or("", |visitor| &visitor.csrf)
    }

    pub(super) fn menu(&self) -> Vec<Entry> {
        let Some(visitor) = &self.visitor else { return Vec::new() };
        let entry = |section: &Section| Entry {
            path: section.path(),
            title: section.title(),
            is_current: self.section == Some(*section),
            count: match section {
                Section::Queue => visitor.open,
                Section::Mandate
                | Section::Agents
                | Section::Calls
                | Section::Coverage
                | Section::ReplyRules => 0,
            },
        };
        Section::ALL.iter().filter(|section| section.is_for(visitor)).map(entry).collect()
    }
}

/// Who is signed in.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The person's name.
    pub name: Shown,
    /// Their tenant's slug.
    pub tenant: String,
    /// The session's CSRF token.
    pub csrf: String,
    /// How many decisions wait for them.
    pub open: u64,
    /// Whether they see the tenant's whole log.
    pub sees_tenant: bool,
    /// Whether they say what holds for the whole tenant.
    pub is_operator: bool,
}

/// The entries of the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Decisions that wait and have ended.
    Queue,
    /// The person's terms.
    Mandate,
    /// Agents and what they present.
    Agents,
    /// What agents asked and were told.
    Calls,
    /// What providers did, held against that.
    Coverage,
    /// What replies may say.
    ReplyRules,
}

impl Section {
    const ALL: [Self; 6] =
        [Self::Queue, Self::Mandate, Self::Agents, Self::Calls, Self::Coverage, Self::ReplyRules];

    /// Whether it stands in somebody's menu.
    fn is_for(self, visitor: &Visitor) -> bool {
        match self {
            Self::Queue | Self::Mandate | Self::Agents | Self::Calls => true,
            Self::Coverage => visitor.sees_tenant,
            Self::ReplyRules => visitor.is_operator,
        }
    }

    /// Where the section's first page is.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Queue => "/queue",
            Self::Mandate => "/mandate",
            Self::Agents => "/agents",
            Self::Calls => "/calls",
            Self::Coverage => "/coverage",
            Self::ReplyRules => "/reply-rules",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Queue => "Queue",
            Self::Mandate => "Mandate",
            Self::Agents => "Agents",
            Self::Calls => "Calls",
            Self::Coverage => "Coverage",
            Self::ReplyRules => "Reply rules",
        }
    }
}

/// One entry of the menu as it is written.
pub(super) struct Entry {
    pub(super) path: &'static str,
    pub(super) title: &'static str,
    pub(super) is_current: bool,
    pub(super) count: u64,
}

/// How a status looks; its word is always written beside the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Allowed, live, done.
    Good,
    /// Waits for someone.
    Waiting,
    /// Refused, revoked, failed.
    Bad,
    /// Over, or neither.
    Quiet,
}

impl Tone {
    /// The style sheet's class.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Waiting => "waiting",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }
}
