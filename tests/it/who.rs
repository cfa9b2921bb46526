//! Who allowed this? Asked with whatever somebody has in hand, and answered in one sentence with what stands behind it.

use crate::agent::Agent;
use crate::client::{Client, in_parallel};
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::four_eyes::{club, two};
use crate::log::check_verifies;
use crate::server::{OPERATOR, Server, TENANT, eventually};
use crate::visitor::Visitor;
use serde_json::{Value, json};

both!(
    a_yes_is_told_by_name_with_what_was_shown_and_who_used_it,
    what_the_mandate_allows_by_itself_is_told_with_who_put_it_live,
    what_nobody_allowed_is_told_as_that,
    the_yes_of_several_people_names_each_of_them,
    whatever_somebody_has_in_hand_finds_the_same_call,
    how_an_effect_ended_is_told_with_who_said_so,
    several_matches_come_the_newest_first,
    what_is_far_behind_the_logs_end_is_found,
    what_is_not_ones_own_is_not_found,
    anothers_act_is_handed_over_without_its_content,
    the_box_on_every_page_answers,
);

/// An effect that the mandate allows by itself.
fn payout() -> Value {
    json!({"intent": "pay.out", "arguments": {}, "evidence": {"cites": ["inv:7"]}})
}

/// A member whose agent may refund a little, and pay out.
fn members(server: &Server) -> (Client, Agent) {
    let entry =
        json!({"title": "pay out", "effect": true, "arguments": {"type": "object", "properties": {}}});
    server.operator().put("/v1/catalogue/pay.out", &[], &entry).expect(200);
    let mut mandate = small_refunds();
    let clause = json!({"id": "M-003", "title": "pay out", "intent": "pay.out", "effect": "allow"});
    mandate["clauses"].as_array_mut().unwrap().push(clause);
    let member = server.member_with("marta@example.test", &mandate);
    let agent = Agent::new(&member, "renewals");
    (member, agent)
}

#[track_caller]
fn who(asker: &Client, q: impl Into<Value>) -> Value {
    asker.post("/v1/who", &json!({"q": q.into()})).expect(200)
}

