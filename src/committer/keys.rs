//! A tenant and the keys that make its evidence, unwrapped once.

use crate::crypto::keyring::{KeyName, KeyPurpose, MasterKey};
use crate::crypto::token::TokenSigner;
use crate::crypto::{AuthKey, SigningKey};
use crate::domain::{KeyId, TenantSlug};
use crate::evidence::note::VerifierKey;
use crate::storage::key::StoredKey;
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, StoreError};
use std::sync::Arc;

/// A tenant's keys.
#[derive(Debug)]
pub struct TenantKeys {
    /// The tenant.
    pub tenant: Tenant,
    /// The origin of its checkpoints.
    pub origin: Arc<str>,
    /// The public key of its checkpoints, as C2SP writes verifier keys.
    pub verifier: Arc<str>,
    /// Signs its checkpoints.
    pub log: SigningKey,
    /// Names the key that authenticates its receipts.
    pub auth_id: KeyId,
    /// Authenticates its receipts.
    pub auth: AuthKey,
    /// Hashes described requests, so that an approval finds its own.
    pub lookup: AuthKey,
    /// Signs its agents' tokens.
    pub token: TokenSigner,
}

impl TenantKeys {
    /// Reads the keys of a tenant; `None` where there is no such tenant.
    pub fn load(
        connection: &mut AnyConnection,
        slug: &TenantSlug,
        master: &MasterKey,
    ) -> Result<Option<Self>, StoreError> {
        let Some(tenant) = storage::tenant::find(connection, slug)? else { return Ok(None) };
        let stored = storage::key::of_tenant(connection, slug)?;
        let (_, log) = open(&stored, KeyPurpose::Log, master)?;
        let (auth_id, auth) = open(&stored, KeyPurpose::Auth, master)?;
        let (_, lookup) = open(&stored, KeyPurpose::Lookup, master)?;
        let (token_id, token) = open(&stored, KeyPurpose::Token, master)?;
        let corrupt = |detail: &str| StoreError::Corrupt { place: "keys.wrapped", detail: detail.to_owned() };
        let log = SigningKey::from_seed(&log).ok_or_else(|| corrupt("the log key is no Ed25519 seed"))?;
        let verifier = VerifierKey::new(&tenant.origin, log.public())
            .map_err(|error| StoreError::Corrupt { place: "tenants.origin", detail: error.to_string() })?;
        Ok(Some(Self {
            origin: tenant.origin.as_str().into(),
            verifier: verifier.to_string().into(),
            log,
            auth_id,
            auth: AuthKey::from_bytes(&auth),
            lookup: AuthKey::from_bytes(&lookup),
            token: TokenSigner::from_seed(&token, token_id)
                .ok_or_else(|| corrupt("the token key is refused"))?,
            tenant,
        }))
    }
}

/// The newest key of a purpose that is not retired.
fn open(
    stored: &[StoredKey],
    purpose: KeyPurpose,
    master: &MasterKey,
) -> Result<(KeyId, [u8; 32]), StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { place: "keys", detail };
    let key = stored
        .iter()
        .rfind(|key| key.purpose == purpose.as_str() && key.retired_at.is_none())
        .ok_or_else(|| corrupt(format!("no {purpose} key is in force")))?;
    let name = KeyName { tenant: &key.tenant, key: key.id, purpose };
    let plain =
        master.unwrap(&key.wrapped, &name).map_err(|error| corrupt(format!("{}: {error}", key.id)))?;
    let seed =
        plain.as_slice().try_into().map_err(|_| corrupt(format!("{} has {} bytes", key.id, plain.len())))?;
    Ok((key.id, seed))
}
