//! Identifiers: a prefix that says what is named, then 128 bits in lower-case Crockford base32.
//!
//! The first 48 bits are the time in milliseconds, so ids sort as they were made.

use super::{Hash, Timestamp};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ENCODED_LENGTH: usize = 26;

fn encode(bytes: [u8; 16]) -> [u8; ENCODED_LENGTH] {
    let mut rest = u128::from_be_bytes(bytes);
    let mut text = [b'0'; ENCODED_LENGTH];
    for place in text.iter_mut().rev() {
        let digit = usize::try_from(rest & 31).unwrap_or(0);
        *place = ALPHABET.get(digit).copied().unwrap_or(b'0');
        rest >>= 5;
    }
    text
}

fn decode(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != ENCODED_LENGTH || *text.first()? > b'7' {
        return None;
    }
    let mut value = 0u128;
    for byte in text {
        let digit = ALPHABET.iter().position(|letter| letter == byte)?;
        value = (value << 5) | u128::try_from(digit).ok()?;
    }
    Some(value.to_be_bytes())
}

/// Time first, then what the caller supplies to tell ids of one millisecond apart.
fn compose(at: Timestamp, tail: [u8; 10]) -> [u8; 16] {
    let time = at.unix_milliseconds().max(0).to_be_bytes();
    let mut bytes = [0u8; 16];
    for (to, from) in bytes.iter_mut().zip(time.iter().skip(2).chain(tail.iter())) {
        *to = *from;
    }
    bytes
}

macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// What every id of this kind starts with.
            pub const PREFIX: &'static str = $prefix;

            /// An id made at `at`, told apart from others of that millisecond by `tail`.
            pub fn new(at: Timestamp, tail: [u8; 10]) -> Self {
                Self(compose(at, tail))
            }

            /// When it was made, in milliseconds.
            pub fn made_at(&self) -> Timestamp {
                let mut time = [0u8; 8];
                for (to, from) in time.iter_mut().skip(2).zip(self.0) {
                    *to = from;
                }
                Timestamp::from_unix_milliseconds(i64::from_be_bytes(time))
            }

            /// The 128 bits behind the prefix.
            pub fn bytes(&self) -> [u8; 16] {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text = encode(self.0);
                f.write_str($prefix)?;
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                text.strip_prefix($prefix)
                    .and_then(|rest| decode(rest.as_bytes()))
                    .map(Self)
                    .ok_or_else(|| format!("`{}` is not an id of the form {}…", text.escape_debug(), $prefix))
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

identifiers! {
    /// A tenant's own id; it names the chain of acts that no person did.
    TenantId "tnt_";
    /// A person of a tenant.
    PrincipalId "prn_";
    /// Software that acts for one principal.
    AgentId "agt_";
    /// What an agent presents.
    CredentialId "crd_";
    /// One version of a principal's mandate.
    MandateId "mdt_";
    /// An item of a principal's queue.
    DecisionId "dec_";
    /// A question to another member's agents.
    QuestionId "qst_";
    /// What one allow lets happen once.
    EffectId "eff_";
    /// The record of one call or act of authority.
    ReceiptId "rcpt_";
    /// A key of a tenant.
    KeyId "key_";
    /// A program in front of a tool that asks the gate for agents.
    EnforcementPointId "enf_";
    /// One export of the log.
    ExportId "exp_";
    /// A call that has a row of the call log but no leaf of its own.
    CallId "call_";
}

impl ReceiptId {
    /// A receipt's id carries its place in the log, so that it is found without an index of its own:
    /// 48 bits of time, 40 bits of log index, 40 bits of `entropy`.
    pub fn at_index(at: Timestamp, index: u64, entropy: [u8; 5]) -> Self {
        let mut tail = [0u8; 10];
        for (to, from) in tail.iter_mut().zip(index.to_be_bytes().iter().skip(3).chain(entropy.iter())) {
            *to = *from;
        }
        Self::new(at, tail)
    }

    /// The log index the id says it has; whoever looks there compares the whole id.
    pub fn log_index(&self) -> u64 {
        self.0.iter().skip(6).take(5).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    }
}

/// The receipts that `prev` links: one credential's, one principal's own acts, or the tenant's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chain {
    /// The calls of one credential.
    Credential(CredentialId),
    /// One person's acts.
    Principal(PrincipalId),
    /// What the service itself recorded.
    Tenant(TenantId),
}

impl Chain {
    /// What `prev` holds at `seq` 0: 32 zero bytes.
    pub const START: Hash = Hash::ZERO;
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential(id) => id.fmt(f),
            Self::Principal(id) => id.fmt(f),
            Self::Tenant(id) => id.fmt(f),
        }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Chain {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(CredentialId::PREFIX) {
            text.parse().map(Self::Credential)
        } else if text.starts_with(PrincipalId::PREFIX) {
            text.parse().map(Self::Principal)
        } else {
            text.parse().map(Self::Tenant)
        }
    }
}

impl Serialize for Chain {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Chain {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_reads_back_and_sorts_by_time(a in 0i64..1 << 47, b in 0i64..1 << 47, tail: [u8; 10]) {
            let first = AgentId::new(Timestamp::from_unix_milliseconds(a), tail);
            let second = AgentId::new(Timestamp::from_unix_milliseconds(b), tail);
            prop_assert_eq!(first.to_string().parse::<AgentId>(), Ok(first));
            prop_assert_eq!(first.made_at(), Timestamp::from_unix_milliseconds(a));
            prop_assert_eq!(first.to_string().cmp(&second.to_string()), a.cmp(&b));
        }

        #[test]
        fn a_receipt_id_carries_its_log_index(index in 0u64..1 << 40, entropy: [u8; 5]) {
            let id = ReceiptId::at_index(Timestamp::from_unix_milliseconds(1_700_000_000_000), index, entropy);
            prop_assert_eq!(id.log_index(), index);
        }
    }

    #[test]
    fn an_id_of_another_kind_or_spelling_is_refused() {
        let id = AgentId::new(Timestamp::from_unix_milliseconds(1), [7; 10]).to_string();
        assert!(id.parse::<CredentialId>().is_err());
        assert!(id.to_uppercase().parse::<AgentId>().is_err());
        assert!(format!("{id}0").parse::<AgentId>().is_err());
        assert!("agt_8zzzzzzzzzzzzzzzzzzzzzzzzz".parse::<AgentId>().is_err(), "more than 128 bits");
    }
}
