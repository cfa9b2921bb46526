//! What is odd about a document that is well formed: clauses that do nothing, or less than they seem to.

use super::compare::unconditional_refusal;
use super::condition::fits;
use super::document::{
    AmountTest, Clause, Condition, CounterpartyTest, CountryTest, Effect, EvidenceTest, LabelTest,
    MandateDocument, PolicyDocument, ResourceTest,
};
use super::labels::Labels;
use super::node::below;
use crate::domain::{Amount, IntentPattern, Scope, Timestamp};

/// Something that is allowed and probably not meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// JSON Pointer to the place.
    pub pointer: String,
    /// What is odd about it, in lower case.
    pub message: String,
}

impl Warning {
    fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// What is odd about a mandate that would go live at `now`, in document order; beside the labels that the tenant's
/// policy declares, where it is known.
pub(super) fn check_mandate(
    document: &MandateDocument,
    labels: Option<&Labels>,
    now: Timestamp,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !document.scopes.contains(Scope::ActionRequest) {
        warnings.push(Warning::at("/scopes", "without `action:request` every action is refused"));
    }
    if let Some(until) = document.valid.and_then(|valid| valid.until)
        && until <= now
    {
        warnings.push(Warning::at("/valid/until", format!("`{until}` has passed: every action is refused")));
    }
    let can_allow = |clause: &Clause| {
        clause.is_allowance()
            && hindrance(clause, &document.clauses).is_none()
            && contradiction(&clause.when).is_none()
    };
    if !document.clauses.iter().any(can_allow) {
        warnings.push(Warning::at("/clauses", "no clause can ever allow anything"));
    }
    for (index, clause) in document.clauses.iter().enumerate() {
        let pointer = format!("/clauses/{index}");
        if clause.is_allowance() && clause.intent == IntentPattern::Any {
            let message = "it allows every intent, also those that do not exist yet";
            warnings.push(Warning::at(format!("{pointer}/intent"), message));
        }
        check_clause(clause, &document.clauses, labels, &pointer, &mut warnings);
        if let Some(other) = freer(clause, &document.clauses) {
            let message =
                format!("its conditions bound nothing: clause `{}` allows the same without any", other.id);
            warnings.push(Warning::at(format!("{pointer}/when"), message));
        }
    }
    warnings
}

/// What is odd about a policy, in document order; pointers are those of the form with `rule_sets`.
pub(super) fn check_policy(document: &PolicyDocument) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (set_index, set) in document.rule_sets.iter().enumerate() {
        for (index, clause) in set.clauses.iter().enumerate() {
            let pointer = format!("/rule_sets/{set_index}/clauses/{index}");
            check_clause(clause, &set.clauses, Some(&document.labels), &pointer, &mut warnings);
            if clause.is_allowance() && clause.is_unconditional() {
                let message =
                    "a policy never allows by itself: without conditions this ceiling bounds nothing";
                warnings.push(Warning::at(pointer, message));
            }
        }
    }
    warnings
}

fn check_clause(
    clause: &Clause,
    all: &[Clause],
    labels: Option<&Labels>,
    pointer: &str,
    warnings: &mut Vec<Warning>,
) {
    check_words(clause, labels, pointer, warnings);
    if clause.is_allowance() {
        if let Some(other) = hindrance(clause, all) {
            let (id, does) = (&other.id, other.effect.does());
            let message = format!("it can never allow anything: clause `{id}` {does} all it names");
            warnings.push(Warning::at(pointer, message));
        }
        return;
    }
    let mut named = Vec::new();
    for (member, missing) in clause.when.iter().filter_map(fact_that_may_be_missing) {
        if !named.contains(&missing) {
            let message = format!("it does not act on an action without {missing}");
            warnings.push(Warning::at(format!("{pointer}/when/{member}"), message));
            named.push(missing);
        }
    }
}

/// The clause that stands before an allowance on everything it names: one that refuses, or else one that escalates.
pub(super) fn hindrance<'a>(clause: &Clause, all: &'a [Clause]) -> Option<&'a Clause> {
    let escalates = |other: &&Clause| {
        other.effect == Effect::Escalate && other.when.is_empty() && other.intent.covers(&clause.intent)
    };
    unconditional_refusal(all, &clause.intent).or_else(|| all.iter().find(escalates))
}

