//! The tokens of enforcement points: told from agents' by a claim of their own, and never taken for one another.

use super::TokenError;
use super::claims::{Claims, RawClaims, Verified, is_timely};
use crate::domain::{EnforcementPointId, TenantSlug, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

/// The claim that every enforcement point's token has and no agent's.
pub(super) const POINT_CLAIM: &str = "enforcement_point";

/// Whose token it is; each kind opens what the other never does.
#[derive(Clone, Debug)]
pub enum Bearer {
    /// An agent's.
    Agent(Arc<Verified<Claims>>),
    /// An enforcement point's.
    Point(Arc<Verified<PointClaims>>),
}

impl Bearer {
    /// The tenant whose key signed it.
    pub fn tenant(&self) -> &TenantSlug {
        match self {
            Self::Agent(claims) => &claims.tenant,
            Self::Point(claims) => &claims.tenant,
        }
    }

    /// Whether the token's hour is right at `now`: what a verifier found once does not hold for ever.
    pub fn holds_at(&self, now: Timestamp) -> bool {
        match self {
            Self::Agent(claims) => is_timely(claims.iat, claims.nbf, claims.exp, now),
            Self::Point(claims) => is_timely(claims.iat, claims.nbf, claims.exp, now),
        }
    }
}

/// The claims of an enforcement point's access token (RFC 9068 §2.2, with `nbf`, `tenant` and
/// `enforcement_point`); times in seconds since 1970. It acts for nobody, so `sub` and `client_id` are its own id
/// (RFC 9068 §2.2), and it carries no scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointClaims {
    /// Who issued it: this service.
    pub iss: String,
    /// Whom it is for: this service alone.
    pub aud: String,
    /// The enforcement point.
    pub point: EnforcementPointId,
    /// The tenant whose key signs it.
    pub tenant: TenantSlug,
    /// Issued at.
    pub iat: i64,
    /// Not valid before.
    pub nbf: i64,
    /// Not valid from then on.
    pub exp: i64,
    /// The token's own name, never used twice.
    pub jti: String,
}

impl PointClaims {
    /// The JSON that is signed.
    pub(super) fn wire(&self) -> Value {
        json!({
            "iss": self.iss,
            "aud": self.aud,
            "sub": self.point,
            "client_id": self.point,
            POINT_CLAIM: self.point,
            "tenant": self.tenant,
            "scope": "",
            "iat": self.iat,
            "nbf": self.nbf,
            "exp": self.exp,
            "jti": self.jti,
        })
    }
}

impl RawClaims {
    /// The claims of an enforcement point; an agent's are refused.
    pub fn point(&self) -> Result<PointClaims, TokenError> {
        let point = self.members.get(POINT_CLAIM).ok_or(TokenError::Missing(POINT_CLAIM))?;
        let parsed: EnforcementPointId =
            point.as_str().and_then(|text| text.parse().ok()).ok_or(TokenError::Claim(POINT_CLAIM))?;
        for name in ["sub", "client_id"] {
            if self.members.get(name) != Some(point) {
                return Err(TokenError::Claim(name));
            }
        }
        if self.members.get("scope").and_then(Value::as_str) != Some("") {
            return Err(TokenError::Claim("scope"));
        }
        let [audience] = self.audience.as_slice() else {
            return Err(TokenError::Claim("aud"));
        };
        Ok(PointClaims {
            iss: self.issuer.clone(),
            aud: audience.clone(),
            point: parsed,
            tenant: self.tenant.clone(),
            iat: self.issued_at.unix_seconds(),
            nbf: self.not_before.ok_or(TokenError::Missing("nbf"))?.unix_seconds(),
            exp: self.expires_at.unix_seconds(),
            jti: self.id.clone(),
        })
    }
}