#[track_caller]
fn sentence(asker: &Client, q: impl Into<Value>) -> String {
    text(&who(asker, q)["sentence"])
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn kinds(answer: &Value) -> Vec<&str> {
    answer["chain"].as_array().unwrap().iter().map(|link| link["kind"].as_str().unwrap()).collect()
}

/// `30 November 2026 at 10:02 UTC` of `2026-11-30T10:02:…Z`.
fn spoken(at: &Value) -> String {
    let at = chrono::DateTime::parse_from_rfc3339(at.as_str().unwrap()).unwrap();
    at.format("%-d %B %Y at %H:%M UTC").to_string()
}

#[track_caller]
fn escalate(agent: &Agent, action: &Value) -> Value {
    agent.evaluate(action).expect_outcome("escalate")
}

/// The file that an answer names must verify; its lines.
#[track_caller]
fn file(asker: &Client, answer: &Value) -> Vec<Value> {
    let reply = asker.get(answer["file"].as_str().unwrap());
    assert_eq!(reply.status, 200, "{}", reply.text);
    check_verifies(&reply.text);
    let lines: Vec<Value> = reply.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = answer["chain"].as_array().unwrap().iter().map(|link| link["id"].clone()).collect();
    assert_eq!(lines.iter().map(|line| line["receipt"]["id"].clone()).collect::<Vec<_>>(), told);
    lines
}

fn a_yes_is_told_by_name_with_what_was_shown_and_who_used_it(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let asked = escalate(&agent, &refund("5000.00"));
    let decision = text(&asked["decision"]["id"]);
    let waits = who(&member, &*decision);
    assert_eq!(waits["standing"], "waits");
    let begin = format!("Nobody has allowed this so far: asked on {} by", spoken(&asked["receipt"]["at"]));
    assert!(text(&waits["sentence"]).starts_with(&begin), "{waits}");

    let yes = member.approve(&decision).expect(200);
    let shown = &asked["receipt"]["input_hash"];
    let begin = format!(
        "marta allowed this on {}, under mandate version 2, by approving decision {decision} shown as {}",
        spoken(&yes["decision_receipt"]["at"]),
        text(shown)
    );
    let approved = sentence(&member, &*decision);
    assert_eq!(
        approved.split("; ").collect::<Vec<_>>(),
        [&begin, &*format!("not used so far, and good until {}.", spoken(&yes["approved_until"]))]
    );
    let used = agent.evaluate(&with(&refund("5000.00"), "decision", &*decision)).expect_outcome("allow");
    let told = who(&member, used["receipt"]["id"].clone());
    let at = spoken(&used["receipt"]["at"]);
    let wanted = format!("{begin}; used once on {at} by credential \"first\" of agent \"renewals\".");
    assert_eq!(told["sentence"], wanted);
    assert_eq!((&told["standing"], &told["decision"]), (&json!("allowed"), &json!(decision)));
    let mut behind = kinds(&told);
    assert_eq!(behind.split_off(behind.len() - 3), ["gate.evaluate", "decision.approve", "gate.evaluate"]);
    for kind in ["tenant.setup", "mandate.put", "agent.create", "credential.create"] {
        assert!(behind.contains(&kind), "{kind} is missing: {behind:?}");
    }
    assert_eq!(file(&member, &told).len(), kinds(&told).len());
    // From every receipt of the story, the same is told.
    for q in [&asked["receipt"]["id"], &yes["decision_receipt"]["id"], &json!(decision)] {
        assert_eq!(who(&member, q.clone())["sentence"], wanted);
    }
}

fn what_the_mandate_allows_by_itself_is_told_with_who_put_it_live(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let child = agent.derive(&json!({"label": "night", "scopes": ["action:request"]}));
    let allowed = child.evaluate(&refund("5.00")).expect_outcome("allow");
    let told = who(&member, allowed["receipt"]["id"].clone());
    let live = spoken(&member.get("/v1/mandate").expect(200)["live_since"]);
    let at = spoken(&allowed["receipt"]["at"]);
    assert_eq!(
        told["sentence"],
        format!(
            "The mandate of marta allowed this on {at} without asking anybody, by clause M-001 of version 2, which \
             marta put live on {live}; asked by credential \"night\" of agent \"renewals\"."
        )
    );
    let ends = ["agent.create", "credential.create", "credential.derive", "gate.evaluate"];
    assert!(kinds(&told).ends_with(&ends), "{:?}", kinds(&told));
    file(&member, &told);
    let given = who(&member, &*child.credential);
    assert!(
        text(&given["sentence"]).contains("derived the credential \"night\" with action:request"),
        "{given}"
    );
    assert_eq!(kinds(&given), ["agent.create", "credential.create", "credential.derive"]);
}

fn what_nobody_allowed_is_told_as_that(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let refused = agent.evaluate(&json!({"intent": "account.close"})).expect_outcome("refuse");
    let told = who(&member, refused["receipt"]["id"].clone());
    assert_eq!(told["standing"], "refused");
    let at = spoken(&refused["receipt"]["at"]);
    let begin = format!(
        "Nobody allowed this: it was refused on {at} by clause M-002 under mandate version 2 and policy version 1 ("
    );
    assert!(text(&told["sentence"]).starts_with(&begin), "{told}");

    let declined = escalate(&agent, &refund("500.00"));
    let decision = text(&declined["decision"]["id"]);
    let no =
        member.post(&format!("/v1/decisions/{decision}/decline"), &json!({"reason": "not ours"})).expect(200);
    let told = who(&member, &*decision);
    let begin = format!(
        "marta declined this on {}: decision {decision}, asked on",
        spoken(&no["decision_receipt"]["at"])
    );
    assert!(text(&told["sentence"]).starts_with(&begin), "{told}");
    assert!(text(&told["sentence"]).ends_with("; they said: not ours."), "{told}");
    assert!(kinds(&told).ends_with(&["gate.evaluate", "decision.decline"]), "{told}");

    let taken_back = escalate(&agent, &refund("600.00"));
    let decision = text(&taken_back["decision"]["id"]);
    member.approve(&decision).expect(200);
    let mut narrower = member.get("/v1/mandate").expect(200)["mandate"].clone();
    narrower["clauses"].as_array_mut().unwrap().remove(0);
    member.put_mandate(&narrower);
    let told = who(&member, &*decision);
    assert_eq!(told["standing"], "withdrawn");
    let words = text(&told["sentence"]);
    assert!(
        words.starts_with("marta allowed this on ") && words.contains("; it was taken back on "),
        "{words}"
    );
    assert!(words.ends_with("before it was used (the mandate was narrowed)."), "{words}");
    assert!(kinds(&told).contains(&"decision.withdraw"), "{told}");
    file(&member, &told);
}

fn the_yes_of_several_people_names_each_of_them(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    club.cleo.approve(&decision).expect(200);
    let words = sentence(&club.member, &*decision);
    assert!(words.contains("; cleo (on ") && words.contains(") said yes, which is not enough"), "{words}");
    club.carl.approve(&decision).expect(200);
    club.use_it(&decision).expect_outcome("allow");
    let told = who(&club.member, &*decision);
    let words = text(&told["sentence"]);
    assert!(words.starts_with("cleo (on "), "{words}");
    assert!(
        words.contains(") and carl (on ") && words.contains(") allowed this for m, under mandate"),
        "{words}"
    );
    assert_eq!(kinds(&told).iter().filter(|kind| **kind == "decision.approve").count(), 2);
    assert!(kinds(&told).contains(&"policy.put"), "the policy that asked for them: {told}");
    file(&club.member, &told);
    assert_eq!(sentence(&club.cleo, &*decision), words, "whoever may decide may ask");
}

fn whatever_somebody_has_in_hand_finds_the_same_call(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let action = json!({
        "intent": "payments.refund", "amount": {"value": "24.00", "currency": "EUR"}, "resource": "order:4412",
        "counterparty": ["acct:cus_91", "acct:cus_92"], "arguments": {"b": [1, 2.5, {"x": null}], "a": "é"},
        "evidence": {"confidence": 0.5, "cites": ["order:4412"]}, "tenant": TENANT, "agent": "renewals",
    });
    escalate(&agent, &refund("2400.00"));
    let answer = agent.evaluate(&action).expect_outcome("allow");
    let receipt = &answer["receipt"];
    let whole = member.get(&format!("/v1/receipts/{}", text(&receipt["id"]))).expect(200);
    let bare = text(&receipt["hash"]).replace("sha256:", "").to_uppercase();
    let leaf = {
        use sha2::Digest as _;
        let data = format!("{{\"auth\":{},\"hash\":{}}}", receipt["auth"], receipt["hash"]);
        format!("sha256:{}", hex::encode(sha2::Sha256::new().chain_update([0]).chain_update(data).finalize()))
    };
    let reordered = r#"{ "arguments": {"a": "\u00e9", "b": [1.0, 25e-1, {"x": null}]}, "untrusted": true,
        "counterparty": ["acct:cus_91", "acct:cus_92"], "resource": "order:4412", "intent": "payments.refund",
        "evidence": {"cites": ["order:4412"], "confidence": 0.50}, "amount": {"currency": "EUR", "value": 24} }"#;
    for q in [
        receipt["id"].clone(),
        json!(format!("  {}\n", text(&receipt["id"]))),
        receipt["hash"].clone(),
        json!(bare),
        receipt["input_hash"].clone(),
        receipt["output_hash"].clone(),
        json!(leaf),
        action.clone(),
        json!(action.to_string()),
        json!(reordered),
        whole.clone(),
        json!(whole.to_string()),
        answer.clone(),
    ] {
        let told = who(&member, q.clone());
        assert_eq!(told["receipt"], receipt["id"], "{q}");
        assert!(told.get("matches").is_none(), "{told}");
    }
    for other in [
        with(&action, "amount", json!({"value": "24.01", "currency": "EUR"})),
        with(&action, "resource", "order:4413"),
        with(&action, "untrusted", false),
    ] {
        let problem = member.post("/v1/who", &json!({"q": other})).expect_problem(404);
        assert!(problem["detail"].as_str().unwrap().contains("a request put to the gate"), "{problem}");
    }
    for (q, status) in [
        (json!({"q": ""}), 422),
        (json!({}), 422),
        (json!({"q": {"amount": 1}}), 422),
        (json!({"q": "x", "more": 1}), 422),
    ] {
        member.post("/v1/who", &q).expect_problem(status);
    }
}

