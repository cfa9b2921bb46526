//! How a scenario is written: the members of its YAML, read strictly.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One file: a company with its catalogue, and what its people and agents live through, each story with a person
/// and agents of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Company {
    /// The tenant.
    #[serde(rename = "company")]
    pub(crate) tenant: String,
    /// What the stories have in common, for whoever reads them.
    #[expect(dead_code, reason = "it is there to be read in the file, and has to be there")]
    pub(crate) about: String,
    /// The intents it knows.
    #[serde(default)]
    pub(crate) catalogue: BTreeMap<String, Value>,
    /// The company's own rules, unless a scenario has others.
    pub(crate) policy: Option<Value>,
    /// The person's terms, unless a scenario has others.
    pub(crate) mandate: Option<Value>,
    /// Requests that the scenarios name.
    #[serde(default)]
    pub(crate) requests: BTreeMap<String, Value>,
    /// The stories.
    pub(crate) scenarios: Vec<Scenario>,
}

/// One story.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// A sentence: what it proves.
    pub(crate) name: String,
    /// Of which kind it is, where a file counts its kinds.
    pub(crate) kind: Option<String>,
    /// What a reader should know.
    #[serde(default)]
    #[expect(dead_code, reason = "it is there to be read in the file")]
    pub(crate) note: String,
    /// The person's terms.
    pub(crate) mandate: Option<Value>,
    /// The company's rules.
    pub(crate) policy: Option<Value>,
    /// Agents by name; one acting agent called `agent` if none is named.
    #[serde(default)]
    pub(crate) agents: BTreeMap<String, Cast>,
    /// Colleagues of the person, by name, with their roles.
    #[serde(default)]
    pub(crate) people: BTreeMap<String, Vec<String>>,
    /// Enforcement points, by name.
    #[serde(default)]
    pub(crate) points: Vec<String>,
    /// What happens.
    pub(crate) steps: Vec<Step>,
    /// What it comes to.
    pub(crate) ends: Counts,
}

/// An agent, or a further credential of one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cast {
    /// `acting` if not said.
    pub(crate) kind: Option<String>,
    /// The agent whose further credential it is.
    pub(crate) of: Option<String>,
    /// The colleague whose agent it is, under the same terms; the person's if not said.
    pub(crate) whose: Option<String>,
    /// Members of the credential beside label and scopes.
    #[serde(default)]
    pub(crate) credential: Map<String, Value>,
}

/// One thing that happens.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// An agent asks the gate.
    Ask(Box<Ask>),
    /// The tool does, once for each allow of an ask, what was allowed; then its agent may report.
    RunTool(RunTool),
    /// Somebody reports on the effect of an ask.
    Report(Report),
    /// A person approves what an ask opened.
    Approve(Decide),
    /// A person declines what an ask opened.
    Decline(Decide),
    /// A person says how an uncertain effect ended.
    Resolve(Resolve),
    /// What became of a decision.
    Look(Look),
    /// The person writes other terms.
    PutMandate(Put),
    /// The operator writes other rules.
    PutPolicy(Put),
    /// The operator writes a catalogue entry; the file's own is back for the next scenario.
    PutCatalogue(PutCatalogue),
    /// The person revokes a credential.
    Revoke(String),
    /// An agent makes a narrower credential.
    Derive(Derive),
    /// So much time goes by: `25 hours`, `7 days`, `61 seconds`.
    Advance(String),
    /// What was done so far turns out to lie at the edge of a calendar period (UTC).
    Happened(Happened),
    /// The server is killed, as by a power cut, and started again.
    Restart(bool),
}

/// An agent asks the gate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// A request of the file by name, or a whole one.
    pub(crate) what: Value,
    /// What is different about it (RFC 7396: null takes a member away).
    pub(crate) but: Option<Value>,
    /// Who asks; the only agent if not said.
    pub(crate) by: Option<String>,
    /// The enforcement point that asks for them.
    pub(crate) through: Option<String>,
    /// The idempotency key.
    pub(crate) key: Option<String>,
    /// What later steps call it.
    #[serde(rename = "as")]
    pub(crate) name: Option<String>,
    /// The ask whose approval it uses.
    pub(crate) using: Option<String>,
    /// How many of them at the same moment; 1 if not said.
    pub(crate) at_once: Option<usize>,
    /// The outcome, or how many of each.
    pub(crate) expect: Expected,
    /// Clauses that every answer names, of the expected outcome.
    #[serde(default)]
    pub(crate) clauses: Vec<String>,
    /// Words of the reason, or of what is wrong.
    #[serde(default)]
    pub(crate) says: Vec<String>,
    /// The pointer to what is malformed.
    pub(crate) names: Option<String>,
    /// The ask whose answer it repeats.
    pub(crate) repeats: Option<String>,
    /// The ask whose decision it waits for too.
    pub(crate) joins: Option<String>,
}

/// What an ask comes to: `allow`, `escalate`, `refuse`, `replayed`, `malformed` or `turned_away`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Expected {
    /// Every one the same.
    All(String),
    /// How many of each.
    Each(BTreeMap<String, usize>),
}

