//! Mandates: versions, preconditions, both notations, and faults that are named where they stand.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{no_refunds, refund, refunds_up_to, small_refunds};
use crate::server::Server;
use serde_json::{Value, json};

both!(
    a_version_that_is_no_longer_live_cannot_be_written_over,
    of_two_writers_at_once_one_wins,
    each_change_says_which_way_it_goes,
    yaml_and_json_say_the_same,
    a_fault_is_named_where_it_stands_and_nothing_changes,
    an_agent_reads_the_mandate_only_with_the_scope,
    a_policy_is_the_operators_and_binds_everybody,
    a_time_that_could_not_be_read_again_is_refused,
    a_policy_that_is_no_longer_live_cannot_be_written_over,
);

fn a_version_that_is_no_longer_live_cannot_be_written_over(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let first = member.get("/v1/mandate");
    assert_eq!(first.header("etag"), Some("\"1\""));
    let blind = member.put("/v1/mandate", &[], &small_refunds());
    blind.expect_problem(428);
    let written = member.put("/v1/mandate", &[("if-match", "\"1\"")], &small_refunds()).expect(200);
    assert_eq!(written["version"], 2);
    assert_eq!(written["receipt"]["kind"], "mandate.put", "{written}");
    member.put("/v1/mandate", &[("if-match", "\"1\"")], &no_refunds()).expect_problem(412);
    let live = member.get("/v1/mandate");
    assert_eq!(live.header("etag"), Some("\"2\""));
    assert_eq!(live.json["mandate"]["clauses"][0]["id"], "M-001", "{}", live.text);
    let versions = member.all("/v1/mandate/versions");
    assert_eq!(versions.len(), 2, "{versions:?}");
    let old = member.get("/v1/mandate/versions/1").expect(200);
    assert_eq!(old["mandate"]["scopes"], json!([]), "{old}");
    assert_eq!(member.get("/v1/mandate/versions/3").status, 404);
}

fn of_two_writers_at_once_one_wins(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let answers = crate::client::in_parallel(10, |index| {
        let document = refunds_up_to(&format!("{}.00", index + 1));
        member.put("/v1/mandate", &[("if-match", "\"1\"")], &document).status
    });
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|status| **status == 412).count(), 9, "{answers:?}");
    assert_eq!(member.get("/v1/mandate").expect(200)["version"], 2);
}

fn each_change_says_which_way_it_goes(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let mut mixed = refunds_up_to("80.00");
    mixed["scopes"] = json!(["action:request"]);
    for (document, change) in [
        (small_refunds(), "widened"),
        (small_refunds(), "unchanged"),
        (refunds_up_to("50.00"), "narrowed"),
        (refunds_up_to("60.00"), "widened"),
        (mixed, "mixed"),
        (no_refunds(), "mixed"),
    ] {
        assert_eq!(member.put_mandate(&document)["change"], change, "{document}");
    }
}

fn yaml_and_json_say_the_same(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let yaml = "
scopes: [action:request, mandate:read, decision:read, call:read]
unlisted: escalate
clauses:
  - id: M-001
    title: small refunds
    intent: payments.refund
    effect: allow
    when:
      amount: {at_most: {value: 100.00, currency: EUR}}   # digits as they stand
  - {id: M-002, title: never touch accounts, intent: account.*, effect: refuse}
";
    let headers = [("if-match", "\"1\""), ("content-type", "application/yaml")];
    member.send("PUT", "/v1/mandate", &headers, Some(yaml.as_bytes())).expect(200);
    assert_eq!(member.put_mandate(&small_refunds())["change"], "unchanged");
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("100.00")).expect_outcome("allow");
    agent.evaluate(&refund("100.01")).expect_outcome("escalate");
}

