//! Why an answer came out as it did, for programs as codes and for people as sentences.
//!
//! No sentence names a counterparty or a resource: those can be erased on request, answers cannot.

use super::book::MOST_BOOKS;
use super::document::{Approvals, ClauseId, Obligation};
use super::limit::{Each, Period};
use super::unmet::Unmet;
use crate::domain::{Amount, Country, CredentialId, Currency, Outcome, Scope, Timestamp};
use std::{collections::BTreeSet, fmt};

/// Which document, or the service itself, a finding comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// What holds for everyone.
    Service,
    /// The tenant's policy.
    Policy,
    /// The principal's mandate.
    Mandate,
    /// The credential's own clauses, or those of one it was derived from.
    Credential,
}

impl Source {
    /// The source's name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Policy => "policy",
            Self::Mandate => "mandate",
            Self::Credential => "credential",
        }
    }
}

/// A rule of the service itself; its id holds a dot, which no document's clause id can.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ServiceClause {
    /// The credential carries what this needs, and nothing that belongs to people alone.
    CredentialScopes,
    /// The mandate has `action:request` switched on.
    MandateScopes,
    /// The mandate holds already.
    MandateNotYetValid,
    /// The mandate holds still.
    MandateExpired,
    /// What agents of this kind may do.
    AgentKind,
    /// In how many books one action may count.
    Books,
    /// How much work one decision may take.
    Work,
    /// What becomes of intents outside the catalogue.
    PolicyUnregistered,
    /// What becomes of intents that no clause of the mandate names.
    MandateUnlisted,
    /// What becomes of intents that no clause of an allowing credential names.
    CredentialUnlisted,
}

impl ServiceClause {
    /// The id as answers name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CredentialScopes => "credential.scopes",
            Self::MandateScopes => "mandate.scopes",
            Self::MandateNotYetValid => "mandate.not_yet_valid",
            Self::MandateExpired => "mandate.expired",
            Self::AgentKind => "agent.kind",
            Self::Books => "limits.books",
            Self::Work => "limits.work",
            Self::PolicyUnregistered => "policy.unregistered",
            Self::MandateUnlisted => "mandate.unlisted",
            Self::CredentialUnlisted => "credential.unlisted",
        }
    }
}

/// What a finding names: a rule of the service, or a clause of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ClauseRef {
    /// A rule of the service.
    Service(ServiceClause),
    /// A clause that someone wrote.
    Written(ClauseId),
}

impl fmt::Display for ClauseRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(clause) => f.write_str(clause.as_str()),
            Self::Written(id) => id.fmt(f),
        }
    }
}

/// One thing that decided: which clause, what it came to, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The clause.
    pub clause: ClauseRef,
    /// Where it stands.
    pub source: Source,
    /// What it came to.
    pub effect: Outcome,
    /// Why.
    pub reason: Reason,
    /// Whose yes a written clause asks for where it escalates; the principal's, if not said.
    pub approvals: Option<Approvals>,
    /// The credential whose clause it is, where it is one's own.
    pub credential: Option<CredentialId>,
    /// Of a limit without room: which one, and for which of the counterparties that the action names.
    pub limit: Option<String>,
}

impl fmt::Display for Finding {
    /// One sentence for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (clause, source) = (&self.clause, self.source.as_str());
        if self.reason == Reason::Allowed {
            write!(f, "allowed by clause `{clause}` of the {source}")
        } else if self.reason == Reason::Forbidden {
            write!(f, "forbidden by clause `{clause}` of the {source}")
        } else if matches!(self.reason, Reason::AsksAPerson | Reason::Obliged(_)) {
            write!(f, "clause `{clause}` of the {source} asks for a person's yes")
        } else {
            self.reason.fmt(f)
        }
    }
}

/// So many of so many counterparties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// How many it is about.
    pub part: usize,
    /// How many were named.
    pub of: usize,
}

