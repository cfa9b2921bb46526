//! The published cases of wording, sentences, offers, required sentences, exact replies and actions.

use super::{Given, effect, rules};
use crate::domain::EffectStatus;
use crate::screening::{Language, Rules, turn};
use serde_json::{Value, json};

/// Cases that a fair reader could see otherwise, and how they come out here.
const READINGS: [(&str, bool); 5] = [
    // `İ` folds to i with a dot above, in every language.
    ("open-never-say-014", true),
    // A reply of which nothing is left is empty: what to show then is for whoever shows it.
    ("open-never-say-020", true),
    // Markers are whole words, as phrases are: a shop lists its plurals.
    ("open-offers-005", true),
    // Read as it is written: a sentence with an allowed offer stays.
    ("open-offers-006", true),
    // A hyphen is a blank wherever phrases are compared.
    ("open-reply-exactly-005", true),
];

fn cases(classes: &[&str]) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../tests/vectors/screening.json")).unwrap();
    let of_class = |case: &&Value| classes.contains(&case["class"].as_str().unwrap());
    all["cases"].as_array().unwrap().iter().filter(of_class).cloned().collect()
}

/// What is wrong with the outcome of one case.
fn fault(case: &Value) -> Option<String> {
    let text = case["text"].as_str().unwrap();
    let context = &case["context"];
    if context["kind"] == "rules" {
        let said = Rules::read(&case["rules"]).unwrap_err();
        let named = |key: &Value| {
            let pointer = format!("/{}", key.as_str().unwrap().replace('.', "/"));
            said.faults.iter().any(|fault| fault.pointer == pointer)
        };
        return (!case["expect"]["refused"].as_array().unwrap().iter().all(named)).then(|| said.to_string());
    }
    let rules = rules(&case["rules"]);
    let strings = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let (shown, findings) = if context["kind"] == "turn" {
        let screened = turn(text, &rules, Language::English);
        if screened.withheld != (case["expect"]["withheld"] == true) {
            return Some("withheld or not".to_owned());
        }
        let reply = screened.say.clone().filter(|_| !screened.withheld);
        if !screened.withheld && json!(reply) != case["expect"]["reply"] {
            return Some(format!("said {reply:?}"));
        }
        (reply.unwrap_or(screened.text), screened.findings)
    } else {
        // What only reads is no effect, and is not in the ledger.
        let done = strings(&context["done"]).into_iter().filter(|tool| !tool.starts_with("get_"));
        let effects: Vec<_> =
            done.map(|tool| effect(&tool, EffectStatus::Done, json!(["12.50", "4412"]))).collect();
        let cites = strings(&context["cited"]);
        let effects = context["done"].is_array().then_some(&effects[..]);
        let screened = Given { effects, cites: &cites, ..Given::text(text) }.screen(&rules);
        (screened.text, screened.findings)
    };
    if shown != case["masked_text"].as_str().unwrap() {
        return Some(format!("shown {shown:?}"));
    }
    let mut spans: Vec<_> = findings.iter().map(|noted| (noted.span.start, noted.span.end)).collect();
    let expected = case["spans"].as_array().unwrap();
    let place = |span: &Value, name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
    let expected: Vec<_> =
        expected.iter().map(|span| (place(span, "start_byte"), place(span, "end_byte"))).collect();
    spans.retain(|span| expected.contains(span) || case["class"] == "action");
    (spans != expected).then(|| format!("found at {spans:?}"))
}

#[test]
fn every_case_that_is_not_in_doubt_comes_out_as_published() {
    let cases = cases(&["never_say", "sentence", "offers", "must_accompany", "reply_exactly", "action"]);
    assert_eq!(cases.len(), 75);
    let sure = cases.iter().filter(|case| case["tier"] != "disputed");
    let wrong: Vec<_> = sure.filter_map(|case| Some((case["id"].to_string(), fault(case)?))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_case_in_doubt_comes_out_as_it_is_read_here() {
    let cases = cases(&["never_say", "sentence", "offers", "must_accompany", "reply_exactly", "action"]);
    let disputed: Vec<_> = cases.iter().filter(|case| case["tier"] == "disputed").collect();
    assert_eq!(disputed.len(), READINGS.len());
    for case in disputed {
        let reading = READINGS.iter().find(|(id, _)| case["id"] == *id);
        assert_eq!(reading.map(|(_, agrees)| *agrees), Some(fault(case).is_none()), "{}", case["id"]);
    }
}
