//! What replies say of writes and of facts, held against the ledger and the records.

use super::{Given, NOW, counted, effect, rules};
use crate::domain::{Duration, EffectStatus};
use crate::screening::{Audience, Language, Record, Rules};
use serde_json::{Value, json};

fn none() -> Rules {
    Rules::default()
}

fn record(fields: Value) -> Record {
    Record { effect: None, fields, at: Some(NOW), fresh_for: None, schema: None }
}

#[test]
fn a_write_that_nothing_attempted_is_not_said_to_be_done() {
    let given = Given { effects: Some(&[]), ..Given::text("Good news. I've refunded it. Bye.") };
    let screened = given.screen(&none());
    assert_eq!(screened.text, "Good news. This was not done: refund. Bye.");
    assert_eq!(counted(&screened), json!({"reply_assertion_refused": 1}));
    for (text, shown) in [
        ("Your refund has been issued.", "This was not done: refund."),
        ("I notified them.", "This was not done: team notify."),
        ("All done!", "Nothing was done."),
        ("Your order has shipped.", "Your order has shipped."),
        ("Your order has been delivered.", "Your order has been delivered."),
        ("I can refund it. Shall I?", "I can refund it. Shall I?"),
    ] {
        assert_eq!(Given { effects: Some(&[]), ..Given::text(text) }.screen(&none()).text, shown);
    }
    let unsaid = Given::text("I've refunded it.").screen(&none());
    assert_eq!(unsaid.text, "I've refunded it.", "without a ledger nothing is said of claims");
}

#[test]
fn portuguese_is_held_to_the_ledger_too() {
    let language = Language::BrazilianPortuguese;
    let given = Given { effects: Some(&[]), language, ..Given::text("Já reembolsei você. Até logo.") };
    assert_eq!(given.screen(&none()).text, "Isto não foi feito: refund. Até logo.");
}

#[test]
fn a_report_is_held_to_how_the_write_ended() {
    for (status, text, shown) in [
        (EffectStatus::Failed, "I've refunded it.", "This did not go through: payments refund."),
        (
            EffectStatus::Unknown,
            "I've refunded it.",
            "It is not known yet whether this went through: payments refund.",
        ),
        (EffectStatus::Done, "I couldn't refund it.", "Done: payments refund."),
        (EffectStatus::Failed, "I couldn't refund it.", "I couldn't refund it."),
        (EffectStatus::Done, "I've refunded it.", "I've refunded it."),
    ] {
        let effects = [effect("payments.refund", status, json!({}))];
        let screened = Given { effects: Some(&effects), ..Given::text(text) }.screen(&none());
        assert_eq!(screened.text, shown);
        let replaced = u64::from(text != shown);
        assert_eq!(
            counted(&screened).get("reply_outcome_replaced").cloned(),
            (replaced > 0).then(|| json!(replaced))
        );
    }
}

#[test]
fn a_write_that_the_reply_leaves_out_is_added() {
    let effects = [effect("payments.refund", EffectStatus::Done, json!({}))];
    let screened = Given { effects: Some(&effects), ..Given::text("Anything else?") }.screen(&none());
    assert_eq!(screened.text, "Anything else? Done: payments refund.");
    assert_eq!(counted(&screened), json!({"reply_outcome_added": 1}));
}

#[test]
fn a_value_that_its_write_was_neither_sent_nor_returned_is_not_stated() {
    let effects =
        [effect("payments.refund", EffectStatus::Done, json!({"amount": "12.50", "order": "4412"}))];
    let given = |text, audience, records| {
        Given { effects: Some(&effects), audience, records, ..Given::text(text) }.screen(&none())
    };
    let wrong = "I've refunded 15.20 pounds for order 4412.";
    let screened = given(wrong, Audience::Customer, None);
    assert_eq!(screened.text, "Done: payments refund.");
    assert_eq!(counted(&screened), json!({"reply_value_replaced": 1}));
    let screened = given(wrong, Audience::Staff, None);
    assert_eq!(screened.text, wrong);
    assert_eq!(counted(&screened), json!({"reply_value_highlighted": 1}));
    let lit: Vec<_> = screened.findings.iter().map(|noted| &wrong[noted.span.clone()]).collect();
    assert_eq!(lit, ["15.20"]);
    let returned = [Record { effect: Some(effects[0].id), ..record(json!({"total": 15.2})) }];
    assert_eq!(given(wrong, Audience::Customer, Some(&returned)).text, wrong);
    let right = "I've refunded £12.50 for order #4412.";
    assert_eq!(given(right, Audience::Customer, None).text, right);
}

