//! Documents looked over before they go live, on the wire and at the console.

use crate::database::{Db, both};
use crate::documents::small_refunds;
use crate::server::{Folder, Server, ended, procura, said};
use serde_json::{Value, json};

both!(
    what_nobody_can_mean_never_goes_live,
    what_is_odd_and_what_is_assumed_stands_in_the_answer_and_in_the_receipt,
    a_mandate_that_the_catalogue_has_overtaken_can_still_be_narrowed_and_stopped,
);

fn refunds() -> Value {
    json!({"title": "refund", "effect": true, "irreversible": true, "arguments": {"type": "object"},
        "amount": "/amount", "currency": {"const": "EUR"}})
}

fn once_per_order() -> Value {
    let mut document = small_refunds();
    document["clauses"][0]["limits"] = json!([{"once_per": "resource"}]);
    document
}

fn what_nobody_can_mean_never_goes_live(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    operator.put("/v1/catalogue/payments.refund", &[], &refunds()).expect(200);
    let member = server.member("m@example.test");
    let problem = member.put("/v1/mandate", &[("if-match", "\"1\"")], &once_per_order()).expect_problem(422);
    assert_eq!(
        problem["errors"],
        json!([{"pointer": "/clauses/0/limits/0", "detail":
            "no call can meet this limit: the catalogue derives no resource for `payments.refund`"}])
    );
    assert_eq!(member.get("/v1/mandate").expect(200)["version"], 1);
    let contradictory = json!({"clauses": [{"id": "P-1", "intent": "*", "effect": "refuse",
        "when": {"resource": {"in": ["x"], "not_in": ["x"]}}}]});
    let problem = operator.put("/v1/policy", &[("if-match", "\"1\"")], &contradictory).expect_problem(422);
    assert_eq!(problem["errors"][0]["pointer"], "/rule_sets/0/clauses/0/when/resource", "{problem}");
    assert_eq!(operator.get("/v1/policy").expect(200)["version"], 1);
}

fn what_is_odd_and_what_is_assumed_stands_in_the_answer_and_in_the_receipt(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    operator.put("/v1/catalogue/payments.refund", &[], &refunds()).expect(200);
    let member = server.member("m@example.test");
    let answer = member.put_mandate(&small_refunds());
    let warnings = json!([{"pointer": "/clauses/0", "detail":
        "`payments.refund` cannot be taken back, and no `once_per` keeps it from happening twice"}]);
    assert_eq!(answer["warnings"], warnings);
    let assumed = json!(["the provider honours the idempotency key of `payments.refund`"]);
    assert_eq!(answer["assumptions"], assumed);
    let receipt = |client: &crate::client::Client, answer: &Value| {
        client.get(&format!("/v1/receipts/{}", answer["receipt"]["id"].as_str().unwrap())).expect(200)
    };
    let recorded = receipt(&member, &answer);
    assert!(recorded["output"]["assumptions"]["commitment"].is_string(), "{recorded}");
    assert_eq!(recorded["content"]["/output/assumptions"]["value"], assumed, "{recorded}");
    assert_eq!(
        recorded["content"]["/output/warnings"]["value"][0]["message"], warnings[0]["detail"],
        "{recorded}"
    );
    let policy = json!({"clauses": [{"id": "P-1", "intent": "mail.*", "effect": "refuse",
        "when": {"country": {"in": ["FR"]}}}]});
    let answer = operator.put_over("/v1/policy", &policy);
    assert_eq!(answer["warnings"][0]["pointer"], "/rule_sets/0/clauses/0/when/country", "{answer}");
    let assumed = json!(["the country of `mail.*` is the agent's word, unless the credential fixes it"]);
    assert_eq!(answer["assumptions"], assumed);
    assert_eq!(receipt(&operator, &answer)["content"]["/output/assumptions"]["value"], assumed);
}

fn a_mandate_that_the_catalogue_has_overtaken_can_still_be_narrowed_and_stopped(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &once_per_order());
    server.operator().put("/v1/catalogue/payments.refund", &[], &refunds()).expect(200);
    let mut narrower = once_per_order();
    let refusing = json!({"id": "M-003", "intent": "mail.*", "effect": "refuse"});
    narrower["clauses"].as_array_mut().unwrap().push(refusing);
    let answer = member.put_mandate(&narrower);
    assert_eq!(answer["change"], "narrowed", "{answer}");
    let warned = answer["warnings"].to_string();
    assert!(warned.contains("the live version says so already"), "{warned}");
    narrower["scopes"] = json!([]);
    assert_eq!(member.put_mandate(&narrower)["change"], "narrowed");
}

#[test]
fn the_console_checks_a_file_with_and_without_a_catalogue() {
    let folder = Folder::new();
    let mandate = folder.write("mandate.json", &once_per_order().to_string());
    let catalogue = folder.write("catalogue.json", &json!({"payments.refund": refunds()}).to_string());
    let check = |more: &[&str]| {
        let mut arguments = vec!["mandate", "check", mandate.to_str().unwrap()];
        arguments.extend(more);
        ended(procura(&arguments))
    };
    let alone = check(&[]);
    assert_eq!(alone.status.code(), Some(0), "{}", said(&alone));
    assert!(said(&alone).contains("not checked: without --catalogue"), "{}", said(&alone));
    let beside = check(&["--catalogue", catalogue.to_str().unwrap()]);
    assert_eq!(beside.status.code(), Some(1), "{}", said(&beside));
    let text = said(&beside);
    assert!(text.contains("/clauses/0/limits/0: no call can meet this limit"), "{text}");
    assert!(
        text.contains("assumed: the provider honours the idempotency key of `payments.refund`"),
        "{text}"
    );
    assert!(!text.contains("not checked"), "{text}");
    let json = check(&["--json", "--catalogue", catalogue.to_str().unwrap()]);
    assert_eq!(json.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(answer["ok"], false, "{answer}");
    assert_eq!(answer["faults"][0]["pointer"], "/clauses/0/limits/0", "{answer}");
    assert_eq!(answer["not_checked"], Value::Null);
    let policy = folder.write("policy.json", &json!({"clauses": [{"id": "P", "intent": "look", "effect": "refuse",
        "when": {"amount": {"at_least": {"value": "2", "currency": "EUR"}, "at_most": {"value": "1", "currency": "EUR"}}}}]})
        .to_string());
    let refused = ended(procura(&["mandate", "check", "--policy", policy.to_str().unwrap()]));
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    let wrong = folder.write("wrong.json", "[]");
    let unreadable = check(&["--catalogue", wrong.to_str().unwrap()]);
    assert_eq!(unreadable.status.code(), Some(2), "{}", said(&unreadable));
    assert!(said(&unreadable).contains("not a catalogue"), "{}", said(&unreadable));
}
