//! Exports and erasing: what is there of an export says what is gone by now, and is not gone on with.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds};
use crate::log::check_verifies;
use crate::server::{Folder, Server, TENANT, said};
use crate::visitor::Visitor;
use serde_json::{Value, json};
use std::fs;

both!(
    an_export_whose_content_was_erased_since_is_not_gone_on_with,
    what_was_begun_and_not_fetched_is_fetched_without_what_was_erased,
    a_file_of_the_console_whose_content_was_erased_since_does_not_grow,
);

const WHY: &str = "content in it was erased since it began; begin another export";

/// A member whose two agents were answered; the first answer of `runner` may be erased.
struct Scene {
    server: Server,
    compliance: Client,
    runner: Agent,
    walker: Agent,
    first: String,
}

impl Scene {
    fn new(db: Db) -> Self {
        let server = Server::start(db);
        let member = server.member_with("m@example.test", &small_refunds());
        let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
        let (runner, walker) = (Agent::new(&member, "runner"), Agent::new(&member, "walker"));
        let first = runner.evaluate(&refund("1.00")).expect_outcome("allow")["receipt"]["id"].clone();
        for euros in ["2.00", "3.00"] {
            runner.evaluate(&refund(euros)).expect_outcome("allow");
            walker.evaluate(&refund(euros)).expect_outcome("allow");
        }
        Self { server, compliance, runner, walker, first: first.as_str().unwrap().to_owned() }
    }

    #[track_caller]
    fn erase(&self) {
        let path = format!("/v1/receipts/{}/erase", self.first);
        self.server.operator().post(&path, &json!({"reason": "the person asked for it"})).expect(200);
    }

    /// Takes an export whole; its path to go on with it, and its text.
    #[track_caller]
    fn take(&self, path: &str, format: &str) -> (String, String) {
        let whole = self.compliance.get(&format!("{path}?format={format}"));
        assert_eq!(whole.status, 200, "{}", whole.text);
        (format!("{path}?export={}", whole.header("procura-export").unwrap()), whole.text)
    }
}

fn an_export_whose_content_was_erased_since_is_not_gone_on_with(db: Db) {
    let scene = Scene::new(db);
    let agent = |id: &str| format!("/v1/agents/{id}/calls/export");
    let paths = ["/v1/calls/export".to_owned(), agent(&scene.runner.id)];
    let mut begun = Vec::new();
    for path in &paths {
        for format in ["jsonl", "csv"] {
            begun.push(scene.take(path, format));
        }
    }
    let elsewhere = scene.take(&agent(&scene.walker.id), "jsonl");
    let later = "2999-01-01T00:00:00Z";
    let nothing = scene.compliance.get(&format!("/v1/calls/export?from={later}"));
    let nothing =
        (format!("/v1/calls/export?export={}", nothing.header("procura-export").unwrap()), nothing.text);
    scene.erase();
    for (path, whole) in &begun {
        // What was recorded as taken whole was other than it is by now, from its first byte on.
        for there in [0, 1, whole.len() / 2, whole.len()] {
            let problem = scene.compliance.get(&format!("{path}&after={there}")).expect_problem(409);
            assert_eq!(problem["detail"], WHY, "{path} after {there}");
        }
    }
    // What holds none of it goes on as before.
    for (path, whole) in [elsewhere, nothing] {
        let half = whole.len() / 2;
        let rest = scene.compliance.get(&format!("{path}&after={half}"));
        assert_eq!((rest.status, &*rest.text), (200, &whole[half..]), "{path}");
    }
    // And so does what began after it.
    for path in &paths {
        let (path, whole) = scene.take(path, "jsonl");
        check_verifies(&whole);
        assert!(whole.contains("\"erased\""), "{whole}");
        let half = whole.len() / 2;
        let rest = scene.compliance.get(&format!("{path}&after={half}"));
        assert_eq!((rest.status, &*rest.text), (200, &whole[half..]), "{path}");
    }
}

fn what_was_begun_and_not_fetched_is_fetched_without_what_was_erased(db: Db) {
    let scene = Scene::new(db);
    let mut visitor = Visitor::signed_in(&scene.server, "c@example.test");
    let begun = visitor.submit("/exports", "/exports", &[("subject", "tenant"), ("format", "jsonl")]);
    assert_eq!(begun.status, 303, "{}", begun.text);
    let page = visitor.page("/exports");
    let file = page.split("href=\"").find(|link| link.starts_with("/exports/exp_")).unwrap();
    let file = file.split('"').next().unwrap().to_owned();
    scene.erase();
    let copy = visitor.get(&file);
    assert_eq!(copy.status, 200, "{}", copy.text);
    check_verifies(&copy.text);
    let erased = copy.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(erased.filter(|line| line.get("erased").is_some()).count(), 1, "{}", copy.text);
}

fn a_file_of_the_console_whose_content_was_erased_since_does_not_grow(db: Db) {
    let mut scene = Scene::new(db);
    assert!(scene.server.terminate().success());
    let folder = Folder::new();
    for format in ["jsonl", "csv"] {
        let out = folder.join(format!("log.{format}"));
        let out = out.to_str().unwrap();
        let done = scene.server.run(&["export", "--tenant", TENANT, "--format", format, "--out", out]);
        assert!(done.status.success(), "{}", said(&done));
    }
    scene.server.serve();
    scene.erase();
    assert!(scene.server.terminate().success());
    for format in ["jsonl", "csv"] {
        let whole = fs::read(folder.join(format!("log.{format}"))).unwrap();
        let part = folder.join(format!("again.{format}.part"));
        let cut = whole.len() - 20;
        fs::write(&part, &whole[..cut]).unwrap();
        let refused = scene.server.run(&["export", "--resume", part.to_str().unwrap()]);
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        assert!(said(&refused).contains(WHY), "{}", said(&refused));
        assert!(!said(&refused).contains("goes on from there"), "{}", said(&refused));
        assert!(fs::read(&part).unwrap() == whole[..cut], "what is there stays as it is");
    }
}
