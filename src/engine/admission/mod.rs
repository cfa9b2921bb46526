//! Admission: what keeps a document from going live, what is odd about it, and what it takes for granted.
//!
//! *Errors* are what nobody can mean: conditions that contradict each other, limits that no call can meet. They keep
//! a document out, unless the live version says the same, so that what once went live can always be narrowed.
//! *Warnings* are what somebody may mean, and probably does not. *Assumptions* are what no check can settle: whose
//! word a fact is, and who must keep theirs.

mod assume;
mod limits;
mod reach;

use super::catalogue::Catalogue;
use super::check::{Warning, check_mandate, check_policy, contradiction, hindrance};
use super::document::{Applies, Clause, Domain, MandateDocument, PolicyDocument};
use super::node::below;
use crate::domain::{Fault, Malformed, Timestamp};
use reach::Reach;
use serde_json::{Value, json};

/// The most errors, and the most warnings, that are named.
const MOST_NAMED: usize = 100;

/// What is to be said of a document before it goes live.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Admission {
    /// What keeps it out, in document order.
    pub errors: Vec<Fault>,
    /// What is odd about it: by itself first, then beside catalogue and policy.
    pub warnings: Vec<Warning>,
    /// What it takes for granted, a sentence each.
    pub assumptions: Vec<String>,
}

/// What stands beside a mandate when it is admitted; what is not given is not checked.
#[derive(Clone, Copy, Default, Debug)]
pub struct Beside<'a> {
    /// The tenant's catalogue.
    pub catalogue: Option<&'a Catalogue>,
    /// The tenant's live policy.
    pub policy: Option<&'a PolicyDocument>,
}

impl Admission {
    /// Whether it may go live.
    ///
    /// # Errors
    /// What keeps it out, each with its place in the document.
    pub fn admitted(&self) -> Result<(), Malformed> {
        if self.errors.is_empty() { Ok(()) } else { Err(Malformed { faults: self.errors.clone() }) }
    }

    /// The warnings as receipts hold them.
    pub fn warnings_json(&self) -> Value {
        let each = |warning: &Warning| json!({"pointer": warning.pointer, "message": warning.message});
        self.warnings.iter().map(each).collect()
    }

    fn error(&mut self, pointer: String, detail: String) {
        if self.errors.len() < MOST_NAMED {
            self.errors.push(Fault { pointer, detail });
        }
    }

    fn warn(&mut self, pointer: String, message: String) {
        if self.warnings.len() < MOST_NAMED {
            self.warnings.push(Warning { pointer, message });
        }
    }

    /// An error, unless the live version holds the same thing already.
    fn error_unless_live(&mut self, is_live: bool, pointer: String, detail: String) {
        if is_live {
            self.warn(pointer, format!("{detail}; the live version says so already"));
        } else {
            self.error(pointer, detail);
        }
    }
}

/// Looks a mandate over that would follow `live` at `now`.
pub fn admit_mandate(
    document: &MandateDocument,
    live: Option<&MandateDocument>,
    beside: Beside<'_>,
    now: Timestamp,
) -> Admission {
    let labels = beside.policy.map(|policy| &policy.labels);
    let mut said = Admission { warnings: check_mandate(document, labels, now), ..Admission::default() };
    domains(&document.domains, live.map_or(&[], |live| &live.domains), &mut said);
    let part = Part {
        clauses: &document.clauses,
        live: live.map_or(&[], |live| &live.clauses),
        pointer: "/clauses".to_owned(),
    };
    errors(&part, beside.catalogue, &mut said);
    let reach = Reach { beside, domains: &document.domains };
    let dead = part.each().filter(|(clause, pointer)| reach.clause(clause, pointer, &part, &mut said));
    let dead: Vec<&Clause> = dead.map(|(clause, _)| clause).collect();
    let dies = |clause: &Clause| {
        dead.iter().any(|dead| dead.id == clause.id) || hindrance(clause, &document.clauses).is_some()
    };
    let mut allowances = document.clauses.iter().filter(|clause| clause.is_allowance());
    if !dead.is_empty()
        && said.warnings.iter().all(|warning| warning.pointer != "/clauses")
        && allowances.all(dies)
    {
        said.warn("/clauses".to_owned(), "no clause can ever allow anything".to_owned());
    }
    for (clause, pointer) in part.each() {
        reach::irreversible(clause, &document.clauses, &pointer, beside.catalogue, &mut said);
    }
    limits::pools(&[&part], &mut said);
    said.assumptions = assume::mandate(document, beside.catalogue);
    said
}