#[test]
fn a_value_the_write_was_sent_is_masked_where_it_would_be_removed() {
    let effects = [effect("payments.refund", EffectStatus::Done, json!({"card": "4111111111111111"}))];
    let text = "I've refunded the card 4111 1111 1111 1111. The card 4242 4242 4242 4242 is another.";
    let given = Given { effects: Some(&effects), ..Given::text(text) };
    let screened = given.screen(&rules(&json!({"personal_data": {"card": "withhold"}})));
    assert_eq!(screened.text, "I've refunded the card **** 1111.");
    assert_eq!(
        counted(&screened),
        json!({"reply_pd_detected_card": 2, "reply_pd_masked": 1, "reply_pd_withheld": 1})
    );
    let again = Given { effects: Some(&effects), ..Given::text(&screened.text) };
    assert_eq!(again.screen(&rules(&json!({"personal_data": {"card": "withhold"}}))).text, screened.text);
}

#[test]
fn facts_are_traced_to_what_calls_returned() {
    let order = |total: f64| json!({"order_id": "4412", "total": total});
    let fresh = record(order(12.5));
    let counts = |text, records: &[Record]| {
        counted(&Given { records: Some(records), ..Given::text(text) }.screen(&none()))
    };
    assert_eq!(
        counts("It was 12.50 for 4412.", std::slice::from_ref(&fresh)),
        json!({"reply_facts_traced": 2})
    );
    assert_eq!(counts("It was 13.50.", std::slice::from_ref(&fresh)), json!({"reply_facts_untraced": 1}));
    assert_eq!(
        counts("It was 12.50.", &[fresh.clone(), record(order(13.5))]),
        json!({"reply_facts_traced": 1, "reply_facts_conflict": 1})
    );
    let another = record(json!({"order_id": "4413", "total": 13.5}));
    assert_eq!(counts("It was 12.50.", &[fresh.clone(), another]), json!({"reply_facts_traced": 1}));
    let stale = Record {
        at: Some(NOW.minus(Duration::minutes(2))),
        fresh_for: Some(Duration::minutes(1)),
        ..fresh.clone()
    };
    assert_eq!(counts("It was 12.50.", &[stale]), json!({"reply_facts_traced": 1, "reply_facts_stale": 1}));
    let schema = Some(json!({"properties": {"total": {"type": "number", "maximum": 10}}}));
    assert_eq!(
        counts("It was 12.50.", &[Record { schema, ..fresh }]),
        json!({"reply_facts_traced": 1, "reply_facts_out_of_range": 1})
    );
}

#[test]
fn staff_see_what_no_record_holds_highlighted() {
    let records = [record(json!({"total": 12.5}))];
    let text = "It was 13.50.";
    let given = Given { records: Some(&records), audience: Audience::Staff, ..Given::text(text) };
    let screened = given.screen(&none());
    assert_eq!(screened.text, text);
    assert_eq!(counted(&screened), json!({"reply_facts_untraced": 1, "reply_value_highlighted": 1}));
}

#[test]
fn an_exact_reply_has_nothing_added() {
    let rules = rules(&json!({
        "reply_exactly": [{"when_cited": "recall", "say": "Please stop using it."}],
        "must_accompany": [{"when_cited": "recall", "add": "Have a good day."}]
    }));
    let given = Given { cites: &["recall".to_owned()], ..Given::text("It is fine.") };
    let screened = given.screen(&rules);
    assert_eq!(screened.text, "Please stop using it.");
    assert_eq!(counted(&screened), json!({"reply_exact_reply": 1}));
}
