//! Requests, catalogue entries, and the facts that come out of the arguments.

use super::*;
use crate::domain::FactsFrom;
use crate::engine::{CatalogueEntry, OutcomeFrom, derive};

fn wire() -> Value {
    json!({
        "title": "Send money",
        "effect": true,
        "irreversible": true,
        "amount": "/money/value",
        "currency": "/money/currency",
        "counterparties": ["/to", "/cc", "/bcc"],
        "resource": "/order~1id",
        "country": {"const": "DE"},
        "arguments": {
            "type": "object",
            "required": ["money", "to"],
            "properties": {
                "money": {"type": "object", "required": ["value"], "properties": {
                    "value": {"type": ["string", "number"]}, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}
                }},
                "to": {"type": "string"},
                "cc": {"type": ["array", "null"], "items": {"type": "string"}},
                "bcc": {"type": "array", "items": {"type": "string"}},
                "order/id": {"type": "string"},
                "note": {"type": "object"}
            }
        }
    })
}

fn entry(value: Value) -> CatalogueEntry {
    CatalogueEntry::read(&value).unwrap()
}

fn arguments() -> Value {
    json!({"money": {"value": "1000.00", "currency": "EUR"}, "to": "acct:1", "bcc": ["acct:2", "acct:1"], "order/id": "order:7"})
}

fn derived(request: Value) -> Result<Action, Malformed> {
    derive(&entry(wire()), &described(request))
}

#[test]
fn the_facts_are_those_of_the_arguments() {
    let action = derived(json!({"intent": "money.send", "arguments": arguments()})).unwrap();
    assert_eq!(action.amount.unwrap().to_string(), "1000.00 EUR");
    assert_eq!(action.counterparties, [name("acct:1"), name("acct:2")]);
    assert_eq!(action.resource, Some(name("order:7")));
    assert_eq!(action.country.unwrap().as_str(), "DE");
    assert_eq!((action.registered, action.untrusted, action.facts_from), (true, true, FactsFrom::Derived));
    let plain = derived(json!({
        "intent": "money.send", "untrusted": false,
        "arguments": {"money": {"value": 5, "currency": "JPY"}, "to": "a", "cc": null, "note": {"anything": [1]}}
    }))
    .unwrap();
    assert_eq!(plain.amount.unwrap().minor_units(), 5);
    assert_eq!((plain.counterparties, plain.resource, plain.untrusted), (vec![name("a")], None, false));
}

#[test]
fn a_description_that_says_otherwise_is_malformed() {
    let ask = |described: Value| {
        let mut request = json!({"intent": "money.send", "arguments": arguments()});
        for (member, value) in described.as_object().unwrap() {
            request[member] = value.clone();
        }
        derived(request)
    };
    let same = json!({
        "amount": {"value": 1000, "currency": "EUR"}, "counterparty": ["acct:2", "acct:1"],
        "resource": "order:7", "country": "DE"
    });
    assert!(ask(same).is_ok());
    for (said, fault) in [
        (
            json!({"amount": {"value": "10.00", "currency": "EUR"}}),
            "/amount: `10.00 EUR` is described, the arguments say `1000.00 EUR`",
        ),
        (
            json!({"amount": {"value": "1000.00", "currency": "USD"}}),
            "/amount: `1000.00 USD` is described, the arguments say `1000.00 EUR`",
        ),
        (
            json!({"counterparty": "acct:1"}),
            "/counterparty: `acct:1` described, the arguments say `acct:1`, `acct:2`",
        ),
        (
            json!({"counterparty": ["acct:1", "acct:2", "acct:3"]}),
            "/counterparty: `acct:1`, `acct:2`, `acct:3` described, the arguments say `acct:1`, `acct:2`",
        ),
        (json!({"resource": "order:8"}), "/resource: `order:8` is described, the arguments say `order:7`"),
        (json!({"country": "FR"}), "/country: `FR` is described, the arguments say `DE`"),
    ] {
        assert_eq!(faults(ask(said.clone())), [fault], "{said}");
    }
    let without = json!({"intent": "money.send", "resource": "order:7",
        "arguments": {"money": {"value": 1, "currency": "EUR"}, "to": "a"}});
    assert_eq!(
        faults(derived(without)),
        ["/resource: `order:7` is described, the arguments say nothing of it"]
    );
}

