//! Why a condition on what a call carries, or on when it comes, does not hold.
//!
//! Numbers, counts, levels and times are named on both sides; texts of arguments, facts and cited things never are.

use super::document::Owner;
use super::pointer::Pointer;
use super::reason::Share;
use crate::domain::{Amount, Decimal};
use crate::screening::Class;
use std::fmt;

/// What a value belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The arguments, which the caller gives.
    Argument,
    /// The facts, which an enforcement point states.
    Fact,
}

impl Part {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Fact => "fact",
        }
    }
}

/// Why a condition does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unmet {
    /// The amount is below what the clause is about.
    AmountBelow {
        /// What the action moves.
        asked: Amount,
        /// What the clause asks for at least.
        required: Amount,
    },
    /// The clause asks for an amount and the action has none.
    AmountMissing {
        /// What the clause asks for at least.
        required: Amount,
    },
    /// Some counterparties are reached outside the clause's domains.
    CounterpartyElsewhere(Share),
    /// Nobody who may say so has said whose the resource is.
    OwnerMissing,
    /// The resource belongs to somebody else.
    ResourceOwner {
        /// Whose the clause wants it to be.
        required: Owner,
    },
    /// The call has no arguments.
    ArgumentsMissing,
    /// No enforcement point states any facts.
    FactsMissing,
    /// There is no value at the place that the clause bounds.
    ValueMissing {
        /// Of what.
        part: Part,
        /// Where.
        at: Pointer,
    },
    /// There is a value where the clause wants none.
    ValuePresent {
        /// Of what.
        part: Part,
        /// Where.
        at: Pointer,
    },
    /// A number is above the clause's.
    ValueAbove {
        /// Of what.
        part: Part,
        /// Where.
        at: Pointer,
        /// The number.
        asked: Decimal,
        /// The clause's.
        allowed: Decimal,
    },
    /// A number is below the clause's.
    ValueBelow {
        /// Of what.
        part: Part,
        /// Where.
        at: Pointer,
        /// The number.
        asked: Decimal,
        /// The clause's.
        required: Decimal,
    },
    /// A value does not pass a test.
    ValueOutside {
        /// Of what.
        part: Part,
        /// Where.
        at: Pointer,
        /// The test's name in documents.
        test: &'static str,
    },
    /// The caller rests the call on nothing.
    EvidenceMissing,
    /// The caller does not say how sure it is.
    ConfidenceMissing {
        /// How sure the clause wants it to be.
        required: String,
    },
    /// The caller is not sure enough.
    ConfidenceBelow {
        /// How sure it is.
        asked: String,
        /// How sure the clause wants it to be.
        required: String,
    },
    /// The caller cites too few things, or not exactly as many as it should.
    CitesCount {
        /// How many it cites.
        asked: usize,
        /// How many the clause wants.
        required: usize,
        /// Whether it wants exactly so many.
        exactly: bool,
    },
    /// Some of what the caller cites belongs to somebody else, or to nobody known.
    CitesOwner {
        /// How many of how many.
        share: Share,
        /// Whose the clause wants them to be.
        required: Owner,
    },
    /// The policy does not declare the label, or not this level of it.
    LabelUndeclared {
        /// The label.
        label: String,
    },
    /// The call does not carry the label.
    LabelMissing {
        /// The label.
        label: String,
    },
    /// The label's level is above the clause's.
    LabelAbove {
        /// The label.
        label: String,
        /// The call's level.
        asked: String,
        /// The clause's.
        allowed: String,
    },
    /// The label's level is below the clause's.
    LabelBelow {
        /// The label.
        label: String,
        /// The call's level.
        asked: String,
        /// The clause's.
        required: String,
    },
    /// It is outside the hours of the clause.
    OutsideHours {
        /// Day, time and zone.
        at: String,
        /// The clause's hours.
        allowed: String,
    },
    /// A link leads outside the clause's domains, or nowhere that can be told.
    LinkOutside,
    /// The arguments hold no link inside the clause's domains.
    LinkMissing,
    /// The arguments contain a protected value.
    ProtectedFound,
    /// The arguments contain a value of a protected class of personal data.
    PersonalDataFound(Class),
}

impl Unmet {
    /// The reason's stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AmountBelow { .. } => "amount-below",
            Self::AmountMissing { .. } => "amount-missing",
            Self::CounterpartyElsewhere(_) => "counterparty-elsewhere",
            Self::OwnerMissing => "owner-missing",
            Self::ResourceOwner { .. } => "resource-owner",
            Self::ArgumentsMissing => "arguments-missing",
            Self::FactsMissing => "facts-missing",
            Self::ValueMissing { part: Part::Argument, .. } => "argument-missing",
            Self::ValueMissing { part: Part::Fact, .. } => "fact-missing",
            Self::ValuePresent { part: Part::Argument, .. } => "argument-present",
            Self::ValuePresent { part: Part::Fact, .. } => "fact-present",
            Self::ValueAbove { part: Part::Argument, .. } => "argument-above",
            Self::ValueAbove { part: Part::Fact, .. } => "fact-above",
            Self::ValueBelow { part: Part::Argument, .. } => "argument-below",
            Self::ValueBelow { part: Part::Fact, .. } => "fact-below",
            Self::ValueOutside { part: Part::Argument, .. } => "argument-outside",
            Self::ValueOutside { part: Part::Fact, .. } => "fact-outside",
            Self::EvidenceMissing => "evidence-missing",
            Self::ConfidenceMissing { .. } => "confidence-missing",
            Self::ConfidenceBelow { .. } => "confidence-below",
            Self::CitesCount { .. } => "cites-count",
            Self::CitesOwner { .. } => "cites-owner",
            Self::LabelUndeclared { .. } => "label-undeclared",
            Self::LabelMissing { .. } => "label-missing",
            Self::LabelAbove { .. } => "label-above",
            Self::LabelBelow { .. } => "label-below",
            Self::OutsideHours { .. } => "outside-hours",
            Self::LinkOutside => "link-outside",
            Self::LinkMissing => "link-missing",
            Self::ProtectedFound => "protected-found",
            Self::PersonalDataFound(_) => "personal-data-found",
        }
    }
}

