//! Writes the mails that tell people what waits for them; none of them can decide anything.

use crate::domain::{TenantSlug, Timestamp};
use crate::engine::Approvals;
use crate::engine::step::counts;
use crate::storage::StoreError;
use crate::storage::decision::{Decision, DecisionKind};
use crate::storage::effect::Effect;
use crate::storage::outbox::Mail;
use crate::storage::principal::Principal;
use askama::Template;
use chrono::{DateTime, Utc};

/// Why a decision waits for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// It was opened, or asks for their yes from now on.
    Opened,
    /// They said yes, and it was put anew since.
    Again,
}

/// The mail that says a decision about an action, or an agent that asks too much, waits: what for, until when, and
/// where. `owner` is whose agent asks, `person` whom the mail is for; `url` is the decision's page.
///
/// The subject and the texts hold nothing an agent wrote but the intent, whose grammar is ASCII.
///
/// # Errors
/// [`StoreError::Failed`] if a template cannot be written.
pub fn decision_opened(
    tenant: &TenantSlug,
    person: &Principal,
    owner: &Principal,
    decision: &Decision,
    url: &str,
    occasion: Occasion,
) -> Result<Mail, StoreError> {
    let counts_here = |approvals: &Approvals| counts(approvals, decision.principal, person.id, person.roles);
    let words = Words {
        tenant: tenant.as_str(),
        name: person.name.as_str(),
        owner: (person.id != owner.id).then_some(owner.name.as_str()),
        intent: decision.intent.as_str(),
        about: decision.kind,
        occasion,
        is_shared: decision.takes_others(),
        counts: decision.asked_for().iter().any(counts_here),
        expires: minute(decision.expires_at),
        decision: decision.id.to_string(),
        url,
    };
    Ok(Mail {
        tenant: tenant.clone(),
        id: format!("{}.{}.{}", decision.id, occasion.as_str(), person.id),
        recipient: person.email.clone(),
        subject: write(&DecisionOpenedSubject { words: &words })?,
        text: write(&DecisionOpenedText { words: &words })?,
        html: write(&DecisionOpenedHtml { words: &words })?,
        attempts: 0,
    })
}

impl Occasion {
    /// What tells the mails of one decision to one person apart.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Again => "again",
        }
    }
}

/// The mail that says that nobody knows how an effect ended, and where its principal says how; `asked` is the decision
/// that waits for that, `url` its page.
///
/// The subject and the texts hold nothing an agent wrote but the intent, whose grammar is ASCII.
///
/// # Errors
/// [`StoreError::Failed`] if a template cannot be written.
pub fn effect_unknown(
    tenant: &TenantSlug,
    person: &Principal,
    effect: &Effect,
    asked: &Decision,
    url: &str,
) -> Result<Mail, StoreError> {
    let words = Unknown {
        tenant: tenant.as_str(),
        name: person.name.as_str(),
        intent: effect.intent.as_str(),
        allowed: minute(effect.claimed_at),
        decision: asked.id.to_string(),
        url,
    };
    Ok(Mail {
        tenant: tenant.clone(),
        id: format!("{}.unknown.{}", asked.id, person.id),
        recipient: person.email.clone(),
        subject: write(&EffectUnknownSubject { words: &words })?,
        text: write(&EffectUnknownText { words: &words })?,
        html: write(&EffectUnknownHtml { words: &words })?,
        attempts: 0,
    })
}

/// What the three templates of the mail about a decision say.
struct Words<'a> {
    tenant: &'a str,
    name: &'a str,
    /// Whose agent asks, where it is not the reader's.
    owner: Option<&'a str>,
    intent: &'a str,
    about: DecisionKind,
    occasion: Occasion,
    /// Whether it takes more than its principal's yes.
    is_shared: bool,
    /// Whether the reader's yes is one of those it takes.
    counts: bool,
    expires: String,
    decision: String,
    url: &'a str,
}

impl Words<'_> {
    fn is_attention(&self) -> bool {
        self.about == DecisionKind::Attention
    }

    /// Whether the reader said yes before.
    fn is_again(&self) -> bool {
        self.occasion == Occasion::Again
    }
}

