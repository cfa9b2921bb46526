//! Mail tells a person that something waits; it never carries an agent's words in its subject, nor a way to say yes.

use crate::agent::Agent;
use crate::database::{Db, both};
use crate::documents::{refund, small_refunds, with};
use crate::server::{Folder, Server, TENANT, eventually};
use serde_json::json;
use std::path::Path;

both!(a_decision_is_mailed_with_a_link_and_without_the_agents_words_in_the_subject);

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
