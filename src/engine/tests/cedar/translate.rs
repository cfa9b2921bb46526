//! From clauses as JSON to policies as Cedar's text.

use serde_json::Value;

/// What the id of a policy begins with that stands for no clause; no clause id does.
pub(super) const NO_CLAUSE: char = '(';

/// What becomes of an intent that no allowance names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unnamed {
    /// It passes.
    Passes,
    /// A person decides.
    Escalates,
    /// It is refused, unless an escalation acts.
    Refuses,
}

impl Unnamed {
    /// A credential without an allowance restricts only.
    pub(super) fn of_credential(clauses: &[Value]) -> Self {
        if clauses.iter().any(|clause| clause["effect"] == "allow") { Self::Escalates } else { Self::Passes }
    }
}

/// Policies by id: permitted by the first set is what is allowed, by the second what is allowed or escalated.
pub(super) struct Translated {
    pub(super) allowed: Vec<(String, String)>,
    pub(super) not_refused: Vec<(String, String)>,
}

pub(super) fn document(clauses: &[Value], unnamed: Unnamed) -> Translated {
    let with_effect = |effect: &'static str| clauses.iter().filter(move |clause| clause["effect"] == effect);
    let (mut allowed, mut not_refused) = (Vec::new(), Vec::new());
    let named = any(with_effect("allow").map(intent));
    // An allowance that fails hard wins over escalations, but not over an allowance that passes.
    let hard = any(with_effect("allow").filter(|clause| clause["otherwise"] == "refuse").map(intent));
    for clause in with_effect("allow") {
        let policy = policy("permit", clause, Pass::Every, "false");
        allowed.push((id(clause), policy.clone()));
        not_refused.push((id(clause), policy));
    }
    for clause in with_effect("escalate") {
        allowed.push((id(clause), policy("forbid", clause, Pass::Any, "false")));
        not_refused.push((format!("{NO_CLAUSE}{}", id(clause)), policy("permit", clause, Pass::Any, &hard)));
    }
    for clause in with_effect("refuse") {
        let policy = policy("forbid", clause, Pass::Any, "false");
        allowed.push((id(clause), policy.clone()));
        not_refused.push((id(clause), policy));
    }
    let softly = match unnamed {
        Unnamed::Refuses => named.clone(),
        Unnamed::Passes | Unnamed::Escalates => "true".to_owned(),
    };
    let text = format!("permit(principal, action, resource) when {{ {softly} }} unless {{ {hard} }};");
    not_refused.push((format!("{NO_CLAUSE}softly"), text));
    if unnamed == Unnamed::Passes {
        let text = format!("permit(principal, action, resource) unless {{ {named} }};");
        allowed.push((format!("{NO_CLAUSE}unnamed"), text));
    }
    Translated { allowed, not_refused }
}

/// Of a fact with several values, how many must pass.
#[derive(Clone, Copy)]
enum Pass {
    Every,
    Any,
}

fn id(clause: &Value) -> String {
    clause["id"].as_str().unwrap().to_owned()
}

fn policy(effect: &str, clause: &Value, pass: Pass, unless: &str) -> String {
    let (intent, when) = (intent(clause), conditions(&clause["when"], pass));
    format!("{effect}(principal, {intent}, resource) when {{ {when} }} unless {{ {unless} }};")
}

fn any(tests: impl Iterator<Item = String>) -> String {
    let tests: Vec<String> = tests.map(|test| format!("({test})")).collect();
    if tests.is_empty() { "false".to_owned() } else { tests.join(" || ") }
}

/// Each intent is a member of every pattern that names it, by that pattern's text.
fn intent(clause: &Value) -> String {
    let pattern = clause["intent"].as_str().unwrap();
    let relation = if pattern.ends_with('*') { "in" } else { "==" };
    format!("action {relation} Action::{}", quoted(pattern))
}

fn conditions(when: &Value, pass: Pass) -> String {
    let mut tests = vec!["true".to_owned()];
    for (fact, of_fact) in when.as_object().into_iter().flatten() {
        if fact == "untrusted" {
            tests.push(format!("context.untrusted == {of_fact}"));
            continue;
        }
        for (test, bound) in of_fact.as_object().unwrap() {
            tests.push(format!("context has {fact} && ({})", one(fact, test, bound, pass)));
        }
    }
    tests.join(" && ")
}

fn one(fact: &str, test: &str, bound: &Value, pass: Pass) -> String {
    match (fact, test) {
        ("amount", "at_most") => {
            let (currency, units) = (quoted(bound["currency"].as_str().unwrap()), minor_units(bound));
            let (same, within) = (
                format!("context.amount.currency == {currency}"),
                format!("context.amount.minor_units <= {units}"),
            );
            match pass {
                Pass::Every => format!("{same} && {within}"),
                // Another currency cannot be compared, so a refusal acts on it.
                Pass::Any => format!("!({same}) || {within}"),
            }
        }
        ("counterparty" | "country", "in") => among(fact, &list(bound), true, pass),
        ("counterparty" | "country", "not_in") => among(fact, &list(bound), false, pass),
        ("counterparty", "known") => among(fact, "context.known", bound == true, pass),
        ("resource", "in") => format!("{}.contains(context.resource)", list(bound)),
        ("resource", "not_in") => format!("!{}.contains(context.resource)", list(bound)),
        ("resource", "prefix") => {
            let beginning = escaped(bound.as_str().unwrap()).replace('*', "\\*");
            format!("context.resource like \"{beginning}*\"")
        }
        (fact, test) => panic!("`{test}` of `{fact}` is not in the fragment"),
    }
}

/// Whether every value of a fact, or one, is within a set or outside it.
fn among(fact: &str, set: &str, within: bool, pass: Pass) -> String {
    match (within, pass) {
        (true, Pass::Every) => format!("{set}.containsAll(context.{fact})"),
        (true, Pass::Any) => format!("{set}.containsAny(context.{fact})"),
        (false, Pass::Every) => format!("!{set}.containsAny(context.{fact})"),
        (false, Pass::Any) => format!("!{set}.containsAll(context.{fact})"),
    }
}

/// The value of an amount with two digits after the point, as the generator writes it.
fn minor_units(amount: &Value) -> String {
    amount["value"].as_str().unwrap().replace('.', "").trim_start_matches('0').to_owned()
}

fn list(names: &Value) -> String {
    let names: Vec<String> =
        names.as_array().unwrap().iter().map(|name| quoted(name.as_str().unwrap())).collect();
    format!("[{}]", names.join(", "))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
