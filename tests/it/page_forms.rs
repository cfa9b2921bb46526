//! The forms of the pages: what they do, and that nothing happens unless a page of ours sent them.

use crate::agent::Agent;
use crate::client::Client;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::server::{PASSWORD, Server, TENANT};
use crate::visitor::{Visitor, hidden};
use serde_json::{Value, json};

both!(
    a_form_from_elsewhere_or_without_its_token_changes_nothing,
    a_sign_in_form_from_elsewhere_signs_nobody_in,
    an_approval_from_the_page_serves_what_was_shown_once,
    declining_from_the_page_can_refuse_the_like_from_now_on,
    an_effect_nobody_knows_the_end_of_is_resolved_from_the_page,
    a_mandate_is_saved_from_the_page_and_its_faults_are_listed,
    a_draft_is_checked_on_the_page_and_nothing_is_saved,
    the_scopes_are_changed_and_everything_is_stopped_from_the_page,
    widening_from_the_page_needs_a_fresh_sign_in_and_keeps_what_was_typed,
    a_secret_is_shown_once_and_ends_with_its_credential,
    what_an_agent_wrote_stands_in_the_page_as_text,
);

/// A member with an agent, at the page of a refund that waits.
struct Asked {
    server: Server,
    member: Client,
    agent: Agent,
    visitor: Visitor,
    action: Value,
    decision: String,
}

#[track_caller]
fn asked(db: Db) -> Asked {
    let server = Server::start(db);
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, "runner");
    let action = refund("5000.00");
    let answer = agent.evaluate(&action).expect_outcome("escalate");
    let decision = answer["decision"]["id"].as_str().unwrap().to_owned();
    let visitor = Visitor::signed_in(&server, "m@example.test");
    Asked { server, member, agent, visitor, action, decision }
}

impl Asked {
    fn path(&self) -> String {
        format!("/queue/{}", self.decision)
    }

    fn status(&self) -> String {
        let shown = self.member.get(&format!("/v1/decisions/{}", self.decision)).expect(200);
        shown["status"].as_str().unwrap().to_owned()
    }

    /// Sends one of the forms of the decision's page.
    #[track_caller]
    fn answer(&mut self, verb: &str, fields: &[(&str, &str)]) -> crate::client::Reply {
        let path = self.path();
        self.visitor.submit(&path, &format!("{path}/{verb}"), fields)
    }
}

fn a_form_from_elsewhere_or_without_its_token_changes_nothing(db: Db) {
    let mut asked = asked(db);
    let page = asked.visitor.page(&asked.path());
    let (token, hash) = (hidden(&page, "csrf"), hidden(&page, "input_hash"));
    let other = hidden(&Visitor::signed_in(&asked.server, "m@example.test").page("/queue"), "csrf");
    let path = asked.path();
    let forms = [
        (format!("{path}/approve"), vec![("input_hash", &*hash), ("valid_for", "900")]),
        (format!("{path}/decline"), vec![("narrow", "refuse")]),
        ("/mandate".to_owned(), vec![("version", "2"), ("document", "scopes: []")]),
        ("/mandate/check".to_owned(), vec![("version", "2"), ("document", "scopes: []")]),
        ("/mandate/terms".to_owned(), vec![("version", "2"), ("unlisted", "refuse")]),
        ("/mandate/stop".to_owned(), vec![]),
        ("/agents".to_owned(), vec![("name", "planted"), ("kind", "acting")]),
        (
            format!("/agents/{}/credentials", asked.agent.id),
            vec![("label", "planted"), ("scope", "action:request"), ("expires_in", "3600")],
        ),
        (format!("/credentials/{}/revoke", asked.agent.credential), vec![]),
        (format!("/agents/{}/retire", asked.agent.id), vec![]),
        ("/coverage".to_owned(), vec![("list", "reference\nch_1\n")]),
        ("/sign-out".to_owned(), vec![]),
    ];
    let ours = asked.server.base();
    let attacks: [(&str, &[(&str, &str)]); 9] = [
        ("", &[("origin", &ours)]),
        (&other, &[("origin", &ours)]),
        (&token[1..], &[("origin", &ours)]),
        (&token, &[("origin", "https://evil.example")]),
        (&token, &[("origin", "null")]),
        (&token, &[("sec-fetch-site", "cross-site")]),
        (&token, &[("sec-fetch-site", "same-site")]),
        (&token, &[("origin", &ours), ("sec-fetch-site", "cross-site")]),
        (&token, &[("origin", "http://127.0.0.1:1")]),
    ];
    for (action, fields) in &forms {
        for (token, headers) in attacks {
            let mut all = fields.clone();
            all.push(("csrf", token));
            let reply = asked.visitor.post(action, headers, &all);
            assert_eq!(reply.status, 403, "{action} with {headers:?}: {}", reply.text);
        }
        assert_eq!(asked.visitor.post(action, &[("origin", &ours)], fields).status, 403, "{action}");
        let mut nobody = Visitor::new(&asked.server);
        let mut all = fields.clone();
        all.push(("csrf", &token));
        let reply = nobody.post(action, &[("origin", &ours)], &all);
        assert_eq!(reply.status, 303, "{action}");
        assert!(reply.header("location").unwrap().starts_with("/sign-in"));
    }
    assert_eq!(asked.status(), "open");
    assert_eq!(asked.member.get("/v1/mandate").expect(200)["version"], 2);
    assert_eq!(asked.member.all("/v1/agents").len(), 1);
    assert_eq!(asked.member.all("/v1/credentials").len(), 1);
    asked.agent.evaluate(&refund("5.00")).expect_outcome("allow");
    assert_eq!(asked.visitor.get("/queue").status, 200, "still signed in");
    // The same form, as the page sends it, is taken.
    assert_eq!(asked.answer("decline", &[]).status, 303);
}

