//! A small log with fixed keys, salts and times, and files made from it.

use crate::crypto::{AuthKey, SigningKey, sha256};
use crate::domain::{
    CredentialId, ExportId, FactsFrom, Hash, KeyId, Outcome, PrincipalId, ReceiptId, Timestamp,
};
use crate::evidence::{
    canonical,
    commitment::{Opening, Salt, placeholder},
    export::{Exporter, Header},
    line::Line,
    merkle::{Frontier, consistency_path, leaf_hash, path},
    note::{LogProof, VerifierKey, sign_checkpoint},
    receipt::{Body, Inclusion, Kind, Receipt, authenticate, leaf, leaf_data},
    subject::Subject,
};
use serde_json::{Value, json};
use std::{borrow::Cow, collections::BTreeMap, convert::Infallible};

pub(super) const ORIGIN: &str = "procura.example/log/acme-emea";

/// Documents of one record.
#[derive(Clone)]
struct Record {
    body: Body,
    input: Value,
    output: Value,
    content: Value,
}

/// A tenant's log, kept whole in memory.
#[derive(Clone)]
pub(super) struct TestLog {
    seed: [u8; 32],
    records: Vec<Record>,
    heads: BTreeMap<String, (u64, Hash)>,
}

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_unix_seconds(1_793_500_000 + second)
}

pub(super) fn credential(number: u8) -> CredentialId {
    CredentialId::new(at(0), [number; 10])
}

pub(super) fn person() -> PrincipalId {
    PrincipalId::new(at(0), [7; 10])
}

/// The root of 2^level leaves.
fn node(leaves: &[Hash], level: u32, place: u64) -> Hash {
    let width = 1 << level;
    let from = usize::try_from(place).unwrap() * width;
    let mut frontier = Frontier::empty();
    for leaf in &leaves[from..from + width] {
        frontier.push(*leaf);
    }
    frontier.root()
}

impl TestLog {
    pub(super) fn new(seed: u8) -> Self {
        Self { seed: [seed; 32], records: Vec::new(), heads: BTreeMap::new() }
    }

    /// A log with calls of two credentials, taking turns.
    pub(super) fn with_calls(count: u8) -> Self {
        let mut log = Self::new(1);
        for number in 0..count {
            log.call(1 + number % 2, number);
        }
        log
    }

    fn signing_key(&self) -> SigningKey {
        SigningKey::from_seed(&self.seed).unwrap()
    }

    pub(super) fn key(&self) -> VerifierKey {
        VerifierKey::new(ORIGIN, self.signing_key().public()).unwrap()
    }

    /// One answered action; `number` varies what it says.
    pub(super) fn call(&mut self, credential_number: u8, number: u8) {
        self.call_saying(credential_number, number, json!("late delivery"));
    }

    pub(super) fn call_saying(&mut self, credential_number: u8, number: u8, note: Value) {
        let to_whom =
            Opening { salt: Salt([number; 16]), value: json!([format!("acct:cus_{number}"), {"n": number}]) };
        let why = Opening { salt: Salt([100 + number; 16]), value: note };
        let input = json!({
            "tenant": "acme-emea", "agent": "renewals", "credential": credential(credential_number).to_string(),
            "intent": "payments.refund", "amount": {"minor_units": 1250 + i32::from(number), "currency": "EUR"},
            "untrusted": true, "counterparties": placeholder(&to_whom.commitment()),
            "arguments": {"note": placeholder(&why.commitment())},
        });
        let output = json!({"outcome": "escalate", "reason": "above the ceiling", "clauses": ["M-001"],
            "mandate_version": 7, "policy_version": 3, "rate": 0.5, "decision": null});
        let content =
            json!({"/input/counterparties": to_whom.to_json(), "/input/arguments/note": why.to_json()});
        let chain = credential(credential_number).to_string();
        let of = Some(credential(credential_number));
        self.record(Kind::GateEvaluate, &chain, of, [input, output, content], |_| {});
    }

