//! Mail tells a person that something waits; it never carries an agent's words in its subject, nor a way to say yes.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{ACTING_SCOPES, refund, refunds_up_to, small_refunds, with};
use crate::four_eyes::{asking_for, of, two};
use crate::server::{Folder, Server, TENANT, eventually};
use serde_json::{Value, json};
use std::path::Path;

both!(
    a_decision_is_mailed_with_a_link_and_without_the_agents_words_in_the_subject,
    whoever_a_changed_policy_asks_is_told_once,
    whoever_said_yes_to_what_is_put_anew_is_told_once,
    an_effect_nobody_knows_the_end_of_is_mailed_once,
);

/// What an agent would like to stand in a subject, or to become a header of its own.
const BAIT: &str = "URGENT approve now";

fn a_decision_is_mailed_with_a_link_and_without_the_agents_words_in_the_subject(db: Db) {
    let outbox = Folder::new();
    let folder = outbox.display().to_string();
    let mut server = Server::set_up(db, &[TENANT]).option("--mail-folder", &folder);
    server.serve();
    let member = server.member_with("m@example.test", &small_refunds());
    let agent = Agent::new(&member, BAIT);
    let action = with(&refund("5000.00"), "counterparty", BAIT);
    let attachment =
        json!({"kind": "message", "from": format!("{BAIT}\r\nBcc: thief@example.test"), "text": BAIT});
    let answer = agent.evaluate(&with(&action, "attachment", attachment)).expect_outcome("escalate");
    let decision = answer["decision"]["id"].as_str().unwrap().to_owned();
    eventually("the mail is written", || mails(&outbox).iter().any(|mail| body(mail).contains(&decision)));
    let mail = mails(&outbox).into_iter().find(|mail| body(mail).contains(&decision)).unwrap();
    let (head, _) = mail.split_once("\r\n\r\n").unwrap();
    assert!(head.lines().any(|line| line.starts_with("To:") && line.contains("m@example.test")), "{head}");
    let subject = head.lines().find(|line| line.starts_with("Subject:")).unwrap();
    assert!(!subject.contains("URGENT") && !subject.contains("approve now"), "{subject}");
    assert!(!head.lines().any(|line| line.starts_with("Bcc:")), "{head}");
    let link = answer["decision"]["url"].as_str().unwrap();
    let text = body(&mail);
    assert!(text.contains(link), "no link {link} in {text}");

    // Whoever opens the link, or anything near it, has not decided.
    let path = link.splitn(4, '/').nth(3).unwrap();
    for guess in [format!("/{path}"), format!("/{path}/approve"), format!("/v1/decisions/{decision}/approve")]
    {
        let opened = server.client().get(&guess);
        assert!(opened.status >= 300, "{guess} answers {} without a session", opened.status);
    }
    let shown = member.get(&format!("/v1/decisions/{decision}")).expect(200);
    assert_eq!(shown["status"], "open");
}

/// A server that writes its mail into a folder.
fn mailing(db: Db, outbox: &Folder) -> Server {
    let mut server = Server::set_up(db, &[TENANT]).option("--mail-folder", &outbox.display().to_string());
    server.serve();
    server
}

/// How many mails of a subject each of these got that name something.
fn counts<const N: usize>(outbox: &Folder, subject: &str, named: &str, people: [&str; N]) -> [usize; N] {
    let all = mails(outbox);
    let about = |mail: &&String| mail.contains(&format!("Subject: {subject}")) && body(mail).contains(named);
    people.map(|who| all.iter().filter(about).filter(|mail| mail.contains(&format!("To: {who}"))).count())
}

const MEMBER: &str = "m@example.test";
const CLEO: &str = "cleo@example.test";
const CARL: &str = "carl@example.test";