#[test]
fn arguments_outside_their_schema_are_malformed() {
    for (arguments, fault) in [
        (json!({"to": "a"}), "/arguments: member `money` is missing"),
        (
            json!({"money": {"value": "1", "currency": "EUR"}, "to": "a", "bbc": ["x"]}),
            "/arguments/bbc: unknown member `bbc`",
        ),
        (
            json!({"money": {"value": "1", "currency": "EUR", "sign": "-"}, "to": "a"}),
            "/arguments/money/sign: unknown member `sign`",
        ),
        (
            json!({"money": {"value": "1"}, "to": "a"}),
            "/arguments/money/value: `1` has no currency: the arguments name none",
        ),
        (
            json!({"money": {"value": "1.001", "currency": "EUR"}, "to": "a"}),
            "/arguments/money/value: `1.001` has 3 decimal digits, EUR has 2",
        ),
        (
            json!({"money": {"value": "1", "currency": "EUR"}, "to": "a\u{200b}"}),
            "/arguments/to: `a\\u{200b}` cannot name a counterparty or resource: it holds U+200B, which does not show",
        ),
    ] {
        assert_eq!(
            faults(derived(json!({"intent": "money.send", "arguments": arguments}))),
            [fault],
            "{arguments}"
        );
    }
    let wrong_kind =
        faults(derived(json!({"intent": "money.send", "arguments": {"money": {"value": true}, "to": 5}})));
    assert!(
        wrong_kind.iter().any(|fault| fault.starts_with("/arguments/to: `5` does not meet `type`")),
        "{wrong_kind:?}"
    );
    assert_eq!(
        faults(derived(json!({"intent": "money.send"}))),
        [
            "/arguments: member `arguments` is missing: the catalogue reads the facts of `money.send` from them"
        ]
    );
}

#[test]
fn objects_are_closed_unless_the_schema_opens_them() {
    let accepts = |schema: Value, arguments: Value| {
        let entry = entry(json!({"title": "t", "effect": false, "arguments": schema}));
        derive(&entry, &described(json!({"intent": "x", "arguments": arguments}))).is_ok()
    };
    let named = || json!({"type": "object", "properties": {"a": {}}});
    for (schema, arguments, accepted) in [
        (json!({}), json!({}), true),
        (json!({}), json!({"a": 1}), false),
        (json!({"additionalProperties": true}), json!({"a": 1}), true),
        (named(), json!({"a": 1}), true),
        (named(), json!({"b": 1}), false),
        (json!({"properties": {"in": named()}}), json!({"in": {"b": 1}}), false),
        (json!({"properties": {"in": {"type": "object"}}}), json!({"in": {"b": 1}}), true),
        (
            json!({"properties": {"in": {"properties": {"a": {}}, "additionalProperties": true}}}),
            json!({"in": {"b": 1}}),
            true,
        ),
        (json!({"properties": {"in": {"items": named()}}}), json!({"in": [{"b": 1}]}), false),
        (json!({"properties": {"in": {"prefixItems": [named()]}}}), json!({"in": [{"b": 1}]}), false),
        (json!({"allOf": [named(), {"properties": {"b": {}}}]}), json!({"a": 1, "b": 1}), true),
        (json!({"allOf": [named(), {"properties": {"b": {}}}]}), json!({"c": 1}), false),
        (
            json!({"properties": {"in": {"anyOf": [named(), {"properties": {"b": {}}}]}}}),
            json!({"in": {"b": 1}}),
            true,
        ),
        (
            json!({"properties": {"in": {"anyOf": [named(), {"properties": {"b": {}}}]}}}),
            json!({"in": {"c": 1}}),
            false,
        ),
        (json!({"$ref": "#/$defs/n", "$defs": {"n": named()}}), json!({"a": 1}), true),
        (
            json!({"properties": {"in": {"$ref": "#/$defs/n"}}, "$defs": {"n": named()}}),
            json!({"in": {"b": 1}}),
            false,
        ),
        (
            json!({"properties": {"in": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object"}}}),
            json!({"in": {"b": 1}}),
            true,
        ),
        (
            json!({"properties": {"x": {"if": named(), "then": {"properties": {"b": {}}}}}}),
            json!({"x": {"b": 1}}),
            true,
        ),
    ] {
        assert_eq!(accepts(schema.clone(), arguments.clone()), accepted, "{schema} {arguments}");
    }
}

#[test]
fn a_catalogue_entry_is_checked_before_anyone_relies_on_it() {
    let with = |member: &str, value: Value| {
        let mut entry = wire();
        entry[member] = value;
        entry
    };
    for (wrong, fault) in [
        (with("effect", json!(false)), ": `irreversible: true` needs `effect: true`"),
        (
            with("amount", json!("money")),
            "/amount: `money` is not a JSON Pointer: it begins with `/`, such as `/amount`",
        ),
        (
            with("amount", json!("/a~2")),
            "/amount: `/a~2` is not a JSON Pointer: `~` stands only in `~0` and `~1`",
        ),
        (with("amount", json!(5)), "/amount: `5` found, a JSON Pointer or {\"const\": …} expected"),
        (
            with("currency", json!({"const": "EURO"})),
            "/currency/const: `EURO` is not a currency: three upper-case letters of ISO 4217, such as EUR",
        ),
        (with("country", json!({"const": 5})), "/country/const: `5` found, a text expected"),
        (with("counterparties", json!([])), "/counterparties: 0 entries, 1 to 16 are allowed"),
        (with("outcome", json!("person")), "/outcome: `person` found, allowed: agent, attested"),
        (
            with("scheme", json!(1)),
            "/scheme: unknown member `scheme`, allowed: title, arguments, effect, irreversible, outcome, amount, currency, resource, country, counterparties",
        ),
        (
            with("arguments", json!({"$ref": "https://example.com/s.json"})),
            "/arguments/$ref: `https://example.com/s.json` leads outside the schema",
        ),
        (
            with("arguments", json!({"$schema": "http://json-schema.org/draft-07/schema#"})),
            "/arguments/$schema: `http://json-schema.org/draft-07/schema#` is not the dialect read here: https://json-schema.org/draft/2020-12/schema",
        ),
    ] {
        assert_eq!(faults(CatalogueEntry::read(&wrong)), [fault], "{wrong}");
    }
    for schema in [
        json!({"type": "nothing"}),
        json!({"properties": {"a": {"pattern": "(?=x)"}}}),
        json!({"properties": {"a": {"pattern": "(a)\\1"}}}),
        json!({"properties": {"a": {"pattern": "("}}}),
        json!({"$ref": "#/$defs/missing"}),
        json!({"required": "a"}),
        json!(true),
    ] {
        assert!(CatalogueEntry::read(&with("arguments", schema.clone())).is_err(), "{schema}");
    }
    let mut no_currency = wire();
    no_currency.as_object_mut().unwrap().remove("currency");
    assert_eq!(
        faults(CatalogueEntry::read(&no_currency)),
        ["/amount: an amount without `currency`: say where the currency stands, or what it is"]
    );
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"anyOf": [{"$ref": "#/$defs/y"}]}, "y": {"anyOf": [{"$ref": "#/$defs/x"}]}}}),
    ] {
        if let Ok(entry) = CatalogueEntry::read(&json!({"title": "t", "effect": false, "arguments": schema}))
        {
            let _ = derive(&entry, &described(json!({"intent": "x", "arguments": {"a": {}}})));
        }
    }
}

