//! Rows that decide, changed behind the log's back: each is held against the receipt that put it there.

use crate::agent::Agent;
use crate::backup::file;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::server::{Folder, Server, said};
use serde_json::Value;

both!(what_decides_is_held_against_the_receipts_that_put_it_there);

/// What replay finds in the rows, as sentences.
fn found(server: &Server) -> Vec<String> {
    let output = server.run(&["replay", "--json"]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let findings = said["tenants"][0]["findings"].as_array().unwrap().iter();
    let found: Vec<String> = findings
        .filter(|finding| finding["what"] == "authority")
        .map(|finding| finding["detail"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(output.status.code(), Some(i32::from(!found.is_empty())), "{said}");
    found
}

fn what_decides_is_held_against_the_receipts_that_put_it_there(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let gone = Agent::new(&member, "gone");
    let asked = agent.evaluate(&refund("400.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    agent.evaluate(&with(&refund("400.00"), "decision", decision)).expect_outcome("allow");
    agent.evaluate(&refund("500.00")).expect_outcome("escalate");
    member.delete(&format!("/v1/credentials/{}", gone.credential)).expect(200);
    let mut server = server;
    assert!(server.terminate().success());
    assert_eq!(found(&server), Vec::<String>::new());
    let live = "revoked_at IS NULL";
    let ours = format!("id = '{}'", agent.credential);
    let theirs = format!("id = '{}'", gone.credential);
    let revoked_at = format!("SELECT revoked_at FROM credentials WHERE {theirs}");
    let revoked_at = server.database().connect().number(&revoked_at);
    let set = |table: &str, change: &str, of: &str| format!("UPDATE {table} SET {change} WHERE {of}");
    let copy = "INSERT INTO mandates SELECT tenant, principal, version + 1, id || 'x', document, change, \
                live_since, author FROM mandates WHERE version = 2";
    let checks = [
        (
            set("mandates", "document = REPLACE(document, '\"100.00\"', '\"900.00\"')", "version = 2"),
            set("mandates", "document = REPLACE(document, '\"900.00\"', '\"100.00\"')", "version = 2"),
            "`mandates.document` of version 2",
        ),
        (
            copy.to_owned(),
            "DELETE FROM mandates WHERE version = 3".to_owned(),
            "no receipt says that version 3",
        ),
        (
            set("credentials", "expires_at = expires_at + 1000", live),
            set("credentials", "expires_at = expires_at - 1000", live),
            "`credentials.expires_at`",
        ),
        (
            set("credentials", "scopes = scopes || ' mandate:write'", &ours),
            set("credentials", "scopes = REPLACE(scopes, ' mandate:write', '')", &ours),
            "credentials.scopes",
        ),
        (
            set("credentials", "clauses = '[]'", &ours),
            set("credentials", "clauses = NULL", &ours),
            "`credentials.clauses`",
        ),
        (
            set("credentials", "revoked_at = NULL", &theirs),
            set("credentials", &format!("revoked_at = {revoked_at}"), &theirs),
            "was revoked",
        ),
        (
            set("principals", "roles = 'compliance'", "roles = 'member'"),
            set("principals", "roles = 'member'", "roles = 'compliance'"),
            "`principals.roles`",
        ),
        (
            set("agents", "kind = 'answering'", "kind = 'acting'"),
            set("agents", "kind = 'acting'", "kind = 'answering'"),
            "`agents.kind`",
        ),
        (
            set("decisions", "status = 'approved'", "status = 'open'"),
            set("decisions", "status = 'open'", "status = 'approved'"),
            "no receipt says that the approval of decision",
        ),
        (
            set("decisions", "status = 'approved'", "status = 'used'"),
            set("decisions", "status = 'used'", "status = 'approved'"),
            "was used by rcpt_",
        ),
        (
            set("tenants", "zone = 'Asia/Tokyo', slug = slug", "zone = 'UTC'"),
            set("tenants", "zone = 'UTC'", "zone = 'Asia/Tokyo'"),
            "`tenants.zone`",
        ),
    ];
    let folder = Folder::new();
    for (change, back, words) in &checks {
        server.database().connect().execute(change);
        let said_of = found(&server);
        assert!(said_of.iter().any(|one| one.contains(words)), "`{words}` in {said_of:?}");
        if *words == "`mandates.document` of version 2" {
            let looked = server.run(&["doctor", "--no-drill"]);
            let told = String::from_utf8_lossy(&looked.stdout).into_owned();
            let failed = told.lines().find(|line| line.starts_with("fail  authority")).unwrap_or_default();
            assert!(failed.contains(words), "{told}");
            let output = server.run(&["backup", &file(&folder, "backup")]);
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            assert!(said(&output).contains(words), "{}", said(&output));
        }
        server.database().connect().execute(back);
    }
    assert_eq!(found(&server), Vec::<String>::new());
}