fn whoever_a_changed_policy_asks_is_told_once(db: Db) {
    let outbox = Folder::new();
    let club = of(mailing(db, &outbox), &two());
    club.member.put_mandate(&refunds_up_to("100.00"));
    let action = with(&refund("500.00"), "resource", "booking:1");
    let answer = club.agent.evaluate(&action).expect_outcome("escalate");
    let decision = answer["decision"]["id"].as_str().unwrap();
    let told =
        || counts(&outbox, "A decision waits for you: payments.refund", decision, [MEMBER, CLEO, CARL]);
    eventually("its principal is told", || told() == [1, 0, 0]);
    let mut policy = asking_for(&json!({"roles": ["compliance"]}));
    policy["clauses"][0].as_object_mut().unwrap().remove("when");
    club.server.operator().put_over("/v1/policy", &policy);
    eventually("those it asks now are told", || told() == [1, 1, 1]);
    policy["clauses"][0]["approvals"] = json!({"count": 2, "roles": ["compliance"]});
    club.server.operator().put_over("/v1/policy", &policy);
    assert_eq!(club.cleo.get(&format!("/v1/decisions/{decision}")).expect(200)["status"], "open");
    let other = club.agent.evaluate(&with(&action, "resource", "booking:2")).expect_outcome("escalate");
    let other = other["decision"]["id"].as_str().unwrap();
    let last = || counts(&outbox, "A decision waits", other, [MEMBER, CLEO, CARL]);
    eventually("what was asked later is mailed", || last() == [1, 1, 1]);
    assert_eq!(told(), [1, 1, 1], "once");
    assert_eq!(mails(&outbox).len(), 6, "and nothing else");
    let hers = mails(&outbox).into_iter().find(|mail| mail.contains(&format!("To: {CLEO}"))).unwrap();
    assert!(body(&hers).contains("an agent of m asked"), "{hers}");
}

fn whoever_said_yes_to_what_is_put_anew_is_told_once(db: Db) {
    let outbox = Folder::new();
    let club = of(mailing(db, &outbox), &two());
    let decision = club.ask();
    club.cleo.approve(&decision).expect(200);
    let again = || {
        let people = [MEMBER, CLEO, CARL];
        counts(&outbox, "A decision waits for you again: payments.refund", &decision, people)
    };
    for ceiling in ["90000.00", "80000.00", "70000.00"] {
        club.member.put_mandate(&refunds_up_to(ceiling));
        club.cleo.approve(&decision).expect(200);
    }
    eventually("she is told", || again() == [0, 1, 0]);
    let written = "SELECT COUNT(*) FROM outbox";
    assert_eq!(
        club.server.database().connect().number(written),
        4,
        "three were told of it, and she once more"
    );
    let mail = mails(&outbox).into_iter().find(|mail| mail.contains("you again:")).unwrap();
    assert!(body(&mail).contains("your yes no longer counts"), "{mail}");
}

fn an_effect_nobody_knows_the_end_of_is_mailed_once(db: Db) {
    let outbox = Folder::new();
    let server = mailing(db, &outbox);
    let entry = json!({
        "title": "charge", "effect": true,
        "arguments": {"type": "object", "properties": {"note": {"type": "string"}}},
    });
    server.operator().put("/v1/catalogue/payments.charge", &[], &entry).expect(200);
    let clauses = json!([{"id": "M-001", "intent": "*", "effect": "allow"}]);
    let member = server.member_with(MEMBER, &json!({"scopes": ACTING_SCOPES, "clauses": clauses}));
    let agent = Agent::new(&member, BAIT);
    let charge = || {
        let action = json!({"intent": "payments.charge", "arguments": {"note": BAIT}});
        let answer = agent.evaluate(&action).expect_outcome("allow");
        answer["effect"]["id"].as_str().unwrap().to_owned()
    };
    let (said, overdue) = (charge(), charge());
    let report = json!({"status": "unknown", "reference": BAIT});
    for _ in 0..2 {
        agent.post(&format!("/v1/effects/{said}/outcome"), &report).expect(200);
    }
    let late = "report_by = report_by - 90000000, due_at = due_at - 90000000";
    server.database().connect().execute(&format!("UPDATE effects SET {late} WHERE id = '{overdue}'"));
    let open = || member.all("/v1/decisions?status=open");
    eventually("both wait to be resolved", || open().len() == 2);
    let told = |decision: &Value| {
        let decision = decision["id"].as_str().unwrap();
        counts(&outbox, "Nobody knows how it ended: payments.charge", decision, [MEMBER])[0]
    };
    eventually("both are mailed", || open().iter().all(|decision| told(decision) == 1));
    let all = mails(&outbox);
    assert_eq!(all.len(), 2, "once each");
    for mail in &all {
        assert!(body(mail).contains("/queue/dec_"), "no link in {mail}");
        assert!(!mail.contains("URGENT") && !mail.contains("approve now"), "{mail}");
        assert!(mail.contains("text/plain") && mail.contains("text/html"), "{mail}");
    }
}

/// Every mail in a folder, as it was sent.
pub(crate) fn mails(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mails = files.filter(|path| path.extension().is_some_and(|extension| extension == "eml"));
    mails.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// A mail's body with the soft line breaks of quoted-printable taken out.
pub(crate) fn body(mail: &str) -> String {
    mail.replace("=\r\n", "").replace("=3D", "=")
}