/// Another allowance that has no conditions and names all that this one does.
fn freer<'a>(clause: &Clause, all: &'a [Clause]) -> Option<&'a Clause> {
    let bounded = clause.is_allowance() && !clause.is_unconditional();
    all.iter().find(|other| {
        bounded && other.is_allowance() && other.is_unconditional() && other.intent.covers(&clause.intent)
    })
}

/// The fact that no value could have, if conditions contradict each other.
pub(super) fn contradiction(when: &[Condition]) -> Option<&'static str> {
    conflict(when, when)
}

/// The fact of which no value meets both a condition of `some` and one of `others`.
pub(super) fn conflict(some: &[Condition], others: &[Condition]) -> Option<&'static str> {
    let pairs = some.iter().flat_map(|one| others.iter().flat_map(move |other| [(one, other), (other, one)]));
    pairs.into_iter().find_map(|(one, other)| match (one, other) {
        (Condition::Amount(AmountTest::AtMost(one)), Condition::Amount(AmountTest::AtMost(other)))
        | (Condition::Amount(AmountTest::AtLeast(one)), Condition::Amount(AmountTest::AtLeast(other))) => {
            (one.currency() != other.currency()).then_some("amount")
        }
        (
            Condition::Counterparty(CounterpartyTest::In(one)),
            Condition::Counterparty(CounterpartyTest::In(other)),
        ) => one.is_disjoint(other).then_some("counterparty"),
        (
            Condition::Counterparty(CounterpartyTest::Known(one)),
            Condition::Counterparty(CounterpartyTest::Known(other)),
        ) => (one != other).then_some("counterparty"),
        (Condition::Country(CountryTest::In(one)), Condition::Country(CountryTest::In(other))) => {
            one.is_disjoint(other).then_some("country")
        }
        (Condition::Resource(ResourceTest::In(one)), Condition::Resource(ResourceTest::In(other))) => {
            one.is_disjoint(other).then_some("resource")
        }
        (
            Condition::Resource(ResourceTest::Prefix(one)),
            Condition::Resource(ResourceTest::Prefix(other)),
        ) => {
            let (one, other) = (one.as_str(), other.as_str());
            (!one.starts_with(other) && !other.starts_with(one)).then_some("resource")
        }
        (Condition::Untrusted(one), Condition::Untrusted(other)) => (one != other).then_some("untrusted"),
        (
            Condition::Counterparty(CounterpartyTest::In(listed)),
            Condition::Counterparty(CounterpartyTest::NotIn(excluded)),
        ) => listed.is_subset(excluded).then_some("counterparty"),
        (Condition::Country(CountryTest::In(listed)), Condition::Country(CountryTest::NotIn(excluded))) => {
            listed.is_subset(excluded).then_some("country")
        }
        (
            Condition::Resource(ResourceTest::In(listed)),
            Condition::Resource(ResourceTest::NotIn(excluded)),
        ) => listed.is_subset(excluded).then_some("resource"),
        (
            Condition::Resource(ResourceTest::In(listed)),
            Condition::Resource(ResourceTest::Prefix(prefix)),
        ) => {
            let none_fits = listed.iter().all(|name| !name.as_str().starts_with(prefix.as_str()));
            none_fits.then_some("resource")
        }
        (Condition::Amount(AmountTest::AtLeast(least)), Condition::Amount(AmountTest::AtMost(most))) => {
            (fits(*least, *most) != Some(true)).then_some("amount")
        }
        (
            Condition::Counterparty(CounterpartyTest::In(listed)),
            Condition::Counterparty(CounterpartyTest::Domain(domains)),
        ) => {
            let none_fits = !listed.iter().any(|name| domains.reach(name.as_str()));
            none_fits.then_some("counterparty")
        }
        (Condition::Arguments(at, one), Condition::Arguments(place, other)) => {
            (at == place && one.contradicts(other)).then_some("arguments")
        }
        (Condition::Facts(at, one), Condition::Facts(place, other)) => {
            (at == place && one.contradicts(other)).then_some("facts")
        }
        (Condition::Evidence(one), Condition::Evidence(other)) => {
            evidence_contradicts(one, other).then_some("evidence")
        }
        (
            Condition::Amount(_)
            | Condition::Counterparty(_)
            | Condition::Country(_)
            | Condition::Resource(_)
            | Condition::Untrusted(_)
            | Condition::Arguments(..)
            | Condition::Facts(..)
            | Condition::Evidence(_)
            | Condition::Labels(..)
            | Condition::Hours(_)
            | Condition::Links(_)
            | Condition::Contains(_),
            _,
        ) => None,
    })
}

