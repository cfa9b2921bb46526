//! What both verifiers say of a whole log: one that was rewritten, one that was mixed with another tenant's, and one in
//! which nothing was answered under what had been narrowed.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{no_refunds, refund, small_refunds};
use crate::log::{SCRIPT, lines, verify, verify_files};
use crate::server::{Folder, Server, TENANT, procura, said};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

both!(
    nothing_was_answered_under_what_had_been_narrowed,
    what_is_taken_from_another_tenants_log_is_named,
    a_consistency_of_checkpoints_is_shown_by_the_receipts_between_them,
);

/// Every receipt of the log, in its order, as whoever sees the tenant's gets it.
fn all_receipts(server: &Server, compliance: &Client) -> Vec<Value> {
    let ids = format!("SELECT id AS text FROM receipts WHERE tenant = '{TENANT}' ORDER BY log_index");
    let ids = server.database().connect().texts(&ids);
    ids.iter().map(|id| compliance.get(&format!("/v1/receipts/{id}")).expect(200)).collect()
}

fn checkpoint(server: &Server) -> String {
    server.client().get(&format!("/log/{TENANT}/checkpoint")).text
}

/// Runs both on files of these names and texts.
#[track_caller]
fn both_say(files: &[(&str, &str)]) -> (Option<i32>, String) {
    let folder = Folder::new();
    let files: Vec<_> = files.iter().map(|(name, text)| folder.write(name, text)).collect();
    let output = verify_files(&[], &files.iter().map(|file| &**file).collect::<Vec<&Path>>());
    (output.status.code(), said(&output))
}

/// Runs both on what comes through a pipe.
#[track_caller]
fn both_say_of_a_pipe(text: &str) -> (Option<i32>, String) {
    let mut other = Command::new("python3");
    other.args([SCRIPT, "-"]);
    let [ours, theirs] = [procura(&["verify", "-"]), other].map(|mut command| {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    assert_eq!(ours.status.code(), theirs.status.code(), "{}; {}", said(&ours), said(&theirs));
    (ours.status.code(), said(&ours))
}

fn nothing_was_answered_under_what_had_been_narrowed(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    let (agent, ended) = (Agent::new(&member, "runner"), Agent::new(&member, "walker"));
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    ended.evaluate(&refund("2.00")).expect_outcome("allow");
    member.put_mandate(&no_refunds());
    agent.evaluate(&refund("1.00")).expect(200);
    member.delete(&format!("/v1/credentials/{}", ended.credential));
    let receipts = all_receipts(&server, &compliance);
    let folder = Folder::new();
    let file = folder.write("log.jsonl", &lines(&receipts));
    let output = verify_files(&["--narrowing", "--json"], &[&file]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let narrowed = &report["narrowing"][0];
    assert_eq!((&narrowed["answers"], &narrowed["first"]), (&json!(3), &json!(0)), "{report}");
    assert!(narrowed["changes"].as_u64() >= Some(3), "two versions of a mandate and a revocation: {report}");
    let not_read = narrowed["not_read"].as_array().unwrap();
    // What was recorded while they were fetched came after all of them.
    let count = u64::try_from(receipts.len()).unwrap();
    assert!(not_read.iter().all(|gap| gap["first"].as_u64() >= Some(count)), "{report}");

    let some: Vec<_> = receipts.iter().step_by(2).collect();
    let file = folder.write("some.jsonl", &lines(some));
    let output = verify_files(&["--narrowing"], &[&file]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("narrowing is not shown from leaf 1 to leaf 1"), "{}", said(&output));
}

fn what_is_taken_from_another_tenants_log_is_named(db: Db) {
    let mut server = Server::set_up(db, &[TENANT, "quay"]);
    server.serve();
    let line = |tenant: &str| {
        let person = server.person(tenant, "m@example.test", &["member"]);
        person.put_mandate(&small_refunds());
        let answer = Agent::new(&person, "runner").evaluate(&refund("1.00")).expect_outcome("allow");
        person.get(&format!("/v1/receipts/{}", answer["receipt"]["id"].as_str().unwrap())).expect(200)
    };
    let (ours, theirs) = (line(TENANT), line("quay"));
    assert_eq!(
        both_say(&[("both", &lines([&ours, &theirs]))]).0,
        Some(0),
        "two logs side by side are two logs"
    );
    for member in
        ["merkle", "tenant", "hash", "auth", "auth_key", "prev", "chain", "credential", "principal", "id"]
    {
        let mut swapped = ours.clone();
        swapped["receipt"][member] = theirs["receipt"][member].clone();
        if swapped != ours {
            let (status, words) = both_say(&[("swapped", &lines([&swapped]))]);
            assert_eq!(status, Some(1), "{member}: {words}");
        }
    }
    for document in ["input", "output", "content"] {
        let mut swapped = ours.clone();
        swapped[document] = theirs[document].clone();
        if swapped != ours {
            let (status, words) = both_say(&[("swapped", &lines([&swapped]))]);
            assert_eq!(status, Some(1), "{document}: {words}");
        }
    }
    let renamed = lines([&ours]).replace(&format!("\"{TENANT}\""), "\"quay\"");
    assert_eq!(both_say(&[("renamed", &renamed)]).0, Some(1));
}

fn a_consistency_of_checkpoints_is_shown_by_the_receipts_between_them(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let early = checkpoint(&server);
    agent.evaluate(&refund("2.00")).expect_outcome("allow");
    let late = checkpoint(&server);
    let all = lines(&all_receipts(&server, &compliance));
    for files in [
        [("early", &*early), ("all", &*all), ("late", &*late)],
        [("late", &*late), ("early", &*early), ("all", &*all)],
    ] {
        let (status, words) = both_say(&files);
        assert_eq!(status, Some(0), "{words}");
        assert!(!words.contains("one history is not shown"), "{words}");
    }
}

/// The database files of a server that does not run.
fn database_files(server: &Server) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(&**server.folder()).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            name.starts_with("procura.db").then(|| (name, std::fs::read(&path).unwrap()))
        })
        .collect()
}

