//! Questions between members' agents: asked, let in, answered, taken back, and what comes of the answers.

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::server::{Server, TENANT, said};
use serde_json::{Value, json};

both!(
    a_question_is_asked_answered_and_fetched_and_the_log_decides_it_again,
    who_does_not_exist_and_who_does_not_want_it_look_alike,
    an_answering_agent_can_do_nothing_else_whatever_its_scopes_say,
    a_narrowed_mandate_takes_questions_on_their_way_back,
    reserved_intents_are_nobody_elses,
);

const EVERY_SCOPE: [&str; 6] =
    ["action:request", "question:ask", "question:answer", "mandate:read", "decision:read", "call:read"];

fn terms(receive: &Value) -> Value {
    json!({
        "scopes": EVERY_SCOPE,
        "clauses": [
            {"id": "Q-1", "intent": "question.ask", "effect": "allow"},
            receive,
            {"id": "Q-3", "intent": "question.answer", "effect": "allow"},
            {"id": "M-1", "intent": "notes.write", "effect": "allow", "when": {"untrusted": false}},
        ],
    })
}

fn open_terms() -> Value {
    terms(&json!({"id": "Q-2", "intent": "question.receive", "effect": "allow"}))
}

struct Club {
    server: Server,
    ada: Client,
    asks: Agent,
    bea: Client,
    desk: Agent,
}

fn club(db: Db, bea: &Value) -> Club {
    let server = Server::start(db);
    let ada = server.member_with("ada@example.test", &open_terms());
    let bea = server.member_with("bea@example.test", bea);
    let asks = Agent::of_kind(&ada, "runner", "acting", &EVERY_SCOPE);
    let desk = Agent::of_kind(&bea, "desk", "answering", &EVERY_SCOPE);
    Club { server, ada, asks, bea, desk }
}

impl Club {
    fn ask(&self, to: &str) -> Reply {
        self.asks.post("/v1/questions", &json!({"to": to, "text": "When do you open?", "about": "hours"}))
    }
}

fn id(asked: &Value) -> String {
    asked["question"]["id"].as_str().unwrap_or_else(|| panic!("no question: {asked}")).to_owned()
}

#[track_caller]
fn replays(server: &Server) {
    let output = server.run(&["replay", "--json", "--tenant", TENANT]);
    assert!(output.status.success(), "{}", said(&output));
}

fn a_question_is_asked_answered_and_fetched_and_the_log_decides_it_again(db: Db) {
    let club = club(db, &open_terms());
    let note = json!({"intent": "notes.write", "untrusted": false});
    club.asks.evaluate(&note).expect_outcome("allow");
    let asked = club.ask("desk").expect_outcome("allow");
    assert_eq!(asked["receipt"]["kind"], "question.ask");
    let place = format!("/v1/questions/{}", id(&asked));
    let inbox = club.desk.get("/v1/questions?box=inbox&status=open&wait=5").expect(200);
    assert_eq!(inbox["items"][0]["id"], asked["question"]["id"]);
    let read = club.desk.get(&place).expect(200);
    assert_eq!((&read["text"], &read["about"]), (&json!("When do you open?"), &json!("hours")));
    let answered = club.desk.post(&format!("{place}/answer"), &json!({"text": "At nine."}));
    assert_eq!(answered.expect_outcome("allow")["receipt"]["kind"], "question.answer");
    let again = club.desk.post(&format!("{place}/answer"), &json!({"text": "At ten."}));
    again.expect_problem(409);

    let reading = Agent::of_kind(&club.ada, "reader", "reading", &EVERY_SCOPE);
    assert_eq!(reading.get(&place).expect(200)["answer"]["text"], "At nine.");
    club.asks.evaluate(&note).expect_outcome("allow");

    let child = club.asks.derive(&json!({"label": "child", "scopes": ["action:request"]}));
    assert_eq!(club.asks.get(&format!("{place}?wait=5")).expect(200)["answer"]["text"], "At nine.");
    for tainted in [&club.asks, &child] {
        let answer = tainted.evaluate(&note).expect_outcome("escalate");
        let receipt = answer["receipt"]["id"].as_str().unwrap();
        let kept = club.ada.get(&format!("/v1/receipts/{receipt}")).expect(200);
        assert_eq!(kept["input"]["tainted_by"], asked["question"]["id"], "{kept}");
    }
    let fresh = Agent::with_credential(
        &club.ada,
        &club.asks.id,
        &json!({"label": "fresh", "scopes": ["action:request"]}),
    );
    fresh.evaluate(&note).expect_outcome("allow");
    replays(&club.server);
}