    /// An answer or act with few words in its documents; `change` says the rest.
    pub(super) fn act(
        &mut self,
        kind: Kind,
        chain: &str,
        of: Option<CredentialId>,
        output: Value,
        change: impl FnOnce(&mut Body),
    ) {
        self.record(kind, chain, of, [json!({"kind": kind.as_str()}), output, json!({})], change);
    }

    fn record(
        &mut self,
        kind: Kind,
        chain: &str,
        credential: Option<CredentialId>,
        [input, output, content]: [Value; 3],
        change: impl FnOnce(&mut Body),
    ) {
        let index = u64::try_from(self.records.len()).unwrap();
        let now = at(i64::try_from(index).unwrap());
        let (seq, prev) = self.heads.get(chain).map_or((0, Hash::ZERO), |(seq, hash)| (seq + 1, *hash));
        let is_call = kind == Kind::GateEvaluate;
        let mut body = Body {
            id: ReceiptId::at_index(now, index, [9; 5]),
            at: now,
            tenant: "acme-emea".parse().unwrap(),
            principal: Some(person()),
            agent: None,
            credential,
            kind,
            outcome: is_call.then_some(Outcome::Escalate),
            mandate_version: is_call.then_some(7),
            policy_version: is_call.then_some(3),
            catalogue_version: None,
            engine_version: Cow::Borrowed("1"),
            facts_from: is_call.then_some(FactsFrom::Derived),
            input_hash: sha256(&canonical::to_vec(&input)),
            output_hash: sha256(&canonical::to_vec(&output)),
            chain: chain.parse().unwrap(),
            seq,
            prev,
            auth_key: KeyId::new(at(0), [3; 10]),
        };
        change(&mut body);
        self.heads.insert(chain.to_owned(), (seq, body.hash()));
        self.records.push(Record { body, input, output, content });
    }

    pub(super) fn size(&self) -> usize {
        self.records.len()
    }

    fn leaves(&self, size: usize) -> Vec<Hash> {
        let auth_key = AuthKey::from_bytes(&[5; 32]);
        let of = |record: &Record| {
            let hash = record.body.hash();
            leaf(&hash, &authenticate(&auth_key, &hash))
        };
        self.records[..size].iter().map(of).collect()
    }

    fn root(&self, size: usize) -> Hash {
        let mut frontier = Frontier::empty();
        for leaf in self.leaves(size) {
            frontier.push(leaf);
        }
        frontier.root()
    }

    /// What `GET /log/{tenant}/consistency` answers.
    pub(super) fn consistency(&self, from: u64, to: u64) -> Value {
        let leaves = self.leaves(usize::try_from(to).unwrap());
        let node = |level: u32, place: u64| Ok::<_, Infallible>(node(&leaves, level, place));
        json!({"origin": ORIGIN, "from": from, "to": to, "path": consistency_path(from, to, node).unwrap()})
    }

    /// The hashes of a tile, one after the other.
    pub(super) fn tile(&self, level: u32, number: u64, width: u64) -> Vec<u8> {
        let leaves = self.leaves(self.size());
        let first = number * 256;
        (first..first + width).flat_map(|place| node(&leaves, 8 * level, place).0).collect()
    }

    /// The data of leaves, each behind its length.
    pub(super) fn bundle(&self, first: usize, width: usize) -> Vec<u8> {
        let auth_key = AuthKey::from_bytes(&[5; 32]);
        let entry = |record: &Record| {
            let hash = record.body.hash();
            let data = leaf_data(&hash, &authenticate(&auth_key, &hash));
            [&u16::try_from(data.len()).unwrap().to_be_bytes()[..], &data].concat()
        };
        self.records[first..first + width].iter().flat_map(entry).collect()
    }

    /// What `GET /log/{tenant}/proof` answers.
    pub(super) fn proof(&self, index: usize, size: usize) -> String {
        let merkle = self.receipt(index, size).merkle;
        let proof = LogProof {
            extra: None,
            index: merkle.index,
            path: merkle.path,
            checkpoint: self.checkpoint(size),
        };
        proof.to_string()
    }

    pub(super) fn checkpoint(&self, size: usize) -> String {
        sign_checkpoint(&self.signing_key(), ORIGIN, u64::try_from(size).unwrap(), self.root(size))
    }

