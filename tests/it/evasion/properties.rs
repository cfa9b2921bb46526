//! What holds for every value of a kind, tried with values that nobody thought of.

use super::{evaluate, ready, sound};
use crate::agent::Agent;
use crate::client::Reply;
use crate::database::{Db, both};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use std::fmt::Write as _;

both!(
    no_number_outside_the_bound_is_ever_allowed,
    no_link_to_another_host_is_ever_allowed_however_it_is_dressed,
    no_host_in_other_letters_is_ever_taken_for_ours,
    no_address_of_another_host_is_ever_allowed_however_it_is_dressed,
    one_unknown_name_among_known_ones_is_never_allowed,
    a_name_with_an_invisible_character_anywhere_is_never_a_name,
    a_name_that_is_not_in_its_composed_form_is_never_a_name,
    no_country_but_those_named_is_ever_allowed,
);

/// How many values each property is tried with.
const CASES: u32 = 64;
/// Characters that do not show, or that turn what is shown.
const INVISIBLE: [char; 24] = [
    '\u{0}',
    '\u{7}',
    '\u{9}',
    '\u{7f}',
    '\u{85}',
    '\u{a0}',
    '\u{ad}',
    '\u{34f}',
    '\u{61c}',
    '\u{180e}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{200e}',
    '\u{200f}',
    '\u{202a}',
    '\u{202e}',
    '\u{2060}',
    '\u{2066}',
    '\u{2069}',
    '\u{3164}',
    '\u{fe0f}',
    '\u{feff}',
    '\u{e0041}',
];

/// Somebody with the sound mandate whose every allowance refuses otherwise, so that no queue fills; and what it allows.
struct Gate {
    agent: Agent,
    requests: std::collections::BTreeMap<String, Value>,
    _server: crate::server::Server,
}

fn gate(db: Db) -> Gate {
    let mut sound = sound();
    for clause in sound.mandate["clauses"].as_array_mut().unwrap() {
        if clause["effect"] == "allow" {
            clause["otherwise"] = json!("refuse");
        }
    }
    let (server, member) = ready(db, &sound);
    let agent = Agent::new(&member, "runner");
    let requests = sound.requests.iter();
    let requests = requests.map(|(name, body)| (name.clone(), serde_json::from_str(body).unwrap())).collect();
    Gate { agent, requests, _server: server }
}

impl Gate {
    /// The request of a name with another value at a pointer.
    fn with(&self, request: &str, pointer: &str, value: Value) -> Value {
        let mut changed = self.requests[request].clone();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer} in `{request}`")) = value;
        changed
    }

    fn ask(&self, body: &Value) -> Reply {
        evaluate(&self.agent, body.to_string().as_bytes())
    }

    /// Tries many values; before and after, the request itself is allowed.
    fn check<T: std::fmt::Debug>(
        &self,
        request: &str,
        values: impl Strategy<Value = T>,
        is_stopped: impl Fn(T) -> Result<(), TestCaseError>,
    ) {
        let control = || self.ask(&self.requests[request]).expect_outcome("allow");
        control();
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        TestRunner::new(config).run(&values, is_stopped).unwrap();
        control();
    }

    /// Refused by the clause, or malformed at the pointer.
    fn stopped(&self, body: &Value, clause: &str, pointer: &str) -> Result<(), TestCaseError> {
        let reply = self.ask(body);
        let why = match reply.status {
            200 => reply.json["outcome"] == "refuse" && reply.names(clause),
            _ => malformed(&reply, pointer),
        };
        prop_assert!(why, "{body}: {} {}", reply.status, reply.text);
        Ok(())
    }
}

/// A body that cannot be read at all names no pointer.
fn malformed(reply: &Reply, pointer: &str) -> bool {
    reply.status == 400 || (reply.status == 422 && super::points_to(reply, pointer))
}