fn how_an_effect_ended_is_told_with_who_said_so(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let answer = agent.evaluate_once("may-2026", &payout()).expect_outcome("allow");
    let effect = text(&answer["effect"]["id"]);
    let words = sentence(&member, &*effect);
    assert!(words.contains(&format!("; nobody has said yet how effect {effect} ended")), "{words}");
    let report = json!({"status": "unknown", "reference": "po_1NXYZ"});
    agent.post(&format!("/v1/effects/{effect}/outcome"), &report).expect(200);
    let words = sentence(&member, "po_1NXYZ");
    assert!(words.contains("; nobody knows since ") && words.contains(&effect), "{words}");
    let open = member.all("/v1/decisions?status=open");
    let resolve = format!("/v1/decisions/{}/resolve", text(&open[0]["id"]));
    member.post(&resolve, &json!({"status": "done", "reference": "po_2NXYZ"})).expect(200);
    let told = who(&member, "po_2NXYZ");
    let words = text(&told["sentence"]);
    assert!(words.contains(&format!("; effect {effect} was done, as marta said on ")), "{words}");
    assert!(kinds(&told).ends_with(&["gate.evaluate", "effect.outcome", "decision.resolve"]), "{told}");
    assert!(kinds(&told).contains(&"catalogue.put"), "{told}");
    file(&member, &told);
    for q in [&*effect, "may-2026", "po_1NXYZ", &text(&open[0]["id"])] {
        assert_eq!(sentence(&member, q), words, "{q}");
    }
    let again = agent.evaluate_once("may-2026", &payout()).expect_outcome("allow");
    assert_eq!(again["receipt"]["id"], answer["receipt"]["id"], "the record is repeated");
    let replay = member.get("/v1/calls?kind=gate.replay").expect(200)["items"][0]["id"].clone();
    let words = sentence(&member, replay);
    assert!(words.contains("; asked again on ") && words.contains("permits nothing anew"), "{words}");
}

