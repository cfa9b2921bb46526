//! What becomes of a call: read and decided, then written.

use super::act::end;
use super::setting::Setting;
use super::world::{Decision, DecisionKind, Effect, Entry, KeyRow, Row, World};
use procura::actions::decision::APPROVAL_LIFETIME;
use procura::actions::evaluate::{DECISION_LIFETIME, KEY_LIFETIME, REPORT_WITHIN};
use procura::domain::{DecisionStatus, Duration, EffectStatus, ExternalName, Outcome, Timestamp};
use procura::engine::step::{self, Load, Queue, QueueUse, Repeat, Same};
use procura::engine::{BookUse, CredentialTerms, Grounds, Standing, Used, Verdict, decide_reading};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

/// A call of the gate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Call {
    /// Which of the setting's bodies it says.
    pub(crate) body: usize,
    /// Its idempotency key.
    pub(crate) key: Option<usize>,
    /// The decision it names.
    pub(crate) names: Option<usize>,
}

/// What becomes of a call, before anything is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// It was decided on.
    Decided(Decided),
    /// It gets the answer recorded at that place again.
    Again { first: usize },
    /// The answer recorded at that place no longer stands; the clause says why.
    NotAgain { first: usize, clause: &'static str },
    /// Its key belongs to another request.
    KeyReused,
    /// The credential is no longer live.
    Dead,
}

/// A decision on a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decided {
    pub(crate) call: Call,
    /// The version of the mandate that decided.
    pub(crate) version: usize,
    pub(crate) outcome: Outcome,
    pub(crate) clauses: Vec<String>,
    pub(crate) queue: QueueUse<usize>,
    verdict: Verdict,
}

impl Setting {
    /// What the engine says to a call now, under a version of the mandate.
    pub(crate) fn verdict(&self, world: &World, body: usize, version: usize) -> Verdict {
        let action = &self.bodies[body].action;
        let terms = [CredentialTerms { id: self.credential_id, clauses: &self.credential }];
        let nobody = BTreeSet::<ExternalName>::new();
        let nothing = Used::default();
        let unread = Standing {
            scopes: self.scopes,
            principal: self.people[0].by,
            agent: self.agent,
            agent_kind: self.agent_kind,
            mandate: &self.mandates[world.mandate[version - 1]],
            policy: &self.policy,
            credentials: &terms,
            country_fixed: None,
            known: &nobody,
            used: &nothing,
            zone: chrono_tz::UTC,
        };
        let read = |look: &BookUse| Ok::<_, Infallible>(world.used(look));
        let Ok((verdict, _)) = decide_reading(&unread, action, world.now, read);
        verdict
    }

    /// What becomes of a call, under a version of the mandate.
    pub(crate) fn answer(&self, world: &World, call: Call, version: usize) -> Answer {
        if world.revoked {
            return Answer::Dead;
        }
        let first = call.key.and_then(|key| world.first(key, call.body));
        let known = first.as_ref().map(|(_, first)| first);
        let repeat = step::repeat(known, world.live(), call.names.is_some(), world.now);
        match (repeat, first.map(|(row, _)| row.place)) {
            (Repeat::KeyReused, _) => return Answer::KeyReused,
            (Repeat::Same, Some(first)) => return Answer::Again { first },
            (Repeat::Stale, Some(first)) => return Answer::NotAgain { first, clause: "replay.stale" },
            (Repeat::Unsettled, Some(first)) => {
                return Answer::NotAgain { first, clause: "effect.unsettled" };
            }
            (Repeat::Evaluate, _) => {}
            (Repeat::Same | Repeat::Stale | Repeat::Unsettled, None) => {
                unreachable!("nothing is repeated that was not answered")
            }
        }
        let verdict = self.verdict(world, call.body, version);
        let asked = call.names.map(|decision| (world.asked(self, decision, Some(call.body)), decision));
        let named = asked.as_ref().map(|(asked, decision)| (asked, *decision));
        let mut queue = Waiting { setting: self, world, body: call.body };
        let Ok(settled) = step::settle(verdict, named, world.now, &mut queue);
        Answer::Decided(Decided {
            call,
            version,
            outcome: settled.outcome,
            clauses: settled.clauses,
            queue: settled.queue,
            verdict: settled.verdict,
        })
    }

    /// The decisions about the same that still wait, the newest first.
    fn waiting(&self, world: &World, body: usize) -> Vec<usize> {
        let waits = |place: &usize| {
            world.decisions[*place].kind == DecisionKind::Action { body }
                && world.asked(self, *place, Some(body)).is_waiting(world.now)
        };
        (0..world.decisions.len()).rev().filter(waits).collect()
    }

    /// Writes an answer and all that stands or falls with it, but for what it takes from the books; the place in the
    /// log that holds it, if one does.
    pub(crate) fn record(&self, world: &mut World, answer: &Answer) -> Option<usize> {
        let place = world.log.len();
        match answer {
            Answer::Decided(decided) => self.record_decided(world, decided, place),
            Answer::Again { first } => world.log.push(Entry::Replayed { first: *first, again: true }),
            Answer::NotAgain { first, .. } => {
                world.log.push(Entry::Replayed { first: *first, again: false });
            }
            Answer::KeyReused | Answer::Dead => return None,
        }
        Some(place)
    }

