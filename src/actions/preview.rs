//! What would it have done: a draft put to the calls that were made, and how their answers would differ.
//!
//! Each recorded call is decided at its time under the draft, with everything else as it stands today. Limits count
//! in books of their own, empty at the beginning of the window, that hold what the draft would have let through.
//! Nothing is written.

use super::again::{Undecidable, recorded::Recorded};
use super::request;
use crate::committer::{Standing, StandingCache};
use crate::domain::{
    DecisionId, DecisionStatus, Duration, EffectId, EffectStatus, Intent, Outcome, PrincipalId, ReceiptId,
    TenantSlug, Timestamp,
};
use crate::engine::step::is_enough;
use crate::engine::{
    self, Action, Admission, Beside, BookUse, Change, Ledger, MandateDocument, PolicyDocument, Used, Verdict,
    admit_mandate, admit_policy, check_domains, compare, compare_policies, permit_with_approval,
};
use crate::evidence::receipt::Kind;
use crate::storage::course::{self, Stretch};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError, tenant};
use chrono_tz::Tz;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::convert::Infallible;

/// How far back a preview looks at most.
pub const LONGEST_WINDOW: Duration = Duration::days(90);
/// How far back a preview looks, if not said.
pub const USUAL_WINDOW: Duration = Duration::days(30);
/// How many calls are decided again at most: the newest.
const MOST_CALLS: i64 = 10_000;
/// How many receipts are read at once.
const SLICE: i64 = 128;
/// How many changed answers are named.
const MOST_NAMED: usize = 200;

/// A document that is not live.
#[derive(Debug)]
pub enum Proposal {
    /// A person's mandate.
    Mandate(PrincipalId, MandateDocument),
    /// The tenant's policy.
    Policy(PolicyDocument),
}

/// How the draft would have answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WouldBe {
    /// With this outcome.
    Answered(Outcome),
    /// As malformed: outside a domain.
    Malformed,
}

impl WouldBe {
    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered(outcome) => outcome.as_str(),
            Self::Malformed => "malformed",
        }
    }
}

/// A call that the draft would have answered otherwise.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The call's receipt.
    pub receipt: ReceiptId,
    /// When it was made.
    pub at: Timestamp,
    /// What it asked for.
    pub intent: Intent,
    /// What was answered.
    pub was: Outcome,
    /// What the draft would have answered.
    pub would_be: WouldBe,
    /// The clauses that would have decided.
    pub clauses: Vec<String>,
}

/// The calls that were not decided again, by why not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their content is erased.
    pub erased: u64,
    /// The service refused them for reasons of its own, such as an approval that was used.
    pub refused_by_service: u64,
    /// The catalogue of today does not take their arguments, or their receipt does not say enough.
    pub undecidable: u64,
    /// They are older than a preview looks, more than it takes, or what it did not come to in its time.
    pub beyond_window: u64,
}

/// What a draft would have done.
#[derive(Debug)]
pub struct Preview {
    /// How it compares with what is live.
    pub change: Change,
    /// What is to be said of it before it goes live.
    pub admission: Admission,
    /// The first instant it was put to.
    pub from: Timestamp,
    /// The instant after the last.
    pub until: Timestamp,
    /// How many calls were made since the instant asked for.
    pub calls: u64,
    /// How many of them were decided again.
    pub considered: u64,
    /// The others.
    pub left_out: LeftOut,
    /// Those that would have been answered otherwise, oldest first; the latest of them, if they are many.
    pub changed: VecDeque<Changed>,
    /// How many those are, by what was answered and what would have been.
    pub summary: BTreeMap<(Outcome, WouldBe), u64>,
}

impl Preview {
    /// How many answers change.
    pub fn changes(&self) -> u64 {
        self.summary.values().sum()
    }
}

/// A draft on its way through the log.
#[derive(Debug)]
pub struct Rehearsal {
    proposal: Proposal,
    zone: Tz,
    stretch: Stretch,
    standings: StandingCache,
    ledger: Ledger,
    /// Which call let which effect happen.
    effects: HashMap<EffectId, u64>,
    /// Which place each allowed call has.
    allows: HashMap<ReceiptId, u64>,
    /// Decisions whose question the draft answers with allow: the calls that follow it up ask nothing new.
    settled: HashSet<DecisionId>,
    preview: Preview,
}

impl Rehearsal {
    /// Begins with what was asked since an instant; `None` if there is no such tenant.
    pub fn begin(
        connection: &mut AnyConnection,
        slug: &TenantSlug,
        proposal: Proposal,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        let Some(tenant) = tenant::find(connection, slug)? else { return Ok(None) };
        let mut standings = StandingCache::default();
        let (change, admission) = look_over(connection, slug, &mut standings, &proposal, now)?;
        let principal = match &proposal {
            Proposal::Mandate(principal, _) => Some(*principal),
            Proposal::Policy(_) => None,
        };
        let (from, until) = course::places_since(connection, slug, since)?;
        let mut stretch = Stretch { tenant: slug.clone(), principal, from, until };
        let calls = course::count(connection, &stretch)?;
        let oldest = since.max(now.minus(LONGEST_WINDOW));
        stretch.from = course::places_since(connection, slug, oldest)?.0.min(until);
        stretch.from = course::last(connection, &stretch, MOST_CALLS)?;
        let preview = Preview {
            change,
            admission,
            from: oldest,
            until: now,
            calls,
            considered: 0,
            left_out: LeftOut::default(),
            changed: VecDeque::new(),
            summary: BTreeMap::new(),
        };
        Ok(Some(Self {
            proposal,
            zone: tenant.zone,
            stretch,
            standings,
            ledger: Ledger::default(),
            effects: HashMap::new(),
            allows: HashMap::new(),
            settled: HashSet::new(),
            preview,
        }))
    }

