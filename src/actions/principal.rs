//! Registers a person, and changes a person's password.

use super::Error;
use super::caller::{Operator, Person};
use super::recording::Content;
use crate::committer::{Books, Draft};
use crate::crypto::seal;
use crate::domain::{Chain, Label, MandateId, PrincipalId, Roles};
use crate::engine::MandateDocument;
use crate::evidence::receipt::Kind;
use crate::storage::mandate::{self, MandateVersion};
use crate::storage::principal::{self, PasswordSetBy, Principal};
use crate::storage::receipt::StoredReceipt;
use crate::storage::session;
use serde_json::json;
use std::sync::Arc;

/// A person to register.
#[derive(Debug)]
pub struct NewPrincipal {
    /// The address they sign in with, in lower case.
    pub email: String,
    /// What they are called.
    pub name: Label,
    /// What they may do.
    pub roles: Roles,
    /// The hash of the password the operator chose for them.
    pub password: String,
}

/// Registers a person with a first mandate: no scopes, no clauses.
pub fn create(
    books: &mut Books<'_>,
    operator: &Operator,
    new: NewPrincipal,
) -> Result<(Principal, Arc<StoredReceipt>), Error> {
    operator.person().require_session(books)?;
    let (connection, slug) = books.place();
    if principal::find_by_email(connection, slug, &new.email)?.is_some() {
        return Err(Error::Conflict("somebody of that address is registered already".into()));
    }
    let (person, first) = add(books, new, Some(PasswordSetBy::Operator))?;
    let author = operator.person().id;
    let mut content = Content::default();
    let input = json!({
        "kind": Kind::PrincipalCreate.as_str(),
        "tenant": books.slug(),
        "principal": author,
        "registered": person.id,
        "mandate": first,
        "password": person.password.as_deref().map(|password| seal(books.lookup_key(), password.as_bytes())),
        "roles": person.roles,
        "email": content.commit("/input/email", json!(person.email)),
        "name": content.commit("/input/name", json!(person.name)),
    });
    let mut draft =
        Draft::act(Kind::PrincipalCreate, Chain::Principal(author), input, json!({"id": person.id}))
            .by(author);
    draft.content = content.finish();
    let stored = books.record(draft)?;
    Ok((person, stored))
}

/// Writes a person and their first mandate; the mandate's id comes with them.
pub(super) fn add(
    books: &mut Books<'_>,
    new: NewPrincipal,
    set_by: Option<PasswordSetBy>,
) -> Result<(Principal, MandateId), Error> {
    let now = books.now();
    let person = Principal {
        tenant: books.slug().clone(),
        id: books.new_id(PrincipalId::new),
        email: new.email,
        name: new.name,
        roles: new.roles,
        password: Some(new.password),
        password_set_by: set_by,
        created_at: now,
    };
    let first = MandateVersion {
        principal: person.id,
        version: 1,
        id: books.new_id(MandateId::new),
        document: MandateDocument::initial().to_json().to_string(),
        change: "unchanged".to_owned(),
        live_since: now,
        author: person.id,
    };
    let (connection, slug) = books.place();
    principal::insert(connection, &person)?;
    mandate::insert(connection, slug, &first)?;
    Ok((person, first.id))
}

/// Replaces the person's own password, whose hash was `present` when it was checked, and ends their other sessions.
pub fn change_password(
    books: &mut Books<'_>,
    person: &Person,
    present: &str,
    hash: &str,
) -> Result<Arc<StoredReceipt>, Error> {
    let (connection, slug) = books.place();
    if !principal::set_password(connection, slug, person.id, present, hash, PasswordSetBy::Person)? {
        return Err(Error::Conflict("the password was changed at this moment".into()));
    }
    let ended = session::delete_others(connection, slug, person.id, person.session)?;
    let input = json!({
        "kind": Kind::PrincipalPassword.as_str(),
        "tenant": books.slug(),
        "principal": person.id,
        "password": seal(books.lookup_key(), hash.as_bytes()),
    });
    let output = json!({"other_sessions_ended": ended});
    let draft = Draft::act(Kind::PrincipalPassword, Chain::Principal(person.id), input, output).by(person.id);
    Ok(books.record(draft)?)
}
