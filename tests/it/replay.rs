//! The log decided again: everything comes out as it was recorded, and whatever was changed since is named.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{no_refunds, refund, small_refunds, with};
use crate::server::{Server, TENANT, said};
use procura::storage::Database;
use serde_json::{Value, json};
use std::process::Output;

both!(
    every_sort_of_answer_comes_out_as_it_was_recorded_beside_a_running_server,
    an_answer_that_comes_out_otherwise_is_named_with_both,
    a_record_that_was_changed_never_replays,
    what_nobody_can_decide_any_more_is_counted_by_cause,
    a_head_that_was_set_back_or_taken_away_is_found,
    a_repeated_answer_must_be_the_first_one_again,
    one_tenant_and_a_later_beginning_can_be_named,
);

/// What `replay` prints as JSON, with its status.
#[track_caller]
fn replayed(server: &Server, options: &[&str]) -> (i32, Value) {
    let output = server.run(&[&["replay", "--json"], options].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {}", said(&output)));
    (output.status.code().unwrap(), json)
}

#[track_caller]
fn check_same(server: &Server) -> Value {
    let (status, said) = replayed(server, &[]);
    assert_eq!((status, &said["verdict"]), (0, &json!("same")), "{said}");
    said["tenants"][0].clone()
}

/// The one thing that is found.
#[track_caller]
fn found(server: &Server) -> Value {
    let (status, said) = replayed(server, &[]);
    assert_eq!((status, &said["verdict"], &said["findings"]), (1, &json!("diverged"), &json!(1)), "{said}");
    said["tenants"][0]["findings"][0].clone()
}

/// Everything that is found of one sort.
fn all_found(server: &Server, what: &str) -> Vec<Value> {
    let (status, said) = replayed(server, &[]);
    assert_eq!(status, 1, "{said}");
    let findings = said["tenants"][0]["findings"].as_array().unwrap().iter();
    findings.filter(|finding| finding["what"] == what).cloned().collect()
}

fn count(server: &Server, kind: &str) -> i64 {
    let sql = format!("SELECT COUNT(*) FROM receipts WHERE tenant = '{TENANT}' AND kind = '{kind}'");
    server.database().connect().number(&sql)
}

/// A mandate with a limit, so that what was used counts too.
fn limited() -> Value {
    let mut document = small_refunds();
    document["clauses"][0]["limits"] = json!([{"total": {"value": "150.00", "currency": "EUR"}, "per": "30 days"}, {"count": 5, "per": "30 days"}]);
    document
}

fn every_sort(member: &Client, agent: &Agent) {
    agent.evaluate(&refund("60.00")).expect_outcome("allow");
    agent.evaluate_once("key-1", &refund("20.00")).expect_outcome("allow");
    agent.evaluate_once("key-1", &refund("20.00")).expect_outcome("allow");
    agent.evaluate(&refund("90.00")).expect_outcome("escalate");
    agent.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");
    agent.evaluate(&json!({"intent": "unheard.of"})).expect_outcome("escalate");
    let asked = agent.evaluate(&refund("500.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let again = with(&refund("500.00"), "decision", decision);
    agent.evaluate(&again).expect_outcome("allow");
    agent.evaluate(&again).expect_outcome("refuse");
    let child = agent.derive(&json!({"label": "sub", "scopes": ["action:request"]}));
    child.evaluate(&refund("5.00")).expect_outcome("escalate");
    member.put_mandate(&no_refunds());
    agent.evaluate(&refund("1.00")).expect_outcome("escalate");
    agent.evaluate_once("key-1", &refund("20.00")).expect_outcome("refuse");
}

fn every_sort_of_answer_comes_out_as_it_was_recorded_beside_a_running_server(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &limited());
    let agent = Agent::new(&member, "runner");
    every_sort(&member, &agent);
    let said = check_same(&server);
    assert_eq!(said["decided"], count(&server, "gate.evaluate"));
    assert_eq!(said["repeats"], count(&server, "gate.replay"));
    assert_eq!((&said["repeats"], &said["undecidable"]["erased"]), (&json!(2), &json!(0)), "{said}");
    let all = said["decided"].as_u64().unwrap() + said["repeats"].as_u64().unwrap();
    let others = said["others"].as_u64().unwrap();
    assert_eq!(all + others, said["until"].as_u64().unwrap(), "no receipt is passed over: {said}");
    let output = server.run(&["replay"]);
    assert!(said_line(&output).ends_with("all come out as they were recorded"), "{}", said_line(&output));
}

fn said_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// A server with one allow of 60 EUR, and that answer.
fn with_one_allow(db: Db) -> (Server, Client, Agent, Value) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let answer = agent.evaluate(&refund("60.00")).expect_outcome("allow");
    (server, member, agent, answer)
}

fn an_answer_that_comes_out_otherwise_is_named_with_both(db: Db) {
    let (server, _, _, answer) = with_one_allow(db);
    check_same(&server);
    // The mandate's version, changed behind the service's back, would have asked a person.
    server.database().connect().execute(&format!(
        "UPDATE mandates SET document = REPLACE(document, '\"100.00\"', '\"10.00\"') WHERE tenant = '{TENANT}'"
    ));
    let found = all_found(&server, "answer");
    let [finding] = &found[..] else { panic!("one answer comes out otherwise: {found:?}") };
    assert_eq!(finding["receipt"], answer["receipt"]["id"]);
    assert_eq!(finding["log_index"], answer["receipt"]["merkle"]["index"]);
    assert_eq!(finding["recorded"]["outcome"], "allow");
    assert_eq!(finding["recorded"]["reason"], answer["reason"]);
    assert_eq!(finding["again"]["outcome"], "escalate");
    assert_eq!(finding["again"]["reason"], "above the ceiling: 60.00 EUR asked, 10.00 EUR allowed");
    let output = server.run(&["replay"]);
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let receipt = answer["receipt"]["id"].as_str().unwrap();
    for part in [receipt, "recorded as allow by M-001", "comes out as escalate by M-001"] {
        assert!(words.contains(part), "`{part}` in {words}");
    }
}

fn a_record_that_was_changed_never_replays(db: Db) {
    let (server, _, _, answer) = with_one_allow(db);
    let receipt = answer["receipt"]["id"].as_str().unwrap();
    let place = answer["receipt"]["merkle"]["index"].as_i64().unwrap();
    let row = format!("WHERE tenant = '{TENANT}' AND log_index = {place}");
    let columns = ["input", "output", "content"];
    let kept: Vec<String> = columns
        .iter()
        .map(|column| {
            server.database().connect().texts(&format!("SELECT {column} AS text FROM receipts {row}"))[0]
                .clone()
        })
        .collect();
    for (column, change) in [
        // What was asked for, plainly; what was answered; what a commitment opens to.
        ("input", "REPLACE(input, 'payments.refund', 'payments.refuse')"),
        ("output", "REPLACE(output, 'allow', 'refuse')"),
        ("content", "REPLACE(content, 'order:', 'odder:')"),
        ("outcome", "'refuse'"),
        ("mandate_version", "1"),
        ("intent", "'account.delete'"),
        ("kind", "'export'"),
        ("engine_version", "'0'"),
    ] {
        server.database().connect().execute(&format!("UPDATE receipts SET {column} = {change} {row}"));
        let finding = found(&server);
        assert_eq!(
            (&finding["what"], &finding["receipt"]),
            (&json!("changed"), &json!(receipt)),
            "{column}: {finding}"
        );
        assert_ne!(finding["expected"], finding["found"], "{column}: {finding}");
        let back = match columns.iter().position(|kept| *kept == column) {
            Some(at) => format!("'{}'", kept[at].replace('\'', "''")),
            None => match column {
                "outcome" => "'allow'".to_owned(),
                "intent" => "'payments.refund'".to_owned(),
                "mandate_version" => "2".to_owned(),
                "kind" => "'gate.evaluate'".to_owned(),
                _ => format!("'{}'", answer["receipt"]["engine_version"].as_str().unwrap()),
            },
        };
        server.database().connect().execute(&format!("UPDATE receipts SET {column} = {back} {row}"));
        check_same(&server);
    }
    server.database().connect().execute(&format!("UPDATE receipts SET at = -1, principal = 'nobody' {row}"));
    assert_eq!(found(&server)["what"], "unreadable");
    server.database().connect().execute(&format!("DELETE FROM receipts {row}"));
    let finding = found(&server);
    assert_eq!((&finding["what"], &finding["log_index"]), (&json!("missing"), &json!(place)), "{finding}");
}

fn what_nobody_can_decide_any_more_is_counted_by_cause(db: Db) {
    let (server, _, agent, answer) = with_one_allow(db);
    let older = agent.evaluate(&refund("7.00")).expect_outcome("allow");
    let place = |answer: &Value| answer["receipt"]["merkle"]["index"].as_u64().unwrap();
    // Content that is gone, and no record that says that it was erased.
    let row = format!("WHERE tenant = '{TENANT}' AND log_index = {}", place(&answer));
    let kept = format!("CREATE TABLE kept AS SELECT content FROM receipts {row}");
    server.database().connect().execute(&kept);
    server.database().connect().execute(&format!("UPDATE receipts SET content = NULL {row}"));
    let finding = found(&server);
    assert_eq!((&finding["what"], &finding["field"]), (&json!("changed"), &json!("content")), "{finding}");
    assert_eq!(finding["receipt"], answer["receipt"]["id"]);
    server
        .database()
        .connect()
        .execute(&format!("UPDATE receipts SET content = (SELECT content FROM kept) {row}; DROP TABLE kept"));
    // A receipt of an earlier version of the rules, as that version would have hashed it.
    let hash = {
        let database = match server.database().url() {
            Some(url) => url.parse().unwrap(),
            None => Database::Sqlite(server.folder().join("procura.db")),
        };
        let readers = database.open_readers().unwrap();
        let mut connection = readers.get().unwrap();
        let tenant = TENANT.parse().unwrap();
        let mut stored =
            procura::storage::receipt::find(&mut connection, &tenant, place(&older)).unwrap().unwrap();
        stored.body.engine_version = "0".into();
        stored.body.hash().to_string().replace("sha256:", "")
    };
    let bytes = match db {
        Db::Sqlite => format!("x'{hash}'"),
        Db::Postgres => format!("'\\x{hash}'::bytea"),
    };
    server.database().connect().execute(&format!(
        "UPDATE receipts SET engine_version = '0', hash = {bytes} WHERE tenant = '{TENANT}' AND log_index = {}",
        place(&older)
    ));
    let said = check_same(&server);
    assert_eq!(said["undecidable"], json!({"erased": 0, "other_rules": {"0": 1}}), "{said}");
    assert_eq!(said["decided"], 1);
    let words = said_line(&server.run(&["replay"]));
    assert!(words.contains("1 undecidable here: answered under version 0 of the rules"), "{words}");
    // Nothing that a call was decided by is ever deleted: what is not there was taken away, and is no excuse.
    let answer = agent.evaluate(&refund("1.00")).expect_outcome("allow");
    check_same(&server);
    server.database().connect().execute(&format!("DELETE FROM policies WHERE tenant = '{TENANT}'"));
    let unreadable = all_found(&server, "unreadable");
    let finding = unreadable.last().unwrap();
    assert_eq!((unreadable.len(), &finding["receipt"]), (2, &answer["receipt"]["id"]));
    assert!(
        finding["detail"].as_str().unwrap().contains("version 1 of the policy is not there"),
        "{finding}"
    );
}

fn a_head_that_was_set_back_or_taken_away_is_found(db: Db) {
    let (server, ..) = with_one_allow(db);
    check_same(&server);
    for (change, back, words) in [
        ("UPDATE heads SET size = size - 1", "UPDATE heads SET size = size + 1", "lie beyond the head"),
        (
            "UPDATE heads SET size = size - 1",
            "UPDATE heads SET size = size + 1",
            "the right edge that is kept",
        ),
        (
            "CREATE TABLE kept AS SELECT * FROM heads; DELETE FROM heads",
            "INSERT INTO heads SELECT * FROM kept; DROP TABLE kept",
            "the log has no head",
        ),
    ] {
        server.database().connect().execute(change);
        let ends = all_found(&server, "end");
        let is_said = |end: &Value| end["detail"].as_str().unwrap().contains(words);
        assert!(ends.iter().any(is_said), "`{words}` in {ends:?}");
        server.database().connect().execute(back);
        check_same(&server);
    }
}

fn a_repeated_answer_must_be_the_first_one_again(db: Db) {
    let (server, _, agent, _) = with_one_allow(db);
    let first = agent.evaluate_once("once", &refund("2.00")).expect_outcome("allow");
    agent.evaluate_once("once", &refund("2.00")).expect_outcome("allow");
    check_same(&server);
    server.database().connect().execute(&format!(
        "UPDATE receipts SET outcome = 'refuse' WHERE tenant = '{TENANT}' AND log_index = {}",
        first["receipt"]["merkle"]["index"]
    ));
    let (status, said) = replayed(&server, &[]);
    assert_eq!((status, &said["findings"]), (1, &json!(2)), "the first, and what gives it again: {said}");
    let repeated = &said["tenants"][0]["findings"][1];
    assert_eq!(
        (&repeated["expected"], &repeated["found"]),
        (&json!("refuse"), &json!("allow")),
        "{repeated}"
    );
    let field = repeated["field"].as_str().unwrap();
    assert!(field.contains(first["receipt"]["id"].as_str().unwrap()), "{field}");
}

fn one_tenant_and_a_later_beginning_can_be_named(db: Db) {
    let mut server = Server::set_up(db, &[TENANT, "quay"]);
    let (_, both) = replayed(&server, &[]);
    assert_eq!(both["tenants"].as_array().unwrap().len(), 2, "{both}");
    server.serve();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let place = agent.evaluate(&refund("1.00")).expect_outcome("allow")["receipt"]["merkle"]["index"].clone();
    agent.evaluate(&refund("2.00")).expect_outcome("allow");
    let (_, one) = replayed(&server, &["--tenant", TENANT, "--from", &place.to_string()]);
    assert_eq!(one["tenants"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!((&one["tenants"][0]["from"], &one["tenants"][0]["decided"]), (&place, &json!(2)), "{one}");
    for (options, named) in [
        (["--tenant", "nobody"], "`nobody`"),
        (["--tenant", "Not A Slug"], "Not A Slug"),
        (["--from", "minus"], "`minus`"),
        (["--from", "99999"], "99999"),
    ] {
        let output = server.run(&[&["replay"], &options[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", said(&output));
        let words = said(&output);
        assert!(words.contains(options[0]) && words.contains(named), "{options:?}: {words}");
    }
}

#[test]
fn a_database_that_is_not_there_is_unreadable() {
    let server = Server::set_up(Db::Sqlite, &[TENANT]);
    std::fs::write(server.folder().join("procura.db"), "no database at all, but long enough to be one")
        .unwrap();
    let output = server.run(&["replay"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    std::fs::remove_file(server.folder().join("procura.db")).unwrap();
    let output = server.run(&["replay"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
