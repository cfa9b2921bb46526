//! What readers take and what they refuse, with the place and the words of every fault.

use super::*;
use crate::engine::{ClauseId, Notation, read_text};

#[test]
fn yaml_and_json_say_the_same() {
    let yaml = br#"
scopes: [action:request, question:ask, mandate:read, decision:read]
valid: {from: 2026-11-01T00:00:00Z, until: 2027-02-01T00:00:00+01:00}   # half-open
unlisted: refuse
counterparties:
  - id: acct:1
    aliases: [Shop]
    at_most: {value: 100.10, currency: EUR}
clauses:
  - id: M-001
    title: Small refunds for our own orders
    intent: payments.refund
    effect: allow
    when:
      amount: {at_most: {value: "100.00", currency: EUR}}
      counterparty: {known: true, not_in: ["acct:9"]}
      country: {in: [DE, NO]}
      resource: {prefix: "order:"}
      untrusted: false
    otherwise: refuse
  - id: M-002
    intent: "account.*"
    effect: refuse
"#;
    let json = json!({
        "scopes": ["action:request", "question:ask", "mandate:read", "decision:read"],
        "valid": {"from": "2026-11-01T00:00:00.000Z", "until": "2027-01-31T23:00:00.000Z"},
        "unlisted": "refuse",
        "counterparties": [
            {"id": "acct:1", "aliases": ["Shop"], "at_most": {"value": "100.10", "currency": "EUR"}}
        ],
        "clauses": [
            {"id": "M-001", "title": "Small refunds for our own orders", "intent": "payments.refund",
             "effect": "allow", "otherwise": "refuse",
             "when": {
                "amount": {"at_most": {"value": "100.00", "currency": "EUR"}},
                "counterparty": {"known": true, "not_in": ["acct:9"]},
                "country": {"in": ["DE", "NO"]},
                "resource": {"prefix": "order:"},
                "untrusted": false
             }},
            {"id": "M-002", "intent": "account.*", "effect": "refuse"}
        ]
    });
    assert_eq!(Notation::of(yaml), Notation::Yaml);
    let document = MandateDocument::read(&read_text(yaml, Notation::Yaml).unwrap()).unwrap();
    assert_eq!(document.to_json(), json);
    let text = json.to_string();
    assert_eq!(Notation::of(text.as_bytes()), Notation::Json);
    assert_eq!(
        MandateDocument::read(&read_text(text.as_bytes(), Notation::Json).unwrap()).unwrap(),
        document
    );
}

#[test]
fn yaml_numbers_keep_every_digit() {
    let amount = |text: &str| {
        let yaml =
            format!("scopes: []\ncounterparties:\n - id: a\n   at_most: {{value: {text}, currency: EUR}}\n");
        let read = read_text(yaml.as_bytes(), Notation::Yaml).and_then(|value| MandateDocument::read(&value));
        read.map(|document| document.counterparties[0].at_most.unwrap().minor_units())
    };
    for (text, minor_units) in [
        ("100.00", 10000),
        ("100", 10000),
        ("0.1", 10),
        ("1e3", 100_000),
        ("\"92233720368547758.07\"", i64::MAX),
    ] {
        assert_eq!(amount(text).unwrap(), minor_units, "{text}");
    }
    for text in [
        "92233720368547758.07",
        "100.001",
        "0x10",
        "0o17",
        "1_000",
        "+1",
        ".5",
        "5.",
        "007",
        ".inf",
        ".nan",
        "-1",
        "0",
        "1e400",
        "184467440737095516150",
        "!!float \"5\"",
        "!!int \"5\"",
        "true",
        "~",
    ] {
        assert!(amount(text).is_err(), "{text}");
    }
}

#[test]
fn yaml_words_are_words() {
    let value =
        read_text(b"a: no\nb: yes\nc: NO\nd: on\ne: true\nf: null\ng:\nh: 2026-11-01\n", Notation::Yaml)
            .unwrap();
    let expected = json!({
        "a": "no", "b": "yes", "c": "NO", "d": "on", "e": true, "f": null, "g": null, "h": "2026-11-01"
    });
    assert_eq!(value, expected);
}

