//! Whether the log alone shows that nothing was answered under what had been narrowed before.
//!
//! Receipts are walked in the order of the log. No answer of the gate may name an older version of mandate, policy or
//! catalogue than the newest that was put live, or used, before it; none but a refusal may be given to a credential
//! that was revoked before it, to one derived from it, or to an agent that was retired.

use super::receipt::Documents;
use super::report::{Failure, Fault, Site};
use crate::domain::{AgentId, CredentialId, Outcome, PrincipalId};
use crate::evidence::receipt::{Kind, Receipt};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// More ancestors than a credential ever has.
const MOST_ANCESTORS: usize = 64;

/// What was held against what, in one log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Narrowed {
    /// The log's name.
    pub origin: String,
    /// Answers of the gate.
    pub answers: u64,
    /// Changes they were held against: versions put live, credentials revoked, agents retired.
    pub changes: u64,
    /// The first leaf that was read.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// Leaves in the largest checkpoint that was read.
    pub size: u64,
    /// Stretches of leaves that were not read, as first and last: what happened there is not shown.
    pub gaps: Vec<(u64, u64)>,
}

/// What a version is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Versioned {
    Mandate(Option<PrincipalId>),
    Policy,
    Catalogue,
}

impl Versioned {
    const fn field(self) -> &'static str {
        match self {
            Self::Mandate(_) => "mandate_version",
            Self::Policy => "policy_version",
            Self::Catalogue => "catalogue_version",
        }
    }
}

/// What of a receipt counts here.
enum Matter {
    /// The gate answered.
    Answer {
        versions: [(Versioned, Option<u64>); 3],
        credential: Option<CredentialId>,
        agent: Option<AgentId>,
        outcome: Option<Outcome>,
    },
    /// A version went live.
    Live(Versioned, u64),
    /// Credentials ended, perhaps with their agent.
    Ended(Vec<CredentialId>, Option<AgentId>),
    /// One credential came from another: child, parent.
    Derived(CredentialId, CredentialId),
    /// Nothing that matters here, but it fills its place.
    Other,
}

/// One receipt.
struct Act {
    index: u64,
    site: Arc<Site>,
    matter: Matter,
}

/// What was read so far, by log.
#[derive(Default)]
pub(super) struct Narrowing {
    logs: BTreeMap<String, Vec<Act>>,
}

impl Narrowing {
    /// Takes a receipt that holds by itself.
    pub(super) fn add(
        &mut self,
        receipt: &Receipt,
        documents: Documents<'_>,
        origin: &str,
        site: &Arc<Site>,
    ) {
        let act =
            Act { index: receipt.merkle.index, site: Arc::clone(site), matter: matter(receipt, documents) };
        match self.logs.get_mut(origin) {
            Some(acts) => acts.push(act),
            None => drop(self.logs.insert(origin.to_owned(), vec![act])),
        }
    }

    /// Walks each log; `largest` gives the size of its largest checkpoint. Fails at the first answer that used what
    /// was over.
    pub(super) fn settle(self, largest: impl Fn(&str) -> u64) -> Result<Vec<Narrowed>, Box<Failure>> {
        let mut shown = Vec::new();
        for (origin, mut acts) in self.logs {
            acts.sort_by_key(|act| act.index);
            acts.dedup_by_key(|act| act.index);
            match walk(&acts, &origin, largest(&origin)) {
                Ok(narrowed) => shown.push(narrowed),
                Err(fault) => return Err(Box::new(fault.at(&Site::whole(&origin)))),
            }
        }
        Ok(shown)
    }
}

fn matter(receipt: &Receipt, documents: Documents<'_>) -> Matter {
    let body = &receipt.body;
    let named = |document: Option<&Value>, name: &str| document?.get(name)?.as_str()?.parse().ok();
    match body.kind {
        Kind::GateEvaluate
        | Kind::GateReplay
        | Kind::QuestionAsk
        | Kind::QuestionReceive
        | Kind::QuestionAnswer => Matter::Answer {
            versions: [
                (Versioned::Mandate(body.principal), body.mandate_version),
                (Versioned::Policy, body.policy_version),
                (Versioned::Catalogue, body.catalogue_version),
            ],
            credential: body.credential,
            agent: body.agent,
            outcome: body.outcome,
        },
        Kind::MandatePut => live(Versioned::Mandate(body.principal), body.mandate_version),
        Kind::PolicyPut => live(Versioned::Policy, body.policy_version),
        Kind::CataloguePut => live(Versioned::Catalogue, body.catalogue_version),
        Kind::CredentialRevoke => Matter::Ended(ended(receipt, documents), None),
        Kind::AgentRetire => Matter::Ended(ended(receipt, documents), body.agent),
        Kind::CredentialDerive => {
            match (named(documents.output, "id"), named(documents.input, "parent").or(body.credential)) {
                (Some(child), Some(parent)) => Matter::Derived(child, parent),
                (_, _) => Matter::Other,
            }
        }
        Kind::GateWithdrawn
        | Kind::PrincipalCreate
        | Kind::PrincipalPassword
        | Kind::AgentCreate
        | Kind::CredentialCreate
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
        | Kind::DecisionWithdraw
        | Kind::DecisionResolve
        | Kind::EffectOutcome
        | Kind::AccessMinute
        | Kind::LogGap
        | Kind::LogRestore
        | Kind::ContentErase
        | Kind::RetentionPut
        | Kind::KeyRotate
        | Kind::Export
        | Kind::TenantSetup => Matter::Other,
    }
}

