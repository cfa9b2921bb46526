//! A backup: taken while calls are answered, checked before it counts, and a server again elsewhere.

use crate::agent::Agent;
use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::log::{check_verifies, check_whole, export, lines, size};
use crate::server::{Folder, Server, TENANT, eventually, said};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

both!(
    a_backup_taken_while_calls_are_answered_is_a_server_again_elsewhere,
    a_file_that_is_there_is_not_replaced_unasked,
    a_log_that_does_not_hold_gives_no_backup,
);

/// What a test keeps its backups in.
pub(crate) fn file(folder: &Folder, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// Takes a backup, which must succeed; what it says as JSON.
#[track_caller]
pub(crate) fn back_up(server: &Server, file: &str) -> Value {
    let output = server.run(&["backup", "--json", file]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An empty place of the same sort, with the master key of a server.
pub(crate) fn empty_place(db: Db, of: &Server) -> Server {
    let place = Server::set_up(db, &[]);
    std::fs::copy(of.folder().join("master.key"), place.folder().join("master.key")).unwrap();
    place
}

/// The checkpoint that `procura backup` writes beside a file.
pub(crate) fn checkpoint_of(file: &str) -> String {
    format!("{file}.{TENANT}.checkpoint")
}

/// Runs `restore` with options, and expects a status.
#[track_caller]
pub(crate) fn restore(place: &Server, status: i32, arguments: &[&str]) -> String {
    let output = place.run(&[&["restore"], arguments].concat());
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    said(&output)
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn a_backup_taken_while_calls_are_answered_is_a_server_again_elsewhere(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let folder = Folder::new();
    let file = file(&folder, "a?b%41 #1.backup");
    let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (told, during) = std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            in_parallel(2, |_| {
                let mut receipts = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    receipts.push(agent.evaluate(&refund("1.00")).expect_outcome("allow")["receipt"].clone());
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                receipts
            })
            .concat()
        });
        eventually("calls are answered", || answered.load(Ordering::Relaxed) > 4);
        let told = back_up(&server, &file);
        is_over.store(true, Ordering::Relaxed);
        (told, calling.join().unwrap())
    });
    let tenant = &told["tenants"][0];
    let (held, root) = (tenant["size"].as_u64().unwrap(), tenant["root"].clone());
    assert!(held <= size(&server) && held > 5, "{told}");
    assert_eq!((mode(Path::new(&file)), &told["authenticated"]), (0o600, &Value::Bool(true)));
    let checkpoint = std::fs::read_to_string(tenant["checkpoint_file"].as_str().unwrap()).unwrap();
    assert_eq!(checkpoint.lines().nth(1), Some(&*held.to_string()), "{checkpoint}");
    let left: Vec<PathBuf> =
        std::fs::read_dir(&*folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left.len(), 2, "the file and its checkpoint, and nothing else: {left:?}");
    assert!(told["not_included"].as_str().unwrap().ends_with("master.key"));

    let mut other = empty_place(db, &server);
    let words = restore(&other, 0, &[&file, "--checkpoint", &checkpoint_of(&file)]);
    assert!(words.contains(&(held + 1).to_string()), "{words}");
    other.serve();
    let length = check_whole(other.database());
    assert_eq!(u64::try_from(length).unwrap(), held + 1, "one receipt more: that of the restoration");
    assert_eq!(restored(&other), ("log.restore".to_owned(), held));
    let sql =
        format!("SELECT input AS text FROM receipts WHERE tenant = '{TENANT}' AND kind = 'log.restore'");
    let input: Value = serde_json::from_str(&other.database().connect().texts(&sql)[0]).unwrap();
    assert_eq!((&input["size"], &input["root"]), (&tenant["size"], &root), "{input}");

    // The token of then is good, its chain goes on, all of it verifies and replays.
    let answer = agent.at(&other.base()).evaluate(&refund("2.00")).expect_outcome("allow");
    let before = during.iter().filter(|receipt| receipt["merkle"]["index"].as_u64().unwrap() < held);
    check_verifies(&lines(before.chain([&answer["receipt"]])));
    check_verifies(&export(&member.at(&other.base()), &agent.credential));
    let replayed = other.run(&["replay"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", said(&replayed));
    crate::doctor::check_well(&other, &[]);
}

/// The kind and the place of the log's receipt of a restoration.
pub(crate) fn restored(server: &Server) -> (String, u64) {
    let sql =
        format!("SELECT MAX(log_index) FROM receipts WHERE tenant = '{TENANT}' AND kind = 'log.restore'");
    let place = server.database().connect().number(&sql);
    let kind = format!("SELECT kind AS text FROM receipts WHERE tenant = '{TENANT}' AND log_index = {place}");
    (server.database().connect().texts(&kind)[0].clone(), u64::try_from(place).unwrap())
}

fn a_file_that_is_there_is_not_replaced_unasked(db: Db) {
    let server = Server::set_up(db, &[TENANT]);
    let folder = Folder::new();
    let file = file(&folder, "backup");
    std::fs::write(&file, "somebody's").unwrap();
    let output = server.run(&["backup", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("--force") && said(&output).contains(&file), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "somebody's");
    let output = server.run(&["backup", "--force", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let words = said(&output);
    for part in ["read back and checked", "NOT in it", "master.key", "harbour"] {
        assert!(words.contains(part), "`{part}` in {words}");
    }
    // Its checkpoint is not replaced unasked either, nor is a neighbour's file touched.
    std::fs::remove_file(&file).unwrap();
    let output = server.run(&["backup", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains(&checkpoint_of(&file)), "{}", said(&output));
    assert!(!Path::new(&file).exists(), "nothing is written then");
    std::fs::remove_file(checkpoint_of(&file)).unwrap();
    std::fs::write(format!("{file}.part"), "somebody's").unwrap();
    back_up(&server, &file);
    assert_eq!(std::fs::read_to_string(format!("{file}.part")).unwrap(), "somebody's");
    let nowhere = server.run(&["backup", "/nowhere/at/all/backup"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(said(&nowhere).contains("/nowhere/at/all/backup"), "{}", said(&nowhere));
}

fn a_log_that_does_not_hold_gives_no_backup(db: Db) {
    let server = Server::set_up(db, &[TENANT]);
    let folder = Folder::new();
    let file = file(&folder, "backup");
    server.database().connect().execute("UPDATE receipts SET output = '{}' WHERE log_index = 0");
    let output: Output = server.run(&["backup", &file]);
    assert_eq!(output.status.code(), Some(1));
    let words = said(&output);
    assert!(words.contains("index 0") && words.contains("changed") && words.contains("doctor"), "{words}");
    assert_eq!(std::fs::read_dir(&*folder).unwrap().count(), 0, "nothing is left behind");
}