    fn record_decided(&self, world: &mut World, decided: &Decided, place: usize) {
        let Decided { call, version, outcome, queue, .. } = decided;
        let uses = call.names.filter(|_| *queue == QueueUse::Uses);
        let opens = match queue {
            QueueUse::Open => Some(world.decisions.len()),
            QueueUse::Again(there) | QueueUse::Anew(there) | QueueUse::Stands(there) => Some(*there),
            QueueUse::None | QueueUse::Uses | QueueUse::Closes(_) | QueueUse::Flood => None,
        };
        world.log.push(Entry::Answered {
            body: call.body,
            outcome: *outcome,
            version: *version,
            uses,
            opens,
            at: world.now,
            grounds: uses.map(|_| Arc::new(decided.verdict.grounds())).unwrap_or_default(),
        });
        if let Some(used) = uses {
            world.decisions[used].status = DecisionStatus::Used;
        }
        match queue {
            QueueUse::Open => {
                let kind = DecisionKind::Action { body: call.body };
                let opened = Decision::open(kind, *version, world.now, DECISION_LIFETIME);
                world.decisions.push(Decision { shown: Arc::new(decided.verdict.grounds()), ..opened });
            }
            QueueUse::Anew(there) => {
                world.decisions[*there].put_anew(&decided.verdict);
                world.renewals.push(world.now);
            }
            QueueUse::Closes(_) => {
                for there in self.waiting(world, call.body) {
                    end(world, there, DecisionStatus::Withdrawn);
                }
            }
            QueueUse::None | QueueUse::Again(_) | QueueUse::Stands(_) | QueueUse::Uses | QueueUse::Flood => {}
        }
        let effect = (*outcome == Outcome::Allow && self.bodies[call.body].effect.is_some()).then(|| {
            world.effects.push(Effect {
                body: call.body,
                key: call.key,
                status: EffectStatus::Claimed,
                said: None,
                place,
                claimed_at: world.now,
                report_by: world.now.plus(REPORT_WITHIN),
            });
            world.effects.len() - 1
        });
        if let Some(key) = call.key {
            let expires_at = effect.is_none().then(|| world.now.plus(KEY_LIFETIME));
            let row = KeyRow { body: call.body, place, effect, answered_at: world.now, expires_at };
            world.keys.insert(key, row);
        }
    }

    /// What an answer recorded at `place` takes from the books.
    pub(crate) fn takes(world: &World, answer: &Answer, place: usize) -> Vec<Row> {
        let Answer::Decided(decided) = answer else { return Vec::new() };
        if decided.outcome != Outcome::Allow {
            return Vec::new();
        }
        let row = |reservation: &procura::engine::Reservation| Row {
            book: Arc::new(reservation.book.clone()),
            amount: reservation.amount,
            at: world.now,
            place,
            released: false,
        };
        decided.verdict.reservations.iter().map(row).collect()
    }

    /// One call in one transaction, as the service takes it.
    pub(crate) fn commit(&self, world: &mut World, call: Call) -> (Answer, Option<usize>) {
        let answer = self.answer(world, call, world.version());
        let place = self.record(world, &answer);
        let taken = place.map(|place| Self::takes(world, &answer, place)).unwrap_or_default();
        world.books.extend(taken);
        (answer, place)
    }
}

/// The agent's queue as a call meets it.
struct Waiting<'a> {
    setting: &'a Setting,
    world: &'a World,
    body: usize,
}

impl Queue<usize> for Waiting<'_> {
    type Error = Infallible;

    fn same(&mut self) -> Result<Option<Same<usize>>, Infallible> {
        let newest = self.setting.waiting(self.world, self.body).first().copied();
        Ok(newest.map(|place| {
            let row = &self.world.decisions[place];
            Same {
                known_by: place,
                is_approved: row.status == DecisionStatus::Approved,
                shown: Grounds::clone(&row.shown),
            }
        }))
    }

    fn load(&mut self) -> Result<Load, Infallible> {
        Ok(self.world.load())
    }
}

impl Decision {
    pub(super) fn open(kind: DecisionKind, version: usize, now: Timestamp, lifetime: Duration) -> Self {
        Self {
            kind,
            status: DecisionStatus::Open,
            version,
            opened_at: now,
            expires_at: now.plus(lifetime),
            approved_until: None,
            given: Vec::new(),
            shown: Arc::default(),
        }
    }

    /// Asks again with what stands in the way by now.
    pub(super) fn put_anew(&mut self, verdict: &Verdict) {
        self.given.clear();
        self.shown = Arc::new(verdict.grounds());
    }

    pub(super) fn approve(&mut self, now: Timestamp) -> Timestamp {
        let until = now.plus(APPROVAL_LIFETIME);
        self.status = DecisionStatus::Approved;
        self.approved_until = Some(until);
        until
    }
}