/// Why a clause came to what it came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// An allowance holds.
    Allowed,
    /// A refusal acts.
    Forbidden,
    /// An escalation acts.
    AsksAPerson,
    /// The amount is above what the clause allows.
    AmountAbove {
        /// What the action moves.
        asked: Amount,
        /// What the clause allows.
        allowed: Amount,
    },
    /// The amount is in another currency than the clause bounds.
    AmountCurrency {
        /// The action's.
        asked: Currency,
        /// The clause's.
        allowed: Currency,
    },
    /// The clause bounds the amount and the action has none.
    AmountMissing {
        /// What the clause allows.
        allowed: Amount,
    },
    /// The clause bounds the counterparties and the action names none.
    CounterpartyMissing,
    /// Some counterparties are not known to the principal.
    CounterpartyUnknown(Share),
    /// The counterparties are listed, but for less than this.
    CounterpartyKnownForLess {
        /// What the action moves.
        asked: Amount,
        /// The lowest bound that it exceeds.
        allowed: Amount,
    },
    /// Some counterparties are known to the principal, where the clause is about those that are not.
    CounterpartyKnown(Share),
    /// Some counterparties are not among those the clause lists.
    CounterpartyOutside(Share),
    /// Some counterparties are among those the clause excludes.
    CounterpartyExcluded(Share),
    /// The clause bounds the country and the action has none.
    CountryMissing,
    /// The country is not among those the clause lists.
    CountryOutside {
        /// The action's.
        asked: Country,
        /// The clause's.
        allowed: BTreeSet<Country>,
    },
    /// The country is among those the clause excludes.
    CountryExcluded {
        /// The action's.
        asked: Country,
    },
    /// The clause bounds the resource and the action names none.
    ResourceMissing,
    /// The resource is not among those the clause lists, or does not begin as it says.
    ResourceOutside,
    /// The resource is among those the clause excludes.
    ResourceExcluded,
    /// Text that others wrote may have shaped the call.
    Untrusted,
    /// The caller says no such text shaped it, and the clause is about calls where it did.
    Trusted,
    /// A condition on what the call carries, or on when it comes, does not hold.
    Unmet(Unmet),
    /// The credential does not carry `action:request`.
    ScopeNotCarried,
    /// The credential carries `mandate:write`, which belongs to people alone.
    ScopeWithheld,
    /// The mandate has switched `action:request` off.
    ScopeSwitchedOff,
    /// The credential does not carry the scope that a question takes.
    QuestionScopeNotCarried(Scope),
    /// The mandate has switched off the scope that a question takes.
    QuestionScopeSwitchedOff(Scope),
    /// Only an answering agent answers questions.
    AgentDoesNotAnswer,
    /// The mandate does not hold yet.
    NotYetValid {
        /// Its first instant.
        from: Timestamp,
    },
    /// The mandate holds no longer.
    Expired {
        /// The first instant after it.
        until: Timestamp,
    },
    /// The agent answers questions and has no actions.
    AgentAnswers,
    /// The agent reads what others write: a person says yes first.
    AgentReads,
    /// The sum of a period would be above what the clause allows.
    TotalAbove {
        /// What the action moves.
        asked: Amount,
        /// What the period holds already, in minor units of the same currency.
        used: u64,
        /// What the clause allows.
        allowed: Amount,
        /// Over which time.
        per: Period,
        /// For whom or what alone.
        each: Option<Each>,
    },
    /// A period has as many uses as the clause allows.
    CountReached {
        /// How many there are.
        used: u64,
        /// How many are allowed.
        allowed: u64,
        /// Over which time.
        per: Period,
        /// For whom or what alone.
        each: Option<Each>,
    },
    /// It would count in more books than one action may.
    TooManyBooks,
    /// Its values and the clauses that bound them make more work than one decision may take.
    TooMuchWork,
    /// The clause may be used once for each, and it was.
    OnlyOnce(Each),
    /// An escalation acts, and this is what the person who decides is told must hold.
    Obliged(Obligation),
    /// No clause names the intent.
    Unlisted,
    /// The catalogue does not know the intent.
    Unregistered,
}

