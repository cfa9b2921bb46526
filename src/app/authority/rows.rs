//! Rows in their order, against what the receipts came to: effects, yeses, passwords, whom people know.

use super::act::readable;
use super::course::{Fate, named};
use super::{Ledger, Place, Unlike};
use crate::actions::again::{self, Again};
use crate::crypto::{AuthKey, seal};
use crate::domain::{DecisionId, EffectId};
use crate::engine::{CatalogueEntry, OutcomeFrom};
use crate::evidence::receipt::Kind;
use crate::storage::effect::Effect;
use crate::storage::receipt::StoredReceipt;
use crate::storage::tenant::Tenant;
use crate::storage::{self, AnyConnection, StoreError, held, read_document};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

/// Where the rows are held, and what was found so far.
pub(super) struct Rows<'a> {
    pub(super) connection: &'a mut AnyConnection,
    pub(super) tenant: &'a Tenant,
    pub(super) lookup: Option<&'a AuthKey>,
    pub(super) ledger: &'a Ledger,
    pub(super) again: Again,
    place: Option<Place>,
    unlike: Vec<Unlike>,
}

impl<'a> Rows<'a> {
    /// What of the rows is not as the receipts say.
    pub(super) fn hold(
        connection: &'a mut AnyConnection,
        tenant: &'a Tenant,
        lookup: Option<&'a AuthKey>,
        ledger: &'a Ledger,
    ) -> Result<Vec<Unlike>, StoreError> {
        let again = Again::new(tenant);
        let mut rows = Self { connection, tenant, lookup, ledger, again, place: None, unlike: Vec::new() };
        rows.effects()?;
        rows.questions()?;
        rows.yeses()?;
        rows.known()?;
        rows.passwords()?;
        rows.keys()?;
        rows.missing_keys()?;
        rows.books()?;
        Ok(rows.unlike)
    }

    /// Says something of the receipt that is held against.
    pub(super) fn say(&mut self, what: String) {
        self.unlike.push(Unlike { receipt: self.place, what });
    }

    /// Holds a value against what was recorded.
    pub(super) fn is(&mut self, column: &str, what: &str, stands: &Value, said: &Value) {
        if stands != said {
            self.say(format!("`{column}` of {what} is {stands}, {said} was recorded"));
        }
    }

    /// The receipt at a place, which from here on is the one that is held against.
    pub(super) fn receipt(&mut self, place: u64) -> Result<Option<StoredReceipt>, StoreError> {
        let found = readable(storage::receipt::find(self.connection, &self.tenant.slug, place))?;
        self.place = found.as_ref().map(|stored| (place, stored.body.id, stored.body.at));
        Ok(found)
    }

    /// Holds against no receipt from here on.
    pub(super) fn of_none(&mut self) {
        self.place = None;
    }

    /// Says of everything that the receipts know and no row was seen of that it is gone.
    pub(super) fn missing<K: Hash + Eq + Display>(
        &mut self,
        table: &str,
        known: impl Iterator<Item = (K, u64)>,
        seen: &HashSet<K>,
    ) -> Result<(), StoreError> {
        for (id, place) in known.filter(|(id, _)| !seen.contains(id)) {
            self.receipt(place)?;
            self.say(format!("`{table}` does not hold {id}"));
        }
        self.of_none();
        Ok(())
    }

    fn effects(&mut self) -> Result<(), StoreError> {
        let (mut after, mut seen) = (String::new(), HashSet::new());
        loop {
            let page = held::effects(self.connection, &self.tenant.slug, &after)?;
            let Some((last, _)) = page.last() else { break };
            after.clone_from(last);
            for (id, row) in page {
                self.of_none();
                let what = format!("effect {id}");
                seen.extend(id.parse::<EffectId>());
                match row {
                    Ok(row) => match self.ledger.course.effects.get(&row.id) {
                        Some(fate) => self.effect(&row, &fate.clone(), &what)?,
                        None => self.say(format!("no receipt says that {what} was let happen")),
                    },
                    Err(StoreError::Corrupt { place, detail }) => {
                        self.say(format!("{what}: {place} cannot be read: {detail}"));
                    }
                    Err(error @ StoreError::Failed(_)) => return Err(error),
                }
            }
        }
        let known: Vec<_> = self.ledger.course.effects.iter().map(|(id, fate)| (*id, fate.call)).collect();
        self.missing("effects", known.into_iter(), &seen)
    }

    fn effect(&mut self, row: &Effect, fate: &Fate, what: &str) -> Result<(), StoreError> {
        let Some(call) = self.receipt(fate.call)? else { return Ok(()) };
        let line = line_of(&call);
        let said = |pointer: &str| line.pointer(pointer).cloned().unwrap_or_default();
        for (column, stands, said) in [
            ("effects.principal", json!(row.principal), json!(call.body.principal)),
            ("effects.agent", json!(row.agent), json!(call.body.agent)),
            ("effects.credential", json!(row.credential), json!(call.body.credential)),
            ("effects.intent", json!(row.intent), said("/input/request/intent")),
            ("effects.log_index", json!(row.log_index), json!(fate.call)),
            ("effects.idempotency_key", json!(row.idempotency_key), said("/output/effect/idempotency_key")),
            ("effects.report_by", json!(row.report_by), said("/output/effect/report_by")),
            ("effects.claimed_at", json!(row.claimed_at), json!(call.body.at)),
        ] {
            self.is(column, what, &stands, &said);
        }
        if let Some(attested) = self.attested(&call, &line)? {
            self.is("effects.attested", what, &json!(row.attested), &json!(attested));
        }
        let told = match fate.told {
            Some(place) => self.receipt(place)?,
            None => None,
        };
        for (column, stands, said) in [
            ("effects.status", json!(row.status.as_str()), json!(fate.status.as_str())),
            ("effects.ended_at", json!(row.ended_at), json!(fate.ended_at)),
            ("effects.enforcement_point", json!(row.enforcement_point), json!(fate.point)),
        ] {
            self.is(column, what, &stands, &said);
        }
        let reported =
            row.reported.as_deref().map(|text| serde_json::from_str::<Value>(text).unwrap_or_default());
        let said = told.as_ref().and_then(reported_by);
        self.is("effects.reported", what, &json!(reported), &json!(said));
        Ok(())
    }

