//! Everyone is told of their day by mail, once, with the log's checkpoint whole.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::mail::mails;
use crate::server::{Folder, OPERATOR, Server, TENANT, eventually};
use serde_json::json;

both!(
    everyone_is_told_once_of_the_day_before_with_the_checkpoint,
    a_log_that_has_not_grown_is_no_reason_for_a_mail,
);

/// The mails of that kind in a folder: to whom, and the plain text.
fn digests(folder: &Folder) -> Vec<(String, String)> {
    let all = mails(folder).into_iter().filter(|mail| mail.contains("Subject: Your day at harbour"));
    all.map(|mail| {
        let to = mail.lines().find_map(|line| line.strip_prefix("To: ")).unwrap().trim().to_owned();
        (to, plain_text(&mail))
    })
    .collect()
}

/// The first part of a mail, out of quoted-printable (RFC 2045 §6.7).
fn plain_text(mail: &str) -> String {
    let (_, rest) = mail.split_once("Content-Type: text/plain").unwrap();
    let (head, body) = rest.split_once("\r\n\r\n").unwrap();
    let body = body.split("\r\n--").next().unwrap();
    assert!(head.contains("quoted-printable"), "{head}");
    let mut bytes = Vec::new();
    let body = body.replace("=\r\n", "");
    let mut rest = body.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'=' {
            bytes.extend(hex::decode(&after[..2]).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}

/// Makes it the next day: whatever stands in the log was recorded a day earlier, but its last receipt, whose hash is
/// looked at when a server starts; the tenant is old.
fn a_day_passes(server: &Server) {
    let mut connection = server.database().connect();
    connection.execute("UPDATE tenants SET created_at = 0");
    connection.execute(
        "UPDATE receipts SET at = at - 86400000 WHERE log_index < (SELECT MAX(log_index) FROM receipts)",
    );
}

/// Waits until the round of the day is over.
#[track_caller]
fn round_ends(server: &Server) {
    let mut connection = server.database().connect();
    eventually("the day's mails are all written", || {
        connection.number("SELECT COUNT(*) FROM rounds WHERE name = 'digest' AND at > 0") == 1
    });
}

/// Waits until nothing is left to be sent.
#[track_caller]
fn all_sent(server: &Server) {
    let mut connection = server.database().connect();
    eventually("all mail has left", || {
        connection.number("SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL") == 0
    });
}

fn everyone_is_told_once_of_the_day_before_with_the_checkpoint(db: Db) {
    let outbox = Folder::new();
    let mut server = Server::set_up(db, &[TENANT]).option("--mail-folder", &outbox.display().to_string());
    server.serve();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    for _ in 0..3 {
        agent.evaluate(&refund("1.00")).expect_outcome("allow");
    }
    agent.evaluate(&with(&refund("1.00"), "intent", "notes.write")).expect_outcome("escalate");
    let waits = agent.evaluate(&refund("5000.00")).expect_outcome("escalate");
    let reader = Agent::of_kind(&member, "reader", "answering", &crate::documents::ACTING_SCOPES);
    reader.evaluate(&json!({"intent": "x.y", "arguments": {}})).expect_outcome("refuse");
    // What is of today is not told of yet.
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    assert!(digests(&outbox).is_empty(), "nobody is told of the day on which a tenant is set up");
    assert!(server.terminate().success());
    a_day_passes(&server);
    server = server.option("--digest-at", "00:00");
    server.serve();
    round_ends(&server);
    all_sent(&server);
    let mut told = digests(&outbox);
    told.sort();
    let [(marta, hers), (operator, theirs)] = &told[..] else { panic!("{told:?}") };
    assert!(marta.contains("m@example.test") && operator.contains(OPERATOR), "{told:?}");
    for line in
        ["allowed      3", "put to you   2", "refused      1", waits["decision"]["url"].as_str().unwrap()]
    {
        assert!(hers.contains(line), "`{line}` is not in {hers}");
    }
    assert!(theirs.contains("Nothing was asked in your name yesterday"), "{theirs}");
    assert!(theirs.contains("Nothing waits for you"), "{theirs}");

    // The checkpoint in the mail is the log's, whole: an outside reader opens it.
    let key = waits["receipt"]["merkle"]["key"].as_str().unwrap();
    let origin = key.split('+').next().unwrap();
    let note = hers.split_once(&format!("\n{origin}\n")).unwrap().1;
    let note = note.split("\n\nProcura, ").next().unwrap();
    let note = signed_note::Note::from_bytes(format!("{origin}\n{note}\n").as_bytes()).unwrap();
    let verifier = signed_note::StandardVerifier::new(key).unwrap();
    note.verify(&signed_note::VerifierList::new(vec![Box::new(verifier)])).unwrap();
    let size = tlog_tiles::Checkpoint::from_bytes(note.text()).unwrap().size();
    assert!(size > waits["receipt"]["merkle"]["index"].as_u64().unwrap());

    told_no_more(server, &outbox, db);
}

/// A restart tells nobody again, nor one in the middle of the round, nor another node.
fn told_no_more(mut server: Server, outbox: &Folder, db: Db) {
    assert!(server.terminate().success());
    let mut connection = server.database().connect();
    connection.execute("DELETE FROM rounds");
    server.serve();
    let other = (db == Db::Postgres).then(|| server.another_node());
    round_ends(&server);
    all_sent(&server);
    assert_eq!(digests(outbox).len(), 2, "two people, one mail each");
    drop(other);
    assert_eq!(connection.number("SELECT COUNT(*) FROM outbox WHERE id LIKE '%.digest.%'"), 2);
}

fn a_log_that_has_not_grown_is_no_reason_for_a_mail(db: Db) {
    let outbox = Folder::new();
    let mut server = Server::set_up(db, &[TENANT])
        .option("--mail-folder", &outbox.display().to_string())
        .option("--digest-at", "00:00");
    let mut connection = server.database().connect();
    connection.execute("UPDATE tenants SET created_at = 0");
    // The server makes its tables when it first starts.
    server.serve();
    assert!(server.terminate().success());
    connection.execute("DELETE FROM outbox");
    connection.execute("DELETE FROM rounds");
    connection
        .execute("INSERT INTO rounds (tenant, name, at, size) SELECT tenant, 'digest', 0, size FROM heads");
    for file in std::fs::read_dir(&*outbox).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    server.serve();
    round_ends(&server);
    assert_eq!(connection.number("SELECT COUNT(*) FROM outbox"), 0);
    assert!(digests(&outbox).is_empty());
}
