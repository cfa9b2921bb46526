//! Founds a tenant: its keys, its empty log, its first operator.

use super::principal::{self, NewPrincipal};
use super::{Error, recording::Content};
use crate::committer::{Books, Draft, clock, entropy};
use crate::crypto::keyring::{KeyName, KeyPurpose, MasterKey};
use crate::crypto::{SigningKey, seal};
use crate::domain::{Chain, KeyId, TenantId, TenantSlug};
use crate::engine::PolicyDocument;
use crate::evidence::merkle::Frontier;
use crate::evidence::note;
use crate::evidence::receipt::Kind;
use crate::storage::head::{self, Head};
use crate::storage::key::{self, StoredKey};
use crate::storage::policy::{self, PolicyVersion};
use crate::storage::principal::{PasswordSetBy, Principal};
use crate::storage::tenant::{self, Tenant};
use crate::storage::{self, AnyConnection, StoreError};
use serde_json::{Value, json};

/// What a new tenant is.
#[derive(Debug)]
pub struct Founding {
    /// Its name.
    pub slug: TenantSlug,
    /// The zone its calendar follows.
    pub zone: chrono_tz::Tz,
    /// The origin of its checkpoints: `<public host or slug>/log/<slug>`.
    pub origin: String,
    /// `iss` and `aud` of its tokens.
    pub issuer: String,
}

/// Writes a tenant with its keys and the head of an empty log, before any committer knows of it.
pub fn found(connection: &mut AnyConnection, founding: &Founding, master: &MasterKey) -> Result<(), Error> {
    if tenant::find(connection, &founding.slug)?.is_some() {
        return Err(Error::Conflict(format!("tenant `{}` is set up already", founding.slug)));
    }
    let now = clock::now();
    storage::savepoint(connection, |connection| {
        let tenant = Tenant {
            slug: founding.slug.clone(),
            id: TenantId::new(now, entropy::bytes()),
            zone: founding.zone,
            origin: founding.origin.clone(),
            issuer: founding.issuer.clone(),
            created_at: now,
        };
        tenant::insert(connection, &tenant)?;
        let mut checkpoint = String::new();
        for purpose in KeyPurpose::ALL {
            let seed = entropy::bytes::<32>();
            let id = KeyId::new(now, entropy::bytes());
            let name = KeyName { tenant: &founding.slug, key: id, purpose };
            let failed = |detail: String| Error::Store(StoreError::Failed(detail));
            let signer = match purpose {
                KeyPurpose::Log | KeyPurpose::Token => Some(
                    SigningKey::from_seed(&seed)
                        .ok_or_else(|| failed("no signing key can be made".into()))?,
                ),
                KeyPurpose::Auth | KeyPurpose::Lookup => None,
            };
            if let (KeyPurpose::Log, Some(signer)) = (purpose, &signer) {
                let empty = Frontier::default();
                checkpoint = note::sign_checkpoint(signer, &founding.origin, 0, empty.root());
            }
            let stored = StoredKey {
                tenant: founding.slug.clone(),
                id,
                purpose: purpose.as_str().to_owned(),
                public: signer.map(|signer| signer.public().0.to_vec()),
                wrapped: master
                    .wrap(&seed, &name, entropy::bytes())
                    .map_err(|error| failed(error.to_string()))?,
                created_at: now,
                retired_at: None,
            };
            key::insert(connection, &stored)?;
        }
        let empty = Head {
            size: 0,
            frontier: Frontier::default().to_bytes(),
            checkpoint,
            last_at: now,
            authority_epoch: 1,
            trailed: 0,
        };
        head::insert(connection, &founding.slug, &empty)?;
        Ok(())
    })
}

/// Registers the first operator and an empty policy; the tenant's first receipt.
pub fn first_operator(books: &mut Books<'_>, new: NewPrincipal) -> Result<Principal, Error> {
    let now = books.now();
    let (operator, first) = principal::add(books, new, Some(PasswordSetBy::Person))?;
    let empty = PolicyVersion {
        version: 1,
        document: PolicyDocument::empty().to_json().to_string(),
        change: "unchanged".to_owned(),
        live_since: now,
        author: operator.id,
    };
    let (connection, slug) = books.place();
    policy::insert(connection, slug, &empty)?;
    let keys = key::of_tenant(connection, slug)?;
    let keys: Vec<Value> = keys.iter().map(|key| json!({"id": key.id, "purpose": key.purpose})).collect();
    books.authority_changed();
    let mut content = Content::default();
    let tenant = books.tenant();
    let input = json!({
        "kind": Kind::TenantSetup.as_str(),
        "tenant": tenant.slug,
        "zone": tenant.zone.name(),
        "origin": tenant.origin,
        "issuer": tenant.issuer,
        "email": content.commit("/input/email", json!(operator.email)),
        "name": content.commit("/input/name", json!(operator.name)),
        "roles": operator.roles,
        "mandate": first,
        "password": operator.password.as_deref().map(|password| seal(books.lookup_key(), password.as_bytes())),
        "keys": keys,
    });
    let mut draft =
        Draft::act(Kind::TenantSetup, Chain::Tenant(tenant.id), input, json!({"operator": operator.id}))
            .by(operator.id);
    draft.content = content.finish();
    books.record(draft)?;
    Ok(operator)
}
