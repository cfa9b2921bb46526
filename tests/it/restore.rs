//! A restoration: refused where it would lose part of a log, unless told, and then recorded.

use crate::agent::Agent;
use crate::backup::{back_up, checkpoint_of, empty_place, file, restore, restored};
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{no_refunds, refund, small_refunds, with};
use crate::log::{check_whole, size};
use crate::server::{Folder, Server, TENANT, said};
use serde_json::Value;

both!(
    a_place_that_knows_nothing_of_the_log_needs_a_checkpoint_or_a_reason,
    a_backup_of_all_there_is_ends_no_session,
    a_backup_behind_the_database_that_is_there_is_refused_unless_told,
    a_checkpoint_from_elsewhere_counts_as_much,
    a_backup_of_another_course_of_the_log_is_refused,
    nothing_is_restored_under_a_running_server,
    a_file_that_is_no_backup_is_named,
    a_backup_goes_to_the_other_database_too,
);

/// What the public log has signed last.
#[track_caller]
fn checkpoint(server: &Server) -> String {
    server.client().get(&format!("/log/{TENANT}/checkpoint")).text
}

/// A server with a member and an agent, one call, and a backup of that.
fn backed_up(db: Db, folder: &Folder) -> (Server, Client, Agent, String) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let file = file(folder, "backup");
    back_up(&server, &file);
    (server, member, agent, file)
}