fn a_fault_is_named_where_it_stands_and_nothing_changes(db: Db) {
    let server = Server::start(db);
    let member = server.member("m@example.test");
    let change = |pointer: &str, value: Value| {
        let mut document = small_refunds();
        *document.pointer_mut(pointer).unwrap() = value;
        document
    };
    let with_member = |pointer: &str, name: &str, value: Value| {
        let mut document = small_refunds();
        document.pointer_mut(pointer).unwrap()[name] = value;
        document
    };
    for (document, pointer) in [
        (change("/scopes/0", json!("action:everything")), "/scopes/0"),
        (change("/unlisted", json!("allow")), "/unlisted"),
        (change("/clauses/1/id", json!("M-001")), "/clauses/1/id"),
        (change("/clauses/0/id", json!("1 st")), "/clauses/0/id"),
        (change("/clauses/0/intent", json!("Payments.Refund")), "/clauses/0/intent"),
        (change("/clauses/0/effect", json!("permit")), "/clauses/0/effect"),
        (change("/clauses/0/when/amount/at_most/value", json!("100.001")), "/clauses/0/when/amount/at_most"),
        (change("/clauses/0/when/amount/at_most/currency", json!("EURO")), "/clauses/0/when/amount/at_most"),
        (with_member("/clauses/0", "wen", json!({})), "/clauses/0/wen"),
        (with_member("/clauses/0/when", "amont", json!({})), "/clauses/0/when/amont"),
        (with_member("", "clausees", json!([])), "/clausees"),
    ] {
        let refused = member.put("/v1/mandate", &[("if-match", "\"1\"")], &document);
        let problem = refused.expect_problem(422);
        let pointers: Vec<_> =
            problem["errors"].as_array().unwrap().iter().map(|fault| &fault["pointer"]).collect();
        assert!(
            pointers.iter().any(|named| named.as_str().is_some_and(|named| named.starts_with(pointer))),
            "{pointer} is not among {pointers:?}"
        );
    }
    assert_eq!(member.get("/v1/mandate").expect(200)["version"], 1);
}

fn an_agent_reads_the_mandate_only_with_the_scope(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let reader = Agent::of_kind(&member, "reader", "acting", &["mandate:read"]);
    assert_eq!(reader.get("/v1/mandate").expect(200)["version"], 2);
    let blind = Agent::of_kind(&member, "blind", "acting", &["action:request"]);
    let refused = blind.get("/v1/mandate");
    refused.expect_problem(403);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("mandate:read"), "{challenge}");
    let mut without = small_refunds();
    without["scopes"] = json!(["action:request"]);
    member.put_mandate(&without);
    assert_eq!(reader.get("/v1/mandate").status, 403, "the live mandate no longer has the scope");
}

fn a_policy_is_the_operators_and_binds_everybody(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    agent.evaluate(&refund("24.00")).expect_outcome("allow");
    let policy = json!({"clauses": [{"id": "P-001", "intent": "payments.*", "effect": "refuse"}]});
    let tag = server.operator().get("/v1/policy").header("etag").unwrap().to_owned();
    for (who, caller) in [("a member", &member), ("an agent", &*agent)] {
        let tried = caller.put("/v1/policy", &[("if-match", &tag)], &policy);
        assert!(matches!(tried.status, 401 | 403), "{who} wrote the policy: {}", tried.text);
    }
    let put = server.operator().put_over("/v1/policy", &policy);
    assert_eq!(put["receipt"]["kind"], "policy.put", "{put}");
    let refused = agent.evaluate(&refund("24.00"));
    let answer = refused.expect_outcome("refuse");
    assert!(refused.names("P-001"), "{answer}");
    assert_eq!(answer["policy_version"], put["version"]);
}

fn a_time_that_could_not_be_read_again_is_refused(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let mut document = small_refunds();
    document["valid"] = json!({"until": "9999-12-31T23:59:59-23:00"});
    let tag = member.get("/v1/mandate").expect(200)["version"].to_string();
    let refused =
        member.put("/v1/mandate", &[("if-match", &format!("\"{tag}\""))], &document).expect_problem(422);
    assert!(refused.to_string().contains("/valid/until"), "{refused}");
}

fn a_policy_that_is_no_longer_live_cannot_be_written_over(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let refusing = json!({"clauses": [{"id": "P-001", "intent": "payments.*", "effect": "refuse"}]});
    let seen = operator.get("/v1/policy").header("etag").unwrap().to_owned();
    operator.put("/v1/policy", &[], &refusing).expect_problem(428);
    operator.put("/v1/policy", &[("if-match", &seen)], &refusing).expect(200);
    let problem =
        operator.put("/v1/policy", &[("if-match", &seen)], &json!({"clauses": []})).expect_problem(412);
    assert_eq!(problem["live_version"], 2, "{problem}");
    for wrong in ["*", "2", "\"x\"", "W/\"2\""] {
        operator.put("/v1/policy", &[("if-match", wrong)], &refusing).expect_problem(422);
    }
    assert_eq!(operator.get("/v1/policy").expect(200)["version"], 2);
    assert_eq!(operator.all("/v1/policy/versions").len(), 2);
}