fn a_sign_in_form_from_elsewhere_signs_nobody_in(db: Db) {
    let server = Server::start(db);
    server.member("m@example.test");
    let right = [("tenant", TENANT), ("email", "m@example.test"), ("password", PASSWORD)];
    let mut visitor = Visitor::new(&server);
    let token = hidden(&visitor.page("/sign-in"), "csrf");
    let with_token = [&right[..], &[("csrf", &*token)]].concat();
    let mut elsewhere = Visitor::new(&server);
    let refused = [
        elsewhere.post("/sign-in", &[], &with_token),
        visitor.post("/sign-in", &[], &right),
        visitor.post("/sign-in", &[("origin", "https://evil.example")], &with_token),
        visitor.post("/sign-in", &[("sec-fetch-site", "cross-site")], &with_token),
    ];
    for reply in &refused {
        assert_eq!(reply.status, 403, "{}", reply.text);
        assert!(reply.header("set-cookie").is_none());
    }
    assert_eq!(visitor.post("/sign-in", &[("origin", &server.base())], &with_token).status, 303);
}

fn an_approval_from_the_page_serves_what_was_shown_once(db: Db) {
    let mut asked = asked(db);
    let wrong = format!("sha256:{}", "0".repeat(64));
    let refused = asked.answer("approve", &[("input_hash", &wrong), ("valid_for", "900")]);
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(refused.text.contains("look at it again") && asked.status() == "open");
    let hash = hidden(&asked.visitor.page(&asked.path()), "input_hash");
    let given = asked.answer("approve", &[("input_hash", &hash), ("valid_for", "900")]);
    assert_eq!((given.status, given.header("location")), (303, Some("/queue")), "{}", given.text);
    let queue = asked.visitor.page("/queue");
    assert!(queue.contains("payments.refund: approved"), "{queue}");
    assert!(!asked.visitor.page("/queue").contains("payments.refund: approved"), "a notice is shown once");
    let use_it = with(&asked.action, "decision", &*asked.decision);
    asked.agent.evaluate(&use_it).expect_outcome("allow");
    asked.agent.evaluate(&use_it).expect_outcome("refuse");
    let page = asked.visitor.page(&asked.path());
    assert!(page.contains(": approved by ") && page.contains(": used"), "{page}");
    assert!(!page.contains("/approve\""), "no form is left: {page}");
    let token = hidden(&page, "csrf");
    let again = format!("{}/approve", asked.path());
    let late = asked.visitor.post(&again, &[], &[("csrf", &token), ("input_hash", &hash)]);
    assert_eq!(late.status, 409, "{}", late.text);
    assert!(late.text.contains("is used, no longer open"), "{}", late.text);
}

