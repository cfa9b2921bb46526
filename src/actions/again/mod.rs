//! Decides a recorded call of the gate again, from its receipt and the versions that it names.
//!
//! It reads and never writes, so it runs on any connection, beside the committer. Whoever goes over many receipts
//! keeps one [`Again`]: it reads every version of a document once.

mod documents;
mod held;
pub(super) mod recorded;

pub use held::{book_key, counterparties, request_hash};

use super::request;
use crate::domain::{AgentId, Country, CredentialId, Malformed, Outcome, PrincipalId, Timestamp};
use crate::engine::step::{self, Load, QueueUse, Same, Settled};
use crate::engine::{
    self, Action, BookUse, CatalogueEntry, CredentialClauses, CredentialTerms, ENGINE_VERSION, Explanation,
    MandateDocument, PolicyDocument, Reservation, Shown, Used, Verdict, Why,
};
use crate::evidence::receipt::Kind;
use crate::storage::receipt::StoredReceipt;
use crate::storage::tenant::Tenant;
use crate::storage::{AnyConnection, StoreError};
use documents::Documents;
use recorded::Recorded;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

/// Decides recorded calls of one tenant again.
#[derive(Debug)]
pub struct Again {
    zone: chrono_tz::Tz,
    documents: Documents,
}

/// What a call comes to when it is decided again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Redecided {
    /// The answer.
    pub outcome: Outcome,
    /// The clauses that decide.
    pub clauses: Vec<String>,
    /// One sentence for a person.
    pub reason: String,
    /// Whether all three are as they were recorded.
    pub same: bool,
    /// What it takes from the books of limits, where it is an allow.
    pub taken: Vec<Reservation>,
}

/// A call decided again, and why it comes out as it does.
#[derive(Debug)]
pub struct Explained {
    /// What it comes to.
    pub redecided: Redecided,
    explanation: Explanation,
    settled: Option<Settled<()>>,
}

/// Why a receipt cannot be decided again.
#[derive(Debug)]
pub enum NotAgain {
    /// There is nothing to decide, or not enough to decide it by.
    Undecidable(Undecidable),
    /// The store failed.
    Store(StoreError),
}

/// What stands in the way of deciding again; no fault of the answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undecidable {
    /// It is the receipt of something else than an evaluated call.
    NotACall(Kind),
    /// The content that its documents commit to was erased.
    Erased,
    /// It was answered under other rules than this program holds.
    OtherRules(String),
    /// Something that the record must name is not there.
    Incomplete(String),
}

impl fmt::Display for Undecidable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotACall(kind) => {
                let call = Kind::GateEvaluate;
                write!(f, "the receipt is of `{kind}`, only that of `{call}` records a decision of the gate")
            }
            Self::Erased => f.write_str("the content of the call was erased, and the decision rests on it"),
            Self::OtherRules(version) => write!(
                f,
                "the call was answered under version {version} of the rules, this program holds version \
                 {ENGINE_VERSION}"
            ),
            Self::Incomplete(what) => write!(f, "the record is incomplete: {what}"),
        }
    }
}

impl From<StoreError> for NotAgain {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Undecidable> for NotAgain {
    fn from(why: Undecidable) -> Self {
        Self::Undecidable(why)
    }
}

impl Again {
    /// For one tenant's log.
    pub fn new(tenant: &Tenant) -> Self {
        Self { zone: tenant.zone, documents: Documents::new(tenant.slug.clone()) }
    }

    /// What the call comes to under the versions that its receipt names.
    pub fn decide(
        &mut self,
        connection: &mut AnyConnection,
        stored: &StoredReceipt,
    ) -> Result<Redecided, NotAgain> {
        let case = self.rebuild(connection, stored)?;
        let settled = case.decide(|standing, action, at| {
            engine::check_domains(standing, action, at).map(|()| engine::decide(standing, action, at))
        });
        Ok(redecided(&settled, &case.recorded))
    }

    /// Why whoever decides is asked, where the call is put to a person.
    ///
    /// # Errors
    /// [`NotAgain`] where there is not enough to decide it by.
    pub fn why(&mut self, connection: &mut AnyConnection, stored: &StoredReceipt) -> Result<Why, NotAgain> {
        let case = self.rebuild(connection, stored)?;
        let settled = case.decide(|standing, action, at| Ok(engine::decide(standing, action, at)));
        let settled = settled.map_err(|malformed| Undecidable::Incomplete(malformed.to_string()))?;
        Ok(settled.verdict.why())
    }

