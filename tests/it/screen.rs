//! Screening over the wire: the text that comes back, what is counted, and that no value is left anywhere.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, Store, both};
use crate::doctor::check_well;
use crate::documents::ACTING_SCOPES;
use crate::server::{OPERATOR, Server, TENANT};
use crate::visitor::{Visitor, hidden};
use serde_json::{Value, json};

both!(
    a_text_is_screened_for_whoever_is_signed_in,
    a_reply_is_held_against_the_ledger_of_the_callers_own_principal,
    reply_rules_are_kept_in_versions_and_read_strictly,
    what_others_wrote_is_screened_before_a_person_reads_it,
    no_value_is_left_in_the_database_or_the_log,
    operators_edit_the_rules_on_a_page_and_try_them_on_a_text,
);

const CARD: &str = "4111 1111 1111 1111";

fn shop() -> Value {
    json!({
        "personal_data": {"card": "redact", "national_id": "withhold", "email": "allow"},
        "never_say": ["guaranteed refund"],
        "must_accompany": [{
            "when_done": "payments.refund",
            "add": "Refunds reach the card in three to five working days."
        }]
    })
}

fn mandate() -> Value {
    json!({"scopes": ACTING_SCOPES, "clauses": [
        {"id": "M-001", "intent": "payments.refund", "effect": "allow"},
        {"id": "M-002", "intent": "payments.pay", "effect": "escalate"},
    ]})
}

#[track_caller]
fn put_rules(operator: &Client, rules: &Value) -> Value {
    let live = operator.get("/v1/reply-rules");
    let seen = live.header("etag").unwrap().to_owned();
    operator.put("/v1/reply-rules", &[("if-match", &seen)], rules).expect(200)
}

#[track_caller]
fn screened(caller: &Client, asked: &Value) -> Value {
    caller.post("/v1/screen", asked).expect(200)
}

/// A refund that the gate let happen, with its effect's id.
fn refund(operator: &Client, agent: &Client) -> String {
    let entry = json!({"title": "Refund", "effect": true, "arguments": {"type": "object", "properties": {
        "order": {"type": "string"}, "amount": {"type": "string"}, "card": {"type": "string"}}}});
    operator.put("/v1/catalogue/payments.refund", &[], &entry).expect(200);
    let call = json!({"intent": "payments.refund",
        "arguments": {"order": "4412", "amount": "12.50", "card": "4111111111111111"}});
    let answer = agent.post("/v1/gate/evaluate", &call).expect(200);
    answer["effect"]["id"].as_str().unwrap_or_else(|| panic!("no effect: {answer}")).to_owned()
}