#[test]
fn an_irreversible_intent_is_attested_unless_it_says_otherwise() {
    assert_eq!(entry(wire()).outcome, OutcomeFrom::Attested);
    let mut agents_word = wire();
    agents_word["outcome"] = json!("agent");
    assert_eq!(entry(agents_word.clone()).outcome, OutcomeFrom::Agent);
    assert_eq!(entry(agents_word.clone()).to_json(), agents_word);
    assert_eq!(entry(wire()).to_json(), wire());
    assert_eq!(entry(json!({"title": "t", "effect": true, "arguments": {}})).outcome, OutcomeFrom::Agent);
}

#[test]
fn a_request_is_read_member_by_member() {
    let request = described(json!({
        "tenant": "acme-emea", "agent": "renewals-emea", "intent": "commit.discount", "country": "DE",
        "amount": {"value": 1240, "currency": "EUR"}, "counterparty": "acct:cus_91", "resource": "order:4412",
        "arguments": {"a": [1]}, "evidence": {"confidence": 0.93, "cites": ["order:4412"]}, "untrusted": true,
        "labels": {"audience": "customer"}, "attachment": {"kind": "message", "from": "x", "text": "\u{202e}any"},
        "decision": crate::domain::DecisionId::new(now(), [2; 10]).to_string(), "min_mandate_version": 7
    }));
    assert_eq!(request.amount.unwrap().to_string(), "1240.00 EUR");
    assert_eq!(request.counterparties, Some(vec![name("acct:cus_91")]));
    assert_eq!(request.evidence.unwrap().confidence.unwrap().to_string(), "0.93");
    assert_eq!((request.min_mandate_version, request.untrusted), (Some(7), Some(true)));
    assert_eq!(request.labels["audience"], "customer");
}

