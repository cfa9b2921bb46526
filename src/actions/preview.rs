//! What would it have done: a draft put to the calls that were made, and how their answers would differ.
//!
//! Each recorded call is decided at its time under the draft, with everything else as it stands today. Limits count
//! in books of their own, empty at the beginning of the window, that hold what the draft would have let through.
//! Nothing is written.

use super::request::{self, described_again};
use crate::committer::{Standing, StandingCache};
use crate::domain::{
    DecisionId, DecisionStatus, Duration, EffectId, EffectStatus, ExternalName, Intent, Outcome, PrincipalId,
    ReceiptId, Role, Scopes, TenantSlug, Timestamp,
};
use crate::engine::step::{Asked, Given, is_enough};
use crate::engine::{
    self, Action, Admission, Beside, Change, Described, Ledger, MandateDocument, PolicyDocument, Used,
    Verdict, admit_mandate, admit_policy, check_domains, compare, compare_policies, permit_with_approval,
};
use crate::evidence::receipt::Kind;
use crate::storage::course::{self, Stretch};
use crate::storage::receipt::StoredReceipt;
use crate::storage::{AnyConnection, StoreError, tenant};
use chrono_tz::Tz;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

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
    /// The catalogue of today does not take their arguments.
    pub undecidable: u64,
    /// They are older than a preview looks, or more than it takes.
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

    /// Goes on by a bounded number of receipts; whether there is more.
    pub fn slice(&mut self, connection: &mut AnyConnection) -> Result<bool, StoreError> {
        let page = course::page(connection, &self.stretch, SLICE)?;
        let Some(last) = page.last() else { return Ok(false) };
        self.stretch.from = last.log_index.saturating_add(1);
        for stored in &page {
            let input: Value = read("receipts.input", &stored.input)?;
            if stored.body.kind == Kind::GateEvaluate {
                self.call(connection, stored, &input)?;
            } else {
                self.ending(stored, &input)?;
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

    /// An effect that failed, and an answer that was taken back, give back what their call took.
    fn ending(&mut self, stored: &StoredReceipt, input: &Value) -> Result<(), StoreError> {
        let output: Value = read("receipts.output", &stored.output)?;
        let has_failed = ["status", "effect_status"]
            .iter()
            .any(|name| output.get(name).and_then(Value::as_str) == Some(EffectStatus::Failed.as_str()));
        let index = if stored.body.kind == Kind::GateWithdrawn {
            parsed(input, "receipt").and_then(|id: ReceiptId| self.allows.get(&id))
        } else {
            parsed(input, "effect").and_then(|id: EffectId| self.effects.get(&id)).filter(|_| has_failed)
        };
        if let Some(index) = index {
            self.ledger.release(*index);
        }
        Ok(())
    }

    /// Decides one recorded call under the draft.
    fn call(
        &mut self,
        connection: &mut AnyConnection,
        stored: &StoredReceipt,
        input: &Value,
    ) -> Result<(), StoreError> {
        let output: Value = read("receipts.output", &stored.output)?;
        let (Some(was), Some(credential)) = (stored.body.outcome, stored.body.credential) else {
            self.preview.left_out.undecidable += 1;
            return Ok(());
        };
        if refused_by_service(was, &output) {
            self.preview.left_out.refused_by_service += 1;
            return Ok(());
        }
        let content = stored.content.as_deref().map(|text| read("receipts.content", text)).transpose()?;
        let Some(described) = described_again(input, content.as_ref()) else {
            self.preview.left_out.erased += 1;
            return Ok(());
        };
        let standing = self.standings.standing(connection, &self.stretch.tenant, self.zone, credential)?;
        let Some((standing, action)) = standing.and_then(|standing| {
            let action = action(&standing, &described, input)?;
            Some((standing, action))
        }) else {
            self.preview.left_out.undecidable += 1;
            return Ok(());
        };
        let recorded = Recorded::of(stored, input, content.as_ref(), &output, &described);
        if let Some(effect) = recorded.effect {
            self.effects.insert(effect, stored.log_index);
        }
        let (would_be, verdict) = self.answer(&standing, &action, &recorded);
        self.preview.considered += 1;
        self.note(stored, was, would_be, verdict.as_ref(), &recorded);
        Ok(())
    }

    /// The draft's answer to one action, with what it takes from the books taken.
    fn answer(
        &mut self,
        standing: &Standing,
        action: &Action,
        recorded: &Recorded,
    ) -> (WouldBe, Option<Verdict>) {
        let terms = standing.credential_terms();
        let nothing = Used::default();
        let today = standing.view(&terms, &nothing, recorded.scopes);
        let (mandate, policy) = match &self.proposal {
            Proposal::Mandate(_, draft) => (draft, today.policy),
            Proposal::Policy(draft) => (today.mandate, draft),
        };
        let drafted = engine::Standing { mandate, policy, known: &recorded.known, ..today };
        let (principal, at) = (standing.credential.principal, recorded.at);
        if check_domains(&drafted, action, at).is_err() {
            return (WouldBe::Malformed, None);
        }
        let mut used = Used::default();
        for look in engine::looks(&drafted, action, at) {
            used.note(&look, self.ledger.used(principal, &look));
        }
        let verdict = engine::decide(&engine::Standing { used: &used, ..drafted }, action, at);
        if recorded.follows_up(&self.settled) && verdict.outcome != Outcome::Refuse {
            return (WouldBe::Answered(Outcome::Allow), Some(verdict));
        }
        let verdict =
            if recorded.was_permitted(&verdict, principal) { permit_with_approval(verdict) } else { verdict };
        if verdict.outcome == Outcome::Allow {
            self.ledger.take(principal, &verdict.reservations, recorded.log_index, at);
            self.settled.extend(recorded.decision);
        }
        (WouldBe::Answered(verdict.outcome), Some(verdict))
    }

    fn note(
        &mut self,
        stored: &StoredReceipt,
        was: Outcome,
        would_be: WouldBe,
        verdict: Option<&Verdict>,
        recorded: &Recorded,
    ) {
        if would_be == WouldBe::Answered(Outcome::Allow) {
            self.allows.insert(stored.body.id, stored.log_index);
        }
        if would_be == WouldBe::Answered(was) {
            return;
        }
        *self.preview.summary.entry((was, would_be)).or_default() += 1;
        if self.preview.changed.len() == MOST_NAMED {
            self.preview.changed.pop_front();
        }
        self.preview.changed.push_back(Changed {
            receipt: stored.body.id,
            at: stored.body.at,
            intent: recorded.intent.clone(),
            was,
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
fn action(standing: &Standing, described: &Described, input: &Value) -> Option<Action> {
    match standing.catalogue.catalogue.get(&described.intent) {
        None => Some(request::action(described, request::enforcement_point(input))),
        Some(entry) => engine::derive(entry, described).ok(),
    }
}

/// Whether no document decided: an approval that was not good, or an agent that asked too much.
fn refused_by_service(was: Outcome, output: &Value) -> bool {
    let clauses = output.get("clauses").and_then(Value::as_array);
    let is_services = |clause: &Value| {
        clause.as_str().is_some_and(|id| id.starts_with("approval.") || id == "attention-budget")
    };
    was == Outcome::Refuse && clauses.is_some_and(|clauses| clauses.iter().any(is_services))
}

/// What the receipt of a call says beside the request.
struct Recorded {
    log_index: u64,
    at: Timestamp,
    intent: Intent,
    scopes: Scopes,
    /// Whom the principal had approved before.
    known: HashSet<ExternalName>,
    /// The decision that the call opened, asked again, or named.
    decision: Option<DecisionId>,
    /// Who had said yes, where the call used their yes.
    given: Option<Vec<Given>>,
    /// What the answer let happen.
    effect: Option<EffectId>,
}

impl Recorded {
    fn of(
        stored: &StoredReceipt,
        input: &Value,
        content: Option<&Value>,
        output: &Value,
        described: &Described,
    ) -> Self {
        let scopes = input.get("scopes").and_then(Value::as_array).into_iter().flatten();
        let asked = input.get("asked").filter(|asked| {
            stored.body.outcome == Some(Outcome::Allow)
                && asked.get("status").and_then(Value::as_str) == Some(DecisionStatus::Approved.as_str())
        });
        let opened = output.get("decision").and_then(|decision| parsed(decision, "id"));
        Self {
            log_index: stored.log_index,
            at: stored.body.at,
            intent: described.intent.clone(),
            scopes: scopes.filter_map(Value::as_str).filter_map(|name| name.parse().ok()).collect(),
            known: known(input, content, described),
            decision: parsed(input, "decision").or(opened),
            given: asked.map(|asked| given(asked).collect()),
            effect: output.get("effect").and_then(|effect| parsed(effect, "id")),
        }
    }

    /// Whether it goes on with a question that the draft would have answered with allow.
    fn follows_up(&self, settled: &HashSet<DecisionId>) -> bool {
        self.decision.is_some_and(|decision| settled.contains(&decision))
    }

    /// Whether the yes that it used is what the draft would have asked for.
    fn was_permitted(&self, verdict: &Verdict, principal: PrincipalId) -> bool {
        self.given.as_ref().is_some_and(|given| {
            let asked = Asked {
                status: DecisionStatus::Approved,
                same_request: true,
                expires_at: self.at,
                approved_until: None,
                principal,
                given: given.clone(),
            };
            is_enough(&verdict.approvals(), &asked)
        })
    }
}

/// The counterparties that were known, of those the receipt lists by their place.
fn known(input: &Value, content: Option<&Value>, described: &Described) -> HashSet<ExternalName> {
    let derived = content.and_then(|content| content.get("/input/facts/counterparties")?.get("value"));
    let names: Vec<ExternalName> = match derived.and_then(Value::as_array) {
        Some(derived) => {
            derived.iter().filter_map(Value::as_str).filter_map(|name| name.parse().ok()).collect()
        }
        None => described.counterparties.clone().unwrap_or_default(),
    };
    let places = input.get("known").and_then(Value::as_array).into_iter().flatten();
    let places = places.filter_map(Value::as_u64).filter_map(|place| usize::try_from(place).ok());
    places.filter_map(|place| names.get(place).cloned()).collect()
}

fn given(asked: &Value) -> impl Iterator<Item = Given> {
    let all = asked.get("given").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| {
        let roles = one.get("roles").and_then(Value::as_array).into_iter().flatten();
        let roles = roles.filter_map(Value::as_str).filter_map(|name| name.parse::<Role>().ok()).collect();
        Some(Given { by: parsed(one, "by")?, roles })
    })
}

fn parsed<T: std::str::FromStr>(object: &Value, name: &str) -> Option<T> {
    object.get(name)?.as_str()?.parse().ok()
}

fn read(place: &'static str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt { place, detail: error.to_string() })
}