fn no_number_outside_the_bound_is_ever_allowed(db: Db) {
    let gate = gate(db);
    let numbers = prop_oneof![
        any::<i64>().prop_map(|cents| if cents > 0 { -cents } else { cents }).prop_map(|whole| json!(whole)),
        (101_i64..).prop_map(|whole| json!(whole)),
        any::<f64>()
            .prop_filter("100 or less", |double| !(0.0..=100.0).contains(double))
            .prop_map(|double| json!(double)),
        (101_u64.., 0_u8..100).prop_map(|(whole, cents)| json!(format!("{whole}.{cents:02}"))),
        "-[0-9]{1,30}(\\.[0-9]{1,4})?".prop_map(Value::from),
        "[0-9]{1,3}\\.[0-9]{3,40}".prop_map(Value::from),
        "[0-9]{0,3}[eE+x_, ][0-9]{1,4}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ];
    gate.check("refund", numbers, |value| {
        gate.stopped(&gate.with("refund", "/amount/value", value.clone()), "E-1", "/amount")?;
        gate.stopped(&gate.with("payout", "/arguments/sum", value), "E-2", "/arguments/sum")
    });
}

/// A host that is not ours, nor below ours.
fn other_host() -> impl Strategy<Value = String> {
    ("[a-z][a-z0-9]{0,12}(-[a-z0-9]{1,5})?", select(vec!["example", "com", "co.uk", "de", "travel"]))
        .prop_map(|(label, top)| format!("{label}.{top}"))
        .prop_filter("ours", |host| host != "ours.example")
}

/// A link to the host, in one of the clothes in which a browser still follows it.
fn dressed(host: &str, how: Index) -> String {
    let upper = host.to_uppercase();
    let wide = host.replace('.', "\u{3002}");
    let mut escaped = String::new();
    for byte in host.bytes() {
        let _ = write!(escaped, "%{byte:02x}");
    }
    let clothes = [
        format!("https://{host}/"),
        format!("http://{host}:8443/ours.example"),
        format!("//{host}/x"),
        format!("HTTPS://{upper}"),
        format!("https:\\\\{host}\\ours.example"),
        format!("\\\\{host}\\share"),
        format!("https:/{host}/"),
        format!("https:///{host}/"),
        format!("https://ours.example@{host}/"),
        format!("https://ours.example:x@{host}/"),
        format!("https://ours.example.{host}/"),
        format!("https://{host}?https.ours.example"),
        format!("https://{host}#@ours.example"),
        format!("https://{host}./"),
        format!("https://{wide}/"),
        format!("https://{escaped}/"),
        format!("ftp://{host}/"),
        format!("www.{host}"),
        format!("ht\ttps://{host}/"),
        format!("https://\u{200b}{host}/"),
        format!("[ours.example](https://{host})"),
        format!("<a href=\"//{host}\">https://ours.example</a>"),
        format!("https://ours.example/ https://{host}/"),
        format!("https://ours.example/?to=https://{host}/"),
        format!("mailto:desk@{host}"),
    ];
    how.get(&clothes).clone()
}

/// The same name in letters that IDNA maps to the plain ones, each its own way, with any of the dots it knows.
fn styled(host: &str, ways: &[Index]) -> String {
    let alphabets =
        ['a', '\u{ff41}', '\u{24d0}', '\u{1d41a}', '\u{1d4d0}', '\u{1d5ba}', '\u{1d68a}', 'A', '\u{ff21}'];
    let dots = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
    let style = |(place, character): (usize, char)| {
        let way = &ways[place % ways.len()];
        match character {
            'a'..='z' => {
                let first = u32::from(alphabets[way.index(alphabets.len())]);
                char::from_u32(first + u32::from(character) - u32::from('a')).unwrap()
            }
            '.' => dots[way.index(dots.len())],
            other => other,
        }
    };
    host.chars().enumerate().map(style).collect()
}

fn no_host_in_other_letters_is_ever_taken_for_ours(db: Db) {
    let gate = gate(db);
    gate.check("mail", (other_host(), vec(any::<Index>(), 1..9), any::<bool>()), |(host, ways, bare)| {
        let host = styled(&host, &ways);
        let link = if bare { format!("www.{host}") } else { format!("see https://{host}/orders") };
        gate.stopped(&gate.with("mail", "/arguments/text", json!(link)), "E-3", "/arguments")?;
        let address = format!("desk@{host}");
        gate.stopped(&gate.with("mail", "/arguments/to", json!(address)), "E-3", "/arguments/to")
    });
}

fn no_link_to_another_host_is_ever_allowed_however_it_is_dressed(db: Db) {
    let gate = gate(db);
    let links = (other_host(), any::<Index>(), "[a-z ]{0,20}", "( [a-z ]{0,20})?");
    gate.check("mail", links, |(host, how, before, after)| {
        let text = format!("{before} {}{after}", dressed(&host, how));
        gate.stopped(&gate.with("mail", "/arguments/text", json!(text)), "E-3", "/arguments")
    });
}

fn no_address_of_another_host_is_ever_allowed_however_it_is_dressed(db: Db) {
    let gate = gate(db);
    let addresses = (other_host(), "[a-z]{1,8}", any::<Index>(), any::<bool>());
    gate.check("mail", addresses, |(host, name, how, in_a_list)| {
        let clothes = [
            format!("{name}@{host}"),
            format!("{name}@ours.example.{host}"),
            format!("{name}@{host}@ours.example"),
            format!("{name}@ours.example@{host}"),
            format!("\"{name}@{host}\"@ours.example"),
            format!("ours.example <{name}@{host}>"),
            format!("desk@ours.example,{name}@{host}"),
            format!("desk@ours.example;{name}@{host}"),
            format!("desk@ours.example\n{name}@{host}"),
            format!("desk@ours.example({name}@{host})"),
            format!("mailto:{name}@{host}"),
            format!("mailto:desk@ours.example?cc={name}@{host}"),
            format!("{name}@{}", host.to_uppercase()),
            format!("{name}@ours.example\u{200b}.{host}"),
        ];
        let address = json!(how.get(&clothes));
        let to = if in_a_list { json!(["desk@ours.example", address]) } else { address };
        gate.stopped(&gate.with("mail", "/arguments/to", to), "E-3", "/arguments/to")
    });
}

fn one_unknown_name_among_known_ones_is_never_allowed(db: Db) {
    let gate = gate(db);
    let known = ["acct:cus_91", "acct:cus_92", "müller & söhne"];
    let unknown = "[a-z:_0-9\u{e4}-\u{ff}\u{430}-\u{44f}]{1,16}";
    let unknown = unknown.prop_filter("known", move |name| !known.contains(&&**name));
    gate.check("refund", (unknown, 0_usize..=3, any::<Index>()), |(name, beside, place)| {
        let mut names: Vec<String> = known[..beside].iter().map(|name| (*name).to_owned()).collect();
        names.insert(place.index(names.len() + 1), name);
        gate.stopped(&gate.with("refund", "/counterparty", json!(names)), "E-1", "/counterparty")
    });
}

fn a_name_with_an_invisible_character_anywhere_is_never_a_name(db: Db) {
    let gate = gate(db);
    let names = (
        select(vec!["acct:cus_91", "müller & söhne"]),
        vec((select(INVISIBLE.to_vec()), any::<Index>()), 1..4),
    );
    gate.check("refund", names, |(name, hidden)| {
        let mut name: Vec<char> = name.chars().collect();
        for (character, place) in hidden {
            name.insert(place.index(name.len() + 1), character);
        }
        let name: String = name.into_iter().collect();
        let reply = gate.ask(&gate.with("refund", "/counterparty", json!(name)));
        prop_assert!(malformed(&reply, "/counterparty"), "{name:?}: {} {}", reply.status, reply.text);
        Ok(())
    });
}

fn a_name_that_is_not_in_its_composed_form_is_never_a_name(db: Db) {
    let gate = gate(db);
    // A letter with the mark that belongs to it, which together are one character of their own.
    let pairs = select(vec![
        ("u", '\u{308}'),
        ("e", '\u{301}'),
        ("n", '\u{303}'),
        ("A", '\u{30a}'),
        ("c", '\u{327}'),
    ]);
    gate.check("refund", ("[a-z]{0,8}", pairs, "[a-z]{0,8}"), |(before, (letter, mark), after)| {
        let name = format!("{before}{letter}{mark}{after}");
        let reply = gate.ask(&gate.with("refund", "/counterparty", json!(name)));
        prop_assert!(malformed(&reply, "/counterparty"), "{name:?}: {} {}", reply.status, reply.text);
        Ok(())
    });
}

fn no_country_but_those_named_is_ever_allowed(db: Db) {
    let gate = gate(db);
    let countries = prop_oneof!["[A-Z]{2}", "[A-Za-z]{0,4}", "(DE|NL)[ \u{200b}a-z]", "[ \u{feff}](DE|NL)"];
    let countries = countries.prop_filter("named", |country| !["DE", "NL"].contains(&&**country));
    gate.check("refund", countries, |country| {
        gate.stopped(&gate.with("refund", "/country", json!(country)), "E-1", "/country")?;
        gate.stopped(&gate.with("payout", "/arguments/land", json!(country)), "E-2", "/arguments/land")
    });
}
