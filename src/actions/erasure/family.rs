//! Which receipts hold the same content: every ask of one request in its chain, the repeats under its keys, what was
//! reported of its effects and what people said of it.

use super::rows::{Documents, named};
use crate::actions::Error;
use crate::actions::request::{Private, comparable, described_again};
use crate::committer::Books;
use crate::domain::{Chain, DecisionId, EffectId, Intent, ReceiptId, TenantSlug, Timestamp};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, content, decision, effect, receipt};
use serde_json::Value;
use std::collections::BTreeSet;

/// How many receipts are read at once.
const PAGE: i64 = 500;

/// The receipts that hold one request's content, as far as a chain was read.
#[derive(Debug, Clone)]
pub struct Family {
    chain: Chain,
    /// What its calls are about; nothing where the receipt stands for itself.
    intent: Option<Intent>,
    /// From where on the chain is not read yet.
    next_seq: u64,
    /// The first receipt asked about: its content is what the others are known by, so it goes last.
    root: u64,
    /// The request; nothing once it is erased.
    request: Option<Vec<u8>>,
    /// The calls that ask it, and those known to have asked it.
    calls: BTreeSet<ReceiptId>,
    effects: BTreeSet<EffectId>,
    decisions: BTreeSet<DecisionId>,
    places: Vec<u64>,
    erased_at: Option<Timestamp>,
}

impl Family {
    /// Finds the family that a receipt of a request belongs to, reading its chain once.
    ///
    /// # Errors
    /// There is no such receipt, or it is of something else than a request.
    pub fn of(connection: &mut AnyConnection, tenant: &TenantSlug, id: ReceiptId) -> Result<Self, Error> {
        let found = receipt::find(connection, tenant, id.log_index())?;
        let found = found.filter(|found| found.body.id == id).ok_or(Error::NotFound("receipt"))?;
        let mut family = match root(connection, tenant, &found)? {
            Some(root) => Self::from_root(connection, tenant, &root)?,
            None if found.body.kind == Kind::AccessMinute => Self {
                places: Vec::from_iter(found.content.is_some().then_some(found.log_index)),
                ..Self::empty(&found)
            },
            None => {
                return Err(Error::Conflict(format!(
                    "receipt `{id}` is of {}: what it states is no request, and is not erased",
                    found.body.kind
                )));
            }
        };
        family.read_chain(connection, tenant)?;
        Ok(family)
    }

    fn empty(root: &StoredReceipt) -> Self {
        Self {
            chain: root.body.chain,
            intent: None,
            next_seq: 0,
            root: root.log_index,
            request: None,
            calls: BTreeSet::new(),
            effects: BTreeSet::new(),
            decisions: BTreeSet::new(),
            places: Vec::new(),
            erased_at: None,
        }
    }

    fn from_root(
        connection: &mut AnyConnection,
        tenant: &TenantSlug,
        root: &StoredReceipt,
    ) -> Result<Self, Error> {
        let mut family = Self { intent: root.intent.clone(), ..Self::empty(root) };
        family.request = request(root)?;
        family.calls.insert(root.body.id);
        if let Some(by) = root.erased_by
            && let Some(by) = receipt::find(connection, tenant, by)?
        {
            family.erased_at = Some(by.body.at);
            let listed = Documents::of(&by)?.input.get("receipts").cloned().unwrap_or_default();
            family.calls.extend(listed.as_array().into_iter().flatten().filter_map(named::<ReceiptId>));
        }
        Ok(family)
    }

    /// The chain its calls are in.
    pub(super) fn chain(&self) -> Chain {
        self.chain
    }

    /// The places of the receipts that hold content, in the order in which it is erased.
    pub(super) fn places(&self) -> &[u64] {
        &self.places
    }

    /// The decisions it was put to.
    pub(super) fn decisions(&self) -> &BTreeSet<DecisionId> {
        &self.decisions
    }

    /// When the request itself was erased, if it was.
    pub(super) fn erased_at(&self) -> Option<Timestamp> {
        self.erased_at
    }

    /// Reads what came into the chain since, inside a batch, and what people said meanwhile.
    pub(super) fn catch_up(&mut self, books: &mut Books<'_>) -> Result<(), Error> {
        for pending in books.pending() {
            if pending.body.chain == self.chain && self.clone().is_member(pending)? {
                return Err(Error::Conflict(
                    "the same was asked or reported at this moment: erase it again".into(),
                ));
            }
        }
        let (connection, slug) = books.place();
        self.read_chain(connection, slug)?;
        self.read_answers(connection, slug)?;
        self.places.sort_unstable_by_key(|place| (*place == self.root, *place));
        self.places.dedup();
        Ok(())
    }

