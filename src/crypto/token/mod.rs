//! Access tokens of agents and enforcement points: JWTs (RFC 7519) of type `at+jwt` (RFC 9068), signed with Ed25519 and read strictly.

mod claims;
mod jws;
mod keys;
mod point;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
mod verifier;

pub use claims::{Claims, RawClaims, Verified};
pub use jws::LONGEST_TOKEN_BYTES;
pub use keys::{TokenAlgorithm, UnusableKey, VerifyingKey, VerifyingKeys};
pub use point::{Bearer, PointClaims};
pub use verifier::{Rules, TokenVerifier};

use crate::{
    crypto::{PublicKey, SigningKey},
    domain::KeyId,
};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use std::fmt;
use zeroize::Zeroizing;

/// The type that every access token carries (RFC 9068 §2.1).
pub const TOKEN_TYPE: &str = "at+jwt";

/// Signs access tokens under one key; prints as its type's name.
pub struct TokenSigner {
    key: EncodingKey,
    header: Header,
    public: PublicKey,
}

impl TokenSigner {
    /// The signer of a 32-byte Ed25519 seed (RFC 8032 §5.1.5) that goes by `kid`; `None` where the backend refuses the seed.
    pub fn from_seed(seed: &[u8; 32], kid: KeyId) -> Option<Self> {
        let public = SigningKey::from_seed(seed)?.public();
        let mut header = Header::new(Algorithm::EdDSA);
        header.typ = Some(TOKEN_TYPE.to_owned());
        header.kid = Some(kid.to_string());
        Some(Self { key: EncodingKey::from_ed_der(&pkcs8(seed)), header, public })
    }

    /// The token of an agent's `claims`, as a compact JWS.
    pub fn sign(&self, claims: &Claims) -> Result<String, SigningFailed> {
        jsonwebtoken::encode(&self.header, &claims.wire(), &self.key).map_err(|_| SigningFailed)
    }

    /// The token of an enforcement point's `claims`, as a compact JWS.
    pub fn sign_point(&self, claims: &PointClaims) -> Result<String, SigningFailed> {
        jsonwebtoken::encode(&self.header, &claims.wire(), &self.key).map_err(|_| SigningFailed)
    }

    /// The key that verifies what this one signs.
    pub fn public(&self) -> PublicKey {
        self.public
    }
}

impl fmt::Debug for TokenSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSigner")
    }
}

/// The backend refused to sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the token could not be signed")]
pub struct SigningFailed;

/// Why a token is not accepted.
///
/// The claims come along where the signature is genuine, everything about the token is well formed and only
/// its hour is wrong: then the call can be recorded against its credential. All else names nobody.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenError {
    /// Longer than any token of ours.
    #[error("the token has {found} bytes, {LONGEST_TOKEN_BYTES} are allowed")]
    TooLong {
        /// Its length in bytes.
        found: usize,
    },
    /// Not three parts.
    #[error("the token is not three parts joined by dots")]
    Form,
    /// A part is not canonical base64url.
    #[error("a part of the token is not base64url without padding in its canonical spelling")]
    Encoding,
    /// Header or claims are not one JSON object without repeated members.
    #[error("a part of the token cannot be read: {0}")]
    Json(String),
    /// The header asks for something no token of ours has.
    #[error("the token's header holds `{0}`, which no token of this service has")]
    HeaderParameter(&'static str),
    /// Another algorithm than allowed, or than the key's own.
    #[error("the token's `alg` is not the one its key is for")]
    Algorithm,
    /// No such key.
    #[error("the token's `kid` names no key in force")]
    UnknownKey,
    /// The signature does not hold.
    #[error("the token's signature does not hold")]
    Signature,
    /// Another kind of token (RFC 8725 §3.11).
    #[error("the token's `typ` is not the expected one")]
    Type,
    /// A claim is missing.
    #[error("the token has no `{0}`")]
    Missing(&'static str),
    /// A claim is there but not of its form.
    #[error("the token's `{0}` is not of its form")]
    Claim(&'static str),
    /// Another issuer.
    #[error("the token's `iss` is not this service")]
    Issuer,
    /// Another audience.
    #[error("the token's `aud` is not this service")]
    Audience,
    /// Another tenant than the key's, or than the one asked for.
    #[error("the token's `tenant` is not that of its key")]
    Tenant,
    /// It would live longer than any token may.
    #[error("the token lives longer than any of this service may")]
    Lifetime,
    /// Its `jti` is revoked; genuine otherwise.
    #[error("the token is revoked")]
    Revoked(Box<RawClaims>),
    /// Its `exp` has come; genuine otherwise.
    #[error("the token expired at {}", .0.expires_at)]
    Expired(Box<RawClaims>),
    /// Its `nbf` or `iat` lies ahead; genuine otherwise.
    #[error("the token is not valid before {}", .0.not_before.map_or(.0.issued_at, |at| at.max(.0.issued_at)))]
    NotYet(Box<RawClaims>),
}

impl TokenError {
    /// Whose token it is, where the signature vouches for that.
    pub fn attributable(&self) -> Option<&RawClaims> {
        match self {
            Self::Revoked(claims) | Self::Expired(claims) | Self::NotYet(claims) => Some(claims),
            Self::TooLong { .. }
            | Self::Form
            | Self::Encoding
            | Self::Json(_)
            | Self::HeaderParameter(_)
            | Self::Algorithm
            | Self::UnknownKey
            | Self::Signature
            | Self::Type
            | Self::Missing(_)
            | Self::Claim(_)
            | Self::Issuer
            | Self::Audience
            | Self::Tenant
            | Self::Lifetime => None,
        }
    }
}

/// PKCS#8 of an Ed25519 seed (RFC 8410 §7): a fixed frame around the 32 bytes.
fn pkcs8(seed: &[u8; 32]) -> Zeroizing<Vec<u8>> {
    const FRAME: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let mut der = Zeroizing::new(Vec::with_capacity(48));
    der.extend_from_slice(&FRAME);
    der.extend_from_slice(seed);
    der
}
