//! The public log as its outside readers see it: `signed_note` and `tlog_tiles` were written by others, and are given
//! nothing but what anyone may fetch.

use crate::agent::Agent;
use crate::client::{Client, in_parallel};
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::server::{Server, TENANT};
use serde_json::Value;
use signed_note::{Note, StandardVerifier, VerifierList};
use std::ops::Range;
use tlog_tiles::{
    Checkpoint, Hash, HashReader, Tile, TileHashReader, TileReader, check_record, check_tree, prove_record,
    prove_tree, record_hash, stored_hash_index, tree_hash,
};

both!(
    an_outside_reader_finds_every_leaf_and_every_growth_in_the_tiles,
    a_tile_is_served_where_the_log_is_that_long_and_nowhere_else,
    a_proof_outside_the_log_is_refused_by_its_parameter,
);

/// The log's address.
fn log(rest: &str) -> String {
    format!("/log/{TENANT}/{rest}")
}

/// What is served at a path of the log, as bytes.
#[track_caller]
pub(crate) fn fetch(client: &Client, rest: &str) -> (u16, ureq::http::HeaderMap, Vec<u8>) {
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let answer = config.new_agent().get(format!("{}{}", client.base(), log(rest))).call().unwrap();
    let (head, mut body) = answer.into_parts();
    (head.status.as_u16(), head.headers, body.read_to_vec().unwrap())
}

/// Tiles as a client of the ecosystem fetches them.
struct Fetched<'a>(&'a Client);

impl TileReader for Fetched<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        let read = |tile: &Tile| {
            let path = tile.path().replacen("tile/8/", "tile/", 1);
            let (status, headers, bytes) = fetch(self.0, &path);
            assert_eq!(status, 200, "{path}");
            assert_eq!(headers["content-type"], "application/octet-stream");
            assert!(headers["cache-control"].to_str().unwrap().contains("immutable"), "{headers:?}");
            bytes
        };
        Ok(tiles.iter().map(read).collect())
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

/// The newest checkpoint, opened by an outside reader with the key that receipts name.
#[track_caller]
fn newest(server: &Server, key: &str) -> Checkpoint {
    let (status, headers, bytes) = fetch(&server.client(), "checkpoint");
    assert_eq!(status, 200);
    assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(headers["cache-control"], "no-cache");
    let verifiers = VerifierList::new(vec![Box::new(StandardVerifier::new(key).unwrap())]);
    let note = Note::from_bytes(&bytes).unwrap();
    note.verify(&verifiers).expect("the checkpoint is signed with the log's key");
    Checkpoint::from_bytes(note.text()).unwrap()
}

/// The entries of a bundle: each behind its length in two bytes.
fn entries(mut bundle: &[u8]) -> Vec<&[u8]> {
    let mut entries = Vec::new();
    while let Some((length, rest)) = bundle.split_first_chunk::<2>() {
        let (entry, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)));
        entries.push(entry);
        bundle = rest;
    }
    entries
}

