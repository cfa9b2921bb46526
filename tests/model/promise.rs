//! What must hold whatever happens, read from the log and the rows as an auditor would; and what must happen sometimes.

use crate::course::{Phase, Service, State};
use crate::shell::setting::Setting;
use crate::shell::world::{Decision, Entry, World};
use procura::domain::{DecisionStatus, EffectStatus, Outcome};
use procura::engine::Change;
use procura::engine::step::Word;
use stateright::Property;

/// No allow is recorded after a narrowing under the version before it, and no answer after a revocation.
pub(crate) const NARROWING: &str = "what was narrowed or revoked lets nothing through any more";
/// What was allowed in one day, and was never said to have failed, is within every limit.
pub(crate) const LIMIT: &str = "what may have happened is within every limit";
/// A yes and a no never both stand.
pub(crate) const ONE_OUTCOME: &str = "a decision has one outcome";
/// A yes lets one call through, and only while it stands.
pub(crate) const ONE_USE: &str = "a yes is used once, and while it stands";
/// Nothing stands in the way of what a yes lets through that was not shown to whoever said it.
pub(crate) const SHOWN: &str = "a yes is good against what was shown";
/// What is refused now gets no yes.
pub(crate) const YES: &str = "what is refused gets no yes";
/// An effect is there because its allow was recorded before.
pub(crate) const EFFECT: &str = "an effect has an earlier recorded allow";
/// One key lets one effect happen.
pub(crate) const ONE_EFFECT: &str = "a key lets one effect happen";
/// What two tell differently a person ends.
pub(crate) const DISPUTE: &str = "an ending that was contradicted is ended by a person alone";
/// What a client was told is in the log.
pub(crate) const RECORD: &str = "no answer is seen before its record";
/// Only what failed gives back what it took.
pub(crate) const RESERVATION: &str = "only a failed effect gives its reservation back";

/// What the mandate lets through in a day without asking, and what the credential ever lets through in a day, in cents.
pub(crate) const UNASKED_A_DAY: u64 = 15_000;
pub(crate) const EVER_A_DAY: u64 = 17_000;

/// Every promise, and what shows that they are not kept by nothing ever happening.
pub(crate) fn promises() -> Vec<Property<Service>> {
    vec![
        Property::always(NARROWING, |_, state: &State| narrowing_holds(&state.world)),
        Property::always(LIMIT, |service, state: &State| limits_hold(service, state)),
        Property::always(ONE_OUTCOME, |_, state: &State| decisions_end_once(&state.world)),
        Property::always(ONE_USE, |_, state: &State| yeses_are_used_once(&state.world)),
        Property::always(SHOWN, |_, state: &State| yeses_are_to_what_was_shown(&state.world)),
        Property::always(YES, |_, state: &State| !state.yes_to_refused),
        Property::always(EFFECT, |_, state: &State| effects_were_allowed(&state.world)),
        Property::always(ONE_EFFECT, |_, state: &State| keys_have_one_effect(&state.world)),
        Property::always(DISPUTE, |_, state: &State| disputes_wait_for_a_person(&state.world)),
        Property::always(RECORD, |_, state: &State| answers_are_recorded(state)),
        Property::always(RESERVATION, |_, state: &State| reservations_are_held(&state.world)),
        Property::sometimes("a yes of two people is used", |_, state: &State| {
            state.world.log.iter().any(|entry| matches!(entry, Entry::Answered { uses: Some(_), .. }))
        }),
        Property::sometimes("a narrowing refuses what was allowed before", |_, state: &State| {
            narrowing_refuses(&state.world)
        }),
        Property::sometimes("a lost answer is told again", |_, state: &State| {
            let again = |entry: &Entry| matches!(entry, Entry::Replayed { again: true, .. });
            state.crashes > 0 && state.world.log.iter().any(again)
        }),
        Property::sometimes("a narrowing takes a yes back", |_, state: &State| {
            takes_back(&state.world, DecisionStatus::Withdrawn)
        }),
        Property::sometimes("a yes runs out", |_, state: &State| {
            takes_back(&state.world, DecisionStatus::Expired)
        }),
        Property::sometimes("a person ends what nobody knew", |_, state: &State| {
            let resolved = |row: &Decision| row.status == DecisionStatus::Resolved;
            state.world.decisions.iter().any(resolved)
        }),
        Property::sometimes("two enforcement points contradict each other", |_, state: &State| {
            let world = &state.world;
            (0..world.effects.len()).any(|effect| {
                let told: Vec<_> = endings(world, effect).collect();
                told.windows(2).any(|pair| match (pair[0], pair[1]) {
                    ((status, Word::EnforcementPoint(_)), (EffectStatus::Unknown, _)) => status.has_ended(),
                    (_, _) => false,
                })
            })
        }),
        Property::sometimes("what failed is held again", |_, state: &State| {
            let world = &state.world;
            (0..world.effects.len()).any(|effect| {
                let endings: Vec<_> = endings(world, effect).map(|(status, _)| status).collect();
                endings == [EffectStatus::Failed, EffectStatus::Unknown]
            })
        }),
    ]
}