    /// Everything that decided the call, read and not yet decided on.
    ///
    /// # Errors
    /// [`NotAgain`] where there is not enough to decide it by.
    pub fn rebuild(
        &mut self,
        connection: &mut AnyConnection,
        stored: &StoredReceipt,
    ) -> Result<Case, NotAgain> {
        let body = &stored.body;
        if !body.kind.is_decided() {
            return Err(Undecidable::NotACall(body.kind).into());
        }
        if *body.engine_version != *ENGINE_VERSION {
            return Err(Undecidable::OtherRules(body.engine_version.to_string()).into());
        }
        let recorded = Recorded::read(stored)?;
        let described = &recorded.described;
        let version = |version: Option<u64>, of: &str| {
            version.ok_or_else(|| Undecidable::Incomplete(format!("it names no version of the {of}")))
        };
        let unnamed = |what: &str| Undecidable::Incomplete(format!("it names no {what}"));
        let catalogue = version(body.catalogue_version, "catalogue")?;
        let entry = self.documents.entry(connection, &described.intent, catalogue)?;
        let policy = self.documents.policy(connection, version(body.policy_version, "policy")?)?;
        let principal = body.principal.ok_or_else(|| unnamed("principal"))?;
        let mandate = version(body.mandate_version, "mandate")?;
        let (country, line) = match body.credential {
            Some(credential) => {
                let line = self.documents.line(connection, credential)?;
                (line.country, line.clauses.clone())
            }
            // Whom a question is for decides by their mandate alone.
            None if body.kind == Kind::QuestionReceive => (None, Arc::default()),
            None => return Err(unnamed("credential").into()),
        };
        Ok(Case {
            entry,
            at: body.at,
            principal,
            agent: body.agent.ok_or_else(|| unnamed("agent"))?,
            mandate: self.documents.mandate(connection, principal, mandate)?,
            policy,
            country,
            line,
            zone: self.zone,
            recorded,
        })
    }
}

/// A recorded call with everything that decided it.
#[derive(Debug)]
pub struct Case {
    entry: Option<Arc<CatalogueEntry>>,
    at: Timestamp,
    principal: PrincipalId,
    agent: AgentId,
    mandate: Arc<MandateDocument>,
    policy: Arc<PolicyDocument>,
    line: Arc<Vec<(CredentialId, CredentialClauses)>>,
    country: Option<Country>,
    zone: chrono_tz::Tz,
    recorded: Recorded,
}

impl Case {
    /// What the call comes to, and why.
    ///
    /// # Errors
    /// The catalogue that its receipt names does not take its arguments.
    pub fn explain(&self) -> Result<Explained, Undecidable> {
        let mut explained = None;
        let settled = self.decide(|standing, action, at| {
            let explanation = engine::explain(standing, action, at);
            let verdict = explanation.verdict.clone();
            explained = Some(explanation);
            verdict
        });
        let redecided = redecided(&settled, &self.recorded);
        let explanation = explained.ok_or_else(|| {
            // The catalogue took these arguments when the call was answered.
            let why = settled.as_ref().err().map(ToString::to_string).unwrap_or_default();
            Undecidable::Incomplete(format!("the catalogue it names does not accept its arguments: {why}"))
        })?;
        Ok(Explained { redecided, explanation, settled: settled.ok() })
    }