/// All entries of the log of that size.
fn all_entries(client: &Client, size: u64) -> Vec<Vec<u8>> {
    let path = |index: u64| match (size - 256 * index).min(256) {
        256 => format!("tile/entries/{index:03}"),
        width => format!("tile/entries/{index:03}.p/{width}"),
    };
    let bundles = (0..size.div_ceil(256)).map(|index| fetch(client, &path(index)));
    let each = |(status, _, bytes): (u16, _, Vec<u8>)| {
        assert_eq!(status, 200);
        entries(&bytes).into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    bundles.flat_map(each).collect()
}

fn hashes(answer: &Value) -> Vec<Hash> {
    let hash = |text: &Value| {
        let digits = text.as_str().unwrap().strip_prefix("sha256:").unwrap();
        Hash(hex::decode(digits).unwrap().try_into().unwrap())
    };
    answer.as_array().unwrap().iter().map(hash).collect()
}

/// So many receipts, answered over ten connections.
fn receipts(agent: &Agent, count: usize) -> Vec<Value> {
    in_parallel(10, |_| {
        let answers = (0..count / 10).map(|_| agent.evaluate(&refund("1.00")).expect_outcome("allow"));
        answers.map(|answer| answer["receipt"].clone()).collect::<Vec<_>>()
    })
    .concat()
}

fn an_outside_reader_finds_every_leaf_and_every_growth_in_the_tiles(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let client = server.client();
    let key = receipts(&agent, 10)[0]["merkle"]["key"].as_str().unwrap().to_owned();
    let early = newest(&server, &key);
    let given = receipts(&agent, 540);
    let late = newest(&server, &key);
    assert!(late.size() > 512, "two full tiles and one that is not, at two levels: {}", late.size());

    let (size, root) = (late.size(), *late.hash());
    let tiles = Fetched(&client);
    let reader = TileHashReader::new(size, root, &tiles);
    assert_eq!(tree_hash(size, &reader).unwrap(), root);
    let entries = all_entries(&client, size);
    assert_eq!(u64::try_from(entries.len()).unwrap(), size);
    for index in (0..size).step_by(61).chain([255, 256, 511, 512, size - 1]) {
        let proof = prove_record(size, index, &reader).unwrap();
        let leaf = record_hash(&entries[usize::try_from(index).unwrap()]);
        assert_eq!(reader.read_hashes(&[stored_hash_index(0, index)]).unwrap(), [leaf]);
        check_record(&proof, size, root, index, leaf).unwrap();
        // What the server shows of that leaf, an outside reader believes too.
        let text = client.get(&log(&format!("proof?index={index}"))).text;
        let (head, note) = text.split_once("\n\n").unwrap();
        let shown = Checkpoint::from_bytes(Note::from_bytes(note.as_bytes()).unwrap().text()).unwrap();
        let lines: Vec<&str> = head.lines().collect();
        assert_eq!(lines[..2], ["c2sp.org/tlog-proof@v1", &format!("index {index}")]);
        let path: Vec<Hash> = lines[2..].iter().map(|line| Hash::parse_hash(line).unwrap()).collect();
        check_record(&path, shown.size(), *shown.hash(), index, leaf).unwrap();
    }
    for receipt in given.iter().step_by(53) {
        let merkle = &receipt["merkle"];
        let (index, size) = (merkle["index"].as_u64().unwrap(), merkle["size"].as_u64().unwrap());
        let (leaf, root) = (
            record_hash(&entries[usize::try_from(index).unwrap()]),
            hashes(&[merkle["root"].clone()].into()),
        );
        check_record(&hashes(&merkle["path"]), size, root[0], index, leaf).unwrap();
        // And the checkpoint that went out with the receipt grew into the newest.
        check_tree(
            &prove_tree(late.size(), size, &reader).unwrap(),
            late.size(),
            *late.hash(),
            size,
            root[0],
        )
        .unwrap();
    }
    for from in [1, 2, 255, 256, 257, early.size(), size - 1, size] {
        let shown = client.get(&log(&format!("consistency?from={from}&to={size}"))).expect(200);
        assert_eq!((&shown["from"], &shown["to"]), (&from.into(), &size.into()));
        assert_eq!(shown["origin"], late.origin());
        let path = hashes(&shown["path"]);
        assert_eq!(path, prove_tree(size, from, &reader).unwrap(), "from {from}");
        let old = tree_hash(from, &reader).unwrap();
        check_tree(&path, size, root, from, old).unwrap();
    }
    check_tree(&prove_tree(size, early.size(), &reader).unwrap(), size, root, early.size(), *early.hash())
        .unwrap();
    for entry in entries {
        let entry: Value = serde_json::from_slice(&entry).unwrap();
        let members: Vec<&String> = entry.as_object().unwrap().keys().collect();
        assert_eq!(members, ["auth", "hash"], "an entry holds hashes and nothing else: {entry}");
        for (name, start, length) in [("auth", "hmac-sha256:", 76), ("hash", "sha256:", 71)] {
            let text = entry[name].as_str().unwrap();
            assert!(text.starts_with(start) && text.len() == length, "{entry}");
        }
    }
}

fn a_tile_is_served_where_the_log_is_that_long_and_nowhere_else(db: Db) {
    let mut server = Server::set_up(db, &[TENANT, "quay"]);
    server.serve();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let client = server.client();
    receipts(&agent, 270);
    let size = crate::log::size(&server);
    let rest = size - 256;
    let status = |path: &str| fetch(&client, path).0;
    let whole = fetch(&client, "tile/0/000").2;
    assert_eq!(whole.len(), 256 * 32);
    for width in [1, 100, 255] {
        let part = fetch(&client, &format!("tile/0/000.p/{width}")).2;
        assert_eq!(part, whole[..width * 32], "what it held when it was not yet full");
    }
    assert_eq!(status("tile/1/000.p/1"), 200);
    for there in 1..=rest {
        assert_eq!(status(&format!("tile/0/001.p/{there}")), 200, "{there} of {rest}");
        assert_eq!(status(&format!("tile/entries/001.p/{there}")), 200, "{there} of {rest}");
    }
    let beyond = rest + 1;
    for absent in [
        &*format!("tile/0/001.p/{beyond}"),
        &*format!("tile/entries/001.p/{beyond}"),
        "tile/0/001",
        "tile/entries/001",
        "tile/0/002.p/1",
        "tile/1/000",
        "tile/1/000.p/2",
        "tile/1/001.p/1",
        "tile/2/000.p/1",
        "tile/63/000.p/1",
        "tile/0/x018/x446/x744/x073/x709/x551/615",
        "tile/0/x018/x446/x744/x073/x709/x551/615.p/1",
        "tile/0/0",
        "tile/00/000",
        "tile/64/000",
        "tile/data/000",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/",
        "tile/",
        "tile/0/000/",
        "tile/0/../0/000",
    ] {
        assert_eq!(status(absent), 404, "{absent}");
    }
    let (other, nobody) =
        (client.get("/log/quay/tile/0/001.p/1").status, client.get("/log/nobody/tile/0/000.p/1").status);
    assert_eq!((other, nobody), (404, 404), "the tiles of one log are none of another's");
    for rest in ["checkpoint", "witnessed", "consistency?from=1", "proof?index=0"] {
        assert_eq!(client.get(&format!("/log/nobody/{rest}")).status, 404, "{rest}");
    }
    assert_eq!(client.get(&log("witnessed")).status, 404, "no witness is asked");
}

fn a_proof_outside_the_log_is_refused_by_its_parameter(db: Db) {
    let server = Server::start(db);
    let client = server.client();
    let size = crate::log::size(&server);
    let refused =
        |query: &str| client.get(&log(query)).expect_problem(422)["detail"].as_str().unwrap().to_owned();
    for (query, named) in [
        ("consistency?to=1".to_owned(), "`from`"),
        ("consistency?from=0".into(), "`from`"),
        (format!("consistency?from={}", size + 1), "`from`"),
        ("consistency?from=2&to=1".into(), "`from`"),
        (format!("consistency?from=1&to={}", size + 1), "`to`"),
        ("consistency?from=1&to=0".into(), "`to`"),
        ("consistency?from=%2B1".into(), "`from`"),
        ("consistency?from=1&until=1".into(), "`until`"),
        ("consistency?from=1&from=1".into(), "`from`"),
        (format!("proof?index={size}"), "`index`"),
        ("proof?index=-1".into(), "`index`"),
        ("proof".into(), "`index`"),
    ] {
        let detail = refused(&query);
        assert!(detail.contains(named), "{query}: {detail}");
    }
    let whole: Range<u64> = 1..size + 1;
    for from in whole {
        client.get(&log(&format!("consistency?from={from}"))).expect(200);
    }
}
