//! What counts: the keys that answers are kept under, and what calls took from the books of limits.

use super::act::{Act, readable};
use super::rows::{Rows, line_of};
use crate::actions::again;
use crate::actions::evaluate::KEY_LIFETIME;
use crate::committer::clock;
use crate::domain::{CredentialId, Duration, Hash, Outcome};
use crate::storage::held::{OfKey, Taken};
use crate::storage::idempotency::Answered;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{self, StoreError, held};
use serde_json::{Value, json};

/// How far the clock that keys are forgotten by may be ahead of this one.
const AHEAD: Duration = Duration::minutes(10);

/// Notes an answer under a key that is still good and does not lead to it: it may lead to a later one, or the answer may
/// have been taken back.
pub(super) fn answered(act: &mut Act<'_>) -> Result<(), StoreError> {
    let opened = act.content.get("/input/idempotency_key").and_then(|entry| entry.get("value")?.as_str());
    let (Some(key), Some(credential), Some(place)) = (opened, act.body.credential, act.ledger.place) else {
        return Ok(());
    };
    let slug = &act.tenant.slug;
    let key = key.to_owned();
    let row = readable(storage::idempotency::find(act.connection, slug, credential, &key))?;
    if row.is_some_and(|row| row.log_index == place.0) {
        return Ok(());
    }
    let until = if act.line.pointer("/output/effect").is_some() {
        readable(storage::credential::find(act.connection, slug, credential))?.map(|row| row.expires_at)
    } else {
        Some(act.body.at.plus(KEY_LIFETIME))
    };
    // What is over is forgotten, by a clock that may be ahead of this one.
    if until.is_some_and(|until| clock::now().plus(AHEAD) < until) {
        act.ledger.keys.push((place, credential, key));
    }
    Ok(())
}

