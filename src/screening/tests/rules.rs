//! The file that rules are written in, and the schema that is published of it.

use super::rules;
use crate::screening::{LONGEST_PHRASE, MOST_ENTRIES, NationalId, Rules};
use jsonschema::PatternOptions;
use serde_json::{Value, json};

fn schema() -> jsonschema::Validator {
    let schema: Value =
        serde_json::from_str(include_str!("../../../schema/reply-rules.schema.json")).unwrap();
    jsonschema::options().with_pattern_options(PatternOptions::regex()).build(&schema).unwrap()
}

fn whole() -> Value {
    json!({
        "language": "pt-BR",
        "personal_data": {"email": "allow", "iban": "redact", "national_id": "withhold", "card": "redact", "phone": "allow"},
        "national_ids": ["br_cnpj", "nl_bsn"],
        "must_accompany": [
            {"add": "Leva cinco dias.", "when_done": "payments.refund"},
            {"add": "Não é conselho médico.", "when_cited": "medical"}
        ],
        "reply_exactly": [
            {"say": "Ligue para a loja.", "when_asked": "allergy", "words": ["alergia", "nozes"]},
            {"say": "Pare de usar.", "when_cited": "recall"}
        ],
        "never_say": ["reembolso garantido"],
        "offers": {"allowed": ["5% de desconto"], "markers": ["desconto", "cupom"]},
        "writes": [{"intent": "payments.refund", "words": ["dinheiro de volta"]}]
    })
}

#[test]
fn rules_are_written_as_they_are_read() {
    let read = rules(&whole());
    assert_eq!(read.to_json(), whole());
    assert_eq!(rules(&json!({})), Rules::default());
    assert_eq!(Rules::default().to_json(), json!({}));
}

#[test]
fn everything_wrong_is_named_at_once() {
    let said = Rules::read(&json!({
        "personal_data": {"passport": "redact", "card": "hide"},
        "never_says": ["x"],
        "must_accompany": [{"add": "Hello.", "when": "done"}],
        "language": "pt"
    }))
    .unwrap_err()
    .to_string();
    for part in [
        "/personal_data/passport: unknown class `passport`, allowed: email, iban, national_id, card, phone",
        "/personal_data/card: ",
        "`hide`",
        "redact, withhold",
        "/never_says: unknown key `never_says`",
        "/must_accompany/0/when: unknown key `when`",
        "/language: `pt` is not a language that is read: en, pt-BR",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn what_the_rules_add_holds_to_the_rules() {
    for (wrong, pointer) in [
        (
            json!({"never_say": ["no risk"], "must_accompany": [{"add": "There is no risk.", "when_cited": "a"}]}),
            "/must_accompany/0/add",
        ),
        (
            json!({"reply_exactly": [{"say": "Pay to 4111 1111 1111 1111.", "when_cited": "a"}]}),
            "/reply_exactly/0/say",
        ),
    ] {
        let said = Rules::read(&wrong).unwrap_err();
        assert_eq!(said.faults[0].pointer, pointer);
        assert!(!said.to_string().contains("4111"));
    }
}

#[test]
fn the_schema_and_the_reader_agree() {
    let schema = schema();
    let corpus: Value = serde_json::from_str(include_str!("../../../tests/vectors/screening.json")).unwrap();
    let cases = corpus["cases"].as_array().unwrap().iter().filter_map(|case| case.get("rules").cloned());
    let mut documents: Vec<Value> = cases.collect();
    documents.push(whole());
    let long = "a".repeat(LONGEST_PHRASE + 1);
    let ids: Vec<&str> = NationalId::all().map(NationalId::as_str).collect();
    let many = vec!["word"; MOST_ENTRIES + 1];
    documents.extend([
        json!([]),
        json!({"personal_data": {"card": "mask"}}),
        json!({"personal_data": {"cards": "redact"}}),
        json!({"personal_data": []}),
        json!({"never_say": "x"}),
        json!({"never_say": [""]}),
        json!({"never_say": ["!?"]}),
        json!({"never_say": ["é"]}),
        json!({"never_say": [long]}),
        json!({"never_say": many}),
        json!({"never_say": [5]}),
        json!({"never": []}),
        json!({"offers": {"markers": ["x"]}}),
        json!({"offers": {"marker": ["x"]}}),
        json!({"must_accompany": [{"add": "x"}]}),
        json!({"must_accompany": [{"when_done": "a.b"}]}),
        json!({"must_accompany": [{"add": "x", "when_done": "A B"}]}),
        json!({"must_accompany": [{"add": "x", "when_done": "a.b", "when_cited": "c"}]}),
        json!({"reply_exactly": [{"say": "x"}]}),
        json!({"reply_exactly": [{"say": "x", "words": ["y"]}]}),
        json!({"reply_exactly": [{"say": "x", "when_cited": "t", "words": ["y"]}]}),
        json!({"reply_exactly": [{"say": "x", "when_asked": "t", "words": []}]}),
        json!({"national_ids": ["xx_id"]}),
        json!({"national_ids": ["nl_bsn", "nl_bsn"]}),
        json!({"national_ids": ids}),
        json!({"language": "pt"}),
        json!({"language": "en"}),
        json!({"writes": [{"intent": "a.b", "words": ["sent back"]}]}),
        json!({"writes": [{"intent": "a.b"}]}),
    ]);
    for document in documents {
        assert_eq!(Rules::read(&document).is_ok(), schema.is_valid(&document), "{document}");
    }
}
