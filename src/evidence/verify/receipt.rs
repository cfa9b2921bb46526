//! The checks that one receipt stands or falls by, with nothing but itself and its documents.

use super::report::{Fault, same};
use crate::crypto::sha256;
use crate::domain::{AgentId, CredentialId, FactsFrom, Hash, Outcome, PrincipalId};
use crate::evidence::{
    canonical,
    commitment::{Commitments, check_content},
    merkle::verify_inclusion,
    note::{Algorithm, Checkpoint, VerifierKey, open_checkpoint},
    receipt::{Body, Kind, Receipt},
};
use serde_json::Value;
use std::sync::Arc;

/// The documents that came with a receipt.
#[derive(Clone, Copy, Default)]
pub(super) struct Documents<'a> {
    pub(super) input: Option<&'a Value>,
    pub(super) output: Option<&'a Value>,
    pub(super) content: Option<&'a Value>,
}

/// The keys that count, and the checkpoint opened last: neighbours mostly share it.
pub(super) struct Keys {
    given: Option<VerifierKey>,
    last: Option<(Arc<str>, Arc<str>, VerifierKey, Checkpoint)>,
}

impl Keys {
    pub(super) fn new(given: Option<VerifierKey>) -> Self {
        Self { given, last: None }
    }

    pub(super) fn given(&self) -> Option<&VerifierKey> {
        self.given.as_ref()
    }

    /// Opens a checkpoint with the key beside it, which must be the given one where one was given.
    pub(super) fn open(
        &mut self,
        note: &Arc<str>,
        key: &Arc<str>,
        prefix: &str,
    ) -> Result<(VerifierKey, Checkpoint), Fault> {
        if let Some((last_note, last_key, verifier, checkpoint)) = &self.last
            && last_note == note
            && last_key == key
        {
            return Ok((verifier.clone(), checkpoint.clone()));
        }
        let verifier: VerifierKey =
            key.parse().map_err(|error| Fault::new(format!("{prefix}key"), format!("{error}")))?;
        if verifier.algorithm() != Algorithm::Ed25519 {
            return Err(Fault::new(format!("{prefix}key"), "a witness's key, not a log's"));
        }
        if let Some(given) = &self.given {
            same(&format!("{prefix}key"), given, &verifier, "it is not under the key that was given")?;
        }
        let checkpoint = open_checkpoint(note, &verifier)
            .map_err(|error| Fault::new(format!("{prefix}checkpoint"), error.to_string()))?;
        self.last = Some((Arc::clone(note), Arc::clone(key), verifier.clone(), checkpoint.clone()));
        Ok((verifier, checkpoint))
    }
}

/// Checks one receipt and gives the key it is under and what is known of its commitments.
pub(super) fn check(
    receipt: &Receipt,
    documents: Documents<'_>,
    keys: &mut Keys,
) -> Result<(VerifierKey, Commitments), Fault> {
    let body = &receipt.body;
    same("hash", &body.hash(), &receipt.hash, "its body has another hash")?;
    check_start(body)?;
    check_document("input_hash", body.input_hash, documents.input)?;
    check_document("output_hash", body.output_hash, documents.output)?;
    check_statements(body, documents)?;
    let commitments =
        check_content(documents.input, documents.output, documents.content).map_err(|mismatch| {
            let field = format!("content {}", mismatch.pointer);
            Fault::differs(
                field,
                mismatch.expected,
                mismatch.found,
                "it does not open the commitment it points at",
            )
        })?;
    let merkle = &receipt.merkle;
    if !verify_inclusion(&receipt.leaf(), merkle.index, merkle.size, &merkle.path, &merkle.root) {
        let detail =
            format!("it does not lead from leaf {} to the root of {} leaves", merkle.index, merkle.size);
        return Err(Fault::new("merkle.path", detail));
    }
    let (key, checkpoint) = keys.open(&merkle.checkpoint, &merkle.key, "merkle.")?;
    check_origin(&checkpoint, body.tenant.as_str())?;
    same("merkle.size", &checkpoint.size, &merkle.size, "its checkpoint has another size")?;
    same("merkle.root", &checkpoint.root, &merkle.root, "its checkpoint has another root")?;
    Ok((key, commitments))
}

/// A log's name ends with the tenant whose log it is.
pub(super) fn check_origin(checkpoint: &Checkpoint, tenant: &str) -> Result<(), Fault> {
    let ending = format!("/log/{tenant}");
    if checkpoint.origin.ends_with(&ending) {
        return Ok(());
    }
    let detail = "the checkpoint is of another tenant's log";
    Err(Fault::differs("merkle.checkpoint", format!("…{ending}"), &checkpoint.origin, detail))
}

fn check_start(body: &Body) -> Result<(), Fault> {
    if (body.seq == 0) == (body.prev == Hash::ZERO) {
        return Ok(());
    }
    Err(Fault::new("prev", format!("at place {} of its chain it is {}", body.seq, body.prev)))
}

fn check_document(field: &str, stated: Hash, document: Option<&Value>) -> Result<(), Fault> {
    let Some(document) = document else { return Ok(()) };
    same(field, &sha256(&canonical::to_vec(document)), &stated, "the document beside it has another hash")
}

/// What a receipt of the gate repeats of its documents must be the same there.
fn check_statements(body: &Body, documents: Documents<'_>) -> Result<(), Fault> {
    if !body.kind.is_decided() && body.kind != Kind::GateReplay {
        return Ok(());
    }
    if let Some(output) = documents.output {
        let stated = body.outcome.map_or("absent", Outcome::as_str);
        let answered = output.get("outcome").and_then(Value::as_str);
        let must_answer = body.kind.is_decided();
        if must_answer || answered.is_some() {
            same("outcome", &answered.unwrap_or("absent"), &stated, "the answer has another outcome")?;
        }
    }
    if body.kind == Kind::GateReplay {
        return Ok(());
    }
    for (name, document) in [("input", documents.input), ("output", documents.output)] {
        if let Some(document) = document {
            check_members(body, name, document)?;
        }
    }
    Ok(())
}

/// Members of a document that the receipt states as well. A caller may name its agent by a name where the
/// receipt has the id: only ids are compared.
fn check_members(body: &Body, name: &str, document: &Value) -> Result<(), Fault> {
    let text = [
        ("tenant", "", Some(body.tenant.to_string())),
        ("principal", PrincipalId::PREFIX, body.principal.map(|id| id.to_string())),
        ("agent", AgentId::PREFIX, body.agent.map(|id| id.to_string())),
        ("credential", CredentialId::PREFIX, body.credential.map(|id| id.to_string())),
        ("facts_from", "", body.facts_from.map(|from| FactsFrom::as_str(from).to_owned())),
        ("engine_version", "", Some(body.engine_version.to_string())),
    ];
    for (member, prefix, stated) in text {
        let written = document.get(member).and_then(Value::as_str).filter(|text| text.starts_with(prefix));
        if let Some(written) = written {
            let stated = stated.as_deref().unwrap_or("absent");
            same(member, &written, &stated, &format!("the {name} document says otherwise"))?;
        }
    }
    let numbers = [
        ("mandate_version", body.mandate_version),
        ("policy_version", body.policy_version),
        ("catalogue_version", body.catalogue_version),
    ];
    for (member, stated) in numbers {
        if let Some(written) = document.get(member).filter(|value| value.is_number()) {
            let stated = stated.map_or_else(|| "absent".to_owned(), |stated| stated.to_string());
            same(member, &written.to_string(), &stated, &format!("the {name} document says otherwise"))?;
        }
    }
    Ok(())
}