fn who_does_not_exist_and_who_does_not_want_it_look_alike(db: Db) {
    let closed = terms(&json!({"id": "Q-2", "intent": "question.receive", "effect": "refuse"}));
    let club = club(db, &closed);
    let mut said = Vec::new();
    for to in ["bea@example.test", "nobody@example.test", "desk", "no desk"] {
        let mut refused = club.ask(to).expect_outcome("refuse");
        assert_eq!(refused["clauses"], json!(["question.unreachable"]), "{refused}");
        let merkle = &refused["receipt"]["merkle"];
        let leaves = merkle["size"].as_u64().unwrap() - merkle["index"].as_u64().unwrap();
        refused.as_object_mut().unwrap().remove("receipt");
        said.push((refused, leaves));
    }
    assert!(said.windows(2).all(|pair| pair[0] == pair[1]), "{said:?}");
    let inbox = club.bea.get("/v1/questions?box=inbox").expect(200);
    assert_eq!(inbox["items"], json!([]));
    replays(&club.server);
}

fn an_answering_agent_can_do_nothing_else_whatever_its_scopes_say(db: Db) {
    let club = club(db, &open_terms());
    let id = id(&club.ask("desk").expect_outcome("allow"));
    let document = club.server.client().get("/openapi.json").expect(200);
    let allowed = [
        ("get", "/v1/questions"),
        ("get", "/v1/questions/{question}"),
        ("post", "/v1/questions/{question}/answer"),
    ];
    let mut walked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let is_open = operation["security"].as_array().is_none_or(Vec::is_empty);
            if is_open || allowed.contains(&(method.as_str(), path.as_str())) {
                continue;
            }
            walked += 1;
            let place: Vec<&str> =
                path.split('/').map(|part| if part.starts_with('{') { &*id } else { part }).collect();
            let body = json!({"intent": "notes.write", "to": "desk", "text": "x"});
            let body = (method != "get" && method != "delete").then(|| body.to_string());
            let reply = club.desk.send(
                &method.to_uppercase(),
                &place.join("/"),
                &[("content-type", "application/json")],
                body.as_deref().map(str::as_bytes),
            );
            let is_refused = reply.status == 403
                || (path == "/v1/gate/evaluate" && matches!(reply.status, 200 | 422))
                    && reply.json["outcome"] != "allow"
                    && reply.json["outcome"] != "escalate";
            assert!(is_refused, "{method} {path}: {} {}", reply.status, reply.text);
        }
    }
    assert!(walked > 30, "{walked} routes were walked");
    club.desk.evaluate(&json!({"intent": "notes.write", "untrusted": false})).expect_outcome("refuse");
}

fn a_narrowed_mandate_takes_questions_on_their_way_back(db: Db) {
    let club = club(db, &open_terms());
    let asked = club.ask("bea@example.test").expect_outcome("allow");
    let place = format!("/v1/questions/{}", id(&asked));
    let blocked = terms(&json!({"id": "Q-2", "intent": "question.receive", "effect": "refuse"}));
    club.bea.put_mandate(&blocked);
    assert_eq!(club.ada.get(&place).expect(200)["status"], "withdrawn");
    club.desk.post(&format!("{place}/answer"), &json!({"text": "At nine."})).expect_problem(409);
    club.bea.put_mandate(&open_terms());
    let asked = club.ask("desk").expect_outcome("allow");
    let place = format!("/v1/questions/{}", id(&asked));
    let mut silent = open_terms();
    silent["scopes"] = json!(["action:request"]);
    club.ada.put_mandate(&silent);
    assert_eq!(club.bea.get(&place).expect(200)["status"], "withdrawn");
    assert_eq!(club.ask("desk").expect_outcome("refuse")["clauses"], json!(["mandate.scopes"]));
    club.ada.put_mandate(&open_terms());
    let mine = id(&club.ask("desk").expect_outcome("allow"));
    let back = club.asks.delete(&format!("/v1/questions/{mine}")).expect(200);
    assert_eq!(back["status"], "withdrawn");
    replays(&club.server);
}

fn reserved_intents_are_nobody_elses(db: Db) {
    let club = club(db, &open_terms());
    for intent in ["question.ask", "question.receive", "question.answer", "question.other"] {
        club.asks.evaluate(&json!({"intent": intent})).expect_problem(422);
    }
    let entry = json!({"title": "x", "effect": false, "arguments": {"type": "object", "properties": {}}});
    club.server.operator().put("/v1/catalogue/question.ask", &[], &entry).expect_problem(422);
}