/// The same keys, the same beginning, and two stories after it: whatever of both is laid side by side, the fork is named.
#[test]
fn a_log_that_was_rewritten_contradicts_what_was_kept_of_the_first_one() {
    let mut server = Server::start(Db::Sqlite);
    let member = server.member_with("m@example.test", &small_refunds());
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("1.00")).expect_outcome("allow");
    let before = checkpoint(&server);
    assert!(server.terminate().success());
    let kept = database_files(&server);
    server.serve();
    let mut first: Vec<Value> = Vec::new();
    for _ in 0..3 {
        first.push(agent.evaluate(&refund("2.00")).expect_outcome("allow")["receipt"].clone());
    }
    let (first_export, first_head) = (crate::log::export(&member, &agent.credential), checkpoint(&server));
    assert!(server.terminate().success());

    for (name, _) in database_files(&server) {
        std::fs::remove_file(server.folder().join(&name)).unwrap();
    }
    for (name, bytes) in kept {
        std::fs::write(server.folder().join(&name), bytes).unwrap();
    }
    server.serve();
    for _ in 0..12 {
        agent.evaluate(&refund("3.00")).expect_outcome("allow");
    }
    let second_export = crate::log::export(&member, &agent.credential);
    let second = lines(&all_receipts(&server, &compliance));
    assert_eq!(both_say(&[("second", &second)]).0, Some(0));
    assert_eq!(both_say(&[("second", &second_export)]).0, Some(0), "by itself the second story holds");
    let (status, words) = both_say(&[("before", &before), ("second", &second)]);
    assert_eq!(status, Some(0), "up to there it is the same log: {words}");
    assert!(!words.contains("one history is not shown"), "{words}");

    let first_receipt = lines([&first[0]]);
    for (what, files) in [
        ("a receipt", [("kept", &*first_receipt), ("second", &*second)]),
        ("a receipt beside an export", [("kept", &*first_receipt), ("second", &*second_export)]),
        ("an export", [("second", &*second_export), ("kept", &*first_export)]),
        ("a checkpoint", [("kept", &*first_head), ("second", &*second)]),
    ] {
        let (status, words) = both_say(&files);
        assert_eq!(status, Some(1), "{what} that was kept: {words}");
        assert!(words.contains("expected") && words.contains("found"), "{what}: {words}");
    }
    for (exports, named) in [(&first_export, "a fork"), (&second_export, "is repeated")] {
        let one_file = format!("{second_export}{exports}");
        let (status, words) = both_say(&[("exports", &one_file)]);
        assert_eq!(status, Some(1), "{words}");
        assert!(words.contains(named), "{words}");
    }
    // What comes through a pipe is gone when a second export shows that it should have been kept.
    assert_eq!(both_say_of_a_pipe(&second_export).0, Some(0));
    let (status, words) = both_say_of_a_pipe(&format!("{second_export}{first_export}"));
    assert_eq!(status, Some(2), "{words}");
    assert!(words.contains("give them as files"), "{words}");

    let folder = Folder::new();
    let (head, file) = (folder.write("kept", &first_head), folder.write("second", &second));
    let output = verify_files(&["--checkpoint", head.to_str().unwrap()], &[&file]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(verify(&folder, &second).status.code(), Some(0));
}

