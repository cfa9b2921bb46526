//! Registers, renews and revokes enforcement points: what they say counts for more than an agent's word.

use super::Error;
use super::caller::Operator;
use super::credential::{RENEWED_LIFETIME, TOKEN_LIFETIME};
use crate::committer::{Books, Draft};
use crate::crypto::seal;
use crate::crypto::token::PointClaims;
use crate::domain::{CallId, Chain, Duration, EnforcementPointId, Hash, Label, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::StoreError;
use crate::storage::credential::Revoked;
use crate::storage::enforcement_point::{self, EnforcementPoint};
use crate::storage::receipt::StoredReceipt;
use serde_json::json;
use std::sync::Arc;

/// An enforcement point just registered, with its first token.
#[derive(Debug)]
pub struct Given {
    /// The enforcement point.
    pub point: EnforcementPoint,
    /// Its first token.
    pub token: String,
    /// When that token ends.
    pub token_expires_at: Timestamp,
    /// The act's receipt.
    pub stored: Arc<StoredReceipt>,
}

/// Registers an enforcement point. This widens whose word is believed, so it needs a fresh sign-in.
pub fn create(
    books: &mut Books<'_>,
    operator: &Operator,
    name: Label,
    secret_digest: Hash,
) -> Result<Given, Error> {
    let person = operator.person();
    person.require_session(books)?;
    person.require_fresh(books.now(), "registering an enforcement point")?;
    let point = EnforcementPoint {
        tenant: books.slug().clone(),
        id: books.new_id(EnforcementPointId::new),
        name,
        secret_digest,
        created_at: books.now(),
        created_by: person.id,
        revoked: None,
    };
    enforcement_point::insert(books.connection(), &point)?;
    let input = json!({
        "kind": Kind::EnforcementPointCreate.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "name": point.name,
        "secret": seal(books.lookup_key(), point.secret_digest.as_bytes()),
    });
    let output = json!({"id": point.id});
    let draft =
        Draft::act(Kind::EnforcementPointCreate, Chain::Principal(person.id), input, output).by(person.id);
    let stored = books.record(draft)?;
    let (token, token_expires_at) = token(books, point.id, TOKEN_LIFETIME)?;
    Ok(Given { point, token, token_expires_at, stored })
}

/// Revokes an enforcement point: from here on its token opens nothing.
pub fn revoke(
    books: &mut Books<'_>,
    operator: &Operator,
    id: EnforcementPointId,
) -> Result<Arc<StoredReceipt>, Error> {
    let person = operator.person();
    let revoked = Revoked { at: books.now(), by: person.id.to_string() };
    let (connection, slug) = books.place();
    if enforcement_point::find(connection, slug, id)?.is_none() {
        return Err(Error::NotFound("enforcement point"));
    }
    if !enforcement_point::revoke(connection, slug, id, &revoked)? {
        return Err(Error::Conflict(format!("enforcement point `{id}` is revoked already")));
    }
    let input = json!({
        "kind": Kind::EnforcementPointRevoke.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "enforcement_point": id,
    });
    let output = json!({"revoked_at": revoked.at});
    let draft =
        Draft::act(Kind::EnforcementPointRevoke, Chain::Principal(person.id), input, output).by(person.id);
    Ok(books.record(draft)?)
}

/// A new token for an enforcement point whose secret was right.
#[derive(Debug)]
pub struct Renewed {
    /// The token.
    pub token: String,
    /// How many seconds it lives.
    pub expires_in: i64,
}

/// Renews an enforcement point's token.
pub fn renew(books: &mut Books<'_>, id: EnforcementPointId) -> Result<Renewed, Error> {
    require_live(books, id)?;
    let (token, expires_at) = token(books, id, RENEWED_LIFETIME)?;
    let expires_in = expires_at.unix_seconds().saturating_sub(books.now().unix_seconds());
    Ok(Renewed { token, expires_in })
}

/// Refuses an enforcement point that is revoked when the batch runs.
pub(super) fn require_live(books: &mut Books<'_>, id: EnforcementPointId) -> Result<(), Error> {
    let (connection, slug) = books.place();
    let point = enforcement_point::find(connection, slug, id)?.ok_or(Error::Unknown)?;
    match point.revoked {
        None => Ok(()),
        Some(revoked) => Err(Error::PointRevoked { id, at: revoked.at }),
    }
}

fn token(
    books: &Books<'_>,
    point: EnforcementPointId,
    lifetime: Duration,
) -> Result<(String, Timestamp), Error> {
    let now = books.now();
    let issuer = &books.tenant().issuer;
    let claims = PointClaims {
        iss: issuer.clone(),
        aud: issuer.clone(),
        point,
        tenant: books.slug().clone(),
        iat: now.unix_seconds(),
        nbf: now.unix_seconds(),
        exp: now.plus(lifetime).unix_seconds(),
        jti: books.new_id(CallId::new).to_string(),
    };
    let token = books
        .keys()
        .token
        .sign_point(&claims)
        .map_err(|error| Error::Store(StoreError::Failed(format!("no token can be signed: {error}"))))?;
    Ok((token, Timestamp::from_unix_seconds(claims.exp)))
}