#[test]
fn yaml_that_hides_something_is_refused() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let bombs = [
        "a: &x [1]\nb: *x\n".to_owned(),
        "a: &x 1\n".to_owned(),
        "base: {a: 1}\nb:\n  <<: {a: 2}\n".to_owned(),
        "a: 1\na: 2\n".to_owned(),
        "a: {b: 1, \"b\": 2}\n".to_owned(),
        "a: !secret 5\n".to_owned(),
        "a: 1\n---\nb: 2\n".to_owned(),
        "intent: *\n".to_owned(),
        "a: [\n".to_owned(),
        "? [a]\n: 1\n".to_owned(),
        deep(33),
        format!("a: \"{}\"", "x".repeat(256 * 1024)),
    ];
    for bomb in bombs {
        assert!(read_text(bomb.as_bytes(), Notation::Yaml).is_err(), "{}", &bomb[..bomb.len().min(40)]);
    }
    assert!(read_text(deep(32).as_bytes(), Notation::Yaml).is_ok());
    assert!(read_text(b"a: \xff\n", Notation::Yaml).is_err());
}

#[test]
fn yaml_faults_say_where_and_what() {
    for (text, said) in [
        ("a: 1\na: 2\n", "not YAML: line 2, column 1: member `a` stands twice"),
        (
            "a: &x [1]\nb: *x\n",
            "not YAML: line 1, column 7: anchors (`&`) and aliases (`*`) are not allowed: quote the text if it is one",
        ),
        ("b:\n  <<: {a: 2}\n", "not YAML: line 2, column 3: merge keys (`<<`) are not allowed"),
        ("a: 1\n---\nb: 2\n", "not YAML: line 2, column 1: a second document begins, one is allowed"),
        (
            "a: !secret 5\n",
            "not YAML: line 1, column 12: unsupported tag `!secret` (a text that begins with `*`, `&` or `!` needs quotes)",
        ),
        ("a: 1\nb: [2\n", "not YAML: line 2, column 4: unclosed bracket '['"),
        ("a: 0x10\n", "/a: `0x10` is not a number as JSON writes it with all its digits: quote it"),
    ] {
        assert_eq!(read_text(text.as_bytes(), Notation::Yaml).unwrap_err().to_string(), said);
    }
}

#[test]
fn every_fault_of_a_mandate_is_named_where_it_stands() {
    let written = json!({
        "scopes": ["action:request", "mandate:write", "action:request", "pay"],
        "valid": {"from": "2027-01-01T00:00:00Z", "until": "2026-01-01"},
        "unlisted": "allow",
        "domains": {"Pay": {}},
        "counterparties": [{"id": "a\u{202e}b"}, {"id": "a"}, {"id": "b", "aliases": ["a"]}],
        "clauses": [
            {"id": "1", "intent": "Pay", "effect": "permit"},
            {"id": "A", "intent": "pay", "effect": "refuse", "otherwise": "refuse"},
            {"id": "A", "intent": "pay", "effect": "allow", "whem": {}, "limits": []},
            {"id": "B", "intent": "pay", "effect": "allow", "when": {
                "hours": {}, "colour": {}, "amount": {}, "country": {"in": ["XX", "DE", "DE"]},
                "counterparty": {"known": false, "domain": ["x.de"]}, "resource": {"in": []}, "untrusted": "no"
            }},
            5
        ]
    });
    assert_eq!(
        faults(MandateDocument::read(&written)),
        [
            "/scopes/2: `action:request` stands twice",
            "/scopes/3: `pay` is not a scope: one of action:request, question:ask, question:answer, mandate:read, \
             mandate:write, decision:read, call:read",
            "/scopes: `mandate:write` belongs to people alone: no mandate gives it to an agent",
            "/valid/until: `2026-01-01` is not a time with an offset as RFC 3339 writes it, such as 2026-11-01T00:00:00Z",
            "/unlisted: `allow` found, allowed: escalate, refuse",
            "/counterparties/0/id: `a\\u{202e}b` cannot name a counterparty or resource: it holds U+202E, which does not show",
            "/counterparties/2: `a` already names a counterparty of this list",
            "/domains/Pay: `Pay` is not an intent pattern: an intent, a prefix such as `payments.*`, or `*`",
            "/clauses/0/id: `1` is not a clause id: a letter, then at most 63 letters, digits, _ and -",
            "/clauses/0/intent: `Pay` is not an intent pattern: an intent, a prefix such as `payments.*`, or `*`",
            "/clauses/0/effect: `permit` found, allowed: allow, escalate, refuse",
            "/clauses/1/otherwise: `otherwise` stands only where `effect` is allow",
            "/clauses/2/whem: unknown member `whem`, allowed: id, title, intent, effect, when, limits, otherwise, \
             approvals, obligation",
            "/clauses/2/limits: 0 entries, 1 to 16 are allowed",
            "/clauses/3/when/colour: unknown condition `colour`, allowed: amount, counterparty, country, resource, \
             untrusted, arguments, facts, evidence, labels, hours, links, contains",
            "/clauses/3/when/amount: it tests nothing, allowed: at_most, at_least",
            "/clauses/3/when/counterparty/known: `known: false` stands only where `effect` is escalate or refuse",
            "/clauses/3/when/country/in/0: `XX` is not a country: two upper-case letters of ISO 3166-1, such as DE",
            "/clauses/3/when/country/in/2: `DE` stands twice",
            "/clauses/3/when/resource/in: 0 entries, 1 to 1000 are allowed",
            "/clauses/3/when/untrusted: the text `no` found, true or false expected",
            "/clauses/3/when/hours: member `zone` is missing",
            "/clauses/3/when/hours: it tests nothing: give `days`, or `from` and `until`",
            "/clauses/4: `5` found, an object expected",
        ]
    );
}

