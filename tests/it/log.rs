//! The public log, and the checks that hold for a whole log however it was written.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, Store, both};
use crate::documents::{refund, small_refunds};
use crate::server::{Folder, Server, TENANT, procura, said};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

both!(anyone_reads_the_checkpoint, a_receipt_is_found_again_with_a_path_to_the_present_head,);

/// The verifier in Python.
pub(crate) const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ops/verify.py");

/// A receipt's row, as far as its place in chain and log goes.
#[derive(Debug, diesel::QueryableByName)]
pub(crate) struct Leaf {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    log_index: i64,
    #[diesel(sql_type = diesel::sql_types::Text)]
    chain: String,
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    seq: i64,
    #[diesel(sql_type = diesel::sql_types::Binary)]
    prev: Vec<u8>,
    #[diesel(sql_type = diesel::sql_types::Binary)]
    hash: Vec<u8>,
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    at: i64,
}

/// The whole log of the first tenant: no index left out or taken twice, no chain that forks or skips, no time
/// that steps back. Gives its length.
#[track_caller]
pub(crate) fn check_whole(store: &Store) -> usize {
    let sql = format!(
        "SELECT log_index, chain, seq, prev, hash, at FROM receipts WHERE tenant = '{TENANT}' ORDER BY log_index"
    );
    let leaves: Vec<Leaf> = store.connect().load(&sql);
    let mut heads: BTreeMap<&str, (i64, &[u8])> = BTreeMap::new();
    let mut latest = 0;
    for (place, leaf) in leaves.iter().enumerate() {
        assert_eq!(leaf.log_index, i64::try_from(place).unwrap(), "the log skips or repeats an index");
        assert!(leaf.at >= latest, "receipt {place} is older than its predecessor");
        latest = leaf.at;
        let (seq, prev) =
            heads.get(&*leaf.chain).map_or((0, [0; 32].as_slice()), |(seq, hash)| (seq + 1, *hash));
        assert_eq!(
            (leaf.seq, &*leaf.prev),
            (seq, prev),
            "chain {} forks or skips at index {place}",
            leaf.chain
        );
        heads.insert(&leaf.chain, (leaf.seq, &leaf.hash));
    }
    leaves.len()
}

/// Exports a credential's calls as its person sees them.
#[track_caller]
pub(crate) fn export(person: &Client, credential: &str) -> String {
    let path = format!("/v1/credentials/{credential}/calls/export?format=jsonl");
    let reply = person.get(&path);
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

/// Runs `verify` on a file of this text, and the other verifier, which must end alike and name what fails as well.
#[track_caller]
pub(crate) fn verify(folder: &Folder, text: &str) -> Output {
    let file = folder.write("to-verify.jsonl", text);
    verify_files(&[], &[&file])
}

/// How the other verifier ends with each of many files, and what it says: one interpreter reads them all.
#[track_caller]
pub(crate) fn other_says(files: &[PathBuf]) -> Vec<(Option<i64>, String)> {
    const EACH: &str = r#"
import contextlib, functools, importlib.util, io, json, sys
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify)
verify.verifies = functools.lru_cache(verify.verifies)
for file in open(sys.argv[2]).read().splitlines():
    said, sys.argv = io.StringIO(), ["verify.py", file]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = verify.main()
    print(json.dumps([status, said.getvalue()]))
"#;
    let folder = Folder::new();
    let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let output = Command::new("python3")
        .args(["-c", EACH, SCRIPT])
        .arg(folder.write("names", &names.join("\n")))
        .output();
    let output = output.expect("python3 is needed to run ops/verify.py");
    assert!(output.status.success(), "{}", said(&output));
    let answers = output.stdout.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    answers.map(|answer| (answer[0].as_i64(), answer[1].as_str().unwrap().to_owned())).collect()
}

