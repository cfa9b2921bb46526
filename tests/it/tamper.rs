//! Somebody with the database in their hands changes it: the copy that is handed out, or the next start, says so.

use crate::agent::Agent;
use crate::client::{Client, in_parallel};
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::log::{check_verifies, check_whole, lines, verify};
use crate::server::{Folder, OPERATOR, Server, TENANT, ended, said};
use serde_json::Value;
use sha2::Digest as _;
use std::collections::BTreeSet;

both!(
    each_changed_column_of_a_receipt_is_named,
    a_receipt_that_was_taken_out_is_named,
    a_log_that_lost_its_end_or_its_head_is_not_served,
    full_tiles_hold_the_leaves_they_cover,
    what_a_head_claims_beyond_the_rows_is_one_gap,
);

/// Each column of a receipt with another value that its type takes; `{other}` is the same column of another receipt.
const CHANGES: [(&str, &str); 25] = [
    ("tenant", "'quay'"),
    ("log_index", "100000"),
    ("id", "{other}"),
    ("at", "at - 1"),
    ("kind", "'gate.replay'"),
    ("outcome", "'refuse'"),
    ("intent", "'account.close'"),
    ("principal", "{other}"),
    ("agent", "{other}"),
    ("credential", "{other}"),
    ("chain", "{other}"),
    ("seq", "1000"),
    ("prev", "hash"),
    ("hash", "prev"),
    ("auth", "hash"),
    ("auth_key", "id"),
    ("mandate_version", "mandate_version + 1"),
    ("policy_version", "policy_version + 1"),
    ("catalogue_version", "catalogue_version + 1"),
    ("engine_version", "'0'"),
    ("facts_from", "'derived'"),
    ("input", "REPLACE(input, 'payments.refund', 'payments.refunds')"),
    ("output", "REPLACE(output, 'M-001', 'M-002')"),
    ("content", "REPLACE(content, 'acct:cus_91', 'acct:cus_92')"),
    ("erased_by", "log_index"),
];

/// A member whose agent was answered a few times.
fn answered(server: &Server) -> (Client, Agent, Vec<String>) {
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let other = Agent::new(&server.person(TENANT, "n@example.test", &["member"]), "other");
    other.evaluate(&refund("1.00")).expect_outcome("refuse");
    let receipts = (1..=4).map(|euros| {
        let action = with(&refund(&format!("{euros}.00")), "counterparty", "acct:cus_91");
        let answer = agent.evaluate(&action).expect_outcome("allow");
        answer["receipt"]["id"].as_str().unwrap().to_owned()
    });
    let receipts = receipts.collect();
    (member, agent, receipts)
}

/// What is said of a credential's log as it lies in the database: nothing, if it verifies.
fn complaint(server: &Server, credential: &str) -> Option<String> {
    let folder = Folder::new();
    let file = folder.join("export.jsonl");
    let out = file.display().to_string();
    let exported = server.run(&["export", "--credential", credential, "--format", "jsonl", "--out", &out]);
    if !exported.status.success() {
        return Some(said(&exported));
    }
    let verified = verify(&folder, &std::fs::read_to_string(file).unwrap());
    (!verified.status.success()).then(|| said(&verified))
}

