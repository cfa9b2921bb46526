//! The keys that verify tokens, read anew when a token names one that is not known yet.

use super::App;
use crate::committer::clock;
use crate::crypto::PublicKey;
use crate::crypto::keyring::KeyPurpose;
use crate::crypto::token::{Rules, TokenVerifier, VerifyingKeys};
use crate::domain::{KeyId, TenantId, TenantSlug, Timestamp};
use crate::storage::{self, AnyConnection, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

/// How often an unknown key id makes the keys be read again, at most.
const RELOAD_EVERY_MILLISECONDS: i64 = 5000;

/// The keys that verify tokens, by the id a token names.
#[derive(Debug)]
pub(super) struct Verifiers {
    by_key: HashMap<String, Arc<TokenVerifier>>,
    tenants: HashMap<TenantSlug, TenantId>,
    epoch: u64,
    loaded_at: Timestamp,
}

impl Verifiers {
    /// Reads every tenant's token keys, retired ones too: what they signed may still be in use.
    pub(super) fn load(connection: &mut AnyConnection) -> Result<Self, StoreError> {
        let (mut by_key, mut tenants) = (HashMap::new(), HashMap::new());
        for tenant in storage::tenant::all(connection)? {
            let stored = storage::key::of_tenant(connection, &tenant.slug)?;
            let mut keys = VerifyingKeys::new();
            let mut ids = Vec::new();
            for key in stored.iter().filter(|key| key.purpose == KeyPurpose::Token.as_str()) {
                keys.insert(key.id, tenant.slug.clone(), &public(key.id, key.public.as_deref())?);
                ids.push(key.id);
            }
            let rules = Rules::of_access_tokens(tenant.issuer.clone(), tenant.issuer.clone());
            let verifier = Arc::new(TokenVerifier::new(rules, keys));
            by_key.extend(ids.iter().map(|id| (id.to_string(), verifier.clone())));
            tenants.insert(tenant.slug, tenant.id);
        }
        Ok(Self { by_key, tenants, epoch: 0, loaded_at: clock::now() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

impl App {
    /// The verifier of the key that goes by `kid`, and the epoch under which what it finds may be kept.
    pub(super) fn verifier(
        &self,
        kid: &str,
        now: Timestamp,
    ) -> Result<Option<(Arc<TokenVerifier>, u64)>, StoreError> {
        let loaded_at = {
            let verifiers = self.verifiers.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(verifier) = verifiers.by_key.get(kid) {
                return Ok(Some((verifier.clone(), verifiers.epoch)));
            }
            verifiers.loaded_at
        };
        if now.since(loaded_at).whole_milliseconds() < RELOAD_EVERY_MILLISECONDS {
            return Ok(None);
        }
        // Whoever comes first marks the time, so that one caller reads and nobody waits under the lock.
        {
            let mut verifiers = self.verifiers.write().unwrap_or_else(PoisonError::into_inner);
            if now.since(verifiers.loaded_at).whole_milliseconds() < RELOAD_EVERY_MILLISECONDS {
                return Ok(None);
            }
            verifiers.loaded_at = now;
        }
        let loaded = Verifiers::load(&mut *self.readers.get()?)?;
        let mut verifiers = self.verifiers.write().unwrap_or_else(PoisonError::into_inner);
        // Another epoch voids every cached token: only another set of keys is worth that.
        let same = loaded.by_key.len() == verifiers.by_key.len()
            && loaded.by_key.keys().all(|key| verifiers.by_key.contains_key(key));
        let epoch = verifiers.epoch.saturating_add(u64::from(!same));
        *verifiers = Verifiers { epoch, ..loaded };
        Ok(verifiers.by_key.get(kid).map(|verifier| (verifier.clone(), verifiers.epoch)))
    }

    /// The own id of a tenant, as far as it is known here: always, where its token was verified.
    pub(super) fn tenant_id(&self, slug: &TenantSlug) -> Option<TenantId> {
        self.verifiers.read().unwrap_or_else(PoisonError::into_inner).tenants.get(slug).copied()
    }
}

fn public(id: KeyId, stored: Option<&[u8]>) -> Result<PublicKey, StoreError> {
    let bytes = stored.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    bytes.map(PublicKey).ok_or_else(|| StoreError::Corrupt { place: "keys.public", detail: id.to_string() })
}
