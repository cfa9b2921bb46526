//! What an access token says: first as read and checked, then in the words of the field.

use super::{TokenError, point::POINT_CLAIM};
use crate::domain::{AgentId, CredentialId, Duration, Scopes, TenantSlug, Timestamp};
use serde_json::{Map, Value, json};
use std::ops::Deref;

/// How far ahead `nbf` and `iat` may lie: clocks of two nodes differ by less.
pub(super) const START_LEEWAY: Duration = Duration::seconds(5);

/// What a verifier vouches for; only this layer makes one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    pub(super) fn vouched(value: T) -> Self {
        Self(value)
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Verified<RawClaims> {
    /// The claims in the words of the field.
    pub fn typed(&self) -> Result<Verified<Claims>, TokenError> {
        self.0.typed().map(Verified)
    }
}

/// Whether a token of these times, in seconds since 1970, counts at `now`.
pub(super) fn is_timely(iat: i64, nbf: i64, exp: i64, now: Timestamp) -> bool {
    now < Timestamp::from_unix_seconds(exp)
        && Timestamp::from_unix_seconds(nbf.max(iat)) <= now.plus(START_LEEWAY)
}

/// The claims of a token of any shape that the rules allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawClaims {
    /// `iss`.
    pub issuer: String,
    /// `aud`: one, or all of a list.
    pub audience: Vec<String>,
    /// `sub`, not empty.
    pub subject: String,
    /// `tenant`, the same as its key's.
    pub tenant: TenantSlug,
    /// `jti`, not empty.
    pub id: String,
    /// `iat`.
    pub issued_at: Timestamp,
    /// `nbf`, where there is one.
    pub not_before: Option<Timestamp>,
    /// `exp`.
    pub expires_at: Timestamp,
    /// Every member as read.
    pub members: Map<String, Value>,
}

impl RawClaims {
    /// The claims of an agent in the words of the field: subject, credential and scopes must be ours. An enforcement
    /// point's are refused.
    pub fn typed(&self) -> Result<Claims, TokenError> {
        if self.members.contains_key(POINT_CLAIM) {
            return Err(TokenError::Claim(POINT_CLAIM));
        }
        let text = |name: &'static str| match self.members.get(name) {
            None => Err(TokenError::Missing(name)),
            Some(value) => value.as_str().ok_or(TokenError::Claim(name)),
        };
        let [audience] = self.audience.as_slice() else {
            return Err(TokenError::Claim("aud"));
        };
        Ok(Claims {
            iss: self.issuer.clone(),
            aud: audience.clone(),
            sub: self.subject.parse().map_err(|_| TokenError::Claim("sub"))?,
            client_id: text("client_id")?.parse().map_err(|_| TokenError::Claim("client_id"))?,
            tenant: self.tenant.clone(),
            scope: Scopes::from_space_separated(text("scope")?).map_err(|_| TokenError::Claim("scope"))?,
            iat: self.issued_at.unix_seconds(),
            nbf: self.not_before.ok_or(TokenError::Missing("nbf"))?.unix_seconds(),
            exp: self.expires_at.unix_seconds(),
            jti: self.id.clone(),
        })
    }
}

/// The claims of an agent's access token (RFC 9068 §2.2, with `nbf` and `tenant`); times in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// Who issued it: this service.
    pub iss: String,
    /// Whom it is for: this service alone.
    pub aud: String,
    /// The agent.
    pub sub: AgentId,
    /// The credential it was issued under.
    pub client_id: CredentialId,
    /// The tenant whose key signs it.
    pub tenant: TenantSlug,
    /// What it may at most do; what is live decides.
    pub scope: Scopes,
    /// Issued at.
    pub iat: i64,
    /// Not valid before.
    pub nbf: i64,
    /// Not valid from then on.
    pub exp: i64,
    /// The token's own name, never used twice.
    pub jti: String,
}

impl Claims {
    /// The JSON that is signed; scopes stand as one text with spaces between (RFC 9068 §2.2.3).
    pub(super) fn wire(&self) -> Value {
        json!({
            "iss": self.iss,
            "aud": self.aud,
            "sub": self.sub,
            "client_id": self.client_id,
            "tenant": self.tenant,
            "scope": self.scope.to_string(),
            "iat": self.iat,
            "nbf": self.nbf,
            "exp": self.exp,
            "jti": self.jti,
        })
    }
}
