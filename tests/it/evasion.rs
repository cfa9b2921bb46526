//! Requests written to get around a sound mandate: none is allowed, and each answer names why.
//!
//! `tests/vectors/evasion/sound.yaml` holds the mandate, its catalogue and the requests it allows; every other file
//! of the folder is a group of mutations, each of one allowed request. Before and after a group the requests it mutates are
//! put to the gate as they are and must be allowed, so that a gate that refuses everything fails. `EVASION=words`
//! in the environment tries those cases alone whose names contain the words.

mod properties;

use crate::agent::Agent;
use crate::client::{Client, Reply};
use crate::database::{Db, both};
use crate::scenarios::answer::points_to;
use crate::scenarios::people::put_entry;
use crate::scenarios::script::{read_yaml, yaml_files};
use crate::server::Server;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

both!(no_evasion_is_allowed_and_each_is_told_why);

/// The fewest cases there may be.
const FEWEST: usize = 220;
/// How many cases one agent tries, so that its queue never is what stops them.
const TRIES: usize = 15;

/// The mandate that is to be evaded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sound {
    #[expect(dead_code, reason = "it is there to be read in the file")]
    about: String,
    catalogue: BTreeMap<String, Value>,
    mandate: Value,
    /// Bodies that the mandate allows, by name.
    pub(crate) requests: BTreeMap<String, String>,
}

/// Mutations of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    #[serde(rename = "group")]
    name: String,
    #[expect(dead_code, reason = "it is there to be read in the file")]
    about: String,
    /// Which request they are mutations of, unless a case says otherwise.
    of: String,
    cases: Vec<Case>,
}

/// One mutation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "case")]
    name: String,
    of: Option<String>,
    /// The text that is replaced; it stands in the request exactly once.
    replace: Option<String>,
    /// What stands there instead.
    with: Option<String>,
    /// The same as bytes, where it is no text.
    with_bytes: Option<Vec<u8>>,
    /// How often in a row it stands there; 1 if not said.
    times: Option<usize>,
    /// The whole body, where nothing of the request is left.
    whole: Option<String>,
    /// What stands before the request, as bytes.
    before: Option<Vec<u8>>,
    /// The status; 200 if not said.
    status: Option<u16>,
    /// `refuse` or `escalate`, where the status is 200.
    outcome: Option<String>,
    /// A pointer that is named, or a clause.
    names: Option<String>,
    /// Words of the detail or reason.
    says: Option<String>,
}

impl Case {
    fn body(&self, sound: &str) -> Vec<u8> {
        if let Some(whole) = &self.whole {
            return whole.clone().into_bytes();
        }
        let mut body = self.before.clone().unwrap_or_default();
        let Some(replace) = &self.replace else {
            assert!(!body.is_empty(), "`{}` changes nothing", self.name);
            body.extend_from_slice(sound.as_bytes());
            return body;
        };
        assert_eq!(sound.matches(&**replace).count(), 1, "`{}`: `{replace}` stands there once", self.name);
        let (before, after) = sound.split_once(&**replace).unwrap();
        let with =
            self.with.as_ref().map(|with| with.clone().into_bytes()).or_else(|| self.with_bytes.clone());
        body.extend_from_slice(before.as_bytes());
        body.extend_from_slice(&with.unwrap().repeat(self.times.unwrap_or(1)));
        body.extend_from_slice(after.as_bytes());
        body
    }

    /// What is wrong with the answer, if anything is.
    fn objection(&self, reply: &Reply) -> Option<String> {
        let status = self.status.unwrap_or(200);
        if reply.status == 200 && reply.json["outcome"] == "allow" {
            return Some("it was ALLOWED".into());
        }
        if reply.status != status {
            return Some(format!("{status} was expected"));
        }
        let outcome = self.outcome.as_deref();
        if status == 200
            && (outcome.is_none_or(|outcome| reply.json["outcome"] != outcome) || outcome == Some("allow"))
        {
            return Some(format!("the outcome {outcome:?} was expected"));
        }
        let named = self.names.as_ref().is_none_or(|name| {
            if name.starts_with('/') { points_to(reply, name) } else { reply.names(name) }
        });
        let said = self.says.as_ref().is_none_or(|words| reply.text.contains(words));
        (!named || !said).then(|| format!("{:?} {:?} is not named", self.names, self.says))
    }
}

