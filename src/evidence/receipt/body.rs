//! What a receipt states: everything in it that its hash covers.

use super::{Kind, Receipt};
use crate::crypto::sha256;
use crate::domain::{
    AgentId, Chain, CredentialId, FactsFrom, Hash, KeyId, Malformed, Outcome, PrincipalId, ReceiptId,
    TenantSlug, Timestamp,
};
use crate::evidence::{members::Members, object_writer::ObjectWriter};
use serde_json::Value;
use std::borrow::Cow;

const OUTCOMES: &[Outcome] = &[Outcome::Allow, Outcome::Escalate, Outcome::Refuse];
const FACTS_FROM: &[FactsFrom] = &[FactsFrom::Described, FactsFrom::Derived, FactsFrom::Attested];

/// What a receipt states. Numbers stay below 2^53, so that every JSON reader holds them exactly.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// The receipt's own id.
    pub id: ReceiptId,
    /// When it was recorded.
    pub at: Timestamp,
    /// Whose log it is in.
    pub tenant: TenantSlug,
    /// The person it concerns.
    pub principal: Option<PrincipalId>,
    /// The agent it concerns.
    pub agent: Option<AgentId>,
    /// The credential it concerns.
    pub credential: Option<CredentialId>,
    /// What it records.
    pub kind: Kind,
    /// What the gate answered.
    pub outcome: Option<Outcome>,
    /// The mandate's version that was used.
    pub mandate_version: Option<u64>,
    /// The policy's version that was used.
    pub policy_version: Option<u64>,
    /// The catalogue's version that was used.
    pub catalogue_version: Option<u64>,
    /// The engine that decided.
    pub engine_version: Cow<'static, str>,
    /// Whose word the facts are.
    pub facts_from: Option<FactsFrom>,
    /// SHA-256 of the canonical input document.
    pub input_hash: Hash,
    /// SHA-256 of the canonical output document.
    pub output_hash: Hash,
    /// The chain it is linked into.
    pub chain: Chain,
    /// Its place there, from 0.
    pub seq: u64,
    /// The hash before it in the chain; 32 zero bytes at place 0.
    pub prev: Hash,
    /// The key its `auth` is made with.
    pub auth_key: KeyId,
}

impl Body {
    /// The canonical bytes (RFC 8785), members that are absent left out.
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        self.write_canonical(None, &mut out);
        out
    }

    /// Appends the object in its canonical form: the members in the order of their names (RFC 8785 §3.2.3), among them
    /// what a receipt has beside its body, where it is a whole receipt's.
    pub(in crate::evidence) fn write_canonical(&self, beside: Option<&Receipt>, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object.optional_plain("agent", self.agent);
        object.plain("at", self.at);
        object.optional_plain("auth", beside.map(|receipt| receipt.auth));
        object.plain("auth_key", self.auth_key);
        object.optional_number("catalogue_version", self.catalogue_version);
        object.plain("chain", self.chain);
        object.optional_plain("credential", self.credential);
        object.text("engine_version", &self.engine_version);
        object.optional_plain("facts_from", self.facts_from.map(FactsFrom::as_str));
        object.optional_plain("hash", beside.map(|receipt| receipt.hash));
        object.plain("id", self.id);
        object.plain("input_hash", self.input_hash);
        object.plain("kind", self.kind);
        object.optional_number("mandate_version", self.mandate_version);
        if let Some(receipt) = beside {
            receipt.merkle.write_canonical(object.member("merkle"));
        }
        object.optional_plain("outcome", self.outcome.map(Outcome::as_str));
        object.plain("output_hash", self.output_hash);
        object.optional_number("policy_version", self.policy_version);
        object.plain("prev", self.prev);
        object.optional_plain("principal", self.principal);
        object.number("seq", self.seq);
        object.plain("tenant", &self.tenant);
        object.end();
    }

    /// SHA-256 of the canonical bytes.
    pub fn hash(&self) -> Hash {
        sha256(&self.canonical())
    }

    /// The body as JSON, members that are absent left out.
    pub fn to_json(&self) -> Value {
        let mut out = Vec::with_capacity(1024);
        let mut object = ObjectWriter::new(&mut out);
        self.write_members(&mut object);
        object.end();
        serde_json::from_slice(&out).unwrap_or_default()
    }

    /// Reads a body alone, strictly: no member unknown, missing, of another type or in another spelling.
    pub fn from_json(value: &Value) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "the body of a receipt")?;
        let body = Self::read(&mut members)?;
        members.end()?;
        Ok(body)
    }

    /// The members in the order people read them.
    pub(super) fn write_members(&self, object: &mut ObjectWriter<'_>) {
        object.plain("id", self.id);
        object.plain("at", self.at);
        object.plain("tenant", &self.tenant);
        object.optional_plain("principal", self.principal);
        object.optional_plain("agent", self.agent);
        object.optional_plain("credential", self.credential);
        object.plain("kind", self.kind);
        object.optional_plain("outcome", self.outcome.map(Outcome::as_str));
        object.optional_number("mandate_version", self.mandate_version);
        object.optional_number("policy_version", self.policy_version);
        object.optional_number("catalogue_version", self.catalogue_version);
        object.text("engine_version", &self.engine_version);
        object.optional_plain("facts_from", self.facts_from.map(FactsFrom::as_str));
        object.plain("input_hash", self.input_hash);
        object.plain("output_hash", self.output_hash);
        object.plain("chain", self.chain);
        object.number("seq", self.seq);
        object.plain("prev", self.prev);
        object.plain("auth_key", self.auth_key);
    }

    pub(super) fn read(members: &mut Members<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            id: members.spelt("id")?,
            at: members.spelt("at")?,
            tenant: members.spelt("tenant")?,
            principal: members.optional_spelt("principal")?,
            agent: members.optional_spelt("agent")?,
            credential: members.optional_spelt("credential")?,
            kind: members.spelt("kind")?,
            outcome: members.optional_one_of("outcome", OUTCOMES, Outcome::as_str)?,
            mandate_version: members.optional_number("mandate_version")?,
            policy_version: members.optional_number("policy_version")?,
            catalogue_version: members.optional_number("catalogue_version")?,
            engine_version: Cow::Owned(members.text("engine_version")?.to_owned()),
            facts_from: members.optional_one_of("facts_from", FACTS_FROM, FactsFrom::as_str)?,
            input_hash: members.spelt("input_hash")?,
            output_hash: members.spelt("output_hash")?,
            chain: members.spelt("chain")?,
            seq: members.number("seq")?,
            prev: members.spelt("prev")?,
            auth_key: members.spelt("auth_key")?,
        })
    }
}