    /// Decides with `verdict`, and settles as the gate does.
    fn decide(
        &self,
        verdict: impl FnOnce(&engine::Standing<'_>, &Action, Timestamp) -> Result<Verdict, Malformed>,
    ) -> Result<Settled<()>, Malformed> {
        let described = &self.recorded.described;
        engine::check_labels(&self.policy, described)?;
        // Malformed where the catalogue of then does not accept the arguments, which no recorded call is.
        let mut action = request::action(self.entry.as_deref(), described, self.recorded.enforcement_point)?;
        action.untrusted |= self.recorded.tainted;
        let action = &action;
        let verdict = self.standing(action, |standing| verdict(standing, action, self.at))?;
        Ok(self.settle(verdict))
    }

    fn standing<T>(&self, action: &Action, with: impl FnOnce(&engine::Standing<'_>) -> T) -> T {
        let line = self.line.iter();
        let terms: Vec<CredentialTerms<'_>> =
            line.map(|(id, clauses)| CredentialTerms { id: *id, clauses }).collect();
        let nothing = Used::default();
        let unread = engine::Standing {
            scopes: self.recorded.scopes,
            principal: self.principal,
            agent: self.agent,
            agent_kind: self.recorded.agent_kind,
            mandate: &self.mandate,
            policy: &self.policy,
            credentials: &terms,
            country_fixed: self.country,
            known: &self.recorded.known,
            used: &nothing,
            zone: self.zone,
        };
        // The gate wrote down what each look showed, in the order in which the engine asks; what it did not write
        // down counts as used up.
        let mut recorded = self.recorded.used.iter();
        let read = |_: &BookUse| Ok::<_, Infallible>(recorded.next().copied().unwrap_or(u64::MAX));
        let Ok((_, used)) = engine::decide_reading(&unread, action, self.at, read);
        with(&engine::Standing { used: &used, ..unread })
    }

    fn settle(&self, verdict: Verdict) -> Settled<()> {
        let named = self.recorded.asked.as_ref().map(|asked| (asked, ()));
        let Ok(settled) = step::settle(verdict, named, self.at, &mut Seen(&self.recorded));
        match self.recorded.reach {
            Some(reach) => step::reached(settled, reach),
            None => settled,
        }
    }
}

/// The queue as it was seen. A call that never looked at it and would do so now differs in its outcome already.
struct Seen<'a>(&'a Recorded);

impl step::Queue<()> for Seen<'_> {
    type Error = Infallible;

    fn same(&mut self) -> Result<Option<Same<()>>, Infallible> {
        Ok(self.0.same.clone())
    }

    fn load(&mut self) -> Result<Load, Infallible> {
        Ok(self.0.load)
    }
}

/// The answer again, held against the recorded one.
fn redecided(settled: &Result<Settled<()>, Malformed>, recorded: &Recorded) -> Redecided {
    let (outcome, clauses, reason) = match settled {
        Ok(settled) => (settled.outcome, settled.clauses.clone(), settled.reason.clone()),
        Err(malformed) => (Outcome::Refuse, Vec::new(), format!("malformed: {malformed}")),
    };
    let allowed = settled.as_ref().ok().filter(|settled| settled.outcome == Outcome::Allow);
    let taken = allowed.map(|settled| settled.verdict.reservations.clone()).unwrap_or_default();
    let same = recorded.output.get("outcome") == Some(&json!(outcome))
        && recorded.output.get("clauses") == Some(&json!(clauses))
        && recorded.output.get("reason") == Some(&json!(reason));
    Redecided { outcome, clauses, reason, same, taken }
}

impl Explained {
    /// Every step on the way to the answer, and at the end what approvals and the queue made of it; of documents
    /// that the reader may not read, no more than the answer says.
    pub fn to_json(&self, shown: Shown) -> Value {
        let mut value = self.explanation.to_json(shown);
        let (Some(settled), Ok(verdict)) = (&self.settled, &self.explanation.verdict) else { return value };
        let step = json!({
            "step": "answer",
            "verdict": verdict.outcome,
            "comes_to": settled.outcome,
            "because": course(settled),
        });
        if let Some(steps) = value.get_mut("steps").and_then(Value::as_array_mut) {
            steps.push(step);
        }
        value
    }
}

/// What became of the verdict, in words.
fn course(settled: &Settled<()>) -> String {
    match (&settled.queue, settled.outcome) {
        (QueueUse::Open, _) => "a person decides: it joins the queue".to_owned(),
        (QueueUse::Again(()), _) => "the same ask waits for a person already".to_owned(),
        (QueueUse::Anew(()), _) => {
            "the same ask waits for a person already, and is put anew: more stands in the way than was shown"
                .to_owned()
        }
        (QueueUse::Stands(()), _) => format!(
            "the same ask waits for a person already, and stays as it was shown: the agent asks for too much attention, {}",
            settled.reason
        ),
        (QueueUse::Closes(()), _) => {
            "the same ask waited for a person, and is over: this is allowed without it".to_owned()
        }
        (QueueUse::Uses, _) => "a person's yes is used".to_owned(),
        (QueueUse::Flood, _) => format!("the agent asks for too much attention: {}", settled.reason),
        (QueueUse::None, Outcome::Refuse) if settled.verdict.outcome != Outcome::Refuse => {
            format!("the decision it names is worth nothing: {}", settled.reason)
        }
        (QueueUse::None, Outcome::Allow | Outcome::Escalate | Outcome::Refuse) => {
            "the strictest of policy, mandate and credential counts".to_owned()
        }
    }
}
