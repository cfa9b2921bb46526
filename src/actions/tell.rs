//! Tells people by mail what waits for them: written with what it tells of, in the same transaction, once each.

use super::Error;
use crate::committer::Books;
use crate::domain::{Links, PrincipalId};
use crate::engine::step::{Given, counts};
use crate::notify::compose::{self, Occasion};
use crate::storage::decision::Decision;
use crate::storage::effect::Effect;
use crate::storage::outbox::{self, Mail};
use crate::storage::principal::{self, Principal};

/// How many people are told of one decision by mail.
const MOST_TOLD: i64 = 50;

/// Tells whose queue a decision is in and who was not told yet: its principal, then who holds a role that is asked for.
pub(super) fn opened(books: &mut Books<'_>, waiting: &Decision) -> Result<(), Error> {
    let Some((links, owner)) = addressed(books, waiting.principal)? else { return Ok(()) };
    let roles = waiting.approvals.iter().flat_map(|approvals| approvals.roles.iter().copied()).collect();
    let (connection, slug) = books.place();
    let holders = principal::holding(connection, slug, &roles, MOST_TOLD)?;
    let people = std::iter::once(&owner).chain(holders.iter().filter(|person| person.id != owner.id));
    let url = links.page(waiting.id);
    let mut mails = Vec::new();
    for person in people.take(usize::try_from(MOST_TOLD).unwrap_or(0)) {
        mails.push(compose::decision_opened(slug, person, &owner, waiting, &url, Occasion::Opened)?);
    }
    post(books, &mails)
}

/// Tells whoever said yes to what was put anew that they are asked again; who is not asked any more is not told.
pub(super) fn again(books: &mut Books<'_>, waiting: &Decision, given: &[Given]) -> Result<(), Error> {
    if given.is_empty() {
        return Ok(());
    }
    let Some((links, owner)) = addressed(books, waiting.principal)? else { return Ok(()) };
    let (url, asked_for) = (links.page(waiting.id), waiting.asked_for());
    let (connection, slug) = books.place();
    let mut mails = Vec::new();
    for given in given {
        let Some(person) = principal::find(connection, slug, given.by)? else { continue };
        if asked_for.iter().any(|asked| counts(asked, owner.id, person.id, person.roles)) {
            mails.push(compose::decision_opened(slug, &person, &owner, waiting, &url, Occasion::Again)?);
        }
    }
    post(books, &mails)
}

/// Tells a principal of an effect that nobody knows the end of, with the decision in which they say how it ended.
pub(super) fn unknown(books: &mut Books<'_>, effect: &Effect, asked: &Decision) -> Result<(), Error> {
    let Some((links, owner)) = addressed(books, effect.principal)? else { return Ok(()) };
    let mail = compose::effect_unknown(books.slug(), &owner, effect, asked, &links.page(asked.id))?;
    post(books, &[mail])
}

/// Where mail leads, and the principal it is about; `None` where none is written.
fn addressed<'a>(
    books: &mut Books<'a>,
    principal: PrincipalId,
) -> Result<Option<(&'a Links, Principal)>, Error> {
    let Some(links) = books.mailed_links() else { return Ok(None) };
    let (connection, slug) = books.place();
    Ok(principal::find(connection, slug, principal)?.map(|owner| (links, owner)))
}

/// Puts into the outbox what was not written before.
fn post(books: &mut Books<'_>, mails: &[Mail]) -> Result<(), Error> {
    let at = books.now();
    let (connection, slug) = books.place();
    let written = outbox::written(connection, slug, mails.iter().map(|mail| mail.id.clone()))?;
    for mail in mails.iter().filter(|mail| !written.contains(&mail.id)) {
        outbox::insert(connection, mail, at)?;
    }
    Ok(())
}