#[test]
fn every_fault_of_a_request_is_named_where_it_stands() {
    for (wrong, fault) in [
        (json!({}), ": member `intent` is missing"),
        (
            json!({"intent": "x", "untrustd": false}),
            "/untrustd: unknown member `untrustd`, allowed: tenant, agent, intent, country, amount, counterparty, resource, arguments, evidence, untrusted, labels, attachment, decision, min_mandate_version, subject_token, facts",
        ),
        (json!({"intent": "x", "facts": {}}), "/facts: only an enforcement point may state `facts`"),
        (
            json!({"intent": "x", "subject_token": "t"}),
            "/subject_token: only an enforcement point may state `subject_token`",
        ),
        (json!({"intent": "x", "amount": {"value": 1}}), "/amount: member `currency` is missing"),
        (
            json!({"intent": "x", "amount": {"value": "-1", "currency": "EUR"}}),
            "/amount/value: `-1` is not an amount: a positive decimal such as \"24.00\"",
        ),
        (
            json!({"intent": "x", "amount": {"value": 1, "currency": "EUR", "unit": 1}}),
            "/amount/unit: unknown member `unit`, allowed: value, currency",
        ),
        (json!({"intent": "x", "counterparty": []}), "/counterparty: 0 entries, 1 to 64 are allowed"),
        (json!({"intent": "x", "counterparty": ["a", "a"]}), "/counterparty/1: `a` stands twice"),
        (json!({"intent": "x", "counterparty": 5}), "/counterparty: `5` found, a text expected"),
        (
            json!({"intent": "x", "country": "de"}),
            "/country: `de` is not a country: two upper-case letters of ISO 3166-1, such as DE",
        ),
        (json!({"intent": "x", "untrusted": null}), "/untrusted: `null` found, true or false expected"),
        (
            json!({"intent": "x", "evidence": {"confidence": 1.01}}),
            "/evidence/confidence: `1.01` is not a decimal from 0 to 1, such as 0.93",
        ),
        (
            json!({"intent": "x", "min_mandate_version": -1}),
            "/min_mandate_version: `-1` is not a version: a whole number",
        ),
        (json!({"intent": "x", "arguments": []}), "/arguments: `[…]` found, an object expected"),
        (
            json!({"intent": "x", "attachment": {"text": "y".repeat(16 * 1024)}}),
            "/attachment: 16395 bytes, 16384 are allowed",
        ),
    ] {
        assert_eq!(faults(read_request(&wrong)), [fault], "{wrong}");
    }
}

#[test]
fn a_confidence_is_compared_exactly() {
    let confidence = |value: Value| {
        described(json!({"intent": "x", "evidence": {"confidence": value}}))
            .evidence
            .unwrap()
            .confidence
            .unwrap()
    };
    let ascending = [
        json!(0),
        json!("0.05"),
        json!(0.3),
        json!("0.30000000000000004"),
        json!("0.9"),
        json!(0.93),
        json!("1"),
    ];
    for pair in ascending.windows(2) {
        assert!(confidence(pair[0].clone()) < confidence(pair[1].clone()), "{pair:?}");
    }
    assert_eq!(confidence(json!("0.80")), confidence(json!(0.8)));
    assert_eq!(confidence(json!(1e-7)).to_string(), "0.0000001");
    for wrong in [
        json!("1.1"),
        json!(-0.1),
        json!("0."),
        json!(".5"),
        json!("1e-3"),
        json!("00.5"),
        json!(true),
        json!(""),
    ] {
        assert!(read_request(&json!({"intent": "x", "evidence": {"confidence": wrong}})).is_err(), "{wrong}");
    }
}

