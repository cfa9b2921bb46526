//! What holds of every text: masking settles, and the work grows with the text.

use super::*;
use crate::screening::masked;
use proptest::prelude::*;

/// Texts of pieces that make values and break them.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "4242",
        " 4242 4242 4242 4242",
        "4242424242424242",
        "0",
        "1",
        "42",
        "536-90-4399",
        "536 90 4399",
        "07700 900461",
        "415-555-0132",
        "(415) 555-0132",
        "+1 415 555 0132",
        "+44",
        "390.533.447-05",
        "66325601726",
        "AB",
        "123456",
        "12 34 56",
        "C",
        "a",
        "GB29NWBK60161331926819",
        "GB29",
        " NWBK 6016 1331 9268 19",
        "DE89 3704 0044 0532 0130",
        " 00",
        "jane@example.com",
        "@",
        "example.com",
        ".com",
        "x",
        "***",
        "**** ",
        "*",
        "\"",
        " ",
        " ",
        " ",
        "-",
        ".",
        ",",
        "\n",
        "/",
        ":",
        "(",
        ")",
        "+",
        "$",
        " dash ",
        "ssn ",
        "\u{200b}",
        "\u{ad}",
        "–",
        "\u{a0}",
        "４２",
        "٤٢",
        "是",
        "é",
        "e\u{301}",
        "_",
        "x456",
        "1234",
        "5678",
        "00",
        "08:00",
        "192.168.100.12",
        "social security ",
    ]);
    prop::collection::vec(pieces, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_masked_text_holds_nothing_more(text in texts()) {
        let found = detect(&text, &Detection::default());
        let shown = masked(&text, &found);
        let again = detect(&shown, &Detection::default());
        prop_assert!(again.is_empty(), "{text:?} {found:?} became {shown:?} {again:?}");
    }

    #[test]
    fn findings_lie_apart_in_the_text(text in texts()) {
        let found = detect(&text, &Detection::default());
        let mut rest = 0;
        for finding in &found {
            prop_assert!(finding.span.start >= rest && finding.span.start < finding.span.end);
            prop_assert!(text.get(finding.span.clone()).is_some());
            rest = finding.span.end;
        }
    }

    #[test]
    fn taking_text_away_makes_no_value(text in texts(), from in 0_usize..60, length in 1_usize..30) {
        let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let part = boundary(from)..boundary(from + length);
        let kept = without(&text, std::slice::from_ref(&part), &Detection::default());
        // A part of nothing, as inside one character, touches no value.
        let outside = |finding: &Finding| {
            part.is_empty() || finding.span.end <= part.start || finding.span.start >= part.end
        };
        let values = |text: &str, findings: Vec<Finding>| -> Vec<String> {
            findings.into_iter().map(|finding| text[finding.span].to_owned()).collect()
        };
        let before = detect(&text, &Detection::default());
        let reaching: Vec<String> =
            before.iter().filter(|finding| !outside(finding)).map(|finding| finding.mask.clone()).collect();
        let known = values(&text, before.into_iter().filter(outside).collect());
        let after = values(&kept, detect(&kept, &Detection::default()));
        prop_assert!(
            after.iter().all(|value| known.contains(value)),
            "{text:?} {part:?} {reaching:?} became {kept:?} with {after:?}"
        );
    }
}

#[test]
fn the_work_grows_with_the_text_and_no_faster() {
    for unit in [
        "1",
        "1-",
        "1 ",
        "1.",
        "@",
        "a@",
        "a.b.c",
        "\u{200b}",
        "1\u{200b}",
        "\u{200b}a",
        "(",
        "1(",
        "4242 ",
        "4242424242424242 ",
        "\"@",
        "a\"@",
        "1 a ",
        "aa 12 ",
        "+1",
        "536904399 ",
        "GB29 ",
        "GB29NWBK6016133192681 ",
        "é",
        "e\u{301}@",
        "٤",
        "-",
        "****",
        "a@b.",
        "x@y.zz ",
        "415 555 0132 ",
        "1x2",
        "08:",
        "12 34 56 ",
        "a1",
        "1 dash ",
        "是1",
        "是@是.是是",
    ] {
        let steps = |length: usize| {
            let text = unit.repeat(length / unit.len());
            counted(&text, &Detection::default()).1
        };
        let (short, long) = (steps(1 << 13), steps(1 << 17));
        assert!(long <= 17 * short, "{unit:?}: {short} steps for 8 KiB, {long} for 128 KiB");
        assert!(long <= 160 << 17, "{unit:?}: {long} steps for 128 KiB");
    }
    for unit in ["1", "1-1-1-", "@", "a.b.c", "\u{200b}"] {
        let (_, steps) = counted(&unit.repeat((1 << 20) / unit.len()), &Detection::default());
        assert!(steps <= 100 << 20, "{unit:?}: {steps} steps for 1 MiB");
    }
}
