//! From a JSON value to the conditions of a clause.

use super::argument::{ArgumentTest, Scalar};
use super::document::{
    AmountTest, Condition, CounterpartyTest, CountryTest, EvidenceTest, LabelTest, Owner, ResourceTest,
};
use super::hours::{Day, DaysOfWeek, Hours, Minute};
use super::node::{Faults, Members, Node, Vocabulary, found, shown};
use super::pointer::Pointer;
use super::protected::{Entry, Literal, Protected};
use super::reach::HostDomains;
use super::read::MOST_ENTRIES;
use super::request::{Confidence, MOST_CITES};
use crate::domain::{Decimal, Label};
use chrono_tz::Tz;
use std::{collections::BTreeSet, str::FromStr};

/// The most places in the arguments, or facts, that one clause may bound, and the most labels.
const MOST_PLACES: usize = 64;

const fn tests_of(allowed: &'static [&'static str]) -> Vocabulary {
    Vocabulary { noun: "condition", allowed }
}

const WHEN: Vocabulary = tests_of(&[
    "amount",
    "counterparty",
    "country",
    "resource",
    "untrusted",
    "arguments",
    "facts",
    "evidence",
    "labels",
    "hours",
    "links",
    "contains",
]);
const AMOUNT: Vocabulary = tests_of(&["at_most", "at_least"]);
const COUNTERPARTY: Vocabulary = tests_of(&["in", "not_in", "known", "domain"]);
const COUNTRY: Vocabulary = tests_of(&["in", "not_in"]);
const RESOURCE: Vocabulary = tests_of(&["in", "not_in", "prefix", "owner"]);
const VALUE: Vocabulary = tests_of(&[
    "equals", "in", "not_in", "at_most", "at_least", "domain", "prefix", "matches", "exists", "each",
]);
const EVIDENCE: Vocabulary = tests_of(&["confidence", "cites"]);
const CONFIDENCE: Vocabulary = tests_of(&["at_least"]);
const CITES: Vocabulary = tests_of(&["exactly", "at_least", "owner"]);
const LEVEL: Vocabulary = tests_of(&["at_most", "at_least"]);
const HOURS: Vocabulary = Vocabulary { noun: "member", allowed: &["days", "from", "until", "zone"] };
const LINKS: Vocabulary = tests_of(&["domain"]);
const CONTAINS: Vocabulary = tests_of(&["not_in"]);
const LITERAL: Vocabulary = Vocabulary { noun: "member", allowed: &["literal"] };

/// Reads the conditions of an allowance, or of another clause.
pub(super) fn conditions(node: &Node<'_>, allows: bool, faults: &mut Faults) -> Option<Vec<Condition>> {
    let members = node.object(&WHEN, faults)?;
    let mut read = described(&members, allows, faults);
    if let Some(node) = members.get("arguments") {
        read.extend(places(&node, Condition::Arguments, faults));
    }
    if let Some(node) = members.get("facts") {
        read.extend(places(&node, Condition::Facts, faults));
    }
    if let Some(node) = members.get("evidence") {
        read.extend(evidence(&node, faults).into_iter().map(Condition::Evidence));
    }
    if let Some(node) = members.get("labels") {
        read.extend(labels(&node, faults));
    }
    read.extend(members.get("hours").and_then(|node| hours(&node, faults)).map(Condition::Hours));
    if let Some(tests) = members.get("links").and_then(|node| tests(&node, &LINKS, faults)) {
        read.extend(domains(&tests, faults).map(Condition::Links));
    }
    if let Some(tests) = members.get("contains").and_then(|node| tests(&node, &CONTAINS, faults)) {
        let protected = tests.get("not_in").and_then(|node| protected(&node, faults));
        read.extend(protected.map(Condition::Contains));
    }
    Some(read)
}

