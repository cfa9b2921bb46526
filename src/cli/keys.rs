//! `procura keys list`: every tenant's keys, their public halves among them. Works beside a running server.

use super::arguments;
use super::config::Sources;
use super::output::{self, Failure, Form};
use super::place::Place;
use crate::crypto::PublicKey;
use crate::crypto::keyring::KeyPurpose;
use crate::evidence::note::VerifierKey;
use crate::storage::key::StoredKey;
use crate::storage::tenant::Tenant;
use crate::storage::{self, StoreError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

/// Lists them, oldest first within a tenant.
pub(super) fn list(sources: &Sources, options: &arguments::Place, form: Form) -> Result<u8, Failure> {
    let database = Place::database(sources, options)?;
    let keys = read(&database).map_err(|error| Failure::failed(format!("{database}: {error}")))?;
    if form == Form::Json {
        let keys: Vec<_> = keys
            .iter()
            .map(|(key, public)| {
                json!({"tenant": key.tenant, "id": key.id, "purpose": key.purpose, "created_at": key.created_at,
                    "retired_at": key.retired_at, "public": public})
            })
            .collect();
        output::json(&json!({"keys": keys}))?;
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = keys
        .into_iter()
        .map(|(key, public)| {
            vec![
                key.tenant.to_string(),
                key.id.to_string(),
                key.purpose,
                key.created_at.to_string(),
                key.retired_at.map_or_else(|| "-".into(), |at| at.to_string()),
                public.unwrap_or_else(|| "-".into()),
            ]
        })
        .collect();
    output::table(&["tenant", "id", "purpose", "created", "retired", "public"], &rows)?;
    Ok(0)
}

fn read(database: &storage::Database) -> Result<Vec<(StoredKey, Option<String>)>, StoreError> {
    let readers = database.open_readers()?;
    let mut connection = readers.get()?;
    let mut keys = Vec::new();
    for tenant in storage::tenant::all(&mut connection)? {
        for key in storage::key::of_tenant(&mut connection, &tenant.slug)? {
            let public = public(&tenant, &key)?;
            keys.push((key, public));
        }
    }
    Ok(keys)
}

/// The public half as those who check with it take it: a C2SP verifier key for the log, the `x` of its JWK
/// (RFC 8037 §2) for tokens, where the key's id is the `kid`.
fn public(tenant: &Tenant, key: &StoredKey) -> Result<Option<String>, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt {
        place: "keys.public",
        detail: format!("{}: {detail}", key.id),
    };
    let Some(stored) = &key.public else { return Ok(None) };
    let bytes =
        <[u8; 32]>::try_from(stored.as_slice()).map_err(|_| corrupt(format!("{} bytes", stored.len())))?;
    match key.purpose.parse::<KeyPurpose>().map_err(&corrupt)? {
        KeyPurpose::Log => {
            let verifier = VerifierKey::new(&tenant.origin, PublicKey(bytes))
                .map_err(|error| corrupt(error.to_string()))?;
            Ok(Some(verifier.to_string()))
        }
        KeyPurpose::Token => Ok(Some(URL_SAFE_NO_PAD.encode(bytes))),
        KeyPurpose::Auth | KeyPurpose::Lookup => Ok(None),
    }
}