#[test]
fn a_mandate_needs_its_scopes_and_nothing_else() {
    assert_eq!(mandate(json!({"scopes": []})), MandateDocument::initial());
    assert_eq!(faults(MandateDocument::read(&json!({}))), [": member `scopes` is missing"]);
    assert_eq!(faults(MandateDocument::read(&json!([]))), [": `[…]` found, an object expected"]);
    assert_eq!(
        faults(MandateDocument::read(&json!({"scopes": [], "valid": {}}))),
        ["/valid: neither `from` nor `until` is given"]
    );
    let inverted =
        json!({"scopes": [], "valid": {"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}});
    assert_eq!(
        faults(MandateDocument::read(&inverted)),
        ["/valid/until: `2026-01-01T00:00:00.000Z` is not after `from`, which is `2026-01-01T00:00:00.000Z`"]
    );
}

#[test]
fn some_members_stand_only_in_some_clauses() {
    for (effect, member, value, fault) in [
        (
            "escalate",
            "limits",
            json!([{"count": 1, "per": "day"}]),
            "`limits` stand only where `effect` is allow",
        ),
        (
            "refuse",
            "approvals",
            json!({"count": 1}),
            "`approvals` stands only where a person may say yes: `effect` is refuse",
        ),
        (
            "escalate",
            "obligation",
            json!("Look twice"),
            "`obligation` stands only in a policy's clauses whose `effect` is escalate",
        ),
    ] {
        let written = json!([{"id": "A", "intent": "pay", "effect": effect, member: value}]);
        assert_eq!(faults(CredentialClauses::read(&written)), [format!("/0/{member}: {fault}")]);
    }
}

#[test]
fn a_policy_comes_in_two_forms_that_do_not_mix() {
    let clause = json!({"id": "P", "intent": "vote", "effect": "refuse"});
    let me = agent().to_string();
    let short = json!({"applies": {"agent": me}, "clauses": [clause]});
    let long = json!({"rule_sets": [short]});
    assert_eq!(policy(short.clone()), policy(long.clone()));
    assert_eq!(policy(short).to_json(), long);
    assert_eq!(policy(json!({})), PolicyDocument::empty());
    for (wrong, fault) in [
        (
            json!({"rule_sets": [], "clauses": []}),
            "/rule_sets: `rule_sets` stands beside `applies` or `clauses`: write one form or the other",
        ),
        (json!({"applies": {}}), ": member `clauses` is missing"),
        (
            json!({"rule_sets": [{"clauses": []}, {"applies": {}, "clauses": []}]}),
            "/rule_sets/1: another rule set applies to the same agent and country",
        ),
        (
            json!({"rule_sets": [{"clauses": [clause]}, {"applies": {"country": "DE"}, "clauses": [clause]}]}),
            "/rule_sets/1/clauses/0/id: `P` already names a clause of this document",
        ),
        (
            json!({"unregistered": "allow"}),
            "/unregistered: `allow` found, allowed: described, escalate, refuse",
        ),
        (
            json!({"applies": {"agent": "me"}, "clauses": []}),
            "/applies/agent: `me` is not an id of the form agt_…",
        ),
        (json!({"labels": {}}), "/labels: 0 labels, 1 to 32 are allowed"),
        (
            json!({"rule_sets": [{"clauses": [], "labels": {"a": ["b", "c"]}}]}),
            "/rule_sets/0/labels: unknown member `labels`, allowed: applies, clauses",
        ),
    ] {
        assert_eq!(faults(PolicyDocument::read(&wrong)), [fault], "{wrong}");
    }
}

#[test]
fn a_clause_id_cannot_pass_for_one_of_the_service() {
    for right in ["M-001", "a", "Z_9", &"a".repeat(64)] {
        assert!(right.parse::<ClauseId>().is_ok(), "{right}");
    }
    for wrong in ["", "1a", "-a", "mandate.scopes", "a b", "ä", &"a".repeat(65)] {
        assert!(wrong.parse::<ClauseId>().is_err(), "{wrong}");
    }
}

/// The published schemas refuse by themselves what has the wrong shape, so that an editor that knows only
/// them shows the same.
#[test]
fn the_schemas_alone_refuse_wrong_shapes() {
    use crate::engine::published;
    let mandate = |clause: Value| json!({"scopes": [], "clauses": [clause]});
    let when = |when: Value| mandate(json!({"id": "A", "intent": "pay", "effect": "allow", "when": when}));
    for wrong in [
        json!({}),
        json!({"scopes": ["mandate:write"]}),
        json!({"scopes": [], "domains": {"pay": {}}}),
        json!({"scopes": [], "valid": {}}),
        json!({"scopes": [], "unlisted": "allow"}),
        mandate(json!({"id": "1", "intent": "pay", "effect": "allow"})),
        mandate(json!({"id": "A", "intent": "Pay", "effect": "allow"})),
        mandate(json!({"id": "A", "intent": "pay", "effect": "permit"})),
        mandate(json!({"id": "A", "intent": "pay", "effect": "refuse", "otherwise": "refuse"})),
        mandate(json!({"id": "A", "intent": "pay", "effect": "allow", "limits": []})),
        when(json!({"hours": {}})),
        when(json!({"amount": {}})),
        when(json!({"amount": {"at_most": {"value": "1"}}})),
        when(json!({"counterparty": {"known": false}})),
        when(json!({"country": {"in": []}})),
        when(json!({"resource": {"owner": "agent"}})),
        when(json!({"hours": {"zone": "Europe/Berlin"}})),
        when(json!({"hours": {"from": "08:00", "zone": "Europe/Berlin"}})),
        when(json!({"hours": {"days": ["monday"], "zone": "Europe/Berlin"}})),
        when(json!({"hours": {"from": "8:00", "until": "18:00", "zone": "Europe/Berlin"}})),
        when(json!({"arguments": {}})),
        when(json!({"arguments": {"to": {"exists": true}}})),
        when(json!({"arguments": {"/to": {}}})),
        when(json!({"arguments": {"/to": {"equals": null}}})),
        when(json!({"arguments": {"/to": {"in": []}}})),
        when(json!({"arguments": {"/to": {"at_most": "many"}}})),
        when(json!({"arguments": {"/to": {"each": {"some": 1}}}})),
        when(json!({"facts": {"/a": {"matches": ""}}})),
        when(json!({"evidence": {}})),
        when(json!({"evidence": {"confidence": {"at_least": "1.1"}}})),
        when(json!({"evidence": {"cites": {"at_least": 0}}})),
        when(json!({"labels": {"audience": {"equals": "customer"}}})),
        when(json!({"links": {"domain": ["*.example.com"]}})),
        when(json!({"counterparty": {"domain": ["anna@example.com"]}})),
        when(json!({"contains": {"not_in": [{"literal": "abc"}]}})),
        when(json!({"contains": {"not_in": [{"class": "iban"}]}})),
        when(json!({"contains": {"not_in": ["abc"]}})),
        when(json!({"untrusted": "no"})),
    ] {
        assert!(published::MANDATE.check(&wrong).is_err(), "{wrong}");
        assert!(MandateDocument::read(&wrong).is_err(), "{wrong}");
    }
    for wrong in [
        json!({"rule_sets": [], "clauses": []}),
        json!({"applies": {}}),
        json!({"rule_sets": [{}]}),
        json!({"unregistered": "allow"}),
        json!({"applies": {"agent": "me"}, "clauses": []}),
        json!({"labels": {}}),
        json!({"labels": {"audience": ["one"]}}),
        json!({"labels": {"audience": ["one", "one"]}}),
    ] {
        assert!(published::POLICY.check(&wrong).is_err(), "{wrong}");
        assert!(PolicyDocument::read(&wrong).is_err(), "{wrong}");
    }
    let refusal = mandate(
        json!({"id": "A", "intent": "*", "effect": "refuse", "when": {"counterparty": {"known": false}}}),
    );
    assert!(published::MANDATE.check(&refusal).is_ok());
    assert!(published::CLAUSES.check(&json!([{"id": "A"}])).is_err());
}