fn a_backup_behind_the_database_that_is_there_is_refused_unless_told(db: Db) {
    let folder = Folder::new();
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let asked = agent.evaluate(&refund("500.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let file = file(&folder, "backup");
    let held = back_up(&server, &file)["tenants"][0]["size"].as_u64().unwrap();
    let used = with(&refund("500.00"), "decision", decision);
    agent.evaluate(&used).expect_outcome("allow");
    member.put_mandate(&no_refunds());
    agent.evaluate(&refund("2.00")).expect_outcome("escalate");
    let known = size(&server);
    let last = checkpoint(&server);
    let mut server = server;
    assert!(server.terminate().success());
    let known_now = u64::try_from(check_whole(server.database())).unwrap();
    assert!(known_now >= known);

    let words = restore(&server, 1, &[&file]);
    for part in [
        format!("has {known_now} receipts"),
        format!("the backup {held}"),
        "2 gate.evaluate".to_owned(),
        "1 mandate.put".to_owned(),
        "--accept-loss REASON".to_owned(),
    ] {
        assert!(words.contains(&part), "`{part}` in {words}");
    }
    assert_eq!(u64::try_from(check_whole(server.database())).unwrap(), known_now, "nothing was changed");
    let (status, json) = as_json(&server, &[&file]);
    assert_eq!(
        (status, &json["restored"], &json["lost"]["logs"][0]["how"]),
        (1, &false.into(), &"behind".into())
    );
    restore(&server, 2, &[&file, "--accept-loss", " "]);

    let words = restore(&server, 0, &[&file, "--accept-loss", "the disk is gone"]);
    assert!(words.contains("accepted: ") && words.contains("narrowed or revoked"), "{words}");
    let (kind, place) = restored(&server);
    assert_eq!((&*kind, place), ("log.restore", held));
    check_recorded(&server, known_now);
    check_kept(&server, &words);

    server.serve();
    // What looked unused may have been used in what is lost, and was; nobody is signed in.
    let again = agent.evaluate(&used);
    again.expect_outcome("refuse");
    assert!(again.names("approval.withdrawn"), "{}", again.text);
    assert_eq!(member.get("/v1/mandate").status, 401);
    check_whole(server.database());
    assert_ne!(checkpoint(&server), last);
}

fn as_json(server: &Server, arguments: &[&str]) -> (i32, Value) {
    let output = server.run(&[&["restore", "--json"], arguments].concat());
    let json =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {}", said(&output)));
    (output.status.code().unwrap(), json)
}

/// The receipt says what was known, and why the loss was accepted.
#[track_caller]
fn check_recorded(server: &Server, known: u64) {
    let column = |column: &str| -> Value {
        let sql = format!(
            "SELECT {column} AS text FROM receipts WHERE tenant = '{TENANT}' AND kind = 'log.restore'"
        );
        serde_json::from_str(&server.database().connect().texts(&sql)[0]).unwrap()
    };
    let (input, output, content) = (column("input"), column("output"), column("content"));
    assert_eq!(input["known"][0]["size"], known, "{input}");
    assert_eq!(input["known"][0]["from"], "database", "{input}");
    assert!(input["reason"]["commitment"].is_string(), "the reason is committed to: {input}");
    assert_eq!(content["/input/reason"]["value"], "the disk is gone", "{content}");
    assert!(content["/input/by"]["value"].as_str().unwrap().contains("uid"), "{content}");
    assert_eq!(output["lossy"], true);
}

/// What was there is kept, whole.
#[track_caller]
fn check_kept(server: &Server, words: &str) {
    let count = match server.database() {
        crate::database::Store::Sqlite(_) => {
            let kept = std::fs::read_dir(&**server.folder()).unwrap().map(|entry| entry.unwrap().path());
            let kept: Vec<_> = kept
                .filter(|path| path.display().to_string().contains("procura.db.before-restore-"))
                .collect();
            assert_eq!(kept.len(), 1, "{kept:?}");
            assert!(words.contains(&kept[0].display().to_string()), "{words}");
            crate::database::Store::Sqlite(kept[0].clone()).connect().number("SELECT COUNT(*) FROM mandates")
        }
        crate::database::Store::Postgres { .. } => {
            let schemas = server.database().connect().texts(
                "SELECT nspname::text AS text FROM pg_namespace WHERE nspname LIKE 'before_restore_%'",
            );
            assert_eq!(schemas.len(), 1, "{schemas:?}");
            assert!(words.contains(&schemas[0]), "{words}");
            server.database().connect().number(&format!("SELECT COUNT(*) FROM {}.mandates", schemas[0]))
        }
    };
    assert!(count >= 3, "the narrowing that was lost is in what is kept");
}

fn a_checkpoint_from_elsewhere_counts_as_much(db: Db) {
    let folder = Folder::new();
    let (server, _, agent, backup) = backed_up(db, &folder);
    let before =
        folder.write("before", &std::fs::read_to_string(format!("{backup}.{TENANT}.checkpoint")).unwrap());
    agent.evaluate(&refund("3.00")).expect_outcome("allow");
    let after = folder.write("after", &checkpoint(&server));
    let (before, after) = (before.display().to_string(), after.display().to_string());

    let other = empty_place(db, &server);
    let words = restore(&other, 1, &[&backup, "--checkpoint", &before, "--checkpoint", &after]);
    assert!(words.contains(&after) && words.contains("would be lost"), "{words}");
    // Nobody's checkpoint, another log's, and one whose signature is not the log's.
    let text = std::fs::read_to_string(&after).unwrap();
    let grown = text.replacen(&format!("\n{}\n", text.lines().nth(1).unwrap()), "\n999999\n", 1);
    for (name, text) in [
        ("garbage", "no note".to_owned()),
        ("elsewhere", text.replacen("/log/harbour", "/log/quay", 1)),
        ("forged", grown),
    ] {
        let given = folder.write(name, &text).display().to_string();
        let words = restore(&other, 2, &[&backup, "--checkpoint", &given]);
        assert!(words.contains("--checkpoint") && words.contains(&given), "{name}: {words}");
    }
    restore(&other, 0, &[&backup, "--checkpoint", &before]);
    assert_eq!(restored(&other).0, "log.restore");
}

fn a_backup_of_another_course_of_the_log_is_refused(db: Db) {
    let folder = Folder::new();
    let (server, _, agent, backup) = backed_up(db, &folder);
    agent.evaluate(&refund("3.00")).expect_outcome("allow");
    agent.evaluate(&refund("4.00")).expect_outcome("allow");
    let first = folder.write("first", &checkpoint(&server)).display().to_string();
    // The backup goes on elsewhere, beyond what was signed here.
    let mut other = empty_place(db, &server);
    restore(&other, 0, &[&backup, "--checkpoint", &checkpoint_of(&backup)]);
    other.serve();
    for euros in ["5.00", "6.00", "7.00", "8.00"] {
        agent.at(&other.base()).evaluate(&refund(euros)).expect_outcome("allow");
    }
    let second = file(&folder, "second");
    back_up(&other, &second);
    let third = empty_place(db, &server);
    let words = restore(&third, 1, &[&second, "--checkpoint", &first]);
    assert!(words.contains("another log of `harbour`"), "{words}");
    let (_, json) = as_json(&third, &[&second, "--checkpoint", &first]);
    assert_eq!(json["lost"]["logs"][0]["how"], "forked", "{json}");
}

fn nothing_is_restored_under_a_running_server(db: Db) {
    let folder = Folder::new();
    let (mut server, _, _, backup) = backed_up(db, &folder);
    let words = restore(&server, 1, &[&backup, "--accept-loss", "anyway"]);
    assert!(words.contains("in use"), "{words}");
    if db == Db::Postgres {
        // Nor under another node's, which holds no lock that this machine sees.
        let mut node = server.another_node();
        assert!(server.terminate().success());
        let words = restore(&server, 1, &[&backup, "--accept-loss", "anyway"]);
        assert!(words.contains("in use") && words.contains("every node"), "{words}");
        assert!(node.terminate().success());
    } else {
        assert!(server.terminate().success());
    }
    restore(&server, 0, &[&backup, "--accept-loss", "anyway"]);
}

fn a_file_that_is_no_backup_is_named(db: Db) {
    let folder = Folder::new();
    let (server, _, _, backup) = backed_up(db, &folder);
    let other = empty_place(db, &server);
    let text = folder.write("text", "no backup").display().to_string();
    let empty = folder.write("empty", "").display().to_string();
    for given in [&text, &empty, "/nowhere/at/all"] {
        let words = restore(&other, 2, &[given]);
        assert!(words.contains(given), "{given}: {words}");
    }
    let bytes = std::fs::read(&backup).unwrap();
    let cut = folder.join("cut");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let output = other.run(&["restore", &cut.display().to_string()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("was cut short"), "{}", said(&output));
    // One value in it changed by hand.
    let changed = folder.join("changed");
    std::fs::write(&changed, &bytes).unwrap();
    let store = crate::database::Store::Sqlite(changed.clone());
    store.connect().execute("UPDATE receipts SET output = REPLACE(output, 'allow', 'refuse')");
    let words = restore(&other, 1, &[&changed.display().to_string()]);
    assert!(words.contains("was changed") && words.contains("nothing was changed"), "{words}");
    // Another server's key opens nothing in it.
    let stranger = Server::set_up(db, &["quay"]);
    let words = restore(&stranger, 1, &[&backup, "--accept-loss", "on purpose"]);
    assert!(words.contains("is not the one that the backup was made under"), "{words}");
    let keyless = Server::set_up(db, &[]);
    let words = restore(&keyless, 1, &[&backup]);
    assert!(words.contains("master.key"), "{words}");
    restore(&other, 0, &[&backup, "--checkpoint", &checkpoint_of(&backup)]);
}

fn a_backup_goes_to_the_other_database_too(db: Db) {
    let folder = Folder::new();
    let (server, _, agent, backup) = backed_up(db, &folder);
    let other = match db {
        Db::Sqlite => Db::Postgres,
        Db::Postgres => Db::Sqlite,
    };
    let mut place = empty_place(other, &server);
    restore(&place, 0, &[&backup, "--checkpoint", &checkpoint_of(&backup)]);
    place.serve();
    agent.at(&place.base()).evaluate(&refund("2.00")).expect_outcome("allow");
    check_whole(place.database());
    let replayed = place.run(&["replay"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", said(&replayed));
}

#[test]
fn a_database_that_cannot_be_read_is_replaced_only_when_told() {
    let folder = Folder::new();
    let (mut server, _, _, backup) = backed_up(Db::Sqlite, &folder);
    assert!(server.terminate().success());
    let path = server.folder().join("procura.db");
    std::fs::write(&path, vec![7; 40_000]).unwrap();
    let words = restore(&server, 1, &[&backup]);
    assert!(words.contains("nobody knows how far"), "{words}");
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 40_000], "it is as it was");
    restore(&server, 0, &[&backup, "--accept-loss", "the disk gave it up"]);
    server.serve();
}

/// An approval that was not used, in a backup.
fn approved(db: Db, folder: &Folder) -> (Server, Client, Agent, Value, String) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let asked = agent.evaluate(&refund("500.00")).expect_outcome("escalate");
    let decision = asked["decision"]["id"].as_str().unwrap();
    member.approve(decision).expect(200);
    let mut server = server;
    assert!(server.terminate().success());
    let file = file(folder, "backup");
    back_up(&server, &file);
    (server, member, agent, with(&refund("500.00"), "decision", decision), file)
}

fn a_place_that_knows_nothing_of_the_log_needs_a_checkpoint_or_a_reason(db: Db) {
    let folder = Folder::new();
    let (server, member, agent, used, backup) = approved(db, &folder);
    let mut place = empty_place(db, &server);
    let words = restore(&place, 1, &[&backup]);
    assert!(words.contains("nobody knows how far the log of `harbour` went"), "{words}");
    let (_, json) = as_json(&place, &[&backup]);
    assert_eq!(json["lost"]["unknown"][0]["tenant"], TENANT, "{json}");
    restore(&place, 0, &[&backup, "--checkpoint", &checkpoint_of(&backup)]);
    // The checkpoint says how far it went at least: whatever came after it, nobody knows.
    place.serve();
    let again = agent.at(&place.base()).evaluate(&used);
    again.expect_outcome("refuse");
    assert!(again.names("approval.withdrawn"), "{}", again.text);
    assert_eq!(member.at(&place.base()).get("/v1/mandate").status, 401);
}

fn a_backup_of_all_there_is_ends_no_session(db: Db) {
    let folder = Folder::new();
    let (mut server, member, agent, used, backup) = approved(db, &folder);
    restore(&server, 0, &[&backup]);
    server.serve();
    assert_eq!(member.at(&server.base()).get("/v1/mandate").status, 200);
    agent.at(&server.base()).evaluate(&used).expect_outcome("allow");
}

#[test]
fn a_database_that_lost_its_head_or_itself_hides_no_loss() {
    let folder = Folder::new();
    let (server, member, agent, backup) = backed_up(Db::Sqlite, &folder);
    let early = checkpoint_of(&backup);
    let early = std::fs::read_to_string(early).unwrap();
    member.put_mandate(&no_refunds());
    agent.evaluate(&refund("2.00")).expect_outcome("escalate");
    let mut server = server;
    assert!(server.terminate().success());
    let path = server.folder().join("procura.db");
    let kept = std::fs::read(&path).unwrap();
    let size = early.lines().nth(1).unwrap();
    let set_back = format!("UPDATE heads SET size = {size}, checkpoint = '{early}'");
    for (change, words) in [
        (None, "does not hold it"),
        (Some(""), "does not hold it"),
        (Some("DELETE FROM heads"), "the log has no head"),
        (Some(&*set_back), "lie beyond the head"),
    ] {
        std::fs::write(&path, &kept).unwrap();
        match change {
            None => std::fs::remove_file(&path).unwrap(),
            Some("") => std::fs::write(&path, "").unwrap(),
            Some(sql) => server.database().connect().execute(&format!("PRAGMA foreign_keys=OFF; {sql}")),
        }
        let said = restore(&server, 1, &[&backup]);
        assert!(said.contains("nobody knows how far") && said.contains(words), "`{words}` in {said}");
    }
    restore(&server, 0, &[&backup, "--accept-loss", "it was set back"]);
    server.serve();
    assert_eq!(member.at(&server.base()).get("/v1/mandate").status, 401);
}

#[test]
fn what_procura_did_not_make_is_in_no_backup() {
    let folder = Folder::new();
    let (server, _, _, backup) = backed_up(Db::Sqlite, &folder);
    let second = file(&folder, "second");
    for (sql, back, words) in [
        (
            "CREATE TRIGGER widens AFTER INSERT ON credentials BEGIN UPDATE credentials SET expires_at = 0; END",
            "DROP TRIGGER widens",
            "the trigger `widens` on `credentials`",
        ),
        ("CREATE VIEW seen AS SELECT * FROM receipts", "DROP VIEW seen", "the view `seen`"),
        ("CREATE TABLE extra (a TEXT)", "DROP TABLE extra", "the table `extra`"),
        ("CREATE INDEX odd ON receipts (intent)", "DROP INDEX odd", "the index `odd`"),
    ] {
        let changed = folder.write("changed", "").display().to_string();
        std::fs::copy(&backup, &changed).unwrap();
        crate::database::Store::Sqlite(changed.clone().into()).connect().execute(sql);
        let told = restore(&empty_place(Db::Sqlite, &server), 1, &[&changed, "--accept-loss", "why not"]);
        assert!(told.contains(words) && told.contains("nothing was changed"), "`{words}` in {told}");
        server.database().connect().execute(sql);
        let output = server.run(&["backup", &second]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(words), "`{words}`");
        server.database().connect().execute(back);
    }
    back_up(&server, &second);
}

#[test]
fn a_database_in_use_is_so_from_every_data_directory() {
    let folder = Folder::new();
    let (mut server, _, _, backup) = backed_up(Db::Sqlite, &folder);
    let other = empty_place(Db::Sqlite, &server);
    let url = format!("sqlite:{}", server.folder().join("procura.db").display());
    let asked = ["restore", &backup, "--accept-loss", "anyway", "--database", &url];
    let rotate = ["keys", "rotate", "--tenant", TENANT, "--purpose", "token", "--database", &url];
    for arguments in [&asked[..], &rotate[..]] {
        let output = other.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("procura.db` is in use"), "{}", said(&output));
    }
    assert!(server.terminate().success());
    let output = other.run(&asked);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}
