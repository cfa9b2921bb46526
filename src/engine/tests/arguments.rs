//! Tests of one value: what passes, what does not, and what cannot be compared.

use super::*;
use crate::domain::Decimal;
use crate::engine::argument::{ArgumentTest, Pattern, Scalar};
use crate::engine::condition::Pass;
use crate::engine::reach::HostDomains;
use proptest::prelude::*;

#[test]
fn a_pattern_matches_a_whole_text() {
    let pattern: Pattern = "INV-[0-9]{4}|draft".parse().unwrap();
    let test = ArgumentTest::Matches(pattern);
    for (value, passes) in [
        ("INV-0042", true),
        ("draft", true),
        ("INV-00421", false),
        ("xdraft", false),
        ("draft\n", false),
        ("x\ndraft", false),
    ] {
        assert_eq!(test.holds(Some(&json!(value)), Pass::Every), passes, "{value:?}");
    }
    for wrong in ["", "a)|(b", "(", "(a)\\1", "(?=a)b", "a{1000}{1000}", "(?x)a #", &"a".repeat(257)] {
        assert!(wrong.parse::<Pattern>().is_err(), "{wrong}");
    }
    let error = "(".parse::<Pattern>().unwrap_err();
    assert_eq!(error, "`(` is not a pattern that can be matched: unclosed group");
    assert_eq!(
        "a)|(b".parse::<Pattern>().unwrap_err(),
        "`a)|(b` is not a pattern that can be matched: unopened group"
    );
}

#[test]
fn a_list_stands_for_its_entries() {
    let test = ArgumentTest::In(["a", "b"].into_iter().map(|text| Scalar::Text(text.into())).collect());
    for (value, every, any) in [
        (json!("a"), true, true),
        (json!(["a", "b"]), true, true),
        (json!([["a"], ["b", "a"]]), true, true),
        (json!(["a", "c"]), false, true),
        (json!(["a", null]), false, true),
        (json!(["a", {"b": "a"}]), false, true),
        (json!([]), false, false),
        (json!([[]]), false, false),
        (json!({"a": "a"}), false, true),
        (json!(null), false, false),
    ] {
        assert_eq!(test.holds(Some(&value), Pass::Every), every, "{value}");
        assert_eq!(test.holds(Some(&value), Pass::Any), any, "{value}");
    }
    let each = ArgumentTest::Each(vec![test]);
    for (value, every, any) in [
        (json!("a"), false, true),
        (json!("c"), false, false),
        (json!({"a": "c"}), false, true),
        (json!([]), false, false),
        (json!(["a", "b"]), true, true),
        (json!(["a", "c"]), false, true),
        (json!(["c"]), false, false),
    ] {
        assert_eq!(each.holds(Some(&value), Pass::Every), every, "{value}");
        assert_eq!(each.holds(Some(&value), Pass::Any), any, "{value}");
    }
}