fn narrowing_holds(world: &World) -> bool {
    let (mut live, mut revoked) = (1, false);
    world.log.iter().enumerate().all(|(place, entry)| match entry {
        Entry::Put { version, change } => {
            debug_assert!(matches!(change, Change::Narrowed | Change::Mixed), "each of these narrows");
            live = *version;
            true
        }
        Entry::Revoked => {
            revoked = true;
            true
        }
        Entry::Answered { .. } | Entry::Replayed { .. } if revoked => false,
        Entry::Answered { outcome: Outcome::Allow, version, .. } => *version == live,
        // The record may be told again, the permission only while it is live or once nothing can come of it.
        Entry::Replayed { first, again: true } => match world.log[*first] {
            Entry::Answered { outcome: Outcome::Allow, version, .. } => {
                version == live || has_ended(world, *first, place)
            }
            Entry::Answered { .. }
            | Entry::Put { .. }
            | Entry::Replayed { .. }
            | Entry::Yes { .. }
            | Entry::No { .. }
            | Entry::Over { .. }
            | Entry::Ended { .. }
            | Entry::Revoked => true,
        },
        Entry::Answered { .. }
        | Entry::Replayed { .. }
        | Entry::Yes { .. }
        | Entry::No { .. }
        | Entry::Over { .. }
        | Entry::Ended { .. } => true,
    })
}

/// Whether the effect of the allow at `first` had come to a known ending before `place`.
fn has_ended(world: &World, first: usize, place: usize) -> bool {
    let of_first = |effect: usize| world.effects[effect].place == first;
    let last = world.log[..place].iter().rev().find_map(|entry| match entry {
        Entry::Ended { effect, status, .. } if of_first(*effect) => Some(*status),
        Entry::Ended { .. }
        | Entry::Put { .. }
        | Entry::Answered { .. }
        | Entry::Replayed { .. }
        | Entry::Yes { .. }
        | Entry::No { .. }
        | Entry::Over { .. }
        | Entry::Revoked => None,
    });
    last.is_some_and(EffectStatus::has_ended)
}

/// What was said of one effect, in order, and by whom.
fn endings(world: &World, of: usize) -> impl Iterator<Item = (EffectStatus, Word)> {
    world.log.iter().filter_map(move |entry| match entry {
        Entry::Ended { effect, status, word } if *effect == of => Some((*status, *word)),
        Entry::Ended { .. }
        | Entry::Put { .. }
        | Entry::Answered { .. }
        | Entry::Replayed { .. }
        | Entry::Yes { .. }
        | Entry::No { .. }
        | Entry::Over { .. }
        | Entry::Revoked => None,
    })
}

fn disputes_wait_for_a_person(world: &World) -> bool {
    (0..world.effects.len()).all(|effect| {
        let told: Vec<_> = endings(world, effect).collect();
        told.windows(2).enumerate().all(|(at, pair)| match pair[0].0.has_ended() {
            // Who ended it last is contradicted by nobody but a point that speaks against the agent, or another point.
            true => pair[1].0 == EffectStatus::Unknown && is_against(pair[0].1, pair[1].1),
            false if at > 0 && told[at - 1].0.has_ended() => pair[1].1 == Word::Person,
            false => true,
        })
    })
}