    /// Goes on by a bounded number of receipts, and by one at least until `is_over`; whether there is more.
    pub fn slice(
        &mut self,
        connection: &mut AnyConnection,
        is_over: impl Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let page = course::page(connection, &self.stretch, SLICE)?;
        for stored in &page {
            if stored.log_index > self.stretch.from && is_over() {
                return Ok(true);
            }
            self.stretch.from = stored.log_index.saturating_add(1);
            if stored.body.kind == Kind::GateEvaluate {
                self.call(connection, stored)?;
            } else {
                self.ending(stored)?;
            }
        }
        Ok(i64::try_from(page.len()).is_ok_and(|count| count == SLICE))
    }

    /// What it came to.
    pub fn finish(self) -> Preview {
        let mut preview = self.preview;
        let LeftOut { erased, refused_by_service, undecidable, .. } = preview.left_out;
        let seen = [preview.considered, erased, refused_by_service, undecidable].iter().sum();
        preview.left_out.beyond_window = preview.calls.saturating_sub(seen);
        preview
    }

    /// An effect that failed, and an answer that was taken back, give back what their call took; one that may have
    /// happened after all takes it again.
    fn ending(&mut self, stored: &StoredReceipt) -> Result<(), StoreError> {
        let input: Value = read("receipts.input", &stored.input)?;
        let output: Value = read("receipts.output", &stored.output)?;
        if stored.body.kind == Kind::GateWithdrawn {
            if let Some(index) = parsed(&input, "receipt").and_then(|id: ReceiptId| self.allows.get(&id)) {
                self.ledger.release(*index);
            }
            return Ok(());
        }
        let Some(index) = parsed(&input, "effect").and_then(|id: EffectId| self.effects.get(&id)) else {
            return Ok(());
        };
        let has_failed = ["status", "effect_status"]
            .iter()
            .any(|name| output.get(name).and_then(Value::as_str) == Some(EffectStatus::Failed.as_str()));
        if has_failed {
            self.ledger.release(*index);
        } else {
            self.ledger.take_again(*index);
        }
        Ok(())
    }

    /// Decides one recorded call under the draft.
    fn call(&mut self, connection: &mut AnyConnection, stored: &StoredReceipt) -> Result<(), StoreError> {
        let output: Value = read("receipts.output", &stored.output)?;
        let left_out = &mut self.preview.left_out;
        let (Some(was), Some(credential)) = (stored.body.outcome, stored.body.credential) else {
            left_out.undecidable += 1;
            return Ok(());
        };
        if refused_by_service(was, &output) {
            left_out.refused_by_service += 1;
            return Ok(());
        }
        let call = match Recorded::read(stored) {
            Ok(recorded) => PastCall::of(stored, was, recorded),
            Err(Undecidable::Erased) => {
                left_out.erased += 1;
                return Ok(());
            }
            Err(Undecidable::NotACall(_) | Undecidable::OtherRules(_) | Undecidable::Incomplete(_)) => {
                left_out.undecidable += 1;
                return Ok(());
            }
        };
        let standing = self.standings.standing(connection, &self.stretch.tenant, self.zone, credential)?;
        let Some((standing, action)) = standing.and_then(|standing| {
            let action = action(&standing, &call.recorded)?;
            Some((standing, action))
        }) else {
            self.preview.left_out.undecidable += 1;
            return Ok(());
        };
        if let Some(effect) = call.effect {
            self.effects.insert(effect, call.log_index);
        }
        let (would_be, verdict) = self.answer(&standing, &action, &call);
        self.preview.considered += 1;
        self.note(&call, would_be, verdict.as_ref());
        Ok(())
    }

