//! The queue: what waits for a person, and how it ended.

pub use super::turn::{Turn, due, give_back, next_due, turn};
use super::{AnyConnection, StoreError, read, schema::decisions};
use crate::domain::{
    AgentId, CredentialId, DecisionId, EffectId, Hash, Intent, PrincipalId, Roles, TenantSlug, Timestamp,
};
pub use crate::domain::{DecisionKind, DecisionStatus};
use crate::engine::step::{Asked, Given, counts};
use crate::engine::{Approvals, Why};
use diesel::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

/// An item of a principal's queue.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Its id.
    pub id: DecisionId,
    /// Whose queue it is in.
    pub principal: PrincipalId,
    /// Which agent asked.
    pub agent: AgentId,
    /// With which credential; no other may use the yes.
    pub credential: CredentialId,
    /// What it is about.
    pub kind: DecisionKind,
    /// Where it stands.
    pub status: DecisionStatus,
    /// What was asked for.
    pub intent: Intent,
    /// The receipt of the call that raised it.
    pub log_index: u64,
    /// That receipt's input hash: what a person confirms having seen.
    pub input_hash: Hash,
    /// The described request's keyed hash: what the yes is good for; gone once erased.
    pub request_hash: Option<Hash>,
    /// The uncertain effect.
    pub effect: Option<EffectId>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it expires undecided.
    pub expires_at: Timestamp,
    /// When a person decided.
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<PrincipalId>,
    /// Until when the yes may be used.
    pub approved_until: Option<Timestamp>,
    /// What the person said, or why it was withdrawn.
    pub reason: Option<String>,
    /// The receipt of the call that used the yes.
    pub used_index: Option<u64>,
    /// How often the same was asked while it waited, the first time included.
    pub asks: u64,
    /// Whose yes it takes; empty is the principal's alone.
    pub approvals: BTreeSet<Approvals>,
    /// Why it is asked, as whoever decides is shown it.
    pub why: Why,
}

impl Decision {
    /// Whose yes it takes: the principal's, where nothing else is asked for.
    pub fn asked_for(&self) -> BTreeSet<Approvals> {
        if self.approvals.is_empty() { [Approvals::own()].into() } else { self.approvals.clone() }
    }

    /// Whether it takes more than its principal's own yes.
    pub fn takes_others(&self) -> bool {
        self.approvals.iter().any(|one| *one != Approvals::own())
    }

    /// Whether it stands in the queue of a person: their own, or one that asks for the yes of people with their roles.
    pub fn is_seen_by(&self, person: PrincipalId, roles: Roles) -> bool {
        self.principal == person
            || self.approvals.iter().any(|approvals| counts(approvals, self.principal, person, roles))
    }

    /// Where it stands at an instant: what time has ended is expired, also before that is recorded. An effect's question
    /// waits for as long as it takes.
    pub fn status_at(&self, now: Timestamp) -> DecisionStatus {
        match self.status {
            DecisionStatus::Open if self.kind != DecisionKind::Effect && self.expires_at <= now => {
                DecisionStatus::Expired
            }
            DecisionStatus::Approved if self.approved_until.is_some_and(|until| until <= now) => {
                DecisionStatus::Expired
            }
            status @ (DecisionStatus::Open
            | DecisionStatus::Approved
            | DecisionStatus::Declined
            | DecisionStatus::Expired
            | DecisionStatus::Withdrawn
            | DecisionStatus::Used
            | DecisionStatus::Resolved) => status,
        }
    }

    /// As the steps take it, with every yes it has.
    pub fn asked(&self, given: Vec<Given>) -> Asked {
        Asked {
            status: self.status,
            same_request: true,
            expires_at: self.expires_at,
            approved_until: self.approved_until,
            principal: self.principal,
            given,
            shown: self.why.grounds.clone(),
        }
    }
}

pub(super) type Row = (
    (String, String, String, String, String, String, String, i64, Vec<u8>, Option<Vec<u8>>, Option<String>),
    (
        i64,
        i64,
        Option<i64>,
        Option<String>,
        Option<i64>,
        Option<String>,
        Option<i64>,
        i64,
        Option<String>,
        Option<String>,
    ),
);

#[rustfmt::skip]
pub(super) type Columns = (
    (decisions::id, decisions::principal, decisions::agent, decisions::credential, decisions::kind, decisions::status,
     decisions::intent, decisions::log_index, decisions::input_hash, decisions::request_hash, decisions::effect),
    (decisions::opened_at, decisions::expires_at, decisions::decided_at, decisions::decided_by,
     decisions::approved_until, decisions::reason, decisions::used_index, decisions::asks, decisions::approvals,
     decisions::why),
);

#[rustfmt::skip]
pub(super) const COLUMNS: Columns = (
    (decisions::id, decisions::principal, decisions::agent, decisions::credential, decisions::kind, decisions::status,
     decisions::intent, decisions::log_index, decisions::input_hash, decisions::request_hash, decisions::effect),
    (decisions::opened_at, decisions::expires_at, decisions::decided_at, decisions::decided_by,
     decisions::approved_until, decisions::reason, decisions::used_index, decisions::asks, decisions::approvals,
     decisions::why),
);