/// The mandate, its catalogue, and what it allows.
pub(crate) fn sound() -> Sound {
    let path = yaml_files("evasion").into_iter().find(|path| path.ends_with("sound.yaml")).unwrap();
    serde_json::from_value(read_yaml(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn groups() -> Vec<Group> {
    let files = yaml_files("evasion").into_iter().filter(|path| !path.ends_with("sound.yaml"));
    let read = |path: std::path::PathBuf| {
        let value = read_yaml(&path);
        for case in value["cases"].as_array().into_iter().flatten() {
            if let Err(error) = serde_json::from_value::<Case>(case.clone()) {
                panic!("{}: {case}: {error}", path.display());
            }
        }
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.map(read).collect()
}

/// A server with the catalogue, and somebody whose mandate is the sound one.
pub(crate) fn ready(db: Db, sound: &Sound) -> (Server, Client) {
    let server = Server::start(db);
    let operator = server.operator();
    for (intent, entry) in &sound.catalogue {
        put_entry(&operator, intent, entry);
    }
    let member = server.member_with("m@example.test", &sound.mandate);
    (server, member)
}

/// Puts a raw body to the gate.
pub(crate) fn evaluate(agent: &Agent, body: &[u8]) -> Reply {
    agent.send("POST", "/v1/gate/evaluate", &[], Some(body))
}

fn no_evasion_is_allowed_and_each_is_told_why(db: Db) {
    let sound = sound();
    let (_server, member) = ready(db, &sound);
    let only = std::env::var("EVASION").unwrap_or_default();
    let mut wrong = String::new();
    for group in groups() {
        let cases: Vec<&Case> = group.cases.iter().filter(|case| case.name.contains(&only)).collect();
        for (number, tries) in cases.chunks(TRIES).enumerate() {
            let agent = Agent::new(&member, &format!("{} {number}", group.name));
            check_controls(&agent, &sound, &group);
            for case in tries {
                let body = case.body(&sound.requests[case.of.as_ref().unwrap_or(&group.of)]);
                let reply = evaluate(&agent, &body);
                if let Some(objection) = case.objection(&reply) {
                    let shown: String = String::from_utf8_lossy(&body).chars().take(600).collect();
                    let _ = write!(
                        wrong,
                        "\n{}: {}: {objection}\n  asked: {shown}\n  answered: {} {}\n",
                        group.name,
                        case.name,
                        reply.status,
                        reply.text.chars().take(600).collect::<String>()
                    );
                }
            }
            check_controls(&agent, &sound, &group);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What the group's cases are mutations of is allowed.
#[track_caller]
fn check_controls(agent: &Agent, sound: &Sound, group: &Group) {
    let used: BTreeSet<&String> =
        group.cases.iter().map(|case| case.of.as_ref().unwrap_or(&group.of)).collect();
    for name in used {
        let body = sound.requests.get(name).unwrap_or_else(|| panic!("no request `{name}`"));
        let reply = evaluate(agent, body.as_bytes());
        assert_eq!(reply.json["outcome"], "allow", "the sound `{name}` of `{}`: {}", group.name, reply.text);
    }
}

#[test]
fn the_corpus_is_large_and_every_case_expects_a_reason() {
    let sound = sound();
    let groups = groups();
    let cases: Vec<(&Group, &Case)> =
        groups.iter().flat_map(|group| group.cases.iter().map(move |case| (group, case))).collect();
    assert!(cases.len() >= FEWEST, "{} cases", cases.len());
    let mut bodies = BTreeSet::new();
    for (group, case) in cases {
        let name = format!("{}: {}", group.name, case.name);
        assert!(case.names.is_some() || case.says.is_some(), "`{name}` expects no reason");
        assert_eq!(case.outcome.is_some(), case.status.is_none(), "`{name}`: a status, or an outcome");
        let request = &sound.requests[case.of.as_ref().unwrap_or(&group.of)];
        let body = case.body(request);
        assert_ne!(body, request.as_bytes(), "`{name}` changes nothing");
        assert!(bodies.insert(body), "`{name}` asks the same as another");
    }
}
