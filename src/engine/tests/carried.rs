//! A small world of what calls carry: few places, texts, levels and hours, so that conditions meet them.

use super::*;
use crate::domain::FactsFrom;
use std::collections::BTreeMap;

/// A fast stream of choices from a seed (SplitMix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count).unwrap()).unwrap()
    }

    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// True once in so many.
    pub(super) fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One or more of these, in their order.
    pub(super) fn some<T: Clone>(&mut self, of: &[T]) -> Vec<T> {
        let sure = self.below(of.len());
        let taken = of.iter().enumerate().filter(|(index, _)| *index == sure || self.once_in(2));
        taken.map(|(_, one)| one.clone()).collect()
    }
}

const DOMAINS: [&str; 3] = ["a.example", "x.a.example", "b.test"];
/// Texts and where their links lead, as a reader of them would say; `-` is nowhere.
pub(super) const TEXTS: [(&str, &[&str]); 10] = [
    ("hello", &[]),
    ("", &[]),
    ("see https://a.example/page.html.", &["a.example"]),
    ("//x.a.example and b.test", &["x.a.example", "b.test"]),
    ("to bob@b.test", &["b.test"]),
    ("https://me@a.example/", &["-"]),
    ("javascript:go()", &["-"]),
    ("it is top-SECRET 1!", &[]),
    ("the se cret1", &[]),
    ("card 4111 1111 1111 1111", &[]),
];
/// Names of counterparties that lead to hosts, and to which.
pub(super) const REACHED: [(&str, &str); 4] = [
    ("ann@x.a.example", "x.a.example"),
    ("https://b.test/z", "b.test"),
    ("a.example", "a.example"),
    ("ann@b.test,a.example", "-"),
];

fn scalars() -> Vec<Value> {
    vec![
        json!(1),
        json!(1.5),
        json!(2),
        json!("2"),
        json!("1.50"),
        json!("true"),
        json!("xx"),
        json!("xy"),
        json!("ann@x.a.example"),
        json!(true),
    ]
}

fn value_tests(dice: &mut Dice, depth: u8) -> Value {
    let mut tests = json!({});
    for _ in 0..=dice.below(2) {
        let bound = dice.pick(&[json!(1), json!("1.5"), json!("2.0")]);
        match dice.below(if depth > 0 { 10 } else { 9 }) {
            0 => tests["equals"] = dice.pick(&scalars()),
            1 => tests["in"] = json!(distinct(dice)),
            2 => tests["not_in"] = json!(distinct(dice)),
            3 => tests["at_most"] = bound,
            4 => tests["at_least"] = bound,
            5 => tests["domain"] = json!(dice.some(&DOMAINS)),
            6 => tests["prefix"] = dice.pick(&[json!("x"), json!("xx"), json!("ann@")]),
            7 => tests["matches"] = dice.pick(&[json!("x+"), json!("x.")]),
            8 => tests["exists"] = json!(dice.once_in(2)),
            _ => tests["each"] = value_tests(dice, depth - 1),
        }
    }
    tests
}

fn distinct(dice: &mut Dice) -> Vec<Value> {
    let mut of = scalars();
    let first = dice.below(of.len());
    of.rotate_left(first);
    of.truncate(1 + dice.below(3));
    of
}

/// A test of something a call carries: member, test (or none) and its value.
pub(super) fn condition(dice: &mut Dice) -> (&'static str, &'static str, Value) {
    let amount = json!({"value": dice.pick(&["1", "2", "3"]), "currency": "EUR"});
    let owner = dice.pick(&["principal", "counterparty"]);
    match dice.below(14) {
        0 => ("amount", "at_least", amount),
        1 => ("counterparty", "domain", json!(dice.some(&DOMAINS))),
        2 => ("resource", "owner", json!(owner)),
        3 | 4 => ("arguments", dice.pick(&["/n", "/t", "/l"]), value_tests(dice, 1)),
        5 => ("facts", dice.pick(&["/n", "/t"]), value_tests(dice, 1)),
        6 => ("evidence", "confidence", json!({"at_least": dice.pick(&["0.5", "0.80", "1"])})),
        7 => {
            let mut cites = json!({});
            match dice.below(3) {
                0 => cites["exactly"] = json!(dice.below(3)),
                1 => cites["at_least"] = json!(1 + dice.below(2)),
                _ => cites["owner"] = json!(owner),
            }
            ("evidence", "cites", cites)
        }
        8 => {
            let bound = dice.pick(&["at_most", "at_least"]);
            let label = dice.pick(&["audience", "audience", "audience", "undeclared"]);
            ("labels", label, json!({bound: dice.pick(&["in", "cust", "pub", "none"])}))
        }
        9 | 10 => ("hours", "", hours(dice)),
        11 | 12 => ("links", "domain", json!(dice.some(&DOMAINS))),
        _ => {
            ("contains", "not_in", json!(dice.some(&["Secret-1", "hell o", "top secret 1", "card", "email"])))
        }
    }
}

