//! The process: how it starts, what it refuses to start with, and how it ends.

use crate::agent::Agent;
use crate::client::in_parallel;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::log::{check_verifies, check_whole, lines};
use crate::server::{Folder, Server, TENANT, ended, procura, said};
use serde_json::Value;
use std::process::Output;
use std::time::{Duration, Instant};

both!(
    a_data_directory_in_use_is_refused_by_name,
    sigterm_answers_the_calls_in_flight,
    a_start_says_where_and_on_what,
    a_second_setup_adds_a_tenant_and_the_same_one_is_refused,
    the_password_of_setup_is_taken_without_its_newline,
);

fn a_data_directory_in_use_is_refused_by_name(db: Db) {
    let server = Server::start(db);
    let second = ended(server.serve_command_at(0));
    assert!(!second.status.success());
    let directory = server.folder().display().to_string();
    assert!(said(&second).contains(&directory) && said(&second).contains("in use"), "{}", said(&second));
    server.client().get("/readyz").expect(200);
}

fn sigterm_answers_the_calls_in_flight(db: Db) {
    let mut server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let decision = agent.evaluate(&refund("5000.00")).expect_outcome("escalate")["decision"]["id"].clone();
    let wait = format!("/v1/decisions/{}?wait=25", decision.as_str().unwrap());
    let (waiting, answered, status) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| agent.try_send("GET", &wait, &[], None));
        let calling = scope.spawn(|| in_parallel(4, |_| receipts_until_gone(&agent)));
        std::thread::sleep(Duration::from_millis(700));
        let since = Instant::now();
        server.signal_terminate();
        let waiting = waiting.join().unwrap();
        let status = server.wait();
        assert!(since.elapsed() < Duration::from_secs(20), "ended after {:?}", since.elapsed());
        (waiting, calling.join().unwrap().concat(), status)
    });
    assert!(status.success(), "{status}: {}", server.log_tail());
    let told = waiting.expect("a caller who waited was cut off");
    assert_eq!(told.expect(200)["status"], "open");
    assert!(!answered.is_empty());
    check_verifies(&lines(&answered));
    let length = check_whole(server.database());
    let sql = format!("SELECT id AS text FROM receipts WHERE tenant = '{TENANT}'");
    let stored = server.database().connect().texts(&sql);
    assert_eq!(stored.len(), length);
    for receipt in &answered {
        assert!(stored.iter().any(|id| *id == receipt["id"]), "{} is not durable", receipt["id"]);
    }
}

fn receipts_until_gone(agent: &Agent) -> Vec<Value> {
    let mut receipts = Vec::new();
    while let Ok(reply) = agent.try_evaluate(&refund("1.00")) {
        match reply.status {
            200 => receipts.push(reply.json["receipt"].clone()),
            503 => break,
            status => panic!("{status}: {}", reply.text),
        }
    }
    receipts
}

fn a_start_says_where_and_on_what(db: Db) {
    let mut server = Server::start(db);
    assert!(server.terminate().success());
    let text = std::fs::read_to_string(server.log_file()).unwrap();
    let address = server.base().replace("http://", "");
    for word in [
        &*address,
        &server.folder().display().to_string(),
        if db == Db::Sqlite { "sqlite" } else { "postgres" },
    ] {
        let first: Vec<_> = text.lines().take(6).collect();
        assert!(
            first.iter().any(|line| line.contains(word)),
            "`{word}` is not in the first lines: {first:?}"
        );
    }
}

fn a_second_setup_adds_a_tenant_and_the_same_one_is_refused(db: Db) {
    let mut server = Server::set_up(db, &[TENANT, "quay"]);
    let again = server.set_up_tenant(TENANT);
    assert!(!again.status.success(), "{}", said(&again));
    assert!(said(&again).contains(TENANT), "{}", said(&again));
    let bad = server.set_up_tenant("Not A Slug");
    assert!(!bad.status.success() && said(&bad).contains("Not A Slug"), "{}", said(&bad));
    server.serve();
    for tenant in [TENANT, "quay"] {
        server.sign_in(tenant, crate::server::OPERATOR).get("/v1/mandate").expect(200);
        let checkpoint = server.client().get(&format!("/log/{tenant}/checkpoint"));
        assert_eq!(checkpoint.status, 200, "{}", checkpoint.text);
    }
}

fn the_password_of_setup_is_taken_without_its_newline(db: Db) {
    // The file ends in a newline, and the operator signs in without it.
    let server = Server::start(db);
    server.operator().get("/v1/mandate").expect(200);
}

/// Runs `serve` on a data directory that is set up, with these options, and expects it to end at once.
fn refused(server: &Server, options: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut serve = server.serve_command();
    serve.args(options).envs(environment.iter().copied());
    let output = ended(serve);
    assert!(!output.status.success(), "{options:?} {environment:?} was taken");
    output
}

#[test]
fn a_wrong_option_is_refused_with_what_it_got_and_what_it_takes() {
    let server = Server::set_up(Db::Sqlite, &[TENANT]);
    let folder = Folder::new();
    for (option, value) in [
        ("--database", "mysql://127.0.0.1/x"),
        ("--database", "sqlite:"),
        ("--public-url", "not an address"),
        ("--public-url", "ftp://example.test"),
        ("--config", "/nowhere/procura.toml"),
        ("--mail-from", "not a mailbox"),
    ] {
        let output = refused(&server, &[option, value], &[]);
        let words = said(&output);
        assert!(
            words.contains(option.trim_start_matches('-')) && words.contains(value),
            "{option} {value}: {words}"
        );
    }
    let output = refused(&server, &["--mail-folder", "/tmp", "--smtp-url", "smtp://127.0.0.1"], &[]);
    for option in ["mail-folder", "smtp-url"] {
        assert!(said(&output).contains(option), "the two contradict each other: {}", said(&output));
    }
    let output = refused(&server, &[], &[("PROCURA_PUBLIC_URL", "not an address")]);
    assert!(
        said(&output).contains("PROCURA_PUBLIC_URL") || said(&output).contains("public-url"),
        "{}",
        said(&output)
    );
    for (text, named) in [
        ("lisen = \"127.0.0.1:1\"\n", "lisen"),
        ("public-url = 7\n", "public-url"),
        ("database = [\n", "not TOML"),
    ] {
        let file = folder.write("procura.toml", text);
        let output = refused(&server, &["--config", &file.display().to_string()], &[]);
        assert!(said(&output).contains(named), "{text}: {}", said(&output));
    }
}

#[test]
fn a_directory_without_a_setup_is_refused_with_what_to_do() {
    let folder = Folder::new();
    let mut serve = procura(&["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
    let output = serve.arg(&*folder).output().unwrap();
    assert!(!output.status.success());
    assert!(said(&output).contains("setup"), "{}", said(&output));
    let mut serve = procura(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "/nowhere/at/all"]);
    let output = serve.output().unwrap();
    assert!(!output.status.success() && said(&output).contains("/nowhere/at/all"), "{}", said(&output));
}

#[test]
fn the_demo_takes_no_directory_of_somebody_s() {
    let server = Server::set_up(Db::Sqlite, &[TENANT]);
    let place = server.folder().display().to_string();
    let output =
        procura(&["demo", "--exit", "--listen", "127.0.0.1:0", "--data-dir", &place]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("the demo takes a directory of its own"), "{}", said(&output));
    let tenants = server.database().connect().number("SELECT COUNT(*) FROM tenants");
    assert_eq!(tenants, 1);
}
