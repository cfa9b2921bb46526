//! Receipts: what was answered, its hash, its place in the log, and all that is needed to check them offline.

mod body;
mod kind;

pub use body::Body;
pub use kind::Kind;

use super::{
    members::{Members, spelt},
    merkle,
    object_writer::ObjectWriter,
};
use crate::crypto::{AuthKey, hmac_sha256};
use crate::domain::{Hash, Malformed};
use serde_json::Value;
use std::{fmt, io::Write, str::FromStr, sync::Arc};

/// HMAC-SHA-256 of a body's hash under a key of its tenant, written `hmac-sha256:` and lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Auth(pub [u8; 32]);

impl Auth {
    const PREFIX: &'static str = "hmac-sha256:";
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0u8; 64];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str(Self::PREFIX)?;
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Auth {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{}` is not of the form hmac-sha256:<64 lower-case hex digits>", text.escape_debug());
        let digits = text.strip_prefix(Self::PREFIX).ok_or_else(wrong)?;
        let mut bytes = [0u8; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| wrong())?;
        let auth = Self(bytes);
        if auth.to_string() == text { Ok(auth) } else { Err(wrong()) }
    }
}

/// Authenticates a body's hash.
pub fn authenticate(key: &AuthKey, hash: &Hash) -> Auth {
    Auth(hmac_sha256(key, hash.as_bytes()))
}

/// The data of a receipt's leaf: the canonical form of `{"auth": …, "hash": …}`.
pub fn leaf_data(hash: &Hash, auth: &Auth) -> Vec<u8> {
    let mut out = Vec::with_capacity(176);
    let mut object = ObjectWriter::new(&mut out);
    object.plain("auth", auth);
    object.plain("hash", hash);
    object.end();
    out
}

/// The hash of a receipt's leaf in the log (RFC 9162 §2.1.1).
pub fn leaf(hash: &Hash, auth: &Auth) -> Hash {
    merkle::leaf_hash(&leaf_data(hash, auth))
}

/// Where a receipt stands in the log, and what shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inclusion {
    /// The leaf's index.
    pub index: u64,
    /// Leaves in the tree the path leads to the root of.
    pub size: u64,
    /// That root.
    pub root: Hash,
    /// The inclusion path (RFC 9162 §2.1.3).
    pub path: Vec<Hash>,
    /// The signed checkpoint of that size: a whole note (C2SP tlog-checkpoint).
    pub checkpoint: Arc<str>,
    /// The key that signed it, as a C2SP verifier key.
    pub key: Arc<str>,
}

impl Inclusion {
    /// Appends the JSON of it.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object.number("index", self.index);
        object.number("size", self.size);
        object.plain("root", self.root);
        self.write_path(object.member("path"));
        object.text("checkpoint", &self.checkpoint);
        object.text("key", &self.key);
        object.end();
    }

    /// Appends the canonical form of it: members in the order of their names (RFC 8785 §3.2.3).
    fn write_canonical(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object.text("checkpoint", &self.checkpoint);
        object.number("index", self.index);
        object.text("key", &self.key);
        self.write_path(object.member("path"));
        object.plain("root", self.root);
        object.number("size", self.size);
        object.end();
    }

    fn write_path(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (position, hash) in self.path.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            // Writing to memory does not fail.
            let _ = write!(out, "\"{hash}\"");
        }
        out.push(b']');
    }

    fn from_json(value: &Value) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "a place in the log")?;
        let inclusion = Self {
            index: members.number("index")?,
            size: members.number("size")?,
            root: members.spelt("root")?,
            path: members.list("path", spelt)?,
            checkpoint: members.text("checkpoint")?.into(),
            key: members.text("key")?.into(),
        };
        members.end()?;
        Ok(inclusion)
    }
}

/// A receipt as it is handed out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// What it states.
    pub body: Body,
    /// The hash it says its body has.
    pub hash: Hash,
    /// What the tenant's key makes of that hash.
    pub auth: Auth,
    /// Its place in the log.
    pub merkle: Inclusion,
}

impl Receipt {
    /// Appends the JSON of it, members in the order people read them.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        self.body.write_members(&mut object);
        object.plain("hash", self.hash);
        object.plain("auth", self.auth);
        self.merkle.write_json(object.member("merkle"));
        object.end();
    }

    /// The receipt as JSON.
    pub fn to_json(&self) -> Value {
        let mut bytes = Vec::with_capacity(2048);
        self.write_json(&mut bytes);
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Reads a receipt strictly: no member unknown, missing, of another type or in another spelling. What it
    /// says is not checked here.
    pub fn from_json(value: &Value) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "a receipt")?;
        let receipt = Self {
            body: Body::read(&mut members)?,
            hash: members.spelt("hash")?,
            auth: members.spelt("auth")?,
            merkle: Inclusion::from_json(members.required("merkle")?)
                .map_err(|fault| fault.under("/merkle"))?,
        };
        members.end()?;
        Ok(receipt)
    }

    /// The hash of its leaf.
    pub fn leaf(&self) -> Hash {
        leaf(&self.hash, &self.auth)
    }
}

#[cfg(test)]
mod tests;
