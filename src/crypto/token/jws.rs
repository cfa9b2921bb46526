//! A compact JWS (RFC 7515 §7.1), opened strictly: one spelling, one algorithm a key, no key from the token.

use super::{TokenAlgorithm, TokenError, VerifyingKey, VerifyingKeys};
use crate::domain::json;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

/// The longest token that is looked at, in bytes.
pub const LONGEST_TOKEN_BYTES: usize = 8 * 1024;

/// Header parameters that would bring a key along, ask for an extension or change what is signed.
const REFUSED_PARAMETERS: [&str; 7] = ["crit", "b64", "jwk", "jku", "x5u", "x5c", "zip"];

/// A JWS whose signature holds; nothing is said about its payload yet.
pub(super) struct Opened<'keys> {
    pub(super) header: Map<String, Value>,
    pub(super) payload: Vec<u8>,
    pub(super) key: &'keys VerifyingKey,
}

/// Splits, decodes and checks the signature of `token`.
///
/// The header alone decides first: its `alg` must be among `algorithms`, its `kid` known, and the key's own
/// algorithm the same, before any arithmetic is done on what the sender chose.
pub(super) fn open<'keys>(
    token: &str,
    algorithms: &[TokenAlgorithm],
    keys: &'keys VerifyingKeys,
) -> Result<Opened<'keys>, TokenError> {
    if token.len() > LONGEST_TOKEN_BYTES {
        return Err(TokenError::TooLong { found: token.len() });
    }
    let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Form)?;
    let (header, payload) = message.split_once('.').ok_or(TokenError::Form)?;
    let header = object(&decode(header)?)?;
    let payload = decode(payload)?;
    // The signature's own spelling counts as well: without this a token would have several.
    if decode(signature)?.is_empty() {
        return Err(TokenError::Signature);
    }
    if let Some(parameter) = REFUSED_PARAMETERS.into_iter().find(|name| header.contains_key(*name)) {
        return Err(TokenError::HeaderParameter(parameter));
    }
    let algorithm = header
        .get("alg")
        .and_then(Value::as_str)
        .and_then(TokenAlgorithm::named)
        .filter(|algorithm| algorithms.contains(algorithm))
        .ok_or(TokenError::Algorithm)?;
    let kid = header.get("kid").and_then(Value::as_str).ok_or(TokenError::UnknownKey)?;
    let key = keys.get(kid).ok_or(TokenError::UnknownKey)?;
    if key.algorithm() != algorithm {
        return Err(TokenError::Algorithm);
    }
    key.check(message, signature)?;
    Ok(Opened { header, payload, key })
}

/// Reads a JSON object in which no member stands twice (RFC 7515 §4, RFC 7519 §4).
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, TokenError> {
    match json::parse_up_to(bytes, LONGEST_TOKEN_BYTES) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(TokenError::Json("not a JSON object".into()))
        }
        Err(malformed) => Err(TokenError::Json(malformed.to_string())),
    }
}

/// base64url without padding (RFC 7515 §2), in its one canonical spelling (RFC 4648 §3.5).
fn decode(part: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Encoding)
}
