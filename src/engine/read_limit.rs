//! From a JSON value to the limits of a clause.

use super::document::ClauseId;
use super::limit::{Bound, Each, Limit, MOST_LIMITS, Period};
use super::node::{Faults, Members, Node, Vocabulary, found};

const LIMIT: Vocabulary =
    Vocabulary { noun: "member", allowed: &["total", "count", "once_per", "per", "each", "pool"] };
const EACH: [(&str, Each); 2] = [("counterparty", Each::Counterparty), ("resource", Each::Resource)];
/// The highest count a limit may name; more is no limit anyone means.
const HIGHEST_COUNT: u64 = 1_000_000_000;

/// Reads the limits of a clause.
pub(super) fn limits(node: &Node<'_>, faults: &mut Faults) -> Option<Vec<Limit>> {
    let mut read = Vec::new();
    for entry in node.list(1..=MOST_LIMITS, faults)? {
        let Some(limit) = limit(&entry, faults) else { continue };
        if read.contains(&limit) {
            entry.fault(faults, "the same limit stands twice");
        }
        read.push(limit);
    }
    Some(read)
}

fn limit(node: &Node<'_>, faults: &mut Faults) -> Option<Limit> {
    let members = node.object(&LIMIT, faults)?;
    let named: Vec<&str> =
        ["total", "count", "once_per"].into_iter().filter(|name| members.get(name).is_some()).collect();
    let [bound] = named.as_slice() else {
        let what = if named.is_empty() { "none of them".to_owned() } else { named.join(" and ") };
        node.fault(faults, format!("{what} found, one of total, count, once_per expected"));
        return None;
    };
    let each = members.get("each").and_then(|node| node.word(&EACH, faults));
    let pool = members.get("pool").and_then(|node| node.parse::<ClauseId>(faults));
    if *bound == "once_per" {
        for name in ["per", "each"] {
            if let Some(node) = members.get(name) {
                node.fault(faults, format!("`{name}` does not stand beside `once_per`, which is ever"));
            }
        }
        let each = members.get("once_per").and_then(|node| node.word(&EACH, faults))?;
        return Some(Limit { bound: Bound::Once, each: Some(each), pool });
    }
    let bound = bounded(&members, faults)?;
    Some(Limit { bound, each, pool })
}

/// A total or a count, with its period.
fn bounded(members: &Members<'_>, faults: &mut Faults) -> Option<Bound> {
    let per = members.required("per", faults).and_then(|node| node.parse::<Period>(faults));
    if let Some(node) = members.get("total") {
        let most = node.amount(faults);
        return Some(Bound::Total { most: most?, per: per? });
    }
    let node = members.required("count", faults)?;
    let most = node.value().as_u64().filter(|count| (1..=HIGHEST_COUNT).contains(count));
    if most.is_none() {
        let detail =
            format!("{} found, a whole number from 1 to {HIGHEST_COUNT} expected", found(node.value()));
        node.fault(faults, detail);
    }
    Some(Bound::Count { most: most?, per: per? })
}
