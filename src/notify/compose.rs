//! Writes the mails that tell people what waits for them; none of them can decide anything.

use crate::domain::{TenantSlug, Timestamp};
use crate::storage::StoreError;
use crate::storage::decision::{Decision, DecisionKind};
use crate::storage::outbox::Mail;
use crate::storage::principal::Principal;
use askama::Template;
use chrono::{DateTime, Utc};

/// Whether people are told by mail.
#[derive(Debug, Clone)]
pub struct MailSettings {
    /// Whether mail is written at all.
    pub enabled: bool,
}

/// The mail that says a decision waits: what for, until when, and where. `url` is the decision's page.
///
/// The subject and the texts hold nothing an agent wrote but the intent, whose grammar is ASCII.
///
/// # Errors
/// [`StoreError::Failed`] if a template cannot be written.
pub fn decision_opened(
    tenant: &TenantSlug,
    person: &Principal,
    decision: &Decision,
    url: &str,
) -> Result<Mail, StoreError> {
    let words = Words {
        tenant: tenant.as_str(),
        name: person.name.as_str(),
        intent: decision.intent.as_str(),
        is_effect: match decision.kind {
            DecisionKind::Action => false,
            DecisionKind::Effect => true,
            DecisionKind::Attention => false,
        },
        is_attention: match decision.kind {
            DecisionKind::Attention => true,
            DecisionKind::Action | DecisionKind::Effect => false,
        },
        expires: minute(decision.expires_at),
        decision: decision.id.to_string(),
        url,
    };
    Ok(Mail {
        tenant: tenant.clone(),
        id: format!("{}.opened", decision.id),
        recipient: person.email.clone(),
        subject: write(&DecisionOpenedSubject { intent: words.intent })?,
        text: write(&DecisionOpenedText { words: &words })?,
        html: write(&DecisionOpenedHtml { words: &words })?,
        attempts: 0,
    })
}

/// What the three templates of a mail say.
struct Words<'a> {
    tenant: &'a str,
    name: &'a str,
    intent: &'a str,
    is_effect: bool,
    is_attention: bool,
    expires: String,
    decision: String,
    url: &'a str,
}

#[derive(Template)]
#[template(path = "mail/decision_opened.subject", escape = "none")]
struct DecisionOpenedSubject<'a> {
    intent: &'a str,
}

#[derive(Template)]
#[template(path = "mail/decision_opened.txt", escape = "none")]
struct DecisionOpenedText<'a> {
    words: &'a Words<'a>,
}

#[derive(Template)]
#[template(path = "mail/decision_opened.html")]
struct DecisionOpenedHtml<'a> {
    words: &'a Words<'a>,
}

fn write(template: &impl Template) -> Result<String, StoreError> {
    template.render().map_err(|error| StoreError::Failed(format!("a mail cannot be written: {error}")))
}

/// To the minute, in UTC: a mail is read anywhere.
fn minute(at: Timestamp) -> String {
    DateTime::<Utc>::from_timestamp_millis(at.unix_milliseconds())
        .map_or_else(|| at.to_string(), |at| at.format("%-d %b %Y, %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AgentId, CredentialId, DecisionId, Hash, PrincipalId, Roles};
    use crate::storage::decision::DecisionStatus;

    fn mail(kind: DecisionKind, name: &str) -> Mail {
        let at: Timestamp = "2026-11-01T10:00:00Z".parse().unwrap();
        let tenant: TenantSlug = "acme-emea".parse().unwrap();
        let principal = PrincipalId::new(at, [1; 10]);
        let person = Principal {
            tenant: tenant.clone(),
            id: principal,
            email: "ada@example.com".to_owned(),
            name: name.parse().unwrap(),
            roles: Roles::default(),
            password: None,
            password_set_by: None,
            created_at: at,
        };
        let decision = Decision {
            id: DecisionId::new(at, [2; 10]),
            principal,
            agent: AgentId::new(at, [3; 10]),
            credential: CredentialId::new(at, [4; 10]),
            kind,
            status: DecisionStatus::Open,
            intent: "payments.refund".parse().unwrap(),
            log_index: 41,
            input_hash: Hash::ZERO,
            request_hash: None,
            effect: None,
            opened_at: at,
            expires_at: "2026-11-02T10:00:00Z".parse().unwrap(),
            decided_at: None,
            decided_by: None,
            approved_until: None,
            reason: None,
            used_index: None,
            asks: 1,
            approvals: std::collections::BTreeSet::new(),
        };
        decision_opened(
            &tenant,
            &person,
            &decision,
            &format!("https://procura.example/queue/{}", decision.id),
        )
        .unwrap()
    }

    #[test]
    fn every_mail_says_what_until_when_and_where() {
        for kind in [DecisionKind::Action, DecisionKind::Effect] {
            let mail = mail(kind, "Ada Lovelace");
            assert_eq!(mail.subject, "A decision waits for you: payments.refund");
            assert_eq!(mail.recipient, "ada@example.com");
            assert!(mail.id.starts_with("dec_") && mail.id.ends_with(".opened"));
            for body in [&mail.text, &mail.html] {
                for said in [
                    "Hello Ada Lovelace",
                    "payments.refund",
                    "2 Nov 2026, 10:00 UTC",
                    "https://procura.example/queue/dec_",
                    "cannot approve anything",
                    "acme-emea",
                ] {
                    assert!(body.contains(said), "{said} in {body}");
                }
            }
            assert!(
                !mail.html.contains("<form") && !mail.html.contains("<script") && !mail.html.contains("<img")
            );
        }
    }

    #[test]
    fn the_plain_text_reads_as_written() {
        insta::assert_snapshot!(mail(DecisionKind::Action, "Ada").text, @r"
        Hello Ada,

        an agent of yours asked for something your mandate does not allow by itself:

            payments.refund

        It waits for your yes or no until 2 Nov 2026, 10:00 UTC.
        What exactly was asked is on its page:

            https://procura.example/queue/dec_01m6b8te80081040g2081040g2

        This mail cannot approve anything, and neither can a reply to it: you decide on
        that page, signed in. Without an answer the request ends by itself and nothing happens.

        Procura, acme-emea
        dec_01m6b8te80081040g2081040g2
        ");
    }

    #[test]
    fn a_name_is_text_in_the_html_and_never_in_the_subject() {
        let mail = mail(DecisionKind::Action, "<b>Ada</b>");
        assert!(mail.html.contains("Hello &#60;b&#62;Ada"), "{}", mail.html);
        assert!(!mail.subject.contains("Ada"));
        assert!(!mail.subject.contains(['\r', '\n']));
    }
}
