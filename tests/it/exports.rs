//! Copies of the log of every scope and form: they hold what is their own, say where they end, and go on where they
//! broke off with the same bytes.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{no_refunds, refund, small_refunds};
use crate::log::{check_verifies, size};
use crate::server::{Folder, OPERATOR, Server, TENANT, procura, said};
use crate::visitor::Visitor;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;

both!(
    each_scope_holds_what_is_its_own_and_verifies,
    a_tenants_export_alone_proves_narrowing,
    nobody_takes_what_is_not_theirs_to_see,
    what_broke_off_goes_on_with_the_same_bytes,
    a_file_of_the_console_that_was_cut_grows_to_the_same,
    a_table_says_where_it_ends,
    the_page_begins_gives_and_lists_exports,
);

/// A member whose two agents were answered, with their mandate narrowed in between, and somebody of compliance.
pub(crate) struct Scene {
    pub(crate) server: Server,
    member: Client,
    pub(crate) compliance: Client,
    pub(crate) runner: Agent,
    walker: Agent,
}

impl Scene {
    pub(crate) fn new(db: Db) -> Self {
        let server = Server::start(db);
        let member = server.member_with("m@example.test", &small_refunds());
        let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
        let (runner, walker) = (Agent::new(&member, "runner"), Agent::new(&member, "walker"));
        for euros in 1..=5 {
            runner.evaluate(&refund(&format!("{euros}.00"))).expect_outcome("allow");
            walker.evaluate(&refund("5000.00")).expect_outcome("escalate");
        }
        member.put_mandate(&no_refunds());
        runner.evaluate(&refund("1.00")).expect(200);
        let other = server.member_with("n@example.test", &small_refunds());
        Agent::new(&other, "other").evaluate(&refund("2.00")).expect_outcome("allow");
        Self { server, member, compliance, runner, walker }
    }

    fn principal(&self) -> String {
        let people = self.server.operator().all("/v1/principals");
        let found = people.iter().find(|person| person["email"] == "m@example.test").unwrap();
        found["id"].as_str().unwrap().to_owned()
    }
}

/// The header, the lines between and the manifest.
fn parts(text: &str) -> (Value, Vec<Value>, Value) {
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let manifest = lines.pop().unwrap();
    let header = lines.remove(0);
    assert_eq!(manifest["receipt"]["kind"], "export", "{manifest}");
    (header, lines, manifest)
}

fn taken(person: &Client, path: &str) -> String {
    let reply = person.get(path);
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

fn indices(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["receipt"]["merkle"]["index"].as_u64().unwrap()).collect()
}

fn each_scope_holds_what_is_its_own_and_verifies(db: Db) {
    let scene = Scene::new(db);
    let principal = scene.principal();
    let whole = taken(&scene.compliance, "/v1/calls/export?format=jsonl");
    check_verifies(&whole);
    for line in whole.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let canonical = serde_json_canonicalizer::to_string(&value).unwrap();
        assert_eq!(line, canonical, "a line as RFC 8785 writes it");
    }
    let (header, all, _) = parts(&whole);
    assert_eq!(header["subject"], json!({"tenant": TENANT}));
    assert_eq!(indices(&all), (0..header["size"].as_u64().unwrap()).collect::<Vec<_>>(), "the whole log");
    assert!(all.iter().all(|line| line["receipt"]["merkle"]["size"] == header["size"]), "paths to one tree");
    for (path, member, id) in [
        (
            format!("/v1/credentials/{}/calls/export", scene.runner.credential),
            "credential",
            &scene.runner.credential,
        ),
        (format!("/v1/agents/{}/calls/export", scene.walker.id), "agent", &scene.walker.id),
        (format!("/v1/principals/{principal}/calls/export"), "principal", &principal),
    ] {
        let text = taken(&scene.member, &path);
        check_verifies(&text);
        let (header, lines, manifest) = parts(&text);
        assert_eq!(header["subject"], json!({member: id}), "{path}");
        let size = header["size"].as_u64().unwrap();
        // A credential's export is its chain: the act that made it stands in its person's.
        let is_own = |line: &&Value| {
            line["receipt"][member] == *id && (member != "credential" || line["receipt"]["chain"] == *id)
        };
        let own: Vec<Value> = all.iter().filter(is_own).cloned().collect();
        let found: Vec<u64> = indices(&lines)
            .into_iter()
            .filter(|index| usize::try_from(*index).unwrap() < all.len())
            .collect();
        assert_eq!(found, indices(&own), "{path}");
        assert!(lines.len() >= 5 && indices(&lines).iter().all(|index| *index < size), "{path}");
        assert_eq!(manifest["output"]["lines"], json!(lines.len()));
        if member == "principal" {
            assert!(lines.iter().any(|line| line["receipt"]["kind"] == "mandate.put"), "their own acts too");
        }
        let (from, until) = (&lines[1]["receipt"]["at"], &lines[lines.len() - 1]["receipt"]["at"]);
        let (from, until) = (from.as_str().unwrap(), until.as_str().unwrap());
        let some = taken(&scene.member, &format!("{path}?from={from}&until={until}"));
        check_verifies(&some);
        let inside = |line: &&Value| (from..until).contains(&line["receipt"]["at"].as_str().unwrap());
        let expected: Vec<Value> = lines.iter().filter(inside).cloned().collect();
        assert!(!expected.is_empty() && expected.len() < lines.len(), "{from} {until}");
        assert_eq!(indices(&parts(&some).1), indices(&expected), "{path}");
    }
    let wrong = scene.member.get(&format!(
        "/v1/principals/{principal}/calls/export?from=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z"
    ));
    assert_eq!(wrong.status, 422, "{}", wrong.text);
}