fn a_text_is_screened_for_whoever_is_signed_in(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let member = server.member_with("m@example.test", &mandate());
    let agent = Agent::new(&member, "runner");
    put_rules(&operator, &shop());
    for caller in [&operator, &member, &agent.client()] {
        let card =
            screened(caller, &json!({"direction": "turn", "text": format!("é {CARD}, is it on file?")}));
        assert_eq!(card["text"], "é **** 1111, is it on file?");
        assert_eq!(card["withheld"], false);
        assert_eq!(
            card["findings"],
            json!([{"class": "card", "start": 2, "end": 21, "action": "redact", "mask": "**** 1111"}])
        );
        assert_eq!(card["counts"], json!({"reply_pd_detected_card": 1, "reply_pd_redacted": 1}));
        let number = json!({"direction": "turn", "text": "my social security number is 123-45-6789"});
        let number = screened(caller, &number);
        assert_eq!((&number["text"], &number["withheld"]), (&json!(""), &json!(true)));
        assert!(number["say"].as_str().is_some_and(|say| !say.is_empty()));
    }
    let half = |text: &str, conversation: &str| {
        screened(&agent, &json!({"direction": "turn", "text": text, "conversation": conversation}))["text"]
            .clone()
    };
    assert_eq!(half("it begins 4111 1111", "c-1"), "it begins 4111 1111");
    assert_eq!(half("1111 1111", "c-2"), "1111 1111");
    assert_eq!(half("1111 1111 and no more", "c-1"), "**** 1111 and no more");
    let inline = json!({"direction": "turn", "text": CARD, "rules": {"personal_data": {"card": "allow"}}});
    assert_eq!(screened(&agent, &inline)["text"], CARD);
    assert_eq!(server.client().post("/v1/screen", &inline).status, 401);
    let counts = operator.get("/v1/counts").expect(200);
    assert_eq!(counts["counts"]["reply_pd_detected_card"], 5);
    assert_eq!(counts["counts"]["reply_pd_withheld"], 3);
    assert_eq!(counts["counts"]["reply_offer_removed"], 0);
    assert_eq!(member.get("/v1/counts").status, 403);
    let figures = server.client().get("/metrics").text;
    assert!(figures.contains("reply_pd_detected_card 5"), "{figures}");
    for (wrong, place) in [
        (json!({"direction": "both", "text": "x"}), "/direction"),
        (json!({"direction": "turn", "text": 4_111_111_111_111_111_i64}), "/text"),
        (
            json!({"direction": "turn", "text": "x", "rules": {"personal_data": {"passport": "redact"}}}),
            "/rules/personal_data/passport",
        ),
        (json!({"direction": "reply", "text": "x", "records": [{"fields": CARD}]}), "/records/0/fields"),
        (json!({"direction": "reply", "text": "x", "language": CARD}), "/language"),
    ] {
        let said = agent.post("/v1/screen", &wrong);
        assert_eq!(said.status, 422, "{}", said.text);
        assert_eq!(said.json["errors"][0]["pointer"], place);
        assert!(!said.text.contains("1111"), "{}", said.text);
    }
    let long = json!({"direction": "turn", "text": "a".repeat(1024 * 1024 + 1)});
    assert_eq!(agent.post("/v1/screen", &long).status, 422);
}

fn a_reply_is_held_against_the_ledger_of_the_callers_own_principal(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    put_rules(&operator, &shop());
    let agent = Agent::new(&server.member_with("m@example.test", &mandate()), "runner");
    let effect = refund(&operator, &agent);
    let reply = |text: &str| json!({"direction": "reply", "text": text, "effects": [effect]});
    let refunded = "I've refunded 12.50 pounds for order 4412. It is a guaranteed refund.";
    let said = screened(&agent, &reply(refunded));
    assert_eq!(said["text"], "It is not known yet whether this went through: payments refund.");
    agent.post(&format!("/v1/effects/{effect}/outcome"), &json!({"status": "done"})).expect(200);
    let said = screened(&agent, &reply(refunded));
    let shown =
        "I've refunded 12.50 pounds for order 4412. Refunds reach the card in three to five working days.";
    assert_eq!(said["text"], shown);
    assert_eq!(said["counts"], json!({"reply_wording_removed": 1, "reply_wording_added": 1}));
    let said = screened(&agent, &reply("I've refunded 99.00 to you."));
    assert_eq!(said["counts"]["reply_value_replaced"], 1);
    let said = screened(&agent, &reply(&format!("I've refunded it to {CARD}.")));
    assert_eq!(said["counts"]["reply_pd_masked"], 1);
    let none = json!({"direction": "reply", "text": "I've refunded it.", "effects": []});
    assert_eq!(screened(&agent, &none)["text"], "This was not done: refund.");
    let other = Agent::new(&server.member_with("n@example.test", &mandate()), "runner");
    let foreign = other.post("/v1/screen", &reply("Hello."));
    assert_eq!(foreign.status, 422);
    assert_eq!(foreign.json["errors"][0]["pointer"], "/effects/0");
}

