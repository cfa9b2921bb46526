//! What holds of every text.

use super::{Given, effect, rules};
use crate::domain::EffectStatus;
use crate::screening::{Action, Audience, Rules, detect};
use proptest::prelude::*;
use serde_json::json;

fn some_rules() -> impl Strategy<Value = Rules> {
    let action = || prop::sample::select(vec!["redact", "withhold", "allow"]);
    (action(), action(), action()).prop_map(|(card, email, phone)| {
        rules(&json!({
            "personal_data": {"card": card, "email": email, "phone": phone, "national_id": "withhold"},
            "never_say": ["guaranteed refund", "no risk"],
            "offers": {"markers": ["discount"], "allowed": ["10% discount"]},
            "must_accompany": [{"when_done": "payments.refund", "add": "It takes five days."}]
        }))
    })
}

fn a_reply() -> impl Strategy<Value = String> {
    let pieces = vec![
        "4111 1111 1111 1111",
        "4111 1111",
        " 1111 1111",
        "j@example.com",
        "123-45-6789",
        "123-45",
        "-6789",
        "+1 415 555 0132",
        "GB82 WEST 1234 5698 7654 32",
        "guaranteed refund",
        "Guaranteed",
        "refund",
        "No",
        "risk",
        "a 10% discount",
        "a discount",
        "I've refunded 12.50",
        "I couldn't refund it",
        "Done",
        "It has been refunded",
        "I sent",
        ". ",
        ".",
        "! ",
        "? ",
        "\n",
        "\n\n",
        " ",
        "…",
        "Dr. ",
        "(",
        ")",
        "1. ",
        "**",
        "é",
        "x",
        "Word ",
        "5 ",
        "@",
        "“",
        "”",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..25).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn screening_what_was_screened_changes_nothing(text in a_reply(), rules in some_rules(), is_done: bool, staff: bool) {
        let status = if is_done { EffectStatus::Done } else { EffectStatus::Failed };
        let effects = [effect("payments.refund", status, json!({"card": "4111111111111111", "amount": 12.5}))];
        let audience = if staff { Audience::Staff } else { Audience::Customer };
        let once = Given { effects: Some(&effects), audience, ..Given::text(&text) }.screen(&rules);
        let twice = Given { effects: Some(&effects), audience, ..Given::text(&once.text) }.screen(&rules);
        prop_assert_eq!(&twice.text, &once.text);
        for finding in detect(&once.text, &rules.detection()) {
            prop_assert_eq!(rules.personal_data.of(finding.class), Action::Allow, "{}", once.text);
        }
        for found in &once.findings {
            prop_assert!(text.get(found.span.clone()).is_some());
        }
    }

    #[test]
    fn any_text_can_be_screened(text in "\\PC{0,80}", rules in some_rules()) {
        let once = Given::text(&text).screen(&rules);
        prop_assert_eq!(&Given::text(&once.text).screen(&rules).text, &once.text);
    }
}
