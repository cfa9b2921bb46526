//! What became of the effect that an allow let happen.

use super::case::{Gathering, document, id};
use super::names::{Names, spoken};
use crate::domain::{EffectId, PrincipalId};
use crate::evidence::receipt::Kind;
use crate::storage::effect::{self, Effect, EffectStatus};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{StoreError, behind, decision};

/// An effect and how it ended.
pub(super) struct Ending {
    /// The effect.
    pub(super) effect: Effect,
    /// The person who said how it ended, where nobody else knew.
    pub(super) resolved_by: Option<PrincipalId>,
}

impl Gathering<'_> {
    /// The effect of an allow, with the receipts of every report on it.
    pub(super) fn ending(&mut self, allow: &StoredReceipt) -> Result<Option<Ending>, StoreError> {
        let Some(found) = behind::effect_of(self.connection, self.tenant, allow.log_index)? else {
            return Ok(None);
        };
        let Some(effect) = effect::find(self.connection, self.tenant, found)? else { return Ok(None) };
        let mut ending = Ending { effect, resolved_by: None };
        let Some(ended_at) = ending.effect.ended_at else { return Ok(Some(ending)) };
        let is_of =
            |stored: &StoredReceipt| id::<EffectId>(&document(&stored.input), "effect") == Some(found);
        self.act(Kind::EffectOutcome, ended_at, is_of)?;
        let (agent, since) = (ending.effect.agent, ending.effect.claimed_at);
        let question = behind::question_about(self.connection, self.tenant, agent, found, since)?;
        if let Some(question) = question
            && let Some(question) = decision::find(self.connection, self.tenant, question)?
        {
            ending.resolved_by = question.decided_by;
            self.act(Kind::EffectOutcome, question.opened_at, is_of)?;
            if let Some(at) = question.decided_at {
                self.act(Kind::DecisionResolve, at, is_of)?;
            }
        }
        Ok(Some(ending))
    }
}

impl Ending {
    /// How it ended, to stand after a semicolon.
    pub(super) fn says(&self, names: &mut Names<'_>) -> Result<String, StoreError> {
        let Effect { id, status, report_by, enforcement_point, .. } = &self.effect;
        let at = self.effect.ended_at.map(spoken).unwrap_or_default();
        let word = match status {
            EffectStatus::Claimed => {
                return Ok(format!(
                    "nobody has said yet how effect {id} ended, to be reported by {}",
                    spoken(*report_by)
                ));
            }
            EffectStatus::Unknown => {
                return Ok(format!("nobody knows since {at} whether effect {id} happened"));
            }
            EffectStatus::Done => "was done",
            EffectStatus::Failed => "failed",
        };
        let by = match (self.resolved_by, enforcement_point, &self.effect.reported) {
            (Some(person), _, _) => format!("as {} said on {at}", names.person(person)?),
            (None, Some(_), _) => format!("as an enforcement point reported on {at}"),
            (None, None, Some(_)) => format!("as {} reported on {at}", names.agent(self.effect.agent)?),
            (None, None, None) => format!("on {at}"),
        };
        Ok(format!("effect {id} {word}, {by}"))
    }
}
