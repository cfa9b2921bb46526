//! The rows of decisions, against what the receipts came to.

use super::course::{Question, named};
use super::rows::{Rows, line_of};
use crate::actions::again::{self, NotAgain};
use crate::actions::effect::UNKNOWN_LIFETIME;
use crate::actions::evaluate::DECISION_LIFETIME;
use crate::domain::{DecisionId, DecisionKind, DecisionStatus, Hash};
use crate::engine::{Approvals, Why};
use crate::evidence::receipt::Kind;
use crate::storage::decision::Decision;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{StoreError, held};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The clause of an answer that says that an agent asks too much.
const FLOOD: &str = "attention-budget";

impl Rows<'_> {
    pub(super) fn questions(&mut self) -> Result<(), StoreError> {
        let (mut after, mut seen) = (String::new(), HashSet::new());
        loop {
            let page = held::decisions(self.connection, &self.tenant.slug, &after)?;
            let Some((last, _)) = page.last() else { break };
            after.clone_from(last);
            for (id, row) in page {
                self.of_none();
                let what = format!("decision {id}");
                seen.extend(id.parse::<DecisionId>());
                match row {
                    Ok(row) => self.decision(&row, &what)?,
                    Err(StoreError::Corrupt { place, detail }) => {
                        self.say(format!("{what}: {place} cannot be read: {detail}"));
                    }
                    Err(error @ StoreError::Failed(_)) => return Err(error),
                }
            }
        }
        let questions = self.ledger.course.questions.iter();
        let known: Vec<_> = questions
            .filter_map(|(id, question)| Some((*id, question.opened.or(question.turned)?)))
            .collect();
        self.missing("decisions", known.into_iter(), &seen)
    }

    fn decision(&mut self, row: &Decision, what: &str) -> Result<(), StoreError> {
        let question = self.ledger.course.questions.get(&row.id).cloned().unwrap_or_default();
        let is_attention = row.kind == DecisionKind::Attention && question.opened.is_none();
        let place = if is_attention { row.log_index } else { question.opened.unwrap_or(u64::MAX) };
        let opening = self.receipt(place)?;
        let opening = opening.filter(|stored| !is_attention || says_flood(stored));
        let Some(opening) = opening else {
            self.say(format!("no receipt says that {what} was opened"));
            return Ok(());
        };
        self.subject(row, &question, &opening, what);
        self.ending(row, &question, what)?;
        let line = line_of(&opening);
        let (raising, shown) = if question.is_of_effect {
            let call = named(&line, "/input/effect").and_then(|id| self.ledger.course.effects.get(&id));
            let call = call.map(|fate| fate.call);
            self.is("decisions.log_index", what, &json!(row.log_index), &json!(call));
            (None, opening.body.input_hash)
        } else {
            match self.raised(row, &question, &opening, what)? {
                Some(raised) => raised,
                None => return Ok(()),
            }
        };
        self.is("decisions.input_hash", what, &json!(row.input_hash), &json!(shown));
        self.request_hash(row, &opening, raising.as_ref(), what);
        self.approvals(row, &question, what)?;
        self.why(row, &question, raising.as_ref(), what)
    }

    /// Whom it is about, and when it was opened.
    fn subject(&mut self, row: &Decision, question: &Question, opening: &StoredReceipt, what: &str) {
        let line = line_of(opening);
        let at = opening.body.at;
        let (kind, expires_at, effect) = if question.is_of_effect {
            (DecisionKind::Effect, json!(at.plus(UNKNOWN_LIFETIME)), line.pointer("/input/effect").cloned())
        } else if question.opened.is_none() {
            (DecisionKind::Attention, json!(at.plus(DECISION_LIFETIME)), None)
        } else {
            let until = line.pointer("/output/decision/expires_at").cloned();
            (DecisionKind::Action, until.unwrap_or_default(), None)
        };
        let intent = opening.intent.as_ref();
        for (column, stands, said) in [
            ("decisions.principal", json!(row.principal), json!(opening.body.principal)),
            ("decisions.agent", json!(row.agent), json!(opening.body.agent)),
            ("decisions.credential", json!(row.credential), json!(opening.body.credential)),
            ("decisions.kind", json!(row.kind.as_str()), json!(kind.as_str())),
            ("decisions.intent", json!(row.intent), json!(intent)),
            ("decisions.effect", json!(row.effect), json!(effect)),
            ("decisions.opened_at", json!(row.opened_at), json!(at)),
            ("decisions.expires_at", json!(row.expires_at), expires_at),
        ] {
            self.is(column, what, &stands, &said);
        }
        if kind != DecisionKind::Attention {
            self.is("decisions.asks", what, &json!(row.asks), &json!(question.asks));
        }
    }

    /// How it ended, or that it did not.
    fn ending(&mut self, row: &Decision, question: &Question, what: &str) -> Result<(), StoreError> {
        let expected = question.status();
        let is_taken_back = question.is_given_back && row.status == DecisionStatus::Withdrawn;
        let turned = match question.turned {
            Some(place) => self.receipt(place)?,
            None => None,
        };
        if row.status != expected && !is_taken_back {
            match (expected, &turned) {
                (DecisionStatus::Used, Some(by)) => self.say(format!(
                    "{what} was used by {}, and `decisions.status` is {}",
                    by.body.id, row.status
                )),
                _ => self.say(format!("{what} is {expected}, and `decisions.status` is {}", row.status)),
            }
        }
        let (at, by) = question.decided.unzip();
        for (column, stands, said) in [
            ("decisions.decided_at", json!(row.decided_at), json!(at)),
            ("decisions.decided_by", json!(row.decided_by), json!(by)),
            ("decisions.approved_until", json!(row.approved_until), json!(question.approved_until)),
            ("decisions.used_index", json!(row.used_index), json!(question.used)),
            ("decisions.reason", json!(row.reason), json!(turned.as_ref().and_then(reason_of))),
        ] {
            self.is(column, what, &stands, &said);
        }
        Ok(())
    }

    /// The call that the row says raised it, or asked it anew, and the hash of what is shown.
    fn raised(
        &mut self,
        row: &Decision,
        question: &Question,
        opening: &StoredReceipt,
        what: &str,
    ) -> Result<Option<(Option<StoredReceipt>, Hash)>, StoreError> {
        if row.log_index == opening.log_index {
            let renewed = question.renewed.filter(|_| question.opened.is_some());
            return self.shown(opening.clone(), renewed).map(Some);
        }
        let raising = self.receipt(row.log_index)?;
        let asks = raising.filter(|stored| {
            let line = line_of(stored);
            stored.body.kind.is_call() && named(&line, "/output/decision/id") == Some(row.id)
        });
        if let Some(stored) = asks {
            self.shown(stored, question.renewed).map(Some)
        } else {
            self.receipt(opening.log_index)?;
            let said = opening.log_index;
            self.is("decisions.log_index", what, &json!(row.log_index), &json!(said));
            Ok(None)
        }
    }

    fn shown(
        &mut self,
        raising: StoredReceipt,
        renewed: Option<u64>,
    ) -> Result<(Option<StoredReceipt>, Hash), StoreError> {
        let renewed = match renewed.filter(|place| *place > raising.log_index) {
            Some(place) => self.receipt(place)?,
            None => None,
        };
        let shown = renewed.map_or(raising.body.input_hash, |renewed| renewed.body.input_hash);
        Ok((Some(raising), shown))
    }

    /// What the yes is good for; gone with the content it is made of.
    fn request_hash(
        &mut self,
        row: &Decision,
        opening: &StoredReceipt,
        raising: Option<&StoredReceipt>,
        what: &str,
    ) {
        if row.kind != DecisionKind::Action {
            self.is("decisions.request_hash", what, &json!(row.request_hash), &Value::Null);
            return;
        }
        let is_erased = opening.erased_by.is_some() || raising.is_some_and(|call| call.erased_by.is_some());
        let expected = match self.lookup {
            _ if is_erased => None,
            Some(lookup) => again::request_hash(opening, lookup),
            // Without the key it is only known whether there must be one.
            None => row.request_hash.or(Some(Hash::ZERO)),
        };
        self.is("decisions.request_hash", what, &json!(row.request_hash), &json!(expected));
    }

    /// Whose yes it takes, as the last call that found it open was told; what was changed since may ask for others.
    fn approvals(&mut self, row: &Decision, question: &Question, what: &str) -> Result<(), StoreError> {
        let listed = |one: &Approvals| one.to_json();
        let stands: Value = row.approvals.iter().map(listed).collect();
        if question.opened.is_none() || question.is_of_effect {
            self.is("decisions.approvals", what, &stands, &json!([]));
            return Ok(());
        }
        let until = question.turned.filter(|_| question.status() != DecisionStatus::Open);
        let until = until.unwrap_or(u64::MAX);
        let Some(asked) =
            question.asked.filter(|asked| !self.ledger.course.is_changed_between(*asked, until))
        else {
            return Ok(());
        };
        let said =
            self.receipt(asked)?.and_then(|asked| line_of(&asked).pointer("/output/approvals").cloned());
        self.is("decisions.approvals", what, &stands, &said.unwrap_or_else(|| json!([])));
        Ok(())
    }

    /// Why it is asked: what the call comes to that raised it, decided again.
    fn why(
        &mut self,
        row: &Decision,
        question: &Question,
        raising: Option<&StoredReceipt>,
        what: &str,
    ) -> Result<(), StoreError> {
        let Some(raising) = raising.filter(|_| question.opened.is_some()) else {
            if row.why != Why::default() {
                self.say(format!("`decisions.why` of {what} gives reasons, and none was recorded"));
            }
            return Ok(());
        };
        let renewed = match question.renewed.filter(|place| *place > raising.log_index) {
            Some(place) => self.receipt(place)?,
            None => None,
        };
        let expected = match renewed {
            Some(renewed) => line_of(&renewed).pointer("/input/why").and_then(Why::from_json),
            None => match self.again.why(self.connection, raising) {
                Ok(why) => Some(why),
                // What cannot be decided again is told where the log is decided again.
                Err(NotAgain::Undecidable(_) | NotAgain::Store(StoreError::Corrupt { .. })) => None,
                Err(NotAgain::Store(error @ StoreError::Failed(_))) => return Err(error),
            },
        };
        if let Some(expected) = expected {
            self.is("decisions.why", what, &row.why.to_json(), &expected.to_json());
        }
        Ok(())
    }
}

/// Whether a call was refused because its agent asks too much.
fn says_flood(stored: &StoredReceipt) -> bool {
    stored.body.kind.is_call() && line_of(stored).pointer("/output/clauses/0") == Some(&json!(FLOOD))
}

/// What was said with a decision's ending: by a person, as long as it is kept, or by the service.
fn reason_of(turned: &StoredReceipt) -> Option<Value> {
    if turned.body.kind == Kind::DecisionWithdraw {
        return line_of(turned).pointer("/output/reason").cloned();
    }
    if turned.body.kind != Kind::DecisionDecline {
        return None;
    }
    let content: Value = serde_json::from_str(turned.content.as_deref()?).ok()?;
    content.get("/input/reason")?.get("value").cloned()
}
