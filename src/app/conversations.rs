//! What was said last in each conversation, as far as a value could go on from it: in memory, bounded, for a while.

use crate::domain::{Chain, Duration, Timestamp};
use crate::screening::{Detection, Tail};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The most conversations that a node remembers; beyond, the one that rested longest is forgotten.
const MOST: usize = 10_000;
/// How long a conversation that rests is remembered.
const REST: Duration = Duration::minutes(30);

/// The ends of conversations, each by who calls and what they call it. Nothing of it is ever stored.
#[derive(Default)]
pub struct Conversations(Mutex<HashMap<(Chain, String), (Tail, Timestamp)>>);

/// Never shows what is kept.
impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conversations")
    }
}

impl Conversations {
    /// What was said before in a conversation, and notes what is said now.
    pub fn pass(&self, key: (Chain, String), said: &str, detection: &Detection, now: Timestamp) -> Tail {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = |at: &Timestamp| at.plus(REST) > now;
        let before = all.remove(&key).filter(|(_, at)| is_kept(at)).map(|(tail, _)| tail).unwrap_or_default();
        let after = before.after(said, detection);
        if after.is_empty() {
            return before;
        }
        if all.len() >= MOST {
            all.retain(|_, (_, at)| is_kept(at));
        }
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, (_, at))| *at).map(|(key, _)| key.clone())
        {
            all.remove(&oldest);
        }
        all.insert(key, (after, now));
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::PrincipalId;

    #[test]
    fn what_was_said_is_remembered_for_its_own_conversation_and_a_while() {
        let all = Conversations::default();
        let now = Timestamp::from_unix_seconds(1_796_000_000);
        let chain = Chain::Principal(PrincipalId::new(now, [1; 10]));
        let detection = Detection::default();
        let pass = |name: &str, said: &str, at| all.pass((chain, name.to_owned()), said, &detection, at);
        assert!(pass("a", "it is 4111 1111", now).is_empty());
        assert!(pass("b", "1111 1111", now).is_empty());
        assert!(!pass("a", "1111 1111", now.plus(Duration::minutes(29))).is_empty());
        pass("c", "it is 4111 1111", now);
        assert!(pass("c", "1111 1111", now.plus(REST)).is_empty());
    }

    #[test]
    fn no_more_conversations_are_remembered_than_there_may_be() {
        let all = Conversations::default();
        let now = Timestamp::from_unix_seconds(1_796_000_000);
        let chain = Chain::Principal(PrincipalId::new(now, [1; 10]));
        for place in 0..=MOST {
            all.pass((chain, place.to_string()), "4111", &Detection::default(), now);
        }
        assert_eq!(all.0.lock().unwrap().len(), MOST);
    }
}
