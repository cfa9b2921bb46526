//! The daily mail: what waits, what was answered in a person's name the day before, and the signed head of the log.
//!
//! Whoever keeps it holds the log to what it was: a later one that was rewritten, or lost its end, contradicts it.

use super::compose::write;
use crate::domain::Timestamp;
use crate::engine::Period;
use crate::storage::StoreError;
use crate::storage::day::Answers;
use crate::storage::outbox::Mail;
use crate::storage::principal::Principal;
use crate::storage::tenant::Tenant;
use askama::Template;
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

/// A day of a tenant's calendar on which its people are told of the day before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// The day of the mail.
    pub date: NaiveDate,
    /// From when on it is sent.
    pub due: Timestamp,
    /// The first instant of the day before.
    pub from: Timestamp,
    /// The first instant after it.
    pub until: Timestamp,
}

impl Day {
    /// The day that `now` lies in, in that zone, for mails at the time `at` of its clocks. Where clocks skip that time,
    /// the next quarter of an hour there is counts; `None` beyond the calendar.
    pub fn of(now: Timestamp, zone: Tz, at: NaiveTime) -> Option<Self> {
        const QUARTER_HOURS: i64 = 96;
        let date = local(now, zone)?.date_naive();
        let due = (0..QUARTER_HOURS).find_map(|quarter| {
            let local = date.and_time(at).checked_add_signed(TimeDelta::minutes(15 * quarter))?;
            zone.from_local_datetime(&local).earliest()
        })?;
        let until = Period::Day.since(now, zone);
        let before = until.minus(crate::domain::Duration::milliseconds(1));
        let from = Period::Day.since(before, zone);
        Some(Self { date, due: due.with_timezone(&Utc).into(), from, until })
    }
}

fn local(at: Timestamp, zone: Tz) -> Option<DateTime<Tz>> {
    DateTime::<Utc>::from_timestamp_millis(at.unix_milliseconds()).map(|at| at.with_timezone(&zone))
}

/// Something in a person's queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What an agent asked for.
    pub intent: String,
    /// Until when it waits.
    pub expires_at: Timestamp,
    /// Its page.
    pub url: String,
}

/// What there is to tell.
#[derive(Debug, Clone)]
pub struct Told<'a> {
    /// What the gate answered in the person's name the day before.
    pub answers: Answers,
    /// The newest of what waits.
    pub waiting: &'a [Waiting],
    /// Whether more waits than that.
    pub more: bool,
    /// The signed head of the log, whole.
    pub checkpoint: &'a str,
    /// The page of the person's queue.
    pub queue_url: &'a str,
}

/// The mail of a day to one person; its id is the same whoever writes it, so that it is sent once.
///
/// The subject and the texts hold nothing an agent wrote but intents, whose grammar is ASCII.
///
/// # Errors
/// [`StoreError::Failed`] if a template cannot be written.
pub fn digest(tenant: &Tenant, person: &Principal, day: &Day, told: &Told<'_>) -> Result<Mail, StoreError> {
    let waiting = told.waiting.iter().map(|waiting| {
        let until = local(waiting.expires_at, tenant.zone).map_or_else(
            || waiting.expires_at.to_string(),
            |at| at.format("%-d %b %Y, %H:%M %Z").to_string(),
        );
        Line { intent: &waiting.intent, until, url: &waiting.url }
    });
    let yesterday = local(day.from, tenant.zone).map(|at| at.date_naive());
    let words = Words {
        tenant: tenant.slug.as_str(),
        name: person.name.as_str(),
        yesterday: yesterday.map(|date| date.format("%A, %-d %B %Y").to_string()).unwrap_or_default(),
        answers: told.answers,
        waiting: waiting.collect(),
        more: told.more,
        checkpoint: told.checkpoint.trim_end(),
        queue_url: told.queue_url,
    };
    Ok(Mail {
        tenant: tenant.slug.clone(),
        id: format!("{}.digest.{}", day.date.format("%Y-%m-%d"), person.id),
        recipient: person.email.clone(),
        subject: write(&DigestSubject { words: &words })?,
        text: write(&DigestText { words: &words })?,
        html: write(&DigestHtml { words: &words })?,
        attempts: 0,
    })
}

struct Line<'a> {
    intent: &'a str,
    until: String,
    url: &'a str,
}

/// What the three templates of the mail say.
struct Words<'a> {
    tenant: &'a str,
    name: &'a str,
    yesterday: String,
    answers: Answers,
    waiting: Vec<Line<'a>>,
    more: bool,
    checkpoint: &'a str,
    queue_url: &'a str,
}

impl Words<'_> {
    fn is_quiet(&self) -> bool {
        self.answers == Answers::default()
    }
}

#[derive(Template)]
#[template(path = "mail/digest.subject", escape = "none")]
struct DigestSubject<'a> {
    words: &'a Words<'a>,
}

#[derive(Template)]
#[template(path = "mail/digest.txt", escape = "none")]
struct DigestText<'a> {
    words: &'a Words<'a>,
}