/// The least amount that conditions take, if they say so, and every amount that they name.
pub(super) fn amount_bounds(when: &[Condition]) -> (Option<Amount>, Vec<Amount>) {
    let (mut least, mut bounds) = (None, Vec::new());
    for condition in when {
        if let Condition::Amount(AmountTest::AtMost(bound) | AmountTest::AtLeast(bound)) = condition {
            bounds.push(*bound);
        }
        if let Condition::Amount(AmountTest::AtLeast(bound)) = condition {
            least = Some(*bound);
        }
    }
    (least, bounds)
}

fn evidence_contradicts(one: &EvidenceTest, other: &EvidenceTest) -> bool {
    match (one, other) {
        (EvidenceTest::CitesExactly(count), EvidenceTest::CitesAtLeast(least)) => count < least,
        (EvidenceTest::CitesExactly(count), EvidenceTest::CitesOwnedBy(_)) => *count == 0,
        (
            EvidenceTest::Confidence(_)
            | EvidenceTest::CitesExactly(_)
            | EvidenceTest::CitesAtLeast(_)
            | EvidenceTest::CitesOwnedBy(_),
            _,
        ) => false,
    }
}

/// The member of `when` that bounds a fact which may be missing, and what is then missing.
fn fact_that_may_be_missing(condition: &Condition) -> Option<(&'static str, &'static str)> {
    match condition {
        Condition::Amount(_) => Some(("amount", "amount")),
        Condition::Counterparty(_) => Some(("counterparty", "counterparty")),
        Condition::Country(_) => Some(("country", "country")),
        Condition::Resource(ResourceTest::OwnedBy(_)) => Some(("resource", "an owner that is attested")),
        Condition::Resource(_) => Some(("resource", "resource")),
        Condition::Arguments(..) => Some(("arguments", "these arguments")),
        Condition::Facts(..) => Some(("facts", "these facts from an enforcement point")),
        Condition::Evidence(_) => Some(("evidence", "evidence")),
        Condition::Labels(..) => Some(("labels", "the label")),
        Condition::Links(_) => Some(("links", "links into these domains")),
        Condition::Contains(_) => Some(("contains", "arguments")),
        Condition::Untrusted(_) | Condition::Hours(_) => None,
    }
}

/// What looks like something else than it is: a label that is not declared, and a word that could be a class.
fn check_words(clause: &Clause, labels: Option<&Labels>, pointer: &str, warnings: &mut Vec<Warning>) {
    for condition in &clause.when {
        match condition {
            Condition::Labels(label, LabelTest::AtMost(level) | LabelTest::AtLeast(level)) => {
                if labels.is_some_and(|labels| labels.rank(label, level).is_none()) {
                    let place = below(&format!("{pointer}/when/labels"), label);
                    let does = if clause.is_allowance() { "it never holds" } else { "it acts on any level" };
                    let message = format!("{does}: the policy does not declare `{level}` of `{label}`");
                    warnings.push(Warning::at(place, message));
                }
            }
            Condition::Contains(protected) => {
                for literal in protected.literals.iter().filter(|literal| literal.looks_like_a_class()) {
                    let message = format!(
                        "`{}` is looked for as a text: it names no class of personal data",
                        literal.as_str()
                    );
                    warnings.push(Warning::at(format!("{pointer}/when/contains/not_in"), message));
                }
            }
            Condition::Amount(_)
            | Condition::Counterparty(_)
            | Condition::Country(_)
            | Condition::Resource(_)
            | Condition::Untrusted(_)
            | Condition::Arguments(..)
            | Condition::Facts(..)
            | Condition::Evidence(_)
            | Condition::Hours(_)
            | Condition::Links(_) => {}
        }
    }
}