    /// Whether the effect of a call only fails by the word of an enforcement point or a person, by the catalogue of
    /// then; nothing where that cannot be read.
    fn attested(&mut self, call: &StoredReceipt, line: &Value) -> Result<Option<bool>, StoreError> {
        if line.pointer("/input/enforcement_point").is_some() {
            return Ok(Some(true));
        }
        let (Some(version), Some(intent)) =
            (call.body.catalogue_version, named(line, "/input/request/intent"))
        else {
            return Ok(None);
        };
        let slug = &self.tenant.slug;
        let row = readable(storage::catalogue::at_version(self.connection, slug, &intent, version))?;
        let entry =
            row.and_then(|row| read_document("catalogue.document", &row.document, CatalogueEntry::read).ok());
        Ok(entry.map(|entry| entry.outcome == OutcomeFrom::Attested))
    }

    /// A yes that is gone counts no more, unless the question was put anew since.
    fn yeses(&mut self) -> Result<(), StoreError> {
        for (decision, given) in &self.ledger.given {
            let Ok(id) = decision.parse::<DecisionId>() else { continue };
            let rows = storage::approval::noted(self.connection, &self.tenant.slug, id)?;
            for (by, place) in given {
                self.place = Some(*place);
                let what = format!("the yes of {by} to decision {decision}");
                let Some((_, roles, at)) = rows.iter().find(|(giver, ..)| giver == by) else {
                    let slug = &self.tenant.slug;
                    let question = readable(storage::decision::find(self.connection, slug, id))?;
                    if question.is_some_and(|question| question.log_index < place.0) {
                        self.say(format!("`decision_approvals` does not hold {what}"));
                    }
                    continue;
                };
                self.is("decision_approvals.at", &what, &json!(at), &json!(place.2));
                let Some(receipt) = self.receipt(place.0)? else { continue };
                let said = line_of(&receipt).pointer("/input/roles").cloned();
                let roles: Vec<&str> = roles.split_whitespace().collect();
                self.is("decision_approvals.roles", &what, &json!(roles), &json!(said));
            }
        }
        self.of_none();
        Ok(())
    }

    /// Whom people know, against the calls that their yeses were to.
    fn known(&mut self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = held::known(self.connection, &self.tenant.slug, after.as_ref())?;
            let Some(last) = page.last() else { break };
            after = Some(last.clone());
            for row in page {
                let what =
                    format!("a counterparty that {} knows from decision {}", row.principal, row.decision);
                let id = row.decision.parse::<DecisionId>().ok();
                let Some(question) = id.and_then(|id| self.ledger.course.questions.get(&id)) else {
                    continue;
                };
                let (decided, opened) = (question.decided, question.opened);
                let Some(opened) = opened else { continue };
                let Some(call) = self.receipt(opened)? else { continue };
                let since = decided.map(|(at, _)| at);
                self.is("known_counterparties.since", &what, &json!(row.since), &json!(since));
                let whose = json!(call.body.principal);
                self.is("known_counterparties.principal", &what, &json!(row.principal), &whose);
                let names = again::counterparties(&call);
                if names.is_none_or(|names| !names.iter().any(|name| name.as_str() == row.name)) {
                    self.say(format!("`known_counterparties.name` of {what} is none that the yes was to"));
                }
            }
        }
        self.of_none();
        Ok(())
    }

    fn passwords(&mut self) -> Result<(), StoreError> {
        for (id, password) in &self.ledger.passwords {
            let Ok(id) = id.parse() else { continue };
            let slug = &self.tenant.slug;
            let Some(row) = readable(storage::principal::find(self.connection, slug, id))? else { continue };
            self.place = password.receipt;
            let what = format!("person {id}");
            if let (Some(recorded), Some(lookup)) = (&password.seal, self.lookup) {
                let stands = row.password.as_deref().map(|phc| seal(lookup, phc.as_bytes()));
                if stands.as_ref() != Some(recorded) {
                    self.say(format!("`principals.password` of {what} is not the one that was recorded"));
                }
            }
            let by = row.password_set_by.map(|by| by == storage::principal::PasswordSetBy::Person);
            if by != Some(password.is_their_own) {
                self.say(format!("`principals.password_set_by` of {what} names another than who set it"));
            }
        }
        self.of_none();
        Ok(())
    }
}

/// A receipt's documents, as pointers into a line lead to them.
pub(super) fn line_of(stored: &StoredReceipt) -> Value {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    json!({"input": read(&stored.input), "output": read(&stored.output)})
}

/// What an effect's row repeats of what was said of it last; erased details are nothing.
fn reported_by(told: &StoredReceipt) -> Option<Value> {
    let line = line_of(told);
    let content: Value =
        told.content.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let opened = |pointer: &str| content.get(pointer).and_then(|entry| entry.get("value")).cloned();
    if told.body.kind == Kind::DecisionResolve {
        let status = line.pointer("/input/status")?;
        return Some(json!({"status": status, "reference": opened("/input/reference")}));
    }
    let said = line.pointer("/input/said")?;
    Some(json!({"status": said, "details": opened("/input/details")}))
}
