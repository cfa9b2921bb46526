//! Mail to send: written with its reason, sent afterwards, kept until it is.

use super::{AnyConnection, StoreError, read, schema::outbox};
use crate::domain::{TenantSlug, Timestamp};
use diesel::prelude::*;
use std::collections::HashSet;

/// A mail to one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Whose tenant.
    pub tenant: TenantSlug,
    /// Names it; a second mail of the same name is not written.
    pub id: String,
    /// The address.
    pub recipient: String,
    /// The subject line, without anything an agent wrote.
    pub subject: String,
    /// The plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
    /// How often sending was tried.
    pub attempts: u64,
}

type Row = (String, String, String, String, String, String, i64);

/// Writes a mail to be sent.
pub fn insert(connection: &mut AnyConnection, mail: &Mail, now: Timestamp) -> Result<(), StoreError> {
    diesel::insert_into(outbox::table)
        .values((
            outbox::tenant.eq(mail.tenant.as_str()),
            outbox::id.eq(&mail.id),
            outbox::recipient.eq(&mail.recipient),
            outbox::subject.eq(&mail.subject),
            outbox::text_body.eq(&mail.text),
            outbox::html_body.eq(&mail.html),
            outbox::created_at.eq(now.unix_milliseconds()),
            outbox::attempts.eq(0),
            outbox::due_at.eq(Some(now.unix_milliseconds())),
        ))
        .execute(connection)?;
    Ok(())
}

/// Which of these mails were written before, sent or not.
pub fn written(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    ids: impl IntoIterator<Item = String>,
) -> Result<HashSet<String>, StoreError> {
    let ids: Vec<String> = ids.into_iter().collect();
    let found = outbox::table
        .filter(outbox::tenant.eq(tenant.as_str()).and(outbox::id.eq_any(ids)))
        .select(outbox::id)
        .load::<String>(connection)?;
    Ok(found.into_iter().collect())
}

/// Mails due by `now`, oldest first.
pub fn due(connection: &mut AnyConnection, now: Timestamp, limit: i64) -> Result<Vec<Mail>, StoreError> {
    outbox::table
        .filter(outbox::due_at.le(now.unix_milliseconds()))
        .order(outbox::due_at)
        .limit(limit)
        .select((
            outbox::tenant,
            outbox::id,
            outbox::recipient,
            outbox::subject,
            outbox::text_body,
            outbox::html_body,
            outbox::attempts,
        ))
        .load::<Row>(connection)?
        .into_iter()
        .map(|(tenant, id, recipient, subject, text, html, attempts)| {
            Ok(Mail {
                tenant: read::text("outbox.tenant", &tenant)?,
                id,
                recipient,
                subject,
                text,
                html,
                attempts: read::count("outbox.attempts", attempts)?,
            })
        })
        .collect()
}

/// When the next mail is due.
pub fn next_due(connection: &mut AnyConnection) -> Result<Option<Timestamp>, StoreError> {
    let due: Option<i64> = outbox::table
        .filter(outbox::due_at.is_not_null())
        .select(diesel::dsl::min(outbox::due_at))
        .first(connection)?;
    Ok(due.map(read::time))
}

/// Claims an attempt: moves the mail's next one to `next`, unless another node already did.
pub fn claim(
    connection: &mut AnyConnection,
    mail: &Mail,
    next: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let changed = diesel::update(
        outbox::table
            .find((mail.tenant.as_str(), &mail.id))
            .filter(outbox::attempts.eq(read::stored_count(mail.attempts)).and(outbox::sent_at.is_null())),
    )
    .set((
        outbox::attempts.eq(read::stored_count(mail.attempts + 1)),
        outbox::due_at.eq(read::stored_time(next)),
    ))
    .execute(connection)?;
    Ok(changed == 1)
}

/// Notes how an attempt ended.
pub fn settle(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: &str,
    sent: Result<Timestamp, &str>,
) -> Result<(), StoreError> {
    let place = outbox::table.find((tenant.as_str(), id));
    match sent {
        Ok(at) => diesel::update(place)
            .set((
                outbox::sent_at.eq(Some(at.unix_milliseconds())),
                outbox::due_at.eq(None::<i64>),
                outbox::failure.eq(None::<String>),
            ))
            .execute(connection)?,
        Err(failure) => diesel::update(place).set(outbox::failure.eq(Some(failure))).execute(connection)?,
    };
    Ok(())
}

/// Forgets mails of a tenant that were sent before an instant.
pub fn delete_sent_before(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    before: Timestamp,
) -> Result<(), StoreError> {
    let sent = outbox::sent_at.lt(before.unix_milliseconds());
    diesel::delete(outbox::table.filter(outbox::tenant.eq(tenant.as_str()).and(sent))).execute(connection)?;
    Ok(())
}