fn is_against(told: Word, by: Word) -> bool {
    match (told, by) {
        (Word::Agent, Word::EnforcementPoint(_)) => true,
        (Word::EnforcementPoint(one), Word::EnforcementPoint(other)) => one != other,
        (Word::Agent | Word::EnforcementPoint(_) | Word::Nobody | Word::Person, _) => false,
    }
}

fn limits_hold(service: &Service, state: &State) -> bool {
    let setting = &service.course(state).setting;
    let world = &state.world;
    // Between the two instants of a course lies more than a day.
    world.effects.iter().map(|effect| effect.claimed_at).all(|day| {
        let (mut ever, mut unasked) = (0, 0);
        for (place, effect) in world.effects.iter().enumerate().filter(|(_, effect)| effect.claimed_at == day)
        {
            // Others were let in at its place, also where it turns out to have happened.
            if endings(world, place).any(|(status, _)| status == EffectStatus::Failed) {
                continue;
            }

            let amount = amount(setting, effect.body);
            ever += amount;
            if matches!(world.log[effect.place], Entry::Answered { uses: None, .. }) {
                unasked += amount;
            }
        }
        ever <= EVER_A_DAY && unasked <= UNASKED_A_DAY
    })
}

/// What a body asks to move, in cents.
fn amount(setting: &Setting, body: usize) -> u64 {
    setting.bodies[body].action.amount.map_or(0, |amount| u64::try_from(amount.minor_units()).unwrap())
}

/// Where one decision stands, going by the log alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    Open,
    Approved,
    Ended,
}

fn decisions_end_once(world: &World) -> bool {
    (0..world.decisions.len()).all(|decision| {
        let mut stand = Stand::Open;
        world.log.iter().all(|entry| {
            let next = match entry {
                Entry::Yes { decision: of, completes, .. } if *of == decision => {
                    (stand == Stand::Open).then_some(if *completes { Stand::Approved } else { Stand::Open })
                }
                Entry::No { decision: of } if *of == decision => {
                    (stand == Stand::Open).then_some(Stand::Ended)
                }
                Entry::Over { decision: of, .. } if *of == decision => {
                    (stand != Stand::Ended).then_some(Stand::Ended)
                }
                Entry::Answered { uses: Some(of), .. } if *of == decision => {
                    (stand == Stand::Approved).then_some(Stand::Ended)
                }
                Entry::Put { .. }
                | Entry::Answered { .. }
                | Entry::Replayed { .. }
                | Entry::Yes { .. }
                | Entry::No { .. }
                | Entry::Over { .. }
                | Entry::Ended { .. }
                | Entry::Revoked => Some(stand),
            };
            next.is_some_and(|next| {
                stand = next;
                true
            })
        })
    })
}

fn yeses_are_used_once(world: &World) -> bool {
    (0..world.decisions.len()).all(|decision| {
        let mut stands_until = None;
        world.log.iter().all(|entry| match entry {
            Entry::Yes { decision: of, completes: true, until, .. } if *of == decision => {
                stands_until = Some(*until);
                true
            }
            Entry::No { decision: of } | Entry::Over { decision: of, .. } if *of == decision => {
                stands_until = None;
                true
            }
            Entry::Answered { uses: Some(of), at, .. } if *of == decision => {
                stands_until.take().is_some_and(|until| *at < until)
            }
            Entry::Put { .. }
            | Entry::Answered { .. }
            | Entry::Replayed { .. }
            | Entry::Yes { .. }
            | Entry::No { .. }
            | Entry::Over { .. }
            | Entry::Ended { .. }
            | Entry::Revoked => true,
        })
    })
}

fn yeses_are_to_what_was_shown(world: &World) -> bool {
    world.log.iter().enumerate().all(|(place, entry)| {
        let Entry::Answered { uses: Some(used), grounds, .. } = entry else { return true };
        let said = world.log[..place].iter().rev().find_map(|entry| match entry {
            Entry::Yes { decision, completes: true, shown, .. } if decision == used => Some(shown),
            Entry::Yes { .. }
            | Entry::Put { .. }
            | Entry::Answered { .. }
            | Entry::Replayed { .. }
            | Entry::No { .. }
            | Entry::Over { .. }
            | Entry::Ended { .. }
            | Entry::Revoked => None,
        });
        said.is_some_and(|shown| shown.cover(grounds))
    })
}

