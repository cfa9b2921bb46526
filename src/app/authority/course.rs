//! The course of decisions and effects, as far as the receipts tell: what their rows must say by now.

use crate::domain::{
    DecisionId, DecisionStatus, EffectId, EffectStatus, EnforcementPointId, Outcome, PrincipalId, ReceiptId,
    Timestamp,
};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use serde_json::Value;
use std::collections::HashMap;
use std::str::FromStr;

/// An effect as the receipts leave it.
#[derive(Debug, Clone)]
pub(super) struct Fate {
    /// The place of the call that let it happen.
    pub(super) call: u64,
    /// Where it stands.
    pub(super) status: EffectStatus,
    /// When it came to stand there, if anything was said of it.
    pub(super) ended_at: Option<Timestamp>,
    /// The place of what was said of it last; none where only its call was taken back.
    pub(super) told: Option<u64>,
    /// The enforcement point that reported last.
    pub(super) point: Option<EnforcementPointId>,
}

/// A decision as the receipts leave it.
#[derive(Debug, Clone, Default)]
pub(super) struct Question {
    /// The place of the receipt that opened it; none where none names it, as of an item that says that an agent asks too
    /// much.
    pub(super) opened: Option<u64>,
    /// Whether a receipt of how an effect ended opened it.
    pub(super) is_of_effect: bool,
    /// The place of the last receipt that says whose yes it takes: of a call that found it open, of a yes, or of its
    /// being put anew; none where the last of these did not say.
    pub(super) asked: Option<u64>,
    /// How often calls asked it.
    pub(super) asks: u64,
    /// Where it stands; none is open.
    pub(super) status: Option<DecisionStatus>,
    /// Which person decided, and when.
    pub(super) decided: Option<(Timestamp, PrincipalId)>,
    /// Until when the yes may be used.
    pub(super) approved_until: Option<Timestamp>,
    /// The place of the call that used the yes.
    pub(super) used: Option<u64>,
    /// Whether a yes that was used was given back, or taken back with what had used it.
    pub(super) is_given_back: bool,
    /// The place of the last receipt that put it anew without a call.
    pub(super) renewed: Option<u64>,
    /// The place of what ended it, or approved it.
    pub(super) turned: Option<u64>,
}

/// What the receipts so far leave; in memory, one entry a decision and effect.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) effects: HashMap<EffectId, Fate>,
    pub(super) questions: HashMap<DecisionId, Question>,
    /// The places of allows that were taken back, and when.
    pub(super) withdrawn: HashMap<u64, Timestamp>,
    /// Which decision the call at a place used the yes of.
    uses: HashMap<u64, DecisionId>,
    /// Which effect the call at a place let happen.
    effect_of: HashMap<u64, EffectId>,
    /// The places where something changed that asks for the yes of other people.
    changes: Vec<u64>,
}

impl Course {
    /// Goes on by one receipt.
    pub(super) fn take(&mut self, stored: &StoredReceipt, line: &Value) {
        let (place, at) = (stored.log_index, stored.body.at);
        match stored.body.kind {
            Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer => self.call(stored, line),
            Kind::GateWithdrawn => {
                if let Some(id) = named::<ReceiptId>(line, "/input/receipt") {
                    self.withdraw(id.log_index(), at);
                }
            }
            Kind::EffectOutcome => self.report(stored, line),
            Kind::DecisionResolve => {
                self.tell(stored, line, "/output/effect_status");
                self.decide(stored, line, DecisionStatus::Resolved);
            }
            Kind::DecisionApprove => {
                let status = line.pointer("/output/status").and_then(Value::as_str);
                self.ask(place, line);
                if status == Some(DecisionStatus::Approved.as_str()) {
                    self.decide(stored, line, DecisionStatus::Approved);
                    if let Some(question) = self.question(line) {
                        question.approved_until = named(line, "/output/approved_until");
                    }
                }
            }
            Kind::DecisionDecline => self.decide(stored, line, DecisionStatus::Declined),
            Kind::DecisionExpire => self.turn(place, line, DecisionStatus::Expired),
            Kind::DecisionWithdraw => self.turn(place, line, DecisionStatus::Withdrawn),
            Kind::DecisionRenew => {
                if let Some(question) = self.question(line) {
                    question.renewed = Some(place);
                }
                self.ask(place, line);
            }
            Kind::MandatePut | Kind::PolicyPut | Kind::CataloguePut => self.changes.push(place),
            Kind::GateReplay
            | Kind::QuestionReceive
            | Kind::QuestionLost
            | Kind::QuestionAnswered
            | Kind::QuestionFetch
            | Kind::QuestionWithdraw
            | Kind::QuestionExpire
            | Kind::PrincipalCreate
            | Kind::PrincipalPassword
            | Kind::AgentCreate
            | Kind::AgentRetire
            | Kind::CredentialCreate
            | Kind::CredentialDerive
            | Kind::CredentialRevoke
            | Kind::EnforcementPointCreate
            | Kind::EnforcementPointRevoke
            | Kind::AccessMinute
            | Kind::LogGap
            | Kind::LogRestore
            | Kind::ContentErase
            | Kind::RetentionPut
            | Kind::Export
            | Kind::KeyRotate
            | Kind::TenantSetup => {}
        }
    }