/// Looks a policy over that would follow `live`; pointers are those of the form with `rule_sets`.
pub fn admit_policy(
    document: &PolicyDocument,
    live: Option<&PolicyDocument>,
    catalogue: Option<&Catalogue>,
) -> Admission {
    let mut said = Admission { warnings: check_policy(document), ..Admission::default() };
    domains(&document.domains, live.map_or(&[], |live| &live.domains), &mut said);
    let of_live = |applies: Applies| {
        let sets = live.map_or(&[][..], |live| &live.rule_sets);
        sets.iter().find(|set| set.applies == applies).map_or(&[][..], |set| &set.clauses)
    };
    let parts: Vec<Part<'_>> = (document.rule_sets.iter().enumerate())
        .map(|(index, set)| Part {
            clauses: &set.clauses,
            live: of_live(set.applies),
            pointer: format!("/rule_sets/{index}/clauses"),
        })
        .collect();
    let reach = Reach { beside: Beside { catalogue, policy: None }, domains: &document.domains };
    for part in &parts {
        errors(part, catalogue, &mut said);
        for (clause, pointer) in part.each() {
            reach.clause(clause, &pointer, part, &mut said);
        }
    }
    limits::pools(&parts.iter().collect::<Vec<_>>(), &mut said);
    said.assumptions = assume::policy(document, catalogue);
    said
}

/// Clauses that are decided on together, and where they stand.
struct Part<'a> {
    clauses: &'a [Clause],
    /// Those that hold their place in the live version.
    live: &'a [Clause],
    pointer: String,
}

impl<'a> Part<'a> {
    fn each(&self) -> impl Iterator<Item = (&'a Clause, String)> + use<'a, '_> {
        self.clauses.iter().enumerate().map(|(index, clause)| (clause, format!("{}/{index}", self.pointer)))
    }
}

fn errors(part: &Part<'_>, catalogue: Option<&Catalogue>, said: &mut Admission) {
    for (clause, pointer) in part.each() {
        let is_live = part.live.contains(clause);
        if let Some(fact) = contradiction(&clause.when) {
            let pointer = format!("{pointer}/when/{fact}");
            if clause.is_allowance() || !may_be_several(fact) {
                let detail = format!("no {fact} can meet these conditions together");
                said.error_unless_live(is_live, pointer, detail);
            } else {
                let message =
                    "no single one can meet these conditions: it acts only where several do together";
                said.warn(pointer, message.to_owned());
            }
        }
        for (index, why) in limits::beyond_reach(clause, catalogue) {
            let detail = format!("no call can meet this limit: {why}");
            said.error_unless_live(is_live, format!("{pointer}/limits/{index}"), detail);
        }
    }
}

/// Whether an action may have several of a fact, of which each condition of a refusal takes another.
fn may_be_several(fact: &str) -> bool {
    matches!(fact, "counterparty" | "country" | "arguments" | "facts")
}

fn domains(domains: &[Domain], live: &[Domain], said: &mut Admission) {
    for domain in domains {
        if let Some(fact) = contradiction(&domain.when) {
            let pointer = below(&below("/domains", &domain.intent.to_string()), fact);
            let detail = format!("no {fact} can meet these conditions together");
            said.error_unless_live(live.contains(domain), pointer, detail);
        }
    }
}