impl Verified<RawClaims> {
    /// Whose token it is, with the claims in the words of the field.
    pub fn bearer(&self) -> Result<Bearer, TokenError> {
        if self.members.contains_key(POINT_CLAIM) {
            self.point().map(|claims| Bearer::Point(Arc::new(Verified::vouched(claims))))
        } else {
            self.typed().map(|claims| Bearer::Agent(Arc::new(claims)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::token::{Rules, TokenSigner, TokenVerifier, VerifyingKeys};
    use crate::domain::{AgentId, CredentialId, KeyId, Scope, Scopes};

    const NOW: i64 = 1_790_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(seconds)
    }

    fn of_point() -> PointClaims {
        PointClaims {
            iss: "i".into(),
            aud: "a".into(),
            point: EnforcementPointId::new(at(5), [4; 10]),
            tenant: "acme".parse().unwrap(),
            iat: NOW,
            nbf: NOW,
            exp: NOW + 600,
            jti: "j".into(),
        }
    }

    fn of_agent() -> Claims {
        Claims {
            iss: "i".into(),
            aud: "a".into(),
            sub: AgentId::new(at(5), [2; 10]),
            client_id: CredentialId::new(at(6), [3; 10]),
            tenant: "acme".parse().unwrap(),
            scope: Scopes::NONE.with(Scope::ActionRequest),
            iat: NOW,
            nbf: NOW,
            exp: NOW + 600,
            jti: "j".into(),
        }
    }

    /// What a genuine token with these claims is found to say.
    fn verified(wire: &Value) -> Verified<RawClaims> {
        let kid = KeyId::new(at(1), [1; 10]);
        let signer = TokenSigner::from_seed(&[3; 32], kid).unwrap();
        let mut keys = VerifyingKeys::new();
        keys.insert(kid, "acme".parse().unwrap(), &signer.public());
        let token = jsonwebtoken::encode(&signer.header, wire, &signer.key).unwrap();
        TokenVerifier::new(Rules::of_access_tokens("i", "a"), keys).verify(&token, at(NOW)).unwrap()
    }

    #[test]
    fn a_points_token_is_a_points_and_an_agents_is_an_agents() {
        let point = verified(&of_point().wire());
        assert!(matches!(point.bearer(), Ok(Bearer::Point(claims)) if **claims == of_point()));
        assert_eq!(point.typed().unwrap_err(), TokenError::Claim("enforcement_point"));
        let agent = verified(&of_agent().wire());
        assert!(matches!(agent.bearer(), Ok(Bearer::Agent(claims)) if **claims == of_agent()));
        assert_eq!(agent.point().unwrap_err(), TokenError::Missing("enforcement_point"));
    }

    #[test]
    fn a_token_that_is_half_a_points_is_nobodys() {
        let half = |change: &dyn Fn(&mut Value)| {
            let mut wire = of_point().wire();
            change(&mut wire);
            verified(&wire).bearer().unwrap_err()
        };
        let agent = of_agent().wire();
        let other = EnforcementPointId::new(at(5), [5; 10]);
        for (claim, wrong) in [
            ("enforcement_point", json!("")),
            ("enforcement_point", json!(null)),
            ("enforcement_point", json!([of_point().point])),
            ("enforcement_point", agent["sub"].clone()),
            ("sub", agent["sub"].clone()),
            ("sub", json!(other)),
            ("client_id", agent["client_id"].clone()),
            ("client_id", json!(other)),
            ("scope", json!("action:request")),
        ] {
            assert_eq!(half(&|wire| wire[claim] = wrong.clone()), TokenError::Claim(claim), "{wrong}");
        }
        let unmarked = half(&|wire| drop(wire.as_object_mut().unwrap().remove("enforcement_point")));
        assert_eq!(unmarked, TokenError::Claim("sub"), "without its mark it is not an agent's either");
        let mut marked = of_agent().wire();
        marked["enforcement_point"] = json!(of_point().point);
        assert_eq!(verified(&marked).bearer().unwrap_err(), TokenError::Claim("sub"));
    }

    #[test]
    fn a_points_token_holds_in_its_hour_alone() {
        let bearer = verified(&of_point().wire()).bearer().unwrap();
        for (now, holds) in [(NOW - 6, false), (NOW, true), (NOW + 599, true), (NOW + 600, false)] {
            assert_eq!(bearer.holds_at(at(now)), holds, "{}", now - NOW);
        }
    }
}