fn reply_rules_are_kept_in_versions_and_read_strictly(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let member = server.member("m@example.test");
    let none = member.get("/v1/reply-rules");
    assert_eq!(none.header("etag"), Some("\"0\""));
    assert_eq!(none.json["rules"], json!({}));
    let put = put_rules(&operator, &shop());
    assert_eq!((&put["version"], &put["receipt"]["kind"]), (&json!(1), &json!("reply_rules.put")));
    assert_eq!(operator.put("/v1/reply-rules", &[], &shop()).status, 428);
    assert_eq!(operator.put("/v1/reply-rules", &[("if-match", "\"0\"")], &shop()).status, 412);
    assert_eq!(member.put("/v1/reply-rules", &[("if-match", "\"1\"")], &shop()).status, 403);
    let wrong = json!({"personal_data": {"card": "hide", "passport": "redact"}, "never": []});
    let said = operator.put("/v1/reply-rules", &[("if-match", "\"1\"")], &wrong);
    assert_eq!(said.status, 422);
    let places: Vec<_> =
        said.json["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
    assert_eq!(places, ["/never", "/personal_data/passport", "/personal_data/card"]);
    let yaml = b"never_say:\n  - no risk\n";
    let sent = operator.send(
        "PUT",
        "/v1/reply-rules",
        &[("if-match", "\"1\""), ("content-type", "application/yaml")],
        Some(yaml),
    );
    assert_eq!(sent.expect(200)["version"], 2);
    let versions = member.get("/v1/reply-rules/versions").expect(200);
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
    assert_eq!(member.get("/v1/reply-rules/versions/1").expect(200)["rules"], shop());
    assert_eq!(member.get("/v1/reply-rules/versions/3").status, 404);
    check_well(&server, &[]);
    server.database().connect().execute(&format!(
        "UPDATE reply_rules SET document = '{{}}' WHERE tenant = '{TENANT}' AND version = 2"
    ));
    assert!(crate::server::said(&server.run(&["doctor"])).contains("version 2 of the reply rules"));
}

fn what_others_wrote_is_screened_before_a_person_reads_it(db: Db) {
    let server = Server::start(db);
    let operator = server.operator();
    let member = server.member_with("m@example.test", &mandate());
    let agent = Agent::new(&member, "runner");
    let call = json!({"intent": "payments.pay",
        "attachment": {"kind": "message", "from": "someone", "text": format!("Pay to {CARD}"), "more": ["4111111111111111"]}});
    let opened = agent.post("/v1/gate/evaluate", &call).expect(200);
    let path = format!("/v1/decisions/{}", opened["decision"]["id"].as_str().unwrap());
    let attachment =
        |client: &Client| client.get(&path).expect(200)["asked"]["request"]["attachment"].clone();
    let masked =
        json!({"kind": "message", "from": "someone", "text": "Pay to **** 1111", "more": ["**** 1111"]});
    assert_eq!(attachment(&member), masked);
    assert_eq!(attachment(&agent), masked);
    let preview = json!({"rules": {"personal_data": {"card": "withhold"}}});
    let preview = operator.post("/v1/reply-rules/preview", &preview).expect(200);
    assert_eq!((&preview["considered"], &preview["changes"]), (&json!(1), &json!(1)));
    assert!(preview.get("changed").is_none(), "whose text it is, is for the role compliance");
    put_rules(&operator, &json!({"personal_data": {"card": "withhold"}}));
    let held = attachment(&member);
    assert!(held["text"].as_str().unwrap().starts_with("(Held back"), "{held}");
    assert_eq!(held["from"], "someone");
}

fn no_value_is_left_in_the_database_or_the_log(db: Db) {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &mandate());
    let agent = Agent::new(&member, "runner");
    let values = ["5555555555554444", "sentinel-gilda@moor.example", "536-90-4399"];
    let text = format!("I have {} and {} and {}.", values[0], values[1], values[2]);
    for asked in [
        json!({"direction": "turn", "text": text, "conversation": "c-1"}),
        json!({"direction": "reply", "text": text, "records": [{"fields": {"card": values[0]}}]}),
        json!({"direction": "reply", "text": text, "effects": [values[0]]}),
        json!({"direction": values[0], "text": [text], "cites": [5], "conversation": 7}),
        json!({"direction": "reply", "text": text, "records": [{"fields": {}, "at": values[0]}]}),
    ] {
        agent.post("/v1/screen", &asked);
    }
    agent.send("POST", "/v1/screen", &[], Some(format!("{{\"text\": \"{text}").as_bytes()));
    let number = agent.send("POST", "/v1/screen", &[], Some(b"{\"text\": 4111111111111111110}"));
    assert!(number.status == 400 && !number.text.contains("4111"), "{}", number.text);
    let mut connection = Store::connect(server.database());
    for (table, columns) in tables(&mut connection, db) {
        for column in columns {
            for value in values {
                let found = connection.number(&format!(
                    "SELECT COUNT(*) FROM {table} WHERE CAST({column} AS TEXT) LIKE '%{value}%'"
                ));
                assert_eq!(found, 0, "{table}.{column}");
            }
        }
    }
    let log = std::fs::read_to_string(server.log_file()).unwrap();
    for value in values {
        assert!(!log.contains(value));
    }
}

