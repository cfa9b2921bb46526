//! What screening counts, under the names that are published.

use super::Class;
use std::collections::BTreeMap;

/// One thing that is counted. A count holds no text, no value and no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    /// A reply given word for word in place of any other.
    ExactReply,
    /// A value of that class was found.
    Detected(Class),
    /// A value that a write was sent, masked in the sentence that reports the write.
    Masked,
    /// A turn held back, or a sentence removed, for a value that the rules withhold.
    Withheld,
    /// A value masked because the rules redact its class.
    Redacted,
    /// A sentence saying that a write was done which nothing attempted, replaced.
    AssertionRefused,
    /// A sentence that its write's outcome does not allow, replaced.
    OutcomeReplaced,
    /// A sentence to staff stating a value that no record holds, kept and highlighted.
    ValueHighlighted,
    /// A sentence stating a value that its write was neither sent nor returned, replaced.
    ValueReplaced,
    /// A write that the reply left out, added.
    OutcomeAdded,
    /// A sentence holding a phrase never to say, removed.
    WordingRemoved,
    /// A sentence making an offer outside the allowed ones, removed.
    OfferRemoved,
    /// A sentence that the rules require, added.
    WordingAdded,
    /// A stated value that no record holds.
    FactsUntraced,
    /// A stated value, traced to the record and the field it came from.
    FactsTraced,
    /// A traced value that another record gives differently for the same thing.
    FactsConflict,
    /// A traced value read longer ago than its source says it holds.
    FactsStale,
    /// A traced value outside the range that its source's schema allows.
    FactsOutOfRange,
}

impl Count {
    /// All there are, in the order of their names in documents.
    pub const ALL: [Self; 22] = [
        Self::ExactReply,
        Self::Detected(Class::Email),
        Self::Detected(Class::Iban),
        Self::Detected(Class::NationalId),
        Self::Detected(Class::Card),
        Self::Detected(Class::Phone),
        Self::Masked,
        Self::Withheld,
        Self::Redacted,
        Self::AssertionRefused,
        Self::OutcomeReplaced,
        Self::ValueHighlighted,
        Self::ValueReplaced,
        Self::OutcomeAdded,
        Self::WordingRemoved,
        Self::OfferRemoved,
        Self::WordingAdded,
        Self::FactsUntraced,
        Self::FactsTraced,
        Self::FactsConflict,
        Self::FactsStale,
        Self::FactsOutOfRange,
    ];

    /// Its published name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExactReply => "reply_exact_reply",
            Self::Detected(Class::Email) => "reply_pd_detected_email",
            Self::Detected(Class::Iban) => "reply_pd_detected_iban",
            Self::Detected(Class::NationalId) => "reply_pd_detected_national_id",
            Self::Detected(Class::Card) => "reply_pd_detected_card",
            Self::Detected(Class::Phone) => "reply_pd_detected_phone",
            Self::Masked => "reply_pd_masked",
            Self::Withheld => "reply_pd_withheld",
            Self::Redacted => "reply_pd_redacted",
            Self::AssertionRefused => "reply_assertion_refused",
            Self::OutcomeReplaced => "reply_outcome_replaced",
            Self::ValueHighlighted => "reply_value_highlighted",
            Self::ValueReplaced => "reply_value_replaced",
            Self::OutcomeAdded => "reply_outcome_added",
            Self::WordingRemoved => "reply_wording_removed",
            Self::OfferRemoved => "reply_offer_removed",
            Self::WordingAdded => "reply_wording_added",
            Self::FactsUntraced => "reply_facts_untraced",
            Self::FactsTraced => "reply_facts_traced",
            Self::FactsConflict => "reply_facts_conflict",
            Self::FactsStale => "reply_facts_stale",
            Self::FactsOutOfRange => "reply_facts_out_of_range",
        }
    }
}

/// How often each thing happened; what did not happen is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<Count, u64>);

impl Counts {
    /// Counts one more.
    pub(super) fn add(&mut self, count: Count) {
        let so_far = self.0.entry(count).or_default();
        *so_far = so_far.saturating_add(1);
    }

    /// How often it happened.
    pub fn of(&self, count: Count) -> u64 {
        self.0.get(&count).copied().unwrap_or_default()
    }

    /// What happened at least once, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Count, u64)> + '_ {
        self.0.iter().map(|(count, times)| (*count, *times))
    }
}