    fn read_chain(&mut self, connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<(), Error> {
        let Some(intent) = self.intent.clone() else { return Ok(()) };
        loop {
            let of = (&self.chain, &intent);
            let page = content::of_chain(connection, tenant, of, self.next_seq, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            self.next_seq = last.body.seq.saturating_add(1);
            for stored in &page {
                if self.is_member(stored)? && stored.content.is_some() {
                    self.places.push(stored.log_index);
                }
            }
        }
    }

    /// Whether a receipt of the chain belongs to the family; what it leads to then does too.
    fn is_member(&mut self, stored: &StoredReceipt) -> Result<bool, Error> {
        if self.intent.is_none() || stored.intent != self.intent {
            return Ok(false);
        }
        let documents = Documents::of(stored)?;
        match stored.body.kind {
            Kind::GateEvaluate | Kind::QuestionAsk | Kind::QuestionAnswer => {
                let is_same = self.calls.contains(&stored.body.id)
                    || (self.request.is_some() && self.request == request(stored)?);
                if is_same {
                    self.calls.insert(stored.body.id);
                    self.decisions.extend(documents.decisions());
                    self.effects.extend(documents.effect());
                }
                Ok(is_same)
            }
            Kind::GateReplay => {
                let first = documents.input.get("first").and_then(named::<ReceiptId>);
                Ok(first.is_some_and(|first| self.calls.contains(&first)))
            }
            Kind::EffectOutcome => {
                let is_of = documents.effect().is_some_and(|effect| self.effects.contains(&effect));
                if is_of {
                    self.decisions.extend(documents.decisions());
                }
                Ok(is_of)
            }
            Kind::GateWithdrawn
            | Kind::MandatePut
            | Kind::PolicyPut
            | Kind::CataloguePut
            | Kind::PrincipalCreate
            | Kind::PrincipalPassword
            | Kind::AgentCreate
            | Kind::AgentRetire
            | Kind::CredentialCreate
            | Kind::CredentialDerive
            | Kind::CredentialRevoke
            | Kind::EnforcementPointCreate
            | Kind::EnforcementPointRevoke
            | Kind::DecisionApprove
            | Kind::DecisionDecline
            | Kind::DecisionExpire
            | Kind::DecisionRenew
            | Kind::QuestionLost
            | Kind::QuestionAnswered
            | Kind::QuestionFetch
            | Kind::QuestionWithdraw
            | Kind::QuestionExpire
            | Kind::QuestionReceive
            | Kind::DecisionWithdraw
            | Kind::DecisionResolve
            | Kind::AccessMinute
            | Kind::LogGap
            | Kind::LogRestore
            | Kind::Export
            | Kind::ContentErase
            | Kind::RetentionPut
            | Kind::KeyRotate
            | Kind::TenantSetup => Ok(false),
        }
    }

    /// What people said of its decisions stands in their own chains.
    fn read_answers(&mut self, connection: &mut AnyConnection, tenant: &TenantSlug) -> Result<(), Error> {
        for id in &self.decisions {
            let Some(found) = decision::find(connection, tenant, *id)? else { continue };
            let (Some(by), Some(at)) = (found.decided_by, found.decided_at) else { continue };
            for stored in content::at_instant(connection, tenant, &Chain::Principal(by), at)? {
                let is_said = matches!(stored.body.kind, Kind::DecisionDecline | Kind::DecisionResolve);
                if is_said
                    && stored.content.is_some()
                    && Documents::of(&stored)?.decisions().any(|named| named == *id)
                {
                    self.places.push(stored.log_index);
                }
            }
        }
        Ok(())
    }
}

/// The call that a receipt is of, or is about; `None` where it is about none.
fn root(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    found: &StoredReceipt,
) -> Result<Option<StoredReceipt>, Error> {
    if found.body.kind.is_call() {
        return Ok(Some(found.clone()));
    }
    let input = Documents::of(found)?.input;
    let member = |name: &str| input.get(name).filter(|_| found.body.kind != Kind::AccessMinute);
    let place = if let Some(first) = member("first").and_then(named::<ReceiptId>) {
        Some(first.log_index())
    } else if let Some(id) = member("effect").and_then(named) {
        effect::find(connection, tenant, id)?.map(|effect| effect.log_index)
    } else if let Some(id) = member("decision").and_then(named) {
        decision::find(connection, tenant, id)?.map(|decision| decision.log_index)
    } else {
        None
    };
    let call = place.map(|place| receipt::find(connection, tenant, place)).transpose()?.flatten();
    Ok(call.filter(|call| call.body.kind.is_call()))
}

/// The request of a call in the form that requests are compared in; nothing once it is erased.
fn request(stored: &StoredReceipt) -> Result<Option<Vec<u8>>, Error> {
    let Some(content) = &stored.content else { return Ok(None) };
    let input = Documents::of(stored)?.input;
    let content: Value = serde_json::from_str(content).unwrap_or_default();
    let described = described_again(&input, Some(&content));
    Ok(described.map(|described| comparable(&described, &Private::of(&described)).to_vec()))
}