impl Reason {
    /// The reason's stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Forbidden => "forbidden",
            Self::AsksAPerson => "asks-a-person",
            Self::AmountAbove { .. } => "amount-above",
            Self::AmountCurrency { .. } => "amount-currency",
            Self::AmountMissing { .. } => "amount-missing",
            Self::CounterpartyMissing => "counterparty-missing",
            Self::CounterpartyUnknown(_) => "counterparty-unknown",
            Self::CounterpartyKnownForLess { .. } => "counterparty-known-for-less",
            Self::CounterpartyKnown(_) => "counterparty-known",
            Self::CounterpartyOutside(_) => "counterparty-outside",
            Self::CounterpartyExcluded(_) => "counterparty-excluded",
            Self::CountryMissing => "country-missing",
            Self::CountryOutside { .. } => "country-outside",
            Self::CountryExcluded { .. } => "country-excluded",
            Self::ResourceMissing => "resource-missing",
            Self::ResourceOutside => "resource-outside",
            Self::ResourceExcluded => "resource-excluded",
            Self::Untrusted => "untrusted",
            Self::Trusted => "trusted",
            Self::Unmet(unmet) => unmet.code(),
            Self::ScopeNotCarried | Self::QuestionScopeNotCarried(_) => "scope-not-carried",
            Self::ScopeWithheld => "scope-withheld",
            Self::ScopeSwitchedOff | Self::QuestionScopeSwitchedOff(_) => "scope-switched-off",
            Self::AgentDoesNotAnswer => "agent-does-not-answer",
            Self::NotYetValid { .. } => "not-yet-valid",
            Self::Expired { .. } => "expired",
            Self::AgentAnswers => "agent-answers",
            Self::AgentReads => "agent-reads",
            Self::TotalAbove { .. } => "total-above",
            Self::CountReached { .. } => "count-reached",
            Self::TooManyBooks => "too-many-books",
            Self::TooMuchWork => "too-much-work",
            Self::OnlyOnce(_) => "only-once",
            Self::Obliged(_) => "obligation",
            Self::Unlisted => "unlisted",
            Self::Unregistered => "unregistered",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed => f.write_str("within the mandate"),
            Self::Forbidden => f.write_str("forbidden"),
            Self::AsksAPerson => f.write_str("a person's yes is asked for"),
            Self::AmountAbove { asked, allowed } => {
                write!(f, "above the ceiling: {asked} asked, {allowed} allowed")
            }
            Self::AmountCurrency { asked, allowed } => {
                write!(f, "in another currency: {asked} asked, {allowed} allowed")
            }
            Self::AmountMissing { allowed } => write!(f, "no amount is given, {allowed} allowed"),
            Self::CounterpartyMissing => f.write_str("no counterparty is named"),
            Self::CounterpartyUnknown(share) => share.counterparties(f, "not known to the principal"),
            Self::CounterpartyKnownForLess { asked, allowed } => {
                write!(f, "above what the counterparty is known for: {asked} asked, {allowed} allowed")
            }
            Self::CounterpartyKnown(share) => share.counterparties(f, "known to the principal"),
            Self::CounterpartyOutside(share) => share.counterparties(f, "not among those allowed"),
            Self::CounterpartyExcluded(share) => share.counterparties(f, "among those excluded"),
            Self::CountryMissing => f.write_str("no country is given"),
            Self::CountryOutside { asked, allowed } => {
                let allowed: Vec<&str> = allowed.iter().map(|country| country.as_str()).collect();
                write!(f, "in another country: {asked} asked, {} allowed", allowed.join(", "))
            }
            Self::CountryExcluded { asked } => write!(f, "the country {asked} is excluded"),
            Self::ResourceMissing => f.write_str("no resource is named"),
            Self::ResourceOutside => f.write_str("the resource is not among those allowed"),
            Self::ResourceExcluded => f.write_str("the resource is among those excluded"),
            Self::Untrusted => f.write_str("text that others wrote may have shaped the call"),
            Self::Trusted => f.write_str("no text that others wrote shaped the call"),
            Self::Unmet(unmet) => unmet.fmt(f),
            Self::ScopeNotCarried => f.write_str("the credential does not carry `action:request`"),
            Self::ScopeWithheld => {
                f.write_str("the credential carries `mandate:write`, which belongs to people alone")
            }
            Self::ScopeSwitchedOff => f.write_str("the mandate has switched `action:request` off"),
            Self::QuestionScopeNotCarried(scope) => {
                write!(f, "the credential does not carry `{}`", scope.as_str())
            }
            Self::QuestionScopeSwitchedOff(scope) => {
                write!(f, "the mandate has switched `{}` off", scope.as_str())
            }
            Self::AgentDoesNotAnswer => f.write_str("only an answering agent answers questions"),
            Self::NotYetValid { from } => write!(f, "the mandate holds from {from}"),
            Self::Expired { until } => write!(f, "the mandate held until {until}"),
            Self::AgentAnswers => f.write_str("the agent answers questions and has no actions"),
            Self::AgentReads => f.write_str("the agent reads what others write, so a person says yes first"),
            Self::TotalAbove { asked, used, allowed, per, each } => {
                write!(f, "above the total {}: {asked} asked, ", Window(*per, *each))?;
                match i64::try_from(*used)
                    .ok()
                    .and_then(|used| Amount::from_minor_units(used, allowed.currency()))
                {
                    Some(used) => write!(f, "{used} used, {allowed} allowed"),
                    None if *used == 0 => write!(f, "nothing used, {allowed} allowed"),
                    None => write!(f, "the books cannot say what was used, {allowed} allowed"),
                }
            }
            Self::CountReached { used: u64::MAX, allowed, per, each } => {
                write!(
                    f,
                    "the books cannot say how often it was used, {allowed} {} allowed",
                    Window(*per, *each)
                )
            }
            Self::CountReached { used, allowed, per, each } => {
                write!(f, "used {used} times, {allowed} {} allowed", Window(*per, *each))
            }
            Self::TooMuchWork => {
                f.write_str("its values are more than the clauses that bound them can be read for")
            }
            Self::TooManyBooks => write!(f, "it would count in more than {MOST_BOOKS} books of limits"),
            Self::OnlyOnce(each) => write!(f, "used for this {} before, once is allowed", each.as_str()),
            Self::Obliged(obligation) => f.write_str(obligation.as_str()),
            Self::Unlisted => f.write_str("no clause names the intent"),
            Self::Unregistered => f.write_str("the catalogue does not know the intent"),
        }
    }
}

/// A period as sentences name it.
struct Window(Period, Option<Each>);

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "per {}", self.0)?;
        self.1.map_or(Ok(()), |each| write!(f, " and {}", each.as_str()))
    }
}

impl Share {
    /// So many of so many counterparties are something.
    pub(super) fn counterparties(self, f: &mut fmt::Formatter<'_>, are: &str) -> fmt::Result {
        if self.of == 1 {
            return write!(f, "the counterparty is {are}");
        }
        let verb = if self.part == 1 { "is" } else { "are" };
        write!(f, "{} of {} counterparties {verb} {are}", self.part, self.of)
    }
}