fn several_matches_come_the_newest_first(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let ids: Vec<String> = (0..23)
        .map(|_| text(&agent.evaluate(&refund("3.00")).expect_outcome("allow")["receipt"]["id"]))
        .collect();
    let told = who(&member, refund("3.00"));
    let matches: Vec<String> =
        told["matches"].as_array().unwrap().iter().map(|one| text(&one["receipt"])).collect();
    let newest: Vec<String> = ids.iter().rev().take(20).cloned().collect();
    assert_eq!((matches, &told["more"]), (newest, &json!(true)));
    assert_eq!(told["receipt"], ids[22]);
}

fn what_is_far_behind_the_logs_end_is_found(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let early = agent.evaluate(&refund("7.00")).expect_outcome("allow");
    let claimed = agent.evaluate_once("early", &payout()).expect_outcome("allow");
    in_parallel(16, |_| {
        for _ in 0..70 {
            agent.evaluate(&refund("1.00")).expect_outcome("allow");
        }
    });
    let mut connection = server.database().connect();
    eventually("the first run is written", || {
        connection.number(&format!("SELECT count(*) FROM lookups WHERE tenant = '{TENANT}' AND run = 0"))
            == 16
    });
    for (q, found) in [
        (json!(refund("7.00")), &early),
        (early["receipt"]["hash"].clone(), &early),
        (early["receipt"]["input_hash"].clone(), &early),
        (json!("early"), &claimed),
    ] {
        let told = who(&member, q.clone());
        assert_eq!(told["receipt"], found["receipt"]["id"], "{q}");
    }
    // What the lookups say is not believed: the receipt itself is looked at.
    connection.execute("UPDATE lookups SET entries = (SELECT entries FROM lookups AS other WHERE other.part = 15 AND other.run = 0) WHERE part <> 15");
    member.post("/v1/who", &json!({"q": "never heard of"})).expect_problem(404);
}

