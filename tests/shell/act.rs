//! What people say, what agents report, and what time brings about: each one transaction.

use super::setting::Setting;
use super::world::{Decision, DecisionKind, Entry, World};
use procura::domain::{DecisionStatus, Duration, EffectStatus};
use procura::engine::step::{self, AfterChange, Asked, Said, Word, Yes};
use procura::engine::{Change, OutcomeFrom, Verdict, compare};
use std::sync::Arc;

/// How long an uncertain effect waits for a person: longer than any course lasts.
const UNKNOWN_LIFETIME: Duration = Duration::days(3650);

/// Whether something was taken, and how it is answered where it was not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Heard {
    /// It was.
    Taken,
    /// It was said before, word for word.
    Before,
    /// It comes too late, or contradicts.
    Conflict,
}

impl Setting {
    /// A person puts a document live as the next version.
    pub(crate) fn put(&self, world: &mut World, document: usize) -> Change {
        let old = &self.mandates[world.mandate[world.version() - 1]];
        let change = compare(old, &self.mandates[document]);
        world.mandate.push(document);
        world.log.push(Entry::Put { version: world.version(), change });
        match change {
            Change::Narrowed | Change::Mixed => self.after_narrowing(world),
            Change::Widened | Change::Unchanged => {}
        }
        change
    }

    fn after_narrowing(&self, world: &mut World) {
        for place in 0..world.decisions.len() {
            let DecisionKind::Action { body } = world.decisions[place].kind else { continue };
            let asked = world.asked(self, place, None);
            let now = self.verdict(world, body, world.version());
            match step::after_narrowing(&asked, Some(&now)) {
                AfterChange::Stays => {}
                AfterChange::Anew => world.decisions[place].put_anew(&now),
                AfterChange::Withdrawn => end(world, place, DecisionStatus::Withdrawn),
            }
        }
    }

    /// What the engine says now to the call behind a decision.
    pub(crate) fn weigh(&self, world: &World, decision: usize) -> Option<Verdict> {
        let DecisionKind::Action { body } = world.decisions[decision].kind else { return None };
        Some(self.verdict(world, body, world.version()))
    }

    /// A person's yes; `asked` is what was read of the decision and `verdict` what was weighed.
    pub(crate) fn yes(
        &self,
        world: &mut World,
        decision: usize,
        person: usize,
        asked: &Asked,
        verdict: &Verdict,
    ) -> Yes {
        let given = self.people[person];
        let yes = step::approve(asked, verdict, given, world.now);
        match yes {
            Yes::Completes => {
                let now = world.now;
                let row = &mut world.decisions[decision];
                row.given.push(given);
                let until = row.approve(now);
                let shown = Arc::new(asked.shown.clone());
                world.log.push(Entry::Yes { decision, completes: true, until, shown });
            }
            Yes::Counts { .. } => {
                let row = &mut world.decisions[decision];
                row.given.push(given);
                let until = row.expires_at;
                let shown = Arc::new(asked.shown.clone());
                world.log.push(Entry::Yes { decision, completes: false, until, shown });
            }
            Yes::Anew => world.decisions[decision].put_anew(verdict),
            Yes::Withdraws => end(world, decision, DecisionStatus::Withdrawn),
            Yes::DoesNotCount | Yes::AlreadyGiven | Yes::Over(_) => {}
        }
        yes
    }

    /// A person's no; `asked` is what was read of the decision.
    pub(crate) fn no(world: &mut World, decision: usize, asked: &Asked) -> Heard {
        if asked.status != DecisionStatus::Open || !asked.is_waiting(world.now) {
            return Heard::Conflict;
        }
        world.decisions[decision].status = DecisionStatus::Declined;
        world.log.push(Entry::No { decision });
        Heard::Taken
    }

    /// What somebody says of an effect.
    pub(crate) fn report(&self, world: &mut World, effect: usize, said: Said) -> Heard {
        let row = &world.effects[effect];
        if row.said.is_some_and(|last| said.is_again(row.status, last)) {
            return Heard::Before;
        }
        let attested = match self.bodies[row.body].effect {
            Some(OutcomeFrom::Attested) => true,
            Some(OutcomeFrom::Agent) | None => false,
        };
        let Some(status) = step::report(row.status, said.status, attested, said.word, row.said) else {
            return Heard::Conflict;
        };
        let (place, from) = (row.place, row.status);
        let row = &mut world.effects[effect];
        row.status = status;
        row.said = match said.word {
            Word::Agent | Word::EnforcementPoint(_) | Word::Person => Some(said),
            Word::Nobody => None,
        };
        world.log.push(Entry::Ended { effect, status, word: said.word });
        if step::takes_again(from, status) {
            world.set_released(place, false);
        } else if step::releases(status) {
            world.set_released(place, true);
        }
        match status {
            // No course here goes so far that a question is put off, and asked once there is room.
            EffectStatus::Unknown if step::puts_off(said.word, world.load()).is_some() => {
                unreachable!("there is room in the queue")
            }
            EffectStatus::Unknown => {
                let (version, now) = (world.version(), world.now);
                let opened = Decision::open(DecisionKind::Effect(effect), version, now, UNKNOWN_LIFETIME);
                world.decisions.push(opened);
            }
            EffectStatus::Done | EffectStatus::Failed => {
                let about = |row: &&mut Decision| {
                    row.kind == DecisionKind::Effect(effect) && row.status == DecisionStatus::Open
                };
                for row in world.decisions.iter_mut().filter(about) {
                    row.status = match said.word {
                        Word::Person => DecisionStatus::Resolved,
                        Word::Agent | Word::EnforcementPoint(_) | Word::Nobody => DecisionStatus::Withdrawn,
                    };
                }
            }
            EffectStatus::Claimed => {}
        }
        Heard::Taken
    }

    /// Ends a decision whose time is over.
    pub(crate) fn expire(&self, world: &mut World, decision: usize) -> Heard {
        let asked = world.asked(self, decision, None);
        let waits = matches!(asked.status, DecisionStatus::Open | DecisionStatus::Approved);
        if !waits || asked.is_waiting(world.now) {
            return Heard::Conflict;
        }
        end(world, decision, DecisionStatus::Expired);
        Heard::Taken
    }

    /// Says of an effect nobody reported on in time that nobody knows.
    pub(crate) fn overdue(&self, world: &mut World, effect: usize) -> Heard {
        if world.now < world.effects[effect].report_by {
            return Heard::Conflict;
        }
        self.report(world, effect, Said { word: Word::Nobody, status: EffectStatus::Unknown })
    }

    /// Revokes the credential; what it asked for and did not use is taken back.
    pub(crate) fn revoke(world: &mut World) {
        world.revoked = true;
        world.log.push(Entry::Revoked);
        for place in 0..world.decisions.len() {
            let row = &world.decisions[place];
            let waits = matches!(row.status, DecisionStatus::Open | DecisionStatus::Approved);
            if waits && matches!(row.kind, DecisionKind::Action { .. }) {
                end(world, place, DecisionStatus::Withdrawn);
            }
        }
    }
}

pub(super) fn end(world: &mut World, decision: usize, status: DecisionStatus) {
    world.decisions[decision].status = status;
    world.log.push(Entry::Over { decision, status });
}
