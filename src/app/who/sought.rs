//! What somebody asks about: told apart by its form.

use crate::domain::{AgentId, CredentialId, DecisionId, EffectId, Hash, Malformed, ReceiptId, json};
use crate::engine::{Described, read_attested_request};
use serde_json::{Map, Value};

/// The longest reference or other text, in bytes.
const LONGEST_TEXT: usize = 1024;
/// How deep a pasted document may nest: a receipt's line holds a whole request.
const DEEPEST: usize = 40;

/// What is asked about.
#[derive(Debug, Clone)]
pub enum Sought {
    /// A receipt, by its id.
    Receipt(ReceiptId),
    /// A decision.
    Decision(DecisionId),
    /// An effect.
    Effect(EffectId),
    /// A credential.
    Credential(CredentialId),
    /// An agent.
    Agent(AgentId),
    /// A hash of a receipt, of its documents or of its leaf.
    Hash(Hash),
    /// A request as it was put to the gate.
    Request(Box<Described>),
    /// A provider's reference or an idempotency key.
    Reference(String),
}

impl Sought {
    /// Reads a `q`: text, or a request's body or a receipt as JSON.
    ///
    /// # Errors
    /// Where it is empty, too long, or begins as JSON and is neither a request nor a receipt.
    pub fn read(q: &Value) -> Result<Self, Malformed> {
        match q {
            Value::String(text) => Self::read_text(text),
            Value::Object(members) => Self::read_document(members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(Malformed::whole("text is expected, or a request's body: an id, a hash, a reference"))
            }
        }
    }

    /// Reads it as somebody typed or pasted it.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_text(text: &str) -> Result<Self, Malformed> {
        let text = text.trim();
        if text.starts_with('{') {
            let value = json::parse_within(text.as_bytes(), json::LARGEST_DOCUMENT_BYTES, DEEPEST)?;
            return Self::read(&value);
        }
        if text.is_empty() {
            return Err(Malformed::whole(
                "it is empty: an id, a hash, a reference or a request's body is expected",
            ));
        }
        if text.len() > LONGEST_TEXT {
            let detail =
                format!("{} bytes, {LONGEST_TEXT} are allowed of a text that is no JSON", text.len());
            return Err(Malformed::whole(detail));
        }
        Ok(Self::id(text)
            .or_else(|| hash(text).map(Self::Hash))
            .unwrap_or_else(|| Self::Reference(text.to_owned())))
    }

    fn id(text: &str) -> Option<Self> {
        let receipt = || text.parse().ok().map(Self::Receipt);
        let decision = || text.parse().ok().map(Self::Decision);
        let effect = || text.parse().ok().map(Self::Effect);
        let credential = || text.parse().ok().map(Self::Credential);
        let agent = || text.parse().ok().map(Self::Agent);
        receipt().or_else(decision).or_else(effect).or_else(credential).or_else(agent)
    }

    /// A receipt, a line or an answer names itself; everything else is read as a request.
    fn read_document(members: &Map<String, Value>) -> Result<Self, Malformed> {
        let inner = members.get("receipt").and_then(|receipt| receipt.get("id"));
        let named = inner.or_else(|| members.get("id")).and_then(Value::as_str);
        if let Some(id) = named.and_then(|id| id.parse().ok()) {
            return Ok(Self::Receipt(id));
        }
        let mut members = members.clone();
        // It says who asks, not for what.
        members.remove("subject_token");
        let described = read_attested_request(&Value::Object(members))?;
        Ok(Self::Request(Box::new(described)))
    }

    /// Whether it is looked for by a keyed hash.
    pub fn needs_key(&self) -> bool {
        match self {
            Self::Request(_) | Self::Reference(_) => true,
            Self::Receipt(_)
            | Self::Decision(_)
            | Self::Effect(_)
            | Self::Credential(_)
            | Self::Agent(_)
            | Self::Hash(_) => false,
        }
    }

    /// What was looked for, and in what forms, for whoever is told that nothing was found.
    pub fn forms(&self) -> &'static str {
        match self {
            Self::Receipt(_) => "a receipt's id",
            Self::Decision(_) => "a decision's id",
            Self::Effect(_) => "an effect's id",
            Self::Credential(_) => "a credential's id",
            Self::Agent(_) => "an agent's id",
            Self::Hash(_) => "the hash of a receipt, of its input, of its output, and of its leaf",
            Self::Request(_) => {
                "a request put to the gate, whatever the order of its members and the writing of its amounts"
            }
            Self::Reference(_) => "a provider's reference, and an idempotency key",
        }
    }
}

/// A hash as it is written here, or as its bare 64 hex digits.
fn hash(text: &str) -> Option<Hash> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let is_hex = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| format!("sha256:{}", digits.to_ascii_lowercase()).parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_asked_about_is_told_by_its_form() {
        let tail = "01j00000000000000000000000";
        let hash = "0a".repeat(32);
        for (q, form) in [
            (json!(format!(" rcpt_{tail}\n")), "a receipt's id"),
            (json!(format!("dec_{tail}")), "a decision's id"),
            (json!(format!("eff_{tail}")), "an effect's id"),
            (json!(format!("crd_{tail}")), "a credential's id"),
            (json!(format!("agt_{tail}")), "an agent's id"),
            (json!(format!("sha256:{hash}")), "the hash of a receipt"),
            (json!(hash.to_uppercase()), "the hash of a receipt"),
            (json!("po_1NXYZ"), "a provider's reference"),
            (json!("rcpt_1NXYZ"), "a provider's reference"),
            (json!({"intent": "payments.refund"}), "a request"),
            (json!(" {\"intent\": \"payments.refund\", \"subject_token\": \"x\"}"), "a request"),
            (json!({"receipt": {"id": format!("rcpt_{tail}")}, "input": {}}), "a receipt's id"),
            (json!(format!("{{\"id\": \"rcpt_{tail}\"}}")), "a receipt's id"),
        ] {
            let sought = Sought::read(&q).unwrap();
            assert!(sought.forms().starts_with(form), "{q}: {sought:?}");
        }
        for (q, said) in [
            (json!(""), "it is empty"),
            (json!("  \n"), "it is empty"),
            (json!(7), "text is expected"),
            (json!("{\"intent\": "), "not JSON"),
            (json!("{\"intent\":\"a.b\",\"intent\":\"a.c\"}"), "stands twice"),
            (json!({"amount": {}}), "intent"),
            (json!("x".repeat(LONGEST_TEXT + 1)), "are allowed"),
        ] {
            let error = Sought::read(&q).unwrap_err().to_string();
            assert!(error.contains(said), "{q}: {error}");
        }
    }
}