pub(super) fn read_row((subject, course): Row) -> Result<Decision, StoreError> {
    let (id, principal, agent, credential, kind, status, intent, log_index, input_hash, request_hash, effect) =
        subject;
    let (
        opened_at,
        expires_at,
        decided_at,
        decided_by,
        approved_until,
        reason,
        used_index,
        asks,
        approvals,
        why,
    ) = course;
    Ok(Decision {
        id: read::text("decisions.id", &id)?,
        principal: read::text("decisions.principal", &principal)?,
        agent: read::text("decisions.agent", &agent)?,
        credential: read::text("decisions.credential", &credential)?,
        kind: read::text("decisions.kind", &kind)?,
        status: read::text("decisions.status", &status)?,
        intent: read::text("decisions.intent", &intent)?,
        log_index: read::count("decisions.log_index", log_index)?,
        input_hash: read::hash("decisions.input_hash", &input_hash)?,
        request_hash: request_hash.map(|hash| read::hash("decisions.request_hash", &hash)).transpose()?,
        effect: read::optional_text("decisions.effect", effect.as_deref())?,
        opened_at: read::time(opened_at),
        expires_at: read::time(expires_at),
        decided_at: read::optional_time(decided_at),
        decided_by: read::optional_text("decisions.decided_by", decided_by.as_deref())?,
        approved_until: read::optional_time(approved_until),
        reason,
        used_index: read::optional_count("decisions.used_index", used_index)?,
        asks: read::count("decisions.asks", asks)?,
        approvals: approvals.map_or_else(|| Ok(BTreeSet::new()), |text| read_approvals(&text))?,
        why: why.map_or_else(|| Ok(Why::default()), |text| read_why(&text))?,
    })
}

fn read_approvals(text: &str) -> Result<BTreeSet<Approvals>, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { place: "decisions.approvals", detail };
    let written: Vec<Value> = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
    written
        .iter()
        .map(|one| Approvals::from_json(one).ok_or_else(|| corrupt(format!("`{one}` asks for nobody"))))
        .collect()
}

fn read_why(text: &str) -> Result<Why, StoreError> {
    let corrupt = |detail: String| StoreError::Corrupt { place: "decisions.why", detail };
    let written = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
    Why::from_json(&written).ok_or_else(|| corrupt("it does not say why".into()))
}

/// What is no question about an action gives no reasons.
fn written_why(why: &Why) -> Option<String> {
    (*why != Why::default()).then(|| why.to_json().to_string())
}

/// The principal's own yes is the rule, and goes without saying.
fn written_approvals(approvals: &BTreeSet<Approvals>) -> Option<String> {
    if approvals.iter().all(|one| *one == Approvals::own()) {
        return None;
    }
    Some(Value::Array(approvals.iter().map(Approvals::to_json).collect()).to_string())
}

/// Opens a decision.
pub fn insert(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    decision: &Decision,
) -> Result<(), StoreError> {
    diesel::insert_into(decisions::table)
        .values((
            decisions::tenant.eq(tenant.as_str()),
            decisions::id.eq(decision.id.to_string()),
            decisions::principal.eq(decision.principal.to_string()),
            decisions::agent.eq(decision.agent.to_string()),
            decisions::credential.eq(decision.credential.to_string()),
            decisions::kind.eq(decision.kind.as_str()),
            decisions::status.eq(decision.status.as_str()),
            decisions::intent.eq(decision.intent.as_str()),
            decisions::log_index.eq(read::stored_count(decision.log_index)),
            decisions::input_hash.eq(decision.input_hash.as_bytes().to_vec()),
            decisions::request_hash.eq(decision.request_hash.map(|hash| hash.as_bytes().to_vec())),
            decisions::effect.eq(decision.effect.map(|id| id.to_string())),
            decisions::opened_at.eq(decision.opened_at.unix_milliseconds()),
            decisions::expires_at.eq(decision.expires_at.unix_milliseconds()),
            decisions::due_at.eq(Some(decision.expires_at.unix_milliseconds())),
            decisions::asks.eq(read::stored_count(decision.asks)),
            decisions::approvals.eq(written_approvals(&decision.approvals)),
            decisions::why.eq(written_why(&decision.why)),
        ))
        .execute(connection)?;
    Ok(())
}

