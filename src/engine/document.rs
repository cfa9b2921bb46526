//! The documents people write: mandates, policies and a credential's own clauses, as types.

use super::argument::ArgumentTest;
use super::hours::Hours;
use super::labels::Labels;
use super::limit::Limit;
use super::pointer::Pointer;
use super::protected::Protected;
use super::reach::HostDomains;
use super::request::Confidence;
use crate::domain::{
    AgentId, Amount, Country, ExternalName, IntentPattern, Label, Outcome, Role, Scopes, Timestamp, objection,
};
use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

/// One principal's terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MandateDocument {
    /// What agents may be given; never `mandate:write`.
    pub scopes: Scopes,
    /// When the terms hold; always, if not said.
    pub valid: Option<Validity>,
    /// What becomes of an intent that no clause names.
    pub unlisted: Unlisted,
    /// Whom the principal knows without having approved them before.
    pub counterparties: Vec<KnownCounterparty>,
    /// What requests may say at all; one outside its domain is malformed before any clause is read.
    pub domains: Vec<Domain>,
    /// The rules, in the order they were written, which means nothing.
    pub clauses: Vec<Clause>,
}

impl MandateDocument {
    /// What a new principal starts with: no scopes, no clauses.
    pub fn initial() -> Self {
        Self {
            scopes: Scopes::NONE,
            valid: None,
            unlisted: Unlisted::Escalate,
            counterparties: Vec::new(),
            domains: Vec::new(),
            clauses: Vec::new(),
        }
    }
}

/// From when until when, the end excluded; at least one of the two is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Validity {
    /// The first instant.
    pub from: Option<Timestamp>,
    /// The first instant after the last.
    pub until: Option<Timestamp>,
}

/// What becomes of an intent that no clause of a mandate names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unlisted {
    /// A person decides.
    #[default]
    Escalate,
    /// It does not happen.
    Refuse,
}

impl Unlisted {
    /// As the gate answers it.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Escalate => Outcome::Escalate,
            Self::Refuse => Outcome::Refuse,
        }
    }
}

/// A counterparty that the principal vouches for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownCounterparty {
    /// What it is called.
    pub id: ExternalName,
    /// What else it is called.
    pub aliases: BTreeSet<ExternalName>,
    /// Up to which amount it counts as known; any, if not said.
    pub at_most: Option<Amount>,
}

impl KnownCounterparty {
    /// The name under which a list knows a counterparty, or its own.
    pub(super) fn id_in<'a>(listed: &'a [Self], name: &'a ExternalName) -> &'a ExternalName {
        listed.iter().find(|listed| listed.is_called(name)).map_or(name, |listed| &listed.id)
    }

    /// Whether `name` is its id or one of its aliases.
    pub fn is_called(&self, name: &ExternalName) -> bool {
        self.id == *name || self.aliases.contains(name)
    }
}

/// The name of a clause: a letter, then up to 63 letters, digits, `_` and `-`; unique in its document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClauseId(Arc<str>);

impl ClauseId {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ClauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ClauseId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let fits = text.len() <= 64
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(format!(
                "`{}` is not a clause id: a letter, then at most 63 letters, digits, _ and -",
                text.chars().take(64).collect::<String>().escape_debug()
            ))
        }
    }
}

/// One numbered rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clause {
    /// Its name.
    pub id: ClauseId,
    /// What it is for, in the words of whoever wrote it.
    pub title: Option<Label>,
    /// Which intents it names.
    pub intent: IntentPattern,
    /// What it does.
    pub effect: Effect,
    /// What must hold for it to do so: every one of them.
    pub when: Vec<Condition>,
    /// How much and how often it may be used; of allowances only.
    pub limits: Vec<Limit>,
    /// Whose yes it asks for when it escalates; the principal's, if not said.
    pub approvals: Option<Approvals>,
    /// What the person who decides is told must hold; of a policy's escalations only.
    pub obligation: Option<Obligation>,
}

impl Clause {
    /// Whether it allows, its conditions permitting.
    pub const fn is_allowance(&self) -> bool {
        match self.effect {
            Effect::Allow { .. } => true,
            Effect::Escalate | Effect::Refuse => false,
        }
    }

    /// Whether it does what it does whatever the action is like.
    pub const fn is_unconditional(&self) -> bool {
        self.when.is_empty() && self.limits.is_empty()
    }
}

/// What requests of some intents may say at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// Of which intents.
    pub intent: IntentPattern,
    /// What must hold: every one of them, of every value.
    pub when: Vec<Condition>,
}

/// Whose yes an escalation asks for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Approvals {
    /// How many different people: 1 to [`MOST_APPROVALS`].
    pub count: u8,
    /// People with one of these roles count; without any, the principal alone.
    pub roles: BTreeSet<Role>,
    /// Whether the principal does not count, whatever roles they hold.
    pub others: bool,
}

/// The most people whose yes one clause may ask for.
pub const MOST_APPROVALS: u8 = 10;

impl Approvals {
    /// The principal's own yes.
    pub const fn own() -> Self {
        Self { count: 1, roles: BTreeSet::new(), others: false }
    }
}

/// A sentence for the person who decides: at most 500 bytes, nothing hidden in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Obligation(Arc<str>);

impl Obligation {
    /// The sentence.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Obligation {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        const LONGEST_BYTES: usize = 500;
        match objection(text, LONGEST_BYTES) {
            None => Ok(Self(text.into())),
            Some(why) => Err(format!(
                "`{}` cannot stand as a sentence: {why}",
                text.chars().take(64).collect::<String>().escape_debug()
            )),
        }
    }
}

