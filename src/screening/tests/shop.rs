//! The shop's conversation, turn by turn, and word for word what its model is given.

use super::{Given, effect, rules};
use crate::domain::EffectStatus;
use crate::screening::{Language, Rules, turn};
use serde_json::json;

fn shop() -> Rules {
    rules(&json!({
        "personal_data": {"card": "redact", "national_id": "withhold", "email": "allow"},
        "never_say": ["guaranteed refund"],
        "must_accompany": [{
            "when_done": "refund_card",
            "add": "Refunds reach the card in three to five working days."
        }]
    }))
}

#[test]
fn the_model_is_given_what_it_may_read() {
    let shop = shop();
    let given = |text: &str| turn(text, &shop, Language::English);
    assert_eq!(given("zork").text, "zork");
    let card = given("my card is 4111 1111 1111 1111, is it on file?");
    assert_eq!(card.text, "my card is **** 1111, is it on file?");
    let number = given("my social security number is 123-45-6789");
    assert!(number.withheld);
    assert_eq!(number.text, "");
    assert!(number.say.is_some_and(|say| !say.is_empty() && !say.contains("6789")));
    let parcel = given("the parcel for 4412 vanished");
    assert_eq!(parcel.text, "the parcel for 4412 vanished");
    assert!(parcel.findings.is_empty());
}

#[test]
fn the_person_is_shown_what_may_be_said() {
    let shop = shop();
    let reply = "Your card 4111 1111 1111 1111 is on file; the card 4111 1111 1111 1112 is not.";
    let shown = Given { effects: Some(&[]), ..Given::text(reply) }.screen(&shop);
    assert_eq!(shown.text, "Your card **** 1111 is on file; the card 4111 1111 1111 1112 is not.");
    let refund = effect("refund_card", EffectStatus::Done, json!({"order_id": "4412", "amount": 12.50}));
    let reply = "I've refunded 12.50 pounds for order 4412. It is a guaranteed refund.";
    let shown = Given { effects: Some(&[refund]), ..Given::text(reply) }.screen(&shop);
    assert_eq!(
        shown.text,
        "I've refunded 12.50 pounds for order 4412. Refunds reach the card in three to five working days."
    );
}
