//! Erasing the content of a request: nothing of it is left, and every receipt, chain and proof still holds and says so.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::doctor::check_well;
use crate::documents::{ACTING_SCOPES, with};
use crate::hours::{MINUTE, move_back, recorded};
use crate::log::{check_verifies, export, lines, verify, verify_files};
use crate::server::{Folder, Server, TENANT, eventually, said};
use serde_json::{Value, json};

both!(
    erased_content_stands_nowhere_any_more_and_everything_still_verifies,
    what_a_line_says_of_its_erasure_is_held_against_the_receipt_that_says_it,
    an_operator_erases_after_a_fresh_sign_in_and_says_why,
    what_waits_on_erased_content_is_taken_back_and_its_counterparty_known_no_more,
    a_spent_key_stays_spent_and_a_limit_does_not_forget,
    content_that_is_gone_without_a_receipt_is_named,
    what_a_rule_no_longer_keeps_is_erased_by_itself_and_what_is_needed_is_not,
);

/// What the person asked to be forgotten: it stands in arguments, counterparty, resource, attachment, evidence, report
/// and in what was said of it.
const SECRETS: [&str; 8] = [
    "acct:gilda-9931",
    "order:zx-77120",
    "gilda@moor.example",
    "seven-plum-letters",
    "cite:gl-5521",
    "psp-ref-448811",
    "walked-home-detail",
    "she-moved-to-oslo",
];

fn entry() -> Value {
    json!({
        "title": "gifts", "effect": true, "amount": "/amount", "currency": "/currency", "resource": "/order",
        "counterparties": ["/account"],
        "arguments": {"type": "object", "properties": {
            "amount": {"type": "string"}, "currency": {"type": "string"}, "order": {"type": "string"},
            "account": {"type": "string"}, "to": {"type": "string"},
        }},
    })
}

fn mandate() -> Value {
    json!({
        "scopes": ACTING_SCOPES,
        "clauses": [
            {"id": "M-001", "intent": "gifts.send", "effect": "allow",
             "when": {"amount": {"at_most": {"value": "100.00", "currency": "EUR"}}},
             "limits": [{"once_per": "resource"}]},
            {"id": "M-002", "intent": "gifts.wrap", "effect": "allow", "when": {"counterparty": {"known": true}}},
        ],
    })
}

/// A gift for the person, or for somebody else.
fn gift(euros: &str, is_secret: bool) -> Value {
    let [account, order, to, text, cite, ..] = if is_secret {
        SECRETS
    } else {
        ["acct:other", "order:other", "o@quay.example", "else", "cite:o", "", "", ""]
    };
    json!({
        "intent": "gifts.send",
        "arguments": {"amount": euros, "currency": "EUR", "order": order, "account": account, "to": to},
        "attachment": {"kind": "message", "text": text},
        "evidence": {"confidence": "0.9", "cites": [cite]},
    })
}

/// A server with a member whose agent sends gifts.
struct Sent {
    server: Server,
    member: Client,
    agent: Agent,
    operator: Client,
}

fn set_up(db: Db) -> Sent {
    let server = Server::start(db);
    let operator = server.operator();
    operator.put("/v1/catalogue/gifts.send", &[], &entry()).expect(200);
    let member = server.member_with("m@example.test", &mandate());
    let agent = Agent::new(&member, "runner");
    Sent { server, member, agent, operator }
}

impl Sent {
    #[track_caller]
    fn erase(&self, receipt: &Value) -> Value {
        let path = format!("/v1/receipts/{}/erase", receipt.as_str().unwrap());
        self.operator.post(&path, &json!({"reason": "the person asked for it"})).expect(200)
    }

    fn line(&self, receipt: &Value) -> Value {
        self.member.get(&format!("/v1/receipts/{}", receipt.as_str().unwrap())).expect(200)
    }

    /// Which of the secrets stand anywhere in the database: in the files byte by byte, or in any row of any table.
    fn left(&self) -> Vec<&'static str> {
        let held: Vec<u8> = if self.server.database().url().is_none() {
            ["procura.db", "procura.db-wal"]
                .iter()
                .flat_map(|name| std::fs::read(self.server.folder().join(name)).unwrap_or_default())
                .collect()
        } else {
            let mut connection = self.server.database().connect();
            let tables = connection.texts(
                "SELECT table_name::text AS text FROM information_schema.tables WHERE table_schema = 'public'",
            );
            let rows = |table: &String| format!("SELECT t::text AS text FROM {table} t");
            tables.iter().flat_map(|table| connection.texts(&rows(table))).collect::<String>().into_bytes()
        };
        let stands = |secret: &&&str| held.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
        SECRETS.iter().filter(stands).copied().collect()
    }
}

