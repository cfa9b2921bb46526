//! What may happen in any order: calls, their answers, people, reports, time, and crashes.

use crate::mutant::Mutant;
use crate::promise::promises;
use crate::shell::call::{Answer, Call};
use crate::shell::setting::Setting;
use crate::shell::world::{DecisionKind, Row, World};
use procura::domain::{DecisionStatus, Duration, EffectStatus, EnforcementPointId, Outcome, Timestamp};
use procura::engine::step::{Asked, QueueUse, Said, Word, Yes};
use stateright::{Model, Property};

/// The leap that time may take: past every decision, approval, report and day.
const LEAP: Duration = Duration::hours(25);

/// The service under model, and those who use it.
pub(crate) struct Service {
    pub(crate) courses: Vec<Course>,
    pub(crate) mutant: Option<Mutant>,
}

/// One setting, with the calls that its clients make.
pub(crate) struct Course {
    pub(crate) setting: Setting,
    /// One a client: the body, and the key it is always sent with.
    pub(crate) calls: Vec<(usize, Option<usize>)>,
    pub(crate) bounds: Bounds,
}

/// How much may happen in one course.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How many times clients send in all.
    pub(crate) sends: usize,
    /// How often the node crashes.
    pub(crate) crashes: usize,
    /// Whether time leaps.
    pub(crate) leaps: bool,
    /// Whether the credential is revoked.
    pub(crate) revoked: bool,
    /// Who says how effects ended.
    pub(crate) reports: Reports,
}

/// Who says how effects ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reports {
    /// Nobody.
    None,
    /// Their agent, and a person of what nobody knows.
    Agent,
    /// Two enforcement points too, of what was reported on before.
    AgentThenPoints,
}

/// Everything at one instant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pub(crate) course: usize,
    pub(crate) world: World,
    pub(crate) clients: Vec<Phase>,
    /// What each person looks at, where their act goes by that and not by what is live.
    pub(crate) pages: Vec<Option<Page>>,
    /// What answers took from the books and nobody wrote yet; always empty unless that mechanism is taken away.
    pub(crate) owed: Vec<Row>,
    /// Whether a yes was given to what was refused at that moment.
    pub(crate) yes_to_refused: bool,
    pub(crate) sends: usize,
    pub(crate) crashes: usize,
}

/// Where a client's call is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Phase {
    /// Not made yet.
    Idle,
    /// In the committer's queue.
    Waiting { names: Option<usize>, read: Option<usize> },
    /// Committed, and on its way back.
    Recorded(Reply),
    /// Seen by the client.
    Answered(Reply),
    /// Nobody answered: the node crashed.
    Lost,
}

/// What a client is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Reply {
    /// The outcome; a key that belongs to another request has none.
    pub(crate) outcome: Option<Outcome>,
    /// The place of its record in the log.
    pub(crate) place: Option<usize>,
    /// The decision it names.
    pub(crate) decision: Option<usize>,
}

/// A decision as a person sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Page {
    pub(crate) decision: usize,
    /// What was read for it.
    pub(crate) asked: Asked,
}

/// One thing that happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A client sends its call, for the first time or again.
    Send(usize),
    /// The committer takes the call in one transaction.
    Commit(usize),
    /// The answer reaches the client.
    Answer(usize),
    /// What an answer took is written to the books; only where that mechanism is taken away.
    Reserve,
    /// The principal puts a narrower document live.
    Narrow(usize),
    /// A person opens the page of a decision.
    View { person: usize, decision: usize },
    /// They say yes.
    Yes { person: usize, decision: usize },
    /// They say no.
    No { person: usize, decision: usize },
    /// Somebody says how an effect ended.
    Report { effect: usize, said: Said },
    /// Time alone ends an effect's reporting.
    Overdue(usize),
    /// Time alone ends a decision.
    Expire(usize),
    /// The principal revokes the credential.
    Revoke,
    /// Time passes.
    Leap,
    /// The node ends at once and starts again: what was not committed is gone, and nobody is answered.
    Crash,
}