/// The conditions on what the gate derives from the arguments, or takes from the description.
fn described(members: &Members<'_>, allows: bool, faults: &mut Faults) -> Vec<Condition> {
    let mut read = Vec::new();
    if let Some(tests) = members.get("amount").and_then(|node| tests(&node, &AMOUNT, faults)) {
        let mut bound = |name| tests.get(name).and_then(|node: Node<'_>| node.amount(faults));
        let (most, least) = (bound("at_most"), bound("at_least"));
        read.extend(most.map(AmountTest::AtMost).map(Condition::Amount));
        read.extend(least.map(AmountTest::AtLeast).map(Condition::Amount));
    }
    if let Some(tests) = members.get("counterparty").and_then(|node| tests(&node, &COUNTERPARTY, faults)) {
        let known = tests.get("known").and_then(|node| known_test(&node, allows, faults));
        let found = [
            names(&tests, "in", faults).map(CounterpartyTest::In),
            names(&tests, "not_in", faults).map(CounterpartyTest::NotIn),
            known,
            domains(&tests, faults).map(CounterpartyTest::Domain),
        ];
        read.extend(found.into_iter().flatten().map(Condition::Counterparty));
    }
    if let Some(tests) = members.get("country").and_then(|node| tests(&node, &COUNTRY, faults)) {
        let found = [
            names(&tests, "in", faults).map(CountryTest::In),
            names(&tests, "not_in", faults).map(CountryTest::NotIn),
        ];
        read.extend(found.into_iter().flatten().map(Condition::Country));
    }
    if let Some(tests) = members.get("resource").and_then(|node| tests(&node, &RESOURCE, faults)) {
        let found = [
            names(&tests, "in", faults).map(ResourceTest::In),
            names(&tests, "not_in", faults).map(ResourceTest::NotIn),
            tests.get("prefix").and_then(|node| node.parse(faults)).map(ResourceTest::Prefix),
            owner(&tests, faults).map(ResourceTest::OwnedBy),
        ];
        read.extend(found.into_iter().flatten().map(Condition::Resource));
    }
    let untrusted = members.get("untrusted").and_then(|node| node.boolean(faults));
    read.extend(untrusted.map(Condition::Untrusted));
    read
}

/// The tests of one fact; naming none would look like a bound and be none.
fn tests<'a>(node: &Node<'a>, vocabulary: &Vocabulary, faults: &mut Faults) -> Option<Members<'a>> {
    let members = node.object(vocabulary, faults)?;
    if members.object().is_empty() {
        node.fault(faults, format!("it tests nothing, allowed: {}", vocabulary.allowed.join(", ")));
        return None;
    }
    Some(members)
}

fn names<T>(tests: &Members<'_>, name: &str, faults: &mut Faults) -> Option<BTreeSet<T>>
where
    T: FromStr<Err = String> + Ord,
{
    tests.get(name).and_then(|node| node.set(1..=MOST_ENTRIES, faults))
}

fn domains(tests: &Members<'_>, faults: &mut Faults) -> Option<HostDomains> {
    names(tests, "domain", faults).map(HostDomains)
}

fn owner(tests: &Members<'_>, faults: &mut Faults) -> Option<Owner> {
    let words = [Owner::Principal, Owner::Counterparty].map(|owner| (owner.as_str(), owner));
    tests.get("owner").and_then(|node| node.word(&words, faults))
}

fn known_test(node: &Node<'_>, allows: bool, faults: &mut Faults) -> Option<CounterpartyTest> {
    let known = node.boolean(faults)?;
    if allows && !known {
        node.fault(faults, "`known: false` stands only where `effect` is escalate or refuse");
        return None;
    }
    Some(CounterpartyTest::Known(known))
}

/// Tests by the places of what they test.
fn places(
    node: &Node<'_>,
    condition: impl Fn(Pointer, ArgumentTest) -> Condition,
    faults: &mut Faults,
) -> Vec<Condition> {
    let mut read = Vec::new();
    for (written, node) in named(node, "place", "a place is named as `/amount`", faults) {
        match written.parse::<Pointer>() {
            Ok(place) => {
                let tests = value_tests(&node, faults).unwrap_or_default();
                read.extend(tests.into_iter().map(|test| condition(place.clone(), test)));
            }
            Err(detail) => node.fault(faults, detail),
        }
    }
    read
}

/// The members of an object whose names are not the language's own: 1 to [`MOST_PLACES`].
fn named<'a>(node: &Node<'a>, noun: &str, example: &str, faults: &mut Faults) -> Vec<(&'a str, Node<'a>)> {
    let Some(members) = node.open_object(faults) else { return Vec::new() };
    let count = members.object().len();
    if count == 0 {
        node.fault(faults, format!("it tests nothing: {example}"));
    } else if count > MOST_PLACES {
        node.fault(faults, format!("{count} {noun}s, 1 to {MOST_PLACES} are allowed"));
        return Vec::new();
    }
    members.iter().collect()
}