fn live(versioned: Versioned, version: Option<u64>) -> Matter {
    version.map_or(Matter::Other, |version| Matter::Live(versioned, version))
}

/// The credential a revocation names, and all that its output document lists.
fn ended(receipt: &Receipt, documents: Documents<'_>) -> Vec<CredentialId> {
    let listed = documents.output.and_then(|output| output.get("revoked")?.as_array());
    let listed = listed.into_iter().flatten().filter_map(|id| id.as_str()?.parse().ok());
    receipt.body.credential.into_iter().chain(listed).collect()
}

/// What is known at one place of the log.
#[derive(Default)]
struct State {
    versions: HashMap<Versioned, (u64, Arc<Site>)>,
    ended: HashMap<CredentialId, Arc<Site>>,
    retired: HashMap<AgentId, Arc<Site>>,
    parents: HashMap<CredentialId, CredentialId>,
}

fn walk(acts: &[Act], origin: &str, size: u64) -> Result<Narrowed, Fault> {
    let mut state = State::default();
    let mut shown = Narrowed {
        origin: origin.to_owned(),
        answers: 0,
        changes: 0,
        first: acts.first().map_or(0, |act| act.index),
        last: acts.last().map_or(0, |act| act.index),
        size,
        gaps: Vec::new(),
    };
    let mut due = 0;
    for act in acts {
        if act.index > due {
            shown.gaps.push((due, act.index - 1));
        }
        due = act.index.saturating_add(1);
        state.take(act).map_err(|fault| fault.in_site(&act.site))?;
        match act.matter {
            Matter::Answer { .. } => shown.answers += 1,
            Matter::Live(..) | Matter::Ended(..) => shown.changes += 1,
            Matter::Derived(..) | Matter::Other => {}
        }
    }
    if due < size {
        shown.gaps.push((due, size - 1));
    }
    Ok(shown)
}

impl State {
    fn take(&mut self, act: &Act) -> Result<(), Fault> {
        match &act.matter {
            Matter::Answer { versions, credential, agent, outcome } => {
                for (versioned, version) in versions {
                    if let Some(version) = version {
                        self.used(*versioned, *version, &act.site)?;
                    }
                }
                if *outcome == Some(Outcome::Refuse) {
                    return Ok(());
                }
                self.check_life(*credential, *agent, *outcome)
            }
            Matter::Live(versioned, version) => {
                if let Some((known, by)) = self.versions.get(versioned)
                    && known >= version
                {
                    let detail = "that version or a newer one was named before it";
                    let expected = format!("more than {known}");
                    return Err(Fault::differs(versioned.field(), expected, version, detail).beside(by));
                }
                self.versions.insert(*versioned, (*version, Arc::clone(&act.site)));
                Ok(())
            }
            Matter::Ended(credentials, agent) => {
                for credential in credentials {
                    self.ended.entry(*credential).or_insert_with(|| Arc::clone(&act.site));
                }
                if let Some(agent) = agent {
                    self.retired.entry(*agent).or_insert_with(|| Arc::clone(&act.site));
                }
                Ok(())
            }
            Matter::Derived(child, parent) => {
                self.parents.insert(*child, *parent);
                Ok(())
            }
            Matter::Other => Ok(()),
        }
    }

    /// An answer under a version: none newer was live, or used, before it.
    fn used(&mut self, versioned: Versioned, version: u64, site: &Arc<Site>) -> Result<(), Fault> {
        match self.versions.get(&versioned) {
            Some((known, by)) if *known > version => {
                let (expected, detail) = (format!("{known} or newer"), "an older version was used");
                Err(Fault::differs(versioned.field(), expected, version, detail).beside(by))
            }
            Some((known, _)) if *known == version => Ok(()),
            Some(_) | None => {
                self.versions.insert(versioned, (version, Arc::clone(site)));
                Ok(())
            }
        }
    }

    /// An answer that is no refusal: neither the credential nor one it came from was revoked, nor its agent retired.
    fn check_life(
        &self,
        credential: Option<CredentialId>,
        agent: Option<AgentId>,
        outcome: Option<Outcome>,
    ) -> Result<(), Fault> {
        let found = outcome.map_or("absent", Outcome::as_str);
        if let Some((agent, by)) = agent.and_then(|agent| Some((agent, self.retired.get(&agent)?))) {
            let detail = format!("{agent} had ended before");
            return Err(Fault::differs("outcome", "refuse", found, detail).beside(by));
        }
        let line = std::iter::successors(credential, |child| self.parents.get(child).copied());
        for credential in line.take(MOST_ANCESTORS) {
            if let Some(by) = self.ended.get(&credential) {
                let detail = format!("{credential} had ended before");
                return Err(Fault::differs("outcome", "refuse", found, detail).beside(by));
            }
        }
        Ok(())
    }
}