    pub(super) fn receipt(&self, index: usize, size: usize) -> Receipt {
        let body = self.records[index].body.clone();
        let hash = body.hash();
        let leaves = self.leaves(size);
        let node = |level: u32, place: u64| Ok::<_, Infallible>(node(&leaves, level, place));
        let (index, wide) = (u64::try_from(index).unwrap(), u64::try_from(size).unwrap());
        let merkle = Inclusion {
            index,
            size: wide,
            root: self.root(size),
            path: path(index, wide, node).unwrap(),
            checkpoint: self.checkpoint(size).into(),
            key: self.key().to_string().into(),
        };
        Receipt { auth: authenticate(&AuthKey::from_bytes(&[5; 32]), &hash), hash, body, merkle }
    }

    pub(super) fn line(&self, index: usize, size: usize) -> Line<'_> {
        let record = &self.records[index];
        Line {
            export: None,
            receipt: self.receipt(index, size),
            input: &record.input,
            output: &record.output,
            content: Some(&record.content),
            erased: None,
        }
    }

    pub(super) fn receipt_json(&self, index: usize, size: usize) -> Value {
        let mut out = Vec::new();
        self.receipt(index, size).write_json(&mut out);
        serde_json::from_slice(&out).unwrap()
    }

    pub(super) fn line_json(&self, index: usize, size: usize) -> Value {
        let mut out = Vec::new();
        self.line(index, size).write_json(&mut out);
        serde_json::from_slice(&out).unwrap()
    }

    /// The answer of the gate: the output document with the receipt in it.
    pub(super) fn answer_json(&self, index: usize, size: usize) -> Value {
        let mut answer = self.records[index].output.clone();
        answer["receipt"] = self.receipt_json(index, size);
        answer
    }

    pub(super) fn header(
        &self,
        credential_number: u8,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Header {
        Header {
            export: ExportId::new(at(50), [4; 10]),
            tenant: "acme-emea".parse().unwrap(),
            subject: Subject::Credential(credential(credential_number)),
            from,
            until,
            at: at(i64::try_from(self.size()).unwrap()),
            origin: ORIGIN.into(),
            key: self.key().to_string().into(),
            size: u64::try_from(self.size()).unwrap(),
            root: self.root(self.size()),
            checkpoint: self.checkpoint(self.size()).into(),
        }
    }

    /// Exports one credential's calls; the export itself is recorded in the log.
    pub(super) fn export(
        &mut self,
        credential_number: u8,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> String {
        let header = self.header(credential_number, from, until);
        let inside = |body: &Body| {
            let in_time =
                from.is_none_or(|from| body.at >= from) && until.is_none_or(|until| body.at < until);
            in_time && body.kind == Kind::GateEvaluate && header.subject.covers(body)
        };
        let lines: Vec<_> = (0..self.size()).filter(|index| inside(&self.records[*index].body)).collect();
        self.export_as(&header, &lines, self.size(), |_| {})
    }

    /// An export as a dishonest keeper may write it: any header, any lines with paths to any size, and a
    /// manifest that is true of them until `change` makes it lie.
    pub(super) fn export_as(
        &mut self,
        header: &Header,
        lines: &[usize],
        size: usize,
        change: impl FnOnce(&mut Value),
    ) -> String {
        let mut out = Vec::new();
        let mut exporter = Exporter::begin(header, &mut out);
        for index in lines {
            exporter.line(self.line(*index, size), &mut out);
        }
        let mut manifest = exporter.manifest().to_json();
        change(&mut manifest);
        let last = self.size();
        let documents = [json!({"format": "jsonl"}), manifest, json!({})];
        self.record(Kind::Export, &person().to_string(), None, documents, |_| {});
        exporter.end(self.line(last, last + 1), &mut out);
        String::from_utf8(out).unwrap()
    }

    /// A leaf nobody recorded, for paths that lead elsewhere.
    pub(super) fn stray_leaf() -> Hash {
        leaf_hash(b"stray")
    }
}