/// Every table with its columns.
fn tables(connection: &mut crate::database::Connection, db: Db) -> Vec<(String, Vec<String>)> {
    let (names, columns) = match db {
        Db::Sqlite => (
            "SELECT name AS text FROM sqlite_master WHERE type = 'table'",
            "SELECT name AS text FROM pragma_table_info('{}')",
        ),
        Db::Postgres => (
            "SELECT table_name::text AS text FROM information_schema.tables WHERE table_schema = 'public'",
            "SELECT column_name::text AS text FROM information_schema.columns WHERE table_name = '{}'",
        ),
    };
    let names = connection.texts(names);
    names
        .into_iter()
        .map(|name| {
            let of = connection.texts(&columns.replace("{}", &name));
            (name, of)
        })
        .collect()
}

fn operators_edit_the_rules_on_a_page_and_try_them_on_a_text(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let mut member = Visitor::signed_in(&server, "m@example.test");
    assert_eq!(member.get("/reply-rules").status, 403);
    assert!(!member.page("/queue").contains("Reply rules"));
    let mut operator = Visitor::signed_in(&server, OPERATOR);
    let document = "personal_data: {card: withhold}\nnever_say: [no risk]\n";
    let tried = [("version", "0"), ("document", document), ("text", CARD), ("direction", "turn")];
    let page = operator.page("/reply-rules");
    assert!(page.contains("formaction=\"/reply-rules/check#check\""), "{page}");
    let mut fields = vec![("csrf", hidden(&page, "csrf"))];
    fields.extend(tried.map(|(name, value)| (name, value.to_owned())));
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = operator.post("/reply-rules/check", &[("origin", &*server.base())], &fields);
    assert_eq!(answer.status, 200);
    assert!(answer.text.contains("The text would be held back."), "{}", answer.text);
    assert_eq!(server.operator().get("/v1/reply-rules").json["version"], 0, "trying saves nothing");
    let saved = operator.submit("/reply-rules", "/reply-rules", &tried);
    assert_eq!((saved.status, saved.header("location")), (303, Some("/reply-rules")));
    let form = [
        ("version", "1"),
        ("card", "redact"),
        ("iban", "redact"),
        ("national_id", "withhold"),
        ("email", "allow"),
        ("phone", "allow"),
        ("never_say", "no risk\r\nnever fails"),
        ("markers", "discount"),
        ("allowed", ""),
    ];
    assert_eq!(operator.submit("/reply-rules", "/reply-rules/terms", &form).status, 303);
    let live = server.operator().get("/v1/reply-rules").json;
    assert_eq!(
        (&live["version"], &live["rules"]["personal_data"]["national_id"]),
        (&json!(2), &json!("withhold"))
    );
    assert_eq!(live["rules"]["never_say"], json!(["no risk", "never fails"]));
    let wrong = [("version", "2"), ("document", "never_say: {}"), ("text", ""), ("direction", "turn")];
    let answer = operator.submit("/reply-rules", "/reply-rules", &wrong);
    assert_eq!(answer.status, 422);
    assert!(answer.text.contains("/never_say") && answer.text.contains("never_say: {}"), "{}", answer.text);
}
