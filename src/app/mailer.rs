//! Sends what the outbox holds: over SMTP, or as files.

use super::{App, MailTransport};
use crate::actions::Error;
use crate::committer::clock;
use crate::domain::{Duration, Timestamp};
use crate::storage::StoreError;
use crate::storage::outbox::{self, Mail};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::SmtpTransport;
use lettre::{FileTransport, Message, Transport};
use std::sync::Arc;
use std::time::Duration as Wait;

/// How long it waits when nobody opened a decision.
const TICK: Wait = Wait::from_secs(5);
/// How many mails are taken at once.
const MOST_AT_ONCE: i64 = 50;
/// How often a mail is tried before it is left to the operator.
const MOST_ATTEMPTS: u64 = 10;
/// How long one attempt may take.
const SMTP_PATIENCE: Wait = Wait::from_secs(20);

/// Sends mail.
#[derive(Clone)]
pub(super) struct Mailer {
    transport: Sender,
    from: Mailbox,
}

#[derive(Clone)]
enum Sender {
    Folder(Arc<FileTransport>),
    Smtp(SmtpTransport),
}

impl Mailer {
    /// Checks the settings; nothing is sent yet.
    pub(super) fn new(transport: &MailTransport, from: &str) -> Result<Self, String> {
        let from = from.parse().map_err(|error| format!("`{from}` is not a sender's address: {error}"))?;
        let transport = match transport {
            MailTransport::Folder(folder) => {
                std::fs::create_dir_all(folder)
                    .map_err(|error| format!("`{}`: {error}", folder.display()))?;
                Sender::Folder(Arc::new(FileTransport::new(folder)))
            }
            MailTransport::Smtp(url) => {
                let builder =
                    SmtpTransport::from_url(url).map_err(|error| format!("mail server: {error}"))?;
                Sender::Smtp(builder.timeout(Some(SMTP_PATIENCE)).build())
            }
        };
        Ok(Self { transport, from })
    }

    /// Sends what is due, again and again.
    pub(super) async fn run(self, app: Arc<App>) {
        let mut opened = app.watch_decisions();
        loop {
            if let Err(error) = self.send_due(&app).await {
                tracing::warn!(%error, "the outbox could not be read; it is tried again");
            }
            drop(tokio::time::timeout(TICK, opened.changed()).await);
        }
    }

    async fn send_due(&self, app: &Arc<App>) -> Result<(), StoreError> {
        let now = clock::now();
        for mail in app.read(move |connection| outbox::due(connection, now, MOST_AT_ONCE)).await? {
            self.send(app, mail, now).await;
        }
        Ok(())
    }

    /// Claims an attempt, makes it, and notes how it ended: of two nodes, one sends.
    async fn send(&self, app: &Arc<App>, mail: Mail, now: Timestamp) {
        let next = (mail.attempts + 1 < MOST_ATTEMPTS).then(|| now.plus(pause(mail.attempts)));
        let (tenant, claimed) = (mail.tenant.clone(), mail.clone());
        let claim = app.committer.upkeep(tenant.clone(), move |books| {
            outbox::claim(books.connection(), &claimed, next).map_err(Error::from)
        });
        if !matches!(claim.await, Ok(Ok(claimed)) if claimed.value) {
            return;
        }
        let (mailer, id) = (self.clone(), mail.id.clone());
        let sent = tokio::task::spawn_blocking(move || mailer.deliver(&mail)).await;
        let sent = sent.unwrap_or_else(|error| Err(error.to_string()));
        if let Err(failure) = &sent {
            tracing::warn!(mail = id, failure, "a mail was not sent; it is tried again");
        }
        let settled = app.committer.upkeep(tenant, move |books| {
            let at = books.now();
            let (connection, slug) = books.place();
            let sent = sent.as_ref().map(|()| at).map_err(String::as_str);
            outbox::settle(connection, slug, &id, sent).map_err(Error::from)
        });
        drop(settled.await);
    }

    fn deliver(&self, mail: &Mail) -> Result<(), String> {
        let to: Mailbox =
            mail.recipient.parse().map_err(|error| format!("the recipient's address: {error}"))?;
        let message = Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(&mail.subject)
            .multipart(MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone()))
            .map_err(|error| error.to_string())?;
        match &self.transport {
            Sender::Folder(folder) => folder.send(&message).map(|_| ()).map_err(|error| error.to_string()),
            Sender::Smtp(server) => server.send(&message).map(|_| ()).map_err(|error| error.to_string()),
        }
    }
}

/// Longer after each failure: 30 seconds, doubling up to an hour and more.
fn pause(attempts: u64) -> Duration {
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX).min(8);
    Duration::seconds(30_i64.saturating_mul(1 << doublings))
}