impl Unmet {
    /// Which of several conditions of the kind it is, where a clause may have more than one.
    pub(super) fn of_what(&self) -> Option<String> {
        match self {
            Self::ValueMissing { at, .. }
            | Self::ValuePresent { at, .. }
            | Self::ValueAbove { at, .. }
            | Self::ValueBelow { at, .. } => Some(at.to_string()),
            Self::ValueOutside { at, test, .. } => Some(format!("{at} {test}")),
            Self::LabelUndeclared { label }
            | Self::LabelMissing { label }
            | Self::LabelAbove { label, .. }
            | Self::LabelBelow { label, .. } => Some(label.clone()),
            Self::OutsideHours { allowed, .. } => Some(allowed.clone()),
            Self::AmountBelow { .. }
            | Self::AmountMissing { .. }
            | Self::CounterpartyElsewhere(_)
            | Self::OwnerMissing
            | Self::ResourceOwner { .. }
            | Self::ArgumentsMissing
            | Self::FactsMissing
            | Self::EvidenceMissing
            | Self::ConfidenceMissing { .. }
            | Self::ConfidenceBelow { .. }
            | Self::CitesCount { .. }
            | Self::CitesOwner { .. }
            | Self::LinkOutside
            | Self::LinkMissing
            | Self::ProtectedFound
            | Self::PersonalDataFound(_) => None,
        }
    }
}

impl fmt::Display for Unmet {
    /// Half a sentence for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AmountBelow { asked, required } => {
                write!(f, "below the floor: {asked} asked, at least {required} allowed")
            }
            Self::AmountMissing { required } => write!(f, "no amount is given, at least {required} allowed"),
            Self::CounterpartyElsewhere(share) => share.counterparties(f, "outside the domains allowed"),
            Self::OwnerMissing => f.write_str("nobody who may say so has said whose the resource is"),
            Self::ResourceOwner { required } => {
                write!(f, "the resource does not belong to the {}", required.as_str())
            }
            Self::ArgumentsMissing => f.write_str("no arguments are given"),
            Self::FactsMissing => f.write_str("no enforcement point states any facts"),
            Self::ValueMissing { part, at } => write!(f, "the {} `{at}` is missing", part.as_str()),
            Self::ValuePresent { part, at } => {
                write!(f, "the {} `{at}` is given, and none is allowed", part.as_str())
            }
            Self::ValueAbove { part, at, asked, allowed } => {
                write!(f, "the {} `{at}` is too high: {asked} asked, {allowed} allowed", part.as_str())
            }
            Self::ValueBelow { part, at, asked, required } => {
                write!(
                    f,
                    "the {} `{at}` is too low: {asked} asked, at least {required} allowed",
                    part.as_str()
                )
            }
            Self::ValueOutside { part, at, test } => {
                write!(f, "the {} `{at}` does not pass the test `{test}`", part.as_str())
            }
            Self::EvidenceMissing => f.write_str("the caller gives no evidence"),
            Self::ConfidenceMissing { required } => {
                write!(f, "the caller does not say how sure it is, at least {required} allowed")
            }
            Self::ConfidenceBelow { asked, required } => {
                write!(f, "the caller is not sure enough: {asked} given, at least {required} allowed")
            }
            Self::CitesCount { asked, required, exactly } => {
                let bound = if *exactly { "exactly" } else { "at least" };
                write!(f, "the caller cites {asked} things, {bound} {required} allowed")
            }
            Self::CitesOwner { share, required } => {
                let (part, of) = (share.part, share.of);
                write!(f, "{part} of {of} cited things are not known to belong to the {}", required.as_str())
            }
            Self::LabelUndeclared { label } => {
                write!(f, "the policy does not declare what the clause says of the label `{label}`")
            }
            Self::LabelMissing { label } => write!(f, "the label `{label}` is not given"),
            Self::LabelAbove { label, asked, allowed } => {
                write!(f, "the label `{label}` is too high: {asked} given, at most {allowed} allowed")
            }
            Self::LabelBelow { label, asked, required } => {
                write!(f, "the label `{label}` is too low: {asked} given, at least {required} allowed")
            }
            Self::OutsideHours { at, allowed } => {
                write!(f, "outside the hours: it is {at}, allowed {allowed}")
            }
            Self::LinkOutside => f.write_str("a link leads outside the domains allowed"),
            Self::LinkMissing => f.write_str("no link leads into the domains named"),
            Self::ProtectedFound => f.write_str("the arguments contain a protected value"),
            Self::PersonalDataFound(class) => {
                write!(f, "the arguments contain personal data of the class `{class}`")
            }
        }
    }
}