/// Everything that can hold content of one request: two asks, a repeat, a report and a no.
fn ask_for_all(sent: &Sent) -> (Value, Value) {
    let Sent { member, agent, .. } = sent;
    let gift_to = gift("9.00", true);
    let allowed = agent.evaluate_once("a-key", &gift_to).expect_outcome("allow");
    agent.evaluate_once("a-key", &gift_to).expect_outcome("allow");
    let report = json!({"status": "done", "reference": SECRETS[5], "detail": SECRETS[6]});
    agent
        .post(&format!("/v1/effects/{}/outcome", allowed["effect"]["id"].as_str().unwrap()), &report)
        .expect(200);
    // The same asked once more: it is done already, so the person decides.
    let escalated = agent.evaluate(&gift_to).expect_outcome("escalate");
    let decline = format!("/v1/decisions/{}/decline", escalated["decision"]["id"].as_str().unwrap());
    member.post(&decline, &json!({"reason": SECRETS[7]})).expect(200);
    (allowed, escalated)
}

fn erased_content_stands_nowhere_any_more_and_everything_still_verifies(db: Db) {
    let sent = set_up(db);
    let (allowed, escalated) = ask_for_all(&sent);
    let kept = sent.agent.evaluate(&gift("8.00", false)).expect_outcome("allow");
    assert_eq!(sent.left(), SECRETS, "all of it is there before");
    let copy = export(&sent.member, &sent.agent.credential);
    check_verifies(&copy);

    let erased = sent.erase(&allowed["receipt"]["id"]);
    let ids: Vec<&str> = erased["erased"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(ids.len(), 5, "both asks, the repeat, the report and the no: {erased}");
    assert!(ids.contains(&escalated["receipt"]["id"].as_str().unwrap()));
    eventually("nothing of it is left", || sent.left().is_empty());

    let line = sent.line(&allowed["receipt"]["id"]);
    assert!(line.get("content").is_none(), "{line}");
    assert_eq!(line["erased"]["reason"], "the person asked for it");
    assert_eq!(line["erased"]["at"], erased["at"]);
    assert_eq!(line["erased"]["receipt"]["hash"], erased["receipts"][0]["hash"]);
    check_verifies(&lines([&line]));
    assert!(sent.line(&kept["receipt"]["id"])["content"].is_object(), "what others asked stays");
    let copy = export(&sent.member, &sent.agent.credential);
    check_verifies(&copy);
    assert!(SECRETS.iter().all(|secret| !copy.contains(secret)));
    assert_eq!(copy.lines().filter(|line| line.contains(r#""erased":{"#)).count(), 4);
    let folder = Folder::new();
    let file = folder.write("copy.jsonl", &copy);
    let said_of = crate::server::procura(&["verify"]).arg(&file).output().unwrap();
    assert!(said(&said_of).contains("4 lines' content was erased"), "{}", said(&said_of));
    let narrowing = crate::server::procura(&["verify", "--narrowing"]).arg(&file).output().unwrap();
    assert_eq!(narrowing.status.code(), Some(0), "{}", said(&narrowing));

    let replay = sent.server.run(&["replay", "--json"]);
    assert_eq!(replay.status.code(), Some(0), "{}", said(&replay));
    let replay: Value = serde_json::from_slice(&replay.stdout).unwrap();
    let replay = replay["tenants"].get(0).cloned().unwrap_or(replay);
    assert!(replay.to_string().contains(r#""erased":2"#), "{replay}");
    check_well(&sent.server, &[]);
    let calls = sent.member.all("/v1/calls?kind=gate.evaluate");
    assert_eq!(calls.iter().filter(|call| call["erased"] == true).count(), 2);
}

fn what_a_line_says_of_its_erasure_is_held_against_the_receipt_that_says_it(db: Db) {
    let sent = set_up(db);
    let first = sent.agent.evaluate(&gift("9.00", true)).expect_outcome("allow");
    let second = sent.agent.evaluate(&gift("8.00", false)).expect_outcome("allow");
    let opened = sent.line(&first["receipt"]["id"]);
    sent.erase(&first["receipt"]["id"]);
    sent.erase(&second["receipt"]["id"]);
    let (line, other) = (sent.line(&first["receipt"]["id"]), sent.line(&second["receipt"]["id"]));
    check_verifies(&lines([&line, &other]));
    let folder = Folder::new();
    let fails = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut changed = line.clone();
        change(&mut changed);
        let output = verify(&folder, &lines([&changed]));
        assert_eq!(output.status.code(), Some(1), "{what}: {}", said(&output));
    };
    fails("another reason", &|line| line["erased"]["reason"] = json!("by law"));
    fails("another time", &|line| line["erased"]["at"] = json!("2020-01-01T00:00:00.000Z"));
    fails("another's erasure", &|line| line["erased"] = other["erased"].clone());
    fails("content beside it", &|line| line["content"] = opened["content"].clone());
    fails("no receipt", &|line| {
        line["erased"].as_object_mut().unwrap().remove("receipt");
    });
    fails("a receipt of another kind", &|line| {
        for name in ["receipt", "input", "output"] {
            line["erased"][name] = other[name].clone();
        }
    });
    fails("another list", &|line| line["erased"]["input"]["receipts"] = json!([second["receipt"]["id"]]));
    fails("more is said", &|line| line["erased"]["by"] = json!("nobody"));
}

fn an_operator_erases_after_a_fresh_sign_in_and_says_why(db: Db) {
    let sent = set_up(db);
    let allowed = sent.agent.evaluate(&gift("9.00", true)).expect_outcome("allow");
    let path = format!("/v1/receipts/{}/erase", allowed["receipt"]["id"].as_str().unwrap());
    let why = json!({"reason": "asked"});
    for caller in [
        sent.member.clone(),
        sent.server.person(TENANT, "c@example.test", &["compliance"]),
        sent.agent.client(),
    ] {
        caller.post(&path, &why).expect_problem(403);
    }
    for malformed in [
        json!({}),
        json!({"reason": ""}),
        json!({"reason": "a\u{202E}b"}),
        json!({"reason": "x".repeat(201)}),
    ] {
        sent.operator.post(&path, &malformed).expect_problem(422);
    }
    move_back(&sent.server, "sessions", &["signed_in_at"], 6 * MINUTE, "1 = 1");
    sent.operator.post(&path, &why).expect_problem(403);
    let operator = sent.server.operator();
    operator.post(&path, &why).expect(200);
    assert_eq!(recorded(&sent.server, "content.erase"), 1);
    let again = operator.post(&path, &why).expect_problem(409);
    assert!(again["detail"].as_str().unwrap().contains("was erased at"), "{again}");
    // What an act of authority states is in force, and no request.
    let put = sent.member.all("/v1/calls?kind=mandate.put");
    let put = format!("/v1/receipts/{}/erase", put[0]["receipt"].as_str().unwrap());
    operator.post(&put, &why).expect_problem(409);
    operator.post("/v1/receipts/rcpt_01j00000000000000000000000/erase", &why).expect_problem(404);
}

fn what_waits_on_erased_content_is_taken_back_and_its_counterparty_known_no_more(db: Db) {
    let sent = set_up(db);
    let wrap = with(&json!({"intent": "gifts.wrap"}), "counterparty", SECRETS[0]);
    let first = sent.agent.evaluate(&wrap).expect_outcome("escalate");
    let decision = first["decision"]["id"].as_str().unwrap();
    sent.member.approve(decision).expect(200);
    sent.agent.evaluate(&with(&wrap, "decision", decision)).expect_outcome("allow");
    sent.agent.evaluate(&with(&wrap, "resource", "order:2")).expect_outcome("allow");
    let open = sent.agent.evaluate(&gift("900.00", true)).expect_outcome("escalate");

    sent.erase(&open["receipt"]["id"]);
    let path = format!("/v1/decisions/{}", open["decision"]["id"].as_str().unwrap());
    let taken_back = sent.member.get(&path).expect(200);
    assert_eq!(taken_back["status"], "withdrawn");
    assert_eq!(taken_back["reason"], "its content was erased");
    sent.member
        .post(&format!("{path}/approve"), &json!({"input_hash": open["receipt"]["input_hash"]}))
        .expect_problem(409);

    sent.erase(&first["receipt"]["id"]);
    sent.agent.evaluate(&with(&wrap, "resource", "order:3")).expect_outcome("escalate");
}

fn a_spent_key_stays_spent_and_a_limit_does_not_forget(db: Db) {
    let sent = set_up(db);
    let allowed = sent.agent.evaluate_once("once", &gift("9.00", true)).expect_outcome("allow");
    sent.erase(&allowed["receipt"]["id"]);
    let hashes = sent.server.database().connect().number(
        "SELECT COUNT(*) FROM idempotency_keys k JOIN decisions d ON d.request_hash = k.request_hash",
    );
    assert_eq!(hashes, 0);
    sent.agent.evaluate_once("once", &gift("9.00", true)).expect_problem(422);
    let again = sent.agent.evaluate(&gift("9.00", true)).expect_outcome("escalate");
    assert!(again["clauses"][0] == "M-001", "one gift an order, ever: {again}");
    let effect = allowed["effect"]["id"].as_str().unwrap();
    let report = json!({"status": "done", "reference": SECRETS[5]});
    sent.agent.post(&format!("/v1/effects/{effect}/outcome"), &report).expect(200);
    let left = sent.erase(&allowed["receipt"]["id"]);
    assert_eq!(left["erased"].as_array().unwrap().len(), 1, "what came after: {left}");
    let stored = sent.server.database().connect().texts("SELECT reported AS text FROM effects");
    assert_eq!(stored, [r#"{"details":null,"status":"done"}"#]);
}

fn content_that_is_gone_without_a_receipt_is_named(db: Db) {
    let mut sent = set_up(db);
    let allowed = sent.agent.evaluate(&gift("9.00", true)).expect_outcome("allow");
    let other = sent.agent.evaluate(&gift("8.00", false)).expect_outcome("allow");
    sent.erase(&other["receipt"]["id"]);
    assert!(sent.server.terminate().success());
    check_well(&sent.server, &[]);
    let id = allowed["receipt"]["id"].as_str().unwrap();
    let place = other["receipt"]["merkle"]["index"].as_u64().unwrap();
    let of_mine = format!("WHERE id = '{id}'");
    for (change, words) in [
        ("content = NULL".to_owned(), "its content is gone, and no receipt says"),
        (format!("erased_by = {}", place + 1), "does not say that its content was erased"),
    ] {
        sent.server.database().connect().execute(&format!("UPDATE receipts SET {change} {of_mine}"));
        let output = sent.server.run(&["doctor", "--no-drill"]);
        assert!(said(&output).contains(words), "{words}: {}", said(&output));
    }
    let folder = Folder::new();
    let out = folder.join("copy.jsonl");
    let arguments = ["export", "--credential", &sent.agent.credential, "--format", "jsonl", "--out"];
    let exported = sent.server.run(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    let is_named = !exported.status.success() || verify_files(&[], &[&out]).status.code() == Some(1);
    assert!(is_named, "{}", said(&exported));
}

fn what_a_rule_no_longer_keeps_is_erased_by_itself_and_what_is_needed_is_not(db: Db) {
    let sent = set_up(db);
    let (old, _) = ask_for_all(&sent);
    let open = sent.agent.evaluate(&gift("900.00", false)).expect_outcome("escalate");
    let waiting = sent.agent.evaluate(&gift("8.00", false)).expect_outcome("allow");
    let other = with(&json!({"intent": "notes.write"}), "counterparty", "acct:other");
    let other = sent.agent.evaluate(&other).expect_outcome("escalate");
    sent.member
        .post(&format!("/v1/decisions/{}/decline", other["decision"]["id"].as_str().unwrap()), &json!({}))
        .expect(200);
    let day = 24 * 60 * MINUTE;
    move_back(&sent.server, "receipts", &["at"], 31 * day, "content IS NOT NULL AND intent IS NOT NULL");
    let put = |operator: &Client, seen: &str, after: &str| {
        let rules = json!({"rules": [{"intent": "gifts.*", "after": after}]});
        operator.put("/v1/retention", &[("if-match", seen)], &rules)
    };
    let kept = |answer: &Value| {
        let id = answer["receipt"]["id"].as_str().unwrap();
        let sql = format!("SELECT COUNT(*) FROM receipts WHERE id = '{id}' AND content IS NOT NULL");
        sent.server.database().connect().number(&sql) == 1
    };
    put(&sent.member, "\"0\"", "30 days").expect_problem(403);
    put(&sent.operator, "\"7\"", "30 days").expect_problem(412);
    assert_eq!(put(&sent.operator, "\"0\"", "40 days").expect(200)["version"], 1);
    assert_eq!(recorded(&sent.server, "retention.put"), 1);
    // The key of the first call still answers.
    put(&sent.operator, "\"1\"", "30 days").expect(200);
    eventually("the second ask of what is over is erased", || recorded(&sent.server, "content.erase") >= 1);
    assert!(kept(&old), "its key still answers");
    move_back(&sent.server, "idempotency_keys", &["expires_at"], 400 * day, "1 = 1");
    put(&sent.operator, "\"2\"", "30 days").expect(200);
    eventually("the first too, once its key is over", || !kept(&old));
    assert!(kept(&open), "a decision about it waits");
    assert!(kept(&waiting), "nobody said how its effect ended");
    assert!(kept(&other), "no rule names it");
    eventually("nothing of it is left", || sent.left().is_empty());
    let rule = sent.line(&old["receipt"]["id"])["erased"]["input"]["rule"].clone();
    assert_eq!(rule, json!({"intent": "gifts.*", "days": 30}));
    let live = sent.member.get("/v1/retention");
    assert_eq!(live.header("etag"), Some("\"3\""));
    assert_eq!(live.json["retention"]["rules"], json!([{"intent": "gifts.*", "after": "30 days"}]));
}