/// What a clause does when its intent and conditions match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Allows; gives its `otherwise` when the intent matches and a condition does not hold or a limit has no room.
    Allow {
        /// What a failed condition or limit comes to.
        otherwise: Otherwise,
    },
    /// Sends the action to a person.
    Escalate,
    /// Forbids.
    Refuse,
}

impl Effect {
    /// The word for it in documents and answers.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Allow { .. } => "allow",
            Self::Escalate => "escalate",
            Self::Refuse => "refuse",
        }
    }

    /// What the clause does, as a verb in sentences.
    pub(super) const fn does(self) -> &'static str {
        match self {
            Self::Allow { .. } => "allows",
            Self::Escalate => "escalates",
            Self::Refuse => "refuses",
        }
    }
}

/// What a failed condition or limit of an allowance comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Otherwise {
    /// A person decides.
    #[default]
    Escalate,
    /// It does not happen.
    Refuse,
}

impl Otherwise {
    /// As the gate answers it.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Escalate => Outcome::Escalate,
            Self::Refuse => Outcome::Refuse,
        }
    }
}

/// One test of one fact.
///
/// A missing fact holds for nothing: it fails an allowance that bounds it, and a refusal or escalation
/// that bounds it does not act. Of several counterparties (or countries, where the credential fixes
/// another than the action names), an allowance needs every one to pass; a refusal or escalation acts
/// as soon as one passes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Of the amount.
    Amount(AmountTest),
    /// Of each counterparty.
    Counterparty(CounterpartyTest),
    /// Of the country.
    Country(CountryTest),
    /// Of the resource.
    Resource(ResourceTest),
    /// Whether text that others wrote may have shaped the call, on the caller's word.
    Untrusted(bool),
    /// Of what stands at a place in the arguments.
    Arguments(Pointer, ArgumentTest),
    /// Of what an enforcement point states, never the agent.
    Facts(Pointer, ArgumentTest),
    /// Of what the caller rests the call on, on its word.
    Evidence(EvidenceTest),
    /// Of the level of a label that the policy declares.
    Labels(String, LabelTest),
    /// When it happens.
    Hours(Hours),
    /// Every link in the names and texts of the arguments leads to a host in these; none at all is fine.
    Links(HostDomains),
    /// No name, text or number in the arguments contains one of these.
    Contains(Protected),
}

/// A test of the amount.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AmountTest {
    /// No more than this, in this currency; every other currency fails.
    AtMost(Amount),
    /// No less than this, in this currency; every other currency fails.
    AtLeast(Amount),
}

/// A test of a counterparty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CounterpartyTest {
    /// One of these.
    In(BTreeSet<ExternalName>),
    /// None of these.
    NotIn(BTreeSet<ExternalName>),
    /// Whether the principal approved it before or lists it. `false` stands in refusals and escalations only.
    Known(bool),
    /// Its name leads to a host in these: a mail address, a URL or a host name.
    Domain(HostDomains),
}

/// A test of the country.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CountryTest {
    /// One of these.
    In(BTreeSet<Country>),
    /// None of these.
    NotIn(BTreeSet<Country>),
}

/// A test of the resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResourceTest {
    /// One of these.
    In(BTreeSet<ExternalName>),
    /// None of these.
    NotIn(BTreeSet<ExternalName>),
    /// Its name begins with this.
    Prefix(ExternalName),
    /// An enforcement point states that it belongs to them.
    OwnedBy(Owner),
}

/// Whose something is, on an enforcement point's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// The principal's.
    Principal,
    /// One of the call's counterparties'.
    Counterparty,
}

impl Owner {
    /// The word for it in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Counterparty => "counterparty",
        }
    }
}

/// A test of what the caller rests a call on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EvidenceTest {
    /// The caller is at least this sure.
    Confidence(Confidence),
    /// It cites exactly so many things.
    CitesExactly(usize),
    /// It cites at least so many things.
    CitesAtLeast(usize),
    /// What it cites belongs to them: for an allowance everything, and there is something.
    CitesOwnedBy(Owner),
}

/// A test of a label's level, among the levels that the policy declares for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LabelTest {
    /// This level or one declared before it.
    AtMost(String),
    /// This level or one declared after it.
    AtLeast(String),
}

/// A credential's own narrowing. Clauses with an allowance among them must also allow; clauses without
/// one only restrict; none at all pass everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CredentialClauses(pub Vec<Clause>);

/// A tenant's rules: they refuse, escalate or pass to the mandate, and never allow by themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyDocument {
    /// What becomes of intents that the catalogue does not know.
    pub unregistered: Unregistered,
    /// What requests may say at all, whoever's they are.
    pub domains: Vec<Domain>,
    /// The labels that requests may carry, each with its levels in ascending order.
    pub labels: Labels,
    /// The rules, each set for some agents and countries; no two for the same.
    pub rule_sets: Vec<RuleSet>,
}

impl PolicyDocument {
    /// A policy that passes everything to the mandate.
    pub const fn empty() -> Self {
        Self {
            unregistered: Unregistered::Described,
            domains: Vec::new(),
            labels: Labels::NONE,
            rule_sets: Vec::new(),
        }
    }
}

/// What becomes of intents that the catalogue does not know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Unregistered {
    /// They are decided on as described.
    #[default]
    Described,
    /// A person decides.
    Escalate,
    /// They do not happen.
    Refuse,
}

/// Rules for some agents and countries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleSet {
    /// For whom.
    pub applies: Applies,
    /// The rules. An allowance here is a ceiling.
    pub clauses: Vec<Clause>,
}

/// For whom a rule set is: the general one says neither.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Applies {
    /// This agent alone.
    pub agent: Option<AgentId>,
    /// This country alone.
    pub country: Option<Country>,
}
