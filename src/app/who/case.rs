//! Gathers what stands behind a match: the call, the yes it hangs on, the versions that decided, the credential, and
//! what became of it.

use super::effect::Ending;
use super::find::Found;
use crate::domain::{
    AgentId, CredentialId, DecisionId, EffectId, Intent, Outcome, PrincipalId, QuestionId, ReceiptId,
    TenantSlug, Timestamp,
};
use crate::evidence::receipt::Kind;
use crate::storage::decision::{self, Decision, DecisionKind, DecisionStatus};
use crate::storage::question;
use crate::storage::receipt::{self, StoredReceipt};
use crate::storage::{
    AnyConnection, StoreError, agent, behind, catalogue, credential, effect, mandate, policy,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many ancestors of a credential are followed.
const MOST_ANCESTORS: usize = 16;

/// A match and what stands behind it.
pub(super) struct Case {
    /// The receipt that it is told of.
    pub(super) about: Arc<StoredReceipt>,
    /// What it is.
    pub(super) matter: Matter,
    /// The receipts behind it, in the order they were recorded.
    pub(super) chain: Vec<Arc<StoredReceipt>>,
}

/// What a match is.
pub(super) enum Matter {
    /// A call of the gate.
    Call(Box<Call>),
    /// An act of authority, or the service's own account.
    Act,
}

/// A call of the gate, with what it came to.
pub(super) struct Call {
    /// The call as it was first asked, or as it was answered where no decision was needed.
    pub(super) asked: Arc<StoredReceipt>,
    /// The call that used the yes, if one did.
    pub(super) used: Option<Arc<StoredReceipt>>,
    /// The decision it became.
    pub(super) decision: Option<Decision>,
    /// Whose yes it has, and since when.
    pub(super) yeses: Vec<(PrincipalId, Timestamp)>,
    /// When the decision ended without a person.
    pub(super) ended_at: Option<Timestamp>,
    /// When the answer was taken back, because it came too late.
    pub(super) taken_back_at: Option<Timestamp>,
    /// Who put the deciding version of the mandate live, and when.
    pub(super) mandate: Option<(PrincipalId, Timestamp)>,
    /// What became of the effect it let happen.
    pub(super) ending: Option<Ending>,
    /// The repeated call that was asked about, where it was one.
    pub(super) repeated: Option<Timestamp>,
}

impl Call {
    /// The answer that counts.
    pub(super) fn deciding(&self) -> &Arc<StoredReceipt> {
        self.used.as_ref().unwrap_or(&self.asked)
    }
}

impl Case {
    pub(super) fn decision_id(&self) -> Option<DecisionId> {
        match &self.matter {
            Matter::Call(call) => call.decision.as_ref().map(|decision| decision.id),
            Matter::Act => None,
        }
    }

    pub(super) fn effect_id(&self) -> Option<EffectId> {
        match &self.matter {
            Matter::Call(call) => call.ending.as_ref().map(|ending| ending.effect.id),
            Matter::Act => None,
        }
    }

    /// Gathers what stands behind what was found.
    pub(super) fn gather(
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        found: Found,
    ) -> Result<Self, StoreError> {
        let mut gathering = Gathering { connection, tenant, chain: BTreeMap::new() };
        let (about, matter) = match found {
            Found::Receipt(stored) => gathering.receipt(&stored)?,
            Found::Decision(found) => match gathering.at(found.log_index)? {
                Some(call) if found.kind != DecisionKind::Attention => gathering.call(call)?,
                Some(call) => (call, Matter::Act),
                None => return Err(missing("decisions.log_index", found.log_index)),
            },
            Found::Effect(found) => match gathering.at(found.log_index)? {
                Some(call) => gathering.call(call)?,
                None => return Err(missing("effects.log_index", found.log_index)),
            },
            Found::Credential(found) => {
                let made = gathering.credential(found.id)?;
                (made.ok_or_else(|| missing("credentials.created_at", 0))?, Matter::Act)
            }
            Found::Agent(found) => {
                let made = gathering.agent(found.id)?;
                (made.ok_or_else(|| missing("agents.created_at", 0))?, Matter::Act)
            }
        };
        gathering.take(&about);
        Ok(Self { about, matter, chain: gathering.chain.into_values().collect() })
    }
}

fn missing(place: &'static str, log_index: u64) -> StoreError {
    StoreError::Corrupt { place, detail: format!("no receipt at {log_index}") }
}

/// Receipts being gathered, by their place in the log.
pub(super) struct Gathering<'a> {
    pub(super) connection: &'a mut AnyConnection,
    pub(super) tenant: &'a TenantSlug,
    chain: BTreeMap<u64, Arc<StoredReceipt>>,
}