    /// The draft's answer to one action, with what it takes from the books taken.
    fn answer(
        &mut self,
        standing: &Standing,
        action: &Action,
        call: &PastCall,
    ) -> (WouldBe, Option<Verdict>) {
        let terms = standing.credential_terms();
        let nothing = Used::default();
        let today = standing.view(&terms, &nothing, call.recorded.scopes);
        let (mandate, policy) = match &self.proposal {
            Proposal::Mandate(_, draft) => (draft, today.policy),
            Proposal::Policy(draft) => (today.mandate, draft),
        };
        let drafted = engine::Standing { mandate, policy, known: &call.recorded.known, ..today };
        let (principal, at) = (standing.credential.principal, call.at);
        if check_domains(&drafted, action, at).is_err() {
            return (WouldBe::Malformed, None);
        }
        let read = |look: &BookUse| Ok::<_, Infallible>(self.ledger.used(principal, look));
        let Ok((verdict, _)) = engine::decide_reading(&drafted, action, at, read);
        if call.follows_up(&self.settled) && verdict.outcome != Outcome::Refuse {
            return (WouldBe::Answered(Outcome::Allow), Some(verdict));
        }
        let verdict = if call.was_permitted(&verdict) { permit_with_approval(verdict) } else { verdict };
        if verdict.outcome == Outcome::Allow {
            self.ledger.take(principal, &verdict.reservations, call.log_index, at);
            self.settled.extend(call.decision);
        }
        (WouldBe::Answered(verdict.outcome), Some(verdict))
    }

    fn note(&mut self, call: &PastCall, would_be: WouldBe, verdict: Option<&Verdict>) {
        if would_be == WouldBe::Answered(Outcome::Allow) {
            self.allows.insert(call.receipt, call.log_index);
        }
        if would_be == WouldBe::Answered(call.was) {
            return;
        }
        *self.preview.summary.entry((call.was, would_be)).or_default() += 1;
        if self.preview.changed.len() == MOST_NAMED {
            self.preview.changed.pop_front();
        }
        self.preview.changed.push_back(Changed {
            receipt: call.receipt,
            at: call.at,
            intent: call.recorded.described.intent.clone(),
            was: call.was,
            would_be,
            clauses: verdict.map(Verdict::clauses).unwrap_or_default(),
        });
    }
}

/// How the draft compares with what is live, and what is to be said of it.
fn look_over(
    connection: &mut AnyConnection,
    slug: &TenantSlug,
    standings: &mut StandingCache,
    proposal: &Proposal,
    now: Timestamp,
) -> Result<(Change, Admission), StoreError> {
    let catalogue = standings.catalogue(connection, slug)?;
    let policy = standings.policy(connection, slug)?;
    let (catalogue, policy) = (&catalogue.catalogue, &policy.document);
    Ok(match proposal {
        Proposal::Mandate(principal, draft) => {
            let live = standings.mandate(connection, slug, *principal)?;
            let beside = Beside { catalogue: Some(catalogue), policy: Some(policy) };
            let admission = admit_mandate(draft, Some(&live.document), beside, now);
            (compare(&live.document, draft), admission)
        }
        Proposal::Policy(draft) => {
            (compare_policies(policy, draft), admit_policy(draft, Some(policy), Some(catalogue)))
        }
    })
}

/// The facts of a call, read as the catalogue of today says; `None` if it does not take the arguments.
fn action(standing: &Standing, recorded: &Recorded) -> Option<Action> {
    let entry = standing.catalogue.catalogue.get(&recorded.described.intent);
    let action = request::action(entry, &recorded.described, recorded.enforcement_point).ok()?;
    Some(Action { untrusted: action.untrusted || recorded.tainted, ..action })
}

/// Whether no document decided: an approval that was not good, or an agent that asked too much.
fn refused_by_service(was: Outcome, output: &Value) -> bool {
    let clauses = output.get("clauses").and_then(Value::as_array);
    let is_services = |clause: &Value| {
        clause.as_str().is_some_and(|id| id.starts_with("approval.") || id == "attention-budget")
    };
    was == Outcome::Refuse && clauses.is_some_and(|clauses| clauses.iter().any(is_services))
}

/// A call that was made, and what ties it to others.
struct PastCall {
    receipt: ReceiptId,
    log_index: u64,
    at: Timestamp,
    /// What was answered.
    was: Outcome,
    recorded: Recorded,
    /// The decision that the call opened, asked again, or named.
    decision: Option<DecisionId>,
    /// What the answer let happen.
    effect: Option<EffectId>,
}

impl PastCall {
    fn of(stored: &StoredReceipt, was: Outcome, recorded: Recorded) -> Self {
        let named = |member: &str| recorded.output.get(member);
        let opened = named("decision").and_then(|decision| parsed(decision, "id"));
        Self {
            receipt: stored.body.id,
            log_index: stored.log_index,
            at: stored.body.at,
            was,
            decision: recorded.decision.or(opened),
            effect: named("effect").and_then(|effect| parsed(effect, "id")),
            recorded,
        }
    }

    /// Whether it goes on with a question that the draft would have answered with allow.
    fn follows_up(&self, settled: &HashSet<DecisionId>) -> bool {
        self.decision.is_some_and(|decision| settled.contains(&decision))
    }

    /// Whether the yes that it used is what the draft would have asked for.
    fn was_permitted(&self, verdict: &Verdict) -> bool {
        self.was == Outcome::Allow
            && self.recorded.asked.as_ref().is_some_and(|asked| {
                asked.status == DecisionStatus::Approved && is_enough(&verdict.approvals(), asked)
            })
    }
}

fn parsed<T: std::str::FromStr>(object: &Value, name: &str) -> Option<T> {
    object.get(name)?.as_str()?.parse().ok()
}

fn read(place: &'static str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt { place, detail: error.to_string() })
}
