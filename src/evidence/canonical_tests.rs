//! RFC 8785's own examples, and laws over generated values.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn text(value: &Value) -> String {
    String::from_utf8(to_vec(value)).unwrap()
}

/// RFC 8785 appendix B: the bits of a double and how it is written.
#[test]
fn numbers_are_written_as_the_table_of_appendix_b_says() {
    for (bits, expected) in [
        (0x0000_0000_0000_0000_u64, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(text(&json!(f64::from_bits(bits))), expected, "{bits:016x}");
    }
}

/// RFC 8785 §3.2.2: the example object, before and after.
#[test]
fn the_example_of_the_standard_comes_out_as_printed() {
    let given = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let value: Value = serde_json::from_str(given).unwrap();
    let expected = concat!(
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
        r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
    );
    assert_eq!(text(&value), expected);
}

/// RFC 8785 §3.2.3: the sorting example.
#[test]
fn members_are_sorted_by_utf16_code_units() {
    let value = json!({
        "\u{20ac}": "Euro Sign",
        "\r": "Carriage Return",
        "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\u{1f600}": "Emoji: Grinning Face",
        "\u{80}": "Control",
        "\u{f6}": "Latin Small Letter O With Diaeresis"
    });
    let written = text(&value);
    let places: Vec<_> = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"]
        .map(|word| written.find(word))
        .into();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{written}");
}

#[test]
fn only_what_must_be_escaped_is_escaped() {
    assert_eq!(text(&json!("\u{8}\t\n\u{c}\r\"\\/\u{7f}\u{2028}é\u{1}\u{1f}")), {
        "\"\\b\\t\\n\\f\\r\\\"\\\\/\u{7f}\u{2028}é\\u0001\\u001f\""
    });
}

fn any_value() -> impl Strategy<Value = Value> {
    let name = prop_oneof![any::<String>(), "[a-c\u{e000}\u{ffff}\u{10000}\u{10ffff}é]{0,3}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |double| double.is_finite()).prop_map(Value::from),
        (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn an_independent_implementation_writes_the_same(value in any_value()) {
        prop_assert_eq!(to_vec(&value), serde_json_canonicalizer::to_vec(&value).unwrap());
    }

    #[test]
    fn what_is_canonical_stays_as_it_is(value in any_value()) {
        let once = to_vec(&value);
        let again: Value = serde_json::from_slice(&once).unwrap();
        prop_assert_eq!(to_vec(&again), once);
    }

    #[test]
    fn the_order_is_that_of_utf16(left: String, right: String) {
        prop_assert_eq!(utf16_order(&left, &right), left.encode_utf16().cmp(right.encode_utf16()));
    }
}
