//! Public keys as others read them: a JWK set (RFC 7517) of Ed25519 keys (RFC 8037).

use super::PublicKey;
use crate::domain::KeyId;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;

/// One Ed25519 public key for verifying signatures (RFC 8037 §2); serializes as its JWK.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Jwk {
    kty: &'static str,
    crv: &'static str,
    x: String,
    kid: String,
    alg: &'static str,
    #[serde(rename = "use")]
    purpose: &'static str,
}

impl Jwk {
    /// The JWK of `key`, which goes by `id` in the `kid` of tokens.
    pub fn of(id: KeyId, key: &PublicKey) -> Self {
        Self {
            kty: "OKP",
            crv: "Ed25519",
            x: URL_SAFE_NO_PAD.encode(key.0),
            kid: id.to_string(),
            alg: "EdDSA",
            purpose: "sig",
        }
    }
}

/// A JWK set (RFC 7517 §5), as `/.well-known/jwks.json` answers it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Jwks {
    /// The keys in force, the one that signs now among them.
    pub keys: Vec<Jwk>,
}

impl FromIterator<Jwk> for Jwks {
    fn from_iter<I: IntoIterator<Item = Jwk>>(keys: I) -> Self {
        Self { keys: keys.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        crypto::{
            SigningKey,
            token::{TokenAlgorithm, VerifyingKey},
        },
        domain::Timestamp,
    };
    use serde_json::json;

    /// The key of RFC 8037, appendix A.1 and A.2.
    fn example() -> PublicKey {
        let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        SigningKey::from_seed(&seed.try_into().unwrap()).unwrap().public()
    }

    #[test]
    fn the_set_is_written_as_rfc_8037_shows() {
        let id = KeyId::new(Timestamp::from_unix_seconds(1), [1; 10]);
        let set: Jwks = [Jwk::of(id, &example())].into_iter().collect();
        let expected = json!({"keys": [{
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "kid": id.to_string(), "alg": "EdDSA", "use": "sig",
        }]});
        assert_eq!(serde_json::to_value(&set).unwrap(), expected);
    }

    #[test]
    fn what_is_published_is_read_as_a_verifying_key() {
        let id = KeyId::new(Timestamp::from_unix_seconds(1), [1; 10]);
        let jwk = serde_json::to_value(Jwk::of(id, &example())).unwrap();
        let (kid, key) = VerifyingKey::from_jwk(&jwk, "acme".parse().unwrap()).unwrap();
        assert_eq!((kid, key.algorithm()), (id.to_string(), TokenAlgorithm::EdDsa));
    }
}
