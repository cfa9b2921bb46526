//! An outside witness as tlog-witness describes one, built on the crates of others and on nothing of ours: it keeps how
//! far it has seen each log it knows, and signs only what grew from there.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};
use signed_note::{Note, StandardVerifier, Verifier, VerifierList};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tlog_tiles::{Checkpoint, Hash, check_tree};

/// The byte that says what a cosigning key is for (tlog-cosignature).
const COSIGNATURE: u8 = 4;
/// When it signs, in seconds since 1970: its clock stands still.
const NOW: u64 = 1_796_000_000;

/// How a witness behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As the standard says.
    Honest,
    /// It takes the request and never answers.
    Silent,
    /// It signs something else than it was shown.
    Careless,
}

/// A request that came in: from where the way was shown, to where, and what was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The size the way begins at.
    pub(crate) old: u64,
    /// The checkpoint's size.
    pub(crate) size: u64,
    /// The status answered with.
    pub(crate) status: u16,
}

#[derive(Debug)]
struct Seen {
    key: String,
    size: u64,
    root: Hash,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    logs: BTreeMap<String, Seen>,
    asked: Vec<Asked>,
}

/// A witness that listens.
#[derive(Debug, Clone)]
pub(crate) struct Witness {
    name: String,
    seed: [u8; 32],
    address: String,
    state: Arc<Mutex<State>>,
}

impl Witness {
    /// One that listens on a port of its own until the tests end, and knows no log yet.
    pub(crate) fn new(name: &str, mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = State { mood, logs: BTreeMap::new(), asked: Vec::new() };
        let seed = Sha256::digest(name).into();
        let witness = Self { name: name.to_owned(), seed, address, state: Arc::new(Mutex::new(state)) };
        let answering = witness.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answering = answering.clone();
                std::thread::spawn(move || answering.serve(stream));
            }
        });
        witness
    }

    /// Makes it know a log by its key, as C2SP writes it; the key's name is the log's origin.
    pub(crate) fn know(&self, key: &str) {
        let origin = key.split('+').next().unwrap().to_owned();
        let seen = Seen { key: key.to_owned(), size: 0, root: tlog_tiles::EMPTY_HASH };
        self.state.lock().unwrap().logs.insert(origin, seen);
    }

    /// Makes it remember that it had seen so many leaves of a log.
    pub(crate) fn has_seen(&self, key: &str, size: u64) {
        let origin = key.split('+').next().unwrap();
        self.state.lock().unwrap().logs.get_mut(origin).unwrap().size = size;
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    /// The value of `--witness` for it.
    pub(crate) fn option(&self) -> String {
        format!("{} {}", self.key(), self.address)
    }

    /// Its verifier key.
    pub(crate) fn key(&self) -> String {
        let encoded = BASE64_STANDARD.encode([&[COSIGNATURE], self.public().as_slice()].concat());
        format!("{}+{}+{encoded}", self.name, hex::encode(self.id()))
    }

    /// One who checks its cosignatures, for outside readers.
    pub(crate) fn verifier(&self) -> Cosigner {
        Cosigner { name: self.name.clone(), id: u32::from_be_bytes(self.id()), public: self.public() }
    }

    /// Its signature line over a checkpoint's text.
    pub(crate) fn cosign(&self, text: &str) -> String {
        self.cosign_at(NOW, text)
    }

    /// The same, signed that many seconds after 1970 by its clock.
    pub(crate) fn cosign_at(&self, at: u64, text: &str) -> String {
        let signed = self.pair().sign(format!("cosignature/v1\ntime {at}\n{text}").as_bytes());
        let bytes = [&self.id()[..], &at.to_be_bytes(), signed.as_ref()].concat();
        format!("\u{2014} {} {}\n", self.name, BASE64_STANDARD.encode(bytes))
    }

    fn pair(&self) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&self.seed).unwrap()
    }

    fn public(&self) -> Vec<u8> {
        self.pair().public_key().as_ref().to_vec()
    }

    fn id(&self) -> [u8; 4] {
        let hash = Sha256::new()
            .chain_update(format!("{}\n", self.name))
            .chain_update([COSIGNATURE])
            .chain_update(self.public())
            .finalize();
        hash[..4].try_into().unwrap()
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).unwrap();
        let request = line.clone();
        while line.trim_end() != "" {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mood = self.state.lock().unwrap().mood;
        if mood == Mood::Silent {
            std::thread::sleep(Duration::from_mins(2));
        }
        let (status, kind, text) = if request.starts_with("POST /add-checkpoint ") {
            self.add_checkpoint(&String::from_utf8(body).unwrap(), mood)
        } else {
            (404, "text/plain", String::new())
        };
        let length = text.len();
        let head = format!(
            "HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(format!("{head}{text}").as_bytes());
    }

    /// The call of that name in tlog-witness.
    fn add_checkpoint(&self, body: &str, mood: Mood) -> (u16, &'static str, String) {
        let mut state = self.state.lock().unwrap();
        let (head, note) = body.split_once("\n\n").unwrap();
        let mut lines = head.lines();
        let old: u64 = lines.next().unwrap().strip_prefix("old ").unwrap().parse().unwrap();
        let proof: Vec<Hash> = lines.map(|line| Hash::parse_hash(line).unwrap()).collect();
        let note = Note::from_bytes(note.as_bytes()).unwrap();
        let checkpoint = Checkpoint::from_bytes(note.text()).unwrap();
        let size = checkpoint.size();
        let Some(seen) = state.logs.get_mut(checkpoint.origin()) else {
            state.asked.push(Asked { old, size, status: 404 });
            return (404, "text/plain", String::new());
        };
        let verifiers = VerifierList::new(vec![Box::new(StandardVerifier::new(&seen.key).unwrap())]);
        let status = if note.verify(&verifiers).is_err() {
            403
        } else if old > size {
            400
        } else if old != seen.size {
            409
        } else if (old == 0 && !proof.is_empty())
            || (old > 0 && check_tree(&proof, size, *checkpoint.hash(), old, seen.root).is_err())
        {
            422
        } else {
            200
        };
        let before = seen.size;
        if status == 200 {
            (seen.size, seen.root) = (size, *checkpoint.hash());
        }
        state.asked.push(Asked { old, size, status });
        let text = String::from_utf8(note.text().to_vec()).unwrap();
        match (status, mood) {
            (200, Mood::Careless) => (200, "text/plain", self.cosign(&format!("{text}more\n"))),
            (200, Mood::Honest | Mood::Silent) => (200, "text/plain", self.cosign(&text)),
            (409, _) => (409, "text/x.tlog.size", format!("{before}\n")),
            _ => (status, "text/plain", String::new()),
        }
    }
}

/// Checks the cosignatures of one witness, for `signed_note`.
#[derive(Debug)]
pub(crate) struct Cosigner {
    name: String,
    id: u32,
    public: Vec<u8>,
}

impl Verifier for Cosigner {
    fn name(&self) -> &str {
        &self.name
    }

    fn key_id(&self) -> u32 {
        self.id
    }

    fn verify(&self, text: &[u8], signature: &[u8]) -> bool {
        let Some((time, signature)) = signature.split_first_chunk::<8>() else { return false };
        let head = format!("cosignature/v1\ntime {}\n", u64::from_be_bytes(*time));
        let message = [head.as_bytes(), text].concat();
        UnparsedPublicKey::new(&ED25519, &self.public).verify(&message, signature).is_ok()
    }
}