    /// Whether something that asks for the yes of other people was changed after one place and before another.
    pub(super) fn is_changed_between(&self, from: u64, until: u64) -> bool {
        let first = self.changes.partition_point(|place| *place <= from);
        self.changes.get(first).is_some_and(|place| *place < until)
    }

    /// Since when what the call at a place took is given back, if it is.
    pub(super) fn given_back(&self, place: u64) -> Option<Timestamp> {
        let effect = self.effect_of.get(&place).and_then(|id| self.effects.get(id));
        match effect {
            Some(fate) if fate.status == EffectStatus::Failed => fate.ended_at,
            Some(_) => None,
            None => self.withdrawn.get(&place).copied(),
        }
    }

    fn call(&mut self, stored: &StoredReceipt, line: &Value) {
        let place = stored.log_index;
        let allowed = stored.body.outcome == Some(Outcome::Allow);
        if let Some(id) = named::<EffectId>(line, "/output/effect/id").filter(|_| allowed) {
            let fate =
                Fate { call: place, status: EffectStatus::Claimed, ended_at: None, told: None, point: None };
            self.effects.insert(id, fate);
            self.effect_of.insert(place, id);
        }
        let names = named::<DecisionId>(line, "/input/decision");
        let is_approved = line.pointer("/input/asked/status").and_then(Value::as_str)
            == Some(DecisionStatus::Approved.as_str());
        if let Some(id) = names.filter(|_| allowed && is_approved) {
            let question = self.questions.entry(id).or_default();
            question.status = Some(DecisionStatus::Used);
            question.used = Some(place);
            question.is_given_back = false;
            question.turned = Some(place);
            self.uses.insert(place, id);
        }
        let Some(id) = named::<DecisionId>(line, "/output/decision/id") else { return };
        let is_open = line.pointer("/output/decision/status").and_then(Value::as_str)
            == Some(DecisionStatus::Open.as_str());
        let question = self.questions.entry(id).or_default();
        if question.opened.is_none() {
            question.opened = Some(place);
            question.asks = 1;
        } else if names.is_none() {
            question.asks = question.asks.saturating_add(1);
        }
        if is_open {
            question.asked = Some(place);
        }
    }

    /// A yes, or a question put anew, says whose yes is asked for from then on; in older logs it does not.
    fn ask(&mut self, place: u64, line: &Value) {
        let says = line.pointer("/output/approvals").is_some();
        if let Some(question) = self.question(line) {
            question.asked = says.then_some(place);
        }
    }

    fn withdraw(&mut self, place: u64, at: Timestamp) {
        self.withdrawn.insert(place, at);
        let effect = self.effect_of.get(&place).and_then(|id| self.effects.get_mut(id));
        if let Some(fate) = effect.filter(|fate| fate.status == EffectStatus::Claimed) {
            fate.status = EffectStatus::Failed;
            fate.ended_at = Some(at);
        }
        if let Some(question) = self.uses.get(&place).and_then(|id| self.questions.get_mut(id))
            && question.used == Some(place)
        {
            question.status = Some(DecisionStatus::Approved);
            question.used = None;
            question.is_given_back = true;
        }
    }

    fn report(&mut self, stored: &StoredReceipt, line: &Value) {
        self.tell(stored, line, "/output/status");
        if let Some(id) = named::<DecisionId>(line, "/output/decision") {
            let question = self.questions.entry(id).or_default();
            question.opened = Some(stored.log_index);
            question.asks = 1;
            question.is_of_effect = true;
        }
    }

    fn tell(&mut self, stored: &StoredReceipt, line: &Value, status: &str) {
        let (Some(id), Some(status)) = (named::<EffectId>(line, "/input/effect"), named(line, status)) else {
            return;
        };
        let Some(fate) = self.effects.get_mut(&id) else { return };
        fate.status = status;
        fate.ended_at = Some(stored.body.at);
        fate.told = Some(stored.log_index);
        fate.point = named(line, "/input/enforcement_point").or(fate.point);
    }

    fn decide(&mut self, stored: &StoredReceipt, line: &Value, status: DecisionStatus) {
        self.turn(stored.log_index, line, status);
        let by = stored.body.principal;
        if let Some(question) = self.question(line) {
            question.decided = by.map(|by| (stored.body.at, by));
        }
    }

    fn turn(&mut self, place: u64, line: &Value, status: DecisionStatus) {
        if let Some(question) = self.question(line) {
            question.status = Some(status);
            question.turned = Some(place);
            question.is_given_back = false;
        }
    }

    fn question(&mut self, line: &Value) -> Option<&mut Question> {
        let id = named::<DecisionId>(line, "/input/decision")?;
        Some(self.questions.entry(id).or_default())
    }
}

impl Question {
    /// Where it stands.
    pub(super) fn status(&self) -> DecisionStatus {
        self.status.unwrap_or(DecisionStatus::Open)
    }
}

/// What a receipt's documents name at a place.
pub(super) fn named<T: FromStr>(line: &Value, pointer: &str) -> Option<T> {
    line.pointer(pointer)?.as_str()?.parse().ok()
}