fn hours(dice: &mut Dice) -> Value {
    let zone = dice.pick(&["Etc/UTC", "Europe/Berlin", "America/New_York"]);
    let mut hours = json!({"zone": zone});
    let spans = [("08:00", "18:00"), ("18:00", "08:00"), ("12:00", "12:30"), ("23:00", "13:00")];
    let days = dice.once_in(2);
    if days {
        hours["days"] = json!(dice.some(&["mon", "tue", "sat", "sun"]));
    }
    if !days || dice.once_in(2) {
        let (from, until) = dice.pick(&spans);
        hours["from"] = json!(from);
        hours["until"] = json!(until);
    }
    hours
}

fn value(dice: &mut Dice, depth: u8) -> Value {
    let texts: Vec<Value> = TEXTS.iter().map(|(text, _)| json!(text)).collect();
    match dice.below(if depth > 0 { 8 } else { 6 }) {
        0..=3 => dice.pick(&scalars()),
        4 => dice.pick(&texts),
        5 => dice.pick(&[json!(null), json!({}), json!({"n": 1}), json!([]), json!(3), json!("1 000")]),
        _ => (0..dice.below(3)).map(|_| value(dice, depth - 1)).collect(),
    }
}

fn members(dice: &mut Dice) -> serde_json::Map<String, Value> {
    let mut members = serde_json::Map::new();
    for name in ["n", "t", "l"] {
        if !dice.once_in(4) {
            members.insert(name.to_owned(), value(dice, 2));
        }
    }
    if dice.once_in(9) {
        members.insert("https://b.test".to_owned(), json!(1));
    }
    members
}

/// Gives an action arguments, evidence, labels and facts, some of them missing.
fn carry(dice: &mut Dice, action: &mut Action) {
    if dice.once_in(3) {
        let named = dice.some(&REACHED).into_iter().map(|(text, _)| name(text));
        action.counterparties = named.chain(action.counterparties.drain(..).take(1)).collect();
    }
    if !dice.once_in(6) {
        action.arguments = Some(std::sync::Arc::new(members(dice)));
    }
    if !dice.once_in(4) {
        let cites = ["o:1", "o:2", "x"];
        let cites = if dice.once_in(4) { Vec::new() } else { dice.some(&cites) };
        let mut evidence = json!({"cites": cites});
        if !dice.once_in(4) {
            evidence["confidence"] = json!(dice.pick(&["0", "0.5", "0.79", "0.8", "0.93", "1"]));
        }
        let request = described(json!({"intent": "a", "evidence": evidence}));
        action.evidence = request.evidence;
    }
    action.labels = BTreeMap::new();
    for label in ["audience", "undeclared"] {
        if !dice.once_in(3) {
            action.labels.insert(label.to_owned(), dice.pick(&["in", "cust", "pub"]).to_owned());
        }
    }
    if !dice.once_in(3) {
        let mut facts = members(dice);
        let mut owners = serde_json::Map::new();
        let me = principal().to_string();
        for thing in ["o:1", "o:2", "x"] {
            let owner = dice.pick(&["principal", "p", "ann@x.a.example", "someone else", "", &me]);
            if !owner.is_empty() {
                owners.insert(thing.to_owned(), json!(owner));
            }
        }
        facts.insert("owners".to_owned(), Value::Object(owners));
        action.facts = Some(facts);
    }
}

/// An action of the small world.
pub(super) fn action(dice: &mut Dice) -> Action {
    let amount = |minor_units: i64, currency: &str| {
        crate::domain::Amount::from_minor_units(minor_units, currency.parse().unwrap())
    };
    let counterparties =
        [vec![], vec!["p"], vec!["q"], vec!["r"], vec!["pp"], vec!["p", "q"], vec!["q", "r"]];
    let amounts = [None, amount(100, "EUR"), amount(200, "EUR"), amount(300, "EUR"), amount(200, "USD")];
    let mut action = Action {
        intent: dice.pick(&["a.x", "a.y", "b", "c"]).parse().unwrap(),
        amount: dice.pick(&amounts),
        counterparties: dice.pick(&counterparties).into_iter().map(name).collect(),
        resource: dice.pick(&[None, Some("o:1"), Some("o:2"), Some("x")]).map(name),
        country: dice.pick(&[None, Some("DE"), Some("FR")]).map(|country| country.parse().unwrap()),
        untrusted: dice.once_in(2),
        arguments: None,
        evidence: None,
        labels: BTreeMap::new(),
        facts: None,
        registered: dice.once_in(2),
        facts_from: dice.pick(&[FactsFrom::Described, FactsFrom::Derived, FactsFrom::Attested]),
    };
    carry(dice, &mut action);
    action
}

/// An instant: before, inside and after what mandates of the small world say of their validity, at hours that
/// differ from zone to zone.
pub(super) fn instant(dice: &mut Dice) -> Timestamp {
    let day =
        dice.pick(&["2026-05-31", "2026-11-29", "2026-11-30", "2026-12-01", "2026-07-06", "2027-06-01"]);
    let hour = dice.pick(&["00:00", "05:59", "07:30", "11:15", "11:30", "17:00", "22:30", "23:59"]);
    at(&format!("{day}T{hour}:00Z"))
}

/// The labels that policies of the small world declare.
pub(super) fn labels() -> Value {
    json!({"audience": ["in", "cust", "pub"]})
}