fn each_changed_column_of_a_receipt_is_named(db: Db) {
    let mut server = Server::start(db);
    let (_, agent, receipts) = answered(&server);
    assert!(server.terminate().success());
    let mut connection = server.database().connect();
    let columns = match db {
        Db::Sqlite => "SELECT name AS text FROM pragma_table_info('receipts')",
        Db::Postgres => {
            "SELECT column_name::text AS text FROM information_schema.columns WHERE table_name = 'receipts'"
        }
    };
    let columns: BTreeSet<_> = connection.texts(columns).into_iter().collect();
    let changed: BTreeSet<_> = CHANGES.iter().map(|(column, _)| (*column).to_owned()).collect();
    assert_eq!(columns, changed, "each column of a receipt is changed once");
    assert_eq!(complaint(&server, &agent.credential), None);

    let victim = &receipts[1];
    connection.execute(&format!("CREATE TABLE kept AS SELECT * FROM receipts WHERE id = '{victim}'"));
    connection.execute(&format!(
        "CREATE TABLE other AS SELECT * FROM receipts WHERE tenant = '{TENANT}' AND kind = 'gate.evaluate' \
         AND credential <> '{}'",
        agent.credential
    ));
    let mut passed = Vec::new();
    for (column, value) in CHANGES {
        let value = value.replace("{other}", &format!("(SELECT {column} FROM other)"));
        // A receipt that takes another's place would collide with it; the other one makes room.
        connection.execute("DELETE FROM receipts WHERE hash IN (SELECT hash FROM other)");
        connection.execute(&format!("UPDATE receipts SET {column} = {value} WHERE id = '{victim}'"));
        match complaint(&server, &agent.credential) {
            None => passed.push(column),
            Some(words) => assert!(!words.contains("panicked"), "{column}: {words}"),
        }
        let ids = "SELECT id FROM kept UNION SELECT id FROM other";
        connection.execute(&format!("DELETE FROM receipts WHERE id IN ({ids})"));
        connection.execute("INSERT INTO receipts SELECT * FROM kept");
        connection.execute("INSERT INTO receipts SELECT * FROM other");
    }
    assert!(passed.is_empty(), "changed and not noticed: {passed:?}");
    assert_eq!(complaint(&server, &agent.credential), None, "put back, all is well");
}

fn a_receipt_that_was_taken_out_is_named(db: Db) {
    let mut server = Server::start(db);
    let (_, agent, receipts) = answered(&server);
    assert!(server.terminate().success());
    let taken = &receipts[2];
    server.database().connect().execute(&format!("DELETE FROM receipts WHERE id = '{taken}'"));
    let words = complaint(&server, &agent.credential).expect("a gap in the chain passes");
    assert!(!words.contains("panicked"), "{words}");
}

fn a_log_that_lost_its_end_or_its_head_is_not_served(db: Db) {
    let mut server = Server::start(db);
    answered(&server);
    assert!(server.terminate().success());
    let length = check_whole(server.database());
    let last = length - 1;
    let mut connection = server.database().connect();
    connection.execute("CREATE TABLE kept AS SELECT * FROM receipts");
    connection.execute("CREATE TABLE kept_heads AS SELECT * FROM heads");
    for (how, statement) in [
        ("the end cut off", format!("DELETE FROM receipts WHERE log_index = {last}")),
        ("the end changed", format!("UPDATE receipts SET output = '{{}}' WHERE log_index = {last}")),
        ("a longer log", format!("UPDATE receipts SET log_index = {length} WHERE log_index = 0")),
        ("another size", "UPDATE heads SET size = size - 1".to_owned()),
        (
            "another tree",
            "UPDATE heads SET frontier = (SELECT hash FROM receipts WHERE log_index = 0)".to_owned(),
        ),
        ("no checkpoint", "UPDATE heads SET checkpoint = ''".to_owned()),
        ("a forged size", format!("UPDATE heads SET checkpoint = REPLACE(checkpoint, '{length}', '{last}')")),
    ] {
        connection.execute(&statement);
        let output = ended(server.serve_command());
        assert!(!output.status.success(), "served with {how}");
        assert!(said(&output).contains("heads"), "{how}: {}", said(&output));
        connection.execute("DELETE FROM receipts");
        connection.execute("INSERT INTO receipts SELECT * FROM kept");
        connection.execute("DELETE FROM heads");
        connection.execute("INSERT INTO heads SELECT * FROM kept_heads");
    }
    server.serve();
    server.sign_in(TENANT, OPERATOR).get("/v1/mandate").expect(200);
}