/// As [`verify`], on files that are there.
#[track_caller]
pub(crate) fn verify_files(options: &[&str], files: &[&Path]) -> Output {
    let ours = procura(&["verify"]).args(options).args(files).output().unwrap();
    let theirs = Command::new("python3").arg(SCRIPT).args(options).args(files).output().unwrap();
    let words = said(&theirs);
    assert_eq!(ours.status.code(), theirs.status.code(), "procura: {}; ops/verify.py: {words}", said(&ours));
    assert!(!words.trim().is_empty() && !words.contains("Traceback"), "{words}");
    ours
}

/// `verify` must find that all holds.
#[track_caller]
pub(crate) fn check_verifies(text: &str) {
    let output = verify(&Folder::new(), text);
    assert_eq!(output.status.code(), Some(0), "verify says: {}", said(&output));
}

/// Receipts as a file of lines.
pub(crate) fn lines<'a>(receipts: impl IntoIterator<Item = &'a Value>) -> String {
    receipts.into_iter().flat_map(|receipt| [receipt.to_string(), "\n".into()]).collect()
}

/// How many leaves the public log has.
#[track_caller]
pub(crate) fn size(server: &Server) -> u64 {
    let checkpoint = server.client().get(&format!("/log/{TENANT}/checkpoint"));
    assert_eq!(checkpoint.status, 200, "{}", checkpoint.text);
    checkpoint.text.lines().nth(1).and_then(|line| line.parse().ok()).unwrap()
}

fn anyone_reads_the_checkpoint(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let answer = agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let merkle = &answer["receipt"]["merkle"];
    let checkpoint = server.client().get(&format!("/log/{TENANT}/checkpoint"));
    assert!(checkpoint.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
    let origin = checkpoint.text.lines().next().unwrap();
    assert!(origin.ends_with(&format!("/log/{TENANT}")), "{origin}");
    let size = checkpoint.text.lines().nth(1).unwrap().parse::<u64>().unwrap();
    assert!(size >= merkle["size"].as_u64().unwrap());
    let key: signed_note::StandardVerifier = {
        let verifier = signed_note::StandardVerifier::new(merkle["key"].as_str().unwrap());
        verifier.unwrap_or_else(|error| panic!("{} is no verifier key: {error:?}", merkle["key"]))
    };
    let verifiers = signed_note::VerifierList::new(vec![Box::new(key)]);
    let note = signed_note::Note::from_bytes(checkpoint.text.as_bytes()).unwrap();
    note.verify(&verifiers).expect("an outside reader of signed notes accepts the checkpoint");

    assert_eq!(server.client().get("/log/nobody/checkpoint").status, 404);
}

fn a_receipt_is_found_again_with_a_path_to_the_present_head(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let receipts: Vec<_> = (1..=40)
        .map(|euros| {
            agent.evaluate(&refund(&format!("{euros}.00"))).expect_outcome("allow")["receipt"].clone()
        })
        .collect();
    let before = &receipts[3];
    let again = member.get(&format!("/v1/receipts/{}", before["id"].as_str().unwrap())).expect(200);
    assert_eq!(again["receipt"]["hash"], before["hash"]);
    assert!(again["receipt"]["merkle"]["size"].as_u64() > before["merkle"]["size"].as_u64(), "{again}");
    assert_eq!(again["input"]["request"]["intent"], "payments.refund", "{again}");
    assert_eq!(again["output"]["outcome"], "allow");
    check_verifies(&lines([&again]));
    check_verifies(&lines(&receipts));

    server.kill();
    server.serve();
    let after = agent.evaluate(&refund("1.00")).expect_outcome("allow")["receipt"].clone();
    assert_eq!(after["prev"], receipts[39]["hash"], "the chain goes on where it was");
    check_verifies(&lines(receipts.iter().chain([&after])));
    let length = check_whole(server.database());
    assert!(length > 41);
    let indices: BTreeSet<_> = receipts.iter().map(|receipt| receipt["merkle"]["index"].as_u64()).collect();
    assert_eq!(indices.len(), 40);
}
