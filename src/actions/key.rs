//! Puts a new key in the place of one that is in force; what the old one made stays good under it.

use super::Error;
use crate::committer::{Books, Draft, entropy};
use crate::crypto::SigningKey;
use crate::crypto::keyring::{KeyName, KeyPurpose, MasterKey};
use crate::domain::{Chain, KeyId};
use crate::evidence::receipt::Kind;
use crate::storage::StoreError;
use crate::storage::key::{self, StoredKey};
use serde_json::json;

/// A key that can be replaced while what it made stays in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotating {
    /// Signs agents' tokens; those that are out verify until they end.
    Token,
    /// Authenticates receipts, each of which names its key.
    Auth,
}

impl Rotating {
    fn purpose(self) -> KeyPurpose {
        match self {
            Self::Token => KeyPurpose::Token,
            Self::Auth => KeyPurpose::Auth,
        }
    }
}

impl std::str::FromStr for Rotating {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "token" => Ok(Self::Token),
            "auth" => Ok(Self::Auth),
            "log" => {
                Err("`log` cannot be rotated: whoever verifies holds the log's key; token or auth".into())
            }
            "lookup" => {
                Err("`lookup` cannot be rotated: approvals that wait are found by it; token or auth".into())
            }
            other => Err(format!("`{}` is not a key that is rotated: token or auth", other.escape_debug())),
        }
    }
}

/// What was put in the place of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotated {
    /// Nothing new is made with this one.
    pub retired: KeyId,
    /// This one is in force from the next start on.
    pub key: KeyId,
}

/// Makes the new key, retires the old one and records it.
///
/// # Errors
/// No key of the purpose is in force.
pub fn rotate(books: &mut Books<'_>, which: Rotating, master: &MasterKey) -> Result<Rotated, Error> {
    let purpose = which.purpose();
    let failed = |detail: String| Error::Store(StoreError::Failed(detail));
    let seed = zeroize::Zeroizing::new(entropy::bytes::<32>());
    let public = match which {
        Rotating::Token => {
            let signer =
                SigningKey::from_seed(&seed).ok_or_else(|| failed("no signing key can be made".into()))?;
            Some(signer.public().0.to_vec())
        }
        Rotating::Auth => None,
    };
    let now = books.now();
    let id = books.new_id(KeyId::new);
    let (connection, slug) = books.place();
    let stored = key::of_tenant(connection, slug)?;
    let old = stored.iter().rfind(|key| key.purpose == purpose.as_str() && key.retired_at.is_none());
    let old = old.ok_or_else(|| Error::Conflict(format!("no {purpose} key of `{slug}` is in force")))?.id;
    let name = KeyName { tenant: slug, key: id, purpose };
    let wrapped = master.wrap(&*seed, &name, entropy::bytes()).map_err(|error| failed(error.to_string()))?;
    let new = StoredKey {
        tenant: slug.clone(),
        id,
        purpose: purpose.as_str().to_owned(),
        public,
        wrapped,
        created_at: now,
        retired_at: None,
    };
    key::insert(connection, &new)?;
    if !key::retire(connection, slug, old, now)? {
        return Err(Error::Conflict(format!("the {purpose} key {old} was retired meanwhile")));
    }
    let input = json!({"kind": Kind::KeyRotate.as_str(), "tenant": slug, "purpose": purpose.as_str(), "retired": old});
    let chain = Chain::Tenant(books.tenant().id);
    books.record(Draft::act(Kind::KeyRotate, chain, input, json!({"key": id})))?;
    Ok(Rotated { retired: old, key: id })
}