/// Whoever looks walks along the rows, not along the places that a changed head, or a receipt moved far away, claims.
fn what_a_head_claims_beyond_the_rows_is_one_gap(db: Db) {
    const FAR: i64 = 1 << 62;
    let mut server = Server::start(db);
    answered(&server);
    assert!(server.terminate().success());
    let mut connection = server.database().connect();
    let moved = format!(
        "UPDATE receipts SET log_index = {} WHERE log_index = (SELECT MAX(log_index) FROM receipts)",
        FAR - 5
    );
    for statement in [format!("UPDATE heads SET size = {FAR}"), moved] {
        connection.execute(&statement);
        for command in [&["doctor", "--no-drill"][..], &["replay"]] {
            let output = server.run(command);
            assert_eq!(output.status.code(), Some(1), "{command:?}: {}", said(&output));
            let words = said(&output);
            assert!(words.contains("no receipt") || words.contains("missing"), "{command:?}: {words}");
        }
    }
}

/// A receipt as its leaf is made of it.
#[derive(Debug, diesel::QueryableByName)]
struct Sealed {
    #[diesel(sql_type = diesel::sql_types::Binary)]
    hash: Vec<u8>,
    #[diesel(sql_type = diesel::sql_types::Binary)]
    auth: Vec<u8>,
}

/// A full tile as it is stored.
#[derive(Debug, diesel::QueryableByName)]
struct Tile {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    tile: i64,
    #[diesel(sql_type = diesel::sql_types::Binary)]
    hashes: Vec<u8>,
}

/// SHA-256 of a zero byte and the leaf's data (RFC 9162 §2.1.1).
fn leaf(receipt: &Sealed) -> [u8; 32] {
    let (auth, hash) = (hex::encode(&receipt.auth), hex::encode(&receipt.hash));
    let data = format!("{{\"auth\":\"hmac-sha256:{auth}\",\"hash\":\"sha256:{hash}\"}}");
    sha2::Sha256::new().chain_update([0]).chain_update(data).finalize().into()
}

/// A tile that is not where it was is made again from the leaves, which comes out the same.
fn matters(column: &str) -> bool {
    column == "hashes"
}

fn full_tiles_hold_the_leaves_they_cover(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let receipts: Vec<Value> = in_parallel(10, |_| {
        let answers = (0..54).map(|_| agent.evaluate(&refund("1.00")).expect_outcome("allow"));
        answers.map(|answer| answer["receipt"].clone()).collect::<Vec<_>>()
    })
    .concat();
    let mut connection = server.database().connect();
    let sealed: Vec<Sealed> = connection.load("SELECT hash, auth FROM receipts ORDER BY log_index");
    let tiles: Vec<Tile> = connection.load("SELECT tile, hashes FROM tiles WHERE level = 0 ORDER BY tile");
    assert_eq!(tiles.iter().map(|tile| tile.tile).collect::<Vec<_>>(), [0, 1]);
    let leaves: Vec<u8> = sealed[..512].iter().flat_map(leaf).collect();
    let stored: Vec<u8> = tiles.into_iter().flat_map(|tile| tile.hashes).collect();
    assert!(leaves == stored, "the tiles hold something else than the leaves");

    // A changed tile leads early receipts elsewhere; both verifiers say so.
    let early_id = receipts[0]["id"].as_str().unwrap();
    let again = || member.get(&format!("/v1/receipts/{early_id}"));
    check_verifies(&lines([&again().expect(200)]));
    connection.execute("CREATE TABLE kept_tiles AS SELECT * FROM tiles");
    for (column, value) in [
        ("hashes", "(SELECT hashes FROM kept_tiles WHERE level = 0 AND tile = 1)"),
        ("tile", "7"),
        ("level", "2"),
        ("tenant", "'quay'"),
    ] {
        connection.execute(&format!("UPDATE tiles SET {column} = {value} WHERE level = 0 AND tile = 0"));
        let reply = again();
        let passes = reply.status == 200 && verify(&Folder::new(), &reply.text).status.success();
        assert!(
            !passes || !matters(column),
            "{column} of a tile was changed and nobody noticed: {}",
            reply.text
        );
        connection.execute("DELETE FROM tiles");
        connection.execute("INSERT INTO tiles SELECT * FROM kept_tiles");
    }

    // What the tiles serve: paths through a tree that has grown.
    let place = |receipt: &Value| receipt["merkle"]["index"].as_u64().unwrap();
    let early = receipts.iter().min_by_key(|receipt| place(receipt)).unwrap();
    let later = receipts.iter().find(|receipt| place(receipt) == 300).unwrap();
    let fresh: Vec<_> = [early, later]
        .iter()
        .map(|receipt| member.get(&format!("/v1/receipts/{}", receipt["id"].as_str().unwrap())).expect(200))
        .collect();
    assert!(fresh.iter().all(|one| one["receipt"]["merkle"]["size"].as_u64() > Some(540)), "{fresh:?}");
    check_verifies(&lines(fresh.iter().chain([early, later])));
}

