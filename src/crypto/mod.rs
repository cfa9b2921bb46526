//! Keys, signatures, passwords and tokens: what the other layers need of cryptography, under their own words.

mod digest;
pub mod jwks;
pub mod keyring;
pub mod password;
pub mod secret;
mod signature;
pub mod token;
pub mod token_cache;
#[cfg(test)]
mod vectors;

pub use digest::{AuthKey, hmac_sha256, seal, sha256, sha256_of_parts};
pub use signature::{PublicKey, Signature, SigningKey};