fn value_tests(node: &Node<'_>, faults: &mut Faults) -> Option<Vec<ArgumentTest>> {
    let tests = tests(node, &VALUE, faults)?;
    let found = [
        tests.get("equals").and_then(|node| scalar(&node, faults)).map(ArgumentTest::Equals),
        tests.get("in").and_then(|node| scalars(&node, faults)).map(ArgumentTest::In),
        tests.get("not_in").and_then(|node| scalars(&node, faults)).map(ArgumentTest::NotIn),
        tests.get("at_most").and_then(|node| number(&node, faults)).map(ArgumentTest::AtMost),
        tests.get("at_least").and_then(|node| number(&node, faults)).map(ArgumentTest::AtLeast),
        domains(&tests, faults).map(ArgumentTest::Domain),
        tests.get("prefix").and_then(|node| prefix(&node, faults)),
        tests.get("matches").and_then(|node| node.parse(faults)).map(ArgumentTest::Matches),
        tests.get("exists").and_then(|node| node.boolean(faults)).map(ArgumentTest::Exists),
        tests.get("each").and_then(|node| value_tests(&node, faults)).map(ArgumentTest::Each),
    ];
    Some(found.into_iter().flatten().collect())
}

fn scalar(node: &Node<'_>, faults: &mut Faults) -> Option<Scalar> {
    let read = Scalar::of(node.value());
    if read.is_none() {
        node.fault(
            faults,
            format!("`{}` found, a text, a number, true or false expected", shown(node.value())),
        );
    }
    read
}

fn scalars(node: &Node<'_>, faults: &mut Faults) -> Option<BTreeSet<Scalar>> {
    let mut read = BTreeSet::new();
    for entry in node.list(1..=MOST_ENTRIES, faults)? {
        if let Some(value) = scalar(&entry, faults)
            && !read.insert(value)
        {
            entry.fault(faults, format!("`{}` stands twice", shown(entry.value())));
        }
    }
    Some(read)
}

fn number(node: &Node<'_>, faults: &mut Faults) -> Option<Decimal> {
    let read = Decimal::of(node.value());
    if read.is_none() {
        node.fault(faults, format!("`{}` found, a number expected, such as 12.5", shown(node.value())));
    }
    read
}

fn prefix(node: &Node<'_>, faults: &mut Faults) -> Option<ArgumentTest> {
    let text = node.text(faults)?;
    if text.is_empty() {
        node.fault(faults, "every text begins with an empty one");
        return None;
    }
    Some(ArgumentTest::Prefix(text.into()))
}

fn evidence(node: &Node<'_>, faults: &mut Faults) -> Vec<EvidenceTest> {
    let mut read = Vec::new();
    let Some(members) = tests(node, &EVIDENCE, faults) else { return read };
    if let Some(tests) = members.get("confidence").and_then(|node| tests(&node, &CONFIDENCE, faults)) {
        let least = tests.get("at_least").and_then(|node| match Confidence::read(node.value()) {
            Ok(confidence) => Some(confidence),
            Err(detail) => {
                node.fault(faults, detail);
                None
            }
        });
        read.extend(least.map(EvidenceTest::Confidence));
    }
    if let Some(tests) = members.get("cites").and_then(|node| tests(&node, &CITES, faults)) {
        let exactly = tests.get("exactly").and_then(|node| count(&node, 0, faults));
        let least = tests.get("at_least").and_then(|node| count(&node, 1, faults));
        read.extend(exactly.map(EvidenceTest::CitesExactly));
        read.extend(least.map(EvidenceTest::CitesAtLeast));
        read.extend(owner(&tests, faults).map(EvidenceTest::CitesOwnedBy));
    }
    read
}