/// Links that lead back into it, and one to a folder that has the name of a tile.
#[test]
fn a_directory_of_a_log_is_read_once_whatever_links_stand_in_it() {
    let server = Server::start(Db::Sqlite);
    let member = server.member_with("m@example.test", &small_refunds());
    let answer = Agent::new(&member, "runner").evaluate(&refund("1.00")).expect_outcome("allow");
    let key = answer["receipt"]["merkle"]["key"].as_str().unwrap();
    let head = checkpoint(&server);
    let size = head.lines().nth(1).unwrap();
    let (status, _, tile) = crate::public_log::fetch(&server.client(), &format!("tile/0/000.p/{size}"));
    assert_eq!(status, 200);

    let folder = Folder::new();
    std::fs::create_dir_all(folder.join("log/tile/0/000.p")).unwrap();
    folder.write("log/checkpoint", &head);
    std::fs::write(folder.join(format!("log/tile/0/000.p/{size}")), &tile).unwrap();
    for (link, to) in [("log/back", "."), ("log/tile/0/001", "."), ("log/tile/1", "0"), ("linked", "log")] {
        std::os::unix::fs::symlink(to, folder.join(link)).unwrap();
    }
    for named in ["log", "linked"] {
        let output = verify_files(&["--key", key], &[&folder.join(named)]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).contains("checked 0 receipts, 1 checkpoint, 1 tile\n"), "{}", said(&output));
    }

    // The entries beside the hashes, and a proof of each leaf among them.
    let (status, _, bundle) =
        crate::public_log::fetch(&server.client(), &format!("tile/entries/000.p/{size}"));
    assert_eq!(status, 200);
    std::fs::create_dir_all(folder.join("log/tile/entries/000.p")).unwrap();
    let mirrored = folder.join(format!("log/tile/entries/000.p/{size}"));
    std::fs::write(&mirrored, &bundle).unwrap();
    let proof = server.client().get(&format!("/log/{TENANT}/proof?index=1")).text;
    let proof = folder.write("proof", &proof);
    let output = verify_files(&["--key", key], &[&folder.join("log"), &proof]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let counted = "checked 0 receipts, 1 checkpoint, 1 tile, 1 entry bundle, 1 inclusion proof\n";
    assert!(said(&output).contains(counted), "{}", said(&output));
    std::fs::write(&mirrored, [&bundle[..], &[0, 0]].concat()).unwrap();
    let output = verify_files(&["--key", key], &[&folder.join("log"), &proof]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("tile/entries/000.p/"), "{}", said(&output));
}

#[test]
fn what_cannot_be_read_is_told_from_what_does_not_hold() {
    let folder = Folder::new();
    let (missing, file) = (folder.join("missing"), folder.write("file", "{}"));
    let gone = missing.to_str().unwrap();
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    let empty = folder.join("empty");
    for (options, files) in [
        (&[][..], [&*missing]),
        (&["--checkpoint", gone], [&*file]),
        (&["--checkpoint", file.to_str().unwrap()], [&*file]),
        (&["--key", gone], [&*file]),
        (&["--key", gone, "--json"], [&*file]),
        (&[], [&*empty]),
    ] {
        let output = verify_files(options, &files);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", said(&output));
    }
}