/// What else the log rests on: its name, its key and the state of its head. Each with a value that its type takes.
const FOUNDATIONS: [(&str, &str, &str); 12] = [
    ("tenants", "slug", "'quay'"),
    ("tenants", "origin", "'elsewhere/log/harbour'"),
    ("keys", "tenant", "'quay'"),
    ("keys", "id", "'key_00000000000000000000000001'"),
    ("keys", "purpose", "'token'"),
    ("keys", "public", "(SELECT hash FROM receipts WHERE log_index = 0)"),
    ("keys", "wrapped", "(SELECT hash FROM receipts WHERE log_index = 0)"),
    ("heads", "tenant", "'quay'"),
    ("heads", "size", "size + 1"),
    ("heads", "frontier", "(SELECT hash FROM receipts WHERE log_index = 0)"),
    ("heads", "checkpoint", "REPLACE(checkpoint, '/log/', '/hog/')"),
    ("heads", "trailed", "trailed + 1024"),
];

/// What says nothing about what was recorded: the name of the chain that the service goes on with, when keys and tenants
/// were made or retired, zones, addresses, clocks.
const SAYS_NOTHING: [&str; 8] = [
    "tenants.id",
    "tenants.zone",
    "tenants.issuer",
    "tenants.created_at",
    "keys.created_at",
    "keys.retired_at",
    "heads.last_at",
    "heads.authority_epoch",
];

#[test]
fn each_changed_column_of_what_the_log_rests_on_is_named() {
    let mut server = Server::start(Db::Sqlite);
    let (_, agent, _) = answered(&server);
    assert!(server.terminate().success());
    let mut connection = server.database().connect();
    let mut columns = BTreeSet::new();
    for table in ["tenants", "keys", "heads"] {
        let names = connection.texts(&format!("SELECT name AS text FROM pragma_table_info('{table}')"));
        columns.extend(names.into_iter().map(|name| format!("{table}.{name}")));
        connection.execute(&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}"));
    }
    let changed = FOUNDATIONS.iter().map(|(table, column, _)| format!("{table}.{column}"));
    let all: BTreeSet<_> = changed.chain(SAYS_NOTHING.iter().map(ToString::to_string)).collect();
    assert_eq!(columns, all, "each column is changed, or says nothing about what was recorded");
    connection.execute("PRAGMA foreign_keys = OFF");
    connection.execute("CREATE TABLE kept_receipts AS SELECT * FROM receipts");
    let mut passed = Vec::new();
    for (table, column, value) in [("tenants", "zone", "zone")].into_iter().chain(FOUNDATIONS) {
        let of_log = if table == "keys" { " WHERE purpose = 'log'" } else { "" };
        connection.execute(&format!("UPDATE {table} SET {column} = {value}{of_log}"));
        match complaint(&server, &agent.credential) {
            None => passed.push(format!("{table}.{column}")),
            Some(words) => assert!(!words.contains("panicked"), "{table}.{column}: {words}"),
        }
        // An export is recorded: what it added goes with what was changed.
        for table in ["receipts", "heads", "keys", "tenants"] {
            connection.execute(&format!("DELETE FROM {table}"));
            connection.execute(&format!("INSERT INTO {table} SELECT * FROM kept_{table}"));
        }
    }
    assert_eq!(passed, ["tenants.zone"], "what was not changed passes, and nothing else");
}