impl Rows<'_> {
    /// Answers that their keys do not lead to: each was taken back, or its key leads to a later one.
    pub(super) fn missing_keys(&mut self) -> Result<(), StoreError> {
        for (place, credential, key) in &self.ledger.keys {
            if self.ledger.course.withdrawn.contains_key(&place.0) {
                continue;
            }
            let slug = &self.tenant.slug;
            let row = readable(storage::idempotency::find(self.connection, slug, *credential, key))?;
            let later = match row {
                Some(row) if row.log_index >= place.0 => self.receipt(row.log_index)?,
                Some(_) | None => None,
            };
            if later.is_none_or(|later| later.body.credential != Some(*credential)) {
                self.receipt(place.0)?;
                self.say(format!(
                    "`idempotency_keys` holds no key of {credential} that leads to this answer, or to a later one"
                ));
            }
        }
        self.of_none();
        Ok(())
    }

    /// The keys, against the answers that they are for.
    pub(super) fn keys(&mut self) -> Result<(), StoreError> {
        let mut after = OfKey::default();
        loop {
            let page = held::keys(self.connection, &self.tenant.slug, &after)?;
            let Some((last, _)) = page.last() else { break };
            after.clone_from(last);
            for ((credential, key), row) in page {
                self.of_none();
                let what = format!("a key of {credential}");
                match row {
                    Ok(row) => self.key(&credential, &key, &row, &what)?,
                    Err(StoreError::Corrupt { place, detail }) => {
                        self.say(format!("{what}: {place} cannot be read: {detail}"));
                    }
                    Err(error @ StoreError::Failed(_)) => return Err(error),
                }
            }
        }
        self.of_none();
        Ok(())
    }

    fn key(&mut self, credential: &str, key: &str, row: &Answered, what: &str) -> Result<(), StoreError> {
        let answer = self.receipt(row.log_index)?;
        let Some(answer) = answer.filter(|stored| stored.body.kind.is_call()) else {
            self.say(format!("`idempotency_keys.log_index` of {what} leads to no answer"));
            return Ok(());
        };
        let line = line_of(&answer);
        let effect = line.pointer("/output/effect/id").cloned();
        let whose = json!(answer.body.credential);
        let expires_at = match (&effect, answer.body.credential) {
            (Some(_), Some(id)) => self.end_of(id)?,
            _ => json!(answer.body.at.plus(KEY_LIFETIME)),
        };
        for (column, stands, said) in [
            ("idempotency_keys.credential", json!(credential), whose),
            ("idempotency_keys.effect", json!(row.effect), json!(effect)),
            ("idempotency_keys.answered_at", json!(row.answered_at), json!(answer.body.at)),
            ("idempotency_keys.expires_at", json!(row.expires_at), expires_at),
        ] {
            self.is(column, what, &stands, &said);
        }
        if answer.erased_by.is_some() {
            self.is("idempotency_keys.request_hash", what, &json!(row.request_hash), &json!(Hash::ZERO));
            return Ok(());
        }
        let content: Value =
            answer.content.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let sent = content.get("/input/idempotency_key").and_then(|entry| entry.get("value"));
        if sent != Some(&json!(key)) {
            self.say(format!("`idempotency_keys.key` of {what} is not the one that its answer came under"));
        }
        if let Some(lookup) = self.lookup {
            let asked = again::request_hash(&answer, lookup);
            self.is("idempotency_keys.request_hash", what, &json!(row.request_hash), &json!(asked));
        }
        Ok(())
    }

    fn end_of(&mut self, id: CredentialId) -> Result<Value, StoreError> {
        let row = readable(storage::credential::find(self.connection, &self.tenant.slug, id))?;
        Ok(json!(row.map(|row| row.expires_at)))
    }

    /// The books: each running total by the one before it, and what is given back by what became of its call. What calls
    /// took is held against them where they are decided again.
    pub(super) fn books(&mut self) -> Result<(), StoreError> {
        let mut before: Option<Taken> = None;
        loop {
            let page = held::taken(self.connection, &self.tenant.slug, before.as_ref())?;
            if page.is_empty() {
                break;
            }
            for row in page {
                self.taken(&row, "books")?;
                let same = before.as_ref().filter(|before| before.book == row.book);
                let total = same.and_then(|before| before.total).unwrap_or(0).saturating_add(row.amount);
                let what = what_took(&row);
                self.is("books.total", &what, &json!(row.total), &json!(total));
                let given_back = u64::try_from(row.log_index).ok();
                let given_back = given_back.and_then(|place| self.ledger.course.given_back(place));
                self.is("books.released_at", &what, &json!(row.released_at), &json!(given_back));
                before = Some(row);
            }
        }
        let mut before: Option<Taken> = None;
        loop {
            let page = held::moved_aside(self.connection, &self.tenant.slug, before.as_ref())?;
            let Some(last) = page.last() else { break };
            before = Some(last.clone());
            for row in page {
                self.taken(&row, "books_forgotten")?;
                let place = u64::try_from(row.log_index).ok();
                if place.and_then(|place| self.ledger.course.given_back(place)).is_none() {
                    let what = what_took(&row);
                    self.say(format!("`books_forgotten` holds {what}, which was not given back"));
                }
            }
        }
        self.of_none();
        Ok(())
    }

    fn taken(&mut self, row: &Taken, table: &str) -> Result<(), StoreError> {
        let call = match u64::try_from(row.log_index) {
            Ok(place) => self.receipt(place)?,
            Err(_) => None,
        };
        let what = what_took(row);
        let allowed = |stored: &StoredReceipt| {
            stored.body.kind.is_decided() && stored.body.outcome == Some(Outcome::Allow)
        };
        match call.filter(allowed) {
            Some(call) => self.is(&format!("{table}.at"), &what, &json!(row.at), &json!(call.body.at)),
            None => self.say(format!("`{table}.log_index` names no call that was allowed: {what}")),
        }
        Ok(())
    }
}

fn what_took(row: &Taken) -> String {
    format!("what the call at {} took from book {}", row.log_index, row.book)
}
