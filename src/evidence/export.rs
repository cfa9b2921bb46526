//! Exports: a header, the lines of one subject in the order of the log, and a manifest that is itself a receipt.
//!
//! ```text
//! {"export": "exp_…", "procura": "export", "version": 1, …}            header, not in the log
//! {"export": "exp_…", "receipt": {…}, "input": …, "output": …}         lines
//! {"export": "exp_…", "receipt": {"kind": "export", …}, "output": {…}} manifest: its output states the rest
//! ```

use super::{
    canonical, line::Line, members::Members, members::spelt, receipt::Body, receipt::Receipt,
    subject::Subject, written::Written,
};
use crate::crypto::sha256;
use crate::domain::{Chain, ExportId, Hash, Malformed, TenantSlug, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, sync::Arc};

const FORMAT: &str = "export";
const VERSION: u64 = 1;

/// The first line: what is exported, and the head of the log at that time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The export's id, on every line.
    pub export: ExportId,
    /// Whose log.
    pub tenant: TenantSlug,
    /// Whose receipts.
    pub subject: Subject,
    /// Receipts from here on, or from the beginning.
    pub from: Option<Timestamp>,
    /// Receipts before here, or all.
    pub until: Option<Timestamp>,
    /// When it was begun.
    pub at: Timestamp,
    /// The log's name.
    pub origin: Arc<str>,
    /// The log's key, as a C2SP verifier key.
    pub key: Arc<str>,
    /// Leaves in the log at that time: no line's path leads to a smaller tree.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
    /// The signed checkpoint of that size.
    pub checkpoint: Arc<str>,
}

impl Header {
    /// The header as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "export": self.export, "procura": FORMAT, "version": VERSION, "tenant": self.tenant,
            "subject": self.subject.to_json(&self.tenant), "from": self.from, "until": self.until, "at": self.at,
            "origin": self.origin, "key": self.key, "size": self.size, "root": self.root,
            "checkpoint": self.checkpoint,
        })
    }

    /// Reads a header strictly.
    pub fn from_json(value: &Value) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "the header of an export")?;
        let format = members.text("procura")?;
        if format != FORMAT {
            return Err(Malformed::at(
                "/procura",
                format!("`{}` found, `{FORMAT}` expected", format.escape_debug()),
            ));
        }
        let version = members.number("version")?;
        if version != VERSION {
            return Err(Malformed::at("/version", format!("`{version}` found, `{VERSION}` is read here")));
        }
        let tenant = members.spelt("tenant")?;
        let subject = Subject::from_json(members.required("subject")?, &tenant)
            .map_err(|fault| fault.under("/subject"))?;
        let header = Self {
            export: members.spelt("export")?,
            tenant,
            subject,
            from: members.nullable_spelt("from")?,
            until: members.nullable_spelt("until")?,
            at: members.spelt("at")?,
            origin: members.text("origin")?.into(),
            key: members.text("key")?.into(),
            size: members.number("size")?,
            root: members.spelt("root")?,
            checkpoint: members.text("checkpoint")?.into(),
        };
        members.end()?;
        Ok(header)
    }

    /// SHA-256 of its canonical bytes, which the manifest states.
    pub fn hash(&self) -> Hash {
        sha256(&canonical::to_vec(&self.to_json()))
    }
}

/// What the manifest says of one chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainSpan {
    /// The first place of it in the export.
    pub first_seq: u64,
    /// The last.
    pub last_seq: u64,
    /// The hash of the receipt there.
    pub last_hash: Hash,
    /// How many lines are of it.
    pub lines: u64,
}

/// What the manifest states, as its receipt's output document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// The export's id.
    pub export: ExportId,
    /// Lines between header and manifest.
    pub lines: u64,
    /// Each chain they are of, in the order of their names.
    pub chains: Vec<(Chain, ChainSpan)>,
    /// SHA-256 of the canonical header.
    pub header: Hash,
    /// SHA-256 over the 32-byte hashes of the canonical lines, one after the other.
    pub digest: Hash,
    /// The hash of the first line's receipt.
    pub first: Option<Hash>,
    /// The hash of the last line's receipt.
    pub last: Option<Hash>,
}

impl Manifest {
    /// The output document.
    pub fn to_json(&self) -> Value {
        let chains: Vec<_> = self
            .chains
            .iter()
            .map(|(chain, span)| {
                json!({"chain": chain, "first_seq": span.first_seq, "last_seq": span.last_seq,
                    "last_hash": span.last_hash, "lines": span.lines})
            })
            .collect();
        json!({
            "export": self.export, "lines": self.lines, "chains": chains, "header": self.header,
            "digest": self.digest, "first": self.first, "last": self.last,
        })
    }

