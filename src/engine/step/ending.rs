//! How an effect ends: whose word counts, and when a person is asked.

use super::Load;
use crate::domain::{EffectStatus, EnforcementPointId};

/// Whose word a report is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
    /// The agent's that made the effect happen.
    Agent,
    /// An enforcement point's: this one's.
    EnforcementPoint(EnforcementPointId),
    /// Nobody's: the time to report is over.
    Nobody,
    /// A person's, of an effect nobody knows the end of.
    Person,
}

/// What was said of an effect last, and whose word it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Said {
    /// Whose.
    pub word: Word,
    /// What.
    pub status: EffectStatus,
}

impl Said {
    /// Whether it is said again of an effect that stands `at`, on which `last` was said: by whoever said it, or by
    /// another enforcement point where that ended the effect.
    pub fn is_again(self, at: EffectStatus, last: Self) -> bool {
        self.status == last.status
            && match (self.word, last.word) {
                (Word::EnforcementPoint(one), Word::EnforcementPoint(other)) => {
                    one == other || at.has_ended()
                }
                (one, other) => one == other,
            }
    }
}

/// Where an effect goes when `said` is reported of it, on which `last` was said before; `None` where the report comes
/// too late or contradicts what stands.
///
/// What cannot be taken back (`attested`) is not released by an agent's own word: its `failed` is unknown. Unknown
/// is ended by a person or an enforcement point alone. An ending is final, but that an enforcement point may contradict
/// the agent's, and another point's: nobody knows then, and a person alone ends it, whatever the points say next. No point
/// contradicts itself.
pub fn report(
    at: EffectStatus,
    said: EffectStatus,
    attested: bool,
    word: Word,
    last: Option<Said>,
) -> Option<EffectStatus> {
    use EffectStatus::{Claimed, Done, Failed, Unknown};
    let disputed = at == Unknown
        && last.is_some_and(|last| {
            matches!((last.word, last.status), (Word::EnforcementPoint(_), Done | Failed))
        });
    match (at, word, said) {
        (Claimed, Word::Agent, Failed) if attested => Some(Unknown),
        (Unknown, Word::EnforcementPoint(_), _) if disputed => None,
        (Done, Word::EnforcementPoint(point), Failed) | (Failed, Word::EnforcementPoint(point), Done)
            if last.is_some_and(|last| may_contradict(point, last.word)) =>
        {
            Some(Unknown)
        }
        (Claimed, Word::Agent | Word::EnforcementPoint(_), Done | Failed | Unknown)
        | (Claimed, Word::Nobody, Unknown)
        | (Unknown, Word::EnforcementPoint(_) | Word::Person, Done | Failed) => Some(said),
        (Claimed | Unknown | Done | Failed, _, _) => None,
    }
}

/// Whether the question of how an effect ended, of which somebody's word made it unknown, waits until there is room for it
/// in the queue, and why: what the agent says, or leaves unsaid, takes of the same attention as what it asks for. The
/// effect is unknown either way.
pub fn puts_off(word: Word, load: Load) -> Option<String> {
    match word {
        Word::Agent | Word::Nobody => load.too_much(),
        Word::EnforcementPoint(_) | Word::Person => None,
    }
}

/// Whether an enforcement point's word makes a question of what somebody told.
fn may_contradict(point: EnforcementPointId, told: Word) -> bool {
    match told {
        Word::Agent => true,
        Word::EnforcementPoint(other) => other != point,
        Word::Nobody | Word::Person => false,
    }
}

/// Whether an ending gives back what the allow took from the books.
pub const fn releases(ending: EffectStatus) -> bool {
    match ending {
        EffectStatus::Failed => true,
        EffectStatus::Claimed | EffectStatus::Done | EffectStatus::Unknown => false,
    }
}

/// Whether an effect that leaves an ending for another takes again what it had given back.
pub const fn takes_again(from: EffectStatus, to: EffectStatus) -> bool {
    releases(from) && !releases(to)
}
