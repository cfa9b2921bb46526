//! Whose yes a decision takes and has, seen by the person who looks at it.

use super::visit::Visit;
use crate::domain::Role;
use crate::engine::step::{self, Given};
use crate::storage::approval::Noted;
use crate::storage::decision::Decision;
use crate::web::display;
use crate::web::view::{Mine, Needed, People, YesLine};

/// Whose yes a decision takes; nothing where it is its principal's alone.
pub(super) fn people(visit: &Visit, decision: &Decision, given: &[Noted]) -> Option<People> {
    if !decision.takes_others() {
        return None;
    }
    let asked_for = decision.asked_for();
    let asked = decision.asked(given.iter().map(|noted| noted.given).collect());
    let reader = Given { by: visit.person.id, roles: visit.person.roles };
    let counts = |approvals| step::counts(approvals, decision.principal, reader.by, reader.roles);
    let mine = if given.iter().any(|noted| noted.given.by == reader.by) {
        Mine::Given
    } else if asked_for.iter().any(counts) {
        let mut with_mine = asked.clone();
        with_mine.given.push(reader);
        Mine::Counts { more: step::more(&asked_for, &with_mine) }
    } else {
        Mine::DoesNotCount
    };
    let mut needed = Vec::new();
    for approvals in &asked_for {
        match step::missing(approvals, &asked) {
            0 => {}
            _ if approvals.roles.is_empty() => needed.push(Needed::Owner),
            count => {
                let roles =
                    approvals.roles.iter().copied().map(Role::as_str).collect::<Vec<_>>().join(" or ");
                needed.push(Needed::Holders { count, roles });
            }
        }
    }
    let line = |noted: &Noted| YesLine { name: display::line(noted.name.as_str()), at: visit.when(noted.at) };
    Some(People { given: given.iter().map(line).collect(), needed, mine })
}

/// The same in a few words, for a line of the queue.
pub(super) fn in_short(people: &People) -> String {
    let more = people.more();
    match (people.has_said_yes(), people.given.len()) {
        (true, _) => format!("you said yes, {more} more needed"),
        (false, 0) if more == 1 => "takes the yes of 1 person".to_owned(),
        (false, 0) => format!("takes the yes of {more} people"),
        (false, given) => format!("{given} said yes, {more} more needed"),
    }
}