#[derive(Template)]
#[template(path = "mail/digest.html")]
struct DigestHtml<'a> {
    words: &'a Words<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{PrincipalId, Role, Roles, TenantId};

    const SEVEN: NaiveTime = NaiveTime::from_hms_opt(7, 0, 0).unwrap();
    const CHECKPOINT: &str = "harbour/log/harbour\n3\nAAAA\n\n\u{2014} harbour/log/harbour BBBB\n";

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn tenant() -> Tenant {
        let created_at = at("2026-11-01T10:00:00Z");
        Tenant {
            slug: "harbour".parse().unwrap(),
            id: TenantId::new(created_at, [1; 10]),
            zone: chrono_tz::Europe::Berlin,
            origin: "harbour/log/harbour".into(),
            issuer: "urn:procura:harbour".into(),
            created_at,
        }
    }

    fn mail(name: &str, answers: Answers, waiting: &[Waiting], more: bool) -> Mail {
        let tenant = tenant();
        let person = Principal {
            tenant: tenant.slug.clone(),
            id: PrincipalId::new(tenant.created_at, [5; 10]),
            email: "ada@example.com".into(),
            name: name.parse().unwrap(),
            roles: Roles::from_iter([Role::Member]),
            password: None,
            password_set_by: None,
            created_at: tenant.created_at,
        };
        let day = Day::of(at("2026-11-03T06:30:00Z"), tenant.zone, SEVEN).unwrap();
        let queue_url = "https://procura.example/queue";
        digest(&tenant, &person, &day, &Told { answers, waiting, more, checkpoint: CHECKPOINT, queue_url })
            .unwrap()
    }

    fn one_waiting() -> Vec<Waiting> {
        vec![Waiting {
            intent: "payments.refund".into(),
            expires_at: at("2026-11-03T10:00:00Z"),
            url: "https://procura.example/queue/dec_1".into(),
        }]
    }

    #[test]
    fn a_day_is_the_tenants_own_and_begins_and_ends_by_its_clocks() {
        let berlin = chrono_tz::Europe::Berlin;
        let day = Day::of(at("2026-11-03T05:59:59Z"), berlin, SEVEN).unwrap();
        assert_eq!(day.date.to_string(), "2026-11-03");
        assert_eq!(day.due, at("2026-11-03T06:00:00Z"));
        assert_eq!((day.from, day.until), (at("2026-11-01T23:00:00Z"), at("2026-11-02T23:00:00Z")));
        // Half past eleven in the evening in UTC is the next day there.
        assert_eq!(Day::of(at("2026-11-02T23:30:00Z"), berlin, SEVEN).unwrap().date, day.date);
        let honolulu = Day::of(at("2026-11-03T06:00:00Z"), chrono_tz::Pacific::Honolulu, SEVEN).unwrap();
        assert_eq!(honolulu.date.to_string(), "2026-11-02");
    }

    #[test]
    fn a_day_of_twenty_five_hours_is_told_of_whole() {
        let day = Day::of(at("2026-10-26T12:00:00Z"), chrono_tz::Europe::Berlin, SEVEN).unwrap();
        assert_eq!((day.from, day.until), (at("2026-10-24T22:00:00Z"), at("2026-10-25T23:00:00Z")));
    }

    #[test]
    fn where_clocks_skip_the_time_of_the_mail_it_leaves_at_the_next_there_is() {
        let half_past_two = NaiveTime::from_hms_opt(2, 30, 0).unwrap();
        let day = Day::of(at("2026-03-29T12:00:00Z"), chrono_tz::Europe::Berlin, half_past_two).unwrap();
        assert_eq!(day.due, at("2026-03-29T01:00:00Z"), "three o'clock in summer");
        // Where they are set back, the first of both.
        let day = Day::of(at("2026-10-25T12:00:00Z"), chrono_tz::Europe::Berlin, half_past_two).unwrap();
        assert_eq!(day.due, at("2026-10-25T00:30:00Z"));
    }

    #[test]
    fn the_plain_text_reads_as_written() {
        let answers = Answers { allowed: 12, escalated: 2, refused: 1, withdrawn: 1 };
        let mail = mail("Ada", answers, &one_waiting(), true);
        assert_eq!(mail.id, format!("2026-11-03.digest.{}", PrincipalId::new(tenant().created_at, [5; 10])));
        assert_eq!(mail.subject, "Your day at harbour: something waits for you");
        insta::assert_snapshot!(mail.text, @r"
        Hello Ada,

        this is what was answered in your name yesterday, Monday, 2 November 2026:

            allowed      12
            put to you   2
            refused      1
            taken back   1   (too late to be told; nothing happened)

        This waits for you:

            payments.refund, until 3 Nov 2026, 11:00 CET
            https://procura.example/queue/dec_1

            and more, in your queue: https://procura.example/queue

        This mail cannot approve anything, and neither can a reply to it: you decide on
        those pages, signed in.

        Keep this mail. What follows is the signed head of the record in which all of
        this stands. A record that is changed later, or cut short, contradicts it, and
        `procura verify --checkpoint` shows that to anyone.

        harbour/log/harbour
        3
        AAAA

        — harbour/log/harbour BBBB

        Procura, harbour
        ");
    }

    #[test]
    fn a_quiet_day_is_said_to_be_one() {
        let mail = mail("Ada", Answers::default(), &[], false);
        assert_eq!(mail.subject, "Your day at harbour: nothing waits for you");
        for body in [&mail.text, &mail.html] {
            let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(body.contains("Nothing was asked in your name yesterday"), "{body}");
            assert!(body.contains("Nothing waits for you"), "{body}");
        }
    }

    #[test]
    fn the_checkpoint_stands_whole_in_both_texts() {
        let mail = mail("Ada", Answers::default(), &[], false);
        for body in [&mail.text, &mail.html] {
            assert!(body.contains(CHECKPOINT), "{body}");
        }
    }

    #[test]
    fn a_name_is_text_in_the_html_and_never_in_the_subject() {
        let mail = mail("<b>Ada</b>", Answers::default(), &one_waiting(), false);
        assert!(mail.html.contains("Hello &#60;b&#62;Ada"), "{}", mail.html);
        assert!(!mail.subject.contains("Ada") && !mail.subject.contains(['\r', '\n']), "{}", mail.subject);
        assert!(
            !mail.html.contains("<form") && !mail.html.contains("<script") && !mail.html.contains("<img")
        );
    }
}