impl Service {
    pub(crate) fn course(&self, state: &State) -> &Course {
        &self.courses[state.course]
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn client_steps(&self, state: &State, steps: &mut Vec<Step>) {
        for (client, phase) in state.clients.iter().enumerate() {
            match phase {
                Phase::Idle | Phase::Answered(_) | Phase::Lost => {
                    if state.sends < self.course(state).bounds.sends {
                        steps.push(Step::Send(client));
                    }
                }
                Phase::Waiting { .. } => {
                    steps.push(Step::Commit(client));
                    if self.is(Mutant::AnswerBeforeRecord) {
                        steps.push(Step::Answer(client));
                    }
                }
                Phase::Recorded(_) => steps.push(Step::Answer(client)),
            }
        }
    }

    /// A page opened at any time may be acted on at any other, so every act is possible as long as there is a decision;
    /// what the page was made from is kept only where the act goes by it.
    fn people_steps(&self, state: &State, steps: &mut Vec<Step>) {
        for (person, page) in state.pages.iter().enumerate() {
            for (decision, row) in state.world.decisions.iter().enumerate() {
                if !matches!(row.kind, DecisionKind::Action { .. }) {
                    continue;
                }
                if !self.is(Mutant::NoCompareAndSet)
                    || page.as_ref().is_some_and(|page| page.decision == decision)
                {
                    steps.extend([Step::Yes { person, decision }, Step::No { person, decision }]);
                } else if row.status == DecisionStatus::Open {
                    steps.push(Step::View { person, decision });
                }
            }
        }
    }

    fn effect_steps(state: &State, points: bool, steps: &mut Vec<Step>) {
        use EffectStatus::{Claimed, Done, Failed, Unknown};
        for (effect, row) in state.world.effects.iter().enumerate() {
            let (word, endings): (Word, &[EffectStatus]) = match row.status {
                Claimed => (Word::Agent, &[Done, Failed, Unknown]),
                Unknown => (Word::Person, &[Done, Failed]),
                Done | Failed => (Word::Agent, &[]),
            };
            let mut report = |word, status| steps.push(Step::Report { effect, said: Said { word, status } });
            for status in endings {
                report(word, *status);
            }
            if points && row.status != Claimed {
                for point in points_of_the_tenant().map(Word::EnforcementPoint) {
                    report(point, Done);
                    report(point, Failed);
                }
            }
            if row.status == Claimed && state.world.now >= row.report_by {
                steps.push(Step::Overdue(effect));
            }
        }
    }

    fn time_steps(&self, state: &State, steps: &mut Vec<Step>) {
        for (decision, row) in state.world.decisions.iter().enumerate() {
            let over = match row.status {
                DecisionStatus::Open => row.expires_at <= state.world.now,
                DecisionStatus::Approved => row.approved_until.is_some_and(|until| until <= state.world.now),
                DecisionStatus::Declined
                | DecisionStatus::Expired
                | DecisionStatus::Withdrawn
                | DecisionStatus::Used
                | DecisionStatus::Resolved => false,
            };
            if over {
                steps.push(Step::Expire(decision));
            }
        }
        if state.world.now == start() && self.course(state).bounds.leaps {
            steps.push(Step::Leap);
        }
    }

    /// A call sent: with the decision that its last answer named, if that was an escalation.
    fn send(&self, state: &mut State, client: usize) {
        let names = match state.clients[client] {
            Phase::Answered(reply) => reply.decision,
            Phase::Idle | Phase::Waiting { .. } | Phase::Recorded(_) | Phase::Lost => None,
        };
        // What was told before it was recorded may not be there.
        let names = names.filter(|decision| *decision < state.world.decisions.len());
        let read = self.is(Mutant::StaleVersionRead).then(|| state.world.version());
        state.clients[client] = Phase::Waiting { names, read };
        state.sends += 1;
    }

    fn call(&self, state: &State, client: usize, names: Option<usize>) -> Call {
        let (body, key) = self.course(state).calls[client];
        Call { body, key, names }
    }

    /// One transaction: read, decide, record, reserve.
    fn commit(&self, state: &mut State, client: usize) -> Option<()> {
        let Phase::Waiting { names, read } = state.clients[client] else { return None };
        let call = self.call(state, client, names);
        let setting = &self.course(state).setting;
        let world = &mut state.world;
        let next = world.decisions.len();
        let (answer, place) = match (read, self.is(Mutant::ReservationOutsideTransaction)) {
            (None, false) => setting.commit(world, call),
            (read, later) => {
                let answer = setting.answer(world, call, read.unwrap_or(world.version()));
                let place = setting.record(world, &answer);
                let taken = place.map(|place| Setting::takes(world, &answer, place)).unwrap_or_default();
                if later {
                    state.owed.extend(taken);
                } else {
                    world.books.extend(taken);
                }
                (answer, place)
            }
        };
        state.clients[client] = Phase::Recorded(Reply::to(world, &answer, place, next));
        Some(())
    }

    fn deliver(&self, state: &mut State, client: usize) -> Option<()> {
        let reply = match state.clients[client] {
            Phase::Recorded(reply) => reply,
            Phase::Waiting { names, .. } if self.is(Mutant::AnswerBeforeRecord) => {
                let call = self.call(state, client, names);
                let answer = self.course(state).setting.answer(&state.world, call, state.world.version());
                Reply::to(&state.world, &answer, Some(state.world.log.len()), state.world.decisions.len())
            }
            Phase::Waiting { .. } | Phase::Idle | Phase::Answered(_) | Phase::Lost => return None,
        };
        state.clients[client] = Phase::Answered(reply);
        Some(())
    }

    fn view(&self, state: &mut State, person: usize, decision: usize) {
        let setting = &self.course(state).setting;
        let asked = state.world.asked(setting, decision, None);
        state.pages[person] = Some(Page { decision, asked });
    }

    /// What a person's act goes by.
    fn read(&self, state: &mut State, person: usize, decision: usize) -> Asked {
        match state.pages[person].take() {
            Some(page) => page.asked,
            None => state.world.asked(&self.course(state).setting, decision, None),
        }
    }

    fn yes(&self, state: &mut State, person: usize, decision: usize) -> Option<()> {
        let asked = self.read(state, person, decision);
        let setting = &self.course(state).setting;
        let live = setting.weigh(&state.world, decision)?;
        let refused = live.outcome == Outcome::Refuse;
        let verdict = if self.is(Mutant::NoRecheckAtApproval) {
            // What was found when it was opened.
            let opened = World { books: Vec::new(), ..state.world.clone() };
            let DecisionKind::Action { body } = state.world.decisions[decision].kind else { return None };
            setting.verdict(&opened, body, state.world.decisions[decision].version)
        } else {
            live
        };
        let yes = setting.yes(&mut state.world, decision, person, &asked, &verdict);
        state.yes_to_refused |= refused && matches!(yes, Yes::Completes | Yes::Counts { .. });
        Some(())
    }

    fn no(&self, state: &mut State, person: usize, decision: usize) {
        let asked = self.read(state, person, decision);
        Setting::no(&mut state.world, decision, &asked);
    }

    fn crash(state: &mut State) {
        for phase in &mut state.clients {
            match phase {
                Phase::Waiting { .. } | Phase::Recorded(_) => *phase = Phase::Lost,
                Phase::Idle | Phase::Answered(_) | Phase::Lost => {}
            }
        }
        state.owed.clear();
        state.crashes += 1;
    }
}

/// Who stands before the tools.
fn points_of_the_tenant() -> [EnforcementPointId; 2] {
    [1, 2].map(|tail| EnforcementPointId::new(Timestamp::from_unix_milliseconds(0), [tail; 10]))
}

/// A Monday, some hours before the day ends.
pub(crate) fn start() -> Timestamp {
    "2026-11-30T10:00:00Z".parse().unwrap()
}

impl Reply {
    /// What is told of an answer; `opens` is the decision that the next one would be.
    fn to(world: &World, answer: &Answer, place: Option<usize>, next: usize) -> Self {
        let (outcome, decision) = match answer {
            Answer::Decided(decided) => {
                let decision = match decided.queue {
                    QueueUse::Open => Some(next),
                    QueueUse::Again(there) | QueueUse::Anew(there) | QueueUse::Stands(there) => Some(there),
                    QueueUse::None | QueueUse::Uses | QueueUse::Closes(_) | QueueUse::Flood => None,
                };
                (Some(decided.outcome), decision)
            }
            Answer::Again { first } => world.answered(*first),
            Answer::NotAgain { .. } => (Some(Outcome::Refuse), None),
            Answer::KeyReused | Answer::Dead => (None, None),
        };
        Self { outcome, place, decision }
    }
}

impl Model for Service {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let state = |(course, of): (usize, &Course)| State {
            course,
            world: World::new(start()),
            clients: vec![Phase::Idle; of.calls.len()],
            pages: vec![None; of.setting.people.len()],
            owed: Vec::new(),
            yes_to_refused: false,
            sends: 0,
            crashes: 0,
        };
        self.courses.iter().enumerate().map(state).collect()
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        self.client_steps(state, steps);
        if !state.owed.is_empty() {
            steps.push(Step::Reserve);
        }
        if state.world.version() == 1 {
            steps.extend((1..self.course(state).setting.mandates.len()).map(Step::Narrow));
        }
        if self.course(state).bounds.revoked && !state.world.revoked {
            steps.push(Step::Revoke);
        }
        self.people_steps(state, steps);
        match self.course(state).bounds.reports {
            Reports::None => {}
            Reports::Agent => Self::effect_steps(state, false, steps),
            Reports::AgentThenPoints => Self::effect_steps(state, true, steps),
        }
        self.time_steps(state, steps);
        let in_flight = |phase: &Phase| matches!(phase, Phase::Waiting { .. } | Phase::Recorded(_));
        if state.crashes < self.course(state).bounds.crashes && state.clients.iter().any(in_flight) {
            steps.push(Step::Crash);
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        let setting = &self.course(last).setting;
        match step {
            Step::Send(client) => self.send(&mut state, client),
            Step::Commit(client) => self.commit(&mut state, client)?,
            Step::Answer(client) => self.deliver(&mut state, client)?,
            Step::Reserve => state.world.books.append(&mut state.owed),
            Step::Narrow(document) => {
                setting.put(&mut state.world, document);
            }
            Step::View { person, decision } => self.view(&mut state, person, decision),
            Step::Yes { person, decision } => self.yes(&mut state, person, decision)?,
            Step::No { person, decision } => self.no(&mut state, person, decision),
            Step::Report { effect, said } => {
                setting.report(&mut state.world, effect, said);
            }
            Step::Overdue(effect) => {
                setting.overdue(&mut state.world, effect);
            }
            Step::Expire(decision) => {
                setting.expire(&mut state.world, decision);
            }
            Step::Revoke => Setting::revoke(&mut state.world),
            Step::Leap => state.world.now = state.world.now.plus(LEAP),
            Step::Crash => Self::crash(&mut state),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}
