//! A server that is shown a checkpoint which others hold does not start on a log that is behind it.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::server::{Folder, Server, TENANT, ended, said};
use crate::witness::{Mood, Witness};
use std::path::Path;

both!(
    a_log_that_lost_its_end_is_not_served_to_those_who_hold_its_checkpoint,
    a_log_that_went_on_from_an_old_copy_is_not_served_to_those_who_hold_its_checkpoint,
);

/// The newest checkpoint as a file, with its size and its root in base64.
fn held(server: &Server, folder: &Folder, name: &str) -> (String, u64) {
    let note = server.client().get(&format!("/log/{TENANT}/checkpoint")).text;
    let size = note.lines().nth(1).unwrap().parse().unwrap();
    (folder.write(name, &note).display().to_string(), size)
}

/// Serving with checkpoints ends at once, and this is said.
#[track_caller]
fn refused(server: &Server, checkpoints: &[&str]) -> String {
    let mut serve = server.serve_command();
    for checkpoint in checkpoints {
        serve.args(["--checkpoint", checkpoint]);
    }
    let output = ended(serve);
    assert!(!output.status.success(), "served: {}", said(&output));
    said(&output)
}

/// Answers an agent so many times more.
fn grow(agent: &Agent, count: usize, euros: &str) {
    for _ in 0..count {
        agent.evaluate(&refund(euros)).expect_outcome("allow");
    }
}

/// A log with an old copy kept beside it, and the new one's checkpoint: the copy is what stands in the tables again.
struct Rewound {
    server: Server,
    agent: Agent,
    folder: Folder,
    old: (String, u64),
    new: (String, u64),
}

fn rewound(db: Db) -> Rewound {
    let mut server = Server::start(db);
    let folder = Folder::new();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    // More than one full tile, so that both full and partial ones lead to the roots.
    grow(&agent, 260, "1.00");
    let old = held(&server, &folder, "old");
    assert!(server.terminate().success());
    let tables = ["receipts", "heads", "tiles"];
    let mut connection = server.database().connect();
    for table in tables {
        connection.execute(&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}"));
    }
    server.serve();
    grow(&agent, 10, "2.00");
    let new = held(&server, &folder, "new");
    assert!(server.terminate().success());
    for table in tables {
        connection.execute(&format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table}"));
    }
    Rewound { server, agent, folder, old, new }
}

fn a_log_that_lost_its_end_is_not_served_to_those_who_hold_its_checkpoint(db: Db) {
    let Rewound { server, agent, folder, old, new } = rewound(db);
    let words = refused(&server, &[&old.0, &new.0]);
    let here = crate::log::check_whole(server.database());
    for part in [&*new.0, &format!("{} leaves", new.1), &format!("has {here}"), "lost its end", "sha256:"] {
        assert!(words.contains(part), "`{part}` is not in {words}");
    }
    // Who holds the older one alone finds nothing wrong, nor does the log grow before it is looked at.
    assert_eq!(crate::log::check_whole(server.database()), here);
    let mut server = server.option("--checkpoint", &old.0);
    server.serve();
    grow(&agent, 1, "3.00");
    drop(folder);
}

fn a_log_that_went_on_from_an_old_copy_is_not_served_to_those_who_hold_its_checkpoint(db: Db) {
    let Rewound { server, agent, folder, old, new } = rewound(db);
    let witness = Witness::new("witness.example", Mood::Honest);
    let mut server = server.option("--witness", &format!("{} http://127.0.0.1:9", witness.key()));
    server.serve();
    not_taken(&server, &witness, &new.0, "it is of");
    grow(&agent, 20, "3.00");
    not_taken(&server, &witness, &new.0, "its root at");
    let forked = held(&server, &folder, "forked");
    assert!(forked.1 > new.1);
    assert!(server.terminate().success());
    let words = refused(&server, &[&new.0]);
    assert!(words.contains(&*new.0) && words.contains(&format!("first {} leaves", new.1)), "{words}");
    assert_eq!(words.matches("sha256:").count(), 2, "both roots are named: {words}");
    let mut server = server.option("--checkpoint", &old.0).option("--checkpoint", &forked.0);
    server.serve();
    assert!(server.terminate().success());

    // Leaves changed below the head are found through the roots as well.
    let mut connection = server.database().connect();
    connection.execute("UPDATE receipts SET hash = prev WHERE log_index = 259");
    let words = refused(&server, &[]);
    assert!(words.contains("does not lead") || words.contains("had root"), "{words}");
}

/// A checkpoint of the other course of the log, though signed by it and by a witness, is not taken for one of this.
#[track_caller]
fn not_taken(server: &Server, witness: &Witness, file: &str, why: &str) {
    let note = std::fs::read_to_string(file).unwrap();
    let text = format!("{}\n", note.split("\n\n").next().unwrap());
    let body = format!("{note}{}", witness.cosign(&text));
    let path = format!("/log/{TENANT}/cosignature");
    let answer =
        server.client().send("POST", &path, &[("content-type", "text/plain")], Some(body.as_bytes()));
    let detail = answer.expect_problem(409)["detail"].to_string();
    assert!(detail.contains("this log never stood there") && detail.contains(why), "{detail}");
    assert_eq!(server.client().get(&format!("/log/{TENANT}/witnessed")).status, 404);
}

#[test]
fn what_is_no_checkpoint_of_a_log_here_is_refused_by_its_file() {
    let mut other = Server::set_up(Db::Sqlite, &["quay"]);
    other.serve();
    let mut server = Server::start(Db::Sqlite);
    let folder = Folder::new();
    let (mine, size) = held(&server, &folder, "mine");
    assert!(server.terminate().success());
    let note = std::fs::read_to_string(&mine).unwrap();
    let longer = note.replacen(&format!("\n{size}\n"), &format!("\n{}\n", size + 1), 1);
    let quay = other.client().get("/log/quay/checkpoint").text;
    for (text, why) in [
        (quay, "no log here"),
        (longer, "does not fit"),
        (note.replace('\u{2014}', "-"), "signature line"),
        (String::new(), "empty line"),
    ] {
        let file = folder.write("wrong", &text).display().to_string();
        let words = refused(&server, &[&mine, &file]);
        assert!(words.contains(&file) && words.contains(why), "{why}: {words}");
    }
    let absent = folder.join("absent").display().to_string();
    assert!(refused(&server, &[&absent]).contains(&absent));
    taken_from_elsewhere(&server, &folder, &mine);
}

/// The same option as a variable, one file a line, and as a list in a configuration file.
fn taken_from_elsewhere(server: &Server, folder: &Folder, mine: &str) {
    let absent = Path::new("/nowhere/at/all").display().to_string();
    let mut serve = server.serve_command();
    serve.env("PROCURA_CHECKPOINT", format!("{mine}\n{absent}\n"));
    let words = said(&ended(serve));
    assert!(words.contains(&absent) && words.contains("PROCURA_CHECKPOINT"), "{words}");
    let config = folder.write("procura.toml", &format!("checkpoint = [\"{mine}\", \"{absent}\"]\n"));
    let mut serve = server.serve_command();
    serve.arg("--config").arg(&config);
    let words = said(&ended(serve));
    assert!(words.contains(&absent) && words.contains(&config.display().to_string()), "{words}");
}