/// The decision of that id.
pub fn find(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: DecisionId,
) -> Result<Option<Decision>, StoreError> {
    decisions::table
        .find((tenant.as_str(), id.to_string()))
        .select(COLUMNS)
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Decisions that are open or approved: one principal's, or the whole tenant's.
pub fn undecided(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    principal: Option<PrincipalId>,
) -> Result<Vec<Decision>, StoreError> {
    let waiting = [DecisionStatus::Open.as_str(), DecisionStatus::Approved.as_str()];
    let mut query = decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()).and(decisions::status.eq_any(waiting)))
        .order(decisions::id)
        .select(COLUMNS)
        .into_boxed();
    if let Some(principal) = principal {
        query = query.filter(decisions::principal.eq(principal.to_string()));
    }
    query.load::<Row>(connection)?.into_iter().map(read_row).collect()
}

/// Whether any decision about an action of an agent waits.
pub fn any_action_waits(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    agent: AgentId,
) -> Result<bool, StoreError> {
    let first: Option<String> = decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()).and(decisions::agent.eq(agent.to_string())))
        .filter(decisions::due_at.is_not_null().and(decisions::kind.eq(DecisionKind::Action.as_str())))
        .select(decisions::id)
        .first(connection)
        .optional()?;
    Ok(first.is_some())
}

/// The decisions about the same request under the same credential that still wait, the newest first.
pub fn waiting_for_same(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    agent: AgentId,
    credential: CredentialId,
    request_hash: Hash,
) -> Result<Vec<Decision>, StoreError> {
    decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()).and(decisions::agent.eq(agent.to_string())))
        .filter(decisions::due_at.is_not_null().and(decisions::kind.eq(DecisionKind::Action.as_str())))
        .filter(decisions::credential.eq(credential.to_string()))
        .filter(decisions::request_hash.eq(Some(request_hash.as_bytes().to_vec())))
        .order(decisions::id.desc())
        .select(COLUMNS)
        .load::<Row>(connection)?
        .into_iter()
        .map(read_row)
        .collect()
}

/// The open item that says that an agent asks too much, if there is one.
pub fn open_attention(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    agent: AgentId,
) -> Result<Option<Decision>, StoreError> {
    decisions::table
        .filter(decisions::tenant.eq(tenant.as_str()).and(decisions::agent.eq(agent.to_string())))
        .filter(decisions::due_at.is_not_null().and(decisions::kind.eq(DecisionKind::Attention.as_str())))
        .order(decisions::id.desc())
        .select(COLUMNS)
        .first::<Row>(connection)
        .optional()?
        .map(read_row)
        .transpose()
}

/// Counts one more ask of what waits.
pub fn asked_again(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: DecisionId,
) -> Result<(), StoreError> {
    diesel::update(decisions::table.find((tenant.as_str(), id.to_string())))
        .set(decisions::asks.eq(decisions::asks + 1))
        .execute(connection)?;
    Ok(())
}

/// Asks for the yes of other people than before, while it waits for one.
pub fn ask_for(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: DecisionId,
    approvals: &BTreeSet<Approvals>,
) -> Result<(), StoreError> {
    diesel::update(
        decisions::table
            .find((tenant.as_str(), id.to_string()))
            .filter(decisions::status.eq(DecisionStatus::Open.as_str())),
    )
    .set(decisions::approvals.eq(written_approvals(approvals)))
    .execute(connection)?;
    Ok(())
}

/// What an open question is about when it is put anew.
#[derive(Debug, Clone, Copy)]
pub struct Anew<'a> {
    /// The receipt of the call that raised it, or asked it again.
    pub log_index: u64,
    /// What a person confirms having seen.
    pub input_hash: Hash,
    /// Why it is asked by now.
    pub why: &'a Why,
}

/// Puts an open question anew.
pub fn put_anew(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    id: DecisionId,
    anew: Anew<'_>,
) -> Result<(), StoreError> {
    diesel::update(
        decisions::table
            .find((tenant.as_str(), id.to_string()))
            .filter(decisions::status.eq(DecisionStatus::Open.as_str())),
    )
    .set((
        decisions::log_index.eq(read::stored_count(anew.log_index)),
        decisions::input_hash.eq(anew.input_hash.as_bytes().to_vec()),
        decisions::why.eq(written_why(anew.why)),
    ))
    .execute(connection)?;
    Ok(())
}

/// How many of an agent's decisions are open, and how many were opened since an instant: what it asked for, and how
/// effects of its ended.
pub fn count_of_agent(
    connection: &mut AnyConnection,
    tenant: &TenantSlug,
    agent: AgentId,
    since: Timestamp,
) -> Result<(u64, u64), StoreError> {
    let of_agent = || {
        decisions::table
            .filter(decisions::tenant.eq(tenant.as_str()).and(decisions::agent.eq(agent.to_string())))
            .filter(decisions::kind.ne(DecisionKind::Attention.as_str()))
    };
    let is_open = decisions::status.eq(DecisionStatus::Open.as_str());
    let open: i64 = of_agent().filter(is_open).count().get_result(connection)?;
    let first = DecisionId::new(since, [0; 10]).to_string();
    let recent: i64 = of_agent().filter(decisions::id.ge(first)).count().get_result(connection)?;
    Ok((read::count("decisions", open)?, read::count("decisions", recent)?))
}