fn what_is_not_ones_own_is_not_found(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let asked = escalate(&agent, &refund("5000.00"));
    let allowed = agent.evaluate_once("mine", &payout()).expect_outcome("allow");
    let everything = [
        asked["receipt"]["id"].clone(),
        asked["receipt"]["hash"].clone(),
        asked["receipt"]["input_hash"].clone(),
        asked["decision"]["id"].clone(),
        allowed["effect"]["id"].clone(),
        json!("mine"),
        json!(agent.credential),
        json!(agent.id),
        payout(),
        refund("5000.00"),
    ];
    let other = server.member_with("n@example.test", &small_refunds());
    let sibling = Agent::of_kind(&member, "other", "acting", &["action:request", "call:read"]);
    let compliance = server.person(TENANT, "c@example.test", &["compliance"]);
    let operator = server.sign_in(TENANT, OPERATOR);
    for q in &everything {
        let path = format!("/v1/who/{}/file", text(&asked["receipt"]["id"]));
        for stranger in [&other, &operator, &sibling.client()] {
            stranger.post("/v1/who", &json!({"q": q})).expect_problem(404);
            stranger.get(&path).expect_problem(404);
        }
        for reader in [&member, &compliance, &agent.client()] {
            who(reader, q.clone());
            assert_eq!(reader.get(&path).status, 200);
        }
    }
    let blind = Agent::of_kind(&member, "blind", "acting", &["action:request"]);
    blind.post("/v1/who", &json!({"q": "mine"})).expect_problem(403);
    server.client().post("/v1/who", &json!({"q": "mine"})).expect_problem(401);
}

fn anothers_act_is_handed_over_without_its_content(db: Db) {
    let server = Server::start(db);
    let (member, agent) = members(&server);
    let allowed = agent.evaluate(&payout()).expect_outcome("allow");
    let content = |asker: &Client, kind: &str| -> Vec<bool> {
        let told = who(asker, allowed["receipt"]["id"].clone());
        let lines = file(asker, &told);
        let of_kind = lines.iter().filter(|line| line["receipt"]["kind"] == kind);
        of_kind.map(|line| line.get("content").is_some()).collect()
    };
    assert_eq!(content(&member, "gate.evaluate"), [true]);
    assert_eq!(content(&member, "mandate.put"), [true]);
    assert_eq!(content(&member, "catalogue.put"), [false], "the operator's act");
    assert_eq!(content(&agent.client(), "gate.evaluate"), [true]);
    assert_eq!(content(&agent.client(), "mandate.put"), [false], "what its person wrote");
}

fn the_box_on_every_page_answers(db: Db) {
    let server = Server::start(db);
    let (_, agent) = members(&server);
    let allowed = agent.evaluate(&refund("5.00")).expect_outcome("allow");
    let id = text(&allowed["receipt"]["id"]);
    let mut visitor = Visitor::signed_in(&server, "marta@example.test");
    for page in ["/queue", "/mandate", "/agents", "/calls", "/who"] {
        let found = visitor.submit(page, "/who", &[("q", &id)]);
        assert_eq!(found.status, 200, "{}", found.text);
        assert!(found.text.contains("The mandate of marta allowed this on"), "{}", found.text);
        assert!(found.text.contains(&format!("href=\"/who/{id}/file\"")), "{}", found.text);
    }
    let given = visitor.get(&format!("/who/{id}/file"));
    assert!(given.header("content-disposition").unwrap().contains("attachment"), "{}", given.text);
    check_verifies(&given.text);
    let absent = visitor.submit("/who", "/who", &[("q", "<b>po_9</b>\u{202e}")]);
    assert_eq!(absent.status, 404);
    assert!(absent.text.contains("looked for as a provider&#39;s reference"), "{}", absent.text);
    assert!(
        absent.text.contains("&#60;b&#62;po_9") || absent.text.contains("&lt;b&gt;po_9"),
        "{}",
        absent.text
    );
    assert!(!absent.text.contains('\u{202e}'), "nothing hides in what was typed");
    let forged = visitor.post("/who", &[("origin", "https://evil.example")], &[("q", &id), ("csrf", "x")]);
    assert_eq!(forged.status, 403);
    assert_eq!(Visitor::new(&server).get("/who").status, 303, "nobody is signed in");
    let logged = server.database().connect().texts("SELECT route AS text FROM accesses");
    assert!(!logged.iter().any(|route| route.contains("po_9")), "{logged:?}");
}