    /// Reads the output document strictly.
    pub fn from_json(value: &Value) -> Result<Self, Malformed> {
        let mut members = Members::of(value, "a manifest")?;
        let manifest = Self {
            export: members.spelt("export")?,
            lines: members.number("lines")?,
            chains: members.list("chains", read_span)?,
            header: members.spelt("header")?,
            digest: members.spelt("digest")?,
            first: members.nullable_spelt("first")?,
            last: members.nullable_spelt("last")?,
        };
        members.end()?;
        Ok(manifest)
    }

    /// Whether an output document is the manifest of this export, so far as its id tells.
    pub(super) fn is_of(output: &Value, export: ExportId) -> bool {
        output.get("export").is_some_and(|named| spelt(named) == Ok(export))
    }
}

fn read_span(value: &Value) -> Result<(Chain, ChainSpan), Malformed> {
    let mut members = Members::of(value, "what a manifest says of a chain")?;
    let chain = members.spelt("chain")?;
    let span = ChainSpan {
        first_seq: members.number("first_seq")?,
        last_seq: members.number("last_seq")?,
        last_hash: members.spelt("last_hash")?,
        lines: members.number("lines")?,
    };
    members.end()?;
    Ok((chain, span))
}

/// What has gone by between header and manifest; in memory, one entry a chain.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    lines: u64,
    chains: BTreeMap<Chain, ChainSpan>,
    digest: Sha256,
    first: Option<Hash>,
    last: Option<Hash>,
}

impl Tally {
    /// Counts a line in: its receipt's body and hash, and the hash of the whole canonical line.
    pub fn add(&mut self, body: &Body, hash: Hash, line: Hash) {
        self.lines += 1;
        self.digest.update(line.as_bytes());
        self.first = self.first.or(Some(hash));
        self.last = Some(hash);
        let span = self.chains.entry(body.chain).or_insert(ChainSpan {
            first_seq: body.seq,
            last_seq: body.seq,
            last_hash: hash,
            lines: 0,
        });
        span.last_seq = body.seq;
        span.last_hash = hash;
        span.lines += 1;
    }

    /// How many lines there were.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// What is known of one chain so far.
    pub fn span(&self, chain: Chain) -> Option<&ChainSpan> {
        self.chains.get(&chain)
    }

    /// What the manifest has to state.
    pub fn manifest(&self, export: ExportId, header: Hash) -> Manifest {
        Manifest {
            export,
            lines: self.lines,
            chains: self.chains.iter().map(|(chain, span)| (*chain, *span)).collect(),
            header,
            digest: Hash(self.digest.clone().finalize().into()),
            first: self.first,
            last: self.last,
        }
    }
}

/// Writes an export: header, lines in the order of the log, then the manifest's line.
///
/// The manifest is the output document of a receipt of kind `export`: record [`manifest`](Self::manifest) in
/// the log, then write that receipt with [`end`](Self::end).
#[derive(Clone, Debug)]
pub struct Exporter {
    export: ExportId,
    header: Hash,
    tally: Tally,
}

impl Exporter {
    /// Begins with the header's line.
    pub fn begin(header: &Header, out: &mut Vec<u8>) -> Self {
        canonical::write(&header.to_json(), out);
        out.push(b'\n');
        Self { export: header.export, header: header.hash(), tally: Tally::default() }
    }

    /// Writes one line; the export's id is set on it.
    pub fn line(&mut self, mut line: Line<'_>, out: &mut Vec<u8>) {
        line.export = Some(self.export);
        self.tally.add(&line.receipt.body, line.receipt.hash, line.hash());
        line.write_json(out);
        out.push(b'\n');
    }

    /// Writes one line from documents that are canonical already; the line is then canonical as it stands.
    pub fn written(
        &mut self,
        receipt: &Receipt,
        (input, output): (&str, &str),
        content: Option<&Value>,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        Written { export: self.export, receipt, input, output, content }.write(out);
        let line = sha256(out.get(start..).unwrap_or_default());
        self.tally.add(&receipt.body, receipt.hash, line);
        out.push(b'\n');
    }

    /// What the last receipt has to state, as its output document.
    pub fn manifest(&self) -> Manifest {
        self.tally.manifest(self.export, self.header)
    }

    /// Writes the manifest's own line, without content: no digest would cover it.
    pub fn end(self, mut line: Line<'_>, out: &mut Vec<u8>) {
        line.export = Some(self.export);
        line.content = None;
        line.write_json(out);
        out.push(b'\n');
    }
}