fn effects_were_allowed(world: &World) -> bool {
    let allowed = |place: usize, body: usize| {
        matches!(world.log.get(place),
            Some(Entry::Answered { outcome: Outcome::Allow, body: of, .. }) if *of == body)
    };
    let ended_earlier = |effect: usize, place: usize| {
        world.log[..place]
            .iter()
            .any(|entry| matches!(entry, Entry::Ended { effect: of, .. } if *of == effect))
    };
    let places = world.effects.iter().map(|effect| effect.place);
    let one_each = places.clone().all(|place| places.clone().filter(|other| *other == place).count() == 1);
    one_each
        && world
            .effects
            .iter()
            .enumerate()
            .all(|(effect, row)| allowed(row.place, row.body) && !ended_earlier(effect, row.place))
}

fn keys_have_one_effect(world: &World) -> bool {
    let keys = || world.effects.iter().filter_map(|effect| effect.key);
    keys().all(|key| keys().filter(|other| *other == key).count() == 1)
}

fn answers_are_recorded(state: &State) -> bool {
    let log = &state.world.log;
    state.clients.iter().all(|phase| match phase {
        Phase::Answered(reply) => match (reply.outcome, reply.place) {
            (None, None) => true,
            (Some(outcome), Some(place)) => match log.get(place) {
                Some(Entry::Answered { outcome: recorded, .. }) => *recorded == outcome,
                Some(Entry::Replayed { first, again: true }) => {
                    matches!(log[*first], Entry::Answered { outcome: recorded, .. } if recorded == outcome)
                }
                Some(Entry::Replayed { again: false, .. }) => outcome == Outcome::Refuse,
                Some(
                    Entry::Put { .. }
                    | Entry::Yes { .. }
                    | Entry::No { .. }
                    | Entry::Over { .. }
                    | Entry::Ended { .. }
                    | Entry::Revoked,
                )
                | None => false,
            },
            (None, Some(_)) | (Some(_), None) => false,
        },
        Phase::Idle | Phase::Waiting { .. } | Phase::Recorded(_) | Phase::Lost => true,
    })
}

fn reservations_are_held(world: &World) -> bool {
    world.effects.iter().all(|effect| {
        let mut rows = world.books.iter().filter(|row| row.place == effect.place).peekable();
        let failed = effect.status == EffectStatus::Failed;
        rows.peek().is_some() && rows.all(|row| row.released == failed)
    })
}

fn narrowing_refuses(world: &World) -> bool {
    let Some(put) = world.log.iter().position(|entry| matches!(entry, Entry::Put { .. })) else {
        return false;
    };
    let of = |entries: &[Entry], wanted: Outcome| {
        let bodies = entries.iter().filter_map(|entry| match entry {
            Entry::Answered { body, outcome, .. } if *outcome == wanted => Some(*body),
            Entry::Answered { .. }
            | Entry::Put { .. }
            | Entry::Replayed { .. }
            | Entry::Yes { .. }
            | Entry::No { .. }
            | Entry::Over { .. }
            | Entry::Ended { .. }
            | Entry::Revoked => None,
        });
        bodies.collect::<Vec<_>>()
    };
    let allowed = of(&world.log[..put], Outcome::Allow);
    of(&world.log[put..], Outcome::Refuse).iter().any(|body| allowed.contains(body))
}

/// Whether a yes that two people gave ended so without being used.
fn takes_back(world: &World, status: DecisionStatus) -> bool {
    let given = |decision: usize| {
        let completes = |entry: &Entry| matches!(entry, Entry::Yes { decision: of, completes: true, .. } if *of == decision);
        world.log.iter().any(completes)
    };
    world.log.iter().any(
        |entry| matches!(entry, Entry::Over { decision, status: ended } if *ended == status && given(*decision)),
    )
}