#[test]
fn a_refusal_acts_on_what_cannot_be_compared() {
    let test = |tests: Value| -> ArgumentTest {
        let (name, bound) = tests.as_object().unwrap().iter().next().unwrap();
        let scalars = || bound.as_array().unwrap().iter().map(|value| Scalar::of(value).unwrap()).collect();
        match name.as_str() {
            "at_least" => ArgumentTest::AtLeast(Decimal::of(bound).unwrap()),
            "at_most" => ArgumentTest::AtMost(Decimal::of(bound).unwrap()),
            "equals" => ArgumentTest::Equals(Scalar::of(bound).unwrap()),
            "in" => ArgumentTest::In(scalars()),
            "not_in" => ArgumentTest::NotIn(scalars()),
            "prefix" => ArgumentTest::Prefix(bound.as_str().unwrap().into()),
            "matches" => ArgumentTest::Matches(bound.as_str().unwrap().parse().unwrap()),
            other => panic!("{other}"),
        }
    };
    let object = || json!({"n": 5000});
    // The test, and values that it passes, that it fails, and that nobody can compare with it.
    for (name, passes, fails, unclear) in [
        (
            json!({"at_least": 1000}),
            vec![json!(1000), json!("1000.0")],
            vec![json!(999), json!("999"), json!(null), json!([])],
            vec![
                json!("1 000"),
                json!("1e9 "),
                json!("1,000"),
                json!(true),
                object(),
                json!([1, [object()]]),
            ],
        ),
        (json!({"at_most": 5}), vec![json!(5)], vec![json!(6), json!("6")], vec![json!("five"), object()]),
        (
            json!({"equals": 7}),
            vec![json!(7), json!(7.0)],
            vec![json!(8), json!("8"), json!("seven"), json!(true)],
            vec![json!("7"), json!("7.0"), object()],
        ),
        (json!({"equals": "true"}), vec![json!("true")], vec![json!(false), json!(1)], vec![json!(true)]),
        (
            json!({"in": ["a", 7]}),
            vec![json!("a"), json!(7), json!(["a", 7])],
            vec![json!("b"), json!(8)],
            vec![json!("7"), json!({"a": "a"})],
        ),
        (
            json!({"not_in": ["a", 7]}),
            vec![json!("b"), json!(8), json!("A")],
            vec![json!("a"), json!(7)],
            vec![json!("7"), object()],
        ),
        (
            json!({"prefix": "4"}),
            vec![json!("42")],
            vec![json!("24")],
            vec![json!(42), json!(true), object()],
        ),
        (json!({"matches": "4+"}), vec![json!("44")], vec![json!("24")], vec![json!(44), object()]),
    ] {
        let test = test(name.clone());
        for (values, every, any) in [(passes, true, true), (fails, false, false), (unclear, false, true)] {
            for value in values {
                assert_eq!(test.holds(Some(&value), Pass::Every), every, "allowing {name} {value}");
                assert_eq!(test.holds(Some(&value), Pass::Any), any, "refusing {name} {value}");
            }
        }
        assert!(!test.holds(None, Pass::Any), "{name}");
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("true"),
        json!("1 000"),
        json!(1),
        json!(1.0),
        json!(2),
        json!("1"),
        json!("2.5"),
        json!("a"),
        json!("ab"),
        json!("x.example.com"),
        json!("example.com"),
        json!(true),
        json!(false),
    ])
}

fn test() -> impl Strategy<Value = ArgumentTest> {
    let of = |value: &Value| Scalar::of(value).unwrap();
    let set =
        move || prop::collection::vec(scalar(), 1..4).prop_map(move |values| values.iter().map(of).collect());
    let number =
        || prop::sample::select(vec!["1", "2", "2.5"]).prop_map(|text| text.parse::<Decimal>().unwrap());
    let domain = prop::sample::select(vec!["example.com", "x.example.com"])
        .prop_map(|text| ArgumentTest::Domain(HostDomains([text.parse().unwrap()].into())));
    let leaf = prop_oneof![
        scalar().prop_map(move |value| ArgumentTest::Equals(of(&value))),
        set().prop_map(ArgumentTest::In),
        set().prop_map(ArgumentTest::NotIn),
        number().prop_map(ArgumentTest::AtMost),
        number().prop_map(ArgumentTest::AtLeast),
        domain,
        prop::sample::select(vec!["a", "ab", "x"]).prop_map(|text| ArgumentTest::Prefix(text.into())),
        prop::sample::select(vec!["a.*", "[0-9.]+"])
            .prop_map(|text| ArgumentTest::Matches(text.parse().unwrap())),
        any::<bool>().prop_map(ArgumentTest::Exists),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| prop::collection::vec(inner, 1..3).prop_map(ArgumentTest::Each))
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![6 => scalar(), 1 => Just(Value::Null), 1 => Just(json!({}))];
    leaf.prop_recursive(3, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Value::from))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn what_follows_is_true_of_every_value(premise in test(), test in test(), values in prop::collection::vec(value(), 24)) {
        for value in values {
            for pass in [Pass::Every, Pass::Any] {
                let passes = premise.holds(Some(&value), pass);
                let follows = premise.implies(&test);
                prop_assert!(!(follows && passes) || test.holds(Some(&value), pass), "{value} {pass:?}");
            }
            if !value.is_array() {
                let both = premise.holds(Some(&value), Pass::Every) && test.holds(Some(&value), Pass::Every);
                prop_assert!(!(both && premise.contradicts(&test)), "{value}");
            }
        }
    }
}