#[test]
fn a_schema_whose_checking_grows_without_bound_is_refused() {
    let refused = |schema: Value| {
        CatalogueEntry::read(&json!({"title": "t", "effect": false, "arguments": schema}))
            .unwrap_err()
            .to_string()
    };
    let linear = json!({"properties": {"in": {"properties": {"in": {"$ref": "#/properties/in"}}}}});
    assert!(refused(linear).contains("leads back into itself"));
    let node = json!({"type": "array", "items": {"$ref": "#/$defs/n"}});
    let branching =
        json!({"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [node, node]}}});
    assert!(refused(branching).contains("leads back into itself"));
    // Each level refers to the next one ten times: no cycle, and 10^6 schemas all the same.
    let level = |next: &str| json!({"anyOf": vec![json!({"$ref": next}); 5]});
    let doubling = json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {
        "a": level("#/$defs/b"), "b": level("#/$defs/c"), "c": level("#/$defs/d"), "d": level("#/$defs/e"), "e": {"type": "string"}}});
    assert!(refused(doubling).contains("400 schemas with its references followed"));
    let patterns = |count: usize| {
        let texts = (0..count).map(|index| (format!("t{index}"), json!({"pattern": "^[a-z]+$"})));
        json!({"properties": texts.collect::<serde_json::Map<_, _>>()})
    };
    assert!(CatalogueEntry::read(&json!({"title": "t", "effect": false, "arguments": patterns(32)})).is_ok());
    assert!(refused(patterns(33)).contains("more than 32 patterns"));
    let names: serde_json::Map<_, _> = (0..33).map(|index| (format!("^x{index}"), json!({}))).collect();
    assert!(refused(json!({"patternProperties": names})).contains("more than 32 patterns"));
    let pattern = |text: String| json!({"properties": {"t": {"type": "string", "pattern": text}}});
    let letters = json!({"properties": {"t": {"pattern": "^[\\p{L} ]+$"}}});
    assert!(CatalogueEntry::read(&json!({"title": "t", "effect": false, "arguments": letters})).is_ok());
    assert!(refused(pattern("a".repeat(257))).contains("has 257 bytes, 256 are allowed"));
    // Short to write, and large to search with.
    assert!(refused(pattern("[a-z]{1,90}{1,90}".to_owned())).contains("not a JSON Schema"));
}

#[test]
fn a_faulty_schema_is_named_at_every_place_with_what_is_allowed() {
    let schema = json!({
        "type": "objekt",
        "required": "a",
        "properties": {
            "a": {"type": ["string", "text"], "maxLength": "3"},
            "b": {"minimum": "1", "multipleOf": 0},
            "c": 5,
        },
        "allOf": [],
        "$defs": {"x/y": {"uniqueItems": "yes", "enum": "z"}},
        "dependentRequired": {"a": ["b", 1]},
    });
    let kinds = "array, boolean, integer, null, number, object, string";
    assert_eq!(
        faults(CatalogueEntry::read(&json!({"title": "t", "effect": false, "arguments": schema}))),
        [
            "/arguments/$defs/x~1y/enum: the text `z` found, a list expected".to_owned(),
            "/arguments/$defs/x~1y/uniqueItems: the text `yes` found, true or false expected".to_owned(),
            "/arguments/allOf: 0 entries, 1 to 1024 are allowed".to_owned(),
            "/arguments/dependentRequired/a/1: `1` found, a text expected".to_owned(),
            "/arguments/properties/a/maxLength: the text `3` found, a whole number, 0 or more expected"
                .to_owned(),
            format!("/arguments/properties/a/type/1: `text` found, allowed: {kinds}"),
            "/arguments/properties/b/minimum: the text `1` found, a number expected".to_owned(),
            "/arguments/properties/b/multipleOf: `0` found, a number above 0 expected".to_owned(),
            "/arguments/properties/c: `5` found, a schema: an object, true or false expected".to_owned(),
            "/arguments/required: the text `a` found, a list expected".to_owned(),
            format!("/arguments/type: `objekt` found, allowed: {kinds}"),
        ]
    );
}

#[test]
fn a_pointer_that_leads_nowhere_in_the_schema_is_named() {
    let check = |arguments: Value, pointer: &str| {
        let value = json!({"title": "t", "effect": false, "arguments": arguments, "resource": pointer,
            "counterparties": [{"const": "acct:1"}]});
        entry(value).check_meant()
    };
    let closed = || {
        json!({"type": "object", "properties": {
            "order": {"type": "object", "properties": {"id": {"type": "string"}}},
            "lines": {"type": "array", "items": {"type": "string"}},
            "free": {"type": "object"},
            "open": {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            "either": {"anyOf": [{"type": "string"}]},
        }})
    };
    for (pointer, leads) in [
        ("/order/id", true),
        ("/order", true),
        ("/order/nr", false),
        ("/order/id/more", false),
        ("/oder", false),
        ("/lines/0", true),
        ("/lines/first", false),
        ("/free/anything", true),
        ("/open/b", true),
        ("/either/x", true),
    ] {
        let found = check(closed(), pointer);
        assert_eq!(found.is_ok(), leads, "{pointer}: {found:?}");
    }
    assert!(check(json!({"additionalProperties": false}), "/order").is_err());
    assert!(check(json!({}), "/order").is_ok(), "a schema that says nothing is not yet a mistake");
    assert_eq!(
        faults(check(closed(), "/oder")),
        ["/resource: `/oder` stands nowhere in what the schema of `arguments` takes"]
    );
}