impl Gathering<'_> {
    pub(super) fn take(&mut self, stored: &Arc<StoredReceipt>) {
        self.chain.insert(stored.log_index, stored.clone());
    }

    fn at(&mut self, log_index: u64) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        if let Some(stored) = self.chain.get(&log_index) {
            return Ok(Some(stored.clone()));
        }
        Ok(receipt::find(self.connection, self.tenant, log_index)?.map(Arc::new))
    }

    fn by_id(&mut self, id: Option<ReceiptId>) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        let Some(id) = id else { return Ok(None) };
        Ok(self.at(id.log_index())?.filter(|stored| stored.body.id == id))
    }

    /// The act of a kind at an instant that fits, taken into the chain.
    pub(super) fn act(
        &mut self,
        kind: Kind,
        at: Timestamp,
        fits: impl Fn(&StoredReceipt) -> bool,
    ) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        let found = behind::at_instant(self.connection, self.tenant, kind, at)?.into_iter().find(fits);
        let found = found.map(Arc::new);
        if let Some(stored) = &found {
            self.take(stored);
        }
        Ok(found)
    }

    /// What a receipt is about, which may be a call that it says something of.
    fn receipt(&mut self, stored: &Arc<StoredReceipt>) -> Result<(Arc<StoredReceipt>, Matter), StoreError> {
        let input = document(&stored.input);
        let call = match stored.body.kind {
            Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer | Kind::QuestionReceive => {
                Some(stored.clone())
            }
            Kind::GateReplay => self.by_id(id(&input, "first"))?,
            Kind::GateWithdrawn => self.by_id(id(&input, "receipt"))?,
            Kind::DecisionApprove
            | Kind::DecisionDecline
            | Kind::DecisionExpire
            | Kind::DecisionRenew
            | Kind::DecisionWithdraw => self.call_of_decision(id(&input, "decision"))?,
            Kind::QuestionLost => self.by_id(id(&input, "ask"))?,
            Kind::QuestionAnswered | Kind::QuestionFetch | Kind::QuestionWithdraw | Kind::QuestionExpire => {
                self.call_of_question(id(&input, "question"))?
            }
            Kind::DecisionResolve | Kind::EffectOutcome => self.call_of_effect(id(&input, "effect"))?,
            Kind::CredentialCreate | Kind::CredentialDerive => {
                if let Some(made) = id(&document(&stored.output), "id") {
                    self.credential(made)?;
                }
                None
            }
            Kind::CredentialRevoke => {
                if let Some(revoked) = stored.body.credential {
                    self.credential(revoked)?;
                }
                None
            }
            Kind::AgentRetire => {
                if let Some(retired) = stored.body.agent {
                    self.agent(retired)?;
                }
                None
            }
            Kind::MandatePut
            | Kind::PolicyPut
            | Kind::CataloguePut
            | Kind::PrincipalCreate
            | Kind::PrincipalPassword
            | Kind::AgentCreate
            | Kind::EnforcementPointCreate
            | Kind::EnforcementPointRevoke
            | Kind::AccessMinute
            | Kind::LogGap
            | Kind::LogRestore
            | Kind::ContentErase
            | Kind::RetentionPut
            | Kind::KeyRotate
            | Kind::Export
            | Kind::TenantSetup => None,
        };
        let Some(call) = call else { return Ok((stored.clone(), Matter::Act)) };
        let (about, matter) = self.call(call)?;
        self.take(stored);
        Ok(match matter {
            Matter::Call(mut call) if stored.body.kind == Kind::GateReplay => {
                call.repeated = Some(stored.body.at);
                (about, Matter::Call(call))
            }
            matter @ (Matter::Call(_) | Matter::Act) => (about, matter),
        })
    }

    /// The call that asked a question.
    fn call_of_question(&mut self, id: Option<QuestionId>) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        let Some(id) = id else { return Ok(None) };
        match question::find(self.connection, self.tenant, id)? {
            Some(found) => self.at(found.ask_index),
            None => Ok(None),
        }
    }

    fn call_of_decision(&mut self, id: Option<DecisionId>) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        let Some(id) = id else { return Ok(None) };
        match decision::find(self.connection, self.tenant, id)? {
            Some(found) if found.kind != DecisionKind::Attention => self.at(found.log_index),
            Some(_) | None => Ok(None),
        }
    }

    fn call_of_effect(&mut self, id: Option<EffectId>) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        let Some(id) = id else { return Ok(None) };
        match effect::find(self.connection, self.tenant, id)? {
            Some(found) => self.at(found.log_index),
            None => Ok(None),
        }
    }

    /// A call and all that stands behind it; it is told of the answer that counts.
    fn call(&mut self, found: Arc<StoredReceipt>) -> Result<(Arc<StoredReceipt>, Matter), StoreError> {
        self.take(&found);
        let decision = self.decision_of(&found)?;
        let mut call = Call {
            asked: found,
            used: None,
            decision,
            yeses: Vec::new(),
            ended_at: None,
            taken_back_at: None,
            mandate: None,
            ending: None,
            repeated: None,
        };
        if let Some(decision) = call.decision.clone() {
            self.follow(&mut call, &decision)?;
        }
        self.turns(&mut call)?;
        let deciding = call.deciding().clone();
        if deciding.body.outcome == Some(Outcome::Allow) {
            call.ending = self.ending(&deciding)?;
        }
        call.mandate = self.versions(&deciding)?;
        if let Some(credential) = deciding.body.credential {
            self.credential(credential)?;
        }
        Ok((deciding, Matter::Call(Box::new(call))))
    }

    /// The decision that a call became, or whose yes it used.
    fn decision_of(&mut self, call: &StoredReceipt) -> Result<Option<Decision>, StoreError> {
        let id: Option<DecisionId> = match call.body.outcome {
            Some(Outcome::Escalate) => {
                document(&call.output).get("decision").and_then(|decision| id(decision, "id"))
            }
            Some(Outcome::Allow) => id(&document(&call.input), "decision"),
            Some(Outcome::Refuse) | None => None,
        };
        let Some(id) = id else { return Ok(None) };
        let found = decision::find(self.connection, self.tenant, id)?;
        Ok(found.filter(|found| {
            call.body.outcome == Some(Outcome::Escalate) || found.used_index == Some(call.log_index)
        }))
    }

    /// From a decision to the call that raised it, every yes it has or the no, and the call that used it.
    fn follow(&mut self, call: &mut Call, decision: &Decision) -> Result<(), StoreError> {
        if let Some(raised) = self.at(decision.log_index)? {
            self.take(&raised);
            call.asked = raised;
        }
        call.yeses = behind::yeses(self.connection, self.tenant, decision.id)?;
        let is_of = |stored: &StoredReceipt| id(&document(&stored.input), "decision") == Some(decision.id);
        for (by, at) in call.yeses.clone() {
            let fits = |stored: &StoredReceipt| stored.body.principal == Some(by) && is_of(stored);
            self.act(Kind::DecisionApprove, at, fits)?;
        }
        if let (DecisionStatus::Declined, Some(at)) = (decision.status, decision.decided_at) {
            self.act(Kind::DecisionDecline, at, is_of)?;
        }
        if let Some(place) = decision.used_index
            && let Some(used) = self.at(place)?
        {
            self.take(&used);
            call.used = Some(used);
        }
        Ok(())
    }

    /// How the decision went on without a person, and whether the answer was taken back.
    fn turns(&mut self, call: &mut Call) -> Result<(), StoreError> {
        let decision = call.decision.as_ref().map(|decision| decision.id);
        let answers = [Some(call.asked.body.id), call.used.as_ref().map(|used| used.body.id)];
        let (chain, seq) = (call.asked.body.chain, call.asked.body.seq);
        for turn in behind::turns_after(self.connection, self.tenant, &chain, seq)? {
            let input = document(&turn.input);
            let at = turn.body.at;
            let concerns = if turn.body.kind == Kind::GateWithdrawn {
                let answer: Option<ReceiptId> = id(&input, "receipt");
                let is_this = answer.is_some() && answers.contains(&answer);
                call.taken_back_at = call.taken_back_at.or(Some(at).filter(|_| is_this));
                is_this
            } else {
                let of: Option<DecisionId> = id(&input, "decision");
                let is_this = of.is_some() && of == decision;
                if is_this && turn.body.kind != Kind::DecisionRenew {
                    call.ended_at = Some(at);
                }
                is_this
            };
            if concerns {
                self.take(&Arc::new(turn));
            }
        }
        Ok(())
    }

    /// The acts that put live what decided; who put the mandate live, and when.
    fn versions(&mut self, deciding: &StoredReceipt) -> Result<Option<(PrincipalId, Timestamp)>, StoreError> {
        let body = &deciding.body;
        let mut author = None;
        if let (Some(principal), Some(version)) = (body.principal, body.mandate_version)
            && let Some(live) = mandate::find(self.connection, self.tenant, principal, version)?
        {
            author = Some((live.author, live.live_since));
            self.mandate(principal, version, live.live_since)?;
        }
        if let Some(version) = body.policy_version
            && let Some(live) = policy::find(self.connection, self.tenant, version)?
        {
            let fits = |stored: &StoredReceipt| stored.body.policy_version == Some(version);
            if self.act(Kind::PolicyPut, live.live_since, fits)?.is_none() {
                self.act(Kind::TenantSetup, live.live_since, |_| true)?;
            }
        }
        if let (Some(intent), Some(version)) = (&deciding.intent, body.catalogue_version) {
            self.entry(intent, version)?;
        }
        Ok(author)
    }

    /// The first version comes with the person: the operator registered them, or the tenant was set up.
    fn mandate(&mut self, principal: PrincipalId, version: u64, at: Timestamp) -> Result<(), StoreError> {
        let fits = |stored: &StoredReceipt| {
            stored.body.principal == Some(principal) && stored.body.mandate_version == Some(version)
        };
        if self.act(Kind::MandatePut, at, fits)?.is_some() {
            return Ok(());
        }
        let registered = |stored: &StoredReceipt| id(&document(&stored.output), "id") == Some(principal);
        if self.act(Kind::PrincipalCreate, at, registered)?.is_none() {
            self.act(Kind::TenantSetup, at, |_| true)?;
        }
        Ok(())
    }

    fn entry(&mut self, intent: &Intent, version: u64) -> Result<(), StoreError> {
        if let Some(live) = catalogue::at_version(self.connection, self.tenant, intent, version)? {
            let fits = |stored: &StoredReceipt| stored.body.catalogue_version == Some(live.version);
            self.act(Kind::CataloguePut, live.live_since, fits)?;
        }
        Ok(())
    }

    /// The act that made a credential, after those that made its ancestors and its agent.
    fn credential(&mut self, id: CredentialId) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        let mut made = None;
        let mut next = Some(id);
        for _ in 0..MOST_ANCESTORS {
            let Some(id) = next else { break };
            let Some(found) = credential::find(self.connection, self.tenant, id)? else { break };
            let kind = if found.parent.is_some() { Kind::CredentialDerive } else { Kind::CredentialCreate };
            let fits = |stored: &StoredReceipt| self::id(&document(&stored.output), "id") == Some(id);
            let act = self.act(kind, found.created_at, fits)?;
            if made.is_none() {
                made = act;
                self.agent(found.agent)?;
            }
            next = found.parent;
        }
        Ok(made)
    }

    fn agent(&mut self, id: AgentId) -> Result<Option<Arc<StoredReceipt>>, StoreError> {
        let Some(found) = agent::find(self.connection, self.tenant, id)? else { return Ok(None) };
        self.act(Kind::AgentCreate, found.created_at, |stored| stored.body.agent == Some(id))
    }
}

/// A document as JSON; one that cannot be read has no members.
pub(super) fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// A member that is an id.
pub(super) fn id<T: std::str::FromStr>(document: &Value, member: &str) -> Option<T> {
    document.get(member)?.as_str()?.parse().ok()
}