fn declining_from_the_page_can_refuse_the_like_from_now_on(db: Db) {
    let mut asked = asked(db);
    let answer = asked.answer("decline", &[("reason", "ask for a photograph"), ("narrow", "refuse")]);
    assert_eq!(answer.status, 303, "{}", answer.text);
    let shown = asked.member.get(&format!("/v1/decisions/{}", asked.decision)).expect(200);
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("declined"), &json!("ask for a photograph")));
    let mandate = asked.member.get("/v1/mandate").expect(200);
    assert_eq!(mandate["version"], 3);
    let clauses = mandate["mandate"]["clauses"].as_array().unwrap();
    let added = clauses.last().unwrap();
    assert_eq!((&added["intent"], &added["effect"]), (&json!("payments.refund"), &json!("refuse")));
    let refused = asked.agent.evaluate(&refund("5.00"));
    refused.expect_outcome("refuse");
    assert!(refused.names(added["id"].as_str().unwrap()), "{}", refused.text);
    asked.agent.evaluate(&json!({"intent": "payments.pay"})).expect_outcome("escalate");
}

fn an_effect_nobody_knows_the_end_of_is_resolved_from_the_page(db: Db) {
    let mut asked = asked(db);
    let entry = json!({"title": "Reroute a parcel", "effect": true,
        "arguments": {"type": "object", "properties": {"to": {"type": "string"}}}});
    asked.server.operator().put("/v1/catalogue/parcel.reroute", &[], &entry).expect(200);
    let mut document = small_refunds();
    let clause = json!({"id": "M-003", "intent": "parcel.reroute", "effect": "allow"});
    document["clauses"].as_array_mut().unwrap().push(clause);
    asked.member.put_mandate(&document);
    let action = json!({"intent": "parcel.reroute", "arguments": {"to": "Pier 4"}});
    let effect = asked.agent.evaluate_once("k1", &action).expect_outcome("allow")["effect"]["id"].clone();
    let report = format!("/v1/effects/{}/outcome", effect.as_str().unwrap());
    asked.agent.post(&report, &json!({"status": "unknown"})).expect(200);
    let open = asked.member.all("/v1/decisions?status=open");
    asked.decision =
        open.iter().find(|one| one["kind"] == "effect").unwrap()["id"].as_str().unwrap().to_owned();
    let page = asked.visitor.page(&asked.path());
    assert!(page.contains("How did it end?") && page.contains("Pier 4"), "{page}");
    assert!(!page.contains("/approve\"") && !page.contains("<dt>Ends</dt>"), "{page}");
    let wrong = asked.answer("resolve", &[("status", "claimed")]);
    assert_eq!((wrong.status, &*asked.status()), (422, "open"), "{}", wrong.text);
    let answer = asked.answer("resolve", &[("status", "done"), ("reference", "the carrier's page")]);
    assert_eq!(answer.status, 303, "{}", answer.text);
    assert_eq!(asked.status(), "resolved");
}

fn a_mandate_is_saved_from_the_page_and_its_faults_are_listed(db: Db) {
    let mut asked = asked(db);
    let page = asked.visitor.page("/mandate");
    assert!(page.contains("intent: payments.refund"), "the document stands there as YAML: {page}");
    let mut save = |version: &str, document: &str| {
        asked.visitor.submit("/mandate", "/mandate", &[("version", version), ("document", document)])
    };
    let faulty = "scopes: [everything]\r\nclauses:\r\n  - {id: X, intent: a.b, effect: maybe} # mine\r\n";
    let reply = save("2", faulty);
    assert_eq!(reply.status, 422, "{}", reply.text);
    assert!(
        reply.text.contains("2 things do not fit") && reply.text.contains("/clauses/0/effect"),
        "{}",
        reply.text
    );
    assert!(reply.text.contains("effect: maybe} # mine"), "what was typed is still there: {}", reply.text);
    assert_eq!(save("2", "scopes: [a").status, 422, "not YAML at all");
    let good = "scopes: [action:request]\r\nclauses:\r\n  - id: M-009\r\n    intent: account.*\r\n    effect: refuse\r\n";
    let stale = save("1", good);
    assert_eq!(stale.status, 412, "{}", stale.text);
    assert!(stale.text.contains("version 2 is live") && stale.text.contains("M-009"));
    let saved = save("2", good);
    assert_eq!((saved.status, saved.header("location")), (303, Some("/mandate")), "{}", saved.text);
    let live = asked.member.get("/v1/mandate").expect(200);
    assert_eq!((&live["version"], &live["mandate"]["clauses"][0]["id"]), (&json!(3), &json!("M-009")));
    let page = asked.visitor.page("/mandate");
    assert!(page.contains("Version 3 is live: narrowed"), "{page}");
    assert!(asked.visitor.page("/mandate/versions/2").contains("small refunds"));
}

