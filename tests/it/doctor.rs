//! The doctor: says of each thing whether it is well, and holds a drill.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::server::{Folder, Server, TENANT, said};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

both!(
    all_is_well_beside_a_running_server,
    what_is_wrong_is_named_with_what_to_do,
    what_waits_is_worth_a_look,
);

/// What the doctor says, with its status.
#[track_caller]
fn examined(server: &Server, options: &[&str]) -> (i32, Value) {
    let output = server.run(&[&["doctor", "--json"], options].concat());
    let json =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {}", said(&output)));
    (output.status.code().unwrap(), json)
}

/// What is said of one thing, of the worst health there is.
fn of<'a>(examined: &'a Value, name: &str) -> Vec<&'a Value> {
    examined["findings"].as_array().unwrap().iter().filter(|finding| finding["name"] == name).collect()
}

/// Nothing may be wrong, but for what a PostgreSQL that is made for tests leaves out: it forgets itself when the
/// machine stops.
#[track_caller]
pub(crate) fn check_well(server: &Server, options: &[&str]) -> Value {
    let (status, examined) = examined(server, &[&["--no-drill"], options].concat());
    let wrong: Vec<&Value> = examined["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["status"] == "fail")
        .collect();
    let durable = ["fsync is off", "synchronous_commit is off", "full_page_writes is off"];
    let of_tests =
        |finding: &&Value| durable.iter().any(|says| finding["says"].as_str().unwrap().starts_with(says));
    assert!(wrong.iter().all(of_tests), "{wrong:#?}");
    assert_eq!(status, i32::from(!wrong.is_empty()), "{examined:#}");
    examined
}

/// One thing must be of this health, whatever else is.
#[track_caller]
fn check_is(server: &Server, options: &[&str], name: &str, health: &str, words: &str) {
    let (status, examined) = examined(server, &[&["--no-drill"], options].concat());
    let found = of(&examined, name);
    let right = found.iter().find(|finding| finding["status"] == health);
    let right = right.unwrap_or_else(|| panic!("{name} is not {health}: {examined:#}"));
    assert!(right["says"].as_str().unwrap().contains(words), "`{words}` in {right}");
    let expected = i32::from(health == "fail");
    assert!(status >= expected, "{status}: {examined:#}");
    assert_eq!(status == 1, examined["verdict"] == "fail", "{examined:#}");
}

fn all_is_well_beside_a_running_server(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let mail = Folder::new();
    let examined = check_well(&server, &["--mail-folder", &mail.display().to_string()]);
    for name in [
        "database",
        "settings",
        "tables",
        "master key",
        "keys",
        "receipts",
        "chains",
        "tree",
        "checkpoint",
        "clock",
        "policy",
        "mandates",
        "effects",
        "upkeep",
        "outbox",
        "disk",
        "outage",
        "mail",
    ] {
        let found = of(&examined, name);
        assert!(!found.is_empty(), "nothing is said of {name}: {examined:#}");
    }
    assert_eq!(std::fs::read_dir(&*mail).unwrap().count(), 0, "nothing is left in the mail folder");
    let output = server.run(&["doctor", "--no-drill"]);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(lines.lines().any(|line| line.starts_with("ok    tree ")), "{lines}");
}

fn what_is_wrong_is_named_with_what_to_do(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    for _ in 0..260 {
        agent.evaluate(&refund("1.00")).expect(200);
    }
    let mut server = server;
    assert!(server.terminate().success());
    let kept = ["receipts", "heads", "tiles", "keys"];
    for table in kept {
        server.database().connect().execute(&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}"));
    }
    let zero = match db {
        Db::Sqlite => "zeroblob(32)",
        Db::Postgres => "decode(repeat('00', 32), 'hex')",
    };
    for (table, change, name, words) in [
        (
            "receipts",
            "UPDATE receipts SET output = '{}' WHERE log_index = 9".to_owned(),
            "receipts",
            "index 9: rcpt_",
        ),
        (
            "receipts",
            format!("UPDATE receipts SET auth = {zero} WHERE log_index = 9"),
            "receipts",
            "not authenticated",
        ),
        (
            "receipts",
            format!("UPDATE receipts SET auth = {zero} WHERE log_index = 9"),
            "tree",
            "holds other hashes",
        ),
        (
            "receipts",
            "DELETE FROM receipts WHERE log_index = 9".to_owned(),
            "receipts",
            "index 9: there is no receipt",
        ),
        ("receipts", format!("UPDATE receipts SET prev = {zero} WHERE log_index = 100"), "chains", "breaks"),
        (
            "receipts",
            "UPDATE receipts SET seq = seq + 5000 WHERE log_index = 100".to_owned(),
            "chains",
            "seq",
        ),
        ("tiles", format!("UPDATE tiles SET hashes = {zero}"), "tree", "tile 0/0"),
        ("tiles", "DELETE FROM tiles".to_owned(), "tree", "tile 0/0 is missing"),
        ("heads", "UPDATE heads SET size = size - 1".to_owned(), "checkpoint", "the checkpoint is of"),
        (
            "heads",
            "UPDATE heads SET checkpoint = REPLACE(checkpoint, 'harbour', 'quay')".to_owned(),
            "checkpoint",
            "no log key",
        ),
        ("heads", "UPDATE heads SET last_at = last_at + 86400000".to_owned(), "clock", "ahead of the clock"),
        ("keys", format!("UPDATE keys SET wrapped = {zero} WHERE purpose = 'token'"), "keys", "token key"),
        (
            "keys",
            "UPDATE keys SET retired_at = 1 WHERE purpose = 'log'".to_owned(),
            "keys",
            "no log key is in force",
        ),
    ] {
        server.database().connect().execute(&change);
        check_is(&server, &[], name, "fail", words);
        let put_back = format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table}");
        server.database().connect().execute(&put_back);
    }
    let key = server.folder().join("master.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    check_is(&server, &[], "master key", "fail", "0600");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    check_is(&server, &["--mail-folder", "/nowhere/at/all"], "mail", "fail", "no mail leaves");
    check_is(&server, &["--smtp-url", "smtp://127.0.0.1:9"], "mail", "fail", "no mail leaves");
    check_well(&server, &[]);
}

fn what_waits_is_worth_a_look(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    assert!(server.terminate().success());
    let mut connection = server.database().connect();
    let effect = |id: &str, status: &str, report_by: u64| {
        format!(
            "INSERT INTO effects (tenant, id, principal, agent, credential, intent, status, attested, log_index, \
             idempotency_key, claimed_at, report_by) VALUES ('{TENANT}', '{id}', 'p', 'a', 'c', 'x.y', '{status}', 0, 1, \
             'k', 1, {report_by})"
        )
    };
    check_is(&server, &[], "effects", "ok", "none is unknown");
    // Its agent said so itself, long before it had to.
    connection.execute(&effect("eff_1", "unknown", 4_102_444_800_000));
    check_is(&server, &[], "effects", "warn", "2100-01-01T00:00:00");
    check_is(&server, &[], "upkeep", "ok", "");
    connection.execute(&effect("eff_2", "claimed", 1000));
    check_is(&server, &[], "upkeep", "warn", "0 decisions and 1 effects");
    connection.execute("UPDATE decisions SET due_at = 1000");
    check_is(&server, &[], "upkeep", "warn", "1 decisions and 1 effects");
    connection.execute(&format!(
        "INSERT INTO outbox (tenant, id, recipient, subject, text_body, html_body, created_at, attempts, failure) \
         VALUES ('{TENANT}', 'x', 'm@example.test', 's', 't', 'h', 1, 10, 'no route')"
    ));
    check_is(&server, &[], "outbox", "warn", "1 mails were given up");
    let note =
        json!({"harbour": {"from": "2026-11-30T00:00:00Z", "until": "2026-11-30T00:00:01Z", "calls": 3}});
    std::fs::write(server.folder().join("outage"), format!("{note:<16384}")).unwrap();
    check_is(&server, &[], "outage", "warn", "got no record yet");
    // No call let these happen, which is told as long as they stand there.
    check_is(&server, &[], "authority", "fail", "effect eff_1");
    connection.execute("DELETE FROM effects");
    check_well(&server, &[]);
}

#[test]
fn the_drill_shows_that_the_gate_refuses_what_it_cannot_record() {
    let server = Server::set_up(Db::Sqlite, &[TENANT]);
    let (status, examined) = examined(&server, &[]);
    assert_eq!(status, 0, "{examined:#}");
    let drills = of(&examined, "drill");
    let says: Vec<&str> = drills.iter().map(|drill| drill["says"].as_str().unwrap()).collect();
    assert_eq!(drills.iter().map(|drill| &drill["status"]).collect::<Vec<_>>(), ["ok", "ok"], "{says:?}");
    assert!(says[0].starts_with("disk full: 2 calls refused with 503"), "{says:?}");
    assert!(says[1].starts_with("locked: 2 calls refused with 503"), "{says:?}");
}

#[test]
fn a_database_that_cannot_be_opened_is_wrong_and_the_rest_is_still_looked_at() {
    let server = Server::set_up(Db::Sqlite, &[TENANT]);
    std::fs::write(server.folder().join("procura.db"), vec![9; 20_000]).unwrap();
    check_is(&server, &[], "database", "fail", "restore the last backup");
    check_is(&server, &[], "disk", "ok", "MiB are free");
}