#[derive(Template)]
#[template(path = "mail/decision_opened.subject", escape = "none")]
struct DecisionOpenedSubject<'a> {
    words: &'a Words<'a>,
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

/// What the three templates of the mail about an effect say.
struct Unknown<'a> {
    tenant: &'a str,
    name: &'a str,
    intent: &'a str,
    allowed: String,
    decision: String,
    url: &'a str,
}

#[derive(Template)]
#[template(path = "mail/effect_unknown.subject", escape = "none")]
struct EffectUnknownSubject<'a> {
    words: &'a Unknown<'a>,
}

#[derive(Template)]
#[template(path = "mail/effect_unknown.txt", escape = "none")]
struct EffectUnknownText<'a> {
    words: &'a Unknown<'a>,
}

#[derive(Template)]
#[template(path = "mail/effect_unknown.html")]
struct EffectUnknownHtml<'a> {
    words: &'a Unknown<'a>,
}

pub(super) fn write(template: &impl Template) -> Result<String, StoreError> {
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
    use crate::domain::{AgentId, CredentialId, DecisionId, EffectId, Hash, PrincipalId, Role, Roles};
    use crate::storage::decision::DecisionStatus;
    use crate::storage::effect::EffectStatus;
    use std::collections::BTreeSet;

    fn mail(kind: DecisionKind, name: &str) -> Mail {
        let [ada, _] = people(name);
        opened(&ada, &ada, &decision(&ada, kind, BTreeSet::new()), Occasion::Opened)
    }

    fn opened(person: &Principal, owner: &Principal, decision: &Decision, occasion: Occasion) -> Mail {
        decision_opened(&owner.tenant, person, owner, decision, URL, occasion).unwrap()
    }

    const URL: &str = "https://procura.example/queue/dec_01m6b8te80081040g2081040g2";

    /// A member, and somebody from compliance.
    fn people(name: &str) -> [Principal; 2] {
        let at: Timestamp = "2026-11-01T10:00:00Z".parse().unwrap();
        let tenant: TenantSlug = "acme-emea".parse().unwrap();
        let person = |id, email: &str, name: &str, role| Principal {
            tenant: tenant.clone(),
            id: PrincipalId::new(at, [id; 10]),
            email: email.to_owned(),
            name: name.parse().unwrap(),
            roles: Roles::from_iter([role]),
            password: None,
            password_set_by: None,
            created_at: at,
        };
        [
            person(1, "ada@example.com", name, Role::Member),
            person(5, "cleo@example.com", "Cleo", Role::Compliance),
        ]
    }

    fn decision(owner: &Principal, kind: DecisionKind, approvals: BTreeSet<Approvals>) -> Decision {
        let at: Timestamp = "2026-11-01T10:00:00Z".parse().unwrap();
        Decision {
            id: DecisionId::new(at, [2; 10]),
            principal: owner.id,
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
            approvals,
            why: crate::engine::Why::default(),
        }
    }

    #[test]
    fn each_reader_is_told_whose_agent_asks_and_what_their_yes_is_worth() {
        let [ada, cleo] = people("Ada");
        let roles = |roles: &[Role]| {
            [Approvals { count: 2, roles: roles.iter().copied().collect(), others: false }].into()
        };
        let compliance = decision(&ada, DecisionKind::Action, roles(&[Role::Compliance]));
        let either = decision(&ada, DecisionKind::Action, roles(&[Role::Compliance, Role::Member]));
        let to = |person, decision| opened(person, &ada, decision, Occasion::Opened);
        let (hers, theirs) = (to(&ada, &compliance), to(&cleo, &compliance));
        assert_ne!(hers.id, theirs.id, "one does not keep the other from being written");
        for (mail, said, unsaid) in [
            (&hers, "an agent of yours", "your yes or no"),
            (&hers, "waits for the yes of others", "an agent of Ada"),
            (&theirs, "an agent of Ada asked", "an agent of yours"),
            (&theirs, "your yes is one of those it takes", "your mandate"),
            (&to(&ada, &either), "your yes is one of those it takes", "of others"),
        ] {
            for body in [&mail.text, &mail.html] {
                let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(body.contains(said) && !body.contains(unsaid), "{said}, not {unsaid}: {body}");
            }
        }
    }

    #[test]
    fn an_agent_that_asks_too_much_is_told_of_as_that() {
        let mail = mail(DecisionKind::Attention, "Ada");
        assert_eq!(mail.subject, "An agent asks too much: payments.refund");
        for body in [&mail.text, &mail.html] {
            assert!(body.contains("one too many") && !body.contains("your yes or no"), "{body}");
        }
    }

    #[test]
    fn every_mail_says_what_until_when_and_where() {
        let mail = mail(DecisionKind::Action, "Ada Lovelace");
        assert_eq!(mail.subject, "A decision waits for you: payments.refund");
        assert!(mail.id.starts_with("dec_") && mail.id.contains(".opened.prn_"));
        check(&mail, &["2 Nov 2026, 10:00 UTC", "cannot approve anything"]);
    }

    /// What every mail to Ada Lovelace holds, and these besides.
    fn check(mail: &Mail, says: &[&str]) {
        assert_eq!(mail.recipient, "ada@example.com");
        let always =
            ["Hello Ada Lovelace", "payments.refund", "https://procura.example/queue/dec_", "acme-emea"];
        for body in [&mail.text, &mail.html] {
            for said in always.iter().chain(says) {
                assert!(body.contains(said), "{said} in {body}");
            }
        }
        assert!(
            !mail.html.contains("<form") && !mail.html.contains("<script") && !mail.html.contains("<img")
        );
    }

    #[test]
    fn whoever_said_yes_to_what_is_put_anew_is_told_that_it_no_longer_counts() {
        let [ada, cleo] = people("Ada Lovelace");
        let asked = [Approvals { count: 2, roles: [Role::Compliance].into(), others: false }];
        let open = decision(&ada, DecisionKind::Action, asked.into());
        let (hers, theirs) =
            (opened(&ada, &ada, &open, Occasion::Again), opened(&cleo, &ada, &open, Occasion::Again));
        check(&hers, &["2 Nov 2026, 10:00 UTC", "cannot approve anything"]);
        assert_eq!(hers.subject, "A decision waits for you again: payments.refund");
        assert_ne!(hers.id, opened(&ada, &ada, &open, Occasion::Opened).id, "it is written beside the first");
        for (mail, whose) in [(&hers, "an agent of yours"), (&theirs, "an agent of Ada Lovelace")] {
            for body in [&mail.text, &mail.html] {
                let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(
                    body.contains(&format!("you said yes to something that {whose} asked for")),
                    "{body}"
                );
                assert!(body.contains("your yes no longer counts"), "{body}");
            }
        }
    }

    fn unknown(name: &str) -> Mail {
        let [ada, _] = people(name);
        let at: Timestamp = "2026-11-01T10:00:00Z".parse().unwrap();
        let effect = Effect {
            id: EffectId::new(at, [6; 10]),
            principal: ada.id,
            agent: AgentId::new(at, [3; 10]),
            credential: CredentialId::new(at, [4; 10]),
            intent: "payments.refund".parse().unwrap(),
            status: EffectStatus::Unknown,
            attested: false,
            log_index: 41,
            idempotency_key: "a key that is nobody's affair".into(),
            claimed_at: at,
            report_by: at,
            ended_at: Some(at),
            reported: Some(r#"{"reference":"what was sent"}"#.into()),
            enforcement_point: None,
        };
        let asked = decision(&ada, DecisionKind::Effect, BTreeSet::new());
        effect_unknown(&ada.tenant, &ada, &effect, &asked, URL).unwrap()
    }

    #[test]
    fn an_effect_nobody_knows_the_end_of_is_told_without_what_was_sent() {
        let mail = unknown("Ada Lovelace");
        assert_eq!(mail.subject, "Nobody knows how it ended: payments.refund");
        check(&mail, &["1 Nov 2026, 10:00 UTC", "cannot settle anything", "counts in your limits"]);
        for body in [&mail.text, &mail.html] {
            assert!(!body.contains("nobody's affair") && !body.contains("what was sent"), "{body}");
        }
        let named = unknown("<b>Ada</b>");
        assert!(named.html.contains("Hello &#60;b&#62;Ada"), "{}", named.html);
        assert!(!named.subject.contains("Ada") && !named.subject.contains(['\r', '\n']));
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