fn a_draft_is_checked_on_the_page_and_nothing_is_saved(db: Db) {
    let mut asked = asked(db);
    asked.agent.evaluate(&refund("80.00")).expect_outcome("allow");
    let page = asked.visitor.page("/mandate");
    assert!(page.contains("formaction=\"/mandate/check#check\"") && !page.contains("id=\"check\""), "{page}");
    let mut check = |document: &str| {
        let page = asked.visitor.page("/mandate");
        let fields = [("csrf", &*hidden(&page, "csrf")), ("version", "2"), ("document", document)];
        let base = asked.server.base();
        asked.visitor.post("/mandate/check", &[("origin", &*base)], &fields)
    };
    let draft = "scopes: [action:request]\r\nclauses:\r\n  - id: M-001\r\n    intent: payments.refund\r\n    effect: \
                 allow\r\n    when: {amount: {at_most: {value: \"60.00\", currency: EUR}}, untrusted: true} # mine\r\n";
    let reply = check(draft);
    assert_eq!(reply.status, 200, "{}", reply.text);
    for said in [
        "What your draft would do",
        "Nothing is saved yet",
        "<strong>1 of 2</strong>",
        "the catalogue does not know",
        "is the caller&#39;s word",
        "by <code>M-001</code>",
        "untrusted: true} # mine",
    ] {
        assert!(reply.text.contains(said), "no `{said}` in {}", reply.text);
    }
    let hopeless = draft.replace("at_most:", "at_least: {value: \"70.00\", currency: EUR}, at_most:");
    let reply = check(&hopeless);
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert!(reply.text.contains("One thing keeps it from going live"), "{}", reply.text);
    let faulty = check("scopes: [everything]");
    assert_eq!(faulty.status, 422, "{}", faulty.text);
    assert!(faulty.text.contains("/scopes/0"), "{}", faulty.text);
    assert_eq!(asked.member.get("/v1/mandate").expect(200)["version"], 2, "nothing is saved");
    assert_eq!(asked.status(), "open");
}

fn the_scopes_are_changed_and_everything_is_stopped_from_the_page(db: Db) {
    let mut asked = asked(db);
    let mut terms = |fields: &[(&str, &str)]| asked.visitor.submit("/mandate", "/mandate/terms", fields);
    let less =
        [("version", "2"), ("scope", "action:request"), ("scope", "mandate:read"), ("unlisted", "refuse")];
    assert_eq!(terms(&less).status, 303);
    let forbidden = [("version", "3"), ("scope", "mandate:write"), ("unlisted", "refuse")];
    assert_eq!(terms(&forbidden).status, 422);
    let live = asked.member.get("/v1/mandate").expect(200);
    assert_eq!(live["version"], 3);
    assert_eq!(live["mandate"]["scopes"], json!(["action:request", "mandate:read"]));
    assert_eq!(live["mandate"]["unlisted"], "refuse");
    assert_eq!(live["mandate"]["clauses"].as_array().unwrap().len(), 2, "the clauses stay");
    asked.agent.evaluate(&refund("5.00")).expect_outcome("allow");
    assert_eq!(asked.visitor.submit("/mandate", "/mandate/stop", &[]).status, 303);
    asked.agent.evaluate(&refund("5.00")).expect_outcome("refuse");
    assert!(!asked.visitor.page("/mandate").contains("/mandate/stop"), "nothing is left to stop");
}

fn widening_from_the_page_needs_a_fresh_sign_in_and_keeps_what_was_typed(db: Db) {
    let mut asked = asked(db);
    asked.server.database().connect().execute("UPDATE sessions SET signed_in_at = signed_in_at - 600000");
    let wider = "scopes: [action:request, question:ask]\nclauses:\n  - {id: W-1, intent: 'payments.*', effect: allow}\n";
    let fields = [("version", "2"), ("document", wider)];
    let reply = asked.visitor.submit("/mandate", "/mandate", &fields);
    assert_eq!(reply.status, 403, "{}", reply.text);
    assert!(
        reply.text.contains("Sign in once more") && reply.text.contains("name=\"password\""),
        "{}",
        reply.text
    );
    assert_eq!(asked.member.get("/v1/mandate").expect(200)["version"], 2);
    let (token, draft) = (hidden(&reply.text, "csrf"), hidden(&reply.text, "draft"));
    let draft = draft.replace("&#39;", "'");
    assert_eq!(draft, wider);
    let sign_in = [
        ("csrf", &*token),
        ("tenant", TENANT),
        ("email", "m@example.test"),
        ("password", PASSWORD),
        ("draft", &draft),
    ];
    let back = asked.visitor.post("/sign-in", &[], &sign_in);
    assert_eq!(back.status, 200, "{}", back.text);
    assert!(back.text.contains("id: W-1") && back.text.contains("save it again"), "{}", back.text);
    assert_eq!(asked.member.get("/v1/mandate").expect(200)["version"], 2, "signing in saves nothing");
    assert_eq!(asked.visitor.submit("/mandate", "/mandate", &fields).status, 303);
    assert_eq!(asked.member.get("/v1/mandate").expect(200)["version"], 3);
    // Narrowing needs none.
    asked.server.database().connect().execute("UPDATE sessions SET signed_in_at = signed_in_at - 600000");
    assert_eq!(asked.visitor.submit("/mandate", "/mandate/stop", &[]).status, 303);
}