/// What the tool makes of what was allowed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTool {
    /// Whose allow it is.
    pub(crate) ask: String,
    /// `does` (the default), `does_and_is_not_heard`, `rejects` or `is_not_reached`.
    pub(crate) tool: Option<String>,
    /// How often it is called; 1 if not said.
    pub(crate) times: Option<usize>,
    /// Whether the tool knows a key it has seen; yes if not said.
    pub(crate) knows_keys: Option<bool>,
    /// What the agent reports then: `done`, `failed`, `unknown`; nothing if not said.
    pub(crate) report: Option<String>,
}

/// A report on an effect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// Whose effect it is.
    pub(crate) ask: String,
    /// What is said: `done`, `failed`, `unknown`.
    pub(crate) status: String,
    /// What it becomes, if not what is said.
    pub(crate) becomes: Option<String>,
    /// The enforcement point or agent that reports, if not the one who asked.
    pub(crate) by: Option<String>,
    /// The status of the answer; 200 if not said.
    pub(crate) answer: Option<u16>,
}

/// A person decides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decide {
    /// What opened the decision.
    pub(crate) ask: String,
    /// Who decides; the person whose agent asked, if not said.
    pub(crate) by: Option<String>,
    /// How many times at the same moment; of these one is to be answered with 200.
    pub(crate) at_once: Option<usize>,
    /// Whether it is every decision that the ask opened, one after another; the first alone if not said.
    #[serde(default)]
    pub(crate) every: bool,
    /// What declining narrows.
    pub(crate) narrow: Option<Value>,
    /// How many seconds an approval holds.
    pub(crate) valid_for: Option<u64>,
    /// The status of the answer; 200 if not said.
    pub(crate) answer: Option<u16>,
    /// What the decision is then.
    pub(crate) becomes: Option<String>,
}

/// A person says how an effect ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resolve {
    /// Whose effect it is.
    pub(crate) ask: String,
    /// `done` or `failed`.
    pub(crate) status: String,
    /// The status of the answer; 200 if not said.
    pub(crate) answer: Option<u16>,
}

/// What became of a decision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Look {
    /// What opened it.
    pub(crate) ask: String,
    /// What it is now.
    pub(crate) status: String,
    /// Words that whoever decides is shown.
    #[serde(default)]
    pub(crate) shows: Vec<String>,
}

/// Other terms or rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Put {
    /// The whole document.
    pub(crate) document: Value,
    /// What it is in comparison.
    pub(crate) change: Option<String>,
    /// The status of the answer; 200 if not said.
    pub(crate) answer: Option<u16>,
    /// The pointer to what is wrong with it.
    pub(crate) names: Option<String>,
}

/// Another catalogue entry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutCatalogue {
    /// Of which intent.
    pub(crate) intent: String,
    /// The entry.
    pub(crate) entry: Value,
}

/// A narrower credential.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Derive {
    /// Who makes it; the only agent if not said.
    pub(crate) by: Option<String>,
    /// What later steps call it.
    #[serde(rename = "as")]
    pub(crate) name: String,
    /// Its members beside the label; the usual scopes if none are given.
    #[serde(default)]
    pub(crate) credential: Map<String, Value>,
    /// The status of the answer; 201 if not said.
    pub(crate) answer: Option<u16>,
}

/// At which edge of which period lies what limits have counted for the person.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Happened {
    /// `hour`, `day`, `week` or `month`.
    pub(crate) period: String,
    /// `first`: the earliest in its first millisecond, which counts; `before`: the latest in the one before, which does
    /// not.
    pub(crate) at: String,
}

/// What a scenario comes to. What is not said is none.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Counts {
    /// Answers that allow, each by itself.
    pub(crate) allowed: i64,
    /// Answers that escalate.
    pub(crate) escalated: i64,
    /// Answers that refuse.
    pub(crate) refused: i64,
    /// Answers given again under their key.
    pub(crate) replayed: i64,
    /// Requests that could not be read, or contradict themselves.
    pub(crate) malformed: i64,
    /// Requests that got no answer of the gate: no valid token, a key in flight.
    pub(crate) turned_away: i64,
    /// Decisions in the person's queue, ever.
    pub(crate) decisions_opened: i64,
    /// Effects that an allow let happen, ever.
    pub(crate) effects_claimed: i64,
    /// Of these: those that ended.
    pub(crate) effects_done: i64,
    /// Those that did not happen.
    pub(crate) effects_failed: i64,
    /// Those of which nobody knows.
    pub(crate) effects_unknown: i64,
    /// What the tools moved, by currency, in minor units.
    pub(crate) minor_units_moved: BTreeMap<String, i64>,
}

/// The companies of `tests/vectors/scenarios`; a fault names its file, scenario and step.
pub(crate) fn companies() -> Vec<(PathBuf, Company)> {
    yaml_files("scenarios").into_iter().map(|path| (path.clone(), company(&path))).collect()
}

fn company(path: &Path) -> Company {
    let value = read_yaml(path);
    // Each step by itself first: a fault in the whole would only name the file.
    for scenario in value["scenarios"].as_array().into_iter().flatten() {
        for (place, step) in scenario["steps"].as_array().into_iter().flatten().enumerate() {
            if let Err(error) = serde_json::from_value::<Step>(step.clone()) {
                panic!("{}: {}: step {}: {error}", path.display(), scenario["name"], place + 1);
            }
        }
    }
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The YAML files of a folder of vectors, in the order of their names.
pub(crate) fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|kind| kind == "yaml")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} holds no YAML", folder.display());
    paths
}

/// One YAML file as a value.
pub(crate) fn read_yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
