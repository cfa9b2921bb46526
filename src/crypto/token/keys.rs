//! The public keys that tokens may be signed with, each bound to one algorithm and one tenant.

use super::TokenError;
use crate::{
    crypto::PublicKey,
    domain::{KeyId, TenantSlug},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;
use std::{collections::HashMap, fmt};

/// A signature algorithm of RFC 7518 §3.1 or RFC 8037 §3.1 that the verifier knows; no symmetric one, and no `none`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TokenAlgorithm {
    /// Ed25519 (RFC 8032).
    EdDsa,
    /// ECDSA on P-256 with SHA-256, signature as r‖s.
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
}

impl TokenAlgorithm {
    /// The algorithm that `alg` names, byte for byte.
    pub fn named(alg: &str) -> Option<Self> {
        [Self::EdDsa, Self::Es256, Self::Rs256].into_iter().find(|algorithm| algorithm.as_str() == alg)
    }

    /// Its name in `alg`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    const fn signature_algorithm(self) -> Algorithm {
        match self {
            Self::EdDsa => Algorithm::EdDSA,
            Self::Es256 => Algorithm::ES256,
            Self::Rs256 => Algorithm::RS256,
        }
    }
}

/// One public key, the one algorithm it verifies and the one tenant it speaks for.
#[derive(Clone)]
pub struct VerifyingKey {
    algorithm: TokenAlgorithm,
    tenant: TenantSlug,
    key: DecodingKey,
}

impl VerifyingKey {
    /// An Ed25519 key of `tenant`.
    pub fn ed25519(key: &PublicKey, tenant: TenantSlug) -> Self {
        Self { algorithm: TokenAlgorithm::EdDsa, tenant, key: DecodingKey::from_ed_der(&key.0) }
    }

    /// Reads a JWK (RFC 7517) that is meant for verifying and names its algorithm; gives its `kid` with it.
    ///
    /// Refused: other types, curves and algorithms than those of [`TokenAlgorithm`], coordinates that are not
    /// canonical base64url of their exact length, RSA outside 2048 to 8192 bits or another exponent than 65537.
    pub fn from_jwk(jwk: &Value, tenant: TenantSlug) -> Result<(String, Self), UnusableKey> {
        let text = |member: &'static str| jwk.get(member).and_then(Value::as_str).ok_or(UnusableKey(member));
        let bytes =
            |member: &'static str| URL_SAFE_NO_PAD.decode(text(member)?).map_err(|_| UnusableKey(member));
        let exactly_32 = |member| {
            bytes(member).and_then(
                |found| {
                    if found.len() == 32 { Ok(found) } else { Err(UnusableKey(member)) }
                },
            )
        };
        if jwk.get("use").is_some_and(|purpose| purpose != "sig") {
            return Err(UnusableKey("use"));
        }
        if let Some(operations) = jwk.get("key_ops") {
            let verifies = operations.as_array().is_some_and(|all| all.iter().any(|one| one == "verify"));
            if !verifies {
                return Err(UnusableKey("key_ops"));
            }
        }
        let algorithm = TokenAlgorithm::named(text("alg")?).ok_or(UnusableKey("alg"))?;
        let key = match algorithm {
            TokenAlgorithm::EdDsa if text("kty")? == "OKP" && text("crv")? == "Ed25519" => {
                DecodingKey::from_ed_der(&exactly_32("x")?)
            }
            TokenAlgorithm::Es256 if text("kty")? == "EC" && text("crv")? == "P-256" => {
                // SEC 1 §2.3.3: an uncompressed point is the byte 4, then both coordinates.
                DecodingKey::from_ec_der(&[vec![4], exactly_32("x")?, exactly_32("y")?].concat())
            }
            TokenAlgorithm::Rs256 if text("kty")? == "RSA" && text("e")? == "AQAB" => {
                let modulus = bytes("n")?;
                if !(256..=1024).contains(&modulus.len()) {
                    return Err(UnusableKey("n"));
                }
                DecodingKey::from_rsa_raw_components(&modulus, &bytes("e")?)
            }
            TokenAlgorithm::EdDsa | TokenAlgorithm::Es256 | TokenAlgorithm::Rs256 => {
                return Err(UnusableKey("kty"));
            }
        };
        Ok((text("kid")?.to_owned(), Self { algorithm, tenant, key }))
    }

    /// The one algorithm it verifies.
    pub fn algorithm(&self) -> TokenAlgorithm {
        self.algorithm
    }

    /// Whose key it is.
    pub fn tenant(&self) -> &TenantSlug {
        &self.tenant
    }

    /// Checks the base64url `signature` over `message` (RFC 7515 §5.2).
    pub(super) fn check(&self, message: &str, signature: &str) -> Result<(), TokenError> {
        let algorithm = self.algorithm.signature_algorithm();
        match jsonwebtoken::crypto::verify(signature, message.as_bytes(), &self.key, algorithm) {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(TokenError::Signature),
        }
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({} of {})", self.algorithm.as_str(), self.tenant)
    }
}

/// The member of a JWK that keeps it from verifying tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this JWK cannot verify tokens: its `{0}` is missing or not one this service takes")]
pub struct UnusableKey(pub &'static str);

/// The keys in force, found by exact `kid` in memory; a key taken out stops every token it signed at once.
#[derive(Clone, Debug, Default)]
pub struct VerifyingKeys(HashMap<String, VerifyingKey>);

impl VerifyingKeys {
    /// No keys: every token is refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tenant's Ed25519 key; one already there under this id is replaced.
    pub fn insert(&mut self, id: KeyId, tenant: TenantSlug, key: &PublicKey) {
        self.insert_named(id.to_string(), VerifyingKey::ed25519(key, tenant));
    }

    /// Adds a key under any `kid`; one already there is replaced.
    pub fn insert_named(&mut self, kid: String, key: VerifyingKey) {
        self.0.insert(kid, key);
    }

    /// Takes a key out.
    pub fn remove(&mut self, id: KeyId) {
        self.0.remove(&id.to_string());
    }

    pub(super) fn get(&self, kid: &str) -> Option<&VerifyingKey> {
        self.0.get(kid)
    }
}