fn a_secret_is_shown_once_and_ends_with_its_credential(db: Db) {
    let mut asked = asked(db);
    let added = asked.visitor.submit("/agents", "/agents", &[("name", "Night shift"), ("kind", "reading")]);
    assert_eq!(added.status, 303, "{}", added.text);
    assert!(asked.visitor.page("/agents").contains("Night shift is added"));
    let wrong = asked.visitor.submit("/agents", "/agents", &[("name", "Spy"), ("kind", "secret")]);
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("value=\"Spy\""), "{}", wrong.text);
    let give = format!("/agents/{}/credentials", asked.agent.id);
    let mut fields = vec![("label", "second"), ("purpose", "pay the May invoices"), ("expires_in", "3600")];
    fields.extend([("scope", "action:request"), ("scope", "decision:read")]);
    let issued = asked.visitor.submit("/agents", &give, &fields);
    assert_eq!((issued.status, issued.header("cache-control")), (201, Some("no-store")), "{}", issued.text);
    let shown = |start: &str| {
        let place = issued.text.find(start).unwrap_or_else(|| panic!("no {start} in {}", issued.text));
        issued.text[place..].split(['<', '\n']).next().unwrap().to_owned()
    };
    let (secret, token, id) = (shown("pca_"), shown("eyJ"), shown("crd_"));
    assert!(!issued.text.contains("nothing until it has"), "{}", issued.text);
    let idle: Vec<_> = fields.iter().copied().chain([("scope", "question:ask")]).collect();
    let idle = asked.visitor.submit("/agents", &give, &idle);
    assert!(idle.text.contains("does not have <code>question:ask</code>: it does nothing"), "{}", idle.text);
    let client = asked.server.client().with_token(&token);
    client.evaluate(&refund("5.00")).expect_outcome("allow");
    for path in ["/agents", "/calls"] {
        let page = asked.visitor.page(path);
        assert!(!page.contains(&secret) && !page.contains(&token), "{path}");
    }
    for (field, value) in [("scope", "mandate:write"), ("expires_in", "99999999")] {
        let mut wrong: Vec<_> = fields.iter().filter(|(name, _)| *name != field).copied().collect();
        wrong.push((field, value));
        assert_eq!(asked.visitor.submit("/agents", &give, &wrong).status, 422, "{field}");
    }
    let revoke = format!("/credentials/{id}/revoke");
    assert_eq!(asked.visitor.submit("/agents", &revoke, &[]).status, 303);
    assert_eq!(client.evaluate(&refund("5.00")).status, 401);
    let retire = format!("/agents/{}/retire", asked.agent.id);
    assert_eq!(asked.visitor.submit("/agents", &retire, &[]).status, 303);
    assert_eq!(asked.agent.evaluate(&refund("5.00")).status, 401);
    assert!(asked.visitor.page("/agents").contains("retired"));
}

fn what_an_agent_wrote_stands_in_the_page_as_text(db: Db) {
    let mut asked = asked(db);
    let attack = "</div></section><form action=//evil.example><script>alert(1)</script><img src=x onerror=alert(1)>\u{202E}";
    let action = json!({
        "intent": "mail.send", "arguments": {"note": attack, attack: 1},
        "attachment": {"kind": attack, "from": attack, "text": attack, "other": attack},
        "counterparty": "acct:<b>x</b>", "resource": "order:\"><script>",
    });
    let answer = asked.agent.evaluate(&action).expect_outcome("escalate");
    asked.decision = answer["decision"]["id"].as_str().unwrap().to_owned();
    for path in [asked.path(), "/queue".to_owned(), "/calls".to_owned()] {
        let page = asked.visitor.page(&path);
        for live in ["<script", "<img", "<b>", "<form action=//", "\u{202E}"] {
            assert!(!page.contains(live), "{live} in {path}: {page}");
        }
    }
    let page = asked.visitor.page(&asked.path());
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("\\u{202E}"), "{page}");
}
