//! What is found in the corpus of cases, value by value, and every account number of the registry.

use super::*;
use crate::screening::masked;
use serde_json::Value;

/// The corpus's cases of personal data.
fn cases() -> Vec<Value> {
    let corpus: Value = serde_json::from_str(include_str!("../../../tests/vectors/screening.json")).unwrap();
    let classes = ["email", "iban", "card", "national_id", "phone", "mixed"];
    let of_classes = |case: &&Value| classes.contains(&case["class"].as_str().unwrap());
    corpus["cases"].as_array().unwrap().iter().filter(of_classes).cloned().collect()
}

/// What differs between what a case says and what is found: places in bytes and characters, masks, the masked text.
fn difference(case: &Value) -> Option<String> {
    let text = case["text"].as_str().unwrap();
    let found = detect(text, &Detection::default());
    let characters = |at: usize| text[..at].chars().count();
    let ours: Vec<_> = found
        .iter()
        .map(|finding| {
            let span = finding.span.clone();
            let places = [span.start, span.end, characters(span.start), characters(span.end)];
            (finding.class.as_str(), text[span].to_owned(), places, finding.mask.clone())
        })
        .collect();
    let number = |span: &Value, name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
    let theirs: Vec<_> = case["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| {
            let places = ["start_byte", "end_byte", "start_char", "end_char"].map(|name| number(span, name));
            let text = |name: &str| span[name].as_str().unwrap();
            (text("class"), text("value").to_owned(), places, text("mask").to_owned())
        })
        .collect();
    let same = ours == theirs && masked(text, &found) == case["masked_text"].as_str().unwrap();
    (!same).then(|| format!("{} {text:?}\n  found {ours:?}\n  wanted {theirs:?}", case["id"]))
}

#[test]
fn every_undisputed_case_of_the_corpus_is_found_as_it_says() {
    let cases = cases();
    let undisputed = cases.iter().filter(|case| case["tier"] != "disputed");
    assert_eq!(undisputed.clone().count(), 236);
    let wrong: Vec<String> = undisputed.filter_map(difference).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of the disputed cases none is read otherwise: a card is told by its checksum and an account number by its length
/// and check digits, whatever else it could be; a plus makes a phone; letters that touch digits make a reference.
#[test]
fn the_disputed_cases_are_read_as_the_corpus_reads_them() {
    let cases = cases();
    let disputed: Vec<_> = cases.iter().filter(|case| case["tier"] == "disputed").collect();
    let agreed = disputed.iter().filter(|case| difference(case).is_none()).count();
    assert_eq!((agreed, disputed.len()), (21, 21));
}

#[test]
fn every_account_number_of_the_registry_is_found_however_it_is_written() {
    let registry: Value =
        serde_json::from_str(include_str!("../../../tests/vectors/iban-registry.json")).unwrap();
    let registry = registry.as_object().unwrap();
    assert_eq!(registry.len(), 89);
    for (country, entry) in registry {
        let number = entry["ex"].as_str().unwrap();
        let grouped = |separator: &str| {
            let groups: Vec<_> =
                number.as_bytes().chunks(4).map(|group| std::str::from_utf8(group).unwrap()).collect();
            groups.join(separator)
        };
        let wide: String =
            number.chars().map(|one| char::from_u32(u32::from(one) + 0xFEE0).unwrap()).collect();
        for written in [
            number.to_owned(),
            grouped(" "),
            number.to_lowercase(),
            grouped(" ").to_lowercase(),
            grouped("-"),
            grouped("\u{200b}"),
            grouped("\u{a0}"),
            grouped(" dash "),
            wide,
        ] {
            let text = format!("pay to {written}, please");
            let found = detect(&text, &Detection::default());
            let mask = format!("{country}** **** {}", &number[number.len() - 4..]);
            let ours: Vec<_> =
                found.iter().map(|one| (one.class, &text[one.span.clone()], one.mask.as_str())).collect();
            assert_eq!(ours, [(Class::Iban, written.as_str(), mask.as_str())], "{written}");
        }
        for (at, digit) in number.char_indices().filter(|(at, one)| *at >= 4 && one.is_ascii_digit()) {
            let other = if digit == '9' { '0' } else { char::from(u8::try_from(digit).unwrap() + 1) };
            let changed = format!("{}{other}{}", &number[..at], &number[at + 1..]);
            let found = detect(&format!("pay to {changed}, please"), &Detection::default());
            assert!(found.is_empty(), "{changed}: {found:?}");
        }
    }
}

#[test]
fn separators_may_be_spelt_and_digits_of_any_script() {
    for (text, class, mask) in [
        ("4111 dash 1111 dash 1111 dash 1111", Class::Card, "**** 1111"),
        ("4111 traço 1111 TRACO 1111 hífen 1111", Class::Card, "**** 1111"),
        ("536 ponto 90 ponto 4399", Class::NationalId, "***4399"),
        ("४१११ १११११११११ १११", Class::Card, "**** 1111"),
        ("4\u{200b}1\u{ad}1\u{2060}1 1111\u{feff} 1111 1111", Class::Card, "**** 1111"),
        ("4️⃣1️⃣1️⃣1️⃣ 1111 1111 1111", Class::Card, "**** 1111"),
        ("𝟓𝟑𝟔−𝟗𝟎−𝟒𝟑𝟗𝟗", Class::NationalId, "***4399"),
    ] {
        let found = detect(text, &Detection::default());
        assert_eq!(
            found.iter().map(|one| (one.class, one.mask.as_str())).collect::<Vec<_>>(),
            [(class, mask)],
            "{text}"
        );
    }
}

#[test]
fn nine_digits_beside_the_words_are_a_social_security_number() {
    for text in [
        "my ssn is 536904399",
        "SSN: 536904399.",
        "536904399 is my social security number",
        "meu número de segurança social é 536904399",
        "seguro social 536 904 399",
    ] {
        let found = detect(text, &Detection::default());
        assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), ["ssn"], "{text}");
    }
    for text in [
        "order 536904399",
        "no ssn here. Order 536904399",
        "ssn 000904399",
        "my ssn\n536904399",
        "classn 536904399",
    ] {
        assert!(detect(text, &Detection::default()).is_empty(), "{text}");
    }
}