fn count(node: &Node<'_>, fewest: usize, faults: &mut Faults) -> Option<usize> {
    let count = node.value().as_u64().and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|count| (fewest..=MOST_CITES).contains(count));
    if count.is_none() {
        let found = found(node.value());
        node.fault(faults, format!("{found} found, a whole number from {fewest} to {MOST_CITES} expected"));
    }
    count
}

fn labels(node: &Node<'_>, faults: &mut Faults) -> Vec<Condition> {
    let mut read = Vec::new();
    for (label, node) in named(node, "label", "a label is named as `audience`", faults) {
        if let Err(detail) = label.parse::<Label>() {
            node.fault(faults, detail);
        }
        let Some(tests) = tests(&node, &LEVEL, faults) else { continue };
        let mut level = |name| {
            let level: Label = tests.get(name).and_then(|node: Node<'_>| node.parse(faults))?;
            Some(level.as_str().to_owned())
        };
        let found = [level("at_most").map(LabelTest::AtMost), level("at_least").map(LabelTest::AtLeast)];
        read.extend(found.into_iter().flatten().map(|test| Condition::Labels(label.to_owned(), test)));
    }
    read
}

fn hours(node: &Node<'_>, faults: &mut Faults) -> Option<Hours> {
    let members = node.object(&HOURS, faults)?;
    let days = members.get("days").map(|node| days(&node, faults));
    let zone = members.required("zone", faults).and_then(|node| zone(&node, faults));
    let mut minute = |name| members.get(name).map(|node: Node<'_>| node.parse::<Minute>(faults));
    let span = match (minute("from"), minute("until")) {
        (None, None) => None,
        (Some(from), Some(until)) => {
            if let (Some(from), Some(until)) = (from, until)
                && from == until
            {
                node.fault(
                    faults,
                    format!("`from` and `until` are both {from}: leave both out for the whole day"),
                );
            }
            Some((from?, until?))
        }
        (Some(_), None) => {
            node.fault(faults, "`from` stands without `until`");
            return None;
        }
        (None, Some(_)) => {
            node.fault(faults, "`until` stands without `from`");
            return None;
        }
    };
    if days.is_none() && span.is_none() {
        node.fault(faults, "it tests nothing: give `days`, or `from` and `until`");
    }
    Some(Hours { days: days.unwrap_or(Some(DaysOfWeek::ALL))?, span, zone: zone? })
}

fn days(node: &Node<'_>, faults: &mut Faults) -> Option<DaysOfWeek> {
    let mut read: Vec<Day> = Vec::new();
    for entry in node.list(1..=7, faults)? {
        let Some(day) = entry.word(&Day::all(), faults) else { continue };
        if read.contains(&day) {
            entry.fault(faults, format!("`{}` stands twice", shown(entry.value())));
        }
        read.push(day);
    }
    Some(read.into_iter().collect())
}

fn zone(node: &Node<'_>, faults: &mut Faults) -> Option<Tz> {
    let zone = node.text(faults)?.parse().ok();
    if zone.is_none() {
        let found = shown(node.value());
        node.fault(
            faults,
            format!("`{found}` is not a time zone of the IANA database, such as Europe/Berlin"),
        );
    }
    zone
}

fn protected(node: &Node<'_>, faults: &mut Faults) -> Option<Protected> {
    let mut read = Protected::default();
    for entry in node.list(1..=MOST_ENTRIES, faults)? {
        let found = if entry.value().is_object() {
            let members = entry.object(&LITERAL, faults)?;
            members
                .required("literal", faults)
                .and_then(|node| Some((Literal::quoted(node.text(faults)?).map(Entry::Literal), node)))
        } else if entry.value().is_string() {
            entry.text(faults).map(|text| (Entry::plain(text), entry.clone()))
        } else {
            let found = shown(entry.value());
            entry.fault(faults, format!("`{found}` found, a text or {{\"literal\": …}} expected"));
            None
        };
        let is_new = match found {
            Some((Ok(Entry::Class(class)), _)) => read.classes.insert(class),
            Some((Ok(Entry::Literal(literal)), _)) => read.literals.insert(literal),
            Some((Err(detail), node)) => {
                node.fault(faults, detail);
                true
            }
            None => true,
        };
        if !is_new {
            entry.fault(faults, "this value stands twice");
        }
    }
    Some(read)
}