fn a_tenants_export_alone_proves_narrowing(db: Db) {
    let scene = Scene::new(db);
    let folder = Folder::new();
    let file = folder.write("log.jsonl", &taken(&scene.compliance, "/v1/calls/export"));
    let output = procura(&["verify", "--narrowing", "--json"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["narrowing"][0]["first"], 0, "{report}");
    assert_eq!(report["narrowing"][0]["answers"], 12, "{report}");
}

fn nobody_takes_what_is_not_theirs_to_see(db: Db) {
    let scene = Scene::new(db);
    let principal = scene.principal();
    let other = scene.server.sign_in(TENANT, "n@example.test");
    let operator = scene.server.sign_in(TENANT, OPERATOR);
    for (who, person) in [("another member", &other), ("an operator", &operator)] {
        assert_eq!(person.get("/v1/calls/export").status, 403, "{who}");
        for path in [
            format!("/v1/principals/{principal}/calls/export"),
            format!("/v1/agents/{}/calls/export", scene.runner.id),
            format!("/v1/credentials/{}/calls/export", scene.runner.credential),
        ] {
            assert_eq!(person.get(&path).status, 404, "{who}: {path}");
            check_verifies(&taken(&scene.compliance, &path));
        }
    }
    assert_eq!(scene.member.get("/v1/calls/export").status, 403);
    let agent = scene.runner.client();
    assert_eq!(agent.get(&format!("/v1/agents/{}/calls/export", scene.runner.id)).status, 403);
}

/// How many exports the log says were taken.
fn recorded(scene: &Scene) -> usize {
    let sql = "SELECT id AS text FROM receipts WHERE kind = 'export'";
    scene.server.database().connect().texts(sql).len()
}

fn what_broke_off_goes_on_with_the_same_bytes(db: Db) {
    let scene = Scene::new(db);
    for format in ["jsonl", "csv"] {
        let whole = scene.compliance.get(&format!("/v1/calls/export?format={format}"));
        let id = whole.header("procura-export").unwrap().to_owned();
        let (whole, taken_before) = (whole.text, recorded(&scene));
        scene.runner.evaluate(&refund("3.00")).expect(200);
        let first = whole.find('\n').unwrap();
        let last = whole.trim_end().rfind('\n').unwrap();
        for cut in [
            0,
            1,
            first,
            first + 1,
            first + 20,
            whole.len() / 2,
            last,
            last + 1,
            last + 9,
            whole.len() - 1,
            whole.len(),
        ] {
            let rest = taken(&scene.compliance, &format!("/v1/calls/export?export={id}&after={cut}"));
            assert_eq!(rest, whole[cut..], "{format}, cut after {cut} bytes");
        }
        assert_eq!(recorded(&scene), taken_before, "one export, however often it is gone on with");
        for (path, status) in [
            (format!("/v1/calls/export?export={id}&format={format}"), 422),
            ("/v1/calls/export?after=5".to_owned(), 422),
            (format!("/v1/agents/{}/calls/export?export={id}", scene.runner.id), 404),
            ("/v1/calls/export?export=exp_01j00000000000000000000000".to_owned(), 404),
        ] {
            let reply = scene.compliance.get(&path);
            assert_eq!(reply.status, status, "{path}: {}", reply.text);
        }
        let other = scene.server.person(TENANT, &format!("{format}@example.test"), &["compliance"]);
        let path = format!("/v1/calls/export?export={id}");
        assert_eq!(other.get(&path).status, 404, "an export is of whoever began it");
        let past = scene.compliance.try_send("GET", &format!("{path}&after={}", whole.len() + 1), &[], None);
        assert!(past.is_err(), "more than there is breaks off");
        let ids = format!(
            "UPDATE exports SET begun_at = 0, header = REPLACE(header, '\"at\":\"20', '\"at\":\"19') WHERE id = '{id}'"
        );
        scene.server.database().connect().execute(&ids);
        assert_eq!(scene.compliance.get(&path).status, 404, "after a day it is over");
    }
}

fn a_file_of_the_console_that_was_cut_grows_to_the_same(db: Db) {
    let mut scene = Scene::new(db);
    let length = size(&scene.server);
    assert!(scene.server.terminate().success());
    let folder = Folder::new();
    let run = |arguments: &[&str]| scene.server.run(&[&["export"], arguments].concat());
    for format in ["jsonl", "csv"] {
        let file = folder.join(format!("log.{format}"));
        let out = file.to_str().unwrap();
        let done = run(&["--tenant", TENANT, "--format", format, "--out", out]);
        assert!(done.status.success(), "{}", said(&done));
        assert!(said(&done).contains(" calls of the tenant"), "{}", said(&done));
        let whole = fs::read(&file).unwrap();
        assert!(std::str::from_utf8(&whole).unwrap().lines().count() >= usize::try_from(length).unwrap());
        if format == "jsonl" {
            check_verifies(std::str::from_utf8(&whole).unwrap());
        }
        let ends: Vec<usize> = (0..whole.len()).filter(|place| whole[*place] == b'\n').collect();
        let second = ends[1];
        for cut in [
            second + 1,
            second + 30,
            ends[ends.len() / 2] + 1,
            ends[ends.len() - 2] + 1,
            whole.len() - 1,
            whole.len(),
        ] {
            let part = folder.join(format!("again.{format}.part"));
            fs::write(&part, &whole[..cut]).unwrap();
            let done = run(&["--resume", part.to_str().unwrap()]);
            assert!(done.status.success(), "{}", said(&done));
            let grown = fs::read(folder.join(format!("again.{format}"))).unwrap();
            fs::remove_file(folder.join(format!("again.{format}"))).unwrap();
            assert!(
                grown == whole,
                "{format}, cut after {cut} bytes: {} bytes, {} were",
                grown.len(),
                whole.len()
            );
            assert!(!part.exists(), "it has its name now");
        }
        let torn = folder.join(format!("torn.{format}"));
        fs::write(&torn, [&whole[..second + 5], &[0; 40]].concat()).unwrap();
        assert!(
            run(&["--resume", torn.to_str().unwrap()]).status.success(),
            "what a crash left is written over"
        );
        assert!(fs::read(&torn).unwrap() == whole);
        let mut changed = whole[..=ends[4]].to_vec();
        changed[second + 12] ^= 1;
        fs::write(&torn, &changed).unwrap();
        let refused = run(&["--resume", torn.to_str().unwrap()]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(said(&refused).contains(&format!("byte {} differs", second + 12)), "{}", said(&refused));
    }
    let stranger = folder.write("stranger", "hello\nthere\n");
    let refused = run(&["--resume", stranger.to_str().unwrap()]);
    assert!(said(&refused).contains("is not the beginning of an export"), "{}", said(&refused));
    for (arguments, words) in [
        (
            vec!["--format", "csv", "--out", "x"],
            "--credential`, `--agent`, `--principal` or `--tenant` is needed",
        ),
        (
            vec!["--tenant", "harbour", "--agent", &scene.runner.id, "--format", "csv", "--out", "x"],
            "an export has one",
        ),
        (vec!["--tenant", "nowhere", "--format", "csv", "--out", "x"], "there is no tenant `nowhere`"),
        (vec!["--tenant", "harbour", "--format", "xml", "--out", "x"], "csv, jsonl or parquet"),
    ] {
        let refused = run(&arguments);
        assert!(!refused.status.success() && said(&refused).contains(words), "{}", said(&refused));
    }
    let principal = {
        let sql = "SELECT id AS text FROM principals WHERE email = 'm@example.test'";
        scene.server.database().connect().texts(sql).remove(0)
    };
    for (option, id) in [
        ("--agent", &scene.walker.id),
        ("--principal", &principal),
        ("--credential", &scene.runner.credential),
    ] {
        let file = folder.join("part.jsonl");
        let done = run(&[option, id, "--format", "jsonl", "--out", file.to_str().unwrap()]);
        assert!(done.status.success(), "{}", said(&done));
        let text = fs::read_to_string(&file).unwrap();
        check_verifies(&text);
        // A file that is there may be the only copy of another log.
        let again = [option, id, "--format", "jsonl", "--out", file.to_str().unwrap()];
        let refused = run(&again);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains("is there already"), "{}", said(&refused));
        assert!(fs::read_to_string(&file).unwrap() == text);
        let done = run(&[&again[..], &["--force"]].concat());
        assert!(done.status.success(), "{}", said(&done));
        fs::remove_file(&file).unwrap();
    }
}

fn a_table_says_where_it_ends(db: Db) {
    let scene = Scene::new(db);
    let table = scene.compliance.get("/v1/calls/export?format=csv");
    let id = table.header("procura-export").unwrap();
    let (above, last) = table.text.trim_end().rsplit_once("\r\n").unwrap();
    let mut reader = csv::Reader::from_reader(table.text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let end = rows.last().unwrap();
    assert_eq!(&end[2], "export", "{last}");
    assert_eq!(end[7], format!("end of export {id}: {} rows above", rows.len() - 1));
    assert!(rows.iter().all(|row| &row[17] == id), "every row says of which export it is");
    let manifest = scene.compliance.get(&format!("/v1/receipts/{}", &end[1])).expect(200);
    let digest = Sha256::digest(format!("{above}\r\n").as_bytes());
    let hex = hex::encode(digest);
    assert_eq!(manifest["output"]["digest"], format!("sha256:{hex}"), "of every byte above the last row");
    assert_eq!(manifest["output"]["lines"], json!(rows.len() - 1));
    assert_eq!(manifest["output"]["export"], *id);
}

fn the_page_begins_gives_and_lists_exports(db: Db) {
    let scene = Scene::new(db);
    let mut member = Visitor::signed_in(&scene.server, "m@example.test");
    let page = member.page("/exports");
    assert!(page.contains("None was begun.") && !page.contains("value=\"tenant\""), "{page}");
    assert!(page.contains(&format!("value=\"{}\"", scene.walker.id)), "one's own agents are offered: {page}");
    let begun = member.submit("/exports", "/exports", &[("subject", &scene.walker.id), ("format", "jsonl")]);
    assert_eq!(begun.status, 303, "{}", begun.text);
    let page = member.page("/exports");
    assert!(page.contains("not fetched") && page.contains("walker"), "{page}");
    let file = page.split("href=\"").find(|link| link.starts_with("/exports/exp_")).unwrap();
    let file = file.split('"').next().unwrap().to_owned();
    let copy = member.get(&file);
    assert!(copy.header("content-disposition").unwrap().ends_with(".jsonl\""));
    check_verifies(&copy.text);
    assert_eq!(parts(&copy.text).0["subject"], json!({"agent": scene.walker.id}));
    assert_eq!(member.get(&file).text, copy.text, "the same again");
    let page = member.page("/exports");
    let lines = parts(&copy.text).1.len();
    assert!(page.contains("whole") && page.contains(&format!("{lines} calls")), "{page}");
    let receipt = page.split("href=\"").find(|link| link.starts_with("/calls/receipts/")).unwrap();
    let receipt = member.get(receipt.split('"').next().unwrap()).expect(200);
    assert_eq!(receipt["receipt"]["kind"], "export");

    for (subject, id, status) in
        [("tenant", "", 403), ("tenant", "crd_nonsense", 422), ("", &*scene.runner.id, 303)]
    {
        let reply = member.submit("/exports", "/exports", &[("subject", subject), ("id", id), ("from", "")]);
        assert_eq!(reply.status, status, "{subject} {id}: {}", reply.text);
    }
    let mut compliance = Visitor::signed_in(&scene.server, "c@example.test");
    let page = compliance.page("/exports");
    assert!(page.contains("Exports of the tenant") && page.contains("walker"), "{page}");
    assert!(!page.contains("/exports/exp_"), "what another began is not theirs to fetch: {page}");
    assert_eq!(compliance.get(&file).status, 404);
    let begun = compliance.submit(
        "/exports",
        "/exports",
        &[
            ("subject", "tenant"),
            ("format", "csv"),
            ("until", "2020-01-01T00:00"),
            ("from", "2019-01-01T00:00"),
        ],
    );
    assert_eq!(begun.status, 303, "{}", begun.text);
    let page = compliance.page("/exports");
    assert!(page.contains("1 Jan 2020"), "its period stands there: {page}");
    let mut other = Visitor::signed_in(&scene.server, "n@example.test");
    assert!(other.page("/exports").contains("None was begun."), "nobody sees those of others");
}
