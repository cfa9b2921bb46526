//! Claims of tokens that were verified lately, so that a busy caller's signature is not checked at every call.
//!
//! Only what the token says is kept, never what it may do: each call still reads what is live. An entry counts
//! under the key epoch it was made in, and its hour is looked at again on every use.

use super::token::Bearer;
use crate::domain::{Hash, Timestamp};
use std::{
    collections::HashMap,
    fmt, mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

const SHARDS: usize = 16;

/// A bounded map from a token's SHA-256 to its verified claims.
///
/// Each shard keeps two generations: what is used moves to the younger, and when that is full it becomes the
/// older and the former older is dropped whole. So the last half of the capacity used is always kept.
pub struct TokenCache {
    shards: [Mutex<Generations>; SHARDS],
    generation_size: usize,
}

impl TokenCache {
    /// A cache of about `capacity` tokens, at least two for each of its shards, or none at all.
    pub fn new(capacity: usize) -> Self {
        let generation_size = (capacity / SHARDS / 2).max(usize::from(capacity > 0));
        Self { shards: Default::default(), generation_size }
    }

    /// Whose token this digest is of, if it was verified under `epoch` and its hour is right at `now`.
    ///
    /// `None` says only that the token has to be verified, which then tells why it is refused, if it is.
    pub fn get(&self, token_digest: &Hash, epoch: u64, now: Timestamp) -> Option<Bearer> {
        let mut shard = self.shard(token_digest)?;
        let entry = shard.touch(token_digest, self.generation_size)?;
        (entry.epoch == epoch && entry.bearer.holds_at(now)).then(|| entry.bearer.clone())
    }

    /// Keeps what the verifier vouched for under the keys of `epoch`.
    pub fn put(&self, token_digest: Hash, epoch: u64, bearer: Bearer) {
        if self.generation_size > 0
            && let Some(mut shard) = self.shard(&token_digest)
        {
            shard.insert(token_digest, Entry { epoch, bearer }, self.generation_size);
        }
    }

    /// A panic elsewhere leaves at worst an entry fewer, so a poisoned lock is taken as it is.
    fn shard(&self, token_digest: &Hash) -> Option<MutexGuard<'_, Generations>> {
        let first = token_digest.as_bytes().first().copied().map(usize::from)?;
        Some(self.shards.get(first % SHARDS)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCache")
    }
}

struct Entry {
    epoch: u64,
    bearer: Bearer,
}

#[derive(Default)]
struct Generations {
    younger: HashMap<Hash, Entry>,
    older: HashMap<Hash, Entry>,
}

impl Generations {
    fn touch(&mut self, token_digest: &Hash, size: usize) -> Option<&Entry> {
        if let Some(entry) = self.older.remove(token_digest) {
            self.insert(*token_digest, entry, size);
        }
        self.younger.get(token_digest)
    }

    fn insert(&mut self, token_digest: Hash, entry: Entry, size: usize) {
        if self.younger.len() >= size && !self.younger.contains_key(&token_digest) {
            self.older = mem::take(&mut self.younger);
        }
        self.younger.insert(token_digest, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        crypto::{
            sha256,
            token::{Claims, Rules, TokenSigner, TokenVerifier, VerifyingKeys},
        },
        domain::{AgentId, CredentialId, KeyId, Scopes},
    };

    const NOW: i64 = 1_790_000_000;
    const LIFETIME: i64 = 600;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(seconds)
    }

    /// Claims as only a verifier can vouch for them.
    fn verified() -> Bearer {
        let kid = KeyId::new(at(1), [1; 10]);
        let signer = TokenSigner::from_seed(&[3; 32], kid).unwrap();
        let claims = Claims {
            iss: "i".into(),
            aud: "a".into(),
            sub: AgentId::new(at(1), [2; 10]),
            client_id: CredentialId::new(at(1), [3; 10]),
            tenant: "acme".parse().unwrap(),
            scope: Scopes::NONE,
            iat: NOW,
            nbf: NOW,
            exp: NOW + LIFETIME,
            jti: "j".into(),
        };
        let mut keys = VerifyingKeys::new();
        keys.insert(kid, claims.tenant.clone(), &signer.public());
        let verifier = TokenVerifier::new(Rules::of_access_tokens("i", "a"), keys);
        verifier.verify(&signer.sign(&claims).unwrap(), at(NOW)).unwrap().bearer().unwrap()
    }

    fn digest(number: u32) -> Hash {
        sha256(&number.to_be_bytes())
    }

    fn size(cache: &TokenCache) -> usize {
        cache.shards.iter().map(|shard| shard.lock().unwrap()).map(|s| s.younger.len() + s.older.len()).sum()
    }

    #[test]
    fn a_verified_token_is_found_until_its_keys_change() {
        let cache = TokenCache::new(64);
        cache.put(digest(1), 7, verified());
        let found = cache.get(&digest(1), 7, at(NOW)).unwrap();
        assert!(matches!(found, Bearer::Agent(claims) if claims.jti == "j"));
        assert!(cache.get(&digest(2), 7, at(NOW)).is_none());
        for epoch in [6, 8] {
            assert!(cache.get(&digest(1), epoch, at(NOW)).is_none(), "epoch {epoch}");
        }
    }

    #[test]
    fn an_entry_is_never_served_outside_its_hour() {
        let cache = TokenCache::new(64);
        cache.put(digest(1), 7, verified());
        assert!(cache.get(&digest(1), 7, at(NOW + LIFETIME - 1)).is_some());
        assert!(cache.get(&digest(1), 7, at(NOW + LIFETIME)).is_none());
        assert!(cache.get(&digest(1), 7, at(NOW - 6)).is_none(), "a clock that stepped back");
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let cache = TokenCache::new(0);
        cache.put(digest(1), 7, verified());
        assert!(cache.get(&digest(1), 7, at(NOW)).is_none());
    }

    #[test]
    fn the_cache_stays_within_its_capacity() {
        let cache = TokenCache::new(320);
        let claims = verified();
        for number in 0..5000 {
            cache.put(digest(number), 1, claims.clone());
        }
        assert!((160..=320).contains(&size(&cache)), "{}", size(&cache));
    }

    #[test]
    fn a_token_in_use_outlives_a_flood_of_others() {
        let cache = TokenCache::new(320);
        let claims = verified();
        cache.put(digest(0), 1, claims.clone());
        cache.put(digest(1), 1, claims.clone());
        for number in 2..5000 {
            cache.put(digest(number), 1, claims.clone());
            assert!(cache.get(&digest(0), 1, at(NOW)).is_some(), "after {number}");
        }
        assert!(cache.get(&digest(1), 1, at(NOW)).is_none(), "the one that nobody used is gone");
    }

    #[test]
    fn two_threads_share_it() {
        let cache = TokenCache::new(64);
        let claims = verified();
        std::thread::scope(|scope| {
            for start in [0, 1000] {
                let (cache, claims) = (&cache, &claims);
                scope.spawn(move || {
                    for number in start..start + 1000 {
                        cache.put(digest(number), 1, claims.clone());
                        cache.get(&digest(number ^ 1), 1, at(NOW));
                    }
                });
            }
        });
        assert!(size(&cache) <= 64);
    }
}
